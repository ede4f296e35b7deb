//! Each field that takes templates, and each kind of name that has no value there (V21).

use crate::engine::routine::issue::{Code, Issue};
use crate::engine::routine::{fixtures, load};

/// Every field that takes templates, each at a place of its own; `@…` marks it.
const EVERYWHERE: &str = r#"
routine: everywhere
parameters: [{ name: p }, { name: "two words" }, { name: a-b }, { name: constructor }, { name: __proto__ }]
instructions: "@routine"
agents:
  a: { instructions: "@agent" }
  member: { instructions: "@member" }
  idle: { instructions: "@idle" }
councils: { c: { leader: a, members: [member], strategy: broadcast } }
pre_steps:
  - { name: first, tool: read_file, args: { path: "@pre" } }
  - { name: second, tool: read_file, args: { "{{key}}": [{ deep: "@deep" }] } }
entry_steps: [work]
steps:
  - slug: work
    type: agent
    agent: a
    instructions: "@instructions"
    expected_output: "@expected"
    criteria: [plain, "@criterion"]
    verify:
      - { check: command, run: [echo, "@run"], cwd: "@cwd" }
      - { check: file, path: "@path", contains: "@contains", sha256: "@sha256" }
      - { check: output, contains: "@output", matches: "@matches" }
      - { check: manual, prompt: "@prompt" }
      - { check: synthetic, job: "@job" }
      - check: http
        url: "@url"
        headers: { accept: "@header" }
        expect: { path: "@expect", equals: ["@equals"] }
  - { slug: call, type: tool, tool: read_file, args: { path: "@args" } }
  - { slug: talk, type: council, council: c, instructions: "@council" }
  - slug: each
    type: map
    source: { memory_key: "@source", path: "@items" }
    routine:
      instructions: "@nested"
      pre_steps: [{ name: in, tool: read_file, args: { path: "@inner-pre" } }]
      steps: [{ slug: one, type: agent, agent: a, instructions: "@inner" }]
      post_steps: [{ name: out, tool: read_file, args: { path: "@inner-post" } }]
      verify: [{ check: manual, prompt: "@inner-final" }]
  - { slug: ask, type: gate, operator: true, instructions: "@gate", criteria: ["@gate-criterion"] }
  - { slug: look, type: gate, checks: [{ check: manual, prompt: "@gate-check" }] }
  - { slug: done, type: terminal, reason: "@done" }
  - { slug: lost, type: terminal_fail, reason: "@lost" }
edges:
  - { from: work, to: call }
  - { from: call, to: talk }
  - { from: talk, to: each }
  - { from: each, to: ask }
  - { from: ask, to: look, condition: on_pass }
  - { from: ask, to: lost, condition: on_fail }
  - { from: look, to: done, condition: on_pass }
  - { from: look, to: lost, condition: on_fail }
post_steps: [{ name: last, tool: read_file, args: { path: "@post" } }]
verify: [{ check: manual, prompt: "@final" }]
"#;

fn marks() -> Vec<&'static str> {
    let marks = EVERYWHERE.split('"').filter(|text| text.starts_with('@'));
    marks.collect()
}

/// The issues of the file with this text at one mark; the other marks hold no template.
fn issues(mark: &str, text: &str) -> (Vec<Issue>, (u32, u32)) {
    let marked = format!("\"{mark}\"");
    let file = EVERYWHERE.replacen(&marked, &format!("\"{text}\""), 1);
    // What has a form of its own keeps it.
    let file = file
        .replace("\"@sha256\"", &format!("\"{}\"", "0".repeat(64)))
        .replace("\"@url\"", "\"http://x\"");
    let before = &EVERYWHERE[..EVERYWHERE.find(&marked).expect("a mark")];
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    let place = (before.lines().count() as u32, column as u32);
    let mut issues = load(file.as_bytes(), &fixtures::known()).issues;
    issues.retain(|issue| issue.code.label() != "edge-without-handoff");
    issues.retain(|issue| issue.code.label() != "gate-without-criteria");
    (issues, place)
}

fn assert_bad(mark: &str, text: &str) {
    let (found, place) = issues(mark, text);
    assert!(!found.is_empty(), "{mark}: {text} is taken");
    for issue in found {
        assert_eq!(issue.code, Code::BadTemplate, "{mark}: {text}: {issue:?}");
        let at = (issue.line, issue.column);
        assert_eq!(at, place, "{mark}: {text}: {issue:?}");
    }
}

fn assert_good(mark: &str, text: &str) {
    let (found, _) = issues(mark, text);
    assert!(found.is_empty(), "{mark}: {text}: {found:#?}");
}

#[test]
fn a_name_without_value_is_a_bad_template_in_every_field() {
    assert_eq!(marks().len(), 38);
    for mark in marks() {
        for text in [
            "{{param.nope}}",
            "{{param.P}}",
            "{{param.toString}}",
            "{{nope}}",
            "{{user.name}}",
            "{{param.}}",
            "{{}}",
            "{{ }}",
            "{{map.length}}",
            "{{fold.item}}",
            "{{oops",
            "{{param.p}",
            "{{{param.p}}}",
            "{{{{ {{param.nope}}",
        ] {
            assert_bad(mark, text);
        }
        if mark != "@idle" {
            for text in ["{{step.nope}}", "{{result.nope}}", "{{fold.accumulator}}"] {
                assert_bad(mark, text);
            }
        }
    }
}

#[test]
fn a_name_with_a_value_is_taken_in_every_field() {
    for mark in marks() {
        for text in [
            "{{param.p}}",
            "{{ param.p }}",
            "<{{param.two words}}>",
            "{{param.a-b}}",
            "{{param.constructor}}{{param.__proto__}}",
            "{{{{ {{param.p}} }}",
            "}} {{param.p}}",
            "{ {{param.p}} }",
        ] {
            // A path is a path also where nothing in it is a name.
            assert_good(mark, text);
        }
    }
}

/// Where the names of a namespace have values: the marks whose fields see them.
#[test]
fn each_namespace_has_values_where_its_things_have_happened() {
    let inner = [
        "@nested",
        "@inner-pre",
        "@inner",
        "@inner-post",
        "@inner-final",
    ];
    let before = ["@routine", "@pre", "@deep"];
    let own = [
        "@run",
        "@cwd",
        "@path",
        "@sha256",
        "@contains",
        "@output",
        "@matches",
        "@prompt",
        "@job",
        "@url",
        "@header",
        "@expect",
        "@equals",
    ];
    // The agent `a` begins the routine, works in the council and inside of the map.
    let agents = ["@agent", "@idle"];
    for mark in marks() {
        let sees = |text: &str, has: bool| match has {
            true => assert_good(mark, text),
            false if mark == "@idle" => assert_good(mark, text),
            false => assert_bad(mark, text),
        };
        let is_inner = inner.contains(&mark);
        let is_end = ["@post", "@final"].contains(&mark);
        sees("{{map.item}}{{map.index}}{{map.total}}", is_inner);
        sees("{{step.first}}", !["@pre"].contains(&mark));
        sees("{{step.second}}", !["@pre", "@deep"].contains(&mark));
        sees("{{step.last}}", mark == "@final");
        sees(
            "{{step.in}}",
            ["@nested", "@inner", "@inner-post", "@inner-final"].contains(&mark),
        );
        sees("{{step.out}}", mark == "@inner-final");
        sees(
            "{{result.one}}",
            ["@inner-post", "@inner-final"].contains(&mark),
        );
        let after_work = !before.contains(&mark)
            && !agents.contains(&mark)
            && !["@instructions", "@expected", "@criterion"].contains(&mark);
        sees("{{result.work}}", after_work);
        let after_talk =
            after_work && !own.contains(&mark) && !["@args", "@council", "@member"].contains(&mark);
        sees("{{result.talk}}", after_talk);
        let after_each = after_talk && !is_inner && !["@source", "@items"].contains(&mark);
        sees("{{result.each}}", after_each);
        let after_look = is_end || ["@done", "@lost"].contains(&mark);
        sees("{{result.look}}", after_look);
    }
}

#[test]
fn an_agent_that_works_nowhere_is_judged_by_its_inputs_alone() {
    assert_good("@idle", "{{map.item}} {{result.nope}}");
    assert_bad("@idle", "{{param.nope}}");
}

#[test]
fn what_an_agent_is_told_must_have_a_value_in_each_of_its_steps() {
    // `a` leads the council too, but it also begins the routine.
    let (found, _) = issues("@agent", "{{result.work}}");
    let steps: Vec<_> = found.iter().map(|issue| issue.step.as_deref()).collect();
    assert_eq!(steps, [Some("work")]);
    let (found, _) = issues("@member", "{{result.each}}");
    let steps: Vec<_> = found.iter().map(|issue| issue.step.as_deref()).collect();
    assert_eq!(steps, [Some("talk")]);
    assert_good("@member", "{{result.work}} {{result.call}} {{step.second}}");
}
