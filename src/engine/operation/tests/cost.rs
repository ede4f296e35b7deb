//! The cost of a step doesn't grow with the routine (Q1): counted on the machine alone.

use std::time::{Duration, Instant};

use super::*;

/// Lines of a thousand steps that lie in each other: each ends with the step that holds the next.
fn lines(levels: usize, steps: usize) -> String {
    let mut inner = String::new();
    for level in (1..=levels).rev() {
        let mut list: Vec<String> = (1..steps)
            .map(|step| format!("{{ slug: l{level}s{step}, type: tool, tool: memory_set, args: {{ key: k, value: {step} }} }}"))
            .collect();
        list.push(match inner.as_str() {
            "" => format!("{{ slug: l{level}s0, type: tool, tool: memory_list }}"),
            inner => format!("{{ slug: l{level}s0, type: until, stop_when: {{ memory_key: k, operator: exists }}, routine: {{ steps: [{inner}] }} }}"),
        });
        inner = list.join(", ");
    }
    format!(
        "routine: lines\nentry_steps: [all]\nsteps: [{{ slug: all, type: until, stop_when: {{ memory_key: k, operator: exists }}, routine: {{ steps: [{inner}] }} }}, {{ slug: done, type: terminal }}]\nedges: [{{ from: all, to: done }}]\n"
    )
}

/// The best of several runs, for one step.
fn step_cost(levels: usize, steps: usize) -> Duration {
    let text = lines(levels, steps);
    let best = (0..5).map(|_| {
        let story = story(&text);
        let began = Instant::now();
        let mut it = story.start();
        let took = began.elapsed();
        it.expect_succeeded();
        took / (levels * steps) as u32
    });
    best.min().expect("several runs")
}

/// On a quiet machine the two are within 1.3 of each other; a cost that grows with the number of
/// steps would make it forty.
#[test]
fn the_cost_of_a_step_does_not_grow() {
    let (few, many) = (step_cost(1, 100), step_cost(4, 1_000));
    println!("a step of 100: {few:?}, of 4,000: {many:?}");
    assert!(many <= few.mul_f64(3.0), "{few:?} became {many:?}");
}
