//! Councils at rest: questions, pauses, resumes, reconciliation, verification (V5a, V6, V10a, M6).

use super::*;
use crate::engine::ports::ToolCall;

/// A council of two that may act, each action by permission.
fn council(strategy: &str) -> Play {
    story(&format!(
        "talk -> done
         talk : lead {strategy} {{a, b}}
         talk = tools: [look, act]"
    ))
    .permitted_by_hand(&["act"])
    .start()
}

/// The same beside a step that another call can block.
fn beside(strategy: &str) -> Play {
    let mut it = story(&format!(
        "{{talk, other}} -> done
         talk : lead {strategy} {{a, b}}
         talk = tools: [look]
         other = tools: [act]"
    ))
    .permitted_by_hand(&["act"])
    .start();
    it.calls("other", [act()]).permission("other", asks());
    it
}

fn act() -> ToolCall {
    tool("act", json!({ "on": "it" }))
}

fn look() -> ToolCall {
    tool("look", json!({}))
}

fn ask(member: &str) -> ToolCall {
    tool(&format!("ask_{member}"), json!({ "message": "well?" }))
}

fn asks() -> Permission {
    Permission::Ask {
        reason: "it acts".into(),
    }
}

fn cast(verdict: &str) -> ToolCall {
    tool("cast_vote", json!({ "verdict": verdict, "reasoning": "r" }))
}

#[test]
fn a_members_call_waits_for_permission_and_then_is_made_once() {
    // M6, V6
    let mut it = council("broadcast");
    it.calls("talk/a", [act()]).permission("talk/a", asks());
    it.says("talk/b", "b's view");
    it.expect_paused(Blocked, [("talk/a", "permission")]);
    let wait = it.wait("talk/a");
    assert!(
        wait.reason.contains("`act`") && wait.reason.contains("`a`"),
        "{}",
        wait.reason
    );
    it.resume_with([("talk/a", allow())])
        .expect_running(["talk/a"]);
    assert_eq!(it.dispatched, [("act".to_owned(), json!({ "on": "it" }))]);
    it.tool("talk/a", done(json!(1)))
        .says("talk/a", "done")
        .answer("talk/lead", pass())
        .expect_succeeded();
    assert_eq!((it.submissions("talk"), it.model_calls("talk/a")), (1, 2));
}

#[test]
fn a_blocked_member_stops_the_other_members() {
    // V5a: council members included.
    let mut it = council("broadcast");
    it.calls("talk/a", [act()]).permission("talk/a", asks());
    it.calls("talk/b", [look()]);
    assert!(it.dispatched.is_empty());
    it.expect_paused(Blocked, [("talk/a", "permission")]);
    it.resume_with([("talk/a", deny())]);
    // Both turns go on where they stood.
    assert!(
        it.latest_request("talk/a", 1)
            .last()
            .contains("operator denied")
    );
    it.expect_running(["talk/a", "talk/b"]);
    assert_eq!(it.dispatched.len(), 1);
    assert_eq!(it.model_calls("talk/b"), 1);
    it.tool("talk/b", done(json!("seen")))
        .says("talk/b", "b")
        .says("talk/a", "a")
        .answer("talk/lead", pass())
        .expect_succeeded();
}

#[test]
fn each_members_question_is_answered_by_itself() {
    // T5
    let mut it = council("broadcast");
    it.calls("talk/a", [act()]).calls("talk/b", [act()]);
    it.permission("talk/b", asks()).permission("talk/a", asks());
    it.expect_paused(
        Blocked,
        [("talk/a", "permission"), ("talk/b", "permission")],
    );
    it.resume_with([("talk/a", allow()), ("talk/b", deny())]);
    assert_eq!(it.dispatched.len(), 1);
    it.expect_running(["talk/a", "talk/b"]);
    assert!(
        it.latest_request("talk/b", 1)
            .last()
            .contains("operator denied")
    );
}

#[test]
fn a_question_without_an_answer_is_asked_again() {
    // V6
    let mut it = council("round_robin");
    it.calls("talk/a", [act()]).permission("talk/a", asks());
    it.expect_paused(Blocked, [("talk/a", "permission")]);
    it.resume()
        .permission("talk/a", asks())
        .expect_paused(Blocked, [("talk/a", "permission")]);
    it.resume().permission("talk/a", Permission::Allow);
    assert_eq!(it.dispatched.len(), 1);
    it.tool("talk/a", done(json!(1)))
        .says("talk/a", "a")
        .expect_running(["talk/b"]);
}

#[test]
fn a_leaders_question_is_its_own() {
    let mut it = council("dynamic");
    it.calls("talk/lead", [act(), ask("a")])
        .permission("talk/lead", asks());
    it.expect_paused(Blocked, [("talk/lead", "permission")]);
    it.resume_with([("talk/lead", allow())])
        .tool("talk/lead", done(json!(1)))
        .expect_running(["talk/a"]);
}

#[test]
fn a_blocked_sibling_stops_every_new_call_of_a_council() {
    // V5a, V6: what is in flight settles, nothing starts, and all goes on in the same turns.
    let mut it = beside("broadcast");
    it.calls("talk/a", [look()]).says("talk/b", "b's view");
    it.expect_paused(Blocked, [("other", "permission")]);
    assert!(it.dispatched.is_empty());
    it.resume_with([("other", deny())]);
    it.expect_running(["talk/a", "other"]);
    it.tool("talk/a", done(json!(1))).says("talk/a", "a's view");
    it.answer("talk/lead", pass()).answer("other", pass());
    it.expect_succeeded();
    assert_eq!(it.submissions("talk"), 1);
    assert_eq!((it.model_calls("talk/a"), it.model_calls("talk/b")), (2, 1));
}

#[test]
fn a_blocked_sibling_stops_the_next_in_turn() {
    let mut it = beside("round_robin");
    it.says("talk/a", "a's view");
    it.expect_paused(Blocked, [("other", "permission")]);
    assert_eq!(it.model_calls("talk/b"), 0);
    it.resume_with([("other", deny())])
        .says("talk/b", "b's view")
        .expect_running(["other", "talk/lead"]);
}

#[test]
fn a_blocked_sibling_stops_the_leader_after_a_vote() {
    let mut it = beside("vote");
    it.calls("talk/a", [cast("pass")])
        .calls("talk/b", [cast("pass")]);
    it.expect_paused(Blocked, [("other", "permission")]);
    assert_eq!(it.model_calls("talk/lead"), 0);
    it.resume_with([("other", deny())])
        .answer("talk/lead", pass())
        .answer("other", pass())
        .expect_succeeded();
}

#[test]
fn a_blocked_sibling_stops_a_leaders_questions() {
    // A member is asked by a tool: a new tool call.
    let mut it = beside("dynamic");
    let nothing = tool("ask_a", json!({}));
    it.calls("talk/lead", [nothing, ask("a"), ask("b")]);
    it.expect_paused(Blocked, [("other", "permission")]);
    assert_eq!(it.events_of(&["talk called"]), [""; 0]);
    assert_eq!(it.model_calls("talk/a"), 0);
    it.resume_with([("other", deny())]);
    assert_eq!(
        it.events_of(&["talk called"]),
        ["talk called ask_a: failed"]
    );
    it.expect_running(["other", "talk/a"]);
    it.says("talk/a", "x").says("talk/b", "y");
    it.answer("talk/lead", pass()).answer("other", pass());
    it.expect_succeeded();
    assert_eq!(it.model_calls("talk/lead"), 2);
}

#[test]
fn an_uncertain_sibling_stops_a_council_for_good() {
    // V10: only reconciliation lets it go on.
    let mut it = story(
        "{talk, other} -> done
         talk : lead round_robin {a, b}",
    )
    .start();
    let no_answer = ModelOutcome::NoAnswer {
        reason: "reset".into(),
    };
    it.reply("other", no_answer).says("talk/a", "a's view");
    it.expect_paused(Uncertain, [("other", "uncertain")]);
    it.resume();
    it.expect_paused(Uncertain, [("other", "uncertain")]);
    assert_eq!(it.model_calls("talk/b"), 0);
    it.reconcile([("other", Answer::Accept(approve()))])
        .expect_running(["talk/b"]);
}

#[test]
fn a_members_delivery_lets_the_others_go_on_and_continues_its_turn() {
    // V11
    let mut it = council("broadcast");
    it.calls("talk/a", [look()])
        .tool("talk/a", pending("d1"))
        .calls("talk/b", [look()])
        .tool("talk/b", done(json!(2)))
        .says("talk/b", "b");
    it.expect_paused(Waiting, [("talk/a", "delivery")]);
    it.deliver("d1", done(json!("here"))).resume();
    assert_eq!(it.latest_request("talk/a", 1).last(), "here");
    it.says("talk/a", "a")
        .answer("talk/lead", pass())
        .expect_succeeded();
    assert_eq!(it.submissions("talk"), 1);
}

#[test]
fn what_was_delivered_meanwhile_is_taken_in_before_anything_is_called() {
    // V5a: what came has used up its run and may have acted, so the call that was allowed isn't made.
    let mut it = story(
        "talk -> done
         talk : lead broadcast {a, b}
         talk = tools: [look, act], max_model_calls: 1",
    )
    .permitted_by_hand(&["act"])
    .start();
    it.calls("talk/b", [act()])
        .permission("talk/b", Permission::Allow)
        .tool("talk/b", pending("d1"));
    it.calls("talk/a", [act()]).permission("talk/a", asks());
    it.deliver("d1", done(json!(1)));
    let before = it.dispatched.len();
    it.resume_with([("talk/a", allow())]);
    it.expect_paused(Uncertain, [("talk", "uncertain")]);
    assert_eq!(it.dispatched.len(), before);
}

#[test]
fn a_delivery_to_a_council_that_gave_up_is_late() {
    let mut it = council("broadcast");
    it.calls("talk/a", [look()]).tool("talk/a", pending("d1"));
    it.calls("talk/b", [act()])
        .permission("talk/b", Permission::Allow)
        .tool("talk/b", unknown("killed"));
    it.expect_paused(Uncertain, [("talk", "uncertain")]);
    it.deliver("d1", done(json!(1)));
    assert_eq!(it.late.len(), 1);
    it.reconcile([("talk", Answer::Accept(approve()))])
        .expect_succeeded();
}

#[test]
fn an_uncertain_council_is_accepted_with_a_verdict_and_handoffs() {
    // V10a: verification is still asked and still gates.
    let mut it = story(
        "talk -> next -> done | purpose: go on
         talk -> other -> done | handoff_schema: { type: object, required: [n] }
         talk : lead broadcast {a}
         talk = verify: [{ check: command, run: [look] }]",
    )
    .verified_by_hand(&["talk"])
    .start();
    it.reply(
        "talk/a",
        ModelOutcome::NoAnswer {
            reason: "reset".into(),
        },
    );
    let mut given = approve();
    given.output = json!("mine");
    given
        .handoffs
        .insert("next".into(), json!({ "from": "me" }));
    it.reconcile([("talk", Answer::Accept(given))]);
    it.verify("talk", waiting("not yet"))
        .expect_paused(Waiting, [("talk", "check")]);
    it.resume()
        .verify("talk", verified())
        .expect_running(["next", "other"]);
    assert!(it.request("next", 1).prompt().contains(r#"{"from":"me"}"#));
    let (output, data) = it.settled("talk");
    assert_eq!(output, "mine");
    assert_eq!(data["by"], "operator");
    assert_eq!(data["contributions"][0]["failed"], "no_answer");
    assert_eq!(it.model_calls("talk/lead"), 0);
}

#[test]
fn an_uncertain_council_stays_so_when_it_is_only_looked_at_again() {
    // V10a, V6: nothing is sent again.
    let mut it = council("broadcast");
    for member in ["talk/a", "talk/b"] {
        it.reply(
            member,
            ModelOutcome::NoAnswer {
                reason: "reset".into(),
            },
        );
    }
    for _ in 0..3 {
        it.resume();
        it.expect_paused(Uncertain, [("talk", "uncertain")]);
    }
    assert_eq!(it.model_calls("talk/a"), 1);
    it.reconcile([("talk", fail_it())])
        .expect_failed("failed_by_operator");
}

#[test]
fn accepting_a_council_as_failed_fails_the_routine() {
    // G3
    let mut it = council("vote");
    it.calls("talk/a", [cast("fail")])
        .calls("talk/b", [cast("fail")]);
    it.reply(
        "talk/lead",
        ModelOutcome::NoAnswer {
            reason: "reset".into(),
        },
    );
    it.reconcile([("talk", Answer::Accept(reject()))])
        .expect_failed("verdict_fail");
}

#[test]
fn a_verified_council_waits_and_is_looked_at_again_without_any_call() {
    // V3, V6, V9
    let mut it = story(
        "talk -> next -> done
         talk : lead broadcast {a}
         talk = verify: [{ check: command, run: [look] }]",
    )
    .verified_by_hand(&["talk"])
    .start();
    it.says("talk/a", "x")
        .answer("talk/lead", pass().output("y"));
    let seen = &it.seen("talk").observation.json()["result"];
    assert_eq!(seen["output"], "y");
    assert_eq!(seen["data"]["contributions"][0]["said"], "x");
    it.verify("talk", waiting("not yet"));
    for _ in 0..3 {
        it.expect_paused(Waiting, [("talk", "check")]);
        it.resume().verify("talk", waiting("not yet"));
    }
    it.resume()
        .verify("talk", verified())
        .expect_running(["next"]);
    assert_eq!(
        (it.model_calls("talk/a"), it.model_calls("talk/lead")),
        (1, 1)
    );
    assert_eq!(it.submissions("talk"), 1);
}
