//! The values of templates: inputs, pre and post results, step outputs, and what an iteration adds (V21).
//!
//! A name means what it means in its own body, and else what it means around the repeating step.

use serde_json::{Value, json};

use crate::engine::operation::Operation;
use crate::engine::operation::state::{Execution, Iteration, StepRef, StepState};
use crate::engine::routine::template::{Reference, Scope};

/// The names that a body's templates can use.
pub(super) struct OperationScope<'a> {
    operation: &'a Operation,
    execution: usize,
}

impl Operation {
    pub(super) fn scope(&self, at: StepRef) -> OperationScope<'_> {
        self.scope_of(at.execution)
    }

    pub(super) fn scope_of(&self, execution: usize) -> OperationScope<'_> {
        OperationScope {
            operation: self,
            execution,
        }
    }
}

impl<'a> OperationScope<'a> {
    /// The execution, then the ones around it.
    fn outward(&self) -> impl Iterator<Item = &'a Execution> {
        let operation = self.operation;
        let first = Some(&operation.executions[self.execution]);
        std::iter::successors(first, |execution| {
            let around = execution.iteration.as_ref()?.of.execution;
            Some(&operation.executions[around])
        })
    }

    fn iteration(&self, has: impl Fn(&Iteration) -> bool) -> Option<&'a Iteration> {
        self.outward()
            .filter_map(|execution| execution.iteration.as_ref())
            .find(|iteration| has(iteration))
    }
}

impl Scope for OperationScope<'_> {
    fn value(&self, reference: &Reference) -> Option<Value> {
        let of_items = |iteration: &Iteration| iteration.total.is_some();
        match reference {
            Reference::Param(name) => self.operation.plan.inputs.get(name).cloned(),
            Reference::Step(name) => self
                .outward()
                .flat_map(|execution| execution.pre.iter().chain(&execution.post))
                .find(|outcome| outcome.name == *name)
                .map(|outcome| outcome.result.clone()),
            Reference::Result(name) => self
                .outward()
                .find_map(|execution| execution.output_of(name))
                .flatten(),
            Reference::MapItem => Some(self.iteration(of_items)?.item.clone()),
            Reference::MapIndex => Some(json!(self.iteration(of_items)?.index)),
            Reference::MapTotal => Some(json!(self.iteration(of_items)?.total)),
            Reference::FoldAccumulator => self
                .iteration(|iteration| iteration.accumulator.is_some())?
                .accumulator
                .clone(),
        }
    }
}

impl Execution {
    /// A step's output by slug or name: `None` where the body has no such step, `Some(None)` where
    /// it has no output yet.
    fn output_of(&self, name: &str) -> Option<Option<Value>> {
        let graph = &self.graph;
        let step = graph
            .find(name)
            .or_else(|| graph.steps().find(|&step| graph.step(step).name == name))?;
        Some(match &self.steps[step.at()].state {
            StepState::Settled(settled) => Some(settled.claim.output.clone()),
            // It was passed by: a value all the same, written as nothing.
            StepState::Skipped(_) => Some(Value::Null),
            // Its own checks may name it.
            StepState::Claimed(claimed) => Some(claimed.claim.output.clone()),
            StepState::Idle
            | StepState::Ready
            | StepState::Condition
            | StepState::Council(_)
            | StepState::Turn(_)
            | StepState::ToolRun(_)
            | StepState::GateChecks(_)
            | StepState::OperatorGate
            | StepState::Repeating(_)
            | StepState::Uncertain(_)
            | StepState::Stopping(_)
            | StepState::Stopped => None,
        })
    }
}
