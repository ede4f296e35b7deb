//! What is in flight: every request that the driver was given and hasn't answered.
//!
//! A request remembers what it is, because its step may have gone on without it: what went out is
//! told, what a tool did is counted, and what comes is kept with its place, whoever still waits.

use crate::engine::evidence::Place;
use crate::engine::id::{RequestId, RunId};
use crate::engine::operation::Operation;
use crate::engine::operation::published::{CalledOutcome, PublicEvent};
use crate::engine::operation::state::{StepRef, StepState};

/// A request that is not answered yet.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub(super) owner: Owner,
    pub(super) sent: Sent,
}

/// Who waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Step(StepRef),
    Series,
    Final,
    Receipts,
}

/// What was asked for.
#[derive(Debug, Clone)]
pub(super) enum Sent {
    /// A model's answer.
    Model {
        place: Place,
        run: RunId,
        /// Which model call of the run, from 1.
        turn: u32,
        model: String,
    },
    /// A tool's result.
    Tool { place: Place, tool: String },
    /// The host's word on a call.
    Question,
    /// A verifier's decision.
    Look,
}

impl Operation {
    pub(super) fn request(&mut self, owner: Owner, sent: Sent) -> RequestId {
        self.counters.requests += 1;
        let request = RequestId(self.counters.requests);
        self.in_flight.insert(request, Flight { owner, sent });
        request
    }

    /// Whether a step still takes a reply as it was meant.
    pub(super) fn takes(&self, at: StepRef, request: RequestId) -> bool {
        match self.state_of(at) {
            StepState::Stopping(_) | StepState::Uncertain(_) => false,
            StepState::Idle
            | StepState::Ready
            | StepState::Turn(_)
            | StepState::ToolRun(_)
            | StepState::GateChecks(_)
            | StepState::OperatorGate
            | StepState::Claimed(_)
            | StepState::Settled(_)
            | StepState::Skipped
            | StepState::Stopped => self.state_of(at).in_flight() == Some(request),
        }
    }

    /// A reply has come that its step gave up: nothing of it is in flight any more.
    pub(super) fn given_up(&mut self, at: StepRef, request: RequestId) {
        match self.take_state(at) {
            StepState::Stopping(stopping) if stopping == request => self.stopped(at),
            StepState::Uncertain(mut uncertain) if uncertain.stopping == Some(request) => {
                uncertain.stopping = None;
                self.set_state(at, StepState::Uncertain(uncertain));
                self.free_agent_of(at);
            }
            other => self.set_state(at, other),
        }
    }

    /// Nobody waits any more: of calls that gave no result nobody can say what they did (V24).
    pub(super) fn abandon_flights(&mut self) {
        for flight in std::mem::take(&mut self.in_flight).into_values() {
            if let Sent::Tool { place, tool } = flight.sent {
                self.publish(PublicEvent::ToolCalled {
                    at: crate::engine::operation::at(&place),
                    tool,
                    outcome: CalledOutcome::Unknown,
                });
            }
        }
    }
}
