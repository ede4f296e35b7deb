//! Draws the detached picture of an operation from its state.

use crate::engine::operation::Operation;
use crate::engine::operation::flow::EdgeState;
use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::published::CalledOutcome;
use crate::engine::operation::state::{
    Basis, Call, CallAt, Execution, SeriesOutcome, Stage, StepRef, StepState,
};
use crate::engine::operation::view::{
    EdgeStatus, EdgeView, ExecutionView, IterationView, OperationView, SeriesStepView, StepStatus,
    StepView,
};
use crate::engine::operation::wait::Wait;
use crate::engine::routine::definition::{DeterministicStep, GateOwner, GateStep, StepKind};
use crate::engine::routine::graph::{EdgeClass, EdgeIndex, StepIndex};
use crate::engine::verify::Held;

impl Operation {
    /// A detached picture of everything. Its cost grows with the number of steps.
    pub fn view(&self) -> OperationView {
        let body = &self.plan.definition.body;
        let root = &self.executions[0];
        let (pre_call, post_call) = match &root.stage {
            Stage::Before(series) => (series.call.as_ref(), None),
            Stage::After(series) => (None, series.call.as_ref()),
            Stage::Graph | Stage::Final(_) | Stage::Over => (None, None),
        };
        let waits = self.waits();
        OperationView {
            operation: self.plan.operation.clone(),
            routine: self.plan.definition.slug.clone(),
            name: self.plan.definition.name.clone(),
            model: self.plan.model.to_string(),
            state: self.state(),
            generation: self.generation,
            pre_steps: series(&body.pre_steps, &root.pre, pre_call),
            executions: self
                .active
                .iter()
                .map(|&index| self.execution_view(index, &self.executions[index], &waits))
                .collect(),
            post_steps: series(&body.post_steps, &root.post, post_call),
            waits,
            effects: self.effects.class(),
            usage: self.usage,
            in_flight: self.in_flight.len(),
            sources: self.sources.len(),
            outcome: self.outcome.clone(),
        }
    }

    fn execution_view(&self, index: usize, execution: &Execution, waits: &[Wait]) -> ExecutionView {
        ExecutionView {
            id: execution.id.clone(),
            iteration: execution.iteration.as_ref().map(|iteration| {
                let around = &self.executions[iteration.of.execution];
                IterationView {
                    execution: around.id.clone(),
                    step: around.graph.step(iteration.of.step).slug.clone(),
                    index: iteration.index,
                    total: iteration.total,
                }
            }),
            steps: execution
                .graph
                .steps()
                .map(|step| self.step_view_of(index, step, waits))
                .collect(),
            edges: execution
                .graph
                .edges()
                .map(|edge| edge_view(execution, edge))
                .collect(),
        }
    }

    fn step_view_of(&self, index: usize, step: StepIndex, waits: &[Wait]) -> StepView {
        let execution = &self.executions[index];
        let definition = execution.graph.step(step);
        let state = self.state_of(StepRef {
            execution: index,
            step,
        });
        let waiting = || {
            waits
                .iter()
                .find(|wait| {
                    wait.key.execution == execution.id
                        && wait.key.step.as_deref() == Some(&definition.slug)
                })
                .map(|wait| wait.reason.clone())
        };
        let (output, note) = match state {
            StepState::Settled(settled) => {
                let reasoning = &settled.claim.reasoning;
                let note = (!reasoning.is_empty()).then(|| reasoning.clone());
                (Some(settled.claim.output.clone()), note)
            }
            StepState::Claimed(claimed) => (Some(claimed.claim.output.clone()), waiting()),
            StepState::Uncertain(uncertain) => (None, Some(uncertain.text.clone())),
            StepState::Turn(_)
            | StepState::Council(_)
            | StepState::ToolRun(_)
            | StepState::GateChecks(_)
            | StepState::Condition
            | StepState::OperatorGate => (None, waiting()),
            StepState::Idle
            | StepState::Ready
            | StepState::Skipped(_)
            | StepState::Repeating(_)
            | StepState::Stopping(_)
            | StepState::Stopped => (None, None),
        };
        StepView {
            slug: definition.slug.clone(),
            kind: definition.kind.label().to_owned(),
            agent: agent(&definition.kind),
            lap: execution.steps[step.at()].lap,
            status: status(state),
            output,
            note,
        }
    }
}

fn agent(kind: &StepKind) -> Option<String> {
    match kind {
        StepKind::Agent(step)
        | StepKind::Gate(GateStep {
            owner: GateOwner::Agent(step),
        }) => Some(step.agent.clone()),
        StepKind::Council(step) => Some(step.council.clone()),
        StepKind::Gate(_)
        | StepKind::Tool(_)
        | StepKind::Map(_)
        | StepKind::Fold(_)
        | StepKind::Until(_)
        | StepKind::Terminal { .. }
        | StepKind::TerminalFail { .. } => None,
    }
}

fn status(state: &StepState) -> StepStatus {
    let held = state.held();
    match state {
        StepState::Idle => StepStatus::Idle,
        StepState::Ready => StepStatus::Ready,
        StepState::Turn(_) | StepState::Council(_) | StepState::ToolRun(_) => {
            held.map_or(StepStatus::Running, held_status)
        }
        // While it is looked at again, what it said before doesn't count.
        StepState::GateChecks(gate) if gate.at.in_flight().is_some() => StepStatus::Verifying,
        StepState::Claimed(claimed) if claimed.at.in_flight().is_some() => StepStatus::Verifying,
        StepState::GateChecks(_) | StepState::Claimed(_) => {
            held.map_or(StepStatus::Verifying, held_status)
        }
        StepState::OperatorGate | StepState::Condition => StepStatus::Waiting,
        StepState::Repeating(_) => StepStatus::Running,
        StepState::Settled(settled) => match (settled.claim.verdict, settled.basis) {
            (Verdict::Fail, _) => StepStatus::Failed,
            (Verdict::Pass, Basis::Checks) => StepStatus::Verified,
            // Nothing has to vouch for reaching a terminal.
            (Verdict::Pass, Basis::NotAsked) => StepStatus::Verified,
            (Verdict::Pass, Basis::HostPolicy) => StepStatus::Passed,
        },
        StepState::Skipped(_) => StepStatus::Skipped,
        StepState::Uncertain(_) => StepStatus::Uncertain,
        StepState::Stopping(_) => StepStatus::Stopping,
        StepState::Stopped => StepStatus::Stopped,
    }
}

fn held_status(held: Held) -> StepStatus {
    match held {
        Held::Waiting => StepStatus::Waiting,
        Held::Blocked => StepStatus::Blocked,
        Held::Uncertain => StepStatus::Uncertain,
    }
}

fn edge_view(execution: &Execution, edge: EdgeIndex) -> EdgeView {
    let text = execution.graph.edge_text(edge);
    let (status, budget) = match &execution.graph.edge(edge).class {
        EdgeClass::Forward => {
            let status = match execution.edge_state(edge) {
                EdgeState::Pending => EdgeStatus::Pending,
                EdgeState::Active(_) => EdgeStatus::Activated,
                EdgeState::Dead => EdgeStatus::Dead,
            };
            (status, None)
        }
        EdgeClass::Retry(retry) => {
            let taken = execution.taken[edge.at()];
            let status = if taken > 0 {
                EdgeStatus::Activated
            } else {
                EdgeStatus::Pending
            };
            (status, Some((taken, retry.max_attempts)))
        }
    };
    EdgeView {
        from: text.from.clone(),
        to: text.to.clone(),
        condition: execution.graph.edge(edge).condition.label().to_owned(),
        status,
        budget,
    }
}

fn series(
    steps: &[DeterministicStep],
    done: &[SeriesOutcome],
    call: Option<&Call>,
) -> Vec<SeriesStepView> {
    steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let (status, note) = match done.get(index) {
                Some(outcome) => match (outcome.outcome, &outcome.failure) {
                    (CalledOutcome::Ok, None) => (StepStatus::Passed, None),
                    (_, failure) => (StepStatus::Failed, failure.clone()),
                },
                None if index == done.len() => match call {
                    None => (StepStatus::Idle, None),
                    Some(call) => match &call.at {
                        CallAt::Permission { reason } => {
                            (StepStatus::Blocked, Some(reason.clone()))
                        }
                        CallAt::Delivery { .. } => (StepStatus::Waiting, None),
                        CallAt::Ask
                        | CallAt::Asking(_)
                        | CallAt::Ready
                        | CallAt::InFlight(_)
                        | CallAt::Member(_) => (StepStatus::Running, None),
                    },
                },
                None => (StepStatus::Idle, None),
            };
            SeriesStepView {
                name: step.name.clone(),
                tool: step.tool.clone(),
                status,
                note,
            }
        })
        .collect()
}
