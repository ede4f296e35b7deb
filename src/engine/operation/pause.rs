//! Rest: what is waited for, what a person may answer, and how a resume takes it up (V5, V5a, V6, V10a).

use crate::engine::id::Generation;
use crate::engine::operation::event::Command;
use crate::engine::operation::published::{PublicEvent, PublicWait};
use crate::engine::operation::state::{
    Bodies, Call, CallAt, LookAt, Series, Stage, StepRef, StepState, TurnAt,
};
use crate::engine::operation::wait::{Answer, WaitKey};
use crate::engine::operation::{Operation, Phase, Todo};

impl Operation {
    /// Pauses when nothing is in flight and nothing may start, and hands out one continuation.
    pub(super) fn pause_if_at_rest(&mut self) {
        let may_rest = matches!(self.phase, Phase::Live);
        if !may_rest || self.paused.is_some() || !self.in_flight.is_empty() {
            return;
        }
        let waits = self.waits();
        let Some(state) = waits.iter().map(|wait| wait.state).max() else {
            return;
        };
        self.paused = Some(state);
        // Whoever would work but may not isn't timed for it.
        for at in self.live_steps() {
            self.hold_limit(at);
        }
        let worst: Vec<&str> = waits
            .iter()
            .filter(|wait| wait.state == state)
            .map(|wait| wait.reason.as_str())
            .collect();
        let reason = worst.join("; ");
        let waits = waits.iter().map(PublicWait::from).collect();
        self.publish(PublicEvent::OperationPaused {
            state,
            reason,
            waits,
        });
        self.out.push(Command::IssueContinuation(self.generation));
    }

    /// Takes up every wait again, with the answers that were given (V5a, V6).
    pub(super) fn resumed(&mut self, generation: Generation, answers: Vec<(WaitKey, Answer)>) {
        self.paused = None;
        self.is_taking_in = true;
        self.generation = generation;
        self.publish(PublicEvent::OperationResumed { generation });
        for (key, answer) in answers {
            self.answer(&key, answer);
            if self.is_over_or_settling() {
                return;
            }
        }
        for execution in self.active.clone() {
            self.take_up_stage(execution);
        }
        let held: Vec<StepRef> = self.holds.keys().copied().collect();
        for at in held {
            self.take_up_step(at);
        }
        for at in self.live_steps() {
            self.limit_follows_wait(at);
        }
    }

    fn take_up_stage(&mut self, execution: usize) {
        let may_look = match &self.executions[execution].stage {
            Stage::Final(look) => self.may_look(&look.at),
            Stage::Before(_) | Stage::Graph | Stage::After(_) | Stage::Over => false,
        };
        match &mut self.executions[execution].stage {
            Stage::Final(look) if may_look => take_up(&mut look.at, &mut look.bodies),
            Stage::Before(Series {
                call: Some(call), ..
            })
            | Stage::After(Series {
                call: Some(call), ..
            }) => ask_again(call),
            Stage::Before(_) | Stage::Graph | Stage::After(_) | Stage::Final(_) | Stage::Over => {}
        }
        self.agenda.push_back(Todo::Stage(execution));
    }

    /// Judgements are looked at again, admissions asked again (V6).
    fn take_up_step(&mut self, at: StepRef) {
        let state = match self.take_state(at) {
            StepState::Turn(mut turn) => {
                if let TurnAt::Call(_, call) = &mut turn.at {
                    ask_again(call);
                }
                StepState::Turn(turn)
            }
            StepState::Council(mut council) => {
                for turn in council.turns.values_mut() {
                    if let TurnAt::Call(_, call) = &mut turn.at {
                        ask_again(call);
                    }
                }
                StepState::Council(council)
            }
            StepState::ToolRun(mut run) => {
                ask_again(&mut run.call);
                StepState::ToolRun(run)
            }
            StepState::GateChecks(mut gate) => {
                if self.may_look(&gate.at) {
                    take_up(&mut gate.at, &mut gate.bodies);
                }
                StepState::GateChecks(gate)
            }
            StepState::Claimed(mut claimed) => {
                if self.may_look(&claimed.at) {
                    let was_oversized = matches!(claimed.at, LookAt::Oversized { .. });
                    take_up(&mut claimed.at, &mut claimed.bodies);
                    if was_oversized {
                        return self.observe_claim(at, *claimed);
                    }
                }
                StepState::Claimed(claimed)
            }
            // Looked at again when it is about to begin.
            StepState::Condition => StepState::Ready,
            other => other,
        };
        self.set_state(at, state);
        self.wake(at);
    }

    /// Whether looking again makes sense: a view that was too large needs its receipts first (V26).
    fn may_look(&self, at: &LookAt) -> bool {
        match at {
            LookAt::Held(_) => true,
            LookAt::Oversized { sources, .. } => self.unacknowledged(sources).is_empty(),
            LookAt::Ask | LookAt::Asking(_) => false,
        }
    }
}

/// A judgement is looked at again; a view that was too large now carries receipts (V26).
fn take_up(at: &mut LookAt, bodies: &mut Bodies) {
    match at {
        LookAt::Held(_) => *at = LookAt::Ask,
        LookAt::Oversized { .. } => {
            *bodies = Bodies::Receipts;
            *at = LookAt::Ask;
        }
        LookAt::Ask | LookAt::Asking(_) => {}
    }
}

fn ask_again(call: &mut Call) {
    if let CallAt::Permission { .. } = call.at {
        call.at = CallAt::Ask;
    }
}
