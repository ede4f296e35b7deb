//! The machine, played by chance (Q6): random routines, a random world, and what must never happen.
//!
//! One seed is one story. A seed that fails prints its routine and its story, and
//! `SEED=… cargo test the_machine_keeps_its_promises` plays it again; `SEEDS=…` plays more of them.
//!
//! | file | idea |
//! |---|---|
//! | `world`, `pen` | a random routine: meant by the generator, written for the loader |
//! | `replies`, `answers` | what models say, and what tools, host, verifiers and persons do |
//! | `play`, `telling` | what happens next, and how a broken seed is told |
//! | `model`, `runs`, `bench` | second accounts of graphs, of runs and of councils |
//! | `invariants`, `told`, `calls`, `shape` | what must hold after every event |

mod answers;
mod bench;
mod calls;
pub(super) mod chance;
mod invariants;
mod model;
mod pen;
mod play;
mod replies;
mod runs;
mod shape;
mod telling;
mod told;
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::engine::operation::tests::simulator::chance::Chance;
use crate::engine::operation::tests::simulator::play::{Ended, Play};
use crate::engine::operation::tests::simulator::telling::Story;
use crate::engine::operation::tests::simulator::world::{LEVELS, Strategy, World};
use crate::engine::operation::view::OperationState;

/// How many stories a run of the tests plays.
const SEEDS: u64 = 2_000;

/// Reasons and waits that chance has to come by, or the simulator has gone blind.
const PLACES: [&str; 40] = [
    "cancelled",
    "check blocked",
    "check uncertain",
    "check waiting",
    "condition",
    "condition waiting",
    "condition_failed",
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

/// What a council of every strategy has to come to.
const COUNCIL_PLACES: [&str; 10] = [
    "again",
    "nested",
    "stopped",
    "pass",
    "fail",
    "uncertain",
    "check waiting",
    "delivery waiting",
    "permission blocked",
    "uncertain uncertain",
];

fn play(seed: u64) -> Ended {
    match played(seed, Story::Untold) {
        (_, Ok(ended)) => ended,
        // Again, to tell it: a seed tells the same story everywhere.
        (_, Err(_)) => tell(seed),
    }
}

/// Plays a seed, and tells its story where it breaks a promise.
fn tell(seed: u64) -> Ended {
    let mut story = Vec::new();
    let (world, broken) = match played(seed, Story::Written(&mut story)) {
        (_, Ok(ended)) => return ended,
        (world, Err(broken)) => (world, broken),
    };
    let from = story.len().saturating_sub(150);
    panic!(
        "SEED={seed}: {broken}\n\n{}\n{}\n\nSEED={seed}: {broken}",
        world.yaml,
        story[from..].join("\n"),
    );
}

fn played(seed: u64, story: Story<'_>) -> (World, Result<Ended, String>) {
    let mut chance = Chance::of(seed);
    let world = World::of(&mut chance);
    let ended = catch_unwind(AssertUnwindSafe(|| Play::of(chance, &world, story).run()));
    let ended = ended.unwrap_or_else(|_| Err("it panicked; see above".to_owned()));
    (world, ended)
}

/// Q6, and with it G6–G11, V3, V5, V5a, V6, V11, V25, V26, V30.
#[test]
fn the_machine_keeps_its_promises() {
    if let Ok(seed) = std::env::var("SEED") {
        let seed = seed.parse().expect("SEED is a number");
        tell(seed);
        return;
    }
    let seeds = match std::env::var("SEEDS") {
        Ok(seeds) => seeds.parse().expect("SEEDS is a number"),
        Err(_) => SEEDS,
    };
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let mut states: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut resumes = 0;
    let mut iterations = [0; LEVELS];
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut take = |ended: Ended| {
        resumes += ended.resumes;
        for (sum, count) in iterations.iter_mut().zip(ended.iterations) {
            *sum += count;
        }
        for place in ended.seen {
            *seen.entry(place).or_default() += 1;
        }
        let state = ended.state.map_or("none", OperationState::label);
        *states.entry(state).or_default() += 1;
    };
    std::thread::scope(|scope| {
        let played = |from: u64| {
            let seeds = (from..seeds).step_by(threads as usize);
            move || seeds.map(play).collect::<Vec<Ended>>()
        };
        let players: Vec<_> = (0..threads).map(|from| scope.spawn(played(from))).collect();
        for player in players {
            match player.join() {
                Ok(ended) => ended.into_iter().for_each(&mut take),
                Err(broken) => resume_unwind(broken),
            }
        }
    });
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
        iterations[1..].iter().all(|count| count * 15 > seeds),
        "iterations by level: {iterations:?}"
    );
    let of_councils = Strategy::ALL.iter().flat_map(|strategy| {
        let of = |place: &&str| format!("{} {place}", strategy.label());
        COUNCIL_PLACES.iter().map(of).collect::<Vec<_>>()
    });
    let places = PLACES.iter().map(|place| (*place).to_owned());
    let missing: Vec<String> = places
        .chain(of_councils)
        .filter(|place| !seen.contains_key(place))
        .collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}
