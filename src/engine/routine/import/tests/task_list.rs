//! Task lists: each row of the table, and what is refused (V25).

use crate::engine::routine::definition::{
    IterationSource, OnError, OnFalse, Operator, PostStepsTrigger, Reflection, StepKind,
};
use crate::engine::routine::import::tests::{
    DIGEST, FLOW, agent, edges, errors, refused, step, valid,
};
use crate::engine::routine::issue::Code;

#[test]
fn a_task_list_gives_the_routine_around_its_tasks() {
    let routine = valid(DIGEST).definition;
    assert_eq!(
        (&*routine.slug, &*routine.name),
        ("weekly-digest", "Weekly digest")
    );
    assert_eq!(routine.version.as_deref(), Some("1.2.0"));
    assert_eq!(routine.deadline_ms, Some(900_000));
    assert_eq!(
        routine.required_tools,
        Some(vec!["read_file".into(), "memory_set".into()])
    );
    assert_eq!(routine.required_plugins, None);
    assert!(routine.parameters[0].required && routine.parameters[1].default.is_some());
    let instructions = routine.body.instructions.as_ref().map(ToString::to_string);
    assert_eq!(instructions.as_deref(), Some("Be brief."));
}

#[test]
fn steps_around_the_tasks_are_ours_under_other_names() {
    let body = &valid(DIGEST).definition.body;
    let [log, note] = &body.pre_steps[..] else {
        panic!("two");
    };
    assert_eq!((&*log.name, &*log.tool), ("log", "run_command"));
    assert_eq!(log.result_key.as_deref(), Some("log"));
    assert_eq!(
        (log.on_error, log.timeout_ms),
        (OnError::SkipRemaining, 20_000)
    );
    // A memory tool here takes nothing but the key and the value.
    assert_eq!((&*note.tool, note.on_error), ("memory_set", OnError::Fail));
    let args = format!("{:?}", note.args);
    assert!(args.contains("week") && !args.contains("Which"), "{args}");
    let save = &body.post_steps[0];
    assert_eq!((&*save.tool, save.on_error), ("write_file", OnError::Fail));
    let names: Vec<String> = save
        .args
        .references()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        names,
        ["param.week", "result.write", "result.collect", "step.log"]
    );
    assert_eq!(body.post_steps_trigger, PostStepsTrigger::OnSuccess);
    let always = DIGEST.replace("on-success", "always");
    let body = &valid(&always).definition.body;
    assert_eq!(body.post_steps_trigger, PostStepsTrigger::Always);
}

#[test]
fn tasks_are_steps_of_the_default_agent() {
    let body = &valid(DIGEST).definition.body;
    let collect = agent(body, "collect");
    assert_eq!(
        (&*collect.agent, step(body, "collect").name.as_str()),
        ("default", "Collect")
    );
    assert!(collect.work.instructions.is_some() && collect.work.expected_output.is_some());
    assert_eq!(
        collect.work.tools,
        Some(vec!["read_file".into(), "memory_get".into()])
    );
    assert_eq!(collect.work.max_model_calls, 12);
    // A task that suggests no tools has those that the list needs.
    assert_eq!(
        agent(body, "write").work.tools,
        Some(vec!["read_file".into(), "memory_set".into()])
    );
    let condition = step(body, "group-by-theme").condition.as_ref();
    let condition = condition.expect("a condition");
    assert_eq!(condition.when.memory_key, "log");
    assert_eq!(
        (condition.when.operator, condition.on_false),
        (Operator::Truthy, OnFalse::Skip)
    );
}

/// G14: dependencies by name or id, entries without, and an added terminal.
#[test]
fn dependencies_are_edges_and_tasks_without_dependants_lead_to_the_end() {
    let body = &valid(DIGEST).definition.body;
    assert_eq!(body.entry_steps, ["collect"]);
    assert_eq!(
        edges(body),
        [
            "collect->group-by-theme",
            "group-by-theme->write",
            "collect->write",
            "collect->count-words",
            "write->done",
            "count-words->done"
        ]
    );
}

/// V8: opt-in, and only with criteria.
#[test]
fn a_reflection_needs_skip_reflection_to_be_false_and_criteria() {
    let reflection = |text: &str| {
        let body = valid(text).definition.body.clone();
        let work = &agent(&body, "group-by-theme").work;
        (work.criteria.len(), work.reflection)
    };
    assert_eq!(
        reflection(DIGEST),
        (1, Reflection::Warn { min_score: 70.0 })
    );
    let off = DIGEST.replace("\"skipReflection\": false, ", "");
    assert_eq!(reflection(&off), (1, Reflection::Off));
    let off = DIGEST.replace("\"skipReflection\": false", "\"skipReflection\": true");
    assert_eq!(reflection(&off), (1, Reflection::Off));
    let none = DIGEST.replace("[\"Every entry is in a group\"]", "[]");
    assert_eq!(reflection(&none), (0, Reflection::Off));
    let strict = DIGEST.replace("\"minCompletionScore\": 70, \"mode\": \"warn\", ", "");
    assert_eq!(
        reflection(&strict),
        (1, Reflection::Strict { min_score: 80.0 })
    );
}

/// V22
#[test]
fn control_flows_are_map_fold_and_until_over_their_own_tasks() {
    let body = &valid(FLOW).definition.body;
    let StepKind::Map(map) = &step(body, "note-each").kind else {
        panic!("a map");
    };
    let from = |source: &IterationSource| match source {
        IterationSource::Step { step, path } => {
            format!("step {step} {}", path.clone().unwrap_or_default())
        }
        IterationSource::Memory { key, .. } => format!("memory {key}"),
    };
    assert_eq!(from(&map.source), "step list-files files");
    assert_eq!(
        (map.max_iterations, map.iteration_deadline_ms),
        (Some(20), Some(60_000))
    );
    assert_eq!(map.result_key.as_deref(), Some("notes"));
    assert_eq!(edges(&map.routine), ["read->note", "note->done"]);
    let StepKind::Fold(fold) = &step(body, "join-up").kind else {
        panic!("a fold");
    };
    assert_eq!(from(&fold.source), "memory notes");
    assert_eq!(
        (&*fold.result_key, fold.initial_value.is_null()),
        ("whole", true)
    );
    let StepKind::Until(until) = &step(body, "polish").kind else {
        panic!("an until");
    };
    assert_eq!(until.max_iterations, 4);
    assert_eq!(until.iteration_key.as_deref(), Some("round"));
    assert_eq!(until.stop_when.memory_key, "good");
    assert_eq!(until.stop_when.value, Some(true.into()));
    // The added terminal makes room for a task of that name.
    assert_eq!(edges(&until.routine), ["done->done-2"]);
    let key = FLOW.replace(
        "{ \"task\": \"List files\", \"path\": \"files\" }",
        "{ \"key\": \"k\" }",
    );
    let body = valid(&key).definition.body.clone();
    let StepKind::Map(map) = &step(&body, "note-each").kind else {
        panic!("a map");
    };
    assert_eq!(from(&map.source), "memory k");
}

/// O6: a task whose name looks like an id is found by that name.
#[test]
fn a_name_that_looks_like_an_id_is_still_a_name() {
    let text = r#"{"name": "n", "tasks": [
        {"id": "x", "name": "task-force", "description": "d"},
        {"id": "y", "name": "report", "description": "d", "dependsOn": ["task-force"]}]}"#;
    assert_eq!(
        edges(&valid(text).definition.body),
        ["task-force->report", "report->done"]
    );
    let both = r#"{"name": "n", "tasks": [
        {"id": "x", "name": "a"}, {"id": "a", "name": "b"}, {"name": "c", "dependsOn": ["a"]}]}"#;
    let found = errors(both);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].code, found[0].line), (Code::BadValue, 2));
}

/// O7: the last one doesn't win.
#[test]
fn two_tasks_of_one_name_or_id_are_an_error() {
    let twice = |tasks: &str| {
        let text = format!("{{\"name\": \"n\", \"tasks\": [\n{tasks}]}}");
        let errors = errors(&text);
        errors
            .iter()
            .map(|issue| (issue.code, issue.line, issue.column))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        twice("{\"name\": \"A b\"},\n{\"name\": \"A b\"}"),
        [(Code::DuplicateStep, 3, 10)]
    );
    assert_eq!(
        twice("{\"name\": \"A b\"},\n{\"name\": \"a-b\"}"),
        [(Code::DuplicateStep, 3, 10)]
    );
    assert_eq!(
        twice("{\"id\": \"1\", \"name\": \"a\"},\n{\"id\": \"1\", \"name\": \"b\"}"),
        [(Code::DuplicateStep, 3, 8)]
    );
}

/// V25: each is refused, where it asks for anything, at its place.
#[test]
fn what_task_lists_ask_in_vain_is_pointed_at() {
    let task = "\"maxAttempts\": 1";
    let execution = "\"parallel\": false";
    let validation = "\"requireUserApproval\": \"never\"";
    let list = "\"allowDynamicTasks\": false";
    for (old, new, piece) in [
        (task, "\"maxAttempts\": 3", "3,"),
        (task, "\"maxAttempts\": 1, \"priority\": 2", "\"priority\""),
        (
            task,
            "\"maxAttempts\": 1, \"externalDependency\": {\"type\": \"webhook\"}",
            "\"externalDependency\"",
        ),
        (execution, "\"parallel\": true", "true, \"maxIterations\""),
        (execution, "\"maxConcurrency\": 4", "4, \"maxIterations\""),
        (execution, "\"priority\": 4", "\"priority\""),
        (
            validation,
            "\"requireUserApproval\": \"uncertain\"",
            "\"uncertain\"",
        ),
        (
            validation,
            "\"customValidator\": \"words\"",
            "\"customValidator\"",
        ),
        (
            validation,
            "\"requiredMemoryKeys\": [\"k\"]",
            "\"requiredMemoryKeys\": [\"k\"]",
        ),
        (
            list,
            "\"allowDynamicTasks\": true",
            "true,\n  \"timeoutMs\"",
        ),
        (
            list,
            "\"concurrency\": {\"maxParallelTasks\": 3}",
            "\"concurrency\"",
        ),
    ] {
        let issue = refused(DIGEST, old, new, Code::Unsupported, piece);
        assert!(
            issue.message.contains("isn't supported"),
            "{}",
            issue.message
        );
    }
    for (old, new) in [
        (execution, "\"maxConcurrency\": 1, \"priority\": null"),
        (
            list,
            "\"concurrency\": {\"maxParallelTasks\": 1, \"strategy\": \"fifo\"}",
        ),
        (validation, "\"requiredMemoryKeys\": []"),
        (", \"maxAttempts\": 1", ""),
    ] {
        valid(&DIGEST.replace(old, new));
    }
    refused(
        FLOW,
        "\"description\": \"A note for each file.\"",
        "\"validation\": {\"completionCriteria\": [\"x\"], \"skipReflection\": false}",
        Code::Unsupported,
        "\"completionCriteria\"",
    );
}

#[test]
fn what_a_task_list_does_not_have_is_an_unknown_field() {
    for (fixture, old, new) in [
        (DIGEST, "\"author\"", "\"autor\""),
        (DIGEST, "\"expectedOutput\"", "\"expectdOutput\""),
        (DIGEST, "\"raceProtection\"", "\"raceProtecton\""),
        (
            DIGEST,
            "\"memoryKey\": \"log\"",
            "\"memoryKeys\": \"x\", \"memoryKey\": \"log\"",
        ),
        (DIGEST, "\"mode\"", "\"modus\""),
        (DIGEST, "\"resultKey\"", "\"result_key\""),
        (FLOW, "\"iterationTimeoutMs\"", "\"iterationTimeout\""),
        (FLOW, "\"path\"", "\"pfad\""),
    ] {
        let piece = new.split(':').next().expect("a key");
        let issue = refused(fixture, old, new, Code::UnknownField, piece);
        assert!(issue.message.contains("is no field"), "{}", issue.message);
    }
}

#[test]
fn problems_of_a_task_list_stand_in_its_own_words_and_places() {
    let issue = refused(
        DIGEST,
        "[\"task-1\"]",
        "[\"task-9\"]",
        Code::UnknownStep,
        "\"task-9\"",
    );
    assert_eq!(issue.edge.as_deref(), Some("task-9->group-by-theme"));
    let issue = refused(
        DIGEST,
        "\"toolName\": \"run_command\", ",
        "",
        Code::MissingField,
        "{ \"name\": \"log\"",
    );
    assert!(issue.message.contains("`toolName`"), "{}", issue.message);
    refused(
        DIGEST,
        "{{param.tone}}",
        "{{param.tune}}",
        Code::BadTemplate,
        "\"Write it up",
    );
    refused(DIGEST, "900000", "9000000000", Code::BadTimer, "9000000000");
    refused(
        FLOW,
        "\"type\": \"map\"",
        "\"type\": \"loop\"",
        Code::BadValue,
        "\"loop\"",
    );
    refused(
        FLOW,
        "        \"resultKey\": \"whole\",\n",
        "",
        Code::MissingResultKey,
        "{\n        \"type\": \"fold\"",
    );
    refused(
        FLOW,
        "\"maxIterations\": 4",
        "\"maxIterations\": 4000",
        Code::BadMaxIterations,
        "4000",
    );
    for (text, code) in [
        ("{\"name\": \"n\", \"tasks\": []}", Code::EmptyGraph),
        ("{\"name\": \"n\", \"tasks\": 5}", Code::BadValue),
        ("{\"name\": \"n\", \"tasks\": null}", Code::BadValue),
        ("{\"name\": \"n\", \"tasks\": [5]}", Code::BadValue),
        ("{\"tasks\": [{\"name\": \"a\"}]}", Code::MissingField),
        (
            "{\"name\": \"n\", \"tasks\": [{\"description\": \"a\"}]}",
            Code::MissingField,
        ),
        (
            "{\"name\": \"日本\", \"tasks\": [{\"name\": \"a\"}]}",
            Code::BadSlug,
        ),
        (
            "{\"name\": \"n\", \"tasks\": [{\"name\": \"a\", \"dependsOn\": [\"a\"]}]}",
            Code::SelfEdge,
        ),
        (
            "{\"name\": \"n\", \"tasks\": [{\"name\": \"a\", \"dependsOn\": [\"b\"]}, {\"name\": \"b\", \"dependsOn\": [\"a\"]}]}",
            Code::Cycle,
        ),
    ] {
        let found = errors(text);
        assert!(
            found.iter().any(|issue| issue.code == code),
            "{text} {found:#?}"
        );
    }
}

/// V19: the levels of other systems are counted like ours.
#[test]
fn control_flows_lie_in_each_other_thirty_two_levels_deep_and_no_deeper() {
    let nested = |levels: usize| {
        let mut inner = String::from("[{\"name\": \"a\"}]");
        for _ in 1..levels {
            inner = format!(
                "[{{\"name\": \"a\", \"controlFlow\": {{\"type\": \"until\", \"condition\": {{\"memoryKey\": \"k\", \"operator\": \"exists\"}}, \"tasks\": {inner}}}}}]"
            );
        }
        format!("{{\"name\": \"n\", \"tasks\": {inner}}}")
    };
    valid(&nested(32));
    for levels in [33, 120] {
        let found: Vec<_> = errors(&nested(levels))
            .iter()
            .map(|issue| issue.code)
            .collect();
        assert_eq!(found, [Code::TooDeep], "{levels}");
    }
}
