//! How operations end: deadlines, cancellation, the grace, effects, usage (G10, V24, V30, V31, L5, C3).

use super::*;

const LINE: &str = "@ deadline_ms: 100\n a -> done\n a = tools: [look, act, commit, bare]";

#[test]
fn a_deadline_passes_while_a_model_works() {
    // V24, O11c: one late answer doesn't make it a success.
    let mut it = story(LINE).start();
    it.passes(99).expect_running(["a"]).passes(1);
    assert_eq!(
        (it.stopped.as_slice(), it.state()),
        (["a".to_owned()].as_slice(), OperationState::Settling)
    );
    it.answer("a", pass()).expect_failed("deadline");
    assert_eq!(it.late.len(), 2, "its answer is a source and no answer");
}

#[test]
fn a_deadline_passes_while_a_tool_works_and_its_effect_is_recorded_as_unknown() {
    let mut it = story(LINE).start();
    it.calls("a", [tool("act", json!({}))])
        .passes(100)
        .passes(2_000)
        .expect_failed("deadline");
    assert_eq!(it.effects(), EffectClass::AfterPartialEffects);
    assert_eq!(it.events_of(&["a called"]), ["a called act: unknown"]);
    it.tool("a", done(json!("too late")))
        .expect_failed("deadline");
    assert_eq!(it.late.len(), 1);
}

#[test]
fn a_deadline_passes_while_paused_and_the_continuation_is_dead() {
    // B6
    for decision in [waiting("later"), blocked("no"), uncertain("who knows")] {
        let mut it = story(LINE).verified_by_hand(&["a"]).start();
        it.answer("a", pass())
            .verify("a", decision)
            .passes(100)
            .expect_failed("deadline");
        assert_eq!(it.continuation, None);
    }
}

#[test]
fn resumes_do_not_reset_a_deadline() {
    // V7
    let mut it = story(LINE).verified_by_hand(&["a"]).start();
    it.answer("a", pass()).verify("a", waiting("later"));
    for _ in 0..9 {
        it.passes(10).resume().verify("a", waiting("later"));
    }
    assert_eq!(it.machine.remaining_ms(it.now), Some(10));
    it.passes(10).expect_failed("deadline");
}

#[test]
fn a_deadline_passes_in_every_other_state_too() {
    let deadline = "@ deadline_ms: 100\n a -> done\n";
    let pre = format!("@ pre_steps: [{{ name: pre, tool: look }}]\n{deadline}");
    let mut before = story(&pre).start();
    before.passes(100).tool("pre", done(json!(1)));
    let post = format!("@ post_steps: [{{ name: post, tool: look }}]\n{deadline}");
    let mut after = story(&post).start();
    after
        .answer("a", pass())
        .passes(100)
        .tool("post", done(json!(1)));
    let mut verifying = story(deadline).verified_by_hand(&["a"]).start();
    verifying
        .answer("a", pass())
        .passes(100)
        .verify("a", verified());
    let mut at_the_end = story(deadline).verified_by_hand(&["final"]).start();
    at_the_end
        .answer("a", pass())
        .passes(100)
        .verify("final", verified());
    let mut resting = story(deadline).verified_by_hand(&["final"]).start();
    resting
        .answer("a", pass())
        .verify("final", waiting("later"))
        .passes(100);
    let mut asking = story(&format!("{deadline}a = type: tool, tool: act"))
        .permitted_by_hand(&["act"])
        .start();
    asking
        .permission(
            "a",
            Permission::Ask {
                reason: "it acts".into(),
            },
        )
        .passes(100);
    let mut undelivered = story(&format!("{deadline}a = type: tool, tool: act")).start();
    undelivered.tool("a", pending("d1")).passes(100);
    let mut gate =
        story("@ deadline_ms: 100\n a -> g -pass-> done\n g = operator: true, criteria: [x]")
            .start();
    gate.answer("a", pass()).passes(100);
    for mut it in [
        before,
        after,
        verifying,
        at_the_end,
        resting,
        asking,
        undelivered,
        gate,
    ] {
        it.expect_failed("deadline");
        assert_eq!(it.outcome().step, None);
    }
}

#[test]
fn without_a_deadline_nothing_is_ever_too_late() {
    let mut it = story("a -> done").start();
    it.passes(u64::from(u32::MAX))
        .answer("a", pass())
        .expect_succeeded();
}

#[test]
fn cancelling_settles_what_is_in_flight_first_and_settled_is_last() {
    // P11, B7
    let mut it = story("a -> done\n b -> done\n a = tools: [act]").start();
    it.calls("a", [tool("act", json!({}))]).cancel();
    assert_eq!(it.stopped, ["b", "a"]);
    assert_eq!(it.state(), OperationState::Settling);
    it.answer("b", pass())
        .tool("a", done(json!({ "n": 1 })))
        .expect_cancelled();
    assert_eq!(
        it.events_of(&["a called", "settled"]),
        ["a called act: ok", "settled cancelled"]
    );
    assert_eq!(it.late.len(), 3, "nothing that came is lost");
    assert_eq!(it.effects(), EffectClass::AfterPartialEffects);
}

#[test]
fn cancelling_after_a_terminal_was_reached_is_still_cancelled() {
    // P11b
    let mut it = story("a -> done\n b -> c -> done2\n a = tools: [commit]").start();
    it.calls("a", [tool("commit", json!({}))])
        .tool("a", done(json!(1)))
        .answer("a", pass())
        .expect_settled("done", "pass")
        .cancel()
        .answer("b", pass())
        .expect_cancelled();
    assert_eq!(it.submissions("c"), 0);
    assert_eq!(
        it.effects(),
        EffectClass::AfterCommitment,
        "what was done is told"
    );
}

#[test]
fn cancelling_between_the_terminal_and_the_final_check_is_cancelled_for_good() {
    // B7: no status after a terminal one.
    let mut it = story("a -> done").verified_by_hand(&["final"]).start();
    it.answer("a", pass())
        .expect_running(["final"])
        .cancel()
        .verify("final", verified());
    it.expect_cancelled().cancel().close().expect_cancelled();
}

#[test]
fn cancelling_during_a_verification_is_cancelled() {
    let mut it = story("a -> b -> done").verified_by_hand(&["a"]).start();
    it.answer("a", pass())
        .cancel()
        .verify("a", verified())
        .expect_cancelled();
    assert_eq!(it.submissions("b"), 0);
}

#[test]
fn cancelling_a_pause_revokes_its_continuation_and_settles_at_once() {
    let mut it = story("a -> done").verified_by_hand(&["a"]).start();
    it.answer("a", pass())
        .verify("a", waiting("later"))
        .cancel()
        .expect_cancelled();
    assert_eq!(it.continuation, None);
}

#[test]
fn an_operation_settles_after_its_grace_and_what_comes_later_is_a_late_source() {
    // G10, V30
    let mut it = story("a -> done").start();
    it.cancel().passes(1_999);
    assert_eq!(it.state(), OperationState::Settling);
    it.passes(1).expect_cancelled();
    let events = it.published.len();
    it.answer("a", pass()).expect_cancelled();
    assert_eq!(
        (it.late.len(), it.published.len()),
        (2, events),
        "settled stays the last event"
    );
}

#[test]
fn a_status_never_changes_after_it_was_decided() {
    let mut it = story("@ deadline_ms: 100\n a -> done\n b -> done").start();
    it.answer("a", fail())
        .cancel()
        .passes(100)
        .answer("b", pass())
        .expect_failed("verdict_fail");
    it.tell(Event::StorageFailed {
        reason: "disk full".into(),
    })
    .expect_failed("verdict_fail");
}

#[test]
fn a_full_disk_fails_the_operation() {
    // C2
    let mut it =
        story("@ post_steps: [{ name: p, tool: act }]\n@ post_steps_trigger: always\n a -> done")
            .start();
    it.tell(Event::StorageFailed {
        reason: "no space left".into(),
    })
    .answer("a", pass());
    it.expect_failed("storage_failed");
    assert!(it.dispatched.is_empty());
}

#[test]
fn closing_ends_without_an_outcome() {
    // V30
    let mut paused = story("a -> done").verified_by_hand(&["a"]).start();
    paused
        .answer("a", pass())
        .verify("a", waiting("later"))
        .close();
    let mut working = story("a -> done").start();
    working.close().answer("a", pass());
    let mut undelivered = story("a -> done\n a = type: tool, tool: act").start();
    undelivered
        .tool("a", pending("d1"))
        .close()
        .deliver("d1", done(json!(1)));
    for it in [paused, working, undelivered] {
        assert!(it.ended && it.settled.is_none() && it.continuation.is_none());
        assert_eq!(it.state(), OperationState::Ended);
        let is_settled =
            |event: &PublicEvent| matches!(event, PublicEvent::OperationSettled { .. });
        assert!(!it.published.iter().any(is_settled));
    }
}

/// An operation whose agent made these calls, each with what came of it, and then failed.
fn after(calls: &[(&str, Option<ToolOutcome>)]) -> Play {
    let mut it = story("a -> done\n a = tools: [look, act, commit, bare]").start();
    for (name, outcome) in calls {
        it.calls("a", [tool(name, json!({}))]);
        if let Some(outcome) = outcome {
            it.tool("a", outcome.clone());
        }
    }
    it.cancel().passes(2_000);
    it
}

#[test]
fn the_effect_class_is_the_worst_of_what_was_dispatched() {
    // L5
    use EffectClass::{AfterCommitment, AfterPartialEffects, BeforeEffects};
    let ok = || Some(done(json!(1)));
    type Calls<'a> = &'a [(&'a str, Option<ToolOutcome>)];
    let table: [(Calls<'_>, EffectClass); 10] = [
        (&[], BeforeEffects),
        (&[("look", ok())], BeforeEffects),
        (&[("act", ok())], AfterPartialEffects),
        (&[("act", None)], AfterPartialEffects),
        (&[("act", Some(failed("no")))], AfterPartialEffects),
        (&[("bare", ok())], AfterPartialEffects),
        (&[("commit", None)], AfterPartialEffects),
        (&[("commit", Some(failed("no")))], AfterPartialEffects),
        (&[("commit", ok())], AfterCommitment),
        (&[("commit", ok()), ("act", ok())], AfterCommitment),
    ];
    for (calls, class) in table {
        let mut it = after(calls);
        it.expect_cancelled();
        assert_eq!(it.effects(), class, "{calls:?}");
    }
}

#[test]
fn what_is_required_now_is_told_for_every_tool_that_may_have_acted() {
    // L5, V31
    let ok = || Some(done(json!(1)));
    assert_eq!(after(&[("look", ok())]).outcome().detail, json!(null));
    assert_eq!(
        after(&[
            ("act", ok()),
            ("act", ok()),
            ("commit", ok()),
            ("bare", None)
        ])
        .outcome()
        .detail,
        json!({
            "required": [
                "verify what `act` did in step `a` (lap 1); take it back if it should not stay",
                "verify what `bare` did in step `a` (lap 1); whether it can be taken back is not known",
                "verify what `commit` did in step `a` (lap 1): read the receipt; it can't be taken back",
            ],
        })
    );
}

#[test]
fn a_commitment_that_settles_during_the_grace_counts() {
    // L5
    let mut it = story("a -> done\n a = type: tool, tool: commit").start();
    it.cancel()
        .tool("a", done(json!({ "id": 1 })))
        .expect_cancelled();
    assert_eq!(it.effects(), EffectClass::AfterCommitment);
}

#[test]
fn a_commitment_that_is_delivered_counts() {
    let mut it = story("a -> b -> done\n a = type: tool, tool: commit").start();
    it.tool("a", pending("d1"));
    let mut before = story("a -> done\n a = type: tool, tool: commit").start();
    before.tool("a", pending("d1")).cancel().expect_cancelled();
    assert_eq!(before.effects(), EffectClass::AfterPartialEffects);
    it.deliver("d1", done(json!(1)))
        .resume()
        .answer("b", fail())
        .expect_failed("verdict_fail");
    assert_eq!(it.effects(), EffectClass::AfterCommitment);
}

#[test]
fn a_call_that_was_denied_has_no_effect() {
    let mut it = story("a -> done\n a = tools: [commit]")
        .permitted_by_hand(&["commit"])
        .start();
    it.calls("a", [tool("commit", json!({}))]);
    it.permission(
        "a",
        Permission::Deny {
            reason: "never".into(),
        },
    )
    .answer("a", fail());
    assert_eq!(it.effects(), EffectClass::BeforeEffects);
}

#[test]
fn pre_post_and_tool_steps_count_too() {
    let mut pre = story("@ pre_steps: [{ name: pre, tool: commit }]\n a -> done").start();
    pre.tool("pre", done(json!(1))).answer("a", fail());
    let mut step = story("a -> b -> done\n a = type: tool, tool: commit").start();
    step.tool("a", done(json!(1))).answer("b", fail());
    let mut post = story("@ post_steps: [{ name: post, tool: commit, on_error: fail }]\n@ verify: [{ check: file, path: x }]\n a -> done")
        .verified_by_hand(&["final"])
        .start();
    post.answer("a", pass())
        .tool("post", done(json!(1)))
        .verify("final", waiting("later"))
        .cancel();
    for it in [pre, step, post] {
        assert_eq!(it.effects(), EffectClass::AfterCommitment);
    }
}

#[test]
fn a_success_names_no_effect_class_and_is_not_fulfilled_by_itself() {
    // C3, L1
    let mut it = story("a -> done\n a = type: tool, tool: commit").start();
    it.tool("a", done(json!(1))).expect_succeeded();
    let settled = serde_json::to_value(it.published.last().expect("an event")).expect("json");
    assert_eq!(
        settled,
        json!({
            "type": "operation.settled", "status": "succeeded", "reason": null, "detail": null, "step": null,
            "outputs": { "done": 1 }, "fulfillment": "not_fulfilled", "effects": null,
            "usage": { "model_calls": 0, "tool_calls": 1, "input_tokens": 0, "output_tokens": 0 },
        })
    );
}

#[test]
fn usage_counts_every_request_call_and_token() {
    // C3: corrections and late answers too.
    let mut it = story("a -> b -> done\n a = tools: [look, memory_list]").start();
    it.says("a", "hm");
    it.calls(
        "a",
        [tool("look", json!({})), tool("memory_list", json!({}))],
    )
    .tool("a", done(json!(1)));
    it.answer("a", pass())
        .cancel()
        .answer("b", pass())
        .expect_cancelled();
    let usage = it.outcome().usage;
    assert_eq!((usage.model_calls, usage.tool_calls), (4, 2));
    assert_eq!((usage.input_tokens, usage.output_tokens), (40, 20));
}

#[test]
fn a_receipt_check_changes_no_status_and_may_be_repeated() {
    // V31
    let mut it = story(
        "@ verify: [{ check: file, path: x }]\n a -> b -> done\n a = type: tool, tool: commit",
    )
    .verified_by_hand(&["final"])
    .start();
    it.tool("a", done(json!(1)))
        .cancel()
        .answer("b", pass())
        .expect_cancelled();
    for decision in [waiting("not there"), verified()] {
        it.tell(Event::ReceiptCheckRequested)
            .verify("final", decision)
            .expect_cancelled();
    }
    assert_eq!((it.receipts.len(), it.submissions("b")), (2, 1));
    assert!(it.receipts.iter().all(Result::is_ok));
}

#[test]
fn a_step_limit_of_time_stands_still_while_the_step_waits_for_a_person() {
    // V24
    let mut it = story("a -> done\n a = tools: [act], timeout_ms: 100")
        .permitted_by_hand(&["act"])
        .start();
    it.passes(60).calls("a", [tool("act", json!({}))]);
    it.permission(
        "a",
        Permission::Ask {
            reason: "it acts".into(),
        },
    )
    .passes(1_000);
    it.resume_with([("a", allow())])
        .passes(39)
        .expect_running(["a"])
        .passes(1);
    it.expect_settled("a", "uncertain: timeout");
}

#[test]
fn a_request_that_goes_out_again_is_counted_and_is_no_second_submission() {
    // M2, C3, V25
    let mut it = story("a -> done").start();
    it.sends_again("a", 2)
        .sends_again("a", 3)
        .answer("a", pass());
    assert_eq!(
        it.events_of(&["a submitted", "a asked"]),
        [
            "a submitted",
            "a asked its model, call 1",
            "a asked its model, call 1, try 2",
            "a asked its model, call 1, try 3",
        ]
    );
    assert_eq!(it.outcome().usage.model_calls, 3);
}
