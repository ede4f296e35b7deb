//! What the machine derives and what belongs to whom, looked at from inside (V22): whatever is kept
//! beside the states is what the states say, and nothing belongs to an execution that is over.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::operation::Operation;
use crate::engine::operation::event::Timer;
use crate::engine::operation::flight::Owner;
use crate::engine::operation::state::{Iteration, Repeating, Stage, StepRef, StepState};
use crate::engine::operation::tests::simulator::invariants::{Verdict, ensure};
use crate::engine::operation::tests::simulator::world::SLOT;
use crate::engine::verify::Held;

/// What is derived is what would be derived anew.
pub(super) fn indices(operation: &Operation) -> Verdict {
    let mut holds: BTreeMap<_, Held> = BTreeMap::new();
    let mut turns: BTreeMap<String, usize> = BTreeMap::new();
    for (index, execution) in operation.executions.iter().enumerate() {
        let live = execution
            .steps
            .iter()
            .filter(|step| step.state.is_live())
            .count();
        ensure(live == execution.live, || {
            format!("{live} steps live, {} counted", execution.live)
        })?;
        if !operation.active.contains(&index) {
            let is_empty = execution.steps.is_empty() && matches!(execution.stage, Stage::Over);
            ensure(is_empty, || format!("{} is over and kept", execution.id))?;
            continue;
        }
        for step in execution.graph.steps() {
            let state = &execution.steps[step.at()].state;
            if let Some(held) = state.held() {
                let at = StepRef {
                    execution: index,
                    step,
                };
                holds.insert(at, held);
            }
            let working: Vec<&String> = match state {
                StepState::Turn(turn) => vec![&turn.agent],
                // All of them, whoever has a conversation just now.
                StepState::Council(council) => {
                    let definition = &council.definition;
                    let all: BTreeSet<&String> = definition
                        .members
                        .iter()
                        .chain([&definition.leader])
                        .collect();
                    all.into_iter().collect()
                }
                _ => Vec::new(),
            };
            for agent in working {
                *turns.entry(agent.clone()).or_default() += 1;
                let busy = operation.agents.busy.get(agent);
                let is_here = |at: &StepRef| at.execution == index && at.step == step;
                ensure(busy.is_some_and(is_here), || {
                    format!("`{agent}` works and is taken by {busy:?}")
                })?;
            }
        }
    }
    ensure(holds == operation.holds, || {
        format!("holds {:?}, not {holds:?}", operation.holds)
    })?;
    ensure(turns.values().all(|count| *count == 1), || {
        format!("two turns at once: {turns:?}")
    })?;
    // Nobody is taken by what is over: every agent is given back once.
    let keeps = |at: &StepRef| match operation.state_of(*at) {
        StepState::Turn(_) | StepState::Council(_) | StepState::Stopping(_) => true,
        StepState::Uncertain(uncertain) => !uncertain.stopping.is_empty(),
        _ => false,
    };
    let is_live = matches!(operation.phase, crate::engine::operation::Phase::Live);
    let mut busy = operation.agents.busy.iter();
    let kept = busy.find(|(_, at)| is_live && !keeps(at));
    ensure(kept.is_none(), || format!("{kept:?} is taken by nothing"))
}

/// Every execution but the first is the one iteration of a step that repeats, and nothing belongs to
/// one that is over (V22).
pub(super) fn iterations(operation: &Operation) -> Verdict {
    let is_live = matches!(operation.phase, crate::engine::operation::Phase::Live);
    for &index in &operation.active {
        let execution = &operation.executions[index];
        if let (true, Some(Iteration { of, .. })) = (is_live, &execution.iteration) {
            let host = &operation.executions[of.execution].steps[of.step.at()].state;
            ensure(
                matches!(host, StepState::Repeating(repeat) if repeat.child == Some(index)),
                || format!("{} is nobody's iteration: {host:?}", execution.id),
            )?;
        }
        for step in &execution.steps {
            let StepState::Repeating(repeat) = &step.state else {
                continue;
            };
            let child = repeat.child.ok_or("it repeats and nothing runs")?;
            let iteration = operation.executions[child].iteration.as_ref();
            let is_next = iteration.is_some_and(|held| held.index + 1 == repeat.next);
            ensure(is_next && operation.active.contains(&child), || {
                format!("{repeat:?} has lost its iteration")
            })?;
            let is_kept =
                repeat.kind != Repeating::Map || repeat.outputs.len() as u64 + 1 == repeat.next;
            ensure(is_kept, || format!("{repeat:?} lost an output"))?;
        }
    }
    // What a model writes into a slot is gone with it too; nothing else writes this one.
    let memory = &operation.memory;
    ensure(memory.is_lent() || memory.get(SLOT).is_none(), || {
        "an until's slot is left behind".into()
    })?;
    if !is_live {
        return Ok(());
    }
    let owner = |owner: &Owner| match owner {
        Owner::Step(_) | Owner::Turn(_) => owner.step().map(|at| at.execution),
        Owner::Series(execution) | Owner::Final(execution) => Some(*execution),
        Owner::Receipts => None,
    };
    let flights = operation.in_flight.values().map(|flight| &flight.owner);
    let owners = flights.chain(operation.deliveries.values());
    let agents = &operation.agents;
    let working = agents.busy.values().chain(agents.queues.values().flatten());
    let gone = owners
        .filter_map(owner)
        .chain(working.map(|at| at.execution))
        .find(|execution| !operation.active.contains(execution));
    ensure(gone.is_none(), || {
        format!("something still belongs to execution {gone:?}")
    })
}

/// A timer of an execution that is over is cleared.
pub(super) fn timers(operation: &Operation, timers: &BTreeSet<Timer>) -> Verdict {
    let is_gone = |timer: &&Timer| match timer {
        Timer::Deadline | Timer::Grace => false,
        Timer::Iteration { execution } | Timer::Step { execution, .. } => {
            operation.find_execution(execution).is_none()
        }
    };
    match timers.iter().find(is_gone) {
        None => Ok(()),
        Some(timer) => Err(format!("{timer:?} is of nothing that runs")),
    }
}
