//! Values in templates: written once, as they are, in every kind of field; and what has none (V21).

use serde_json::Value;

use super::*;
use crate::engine::routine::definition::{CheckKind, HttpExpectation};

/// What somebody may put in, and what stands there then.
fn written() -> Vec<(Value, String)> {
    let same = [
        "{{param.secret}}",
        "}} {{param.secret}} {{",
        "{{{{param.secret}}}}",
        "__proto__",
        "constructor",
        "one\ntwo \"three\"\t\\ four\u{2028}",
        "$(id) `id` ${HOME} %s ' ; | && \0",
        "",
    ];
    let same = same.map(|text| (json!(text), text.to_owned()));
    let json = [
        (json!(null), ""),
        (json!(0), "0"),
        (json!(2.5), "2.5"),
        (json!(false), "false"),
        (json!([]), "[]"),
        (json!({}), "{}"),
        (
            json!({ "__proto__": 1, "{{param.secret}}": ["a\n", null] }),
            r#"{"__proto__":1,"{{param.secret}}":["a\n",null]}"#,
        ),
    ];
    let json = json.map(|(value, text)| (value, text.to_owned()));
    same.into_iter().chain(json).collect()
}

const CHECKS: &str = r#"
routine: checks
parameters: [{ name: v }, { name: secret, default: TOLD }]
agents: { a: {} }
entry_steps: [a]
steps:
  - slug: a
    type: agent
    agent: a
    verify:
      - { check: command, run: [x, "<{{param.v}}>"], cwd: "<{{param.v}}>" }
      - { check: file, path: "<{{param.v}}>", sha256: "<{{param.v}}>", contains: "<{{param.v}}>" }
      - { check: output, contains: "<{{param.v}}>", matches: "<{{param.v}}>" }
      - { check: manual, prompt: "<{{param.v}}>" }
      - { check: synthetic, job: "<{{param.v}}>" }
      - check: http
        url: "<{{param.v}}>"
        headers: { "{{param.v}}": "<{{param.v}}>" }
        expect: { path: "<{{param.v}}>", equals: { "{{param.v}}": ["<{{param.v}}>", 5] } }
  - { slug: done, type: terminal }
edges: [{ from: a, to: done }]
"#;

#[test]
fn every_field_of_every_check_holds_the_value_and_nothing_else() {
    for (value, text) in written() {
        let mut it = story(CHECKS).input("v", value).start();
        it.answer("a", pass()).expect_succeeded();
        let w = format!("<{text}>");
        let some = Some(w.clone());
        let expected = [
            CheckKind::Command {
                run: vec!["x".into(), w.clone()],
                cwd: some.clone(),
            },
            CheckKind::File {
                path: w.clone(),
                sha256: some.clone(),
                contains: some.clone(),
                min_bytes: None,
            },
            CheckKind::Output {
                schema: None,
                contains: some.clone(),
                matches: some,
            },
            CheckKind::Manual { prompt: w.clone() },
            CheckKind::Synthetic {
                job: w.clone(),
                of: Default::default(),
            },
            CheckKind::Http {
                url: w.clone(),
                method: "GET".into(),
                headers: [("{{param.v}}".to_owned(), w.clone())].into(),
                expect: HttpExpectation::Value {
                    path: w.clone(),
                    equals: json!({ "{{param.v}}": [w, 5] }),
                },
            },
        ];
        let found = it.seen("a").checks.iter().map(|check| check.kind.clone());
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

/// A fold whose items, accumulator, pre steps and steps around are the value, under odd names.
const SPACES: &str = r#"
routine: spaces
parameters: [{ name: two words }, { name: secret, default: TOLD }]
agents: { a: {}, n: { instructions: "agent <{{map.item}}>" } }
pre_steps: [{ name: The log - of all, tool: look }]
entry_steps: [a]
steps:
  - { slug: a, name: The first-one, type: agent, agent: a }
  - slug: f
    type: fold
    source: { step: a }
    initial_value: "{{param.secret}}"
    result_key: r
    routine:
      steps:
        - slug: n
          type: agent
          agent: n
          instructions: "<{{map.item}}|{{map.index}}|{{map.total}}|{{fold.accumulator}}|{{step.The log - of all}}|{{result.The first-one}}|{{param.two words}}>"
  - { slug: done, type: terminal, reason: "<{{result.f}}>" }
edges: [{ from: a, to: f }, { from: f, to: done }]
"#;

#[test]
fn every_namespace_gives_the_value_as_it_is() {
    for (value, text) in written() {
        let mut it = story(SPACES).input("two words", value.clone()).start();
        it.tool("The log - of all", done(value.clone()));
        it.answer("a", pass().output(json!([value, value])));
        let all = json!([value, value]);
        // What a file writes as a value stands there as it is, too.
        for (index, accumulator) in [(0, "{{param.secret}}"), (1, text.as_str())] {
            let said = format!("<{text}|{index}|2|{accumulator}|{text}|{all}|{text}>");
            let request = &it.requests[&("n".to_owned(), 1)][index];
            assert!(request.prompt().contains(&said), "{}", request.prompt());
            assert!(request.system.contains(&format!("agent <{text}>")));
            it.answer("n", pass().output(value.clone()));
        }
        it.expect_succeeded();
        assert_eq!(it.settled("done").1["text"], format!("<{text}>"));
    }
}

/// A pre step is passed by, so that its name has no value: in each place in turn.
const GONE: &str = r#"
routine: gone
agents: { a: { instructions: "@agent" }, b: {} }
pre_steps:
  - { name: p, tool: look, on_error: skip_remaining }
  - { name: gone, tool: look }
instructions: "@routine"
entry_steps: [a]
steps:
  - { slug: a, type: agent, agent: a, instructions: "@instructions", expected_output: "@expected", criteria: ["@criteria"], verify: [{ check: manual, prompt: "@check" }] }
  - { slug: t, type: tool, tool: act, args: { deep: ["@args"] } }
  - { slug: m, type: map, source: { memory_key: "@source" }, routine: { instructions: "@nested", steps: [{ slug: n, type: agent, agent: b, instructions: "@inner" }] } }
  - { slug: c, type: gate, checks: [{ check: command, run: ["@run"] }] }
  - { slug: g, type: gate, operator: true, instructions: "@gate", criteria: ["@gate-criteria"] }
  - { slug: done, type: terminal, reason: "@reason" }
edges:
  - { from: a, to: t }
  - { from: t, to: m }
  - { from: m, to: c }
  - { from: c, to: g, condition: on_pass }
  - { from: g, to: done, condition: on_pass }
verify: [{ check: command, run: ["@final"] }]
"#;

#[test]
fn a_name_that_has_no_value_at_run_time_fails_clearly_and_is_never_left_standing() {
    let marks: Vec<&str> = GONE
        .split('"')
        .filter(|text| text.starts_with('@'))
        .collect();
    assert_eq!(marks.len(), 15);
    for mark in marks {
        let text = GONE.replace(&format!("\"{mark}\""), "'<{{step.gone}}>'");
        let text = text.replace("\"@source\"", "items");
        let mut it = story(&text).start();
        it.tool("p", failed("no"));
        it.machine.memory.set("items", json!([1]));
        while it.settled.is_none() {
            match it.running().first().copied() {
                Some("t") => it.tool("t", done(json!(1))),
                Some("a") => it.answer("a", pass()),
                Some("n") => it.answer("n", pass()),
                Some(other) => panic!("{mark}: {other}"),
                None => it.resume_with([("g", Answer::Decide(approve()))]),
            };
        }
        let outcome = it.outcome();
        let reason = match mark {
            "@nested" | "@inner" => &outcome.detail["reason"],
            _ => &json!(outcome.reason.as_deref()),
        };
        assert_eq!(reason, "template_failed", "{mark}: {outcome:?}");
        let told = outcome.detail.to_string();
        assert!(told.contains("{{step.gone}}` has no value here"), "{told}");
        let asked = it.requests.values().flatten();
        for request in asked {
            let text = format!("{}{}", request.system, request.prompt());
            assert!(!text.contains("step.gone"), "{mark}: {text}");
        }
        let checks = it.looked.iter().flat_map(|looked| &looked.checks);
        for check in checks {
            assert!(!format!("{check:?}").contains("step.gone"), "{mark}");
        }
        assert!(!format!("{:?}", it.dispatched).contains("step.gone"));
    }
}

#[test]
fn a_pre_or_post_step_without_a_value_fails_by_its_on_error_and_calls_nothing() {
    // G3, V23
    for (on_error, ends) in [("fail", "post_step_failed"), ("continue", "")] {
        let mut it = story(&format!(
            "@ pre_steps: [{{ name: p, tool: look, on_error: skip_remaining }}, {{ name: gone, tool: look }}]
             @ post_steps: [{{ name: q, tool: act, on_error: {on_error}, args: {{ x: '{{{{step.gone}}}}' }} }}]
             a -> done"
        ))
        .start();
        it.tool("p", failed("no")).answer("a", pass());
        match ends {
            "" => it.expect_succeeded(),
            reason => it.expect_failed(reason),
        };
        assert_eq!(it.dispatched.len(), 1);
    }
}
