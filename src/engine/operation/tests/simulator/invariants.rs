//! What must hold after every event (Q6), told by commands, published events and the machine's own
//! indices.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::engine::evidence::{Place, SourceHeader};
use crate::engine::id::{ExecutionId, RequestId, SourceId};
use crate::engine::operation::Operation;
use crate::engine::operation::event::{Command, Event, Timer};
use crate::engine::operation::outcome::Status;
use crate::engine::operation::published::{At, CalledOutcome, PublicEvent, SettledVerdict};
use crate::engine::operation::state::Iteration;
use crate::engine::operation::tests::simulator::model::Model;
use crate::engine::operation::tests::simulator::shape;
use crate::engine::operation::tests::simulator::turns;
use crate::engine::operation::tests::simulator::world::World;
use crate::engine::operation::view::OperationState;
use crate::engine::ports::{Message, ModelRequest};

/// What was seen so far.
pub(super) struct Watch<'a> {
    world: &'a World,
    /// What is known of each execution's graph.
    models: BTreeMap<ExecutionId, Model>,
    in_flight: BTreeMap<RequestId, Asked>,
    sources: Vec<SourceId>,
    told_sources: BTreeSet<SourceId>,
    has_continuation: bool,
    leases: Leases,
    timers: BTreeSet<Timer>,
    ended: bool,
    is_closed: bool,
    /// Somebody cancelled or closed, or nothing can be accounted for any more.
    is_interrupted: bool,
    model_calls: u64,
    was_settling: bool,
    was_halted: bool,
    seen: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Leases {
    Untaken,
    Taken,
    Released,
}

#[derive(Debug, Clone)]
struct Asked {
    what: &'static str,
    place: Option<Place>,
}

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
        shape::indices(operation)?;
        shape::iterations(operation)?;
        shape::timers(operation, &self.timers)?;
        let flights = self.in_flight.values();
        let working = flights.filter(|asked| asked.what != "verifier");
        turns::taken(operation, working.filter_map(|asked| asked.place.as_ref()))?;
        turns::councils(operation)?;
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
                place,
                call,
                ..
            } => {
                self.may_call(operation, place)?;
                ensure(!self.was_settling, || {
                    "a model was called while settling".into()
                })?;
                self.model(operation, &place.execution)?;
                self.handed(place, call)?;
                self.asked(*request, "model", Some(place))?;
            }
            Command::CallTool { request, place, .. } => {
                self.may_call(operation, place)?;
                self.asked(*request, "tool", Some(place))?;
            }
            Command::AskPermission { request, place, .. } => {
                self.may_call(operation, place)?;
                self.asked(*request, "permission", Some(place))?;
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
                self.asked(*request, "verifier", place.as_ref())?;
            }
            Command::StopRequest { request } => {
                ensure(self.in_flight.contains_key(request), || {
                    format!("{request:?} was asked to stop but is not in flight")
                })?;
            }
            Command::SetTimer { timer, .. } => {
                self.timers.insert(timer.clone());
            }
            Command::ClearTimer(timer) => {
                self.timers.remove(timer);
            }
            Command::RecordSource(source) => self.record(&source.header, rest)?,
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

    fn asked(&mut self, request: RequestId, what: &'static str, place: Option<&Place>) -> Verdict {
        let place = place.cloned();
        match self.in_flight.insert(request, Asked { what, place }) {
            None => Ok(()),
            Some(_) => Err(format!("{request:?} was asked twice")),
        }
    }

    /// Nothing of the step, and nothing of its agent, may be in flight (G7, G9).
    fn may_call(&self, operation: &Operation, place: &Place) -> Verdict {
        ensure(!self.is_interrupted, || {
            format!("{place:?} calls after an interruption")
        })?;
        if self.was_settling {
            let posts = &operation.plan.definition.body.post_steps;
            ensure(posts.iter().any(|post| post.name == place.step), || {
                format!("{place:?} began while settling")
            })?;
        }
        for asked in self.in_flight.values() {
            if let Some(other) = &asked.place
                && !asked.what.starts_with("answered")
            {
                turns::may_call(operation, place, other, asked.what)?;
            }
        }
        Ok(())
    }

    /// What a model is shown is exactly what is current (G5, G7).
    fn handed(&self, place: &Place, call: &ModelRequest) -> Verdict {
        let [message] = call.messages.as_slice() else {
            return Ok(());
        };
        let Message::User(text) = &**message else {
            return Err("a run doesn't begin with the user message".into());
        };
        let expected = self.models[&place.execution].handed(&place.step);
        let blocks: Vec<&str> = text.split("\n## Handed over by `").skip(1).collect();
        ensure(blocks.len() == expected.len(), || {
            format!("{place:?} is handed {blocks:?}, not {expected:?}")
        })?;
        for (from, lap) in &expected {
            let block = blocks
                .iter()
                .find(|block| block.starts_with(&format!("{from}`")))
                .ok_or_else(|| format!("{place:?} misses what `{from}` handed over"))?;
            let is_marked = block.contains("\"lap\":");
            ensure(
                !is_marked || block.contains(&format!("\"lap\":{lap},")),
                || format!("{place:?} is handed something old by `{from}`: {block}, not lap {lap}"),
            )?;
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

    fn told(&mut self, event: &PublicEvent, operation: &Operation) -> Verdict {
        match event {
            PublicEvent::StepStarted { at, .. } => {
                ensure(!self.was_settling, || {
                    format!("{at:?} began while settling")
                })?;
                let step = at.step.as_deref().unwrap_or_default();
                let busy = self.in_flight.values().any(|asked| {
                    !asked.what.starts_with("answered")
                        && asked.place.as_ref().is_some_and(|place| place.step == step)
                });
                ensure(!busy, || {
                    format!("{at:?} began while its last lap was in flight")
                })?;
            }
            PublicEvent::StepSettled { reason, data, .. } => {
                self.seen.extend(reason.map(str::to_owned));
                let given = data["contributions"].as_array().into_iter().flatten();
                for key in given.filter_map(Value::as_object).flat_map(Map::keys) {
                    self.seen.insert(format!("contribution {key}"));
                }
            }
            PublicEvent::OperationPaused { waits, .. } => {
                self.seen.extend(
                    waits
                        .iter()
                        .map(|wait| format!("{} {}", wait.kind.label(), wait.state.label())),
                );
            }
            PublicEvent::ModelCalled { .. } => self.model_calls += 1,
            PublicEvent::SourceRecorded { source, .. } => {
                self.told_sources.insert(source.clone());
            }
            PublicEvent::OperationSettled {
                status,
                usage,
                reason,
                ..
            } => {
                self.seen.extend(reason.clone());
                // Every way of the generator's routines leads to a terminal, unless it may die.
                let is_dead = reason.as_deref() == Some("no_terminal_reached");
                ensure(self.world.may_die || !is_dead, || {
                    "nothing is live and nothing was reached".into()
                })?;
                if *status == Status::Succeeded {
                    let root = operation.executions[0].id.clone();
                    self.model(operation, &root)?.may_succeed()?;
                }
                ensure(usage.model_calls == self.model_calls, || {
                    format!(
                        "{} model calls, {} told",
                        usage.model_calls, self.model_calls
                    )
                })?;
                self.ended = true;
            }
            // An iteration is over.
            PublicEvent::VerifyDecided {
                at,
                phase: "final",
                decision: "verified",
                ..
            } => self.model(operation, &at.execution)?.may_succeed()?,
            _ => {}
        }
        match at_of(event) {
            Some(at) => {
                let execution = at.execution.clone();
                self.model(operation, &execution)?.take(event)
            }
            None => Ok(()),
        }
    }

    /// What is known of an execution: of a fresh graph, when it is first heard of.
    fn model(
        &mut self,
        operation: &Operation,
        execution: &ExecutionId,
    ) -> Result<&mut Model, String> {
        if !self.models.contains_key(execution) {
            let mut executions = operation.executions.iter();
            let found = executions
                .find(|held| held.id == *execution)
                .ok_or_else(|| format!("there is no execution {execution}"))?;
            let host = match &found.iteration {
                None => String::new(),
                Some(Iteration { of, .. }) => {
                    let around = &operation.executions[of.execution].graph;
                    around.step(of.step).slug.clone()
                }
            };
            let model = Model::of(&self.world.graphs[&host]);
            self.models.insert(execution.clone(), model);
        }
        Ok(self.models.get_mut(execution).expect("just put in"))
    }

    /// Every call that was made is told once it is over, or when nobody waits any more (C3, V24).
    fn call_told(&mut self, event: &Event, commands: &[Command]) -> Verdict {
        let told = |place: &Place| {
            commands.iter().any(|command| match command {
                Command::Publish(event) => matches!(
                    &**event,
                    PublicEvent::ToolCalled { at, outcome, .. }
                        if at.step.as_deref() == Some(&place.step)
                            && at.lap == Some(place.lap)
                            && *outcome != CalledOutcome::Denied
                ),
                _ => false,
            })
        };
        // A stale grace changes nothing: what is in flight stays so.
        let is_grace = matches!(event, Event::TimerFired(Timer::Grace)) && !commands.is_empty();
        let over = commands
            .iter()
            .any(|command| matches!(command, Command::Settle(_) | Command::End));
        let mut gone = Vec::new();
        for (request, asked) in &self.in_flight {
            let is_answered = asked.what.starts_with("answered");
            let is_tool = asked.what.ends_with("tool");
            // Post steps of a failed graph may begin with the same event that ends the grace.
            let is_new = commands.iter().any(
                |command| matches!(command, Command::AskPermission { request: new, .. } if new == request),
            );
            if !is_answered && (!(is_grace || over) || is_new) {
                continue;
            }
            if is_tool && (is_answered || is_grace) {
                let place = asked.place.clone().expect("a tool call has a place");
                ensure(told(&place), || format!("nothing was told of {asked:?}"))?;
            }
            gone.push(*request);
        }
        for request in gone {
            self.in_flight.remove(&request);
        }
        Ok(())
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

    /// No new model or tool call while anything is blocked or uncertain (V5a). Asking the host whether
    /// a call may be made is none.
    fn halting(&self, event: &Event, commands: &[Command], operation: &Operation) -> Verdict {
        let stays_halted = self.was_halted && operation.is_halted();
        if !stays_halted || matches!(event, Event::ResumeAdmitted { .. }) {
            return Ok(());
        }
        // What stops calls anew after this one, in the same batch, didn't stop it.
        let halts = |command: &Command| match command {
            Command::Publish(event) => matches!(
                &**event,
                PublicEvent::StepSettled {
                    verdict: SettledVerdict::Uncertain,
                    ..
                }
            ),
            _ => false,
        };
        let stopped = commands.iter().rposition(halts).unwrap_or(0);
        let calls = commands[stopped..].iter().any(|command| {
            matches!(
                command,
                Command::CallModel { .. } | Command::CallTool { .. }
            )
        });
        ensure(!calls, || "a call while it is halted".into())
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

fn at_of(event: &PublicEvent) -> Option<&At> {
    match event {
        PublicEvent::StepStarted { at, .. }
        | PublicEvent::StepSubmitted { at }
        | PublicEvent::ModelCalled { at, .. }
        | PublicEvent::ToolCalled { at, .. }
        | PublicEvent::StepSettled { at, .. }
        | PublicEvent::EdgeActivated { at, .. }
        | PublicEvent::VerifyDecided { at, .. }
        | PublicEvent::SourceRecorded { at, .. } => Some(at),
        PublicEvent::OperationStarted { .. }
        | PublicEvent::OperationPaused { .. }
        | PublicEvent::OperationResumed { .. }
        | PublicEvent::SourceAcknowledged { .. }
        | PublicEvent::OperationSettled { .. } => None,
    }
}
