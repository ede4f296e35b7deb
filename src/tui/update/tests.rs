//! Sentences: in this state, after this message, that.

mod confirming;
mod iterations;

use crossterm::event::KeyCode;
use serde_json::json;

use crate::engine::id::Generation;
use crate::engine::operation::outcome::{Status, Verdict};
use crate::engine::operation::view::OperationState;
use crate::engine::operation::wait::{Accepting, Answer, Direction, Permit};
use crate::engine::verify::AttestationVerdict;
use crate::host::session::types::Rest;
use crate::tui::effect::Effect;
use crate::tui::message::Message;
use crate::tui::stage::{
    Stage, gate, loaded, manual, outcome, permission, recheck, routine, uncertain,
};
use crate::tui::state::form::Focus;
use crate::tui::state::modal::Modal;
use crate::tui::state::notice::{Notice, Trouble};
use crate::tui::state::routine::Origin;
use crate::tui::state::{Pane, Panel, Screen};
use crate::tui::text::Inert;

fn trouble(stage: &Stage) -> &Trouble {
    match &stage.state.notice {
        Some(Notice::Trouble(trouble)) => trouble,
        other => panic!("{other:?}"),
    }
}

fn focus(stage: &Stage) -> Option<Focus> {
    match &stage.state.modal {
        Some(Modal::Ask(dialog)) => Some(dialog.form.focus),
        Some(Modal::Pick(_) | Modal::Read(_)) | None => None,
    }
}

fn confirmed(effects: &[Effect]) -> Vec<Answer> {
    match effects {
        [Effect::Confirm(operation, _, answers)] => {
            assert_eq!(operation.as_str(), "op-1");
            answers.iter().map(|(_, answer)| answer.clone()).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Tab, until a button that does it has the focus; then Enter.
fn accept(stage: &mut Stage) -> Vec<Effect> {
    for _ in 0..20 {
        if focus(stage) == Some(Focus::Accept) {
            break;
        }
        stage.press(KeyCode::Tab);
    }
    stage.press(KeyCode::Enter)
}

// ---- starting

/// T3
#[test]
fn a_demo_that_needs_nothing_starts_at_once() {
    let mut stage = Stage::new();
    let effects = stage.types("/routine demo\n");
    let [Effect::Load(ticket, Origin::Demo("verified-submission"))] = effects[..] else {
        panic!("{effects:?}");
    };
    let demo = Box::new(routine("verified-submission"));
    let effects = stage.tell(Message::Loaded(ticket, Ok(demo)));
    assert!(
        matches!(&effects[..], [Effect::Start(started, inputs)] if *started == ticket && inputs.is_empty())
    );
    assert!(stage.state.modal.is_none());
    stage.tell(Message::Started(ticket, Ok("op-1".into()), stage.now));
    let chosen = stage.state.operations.chosen().expect("chosen");
    assert_eq!(chosen.id.as_str(), "op-1");
}

/// M6: nothing runs before its commands were shown, and cancelling runs nothing.
#[test]
fn a_file_with_commands_shows_them_before_its_first_run() {
    let mut stage = Stage::new();
    let effects = stage.types("/routine run a b.yaml\n");
    let [.., Effect::Load(ticket, Origin::File(path))] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(path, "a b.yaml");
    let file = Box::new(routine("checks-and-operator"));
    let effects = stage.tell(Message::Loaded(*ticket, Ok(file)));
    assert_eq!(effects, []);
    assert_eq!(focus(&stage), Some(Focus::Dismiss));
    assert!(stage.screen().contains("command -v date"));
    assert_eq!(stage.press(KeyCode::Esc), [Effect::Unload(*ticket)]);
}

#[test]
fn a_required_input_is_asked_for_and_its_absence_is_said() {
    let file = "routine: r\nparameters:\n  - { name: topic, required: true }\n  - { name: n, default: 3 }\n  - { name: untouched, default: \"a\\tb\" }\nentry_steps: [a]\nsteps:\n  - { slug: a, type: agent, agent: default }\n  - { slug: z, type: terminal }\nedges: [ { from: a, to: z } ]\n";
    let mut stage = Stage::new();
    let effects = stage.types("/routine run r.yaml\n");
    let [.., Effect::Load(ticket, _)] = effects[..] else {
        panic!("{effects:?}");
    };
    let routine = Box::new(loaded(file, Origin::File("r.yaml".into())));
    stage.tell(Message::Loaded(ticket, Ok(routine)));
    assert_eq!(accept(&mut stage), [], "it is missing");
    assert!(stage.screen().contains("topic is required"));
    stage.types("spring");
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Backspace);
    stage.types("7");
    let effects = accept(&mut stage);
    let [Effect::Start(started, inputs)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*started, ticket);
    assert_eq!(json!(inputs), json!({"topic": "spring", "n": 7}));
}

/// V16: three parts, the first operation named.
#[test]
fn a_refused_start_says_what_why_and_what_to_type() {
    let mut stage = Stage::waiting();
    let effects = stage.types("/routine demo\n");
    let [Effect::Load(ticket, _)] = effects[..] else {
        panic!("{effects:?}");
    };
    let refused = Trouble::of(
        "the routine was not started",
        "agent default is leased to operation op-1",
        "type /routine confirm op-1",
    );
    let demo = Box::new(routine("verified-submission"));
    stage.tell(Message::Loaded(ticket, Ok(demo)));
    stage.tell(Message::Started(ticket, Err(refused), stage.now));
    assert_eq!(stage.state.operations.all().len(), 1);
    let screen = stage.screen();
    for part in [
        "was not started",
        "leased to operation op-1",
        "/routine confirm op-1",
    ] {
        assert!(screen.contains(part), "{screen}");
    }
}

// ---- cancelling and quitting

/// T5, L5
#[test]
fn cancelling_asks_and_then_shows_effects_and_what_is_required() {
    let mut stage = Stage::waiting();
    stage.types("/routine cancel\n");
    assert_eq!(focus(&stage), Some(Focus::Dismiss));
    assert!(
        stage
            .screen()
            .contains("Effects so far: after_partial_effects")
    );
    assert_eq!(accept(&mut stage), [Effect::Cancel("op-1".into())]);
    let rest = Rest::Settled(Box::new(outcome(Status::Cancelled)));
    stage.tell(Message::Cancelled("op-1".into(), Some(rest), stage.now));
    let screen = stage.screen();
    assert!(
        screen.contains("effects: after_partial_effects"),
        "{screen}"
    );
    assert!(
        screen.contains("required: verify what `run_command` did"),
        "{screen}"
    );
    stage.press(KeyCode::Esc);
    stage.types("/routine cancel\n");
    assert!(trouble(&stage).why.as_str().contains("cancelled already"));
}

/// T7
#[test]
fn quitting_asks_only_where_something_is_active_or_paused() {
    assert_eq!(Stage::new().types("/quit\n"), [Effect::Quit]);
    assert_eq!(Stage::new().control('d'), [Effect::Quit]);
    let mut stage = Stage::waiting();
    assert_eq!(stage.types("/quit\n"), []);
    assert_eq!(focus(&stage), Some(Focus::Dismiss));
    stage.press(KeyCode::Esc);
    assert_eq!(stage.control('d'), []);
    assert_eq!(accept(&mut stage), [Effect::Quit]);
}

/// Row 36.
#[test]
fn control_c_clears_the_draft_and_then_asks_to_quit() {
    let mut stage = Stage::new();
    stage.types("half a thought");
    assert_eq!(stage.control('d'), [], "a draft isn't quit over");
    assert_eq!(stage.control('c'), []);
    assert!(stage.state.modal.is_none() && stage.state.prompt.is_empty());
    assert_eq!(stage.control('c'), []);
    assert_eq!(focus(&stage), Some(Focus::Dismiss));
    stage.press(KeyCode::Esc);
    stage.press(KeyCode::Up);
    assert_eq!(stage.state.prompt.text(), "half a thought");
}

// ---- looking about

/// V28
#[test]
fn inspecting_is_a_look_and_nothing_else() {
    let mut stage = Stage::waiting();
    let effects = stage.types("/routine inspect\n");
    assert_eq!(effects, [Effect::Inspect("op-1".into())]);
    stage.tell(Message::Inspected("op-1".into(), Some(Default::default())));
    let screen = stage.screen();
    assert!(screen.contains("no model was asked"), "{screen}");
    assert!(screen.contains("state        waiting"), "{screen}");
}

/// T2: the chosen one, the only one that fits, a list.
#[test]
fn the_operation_left_out_is_the_chosen_or_the_only_one_that_fits() {
    let mut stage = Stage::waiting();
    stage.start("gated-rework", "op-2");
    stage.types("/routine confirm\n");
    assert!(stage.screen().contains("Confirm verified-submission op-1?"));
    stage.press(KeyCode::Esc);
    stage.start("linear", "op-3");
    stage.pause("op-2", vec![recheck()], 0);
    stage.types("/routine confirm\n");
    assert!(matches!(stage.state.modal, Some(Modal::Pick(_))));
    stage.press(KeyCode::Down);
    stage.press(KeyCode::Enter);
    stage.wait(200);
    assert!(stage.screen().contains("Confirm gated-rework op-2?"));
}

/// Rows 30 and 31: the choice is of an operation, not of a row.
#[test]
fn the_choice_stays_with_its_operation() {
    let mut stage = Stage::waiting();
    stage.start("linear", "op-2");
    stage.press(KeyCode::Tab);
    assert_eq!(stage.state.pane, Pane::Operations);
    stage.press(KeyCode::Up);
    stage.start("gated-rework", "op-3");
    // Starting chooses what was started; going back finds the others by identity.
    stage.press(KeyCode::Esc);
    stage.press(KeyCode::Tab);
    for _ in 0..9 {
        stage.press(KeyCode::Up);
    }
    let chosen = stage.state.operations.chosen().expect("chosen");
    assert_eq!(chosen.id.as_str(), "op-1");
}

#[test]
fn a_look_at_an_operation_is_never_lost_to_an_older_state() {
    let mut stage = Stage::waiting();
    stage.settle("op-1", Status::Succeeded);
    let late = stage.view("op-1", OperationState::Running);
    stage.tell(Message::Viewed(Box::new(late)));
    let operation = &stage.state.operations.all()[0];
    assert_eq!(operation.state(), OperationState::Succeeded);
}

/// T2
#[test]
fn text_without_a_slash_goes_to_the_chat_agent_and_waits_for_its_answer() {
    let mut stage = Stage::new();
    assert_eq!(stage.types("hello\n"), [Effect::Chat("hello".into())]);
    assert_eq!(stage.state.panel, Panel::Chat);
    assert_eq!(stage.types("and\n"), [], "one at a time");
    assert_eq!(stage.state.prompt.text(), "and");
    stage.tell(Message::Answered(Ok(Inert::text("hi there"))));
    assert!(stage.screen().contains("hi there"));
    assert_eq!(stage.press(KeyCode::Enter), [Effect::Chat("and".into())]);
}

#[test]
fn an_unknown_command_names_a_near_one() {
    let mut stage = Stage::new();
    stage.types("/rutine\n");
    assert!(trouble(&stage).why.as_str().contains("no such command"));
    stage.types("/sour\n");
    assert!(trouble(&stage).next.as_str().contains("/sources"));
    stage.types("/routine demo nothing\n");
    assert!(trouble(&stage).why.as_str().contains("gated-rework"));
}

#[test]
fn commands_and_their_arguments_are_completed() {
    let mut stage = Stage::waiting();
    stage.types("/rout");
    stage.press(KeyCode::Tab);
    assert_eq!(stage.state.prompt.text(), "/routine ");
    stage.types("con");
    stage.press(KeyCode::Tab);
    assert_eq!(stage.state.prompt.text(), "/routine confirm ");
    stage.types("o");
    stage.press(KeyCode::Tab);
    assert_eq!(stage.state.prompt.text(), "/routine confirm op-1 ");
    stage.control('c');
    let effects = stage.types("/routine run demo/");
    assert_eq!(effects.last(), Some(&Effect::ReadFolder("demo/".into())));
    let names = vec!["a.yaml".into(), "b/".into()];
    stage.tell(Message::FolderRead {
        typed: "demo/".into(),
        names,
    });
    stage.press(KeyCode::Tab);
    assert_eq!(stage.state.prompt.text(), "/routine run demo/a.yaml ");
}

/// T6
#[test]
fn sources_are_previewed_within_an_allowance_archived_and_acknowledged() {
    let mut stage = crate::tui::view::tests::with_sources();
    assert_eq!(stage.state.screen, Screen::Sources);
    for _ in 0..3 {
        stage.press(KeyCode::Down);
    }
    let effects = stage.press(KeyCode::Enter);
    let [Effect::Preview(_, source, 16_384)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let too_large = crate::tui::message::Previewed::TooLarge(20_000);
    stage.tell(Message::Previewed(source.clone(), Ok(too_large)));
    assert!(stage.screen().contains("nothing is shown cut"));
    let effects = stage.press(KeyCode::Char('+'));
    assert!(
        matches!(&effects[..], [Effect::Preview(_, _, 65_536)]),
        "{effects:?}"
    );
    stage.press(KeyCode::Char('A'));
    assert!(trouble(&stage).next.as_str().contains("press a"));
    let effects = stage.press(KeyCode::Char('a'));
    let [Effect::Archive(operation, source)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let receipt = crate::tui::view::tests::receipt();
    let archived = Message::Archived(operation.clone(), source.clone(), Ok(receipt.clone()));
    stage.tell(archived);
    let effects = stage.press(KeyCode::Char('A'));
    assert_eq!(
        effects,
        [Effect::Acknowledge("op-1".into(), source.clone(), receipt)]
    );
}

/// Row 27: while nothing comes back, help, moving and quitting work.
#[test]
fn what_is_asked_of_the_session_holds_no_key_up() {
    let mut stage = Stage::waiting();
    stage.types("/routine inspect\n");
    stage.press(KeyCode::Char('?'));
    assert!(matches!(stage.state.modal, Some(Modal::Read(_))));
    stage.press(KeyCode::Esc);
    stage.press(KeyCode::Tab);
    assert_eq!(stage.state.pane, Pane::Operations);
    stage.types("q");
    assert!(stage.state.modal.is_some());
}
