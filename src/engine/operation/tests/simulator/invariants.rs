//! What must hold after every event (Q6), told by commands, published events and the machine's own
//! indices.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::evidence::{Place, SourceHeader};
use crate::engine::id::{ExecutionId, RequestId, SourceId};
use crate::engine::operation::Operation;
use crate::engine::operation::event::{Command, Event, Timer};
use crate::engine::operation::published::PublicEvent;
use crate::engine::operation::tests::simulator::model::Model;
use crate::engine::operation::tests::simulator::runs::{LapKey, Runs};
use crate::engine::operation::tests::simulator::shape;
use crate::engine::operation::tests::simulator::world::{Worker, World};
use crate::engine::operation::view::OperationState;
use crate::engine::ports::Permission;

/// What was seen so far.
pub(super) struct Watch<'a> {
    pub(super) world: &'a World,
    /// What is known of each execution's graph.
    pub(super) models: BTreeMap<ExecutionId, Model>,
    /// The lap of a repeating step that each iteration belongs to.
    pub(super) hosts: BTreeMap<ExecutionId, LapKey>,
    /// What is known of each run.
    pub(super) runs: Runs,
    pub(super) in_flight: BTreeMap<RequestId, Asked>,
    sources: Vec<SourceId>,
    pub(super) told_sources: BTreeSet<SourceId>,
    has_continuation: bool,
    leases: Leases,
    timers: BTreeSet<Timer>,
    pub(super) ended: bool,
    is_closed: bool,
    /// Somebody cancelled or closed, or nothing can be accounted for any more.
    pub(super) is_interrupted: bool,
    pub(super) model_calls: u64,
    pub(super) was_settling: bool,
    pub(super) was_halted: bool,
    /// Where a person has to allow a call.
    pub(super) blocked: BTreeSet<Place>,
    /// The laps that stopped every new call after the last event.
    pub(super) standing: BTreeSet<LapKey>,
    /// Since which event each step that waits for its agents is ready.
    pub(super) ready: BTreeMap<Ready, u64>,
    pub(super) batches: u64,
    /// Requests that were asked to stop.
    pub(super) stopped: BTreeSet<RequestId>,
    pub(super) seen: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Leases {
    Untaken,
    Taken,
    Released,
}

#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) what: &'static str,
    pub(super) place: Option<Place>,
    /// Who asked, where a model did.
    pub(super) agent: Option<String>,
}

/// A step that waits for its agents.
pub(super) type Ready = (ExecutionId, String);

pub(super) type Verdict = Result<(), String>;

pub(super) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    match holds {
        true => Ok(()),
        false => Err(what()),
    }
}

impl<'a> Watch<'a> {
    pub(super) fn of(world: &'a World) -> Self {
        Self {
            world,
            models: BTreeMap::new(),
            hosts: BTreeMap::new(),
            runs: Runs::default(),
            blocked: BTreeSet::new(),
            standing: BTreeSet::new(),
            ready: BTreeMap::new(),
            batches: 0,
            stopped: BTreeSet::new(),
            in_flight: BTreeMap::new(),
            sources: Vec::new(),
            told_sources: BTreeSet::new(),
            has_continuation: false,
            leases: Leases::Untaken,
            timers: BTreeSet::new(),
            ended: false,
            is_closed: false,
            is_interrupted: false,
            model_calls: 0,
            was_settling: false,
            was_halted: false,
            seen: BTreeSet::new(),
        }
    }

    /// The codes and words that came up: proof that the simulator gets around.
    pub(super) fn seen(&self) -> &BTreeSet<String> {
        &self.seen
    }

    /// Whether the operation has ended.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Looks at what an event did.
    pub(super) fn look(
        &mut self,
        event: &Event,
        commands: &[Command],
        operation: &Operation,
    ) -> Verdict {
        self.hear(event)?;
        for (at, command) in commands.iter().enumerate() {
            self.command(command, operation, &commands[at..])?;
        }
        for model in self.models.values_mut() {
            model.end_of_batch();
        }
        self.call_told(event, commands)?;
        self.rest(operation)?;
        self.halting(event, commands, operation)?;
        self.standing(commands, operation)?;
        self.abandoned()?;
        shape::indices(operation)?;
        shape::iterations(operation)?;
        shape::timers(operation, &self.timers)?;
        self.batches += 1;
        self.agents(commands, operation)?;
        self.evidence(operation)?;
        self.was_settling = operation.state() == OperationState::Settling;
        self.was_halted = operation.is_halted();
        Ok(())
    }

    fn hear(&mut self, event: &Event) -> Verdict {
        match event {
            Event::ModelReplied { request, .. }
            | Event::ToolReplied { request, .. }
            | Event::PermissionDecided { request, .. }
            | Event::VerifierDecided { request, .. } => {
                let place = self.in_flight.get(request).map(|it| it.place.clone());
                let is_wanted = place
                    .as_ref()
                    .and_then(Option::as_ref)
                    .is_some_and(|place| self.is_wanted(place));
                if let Event::ModelReplied { request, reply } = event
                    && place.is_some()
                {
                    self.runs.hears(*request, reply, is_wanted);
                }
                let is_kept = matches!(
                    event,
                    Event::PermissionDecided {
                        permission: Permission::Ask { .. },
                        ..
                    }
                );
                if is_kept && is_wanted {
                    self.blocked.extend(place.flatten());
                }
                // Kept until the batch is looked at, for what is told of it.
                if let Some(asked) = self.in_flight.get_mut(request) {
                    asked.what = match asked.what {
                        "tool" => "answered tool",
                        _ => "answered",
                    };
                }
            }
            Event::ResumeAdmitted { .. } => {
                ensure(self.has_continuation, || {
                    "it resumed without continuation".into()
                })?;
                self.has_continuation = false;
                self.blocked.clear();
            }
            Event::TimerFired(timer) => {
                self.timers.remove(timer);
            }
            Event::CloseRequested => {
                self.is_closed = true;
                self.is_interrupted = true;
            }
            Event::CancelRequested | Event::StorageFailed { .. } => self.is_interrupted = true,
            _ => {}
        }
        Ok(())
    }

    fn command(&mut self, command: &Command, operation: &Operation, rest: &[Command]) -> Verdict {
        match command {
            Command::TakeLeases(_) => {
                ensure(self.leases == Leases::Untaken, || {
                    "leases were taken twice".into()
                })?;
                self.leases = Leases::Taken;
            }
            Command::ReleaseLeases => {
                ensure(self.leases == Leases::Taken, || {
                    format!("leases were released while {:?}", self.leases)
                })?;
                self.leases = Leases::Released;
            }
            Command::CallModel {
                request,
                run,
                place,
                call,
            } => {
                ensure(!self.was_settling, || {
                    "a model was called while settling".into()
                })?;
                self.model(operation, &place.execution)?;
                self.handed(place, call)?;
                self.runs.calls(self.world, *request, run, place, call)?;
                let agent = self.runs.runs.get(run).map(|run| run.agent.clone());
                self.may_call(operation, place, agent.as_deref())?;
                self.asked(*request, asked("model", Some(place), agent))?;
            }
            Command::CallTool {
                request,
                place,
                args,
                ..
            } => {
                let agent = self.runs.agent(args).map(str::to_owned);
                self.runs.acts(place, args)?;
                self.may_call(operation, place, agent.as_deref())?;
                self.asked(*request, asked("tool", Some(place), agent))?;
            }
            Command::AskPermission {
                request,
                place,
                args,
                ..
            } => {
                let agent = self.runs.agent(args).map(str::to_owned);
                self.may_call(operation, place, agent.as_deref())?;
                self.asked(*request, asked("permission", Some(place), agent))?;
            }
            Command::Verify {
                request,
                place,
                observation,
                ..
            } => {
                // A receipt check shows what there is (V31).
                ensure(
                    self.ended || !observation.text().contains("\"receipt\":null"),
                    || format!("{place:?} is looked at before its sources are acknowledged"),
                )?;
                self.asked(*request, asked("verifier", place.as_ref(), None))?;
            }
            Command::StopRequest { request } => {
                ensure(self.in_flight.contains_key(request), || {
                    format!("{request:?} was asked to stop but is not in flight")
                })?;
                self.stopped.insert(*request);
                let place = self.in_flight.get(request).and_then(|it| it.place.as_ref());
                let worker = place.and_then(|place| self.world.workers.get(&place.step));
                let is_live = matches!(operation.phase, crate::engine::operation::Phase::Live);
                if let (Some(Worker::Council(bench)), true) = (worker, is_live) {
                    self.seen
                        .insert(format!("{} stopped", bench.strategy.label()));
                }
            }
            Command::SetTimer { timer, .. } => {
                self.timers.insert(timer.clone());
            }
            Command::ClearTimer(timer) => {
                self.timers.remove(timer);
            }
            Command::RecordSource(source) => {
                self.runs.keeps(source)?;
                self.record(&source.header, rest)?;
            }
            Command::RecordLateSource(source) => self.record(&source.header, rest)?,
            Command::IssueContinuation(_) => {
                ensure(!self.has_continuation, || "a second continuation".into())?;
                self.has_continuation = true;
            }
            Command::RevokeContinuation => {
                ensure(self.has_continuation, || "no continuation to revoke".into())?;
                self.has_continuation = false;
            }
            Command::Publish(event) => {
                ensure(!self.ended, || format!("after the end: {event:?}"))?;
                self.told(event, operation)?;
            }
            Command::Settle(_) | Command::End => {
                ensure(!self.has_continuation, || {
                    "a continuation outlived it".into()
                })?;
                ensure(self.leases == Leases::Released, || {
                    "leases were kept".into()
                })?;
                ensure(self.timers.is_empty(), || {
                    format!("timers are left: {:?}", self.timers)
                })?;
                if let Command::End = command {
                    ensure(!self.ended && self.is_closed, || {
                        "it ended without close".into()
                    })?;
                    self.ended = true;
                }
            }
            Command::ReportReceipts(_) => {
                ensure(self.ended, || "receipts were reported too early".into())?;
            }
        }
        Ok(())
    }

    fn record(&mut self, header: &SourceHeader, rest: &[Command]) -> Verdict {
        ensure(!self.sources.contains(&header.id), || {
            format!("source {} was recorded twice", header.id)
        })?;
        self.sources.push(header.id.clone());
        let told = rest.iter().any(|command| match command {
            Command::Publish(event) => {
                matches!(&**event, PublicEvent::SourceRecorded { source, .. } if *source == header.id)
            }
            _ => false,
        });
        ensure(told != self.ended, || {
            format!("source {} is told: {told}", header.id)
        })
    }

    /// Paused means that nothing is in flight; nothing in flight means paused or over.
    fn rest(&self, operation: &Operation) -> Verdict {
        let state = operation.state();
        let count = operation.in_flight();
        ensure(count == self.in_flight.len(), || {
            format!("{count} in flight, {:?} seen", self.in_flight)
        })?;
        let is_leasing = matches!(operation.phase, crate::engine::operation::Phase::Leasing);
        match state {
            OperationState::Paused(held) => {
                ensure(count == 0, || "paused with something in flight".into())?;
                ensure(self.has_continuation, || {
                    "paused without continuation".into()
                })?;
                let worst = operation.waits().iter().map(|wait| wait.state).max();
                ensure(worst == Some(held), || {
                    format!("paused as {held:?}, waits {worst:?}")
                })
            }
            OperationState::Running | OperationState::Settling => {
                ensure(!self.has_continuation, || {
                    "it runs and may be resumed".into()
                })?;
                ensure(count > 0 || is_leasing, || {
                    format!("nothing is in flight, nobody waits: it hangs, {state:?}")
                })
            }
            OperationState::New
            | OperationState::Succeeded
            | OperationState::Failed
            | OperationState::Cancelled
            | OperationState::Ended => {
                ensure(!self.has_continuation, || "over, and may be resumed".into())
            }
        }
    }

    fn evidence(&self, operation: &Operation) -> Verdict {
        let held: Vec<SourceId> = operation
            .sources()
            .iter()
            .map(|source| source.id.clone())
            .collect();
        ensure(held == self.sources, || "a source was lost".into())
    }
}

fn asked(what: &'static str, place: Option<&Place>, agent: Option<String>) -> Asked {
    Asked {
        what,
        place: place.cloned(),
        agent,
    }
}
