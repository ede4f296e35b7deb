//! Gates that no model decides, and steps that are one tool call (G5, G15, G16).

use super::*;

const TESTS: &str = "
    a -> tests -pass-> b -> done
    tests -fail-> fix -> done
    tests = checks: [{ check: command, run: [make, test] }]";

fn at_the_tests() -> Play {
    let mut it = story(TESTS).verified_by_hand(&["tests"]).start();
    it.answer("a", pass()).expect_running(["tests"]);
    it
}

#[test]
fn a_checks_gate_passes_when_all_are_verified() {
    let mut it = at_the_tests();
    it.verify("tests", verified())
        .expect_settled("tests", "pass")
        .expect_running(["b"]);
    let prompt = it.request("b", 1).prompt();
    let handoff = r#"{"checks":[{"check":"command","decision":"verified","name":"the check"}],"verdict":"pass"}"#;
    assert!(prompt.contains(handoff), "{prompt}");
    assert_eq!(it.submissions("tests"), 0, "no model is asked");
}

#[test]
fn a_checks_gate_fails_when_any_is_blocked() {
    let mut it = at_the_tests();
    it.verify("tests", blocked("2 failed"))
        .expect_settled("tests", "fail")
        .expect_running(["fix"]);
    let prompt = it.request("fix", 1).prompt();
    assert!(
        prompt.contains(r#""reason":"2 failed""#) && prompt.contains(r#""verdict":"fail""#),
        "{prompt}"
    );
    assert_eq!(it.looks("tests"), 1, "a fail routes without verification");
}

#[test]
fn a_checks_gate_that_cannot_tell_is_uncertain_and_never_a_fail() {
    let mut it = at_the_tests();
    it.verify("tests", uncertain("killed"))
        .expect_settled("tests", "uncertain: no_verdict");
    it.expect_paused(Uncertain, [("tests", "check")]).resume();
    it.verify("tests", verified()).expect_running(["b"]);
    let mut it = at_the_tests();
    it.verifier("tests", Err(VerifierFailure::TimedOut(30_000)));
    it.expect_settled("tests", "uncertain: verifier_failed")
        .resume();
    it.verify("tests", blocked("2 failed"))
        .expect_running(["fix"]);
}

#[test]
fn a_checks_gate_that_waits_is_looked_at_again_by_a_resume() {
    let mut it = at_the_tests();
    it.verify("tests", waiting("still building"))
        .expect_paused(Waiting, [("tests", "check")]);
    it.resume()
        .verify("tests", waiting("still building"))
        .resume()
        .verify("tests", verified());
    it.expect_running(["b"]);
    assert_eq!(it.lap("tests"), 1);
}

#[test]
fn a_checks_gate_has_laps_and_budgets_like_any_other() {
    let mut it = story(
        "a -> tests -pass-> done
         tests -fail-> a | max_attempts: 1
         tests = checks: [{ check: file, path: x }]",
    )
    .verified_by_hand(&["tests"])
    .start();
    it.answer("a", pass())
        .verify("tests", blocked("no"))
        .expect_running(["a"]);
    it.answer("a", pass())
        .verify("tests", blocked("no"))
        .expect_failed("retry_exhausted");
    it.expect_lap("tests", 2);
}

#[test]
fn a_handoff_that_a_checks_gate_cannot_give_fails_the_step() {
    // G5
    let mut it = story(
        "a -> tests -pass-> done | handoff_schema: { type: object, required: [notes] }
         tests = checks: [{ check: file, path: x }]",
    )
    .verified_by_hand(&["tests"])
    .start();
    it.answer("a", pass()).verify("tests", verified());
    it.expect_settled("tests", "fail: handoff_mismatch")
        .expect_failed("handoff_mismatch");
    assert_eq!(it.outcome().detail["edge"], "tests->done");
}

const RELEASE: &str = "
    a -> release -pass-> b -> done
    release -fail-> lost
    release = operator: true, instructions: Ship it?, criteria: [signed]";

#[test]
fn an_operator_gate_waits_for_a_person_and_shows_what_came_in() {
    let mut it = story(RELEASE).start();
    it.answer("a", pass())
        .expect_paused(Waiting, [("release", "operator_gate")]);
    let wait = it.wait("release");
    assert_eq!(wait.reason, "Ship it?");
    let question = serde_json::to_value(&wait.question).expect("json");
    assert_eq!(question["criteria"], json!(["signed"]));
    assert_eq!(question["inputs"]["a"], json!({ "from": "a", "lap": 1 }));
    it.resume()
        .expect_paused(Waiting, [("release", "operator_gate")]);
    it.resume_with([("release", Answer::Decide(approve()))])
        .expect_running(["b"]);
    let prompt = it.request("b", 1).prompt();
    assert!(
        prompt.contains(r#"{"reasoning":"I say so","verdict":"pass"}"#),
        "{prompt}"
    );
}

#[test]
fn an_operator_gates_output_is_the_reasoning_and_it_is_the_operators() {
    // C3, V10a
    let mut it = story(RELEASE).verified_by_hand(&["release"]).start();
    it.answer("a", pass())
        .resume_with([("release", Answer::Decide(approve()))]);
    let seen = it.seen("release").observation.json().clone();
    assert_eq!(seen["result"]["by"], "operator");
    assert_eq!(seen["result"]["output"], "I say so");
    it.verify("release", verified()).expect_running(["b"]);
}

#[test]
fn an_operator_gate_may_fail() {
    let mut it = story(RELEASE).start();
    it.answer("a", pass())
        .resume_with([("release", Answer::Decide(reject()))]);
    it.expect_failed("terminal_fail");
}

#[test]
fn an_operator_gives_the_handoffs_that_an_edge_asks_for() {
    // G5
    let mut it = story(
        "a -> release -pass-> b | handoff_schema: { type: object, required: [tag] }
         b -> done
         release = operator: true, criteria: [signed]",
    )
    .start();
    it.answer("a", pass());
    let decide = |handoffs: &[(&str, serde_json::Value)]| {
        let handoffs = handoffs
            .iter()
            .map(|(target, value)| ((*target).to_owned(), value.clone()))
            .collect();
        Answer::Decide(OperatorVerdict {
            handoffs,
            ..approve()
        })
    };
    for (handoffs, target) in [
        (vec![], "b"),
        (vec![("b", json!({ "x": 1 }))], "b"),
        (
            vec![("b", json!({ "tag": 1 })), ("c", json!({ "x": 1 }))],
            "c",
        ),
    ] {
        let refused = it.refused("release", decide(&handoffs), Admission::Resume);
        assert!(
            matches!(refused, BadAnswer::Handoff { target: ref held, .. } if held == target),
            "{refused}"
        );
    }
    it.resume_with([("release", decide(&[("b", json!({ "tag": "v1" }))]))]);
    assert!(it.request("b", 1).prompt().contains(r#"{"tag":"v1"}"#));
}

#[test]
fn a_waiting_operator_gate_lets_other_branches_go_on() {
    let mut it = story(&format!("{RELEASE}\n x -> y -> done2")).start();
    it.answer("a", pass())
        .answer("x", pass())
        .expect_running(["y"])
        .answer("y", pass());
    it.expect_paused(Waiting, [("release", "operator_gate")]);
}

#[test]
fn a_tool_step_hands_its_result_on() {
    // G16, G5, C3
    let mut it = story(
        "@ parameters: [{ name: path, default: x }]
         read -> b -> done
         read = type: tool, tool: look, args: { path: '{{param.path}}', n: 2 }",
    )
    .start();
    assert_eq!(
        it.dispatched,
        [("look".to_owned(), json!({ "path": "x", "n": 2 }))]
    );
    it.tool("read", done(json!({ "text": "hello" })))
        .expect_running(["b"]);
    let prompt = it.request("b", 1).prompt();
    assert!(
        prompt.contains(r#"{"result":{"text":"hello"}}"#),
        "{prompt}"
    );
    let mut it = story("read -> done\n read = type: tool, tool: look").start();
    it.tool("read", done(json!({ "text": "hello" })))
        .expect_succeeded();
    assert_eq!(it.outcome().outputs["done"], json!({ "text": "hello" }));
}

#[test]
fn a_tool_steps_result_must_fit_its_edge() {
    // G5
    let schema = "handoff_schema: { type: object, properties: { result: { type: object, required: [id] } } }";
    let mut it = story(&format!(
        "read -> done | {schema}\n read = type: tool, tool: look"
    ))
    .start();
    it.tool("read", done(json!({ "text": "hello" })));
    it.expect_settled("read", "fail: handoff_mismatch")
        .expect_failed("handoff_mismatch");
    assert_eq!(it.outcome().detail["edge"], "read->done");
    assert_eq!(it.outcome().step.as_deref(), Some("read"));
}

#[test]
fn a_result_key_keeps_a_tool_steps_result_in_memory() {
    let mut it = story(
        "read -> b -> done
         read = type: tool, tool: look, result_key: notes
         b = memory: [notes, nothing]",
    )
    .start();
    it.tool("read", done(json!({ "n": 1 })));
    let prompt = it.request("b", 1).prompt();
    assert!(
        prompt.contains("- notes: {\"n\":1}\n- nothing: (nothing)"),
        "{prompt}"
    );
}

#[test]
fn a_blocked_check_fails_its_gate_whatever_the_others_say() {
    // G15: any blocked fails, else any uncertain is uncertain, else it waits.
    let all = |decisions: &[fn(&str) -> Decision]| {
        let checks = decisions.iter().flat_map(|decision| decision("so").checks);
        Decision::of(checks.collect())
    };
    let mut it = at_the_tests();
    it.verify("tests", all(&[waiting, uncertain, blocked]));
    it.expect_settled("tests", "fail").expect_running(["fix"]);
    let mut it = at_the_tests();
    it.verify("tests", all(&[waiting, uncertain]));
    it.expect_settled("tests", "uncertain: no_verdict");
    assert_eq!(it.state(), OperationState::Paused(Uncertain));
}
