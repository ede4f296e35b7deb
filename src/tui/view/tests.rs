//! Screens as text, at each size with a layout of its own, and what must hold at every size.

pub(in crate::tui) mod inside;

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use serde_json::json;

use crate::engine::digest::Digest;
use crate::engine::evidence::{Place, Receipt, SourceHeader, SourceKind};
use crate::engine::id::{Lap, OperationId};
use crate::engine::operation::outcome::Status;
use crate::engine::operation::view::OperationState;
use crate::host::session::types::SourceRow;
use crate::tui::effect::Effect;
use crate::tui::message::{Message, Previewed};
use crate::tui::stage::{Stage, gate, manual, outcome, permission, recheck, routine, text};
use crate::tui::state::log::Entry;
use crate::tui::state::notice::Trouble;
use crate::tui::text::{Inert, width};
use crate::tui::theme::{Colours, Glyphs, Theme};
use crate::tui::view;

pub(in crate::tui) fn receipt() -> Receipt {
    let sha256 = Digest::of(b"kept");
    Receipt {
        uri: format!("sha256:{sha256}"),
        sha256,
        bytes: 4,
    }
}

fn source(n: u64, step: &str, kind: SourceKind, label: &str, bytes: u64) -> SourceRow {
    let operation = OperationId::from("op-1");
    SourceRow {
        header: SourceHeader {
            id: operation.source(n),
            kind,
            place: Some(Place {
                execution: operation.execution(1),
                step: step.to_owned(),
                lap: Lap(1),
            }),
            run: None,
            label: label.to_owned(),
            sha256: Digest::of(&n.to_le_bytes()),
            bytes,
        },
        receipt: (n == 2).then(receipt),
    }
}

/// The source browser with what an operation left.
pub(in crate::tui) fn with_sources() -> Stage {
    let mut stage = Stage::waiting();
    assert_eq!(
        stage.types("/sources\n"),
        [Effect::ListSources("op-1".into())]
    );
    let rows = vec![
        source(
            1,
            "reserve",
            SourceKind::ToolArguments,
            "synthetic_reserve",
            22,
        ),
        source(
            2,
            "reserve",
            SourceKind::ToolResult,
            "synthetic_reserve",
            67,
        ),
        source(3, "draft", SourceKind::ModelRequest, "model request", 1_434),
        source(4, "draft", SourceKind::Late, "model response", 5 << 20),
    ];
    stage.tell(Message::Listed("op-1".into(), Ok(rows)));
    stage
}

fn with_log() -> Stage {
    let mut stage = Stage::waiting();
    let entry = |word: &str, text: &str| Entry {
        at: Inert::ours("12:34:56"),
        operation: Some("op-1".into()),
        word: Inert::one_line(word),
        text: Inert::one_line(text),
    };
    let entries = vec![
        entry("started", "verified-submission with offline/offline"),
        entry("step", "draft (agent, default)"),
        entry(
            "paused",
            "waiting: the synthetic job release-note is not ready",
        ),
    ];
    stage.tell(Message::Logged(entries, 0));
    stage
}

macro_rules! looks {
    ($($test:ident: $name:literal, $stage:expr;)*) => {$(
        #[test]
        fn $test() {
            let mut stage: Stage = $stage;
            insta::assert_snapshot!($name, stage.screens());
        }
    )*};
}

looks! {
    an_empty_screen_says_what_to_type: "empty", Stage::new();
    a_waiting_demo_shows_graph_wait_and_log: "waiting", with_log();
    a_finished_demo: "finished", {
        let mut stage = with_log();
        let mut view = stage.view("op-1", OperationState::Succeeded);
        view.outcome = Some(outcome(Status::Succeeded));
        stage.tell(Message::Viewed(Box::new(view)));
        stage.settle("op-1", Status::Succeeded);
        stage
    };
    the_step_is_looked_at: "step", {
        let mut stage = with_log();
        for _ in 0..3 {
            stage.press(KeyCode::Tab);
        }
        stage
    };
    the_waits_are_looked_at: "waits", {
        let mut stage = with_log();
        stage.pause("op-1", vec![permission(), recheck()], 1);
        for _ in 0..4 {
            stage.press(KeyCode::Tab);
        }
        stage
    };
    a_recheck_is_confirmed: "confirm-recheck", {
        let mut stage = with_log();
        stage.types("/routine confirm\n");
        stage
    };
    several_questions_are_asked_at_once: "confirm-several", {
        let mut stage = with_log();
        stage.pause("op-1", vec![permission(), manual()], 1);
        stage.types("/routine confirm\n");
        stage
    };
    a_gate_asks_for_a_verdict: "confirm-gate", {
        let mut stage = with_log();
        stage.pause("op-1", vec![gate()], 1);
        stage.types("/routine confirm\n");
        for key in [KeyCode::Tab, KeyCode::Left, KeyCode::Tab, KeyCode::Left] {
            stage.press(key);
        }
        stage
    };
    a_cancellation_is_asked_for: "cancel", {
        let mut stage = with_log();
        stage.types("/routine cancel\n");
        stage
    };
    quitting_is_asked_for: "quit", {
        let mut stage = with_log();
        stage.types("/quit\n");
        stage
    };
    a_routine_shows_its_checks_before_it_runs: "run", {
        let mut stage = Stage::new();
        let effects = stage.types("/routine demo checks-and-operator\n");
        let [Effect::Load(ticket, _)] = effects[..] else { panic!("{effects:?}") };
        let file = Box::new(routine("checks-and-operator"));
        stage.tell(Message::Loaded(ticket, Ok(file)));
        stage
    };
    one_of_several_is_picked: "pick", {
        let mut stage = with_log();
        stage.start("gated-rework", "op-2");
        stage.pause("op-2", vec![recheck()], 0);
        stage.start("linear", "op-3");
        stage.types("/routine confirm\n");
        stage
    };
    the_help_lists_commands_and_keys: "help", {
        let mut stage = Stage::new();
        stage.types("/help\n");
        stage
    };
    sources_stand_in_a_tree: "sources", {
        let mut stage = with_sources();
        for _ in 0..3 {
            stage.press(KeyCode::Down);
        }
        let effects = stage.press(KeyCode::Enter);
        let [Effect::Preview(_, source, _)] = &effects[..] else { panic!("{effects:?}") };
        let content = Previewed::Content(Inert::text("{\"job\":\"release-note\"}"));
        stage.tell(Message::Previewed(source.clone(), Ok(content)));
        stage
    };
    a_command_is_completed: "completion", {
        let mut stage = with_log();
        stage.types("/routine ");
        stage
    };
    an_error_has_three_parts: "error", {
        let mut stage = with_log();
        stage.tell(Message::Failed(Trouble::of(
            "the routine was not started",
            "agent default is leased to operation op-1",
            "type /routine confirm op-1 or /routine cancel op-1 first",
        )));
        stage
    };
    a_chat: "chat", {
        let mut stage = Stage::new();
        stage.types("What is a gate?\n");
        stage.tell(Message::Answered(Ok(Inert::text(
            "A gate's verdict chooses the way.\nIts fail is no failure.",
        ))));
        stage
    };
}

/// Every screen that there is.
fn everything() -> Vec<Stage> {
    let mut several = with_log();
    several.pause("op-1", vec![permission(), manual(), gate(), recheck()], 1);
    several.types("/routine confirm\n");
    let mut cancel = with_log();
    cancel.types("/routine cancel\n");
    let mut help = Stage::new();
    help.types("/help\n");
    let mut pick = with_log();
    pick.start("gated-rework", "op-2");
    pick.pause("op-2", vec![recheck()], 0);
    pick.start("linear", "op-3");
    pick.types("/routine confirm\n");
    let mut completion = with_log();
    completion.types("/routine ");
    let mut error = with_log();
    error.tell(Message::Failed(Trouble::of("what", "why\nwhy", "next")));
    vec![
        Stage::new(),
        with_log(),
        several,
        cancel,
        help,
        pick,
        completion,
        error,
        with_sources(),
    ]
}

/// Row 12.
#[test]
fn no_size_panics() {
    let sizes = (0..=12).flat_map(|columns| (0..=6).map(move |rows| (columns, rows)));
    let larger = [
        (39, 12),
        (40, 11),
        (40, 12),
        (41, 13),
        (72, 20),
        (200, 50),
        (110, 30),
    ];
    for mut stage in everything() {
        for (columns, rows) in sizes.clone().chain(larger) {
            stage.resize(columns, rows);
            stage.screen();
            // The state may be of another size than what is drawn: a resize is on its way.
            let area = Rect::new(0, 0, rows, columns);
            let mut buffer = Buffer::empty(area);
            view::draw(&stage.state, area, &mut buffer);
            for key in [KeyCode::Up, KeyCode::PageDown, KeyCode::Left, KeyCode::End] {
                stage.press(key);
            }
        }
    }
}

/// A stage where everything that comes from others is hostile.
fn hostile() -> Stage {
    const EVIL: &str = "x\u{1b}]52;c;AAAA\u{7}\u{1b}[31m\u{9b}31m\u{202E}yned\u{1b}]8;;http://x\u{1b}\\ \u{1b}[6n\u{1b}c\tz";
    let mut stage = Stage::waiting();
    let mut wait = recheck();
    wait.reason = EVIL.into();
    wait.key.step = Some(EVIL.into());
    let mut call = permission();
    if let crate::engine::operation::wait::Question::Permission { tool, args } = &mut call.question
    {
        *tool = EVIL.into();
        *args = json!({ "argv": [EVIL] });
    }
    stage.pause("op-1", vec![wait, call], 1);
    let mut view = stage.view("op-1", OperationState::Running);
    view.executions[0].steps[0].note = Some(EVIL.into());
    view.executions[0].steps[0].output = Some(json!(EVIL));
    stage.tell(Message::Viewed(Box::new(view)));
    let mut rows = vec![source(1, EVIL, SourceKind::ToolResult, EVIL, 5)];
    rows.push(source(3, "draft", SourceKind::StepBody, "", 5));
    stage.tell(Message::Listed("op-1".into(), Ok(rows)));
    stage.tell(Message::Failed(Trouble::of(EVIL, EVIL, EVIL)));
    stage.tell(Message::Answered(Ok(Inert::text(EVIL))));
    stage.state.log.add([Entry {
        at: Inert::ours("12:00:00"),
        operation: None,
        word: Inert::ours("step"),
        text: Inert::one_line(EVIL),
    }]);
    stage
}

pub(in crate::tui) fn assert_inert(stage: &mut Stage) {
    for (columns, rows) in [(120, 40), (80, 24), (40, 12)] {
        stage.resize(columns, rows);
        let (buffer, _) = stage.drawn();
        for cell in &buffer.content {
            let symbol = cell.symbol();
            let harmless = !symbol
                .chars()
                .any(|char| char.is_control() || char == '\u{202E}');
            assert!(harmless, "{symbol:?}");
        }
        // A call's arguments are shown as exact JSON, in which an escape is written out.
        let screen = text(&buffer)
            .replace("\\u001b]52;c", "")
            .replace("\\u001b[31m", "");
        let screen = screen.replace("\\u001b]8;;", "").replace("\\u001b[6n", "");
        for payload in ["52;c", "[31m", "]8;;", "[6n"] {
            assert!(!screen.contains(payload), "{payload} in\n{screen}");
        }
    }
}

/// T8, rows 6 and 7.
#[test]
fn nothing_of_others_reaches_a_cell_but_text() {
    let mut stage = hostile();
    for _ in 0..6 {
        assert_inert(&mut stage);
        stage.press(KeyCode::Tab);
    }
    stage.types("/routine confirm\n");
    assert_inert(&mut stage);
    stage.press(KeyCode::Esc);
    stage.state.focus(crate::tui::state::Pane::Prompt);
    stage.types("/sources\n");
    assert_inert(&mut stage);
}

/// Rows 1 to 4: wide and joined clusters leave every right border where it is.
#[test]
fn borders_stand_straight_beside_any_text() {
    let odd = "❤️ ⚠️ 漢字 1️⃣ 👨‍👩‍👧‍👦 aaaa\u{200B} \u{301}x 🇩🇪 |";
    let mut stage = Stage::waiting();
    let mut wait = recheck();
    wait.reason = odd.repeat(3);
    stage.pause("op-1", vec![wait], 1);
    stage.state.log.add((0..20).map(|_| Entry {
        at: Inert::ours("12:00:00"),
        operation: None,
        word: Inert::ours("step"),
        text: Inert::one_line(&odd.repeat(9)),
    }));
    for columns in 40..=90 {
        stage.resize(columns, 24);
        for line in stage.screen().lines().filter(|line| line.ends_with('│')) {
            assert_eq!(width(line), usize::from(columns), "{line}");
        }
    }
}

/// Row 25: without colours every state has its word, and what is chosen its marker.
#[test]
fn without_colour_text_says_it_all() {
    let mut stage = with_log();
    stage.state.theme = Theme {
        colours: Colours::Off,
        glyphs: Glyphs::Ascii,
    };
    stage.press(KeyCode::Tab);
    let (buffer, _) = stage.drawn();
    let coloured = buffer
        .content
        .iter()
        .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
    assert!(!coloured);
    let screen = text(&buffer);
    assert!(screen.is_ascii(), "{screen}");
    assert!(screen.contains("> ~ waiting"), "{screen}");
    assert!(
        buffer
            .content
            .iter()
            .any(|cell| cell.modifier.contains(Modifier::REVERSED))
    );
    stage.press(KeyCode::Esc);
    stage.types("/routine confirm\n");
    assert!(stage.screen().contains("> [ Cancel ]"));
}

/// Row 35: the terminal's own cursor stands where the next letter goes.
#[test]
fn the_cursor_stands_behind_what_was_typed() {
    let mut stage = Stage::new();
    stage.types("漢字");
    let (_, cursor) = stage.drawn();
    let cursor = cursor.expect("in the command line");
    assert_eq!((cursor.x, cursor.y), (2 + 4, 22));
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Tab);
    assert_eq!(stage.drawn().1, None, "a pane has the keys");
}

/// Rows 9 and 10, Q3: a frame costs what is visible.
#[test]
fn a_frame_costs_what_is_visible() {
    let mut stage = with_sources();
    for _ in 0..3 {
        stage.press(KeyCode::Down);
    }
    let effects = stage.press(KeyCode::Enter);
    let [Effect::Preview(_, source, _)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let content = Previewed::Content(Inert::text(&"{\"a\": 1} ".repeat(1 << 20)));
    stage.tell(Message::Previewed(source.clone(), Ok(content)));
    stage.state.log.add((0..5_000).map(|_| Entry {
        at: Inert::ours("12:00:00"),
        operation: None,
        word: Inert::ours("step"),
        text: Inert::one_line("something happened"),
    }));
    stage.press(KeyCode::Tab);
    let start = std::time::Instant::now();
    for _ in 0..20 {
        stage.press(KeyCode::PageDown);
        stage.screen();
    }
    // Debug builds are slow; wrapping ten megabytes twenty times would take minutes in them.
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}
