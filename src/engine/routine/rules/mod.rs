//! The rules of G12: one function a rule, over whatever could be read.
//!
//! Each rule reports all its findings and none stops another. Nested routines are judged by the
//! same rules.

pub(in crate::engine::routine) mod edges;
pub(in crate::engine::routine) mod matrix;
pub(in crate::engine::routine) mod names;
pub(in crate::engine::routine) mod retry;
pub(in crate::engine::routine) mod sketch;
pub(in crate::engine::routine) mod steps;
pub(in crate::engine::routine) mod templates;
pub(in crate::engine::routine) mod topology;

use std::collections::BTreeSet;

use crate::engine::routine::issues::Issues;
use crate::engine::routine::outline::Outline;
use crate::engine::routine::reader::routine::Reading;
use crate::engine::routine::rules::names::Known;
use crate::engine::routine::rules::sketch::Sketch;
use crate::engine::routine::rules::templates::{Around, Frame};
use crate::engine::routine::rules::topology::Findings;

/// Rules that look at a body without its order.
const PLAIN: [fn(&Sketch<'_>, &Issues); 12] = [
    steps::some_steps,
    steps::entries,
    steps::distinct,
    steps::not_too_many,
    steps::lead_on,
    steps::terminals_end,
    steps::terminals,
    steps::reachable,
    steps::gates_have_criteria,
    edges::ends,
    edges::conditions,
    edges::distinct,
];

/// Rules that need to know which edges retry.
const ORDERED: [fn(&Sketch<'_>, &retry::Order, &Issues); 3] = [
    retry::mixed_on_fail,
    retry::budgets,
    retry::entries_without_incoming,
];

/// Judges a file. The findings are worth something only where no error was found.
pub(in crate::engine::routine) fn judge(
    reading: &Reading,
    known: &Known,
    issues: &Issues,
) -> Option<Findings> {
    names::known(reading, known, issues);
    names::assurance(reading, issues);
    names::some_verification(reading, issues);
    let parameters = reading.parameters.iter().map(String::as_str).collect();
    judge_body(&reading.outline, &parameters, None, issues)
}

fn judge_body(
    outline: &Outline,
    parameters: &BTreeSet<&str>,
    outer: Option<(&Frame<'_>, usize)>,
    issues: &Issues,
) -> Option<Findings> {
    let host = outer.and_then(|(frame, step)| frame.sketch.step(step).slug());
    let sketch = Sketch::of(outline, host);
    for rule in PLAIN {
        rule(&sketch, issues);
    }
    edges::handoffs(&sketch, issues);
    let order = retry::order(&sketch, issues);
    if let Some(order) = &order {
        for rule in ORDERED {
            rule(&sketch, order, issues);
        }
    }
    let around = Around::of(outline);
    let frame = Frame {
        around: &around,
        sketch: &sketch,
        order: order.as_ref(),
        parameters,
        outer,
    };
    templates::references(&frame, issues);
    templates::sources(&frame, issues);
    let mut nested = Vec::new();
    for (index, step) in outline.steps.items.iter().enumerate() {
        if let Some(inner) = &step.nested {
            let findings = judge_body(inner, parameters, Some((&frame, index)), issues);
            nested.extend(findings.map(|findings| (index, findings)));
        }
    }
    // Keeping the findings costs more than judging; a file with errors needs none.
    match order {
        Some(order) if !issues.any_error() => Some(Findings::of(&sketch, &order, nested)),
        Some(_) | None => None,
    }
}
