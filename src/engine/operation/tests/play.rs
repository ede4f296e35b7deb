//! An operation on its way, with a world around it that does what it is told.
//!
//! What the host would do without thinking happens by itself unless the story says otherwise: leases,
//! sends, permissions, verifications, cleanup. Each command is watched for what must never happen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::engine::evidence::{Place, Source, SourceKind};
use crate::engine::id::{Generation, RequestId, RunId};
use crate::engine::operation::Operation;
use crate::engine::operation::event::{Command, Event, Timer, VerifierFailure};
use crate::engine::operation::flight::Owner;
use crate::engine::operation::outcome::Outcome;
use crate::engine::operation::published::PublicEvent;
use crate::engine::operation::state::{Chair, Seat, StepState};
use crate::engine::operation::tests::story::Story;
use crate::engine::operation::tests::words::all_verified;
use crate::engine::ports::{ModelRequest, Permission};
use crate::engine::routine::definition::{Check, GateOwner, GateStep, StepKind};
use crate::engine::verify::{Attestation, Decision, Observation};

/// A model request that the world has.
pub(super) struct Asked {
    pub(super) request: RequestId,
    pub(super) place: Place,
    pub(super) run: RunId,
    /// Whose it is: the step, or at a council `step/agent`.
    pub(super) seat: String,
}

/// A tool call, or the question whether it may be made.
pub(super) struct Called {
    pub(super) request: RequestId,
    /// Whose it is: the step, or at a council `step/agent`.
    pub(super) seat: String,
}

/// A question to the verifier.
pub(super) struct Looked {
    pub(super) request: RequestId,
    pub(super) step: String,
    pub(super) observation: Observation,
    pub(super) checks: Vec<Check>,
    pub(super) attestations: Vec<Attestation>,
}

/// An operation on its way.
pub(super) struct Play {
    pub(super) machine: Operation,
    pub(super) by_hand: Vec<&'static str>,
    pub(super) now: u64,
    pub(super) in_flight: Vec<(RequestId, String)>,
    pub(super) asked: Vec<Asked>,
    pub(super) called: Vec<Called>,
    pub(super) questions: Vec<Called>,
    pub(super) looked: Vec<Looked>,
    /// Every model request by seat and lap.
    pub(super) requests: BTreeMap<(String, u32), Vec<ModelRequest>>,
    /// Every tool call that was dispatched.
    pub(super) dispatched: Vec<(String, Value)>,
    pub(super) stopped: Vec<String>,
    pub(super) timers: BTreeMap<Timer, u64>,
    pub(super) published: Vec<PublicEvent>,
    pub(super) sources: Vec<Source>,
    pub(super) late: Vec<Source>,
    pub(super) continuation: Option<Generation>,
    pub(super) issued: usize,
    pub(super) settled: Option<Outcome>,
    pub(super) ended: bool,
    pub(super) receipts: Vec<Result<Decision, VerifierFailure>>,
    pub(super) submitted: BTreeSet<(String, String, u32)>,
    pub(super) answered: BTreeSet<RequestId>,
}

impl Play {
    pub(super) fn of(story: Story) -> Self {
        Self {
            machine: Operation::new(Arc::new(story.plan)),
            by_hand: story.by_hand,
            now: 0,
            in_flight: Vec::new(),
            asked: Vec::new(),
            called: Vec::new(),
            questions: Vec::new(),
            looked: Vec::new(),
            requests: BTreeMap::new(),
            dispatched: Vec::new(),
            stopped: Vec::new(),
            timers: BTreeMap::new(),
            published: Vec::new(),
            sources: Vec::new(),
            late: Vec::new(),
            continuation: None,
            issued: 0,
            settled: None,
            ended: false,
            receipts: Vec::new(),
            submitted: BTreeSet::new(),
            answered: BTreeSet::new(),
        }
    }

    /// Tells the machine what happened, and lets the host do what it does without thinking.
    pub(super) fn tell(&mut self, event: Event) -> &mut Self {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let was_halted = self.machine.is_halted();
            let commands = self
                .machine
                .apply(self.now, event.clone())
                .unwrap_or_else(|illegal| panic!("{illegal}: {event:?}"));
            for command in commands {
                if was_halted && self.machine.is_halted() {
                    self.watch_halted(&command);
                }
                events.extend(self.perform(command));
            }
        }
        self
    }

    /// Blocked and uncertain stop every new model and tool call (V5a).
    fn watch_halted(&self, command: &Command) {
        if let Command::CallModel { place, .. } | Command::CallTool { place, .. } = command {
            panic!("{place:?} started something while new calls are stopped");
        }
    }

    fn perform(&mut self, command: Command) -> Option<Event> {
        if self.settled.is_some() || self.ended {
            let allowed = matches!(
                command,
                Command::RecordLateSource(_)
                    | Command::ReleaseLeases
                    | Command::Settle(_)
                    | Command::End
                    | Command::Verify { .. }
                    | Command::ReportReceipts(_)
            );
            assert!(allowed, "{} after the end", command.name());
        }
        match command {
            Command::TakeLeases(_) => None,
            Command::CallModel {
                request,
                run,
                place,
                call,
            } => {
                let seat = self.seat_of(request, &place);
                self.in_flight.push((request, seat.clone()));
                let lap = (seat.clone(), place.lap.0);
                self.requests.entry(lap).or_default().push(*call);
                self.asked.push(Asked {
                    request,
                    place,
                    run,
                    seat,
                });
                Some(Event::RequestSent {
                    request,
                    attempt: 1,
                })
            }
            Command::CallTool {
                request,
                place,
                tool,
                args,
                ..
            } => {
                let seat = self.seat_of(request, &place);
                self.in_flight.push((request, seat.clone()));
                self.dispatched.push((tool, args));
                self.called.push(Called { request, seat });
                None
            }
            Command::AskPermission {
                request,
                place,
                tool,
                ..
            } => {
                if self.by_hand.contains(&tool.as_str()) {
                    let seat = self.seat_of(request, &place);
                    self.in_flight.push((request, seat.clone()));
                    self.questions.push(Called { request, seat });
                    return None;
                }
                let permission = Permission::Allow;
                Some(Event::PermissionDecided {
                    request,
                    permission,
                })
            }
            Command::Verify {
                request,
                place,
                observation,
                checks,
                attestations,
            } => {
                let step = place.map_or("final".to_owned(), |place| place.step);
                let decision = match checks.is_empty() {
                    true => Decision::by_policy(),
                    false => all_verified(&checks),
                };
                // A checks gate is decided by its checks; its pass has no checks of its own.
                let by_hand = self.by_hand.contains(&step.as_str())
                    && !(checks.is_empty() && self.is_checks_gate(&step));
                let looked = Looked {
                    request,
                    step: step.clone(),
                    observation,
                    checks,
                    attestations,
                };
                self.looked.push(looked);
                if by_hand {
                    self.in_flight.push((request, step));
                    return None;
                }
                self.answered.insert(request);
                Some(Event::VerifierDecided {
                    request,
                    decision: Ok(decision),
                })
            }
            Command::StopRequest { request } => {
                let stopped = self.in_flight.iter().find(|(held, _)| *held == request);
                self.stopped.extend(stopped.map(|(_, step)| step.clone()));
                None
            }
            Command::SetTimer { timer, after_ms } => {
                self.timers.insert(timer, self.now + after_ms);
                None
            }
            Command::ClearTimer(timer) => {
                self.timers.remove(&timer);
                None
            }
            Command::RecordSource(source) => {
                self.sources.push(source);
                None
            }
            Command::RecordLateSource(source) => {
                assert_eq!(source.header.kind, SourceKind::Late, "{source:?}");
                self.late.push(source);
                None
            }
            Command::IssueContinuation(generation) => {
                assert_eq!(self.continuation, None, "two continuations are live");
                self.continuation = Some(generation);
                self.issued += 1;
                None
            }
            Command::RevokeContinuation => {
                assert!(self.continuation.take().is_some(), "nothing to revoke");
                None
            }
            Command::ReleaseLeases => Some(Event::CleanupDone),
            Command::Publish(event) => {
                self.published.push(*event);
                self.watch_published();
                None
            }
            Command::Settle(outcome) => {
                assert!(self.settled.is_none(), "settled twice");
                self.settled = Some(*outcome);
                None
            }
            Command::End => {
                self.ended = true;
                None
            }
            Command::ReportReceipts(found) => {
                self.receipts.push(found);
                None
            }
        }
    }

    /// Whose request it is: the step's, or at a council `step/agent`.
    fn seat_of(&self, request: RequestId, place: &Place) -> String {
        match self.machine.in_flight.get(&request).map(|held| held.owner) {
            Some(Owner::Turn(seat)) => self.seat(seat),
            // Asked and given up in the same breath.
            Some(Owner::Step(_) | Owner::Series(_) | Owner::Final(_) | Owner::Receipts) | None => {
                place.step.clone()
            }
        }
    }

    /// A conversation by name: its step, or at a council `step/agent`.
    pub(super) fn seat(&self, Seat { at, chair }: Seat) -> String {
        let step = self.machine.place(at).step;
        match (chair, self.machine.state_of(at)) {
            (Chair::Council(chair), StepState::Council(council)) => {
                match council.turns.get(&chair) {
                    Some(turn) => format!("{step}/{}", turn.agent),
                    None => step,
                }
            }
            (Chair::Council(_) | Chair::Lone, _) => step,
        }
    }

    fn is_checks_gate(&self, step: &str) -> bool {
        let mut graphs = self.machine.executions.iter().map(|held| &held.graph);
        graphs.any(|graph| {
            let kind = graph.find(step).map(|step| &graph.step(step).kind);
            matches!(
                kind,
                Some(StepKind::Gate(GateStep {
                    owner: GateOwner::Checks(_)
                }))
            )
        })
    }

    fn watch_published(&mut self) {
        let (latest, before) = self.published.split_last().expect("an event");
        let was_settled = matches!(before.last(), Some(PublicEvent::OperationSettled { .. }));
        assert!(!was_settled, "{latest:?} after the operation settled");
        if let PublicEvent::StepSubmitted { at } = latest {
            let key = (
                at.execution.to_string(),
                at.step.clone().unwrap_or_default(),
                at.lap.map_or(0, |lap| lap.0),
            );
            assert!(self.submitted.insert(key), "submitted twice: {latest:?}");
        }
    }

    pub(super) fn done_with(&mut self, request: RequestId) {
        self.in_flight.retain(|(held, _)| *held != request);
    }
}
