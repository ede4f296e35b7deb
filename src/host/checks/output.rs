//! `output` checks: the shape of what a step gave (L8). They say nothing about its truth.

use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

use crate::engine::verify::{Finding, Observation, ObservationPhase};
use crate::host::checks::{blocked, uncertain};
use crate::host::schema::Schema;

/// What an output should be.
pub(super) struct Wanted {
    pub(super) schema: Option<Value>,
    pub(super) contains: Option<String>,
    pub(super) matches: Option<String>,
}

pub(super) fn find(observation: &Observation, wanted: &Wanted) -> Finding {
    let view = observation.json();
    let output = match observation.phase() {
        // A gate that is decided by checks has no output yet: it judges what came in.
        ObservationPhase::Step => view
            .pointer("/result/output")
            .or_else(|| view.get("output")),
        ObservationPhase::Final => view.get("output"),
    };
    let Some(output) = output else {
        return blocked("there is no output");
    };
    match wrong(output, wanted) {
        Ok(wrong) if wrong.is_empty() => Finding::Verified,
        Ok(wrong) => blocked(wrong.join(", ")),
        Err(reason) => uncertain(reason),
    }
}

/// What doesn't hold; an error is a check that can't be made.
fn wrong(output: &Value, wanted: &Wanted) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    if let Some(schema) = &wanted.schema
        && let Err(reason) = Schema::of(schema)?.check(output)
    {
        wrong.push(format!("the output doesn't fit the schema: {reason}"));
    }
    let text = match output {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    };
    if let Some(part) = &wanted.contains
        && !text.contains(part.as_str())
    {
        wrong.push(format!("the output doesn't contain {part:?}"));
    }
    if let Some(pattern) = &wanted.matches {
        let regex = Regex::new(pattern).map_err(|error| format!("a bad pattern: {error}"))?;
        if !regex.is_match(&text) {
            wrong.push(format!("the output doesn't match /{pattern}/"));
        }
    }
    Ok(wrong)
}
