//! What the second reading found in the loader, each case by itself.

use serde_json::{Value, json};

use crate::engine::routine::issue::Code;
use crate::engine::routine::tests::agreement::{assert_agreement, issues};

/// Agents `a` and `b` between an entry and a terminal, with a gate.
fn plain() -> Value {
    json!({
        "routine": "plain",
        "entry_steps": ["a"],
        "steps": [
            {"slug": "a", "type": "agent", "agent": "default"},
            {"slug": "g", "type": "gate", "agent": "default", "criteria": ["It is right"]},
            {"slug": "done", "type": "terminal"},
            {"slug": "lost", "type": "terminal_fail"},
        ],
        "edges": [
            {"from": "a", "to": "g", "purpose": "Look"},
            {"from": "g", "to": "done", "condition": "on_pass", "purpose": "End"},
            {"from": "g", "to": "lost", "condition": "on_fail", "purpose": "End"},
        ],
        "verify": [{"check": "manual", "prompt": "Right?"}],
    })
}

/// [`plain`] with a map in the place of `a`.
fn repeating(routine: Value) -> Value {
    let mut file = plain();
    file["steps"][0] =
        json!({"slug": "a", "type": "map", "source": {"memory_key": "k"}, "routine": routine});
    file
}

/// The code of every problem with its step or edge, after both readings agreed on them.
#[track_caller]
fn agreed(file: &Value) -> Vec<(Code, String)> {
    assert_agreement(file);
    let issues = issues(file).into_iter();
    issues
        .map(|it| (it.code, it.edge.or(it.step).unwrap_or_default()))
        .collect()
}

fn at(code: Code, place: &str) -> (Code, String) {
    (code, place.to_owned())
}

#[test]
fn nothing_is_wrong_to_begin_with() {
    assert_eq!(agreed(&plain()), []);
}

/// G12: entries alone say that the graph is stated; it was taken as valid, and led nowhere.
#[test]
fn a_nested_routine_with_entries_and_no_edges_leads_nowhere() {
    let file = repeating(json!({
        "entry_steps": ["s"],
        "steps": [{"slug": "s", "type": "agent", "agent": "default"}, {"slug": "end", "type": "terminal"}],
    }));
    let found = agreed(&file);
    assert!(found.contains(&at(Code::MissingOutgoing, "s")), "{found:?}");
    assert!(
        found.contains(&at(Code::UnreachableStep, "end")),
        "{found:?}"
    );
}

#[test]
fn a_slug_that_stands_twice_in_a_line_makes_no_cycle_that_nobody_wrote() {
    let step = |slug: &str| json!({"slug": slug, "type": "agent", "agent": "default"});
    let file = repeating(json!({"steps": [step("s"), step("t"), step("s")]}));
    assert_eq!(agreed(&file), [at(Code::DuplicateStep, "s")]);
    let file = repeating(json!({"steps": [step("s"), step("s")]}));
    assert_eq!(agreed(&file), [at(Code::DuplicateStep, "s")]);
}

/// G12 finds every problem at once: an edge to nowhere has a condition all the same.
#[test]
fn an_edge_to_nowhere_is_judged_for_its_condition_too() {
    let mut file = plain();
    file["edges"][2] = json!({"from": "g", "to": "lots", "purpose": "End"});
    let found = agreed(&file);
    assert!(
        found.contains(&at(Code::GateAlwaysEdge, "g->lots")),
        "{found:?}"
    );
    assert!(
        found.contains(&at(Code::UnknownStep, "g->lots")),
        "{found:?}"
    );
    let mut file = plain();
    file["edges"][0] = json!({"from": "a", "to": "h", "condition": "on_fail"});
    let found = agreed(&file);
    assert!(
        found.contains(&at(Code::OnFailFromNonGate, "a->h")),
        "{found:?}"
    );
}

#[test]
fn a_gate_whose_only_edge_is_a_fail_to_nowhere_leads_nowhere_when_it_passes() {
    let mut file = plain();
    file["edges"] = json!([
        {"from": "a", "to": "g", "purpose": "Look"},
        {"from": "g", "to": "lots", "condition": "on_fail"},
    ]);
    let found = agreed(&file);
    assert!(found.contains(&at(Code::MissingOutgoing, "g")), "{found:?}");
}

/// V21: what an agent's own instructions name was found out only when the agent began to work.
#[test]
fn an_agents_own_instructions_are_read_as_a_template() {
    for (text, wrong) in [
        ("You serve {{param.who}}.", false),
        ("You know {{result.a}} and {{map.item}}.", false),
        ("You write {{{{literally}}.", false),
        ("You serve {{param.whom}}.", true),
        ("You serve {{who}}.", true),
        ("You serve {{oops.", true),
    ] {
        let mut file = plain();
        file["parameters"] = json!([{"name": "who"}]);
        file["agents"] = json!({"x": {"instructions": text}});
        let expected = if wrong {
            vec![at(Code::BadTemplate, "")]
        } else {
            Vec::new()
        };
        assert_eq!(agreed(&file), expected, "{text}");
    }
}

#[test]
fn every_edge_that_leads_to_an_entry_is_named() {
    let mut file = plain();
    file["entry_steps"] = json!(["a", "g", "x"]);
    file["steps"][3] = json!({"slug": "x", "type": "agent", "agent": "default"});
    file["edges"] = json!([
        {"from": "a", "to": "g", "purpose": "Look"},
        {"from": "x", "to": "g", "purpose": "Look"},
        {"from": "g", "to": "done", "condition": "on_pass", "purpose": "End"},
    ]);
    let found = agreed(&file);
    for edge in ["a->g", "x->g"] {
        assert!(
            found.contains(&at(Code::EntryHasIncoming, edge)),
            "{found:?}"
        );
    }
}

/// G12: with its step, wherever there is one.
#[test]
fn what_a_nested_routine_lacks_is_said_of_the_step_that_repeats_it() {
    assert_eq!(
        agreed(&repeating(json!({"steps": []}))),
        [at(Code::EmptyGraph, "a")]
    );
    let file = repeating(json!({
        "instructions": "After {{result.g}}.",
        "steps": [{"slug": "s", "type": "agent", "agent": "default"}],
        "entry_steps": [],
        "edges": [{"from": "s", "to": "s"}],
        "verify": [{"check": "manual", "prompt": "{{step.x}}"}],
    }));
    let found = agreed(&file);
    for code in [Code::NoEntry, Code::NoTerminal, Code::BadTemplate] {
        assert!(found.contains(&at(code, "a")), "{found:?}");
    }
}
