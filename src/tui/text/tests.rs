//! Rows of hostile text, each at every small width, and through a real terminal parser.

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::widgets::{Block, Paragraph};
use unicode_segmentation::UnicodeSegmentation;

use super::*;
use crate::tui::residue::Residue;

/// Texts that broke other terminal applications.
const HOSTILE: &[&str] = &[
    "❤️ ⚠️ ☁️ |",
    "😹 ab",
    "1️⃣ 👨‍👩‍👧‍👦 x",
    "aaaa\u{200B}",
    "\u{0301}",
    "İß\u{202F}e",
    "approve \u{202E}yned",
    "שלום עולם",
    "\u{1b}]52;c;AAAA\u{7}after",
    "\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{1b}[6n\u{9b}31mred\u{1b}c",
    "\u{1b}]0;never ends",
    "a\tb\r\nc\u{0}\u{7f}d",
    "漢字かな交じり文",
    "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}x",
    "🇩🇪🇫🇷 flags 👍🏽",
    "\u{e0041}\u{e0042}tag",
    "नमस्ते क्‍ष",
    "",
    " ",
    "\n\n",
    "\u{fe0f}\u{fe0f}\u{200d}",
    "각\u{1100}\u{1161}\u{11a8}",
];

fn one(text: &str) -> String {
    Inert::one_line(text).as_str().to_owned()
}

#[test]
fn escape_sequences_vanish_whole() {
    assert_eq!(one("a\u{1b}[31;1mred\u{1b}[0mb"), "aredb");
    assert_eq!(one("\u{1b}]52;c;AAAA\u{7}x"), "x");
    assert_eq!(
        one("\u{1b}]8;;http://e\u{1b}\\link\u{1b}]8;;\u{9c}!"),
        "link!"
    );
    assert_eq!(one("a\u{1b}P1$r\u{1b}\\b\u{1b}cd\u{1b}(Be"), "abde");
    assert_eq!(one("a\u{9b}31mb\u{9d}0;t\u{9c}c"), "abc");
    assert_eq!(one("a\u{1b}[?1049hb\u{1b}[6nc"), "abc");
}

#[test]
fn an_unterminated_string_hides_its_own_line_only() {
    assert_eq!(
        Inert::text("seen \u{1b}]0;never ends\nnext line").as_str(),
        "seen \nnext line"
    );
    // A sequence inside a string starts anew, as in a terminal.
    assert_eq!(one("\u{1b}]0;x\u{1b}[31mred"), "red");
    assert_eq!(one("end\u{1b}"), "end^[");
    assert_eq!(one("end\u{1b}["), "end");
    assert_eq!(one(&"\u{1b}]".repeat(1_000_000)), "");
}

#[test]
fn tabs_reach_their_stops_and_controls_are_seen() {
    assert_eq!(
        Inert::text("a\tb\r\nc\u{0}\u{7f}d").as_str(),
        "a       b\nc^@^?d"
    );
    assert_eq!(Inert::text("漢\tb\n\tx").as_str(), "漢      b\n        x");
    assert_eq!(Inert::text("50%\r100%").as_str(), "50%\n100%");
    assert_eq!(one("two\nlines"), "two lines");
}

#[test]
fn what_can_lie_or_hide_is_written_out() {
    assert_eq!(one("approve \u{202E}yned"), "approve \\u{202E}yned");
    assert_eq!(one("a\u{200B}b\u{FEFF}"), "a\\u{200B}b\\u{FEFF}");
    assert_eq!(one("a\u{e0041}"), "a\\u{E0041}");
    assert_eq!(one("a\u{200d}b"), "a\\u{200D}b");
    assert_eq!(one("a\u{85}b"), "a\\u{85}b");
    // A run of selectors can carry a message; one selector only chooses a glyph.
    assert_eq!(one("a\u{fe0f}\u{fe0f}"), "a\\u{FE0F}");
}

#[test]
fn clusters_of_doubtful_width_become_certain() {
    assert_eq!(one("❤️ ⚠️"), "❤ ⚠");
    assert_eq!(one("👨‍👩‍👧‍👦"), "👨👩👧👦");
    assert_eq!(one("👍🏽"), "👍");
    assert_eq!(one("1️⃣"), "1⃣");
    assert_eq!(one("🇩🇪"), "DE");
    // Joiners that spell words stay.
    assert_eq!(one("क्‍ष"), "क्‍ष");
}

#[test]
fn marks_are_few_and_sit_on_something() {
    assert_eq!(one("\u{301}"), "◌\u{301}");
    let tower: String = std::iter::once('e')
        .chain(std::iter::repeat_n('\u{301}', 500))
        .collect();
    assert_eq!(one(&tower), "e\u{301}\u{301}\u{301}");
}

#[test]
fn cutting_and_padding_hit_the_width_exactly() {
    let line = Inert::one_line("漢字 ab");
    let cut = |cells| line.first_line().truncate(cells).into_owned();
    assert_eq!(cut(0), "");
    assert_eq!(cut(1), "…");
    assert_eq!(cut(2), "…");
    assert_eq!(cut(3), "漢…");
    assert_eq!(cut(4), "漢…");
    assert_eq!(cut(6), "漢字 …");
    assert_eq!(cut(7), "漢字 ab");
    assert_eq!(line.first_line().pad(4), "漢… ");
    assert_eq!(line.first_line().skip(1).as_str(), "字 ab");
}

#[test]
fn wrapping_prefers_spaces_and_loses_only_them() {
    let rows = |text: &str, cells| -> Vec<String> {
        let text = Inert::one_line(text);
        text.first_line()
            .wrap(cells)
            .map(|row| row.as_str().to_owned())
            .collect()
    };
    assert_eq!(rows("to be or not", 5), ["to be", "or", "not"]);
    assert_eq!(rows("abcdefgh", 3), ["abc", "def", "gh"]);
    assert_eq!(rows("漢字", 1), ["…", "…"]);
    assert_eq!(rows("漢字x", 3), ["漢", "字x"]);
    assert_eq!(rows("", 3), [""]);
    assert_eq!(rows("abc", 0), Vec::<String>::new());
}

/// Whatever the text: no character that a terminal acts on, and no half cluster at any width.
fn keeps_its_promises(foreign: &str) {
    let text = Inert::text(foreign);
    for char in text.as_str().chars() {
        assert!(
            char == '\n' || !char.is_control(),
            "{char:?} of {foreign:?}"
        );
        assert!(
            !matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}')
        );
    }
    assert_eq!(
        Inert::text(text.as_str()),
        text,
        "cleaning twice changes nothing"
    );
    for line in text.lines() {
        let clusters: Vec<&str> = line.as_str().graphemes(true).collect();
        for cells in 0..=12 {
            let cut = line.truncate(cells);
            assert!(width(&cut) <= cells);
            let kept = cut.strip_suffix(ELLIPSIS).unwrap_or(&cut);
            let whole = (0..=clusters.len()).any(|n| clusters[..n].concat() == kept)
                || clusters.concat() == cut;
            assert!(whole, "{cut:?} of {line:?}");
            assert_eq!(width(&line.pad(cells)), cells);
            for row in line.wrap(cells) {
                assert!(row.width() <= cells, "{row:?} in {cells}");
            }
        }
    }
}

#[test]
fn hostile_text_keeps_its_promises_at_every_width() {
    for text in HOSTILE {
        keeps_its_promises(text);
    }
}

proptest! {
    #[test]
    fn any_text_keeps_its_promises(text in "(\\PC|[\u{0}-\u{9f}\u{200b}-\u{202e}\u{300}-\u{305}\u{fe0f}\u{1b}\\[\\]\\\\;m]){0,40}") {
        keeps_its_promises(&text);
    }
}

fn cells(n: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(n).expect("the tests use no empty screen")
}

/// What a terminal shows, and the bytes that made it do so.
fn through_a_terminal(width: u16, text: &Inert) -> (vt100::Parser, Vec<u8>) {
    through_frames(width, &[text])
}

/// The same over several frames on one terminal, as when a list is scrolled.
fn through_frames(width: u16, frames: &[&Inert]) -> (vt100::Parser, Vec<u8>) {
    let mut bytes = Vec::new();
    let area = Rect::new(0, 0, width, 4);
    let options = ratatui::TerminalOptions {
        viewport: ratatui::Viewport::Fixed(area),
    };
    let mut terminal = Terminal::with_options(CrosstermBackend::new(&mut bytes), options)
        .expect("a fixed viewport asks nothing");
    let mut residue = Residue::default();
    for text in frames {
        let drawn = terminal.draw(|frame| {
            let inside = usize::from(width) - 2;
            let rows: Vec<ratatui::text::Line<'_>> = text
                .lines()
                .map(|line| ratatui::text::Line::raw(line.truncate(inside)))
                .collect();
            frame.render_widget(Paragraph::new(rows).block(Block::bordered()), area);
            residue.settle(frame.buffer_mut());
        });
        drawn.expect("writing to memory works");
    }
    drop(terminal);
    let mut screen = vt100::Parser::new(cells(4), cells(width), 0);
    screen.process(&bytes);
    (screen, bytes)
}

#[test]
fn the_right_border_stays_where_it_is() {
    for text in HOSTILE {
        for width in 4..=14 {
            let text = Inert::one_line(text);
            let (screen, bytes) = through_a_terminal(width, &text);
            let border = screen
                .screen()
                .cell(1, width - 1)
                .map(|cell| cell.contents().to_owned());
            assert_eq!(border.as_deref(), Some("│"), "{text:?} at {width}");
            let written = String::from_utf8_lossy(&bytes);
            for forbidden in [
                "\u{1b}]",
                "\u{1b}P",
                "\u{1b}[6n",
                "\u{1b}c",
                "\u{9b}",
                "\u{7}",
            ] {
                assert!(!written.contains(forbidden), "{forbidden:?} of {text:?}");
            }
        }
    }
}

/// Rows 1 and 2: what one frame leaves behind, the next one must not stumble over.
#[test]
fn the_right_border_survives_scrolling() {
    for first in HOSTILE {
        for second in HOSTILE {
            let (first, second) = (Inert::one_line(first), Inert::one_line(second));
            let (scrolled, _) = through_frames(12, &[&first, &second, &first]);
            let (fresh, _) = through_a_terminal(12, &first);
            assert_eq!(scrolled.screen().contents(), fresh.screen().contents());
        }
    }
}

#[test]
fn a_wide_character_leaves_no_background_behind() {
    let area = Rect::new(0, 0, 4, 1);
    let options = ratatui::TerminalOptions {
        viewport: ratatui::Viewport::Fixed(area),
    };
    let mut bytes = Vec::new();
    let mut terminal = Terminal::with_options(CrosstermBackend::new(&mut bytes), options)
        .expect("a fixed viewport asks nothing");
    for (text, colour) in [("😹", Color::Red), ("ab", Color::Blue)] {
        let line = ratatui::text::Line::styled(text, Style::new().bg(colour));
        let drawn = terminal.draw(|frame| frame.render_widget(line, area));
        drawn.expect("writing to memory works");
    }
    drop(terminal);
    let mut screen = vt100::Parser::new(cells(1), cells(4), 0);
    screen.process(&bytes);
    for column in 0..2 {
        let cell = screen.screen().cell(0, column).expect("inside");
        assert_eq!(cell.bgcolor(), vt100::Color::Idx(4), "column {column}");
    }
}

#[test]
fn json_says_the_same_in_characters_that_show() {
    let text = "a\u{7f}\u{9b}31m\u{202e}\u{e0041}é👍\"\n";
    let json = serde_json::to_string(text).expect("text");
    let inert = inert_json(json.clone());
    assert_eq!(inert, r#""a\u007f\u009b31m\u202e\udb40\udc41é👍\"\n""#);
    assert_eq!(serde_json::from_str::<String>(&inert).expect("JSON"), text);
    assert_eq!(inert_json("[1]\n".into()), "[1]\n");
}
