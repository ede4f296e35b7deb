//! Task lists: what stands around the tasks.

use crate::engine::routine::file::{Content, Entry, Node};
use crate::engine::routine::import::foreign::{Desk, Foreign, Made, text};
use crate::engine::routine::import::names::{Names, slug};
use crate::engine::routine::import::text::{templates, tool, tool_name, tools};
use crate::engine::routine::import::{task, unsupported};

/// How a task list spells our fields.
pub(super) fn spelled(name: &str) -> &str {
    match name {
        "routine" | "slug" => "name",
        "steps" | "entry_steps" | "edges" => "tasks",
        "expected_output" => "expectedOutput",
        "criteria" => "completionCriteria",
        "min_score" => "minCompletionScore",
        "tools" => "suggestedTools",
        "required_tools" => "requiredTools",
        "required_plugins" => "requiredPlugins",
        "pre_steps" => "preSteps",
        "post_steps" => "postSteps",
        "post_steps_trigger" => "postStepsTrigger",
        "tool" => "toolName",
        "result_key" => "resultKey",
        "on_error" => "onError",
        "deadline_ms" | "timeout_ms" => "timeoutMs",
        "memory_key" => "memoryKey",
        "on_false" => "onFalse",
        "initial_value" => "initialValue",
        "stop_when" => "condition",
        "max_iterations" | "max_model_calls" => "maxIterations",
        "iteration_deadline_ms" => "iterationTimeoutMs",
        "iteration_key" => "iterationKey",
        other => other,
    }
}

/// Rewrites a task list.
pub(super) fn rewrite(desk: Desk<'_>, root: &Node) -> Node {
    let Some(fields) = Foreign::open(desk, root, "task list") else {
        return root.clone();
    };
    let mut made = Made::at(root.at);
    let name = fields.entry("name");
    made.carry_as("routine", name, |node| match node.as_text() {
        Some(name) => text(node.at, &slug(name)),
        None => node.clone(),
    });
    made.carry("name", name);
    for ours in ["description", "version", "instructions", "parameters"] {
        made.carry(ours, fields.entry(ours));
    }
    made.carry("deadline_ms", fields.entry("timeoutMs"));
    // Theirs are needs, so none is none; ours are bounds, where none would be nothing at all.
    let needed = |name| fields.entry(name).filter(|entry| !is_empty(&entry.value));
    let required_tools = needed("requiredTools");
    made.carry_as("required_tools", required_tools, tools);
    made.carry("required_plugins", needed("requiredPlugins"));
    fields.aside(&["id", "tags", "author", "createdAt", "updatedAt", "metadata"]);
    unsupported::dynamic_tasks(&fields);
    unsupported::scheduling(&fields);

    let tasks = fields.entry_or_null("tasks").map(|entry| &entry.value);
    let names = Names::of(
        desk,
        tasks.and_then(Node::as_list).unwrap_or_default(),
        None,
    );
    if let Some(tasks) = tasks {
        let list = task::TaskList {
            desk,
            names: &names,
            tools: required_tools.map(|entry| &entry.value),
            level: 1,
        };
        list.rewrite(tasks, &mut made);
    }
    for (ours, theirs) in [("pre_steps", "preSteps"), ("post_steps", "postSteps")] {
        made.carry_as(ours, fields.entry(theirs), |node| {
            deterministic_steps(desk, &names, node)
        });
    }
    made.carry_as(
        "post_steps_trigger",
        fields.entry("postStepsTrigger"),
        |node| match node.as_text() {
            Some("on-success") => text(node.at, "on_success"),
            Some(_) | None => node.clone(),
        },
    );
    fields.close();
    made.node()
}

fn is_empty(node: &Node) -> bool {
    node.as_list().is_some_and(<[Node]>::is_empty)
}

fn deterministic_steps(desk: Desk<'_>, names: &Names<'_>, node: &Node) -> Node {
    let content = match node.as_list() {
        None => node.content.clone(),
        Some(items) => Content::List(
            items
                .iter()
                .map(|item| deterministic_step(desk, names, item))
                .collect(),
        ),
    };
    Node {
        at: node.at,
        content,
    }
}

fn deterministic_step(desk: Desk<'_>, names: &Names<'_>, node: &Node) -> Node {
    let own = node.get("name").and_then(Node::as_text);
    let desk = desk.about_step(own);
    let Some(fields) = Foreign::open(desk, node, "step") else {
        return node.clone();
    };
    let mut made = Made::at(node.at);
    made.carry("name", fields.entry("name"));
    let called = fields.entry("toolName");
    made.carry_as("tool", called, tool);
    let called = called.and_then(|entry| entry.value.as_text());
    made.carry_as("args", fields.entry("args"), |node| {
        arguments(called.unwrap_or_default(), &templates(names, node))
    });
    made.carry("result_key", fields.entry("resultKey"));
    made.carry_as("on_error", fields.entry("onError"), |node| {
        match node.as_text() {
            Some("skip-remaining") => text(node.at, "skip_remaining"),
            Some(_) | None => node.clone(),
        }
    });
    made.carry("timeout_ms", fields.entry("timeoutMs"));
    fields.close();
    made.node()
}

/// A memory tool here takes the key and the value alone; theirs also says how to file it.
fn arguments(called: &str, args: &Node) -> Node {
    match args.as_map() {
        Some(entries) if tool_name(called) != called => {
            let kept = |entry: &&Entry| matches!(&*entry.key, "key" | "value");
            let mut made = Made::at(args.at);
            for entry in entries.iter().filter(kept) {
                made.carry(&entry.key, Some(entry));
            }
            made.node()
        }
        Some(_) | None => args.clone(),
    }
}
