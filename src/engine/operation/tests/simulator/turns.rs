//! Who works and who waits: agents take turns, councils take theirs together, and at a council every
//! chair speaks when it may (G9, G11).

use std::collections::BTreeSet;

use crate::engine::evidence::Place;
use crate::engine::operation::state::{Council, LEADER, Round, StepRef, StepState};
use crate::engine::operation::tests::simulator::invariants::{Verdict, ensure};
use crate::engine::operation::{Operation, Phase};
use crate::engine::routine::definition::{CouncilStrategy, GateOwner, GateStep, StepKind};
use crate::engine::routine::graph::RoutineGraph;

/// Nothing else of the step, and nothing of its agents, may be in flight; of a council's own runs
/// several may (G7, G9).
pub(super) fn may_call(operation: &Operation, place: &Place, other: &Place, what: &str) -> Verdict {
    let agents = agents_of(operation, &place.step);
    if place == other && agents.len() > 1 && what != "verifier" {
        return Ok(());
    }
    ensure(other.step != place.step, || {
        format!("{place:?} calls while {what} of it is in flight")
    })?;
    let both = agents_of(operation, &other.step);
    let is_shared = agents.iter().any(|agent| both.contains(agent));
    ensure(what == "verifier" || !is_shared, || {
        format!("{agents:?} work on {place:?} and {other:?}")
    })
}

/// Whoever has something in flight is busy, and free agents let nobody wait (G9).
pub(super) fn taken<'a>(
    operation: &Operation,
    working: impl Iterator<Item = &'a Place>,
) -> Verdict {
    if !matches!(operation.phase, Phase::Live) {
        return Ok(());
    }
    let is_free = |agent: &String| !operation.agents.busy.contains_key(agent);
    for place in working {
        let free: Vec<String> = agents_of(operation, &place.step)
            .into_iter()
            .filter(is_free)
            .collect();
        ensure(free.is_empty(), || {
            format!("{free:?} are free, and {place:?} has something in flight")
        })?;
    }
    for &index in &operation.active {
        let execution = &operation.executions[index];
        for step in execution.graph.steps() {
            let slug = &execution.graph.step(step).slug;
            let at = StepRef {
                execution: index,
                step,
            };
            let is_ready = matches!(execution.steps[step.at()].state, StepState::Ready);
            let agents = agents_of(operation, slug);
            // Who was ready before and waits for somebody else keeps its place.
            let is_behind = agents.iter().any(|agent| {
                let queue = operation.agents.queues.get(agent);
                queue.is_some_and(|queue| queue.front() != Some(&at))
            });
            let is_kept = is_ready && !agents.is_empty() && agents.iter().all(is_free);
            ensure(!is_kept || is_behind || operation.is_halted(), || {
                format!("`{slug}` is ready, {agents:?} are free, and it doesn't begin")
            })?;
        }
    }
    Ok(())
}

/// At every council each chair speaks when it may, and nobody is lost.
pub(super) fn councils(operation: &Operation) -> Verdict {
    for &index in &operation.active {
        for (at, step) in operation.executions[index].steps.iter().enumerate() {
            if let StepState::Council(council) = &step.state {
                chairs(council).map_err(|broken| format!("step {at}: {broken}: {council:?}"))?;
                for turn in council.turns.values() {
                    let holder = operation.agents.busy.get(&turn.agent);
                    let is_held =
                        holder.is_some_and(|it| (it.execution, it.step.at()) == (index, at));
                    ensure(is_held, || format!("`{}` is not the council's", turn.agent))?;
                }
            }
        }
    }
    Ok(())
}

fn chairs(council: &Council) -> Verdict {
    let members: BTreeSet<usize> = council.definition.chairs().collect();
    let open: Vec<usize> = council.turns.keys().copied().collect();
    let told = council.contributions.iter().map(|it| it.chair);
    let runs: BTreeSet<_> = council.contributions.iter().map(|it| &it.run).collect();
    ensure(runs.len() == council.contributions.len(), || {
        "two contributions of one run".into()
    })?;
    match (council.round, council.definition.strategy) {
        (Round::Assigning, _) => ensure(open == [LEADER], || "who speaks?".into()),
        (Round::Members, strategy) => {
            let mut all: Vec<usize> = open.iter().copied().chain(told).collect();
            all.extend(&council.to_come);
            all.sort_unstable();
            ensure(all.iter().eq(&members), || "a member is lost".into())?;
            let is_one = strategy != CouncilStrategy::RoundRobin || open.len() == 1;
            ensure(is_one && !open.is_empty(), || "who speaks?".into())
        }
        (Round::Leader, CouncilStrategy::Dynamic) => {
            let asked = open.iter().filter(|chair| **chair != LEADER).count();
            let calls = council.contributions.len() + asked + council.calls_left as usize;
            let max = council.definition.max_calls as usize;
            ensure(asked <= 1 && calls == max && open.contains(&LEADER), || {
                "calls were lost".into()
            })
        }
        (Round::Leader, _) => {
            let mut all: Vec<usize> = told.collect();
            all.sort_unstable();
            ensure(open == [LEADER] && all.iter().eq(&members), || {
                "the leader didn't wait for all".into()
            })
        }
    }
}

/// The agents that a step works with; at a council the leader is the first.
fn agents_of(operation: &Operation, slug: &str) -> Vec<String> {
    let graph = &operation.plan.graph;
    match kind_in(graph, slug) {
        Some(
            StepKind::Agent(step)
            | StepKind::Gate(GateStep {
                owner: GateOwner::Agent(step),
            }),
        ) => vec![step.agent.clone()],
        Some(StepKind::Council(step)) => operation.council_agents(step),
        _ => Vec::new(),
    }
}

fn kind_in<'a>(graph: &'a RoutineGraph, slug: &str) -> Option<&'a StepKind> {
    match graph.find(slug) {
        Some(step) => Some(&graph.step(step).kind),
        None => {
            let mut nested = graph.steps().filter_map(|step| graph.nested(step));
            nested.find_map(|graph| kind_in(graph, slug))
        }
    }
}
