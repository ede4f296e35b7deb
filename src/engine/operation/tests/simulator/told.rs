//! What is told must fit what was told before (C3, G6–G10).

use crate::engine::evidence::Place;
use crate::engine::id::ExecutionId;
use crate::engine::operation::Operation;
use crate::engine::operation::outcome::Status;
use crate::engine::operation::published::{At, PublicEvent};
use crate::engine::operation::state::Iteration;
use crate::engine::operation::tests::simulator::invariants::{Verdict, Watch, ensure};
use crate::engine::operation::tests::simulator::model::Model;
use crate::engine::operation::tests::simulator::world::Worker;

impl Watch<'_> {
    pub(super) fn told(&mut self, event: &PublicEvent, operation: &Operation) -> Verdict {
        match event {
            PublicEvent::StepStarted { at, agent, .. } => {
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
                for model in self.models.values_mut() {
                    model.end_of_batch();
                }
                // What its condition fails takes nobody.
                if let (Some(worker), Some(_)) = (self.world.workers.get(step), agent) {
                    let place = Place {
                        execution: at.execution.clone(),
                        step: step.to_owned(),
                        lap: at.lap.unwrap_or_default(),
                    };
                    self.are_free(&place, worker)?;
                }
            }
            PublicEvent::StepSettled {
                at,
                verdict,
                reason,
                output,
                data,
            } => {
                self.seen.extend(reason.map(str::to_owned));
                let step = at.step.clone().unwrap_or_default();
                if let Some(worker) = self.world.workers.get(&step) {
                    let lap = at.lap.map_or(0, |lap| lap.0);
                    let lap = (at.execution.clone(), step, lap);
                    self.runs.settles(worker, &lap, *verdict, output, data)?;
                    if let Worker::Council(bench) = worker {
                        let strategy = bench.strategy.label();
                        let word = format!("{strategy} {verdict:?}");
                        self.seen.insert(word.to_lowercase());
                        if at.lap.is_some_and(|lap| lap.0 > 1) {
                            self.seen.insert(format!("{strategy} again"));
                        }
                        if self.hosts.contains_key(&at.execution) {
                            self.seen.insert(format!("{strategy} nested"));
                        }
                    }
                }
            }
            PublicEvent::OperationPaused { waits, .. } => {
                for wait in waits {
                    let word = format!("{} {}", wait.kind.label(), wait.state.label());
                    let step = wait.step.as_deref().unwrap_or_default();
                    if let Some(Worker::Council(bench)) = self.world.workers.get(step) {
                        self.seen
                            .insert(format!("{} {word}", bench.strategy.label()));
                    }
                    self.seen.insert(word);
                }
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
    pub(super) fn model(
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
            if let Some(Iteration { of, .. }) = &found.iteration {
                let outer = &operation.executions[of.execution].id;
                let lap = self.models.get(outer).map_or(0, |model| model.lap(&host));
                let key = (outer.clone(), host.clone(), lap);
                self.hosts.insert(execution.clone(), key);
            }
            let model = Model::of(&self.world.graphs[&host]);
            self.models.insert(execution.clone(), model);
        }
        Ok(self.models.get_mut(execution).expect("just put in"))
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
