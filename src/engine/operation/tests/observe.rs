//! What a verifier sees, and what happens when that is too much (V13, V26).

use super::*;

fn keys(value: &serde_json::Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn a_step_is_shown_with_its_result_its_predecessors_and_its_tools() {
    // V13
    let mut it = story("p -> a -> b -> done\n x -> done\n a = tools: [look]")
        .verified_by_hand(&["a"])
        .start();
    it.answer("p", pass().output("from p")).answer("x", pass());
    it.calls("a", [tool("look", json!({ "path": "f" }))])
        .tool("a", done(json!({ "text": "t" })));
    it.answer("a", pass().output("from a").handoff("b", json!({ "h": 1 })));
    let looked = it.seen("a");
    let seen = looked.observation.json();
    assert_eq!(
        keys(seen),
        [
            "execution",
            "first_decision",
            "generation",
            "lap",
            "latest_decision",
            "operation",
            "phase",
            "predecessors",
            "result",
            "retries",
            "routine",
            "sources",
            "step",
            "tools",
        ]
    );
    assert_eq!(
        (
            &seen["phase"],
            &seen["execution"],
            &seen["step"],
            &seen["lap"]
        ),
        (&json!("step"), &json!("op.x1"), &json!("a"), &json!(1))
    );
    assert_eq!(
        seen["result"],
        json!({
            "by": "model", "verdict": "pass", "reasoning": "it is a pass",
            "output": "from a", "data": null, "handoffs": { "b": { "h": 1 } },
        })
    );
    assert_eq!(
        keys(&seen["predecessors"]),
        ["p"],
        "direct ones, and no others"
    );
    let p = &seen["predecessors"]["p"];
    assert_eq!(
        (&p["output"], &p["verdict"], &p["lap"]),
        (&json!("from p"), &json!("pass"), &json!(1))
    );
    assert_eq!(p["source"]["kind"], "step_body");
    let tool = &seen["tools"][0];
    assert_eq!(
        (&tool["tool"], &tool["outcome"]),
        (&json!("look"), &json!("ok"))
    );
    assert_eq!(
        (&tool["arguments"], &tool["result"]),
        (&json!({ "path": "f" }), &json!({ "text": "t" }))
    );
    assert_eq!(tool["source"]["kind"], "tool_result");
    let kinds: Vec<_> = seen["sources"]
        .as_array()
        .expect("sources")
        .iter()
        .map(|source| &source["kind"])
        .collect();
    assert_eq!(
        kinds,
        [
            "model_request",
            "model_response",
            "tool_arguments",
            "tool_result",
            "model_request",
            "model_response",
            "step_body",
        ]
    );
    assert_eq!(seen["first_decision"], json!(null));
}

#[test]
fn a_verifier_is_shown_its_first_and_its_latest_decision() {
    // V13
    let mut it = story("a -> done").verified_by_hand(&["a"]).start();
    it.answer("a", pass())
        .verify("a", waiting("one"))
        .resume()
        .verify("a", waiting("two"))
        .resume();
    it.verify("a", waiting("three")).resume();
    let seen = it.seen("a").observation.json();
    assert_eq!(seen["first_decision"]["reason"], "the check: one");
    assert_eq!(seen["latest_decision"]["reason"], "the check: three");
    assert_eq!(seen["generation"], 3);
}

#[test]
fn every_lap_is_judged_by_decisions_of_its_own() {
    let mut it = story("a -> {b, g}\n b -> done\n g -pass-> done\n g -fail-> a")
        .verified_by_hand(&["b"])
        .start();
    it.answer("a", pass())
        .answer("b", pass())
        .verify("b", waiting("one"))
        .answer("g", fail());
    it.answer("a", pass()).answer("b", pass());
    let seen = it.seen("b").observation.json();
    assert_eq!(
        (&seen["lap"], &seen["first_decision"]),
        (&json!(2), &json!(null))
    );
}

#[test]
fn a_reworked_step_is_shown_the_retry_handoff() {
    let mut it = story("a -> g -pass-> done\n g -fail-> a").start();
    it.answer("a", pass())
        .answer("g", fail())
        .answer("a", pass());
    let seen = it.seen("a").observation.json();
    assert_eq!(
        seen["retries"],
        json!([{ "from": "g", "lap": 1, "handoff": { "from": "g", "lap": 1 } }])
    );
}

#[test]
fn the_checks_of_a_step_are_asked_with_their_values() {
    let it = story(
        "@ parameters: [{ name: v, default: '7' }]
         a -> done
         a = type: tool, tool: look, verify: [{ check: file, path: 'notes-{{param.v}}.md' }]",
    );
    let mut it = it.start();
    it.tool("a", done(json!(1)));
    let checks = format!("{:?}", it.seen("a").checks);
    assert!(checks.contains("notes-7.md"), "{checks}");
}

#[test]
fn a_large_tool_result_is_a_reference() {
    // V13
    let large = "x".repeat(5_000);
    let mut it = story("a -> done\n a = tools: [look]").start();
    it.calls("a", [tool("look", json!({}))])
        .tool("a", done(json!(large)))
        .answer("a", pass());
    let tool = &it.seen("a").observation.json()["tools"][0];
    assert_eq!(tool["result"], json!(null));
    assert_eq!(tool["source"]["bytes"], 5_002);
}

#[test]
fn every_body_stands_once_whatever_is_made_of_it() {
    // V13
    let body = "b".repeat(6_000);
    let mut it = story(
        "t -> {g, u}\n g -pass-> done\n u -> done
         t = type: tool, tool: act
         g = checks: [{ check: output, contains: b }]
         u = type: tool, tool: look",
    )
    .max_observation_bytes(8 * 1024)
    .start();
    it.tool("t", done(json!(body))).tool("u", done(json!(1)));
    let mut whole = story("t -> done\n t = type: tool, tool: act")
        .max_observation_bytes(8 * 1024)
        .start();
    whole.tool("t", done(json!(body)));
    for (it, step) in [(&it, "t"), (&it, "g"), (&it, "u"), (&whole, "final")] {
        let seen = it.seen(step).observation.json().to_string();
        assert_eq!(seen.matches(&body).count(), 1, "{step}: {seen}");
    }
    let seen = it.seen("t").observation.json();
    assert_eq!(seen["result"]["handoffs"], json!({ "g": null, "u": null }));
}

#[test]
fn the_final_view_holds_terminals_and_post_steps() {
    // V13
    let mut it = story("@ post_steps: [{ name: write, tool: act }]\n a -> done").start();
    it.answer("a", pass().output("the notes"))
        .tool("write", done(json!({ "bytes": 3 })))
        .expect_succeeded();
    let seen = it.seen("final").observation.json();
    assert_eq!(
        (&seen["phase"], &seen["terminals"]),
        (&json!("final"), &json!({ "done": "the notes" }))
    );
    let write = &seen["post_steps"][0];
    assert_eq!(
        (&write["name"], &write["outcome"], &write["result"]),
        (&json!("write"), &json!("ok"), &json!({ "bytes": 3 }))
    );
    assert_eq!(seen["sources"]["index"], "op.index");
    assert_eq!(seen["sources"]["count"], it.machine.sources().len());
}

fn too_large() -> Play {
    let mut it = story("a -> b -> done")
        .max_observation_bytes(8 * 1024)
        .start();
    it.answer("a", pass().output("x".repeat(9_000)));
    it
}

#[test]
fn a_view_that_would_be_too_large_is_uncertain_before_any_further_action() {
    // V26
    let mut it = too_large();
    it.expect_settled("a", "uncertain: observation_too_large")
        .expect_paused(Uncertain, [("a", "evidence")]);
    assert_eq!((it.looks("a"), it.submissions("b")), (0, 0));
    let body = it.sources.last().expect("a source");
    assert!(body.content.len() > 9_000, "its raw source stays whole");
    let reason = it.wait("a").reason;
    assert!(
        reason.contains("8192 are allowed") && reason.contains("1 of 1 sources"),
        "{reason}"
    );
}

#[test]
fn a_resume_before_the_sources_are_acknowledged_changes_nothing() {
    let mut it = too_large();
    for _ in 0..3 {
        it.resume().expect_paused(Uncertain, [("a", "evidence")]);
    }
    assert_eq!(it.looks("a"), 0);
}

#[test]
fn acknowledged_sources_let_it_go_on_with_receipts_instead_of_bodies() {
    // V26
    let mut it = too_large();
    it.acknowledge_everything()
        .expect_paused(Uncertain, [("a", "evidence")])
        .resume();
    let seen = it.seen("a").observation.json();
    assert_eq!(
        seen["result"]["receipt"]["uri"],
        format!("archive:{}", seen["result"]["source"].as_str().expect("id"))
    );
    it.expect_settled("a", "pass").expect_running(["b"]);
    assert_eq!(it.model_calls("a"), 1);
}

#[test]
fn a_final_view_that_would_be_too_large_needs_its_sources_acknowledged_too() {
    // V26
    // Each step's own view fits; both outputs together don't.
    let mut it = story("{a, b} -> done")
        .max_observation_bytes(8 * 1024)
        .start();
    it.answer("a", pass().output("x".repeat(5_000)))
        .answer("b", pass().output("y".repeat(5_000)));
    it.expect_paused(Uncertain, [("final", "evidence")])
        .resume();
    it.expect_paused(Uncertain, [("final", "evidence")]);
    it.acknowledge_everything().resume().expect_succeeded();
    let seen = it.seen("final").observation.json().to_string();
    assert!(
        seen.contains("archive:") && !seen.contains("xxxx"),
        "{seen}"
    );
}

#[test]
fn a_checks_gate_sees_what_came_in_and_has_no_result_yet() {
    let mut it = story("a -> g -pass-> done\n g = checks: [{ check: output, contains: x }]")
        .verified_by_hand(&["g"])
        .start();
    it.answer("a", pass().output("made"));
    let seen = it
        .looked
        .iter()
        .rev()
        .find(|looked| !looked.checks.is_empty())
        .expect("a look")
        .observation
        .json();
    assert_eq!(seen["predecessors"]["a"]["output"], "made");
}
