//! Edges: from where to where, when, and with what handoff (G2, G5).

use crate::engine::routine::definition::{EdgeCondition, EdgeDefinition};
use crate::engine::routine::file::{Content, Node};
use crate::engine::routine::graph::HandoffRule;
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::Subject;
use crate::engine::routine::outline::{EdgeOutline, HandoffText, Placed, WrittenCondition};
use crate::engine::routine::reader::context::{Context, read_word};
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::table::{Part, Shape, Table, optional, required};
use crate::engine::routine::reader::words::Word;

/// An edge.
pub(in crate::engine::routine) static EDGE: Table = Table {
    name: "edge",
    parts: &[&Part(&[
        required("from", Shape::Text, "The slug of the step that it leaves."),
        required("to", Shape::Text, "The slug of the step that it leads to."),
        optional(
            "condition",
            Shape::Word(EdgeCondition::WORDS),
            "When it activates. Gates use on_pass and on_fail, other steps always (the default).",
        ),
        optional("purpose", Shape::Text, "Why the target gets the work."),
        optional(
            "handoff_instructions",
            Shape::Text,
            "What the handoff should hold.",
        ),
        optional(
            "handoff_schema",
            Shape::JsonSchema,
            "JSON Schema of the handoff, an object.",
        ),
        optional(
            "max_attempts",
            Shape::Whole(1, u32::MAX as u64),
            "How often a retry edge may be taken; 3 by default.",
        ),
    ])],
};

/// Reads an edge.
pub(in crate::engine::routine) fn edge(
    cx: Context<'_>,
    node: &Node,
) -> (EdgeOutline, Option<EdgeDefinition>) {
    let end = |name: &str| node.get(name).and_then(Node::as_text);
    let label = match (end("from"), end("to")) {
        (Some(from), Some(to)) => Some(format!("{from}->{to}")),
        (None, _) | (_, None) => None,
    };
    let cx = Context {
        subject: Subject::edge(label.as_deref()),
        ..cx
    };
    let mut outline = EdgeOutline {
        at: node.at,
        from: None,
        to: None,
        condition: WrittenCondition::Unreadable,
        max_attempts: None,
        handoff: HandoffText::Given,
        rule: HandoffRule::any(),
    };
    let Some(fields) = Fields::open(cx, node, &EDGE) else {
        return (outline, None);
    };
    outline.from = fields.placed_text("from");
    outline.to = fields.placed_text("to");
    outline.condition = match fields.node("condition") {
        None => WrittenCondition::Absent,
        Some(node) => {
            let cx = fields.cx.with_code(Code::BadCondition);
            match read_word(&cx, node, "edge condition") {
                Some(value) => WrittenCondition::Given(Placed { value, at: node.at }),
                None => WrittenCondition::Unreadable,
            }
        }
    };
    let purpose = fields.text("purpose");
    let handoff_instructions = fields.text("handoff_instructions");
    let mut handoff_schema = None;
    if let Some(node) = fields.node("handoff_schema") {
        let cx = fields.cx.with_code(Code::BadHandoffSchema);
        if let Some((schema, rule)) = schema(&cx, node) {
            handoff_schema = Some(schema);
            outline.rule = rule;
        }
    }
    if let Some(node) = fields.node("max_attempts") {
        outline.max_attempts = fields
            .count("max_attempts", Code::BadMaxAttempts, 1)
            .map(|value| Placed { value, at: node.at });
    }
    let says = ["purpose", "handoff_instructions", "handoff_schema"]
        .map(|name| fields.node(name).is_some());
    if !says.contains(&true) {
        outline.handoff = HandoffText::Absent;
    }
    fields.close();
    let definition = match (&outline.from, &outline.to) {
        (Some(from), Some(to)) => Some(EdgeDefinition {
            from: from.value.clone(),
            to: to.value.clone(),
            condition: match &outline.condition {
                WrittenCondition::Given(condition) => condition.value,
                WrittenCondition::Absent | WrittenCondition::Unreadable => EdgeCondition::Always,
            },
            purpose,
            handoff_instructions,
            handoff_schema,
            max_attempts: outline.max_attempts.as_ref().map(|budget| budget.value),
        }),
        (None, _) | (_, None) => None,
    };
    (outline, definition)
}

fn schema(cx: &Context<'_>, node: &Node) -> Option<(serde_json::Value, HandoffRule)> {
    let wrong = |message: String| cx.report(Code::BadHandoffSchema, node.at, message);
    cx.entries(node, "handoff_schema")?;
    let describes_object = match node.get("type").map(|word| &word.content) {
        None => true,
        Some(Content::Text(word)) => &**word == "object",
        Some(Content::List(words)) => words.iter().any(|word| word.as_text() == Some("object")),
        Some(Content::Null | Content::Bool(_) | Content::Number(_) | Content::Map(_)) => false,
    };
    if !describes_object {
        wrong("a handoff is an object; `type` must be object".into());
        return None;
    }
    let json = cx.json(node, "handoff_schema")?;
    match jsonschema::validator_for(&json) {
        Ok(validator) => Some((json, HandoffRule::of(validator))),
        Err(error) => {
            wrong(format!("this is no JSON Schema: {error}"));
            None
        }
    }
}
