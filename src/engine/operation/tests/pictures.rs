//! What a picture tells of the inside of steps (V22), and of steps that were passed by (G8).

use super::*;
use crate::engine::operation::view::{
    ExecutionView, MemberStatus, RepeatView, StepStatus, StepView,
};
use crate::engine::ports::ToolCall;

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

/// A council of three over one step.
fn council_of(strategy: &str) -> String {
    format!(
        "routine: council
agents: {{ chair: {{}}, ann: {{}}, bob: {{}}, cy: {{}} }}
councils: {{ panel: {{ leader: chair, members: [ann, bob, cy], strategy: {strategy} }} }}
entry_steps: [talk]
steps:
  - {{ slug: talk, type: council, council: panel, instructions: x }}
  - {{ slug: done, type: terminal }}
edges:
  - {{ from: talk, to: done }}
"
    )
}

fn members(it: &Play) -> Vec<(MemberStatus, Option<String>)> {
    let council = step(it, "talk").council.expect("a council");
    let members = council.members.into_iter();
    members.map(|member| (member.status, member.note)).collect()
}

fn leader(it: &Play) -> MemberStatus {
    step(it, "talk").council.expect("a council").leader.status
}

fn vote(verdict: &str) -> ToolCall {
    let args = json!({ "verdict": verdict, "reasoning": "so it is" });
    tool("cast_vote", args)
}

#[test]
fn a_picture_follows_each_vote_and_keeps_them_when_the_step_is_over() {
    // G11
    let so = || Some("so it is".to_owned());
    let mut it = story(&council_of("vote")).start();
    assert!(
        members(&it)
            .iter()
            .all(|(status, _)| *status == MemberStatus::Asked)
    );
    assert_eq!(leader(&it), MemberStatus::Waiting);
    it.calls("talk/ann", [vote("pass")])
        .calls("talk/bob", [vote("fail")]);
    assert_eq!(
        members(&it),
        [
            (MemberStatus::VotedPass, so()),
            (MemberStatus::VotedFail, so()),
            (MemberStatus::Asked, None)
        ]
    );
    it.calls("talk/cy", [vote("pass")]);
    assert_eq!(leader(&it), MemberStatus::Asked);
    let live = members(&it);
    it.answer("talk/chair", pass()).expect_succeeded();
    assert_eq!(members(&it), live, "the account says the same");
    assert_eq!(leader(&it), MemberStatus::Answered);
    let council = step(&it, "talk").council.expect("a council");
    assert_eq!((council.needed(), council.calls), (2, None));
    assert_eq!(council.count(|it| it == MemberStatus::VotedPass), 2);
}

#[test]
fn members_of_a_round_robin_wait_for_their_turn() {
    let mut it = story(&council_of("round_robin")).start();
    it.says("talk/ann", "first words");
    let statuses: Vec<MemberStatus> = members(&it).into_iter().map(|(status, _)| status).collect();
    assert_eq!(
        statuses,
        [
            MemberStatus::Answered,
            MemberStatus::Asked,
            MemberStatus::Waiting
        ]
    );
    assert_eq!(members(&it)[0].1.as_deref(), Some("first words"));
}

#[test]
fn a_dynamic_councils_calls_are_counted() {
    let mut it = story(&council_of("dynamic")).start();
    let calls = |it: &Play| step(it, "talk").council.expect("a council").calls;
    assert_eq!(
        (calls(&it), leader(&it)),
        (Some((0, 8)), MemberStatus::Asked)
    );
    it.calls(
        "talk/chair",
        [tool("ask_bob", json!({ "message": "well?" }))],
    );
    assert_eq!(calls(&it), Some((1, 8)));
    assert_eq!(members(&it)[1].0, MemberStatus::Asked);
    it.says("talk/bob", "well.");
    assert_eq!(calls(&it), Some((1, 8)));
    assert_eq!(members(&it)[1].0, MemberStatus::Answered);
    assert_eq!(members(&it)[0].0, MemberStatus::Waiting);
}
