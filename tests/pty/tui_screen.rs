//! What a real terminal does to an application: sizes, pastes, held keys, foreign writes, and time.

use std::time::{Duration, Instant};

use crate::app::{App, CTRL_C, CTRL_D, CTRL_L, ENTER, ESCAPE, F2, PAUSED, RIGHT, SIZES, UP};

/// The application with the demo's question open and the focus on what confirms.
fn about_to_confirm() -> App {
    let mut app = App::offline(SIZES[0]);
    app.demo();
    app.key(F2);
    app.sees("> [ Cancel ]");
    app.key(RIGHT);
    app.sees("> [ Confirm ]");
    app
}

/// Waits until all keys so far were taken: everything is drawn anew.
fn settles(app: &mut App) {
    let from = app.world.read(str::len);
    app.key(CTRL_L);
    app.world.wait_for("a whole frame", |written| {
        let cleared = written[from..].split_once("\x1b[J");
        cleared.is_some_and(|(_, frame)| frame.contains("\x1b[?2026l"))
    });
}

// Row 12
#[test]
fn any_size_is_survived_with_a_question_open() {
    let mut app = about_to_confirm();
    for (columns, rows) in [(1, 1), (3, 2), (200, 50), (80, 1), (1, 200), (40, 12)] {
        app.resize(columns, rows);
        settles(&mut app);
    }
    for n in 0..100u16 {
        app.resize(1 + n * 37 % 211, 1 + n * 13 % 61);
    }
    app.resize(80, 24);
    app.sees("> [ Confirm ]");
    app.assert_nothing_was_confirmed();
}

// A key must not lie unseen until the next one because the size changed in the same instant. Whether
// they come together is chance; on a busy machine it takes few tries.
#[test]
fn a_key_that_comes_together_with_a_new_size_is_taken() {
    let mut app = App::offline(SIZES[0]);
    let mut typed = String::new();
    for n in 0..40 {
        let key = char::from(b'a' + n % 26);
        typed.push(key);
        app.resize(if n % 2 == 0 { 120 } else { 80 }, 30);
        app.world.press(&key.to_string());
        app.sees(&typed);
    }
}

// Row 13: what can't be seen is not answered.
#[test]
fn no_key_answers_a_question_that_is_not_drawn() {
    let mut app = about_to_confirm();
    app.resize(20, 5);
    app.sees("too small");
    app.key(ENTER);
    settles(&mut app);
    app.resize(80, 24);
    app.sees("> [ Confirm ]");
    app.assert_nothing_was_confirmed();
}

// Row 14
#[test]
fn pasting_several_lines_runs_no_command() {
    let lines = "/routine confirm a\n/routine confirm b\n";
    let bracketed = format!("\x1b[200~{lines}\x1b[201~");
    for keys in [bracketed, lines.replace('\n', "\r")] {
        let mut app = App::offline(SIZES[0]);
        app.demo();
        app.key(&keys);
        app.shows("both lines", |screen| {
            screen.contains("/routine confirm a") && screen.contains("/routine confirm b")
        });
        settles(&mut app);
        let screen = app.screen();
        assert!(
            !screen.contains("[ Confirm ]") && !screen.contains("error"),
            "{screen}"
        );
        assert!(screen.contains("/routine confirm a"), "{screen}");
        app.assert_nothing_was_confirmed();
    }
}

// Row 16: the end of a paste within the paste.
#[test]
fn what_follows_a_paste_that_ends_early_confirms_nothing() {
    let mut app = App::offline(SIZES[0]);
    app.demo();
    app.key(F2);
    app.sees("> [ Cancel ]");
    app.key("\x1b[200~ abc \x1b[201~y\r\x1b[201~");
    settles(&mut app);
    app.assert_nothing_was_confirmed();
}

// Row 22: an Enter that is held down answers nothing that comes up under it.
#[test]
fn a_held_key_does_not_answer_the_question_that_it_opened() {
    let mut app = App::offline(SIZES[0]);
    app.demo();
    app.writes("/routine confirm");
    for _ in 0..15 {
        app.key(ENTER);
    }
    settles(&mut app);
    app.sees(PAUSED);
    app.assert_nothing_was_confirmed();
}

// Row 25
#[test]
fn without_colours_text_alone_tells_what_is_chosen() {
    let mut app = App::open(SIZES[0], &[], &[("NO_COLOR", "1")]);
    app.demo();
    app.sees("> ◷ waiting");
    app.key(F2);
    app.sees("> [ Cancel ]    [ Confirm ]");
    app.key(RIGHT);
    app.sees("[ Cancel ]  > [ Confirm ]");
    app.world.read(|written| {
        for sequence in written.split("\x1b[").skip(1) {
            let Some((parameters, _)) = sequence.split_once('m') else {
                continue;
            };
            let colours = parameters
                .split(';')
                .filter_map(|number| number.parse::<u8>().ok())
                .any(|number| matches!(number, 30..=38 | 40..=48 | 90..=107));
            let is_colour = colours && parameters.bytes().all(|b| b == b';' || b.is_ascii_digit());
            assert!(!is_colour, "a colour: {parameters}");
        }
    });
}

// Row 28: nothing moves but the age.
#[test]
fn a_waiting_operation_costs_next_to_nothing() {
    let mut app = App::offline(SIZES[0]);
    app.demo();
    settles(&mut app);
    let before = (app.world.read(str::len), processor_time(&app));
    let until = Instant::now() + Duration::from_secs(3);
    app.world.watch(until);
    let written = app.world.read(str::len) - before.0;
    assert!(written < 1000, "{written} bytes");
    // Unoptimised code on a loaded machine; a loop that turns would take seconds.
    if let (Some(after), Some(before)) = (processor_time(&app), before.1) {
        assert!(
            after - before < Duration::from_millis(300),
            "{:?}",
            after - before
        );
    }
}

/// What the application's process has used, where that can be read.
fn processor_time(app: &App) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", app.world.pid())).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

// Row 33: a check's own output stays off the screen.
#[test]
fn what_a_check_writes_does_not_reach_the_screen() {
    let mut app = App::offline(SIZES[0]);
    app.has_routine(
        "routine: noisy
entry_steps: [keep]
steps:
  - { slug: keep, type: tool, tool: memory_set, args: { key: k, value: 1 }, verify: [
      { check: command, run: [sh, -c, \"printf 'JU%s' NK >&2; exit 0\"] } ] }
  - { slug: done, type: terminal }
edges: [{ from: keep, to: done }]
",
    );
    app.is_asked("/routine run routine.yaml", "> Run noisy?", "Cancel");
    app.accepts("Run");
    app.sees("✓ succeeded");
    settles(&mut app);
    app.world
        .read(|written| assert!(!written.contains("JUNK"), "{written:?}"));
}

// Row 36: Ctrl-C clears first, and only an empty line lets anything end.
#[test]
fn a_draft_is_cleared_by_the_first_ctrl_c_and_comes_back() {
    let mut app = App::offline(SIZES[0]);
    app.writes("a long thought");
    app.key(CTRL_D);
    settles(&mut app);
    app.sees("a long thought");
    app.key(CTRL_C);
    app.sees_no("a long thought");
    app.key(UP);
    app.sees("a long thought");
    app.key(CTRL_C);
    app.sees_no("a long thought");
    app.key(CTRL_C);
    app.sees("> Quit?");
    app.sees("> [ Stay ]");
    app.key(ESCAPE);
    app.sees_no("> Quit?");
    app.key(CTRL_D);
    assert_eq!(app.world.end().0, 0);
}
