//! Templates (V21): what they may name at each place.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::engine::routine::tests::naive::{Problems, items, text};

/// The names that have a value at a place.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub(super) parameters: BTreeSet<String>,
    /// Pre and post steps that have run.
    pub(super) steps: BTreeSet<String>,
    /// Graph steps that precede, by slug and by name.
    pub(super) results: BTreeSet<String>,
    /// Slugs of the same body: all, and those of steps that precede.
    pub(super) siblings: Rc<BTreeSet<String>>,
    pub(super) precede: BTreeSet<String>,
    pub(super) in_map: Inside,
    pub(super) in_fold: Inside,
    /// Whether the place may be any: then only parameters are known.
    pub(super) anywhere: Inside,
}

/// Whether the place lies inside something.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Inside {
    #[default]
    No,
    Yes,
}

impl Scope {
    /// Where nothing has run.
    pub(super) fn parameters(root: &Map<String, Value>) -> Self {
        let names = items(root, "parameters")
            .iter()
            .filter_map(|it| text(it, "name"));
        let names = names.filter(|it| !it.trim().is_empty());
        Self {
            parameters: names.map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    pub(super) fn add_result(&mut self, step: &Value) {
        self.results.extend(text(step, "slug").map(str::to_owned));
        self.results.extend(text(step, "name").map(str::to_owned));
    }

    fn has(&self, name: &str) -> bool {
        let Some((group, name)) = name.split_once('.') else {
            return false;
        };
        let (group, name) = (group.trim(), name.trim());
        let visible = match (group, name) {
            (_, "") => return false,
            ("param", name) => return self.parameters.contains(name),
            ("step", name) => self.steps.contains(name),
            ("result", name) => self.results.contains(name),
            ("map", "item" | "index" | "total") => self.in_map == Inside::Yes,
            ("fold", "accumulator") => self.in_fold == Inside::Yes,
            (_, _) => return false,
        };
        visible || self.anywhere == Inside::Yes
    }
}

/// `bad-template` anywhere in a value.
pub(super) fn template(
    problems: &mut Problems,
    at: Option<&str>,
    value: Option<&Value>,
    scope: &Scope,
) {
    match value {
        Some(Value::String(text)) => {
            if !expands(text, scope) {
                problems.add("bad-template", at);
            }
        }
        Some(Value::Array(items)) => {
            for item in items {
                template(problems, at, Some(item), scope);
            }
        }
        Some(Value::Object(map)) => {
            for item in map.values() {
                template(problems, at, Some(item), scope);
            }
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
    }
}

fn expands(text: &str, scope: &Scope) -> bool {
    let Some(start) = text.find("{{") else {
        return true;
    };
    let rest = &text[start + 2..];
    if let Some(rest) = rest.strip_prefix("{{") {
        return expands(rest, scope);
    }
    match rest.split_once("}}") {
        Some((name, rest)) => scope.has(name.trim()) && expands(rest, scope),
        None => false,
    }
}
