//! The rules of G12 a second time: read off the requirements alone, as plain as possible, on a tree
//! without positions. Slow where slow is simpler. The real loader must find the same problems.

mod check;
mod fields;
mod graph;
mod people;
mod scope;
mod shape;
mod step;

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::engine::routine::Known;
use crate::engine::routine::tests::naive::fields::{Is, Need, Table};
use crate::engine::routine::tests::naive::graph::Graph;
use crate::engine::routine::tests::naive::scope::Scope;

/// A code with its edge, or else its step.
pub(super) type Problem = (&'static str, Option<String>);

/// What is wrong with a file.
#[derive(Default)]
pub(super) struct Problems {
    pub(super) found: BTreeSet<Problem>,
    /// Cyclic parts of graphs, by the edges inside.
    pub(super) cyclic: Vec<BTreeSet<String>>,
    /// Edges that are said to close a cycle.
    closing: Vec<String>,
}

impl Problems {
    fn add(&mut self, code: &'static str, at: Option<&str>) {
        self.found.insert((code, at.map(str::to_owned)));
    }
}

/// What the file defines, and what may be named besides.
struct World<'a> {
    agents: BTreeSet<&'a str>,
    councils: BTreeSet<&'a str>,
    tools: &'a BTreeSet<String>,
}

const LEVELS: usize = 32;
const STEPS: usize = 1_000;

/// Every problem of a file in our own format. A cycle may be said to close at any of its edges, so
/// the edges that were said to close one are taken as such, and the rest is judged without them.
pub(super) fn judge(file: &Value, known: &Known, closing: &[String]) -> Problems {
    let mut problems = Problems {
        closing: closing.to_vec(),
        ..Problems::default()
    };
    let Some(root) = file.as_object() else {
        problems.add("bad-value", None);
        return problems;
    };
    fields::judge(&mut problems, None, "bad-value", root, ROUTINE);
    let keys = |name: &str| root.get(name).and_then(Value::as_object).into_iter();
    let world = World {
        agents: keys("agents")
            .flat_map(Map::keys)
            .chain(&known.agents)
            .map(String::as_str)
            .chain(["default"])
            .collect(),
        councils: keys("councils")
            .flat_map(Map::keys)
            .chain(&known.councils)
            .map(String::as_str)
            .collect(),
        tools: &known.tools,
    };
    people::judge(&mut problems, &world, root);
    body(
        &mut problems,
        &world,
        root,
        &Scope::parameters(root),
        Place {
            level: 1,
            host: None,
        },
    );
    let mut attempts = Vec::new();
    if step::attempts(root, &mut attempts) == 0 {
        problems.add("no-verification", None);
    }
    if let Some(policy) = root.get("assurance") {
        check::assurance(&mut problems, policy, &attempts);
    }
    problems
}

/// Where a body lies.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The outermost is 1 (V19).
    level: usize,
    /// The step that repeats it: what has no step of its own concerns that one.
    host: Option<&'a str>,
}

const ROUTINE: Table = &[
    ("routine", Need::Must("missing-field"), Is::Slug),
    ("name", Need::May, Is::Text),
    ("description", Need::May, Is::Text),
    ("version", Need::May, Is::Text),
    ("parameters", Need::May, Is::List),
    ("instructions", Need::May, Is::Text),
    ("agents", Need::May, Is::Object),
    ("councils", Need::May, Is::Object),
    ("required_tools", Need::May, Is::Texts),
    ("required_plugins", Need::May, Is::Plugins),
    ("deadline_ms", Need::May, Is::Timer(0)),
    ("pre_steps", Need::May, Is::List),
    ("entry_steps", Need::Must("missing-field"), Is::Texts),
    ("steps", Need::Must("missing-field"), Is::List),
    ("edges", Need::Must("missing-field"), Is::List),
    ("post_steps", Need::May, Is::List),
    (
        "post_steps_trigger",
        Need::May,
        Is::Word(&["on_success", "always"]),
    ),
    ("verify", Need::May, Is::List),
    ("assurance", Need::May, Is::Object),
];

const NESTED: Table = &[
    ("entry_steps", Need::May, Is::Texts),
    ("steps", Need::Must("missing-field"), Is::List),
    ("edges", Need::May, Is::List),
    ("instructions", Need::May, Is::Text),
    ("pre_steps", Need::May, Is::List),
    ("post_steps", Need::May, Is::List),
    ("verify", Need::May, Is::List),
];

const DETERMINISTIC: Table = &[
    ("name", Need::Must("missing-field"), Is::Name),
    ("tool", Need::Must("missing-field"), Is::Name),
    ("args", Need::May, Is::Object),
    ("result_key", Need::May, Is::Name),
    (
        "on_error",
        Need::May,
        Is::Word(&["fail", "continue", "skip_remaining"]),
    ),
    ("timeout_ms", Need::May, Is::Timer(1)),
];

/// A nested routine, with its own fields and level.
fn nested(problems: &mut Problems, world: &World, step: &Value, scope: &Scope, level: usize) {
    let Some(routine) = step.get("routine") else {
        return;
    };
    let host = text(step, "slug");
    if level > LEVELS {
        problems.add("too-deep", host);
        return;
    }
    let Some(routine) = routine.as_object() else {
        return;
    };
    fields::judge(problems, host, "bad-value", routine, NESTED);
    body(problems, world, routine, scope, Place { level, host });
}

/// The graph of a routine and what stands around it.
fn body(
    problems: &mut Problems,
    world: &World,
    body: &Map<String, Value>,
    outer: &Scope,
    place: Place,
) {
    let mut scope = outer.clone();
    for step in items(body, "pre_steps") {
        deterministic(problems, world, step, &mut scope);
    }
    scope::template(problems, place.host, body.get("instructions"), &scope);

    let steps = items(body, "steps");
    let is_terminal =
        |step: &&Value| matches!(text(step, "type"), Some("terminal" | "terminal_fail"));
    if let Some(step) = steps.iter().filter(|step| !is_terminal(step)).nth(STEPS) {
        problems.add("too-many-steps", text(step, "slug"));
    }
    let written = graph::as_written(body, place);
    let graph = Graph::of(&written, place, &problems.closing);
    graph.judge(problems);
    let precedence = graph.precedence();
    let slugs = steps.iter().filter_map(|it| text(it, "slug"));
    scope.siblings = Rc::new(slugs.map(str::to_owned).collect());
    scope.precede = BTreeSet::new();
    for (n, step) in steps.iter().enumerate() {
        // Of two steps with one slug, edges lead to the first.
        let same = |other: &Value| {
            text(other, "slug").is_some() && text(other, "slug") == text(step, "slug")
        };
        let is_second = steps[..n].iter().any(same);
        let mut before = scope.clone();
        for earlier in steps {
            if let (Some(slug), Some(other)) = (text(step, "slug"), text(earlier, "slug"))
                && !is_second
                && precedence[other].contains(slug)
            {
                before.add_result(earlier);
                before.precede.insert(other.to_owned());
            }
        }
        let mut after = before.clone();
        if !is_second {
            after.add_result(step);
        }
        step::judge(problems, world, step, (&before, &after), place.level);
    }

    for step in steps {
        scope.add_result(step);
    }
    if graph.is_in_a_line() {
        scope.results.extend(graph.last().map(str::to_owned));
    }
    for step in items(body, "post_steps") {
        deterministic(problems, world, step, &mut scope);
    }
    for one in items(body, "verify") {
        check::judge(problems, place.host, one, &scope);
    }
    let around: Vec<&str> = ["pre_steps", "post_steps"]
        .iter()
        .flat_map(|list| items(body, list))
        .filter_map(|it| text(it, "name"))
        .filter(|it| !it.trim().is_empty())
        .collect();
    for (n, name) in around.iter().enumerate() {
        if around[..n].contains(name) {
            problems.add("duplicate-step", Some(name));
        }
    }
}

fn deterministic(problems: &mut Problems, world: &World, step: &Value, scope: &mut Scope) {
    let Some(map) = step.as_object() else {
        problems.add("bad-value", None);
        return;
    };
    let name = text(step, "name");
    fields::judge(problems, name, "bad-value", map, DETERMINISTIC);
    if text(step, "tool").is_some_and(|it| !it.trim().is_empty() && !world.tools.contains(it)) {
        problems.add("unknown-tool", name);
    }
    let args = step.get("args").filter(|it| it.is_object());
    scope::template(problems, name, args, scope);
    if let Some(name) = name.filter(|it| !it.trim().is_empty()) {
        scope.steps.insert(name.to_owned());
    }
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

fn items<'v>(map: &'v Map<String, Value>, name: &str) -> &'v [Value] {
    match map.get(name) {
        Some(Value::Array(items)) => items,
        Some(_) | None => &[],
    }
}
