//! Pre and post steps (V23).

use super::*;
use crate::engine::operation::outcome::Status;

fn with_pre(on_error: &str) -> Play {
    story(&format!(
        "@ pre_steps:
         @   - {{ name: one, tool: act, {on_error} }}
         @   - {{ name: two, tool: look }}
         a -> done"
    ))
    .start()
}

#[test]
fn pre_steps_run_one_after_another_before_the_graph() {
    let mut it = with_pre("result_key: k");
    it.expect_running(["one"])
        .tool("one", done(json!(1)))
        .expect_running(["two"]);
    it.tool("two", done(json!(2))).expect_running(["a"]);
    assert_eq!(
        it.events_of(&["one", "two"]),
        ["one called act: ok", "two called look: ok"]
    );
}

#[test]
fn what_a_failed_pre_step_does_is_its_on_error() {
    // G3, V23: whatever the failure was.
    let failures = || {
        [
            failed("no"),
            done(json!({ "success": false, "error": "no" })),
            ToolOutcome::TimedOut,
            ToolOutcome::OutputLimit(json!("…")),
            unknown("gone"),
        ]
    };
    for failure in failures() {
        for on_error in ["", "on_error: fail"] {
            let mut it = with_pre(on_error);
            it.tool("one", failure.clone())
                .expect_failed("pre_step_failed");
            assert_eq!(it.outcome().step.as_deref(), Some("one"));
            assert_eq!(it.outcome().detail["name"], "one");
            assert_eq!(it.submissions("a"), 0);
        }
        let mut it = with_pre("on_error: continue");
        it.tool("one", failure.clone()).expect_running(["two"]);
        let mut it = with_pre("on_error: skip_remaining");
        it.tool("one", failure).expect_running(["a"]);
    }
}

#[test]
fn the_effect_of_a_pre_step_that_gave_no_result_is_marked_unknown() {
    let mut it = with_pre("");
    it.tool("one", ToolOutcome::TimedOut)
        .expect_failed("pre_step_failed");
    let text = it.outcome().detail["text"].to_string();
    assert!(text.contains("its effect is not known"), "{text}");
    assert_eq!(it.effects(), EffectClass::AfterPartialEffects);
    assert_eq!(it.events_of(&["one"]), ["one called act: timeout"]);
}

#[test]
fn a_failure_that_goes_on_stays_visible_in_the_result() {
    // V23
    let mut it = story(
        "@ pre_steps: [{ name: one, tool: act, on_error: continue, result_key: k }]
         a -> done
         a = instructions: 'It said {{step.one}}', memory: [k]",
    )
    .start();
    it.tool("one", failed("no disk"));
    let prompt = it.request("a", 1).prompt();
    assert!(
        prompt.contains(r#"It said {"error":"no disk","success":false}"#),
        "{prompt}"
    );
    assert!(
        prompt.contains(r#"- k: {"error":"no disk","success":false}"#),
        "{prompt}"
    );
}

#[test]
fn a_pre_step_waits_for_permission_like_any_call() {
    // M6
    let ask = || Permission::Ask {
        reason: "it acts".into(),
    };
    let asked = || {
        let mut it = story("@ pre_steps: [{ name: one, tool: act }]\n a -> done")
            .permitted_by_hand(&["act"])
            .start();
        it.permission("one", ask())
            .expect_paused(Blocked, [("one", "permission")]);
        it
    };
    let mut it = asked();
    it.resume()
        .permission("one", ask())
        .resume_with([("one", allow())]);
    it.tool("one", done(json!(1))).expect_running(["a"]);
    assert_eq!(it.dispatched.len(), 1);
    let mut it = asked();
    it.resume_with([("one", deny())])
        .expect_failed("pre_step_failed");
    assert!(it.dispatched.is_empty());
}

#[test]
fn a_pre_step_may_be_delivered_later() {
    let mut it = story("@ pre_steps: [{ name: one, tool: act }]\n a -> done").start();
    it.tool("one", pending("d1"))
        .expect_paused(Waiting, [("one", "delivery")]);
    it.deliver("d1", done(json!(1)))
        .resume()
        .expect_running(["a"]);
}

fn with_post(fields: &str) -> Play {
    story(&format!(
        "@ post_steps:
         @   - {{ name: one, tool: act }}
         @   - {{ name: two, tool: look }}
         @ {fields}
         a -> done"
    ))
    .start()
}

#[test]
fn post_steps_run_after_success_and_their_failure_is_visible_by_default() {
    // V23, O14
    let mut it = with_post("");
    it.answer("a", pass())
        .expect_running(["one"])
        .tool("one", failed("no"))
        .tool("two", done(json!(2)));
    it.expect_succeeded();
    let post = &it.seen("final").observation.json()["post_steps"];
    assert_eq!(
        (&post[0]["outcome"], &post[0]["failure"]),
        (&json!("failed"), &json!("no"))
    );
}

#[test]
fn what_a_failed_post_step_does_is_its_on_error() {
    let post = |on_error: &str| {
        let mut it = story(&format!(
            "@ post_steps:
             @   - {{ name: one, tool: act, on_error: {on_error} }}
             @   - {{ name: two, tool: look }}
             a -> done"
        ))
        .start();
        it.answer("a", pass()).tool("one", failed("no"));
        it
    };
    post("fail").expect_failed("post_step_failed");
    post("continue").expect_running(["two"]);
    post("skip_remaining").expect_succeeded();
}

#[test]
fn post_steps_see_the_results_of_the_graph_and_of_each_other() {
    let mut it = story(
        "@ post_steps:
         @   - { name: one, tool: act, args: { text: '{{result.a}}' } }
         @   - { name: two, tool: act, args: { text: '{{step.one}}' } }
         a -> done",
    )
    .start();
    it.answer("a", pass().output("notes"))
        .tool("one", done(json!(1)))
        .tool("two", done(json!(2)));
    assert_eq!(it.dispatched[0].1, json!({ "text": "notes" }));
    assert_eq!(it.dispatched[1].1, json!({ "text": "1" }));
    it.expect_succeeded();
}

#[test]
fn post_steps_run_after_success_only_unless_the_file_says_always() {
    // V23
    let mut it = with_post("");
    it.answer("a", fail()).expect_failed("verdict_fail");
    assert!(it.dispatched.is_empty());

    let mut it = with_post("post_steps_trigger: always");
    it.answer("a", fail()).expect_running(["one"]);
    assert_eq!(it.state(), OperationState::Settling);
    it.tool("one", done(json!(1)))
        .tool("two", done(json!(2)))
        .expect_failed("verdict_fail");
    assert_eq!(
        (it.dispatched.len(), it.looks("final")),
        (2, 0),
        "without a final verification"
    );
    assert_eq!(
        it.events().last().map(String::as_str),
        Some("settled failed")
    );
}

#[test]
fn post_steps_that_run_always_run_after_a_deadline() {
    let mut it = with_post("post_steps_trigger: always\n@ deadline_ms: 100");
    it.passes(100).answer("a", pass()).expect_running(["one"]);
    it.passes(5_000)
        .tool("one", done(json!(1)))
        .tool("two", done(json!(2)))
        .expect_failed("deadline");
}

#[test]
fn post_steps_never_run_at_a_pause_or_after_cancellation() {
    let mut it = story(
        "@ post_steps: [{ name: one, tool: act }]
         @ post_steps_trigger: always
         a -> done",
    )
    .verified_by_hand(&["a"])
    .start();
    it.answer("a", pass())
        .verify("a", waiting("later"))
        .cancel()
        .expect_cancelled();
    assert!(it.dispatched.is_empty());
}

#[test]
fn post_steps_run_once_also_where_the_end_fails() {
    let mut it = story(
        "@ post_steps: [{ name: one, tool: act }]
         @ post_steps_trigger: always
         @ deadline_ms: 100
         a -> done",
    )
    .verified_by_hand(&["final"])
    .start();
    it.answer("a", pass())
        .tool("one", done(json!(1)))
        .verify("final", waiting("later"));
    it.passes(100).expect_failed("deadline");
    assert_eq!(it.dispatched.len(), 1);
}

#[test]
fn post_steps_after_a_failure_ask_nobody_and_wait_for_nothing() {
    let always =
        "@ post_steps: [{ name: one, tool: act }]\n @ post_steps_trigger: always\n a -> done";
    let mut it = story(always).permitted_by_hand(&["act"]).start();
    it.answer("a", fail()).permission(
        "one",
        Permission::Ask {
            reason: "it acts".into(),
        },
    );
    it.expect_failed("verdict_fail");
    assert_eq!(it.events_of(&["one"]), ["one called act: denied"]);
    let mut it = story(always).start();
    it.answer("a", fail())
        .tool("one", pending("d1"))
        .expect_failed("verdict_fail");
}

#[test]
fn cancelling_during_the_post_steps_of_a_failure_keeps_the_failure() {
    let mut it = with_post("post_steps_trigger: always");
    it.answer("a", fail()).cancel().tool("one", done(json!(1)));
    assert_eq!(it.outcome().status, Status::Failed);
    it.expect_failed("verdict_fail");
    assert_eq!(it.dispatched.len(), 1);
}

#[test]
fn a_failing_pre_step_is_followed_by_post_steps_that_run_always() {
    let mut it = story(
        "@ pre_steps: [{ name: pre, tool: look }]
         @ post_steps: [{ name: post, tool: act }]
         @ post_steps_trigger: always
         a -> done",
    )
    .start();
    it.tool("pre", failed("no"))
        .expect_running(["post"])
        .tool("post", done(json!(1)));
    it.expect_failed("pre_step_failed");
}

#[test]
fn what_a_post_step_does_after_a_failure_never_replaces_the_reason() {
    // V23, G10: on_error decides about the rest of the list only.
    for (on_error, calls) in [("fail", 1), ("skip_remaining", 1), ("continue", 2)] {
        let mut it = story(&format!(
            "@ post_steps:
             @   - {{ name: one, tool: act, on_error: {on_error} }}
             @   - {{ name: two, tool: look }}
             @ post_steps_trigger: always
             a -> done"
        ))
        .start();
        it.answer("a", fail()).tool("one", failed("no"));
        if calls == 2 {
            it.tool("two", done(json!(2)));
        }
        it.expect_failed("verdict_fail");
        assert_eq!(it.dispatched.len(), calls, "{on_error}");
    }
}
