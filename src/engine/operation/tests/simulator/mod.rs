//! The machine, played by chance (Q6): random routines, a random world, and what must never happen.
//!
//! One seed is one story. A seed that fails prints its routine and its story, and
//! `SEED=… cargo test the_machine_keeps_its_promises` plays it again; `SEEDS=…` plays more of them.

mod answers;
pub(super) mod chance;
mod invariants;
mod model;
mod pen;
mod play;
mod shape;
mod turns;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine::operation::tests::simulator::chance::Chance;
use crate::engine::operation::tests::simulator::play::{Ended, Play};
use crate::engine::operation::tests::simulator::world::{LEVELS, World};
use crate::engine::operation::view::OperationState;

/// How many stories a run of the tests plays.
const SEEDS: u64 = 2_000;

/// Reasons and waits that chance has to come by, or the simulator has gone blind.
const PLACES: [&str; 44] = [
    "cancelled",
    "check blocked",
    "check uncertain",
    "check waiting",
    "condition",
    "condition waiting",
    "condition_failed",
    "contribution asked",
    "contribution failed",
    "contribution said",
    "contribution vote",
    "cut_off",
    "deadline",
    "delivery waiting",
    "effect_unknown",
    "evidence uncertain",
    "failed_by_operator",
    "gate_failed",
    "handoff_mismatch",
    "iteration_failed",
    "manual blocked",
    "manual waiting",
    "max_iterations_exceeded",
    "max_model_calls",
    "model_refused_request",
    "no_answer",
    "no_verdict",
    "not_activated",
    "observation_too_large",
    "operator_gate waiting",
    "permission blocked",
    "post_step_failed",
    "pre_step_failed",
    "refusal",
    "retry_exhausted",
    "storage_failed",
    "template_failed",
    "terminal_fail",
    "timeout",
    "tool_failed",
    "uncertain uncertain",
    "unreadable_answer",
    "verdict_fail",
    "verifier_failed",
];

fn play(seed: u64) -> Ended {
    let mut chance = Chance::of(seed);
    let world = World::of(&mut chance);
    let mut story = Vec::new();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        Play::of(chance, &world, &mut story).run()
    }));
    let broken = match ended {
        Ok(Ok(ended)) => return ended,
        Ok(Err(broken)) => broken,
        Err(_) => "it panicked; see above".to_owned(),
    };
    let from = story.len().saturating_sub(150);
    panic!(
        "SEED={seed}: {broken}\n\n{}\n{}\n\nSEED={seed}: {broken}",
        world.yaml,
        story[from..].join("\n"),
    );
}

/// Q6, and with it G6–G10, V3, V5, V5a, V6, V11, V25, V26, V30.
#[test]
fn the_machine_keeps_its_promises() {
    if let Ok(seed) = std::env::var("SEED") {
        let seed = seed.parse().expect("SEED is a number");
        play(seed);
        return;
    }
    let seeds = match std::env::var("SEEDS") {
        Ok(seeds) => seeds.parse().expect("SEEDS is a number"),
        Err(_) => SEEDS,
    };
    let mut states: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut resumes = 0;
    let mut iterations = [0; LEVELS];
    let mut seen = BTreeSet::new();
    for seed in 0..seeds {
        let ended = play(seed);
        resumes += ended.resumes;
        seen.extend(ended.seen);
        for (sum, count) in iterations.iter_mut().zip(ended.iterations) {
            *sum += count;
        }
        *states
            .entry(ended.state.map_or("none", OperationState::label))
            .or_default() += 1;
    }
    // A simulator that never gets anywhere proves nothing.
    for state in [
        OperationState::Succeeded,
        OperationState::Failed,
        OperationState::Cancelled,
        OperationState::Ended,
    ] {
        let count = states.get(state.label()).copied().unwrap_or_default();
        assert!(
            count * 100 > seeds,
            "only {count} of {seeds} {state:?}: {states:?}"
        );
    }
    assert!(resumes > seeds, "only {resumes} resumes");
    // The outermost graph is none; beneath it, chance has to reach every level.
    assert!(
        iterations[1..].iter().all(|count| count * 10 > seeds),
        "iterations by level: {iterations:?}"
    );
    let missing: Vec<_> = PLACES
        .iter()
        .filter(|place| !seen.contains(**place))
        .collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}
