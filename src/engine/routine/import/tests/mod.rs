//! Files of other systems: each name of the format's tables, what is refused, and where it stands.

mod manifest;
mod rows;
mod task_list;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::engine::routine::definition::{AgentStep, Body, StepDefinition, StepKind};
use crate::engine::routine::file::RoutineFile;
use crate::engine::routine::issue::{Code, Issue, Severity};
use crate::engine::routine::render::Drawing;
use crate::engine::routine::{CheckedRoutine, Loaded, fixtures, load};

const ARTICLE: &str = include_str!("../../../../../tests/fixtures/foreign/manifest-article.yaml");
const TRIAGE: &str = include_str!("../../../../../tests/fixtures/foreign/manifest-triage.json");
const DIGEST: &str = include_str!("../../../../../tests/fixtures/foreign/tasks-digest.json");
const FLOW: &str = include_str!("../../../../../tests/fixtures/foreign/tasks-control-flow.json");

fn errors(text: &str) -> Vec<Issue> {
    let mut issues = load(text.as_bytes(), &fixtures::known()).issues;
    issues.retain(|issue| issue.severity == Severity::Error);
    issues
}

fn valid(text: &str) -> CheckedRoutine {
    let Loaded { issues, routine } = load(text.as_bytes(), &fixtures::known());
    routine.unwrap_or_else(|| panic!("{issues:#?}"))
}

/// Where a piece of a file stands, as issues say it.
fn place(text: &str, piece: &str) -> (u32, u32) {
    let at = text.find(piece).unwrap_or_else(|| panic!("no {piece}"));
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    (line as u32, column as u32)
}

/// The fixture with one thing changed has this one error, where the piece stands.
fn refused(fixture: &str, old: &str, new: &str, code: Code, piece: &str) -> Issue {
    assert!(fixture.contains(old), "{old}");
    let text = fixture.replacen(old, new, 1);
    let errors = errors(&text);
    let found: Vec<_> = errors.iter().map(|issue| issue.code).collect();
    assert_eq!(found, [code], "{new}: {errors:#?}");
    let issue = errors.into_iter().next().expect("one");
    assert_eq!(
        (issue.line, issue.column),
        place(&text, piece),
        "{new}: {issue:#?}"
    );
    issue
}

fn step<'b>(body: &'b Body, slug: &str) -> &'b StepDefinition {
    let found = body.steps.iter().find(|step| step.slug == slug);
    found.unwrap_or_else(|| panic!("no {slug}"))
}

fn agent<'b>(body: &'b Body, slug: &str) -> &'b AgentStep {
    match &step(body, slug).kind {
        StepKind::Agent(agent) => agent,
        other => panic!("{slug}: {other:?}"),
    }
}

fn edges(body: &Body) -> Vec<String> {
    body.edges
        .iter()
        .map(|edge| format!("{}->{}", edge.from, edge.to))
        .collect()
}

/// G14
#[test]
fn every_fixture_is_valid_and_reads_well_as_an_outline() {
    for (name, text) in [
        ("article", ARTICLE),
        ("triage", TRIAGE),
        ("digest", DIGEST),
        ("control-flow", FLOW),
    ] {
        assert_snapshot!(name, Drawing::of(&valid(text).graph).to_text());
    }
}

/// Every place of a value, counted depth first.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum::<usize>(),
        Value::Object(entries) => entries.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Puts something else in the place of that number.
fn replace(value: &mut Value, place: &mut usize, with: &Value) {
    if *place == 0 {
        *value = with.clone();
    }
    *place = place.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, place, with)),
        Value::Object(entries) => entries
            .values_mut()
            .for_each(|item| replace(item, place, with)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands where something else should: no panic, and every problem has a place in the file.
    #[test]
    fn a_broken_file_is_refused_where_it_is_broken(
        fixture in 0..4_usize,
        places in prop::collection::vec((any::<prop::sample::Index>(), 0..9_usize), 1..3),
    ) {
        let text = [ARTICLE, TRIAGE, DIGEST, FLOW][fixture];
        let file = RoutineFile::parse(text.as_bytes()).expect("yaml");
        let mut file = file.root.to_json().expect("json");
        let odd = [
            json!(null), json!(5), json!(true), json!("x"), json!("{{result.Write}}"),
            json!([]), json!({}), json!([null, "a"]), json!({"name": "x", "type": "map"}),
        ];
        for (place, with) in places {
            let mut place = place.index(count(&file));
            replace(&mut file, &mut place, &odd[with]);
        }
        let text = serde_json::to_string_pretty(&file).expect("json");
        let Loaded { issues, routine } = load(text.as_bytes(), &fixtures::known());
        let refused = issues.iter().any(|issue| issue.severity == Severity::Error);
        prop_assert_eq!(routine.is_none(), refused);
        for issue in issues {
            let line = text.lines().nth(issue.line as usize - 1);
            let columns = line.map_or(0, |line| line.chars().count());
            prop_assert!((1..=columns).contains(&(issue.column as usize)), "{issue:?}");
        }
    }
}
