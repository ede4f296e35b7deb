//! What is inside of steps, on the screen: councils, iterations, laps, joins; and that nothing moves.

use crossterm::event::KeyCode;
use serde_json::json;

use crate::engine::id::Lap;
use crate::engine::operation::view::{EdgeStatus, MemberStatus, RepeatView, StepStatus};
use crate::engine::routine::definition::CouncilStrategy;
use crate::tui::stage::Stage;
use crate::tui::stage::views::{MadeUp, council};
use crate::tui::state::Pane;
use crate::tui::state::operations::Follow;
use crate::tui::text::width;
use crate::tui::theme::{Colours, Glyphs, Theme};
use crate::tui::view::tests::assert_inert;

const DYNAMIC: &str = "routine: ask-around
agents: { chair: {}, ann: {}, bob: {} }
councils: { panel: { leader: chair, members: [ann, bob], strategy: dynamic } }
entry_steps: [talk]
steps:
  - { slug: talk, type: council, council: panel, instructions: Find out. }
  - { slug: done, type: terminal }
edges:
  - { from: talk, to: done }
";

/// The graph and the details at every size: first the graph, then the details.
fn graph_and_details(mut stage: Stage) -> String {
    stage.state.focus(Pane::Graph);
    let graph = stage.screens();
    stage.state.focus(Pane::Details);
    format!("{graph}{}", stage.screens())
}

fn voting() -> Stage {
    let mut stage = Stage::new();
    stage.start("review-council", "op-1");
    let mut seen = stage.made_up("op-1");
    seen.stand(&["draft"], StepStatus::Passed)
        .edges(&["draft>review"], EdgeStatus::Activated)
        .stand(&["review"], StepStatus::Running);
    let members = [
        (
            "facts",
            MemberStatus::VotedPass,
            "Every number was looked up.",
        ),
        (
            "style",
            MemberStatus::VotedFail,
            "It is too long. ".repeat(20).leak(),
        ),
        ("gaps", MemberStatus::Refused, "I can't help with that."),
    ];
    seen.step("review").council = Some(council(
        CouncilStrategy::Vote,
        MemberStatus::Asked,
        &members,
    ));
    stage.sees(&seen);
    stage
}

#[test]
fn a_vote_shows_each_member_and_the_tally() {
    insta::assert_snapshot!("council-vote", graph_and_details(voting()));
}

#[test]
fn a_dynamic_council_shows_its_calls() {
    let mut stage = Stage::new();
    stage.start_file(DYNAMIC, "op-1");
    let mut seen = stage.made_up("op-1");
    seen.stand(&["talk"], StepStatus::Running);
    let members = [
        ("ann", MemberStatus::Answered, "Yes, twice."),
        ("bob", MemberStatus::Asked, ""),
    ];
    seen.step("talk").council = Some(council(
        CouncilStrategy::Dynamic,
        MemberStatus::Asked,
        &members,
    ));
    stage.sees(&seen);
    insta::assert_snapshot!("council-dynamic", graph_and_details(stage));
}

/// The second of three items, whose step waits for a check.
pub(in crate::tui) fn second_of_three() -> (Stage, MadeUp) {
    let mut stage = Stage::new();
    stage.start("map-fold-until", "op-1");
    let mut seen = stage.made_up("op-1");
    seen.inside("each", 0, Some(3));
    seen.over(StepStatus::Passed);
    let at = seen.inside("each", 1, Some(3));
    seen.step("each").repeat = Some(RepeatView {
        current: Some(1),
        done: 1,
        count: 3,
        total: Some(35),
    });
    let note = seen.step_in(at, "note");
    note.status = StepStatus::Running;
    note.lap = Lap(1);
    stage.sees(&seen);
    (stage, seen)
}

#[test]
fn a_map_in_progress_shows_how_far_it_is() {
    let (stage, _) = second_of_three();
    insta::assert_snapshot!("map", graph_and_details(stage));
}

#[test]
fn an_iteration_is_looked_into() {
    let (mut stage, _) = second_of_three();
    stage.state.focus(Pane::Graph);
    stage.press(KeyCode::Enter);
    insta::assert_snapshot!("iteration", graph_and_details(stage));
}

#[test]
fn the_second_lap_shows_what_is_invalidated() {
    let mut stage = Stage::new();
    stage.start("gated-rework", "op-1");
    let mut seen = stage.made_up("op-1");
    let body = stage.state.operations.chosen().expect("started").body();
    let slugs: Vec<String> = body.steps.iter().map(|step| step.slug.clone()).collect();
    let retry = body
        .edges
        .iter()
        .position(|edge| edge.max_attempts.is_some());
    let retry = retry.expect("the demo has a retry edge");
    for slug in &slugs[1..] {
        let step = seen.step(slug);
        step.lap = Lap(u32::from(step.kind != "terminal"));
    }
    let first = seen.step(&slugs[0]);
    first.lap = Lap(2);
    first.status = StepStatus::Running;
    let edge = &mut seen.view.executions[0].edges[retry];
    edge.status = EdgeStatus::Activated;
    edge.budget = Some((1, 2));
    stage.sees(&seen);
    stage.state.focus(Pane::Graph);
    let graph = stage.screens();
    stage.press(KeyCode::Down);
    insta::assert_snapshot!("lap-2", format!("{graph}{}", graph_and_details(stage)));
}

/// A join of three: one activated, one died, one still works.
fn joining() -> Stage {
    const JOIN: &str = "routine: join
agents: { a: {} }
entry_steps: [facts, style, ask]
steps:
  - { slug: facts, type: agent, agent: a }
  - { slug: style, type: agent, agent: a }
  - { slug: ask, type: gate, agent: a, criteria: [x] }
  - { slug: merge, type: agent, agent: a }
  - { slug: other, type: terminal }
  - { slug: done, type: terminal }
edges:
  - { from: facts, to: merge }
  - { from: style, to: merge }
  - { from: ask, to: merge, condition: on_pass }
  - { from: ask, to: other, condition: on_fail }
  - { from: merge, to: done }
";
    let mut stage = Stage::new();
    stage.start_file(JOIN, "op-1");
    let mut seen = stage.made_up("op-1");
    seen.stand(&["facts"], StepStatus::Passed)
        .stand(&["style"], StepStatus::Running)
        .stand(&["ask"], StepStatus::Failed)
        .stand(&["other"], StepStatus::Skipped)
        .edges(&["facts>merge"], EdgeStatus::Activated)
        .edges(&["ask>merge"], EdgeStatus::Dead);
    seen.step("other").note = Some("no edge to it activated".into());
    stage.sees(&seen);
    let operation = stage.state.operations.chosen_mut().expect("started");
    operation.step = 3;
    operation.follow = Follow::Person;
    stage
}

#[test]
fn a_join_says_whom_it_waits_for() {
    insta::assert_snapshot!("join", graph_and_details(joining()));
}

/// T8: what members say is foreign text.
#[test]
fn the_words_of_members_are_inert() {
    let mut stage = voting();
    let mut seen = stage.made_up("op-1");
    const EVIL: &str = "x\u{1b}]52;c;AAAA\u{7}\u{1b}[31m\u{9b}31m\u{202E}yned\tz";
    seen.stand(&["review"], StepStatus::Skipped);
    let members = [(EVIL, MemberStatus::Failed, EVIL)];
    let mut view = council(CouncilStrategy::Vote, MemberStatus::Failed, &members);
    view.leader.agent = EVIL.into();
    view.leader.note = Some(EVIL.into());
    let step = seen.step("review");
    step.council = Some(view);
    step.note = Some(EVIL.into());
    step.output = Some(json!(EVIL));
    stage.sees(&seen);
    let operation = stage.state.operations.chosen_mut().expect("started");
    operation.step = 1;
    stage.state.focus(Pane::Details);
    assert_inert(&mut stage);
}

/// Row 25: in ASCII and without colours the same words are there.
#[test]
fn everything_is_there_in_plain_text() {
    let mut stage = voting();
    stage.state.theme = Theme {
        colours: Colours::Off,
        glyphs: Glyphs::Ascii,
    };
    stage.state.focus(Pane::Details);
    let screen = stage.screen();
    assert!(screen.is_ascii(), "{screen}");
    for words in [
        "voted pass",
        "voted fail",
        "refused",
        "1 of 3 passed, needs more than half: 2",
    ] {
        assert!(screen.contains(words), "no {words} in\n{screen}");
    }
}

/// A graph with everything that grows: a loop, a council, a map, an until.
const GROWING: &str = "routine: growing
agents: { a: {}, b: {}, c: {} }
councils: { panel: { leader: a, members: [b, c], strategy: vote } }
entry_steps: [first]
steps:
  - { slug: first, type: agent, agent: a }
  - { slug: many, type: map, source: { memory_key: k }, routine: { steps: [ { slug: n, type: agent, agent: a } ] } }
  - { slug: again, type: until, max_iterations: 1000, stop_when: { memory_key: k, operator: truthy }, routine: { steps: [ { slug: n, type: agent, agent: a } ] } }
  - { slug: talk, type: council, council: panel }
  - { slug: check, type: gate, agent: a, criteria: [x] }
  - { slug: done, type: terminal }
edges:
  - { from: first, to: many }
  - { from: first, to: again }
  - { from: many, to: talk }
  - { from: again, to: talk }
  - { from: talk, to: check }
  - { from: check, to: done, condition: on_pass }
  - { from: check, to: first, condition: on_fail, max_attempts: 99 }
";

const SLUGS: [&str; 6] = ["first", "many", "again", "talk", "check", "done"];

const STATUSES: [StepStatus; 13] = [
    StepStatus::Idle,
    StepStatus::Ready,
    StepStatus::Running,
    StepStatus::Verifying,
    StepStatus::Waiting,
    StepStatus::Blocked,
    StepStatus::Uncertain,
    StepStatus::Verified,
    StepStatus::Passed,
    StepStatus::Failed,
    StepStatus::Skipped,
    StepStatus::Stopping,
    StepStatus::Stopped,
];

/// What stands before a name: the marker of its status.
const MARKERS: &str = "·○●◐◷■?✓◇✗↷▣□↻";

/// Where each box's name stands, and its two sides: row, column of the name, of the borders.
fn boxes(screen: &str) -> Vec<(&'static str, usize, usize, usize, usize)> {
    let is_side = |(_, char): &(usize, char)| matches!(char, '│' | '║');
    let mut found = Vec::new();
    for (row, line) in screen.lines().enumerate() {
        for slug in SLUGS {
            // Behind the marker of a status; the details and edges have other glyphs before it.
            let is_named = |at: &(usize, &str)| {
                let mut before = line[..at.0].chars().rev();
                let is_marked = before.next() == Some(' ');
                is_marked && before.next().is_some_and(|marker| MARKERS.contains(marker))
            };
            let Some((at, _)) = line.match_indices(slug).find(is_named) else {
                continue;
            };
            let before: Vec<(usize, char)> = line[..at].chars().enumerate().collect();
            let after: Vec<(usize, char)> = line[at..].chars().enumerate().collect();
            let (Some(left), Some(right)) = (
                before.iter().rev().find(|it| is_side(it)),
                after.iter().find(|it| is_side(it)),
            ) else {
                continue;
            };
            found.push((
                slug,
                row,
                width(&line[..at]),
                left.0,
                before.len() + right.0,
            ));
        }
    }
    found
}

/// A frame for each status, lap and number that there can be.
fn whole_run(stage: &Stage) -> Vec<MadeUp> {
    let mut frames = Vec::new();
    for (at, status) in STATUSES.into_iter().enumerate() {
        for lap in [0, 1, 2, 12, 99, 100, 10_000] {
            let mut seen = stage.made_up("op-1");
            for slug in SLUGS {
                let step = seen.step(slug);
                step.status = status;
                step.lap = Lap(lap);
            }
            let edge_status =
                [EdgeStatus::Pending, EdgeStatus::Activated, EdgeStatus::Dead][at % 3];
            for edge in &mut seen.view.executions[0].edges {
                edge.status = edge_status;
                edge.budget = edge.budget.map(|(_, most)| (lap.min(99), most));
            }
            frames.push(seen);
        }
    }
    for n in (0..1_000)
        .step_by(37)
        .chain([8, 9, 10, 98, 99, 100, 998, 999])
    {
        let mut seen = stage.made_up("op-1");
        for slug in ["many", "again"] {
            let step = seen.step(slug);
            step.status = StepStatus::Running;
            step.repeat = Some(RepeatView {
                current: Some(n),
                done: n,
                count: 1_000,
                total: (slug == "many").then_some(1_000),
            });
        }
        let given = [MemberStatus::VotedPass, MemberStatus::Asked][n as usize % 2];
        let members = [("b", given, ""), ("c", MemberStatus::VotedPass, "")];
        let talk = council(CouncilStrategy::Vote, MemberStatus::Waiting, &members);
        seen.step("talk").council = Some(talk);
        frames.push(seen);
    }
    frames
}

#[test]
fn no_box_moves_while_it_runs() {
    for size in [(160, 70), (120, 40), (80, 24), (40, 12)] {
        let mut stage = Stage::new();
        stage.start_file(GROWING, "op-1");
        stage.resize(size.0, size.1);
        stage.state.focus(Pane::Graph);
        let operation = stage.state.operations.chosen_mut().expect("started");
        // Whoever moved by hand keeps seeing what they see.
        operation.follow = Follow::Person;
        let idle = stage.made_up("op-1");
        stage.sees(&idle);
        let at_first = boxes(&stage.screen());
        assert!(!at_first.is_empty(), "{}", stage.screen());
        if size == (160, 70) {
            assert_eq!(at_first.len(), SLUGS.len(), "{}", stage.screen());
        }
        for frame in whole_run(&stage) {
            stage.sees(&frame);
            let screen = stage.screen();
            assert_eq!(boxes(&screen), at_first, "{screen}");
        }
    }
}

/// Numbers of the largest size stand whole in their boxes.
#[test]
fn there_is_room_for_the_longest_numbers() {
    let mut stage = Stage::new();
    stage.start_file(GROWING, "op-1");
    stage.resize(160, 70);
    let frame = whole_run(&stage).pop().expect("frames");
    stage.sees(&frame);
    let screen = stage.screen();
    for words in [" 1000 of 1000 ", " 1000 of at most 1000 ", " 1/2 pass "] {
        assert!(screen.contains(words), "no {words:?} in\n{screen}");
    }
}
