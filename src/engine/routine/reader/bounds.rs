//! Every number of a file at its bounds and beyond them (V19, B6).

use crate::engine::routine::issue::{Code, Severity};
use crate::engine::routine::{fixtures, load};

/// Every number that a file may hold, each under a name of its own.
const NUMBERS: &str = r#"
routine: numbers
deadline_ms: $deadline
agents: { a: { max_output_tokens: $tokens }, b: {} }
councils: { c: { leader: a, members: [b], strategy: dynamic, max_calls: $calls } }
pre_steps: [{ name: p, tool: memory_list, timeout_ms: $pre }]
entry_steps: [work]
steps:
  - slug: work
    type: agent
    agent: a
    corrections: $corrections
    max_model_calls: $models
    timeout_ms: $agent
    reflection: { mode: strict, min_score: $score }
    verify: [{ check: command, run: [x], timeout_ms: $check, poll_ms: $poll }]
  - { slug: call, type: tool, tool: memory_list, timeout_ms: $tool }
  - { slug: talk, type: council, council: c, timeout_ms: $council }
  - slug: each
    type: map
    source: { memory_key: k }
    max_iterations: $map
    iteration_deadline_ms: $each
    routine:
      pre_steps: [{ name: in, tool: memory_list, timeout_ms: $inner }]
      steps: [{ slug: n, type: agent, agent: b }]
  - slug: all
    type: fold
    source: { memory_key: k }
    initial_value: 0
    result_key: r
    max_iterations: $fold
    iteration_deadline_ms: $all
    routine: { steps: [{ slug: n, type: agent, agent: b }] }
  - slug: till
    type: until
    stop_when: { memory_key: k, operator: exists }
    max_iterations: $until
    iteration_deadline_ms: $till
    routine: { steps: [{ slug: n, type: agent, agent: b }] }
  - { slug: judge, type: gate, agent: b, timeout_ms: $gate, criteria: [x] }
  - slug: look
    type: gate
    checks:
      - { check: file, path: x, min_bytes: $bytes, poll_ms: $look }
      - { check: http, url: "http://x", expect: { status: $status } }
  - { slug: done, type: terminal }
edges:
  - { from: work, to: call }
  - { from: call, to: talk }
  - { from: talk, to: each }
  - { from: each, to: all }
  - { from: all, to: till }
  - { from: till, to: judge }
  - { from: judge, to: look, condition: on_pass }
  - { from: judge, to: work, condition: on_fail, max_attempts: $attempts }
  - { from: look, to: done, condition: on_pass }
post_steps: [{ name: q, tool: memory_list, timeout_ms: $post }]
verify: [{ check: manual, prompt: x, timeout_ms: $final }]
"#;

const LAST_MS: &str = "2147483647";
const WIDE: &str = "4294967295";

/// Each number with its least, its most, and the code of one outside.
const TABLE: &[(&str, &str, &str, Code)] = &[
    ("$deadline", "0", LAST_MS, Code::BadTimer),
    ("$each", "0", LAST_MS, Code::BadTimer),
    ("$all", "0", LAST_MS, Code::BadTimer),
    ("$till", "0", LAST_MS, Code::BadTimer),
    ("$pre", "1", LAST_MS, Code::BadTimer),
    ("$inner", "1", LAST_MS, Code::BadTimer),
    ("$post", "1", LAST_MS, Code::BadTimer),
    ("$agent", "1", LAST_MS, Code::BadTimer),
    ("$gate", "1", LAST_MS, Code::BadTimer),
    ("$council", "1", LAST_MS, Code::BadTimer),
    ("$tool", "1", LAST_MS, Code::BadTimer),
    ("$check", "1", LAST_MS, Code::BadTimer),
    ("$final", "1", LAST_MS, Code::BadTimer),
    ("$poll", "100", LAST_MS, Code::BadTimer),
    ("$look", "100", LAST_MS, Code::BadTimer),
    ("$map", "1", "1000", Code::BadMaxIterations),
    ("$fold", "1", "1000", Code::BadMaxIterations),
    ("$until", "1", "1000", Code::BadMaxIterations),
    ("$attempts", "1", WIDE, Code::BadMaxAttempts),
    ("$models", "1", WIDE, Code::BadValue),
    ("$corrections", "0", WIDE, Code::BadValue),
    ("$calls", "1", WIDE, Code::BadValue),
    ("$tokens", "1", WIDE, Code::BadValue),
    ("$score", "0", "100", Code::BadValue),
    ("$bytes", "0", "18446744073709551615", Code::BadCheck),
    ("$status", "100", "599", Code::BadCheck),
];

fn errors(name: &str, number: &str) -> Vec<Code> {
    let mut text = NUMBERS.to_owned();
    for (other, least, ..) in TABLE {
        let number = if *other == name { number } else { least };
        // A name that begins like another is followed by something else.
        for end in [' ', '\n', ','] {
            text = text.replace(&format!("{other}{end}"), &format!("{number}{end}"));
        }
    }
    assert!(!text.contains('$'), "{text}");
    let mut issues = load(text.as_bytes(), &fixtures::known()).issues;
    issues.retain(|issue| issue.severity == Severity::Error);
    issues.iter().map(|issue| issue.code).collect()
}

#[test]
fn every_number_is_taken_up_to_its_bounds_and_no_further() {
    for &(name, least, most, code) in TABLE {
        assert_eq!(errors(name, least), [], "{name}: {least}");
        assert_eq!(errors(name, most), [], "{name}: {most}");
        let least: i128 = least.parse().expect("a number");
        let most: i128 = most.parse().expect("a number");
        for beyond in [
            least - 1,
            most + 1,
            -2_147_483_648,
            i128::from(u64::MAX) * 4,
        ] {
            let beyond = beyond.to_string();
            assert_eq!(errors(name, &beyond), [code], "{name}: {beyond}");
        }
    }
}

#[test]
fn what_is_no_whole_number_is_none() {
    for &(name, _, _, code) in TABLE {
        for odd in [
            "1.5", "'5'", "true", "[1]", "{ n: 1 }", "null", ".nan", ".inf", "1e400",
        ] {
            let found = errors(name, odd);
            let fraction = name == "$score" && odd == "1.5";
            match fraction {
                true => assert_eq!(found, [], "{name}: {odd}"),
                false => assert!(
                    !found.is_empty() && found.iter().all(|it| *it == code || *it == Code::Parse),
                    "{name}: {odd}: {found:?}"
                ),
            }
        }
    }
}
