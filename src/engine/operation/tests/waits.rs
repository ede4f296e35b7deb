//! Rest: what waits, what it stops, and what a resume does about it (V3, V4, V5a, V6).

use super::*;

#[test]
fn verification_gates_everything_that_depends_on_a_step() {
    // V3
    let mut it = story("a -> b -> done").verified_by_hand(&["a"]).start();
    it.answer("a", pass())
        .expect_settled("a", "pass")
        .expect_running(["a"]);
    it.verify("a", verified()).expect_running(["b"]);
}

#[test]
fn a_gates_fail_routes_without_verification() {
    // V3
    let mut it = story("a -> g -pass-> done\n g -fail-> b -> done")
        .verified_by_hand(&["g"])
        .start();
    it.answer("a", pass())
        .answer("g", fail())
        .expect_running(["b"]);
    assert_eq!(it.looks("g"), 0);
    let mut it = story("a -> g -pass-> done")
        .verified_by_hand(&["g"])
        .start();
    it.answer("a", pass())
        .answer("g", pass())
        .expect_running(["g"])
        .verify("g", verified());
    it.expect_succeeded();
}

#[test]
fn final_verification_comes_after_the_post_steps() {
    // V3
    let mut it = story("@ post_steps: [{ name: write, tool: act }]\n a -> done")
        .verified_by_hand(&["final"])
        .start();
    it.answer("a", pass())
        .expect_running(["write"])
        .tool("write", done(json!({})));
    it.expect_running(["final"])
        .verify("final", waiting("the build"))
        .expect_paused(Waiting, [("final", "check")]);
    it.resume().verify("final", verified()).expect_succeeded();
    assert_eq!(it.dispatched.len(), 1, "post steps run once");
}

#[test]
fn a_judgement_is_looked_at_again_and_nothing_is_sent_again_over_three_hundred_resumes() {
    // V6, B1, B17
    let mut it = story("a -> done\n a = tools: [act]")
        .verified_by_hand(&["a"])
        .start();
    it.calls("a", [tool("act", json!({}))])
        .tool("a", done(json!({})))
        .answer("a", pass());
    it.verify("a", waiting("not yet"));
    let size = |it: &Play| {
        serde_json::to_string(&it.machine.view())
            .expect("a view")
            .len()
    };
    let (before, sources) = (size(&it), it.machine.sources().len());
    for _ in 0..300 {
        it.expect_paused(Waiting, [("a", "check")])
            .resume()
            .verify("a", waiting("not yet"));
    }
    assert_eq!(
        (
            it.submissions("a"),
            it.model_calls("a"),
            it.dispatched.len()
        ),
        (1, 2, 1)
    );
    assert_eq!((it.looks("a"), it.issued), (301, 301));
    assert!(size(&it) < before + 16, "{} grew from {before}", size(&it));
    assert_eq!(it.machine.sources().len(), sources);
    it.resume().verify("a", verified()).expect_succeeded();
}

#[test]
fn the_final_look_is_repeated_alone() {
    let mut it = story("a -> done").verified_by_hand(&["final"]).start();
    it.answer("a", pass()).verify("final", blocked("no"));
    for _ in 0..3 {
        it.expect_paused(Blocked, [("final", "check")])
            .resume()
            .verify("final", blocked("no"));
    }
    assert_eq!(it.model_calls("a"), 1);
    it.resume().verify("final", verified()).expect_succeeded();
}

#[test]
fn waiting_lets_branches_go_on_that_do_not_depend_on_it() {
    // V5a
    let mut it = story("a -> done\n b -> c -> done2")
        .verified_by_hand(&["a"])
        .start();
    it.answer("a", pass())
        .verify("a", waiting("later"))
        .expect_running(["b"]);
    it.answer("b", pass())
        .expect_running(["c"])
        .answer("c", pass());
    it.expect_settled("done2", "pass")
        .expect_paused(Waiting, [("a", "check")]);
}

#[test]
fn blocked_and_uncertain_stop_every_new_call_of_siblings() {
    // V5a: what is in flight settles, and then it rests.
    for decision in [blocked("no"), uncertain("who knows")] {
        let mut it = story(
            "a -> done
             b -> c -> done
             d -> e -> done
             e = type: tool, tool: look
             f = agent: b
             f -> done",
        )
        .verified_by_hand(&["a"])
        .start();
        it.expect_running(["a", "b", "d"])
            .answer("a", pass())
            .verify("a", decision);
        it.expect_running(["b", "d"])
            .answer("b", pass())
            .answer("d", pass())
            .expect_running([]);
        assert_eq!(
            (
                it.submissions("c"),
                it.submissions("f"),
                it.dispatched.len()
            ),
            (0, 0, 0)
        );
        assert!(matches!(
            it.state(),
            OperationState::Paused(Blocked | Uncertain)
        ));
        it.resume()
            .verify("a", verified())
            .expect_running(["c", "f", "e"]);
    }
}

#[test]
fn blocked_stops_a_sibling_in_the_middle_of_its_turn() {
    // V5a: neither its next model call nor its next tool call.
    let mut it = story(
        "a -> done
         b -> done
         c -> done
         b = tools: [look, act]
         c = tools: [look]",
    )
    .verified_by_hand(&["a"])
    .start();
    it.calls("c", [tool("look", json!({}))]);
    it.answer("a", pass())
        .verify("a", blocked("no"))
        .expect_running(["b", "c"]);
    it.calls("b", [tool("look", json!({})), tool("act", json!({}))])
        .tool("c", done(json!("seen")));
    it.expect_running([])
        .expect_paused(Blocked, [("a", "check")]);
    assert_eq!(it.dispatched.len(), 1);
    it.resume()
        .verify("a", verified())
        .expect_running(["b", "c"]);
    it.tool("b", done(json!(1)))
        .tool("b", done(json!(2)))
        .answer("b", pass())
        .answer("c", pass());
    it.expect_succeeded();
    assert_eq!((it.submissions("b"), it.dispatched.len()), (1, 3));
}

#[test]
fn blocked_stops_memory_calls_too() {
    // V5a: every new tool call.
    let mut it = story("a -> done\n b -> done\n b = tools: [memory_set]")
        .verified_by_hand(&["a"])
        .start();
    it.answer("a", pass()).verify("a", blocked("no"));
    it.calls("b", [tool("memory_set", json!({ "key": "k", "value": 1 }))]);
    assert!(it.events_of(&["b called"]).is_empty(), "{:?}", it.events());
    it.resume().verify("a", verified());
    assert_eq!(it.events_of(&["b called"]), ["b called memory_set: ok"]);
}

#[test]
fn a_correction_waits_while_new_calls_are_stopped() {
    let mut it = story("a -> done\n b -> done")
        .verified_by_hand(&["a"])
        .start();
    it.answer("a", pass())
        .verify("a", blocked("no"))
        .says("b", "hm")
        .expect_running([]);
    it.expect_paused(Blocked, [("a", "check")]);
    assert_eq!(it.model_calls("b"), 1);
    it.resume().verify("a", verified()).expect_running(["b"]);
    assert_eq!(it.model_calls("b"), 2);
}

#[test]
fn the_worst_of_several_waits_is_the_state_and_one_continuation_stands_for_all() {
    // V5a
    let mut it = story("a -> done\n b -> done\n c -> done")
        .verified_by_hand(&["a", "b", "c"])
        .start();
    it.answer("a", pass())
        .answer("b", pass())
        .answer("c", pass());
    it.verify("a", waiting("1"))
        .verify("b", uncertain("2"))
        .verify("c", blocked("3"));
    it.expect_paused(Blocked, [("a", "check"), ("b", "check"), ("c", "check")]);
    assert_eq!(it.issued, 1);
    it.resume().expect_running(["a", "b", "c"]);
    it.verify("a", verified())
        .verify("b", verified())
        .verify("c", waiting("3"));
    it.expect_paused(Waiting, [("c", "check")]);
    assert_eq!(it.issued, 2);
}

#[test]
fn a_pause_waits_for_what_is_in_flight() {
    let mut it = story("a -> done\n b -> done")
        .verified_by_hand(&["a"])
        .start();
    it.answer("a", pass()).verify("a", blocked("no"));
    assert_eq!(
        (it.state(), it.continuation),
        (OperationState::Running, None)
    );
    it.answer("b", pass())
        .expect_paused(Blocked, [("a", "check")]);
}

#[test]
fn a_verifier_that_fails_or_talks_nonsense_is_uncertain_never_a_pass() {
    // V4
    let failures = [
        VerifierFailure::Panicked("index out of bounds".into()),
        VerifierFailure::TimedOut(30_000),
        VerifierFailure::Stopped,
    ];
    for failure in failures {
        let mut it = story("a -> done").verified_by_hand(&["a"]).start();
        it.answer("a", pass()).verifier("a", Err(failure));
        it.expect_paused(Uncertain, [("a", "uncertain")]);
        it.resume().verify("a", verified()).expect_succeeded();
    }
    let mut contradicts = blocked("no");
    contradicts.finding = verified().finding;
    let mut it = story("a -> done").verified_by_hand(&["a"]).start();
    it.answer("a", pass()).verify("a", contradicts);
    assert_eq!(it.state(), OperationState::Paused(Uncertain));
}

#[test]
fn a_call_that_needs_permission_blocks_and_the_same_turn_goes_on_afterwards() {
    // V6, M6: admission
    let ask = || Permission::Ask {
        reason: "it acts".into(),
    };
    let mut it = story("a -> done\n a = tools: [act]")
        .permitted_by_hand(&["act"])
        .start();
    it.calls("a", [tool("act", json!({ "n": 1 }))])
        .permission("a", ask());
    it.expect_paused(Blocked, [("a", "permission")]);
    for _ in 0..3 {
        it.resume()
            .permission("a", ask())
            .expect_paused(Blocked, [("a", "permission")]);
    }
    assert!(it.dispatched.is_empty());
    it.resume()
        .permission("a", Permission::Allow)
        .tool("a", done(json!("acted")))
        .answer("a", pass());
    it.expect_succeeded();
    assert_eq!(it.dispatched, [("act".to_owned(), json!({ "n": 1 }))]);
    assert_eq!(
        (it.submissions("a"), it.model_calls("a"), it.lap("a")),
        (1, 2, 1)
    );
}

#[test]
fn a_person_may_allow_or_deny_one_exact_call() {
    // T5, M6
    let ask = || Permission::Ask {
        reason: "it acts".into(),
    };
    let asked = || {
        let mut it = story("a -> done\n a = tools: [act]")
            .permitted_by_hand(&["act"])
            .start();
        it.calls("a", [tool("act", json!({ "n": 1 }))])
            .permission("a", ask());
        it
    };
    let mut it = asked();
    it.resume_with([("a", allow())])
        .tool("a", done(json!("acted")))
        .expect_running(["a"]);
    // Once: the same call again is asked again.
    it.calls("a", [tool("act", json!({ "n": 1 }))])
        .permission("a", ask());
    it.expect_paused(Blocked, [("a", "permission")]);

    let mut it = asked();
    it.resume_with([("a", deny())]).expect_running(["a"]);
    let told = it.latest_request("a", 1).last();
    assert!(told.contains("not allowed"), "{told}");
    assert_eq!(it.events_of(&["a called"]), ["a called act: denied"]);
    assert!(it.dispatched.is_empty());
}

#[test]
fn a_call_that_can_only_fail_has_failed_without_being_dispatched() {
    // M7, L5
    let futile = || Permission::Futile {
        reason: "it leads outside".into(),
    };
    let mut it = story("a -> done\n a = tools: [act]")
        .permitted_by_hand(&["act"])
        .start();
    it.calls("a", [tool("act", json!({}))])
        .permission("a", futile());
    assert!(it.latest_request("a", 1).last().contains("leads outside"));
    assert_eq!(it.events_of(&["a called"]), ["a called act: failed"]);
    it.answer("a", fail());
    assert_eq!(it.effects(), EffectClass::BeforeEffects);
    for routine in [
        "a -> done\n a = type: tool, tool: act",
        "@ pre_steps: [{ name: a, tool: act }]\n b -> done",
    ] {
        let mut it = story(routine).permitted_by_hand(&["act"]).start();
        it.permission("a", futile());
        assert!(it.dispatched.is_empty());
        assert_eq!(it.effects(), EffectClass::BeforeEffects);
        assert_eq!(it.outcome().usage.tool_calls, 1);
    }
}

#[test]
fn a_denied_call_is_told_to_the_model_and_recorded() {
    // M6
    let deny = Permission::Deny {
        reason: "never here".into(),
    };
    let mut it = story("a -> done\n a = tools: [act]")
        .permitted_by_hand(&["act"])
        .start();
    it.calls("a", [tool("act", json!({}))])
        .permission("a", deny.clone());
    assert!(it.latest_request("a", 1).last().contains("never here"));
    it.answer("a", pass()).expect_succeeded();
    let mut it = story("a -> done\n a = type: tool, tool: act")
        .permitted_by_hand(&["act"])
        .start();
    it.permission("a", deny).expect_failed("tool_failed");
    assert!(it.dispatched.is_empty());
}

#[test]
fn a_tool_step_waits_for_permission_and_runs_once() {
    let ask = Permission::Ask {
        reason: "it acts".into(),
    };
    let mut it = story("a -> done\n a = type: tool, tool: act")
        .permitted_by_hand(&["act"])
        .start();
    it.permission("a", ask)
        .expect_paused(Blocked, [("a", "permission")]);
    it.resume_with([("a", allow())])
        .tool("a", done(json!(1)))
        .expect_succeeded();
    assert_eq!(it.dispatched.len(), 1);
}

#[test]
fn a_permission_is_still_waited_for_when_something_uncertain_stays() {
    // V5a: one continuation stands for all waits.
    let ask = || Permission::Ask {
        reason: "it acts".into(),
    };
    let mut it = story("a -> done\n b -> done\n a = tools: [act]\n b = corrections: 0")
        .permitted_by_hand(&["act"])
        .start();
    it.calls("a", [tool("act", json!({}))])
        .permission("a", ask())
        .says("b", "hm");
    it.expect_paused(Blocked, [("a", "permission"), ("b", "uncertain")]);
    it.resume();
    if it.running() == ["a"] {
        it.permission("a", ask());
    }
    it.expect_paused(Blocked, [("a", "permission"), ("b", "uncertain")]);
}

#[test]
fn answers_are_bound_to_their_wait() {
    // B3, B4
    let mut it = story("a -> done").verified_by_hand(&["a"]).start();
    it.answer("a", pass()).verify("a", waiting("later"));
    let right = it.wait("a").key;
    let mut wrong = right.clone();
    wrong.lap = Some(crate::engine::id::Lap(2));
    let mut elsewhere = right.clone();
    elsewhere.execution = "other.x1".into();
    for key in [wrong, elsewhere] {
        let refused = it
            .machine
            .check_answers(&[(key, allow())], Admission::Resume);
        assert_eq!(refused, Err(BadAnswer::NoSuchWait("a".into())));
    }
    assert_eq!(
        it.refused("a", allow(), Admission::Resume),
        BadAnswer::WrongKind("check")
    );
    let accept = Answer::Accept(approve());
    assert_eq!(
        it.refused("a", accept, Admission::Resume),
        BadAnswer::NeedsReconcile
    );
}

#[test]
fn a_resume_is_admitted_only_while_paused_and_only_with_the_next_generation() {
    // B2, B3
    let resumed = |n| Event::ResumeAdmitted {
        generation: crate::engine::id::Generation(n),
        answers: Vec::new(),
    };
    let mut it = story("a -> done").verified_by_hand(&["a"]).start();
    assert!(
        it.machine.apply(0, resumed(1)).is_err(),
        "nothing is paused"
    );
    it.answer("a", pass());
    assert!(
        it.machine.apply(0, resumed(1)).is_err(),
        "the verification is in flight"
    );
    it.verify("a", waiting("later")).resume();
    assert!(it.machine.apply(0, resumed(1)).is_err(), "it was spent");
    it.verify("a", waiting("later"));
    assert!(it.machine.apply(0, resumed(1)).is_err(), "it is stale");
    it.expect_paused(Waiting, [("a", "check")])
        .resume()
        .verify("a", verified())
        .expect_succeeded();
    assert!(it.machine.apply(0, resumed(3)).is_err(), "it settled");
}

#[test]
fn a_manual_check_takes_a_persons_word_and_is_asked_again_with_it() {
    // T5
    use crate::engine::verify::AttestationVerdict::{NotRight, Right};
    let mut it = story("a -> done\n a = verify: [{ check: manual, prompt: Is it right? }]")
        .verified_by_hand(&["a"])
        .start();
    it.answer("a", pass())
        .verify("a", not_asked_yet())
        .expect_paused(Waiting, [("a", "manual")]);
    let say = |verdict| Answer::Attest {
        verdict,
        reasoning: Some("I looked".into()),
    };
    it.resume_with([("a", say(NotRight))]);
    assert_eq!(it.seen("a").attestations[0].verdict, NotRight);
    it.verify("a", not_asked_yet())
        .resume_with([("a", say(Right))]);
    let attestations = &it.seen("a").attestations;
    assert_eq!(
        (attestations.len(), attestations[0].verdict),
        (1, Right),
        "the latest word counts"
    );
    it.verify("a", verified()).expect_succeeded();
}

#[test]
fn a_resume_starts_nothing_elsewhere_while_what_was_blocked_is_looked_at_again() {
    // V5a: else every resume would let the others make one call more.
    for decision in [blocked("no"), uncertain("who knows")] {
        let mut it = story("a -> done\n b -> c -> done")
            .verified_by_hand(&["a"])
            .start();
        it.answer("a", pass())
            .verify("a", decision.clone())
            .answer("b", pass());
        for _ in 0..3 {
            it.resume()
                .expect_running(["a"])
                .verify("a", decision.clone());
        }
        assert_eq!(it.submissions("c"), 0);
        it.resume()
            .verify("a", waiting("soon"))
            .expect_running(["c"]);
    }
}

#[test]
fn a_decision_says_whether_anything_was_looked_at() {
    // C3, V3
    let mut it = story("a -> b -> done\n b = verify: [{ check: file, path: x }]").start();
    it.answer("a", pass())
        .answer("b", pass())
        .expect_succeeded();
    let bases: Vec<_> = it
        .published
        .iter()
        .filter_map(|event| match event {
            PublicEvent::VerifyDecided { phase, basis, .. } => Some((*phase, *basis)),
            _ => None,
        })
        .collect();
    let expected = [
        ("step", "host_policy"),
        ("step", "checks"),
        ("final", "host_policy"),
    ];
    assert_eq!(bases, expected);
}
