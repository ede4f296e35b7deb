//! Graph manifests: the same graph under other names.

use std::collections::HashSet;

use crate::engine::routine::file::{Entry, Node};
use crate::engine::routine::import::foreign::{Desk, Foreign, Made, list, text, yes};
use crate::engine::routine::import::names::slug;
use crate::engine::routine::import::people;
use crate::engine::routine::issue::Code;

/// The one schema that is read.
const SCHEMA: &str = "nenjo.routine.v1";

/// How a manifest spells our fields.
pub(super) fn spelled(name: &str) -> &str {
    match name {
        "routine" => "slug",
        "type" => "step_type",
        "from" => "source_step",
        "to" => "target_step",
        other => other,
    }
}

/// Rewrites a manifest: alone, or beside its schema, agents and councils.
pub(super) fn rewrite(desk: Desk<'_>, root: &Node) -> Node {
    let Some(outer) = Foreign::open(desk, root, "graph manifest") else {
        return root.clone();
    };
    if let Some(schema) = outer.value("schema")
        && schema.as_text() != Some(SCHEMA)
    {
        let message = format!("this schema isn't supported; `{SCHEMA}` is");
        desk.report(Code::Unsupported, schema.at, message);
    }
    let wrapped = outer.inside("manifest");
    let mut made = Made::at(wrapped.as_ref().map_or(root.at, |inner| inner.at));
    for name in ["agents", "councils"] {
        let inside = wrapped.as_ref().and_then(|inner| inner.entry(name));
        let entry = sole(desk, [outer.entry(name), inside], name);
        made.carry_as(name, entry, by_name);
    }
    match wrapped {
        Some(inner) => {
            routine(&inner, &mut made);
            inner.close();
        }
        None => routine(&outer, &mut made),
    }
    outer.close();
    made.node()
}

fn routine(fields: &Foreign<'_>, made: &mut Made) {
    let name = fields.entry("name");
    match fields.entry("slug") {
        Some(slug) => made.carry("routine", Some(slug)),
        None => made.carry_as("routine", name, |node| match node.as_text() {
            Some(name) => text(node.at, &slug(name)),
            None => node.clone(),
        }),
    }
    made.carry("name", name);
    made.carry("description", fields.entry("description"));
    made.carry("version", fields.entry("version"));
    fields.aside(&["id"]);
    // What else stands in `metadata` is the other system's own.
    let inside = fields.value("metadata").and_then(|node| {
        let entries = node.as_map()?;
        entries.iter().find(|entry| &*entry.key == "entry_steps")
    });
    let entries = sole(
        fields.desk,
        [fields.entry("entry_steps"), inside],
        "entry_steps",
    );
    made.carry("entry_steps", entries);

    let steps = fields.entry("steps");
    let items = steps.and_then(|entry| entry.value.as_list());
    let human = people::steps(items.unwrap_or_default());
    made.carry_as("steps", steps, |node| {
        each(node, |item| step(fields.desk, item))
    });
    let edges = fields.entry("edges");
    made.carry_as("edges", edges, |node| {
        each(node, |item| edge(fields.desk, item, &human))
    });
    if let Some(edges) = edges {
        let edges = edges.value.as_list().unwrap_or_default();
        people::tell_apart(fields.desk, edges, &human);
    }
}

/// Definitions by name: a map as we have it, or a list of definitions that say their own.
fn by_name(node: &Node) -> Node {
    let Some(items) = node.as_list() else {
        return node.clone();
    };
    let mut made = Made::at(node.at);
    for item in items {
        let key = ["slug", "name"].into_iter().find_map(|key| item.get(key));
        match (key.and_then(Node::as_text), item.as_map()) {
            (Some(name), Some(entries)) => {
                let mut definition = Made::at(item.at);
                for entry in entries {
                    if !matches!(&*entry.key, "slug" | "name") {
                        definition.carry(&entry.key, Some(entry));
                    }
                }
                made.put(name, definition.node());
            }
            // Left as it is, so that the reader says what it should have been.
            (None, _) | (_, None) => return node.clone(),
        }
    }
    made.node()
}

fn each(node: &Node, rewrite: impl FnMut(&Node) -> Node) -> Node {
    match node.as_list() {
        Some(items) => list(node.at, items.iter().map(rewrite).collect()),
        None => node.clone(),
    }
}

/// The one of several entries that say the same; a second one is reported.
fn sole<'a, const N: usize>(
    desk: Desk<'_>,
    entries: [Option<&'a Entry>; N],
    what: &str,
) -> Option<&'a Entry> {
    let mut given = entries.into_iter().flatten();
    let first = given.next()?;
    for further in given {
        let message = format!("{what} is given twice; keep one");
        desk.report(Code::BadValue, further.at, message);
    }
    Some(first)
}

fn step(desk: Desk<'_>, node: &Node) -> Node {
    let own = node.get("slug").and_then(Node::as_text);
    let Some(fields) = Foreign::open(desk.about_step(own), node, "step") else {
        return node.clone();
    };
    let mut made = Made::at(node.at);
    made.carry("slug", fields.entry("slug"));
    made.carry("name", fields.entry("name"));
    let kind = fields.entry("step_type");
    let word = kind.and_then(|kind| kind.value.as_text());
    match word {
        Some("human") => {
            made.carry_as("type", kind, |node| text(node.at, "gate"));
            made.carry_as("operator", kind, |node| yes(node.at));
            made.carry("agent", fields.entry("agent"));
        }
        Some("lambda") => {
            if let Some(kind) = kind {
                let message = "lambda steps aren't supported; use a tool step or a checks gate";
                fields
                    .desk
                    .report(Code::Unsupported, kind.value.at, message);
            }
            // Something that can stand there, so that the rest of the graph is judged.
            made.carry_as("type", kind, |node| text(node.at, "agent"));
            made.carry_as("agent", kind, |node| text(node.at, "default"));
            fields.aside(&["agent", "lambda", "lambda_id"]);
        }
        Some(_) | None => {
            made.carry("type", kind);
            made.carry("agent", fields.entry("agent"));
        }
    }
    made.carry("council", fields.entry("council"));
    if let Some(config) = fields.inside("config") {
        made.carry("instructions", config.entry("instructions"));
        made.carry("reason", config.entry("reason"));
        config.aside(&["metadata"]);
        if word != Some("lambda") {
            config.close();
        }
    }
    fields.aside(&["id", "metadata"]);
    fields.close();
    made.node()
}

fn edge(desk: Desk<'_>, node: &Node, human: &HashSet<&str>) -> Node {
    let end = |name| node.get(name).and_then(Node::as_text);
    let (from, to) = (end("source_step"), end("target_step"));
    let label = from.zip(to).map(|(from, to)| format!("{from}->{to}"));
    let Some(fields) = Foreign::open(desk.about_edge(label.as_deref()), node, "edge") else {
        return node.clone();
    };
    let desk = fields.desk;
    let mut made = Made::at(node.at);
    made.carry("from", fields.entry("source_step"));
    made.carry("to", fields.entry("target_step"));
    let by_person = from.is_some_and(|from| human.contains(from));
    made.carry_as("condition", fields.entry("condition"), |node| {
        match node.as_text().filter(|_| by_person) {
            Some(word) => text(node.at, people::condition(word)),
            None => node.clone(),
        }
    });
    let metadata = fields.inside("metadata");
    let inside = |name| metadata.as_ref().and_then(|metadata| metadata.entry(name));
    for name in ["purpose", "handoff_instructions", "handoff_schema"] {
        made.carry(name, sole(desk, [fields.entry(name), inside(name)], name));
    }
    let budgets = [
        fields.entry("max_attempts"),
        fields.entry("max_retries"),
        inside("max_attempts"),
        inside("max_retries"),
    ];
    made.carry("max_attempts", sole(desk, budgets, "the budget"));
    if let Some(metadata) = metadata {
        metadata.close();
    }
    fields.aside(&["id"]);
    fields.close();
    made.node()
}
