//! The two tables of names, row by row: a small file with what the row names, and what becomes of it.

use crate::engine::routine::definition::{
    GateOwner, IterationSource, OnError, OnFalse, Operator, Reflection, StepKind,
};
use crate::engine::routine::graph::EdgeClass;
use crate::engine::routine::import::tests::{agent, edges, errors, step, valid};
use crate::engine::routine::issue::Code;

/// A manifest's steps and edges around what a row is about.
fn manifest(head: &str, steps: &str, edges: &str) -> String {
    format!(
        "{head}
steps:
  - {{ slug: a, step_type: agent, agent: default }}
{steps}  - {{ slug: end, step_type: terminal }}
edges:
{edges}"
    )
}

const PLAIN: &str = "  - { source_step: a, target_step: end }\n";

fn codes(text: &str) -> Vec<Code> {
    errors(text).iter().map(|issue| issue.code).collect()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

#[test]
fn a_manifest_is_wrapped_or_stands_alone_and_its_people_beside_or_inside_it() {
    let alone = manifest("slug: m\nentry_steps: [a]", "", PLAIN);
    let people = "agents: { w: { role: expert } }\ncouncils: { c: { leader: w, members: [default], strategy: vote } }\n";
    let schema = "schema: nenjo.routine.v1\n";
    for text in [
        alone.clone(),
        format!("{schema}{alone}"),
        format!("{people}{alone}"),
        format!("{schema}{people}manifest:\n{}", indented(&alone)),
        format!("manifest:\n{}", indented(&alone)),
        format!(
            "{schema}manifest:\n{}",
            indented(&format!("{people}{alone}"))
        ),
    ] {
        let routine = valid(&text).definition;
        assert_eq!(routine.slug, "m");
        let has_people = text.contains("agents");
        assert_eq!(routine.agents.contains_key("w"), has_people, "{text}");
        assert_eq!(routine.councils.contains_key("c"), has_people, "{text}");
    }
    let twice = format!(
        "{people}manifest:\n{}",
        indented(&format!("{people}{alone}"))
    );
    assert_eq!(codes(&twice), [Code::BadValue; 2]);
}

#[test]
fn a_manifests_name_slug_and_entries_are_ours_and_one_place_for_entries_is_enough() {
    for (head, slug, name) in [
        ("slug: m\nname: The M\nentry_steps: [a]", "m", "The M"),
        (
            "slug: m\nmetadata: { entry_steps: [a], owner: x }",
            "m",
            "m",
        ),
        ("name: The M!\nentry_steps: [a]", "the-m", "The M!"),
    ] {
        let routine = valid(&manifest(head, "", PLAIN)).definition;
        assert_eq!((&*routine.slug, &*routine.name), (slug, name));
        assert_eq!(routine.body.entry_steps, ["a"]);
    }
    let twice = "slug: m\nentry_steps: [a]\nmetadata: { entry_steps: [a] }";
    assert_eq!(codes(&manifest(twice, "", PLAIN)), [Code::BadValue]);
    let none = "slug: m";
    assert!(codes(&manifest(none, "", PLAIN)).contains(&Code::MissingField));
}

#[test]
fn a_manifests_steps_keep_their_own_words_and_metadata_is_kept_aside() {
    let head = "slug: m\nentry_steps: [a]\nagents: { w: {} }\ncouncils: { c: { leader: w, members: [default], strategy: vote } }";
    let steps = "  - { id: 7, slug: g, name: G, step_type: gate, agent: w, config: { instructions: Judge., metadata: { any: [thing] } }, metadata: { x: 1 } }
  - { slug: c, step_type: council, council: c, config: {} }
  - { slug: no, step_type: terminal_fail, config: { reason: Because } }
";
    let edges = "  - { id: 1, source_step: a, target_step: g, condition: always }
  - { source_step: g, target_step: c, condition: on_pass }
  - { source_step: g, target_step: no, condition: on_fail }
  - { source_step: c, target_step: end }
";
    let text = manifest(head, steps, edges);
    let body = &valid(&text).definition.body;
    assert!(
        matches!(&step(body, "g").kind, StepKind::Gate(gate) if matches!(&gate.owner, GateOwner::Agent(work) if work.agent == "w"))
    );
    assert_eq!(step(body, "g").name, "G");
    assert!(matches!(&step(body, "c").kind, StepKind::Council(it) if it.council == "c"));
    assert!(
        matches!(&step(body, "no").kind, StepKind::TerminalFail { reason: Some(text) } if text.to_string() == "Because")
    );
    for (old, new, code) in [
        (
            "agent: w, config",
            "agent: nobody, config",
            Code::UnknownAgent,
        ),
        (
            "council: c, config",
            "council: nobody, config",
            Code::UnknownCouncil,
        ),
        (
            "step_type: gate, agent: w",
            "step_type: lambda, lambda: f",
            Code::Unsupported,
        ),
    ] {
        let found = codes(&text.replace(old, new));
        assert!(found.contains(&code), "{new}: {found:?}");
    }
}

#[test]
fn every_word_of_an_edge_may_stand_in_its_metadata_or_beside_it_and_not_in_both() {
    let head = "slug: m\nentry_steps: [a]";
    let steps = "  - { slug: g, step_type: gate, agent: default }\n";
    let edges = |fields: &str| {
        format!(
            "  - {{ source_step: a, target_step: g }}
  - {{ source_step: g, target_step: end, condition: on_pass }}
  - {{ source_step: g, target_step: a, condition: on_fail, {fields} }}
"
        )
    };
    let words =
        "purpose: P, handoff_instructions: H, handoff_schema: { type: object, required: [x] }";
    for budget in ["max_attempts: 4", "max_retries: 4"] {
        for fields in [
            format!("{words}, {budget}"),
            format!("metadata: {{ {words}, {budget} }}"),
            format!("{words}, metadata: {{ {budget} }}"),
        ] {
            let routine = valid(&manifest(head, steps, &edges(&fields)));
            let edge = &routine.definition.body.edges[2];
            assert_eq!(
                (
                    edge.purpose.as_deref(),
                    edge.handoff_instructions.as_deref()
                ),
                (Some("P"), Some("H"))
            );
            assert!(edge.handoff_schema.is_some());
            let graph = &routine.graph;
            let back = graph
                .edges()
                .find_map(|edge| match &graph.edge(edge).class {
                    EdgeClass::Retry(retry) => Some(retry.max_attempts),
                    EdgeClass::Forward => None,
                });
            assert_eq!(back, Some(4), "{fields}");
        }
    }
    for fields in [
        "purpose: P, metadata: { purpose: P }",
        "handoff_instructions: H, metadata: { handoff_instructions: H }",
        "handoff_schema: { type: object }, metadata: { handoff_schema: { type: object } }",
        "max_attempts: 1, max_retries: 1",
        "max_retries: 1, metadata: { max_attempts: 1 }",
    ] {
        let found = codes(&manifest(head, steps, &edges(fields)));
        assert_eq!(found, [Code::BadValue], "{fields}");
    }
}

#[test]
fn a_person_approves_rejects_or_asks_for_changes() {
    let head = "slug: m\nentry_steps: [a]";
    let steps = "  - { slug: h, step_type: human, config: { instructions: Well? } }
  - { slug: no, step_type: terminal_fail }
";
    let all = "  - { source_step: a, target_step: h }
  - { source_step: h, target_step: end, condition: approved }
  - { source_step: h, target_step: no, condition: rejected }
  - { source_step: h, target_step: a, condition: changes_requested, max_retries: 2 }
";
    let text = manifest(head, steps, all);
    let routine = valid(&text);
    let labels: Vec<&str> = routine
        .definition
        .body
        .edges
        .iter()
        .map(|edge| edge.condition.label())
        .collect();
    assert_eq!(labels, ["always", "on_pass", "on_fail", "on_fail"]);
    // Either alone is an ordinary gate.
    let only = |without: &str| -> String {
        let lines = text.lines().filter(|line| !line.contains(without));
        lines.map(|line| format!("{line}\n")).collect()
    };
    valid(&only("changes_requested"));
    valid(&only("rejected").replace("  - { slug: no, step_type: terminal_fail }\n", ""));
    assert_eq!(
        codes(&only("approved")),
        [Code::MissingOutgoing, Code::UnreachableStep]
    );
    // The words are a person's alone.
    let odd = text.replace(
        "step_type: human, config",
        "step_type: gate, agent: default, config",
    );
    let bad = |code: &&Code| **code == Code::BadCondition;
    assert_eq!(codes(&odd).iter().filter(bad).count(), 3);
}

/// A task list with one task, these fields of it and these of the list.
fn list(task: &str, more: &str) -> String {
    let task = format!("{{\"id\": \"t1\", \"name\": \"First One\"{task}}}");
    format!("{{\"name\": \"My List\", \"tasks\": [{task}]{more}}}")
}

#[test]
fn what_stands_around_tasks_is_the_routine_or_kept_aside() {
    let text = list(
        "",
        r#", "id": "r", "description": "D", "version": "2", "instructions": "I {{param.p}}", "parameters": [{"name": "p", "description": "P", "required": true}],
        "requiredTools": ["read_file"], "requiredPlugins": ["memory"], "tags": ["t"], "author": "x", "createdAt": "2026", "updatedAt": 5, "metadata": {"a": [1]}, "timeoutMs": 0"#,
    );
    let routine = valid(&text).definition;
    assert_eq!((&*routine.slug, &*routine.name), ("my-list", "My List"));
    assert_eq!(
        (routine.description.as_deref(), routine.version.as_deref()),
        (Some("D"), Some("2"))
    );
    assert_eq!((routine.deadline_ms, routine.parameters.len()), (None, 1));
    assert_eq!(routine.required_plugins.as_ref().map(Vec::len), Some(1));
    assert_eq!(routine.required_tools, Some(vec!["read_file".to_owned()]));
    // Null is what programs write for what isn't there.
    let none = list(
        "",
        r#", "requiredTools": null, "preSteps": null, "timeoutMs": null, "concurrency": null"#,
    );
    assert_eq!(valid(&none).definition.required_tools, None);
}

#[test]
fn a_task_is_a_step_of_the_default_agent_and_what_it_depends_on_leads_to_it() {
    let body = &valid(&list(r#", "description": "Do {{param.p}}", "expectedOutput": "E", "suggestedTools": ["read_file"], "metadata": {}"#, r#", "parameters": [{"name": "p"}]"#)).definition.body;
    let first = agent(body, "first-one");
    assert_eq!(
        (&*first.agent, &*step(body, "first-one").name),
        ("default", "First One")
    );
    assert!(first.work.instructions.is_some() && first.work.expected_output.is_some());
    // By name, by id, by slug, and the same one twice: one edge.
    for on in [
        "\"First One\"",
        "\"t1\"",
        "\"first-one\"",
        "\"First One\", \"t1\", \"First One\"",
    ] {
        let text = format!(
            "{{\"name\": \"n\", \"tasks\": [{{\"id\": \"t1\", \"name\": \"First One\"}}, {{\"name\": \"Next\", \"dependsOn\": [{on}]}}]}}"
        );
        assert_eq!(
            edges(&valid(&text).definition.body),
            ["first-one->next", "next->done"],
            "{on}"
        );
    }
    // Every operator and every answer to a false one.
    for (word, operator) in [
        ("exists", Operator::Exists),
        ("not_exists", Operator::NotExists),
        ("equals", Operator::Equals),
        ("contains", Operator::Contains),
        ("truthy", Operator::Truthy),
        ("greater_than", Operator::GreaterThan),
        ("less_than", Operator::LessThan),
    ] {
        for (on, on_false) in [
            ("skip", OnFalse::Skip),
            ("fail", OnFalse::Fail),
            ("wait", OnFalse::Wait),
        ] {
            let text = list(
                &format!(
                    r#", "condition": {{"memoryKey": "k", "operator": "{word}", "value": 1, "onFalse": "{on}"}}"#
                ),
                "",
            );
            let body = valid(&text).definition.body.clone();
            let condition = step(&body, "first-one").condition.clone().expect("one");
            assert_eq!(
                (condition.when.operator, condition.on_false),
                (operator, on_false)
            );
        }
    }
}

#[test]
fn a_control_flow_has_every_field_of_its_kind() {
    let flow = |fields: &str| {
        list(
            &format!(r#", "controlFlow": {{{fields}, "tasks": [{{"name": "In"}}]}}"#),
            r#", "parameters": [{"name": "k"}]"#,
        )
    };
    let bounds = r#""resultKey": "r", "maxIterations": 7, "iterationTimeoutMs": 0"#;
    let body = valid(&flow(&format!(
        r#""type": "map", "source": "{{{{param.k}}}}", {bounds}"#
    )))
    .definition
    .body
    .clone();
    let StepKind::Map(map) = &step(&body, "first-one").kind else {
        panic!("a map");
    };
    // O4: a template in a source has a value.
    assert!(
        matches!(&map.source, IterationSource::Memory { key, path: None } if key.references().count() == 1)
    );
    assert_eq!(
        (map.max_iterations, map.iteration_deadline_ms),
        (Some(7), None)
    );
    let body = valid(&flow(&format!(r#""type": "fold", "source": {{"key": "k", "path": "a[0].b"}}, "initialValue": {{"n": 0}}, {bounds}"#))).definition.body.clone();
    let StepKind::Fold(fold) = &step(&body, "first-one").kind else {
        panic!("a fold");
    };
    assert!(
        matches!(&fold.source, IterationSource::Memory { path: Some(path), .. } if path.to_string() == "a[0].b")
    );
    assert_eq!(
        (fold.initial_value["n"].as_u64(), &*fold.result_key),
        (Some(0), "r")
    );
    let body = valid(&flow(&format!(r#""type": "until", "condition": {{"memoryKey": "k", "operator": "less_than", "value": 3, "onFalse": "skip"}}, "iterationKey": "i", {bounds}"#))).definition.body.clone();
    let StepKind::Until(until) = &step(&body, "first-one").kind else {
        panic!("an until");
    };
    assert_eq!(
        (
            until.max_iterations,
            until.iteration_key.as_deref(),
            until.result_key.as_deref()
        ),
        (7, Some("i"), Some("r"))
    );
    assert_eq!(until.stop_when.operator, Operator::LessThan);
    // A task by name or id, which must precede.
    let two = |source: &str| {
        format!(
            r#"{{"name": "n", "tasks": [{{"id": "t1", "name": "A b"}}, {{"name": "Each", "dependsOn": ["t1"], "controlFlow": {{"type": "map", "source": {{"task": "{source}"}}, "tasks": [{{"name": "In"}}]}}}}]}}"#
        )
    };
    for source in ["A b", "t1", "a-b"] {
        let body = valid(&two(source)).definition.body.clone();
        let StepKind::Map(map) = &step(&body, "each").kind else {
            panic!("a map");
        };
        assert!(
            matches!(&map.source, IterationSource::Step { step, .. } if step == "a-b"),
            "{source}"
        );
    }
    assert_eq!(codes(&two("Each")), [Code::BadSource]);
    assert_eq!(codes(&flow(r#""type": "map""#)), [Code::MissingField]);
}

#[test]
fn a_validation_asks_for_a_reflection_only_with_criteria_and_without_skip_reflection() {
    let reflection = |fields: &str| {
        let text = list(&format!(r#", "validation": {{{fields}}}"#), "");
        let body = valid(&text).definition.body.clone();
        let work = &agent(&body, "first-one").work;
        (work.criteria.len(), work.reflection)
    };
    let criteria = r#""completionCriteria": ["x"], "minCompletionScore": 55"#;
    assert_eq!(
        reflection(&format!(r#"{criteria}, "skipReflection": false"#)),
        (1, Reflection::Strict { min_score: 55.0 })
    );
    assert_eq!(
        reflection(&format!(
            r#"{criteria}, "mode": "warn", "skipReflection": false"#
        )),
        (1, Reflection::Warn { min_score: 55.0 })
    );
    for off in [
        "",
        r#", "skipReflection": true"#,
        r#", "skipReflection": null"#,
        r#", "mode": "strict""#,
    ] {
        assert_eq!(
            reflection(&format!("{criteria}{off}")),
            (1, Reflection::Off),
            "{off}"
        );
    }
    assert_eq!(
        reflection(r#""skipReflection": false"#),
        (0, Reflection::Off)
    );
}

#[test]
fn steps_around_tasks_and_memory_tools_go_by_our_names() {
    for (word, on_error) in [
        ("fail", OnError::Fail),
        ("continue", OnError::Continue),
        ("skip-remaining", OnError::SkipRemaining),
    ] {
        let steps = format!(
            r#"[{{"name": "p", "toolName": "read_file", "args": {{"path": ["x"]}}, "resultKey": "r", "onError": "{word}", "timeoutMs": 5}}]"#
        );
        let text = list(
            "",
            &format!(
                r#", "preSteps": {steps}, "postSteps": {}, "postStepsTrigger": "always""#,
                steps.replace("\"p\"", "\"q\"")
            ),
        );
        let body = valid(&text).definition.body.clone();
        for one in [&body.pre_steps[0], &body.post_steps[0]] {
            assert_eq!(
                (one.on_error, one.timeout_ms, one.result_key.as_deref()),
                (on_error, 5, Some("r"))
            );
        }
    }
    for (theirs, ours) in [
        ("context_set", "memory_set"),
        ("memory_store", "memory_set"),
        ("memory_retrieve", "memory_get"),
        ("memory_list", "memory_list"),
    ] {
        let text = list(
            &format!(r#", "suggestedTools": ["{theirs}"]"#),
            &format!(
                r#", "requiredTools": ["{theirs}"], "preSteps": [{{"name": "p", "toolName": "{theirs}"}}]"#
            ),
        );
        let routine = valid(&text).definition;
        assert_eq!(routine.body.pre_steps[0].tool, ours);
        assert_eq!(routine.required_tools, Some(vec![ours.to_owned()]));
        assert_eq!(
            agent(&routine.body, "first-one").work.tools,
            Some(vec![ours.to_owned()])
        );
    }
}

/// V25
#[test]
fn everything_that_nobody_gets_here_is_unsupported() {
    for task in [
        r#", "maxAttempts": 2"#,
        r#", "execution": {"parallel": true}"#,
        r#", "execution": {"maxConcurrency": 2}"#,
        r#", "execution": {"priority": 1}"#,
        r#", "parallel": true"#,
        r#", "priority": 0"#,
        r#", "concurrency": {"strategy": "priority"}"#,
        r#", "externalDependency": {"type": "manual"}"#,
        r#", "validation": {"customValidator": "f"}"#,
        r#", "validation": {"requireUserApproval": "always"}"#,
        r#", "validation": {"requireUserApproval": "uncertain"}"#,
        r#", "validation": {"requiredMemoryKeys": ["k"]}"#,
    ] {
        assert_eq!(codes(&list(task, "")), [Code::Unsupported], "{task}");
        // In a control flow's tasks too.
        let inner = format!(
            r#", "controlFlow": {{"type": "until", "condition": {{"memoryKey": "k", "operator": "exists"}}, "tasks": [{{"name": "In"{task}}}]}}"#
        );
        assert_eq!(
            codes(&list(&inner, "")),
            [Code::Unsupported],
            "inner {task}"
        );
    }
    for top in [
        r#", "allowDynamicTasks": true"#,
        r#", "concurrency": {"failureMode": "continue"}"#,
        r#", "concurrency": {"maxParallelTasks": 2}"#,
    ] {
        assert_eq!(codes(&list("", top)), [Code::Unsupported], "{top}");
    }
    for (task, top) in [
        (
            r#", "maxAttempts": 1, "execution": {"parallel": false, "maxConcurrency": 1, "raceProtection": false}, "externalDependency": null"#,
            "",
        ),
        (
            r#", "validation": {"requireUserApproval": "never", "customValidator": null, "requiredMemoryKeys": []}"#,
            r#", "allowDynamicTasks": false"#,
        ),
    ] {
        valid(&list(task, top));
    }
}
