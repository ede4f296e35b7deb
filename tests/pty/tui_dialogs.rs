//! Questions and their answers: inputs, permissions, verdicts, and what nobody can tell (T4, T5).

use crate::app::{App, BACK_TAB, ENTER, F2, PAUSED, SIZES, TAB};
use crate::server::{Answers, REFUSES, Server};

const CALLS: &str = "routine: calls
entry_steps: [make]
steps:
  - { slug: make, type: tool, tool: run_command, args: { argv: [touch, made.txt] } }
  - { slug: done, type: terminal }
edges: [{ from: make, to: done }]
";
const LOOKS: &str = "routine: looks
entry_steps: [look]
steps:
  - { slug: look, type: tool, tool: memory_set, args: { key: k, value: 1 }, verify: [{ check: manual, prompt: Is the page right? }] }
  - { slug: done, type: terminal }
edges: [{ from: look, to: done }]
";
const GATE: &str = "routine: gate
entry_steps: [release]
steps:
  - { slug: release, type: gate, operator: true, instructions: Ship it?, criteria: [It is friendly] }
  - { slug: done, type: terminal }
  - { slug: rejected, type: terminal_fail, reason: Nobody wants it }
edges:
  - { from: release, to: done, condition: on_pass, purpose: Ship }
  - { from: release, to: rejected, condition: on_fail, purpose: Leave }
";
const ASKS: &str = "routine: asks
entry_steps: [draft]
steps:
  - { slug: draft, type: agent, agent: default, instructions: Write. }
  - { slug: done, type: terminal }
edges: [{ from: draft, to: done, handoff_instructions: Give the note. }]
";

/// The application with a routine that was started and waits.
fn waiting(size: (u16, u16), routine: &str) -> App {
    let mut app = App::offline(size);
    app.has_routine(routine);
    app.says("/routine run routine.yaml");
    app.sees(PAUSED);
    app
}

/// Opens the question of what waits.
fn question(app: &mut App, text: &str) -> String {
    app.key(F2);
    app.sees(text);
    app.sees("> [ Cancel ]")
}

/// Chooses from a question's first choice and confirms.
fn answer(app: &mut App, options: &[&str]) {
    app.key(TAB);
    app.chooses(options);
    app.key(BACK_TAB);
    app.sees("> [ Cancel ]");
    app.accepts("Confirm");
}

// T4, C8: inputs that are missing are asked for, and checks that run commands are shown first.
#[test]
fn a_file_is_started_with_what_it_needs() {
    for size in SIZES {
        let mut app = App::offline(size);
        app.has_routine(
            "routine: greets
parameters: [{ name: who, required: true, description: Whom to greet }]
entry_steps: [keep]
steps:
  - { slug: keep, type: tool, tool: memory_set, args: { key: \"{{param.who}}\", value: 1 } }
  - { slug: done, type: terminal }
edges: [{ from: keep, to: done }]
verify: [{ check: command, run: [test, -d, .] }]
",
        );
        let asked = app.is_asked("/routine run routine.yaml", "> Run greets?", "Cancel");
        assert!(asked.contains("command test -d ."), "{asked}");
        assert!(asked.contains("Whom to greet"), "{asked}");
        // Nothing was written: it isn't started without it.
        app.key(BACK_TAB);
        app.sees("> [ Run ]");
        app.key(ENTER);
        app.sees("who is required");
        app.writes("the world");
        app.key(ENTER);
        app.sees("> [ Run ]");
        app.key_again(ENTER);
        app.sees("✓ succeeded");
        app.sees(r#"{"key":"the world"}"#);
    }
}

// M6: exactly that call, once.
#[test]
fn a_call_is_shown_and_made_only_when_allowed() {
    for size in SIZES {
        let mut app = waiting(size, CALLS);
        let asked = question(&mut app, "This exact call, once:");
        assert!(
            asked.contains(r#"run_command {"argv":["touch","made.txt"]}"#),
            "{asked}"
        );
        assert!(!app.file("made.txt").exists());
        answer(&mut app, &["allowed"]);
        app.sees("✓ succeeded");
        assert!(app.file("made.txt").exists());
    }
}

#[test]
fn a_denied_call_is_not_made() {
    let mut app = waiting(SIZES[0], CALLS);
    question(&mut app, "This exact call, once:");
    answer(&mut app, &["allowed", "denied"]);
    app.sees("tool_failed");
    assert!(!app.file("made.txt").exists());
}

// G15: a verdict needs a reason.
#[test]
fn an_operator_gives_a_verdict_with_its_reason() {
    for (size, options, end) in [
        (SIZES[0], &["pass"][..], "✓ succeeded"),
        (SIZES[1], &["pass", "fail"][..], "terminal_fail"),
    ] {
        let mut app = waiting(size, GATE);
        let asked = question(&mut app, "Ship it?");
        assert!(asked.contains("- It is friendly"), "{asked}");
        answer_without_reason(&mut app, options);
        app.writes("as I see it");
        app.key(ENTER);
        app.presses("Confirm");
        app.sees(end);
    }
}

fn answer_without_reason(app: &mut App, options: &[&str]) {
    app.key(TAB);
    app.chooses(options);
    app.key(BACK_TAB);
    app.sees("> [ Cancel ]");
    app.key(BACK_TAB);
    app.sees("> [ Confirm ]");
    app.key(ENTER);
    app.sees("a verdict needs a reason");
}

// T5: `not right` overrides nothing and can be said again.
#[test]
fn a_manual_check_is_right_or_not_right() {
    let mut app = waiting(SIZES[0], LOOKS);
    let asked = question(&mut app, "Is the page right?");
    assert!(asked.contains("attestation"), "{asked}");
    answer(&mut app, &["right", "not right"]);
    app.sees("blocked");
    question(&mut app, "Is the page right?");
    answer(&mut app, &["right"]);
    app.sees("✓ succeeded");
}

/// A routine whose one model call came to nothing that anybody knows of.
fn uncertain() -> (Server, App) {
    let server = Server::start(REFUSES, Answers::AtOnce);
    let mut app = App::asking(SIZES[0], &server);
    app.has_routine(ASKS);
    app.says("/routine run routine.yaml");
    app.sees(PAUSED);
    let asked = question(&mut app, "Nothing is sent or done again.");
    assert!(asked.contains("uncertain"), "{asked}");
    (server, app)
}

// V10a
#[test]
fn looking_again_at_what_is_uncertain_sends_nothing_and_it_can_be_failed() {
    let (server, mut app) = uncertain();
    answer(&mut app, &["looked at again"]);
    app.shows("one more look", |_| app.confirmed() == 1);
    app.sees(PAUSED);
    question(&mut app, "Nothing is sent or done again.");
    app.key(TAB);
    app.chooses(&["looked at again", "failed"]);
    app.key(TAB);
    app.sees("> why it failed");
    app.writes("I give up");
    app.key(ENTER);
    app.presses("Confirm");
    app.sees("failed_by_operator");
    assert_eq!(server.requests().len(), 1);
}

// V10a, T5: accepting supplies what is missing.
#[test]
fn an_uncertain_step_is_accepted_with_what_is_missing() {
    let (server, mut app) = uncertain();
    app.key(TAB);
    app.chooses(&["looked at again", "failed", "accepted"]);
    app.key(TAB);
    app.sees("> its output, as JSON");
    app.writes("\"a note\"");
    app.key(TAB);
    app.sees("> Verdict");
    app.chooses(&["pass"]);
    app.key(TAB);
    app.sees("> why");
    app.writes("I wrote it");
    app.key(ENTER);
    app.presses("Confirm");
    app.sees("✓ succeeded");
    assert_eq!(server.requests().len(), 1);
}
