//! The values of templates: inputs, pre and post results, step outputs, and what an iteration adds (V21).
//!
//! A name means what it means in its own body, and else what it means around the repeating step.

use serde_json::{Value, json};

use crate::engine::operation::Operation;
use crate::engine::operation::state::{Execution, Iteration, Series, Stage, StepRef, StepState};
use crate::engine::routine::definition::DeterministicStep;
use crate::engine::routine::graph::StepIndex;
use crate::engine::routine::template::{Reference, Scope};

/// The names that a template can use at one place of one execution.
pub(super) struct OperationScope<'a> {
    operation: &'a Operation,
    execution: usize,
    site: Site,
}

/// Where in its body a template stands. What comes later there hides nothing that lies around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Site {
    /// In the body's instructions and pre steps: no step of the graph precedes.
    Start,
    /// In a step of the graph.
    Step(StepIndex),
    /// In post steps and final checks: every step precedes.
    End,
}

impl Operation {
    /// The names that a step's templates can use.
    pub(super) fn scope(&self, at: StepRef) -> OperationScope<'_> {
        self.scope_at(at.execution, Site::Step(at.step))
    }

    /// The names that a body's instructions and pre steps can use.
    pub(super) fn scope_of_start(&self, execution: usize) -> OperationScope<'_> {
        self.scope_at(execution, Site::Start)
    }

    /// The names that a body's post steps and final checks can use.
    pub(super) fn scope_of_end(&self, execution: usize) -> OperationScope<'_> {
        self.scope_at(execution, Site::End)
    }

    fn scope_at(&self, execution: usize, site: Site) -> OperationScope<'_> {
        OperationScope {
            operation: self,
            execution,
            site,
        }
    }
}

impl<'a> OperationScope<'a> {
    /// The place itself, then the steps that repeat it, from inner to outer.
    fn outward(&self) -> impl Iterator<Item = (&'a Execution, Site)> {
        let operation = self.operation;
        let first = Some((&operation.executions[self.execution], self.site));
        std::iter::successors(first, |(execution, _)| {
            let of = execution.iteration.as_ref()?.of;
            Some((&operation.executions[of.execution], Site::Step(of.step)))
        })
    }

    fn iteration(&self, has: impl Fn(&Iteration) -> bool) -> Option<&'a Iteration> {
        self.outward()
            .filter_map(|(execution, _)| execution.iteration.as_ref())
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
                .find_map(|(execution, _)| execution.series_result(name))
                .flatten(),
            Reference::Result(name) => self
                .outward()
                .find_map(|(execution, site)| execution.output_of(name, site))
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
    /// A pre or post step's result: `None` where no such step comes before here, `Some(None)` where
    /// it was passed by.
    fn series_result(&self, name: &str) -> Option<Option<Value>> {
        let body = self.graph.body();
        let begun = |steps: &[DeterministicStep], series: &Series| series.at.min(steps.len());
        let (pre, post) = match &self.stage {
            Stage::Before(series) => (begun(&body.pre_steps, series), 0),
            Stage::Graph => (body.pre_steps.len(), 0),
            Stage::After(series) => (body.pre_steps.len(), begun(&body.post_steps, series)),
            Stage::Final(_) | Stage::Over => (body.pre_steps.len(), body.post_steps.len()),
        };
        let mut before = body.pre_steps[..pre].iter().chain(&body.post_steps[..post]);
        before.find(|step| step.name == name)?;
        let mut outcomes = self.pre.iter().chain(&self.post);
        let found = outcomes.find(|outcome| outcome.name == name);
        Some(found.map(|outcome| outcome.result.clone()))
    }

    /// A step's output by slug or name: `None` where the body has no such step before here,
    /// `Some(None)` where it has no output yet.
    fn output_of(&self, name: &str, site: Site) -> Option<Option<Value>> {
        let graph = &self.graph;
        let step = graph
            .find(name)
            .or_else(|| graph.steps().find(|&step| graph.step(step).name == name))?;
        if !self.is_visible(step, site) {
            return None;
        }
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

    /// Whether a step's output may be named here. The outermost body hides nothing, and its names
    /// were checked.
    fn is_visible(&self, step: StepIndex, site: Site) -> bool {
        if self.iteration.is_none() {
            return true;
        }
        match site {
            Site::Start => false,
            // A step's own checks may name it.
            Site::Step(at) if at == step => {
                matches!(self.steps[step.at()].state, StepState::Claimed(_))
            }
            Site::Step(at) => self.precedes(step, at),
            Site::End => true,
        }
    }

    /// Whether forward edges lead from one step to another.
    fn precedes(&self, step: StepIndex, other: StepIndex) -> bool {
        let mut seen = vec![false; self.graph.len()];
        let mut open = vec![other];
        while let Some(at) = open.pop() {
            for &edge in self.graph.forward_in(at) {
                let from = self.graph.edge(edge).from;
                if from == step {
                    return true;
                }
                if !std::mem::replace(&mut seen[from.at()], true) {
                    open.push(from);
                }
            }
        }
        false
    }
}
