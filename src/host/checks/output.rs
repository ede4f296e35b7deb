//! `output` checks: the shape of what a step gave (L8). They say nothing about its truth.

use std::borrow::Cow;

use regex::Regex;
use serde_json::{Map, Value};

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
    let Some(output) = judged(observation) else {
        return blocked("there is no output");
    };
    match wrong(&output, wanted) {
        Ok(wrong) if wrong.is_empty() => Finding::Verified,
        Ok(wrong) => blocked(wrong.join(", ")),
        Err(reason) => uncertain(reason),
    }
}

/// The output that is looked at.
fn judged(observation: &Observation) -> Option<Cow<'_, Value>> {
    let view = observation.json();
    match observation.phase() {
        ObservationPhase::Step => match view.get("result")? {
            // A gate that is decided by checks has no output yet: it judges what came in.
            Value::Null => only_or_all(view, "predecessors", |result| result.get("output")),
            result => result.get("output").map(Cow::Borrowed),
        },
        ObservationPhase::Final => only_or_all(view, "terminals", Some),
    }
}

/// The one value of an object's field, with several an object by slug.
fn only_or_all<'a>(
    view: &'a Value,
    field: &str,
    part: impl Fn(&'a Value) -> Option<&'a Value>,
) -> Option<Cow<'a, Value>> {
    let all = view.get(field)?.as_object()?;
    let mut parts = all.iter().map(|(slug, whole)| (slug, part(whole)));
    match (parts.next(), all.len()) {
        (None, _) => Some(Cow::Owned(Value::Null)),
        (Some((_, only)), 1) => only.map(Cow::Borrowed),
        (Some(first), _) => std::iter::once(first)
            .chain(parts)
            .map(|(slug, part)| Some((slug.clone(), part?.clone())))
            .collect::<Option<Map<_, _>>>()
            .map(|all| Cow::Owned(Value::Object(all))),
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
