//! Files of 100 KB and more that once took seconds or gigabytes: each of a kind in which something
//! was looked for in a list, or repeated, once for each of many others.

use std::time::{Duration, Instant};

use crate::engine::routine::fixtures::{self, PLAIN};
use crate::engine::routine::issue::{Code, Issue};
use crate::engine::routine::load;

/// Generous: these take milliseconds in a release build.
const SOON: Duration = Duration::from_secs(10);
const MANY: usize = 15_000;

/// The issues of a file, which must come soon and be of a reasonable size.
#[track_caller]
fn judged(text: &str) -> Vec<Issue> {
    let begun = Instant::now();
    let issues = load(text.as_bytes(), &fixtures::known()).issues;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let told: usize = issues
        .iter()
        .map(|it| it.message.len() + it.step.as_ref().map_or(0, String::len))
        .sum();
    assert!(told < 4 * text.len() + 10_000_000, "{told} bytes are told");
    issues
}

fn list(of: impl Fn(usize) -> String) -> String {
    (0..MANY).map(of).collect::<Vec<_>>().join(",")
}

fn has(issues: &[Issue], code: Code) -> bool {
    issues.iter().any(|it| it.code == code)
}

#[test]
fn many_parameters_and_many_templates() {
    let text = PLAIN
        .replace(
            "entry_steps:",
            &format!(
                "parameters: [{}]\nentry_steps:",
                list(|n| format!("{{name: p{n}}}"))
            ),
        )
        .replace("Work.}", &format!("'{}'}}", "{{param.zz}}".repeat(MANY)));
    assert!(has(&judged(&text), Code::BadTemplate));
}

#[test]
fn many_pre_steps_and_many_templates() {
    let steps = list(|n| format!("{{name: p{n}, tool: read_file}}"));
    let text = PLAIN
        .replace(
            "entry_steps:",
            &format!("pre_steps: [{steps}]\nentry_steps:"),
        )
        .replace("Work.}", &format!("'{}'}}", "{{step.zz}}".repeat(MANY)));
    assert!(has(&judged(&text), Code::BadTemplate));
}

#[test]
fn many_members() {
    let text = PLAIN.replace(
        "members: [b]",
        &format!("members: [{}]", list(|n| format!("m{n}"))),
    );
    assert!(has(&judged(&text), Code::UnknownAgent));
}

#[test]
fn much_coverage() {
    let required = list(|n| format!("r{n}"));
    let text = PLAIN.replace(
        "covers: [it]",
        &format!("covers: [{}]", list(|n| format!("c{n}"))),
    ) + &format!("assurance: {{required_coverage: [{required}]}}\n");
    assert!(has(&judged(&text), Code::BadAssurance));
}

#[test]
fn long_names_and_many_slips() {
    let slug = |n: usize| format!("{n}{}", "s".repeat(55));
    let steps: String = (0..1_000)
        .map(|n| format!("  - {{slug: {}, type: terminal}}\n", slug(n)))
        .collect();
    let edges: String = (0..500)
        .map(|n| format!("  - {{from: {}tt, to: {}}}\n", slug(n), slug(n)))
        .collect();
    let text = PLAIN.replace("edges:\n", &format!("{steps}edges:\n{edges}"));
    assert!(has(&judged(&text), Code::UnknownStep));
}

/// Every problem of a step names it, and so does every tool that it asks for.
#[test]
fn a_slug_without_end_is_not_repeated_in_full() {
    let slug = "x".repeat(500_000);
    let tools = list(|_| "a".to_owned());
    let fields: String = (0..5_000).map(|n| format!("k{n}: 1,")).collect();
    let text = PLAIN.replace(
        "{slug: work, type: agent, agent: a, instructions: Work.}",
        &format!("{{slug: {slug}, type: agent, agent: a, tools: [{tools}], {fields}}}"),
    );
    assert!(has(&judged(&text), Code::BadSlug));
}

/// Each cycle tells its path.
#[test]
fn thousands_of_long_cycles() {
    let steps: String = (0..3_000)
        .map(|n| format!("  - {{slug: s{n}, type: agent, agent: a}}\n"))
        .collect();
    let edges: String = (0..2_999)
        .map(|n| {
            format!(
                "  - {{from: s{n}, to: s{}}}\n  - {{from: s{n}, to: s0}}\n",
                n + 1
            )
        })
        .collect();
    let text = PLAIN.replace("edges:\n", &format!("{steps}edges:\n{edges}"));
    let issues = judged(&text);
    let cycle = issues
        .iter()
        .find(|it| it.message.contains('…'))
        .expect("a long cycle");
    assert_eq!(cycle.code, Code::Cycle);
    assert!(
        cycle.message.starts_with("s0 -> s1 -> "),
        "{}",
        cycle.message
    );
}

/// What people may answer is compared with what else they may answer.
#[test]
fn many_ways_of_one_person() {
    let way = |n: usize| {
        let word = ["changes_requested", "rejected"][n % 2];
        format!("{{source_step: h, target_step: d, condition: {word}}}")
    };
    let text = format!(
        "slug: x\nentry_steps: [h]\nsteps: [{{slug: h, step_type: human}}, {{slug: d, step_type: terminal}}]\nedges: [{}]\n",
        list(way)
    );
    assert!(has(&judged(&text), Code::Unsupported));
}
