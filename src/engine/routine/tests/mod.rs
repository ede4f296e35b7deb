//! From bytes to a checked routine: every code with its place, several at once, and what G6 decides.

mod agreement;
mod hostile;
mod naive;

use std::collections::BTreeSet;

use crate::engine::limits;
use crate::engine::routine::definition::{
    CheckKind, GateOwner, OnError, PostStepsTrigger, Reflection, StepKind, VerificationMethod,
};
use crate::engine::routine::fixtures::{self, BROKEN, PLAIN};
use crate::engine::routine::graph::{EdgeClass, EdgeIndex, RoutineGraph};
use crate::engine::routine::issue::{Code, Issue, Severity};
use crate::engine::routine::{CheckedRoutine, Loaded, load};

fn loaded(text: &str) -> Loaded {
    load(text.as_bytes(), &fixtures::known())
}

fn valid(text: &str) -> CheckedRoutine {
    let Loaded { issues, routine } = loaded(text);
    match routine {
        Some(routine) => routine,
        None => panic!("{}", shown(&issues)),
    }
}

fn shown(issues: &[Issue]) -> String {
    issues.iter().map(|issue| format!("{issue}\n")).collect()
}

fn codes(text: &str) -> Vec<Code> {
    loaded(text).issues.iter().map(|issue| issue.code).collect()
}

#[test]
fn the_formats_own_example_is_valid() {
    let routine = valid(fixtures::FORMAT);
    let definition = &routine.definition;
    assert_eq!(definition.name, "Verified release");
    assert_eq!(definition.body.pre_steps[0].on_error, OnError::Fail);
    assert_eq!(definition.body.post_steps[0].on_error, OnError::Continue);
    assert_eq!(
        definition.body.post_steps_trigger,
        PostStepsTrigger::OnSuccess
    );
    assert_eq!(definition.deadline_ms, Some(600_000));
    let StepKind::Agent(draft) = &definition.body.steps[0].kind else {
        panic!("draft is an agent step");
    };
    assert_eq!(draft.work.corrections, limits::CORRECTIONS);
    assert_eq!(
        draft.work.reflection,
        Reflection::Strict { min_score: 80.0 }
    );
    let StepKind::Gate(gate) = &definition.body.steps[2].kind else {
        panic!("tests is a gate");
    };
    assert!(matches!(&gate.owner, GateOwner::Checks(checks) if checks.len() == 1));
    let http = &definition.body.verify[1];
    assert!(matches!(&http.kind, CheckKind::Http { method, .. } if method == "GET"));
    assert_eq!(http.method, Some(VerificationMethod::StateReadback));
    assert!(http.independent && !definition.body.verify[2].independent);
    // The graph shares its bodies with the definition.
    let each = routine.graph.find("each_file").expect("a step");
    let nested = routine.graph.nested(each).expect("a nested graph");
    assert_eq!(nested.entries().len(), 1);
    assert_eq!(
        nested.step(nested.find("done").expect("added")).slug,
        "done"
    );
}

#[test]
fn the_example_names_what_this_version_does_not_run() {
    let routine = valid(fixtures::FORMAT);
    let steps: BTreeSet<_> = routine
        .unsupported
        .iter()
        .map(|issue| issue.step.as_deref())
        .collect();
    assert_eq!(steps, BTreeSet::from([None, Some("draft")]));
    assert!(
        routine
            .unsupported
            .iter()
            .all(|issue| issue.code == Code::Unsupported)
    );
    assert!(valid(PLAIN).unsupported.is_empty());
}

#[test]
fn a_plain_routine_has_nothing_to_complain_about() {
    assert_eq!(shown(&loaded(PLAIN).issues), "");
    let json = serde_json::json!({
        "routine": "j", "entry_steps": ["a"],
        "steps": [{"slug": "a", "type": "agent", "agent": "default"}, {"slug": "done", "type": "terminal"}],
        "edges": [{"from": "a", "to": "done"}]
    });
    assert!(loaded(&json.to_string()).routine.is_some());
}

/// G12: each code, with its step or edge and its place.
#[test]
fn every_problem_is_reported_where_it_is() {
    let mut misses = String::new();
    for case in BROKEN {
        let Loaded { issues, routine } = loaded(&case.file());
        let label = case.code.label();
        let found = issues.iter().any(|issue| {
            (issue.code, issue.line, issue.column) == (case.code, case.line, case.column)
                && issue.step.as_deref() == case.step
                && issue.edge.as_deref() == case.edge
        });
        let refused = case.code.severity() == Severity::Error;
        if !found || routine.is_none() != refused {
            let (line, column) = (case.line, case.column);
            misses.push_str(&format!(
                "{line}:{column} {label} {:?} {:?}\n{issues:#?}\n",
                case.step, case.edge
            ));
        }
    }
    assert!(misses.is_empty(), "{misses}");
}

#[test]
fn every_code_has_a_file_that_breaks_it() {
    let elsewhere = [Code::TooManySteps, Code::TooDeep, Code::Unsupported];
    for &code in Code::ALL {
        let tabled = BROKEN.iter().any(|case| case.code == code);
        assert!(tabled || elsewhere.contains(&code), "{}", code.label());
    }
}

#[test]
fn several_problems_are_found_at_once() {
    let text = PLAIN
        .replace("agent: b,", "agent: nobody,")
        .replace("type: agent,", "type: agnet,")
        .replace("to: lost", "to: nowhere")
        .replace("purpose: Look", "purpos: Look")
        .replace("check: manual", "check: http");
    let found = codes(&text);
    for code in [
        Code::UnknownAgent,
        Code::BadValue,
        Code::UnknownStep,
        Code::UnreachableStep,
        Code::UnknownField,
        Code::MissingField,
    ] {
        assert!(found.contains(&code), "{}", code.label());
    }
    let issues = loaded(&text).issues;
    let mut places: Vec<_> = issues
        .iter()
        .map(|issue| (issue.line, issue.column))
        .collect();
    places.sort_unstable();
    assert_eq!(
        places,
        issues
            .iter()
            .map(|issue| (issue.line, issue.column))
            .collect::<Vec<_>>()
    );
    assert!(shown(&issues).contains("did you mean `agent`?"));
    assert!(shown(&issues).contains("did you mean `purpose`?"));
}

#[test]
fn places_in_json_are_as_exact_as_in_yaml() {
    let text = "{\n  \"routine\": \"j\",\n  \"entry_steps\": [\"a\"],\n  \"steps\": [\n    {\"slug\": \"a\", \"type\": \"agent\", \"agent\": \"zoe\"},\n    {\"slug\": \"done\", \"type\": \"terminal\"}\n  ],\n  \"edges\": [{\"from\": \"a\", \"to\": \"done\"}]\n}\n";
    let issue = loaded(text)
        .issues
        .into_iter()
        .find(|issue| issue.code == Code::UnknownAgent);
    let issue = issue.expect("unknown");
    assert_eq!((issue.line, issue.column), (5, 45));
}

/// V19
#[test]
fn a_definition_has_a_thousand_steps_besides_its_terminals_and_no_more() {
    assert!(loaded(&fixtures::line(1_000)).routine.is_some());
    let issues = loaded(&fixtures::line(1_001)).issues;
    let issue = issues
        .iter()
        .find(|issue| issue.code == Code::TooManySteps)
        .expect("too many");
    assert_eq!(issue.step.as_deref(), Some("s1000"));
}

#[test]
fn a_flood_of_problems_is_cut_and_the_last_line_says_so() {
    let mut text = PLAIN.to_owned();
    for n in 0..20_000 {
        text.push_str(&format!("k{n}: 1\n"));
    }
    let issues = loaded(&text).issues;
    let errors = issues
        .iter()
        .filter(|issue| issue.severity == Severity::Error);
    assert_eq!(errors.count(), 10_001);
    let last = issues.last().expect("an issue");
    assert_eq!(last.code, Code::UnknownField);
    assert!(last.message.contains("left out"), "{last}");
}

/// V19
#[test]
fn a_definition_far_beyond_its_steps_is_not_read() {
    let issues = loaded(&fixtures::line(10_001)).issues;
    assert_eq!(issues.len(), 1, "{issues:#?}");
    assert_eq!(issues[0].code, Code::TooManySteps);
    let edges = loaded(&fixtures::line(9_999).replace("to: s9", "to: t9")).issues;
    let mut found = edges.iter().map(|issue| issue.code);
    assert!(found.any(|code| code == Code::UnknownStep));
}

/// V19
#[test]
fn routines_lie_in_each_other_thirty_two_levels_deep_and_no_deeper() {
    assert!(loaded(&fixtures::nested(32)).routine.is_some());
    for levels in [33, 60, 90] {
        let found = codes(&fixtures::nested(levels));
        assert_eq!(
            found.iter().filter(|&&code| code == Code::TooDeep).count(),
            1
        );
    }
}

#[test]
fn problems_inside_nested_routines_are_found() {
    let text = PLAIN.replace(
        "{slug: work, type: agent, agent: a, instructions: Work.}",
        "{slug: work, type: map, source: {memory_key: k}, routine: {entry_steps: [s], steps: [{slug: s, type: agent, agent: zoe, instructions: '{{map.item}} {{result.t}} {{fold.accumulator}}'}], edges: [{from: s, to: t}]}}",
    );
    let found = codes(&text);
    for code in [
        Code::UnknownAgent,
        Code::UnknownStep,
        Code::NoTerminal,
        Code::BadTemplate,
    ] {
        assert!(found.contains(&code), "{}", code.label());
    }
}

#[test]
fn nested_steps_run_in_file_order_to_a_terminal_of_their_own() {
    let text = PLAIN.replace(
        "{slug: work, type: agent, agent: a, instructions: Work.}",
        "{slug: work, type: until, stop_when: {memory_key: k, operator: exists}, routine: {steps: [{slug: done, type: agent, agent: a}, {slug: g, type: gate, agent: b, criteria: [x]}]}}",
    );
    let graph = valid(&text).graph;
    let nested = graph
        .nested(graph.find("work").expect("work"))
        .expect("nested");
    let labels: Vec<String> = nested
        .edges()
        .map(|edge| nested.edge_text(edge).label())
        .collect();
    assert_eq!(labels, ["done->g", "g->done-2"]);
}

#[test]
fn what_is_no_map_is_refused_without_a_panic() {
    for text in [
        "[]",
        "x",
        "5",
        "null",
        "routine: {}",
        "steps: 1\nedges: x\nagents: []",
    ] {
        assert!(loaded(text).routine.is_none(), "{text}");
    }
}

#[test]
fn a_template_deep_in_arguments_is_reported_where_it_stands() {
    let text = PLAIN.replace(
        "agent, agent: a, instructions: Work.",
        "tool, tool: read_file, args: {path: [x, '{{param.p}}', '{{oops']}",
    );
    let issues = loaded(&text).issues;
    let places = issues
        .iter()
        .map(|issue| (issue.code, issue.line, issue.column));
    let expected = [(Code::BadTemplate, 6, 64), (Code::BadTemplate, 6, 79)];
    assert_eq!(places.collect::<Vec<_>>(), expected);
}

#[test]
fn values_that_lie_too_deep_are_refused_without_harm() {
    let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
    for field in [
        "handoff_schema: {type: object, x: @}",
        "handoff_schema: {not: @}",
    ] {
        let text = PLAIN.replace("purpose: Look.", &field.replace('@', &deep));
        assert_eq!(codes(&text), [Code::BadHandoffSchema]);
    }
    let text = PLAIN.replace(
        "verify: [",
        &format!("parameters: [{{name: p, default: {deep}}}]\nverify: ["),
    );
    assert_eq!(codes(&text), [Code::BadValue]);
}

#[test]
fn templates_see_what_precedes_them_and_nothing_else() {
    let with = |place: &str, text: &str| {
        PLAIN
            .replace("routine: plain", "routine: plain\nparameters: [{name: p}]\npre_steps: [{name: one, tool: read_file}, {name: two, tool: read_file, args: {x: '@pre'}}]\npost_steps: [{name: end, tool: read_file, args: {x: '@post'}}]")
            .replace("[It is right]", "['@gate']")
            .replace("prompt: Right?", "prompt: '@final'")
            .replace(place, text)
    };
    let bad = |text: String| codes(&text).contains(&Code::BadTemplate);
    for (place, reference) in [
        ("@pre", "{{step.one}} {{param.p}}"),
        ("@gate", "{{result.work}} {{step.two}}"),
        ("@post", "{{result.look}} {{step.two}}"),
        ("@final", "{{step.end}} {{result.lost}}"),
    ] {
        assert!(!bad(with(place, reference)), "{place} {reference}");
    }
    for (place, reference) in [
        ("@pre", "{{step.two}}"),
        ("@pre", "{{result.work}}"),
        ("@gate", "{{step.end}}"),
        ("@gate", "{{result.look}}"),
        ("@gate", "{{result.done}}"),
        ("@post", "{{step.end}}"),
        ("@final", "{{step.work}}"),
    ] {
        assert!(bad(with(place, reference)), "{place} {reference}");
    }
}

/// Gates `g…` (of an agent) and `o…` (of the operator), agents otherwise; edges as `a>b`, `a+b`
/// (on_pass), `a-b` (on_fail).
fn graph_text(entries: &str, edges: &[&str]) -> String {
    let mut slugs = Vec::new();
    let mut lines = String::new();
    for edge in edges {
        let at = edge.find(['>', '+', '-']).expect("an edge");
        let (from, to) = (&edge[..at], &edge[at + 1..]);
        let condition = match &edge[at..=at] {
            ">" => "always",
            "+" => "on_pass",
            _ => "on_fail",
        };
        lines.push_str(&format!(
            "  - {{from: {from}, to: {to}, condition: {condition}}}\n"
        ));
        for slug in [from, to] {
            if !slugs.contains(&slug) {
                slugs.push(slug);
            }
        }
    }
    let mut text = format!("routine: g\nentry_steps: [{entries}]\nsteps:\n");
    for slug in slugs {
        let kind = match &slug[..1] {
            "g" => "type: gate, agent: default",
            "o" => "type: gate, operator: true",
            "t" => "type: terminal",
            _ => "type: agent, agent: default",
        };
        text.push_str(&format!("  - {{slug: {slug}, {kind}}}\n"));
    }
    text + "edges:\n" + &lines
}

fn graph(entries: &str, edges: &[&str]) -> RoutineGraph {
    valid(&graph_text(entries, edges)).graph
}

fn retries(graph: &RoutineGraph) -> Vec<String> {
    let of = |edge: &EdgeIndex| matches!(graph.edge(*edge).class, EdgeClass::Retry(_));
    graph
        .edges()
        .filter(of)
        .map(|edge| graph.edge_text(edge).label())
        .collect()
}

fn retry<'g>(graph: &'g RoutineGraph, label: &str) -> &'g crate::engine::routine::graph::RetryLoop {
    let edge = graph
        .edges()
        .find(|&edge| graph.edge_text(edge).label() == label);
    match &graph.edge(edge.expect("an edge")).class {
        EdgeClass::Retry(retry) => retry,
        EdgeClass::Forward => panic!("{label} leads on"),
    }
}

/// G6
#[test]
fn an_on_fail_edge_retries_exactly_when_it_closes_a_cycle() {
    let graph = graph("a", &["a>g", "g+t", "g-a"]);
    assert_eq!(retries(&graph), ["g->a"]);
    assert_eq!(retry(&graph, "g->a").max_attempts, limits::MAX_ATTEMPTS);
    let forward = self::graph("a", &["a>g", "g+t", "g-b", "b>t"]);
    assert_eq!(retries(&forward), [""; 0]);
}

/// G6: two gates that could each be the other's way back: the nearer one leads on.
#[test]
fn of_two_gates_the_nearer_one_leads_on() {
    let edges = [
        "a>b", "b>g1", "a>g2", "g1+t", "g2+t", "g1-x", "x>g2", "g2-y", "y>g1",
    ];
    // g2 is one edge from the entry, g1 two: g2 -> y -> g1 stands, g1 -> x would close the cycle.
    assert_eq!(retries(&graph("a", &edges)), ["g1->x"]);
}

/// G6: of gates at the same distance the edge that stands first in the file leads on.
#[test]
fn ties_are_decided_by_the_order_of_the_file() {
    let first = [
        "a>g1", "a>g2", "g1+t", "g2+t", "g1-x", "x>g2", "g2-y", "y>g1",
    ];
    assert_eq!(retries(&graph("a", &first)), ["g2->y"]);
    let second = [
        "a>g1", "a>g2", "g1+t", "g2+t", "g2-y", "y>g1", "g1-x", "x>g2",
    ];
    assert_eq!(retries(&graph("a", &second)), ["g1->x"]);
}

/// G6, G7
#[test]
fn a_retry_renews_the_loops_inside_and_invalidates_all_that_follows() {
    let graph = graph(
        "a",
        &[
            "a>b", "b>g1", "g1+c", "g1-b", "c>g2", "g2+t", "g2-a", "a>t2",
        ],
    );
    assert_eq!(retries(&graph), ["g1->b", "g2->a"]);
    let slugs = |retry: &crate::engine::routine::graph::RetryLoop| -> Vec<String> {
        retry
            .invalidates
            .iter()
            .map(|&step| graph.step(step).slug.clone())
            .collect()
    };
    let inner = retry(&graph, "g1->b");
    let outer = retry(&graph, "g2->a");
    assert_eq!(slugs(inner), ["b", "g1", "c", "g2", "t"]);
    assert_eq!(slugs(outer), ["a", "b", "g1", "c", "g2", "t", "t2"]);
    assert!(inner.renews.is_empty());
    assert_eq!(outer.renews.len(), 1);
    assert_eq!(graph.edge_text(outer.renews[0]).label(), "g1->b");
}

/// G6: two loops that overlap, or have the same ends, don't renew each other.
#[test]
fn loops_that_only_overlap_do_not_renew_each_other() {
    let graph = graph(
        "a",
        &["a>b", "b>g1", "g1+c", "g1-a", "c>g2", "g2+t", "g2-b"],
    );
    assert_eq!(retries(&graph), ["g1->a", "g2->b"]);
    assert!(retry(&graph, "g1->a").renews.is_empty());
    assert!(retry(&graph, "g2->b").renews.is_empty());
}

/// G6: a person says whether fail means reject or rework; a model can't.
#[test]
fn only_an_operator_gate_may_lead_back_and_on() {
    let edges = ["a>o", "o+t", "o-a", "o-b", "b>t"];
    assert_eq!(retries(&graph("a", &edges)), ["o->a"]);
    let edges = ["a>g", "g+t", "g-a", "g-b", "b>t"];
    assert!(codes(&graph_text("a", &edges)).contains(&Code::MixedOnFail));
}

#[test]
fn each_cycle_is_reported_once_with_its_path() {
    let edges = ["a>b", "b>c", "c>b", "c>d", "d>e", "e>d", "e>t"];
    let issues = loaded(&graph_text("a", &edges)).issues;
    let cycles: Vec<_> = issues
        .iter()
        .filter(|issue| issue.code == Code::Cycle)
        .collect();
    assert_eq!(cycles.len(), 2);
    assert!(cycles[0].message.contains("b -> c -> b"));
    assert!(cycles[1].message.contains("d -> e -> d"));
}

#[test]
fn a_dense_graph_is_judged_quickly() {
    let slugs: Vec<String> = (0..150).map(|n| format!("s{n}")).collect();
    let mut edges = Vec::new();
    for (n, from) in slugs.iter().enumerate() {
        edges.extend(slugs[n + 1..].iter().map(|to| format!("{from}>{to}")));
        edges.push(format!("{from}>t"));
    }
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    assert_eq!(graph("s0", &edges).edges().count(), edges.len());
}
