//! The demo from its one request to its end, and what is refused meanwhile (T3, V16).

use crate::app::{App, ENTER, ESCAPE, PAUSED, SIZES, asking};
use crate::server::{Answers, SUBMITS, Server};

// T3: one request with a forced tool choice, one submission; only `confirm` ends the wait.
#[test]
fn the_demo_asks_once_and_is_confirmed_by_a_person() {
    for size in SIZES {
        let (server, mut app) = asking(size);
        app.demo();
        let requests = server.requests();
        assert_eq!(requests.len(), 1);
        let forced = &requests[0]["tool_choice"]["function"]["name"];
        assert_eq!(forced, "route_next_steps", "{}", requests[0]);

        app.says("/routine inspect");
        app.sees("no model was asked");
        app.key(ESCAPE);
        app.sees_no("no model was asked");
        assert_eq!(server.requests().len(), 1);

        let asked = app.is_asked(
            "/routine confirm",
            "> Confirm verified-submission",
            "Cancel",
        );
        assert!(asked.contains("Looked at again: draft."), "{asked}");
        assert!(
            asked.contains("Not repeated: 1 model call and 2 tool calls."),
            "{asked}"
        );
        app.accepts("Confirm");
        app.sees("✓ succeeded");
        assert_eq!(server.requests().len(), 1);
        assert_eq!(app.confirmed(), 1);
        assert!(app.accounts().contains("A note from the server."));

        // Nothing is left to be asked about.
        app.says("/quit");
        assert_eq!(app.world.end().0, 0);
    }
}

// T5: the harmless button has the focus each time.
#[test]
fn enter_alone_confirms_nothing_and_a_question_forgets_where_the_focus_was() {
    let mut app = App::offline(SIZES[0]);
    app.demo();
    app.is_asked(
        "/routine confirm",
        "> Confirm verified-submission",
        "Cancel",
    );
    app.key_again(ENTER);
    app.sees_no("[ Confirm ]");
    app.is_asked(
        "/routine confirm",
        "> Confirm verified-submission",
        "Cancel",
    );
    app.key(crate::app::RIGHT);
    app.sees("> [ Confirm ]");
    app.key(ESCAPE);
    app.sees_no("[ Confirm ]");
    app.is_asked(
        "/routine confirm",
        "> Confirm verified-submission",
        "Cancel",
    );
    app.assert_nothing_was_confirmed();
}

// T7: quitting with something paused asks first, and confirms nothing.
#[test]
fn quitting_asks_while_something_is_paused() {
    for size in SIZES {
        let mut app = App::offline(size);
        app.demo();
        let asked = app.is_asked("/quit", "> Quit?", "Stay");
        assert!(asked.contains("nothing of them is confirmed"), "{asked}");
        app.key_again(ENTER);
        app.sees_no("> Quit?");
        app.sees(PAUSED);
        app.is_asked("/quit", "> Quit?", "Stay");
        app.accepts("Quit");
        assert_eq!(app.world.end().0, 0);
        app.assert_nothing_was_confirmed();
    }
}

// L5: cancelling says first what may have been done.
#[test]
fn cancelling_shows_the_effects_and_asks() {
    for size in SIZES {
        let mut app = App::offline(size);
        app.demo();
        let asked = app.is_asked("/routine cancel", "> Cancel verified-submission", "Keep it");
        assert!(
            asked.contains("Effects so far: after_partial_effects"),
            "{asked}"
        );
        app.accepts("Cancel the operation");
        // What should be looked at outside is said at once.
        let told = app.sees("was cancelled");
        assert!(told.contains("required: verify what"), "{told}");
        app.key(ESCAPE);
        app.sees_no("was cancelled");
        app.sees("□ cancelled");
        app.says("/routine confirm");
        app.sees("nothing changes that any more");
        app.assert_nothing_was_confirmed();
    }
}

/// The end of the only operation's id, as it is shown.
fn short(app: &App) -> String {
    let accounts = app.accounts();
    let (_, rest) = accounts
        .split_once(r#""operation":""#)
        .expect("an operation");
    let id = rest.split('"').next().expect("an id");
    id[id.len() - 6..].to_owned()
}

// V16: an agent belongs to one operation at a time.
#[test]
fn a_second_demo_is_refused_while_the_first_has_the_agent() {
    let (server, mut app) = asking(SIZES[0]);
    app.demo();
    let id = short(&app);
    app.says("/routine demo");
    let screen = app.sees("the routine was not started");
    assert!(screen.contains("agent default is leased"), "{screen}");
    assert!(
        screen.contains(&format!("/routine cancel {id}")),
        "{screen}"
    );
    assert_eq!(server.requests().len(), 1);
}

// V16, T2: the chat uses the same agent.
#[test]
fn chat_is_refused_while_the_agent_is_leased_and_works_otherwise() {
    let (server, mut app) = asking(SIZES[0]);
    app.says("good morning");
    app.sees("Good day from the server.");
    assert_eq!(server.requests().len(), 1);
    app.demo();
    assert_eq!(server.requests().len(), 2);
    app.says("are you there");
    let screen = app.sees("nothing was sent");
    assert!(screen.contains("agent default is leased"), "{screen}");
    assert_eq!(server.requests().len(), 2);
}

// Row 21: what begins to wait takes no keys away from who is typing.
#[test]
fn what_is_being_typed_answers_no_question_that_comes_up() {
    let server = Server::start(SUBMITS, Answers::WhenReleased);
    let mut app = App::asking(SIZES[0], &server);
    app.says("/routine demo");
    app.sees("draft asks openai/x");
    app.key("y");
    app.sees("> y");
    server.release();
    app.sees(PAUSED);
    app.key("e");
    app.sees("> ye");
    app.key("s");
    app.sees("> yes");
    app.key(ENTER);
    app.sees("nothing was sent");
    app.assert_nothing_was_confirmed();
    assert_eq!(server.requests().len(), 1);
}
