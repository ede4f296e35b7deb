//! What is in flight: every request that the driver was given and hasn't answered.
//!
//! A request remembers what it is, because its step may have gone on without it: what went out is
//! told, what a tool did is counted, and what comes is kept with its place, whoever still waits.

use std::collections::BTreeSet;

use crate::engine::evidence::Place;
use crate::engine::id::{RequestId, RunId};
use crate::engine::operation::Operation;
use crate::engine::operation::event::Command;
use crate::engine::operation::published::{CalledOutcome, PublicEvent};
use crate::engine::operation::state::{Seat, StepRef, StepState};

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
    /// A conversation.
    Turn(Seat),
    /// A pre or post step of an execution.
    Series(usize),
    /// The final verification of an execution.
    Final(usize),
    Receipts,
}

/// What was asked for.
#[derive(Debug, Clone)]
pub(super) enum Sent {
    /// A model's answer.
    Model {
        /// Whose it was, whoever waits for it now.
        seat: Seat,
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

impl Owner {
    /// The step that it belongs to, if it belongs to one.
    pub(super) fn step(self) -> Option<StepRef> {
        match self {
            Self::Step(at) | Self::Turn(Seat { at, .. }) => Some(at),
            Self::Series(_) | Self::Final(_) | Self::Receipts => None,
        }
    }
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
        if !self.active.contains(&at.execution) {
            return false;
        }
        self.state_of(at).waits_for(request)
    }

    /// A reply has come that its step gave up: nothing of it is in flight any more.
    pub(super) fn given_up(&mut self, at: StepRef, request: RequestId) {
        if !self.active.contains(&at.execution) {
            return;
        }
        match self.take_state(at) {
            StepState::Stopping(mut stopping) => {
                stopping.remove(&request);
                if stopping.is_empty() {
                    self.stopped(at);
                } else {
                    self.set_state(at, StepState::Stopping(stopping));
                }
            }
            StepState::Uncertain(mut uncertain) => {
                uncertain.stopping.remove(&request);
                let is_quiet = uncertain.stopping.is_empty();
                self.set_state(at, StepState::Uncertain(uncertain));
                if is_quiet {
                    self.free_agent_of(at);
                }
            }
            other => self.set_state(at, other),
        }
    }

    /// Asks everything to stop that is in flight for a step, and says what that is.
    pub(super) fn stop_flights_of(&mut self, at: StepRef) -> BTreeSet<RequestId> {
        let requests = self.flights_of(at);
        let stops = requests.iter();
        self.out
            .extend(stops.map(|&request| Command::StopRequest { request }));
        requests
    }

    /// What is in flight for a step.
    pub(super) fn flights_of(&self, at: StepRef) -> BTreeSet<RequestId> {
        let flights = self.in_flight.iter();
        flights
            .filter(|(_, flight)| flight.owner.step() == Some(at))
            .map(|(request, _)| *request)
            .collect()
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
