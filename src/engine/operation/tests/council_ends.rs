//! Councils at their end: time limits, deadlines and cancellation while members work (V24, V30, L5).

use super::*;
use crate::engine::ports::ToolCall;

/// A council of two that may act, each action by permission.
fn council(strategy: &str) -> Play {
    story(&format!(
        "talk -> done
         talk : lead {strategy} {{a, b}}
         talk = tools: [act]"
    ))
    .permitted_by_hand(&["act"])
    .start()
}

fn act() -> ToolCall {
    tool("act", json!({}))
}

fn ask(member: &str) -> ToolCall {
    tool(&format!("ask_{member}"), json!({ "message": "well?" }))
}

fn asks() -> Permission {
    Permission::Ask {
        reason: "it acts".into(),
    }
}

#[test]
fn a_steps_time_limit_is_the_whole_councils() {
    // G3, V24
    let mut it = story(
        "talk -> done
         talk : lead round_robin {a, b}
         talk = timeout_ms: 50",
    )
    .start();
    it.passes(30).says("talk/a", "a's view").passes(19);
    it.expect_running(["talk/b"]).passes(1);
    it.expect_settled("talk", "uncertain: timeout");
    assert_eq!(it.stopped, ["talk/b"]);
    let (_, data) = it.settled("talk");
    assert_eq!(data["contributions"][0]["said"], "a's view");
    assert_eq!(data["contributions"][1]["member"], "b");
    assert_eq!(data["contributions"][1]["failed"], "timeout");
    // What it still says is evidence, no contribution.
    it.says("talk/b", "too late");
    it.expect_paused(Uncertain, [("talk", "uncertain")]);
    assert_eq!(it.late.len(), 2);
    assert_eq!(it.model_calls("talk/lead"), 0);
}

#[test]
fn a_time_limit_runs_on_in_the_leaders_turn() {
    let mut it = story(
        "talk -> done
         talk : lead broadcast {a}
         talk = timeout_ms: 50",
    )
    .start();
    it.passes(30).says("talk/a", "x").passes(20);
    it.expect_settled("talk", "uncertain: timeout");
}

#[test]
fn a_time_limit_stands_still_only_while_nobody_works() {
    // V24
    let mut it = story(
        "talk -> done
         talk : lead broadcast {a, b}
         talk = tools: [act], timeout_ms: 50",
    )
    .permitted_by_hand(&["act"])
    .start();
    it.calls("talk/a", [act()]).permission("talk/a", asks());
    it.passes(20).says("talk/b", "b");
    it.expect_paused(Blocked, [("talk/a", "permission")]);
    it.passes(10_000).resume_with([("talk/a", allow())]);
    it.passes(29).expect_running(["talk/a"]).passes(1);
    it.expect_settled("talk", "uncertain: timeout");
}

#[test]
fn a_time_limit_stands_still_while_all_of_a_council_waits_and_others_work() {
    let mut it = story(
        "{talk, other} -> done
         talk : lead round_robin {a}
         talk = tools: [act], timeout_ms: 50",
    )
    .permitted_by_hand(&["act"])
    .start();
    it.calls("talk/a", [act()]).permission("talk/a", asks());
    it.passes(1_000).answer("other", pass());
    it.expect_paused(Blocked, [("talk/a", "permission")]);
}

#[test]
fn a_deadline_ends_a_council_and_what_members_still_say_is_late() {
    // V24, G10
    let mut it = story(
        "talk -> done
         talk : lead broadcast {a, b}
         @ deadline_ms: 500",
    )
    .start();
    it.says("talk/b", "b").passes(500);
    assert_eq!(it.stopped, ["talk/a"]);
    it.passes(2_000).expect_failed("deadline");
    it.says("talk/a", "too late").expect_failed("deadline");
    assert_eq!(it.late.len(), 2);
}

#[test]
fn cancelling_stops_all_members_and_says_what_they_may_have_done() {
    // L5, V31
    let mut it = council("broadcast");
    it.calls("talk/a", [act()])
        .permission("talk/a", Permission::Allow)
        .cancel();
    let mut stopped = it.stopped.clone();
    stopped.sort();
    assert_eq!(stopped, ["talk/a", "talk/b"]);
    it.says("talk/b", "b");
    it.tool("talk/a", done(json!(1))).expect_cancelled();
    assert_eq!(it.effects(), EffectClass::AfterPartialEffects);
    assert_eq!(it.events_of(&["talk called"]), ["talk called act: ok"]);
    assert_eq!(it.model_calls("talk/lead"), 0);
}

#[test]
fn closing_a_paused_council_ends_it_without_an_outcome() {
    // V30
    let mut it = council("dynamic");
    it.calls("talk/lead", [ask("a")]).calls("talk/a", [act()]);
    it.permission("talk/a", asks())
        .expect_paused(Blocked, [("talk/a", "permission")]);
    it.close();
    assert!(it.ended);
    assert_eq!(it.continuation, None);
}

#[test]
fn a_failing_sibling_stops_the_members() {
    // G10
    let mut it = story(
        "{talk, other} -> done
         talk : lead broadcast {a, b}",
    )
    .start();
    it.answer("other", fail());
    assert_eq!(it.stopped, ["talk/a", "talk/b"]);
    it.says("talk/a", "a").says("talk/b", "b");
    it.expect_failed("verdict_fail");
    assert_eq!(it.late.len(), 4);
    assert_eq!(it.model_calls("talk/lead"), 0);
}

#[test]
fn a_council_whose_work_outgrows_the_view_goes_on_with_receipts() {
    // V26: the sources of many runs could outgrow it once more.
    let mut it = story(
        "talk -> done
         talk : lead broadcast {a, b}
         talk = tools: [look]",
    )
    .max_observation_bytes(8 * 1024)
    .start();
    for _ in 0..12 {
        it.calls("talk/a", [tool("look", json!({}))])
            .tool("talk/a", done(json!("x".repeat(500))));
    }
    it.says("talk/a", "a")
        .says("talk/b", "b")
        .answer("talk/lead", pass());
    it.expect_settled("talk", "uncertain: observation_too_large");
    it.expect_paused(Uncertain, [("talk", "evidence")]);
    it.acknowledge_everything().resume().expect_succeeded();
    let seen = it.seen("talk").observation.json();
    assert_eq!(seen["tools"].as_array().map(Vec::len), Some(12));
    // 15 exchanges, 12 calls, the body.
    assert_eq!(seen["sources"]["count"], 2 * 15 + 2 * 12 + 1);
}
