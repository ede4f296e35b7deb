//! Templates and depth: what names mean inside, and that values stay values (V18, V19, V21).

use serde_json::Value;

use super::*;

/// Values that would hurt if anybody expanded, parsed or merged them again.
const HOSTILE: [&str; 8] = [
    "{{param.secret}}",
    "}} {{map.item}} {{",
    "{{{{param.secret}}}}",
    "__proto__",
    "constructor",
    "line one\nline \"two\"\t\\ end",
    "${HOME} $(id) `id` %s {0}",
    "{{result.a}}{{step.p}}{{fold.accumulator}}",
];

/// Every field that takes templates, outside and inside of a map.
fn everywhere() -> String {
    String::from(
        r#"
routine: everywhere
parameters: [{ name: v }, { name: secret, default: TOLD }]
instructions: "routine <{{param.v}}>"
agents: { a: {}, n: { instructions: "agent <{{param.v}}>" } }
pre_steps:
  - { name: p, tool: look, args: { "{{param.v}}": ["pre <{{param.v}}>", { deep: "<{{param.v}}>" }] } }
  - { name: items, tool: memory_set, args: { key: items, value: ["{{param.v}}"] } }
entry_steps: [a]
steps:
  - { slug: a, type: agent, agent: a, instructions: "step <{{param.v}}>", expected_output: "expected <{{param.v}}>", criteria: ["criterion <{{param.v}}>"], verify: [{ check: command, run: [x, "<{{param.v}}>"] }] }
  - { slug: t, type: tool, tool: act, args: { value: "tool <{{param.v}}> <{{result.a}}>" } }
  - slug: each
    type: map
    source: { memory_key: items }
    routine:
      instructions: "nested <{{map.item}}>"
      pre_steps: [{ name: p, tool: look, args: { value: "inner pre <{{map.item}}> <{{step.p}}>" } }]
      steps:
        - { slug: n, type: agent, agent: n, instructions: "item <{{map.item}}> <{{step.p}}> <{{result.t}}>", verify: [{ check: command, run: [x, "<{{map.item}}>"] }] }
      post_steps: [{ name: q, tool: look, args: { value: "inner post <{{result.n}}>" } }]
      verify: [{ check: command, run: [x, "inner final <{{map.item}}> <{{step.q}}>"] }]
  - { slug: g, type: gate, operator: true, instructions: "gate <{{param.v}}>", criteria: ["gate criterion <{{result.each}}>"] }
  - { slug: done, type: terminal, reason: "end <{{param.v}}>" }
  - { slug: lost, type: terminal_fail, reason: "lost <{{param.v}}>" }
edges:
  - { from: a, to: t }
  - { from: t, to: each }
  - { from: each, to: g }
  - { from: g, to: done, condition: on_pass }
  - { from: g, to: lost, condition: on_fail }
post_steps: [{ name: z, tool: look, args: { value: "post <{{param.v}}> <{{result.a}}>" } }]
verify: [{ check: command, run: [x, "final <{{param.v}}> <{{step.z}}>"] }]
"#,
    )
}

#[test]
fn a_value_is_never_expanded_again_in_any_field() {
    // V21, B16, O12
    for hostile in HOSTILE {
        let value = Value::String(hostile.into());
        let mut it = story(&everywhere()).input("v", value.clone()).start();
        let marked = format!("<{hostile}>");
        let out = |text: &str| pass().output(text);
        it.tool("p", done(value.clone()));
        it.answer("a", out(hostile)).tool("t", done(value.clone()));
        it.tool("p", done(value.clone()));
        it.answer("n", out(hostile)).tool("q", done(value.clone()));
        let wait = it.wait("g");
        assert_eq!(wait.reason, format!("gate {marked}"));
        it.resume_with([("g", Answer::Decide(approve()))])
            .tool("z", done(value.clone()))
            .expect_succeeded();
        for (step, said) in [
            (
                "a",
                vec![
                    format!("step {marked}"),
                    format!("expected {marked}"),
                    format!("criterion {marked}"),
                ],
            ),
            ("n", vec![format!("item {marked} {marked} {marked}")]),
        ] {
            for text in said {
                assert!(it.request(step, 1).prompt().contains(&text), "{text}");
            }
        }
        let system = &it.request("n", 1).system;
        assert!(system.contains(&format!("agent {marked}")), "{system}");
        assert!(system.contains(&format!("routine {marked}")), "{system}");
        assert!(system.contains(&format!("nested {marked}")), "{system}");
        let args: Vec<&Value> = it.dispatched.iter().map(|(_, args)| args).collect();
        assert_eq!(
            args[0],
            &json!({ "{{param.v}}": [format!("pre {marked}"), { "deep": marked }] }),
            "keys stand as they are"
        );
        assert_eq!(args[1]["value"], format!("tool {marked} {marked}"));
        assert_eq!(args[2]["value"], format!("inner pre {marked} {marked}"));
        assert_eq!(args[3]["value"], format!("inner post {marked}"));
        assert_eq!(args[4]["value"], format!("post {marked} {marked}"));
        let checks: Vec<String> = it
            .looked
            .iter()
            .flat_map(|looked| {
                looked
                    .checks
                    .iter()
                    .map(|check| format!("{:?}", check.kind))
            })
            .collect();
        for text in [
            marked.clone(),
            format!("inner final {marked} {marked}"),
            format!("final {marked} {marked}"),
        ] {
            let shown = format!("{text:?}");
            assert!(
                checks.iter().any(|check| check.contains(&shown)),
                "{shown} {checks:?}"
            );
        }
        assert_eq!(it.settled("done").1["text"], format!("end {marked}"));
        let told = it.requests.values().flatten().any(|request| {
            request.system.contains("TOLD")
                || request
                    .prompt()
                    .split("## Inputs")
                    .next()
                    .is_some_and(|text| text.contains("<TOLD"))
        });
        assert!(!told, "a secret was expanded out of a value");
    }
}

#[test]
fn a_name_that_has_no_value_fails_inside_an_iteration_too() {
    // V21: a pre step that was passed by is never read from the routine around.
    let mut it = story(
        "@ pre_steps: [{ name: p, tool: look }, { name: items, tool: memory_set, args: { key: items, value: [1] } }]
         each -> done
         each = type: map, source: { memory_key: items }, routine: { pre_steps: [{ name: o, tool: look, on_error: skip_remaining }, { name: p, tool: look }], steps: [{ slug: n, type: agent, agent: n, instructions: '{{step.p}}' }] }",
    )
    .start();
    it.tool("p", done(json!("outer"))).tool("o", failed("no"));
    it.expect_failed("iteration_failed");
    assert_eq!(it.outcome().detail["reason"], "template_failed");
}

#[test]
fn a_later_step_inside_hides_nothing_that_lies_around() {
    // V21: `a` and `p` inside come after the place that names them.
    let mut it = story(
        "@ pre_steps: [{ name: p, tool: look }, { name: items, tool: memory_set, args: { key: items, value: [1, 2] } }]
         a -> each -> done
         each = type: map, source: { memory_key: items }, routine: { pre_steps: [{ name: o, tool: act, args: { got: '{{step.p}} {{result.a}}' } }, { name: p, tool: look }], steps: [{ slug: n, type: agent, agent: n, instructions: '<{{result.a}} {{step.p}}>' }, { slug: a, type: agent, agent: m, instructions: '<{{result.a}} {{result.n}}>', verify: [{ check: command, run: [x, 'own {{result.a}}'] }] }, { slug: l, type: agent, agent: m, instructions: '<{{result.a}}>' }] }",
    )
    .start();
    it.tool("p", done(json!("P")))
        .answer("a", pass().output("A"));
    for at in 0..2 {
        let got = it.dispatched.last().expect("a call").1.clone();
        assert_eq!(got, json!({ "got": "P A" }));
        it.tool("o", done(json!(0))).tool("p", done(json!("inner")));
        assert!(it.prompts("n")[at].contains("<A inner>"));
        it.answer("n", pass().output("N"));
        assert!(it.latest_request("a", 1).prompt().contains("<A N>"));
        it.answer("a", pass().output("inside"));
        let own = it
            .seen("a")
            .checks
            .iter()
            .map(|check| format!("{:?}", check.kind));
        assert!(own.into_iter().all(|check| check.contains("own inside")));
        assert!(it.prompts("l")[at].contains("<inside>"));
        it.answer("l", pass());
    }
    it.expect_succeeded();
}

#[test]
fn map_names_inside_an_until_and_a_fold_inside_a_map_are_the_nearest() {
    let mut it = story(
        "@ pre_steps: [{ name: items, tool: memory_set, args: { key: items, value: [x] } }, { name: more, tool: memory_set, args: { key: more, value: [y] } }]
         f -> done
         f = type: fold, source: { memory_key: items }, initial_value: s, result_key: r, routine: { steps: [{ slug: u, type: until, stop_when: { memory_key: items, operator: exists }, routine: { steps: [{ slug: n, type: agent, agent: n, instructions: '{{map.item}} {{fold.accumulator}}' }] } }, { slug: m, type: map, source: { memory_key: more }, routine: { steps: [{ slug: o, type: agent, agent: n, instructions: '{{map.item}} {{fold.accumulator}}' }] } }] }",
    )
    .start();
    assert!(it.prompts("n")[0].contains("x s"));
    it.answer("n", pass());
    assert!(it.prompts("o")[0].contains("y s"));
    it.answer("o", pass()).expect_succeeded();
}

#[test]
fn thirty_two_levels_run() {
    // V19: the outermost is 1.
    let mut inner =
        String::from("{ slug: n, type: agent, agent: n, instructions: '{{map.item}}' }");
    for level in (2..=32).rev() {
        inner = format!(
            "{{ slug: m{level}, type: map, source: {{ memory_key: items }}, routine: {{ steps: [{inner}] }} }}"
        );
    }
    let text = format!(
        "routine: deep\nagents: {{ n: {{}} }}\npre_steps: [{{ name: i, tool: memory_set, args: {{ key: items, value: [x] }} }}]\nentry_steps: [m2]\nsteps:\n  - {inner}\n  - {{ slug: done, type: terminal }}\nedges: [{{ from: m2, to: done }}]\n"
    );
    let mut it = story(&text).verified_by_hand(&["n"]).start();
    it.answer("n", pass().output(1))
        .verify("n", waiting("not yet"))
        .expect_paused(Waiting, [("n", "check")]);
    assert_eq!(it.wait("n").key.execution.to_string(), "op.x32");
    it.resume().verify("n", verified()).expect_succeeded();
    let mut output = &it.outcome().outputs["done"];
    for _ in 2..=32 {
        output = &output[0];
    }
    assert_eq!(output, 1);
    let mut failing = story(&text).start();
    failing
        .answer("n", fail())
        .expect_failed("iteration_failed");
}

#[test]
fn a_steps_own_checks_may_name_its_output() {
    // V21
    let mut it = story(
        "a -> done
         a = verify: [{ check: command, run: [x, 'said {{result.a}}'] }]",
    )
    .start();
    it.answer("a", pass().output("yes")).expect_succeeded();
    assert!(format!("{:?}", it.seen("a").checks).contains("said yes"));
}
