//! What a person supplies where nobody can tell, and what is delivered later (V10a, V11).

use super::*;

fn no_answer() -> ModelOutcome {
    ModelOutcome::NoAnswer {
        reason: "reset".into(),
    }
}

#[test]
fn an_uncertain_agent_step_is_accepted_with_a_persons_verdict_and_still_verified() {
    let mut it = story("a -> b -> done").verified_by_hand(&["a"]).start();
    it.reply("a", no_answer())
        .expect_paused(Uncertain, [("a", "uncertain")]);
    let given = OperatorVerdict {
        output: json!("mine"),
        ..approve()
    };
    it.reconcile([("a", Answer::Accept(given))])
        .expect_running(["a"]);
    it.verify("a", waiting("still"))
        .expect_paused(Waiting, [("a", "check")]);
    it.resume().verify("a", verified()).expect_running(["b"]);
    assert_eq!(it.model_calls("a"), 1, "nothing is sent again");
    let seen = it.seen("a").observation.json();
    assert_eq!(seen["result"]["by"], "operator");
    assert_eq!(seen["result"]["output"], "mine");
    it.expect_settled("a", "pass");
}

#[test]
fn accepting_needs_handoffs_where_the_edge_has_a_schema() {
    let mut it =
        story("a -> b | handoff_schema: { type: object, required: [n] }\n b -> done").start();
    it.reply("a", no_answer());
    let without = it.refused("a", Answer::Accept(approve()), Admission::Reconcile);
    assert!(
        matches!(without, BadAnswer::Handoff { ref target, .. } if target == "b"),
        "{without}"
    );
    let silent = OperatorVerdict {
        reasoning: " ".into(),
        ..approve()
    };
    assert_eq!(
        it.refused("a", Answer::Accept(silent), Admission::Reconcile),
        BadAnswer::NoReasoning
    );
    let mut given = approve();
    given.handoffs.insert("b".into(), json!({ "n": 1 }));
    it.reconcile([("a", Answer::Accept(given))])
        .expect_running(["b"]);
    assert!(it.request("b", 1).prompt().contains(r#"{"n":1}"#));
}

#[test]
fn an_uncertain_gate_is_accepted_either_way() {
    let graph = "a -> g -pass-> done\n g -fail-> b -> done2";
    for (given, next) in [(approve(), "done"), (reject(), "b")] {
        let mut it = story(graph).start();
        it.answer("a", pass()).reply("g", no_answer());
        it.reconcile([("g", Answer::Accept(given))]);
        assert_eq!(it.events_of(&["g->"]), [format!("g->{next}")]);
    }
}

#[test]
fn an_uncertain_tool_step_is_accepted_with_the_result_that_it_would_have_given() {
    let mut it = story("a -> b -> done\n a = type: tool, tool: act")
        .verified_by_hand(&["a"])
        .start();
    it.tool("a", ToolOutcome::TimedOut)
        .expect_paused(Uncertain, [("a", "uncertain")]);
    let given = OperatorVerdict {
        output: json!({ "id": 7 }),
        ..approve()
    };
    it.reconcile([("a", Answer::Accept(given))])
        .verify("a", verified())
        .expect_running(["b"]);
    assert!(
        it.request("b", 1)
            .prompt()
            .contains(r#"{"result":{"id":7}}"#)
    );
    assert_eq!(it.dispatched.len(), 1);
}

#[test]
fn a_person_may_fail_whatever_is_uncertain() {
    let mut agent = story("a -> done").start();
    agent.reply("a", no_answer());
    let mut gate = story("s -> a -pass-> done\n a -fail-> lost").start();
    gate.answer("s", pass()).reply("a", no_answer());
    let mut tool_step = story("a -> done\n a = type: tool, tool: act").start();
    tool_step.tool("a", ToolOutcome::TimedOut);
    let mut checks = story("s -> a -pass-> done\n a = checks: [{ check: file, path: x }]")
        .verified_by_hand(&["a"])
        .start();
    checks
        .answer("s", pass())
        .verify("a", uncertain("unreadable"));
    let mut judged = story("a -> done").verified_by_hand(&["a"]).start();
    judged
        .answer("a", pass())
        .verifier("a", Err(VerifierFailure::TimedOut(1)));
    for mut it in [agent, gate, tool_step, checks, judged] {
        it.reconcile([("a", fail_it())])
            .expect_failed("failed_by_operator");
        assert_eq!(it.outcome().step.as_deref(), Some("a"));
        assert_eq!(it.outcome().detail["text"], "it went wrong");
    }
}

#[test]
fn rechecking_alone_never_sends_an_uncertain_step_again() {
    // V6, V10
    let mut it = story("a -> done").start();
    it.reply("a", no_answer());
    for _ in 0..3 {
        it.resume().expect_paused(Uncertain, [("a", "uncertain")]);
    }
    assert_eq!(it.model_calls("a"), 1);
}

#[test]
fn a_verifiers_failure_can_be_rechecked_but_not_accepted() {
    // V2: an operator's acceptance is no completion.
    let mut it = story("a -> done").verified_by_hand(&["a"]).start();
    it.answer("a", pass())
        .verifier("a", Err(VerifierFailure::TimedOut(1)));
    let accept = Answer::Accept(approve());
    assert_eq!(
        it.refused("a", accept, Admission::Reconcile),
        BadAnswer::WrongKind("uncertain")
    );
    it.resume().verify("a", verified()).expect_succeeded();
}

#[test]
fn failing_one_of_several_uncertain_steps_fails_the_routine() {
    let mut it = story("a -> done\n b -> done").start();
    it.reply("a", no_answer()).reply("b", no_answer());
    it.expect_paused(Uncertain, [("a", "uncertain"), ("b", "uncertain")]);
    it.reconcile([("b", fail_it())])
        .expect_failed("failed_by_operator");
}

#[test]
fn accepting_one_of_two_leaves_the_other_uncertain() {
    let mut it = story("a -> c -> done\n b -> done").start();
    it.reply("a", no_answer()).reply("b", no_answer());
    it.reconcile([("a", Answer::Accept(approve()))])
        .expect_paused(Uncertain, [("b", "uncertain")]);
    assert_eq!(it.submissions("c"), 0, "new calls are still stopped");
    it.reconcile([("b", Answer::Accept(approve()))])
        .expect_running(["c"]);
}

#[test]
fn a_pending_call_waits_and_its_delivery_continues_the_same_turn() {
    // V11
    let mut it = story("a -> done\n a = tools: [act]\n b = agent: a\n b -> done").start();
    it.calls("a", [tool("act", json!({}))])
        .tool("a", pending("d1"));
    it.expect_paused(Waiting, [("a", "delivery")]);
    assert_eq!(it.submissions("b"), 0, "a pending delivery keeps its agent");
    it.deliver("d1", done(json!({ "n": 1 })));
    it.expect_paused(Waiting, [("a", "delivery")])
        .resume()
        .expect_running(["a"]);
    assert!(it.latest_request("a", 1).last().contains(r#"{"n":1}"#));
    assert_eq!(
        (it.submissions("a"), it.dispatched.len(), it.lap("a")),
        (1, 1, 1)
    );
    assert_eq!(
        it.events_of(&["a called"]),
        ["a called act: pending", "a called act: ok"]
    );
    it.answer("a", pass()).expect_running(["b"]);
}

#[test]
fn a_delivery_that_comes_while_others_work_needs_no_resume() {
    let mut it = story("a -> done\n b -> done\n a = type: tool, tool: act").start();
    it.tool("a", pending("d1"))
        .expect_running(["b"])
        .deliver("d1", done(json!(1)));
    it.expect_settled("a", "pass")
        .answer("b", pass())
        .expect_succeeded();
}

#[test]
fn resuming_before_a_delivery_waits_again_and_calls_nothing() {
    let mut it = story("a -> done\n a = type: tool, tool: act").start();
    it.tool("a", pending("d1"));
    for _ in 0..3 {
        it.expect_paused(Waiting, [("a", "delivery")]).resume();
    }
    it.deliver("d1", done(json!(1))).resume().expect_succeeded();
    assert_eq!(it.dispatched.len(), 1);
}

#[test]
fn a_second_late_or_unknown_delivery_is_a_late_source() {
    // V11
    let mut it = story("a -> b -> done\n a = type: tool, tool: act").start();
    it.tool("a", pending("d1"))
        .deliver("d1", done(json!("first")))
        .deliver("d1", done(json!("second")));
    it.deliver("d9", done(json!("whose?")))
        .resume()
        .expect_running(["b"]);
    assert!(it.request("b", 1).prompt().contains("first"));
    it.answer("b", pass())
        .expect_succeeded()
        .deliver("d1", done(json!("third")));
    let late: Vec<_> = it
        .late
        .iter()
        .map(|source| source.content.clone())
        .collect();
    assert_eq!(late, [r#""second""#, r#""whose?""#, r#""third""#]);
    it.expect_succeeded();
}

#[test]
fn a_delivery_that_failed_is_a_failure_and_one_that_nobody_can_tell_of_is_uncertain() {
    let mut it = story("a -> done\n a = type: tool, tool: act").start();
    it.tool("a", pending("d1"))
        .deliver("d1", failed("lost"))
        .resume()
        .expect_failed("tool_failed");
    let mut it = story("a -> done\n a = type: tool, tool: act").start();
    it.tool("a", pending("d1"))
        .deliver("d1", unknown("lost"))
        .resume();
    it.expect_settled("a", "uncertain: effect_unknown");
}

#[test]
fn a_lost_delivery_can_be_failed_by_a_person() {
    // V10
    let mut it = story("a -> done\n a = type: tool, tool: commit").start();
    it.tool("a", pending("d1"))
        .reconcile([("a", fail_it())])
        .expect_failed("failed_by_operator");
    assert_eq!(it.effects(), EffectClass::AfterPartialEffects);
    it.deliver("d1", done(json!(1)));
    assert_eq!(it.late.len(), 1);
}
