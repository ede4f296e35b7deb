//! Which fields a construct has, and what may stand in each (routine-format.md's tables).

use serde_json::{Map, Value};

use crate::engine::routine::tests::naive::Problems;

/// Whether a field must be there, and the code if it isn't.
#[derive(Clone, Copy)]
pub(super) enum Need {
    Must(&'static str),
    May,
}

/// What may stand in a field.
#[derive(Clone, Copy)]
pub(super) enum Is {
    /// Judged by somebody else, or nothing to judge.
    Any,
    Text,
    /// Text that isn't blank: it names something.
    Name,
    Texts,
    Flag,
    Slug,
    /// `provider/model`, or `offline` (M1).
    Model,
    /// A list of `memory` and `evidence`.
    Plugins,
    List,
    Object,
    Word(&'static [&'static str]),
    /// From, to.
    Whole(u64, u64),
    /// At least this many milliseconds, at most what V19 says.
    Timer(u64),
}

const LONGEST: u64 = 2_147_483_647;

/// A construct's fields.
pub(super) type Table = &'static [(&'static str, Need, Is)];

/// `unknown-field`, what is missing, and what is of the wrong kind: a code of the construct's own
/// where it has one, else `bad-value`.
pub(super) fn judge(
    problems: &mut Problems,
    at: Option<&str>,
    wrong: &'static str,
    map: &Map<String, Value>,
    table: &[(&str, Need, Is)],
) {
    known(problems, at, map, table);
    for &(name, need, is) in table {
        match (map.get(name), need) {
            (None, Need::Must(code)) => problems.add(code, at),
            (None, Need::May) => {}
            (Some(value), _) => value_is(problems, at, code_of(name).unwrap_or(wrong), value, is),
        }
    }
}

/// `unknown-field`
pub(super) fn known(
    problems: &mut Problems,
    at: Option<&str>,
    map: &Map<String, Value>,
    table: &[(&str, Need, Is)],
) {
    for key in map.keys() {
        if table.iter().all(|(name, ..)| name != key) {
            problems.add("unknown-field", at);
        }
    }
}

/// Fields with a code of their own wherever they stand (G12).
fn code_of(name: &str) -> Option<&'static str> {
    match name {
        "deadline_ms" | "iteration_deadline_ms" | "timeout_ms" | "poll_ms" => Some("bad-timer"),
        "max_iterations" => Some("bad-max-iterations"),
        "max_attempts" => Some("bad-max-attempts"),
        "condition" | "stop_when" => Some("bad-condition"),
        "source" => Some("bad-source"),
        "handoff_schema" => Some("bad-handoff-schema"),
        "verify" | "checks" => Some("bad-check"),
        "assurance" => Some("bad-assurance"),
        _ => None,
    }
}

fn value_is(problems: &mut Problems, at: Option<&str>, wrong: &'static str, value: &Value, is: Is) {
    let text = value.as_str();
    let within = |from, to| value.as_u64().is_some_and(|it| it >= from && it <= to);
    let fits = match is {
        Is::Any => true,
        Is::Text => text.is_some(),
        Is::Name => text.is_some_and(|it| !it.trim().is_empty()),
        Is::Flag => value.is_boolean(),
        Is::Slug => text.is_some_and(is_slug),
        Is::Model => text.is_some_and(is_model),
        Is::List => value.is_array(),
        Is::Object => value.is_object(),
        Is::Word(words) => text.is_some_and(|it| words.contains(&it)),
        Is::Whole(from, to) => within(from, to),
        Is::Timer(from) => within(from, LONGEST),
        Is::Texts => value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_string)),
        Is::Plugins => {
            let items = value.as_array().into_iter().flatten();
            let names = items.filter_map(Value::as_str);
            if names
                .into_iter()
                .any(|it| it != "memory" && it != "evidence")
            {
                problems.add("unknown-plugin", at);
            }
            value
                .as_array()
                .is_some_and(|items| items.iter().all(Value::is_string))
        }
    };
    if !fits {
        let code = if matches!(is, Is::Slug) {
            "bad-slug"
        } else {
            wrong
        };
        problems.add(code, at);
    }
}

fn is_model(text: &str) -> bool {
    match text.split_once('/') {
        Some((provider, model)) => !provider.trim().is_empty() && !model.trim().is_empty(),
        None => text == "offline",
    }
}

/// `[a-z0-9][a-z0-9_-]{0,63}`
fn is_slug(text: &str) -> bool {
    let first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=64).contains(&text.len())
        && text.starts_with(first)
        && text.chars().all(|c| first(c) || c == '_' || c == '-')
}
