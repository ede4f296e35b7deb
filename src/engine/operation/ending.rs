//! Failure, cancellation, close and settlement (G10, V23, V24, V30, V31).
//!
//! The first ending that is decided stays: no later event changes it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::id::RequestId;
use crate::engine::limits;
use crate::engine::operation::event::{Command, Timer};
use crate::engine::operation::outcome::{Failure, Fulfillment, Outcome, Status, Uncertainty};
use crate::engine::operation::published::PublicEvent;
use crate::engine::operation::state::{Series, Stage, StepRef, StepState, TimeLimit, Uncertain};
use crate::engine::operation::{Operation, Phase, Todo};
use crate::engine::routine::definition::{PostStepsTrigger, StepKind};

/// How the operation ends, once that is decided.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    Succeeded,
    Failed {
        failure: Failure,
        step: Option<String>,
    },
    Cancelled,
    /// Without an outcome (V30).
    Closed,
}

impl Operation {
    /// Decides the ending: what is in flight is asked to stop, nothing new starts.
    pub(super) fn end(&mut self, ending: Ending) {
        match self.phase {
            Phase::Settling(_) | Phase::Settled | Phase::Ended => return,
            // The graph's failure stands; its post steps only end early.
            Phase::PostMortem(_) if matches!(ending, Ending::Failed { .. }) => return,
            Phase::New | Phase::Leasing | Phase::Live | Phase::PostMortem(_) => {}
        }
        if self.paused.take().is_some() {
            self.out.push(Command::RevokeContinuation);
        }
        if self.deadline.take().is_some() {
            self.out.push(Command::ClearTimer(Timer::Deadline));
        }
        let post_steps = self.post_steps_after(&ending);
        self.stop_everything();
        match (post_steps, self.in_flight.is_empty()) {
            (_, false) => {
                self.out.push(Command::SetTimer {
                    timer: Timer::Grace,
                    after_ms: limits::GRACE_MS,
                });
                self.phase = Phase::Settling(ending);
                self.run_post_steps_later = post_steps;
            }
            (true, true) => self.begin_post_mortem(ending),
            (false, true) => self.settle(ending),
        }
    }

    /// Whether the post steps run before this ending settles (V23).
    fn post_steps_after(&self, ending: &Ending) -> bool {
        let body = &self.plan.definition.body;
        let begun = match self.executions[0].stage {
            // Once is enough.
            Stage::After(_) | Stage::Final(_) | Stage::Over => true,
            Stage::Before(_) | Stage::Graph => false,
        };
        let always =
            body.post_steps_trigger == PostStepsTrigger::Always && !body.post_steps.is_empty();
        match ending {
            // What can't be accounted for isn't done.
            Ending::Failed {
                failure: Failure::StorageFailed { .. },
                ..
            } => false,
            Ending::Failed { .. } => always && !begun,
            Ending::Succeeded | Ending::Cancelled | Ending::Closed => false,
        }
    }

    /// The post steps of a graph that failed (V23).
    fn begin_post_mortem(&mut self, ending: Ending) {
        self.phase = Phase::PostMortem(ending);
        self.executions[0].stage = Stage::After(Series::new());
        self.agenda.push_back(Todo::Stage(0));
    }

    fn stop_everything(&mut self) {
        let requests: Vec<RequestId> = self.in_flight.keys().copied().collect();
        for request in requests {
            self.out.push(Command::StopRequest { request });
        }
        self.stop_iterations();
        for at in self.live_steps() {
            self.clear_limit(at);
            self.set_state(at, StepState::Stopped);
        }
        self.agents.clear();
        self.agenda.clear();
        self.deliveries.clear();
    }

    /// What was in flight has ended, or the grace has: goes on to settle.
    pub(super) fn settle_if_quiet(&mut self) {
        if self.in_flight.is_empty() {
            self.stop_waiting();
        }
    }

    fn stop_waiting(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Settled) {
            Phase::Settling(ending) => {
                self.out.push(Command::ClearTimer(Timer::Grace));
                if std::mem::take(&mut self.run_post_steps_later) {
                    self.begin_post_mortem(ending);
                } else {
                    self.settle(ending);
                }
            }
            other => self.phase = other,
        }
    }

    /// The last thing that happens to an operation.
    pub(super) fn settle(&mut self, ending: Ending) {
        let (status, reason, detail, step) = match ending {
            Ending::Closed => {
                self.phase = Phase::Ended;
                self.out.push(Command::ReleaseLeases);
                self.out.push(Command::End);
                return;
            }
            Ending::Succeeded => (Status::Succeeded, None, Value::Null, None),
            Ending::Cancelled => (
                Status::Cancelled,
                Some("cancelled".to_owned()),
                Value::Null,
                None,
            ),
            Ending::Failed { failure, step } => (
                Status::Failed,
                Some(failure.code().to_owned()),
                failure.detail(),
                step,
            ),
        };
        let (effects, detail) = match status {
            Status::Succeeded => (None, detail),
            Status::Failed | Status::Cancelled => (
                Some(self.effects.class()),
                with_required(detail, self.effects.required()),
            ),
        };
        let outcome = Outcome {
            status,
            reason,
            detail,
            step,
            outputs: self.outputs(),
            // Nobody decided: records of verification attempts come first (L1).
            fulfillment: Fulfillment::NotFulfilled,
            effects,
            usage: self.usage,
        };
        self.phase = Phase::Settled;
        self.outcome = Some(outcome.clone());
        self.publish(PublicEvent::settled(outcome.clone()));
        self.out.push(Command::ReleaseLeases);
        self.out.push(Command::Settle(Box::new(outcome)));
    }

    /// The batch that settled the operation couldn't be kept: no success is claimed that its account
    /// doesn't hold. Gives the outcome that stands instead; `None` where the decided one does.
    pub fn settled_unaccounted(&mut self, text: String) -> Option<Outcome> {
        let outcome = self.outcome.as_mut()?;
        match outcome.status {
            Status::Succeeded => {}
            Status::Failed | Status::Cancelled => return None,
        }
        let failure = Failure::StorageFailed { text };
        outcome.status = Status::Failed;
        outcome.reason = Some(failure.code().to_owned());
        outcome.detail = with_required(failure.detail(), self.effects.required());
        outcome.effects = Some(self.effects.class());
        Some(outcome.clone())
    }

    /// Output by reached terminal.
    fn outputs(&self) -> BTreeMap<String, Value> {
        let root = &self.executions[0];
        root.graph
            .steps()
            .filter_map(
                |step| match (&root.graph.step(step).kind, &root.steps[step.at()].state) {
                    (
                        StepKind::Terminal { .. } | StepKind::TerminalFail { .. },
                        StepState::Settled(settled),
                    ) => Some((
                        root.graph.step(step).slug.clone(),
                        settled.claim.output.clone(),
                    )),
                    _ => None,
                },
            )
            .collect()
    }

    pub(super) fn cancel(&mut self) {
        self.interrupt(Ending::Cancelled);
    }

    pub(super) fn close(&mut self) {
        self.interrupt(Ending::Closed);
    }

    /// Ends the operation from outside. Post steps of a failed graph end early; its failure stands.
    fn interrupt(&mut self, ending: Ending) {
        match std::mem::replace(&mut self.phase, Phase::Settled) {
            Phase::PostMortem(failed) => {
                self.phase = Phase::Settling(failed);
                self.run_post_steps_later = false;
                self.stop_everything();
                match self.in_flight.is_empty() {
                    true => self.stop_waiting(),
                    false => self.out.push(Command::SetTimer {
                        timer: Timer::Grace,
                        after_ms: limits::GRACE_MS,
                    }),
                }
            }
            // The ending stands; only its post steps don't come any more.
            Phase::Settling(decided) => {
                self.phase = Phase::Settling(decided);
                self.run_post_steps_later = false;
            }
            other => {
                self.phase = other;
                self.end(ending);
            }
        }
    }

    /// What can't be accounted for isn't done, post steps included.
    pub(super) fn storage_failed(&mut self, text: String) {
        self.interrupt(Ending::Failed {
            failure: Failure::StorageFailed { text },
            step: None,
        });
    }

    /// An execution fails; the operation's own one ends it.
    pub(super) fn fail_execution(
        &mut self,
        execution: usize,
        failure: Failure,
        step: Option<String>,
    ) {
        match &self.executions[execution].iteration {
            None => self.end(Ending::Failed { failure, step }),
            Some(iteration) => {
                let iteration = iteration.clone();
                self.fail_iteration(&iteration, failure, step);
            }
        }
    }

    /// An execution has succeeded; the operation's own one ends it.
    pub(super) fn execution_over(&mut self, execution: usize) {
        match self.executions[execution].iteration.clone() {
            None => self.end(Ending::Succeeded),
            Some(iteration) => self.iteration_over(execution, &iteration),
        }
    }

    pub(super) fn timer_fired(&mut self, timer: &Timer) {
        match timer {
            Timer::Deadline => self.end(Ending::Failed {
                failure: Failure::Deadline,
                step: None,
            }),
            Timer::Iteration { execution } => {
                if let Some(index) = self.find_execution(execution) {
                    self.fail_execution(index, Failure::Deadline, None);
                }
            }
            Timer::Grace => {
                if matches!(self.phase, Phase::Settling(_)) {
                    // What comes from now on is late and changes nothing.
                    self.abandon_flights();
                    self.stop_waiting();
                }
            }
            Timer::Step {
                execution,
                step,
                lap,
            } => {
                let Some(index) = self.find_execution(execution) else {
                    return;
                };
                let graph = self.executions[index].graph.clone();
                if let Some(step) = graph.find(step)
                    && self.executions[index].steps[step.at()].lap == *lap
                {
                    self.step_timed_out(StepRef {
                        execution: index,
                        step,
                    });
                }
            }
        }
    }

    /// A model step passed its time limit: nobody can say what came of it (G3).
    fn step_timed_out(&mut self, at: StepRef) {
        // A timer that fired while it was being cleared says nothing.
        match self.executions[at.execution].steps[at.step.at()].limit {
            TimeLimit::Running { .. } => {}
            TimeLimit::Unlimited | TimeLimit::Standing { .. } => return,
        }
        let why = Uncertainty::Timeout;
        let text = "the step passed its time limit";
        let (record, data) = match self.take_state(at) {
            StepState::Turn(turn) => (turn.record, Value::Null),
            StepState::Council(council) => council.given_up(why, text),
            other => return self.set_state(at, other),
        };
        // Replies still come and are late sources: the step has its answer, which is none.
        let stopping = self.stop_flights_of(at);
        self.leave_uncertain(
            at,
            Uncertain {
                why,
                text: text.into(),
                data,
                record,
                stopping,
            },
        );
    }
}

/// What is now required stands beside whatever else there is to know (L5).
fn with_required(detail: Value, required: Vec<String>) -> Value {
    if required.is_empty() {
        return detail;
    }
    let mut detail = match detail {
        Value::Object(detail) => detail,
        _ => serde_json::Map::new(),
    };
    detail.insert("required".into(), json!(required));
    Value::Object(detail)
}
