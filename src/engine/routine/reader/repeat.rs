//! `map`, `fold` and `until`: a nested routine over and over (V22).

use std::sync::Arc;

use crate::engine::limits;
use crate::engine::routine::definition::{
    Body, FoldStep, IterationSource, MapStep, StepKind, UntilStep,
};
use crate::engine::routine::file::Node;
use crate::engine::routine::issue::Code;
use crate::engine::routine::outline::{Kind, Outline, Placed};
use crate::engine::routine::reader::context::Context;
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::table::{Part, Shape, Table, needed, optional, required};
use crate::engine::routine::reader::{body, check, condition};

/// What all three have.
pub(in crate::engine::routine) static REPEAT: Part = Part(&[
    required(
        "routine",
        Shape::One(&body::NESTED),
        "The work of one iteration.",
    ),
    optional(
        "max_iterations",
        Shape::Whole(1, limits::ITERATIONS),
        "The most iterations; of a larger source it chooses the first ones.",
    ),
    optional(
        "iteration_deadline_ms",
        Shape::Whole(0, limits::MAX_TIMER_MS),
        "Deadline of one iteration in milliseconds; 0 is none.",
    ),
]);

/// What map and fold have.
pub(in crate::engine::routine) static FROM: Part = Part(&[required(
    "source",
    Shape::One(&SOURCE),
    "Where the items come from.",
)]);

/// The result of map and until.
pub(in crate::engine::routine) static RESULT: Part = Part(&[optional(
    "result_key",
    Shape::Text,
    "The memory key that keeps the result.",
)]);

/// What only a fold has.
pub(in crate::engine::routine) static FOLD: Part = Part(&[
    required(
        "initial_value",
        Shape::Any,
        "The accumulator before the first item.",
    ),
    needed(
        "result_key",
        Code::MissingResultKey,
        Shape::Text,
        "The memory key that keeps the result.",
    ),
]);

/// What only an until has.
pub(in crate::engine::routine) static UNTIL: Part = Part(&[
    required(
        "stop_when",
        Shape::One(&condition::STOP_WHEN),
        "When to stop.",
    ),
    optional(
        "iteration_key",
        Shape::Text,
        "The memory key that holds the iteration's number.",
    ),
]);

static SOURCE: Table = Table {
    name: "source",
    parts: &[&Part(&[
        optional(
            "step",
            Shape::Text,
            "The slug of a step that precedes: its output.",
        ),
        optional("memory_key", Shape::Template, "A memory key: its value."),
        optional(
            "path",
            Shape::Template,
            "A path into it, as in results[0].entries.",
        ),
    ])],
};

/// What was read of a repeating step.
pub(in crate::engine::routine) struct Repeat {
    pub(in crate::engine::routine) kind: Option<StepKind>,
    /// The step that items are taken from.
    pub(in crate::engine::routine) source: Option<Placed<String>>,
    pub(in crate::engine::routine) nested: Option<Box<Outline>>,
}

/// Reads the own fields of a map.
pub(in crate::engine::routine) fn map(fields: &Fields<'_>) -> Repeat {
    let (source, step) = source(fields);
    let (routine, nested) = nested(fields, Kind::Map);
    let max_iterations = iterations(fields);
    let iteration_deadline_ms = fields.deadline("iteration_deadline_ms");
    let result_key = fields.name("result_key").map(|key| key.value);
    let kind = match (source, routine) {
        (Some(source), Some(routine)) => Some(StepKind::Map(MapStep {
            source,
            routine,
            max_iterations,
            iteration_deadline_ms,
            result_key,
        })),
        (None, _) | (_, None) => None,
    };
    Repeat {
        kind,
        source: step,
        nested,
    }
}

/// Reads the own fields of a fold.
pub(in crate::engine::routine) fn fold(fields: &Fields<'_>) -> Repeat {
    let (source, step) = source(fields);
    let (routine, nested) = nested(fields, Kind::Fold);
    let max_iterations = iterations(fields);
    let iteration_deadline_ms = fields.deadline("iteration_deadline_ms");
    let initial_value = fields.json("initial_value");
    let result_key = fields.name("result_key");
    let kind = match (source, routine, initial_value, result_key) {
        (Some(source), Some(routine), Some(initial_value), Some(key)) => {
            Some(StepKind::Fold(FoldStep {
                source,
                routine,
                initial_value,
                max_iterations,
                iteration_deadline_ms,
                result_key: key.value,
            }))
        }
        (None, ..) | (_, None, ..) | (_, _, None, _) | (_, _, _, None) => None,
    };
    Repeat {
        kind,
        source: step,
        nested,
    }
}

/// Reads the own fields of an until.
pub(in crate::engine::routine) fn until(fields: &Fields<'_>) -> Repeat {
    let (routine, nested) = nested(fields, Kind::Until);
    let stop_when = fields
        .node("stop_when")
        .and_then(|node| condition::stop_when(fields.cx, node));
    let max_iterations = iterations(fields).unwrap_or(1);
    let iteration_key = fields.name("iteration_key").map(|key| key.value);
    let iteration_deadline_ms = fields.deadline("iteration_deadline_ms");
    let result_key = fields.name("result_key").map(|key| key.value);
    let kind = match (routine, stop_when) {
        (Some(routine), Some(stop_when)) => Some(StepKind::Until(UntilStep {
            routine,
            stop_when,
            max_iterations,
            iteration_key,
            iteration_deadline_ms,
            result_key,
        })),
        (None, _) | (_, None) => None,
    };
    Repeat {
        kind,
        source: None,
        nested,
    }
}

fn iterations(fields: &Fields<'_>) -> Option<u64> {
    fields.whole(
        "max_iterations",
        Code::BadMaxIterations,
        (1, limits::ITERATIONS),
    )
}

fn nested(fields: &Fields<'_>, host: Kind) -> (Option<Arc<Body>>, Option<Box<Outline>>) {
    match fields
        .node("routine")
        .and_then(|node| body::nested(fields.cx, node, host))
    {
        Some((body, outline)) => (Some(body), Some(Box::new(outline))),
        None => (None, None),
    }
}

fn source(fields: &Fields<'_>) -> (Option<IterationSource>, Option<Placed<String>>) {
    let Some(node) = fields.node("source") else {
        return (None, None);
    };
    read_source(fields.cx.with_code(Code::BadSource), node)
}

fn read_source(cx: Context<'_>, node: &Node) -> (Option<IterationSource>, Option<Placed<String>>) {
    let Some(fields) = Fields::open(cx, node, &SOURCE) else {
        return (None, None);
    };
    let step = fields.name("step");
    let key = fields.template("memory_key");
    let path = fields
        .node("path")
        .map(|node| check::data_path_template(&cx, node, "path"));
    let given = [fields.node("step"), fields.node("memory_key")];
    fields.close();
    if given[0].is_some() == given[1].is_some() {
        let message = "a source is either `step` or `memory_key`, with an optional `path`";
        cx.report(Code::BadSource, node.at, message);
        return (None, step);
    }
    // A broken path leaves the step's name readable for the rules.
    let source = match (path, &step, key) {
        (Some(None), _, _) => None,
        (path, Some(step), _) => Some(IterationSource::Step {
            step: step.value.clone(),
            path: path.flatten(),
        }),
        (path, None, Some(key)) => Some(IterationSource::Memory {
            key,
            path: path.flatten(),
        }),
        (_, None, None) => None,
    };
    (source, step)
}
