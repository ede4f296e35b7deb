//! Conditions in words: whether a step runs at all, and when a repetition stops (V20, V22).

use serde_json::Value;

use crate::engine::routine::definition::{
    MemoryCondition, OnFalse, Operator, StepDefinition, StepKind,
};

/// So many characters of a value are shown; the file has the rest.
const SHOWN: usize = 40;

/// What a step depends on.
pub(super) fn of(step: &StepDefinition) -> Vec<String> {
    let runs = step.condition.as_ref().map(|condition| {
        let otherwise = match condition.on_false {
            OnFalse::Skip => "skip",
            OnFalse::Fail => "fail",
            OnFalse::Wait => "wait",
        };
        format!("if {}, else {otherwise}", said(&condition.when))
    });
    let stops = match &step.kind {
        StepKind::Until(until) => Some(format!("until {}", said(&until.stop_when))),
        StepKind::Agent(_)
        | StepKind::Gate(_)
        | StepKind::Council(_)
        | StepKind::Tool(_)
        | StepKind::Map(_)
        | StepKind::Fold(_)
        | StepKind::Terminal { .. }
        | StepKind::TerminalFail { .. } => None,
    };
    runs.into_iter().chain(stops).collect()
}

fn said(condition: &MemoryCondition) -> String {
    let is = match condition.operator {
        Operator::Exists => "exists",
        Operator::NotExists => "doesn't exist",
        Operator::Truthy => "is truthy",
        Operator::Equals => "equals",
        Operator::Contains => "contains",
        Operator::GreaterThan => "is greater than",
        Operator::LessThan => "is less than",
    };
    let compared = match condition.operator {
        Operator::Exists | Operator::NotExists | Operator::Truthy => None,
        Operator::Equals | Operator::Contains | Operator::GreaterThan | Operator::LessThan => {
            condition.value.as_ref()
        }
    };
    match compared {
        Some(value) => format!("{} {is} {}", condition.memory_key, shown(value)),
        None => format!("{} {is}", condition.memory_key),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
