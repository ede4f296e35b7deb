//! What a person may confirm, and what never confirms.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use serde_json::json;

use super::*;

/// T5, row 32: the button that does nothing comes first, each time.
#[test]
fn confirming_a_recheck_takes_two_keys_and_begins_at_cancel() {
    let mut stage = Stage::waiting();
    for _ in 0..2 {
        stage.types("/routine confirm\n");
        assert_eq!(focus(&stage), Some(Focus::Dismiss));
        stage.press(KeyCode::Tab);
        stage.press(KeyCode::Esc);
        assert!(stage.state.modal.is_none());
    }
    stage.types("/routine confirm\n");
    assert!(
        stage
            .screen()
            .contains("Not repeated: 1 model call and 2 tool calls.")
    );
    stage.press(KeyCode::Tab);
    let effects = stage.press(KeyCode::Enter);
    assert_eq!(
        effects,
        [Effect::Confirm("op-1".into(), Generation(0), Vec::new())]
    );
    stage.types("/routine confirm\n");
    assert!(
        trouble(&stage)
            .why
            .as_str()
            .contains("confirmed a moment ago")
    );
}

/// T5: running and settled operations are refused, saying why.
#[test]
fn what_waits_for_nothing_is_not_confirmed() {
    let mut stage = Stage::new();
    stage.start("verified-submission", "op-1");
    stage.types("/routine confirm\n");
    assert!(trouble(&stage).why.as_str().contains("running"));
    stage.settle("op-1", Status::Succeeded);
    stage.types("/routine confirm\n");
    assert!(trouble(&stage).why.as_str().contains("succeeded"));
    stage.types("/routine confirm nobody\n");
    assert!(
        trouble(&stage)
            .what
            .as_str()
            .contains("no operation nobody")
    );
}

/// T5: one question a wait, one admission for all.
#[test]
fn several_waits_are_answered_together() {
    let mut stage = Stage::waiting();
    stage.pause("op-1", vec![permission(), recheck(), manual()], 1);
    stage.types("/routine confirm\n");
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Right);
    stage.press(KeyCode::Right);
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Char(' '));
    stage.press(KeyCode::Tab);
    stage.types("looks good");
    let effects = accept(&mut stage);
    assert_eq!(
        confirmed(&effects),
        [
            Answer::Permit(Permit::Deny),
            Answer::Attest {
                verdict: AttestationVerdict::Right,
                reasoning: Some("looks good".into()),
            },
        ]
    );
}

/// M6: the exact call is shown; what is left open is not allowed.
#[test]
fn a_permission_shows_the_exact_call_and_allows_nothing_by_itself() {
    let mut stage = Stage::waiting();
    stage.pause("op-1", vec![permission()], 1);
    stage.types("/routine confirm\n");
    assert!(
        stage
            .screen()
            .contains(r#"run_command {"argv":["rm","-r","build"]}"#)
    );
    assert_eq!(confirmed(&accept(&mut stage)), []);
}

/// T5: an operator's verdict needs a reason, a way where there are two, and the handoff that the way needs.
#[test]
fn a_gate_takes_a_verdict_with_everything_that_it_needs() {
    let mut stage = Stage::waiting();
    stage.pause("op-1", vec![gate()], 1);
    stage.types("/routine confirm\n");
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Left); // the last one: fail
    assert_eq!(accept(&mut stage), []);
    assert!(stage.screen().contains("choose which way"));
    stage.press(KeyCode::Left); // the last one: back
    assert_eq!(accept(&mut stage), []);
    assert!(stage.screen().contains("a verdict needs a reason"));
    stage.types("too long");
    assert_eq!(accept(&mut stage), []);
    assert!(stage.screen().contains("that is no JSON"));
    stage.types("{\"say\":\"shorter\"}");
    let answers = confirmed(&accept(&mut stage));
    let [Answer::Decide(verdict)] = &answers[..] else {
        panic!("{answers:?}");
    };
    assert_eq!(verdict.verdict, Verdict::Fail);
    assert_eq!(verdict.direction, Some(Direction::Back));
    assert_eq!(verdict.reasoning, "too long");
    assert_eq!(verdict.handoffs["draft"], json!({"say": "shorter"}));
}

/// A handoff may have several lines; no Enter while it is written confirms anything.
#[test]
fn a_handoff_of_several_lines_is_written_and_read_as_json() {
    let mut stage = Stage::waiting();
    stage.pause("op-1", vec![gate()], 1);
    stage.types("/routine confirm\n");
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Left); // the last one: fail
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Left); // the last one: back
    stage.press(KeyCode::Tab);
    stage.types("too long\n{");
    let line_break = KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT);
    assert_eq!(stage.event(line_break, 200), []);
    stage.tell(Message::Pasted(
        "\"say\": \"短く\"\r\n}".to_owned(),
        stage.now,
    ));
    // Up and Down stay in the text while it has a line there.
    let field = focus(&stage);
    stage.press(KeyCode::Up);
    stage.press(KeyCode::Up);
    assert_eq!(focus(&stage), field);
    stage.press(KeyCode::Up);
    assert_ne!(focus(&stage), field);
    let answers = confirmed(&accept(&mut stage));
    let [Answer::Decide(verdict)] = &answers[..] else {
        panic!("{answers:?}");
    };
    assert_eq!(verdict.reasoning, "too long");
    assert_eq!(verdict.handoffs["draft"], json!({"say": "短く"}));
}

/// V10a
#[test]
fn an_uncertain_step_is_looked_at_again_failed_or_accepted() {
    let mut stage = Stage::waiting();
    stage.pause("op-1", vec![uncertain(Accepting::Verdict)], 1);
    stage.types("/routine reconcile\n");
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Right);
    stage.press(KeyCode::Right);
    assert_eq!(accept(&mut stage), []);
    stage.types("it broke");
    let failed = Answer::Fail {
        reasoning: "it broke".into(),
    };
    assert_eq!(confirmed(&accept(&mut stage)), [failed]);

    stage.pause("op-1", vec![uncertain(Accepting::Verdict)], 2);
    stage.types("/routine reconcile\n");
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Left);
    stage.press(KeyCode::Tab);
    stage.types("\"done\"");
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Right);
    stage.press(KeyCode::Tab);
    stage.types("I saw it");
    let answers = confirmed(&accept(&mut stage));
    let [Answer::Accept(verdict)] = &answers[..] else {
        panic!("{answers:?}");
    };
    assert_eq!(
        (verdict.verdict, &verdict.output),
        (Verdict::Pass, &json!("done"))
    );
}

#[test]
fn only_what_is_uncertain_is_reconciled() {
    let mut stage = Stage::waiting();
    stage.types("/routine reconcile\n");
    assert!(
        trouble(&stage)
            .why
            .as_str()
            .contains("nothing of the operation is uncertain")
    );
    stage.pause("op-1", vec![uncertain(Accepting::Nothing)], 1);
    stage.types("/routine reconcile\n");
    assert!(!stage.screen().contains("accepted"));
}

/// Row 31: the question is for one pause, not for a row.
#[test]
fn a_pause_that_is_over_cant_be_confirmed() {
    let mut stage = Stage::waiting();
    stage.types("/routine confirm\n");
    stage.pause("op-1", vec![recheck()], 1);
    assert!(stage.screen().contains("It has moved on"));
    assert_eq!(accept(&mut stage), []);
    assert!(trouble(&stage).why.as_str().contains("moved on"));
    stage.types("/routine confirm\n");
    stage.settle("op-1", Status::Failed);
    assert_eq!(accept(&mut stage), []);
}

#[test]
fn a_refused_confirmation_leaves_the_pause_open() {
    let mut stage = Stage::waiting();
    stage.types("/routine confirm\n");
    accept(&mut stage);
    let refused = Trouble::of(
        "nothing was confirmed",
        "an answer doesn't fit",
        "look again",
    );
    stage.tell(Message::ConfirmRefused("op-1".into(), refused));
    stage.types("/routine confirm\n");
    assert_eq!(focus(&stage), Some(Focus::Dismiss));
}

/// Row 21: what becomes waiting while somebody types steals no key.
#[test]
fn a_pause_asks_nothing_by_itself() {
    let mut stage = Stage::new();
    stage.start("verified-submission", "op-1");
    stage.types("y");
    let effects = stage.pause("op-1", vec![permission()], 0);
    assert_eq!(effects, []);
    let effects = stage.types("es\n");
    assert_eq!(effects, [Effect::Chat("yes".into())]);
    assert!(stage.screen().contains("! 1 paused: F2"));
}

/// Row 21: a question that comes later waits behind a badge while somebody writes.
#[test]
fn a_late_question_never_opens_over_a_draft() {
    let mut stage = Stage::new();
    let effects = stage.types("/routine demo checks-and-operator\n");
    let [Effect::Load(ticket, _)] = effects[..] else {
        panic!("{effects:?}");
    };
    stage.types("yes");
    let file = Box::new(routine("checks-and-operator"));
    stage.tell(Message::Loaded(ticket, Ok(file)));
    assert!(stage.state.modal.is_none());
    assert_eq!(stage.state.prompt.text(), "yes");
    assert!(stage.screen().contains("! 1 to answer: F2"));
    stage.press(KeyCode::F(2));
    assert_eq!(focus(&stage), Some(Focus::Dismiss));
}

/// Row 22: releases and repeats decide nothing; a held Enter neither.
#[test]
fn a_held_key_confirms_nothing() {
    let mut stage = Stage::waiting();
    stage.types("/routine confirm\n");
    stage.press(KeyCode::Tab);
    for _ in 0..10 {
        assert_eq!(stage.repeat(KeyCode::Enter), []);
    }
    let release =
        KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
    assert_eq!(stage.event(release, 30), []);
    assert_eq!(focus(&stage), Some(Focus::Accept));
}

/// Row 22: where the terminal sends a held key as presses.
#[test]
fn an_enter_that_is_still_held_does_not_answer_what_it_opened() {
    let mut stage = Stage::waiting();
    stage.types("/routine confirm\n");
    stage.event(KeyCode::Enter.into(), 500);
    for _ in 0..50 {
        assert_eq!(stage.event(KeyCode::Enter.into(), 30), []);
    }
    assert_eq!(focus(&stage), Some(Focus::Dismiss));
    // Let go and pressed again it counts.
    stage.press(KeyCode::Enter);
    stage.wait(200);
    assert!(stage.state.modal.is_none());
}

/// Row 14: neither bracketed nor unbracketed pastes answer.
#[test]
fn a_paste_answers_no_question() {
    let mut stage = Stage::waiting();
    stage.types("/routine confirm\n");
    stage.wait(300);
    assert_eq!(stage.tell(Message::Pasted("\t\r".into(), stage.now)), []);
    for code in [KeyCode::Tab, KeyCode::Enter, KeyCode::Enter] {
        assert_eq!(stage.event(code.into(), 1), []);
    }
    assert!(stage.state.modal.is_some());
}

/// Row 14: several lines that were pasted are not run, also when Enter is pressed on them.
#[test]
fn several_lines_are_no_command() {
    let mut stage = Stage::waiting();
    let lines = "/routine confirm op-1\n/routine cancel op-1";
    stage.tell(Message::Pasted(lines.into(), stage.now));
    assert_eq!(stage.press(KeyCode::Enter), []);
    assert_eq!(stage.state.prompt.text(), lines);
    assert!(stage.state.modal.is_none());
}

/// Row 13: nothing is answered that can't be seen.
#[test]
fn a_screen_that_is_too_small_swallows_keys() {
    let mut stage = Stage::waiting();
    stage.types("/routine confirm\n");
    stage.press(KeyCode::Tab);
    stage.resize(10, 3);
    assert_eq!(stage.press(KeyCode::Enter), []);
    assert!(stage.screen().contains("too small"));
    stage.resize(80, 24);
    assert_eq!(focus(&stage), Some(Focus::Accept));
}
