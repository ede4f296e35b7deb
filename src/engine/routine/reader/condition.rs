//! Conditions on memory keys (V20): of steps, and of `until`.

use crate::engine::routine::definition::{MemoryCondition, OnFalse, Operator, StepCondition};
use crate::engine::routine::file::Node;
use crate::engine::routine::issue::Code;
use crate::engine::routine::reader::context::Context;
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::table::{Part, Shape, Table, optional, required};
use crate::engine::routine::reader::words::Word;

static WHEN: Part = Part(&[
    required(
        "memory_key",
        Shape::Text,
        "The memory key that is looked at.",
    ),
    required(
        "operator",
        Shape::Word(Operator::WORDS),
        "How the value is compared.",
    ),
    optional("value", Shape::Any, "What it is compared with."),
]);

/// The condition of a step.
pub(in crate::engine::routine) static STEP_CONDITION: Table = Table {
    name: "condition",
    parts: &[
        &WHEN,
        &Part(&[required(
            "on_false",
            Shape::Word(OnFalse::WORDS),
            "What happens when it is false.",
        )]),
    ],
};

/// The end of an `until`.
pub(in crate::engine::routine) static STOP_WHEN: Table = Table {
    name: "stop_when",
    parts: &[&WHEN],
};

/// Reads the condition of a step.
pub(in crate::engine::routine) fn step_condition(
    cx: Context<'_>,
    node: &Node,
) -> Option<StepCondition> {
    let fields = Fields::open(cx.with_code(Code::BadCondition), node, &STEP_CONDITION)?;
    let when = when(&fields);
    let on_false = fields.word("on_false");
    fields.close();
    Some(StepCondition {
        when: when?,
        on_false: on_false?,
    })
}

/// Reads the end of an `until`.
pub(in crate::engine::routine) fn stop_when(
    cx: Context<'_>,
    node: &Node,
) -> Option<MemoryCondition> {
    let fields = Fields::open(cx.with_code(Code::BadCondition), node, &STOP_WHEN)?;
    let when = when(&fields);
    fields.close();
    when
}

fn when(fields: &Fields<'_>) -> Option<MemoryCondition> {
    let memory_key = fields.name("memory_key");
    let operator = fields.word::<Operator>("operator");
    let value = fields.json("value");
    let operator = operator?;
    let problem = match operator {
        Operator::Exists | Operator::NotExists | Operator::Truthy => None,
        Operator::Equals | Operator::Contains => value
            .is_none()
            .then_some("this operator needs a `value` to compare with"),
        Operator::GreaterThan | Operator::LessThan => {
            (!value.as_ref().is_some_and(serde_json::Value::is_number))
                .then_some("this operator compares numbers; `value` must be one")
        }
    };
    if let Some(problem) = problem {
        fields.cx.report(Code::BadCondition, fields.at, problem);
        return None;
    }
    Some(MemoryCondition {
        memory_key: memory_key?.value,
        operator,
        value,
    })
}
