//! Keys in, texts out; time is given.

use std::time::Duration;

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::*;
use crate::tui::text::Inert;

/// A prompt at which somebody types slowly, unless told otherwise.
struct Desk {
    prompt: Prompt,
    now: Instant,
    submitted: Vec<String>,
}

impl Desk {
    fn new() -> Self {
        Self {
            prompt: Prompt::default(),
            now: Instant::now(),
            submitted: Vec::new(),
        }
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        let reaction = self.prompt.tick(self.now);
        self.note(reaction);
    }

    fn note(&mut self, reaction: Reaction) -> Reaction {
        if let Reaction::Submitted(text) = &reaction {
            self.submitted.push(text.clone());
        }
        reaction
    }

    fn key(&mut self, key: KeyEvent, ms: u64) -> Reaction {
        self.wait(ms);
        let reaction = self.prompt.key(key, self.now);
        self.note(reaction)
    }

    fn press(&mut self, code: KeyCode) -> Reaction {
        self.key(KeyEvent::new(code, KeyModifiers::NONE), 100)
    }

    fn control(&mut self, char: char) -> Reaction {
        self.key(
            KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL),
            100,
        )
    }

    /// Types with some milliseconds between the keys; a line feed is Enter.
    fn keys(&mut self, text: &str, ms: u64) {
        for char in text.chars() {
            let code = match char {
                '\n' => KeyCode::Enter,
                char => KeyCode::Char(char),
            };
            self.key(KeyEvent::new(code, KeyModifiers::NONE), ms);
        }
    }

    fn types(&mut self, text: &str) {
        self.keys(text, 100);
    }
}

#[test]
fn typing_and_enter_submit() {
    let mut desk = Desk::new();
    desk.types("/help\n");
    assert_eq!(desk.submitted, ["/help"]);
    assert!(desk.prompt.is_empty());
    desk.types("\n  \n");
    assert_eq!(desk.submitted.len(), 1, "nothing isn't submitted");
}

/// Row 3, and what a char-wise editor gets wrong.
#[test]
fn backspace_takes_a_whole_cluster() {
    for cluster in ["e\u{301}", "👨‍👩‍👧‍👦", "🇩🇪", "각", "1️⃣", "क्ष"]
    {
        let mut desk = Desk::new();
        desk.prompt.paste(&format!("a{cluster}b"));
        desk.press(KeyCode::Left);
        desk.press(KeyCode::Backspace);
        assert_eq!(desk.prompt.text(), "ab", "{cluster}");
        desk.control('_');
        assert_eq!(
            desk.prompt.text(),
            format!("a{cluster}b"),
            "one undo brings it back"
        );
        desk.press(KeyCode::Home);
        desk.press(KeyCode::Right);
        desk.press(KeyCode::Delete);
        assert_eq!(desk.prompt.text(), "ab");
    }
}

/// Row 5.
#[test]
fn columns_are_never_bytes() {
    let mut desk = Desk::new();
    desk.types("İß\u{202F}e");
    for _ in 0..3 {
        desk.press(KeyCode::Left);
    }
    desk.control('k');
    assert_eq!(desk.prompt.text(), "İ");
    desk.control('u');
    assert_eq!(desk.prompt.text(), "");
    desk.control('y');
    assert_eq!(desk.prompt.text(), "İ");
}

/// Row 40.
#[test]
fn undo_and_redo_survive_deleting_everything() {
    let mut desk = Desk::new();
    desk.prompt.paste("one\ntwo\nthree");
    for _ in 0..20 {
        desk.press(KeyCode::Backspace);
    }
    assert!(desk.prompt.is_empty());
    for _ in 0..40 {
        desk.control('_');
    }
    for _ in 0..40 {
        desk.control('r');
    }
    assert_eq!(desk.prompt.text(), "");
    desk.control('_');
    assert_eq!(desk.prompt.text(), "o");
}

/// Row 14, with bracketed paste.
#[test]
fn a_paste_never_submits() {
    let mut desk = Desk::new();
    desk.prompt
        .paste("/routine confirm a\r\n/routine confirm b\r");
    desk.wait(1_000);
    assert!(desk.submitted.is_empty());
    assert_eq!(
        desk.prompt.text(),
        "/routine confirm a\n/routine confirm b\n"
    );
}

/// Row 14, without bracketed paste.
#[test]
fn a_burst_of_lines_never_submits() {
    for gap in [0, 1, 5] {
        let mut desk = Desk::new();
        desk.keys("/routine confirm a\n\n/routine confirm b\n", gap);
        desk.wait(1_000);
        assert!(desk.submitted.is_empty(), "{:?}", desk.submitted);
        assert_eq!(
            desk.prompt.text(),
            "/routine confirm a\n\n/routine confirm b\n"
        );
    }
}

#[test]
fn a_single_line_sent_in_one_go_is_submitted_after_a_moment() {
    let mut desk = Desk::new();
    desk.keys("/help\n", 0);
    assert!(desk.submitted.is_empty());
    assert!(desk.prompt.due().is_some());
    desk.wait(30);
    assert_eq!(desk.submitted, ["/help"]);
    assert_eq!(desk.prompt.due(), None);
    // Also when the next key comes before the clock is asked.
    desk.keys("/list\n", 0);
    desk.now += Duration::from_millis(200);
    let key = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE);
    let reaction = desk.prompt.key(key, desk.now);
    assert_eq!(reaction, Reaction::Submitted("/list".into()));
    assert_eq!(desk.prompt.text(), "x");
}

/// Row 15.
#[test]
fn a_big_paste_stays_as_it_is() {
    let big = "証拠".repeat(10_000);
    let mut desk = Desk::new();
    desk.types("a");
    desk.prompt.paste(&big);
    desk.press(KeyCode::Home);
    desk.types("b");
    desk.press(KeyCode::End);
    desk.types("c\n");
    assert_eq!(desk.submitted, [format!("ba{big}c")]);
}

/// Row 36.
#[test]
fn control_c_clears_a_draft_that_up_brings_back() {
    let mut desk = Desk::new();
    desk.types("half a thought");
    assert_eq!(
        desk.control('d'),
        Reaction::Changed,
        "Ctrl-D with a draft doesn't quit"
    );
    assert_eq!(desk.control('c'), Reaction::Changed);
    assert!(desk.prompt.is_empty() && desk.submitted.is_empty());
    assert_eq!(
        desk.control('c'),
        Reaction::NotMine,
        "the second one is the caller's"
    );
    assert_eq!(desk.control('d'), Reaction::NotMine);
    desk.press(KeyCode::Up);
    assert_eq!(desk.prompt.text(), "half a thought");
}

#[test]
fn looking_back_keeps_the_draft() {
    let mut desk = Desk::new();
    desk.types("first\nsecond\nsecond\ndraft");
    desk.press(KeyCode::Up);
    assert_eq!(desk.prompt.text(), "second");
    desk.press(KeyCode::Up);
    desk.press(KeyCode::Up);
    assert_eq!(desk.prompt.text(), "first");
    desk.press(KeyCode::Down);
    desk.press(KeyCode::Down);
    assert_eq!(desk.prompt.text(), "draft");
    assert_eq!(desk.press(KeyCode::Down), Reaction::Nothing);
}

/// Row 37: terminals turn the wheel into arrows, several at once.
#[test]
fn the_wheel_does_not_replace_the_draft() {
    let mut desk = Desk::new();
    desk.types("old\ndraft");
    for _notch in 0..5 {
        desk.wait(40);
        for _ in 0..3 {
            desk.key(KeyEvent::new(KeyCode::Up, KeyModifiers::NONE), 0);
        }
    }
    assert_eq!(desk.prompt.text(), "draft");
}

/// Row 22.
#[test]
fn releases_do_nothing_and_a_held_enter_submits_once() {
    let mut desk = Desk::new();
    desk.types("x");
    for kind in [
        KeyEventKind::Press,
        KeyEventKind::Repeat,
        KeyEventKind::Repeat,
        KeyEventKind::Release,
    ] {
        let key = KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, kind);
        desk.key(key, 100);
        desk.prompt.paste("y");
    }
    assert_eq!(desk.submitted, ["x"]);
    let alt_gr = KeyModifiers::CONTROL | KeyModifiers::ALT;
    desk.prompt.set("");
    desk.key(KeyEvent::new(KeyCode::Char('@'), alt_gr), 100);
    assert_eq!(desk.prompt.text(), "@");
}

#[test]
fn completions_are_chosen_and_replace_the_word() {
    let offers = || {
        ["/routine", "/runs", "/quit"].map(|text| Candidate {
            text: text.into(),
            note: Inert::ours(""),
        })
    };
    let mut desk = Desk::new();
    desk.types("/ru");
    desk.prompt.offer(offers().into());
    let popup = desk.prompt.popup().expect("something fits");
    let texts: Vec<&str> = popup
        .candidates()
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(texts, ["/runs", "/routine"], "what begins so comes first");
    desk.press(KeyCode::Down);
    desk.press(KeyCode::Tab);
    assert_eq!(desk.prompt.text(), "/routine ");
    desk.types("de");
    assert_eq!(desk.prompt.word().0, "de");
    desk.prompt.offer(offers().into());
    assert!(desk.prompt.popup().is_none());
    // Folding changes lengths; nothing is sliced by it.
    assert!(completion::fit("i̇", "İstanbul").is_some());
}

fn drawn(prompt: &Prompt, width: u16) -> (String, Option<u16>) {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
    let cursor = prompt.editor().draw(buffer.area, &mut buffer, Style::new());
    let mut row = String::new();
    let mut covered = 0;
    for cell in &buffer.content {
        if covered == 0 {
            row.push_str(cell.symbol());
            covered = crate::tui::text::width(cell.symbol());
        }
        covered = covered.saturating_sub(1);
    }
    (row.trim_end().to_owned(), cursor.map(|cursor| cursor.x))
}

/// Row 35.
#[test]
fn the_real_cursor_stands_where_the_text_ends() {
    let mut desk = Desk::new();
    desk.types("漢字");
    assert_eq!(drawn(&desk.prompt, 20), ("漢字".into(), Some(4)));
    assert_eq!(drawn(&desk.prompt, 4), (" 字".into(), Some(3)));
    // Row 6, and text that hides or moves: shown, and counted as shown.
    desk.prompt.set("a\u{1b}[31m\u{202E}b");
    assert_eq!(
        drawn(&desk.prompt, 30),
        ("a^[[31m\\u{202E}b".into(), Some(16))
    );
    desk.prompt.set("שלום");
    desk.press(KeyCode::Left);
    assert_eq!(drawn(&desk.prompt, 30).1, Some(3));
    desk.prompt.set("a\tb");
    assert_eq!(drawn(&desk.prompt, 30), ("a       b".into(), Some(9)));
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let code = prop_oneof![
        "[a-z 漢é👍\u{301}\u{200d}\u{1f1e9}]"
            .prop_map(|text| KeyCode::Char(text.chars().next().unwrap_or('x'))),
        Just(KeyCode::Left),
        Just(KeyCode::Right),
        Just(KeyCode::Up),
        Just(KeyCode::Down),
        Just(KeyCode::Home),
        Just(KeyCode::Backspace),
        Just(KeyCode::Delete),
        Just(KeyCode::Enter),
        Just(KeyCode::Tab),
    ];
    let modifiers = prop_oneof![
        Just(KeyModifiers::NONE),
        Just(KeyModifiers::CONTROL),
        Just(KeyModifiers::ALT),
    ];
    (code, modifiers).prop_map(|(code, modifiers)| KeyEvent::new(code, modifiers))
}

proptest! {
    #[test]
    fn no_keys_panic_and_the_cursor_stands_between_clusters(
        keys in proptest::collection::vec((any_key(), 0u64..60), 0..60),
        paste in ".{0,20}",
        width in 0u16..12,
    ) {
        use unicode_segmentation::UnicodeSegmentation;
        let mut desk = Desk::new();
        desk.prompt.paste(&paste);
        for (key, ms) in keys {
            desk.key(key, ms);
            let (_, byte) = desk.prompt.editor().cursor();
            let line = desk.prompt.editor().line();
            let between = byte == line.len() || line.grapheme_indices(true).any(|(at, _)| at == byte);
            prop_assert!(between, "{byte} in {line:?}");
            let (_, cursor) = drawn(&desk.prompt, width);
            prop_assert_eq!(cursor.is_some(), width > 0);
            prop_assert!(cursor.is_none_or(|x| x < width));
        }
    }
}
