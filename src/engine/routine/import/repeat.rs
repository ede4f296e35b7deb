//! Control flows: map, fold and until over tasks of their own.

use crate::engine::limits;
use crate::engine::routine::file::{Content, Node};
use crate::engine::routine::import::foreign::{Foreign, Made, text};
use crate::engine::routine::import::names::Names;
use crate::engine::routine::import::task::{self, OnFalse, TaskList};
use crate::engine::routine::import::text::templates;
use crate::engine::routine::issue::Code;

/// The types; any other is reported.
const KINDS: [&str; 3] = ["map", "fold", "until"];

/// A control flow's type.
pub(super) fn kind<'a>(flow: &Foreign<'a>) -> Option<&'a str> {
    let Some(node) = flow.value("type") else {
        let message = "a control flow needs `type`: map, fold or until";
        flow.desk.report(Code::MissingField, flow.at, message);
        return None;
    };
    let Some(word) = node.as_text() else {
        flow.desk.mistyped(node, "type", "text");
        return None;
    };
    let known = KINDS.contains(&word);
    if !known {
        let message = format!("`{word}` is no control flow; it is one of map, fold, until");
        flow.desk.report(Code::BadValue, node.at, message);
    }
    known.then_some(word)
}

/// Whether something is missing. It is then missing from the control flow, and not from its task.
pub(super) fn lacks(flow: &Foreign<'_>) -> bool {
    let needs: &[&'static str] = match flow.value("type").and_then(Node::as_text) {
        Some("map") => &["source", "tasks"],
        Some("fold") => &["source", "tasks", "resultKey"],
        _ => &["condition", "tasks"],
    };
    let lacks_value = flow.value("type").and_then(Node::as_text) == Some("fold")
        && flow.entry_or_null("initialValue").is_none();
    lacks_value || needs.iter().any(|&name| flow.value(name).is_none())
}

/// Adds what a repetition consists of to the step of its task.
pub(super) fn rewrite(around: &TaskList<'_>, flow: &Foreign<'_>, made: &mut Made) {
    made.carry("type", flow.entry("type"));
    made.carry_as("source", flow.entry("source"), |node| {
        source(around, flow, node)
    });
    made.carry_as("routine", flow.entry("tasks"), |node| {
        nested(around, flow, node)
    });
    made.carry("result_key", flow.entry("resultKey"));
    made.carry("max_iterations", flow.entry("maxIterations"));
    made.carry("iteration_deadline_ms", flow.entry("iterationTimeoutMs"));
    made.carry("initial_value", flow.entry_or_null("initialValue"));
    made.carry("iteration_key", flow.entry("iterationKey"));
    made.carry_as("stop_when", flow.entry("condition"), |node| {
        task::condition(flow.desk, node, OnFalse::MeansNothing)
    });
}

/// A memory key, or a map that names a task or a key, and a path.
fn source(around: &TaskList<'_>, flow: &Foreign<'_>, node: &Node) -> Node {
    let mut made = Made::at(node.at);
    if node.as_text().is_some() {
        made.put("memory_key", templates(around.names, node));
        return made.node();
    }
    let Some(fields) = Foreign::open(flow.desk, node, "source") else {
        // The reader would only say the same again, so it gets what it can read.
        made.put("memory_key", text(node.at, "unreadable"));
        return made.node();
    };
    made.carry_as("step", fields.entry("task"), |node| {
        match node.as_text().and_then(|word| around.names.slug_of(word)) {
            Some(slug) => text(node.at, slug),
            None => node.clone(),
        }
    });
    made.carry_as("memory_key", fields.entry("key"), |node| {
        templates(around.names, node)
    });
    made.carry("path", fields.entry("path"));
    fields.close();
    made.node()
}

fn nested(around: &TaskList<'_>, flow: &Foreign<'_>, tasks: &Node) -> Node {
    let mut made = Made::at(tasks.at);
    let level = around.level + 1;
    if level > limits::NESTED_LEVELS {
        // Too deep to be read; the reader says so before it looks inside.
        made.put(
            "steps",
            Node {
                at: tasks.at,
                content: Content::List(Vec::new()),
            },
        );
        return made.node();
    }
    let items = tasks.as_list().unwrap_or_default();
    let names = Names::of(flow.desk, items, Some(around.names));
    let inner = TaskList {
        desk: flow.desk,
        names: &names,
        tools: around.tools,
        level,
    };
    inner.rewrite(tasks, &mut made);
    made.node()
}
