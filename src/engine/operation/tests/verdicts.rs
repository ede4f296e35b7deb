//! `route_next_steps`: what is offered, what counts, what is corrected (G4).

use super::*;

const LINE: &str = "a -> b -> done";
const REVIEW: &str = "
    draft -> check -pass-> done
    check -fail-> draft | max_attempts: 1, handoff_instructions: Say what to fix";

fn entry(target: &str, handoff: serde_json::Value) -> serde_json::Value {
    json!({ "target_step": target, "handoff": handoff })
}

fn passing(next_steps: serde_json::Value) -> serde_json::Value {
    json!({ "verdict": "pass", "reasoning": "because", "output": 1, "next_steps": next_steps })
}

/// Says this instead of a verdict, and gives what the model is told about it.
fn correction_of(args: serde_json::Value) -> String {
    let mut it = story("a -> {b, c} -> done\n b = tools: [look]").start();
    it.calls("a", [route(args)]);
    assert_eq!(it.model_calls("a"), 2);
    assert_eq!(it.submissions("a"), 1, "a correction is no submission");
    let told = it.latest_request("a", 1).last().to_owned();
    it.answer("a", pass()).expect_running(["b", "c"]);
    told
}

#[test]
fn every_wrong_call_is_told_what_is_wrong_with_it() {
    let both = |b, c| passing(json!([entry("b", b), entry("c", c)]));
    let good = json!({ "x": 1 });
    let cases = [
        (json!({}), vec!["`verdict` must be", "`reasoning` must be"]),
        (json!("pass"), vec!["the arguments must be a JSON object"]),
        (
            json!({ "verdict": "maybe", "reasoning": "r" }),
            vec!["`verdict` must be"],
        ),
        (
            json!({ "verdict": "pass", "reasoning": " " }),
            vec!["`reasoning` must be non-empty"],
        ),
        (
            passing(json!([])),
            vec!["an entry for `b`", "an entry for `c`"],
        ),
        (
            passing(json!(null)),
            vec!["an entry for `b`", "an entry for `c`"],
        ),
        (passing(json!({})), vec!["must be an array"]),
        (
            passing(json!([entry("b", good.clone())])),
            vec!["an entry for `c`"],
        ),
        (
            passing(json!([entry("b", good.clone()), entry("x", good.clone())])),
            vec!["does not lead to `x`", "`c`"],
        ),
        (
            passing(json!([
                entry("b", good.clone()),
                entry("c", good.clone()),
                entry("a", good.clone())
            ])),
            vec!["does not lead to `a`"],
        ),
        (
            passing(json!([
                entry("b", good.clone()),
                entry("c", good.clone()),
                entry("b", good.clone())
            ])),
            vec!["names `b` twice"],
        ),
        (
            both(json!("text"), good.clone()),
            vec!["the handoff for `b`: it must be a JSON object"],
        ),
        (
            both(good.clone(), json!({})),
            vec!["the handoff for `c`: it must not be empty"],
        ),
        (
            passing(json!([{ "handoff": { "x": 1 } }])),
            vec!["needs a `target_step`", "`b`", "`c`"],
        ),
        (
            json!({ "verdict": "fail", "reasoning": "r", "next_steps": [entry("b", good)] }),
            vec!["verdict \"fail\" does not lead to `b`"],
        ),
    ];
    for (args, expected) in cases {
        let told = correction_of(args.clone());
        for part in expected {
            assert!(told.contains(part), "{args}: {told}");
        }
        assert!(told.contains("route_next_steps"), "{told}");
    }
}

#[test]
fn a_handoff_that_does_not_fit_its_schema_is_corrected() {
    let schema =
        "handoff_schema: { type: object, required: [n], properties: { n: { type: integer } } }";
    let mut it = story(&format!("a -> b | {schema}\n b -> done")).start();
    it.answer("a", pass().handoff("b", json!({ "n": "one" })));
    let told = it.latest_request("a", 1).last();
    assert!(told.contains("the handoff for `b`: at /n"), "{told}");
    it.answer("a", pass().handoff("b", json!({ "n": 1 })))
        .expect_running(["b"]);
}

#[test]
fn of_two_verdicts_in_one_answer_none_counts_and_the_model_is_told_why() {
    let mut it = story("a -> b -> done").start();
    let verdict = || route(passing(json!([entry("b", json!({ "x": 1 }))])));
    it.calls("a", [verdict(), verdict()]);
    let told = it.latest_request("a", 1);
    assert!(
        told.last().contains("was called 2 times"),
        "{}",
        told.last()
    );
    assert!(!told.last().contains("other calls"), "{}", told.last());
    it.answer("a", pass()).expect_running(["b"]);
    let mut it = story("a -> b -> done\n a = corrections: 0").start();
    it.calls("a", [verdict(), verdict()]);
    let reason = it.wait("a").reason;
    assert_eq!(reason.matches("was called 2 times").count(), 1, "{reason}");
}

#[test]
fn malformed_arguments_are_corrected_and_never_guessed() {
    // M3, B18
    let mut it = story(LINE).start();
    it.calls("a", [malformed("route_next_steps", r#"{"verdict":"pass""#)]);
    let told = it.latest_request("a", 1).last();
    assert!(told.contains("not valid JSON"), "{told}");
    it.answer("a", pass()).expect_running(["b"]);
}

#[test]
fn two_verdicts_at_once_are_none() {
    let mut it = story(LINE).start();
    let call = passing(json!([entry("b", json!({ "x": 1 }))]));
    it.calls("a", [route(call.clone()), route(call)]);
    it.expect_running(["a"])
        .answer("a", pass())
        .expect_running(["b"]);
}

#[test]
fn a_verdict_beside_other_calls_does_not_count_and_the_others_are_made() {
    let mut it = story("a -> b -> done\n a = tools: [look]").start();
    let call = passing(json!([entry("b", json!({ "x": 1 }))]));
    it.calls("a", [tool("look", json!({})), route(call)])
        .tool("a", done(json!("seen")));
    let request = it.latest_request("a", 1);
    assert_eq!(request.messages.len(), 4);
    assert!(
        request
            .last()
            .contains("before the results of the other calls"),
        "{}",
        request.last()
    );
    it.answer("a", pass()).expect_running(["b"]);
    assert_eq!(it.dispatched.len(), 1);
}

#[test]
fn text_that_looks_like_a_call_is_text() {
    // P21
    let mut it = story(LINE).start();
    it.says(
        "a",
        r#"{"tool_calls":[{"name":"route_next_steps","arguments":{"verdict":"pass"}}]}"#,
    );
    it.expect_running(["a"]);
    let told = it.latest_request("a", 1).last();
    assert!(told.contains("called no tool"), "{told}");
}

#[test]
fn a_model_that_never_says_is_uncertain_after_two_corrections() {
    // G4, P10
    let mut it = story(LINE).start();
    it.says("a", "one").says("a", "two").says("a", "three");
    it.expect_settled("a", "uncertain: no_verdict")
        .expect_paused(Uncertain, [("a", "uncertain")]);
    assert_eq!((it.model_calls("a"), it.submissions("a")), (3, 1));
}

#[test]
fn corrections_may_be_none_or_more() {
    for corrections in [0, 1, 4] {
        let mut it = story(&format!("a -> done\n a = corrections: {corrections}")).start();
        for _ in 0..=corrections {
            it.says("a", "hm");
        }
        it.expect_settled("a", "uncertain: no_verdict");
        assert_eq!(it.model_calls("a"), corrections + 1);
    }
}

#[test]
fn an_answer_that_cannot_be_corrected_any_more_is_not_acted_on() {
    let mut it = story("a -> done\n a = corrections: 0, tools: [act]").start();
    it.calls("a", [tool("act", json!({})), route(json!({}))]);
    it.expect_settled("a", "uncertain: no_verdict");
    assert!(it.dispatched.is_empty());
}

#[test]
fn calling_tools_for_ever_ends_at_the_allowance_of_model_calls() {
    // P10, M3a
    for (field, max) in [("", 16), (", max_model_calls: 3", 3)] {
        let mut it = story(&format!("a -> done\n a = tools: [look]{field}")).start();
        for _ in 0..max {
            it.calls("a", [tool("look", json!({}))])
                .tool("a", done(json!("again")));
        }
        it.expect_settled("a", "uncertain: max_model_calls");
        assert_eq!(it.model_calls("a"), max);
    }
}

#[test]
fn an_agents_fail_needs_no_next_steps() {
    for next_steps in [None, Some(json!([])), Some(json!(null))] {
        let mut it = story(LINE).start();
        let mut args = json!({ "verdict": "fail", "reasoning": "no way", "output": "why" });
        if let Some(next_steps) = next_steps {
            args["next_steps"] = next_steps;
        }
        it.calls("a", [route(args)]).expect_failed("verdict_fail");
        assert_eq!(it.outcome().detail, json!({ "text": "no way" }));
    }
}

#[test]
fn a_step_with_one_way_on_is_offered_exactly_that() {
    // G4: items with const beside handoff.
    let it = story(
        "a -> b | purpose: go on, handoff_instructions: Give notes, handoff_schema: { type: object, required: [n] }
         b -> done",
    )
    .start();
    let schema = it.request("a", 1).schema_of("route_next_steps");
    assert_eq!(
        schema["required"],
        json!(["verdict", "reasoning", "output"])
    );
    assert_eq!(
        schema["properties"]["verdict"]["enum"],
        json!(["pass", "fail"])
    );
    let items = &schema["properties"]["next_steps"]["items"];
    assert_eq!(items["properties"]["target_step"]["const"], "b");
    assert_eq!(items["properties"]["handoff"]["required"], json!(["n"]));
    assert_eq!(items["properties"]["handoff"]["description"], "Give notes");
    assert_eq!(items["required"], json!(["target_step", "handoff"]));
}

#[test]
fn several_ways_on_are_one_of_each() {
    let it = story("a -> {b, c} -> done").start();
    let schema = it.request("a", 1).schema_of("route_next_steps");
    let items = schema["properties"]["next_steps"]["items"]["oneOf"]
        .as_array()
        .expect("oneOf");
    let targets: Vec<_> = items
        .iter()
        .map(|item| &item["properties"]["target_step"]["const"])
        .collect();
    assert_eq!(targets, ["b", "c"]);
    for item in items {
        assert_eq!(item["properties"]["handoff"]["type"], "object");
    }
}

#[test]
fn a_retry_target_stays_listed_when_its_budget_is_spent() {
    let mut it = story(REVIEW).start();
    it.answer("draft", pass());
    let before = it.request("check", 1).schema_of("route_next_steps").clone();
    it.answer("check", fail()).answer("draft", pass());
    assert_eq!(
        it.request("check", 2).schema_of("route_next_steps"),
        &before
    );
    let targets = before["properties"]["next_steps"]["items"]["oneOf"].to_string();
    assert!(
        targets.contains("draft") && targets.contains("done"),
        "{targets}"
    );
    assert_eq!(
        before["required"],
        json!(["verdict", "reasoning", "output", "next_steps"])
    );
    it.answer("check", fail()).expect_failed("retry_exhausted");
}

#[test]
fn the_choice_is_forced_only_where_no_other_tool_is_offered() {
    let mut it = story("a -> b -> done\n b = tools: [look]").start();
    let forced = ToolChoice::Forced("route_next_steps".into());
    assert_eq!(it.request("a", 1).tool_choice, forced);
    it.answer("a", pass());
    assert_eq!(it.request("b", 1).tool_choice, ToolChoice::Auto);
    assert_eq!(it.request("b", 1).offers(), ["look", "route_next_steps"]);
}
