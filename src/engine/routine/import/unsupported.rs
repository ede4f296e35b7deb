//! What task lists may ask for and nobody gets here (V25): reported, where it asks for anything.
//!
//! Where another value would have asked for nothing, the value is pointed at; else the field.

use crate::engine::routine::file::{Content, Entry, Node};
use crate::engine::routine::import::foreign::Foreign;
use crate::engine::routine::issue::Code;

/// Of a list, a task and its `execution`: how several tasks share a time.
pub(super) fn scheduling(fields: &Foreign<'_>) {
    flag(fields, "parallel");
    at_most_one(fields, "maxConcurrency");
    if let Some(entry) = fields.entry("priority") {
        refuse(
            fields,
            entry,
            "a step starts as soon as its inputs are there",
        );
    }
    if let Some(entry) = fields.entry("concurrency")
        && !is_one_after_another(&entry.value)
    {
        refuse(
            fields,
            entry,
            "tasks of one agent take turns, first ready first served",
        );
    }
}

/// Of a list: tasks that come up while it runs.
pub(super) fn dynamic_tasks(fields: &Foreign<'_>) {
    flag(fields, "allowDynamicTasks");
}

/// Of a task: to be sent again, and to wait for somebody outside.
pub(super) fn of_task(fields: &Foreign<'_>) {
    at_most_one(fields, "maxAttempts");
    if let Some(entry) = fields.entry("externalDependency") {
        refuse(fields, entry, "let a check of the task wait for it");
    }
}

/// Of a task's `validation`: other judges than criteria.
pub(super) fn validation(fields: &Foreign<'_>) {
    if let Some(entry) = fields.entry("customValidator") {
        refuse(fields, entry, "use a command check");
    }
    if let Some(entry) = fields.entry("requiredMemoryKeys")
        && !entry.value.as_list().is_some_and(<[Node]>::is_empty)
    {
        refuse(fields, entry, "use a condition of the step that needs them");
    }
    if let Some(value) = fields.value("requireUserApproval")
        && value.as_text() != Some("never")
    {
        match value.as_text() {
            Some(word) => refuse_value(fields, "requireUserApproval", value, word),
            None => fields.desk.mistyped(value, "requireUserApproval", "text"),
        }
    }
}

fn flag(fields: &Foreign<'_>, name: &'static str) {
    let Some(value) = fields.value(name) else {
        return;
    };
    match &value.content {
        Content::Bool(false) => {}
        Content::Bool(true) => refuse_value(fields, name, value, "true"),
        Content::Null
        | Content::Number(_)
        | Content::Text(_)
        | Content::List(_)
        | Content::Map(_) => fields.desk.mistyped(value, name, "true or false"),
    }
}

fn at_most_one(fields: &Foreign<'_>, name: &'static str) {
    let Some(value) = fields.value(name) else {
        return;
    };
    match whole(value) {
        Some(1) => {}
        Some(more) if more > 1 => refuse_value(fields, name, value, &more.to_string()),
        Some(_) | None => {
            let message = format!("{name} must be a whole number of at least 1");
            fields.desk.report(Code::BadValue, value.at, message);
        }
    }
}

fn whole(node: &Node) -> Option<u64> {
    match &node.content {
        Content::Number(number) => number.as_u64(),
        Content::Null
        | Content::Bool(_)
        | Content::Text(_)
        | Content::List(_)
        | Content::Map(_) => None,
    }
}

/// Whether concurrency settings say no more than what holds anyway.
fn is_one_after_another(node: &Node) -> bool {
    node.as_map().is_some_and(|entries| {
        entries.iter().all(|entry| match &*entry.key {
            "maxParallelTasks" => whole(&entry.value) == Some(1),
            "strategy" => entry.value.as_text() == Some("fifo"),
            "failureMode" => entry.value.as_text() == Some("fail-fast"),
            _ => false,
        })
    })
}

fn refuse(fields: &Foreign<'_>, entry: &Entry, instead: &str) {
    let message = format!("`{}` isn't supported; {instead}", entry.key);
    fields.desk.report(Code::Unsupported, entry.at, message);
}

fn refuse_value(fields: &Foreign<'_>, name: &str, value: &Node, word: &str) {
    let message = format!("`{name}: {word}` isn't supported; leave it out");
    fields.desk.report(Code::Unsupported, value.at, message);
}
