//! The loader and the plain second reading of G12 find the same problems, in valid routines and in
//! broken ones; and the cases in which they once didn't.

mod dice;
mod found;
mod mutation;
mod valid;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::engine::routine::file::RoutineFile;
use crate::engine::routine::fixtures;
use crate::engine::routine::issue::{Code, Issue, Severity};
use crate::engine::routine::load;
use crate::engine::routine::tests::agreement::dice::Dice;
use crate::engine::routine::tests::naive::{self, Problem};

/// Routines that are looked at.
const ROUTINES: u64 = 900;
/// Most mistakes in one of them.
const MISTAKES: usize = 4;

fn issues(file: &Value) -> Vec<Issue> {
    load(file.to_string().as_bytes(), &fixtures::known()).issues
}

/// What the loader found, in the plain reading's terms, and the edges that it says close a cycle.
fn in_plain_terms(issues: Vec<Issue>) -> (BTreeSet<Problem>, Vec<String>) {
    let mut cycles = Vec::new();
    let mut found = BTreeSet::new();
    for issue in issues {
        if issue.code == Code::Cycle {
            cycles.extend(issue.edge);
            found.insert(("cycle", None));
        } else {
            found.insert((issue.code.label(), issue.edge.or(issue.step)));
        }
    }
    (found, cycles)
}

/// How the two disagree, if they do.
fn disagreement(file: &Value) -> Option<String> {
    let (found, cycles) = in_plain_terms(issues(file));
    let plain = naive::judge(file, &fixtures::known(), &cycles);
    let only = |one: &BTreeSet<Problem>, other| one.difference(other).cloned().collect::<Vec<_>>();
    let (loader, second) = (only(&found, &plain.found), only(&plain.found, &found));
    let inside = |edge: &String| plain.cyclic.iter().any(|part| part.contains(edge));
    if loader.is_empty() && second.is_empty() && cycles.iter().all(inside) {
        return None;
    }
    Some(format!(
        "the loader alone: {loader:?}\nthe second reading alone: {second:?}\ncycles {cycles:?} in {:?}\n",
        plain.cyclic
    ))
}

#[track_caller]
fn assert_agreement(file: &Value) {
    if let Some(text) = disagreement(file) {
        panic!("{text}{file}");
    }
}

/// The routine of a seed, with its mistakes.
fn routine(seed: u64) -> Value {
    let mut dice = Dice::seeded(seed);
    let mut file = valid::routine(&mut dice);
    for _ in 0..dice.below(MISTAKES) {
        mutation::mutate(&mut dice, &mut file);
    }
    if dice.once_in(2) {
        // In turn, so that the rarest slip comes up too.
        let turn = usize::try_from(seed / 2).expect("small");
        mutation::write(&mut dice, &mut file, turn);
    }
    file
}

/// G12
#[test]
fn the_loader_finds_what_a_plain_second_reading_finds() {
    let mut reached: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..ROUTINES {
        let file = routine(seed);
        if let Some(text) = disagreement(&file) {
            panic!("seed {seed}: {text}{file}");
        }
        for (code, _) in in_plain_terms(issues(&file)).0 {
            *reached.entry(code).or_default() += 1;
        }
    }
    // These have tests of their own.
    let elsewhere = [
        Code::Parse,
        Code::TooManySteps,
        Code::TooDeep,
        Code::Unsupported,
    ];
    let missed: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| !elsewhere.contains(code) && !reached.contains_key(code.label()))
        .map(|code| code.label())
        .collect();
    assert!(
        missed.is_empty(),
        "never reached: {missed:?} of {reached:?}"
    );
}

#[test]
fn what_is_made_up_without_mistakes_is_valid() {
    for seed in 0..ROUTINES / 9 {
        let file = valid::routine(&mut Dice::seeded(seed));
        let errors: Vec<Issue> = issues(&file)
            .into_iter()
            .filter(|it| it.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "seed {seed}: {errors:#?}\n{file}");
    }
}

/// G12: only `parse` stops the validation, and then there is nothing else to say.
#[test]
fn half_a_file_is_no_file() {
    for seed in 0..ROUTINES / 9 {
        let mut dice = Dice::seeded(seed);
        let text = valid::routine(&mut dice).to_string();
        let half = &text.as_bytes()[..1 + dice.below(text.len() - 1)];
        let issues = load(half, &fixtures::known()).issues;
        let codes: Vec<Code> = issues.iter().map(|it| it.code).collect();
        assert_eq!(codes, [Code::Parse], "{}", String::from_utf8_lossy(half));
    }
}

fn tree(yaml: &str) -> Value {
    let file = RoutineFile::parse(yaml.as_bytes()).expect("well-formed");
    file.root.to_json().expect("shallow")
}

/// V19
#[test]
fn both_count_a_thousand_steps_without_terminals() {
    for count in [1_000, 1_001] {
        let slugs: Vec<String> = (0..count).map(|n| format!("s{n}")).collect();
        let step = |slug: &String| json!({"slug": slug, "type": "agent", "agent": "default"});
        let mut steps: Vec<Value> = slugs.iter().map(step).collect();
        steps.push(json!({"slug": "done", "type": "terminal"}));
        let edges: Vec<Value> = slugs
            .iter()
            .map(|slug| json!({"from": slug, "to": "done", "purpose": "End"}))
            .collect();
        let file = json!({"routine": "wide", "entry_steps": slugs, "steps": steps, "edges": edges});
        assert_agreement(&file);
        let too_many = issues(&file).iter().any(|it| it.code == Code::TooManySteps);
        assert_eq!(too_many, count > 1_000);
    }
}

/// V19
#[test]
fn both_count_thirty_two_levels() {
    for levels in [31, 32, 33, 34] {
        let step = json!({"slug": "s", "type": "agent", "agent": "default"});
        let until = json!({"memory_key": "k", "operator": "exists"});
        let around = |inner: Value| json!({"slug": "s", "type": "until", "stop_when": until, "routine": {"steps": [inner]}});
        let step = (1..levels).fold(step, |inner, _| around(inner));
        let file = json!({
            "routine": "deep",
            "entry_steps": ["s"],
            "steps": [step, {"slug": "done", "type": "terminal"}],
            "edges": [{"from": "s", "to": "done"}],
        });
        assert_agreement(&file);
        let too_deep = issues(&file).iter().any(|it| it.code == Code::TooDeep);
        assert_eq!(too_deep, levels > 32);
    }
}

/// The files that have one thing wrong each, and those that have none.
#[test]
fn both_agree_on_every_fixture() {
    let broken = fixtures::BROKEN
        .iter()
        .filter(|case| case.code != Code::Parse);
    let files = broken.map(|case| case.file());
    let sound = [fixtures::FORMAT, fixtures::EVERY_FIELD, fixtures::PLAIN].map(str::to_owned);
    for file in files.chain(sound) {
        assert_agreement(&tree(&file));
    }
}
