//! Who may call, what it is shown, and that every call is told (G5, G7, G9, V5a, V24).

use crate::engine::evidence::Place;
use crate::engine::id::RequestId;
use crate::engine::operation::Operation;
use crate::engine::operation::event::{Command, Event, Timer};
use crate::engine::operation::published::{CalledOutcome, PublicEvent, SettledVerdict};
use crate::engine::operation::state::StepState;
use crate::engine::operation::tests::simulator::invariants::{Asked, Verdict, Watch, ensure};
use crate::engine::ports::{Message, ModelRequest};
use crate::engine::routine::definition::{GateOwner, GateStep, StepKind};
use crate::engine::routine::graph::RoutineGraph;

impl Watch<'_> {
    pub(super) fn asked(
        &mut self,
        request: RequestId,
        what: &'static str,
        place: Option<&Place>,
    ) -> Verdict {
        let place = place.cloned();
        match self.in_flight.insert(request, Asked { what, place }) {
            None => Ok(()),
            Some(_) => Err(format!("{request:?} was asked twice")),
        }
    }

    /// Nothing of the step, and nothing of its agent, may be in flight (G7, G9).
    pub(super) fn may_call(&self, operation: &Operation, place: &Place) -> Verdict {
        ensure(!self.is_interrupted, || {
            format!("{place:?} calls after an interruption")
        })?;
        if self.was_settling {
            let posts = &operation.plan.definition.body.post_steps;
            ensure(posts.iter().any(|post| post.name == place.step), || {
                format!("{place:?} began while settling")
            })?;
        }
        let agent = agent_of(operation, &place.step);
        for asked in self.in_flight.values() {
            let Some(other) = &asked.place else {
                continue;
            };
            if asked.what.starts_with("answered") {
                continue;
            }
            ensure(other.step != place.step, || {
                format!("{place:?} calls while {asked:?} is in flight")
            })?;
            let is_turn = asked.what != "verifier";
            ensure(
                !is_turn || agent.is_none() || agent_of(operation, &other.step) != agent,
                || format!("{agent:?} works on {place:?} and {other:?}"),
            )?;
        }
        Ok(())
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

    /// Whoever has something in flight is busy, and a free agent lets nobody wait (G9).
    pub(super) fn agents(&self, operation: &Operation) -> Verdict {
        let is_live = matches!(operation.phase, crate::engine::operation::Phase::Live);
        if !is_live {
            return Ok(());
        }
        let is_free = |agent: &String| !operation.agents.busy.contains_key(agent);
        for asked in self
            .in_flight
            .values()
            .filter(|asked| asked.what != "verifier")
        {
            let step = asked.place.as_ref().map(|place| place.step.as_str());
            let agent = step.and_then(|step| agent_of(operation, step));
            ensure(!agent.as_ref().is_some_and(is_free), || {
                format!("{agent:?} is free, and {asked:?} is in flight")
            })?;
        }
        for &index in &operation.active {
            let execution = &operation.executions[index];
            for step in execution.graph.steps() {
                let slug = &execution.graph.step(step).slug;
                let is_ready = matches!(execution.steps[step.at()].state, StepState::Ready);
                let is_kept =
                    is_ready && agent_of(operation, slug).is_some_and(|agent| is_free(&agent));
                ensure(!is_kept || operation.is_halted(), || {
                    format!("`{slug}` is ready, its agent is free, and it doesn't begin")
                })?;
            }
        }
        Ok(())
    }
}

fn agent_of(operation: &Operation, slug: &str) -> Option<String> {
    agent_in(&operation.plan.graph, slug)
}

fn agent_in(graph: &RoutineGraph, slug: &str) -> Option<String> {
    let Some(step) = graph.find(slug) else {
        let mut nested = graph.steps().filter_map(|step| graph.nested(step));
        return nested.find_map(|graph| agent_in(graph, slug));
    };
    match &graph.step(step).kind {
        StepKind::Agent(step)
        | StepKind::Gate(GateStep {
            owner: GateOwner::Agent(step),
        }) => Some(step.agent.clone()),
        _ => None,
    }
}
