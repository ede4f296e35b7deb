//! Agents, councils, parameters, and tools that models are offered.

use serde_json::{Map, Value};

use crate::engine::routine::tests::naive::fields::{self, Is, Need, Table};
use crate::engine::routine::tests::naive::scope::{self, Inside, Scope};
use crate::engine::routine::tests::naive::{Problems, World, items, text};

const AGENT: Table = &[
    ("instructions", Need::May, Is::Text),
    ("model", Need::May, Is::Model),
    (
        "role",
        Need::May,
        Is::Word(&["instant", "expert", "frontier", "background"]),
    ),
    ("tools", Need::May, Is::Texts),
    (
        "reasoning_effort",
        Need::May,
        Is::Word(&["minimal", "low", "medium", "high"]),
    ),
    (
        "max_output_tokens",
        Need::May,
        Is::Whole(1, u32::MAX as u64),
    ),
];

const COUNCIL: Table = &[
    ("leader", Need::Must("missing-field"), Is::Name),
    ("members", Need::Must("missing-field"), Is::Texts),
    (
        "strategy",
        Need::Must("missing-field"),
        Is::Word(&["broadcast", "round_robin", "decompose", "vote", "dynamic"]),
    ),
    ("max_calls", Need::May, Is::Whole(1, u32::MAX as u64)),
];

const PARAMETER: Table = &[
    ("name", Need::Must("missing-field"), Is::Name),
    ("required", Need::May, Is::Flag),
    ("default", Need::May, Is::Any),
    ("description", Need::May, Is::Text),
];

pub(super) fn judge(problems: &mut Problems, world: &World, root: &Map<String, Value>) {
    for parameter in items(root, "parameters") {
        match parameter.as_object() {
            Some(map) => fields::judge(problems, None, "bad-value", map, PARAMETER),
            None => problems.add("bad-value", None),
        }
    }
    let named: Vec<&str> = items(root, "parameters")
        .iter()
        .filter_map(|it| text(it, "name"))
        .collect();
    if (1..named.len()).any(|n| !named[n].trim().is_empty() && named[..n].contains(&named[n])) {
        problems.add("bad-value", None);
    }
    tools(problems, world, None, root.get("required_tools"));
    // Where an agent will work nobody knows, so only its parameters can be judged.
    let mut anywhere = Scope::parameters(root);
    anywhere.anywhere = Inside::Yes;
    for agent in root
        .get("agents")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values)
    {
        match agent.as_object() {
            Some(map) => fields::judge(problems, None, "bad-value", map, AGENT),
            None => problems.add("bad-value", None),
        }
        tools(problems, world, None, agent.get("tools"));
        scope::template(problems, None, agent.get("instructions"), &anywhere);
    }
    for council in root
        .get("councils")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values)
    {
        let Some(map) = council.as_object() else {
            problems.add("bad-value", None);
            continue;
        };
        fields::judge(problems, None, "bad-value", map, COUNCIL);
        let members: Vec<&str> = items(map, "members")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        for name in members
            .iter()
            .copied()
            .chain(text(council, "leader").filter(|it| !it.trim().is_empty()))
        {
            if !world.agents.contains(name) {
                problems.add("unknown-agent", None);
            }
        }
        let twice = (1..members.len()).any(|n| members[..n].contains(&members[n]));
        if map
            .get("members")
            .is_some_and(|it| it == &Value::Array(Vec::new()))
            || twice
        {
            problems.add("bad-value", None);
        }
    }
}

/// `unknown-tool` in a list of what a model is offered.
pub(super) fn tools(
    problems: &mut Problems,
    world: &World,
    at: Option<&str>,
    list: Option<&Value>,
) {
    let names = list.and_then(Value::as_array).into_iter().flatten();
    for name in names.filter_map(Value::as_str) {
        if !world.tools.contains(name) {
            problems.add("unknown-tool", at);
        }
    }
}
