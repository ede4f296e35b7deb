//! What a picture tells of the inside of steps (V22), and of steps that were passed by (G8).

use super::*;
use crate::engine::operation::view::{ExecutionView, RepeatView, StepStatus, StepView};

const EACH: &str = "@ pre_steps: [{ name: items, tool: memory_set, args: { key: items, value: [a, b, c] } }]
    each -> done
    each = type: map, source: { memory_key: items }, max_iterations: 2, routine: { steps: [{ slug: n, type: agent, agent: n }] }";

fn step(it: &Play, slug: &str) -> StepView {
    let view = it.machine.view();
    let mut steps = view.executions[0].steps.iter();
    steps
        .find(|step| step.slug == slug)
        .expect("a step")
        .clone()
}

fn repeat(it: &Play) -> Option<RepeatView> {
    step(it, "each").repeat
}

#[test]
fn a_picture_tells_how_far_a_map_is_and_what_it_covers() {
    let mut it = story(EACH).start();
    let at = |current, done| {
        Some(RepeatView {
            current,
            done,
            count: 2,
            total: Some(3),
        })
    };
    assert_eq!(repeat(&it), at(Some(0), 0));
    it.answer("n", pass().output(1));
    assert_eq!(repeat(&it), at(Some(1), 1));
    it.answer("n", pass().output(2)).expect_succeeded();
    assert_eq!(repeat(&it), at(None, 2));
}

#[test]
fn iterations_that_are_over_stay_to_be_looked_at_as_they_ended() {
    let mut it = story(EACH).start();
    assert!(it.machine.view().past.is_empty());
    it.answer("n", pass().output(1));
    it.answer("n", pass().output("x".repeat(10_000)));
    let past = it.machine.view().past;
    let index = |past: &ExecutionView| past.iteration.as_ref().expect("an iteration").index;
    assert_eq!(
        past.iter().map(|past| index(past)).collect::<Vec<_>>(),
        [0, 1]
    );
    for past in &past {
        assert!(
            past.steps
                .iter()
                .all(|step| step.status != StepStatus::Running)
        );
    }
    assert_eq!(past[0].steps[0].output, Some(json!(1)));
    assert_eq!(
        past[1].steps[0].output, None,
        "long outputs are in the sources"
    );
}

#[test]
fn only_the_latest_iterations_are_kept() {
    let items: Vec<usize> = (0..100).collect();
    let text = EACH
        .replace("[a, b, c]", &json!(items).to_string())
        .replace("max_iterations: 2, ", "");
    let mut it = story(&text).start();
    for at in 0..100 {
        it.answer("n", pass().output(at));
    }
    let past = it.machine.view().past;
    assert_eq!(past.len(), 64);
    assert_eq!(past[63].iteration.as_ref().expect("one").index, 99);
}

#[test]
fn an_iteration_that_failed_stays_where_it_was() {
    let mut it = story(EACH).start();
    it.answer("n", pass()).answer("n", fail());
    let seen = repeat(&it).expect("it had begun");
    assert_eq!((seen.current, seen.done, seen.count), (Some(1), 1, 2));
    let failed = step(&it, "each");
    assert_eq!(failed.status, StepStatus::Failed, "not merely stopped");
    assert_eq!(failed.note.as_deref(), Some("iteration_failed"));
    let view = it.machine.view();
    assert_eq!(view.executions[1].steps[0].status, StepStatus::Failed);
}

#[test]
fn a_step_that_is_passed_by_says_why() {
    let mut it = story("g -pass-> p -> done\n g -fail-> f -> done").start();
    it.answer("g", pass());
    let skipped = step(&it, "f");
    assert_eq!(skipped.status, StepStatus::Skipped);
    assert_eq!(skipped.note.as_deref(), Some("no edge to it activated"));
}
