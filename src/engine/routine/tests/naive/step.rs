//! The fields of each kind of step (routine-format.md), owners (G15), conditions (V20), sources (V22).

use serde_json::{Map, Value};

use crate::engine::routine::tests::naive::check::Attempt;
use crate::engine::routine::tests::naive::fields::{self, Is, Need, Table};
use crate::engine::routine::tests::naive::scope::{self, Inside, Scope};
use crate::engine::routine::tests::naive::{Problems, World, check, items, nested, people, text};

pub(super) const KINDS: &[&str] = &[
    "agent",
    "gate",
    "council",
    "tool",
    "map",
    "fold",
    "until",
    "terminal",
    "terminal_fail",
];
const COMMON: Table = &[
    ("slug", Need::Must("missing-field"), Is::Slug),
    ("type", Need::Must("missing-field"), Is::Word(KINDS)),
    ("name", Need::May, Is::Text),
];
const WORK: Table = &[
    ("instructions", Need::May, Is::Text),
    ("expected_output", Need::May, Is::Text),
    ("criteria", Need::May, Is::Texts),
    ("tools", Need::May, Is::Texts),
    ("reflection", Need::May, Is::Object),
    ("corrections", Need::May, Is::Whole(0, u32::MAX as u64)),
    ("max_model_calls", Need::May, Is::Whole(1, u32::MAX as u64)),
    ("timeout_ms", Need::May, Is::Timer(1)),
    ("memory", Need::May, Is::Texts),
    ("verify", Need::May, Is::List),
    ("plugins", Need::May, Is::Plugins),
];
const CONDITION: Table = &[("condition", Need::May, Is::Object)];
const OMISSION: Table = &[("omission", Need::May, Is::Word(&["approved", "refused"]))];
const AGENT: Table = &[("agent", Need::Must("missing-agent"), Is::Name)];
const COUNCIL: Table = &[("council", Need::Must("missing-council"), Is::Name)];
const GATE: Table = &[
    ("agent", Need::May, Is::Name),
    ("operator", Need::May, Is::Flag),
    ("checks", Need::May, Is::List),
    // A gate has none; what stands there is `bad-condition`, whatever it is.
    ("condition", Need::May, Is::Any),
];
const TOOL: Table = &[
    ("tool", Need::Must("missing-field"), Is::Name),
    ("args", Need::May, Is::Object),
    ("timeout_ms", Need::May, Is::Timer(1)),
    ("result_key", Need::May, Is::Name),
    ("verify", Need::May, Is::List),
];
const REPEAT: Table = &[
    ("routine", Need::Must("missing-field"), Is::Object),
    ("max_iterations", Need::May, Is::Whole(1, 1_000)),
    ("iteration_deadline_ms", Need::May, Is::Timer(0)),
    ("verify", Need::May, Is::List),
];
const MAP: Table = &[
    ("source", Need::Must("missing-field"), Is::Object),
    ("result_key", Need::May, Is::Name),
];
const FOLD: Table = &[
    ("source", Need::Must("missing-field"), Is::Object),
    ("initial_value", Need::Must("missing-field"), Is::Any),
    ("result_key", Need::Must("missing-result-key"), Is::Name),
];
const UNTIL: Table = &[
    ("stop_when", Need::Must("missing-field"), Is::Object),
    ("iteration_key", Need::May, Is::Name),
    ("result_key", Need::May, Is::Name),
];
const TERMINAL: Table = &[("reason", Need::May, Is::Text)];
const SOURCE: Table = &[
    ("step", Need::May, Is::Name),
    ("memory_key", Need::May, Is::Text),
    ("path", Need::May, Is::Text),
];
const REFLECTION: Table = &[
    (
        "mode",
        Need::Must("missing-field"),
        Is::Word(&["off", "strict", "warn"]),
    ),
    ("min_score", Need::May, Is::Any),
];

const OPERATORS: &[&str] = &[
    "exists",
    "not_exists",
    "equals",
    "contains",
    "truthy",
    "greater_than",
    "less_than",
];
const ON_FALSE: &[&str] = &["skip", "fail", "wait"];
const STOP: Table = &[
    ("memory_key", Need::Must("missing-field"), Is::Name),
    ("operator", Need::Must("missing-field"), Is::Word(OPERATORS)),
    ("value", Need::May, Is::Any),
];
const WHEN: Table = &[("on_false", Need::Must("missing-field"), Is::Word(ON_FALSE))];

/// The fields of a step, by its type.
fn tables(step: &Value) -> Option<&'static [Table]> {
    match text(step, "type")? {
        "agent" => Some(&[COMMON, AGENT, WORK, CONDITION, OMISSION]),
        "gate" => Some(&[COMMON, GATE, WORK, OMISSION]),
        "council" => Some(&[COMMON, COUNCIL, WORK, CONDITION, OMISSION]),
        "tool" => Some(&[COMMON, TOOL, CONDITION, OMISSION]),
        "map" => Some(&[COMMON, MAP, REPEAT, CONDITION, OMISSION]),
        "fold" => Some(&[COMMON, FOLD, REPEAT, CONDITION, OMISSION]),
        "until" => Some(&[COMMON, UNTIL, REPEAT, CONDITION, OMISSION]),
        "terminal" | "terminal_fail" => Some(&[COMMON, TERMINAL]),
        _ => None,
    }
}

const EVERY: &[Table] = &[
    COMMON, AGENT, GATE, COUNCIL, WORK, TOOL, MAP, FOLD, UNTIL, REPEAT, TERMINAL, OMISSION,
];

/// One step, and what it sees before it runs and when it has.
pub(super) fn judge(
    problems: &mut Problems,
    world: &World,
    step: &Value,
    (before, after): (&Scope, &Scope),
    level: usize,
) {
    let slug = text(step, "slug");
    let Some(map) = step.as_object() else {
        problems.add("bad-value", None);
        return;
    };
    let Some(tables) = tables(step) else {
        // What kind of step it is nobody knows, so nothing else of it can be judged.
        let code = if map.contains_key("type") {
            "bad-value"
        } else {
            "missing-field"
        };
        problems.add(code, slug);
        fields::known(problems, slug, map, &EVERY.concat());
        return;
    };
    let table = tables.concat();
    fields::judge(problems, slug, "bad-value", map, &table);
    // Only what the kind has is looked at further.
    let own: Map<String, Value> = map
        .iter()
        .filter(|(key, _)| table.iter().any(|(name, ..)| name == key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let step = &Value::Object(own.clone());
    names(problems, world, step);
    people::tools(problems, world, slug, step.get("tools"));
    if text(step, "type") == Some("gate") {
        gate(problems, step);
    } else {
        condition(
            problems,
            slug,
            step.get("condition"),
            &[STOP, WHEN].concat(),
        );
    }
    condition(problems, slug, step.get("stop_when"), STOP);
    reflection(problems, step);
    for name in ["instructions", "expected_output", "reason"] {
        scope::template(problems, slug, step.get(name), before);
    }
    let args = step.get("args").filter(|it| it.is_object());
    scope::template(problems, slug, args, before);
    let criteria = step.get("criteria").filter(|it| it.is_array());
    scope::template(problems, slug, criteria, before);
    for one in items(&own, "checks") {
        check::judge(problems, slug, one, before);
    }
    for one in items(&own, "verify") {
        check::judge(problems, slug, one, after);
    }
    source(problems, step, before);
    let mut inner = before.clone();
    match text(step, "type") {
        Some("map") => inner.in_map = Inside::Yes,
        Some("fold") => {
            inner.in_map = Inside::Yes;
            inner.in_fold = Inside::Yes;
        }
        Some(_) | None => {}
    }
    nested(problems, world, step, &inner, level + 1);
}

/// What the steps of a body, and those of the routines in them, may bring to an assurance policy;
/// and how many checks they have.
pub(super) fn attempts(body: &Map<String, Value>, found: &mut Vec<Attempt>) -> usize {
    let mut of_checks: Vec<Attempt> = items(body, "verify")
        .iter()
        .filter_map(check::attempt)
        .collect();
    let mut nested = 0;
    for step in items(body, "steps") {
        let Some(kind) = text(step, "type").filter(|_| tables(step).is_some()) else {
            continue;
        };
        let map = step.as_object().cloned().unwrap_or_default();
        let has = |name: &str| {
            tables(step).is_some_and(|it| it.concat().iter().any(|(own, ..)| *own == name))
        };
        for list in ["checks", "verify"].into_iter().filter(|it| has(it)) {
            of_checks.extend(items(&map, list).iter().filter_map(check::attempt));
        }
        let mut judged = |method| {
            found.push(Attempt {
                method: Some(method),
                covers: Vec::new(),
                independent: true,
            });
        };
        match owners(step)[..] {
            ["agent"] if kind == "gate" => judged("model_review"),
            ["operator"] if kind == "gate" => judged("operator_attestation"),
            _ if kind == "council" => judged("council_review"),
            _ => {}
        }
        if has("reflection") && step.get("reflection").is_some_and(reflects) {
            judged("model_review");
        }
        if let Some(inner) = step
            .get("routine")
            .and_then(Value::as_object)
            .filter(|_| has("routine"))
        {
            nested += attempts(inner, found);
        }
    }
    let checks = of_checks.len();
    found.extend(of_checks);
    checks + nested
}

/// Who owns a gate (G15).
pub(super) fn owners(step: &Value) -> Vec<&'static str> {
    let mut owners = Vec::new();
    owners.extend(step.get("agent").map(|_| "agent"));
    owners.extend((step.get("operator") == Some(&Value::Bool(true))).then_some("operator"));
    owners.extend(step.get("checks").map(|_| "checks"));
    owners
}

fn names(problems: &mut Problems, world: &World, step: &Value) {
    let slug = text(step, "slug");
    let named = |field| text(step, field).filter(|it| !it.trim().is_empty());
    if named("agent").is_some_and(|it| !world.agents.contains(it)) {
        problems.add("unknown-agent", slug);
    }
    if named("council").is_some_and(|it| !world.councils.contains(it)) {
        problems.add("unknown-council", slug);
    }
    if named("tool").is_some_and(|it| !world.tools.contains(it)) {
        problems.add("unknown-tool", slug);
    }
}

/// G15: exactly one owner. V20: no condition.
fn gate(problems: &mut Problems, step: &Value) {
    let slug = text(step, "slug");
    let owners = owners(step);
    match owners.len() {
        0 => problems.add("missing-agent", slug),
        1 => {}
        _ => problems.add("gate-owner", slug),
    }
    if step
        .get("checks")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
    {
        problems.add("bad-check", slug);
    }
    if step.get("condition").is_some() {
        problems.add("bad-condition", slug);
    }
    let criteria = step.get("criteria").and_then(Value::as_array);
    if matches!(owners[..], ["agent" | "operator"]) && criteria.is_none_or(Vec::is_empty) {
        problems.add("gate-without-criteria", slug);
    }
}

fn condition(
    problems: &mut Problems,
    at: Option<&str>,
    condition: Option<&Value>,
    table: &[(&str, Need, Is)],
) {
    let Some(map) = condition.and_then(Value::as_object) else {
        return;
    };
    fields::judge(problems, at, "bad-condition", map, table);
    let value = map.get("value");
    let fits = match map.get("operator").and_then(Value::as_str) {
        Some("equals" | "contains") => value.is_some(),
        Some("greater_than" | "less_than") => value.is_some_and(Value::is_number),
        Some(_) | None => true,
    };
    if !fits {
        problems.add("bad-condition", at);
    }
}

fn reflection(problems: &mut Problems, step: &Value) {
    let Some(map) = step.get("reflection").and_then(Value::as_object) else {
        return;
    };
    let slug = text(step, "slug");
    fields::judge(problems, slug, "bad-value", map, REFLECTION);
    if map.get("min_score").is_some_and(|it| !is_score(it)) {
        problems.add("bad-value", slug);
    }
}

fn is_score(value: &Value) -> bool {
    value.as_f64().is_some_and(|it| (0.0..=100.0).contains(&it))
}

/// Whether a model will judge the step (V8).
fn reflects(reflection: &Value) -> bool {
    matches!(text(reflection, "mode"), Some("strict" | "warn"))
        && reflection.get("min_score").is_none_or(is_score)
}

/// V22: a source is a memory key, or a graph step that precedes.
fn source(problems: &mut Problems, step: &Value, scope: &Scope) {
    let Some(map) = step.get("source").and_then(Value::as_object) else {
        return;
    };
    let slug = text(step, "slug");
    fields::judge(problems, slug, "bad-source", map, SOURCE);
    if map.contains_key("step") == map.contains_key("memory_key") {
        problems.add("bad-source", slug);
    }
    for name in ["memory_key", "path"] {
        scope::template(problems, slug, map.get(name), scope);
    }
    let path = map.get("path").and_then(Value::as_str);
    if path.is_some_and(|it| !it.contains("{{") && !check::is_path(it)) {
        problems.add("bad-source", slug);
    }
    let Some(named) = map
        .get("step")
        .and_then(Value::as_str)
        .filter(|it| !it.trim().is_empty())
    else {
        return;
    };
    if !scope.siblings.contains(named) {
        problems.add("unknown-step", slug);
    } else if !scope.precede.contains(named) {
        problems.add("bad-source", slug);
    }
}
