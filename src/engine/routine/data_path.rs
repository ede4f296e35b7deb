//! Paths into JSON: dots and brackets, as in `results[0].entries` (routine-format.md).
//!
//! Paths come from files and are walked over what models and servers answered; a path that leads
//! nowhere is an answer, not an error.

use std::borrow::Cow;

use serde_json::Value;

/// Names under which an object's items are looked for, in this order.
const ITEM_NAMES: [&str; 8] = [
    "data", "items", "results", "entries", "list", "records", "values", "elements",
];

/// A path that was understood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DataPath {
    steps: Vec<PathStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Name(String),
    Index(usize),
}

/// The text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no path; write names with dots and indices in brackets, as in results[0].entries"
)]
pub struct BadPath(String);

impl DataPath {
    /// Reads a path. Empty text leads to the value itself.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        let bad = || BadPath(text.to_owned());
        let mut steps = Vec::new();
        let mut rest = text.trim();
        let mut first = true;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (index, after) = inner.split_once(']').ok_or_else(bad)?;
                let index = index.trim();
                let quoted = ['"', '\'']
                    .into_iter()
                    .find_map(|quote| index.strip_prefix(quote)?.strip_suffix(quote));
                steps.push(match quoted {
                    Some(name) => PathStep::Name(name.to_owned()),
                    None => PathStep::Index(index.parse().map_err(|_| bad())?),
                });
                rest = after;
            } else {
                let after = match rest.strip_prefix('.') {
                    Some(after) if !first => after,
                    Some(_) => return Err(bad()),
                    None if first => rest,
                    None => return Err(bad()),
                };
                let end = after.find(['.', '[']).unwrap_or(after.len());
                let name = &after[..end];
                if name.is_empty() || name.contains(']') {
                    return Err(bad());
                }
                steps.push(PathStep::Name(name.to_owned()));
                rest = &after[end..];
            }
            first = false;
        }
        Ok(Self { steps })
    }

    /// Walks. Text that holds JSON is read as JSON before the next step; a whole number as a name
    /// finds an item of an array too.
    pub fn find<'v>(&self, value: &'v Value) -> Option<Cow<'v, Value>> {
        let mut here = opened(Cow::Borrowed(value));
        for step in &self.steps {
            here = opened(match here {
                Cow::Borrowed(value) => Cow::Borrowed(step.of(value)?),
                Cow::Owned(value) => Cow::Owned(step.of(&value)?.clone()),
            });
        }
        Some(here)
    }
}

impl PathStep {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (self, value) {
            (Self::Name(name), Value::Object(object)) => object.get(name),
            (Self::Name(name), Value::Array(items)) => items.get(name.parse::<usize>().ok()?),
            (Self::Index(index), Value::Array(items)) => items.get(*index),
            (Self::Index(index), Value::Object(_)) => items(value)?.get(*index),
            (
                Self::Name(_) | Self::Index(_),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_),
            ) => None,
        }
    }
}

/// The items of a value: an array's own, or the first array that an object holds under a usual name.
pub fn items(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) => Some(items),
        Value::Object(object) => ITEM_NAMES
            .iter()
            .find_map(|name| object.get(*name)?.as_array().map(Vec::as_slice)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Text that holds a JSON object or array becomes what it holds.
fn opened(value: Cow<'_, Value>) -> Cow<'_, Value> {
    let Value::String(text) = value.as_ref() else {
        return value;
    };
    if !text.trim_start().starts_with(['{', '[']) {
        return value;
    }
    match serde_json::from_str(text) {
        Ok(inner) => Cow::Owned(inner),
        Err(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find(path: &str, value: &Value) -> Option<Value> {
        DataPath::parse(path)
            .expect("path")
            .find(value)
            .map(Cow::into_owned)
    }

    #[test]
    fn dots_and_brackets_lead_into_json() {
        let value = json!({"results": [{"entries": [1, 2]}, {"a b": "x"}]});
        assert_eq!(find("results[0].entries", &value), Some(json!([1, 2])));
        assert_eq!(find("results[0].entries[1]", &value), Some(json!(2)));
        assert_eq!(find("results.1.a b", &value), Some(json!("x")));
        assert_eq!(find("results[\"1\"]['a b']", &value), Some(json!("x")));
        assert_eq!(find("", &value), Some(value.clone()));
        assert_eq!(find("results[7]", &value), None);
        assert_eq!(find("results[0].entries.length", &value), None);
    }

    #[test]
    fn text_that_is_json_is_read_first() {
        let value = json!({"body": "{\"state\": [\"green\"]}"});
        assert_eq!(find("body.state[0]", &value), Some(json!("green")));
        assert_eq!(find("[0]", &json!("[5]")), Some(json!(5)));
        assert_eq!(find("", &json!("plain")), Some(json!("plain")));
    }

    #[test]
    fn an_object_counts_as_its_first_array() {
        assert_eq!(
            items(&json!({"data": 1, "results": [2]})),
            Some(&[json!(2)][..])
        );
        assert_eq!(items(&json!({"rows": [2]})), None);
        assert_eq!(find("[0]", &json!({"items": ["x"]})), Some(json!("x")));
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [".a", "a..b", "a[", "a[x]", "a]b", "a.", "[0]b"] {
            assert!(DataPath::parse(text).is_err(), "{text}");
        }
    }
}
