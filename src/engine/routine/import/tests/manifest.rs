//! Graph manifests: each row of the table, and what is refused.

use crate::engine::routine::definition::{GateOwner, StepKind};
use crate::engine::routine::graph::EdgeClass;
use crate::engine::routine::import::tests::{
    ARTICLE, TRIAGE, agent, errors, place, refused, step, valid,
};
use crate::engine::routine::issue::Code;

#[test]
fn a_manifest_gives_slug_name_entries_agents_and_councils() {
    let routine = valid(ARTICLE).definition;
    assert_eq!((&*routine.slug, &*routine.name), ("article", "An article"));
    assert_eq!(routine.body.entry_steps, ["write"]);
    assert!(routine.agents.contains_key("author") && routine.councils.contains_key("board"));
    // A manifest alone, its slug made from its name, its entries beside the steps.
    let routine = valid(TRIAGE).definition;
    assert_eq!(
        (&*routine.slug, &*routine.name),
        ("triage-a-report", "Triage a report")
    );
    assert_eq!(routine.body.entry_steps, ["read"]);
}

#[test]
fn a_manifests_steps_keep_type_owner_instructions_and_reason() {
    let body = &valid(ARTICLE).definition.body;
    let write = agent(body, "write");
    assert_eq!(write.agent, "author");
    let instructions = write.work.instructions.as_ref().map(ToString::to_string);
    assert_eq!(instructions.as_deref(), Some("Write about the harbour."));
    assert_eq!(step(body, "write").name, "Write the article");
    assert!(
        matches!(&step(body, "discuss").kind, StepKind::Council(step) if step.council == "board")
    );
    let StepKind::TerminalFail { reason } = &step(body, "dropped").kind else {
        panic!("a failure");
    };
    let reason = reason.as_ref().map(ToString::to_string);
    assert_eq!(reason.as_deref(), Some("The editor said no"));
}

#[test]
fn a_manifests_edges_take_their_words_from_metadata_or_beside_it() {
    let body = &valid(ARTICLE).definition.body;
    let first = &body.edges[0];
    assert_eq!(first.purpose.as_deref(), Some("Have the facts checked"));
    assert_eq!(
        first.handoff_instructions.as_deref(),
        Some("Give the article and its sources.")
    );
    assert!(first.handoff_schema.is_some());
    assert_eq!(body.edges[1].max_attempts, Some(2));
    assert_eq!(body.edges[2].purpose.as_deref(), Some("Discuss it"));
    assert_eq!(body.edges[6].max_attempts, Some(5));
}

/// G15, G6
#[test]
fn a_human_step_is_an_operator_gate_that_passes_rejects_and_asks_for_rework() {
    let routine = valid(ARTICLE);
    let gate = step(&routine.definition.body, "publish");
    assert!(
        matches!(&gate.kind, StepKind::Gate(gate) if matches!(gate.owner, GateOwner::Operator(_)))
    );
    let graph = &routine.graph;
    let ways: Vec<_> = graph
        .outgoing(graph.find("publish").expect("a gate"))
        .iter()
        .map(|&edge| {
            let edge = graph.edge(edge);
            let retries = matches!(edge.class, EdgeClass::Retry(_));
            (
                edge.condition.label(),
                graph.step(edge.to).slug.as_str(),
                retries,
            )
        })
        .collect();
    assert_eq!(
        ways,
        [
            ("on_pass", "done", false),
            ("on_fail", "dropped", false),
            ("on_fail", "write", true)
        ]
    );
}

#[test]
fn a_person_who_could_not_choose_is_refused() {
    let on = ARTICLE.replace(
        "target_step: write, condition: changes_requested, max_retries: 5",
        "target_step: done, condition: changes_requested",
    );
    let found: Vec<_> = errors(&on)
        .into_iter()
        .map(|issue| (issue.code, issue.line, issue.column))
        .collect();
    let (line, column) = place(&on, "changes_requested");
    assert_eq!(found, [(Code::Unsupported, line, column)]);
    refused(
        ARTICLE,
        "target_step: dropped, condition: rejected }",
        "target_step: discuss, condition: rejected }\n    - { source_step: facts, target_step: dropped, condition: on_pass, purpose: No }",
        Code::Unsupported,
        "rejected }",
    );
}

#[test]
fn what_a_manifest_asks_in_vain_is_pointed_at() {
    let issue = refused(
        ARTICLE,
        "step_type: agent\n",
        "step_type: lambda\n",
        Code::Unsupported,
        "lambda",
    );
    assert_eq!(issue.step.as_deref(), Some("write"));
    refused(
        ARTICLE,
        "routine.v1",
        "routine.v2",
        Code::Unsupported,
        "nenjo.routine.v2",
    );
    refused(
        ARTICLE,
        "agent: author\n",
        "agent: auther\n",
        Code::UnknownAgent,
        "auther",
    );
    refused(
        ARTICLE,
        "council: board",
        "council: bored",
        Code::UnknownCouncil,
        "bored",
    );
    for (old, new, piece) in [
        (
            "  slug: article\n",
            "  slug: article\n  colour: red\n",
            "colour: red",
        ),
        (
            "step_type: human\n",
            "step_type: human\n      colour: red\n",
            "colour: red",
        ),
        (
            "config: { reason: It is out }",
            "config: { reson: It is out }",
            "reson",
        ),
        (
            "condition: approved",
            "condition: approved, colour: red",
            "colour: red",
        ),
        (
            "{ max_attempts: 2,",
            "{ on_exhausted: dropped,",
            "on_exhausted",
        ),
        ("schema: nenjo", "kind: x\nschema: nenjo", "kind: x"),
    ] {
        refused(ARTICLE, old, new, Code::UnknownField, piece);
    }
    refused(
        ARTICLE,
        "max_retries: 5",
        "max_attempts: 4, max_retries: 5",
        Code::BadValue,
        "max_retries",
    );
    let issue = refused(
        ARTICLE,
        "step_type: agent\n",
        "step_type: agnet\n",
        Code::BadValue,
        "agnet",
    );
    assert!(issue.message.contains("step_type"), "{}", issue.message);
    let issue = refused(
        TRIAGE,
        "{ \"source_step\": \"read\", \"target_step\": \"serious\" },",
        "{ \"target_step\": \"serious\" }, { \"source_step\": \"read\", \"target_step\": \"serious\" },",
        Code::MissingField,
        "{ \"target_step\"",
    );
    assert!(issue.message.contains("`source_step`"), "{}", issue.message);
}
