//! Conditions: what decides them, and what a false one does (V20).

use super::*;

/// A routine whose step `a` has a condition on `k`, which a pre step sets to this value, if to any.
fn conditional(value: Option<&str>, condition: &str, more: &str) -> Play {
    let pre = match value {
        Some(value) => format!(
            "@ pre_steps: [{{ name: set, tool: memory_set, args: {{ key: k, value: {value} }} }}]"
        ),
        None => String::new(),
    };
    story(&format!(
        "{pre}
         a -> b -> done
         a = condition: {{ memory_key: k, {condition} }}{more}"
    ))
    .start()
}

#[test]
fn every_operator_decides_over_every_value_and_a_missing_one() {
    // V20, B15, O3: what is missing makes only `not_exists` true; nothing is coerced.
    let values = [
        None,
        Some("null"),
        Some("''"),
        Some("0"),
        Some("false"),
        Some("[]"),
        Some("[5]"),
        Some("'a5'"),
        Some("5"),
        Some("{ x: [1] }"),
    ];
    let table = [
        ("exists", ".xxxxxxxxx"),
        ("not_exists", "x........."),
        ("truthy", ".....xxxxx"),
        ("equals, value: 5", "........x."),
        ("equals, value: null", ".x........"),
        ("equals, value: { x: [1.0] }", ".........x"),
        ("contains, value: 5", "......x..."),
        ("contains, value: '5'", ".......x.."),
        ("greater_than, value: 4", "........x."),
        ("less_than, value: 6", "...x....x."),
        ("greater_than, value: 5", ".........."),
    ];
    for (operator, expected) in table {
        let found: String = values
            .iter()
            .map(|value| {
                let it = conditional(*value, &format!("operator: {operator}, on_false: skip"), "");
                match it.running()[..] {
                    ["a"] => 'x',
                    ["b"] => '.',
                    ref other => panic!("{other:?}"),
                }
            })
            .collect();
        assert_eq!(found, expected, "{operator}");
    }
}

/// What each operator makes of a missing key, null, "", 0, false, [], {} and "0".
const EMPTY_LOOKING: [(&str, &str); 14] = [
    ("exists", ".xxxxxxx"),
    ("not_exists", "x......."),
    ("truthy", ".....xxx"),
    ("equals, value: null", ".x......"),
    ("equals, value: ''", "..x....."),
    ("equals, value: 0", "...x...."),
    ("equals, value: false", "....x..."),
    ("equals, value: []", ".....x.."),
    ("equals, value: {}", "......x."),
    ("equals, value: '0'", ".......x"),
    ("contains, value: ''", "..x....x"),
    ("contains, value: 0", "........"),
    ("greater_than, value: -1", "...x...."),
    ("less_than, value: 1", "...x...."),
];

const VALUES: [Option<&str>; 8] = [
    None,
    Some("null"),
    Some("''"),
    Some("0"),
    Some("false"),
    Some("[]"),
    Some("{}"),
    Some("'0'"),
];

/// Every kind of step that takes a condition. Each begins something, or ends by itself as passed.
const KINDS: [(&str, &str); 6] = [
    ("agent", "type: agent, agent: w"),
    ("council", "type: council, council: c"),
    ("tool", "type: tool, tool: act"),
    (
        "map",
        "type: map, source: { memory_key: items }, routine: { steps: [{ slug: n, type: tool, tool: act }] }",
    ),
    (
        "fold",
        "type: fold, source: { memory_key: items }, initial_value: 0, result_key: r, routine: { steps: [{ slug: n, type: tool, tool: act }] }",
    ),
    (
        "until",
        "type: until, stop_when: { memory_key: items, operator: exists }, routine: { steps: [{ slug: n, type: tool, tool: act }] }",
    ),
];

/// A step `a` of a kind with a condition on `k`, then a tool step `after`.
fn guarded(kind: &str, value: Option<&str>, condition: &str) -> Play {
    let set = match value {
        Some(value) => {
            format!("  - {{ name: k, tool: memory_set, args: {{ key: k, value: {value} }} }}\n")
        }
        None => String::new(),
    };
    story(&format!(
        "routine: guarded
agents: {{ w: {{}}, l: {{}}, m: {{}} }}
councils: {{ c: {{ leader: l, members: [m], strategy: broadcast }} }}
pre_steps:
  - {{ name: items, tool: memory_set, args: {{ key: items, value: [1] }} }}
{set}entry_steps: [a]
steps:
  - {{ slug: a, {kind}, condition: {{ memory_key: k, {condition} }} }}
  - {{ slug: after, type: tool, tool: act }}
  - {{ slug: done, type: terminal }}
edges: [{{ from: a, to: after }}, {{ from: after, to: done }}]
"
    ))
    .start()
}

impl Play {
    /// Whether a model was asked or an acting tool called, other than by `after`.
    fn has_acted(&self) -> bool {
        let by_a = self.called.iter().any(|called| {
            let request = called.request;
            let after = |held: &&(crate::engine::id::RequestId, String)| held.0 == request;
            self.in_flight
                .iter()
                .find(after)
                .is_some_and(|(_, step)| step != "after")
        });
        by_a || !self.requests.is_empty()
    }
}

#[test]
fn every_kind_of_step_obeys_every_operator_over_every_empty_looking_value() {
    // V20, B15: on_false decides what a false one does, and a true one does nothing at all.
    for (kind, fields) in KINDS {
        for (operator, expected) in EMPTY_LOOKING {
            for (value, holds) in VALUES.iter().zip(expected.chars()) {
                for on_false in ["skip", "fail", "wait", "refused"] {
                    let told = format!("{kind}: {value:?} {operator} {on_false}");
                    let (word, omission) = match on_false {
                        "refused" => ("skip", ", omission: refused"),
                        word => (word, ""),
                    };
                    let condition = format!("operator: {operator}, on_false: {word}");
                    let mut it = guarded(&format!("{fields}{omission}"), *value, &condition);
                    assert_eq!(it.has_acted(), holds == 'x', "{told}");
                    if holds == 'x' {
                        let begun = it.events_of(&["a started lap 1"]).len();
                        assert_eq!(begun, 1, "{told}");
                        assert_eq!(it.state(), OperationState::Running, "{told}");
                        continue;
                    }
                    match on_false {
                        "skip" => {
                            it.expect_settled("a", "skipped: condition");
                            assert_eq!(it.events_of(&["a->after"]), ["a->after"], "{told}");
                            it.expect_running(["after"])
                                .tool("after", done(json!(1)))
                                .expect_succeeded();
                        }
                        "fail" => {
                            it.expect_failed("condition_failed");
                            assert_eq!(it.outcome().step.as_deref(), Some("a"), "{told}");
                            assert_eq!(it.effects(), EffectClass::BeforeEffects, "{told}");
                        }
                        "wait" => {
                            it.expect_paused(Waiting, [("a", "condition")]).resume();
                            it.expect_paused(Waiting, [("a", "condition")]);
                            assert_eq!(it.events_of(&["a "]), [""; 0], "{told}");
                        }
                        _ => {
                            it.expect_settled("a", "skipped: condition")
                                .expect_settled("after", "skipped: not_activated")
                                .expect_failed("no_terminal_reached");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn an_until_stops_by_the_same_table() {
    // V20, V22: looked at after the one iteration that it may make.
    for (operator, expected) in EMPTY_LOOKING {
        for (value, holds) in VALUES.iter().zip(expected.chars()) {
            let set = match value {
                Some(value) => {
                    format!("type: tool, tool: memory_set, args: {{ key: k, value: {value} }}")
                }
                None => "type: tool, tool: memory_delete, args: { key: k }".to_owned(),
            };
            let mut it = story(&format!(
                "u -> done
                 u = type: until, stop_when: {{ memory_key: k, operator: {operator} }}, routine: {{ steps: [{{ slug: n, {set} }}] }}"
            ))
            .start();
            match holds {
                'x' => it.expect_succeeded(),
                _ => it.expect_failed("max_iterations_exceeded"),
            };
        }
    }
}

#[test]
fn every_kind_of_step_that_waited_begins_once_when_its_condition_holds() {
    // V6, V20
    for (kind, fields) in KINDS {
        let mut it = guarded(fields, None, "operator: exists, on_false: wait");
        for _ in 0..3 {
            it.expect_paused(Waiting, [("a", "condition")]).resume();
        }
        it.machine.memory.set("k", json!(null));
        it.resume();
        assert!(it.has_acted(), "{kind}");
        assert_eq!(it.events_of(&["a started"]), ["a started lap 1"], "{kind}");
        it.cancel();
    }
}

#[test]
fn skips_go_on_along_a_chain_and_a_join_of_skipped_branches_runs_once() {
    // G8, V20: every block says that its source was skipped.
    let skip = "condition: { memory_key: k, operator: exists, on_false: skip }";
    let mut it = story(&format!(
        "a -> b -> c -> j -> done
         d -> j
         e -> j
         a = {skip}
         b = {skip}
         c = {skip}
         d = {skip}"
    ))
    .start();
    for step in ["a", "b", "c", "d"] {
        it.expect_settled(step, "skipped: condition");
    }
    it.expect_running(["e"]).answer("e", pass());
    let prompt = it.request("j", 1).prompt();
    assert_eq!(prompt.matches(r#"{"skipped":true}"#).count(), 2, "{prompt}");
    it.answer("j", pass()).expect_succeeded();
    assert_eq!(it.submissions("j"), 1);
    // Three branches, all skipped and refused: the join is skipped, and so is what it leads to.
    let mut it = story(&format!(
        "{{a, b, c}} -> j -> done
         x -> done
         a = {skip}, omission: refused
         b = {skip}, omission: refused
         c = {skip}, omission: refused"
    ))
    .start();
    it.expect_settled("j", "skipped: not_activated");
    it.answer("x", pass()).expect_succeeded();
    assert_eq!(it.submissions("j"), 0);
}

#[test]
fn a_skip_that_its_author_wrote_hands_over_that_it_was_skipped() {
    let mut it = conditional(None, "operator: exists, on_false: skip", "");
    let prompt = it.request("b", 1).prompt();
    assert!(prompt.contains("## Handed over by `a`"), "{prompt}");
    assert!(prompt.contains(r#"{"skipped":true}"#), "{prompt}");
    it.answer("b", pass()).expect_succeeded();
    assert_eq!(
        it.events_of(&["a "]),
        ["a settled skipped: condition"],
        "skipped is a status of its own"
    );
    assert_eq!((it.submissions("a"), it.lap("a")), (0, 1));
}

#[test]
fn a_skip_whose_omission_is_refused_leaves_its_edges_dead() {
    let mut it = conditional(
        None,
        "operator: exists, on_false: skip",
        ", omission: refused",
    );
    it.expect_settled("a", "skipped: condition")
        .expect_settled("b", "skipped: not_activated")
        .expect_settled("done", "skipped: not_activated")
        .expect_failed("no_terminal_reached");
}

#[test]
fn a_refused_omission_kills_one_branch_of_a_join_only() {
    // B12, G8
    let mut it = story(
        "{a, b} -> j -> done
         a = condition: { memory_key: k, operator: exists, on_false: skip }, omission: refused",
    )
    .start();
    it.answer("b", pass());
    let prompt = it.request("j", 1).prompt();
    assert!(prompt.contains("by `b`") && !prompt.contains("by `a`"));
    it.answer("j", pass()).expect_succeeded();
}

#[test]
fn what_a_skip_hands_over_must_fit_its_edge() {
    // G5
    let mut it = story(
        "a -> b | handoff_schema: { type: object, required: [x] }
         b -> done
         a = condition: { memory_key: k, operator: exists, on_false: skip }",
    )
    .start();
    it.expect_settled("a", "fail: handoff_mismatch")
        .expect_failed("handoff_mismatch");
    let mut fits = story(
        "a -> b | handoff_schema: { type: object, required: [skipped] }
         b -> done
         a = condition: { memory_key: k, operator: exists, on_false: skip }",
    )
    .start();
    fits.answer("b", pass()).expect_succeeded();
}

#[test]
fn a_skipped_steps_output_is_written_as_nothing() {
    // V21
    let mut it = story(
        "a -> b -> done
         a = condition: { memory_key: k, operator: exists, on_false: skip }
         b = instructions: '<{{result.a}}>'",
    )
    .start();
    assert!(it.request("b", 1).prompt().contains("<>"));
    it.answer("b", pass().output(1)).expect_succeeded();
    let mut last = story(
        "b -> a -> done
         a = condition: { memory_key: k, operator: exists, on_false: skip }",
    )
    .start();
    last.answer("b", pass()).expect_succeeded();
    assert_eq!(last.outcome().outputs["done"], json!(null));
}

#[test]
fn a_false_condition_may_fail_its_step_before_anything_is_asked() {
    let mut it = conditional(None, "operator: truthy, on_false: fail", "");
    it.expect_settled("a", "fail: condition_failed")
        .expect_failed("condition_failed");
    assert_eq!(it.outcome().step.as_deref(), Some("a"));
    assert_eq!(it.outcome().detail, json!({ "memory_key": "k" }));
    assert_eq!(it.model_calls("a"), 0);
}

#[test]
fn a_condition_that_waits_pauses_before_submission_and_is_asked_again_by_a_resume() {
    // V6, V20
    let mut it = story(
        "a -> done
         b -> set -> done
         a = condition: { memory_key: k, operator: equals, value: 1, on_false: wait }
         set = type: tool, tool: memory_set, args: { key: k, value: 1 }",
    )
    .start();
    it.expect_running(["b"]);
    assert_eq!(it.submissions("a"), 0);
    it.answer("b", pass())
        .expect_paused(Waiting, [("a", "condition")]);
    let wait = it.wait("a");
    assert_eq!(wait.key.lap.map(|lap| lap.0), Some(1), "the one to begin");
    it.resume().expect_running(["a"]).answer("a", pass());
    it.expect_succeeded();
    assert_eq!((it.submissions("a"), it.lap("a")), (1, 1));
}

#[test]
fn a_condition_that_stays_false_waits_over_any_number_of_resumes() {
    let mut it = conditional(None, "operator: exists, on_false: wait", "");
    for _ in 0..50 {
        it.expect_paused(Waiting, [("a", "condition")]).resume();
    }
    assert_eq!((it.submissions("a"), it.lap("a"), it.issued), (0, 0, 51));
    it.cancel().expect_cancelled();
    assert_eq!(it.effects(), EffectClass::BeforeEffects);
}

#[test]
fn a_deadline_passes_while_a_condition_waits() {
    // V24
    let mut it = story(
        "@ deadline_ms: 500
         a -> done
         a = condition: { memory_key: k, operator: exists, on_false: wait }",
    )
    .start();
    it.passes(499).expect_paused(Waiting, [("a", "condition")]);
    it.passes(1).expect_failed("deadline");
    assert_eq!(it.continuation, None);
}

#[test]
fn a_condition_is_judged_anew_in_every_lap() {
    // G7
    let mut it = story(
        "a -> m -> g
         g -pass-> done
         g -fail-> a
         a = tools: [memory_set]
         m = condition: { memory_key: k, operator: exists, on_false: skip }",
    )
    .start();
    it.answer("a", pass())
        .expect_settled("m", "skipped: condition")
        .answer("g", fail())
        .calls("a", [tool("memory_set", json!({ "key": "k", "value": 1 }))])
        .answer("a", pass())
        .expect_running(["m"])
        .expect_lap("m", 2)
        .answer("m", pass())
        .answer("g", pass())
        .expect_succeeded();
    assert_eq!(it.submissions("m"), 1);
}

#[test]
fn a_condition_that_waits_in_an_invalidated_lap_is_not_asked_any_more() {
    // V5a
    let mut it = story(
        "a -> m -> done
         a -> g
         g -pass-> done2
         g -fail-> a
         m = condition: { memory_key: k, operator: exists, on_false: wait }",
    )
    .start();
    it.answer("a", pass()).answer("g", fail());
    it.expect_running(["a"]);
    assert_eq!(it.machine.waits(), []);
    it.answer("a", pass())
        .answer("g", pass())
        .expect_paused(Waiting, [("m", "condition")]);
}

#[test]
fn everything_that_works_may_have_a_condition() {
    // V20: none of them does anything.
    let skip = "condition: { memory_key: k, operator: exists, on_false: skip }";
    let nested = "routine: { steps: [{ slug: n, type: tool, tool: act }] }";
    let mut it = story(&format!(
        "t -> m -> f -> u -> done
         t = type: tool, tool: act, {skip}
         m = type: map, source: {{ memory_key: none }}, {nested}, {skip}
         f = type: fold, source: {{ memory_key: none }}, initial_value: 0, result_key: r, {nested}, {skip}
         u = type: until, stop_when: {{ memory_key: k, operator: exists }}, {nested}, {skip}"
    ))
    .start();
    it.expect_succeeded();
    for step in ["t", "m", "f", "u"] {
        it.expect_settled(step, "skipped: condition");
    }
    assert_eq!(it.dispatched, []);
    assert_eq!(it.memory("r"), None);
}

#[test]
fn steps_that_waited_take_turns_after_the_resume() {
    // G9, V20
    let mut it = story(
        "s -> done
         {a, b} -> done
         s = type: tool, tool: memory_set, args: { key: k, value: 1 }, verify: [{ check: command, run: [x] }]
         a = agent: one, condition: { memory_key: j, operator: exists, on_false: wait }
         b = agent: one, tools: [memory_set]",
    )
    .verified_by_hand(&["s"])
    .start();
    it.verify("s", waiting("not yet"))
        .calls("b", [tool("memory_set", json!({ "key": "j", "value": 1 }))])
        .answer("b", pass())
        .expect_paused(Waiting, [("s", "check"), ("a", "condition")])
        .resume()
        .verify("s", verified())
        .answer("a", pass())
        .expect_succeeded();
    assert_eq!((it.submissions("a"), it.submissions("b")), (1, 1));
}
