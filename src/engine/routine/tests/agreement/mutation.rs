//! What people get wrong, by chance, anywhere in a file.

use serde_json::{Value, json};

use crate::engine::routine::tests::agreement::dice::Dice;

/// A way through the tree: keys and indices.
type Path = Vec<String>;

/// Stands for a field that is taken away.
const REMOVED: &str = "(removed)";

/// What people write into maps that have a certain field; the value fits somewhere or nowhere.
fn fields() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("operator", "agent", json!("bob")),
        ("checks", "operator", json!(true)),
        ("council", "council", json!("nobody")),
        ("entry_steps", "entry_steps", json!(["s0", "s0"])),
        ("source", "max_iterations", json!(1001)),
        ("stop_when", "max_iterations", json!(0)),
        ("source", "source", json!({"step": "s0", "memory_key": "k"})),
        ("source", "source", json!({"step": "s1"})),
        ("initial_value", "result_key", json!(REMOVED)),
        ("council", "council", json!(REMOVED)),
        ("agent", "agent", json!(REMOVED)),
        (
            "type",
            "condition",
            json!({"memory_key": "k", "operator": "exists", "on_false": "skip"}),
        ),
        (
            "type",
            "condition",
            json!({"memory_key": "k", "operator": "greater_than", "value": "x", "on_false": "skip"}),
        ),
        (
            "type",
            "condition",
            json!({"memory_key": "k", "operator": "equals", "on_false": "skip"}),
        ),
        (
            "type",
            "condition",
            json!({"memory_key": "k", "operator": "like", "on_false": "hope"}),
        ),
        ("from", "condition", json!("always")),
        ("from", "condition", json!("on_fail")),
        ("from", "condition", json!("on_pass")),
        ("from", "condition", json!("on_doubt")),
        ("type", "agent", json!("bob")),
        ("type", "agent", json!("nobody")),
        ("type", "council", json!("nobody")),
        ("type", "operator", json!(true)),
        ("type", "operator", json!(false)),
        ("type", "checks", json!([])),
        (
            "type",
            "checks",
            json!([{"check": "manual", "prompt": "Right?"}]),
        ),
        ("type", "type", json!("gate")),
        ("type", "type", json!("terminal")),
        ("type", "type", json!("agent")),
        ("type", "type", json!("robot")),
        ("type", "timeout_ms", json!(0)),
        ("type", "timeout_ms", json!(2_147_483_647_u64)),
        ("type", "timeout_ms", json!(2_147_483_648_u64)),
        ("check", "poll_ms", json!(99)),
        ("entry_steps", "deadline_ms", json!(2_147_483_648_u64)),
        ("type", "iteration_deadline_ms", json!(-1)),
        ("from", "max_attempts", json!(1)),
        ("from", "max_attempts", json!(0)),
        ("type", "max_iterations", json!(1000)),
        ("type", "max_iterations", json!(1001)),
        ("type", "max_iterations", json!(0)),
        ("type", "tools", json!(["read_file", "magic"])),
        ("type", "tool", json!("magic")),
        ("type", "plugins", json!(["memory", "magic"])),
        ("entry_steps", "required_plugins", json!(["magic"])),
        ("from", "handoff_schema", json!({"type": "string"})),
        ("from", "handoff_schema", json!({})),
        ("from", "handoff_schema", json!({"type": "odd"})),
        (
            "from",
            "handoff_schema",
            json!({"type": "object", "minProperties": -1}),
        ),
        (
            "type",
            "verify",
            json!([{"check": "output", "matches": "("}]),
        ),
        (
            "type",
            "verify",
            json!([{"check": "output", "contains": "x"}]),
        ),
        ("type", "verify", json!([{"check": "output"}])),
        (
            "type",
            "verify",
            json!([{"check": "output", "schema": {"type": "odd"}}]),
        ),
        ("type", "verify", json!([{"check": "command", "run": []}])),
        ("type", "verify", json!([{"check": "file"}])),
        ("type", "verify", json!([{"check": "magic"}])),
        (
            "type",
            "verify",
            json!([{"check": "http", "url": "u", "expect": {}}]),
        ),
        (
            "type",
            "verify",
            json!([{"check": "http", "url": "u", "expect": {"status": 200, "path": "x", "equals": 1}}]),
        ),
        ("type", "source", json!({})),
        ("type", "source", json!({"step": "s0", "memory_key": "k"})),
        ("type", "source", json!({"step": "s1"})),
        ("type", "source", json!({"step": "sdone"})),
        ("type", "source", json!({"step": "nowhere"})),
        (
            "type",
            "source",
            json!({"memory_key": "k", "path": "a..b["}),
        ),
        (
            "entry_steps",
            "assurance",
            json!({"required_methods": ["council_review"]}),
        ),
        (
            "entry_steps",
            "assurance",
            json!({"required_methods": ["magic"]}),
        ),
        (
            "entry_steps",
            "assurance",
            json!({"required_coverage": ["moon"]}),
        ),
        ("type", "reflection", json!({"mode": "odd"})),
        (
            "type",
            "reflection",
            json!({"mode": "warn", "min_score": 101}),
        ),
        ("type", "instructions", json!("{{result.sdone}}")),
        (
            "type",
            "instructions",
            json!("{{result.s0}} {{step.s-post}}"),
        ),
        ("type", "instructions", json!("{{map.item}}")),
        ("type", "instructions", json!("{{fold.accumulator}}")),
        ("type", "instructions", json!("{{result.The s0}}")),
        ("type", "instructions", json!("{{oops")),
        ("type", "instructions", json!("}} {{{{ {{ param.p }}")),
        ("type", "reason", json!("{{param.z}}")),
        ("slug", "colour", json!("red")),
        ("args", "on_error", json!("hope")),
        ("entry_steps", "post_steps_trigger", json!("never")),
        ("entry_steps", "steps", json!([])),
        ("entry_steps", "entry_steps", json!([])),
        ("entry_steps", "edges", json!([])),
        ("type", "slug", json!("s0")),
        ("type", "slug", json!("Bad Slug")),
    ]
}

/// Values that may stand anywhere, mostly wrongly.
fn value(dice: &mut Dice) -> Value {
    let values = [
        json!(0),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(70_000),
        json!(true),
        json!(false),
        json!(""),
        json!("x"),
        json!("s0"),
        json!("s1"),
        json!("s2"),
        json!("sdone"),
        json!([]),
        json!({}),
        json!(["x"]),
        json!([1]),
        json!({"x": 1}),
        json!("{{oops"),
        json!("{{param.z}}"),
    ];
    dice.of(&values).clone()
}

/// Changes one thing.
pub(super) fn mutate(dice: &mut Dice, root: &mut Value) {
    match dice.below(8) {
        // Edges decide most: they are changed more often than their share of the tree.
        0 | 1 => edges(dice, root),
        2..=4 => add_field(dice, root),
        _ => anywhere(dice, root),
    }
}

fn add_field(dice: &mut Dice, root: &mut Value) {
    let n = dice.below(fields().len());
    write(dice, root, n);
}

/// Writes the field of a number into a map of its kind, or takes it away; nothing where the file
/// has no such map.
pub(super) fn write(dice: &mut Dice, root: &mut Value, n: usize) {
    let mut fields = fields();
    let n = n % fields.len();
    let (marker, name, value) = fields.swap_remove(n);
    let mut paths = Vec::new();
    collect(root, &mut Vec::new(), &mut paths);
    let is_marker = |path: &&Path| path.last().is_some_and(|it| it == marker);
    let marked: Vec<&Path> = paths.iter().filter(is_marker).collect();
    if marked.is_empty() {
        return;
    }
    let chosen = marked[dice.below(marked.len())];
    if let Some(Value::Object(map)) = at(root, &chosen[..chosen.len() - 1]) {
        if value == REMOVED {
            map.remove(name);
        } else {
            map.insert(name.into(), value);
        }
    }
}

fn anywhere(dice: &mut Dice, root: &mut Value) {
    let mut paths = Vec::new();
    collect(root, &mut Vec::new(), &mut paths);
    if paths.is_empty() {
        return;
    }
    let path = dice.of(&paths).clone();
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let donor = {
        let alike: Vec<&Path> = paths.iter().filter(|it| it.last() == Some(last)).collect();
        let chosen: &Path = alike[dice.below(alike.len())];
        at(root, chosen).cloned()
    };
    let kind = dice.below(4);
    match at(root, parents) {
        Some(Value::Object(map)) => match kind {
            0 => {
                map.remove(last);
            }
            1 => {
                if let Some(value) = map.remove(last) {
                    map.insert(format!("{last}x"), value);
                }
            }
            2 => {
                map.insert(last.clone(), value(dice));
            }
            _ => map.extend(donor.map(|donor| (last.clone(), donor))),
        },
        Some(Value::Array(items)) => {
            let n: usize = last.parse().expect("an index");
            match kind {
                0 => {
                    items.remove(n);
                }
                1 => {
                    let other = dice.below(items.len());
                    items.swap(n, other);
                }
                2 => items[n] = value(dice),
                _ => {
                    let twin = items[n].clone();
                    items.push(twin);
                }
            }
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {}
    }
}

/// An edge more, or another end.
fn edges(dice: &mut Dice, root: &mut Value) {
    let slugs: Vec<String> = root["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|step| step["slug"].as_str().map(str::to_owned))
        .collect();
    let Some(edges) = root.get_mut("edges").and_then(Value::as_array_mut) else {
        return;
    };
    if slugs.is_empty() {
        return;
    }
    match dice.below(4) {
        0 if !edges.is_empty() => {
            let n = dice.below(edges.len());
            let end = *dice.of(&["from", "to"]);
            if edges[n].is_object() {
                edges[n][end] = json!(dice.of(&slugs));
            }
        }
        1 if !edges.is_empty() => {
            // A gate's second fail is what few would think of.
            let fails = |edge: &&Value| edge.get("condition") == Some(&json!("on_fail"));
            let edge = edges.iter().find(fails).unwrap_or(&edges[0]);
            let mut edge = edge.clone();
            if edge.is_object() {
                edge["to"] = json!(dice.of(&slugs));
            }
            edges.push(edge);
        }
        _ => {
            let mut edge = json!({"from": dice.of(&slugs), "to": dice.of(&slugs)});
            if dice.once_in(2) {
                edge["condition"] = json!(*dice.of(&["on_fail", "on_fail", "on_pass", "always"]));
            }
            let place = dice.below(edges.len() + 1);
            edges.insert(place, edge);
        }
    }
}

fn collect(value: &Value, path: &mut Path, paths: &mut Vec<Path>) {
    if !path.is_empty() {
        paths.push(path.clone());
    }
    let mut into = |key: String, value: &Value| {
        path.push(key);
        collect(value, path, paths);
        path.pop();
    };
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                into(n.to_string(), item);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                into(key.clone(), item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn at<'v>(root: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(root, |value, key| match value {
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        Value::Object(map) => map.get_mut(key),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}
