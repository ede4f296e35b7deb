//! Pre and post steps, and the `tool` step: tool calls without a model (V23, G16).

use crate::engine::limits;
use crate::engine::routine::definition::{DeterministicStep, OnError, ToolStep};
use crate::engine::routine::file::Node;
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::Subject;
use crate::engine::routine::outline::{Named, Placed};
use crate::engine::routine::reader::context::Context;
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::table::{Part, Shape, Table, optional, required};
use crate::engine::routine::reader::words::Word;

/// A pre or post step.
pub(in crate::engine::routine) static DETERMINISTIC_STEP: Table = Table {
    name: "deterministic step",
    parts: &[
        &Part(&[required(
            "name",
            Shape::Text,
            "The name under which {{step.NAME}} finds the result.",
        )]),
        &TOOL_CALL,
        &Part(&[optional(
            "on_error",
            Shape::Word(OnError::WORDS),
            "What a failure does; fail before the graph, continue after it.",
        )]),
    ],
};

/// The fields of a tool call.
pub(in crate::engine::routine) static TOOL_CALL: Part = Part(&[
    required("tool", Shape::Text, "The tool."),
    optional("args", Shape::Arguments, "Its arguments."),
    optional(
        "timeout_ms",
        Shape::Whole(1, limits::MAX_TIMER_MS),
        "Time limit in milliseconds; 30000 by default.",
    ),
    optional(
        "result_key",
        Shape::Text,
        "The memory key that keeps the result.",
    ),
]);

/// Reads a pre or post step. Its name is known also where the rest is broken.
pub(in crate::engine::routine) fn deterministic_step(
    cx: Context<'_>,
    node: &Node,
    on_error: OnError,
) -> (Option<Placed<String>>, Option<DeterministicStep>) {
    let cx = Context {
        subject: Subject::step(node.get("name").and_then(Node::as_text)),
        wrong: Code::BadValue,
        ..cx
    };
    let Some(fields) = Fields::open(cx, node, &DETERMINISTIC_STEP) else {
        return (None, None);
    };
    let name = fields.name("name");
    let call = tool_call(&fields);
    let on_error = fields.word("on_error").unwrap_or(on_error);
    fields.close();
    let step = match (&name, call) {
        (Some(name), Some(call)) => Some(DeterministicStep {
            name: name.value.clone(),
            tool: call.tool,
            args: call.args,
            result_key: call.result_key,
            on_error,
            timeout_ms: call.timeout_ms,
        }),
        (None, _) | (_, None) => None,
    };
    (name, step)
}

/// Reads the fields of a tool call.
pub(in crate::engine::routine) fn tool_call(fields: &Fields<'_>) -> Option<ToolStep> {
    let tool = fields.name("tool");
    let args = fields.arguments("args");
    let timeout_ms = fields
        .timer("timeout_ms")
        .unwrap_or(limits::TOOL_TIMEOUT_MS);
    let result_key = fields.name("result_key").map(|key| key.value);
    let tool = tool?;
    fields.cx.note_name(Named::Tool, &tool);
    Some(ToolStep {
        tool: tool.value,
        args,
        timeout_ms,
        result_key,
    })
}
