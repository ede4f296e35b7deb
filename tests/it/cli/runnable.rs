//! What can be written also runs: every construct, files of other systems, and the few things that are
//! refused before anything is done (V19, V25, G14).

use serde_json::json;

use crate::cli::program::{Ended, Place};

/// A step `s` with these fields, and these fields of the routine.
fn file(step: &str, top: &str) -> String {
    format!(
        "routine: r
agents: {{ a: {{}}, b: {{}} }}
councils: {{ c: {{ leader: a, members: [b], strategy: broadcast }} }}
{top}
entry_steps: [s]
steps:
  - {{ slug: s, {step} }}
  - {{ slug: done, type: terminal }}
edges: [{{ from: s, to: done, purpose: End. }}]
"
    )
}

fn run(step: &str, top: &str) -> Ended {
    let place = Place::new();
    let name = place.file("r.yaml", file(step, top));
    place.amos(&["validate", &name]).expect(0);
    place.run(&name, &["--model", "offline"])
}

const NESTED: &str = "routine: { instructions: In., pre_steps: [{ name: p, tool: memory_list }], steps: [{ slug: n, type: agent, agent: b, instructions: '{{step.p}}' }], post_steps: [{ name: q, tool: memory_list }], verify: [{ check: command, run: ['true'] }] }";
const ITEMS: &str = "pre_steps: [{ name: i, tool: memory_set, args: { key: k, value: [1, 2] } }]";

// V19: nothing that is valid and not named below is refused.
#[test]
fn every_construct_runs_offline_to_its_end() {
    let condition = "condition: { memory_key: k, operator: exists, on_false: skip }";
    let table = [
        (
            "type: agent, agent: a, expected_output: x, criteria: [x], reflection: { mode: off }, corrections: 0, max_model_calls: 2, timeout_ms: 9000, memory: [k], plugins: [memory], tools: [read_file]",
            "required_plugins: [memory, evidence]",
        ),
        (
            "type: agent, agent: a, omission: refused, condition: { memory_key: k, operator: not_exists, on_false: fail }",
            "required_tools: [read_file, memory_set]",
        ),
        (
            "type: agent, agent: a, verify: [{ check: output, contains: offline, covers: [it] }, { check: command, run: [test, -d, .], cwd: ., covers: [it], poll_ms: 100, timeout_ms: 9000, independent: true, method: state_readback }]",
            "assurance: { required_methods: [state_readback], required_coverage: [it], require_independent: true }",
        ),
        (
            "type: council, council: c, instructions: Talk., plugins: [memory]",
            "deadline_ms: 60000",
        ),
        (
            &format!("type: council, council: c, {condition}"),
            "deadline_ms: 0",
        ),
        (
            "type: tool, tool: memory_set, args: { key: x, value: { deep: [1] } }, result_key: r, timeout_ms: 9000",
            "instructions: All.",
        ),
        (
            "type: tool, tool: synthetic_reserve, args: { job: j }",
            "verify: [{ check: file, path: r.yaml, min_bytes: 1, contains: routine }]",
        ),
        (
            &format!(
                "type: map, source: {{ memory_key: k }}, max_iterations: 1, iteration_deadline_ms: 9000, result_key: r, {condition}, {NESTED}"
            ),
            ITEMS,
        ),
        (
            &format!(
                "type: fold, source: {{ memory_key: k }}, initial_value: 0, result_key: r, {NESTED}"
            ),
            ITEMS,
        ),
        (
            &format!(
                "type: until, stop_when: {{ memory_key: k, operator: contains, value: 2 }}, max_iterations: 3, iteration_key: n, result_key: r, {NESTED}"
            ),
            ITEMS,
        ),
        (
            "type: agent, agent: a",
            "post_steps_trigger: always\npre_steps: [{ name: x, tool: read_file, args: { path: no }, on_error: continue }, { name: y, tool: read_file, args: { path: no }, on_error: skip_remaining }]\npost_steps: [{ name: z, tool: read_file, args: { path: no } }]",
        ),
        (
            "type: agent, agent: default",
            "parameters: [{ name: p, default: [1] }]\nname: N\ndescription: D\nversion: '1'",
        ),
    ];
    for (step, top) in table {
        let ended = run(step, top);
        assert_eq!(
            ended.code(),
            0,
            "{step}\n{}\n{}",
            ended.stdout,
            ended.stderr
        );
        assert_eq!(ended.settled()["status"], "succeeded", "{step}");
    }
}

// O1, V8, V19, V25: valid, and refused before anything is asked or called.
#[test]
fn what_does_not_run_yet_is_refused_by_name_before_any_event() {
    let agent = "type: agent, agent: a";
    for (step, top, what) in [
        (
            "type: agent, agent: a, criteria: [x], reflection: { mode: strict, min_score: 0 }",
            "",
            "reflection",
        ),
        (
            "type: council, council: c, criteria: [x], reflection: { mode: warn }",
            "",
            "reflection",
        ),
        (
            "type: agent, agent: a, plugins: [evidence]",
            "",
            "`evidence`",
        ),
        (
            "type: agent, agent: a, verify: [{ check: http, url: 'http://127.0.0.1:1/' }]",
            "",
            "http",
        ),
        (
            agent,
            "verify: [{ check: http, url: 'http://127.0.0.1:1/' }]",
            "http",
        ),
        ("type: tool, tool: list_dir", "", "`list_dir`"),
        (
            "type: agent, agent: a, tools: [search_text]",
            "",
            "`search_text`",
        ),
        (
            agent,
            "post_steps: [{ name: p, tool: http_request, args: { url: 'http://127.0.0.1:1/' } }]",
            "`http_request`",
        ),
    ] {
        let ended = run(step, top).expect(1);
        let [report] = &ended.events()[..] else {
            panic!("{}", ended.stdout);
        };
        let issues = report["issues"].as_array().expect("issues");
        let errors: Vec<_> = issues
            .iter()
            .filter(|it| it["severity"] == "error")
            .collect();
        assert_eq!(
            (errors.len(), &errors[0]["code"]),
            (1, &json!("unsupported")),
            "{step} {top}"
        );
        let message = errors[0]["message"].as_str().expect("text");
        assert!(message.contains(what), "{message}");
        assert!(errors[0]["line"].as_u64() > Some(0));
    }
}

// G14
#[test]
fn files_of_the_other_systems_run_offline_as_they_are() {
    let fixture = |name: &str| {
        format!(
            "{}/tests/fixtures/foreign/{name}",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let run = |name: &str, further: &[&str]| {
        let mut arguments = vec!["--model", "offline"];
        arguments.extend(further);
        Place::new().run(&fixture(name), &arguments)
    };
    let ended = run("manifest-triage.json", &[]).expect(0);
    assert_eq!(
        ended.of("operation.started")[0]["routine"],
        "triage-a-report"
    );
    // A person decides there.
    let paused = run("manifest-article.yaml", &[]).expect(3).paused();
    let wait = &paused["waits"][0];
    assert_eq!([&wait["step"], &wait["kind"]], ["publish", "operator_gate"]);
    // Its tasks judge themselves, which isn't run yet.
    let ended = run("tasks-digest.json", &["-i", "week=7"]).expect(1);
    assert!(ended.stdout.contains("reflection"), "{}", ended.stdout);
    // The offline model makes no list of files.
    let settled = run("tasks-control-flow.json", &[]).expect(1).settled();
    assert_eq!(
        [&settled["reason"], &settled["step"]],
        ["iteration_failed", "note-each"]
    );
    // A small one with one of everything that runs.
    let place = Place::new();
    let list = json!({
        "name": "Small one", "timeoutMs": 60000, "postStepsTrigger": "always",
        "parameters": [{ "name": "items", "default": ["x", "y"] }],
        "preSteps": [{ "name": "keep", "toolName": "context_set", "args": { "key": "list", "value": "{{param.items}}", "description": "d" }, "onError": "skip-remaining" }],
        "tasks": [
            { "id": "t1", "name": "Each one", "controlFlow": { "type": "map", "source": "list", "resultKey": "notes", "maxIterations": 5, "iterationTimeoutMs": 9000,
                "tasks": [{ "name": "Note it", "description": "Note {{map.item}}" }] } },
            { "name": "All of it", "dependsOn": ["t1"], "controlFlow": { "type": "fold", "source": { "task": "Each one" }, "initialValue": "", "resultKey": "all",
                "tasks": [{ "name": "Add", "description": "{{fold.accumulator}} {{map.item}}" }] } },
            { "name": "Polish", "dependsOn": ["All of it"], "controlFlow": { "type": "until", "condition": { "memoryKey": "all", "operator": "exists" }, "iterationKey": "i",
                "tasks": [{ "name": "Polish it", "description": "Polish." }] } },
            { "name": "End", "dependsOn": ["Polish"], "description": "Say {{result.Each one}}", "condition": { "memoryKey": "none", "operator": "exists", "onFalse": "skip" }, "maxAttempts": 1 }
        ],
        "postSteps": [{ "name": "say", "toolName": "memory_store", "args": { "key": "said", "value": "{{result.All of it}}" } }]
    });
    let name = place.file("list.json", list.to_string());
    let ended = place.run(&name, &["--model", "offline"]).expect(0);
    let steps: Vec<_> = ended
        .of("step.submitted")
        .iter()
        .map(|it| it["step"].clone())
        .collect();
    assert_eq!(
        json!(steps),
        json!(["note-it", "note-it", "add", "add", "polish-it"])
    );
    assert_eq!(
        ended.of_step("step.settled", "end")[0]["verdict"],
        "skipped"
    );
    assert_eq!(ended.of_step("tool.called", "say")[0]["outcome"], "ok");
}

/// Two maps in each other, whose inner step waits twice for its file.
const DEEP: &str = r#"routine: deep
pre_steps: [{ name: rows, tool: memory_set, args: { key: rows, value: [[a, b], [c]] } }]
entry_steps: [out]
steps:
  - slug: out
    type: map
    source: { memory_key: rows }
    routine:
      pre_steps: [{ name: row, tool: memory_set, args: { key: row, value: "{{map.item}}" } }]
      steps:
        - slug: in
          type: map
          source: { memory_key: row }
          routine:
            steps:
              - slug: n
                type: agent
                agent: default
                verify: [{ check: command, run: [sh, -c, 'echo x >> {{map.item}}; test $(wc -l < {{map.item}}) -ge 3 || exit 75'], poll_ms: 100 }]
  - { slug: done, type: terminal }
edges: [{ from: out, to: done, purpose: End. }]
"#;

// V6, V22: each wait is taken up where it is, and nothing is sent again.
#[test]
fn a_wait_deep_inside_is_polled_at_its_place() {
    let place = Place::new();
    let name = place.file("deep.yaml", DEEP);
    let ended = place.run(&name, &["--model", "offline", "--on-wait", "poll"]);
    let ended = ended.expect(0);
    for (kind, count) in [
        ("step.submitted", 3),
        ("model.called", 3),
        ("operation.paused", 6),
        ("operation.resumed", 6),
        // The outer one's rows, and a row for each of its iterations.
        ("tool.called", 3),
    ] {
        assert_eq!(ended.of(kind).len(), count, "{kind}");
    }
    let mut places: Vec<_> = ended
        .of("operation.paused")
        .iter()
        .map(|it| it["waits"][0]["execution"].to_string())
        .collect();
    places.dedup();
    assert_eq!(places.len(), 3, "{places:?}");
    for file in ["a", "b", "c"] {
        let looks = std::fs::read_to_string(place.workspace().join(file)).expect("looked at");
        assert_eq!(looks, "x\nx\nx\n");
    }
}
