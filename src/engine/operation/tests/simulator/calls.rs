//! Who may call, what it is shown, and that every call is told (G5, G7, G9, V5a, V24).

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::evidence::Place;
use crate::engine::id::{ExecutionId, RequestId};
use crate::engine::operation::Operation;
use crate::engine::operation::event::{Command, Event, Timer};
use crate::engine::operation::published::{CalledOutcome, PublicEvent, SettledVerdict};
use crate::engine::operation::state::StepState;
use crate::engine::operation::tests::simulator::invariants::{
    Asked, Ready, Verdict, Watch, ensure,
};
use crate::engine::operation::tests::simulator::runs::lap_of;
use crate::engine::operation::tests::simulator::world::Worker;
use crate::engine::ports::{Message, ModelRequest};

impl Watch<'_> {
    pub(super) fn asked(&mut self, request: RequestId, asked: Asked) -> Verdict {
        match self.in_flight.insert(request, asked) {
            None => Ok(()),
            Some(_) => Err(format!("{request:?} was asked twice")),
        }
    }

    /// Nothing of the step but a council's others, and nothing of its agents, may be in flight (G7, G9).
    pub(super) fn may_call(
        &self,
        operation: &Operation,
        place: &Place,
        agent: Option<&str>,
    ) -> Verdict {
        ensure(!self.is_interrupted, || {
            format!("{place:?} calls after an interruption")
        })?;
        if self.was_settling {
            let posts = &operation.plan.definition.body.post_steps;
            ensure(posts.iter().any(|post| post.name == place.step), || {
                format!("{place:?} began while settling")
            })?;
        }
        let worker = self.world.workers.get(&place.step);
        let is_council = matches!(worker, Some(Worker::Council(_)));
        if let Some(worker) = worker {
            ensure(
                agent.is_some_and(|agent| worker.agents().contains(&agent)),
                || format!("{agent:?} works on {place:?}"),
            )?;
        }
        for asked in self.in_flight.values() {
            let Some(other) = &asked.place else {
                continue;
            };
            if asked.what.starts_with("answered") {
                continue;
            }
            let sits_there = is_council && other == place && asked.what != "verifier";
            ensure(
                other.step != place.step || (sits_there && asked.agent.as_deref() != agent),
                || format!("{place:?} calls while {asked:?} is in flight"),
            )?;
        }
        match worker {
            Some(worker) => self.are_free(place, worker),
            None => Ok(()),
        }
    }

    /// The agents of a step work on no other, all of them: its own account of who is taken (G9).
    pub(super) fn are_free(&self, place: &Place, worker: &Worker) -> Verdict {
        let agents = worker.agents();
        let shares = |step: &str| {
            let other = self.world.workers.get(step);
            other.is_some_and(|other| other.agents().iter().any(|it| agents.contains(it)))
        };
        let is_here = |execution: &ExecutionId, step: &str| {
            *execution == place.execution && step == place.step
        };
        for asked in self.in_flight.values() {
            let Some(other) = &asked.place else {
                continue;
            };
            let is_turn = asked.what != "verifier" && !asked.what.starts_with("answered");
            ensure(
                !is_turn || is_here(&other.execution, &other.step) || !shares(&other.step),
                || format!("{place:?} takes agents that {asked:?} has"),
            )?;
        }
        for (execution, model) in &self.models {
            let mut steps = model.working();
            let other = steps.find(|step| !is_here(execution, step) && shares(step));
            ensure(other.is_none() || !self.is_live(execution), || {
                format!("{place:?} takes agents that {other:?} of {execution} has")
            })?;
        }
        Ok(())
    }

    /// Whether anything of an execution still counts: an iteration does while its step works on it.
    pub(super) fn is_live(&self, execution: &ExecutionId) -> bool {
        match self.hosts.get(execution) {
            None => true,
            Some((host, step, lap)) => {
                let works = self.models.get(host).and_then(|model| model.works(step));
                works == Some(*lap) && self.is_live(host)
            }
        }
    }

    /// Whether a lap still takes what is answered.
    pub(super) fn is_wanted(&self, place: &Place) -> bool {
        let model = self.models.get(&place.execution);
        let is_series = model.is_some_and(|model| model.lap(&place.step) == 0);
        let works = model.and_then(|model| model.works(&place.step));
        let is_over = self.was_settling || self.is_interrupted || self.is_ended();
        (is_series || works == Some(place.lap.0)) && self.is_live(&place.execution) && !is_over
    }

    /// What a model is shown is exactly what is current (G5, G7).
    pub(super) fn handed(&self, place: &Place, call: &ModelRequest) -> Verdict {
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

    /// Every call that was made is told once it is over, or when nobody waits any more (C3, V24).
    pub(super) fn call_told(&mut self, event: &Event, commands: &[Command]) -> Verdict {
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

    /// No new model or tool call while anything is blocked or uncertain (V5a). Asking the host whether
    /// a call may be made is none.
    pub(super) fn halting(
        &self,
        event: &Event,
        commands: &[Command],
        operation: &Operation,
    ) -> Verdict {
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

    /// The same by an account of its own: what is uncertain, and the calls that a person has to allow.
    pub(super) fn standing(&mut self, commands: &[Command], operation: &Operation) -> Verdict {
        let mut standing = BTreeSet::new();
        for (execution, model) in &self.models {
            let unsure = model.unsure().filter(|_| self.is_live(execution));
            standing.extend(unsure.map(|(step, lap)| (execution.clone(), step.clone(), lap)));
        }
        let blocked = self.blocked.iter().filter(|place| self.is_wanted(place));
        standing.extend(blocked.map(lap_of));
        let calls = commands.iter().any(|command| {
            matches!(
                command,
                Command::CallModel { .. } | Command::CallTool { .. }
            )
        });
        let is_live = matches!(operation.phase, crate::engine::operation::Phase::Live);
        let stands = self.standing.intersection(&standing).next().cloned();
        self.standing = standing;
        ensure(!calls || !is_live || stands.is_none(), || {
            format!("a call while {stands:?} stands")
        })
    }

    /// What a lap that counts no more has in flight was asked to stop (G7, G10).
    pub(super) fn abandoned(&self) -> Verdict {
        let is_work = |asked: &&Asked| matches!(asked.what, "model" | "tool" | "permission");
        for (request, asked) in &self.in_flight {
            let place = asked.place.as_ref().filter(|_| is_work(&asked));
            let is_step = |place: &&Place| {
                let model = self.models.get(&place.execution);
                model.is_some_and(|model| model.lap(&place.step) > 0)
            };
            let Some(place) = place.filter(is_step) else {
                continue;
            };
            ensure(
                self.is_wanted(place) || self.stopped.contains(request),
                || format!("{asked:?} is given up and wasn't asked to stop"),
            )?;
        }
        Ok(())
    }

    /// Whoever has something in flight is busy, free agents let nobody wait, and whoever was ready
    /// first is served first (G9).
    pub(super) fn agents(&mut self, commands: &[Command], operation: &Operation) -> Verdict {
        let is_live = matches!(operation.phase, crate::engine::operation::Phase::Live);
        if !is_live {
            return Ok(());
        }
        let is_free = |agent: &&str| !operation.agents.busy.contains_key(*agent);
        for asked in self
            .in_flight
            .values()
            .filter(|asked| asked.what != "verifier")
        {
            let step = asked.place.as_ref().map(|place| place.step.as_str());
            let worker = step.and_then(|step| self.world.workers.get(step));
            let free = worker.and_then(|worker| worker.agents().into_iter().find(is_free));
            ensure(free.is_none(), || {
                format!("{free:?} is free, and {asked:?} is in flight")
            })?;
        }
        let mut ready = BTreeMap::new();
        for &index in &operation.active {
            let execution = &operation.executions[index];
            for step in execution.graph.steps() {
                let slug = &execution.graph.step(step).slug;
                let is_ready = matches!(execution.steps[step.at()].state, StepState::Ready);
                if is_ready && let Some(worker) = self.world.workers.get(slug) {
                    let key = (execution.id.clone(), slug.clone());
                    ready.insert(key, worker.agents());
                }
            }
        }
        let meets = |these: &[&str], those: &[&str]| these.iter().any(|it| those.contains(it));
        for (key, agents) in &ready {
            let mut others = ready.iter().filter(|(other, _)| *other != key);
            let is_alone = !others.any(|(_, those)| meets(agents, those));
            let is_kept = is_alone && agents.iter().all(is_free);
            ensure(!is_kept || operation.is_halted(), || {
                format!("{key:?} is ready, its agents are free, and it doesn't begin")
            })?;
        }
        let is_anew = |event: &PublicEvent| {
            matches!(
                event,
                PublicEvent::EdgeActivated {
                    attempt: Some(_),
                    ..
                }
            )
        };
        // What was invalidated may be ready anew.
        if published(commands).any(is_anew) {
            self.ready.clear();
        }
        self.in_turn(commands, &ready)?;
        let now = self.batches;
        self.ready.retain(|key, _| ready.contains_key(key));
        for key in ready.into_keys() {
            self.ready.entry(key).or_insert(now);
        }
        Ok(())
    }

    /// Nobody who was ready later began while somebody who was ready before still waits for the same
    /// agent.
    fn in_turn(&self, commands: &[Command], ready: &BTreeMap<Ready, Vec<&str>>) -> Verdict {
        for event in published(commands) {
            let PublicEvent::StepStarted { at, .. } = event else {
                continue;
            };
            let step = at.step.clone().unwrap_or_default();
            let Some(worker) = self.world.workers.get(&step) else {
                continue;
            };
            let since = self.ready.get(&(at.execution.clone(), step.clone()));
            for (key, agents) in ready {
                let is_shared = worker.agents().iter().any(|it| agents.contains(it));
                let waited = self.ready.get(key);
                let is_later = waited.is_some_and(|waited| since.is_none_or(|it| it > waited));
                ensure(!(is_shared && is_later), || {
                    format!("`{step}` began before {key:?}, which was ready first")
                })?;
            }
        }
        Ok(())
    }
}

fn published(commands: &[Command]) -> impl Iterator<Item = &PublicEvent> {
    commands.iter().filter_map(|command| match command {
        Command::Publish(event) => Some(&**event),
        _ => None,
    })
}
