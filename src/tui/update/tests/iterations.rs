//! Into the iterations of a repeating step and out again, to where something waits, and following.

use super::*;
use crate::engine::operation::view::{RepeatView, StepStatus};
use crate::engine::verify::Held;
use crate::tui::state::operations::{Follow, Operation};
use crate::tui::view::tests::inside::second_of_three;

fn chosen(stage: &Stage) -> &Operation {
    stage.state.operations.chosen().expect("an operation")
}

fn crumbs(stage: &Stage) -> String {
    chosen(stage).crumbs().join(" > ")
}

fn footer(stage: &Stage) -> String {
    let screen = stage.screen();
    screen.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn enter_looks_inside_and_escape_comes_back_to_the_step() {
    let (mut stage, _) = second_of_three();
    stage.state.focus(Pane::Graph);
    assert!(footer(&stage).contains("Enter inside"));
    stage.press(KeyCode::Enter);
    assert_eq!(crumbs(&stage), "map-fold-until > each (2 of 3)");
    assert_eq!(chosen(&stage).chosen_step().expect("seen").slug, "note");
    assert!(footer(&stage).contains("Esc out"), "{}", footer(&stage));
    assert!(footer(&stage).contains("p n iteration"));
    stage.press(KeyCode::Esc);
    assert_eq!(crumbs(&stage), "map-fold-until");
    assert_eq!(chosen(&stage).chosen_step().expect("seen").slug, "each");
    assert_eq!(stage.state.pane, Pane::Graph);
    stage.press(KeyCode::Esc);
    assert_eq!(stage.state.pane, Pane::Prompt);
}

#[test]
fn a_step_that_repeats_nothing_has_details_only() {
    let (mut stage, _) = second_of_three();
    stage.state.focus(Pane::Graph);
    stage.press(KeyCode::Enter);
    stage.press(KeyCode::Enter);
    assert_eq!(stage.state.pane, Pane::Details);
    assert_eq!(chosen(&stage).levels.len(), 1);
}

#[test]
fn iterations_that_are_over_can_be_looked_at_and_the_latest_is_followed() {
    let (mut stage, mut seen) = second_of_three();
    stage.state.focus(Pane::Graph);
    stage.press(KeyCode::Enter);
    stage.press(KeyCode::Char('p'));
    assert_eq!(crumbs(&stage), "map-fold-until > each (1 of 3)");
    assert!(chosen(&stage).is_over());
    assert!(stage.screen().contains("each (1 of 3): over"));
    let step = chosen(&stage).chosen_step().expect("seen");
    assert_eq!(step.status, StepStatus::Passed);
    stage.press(KeyCode::Char('p'));
    assert!(stage.screen().contains("this is the first iteration"));
    // What is looked at stays while others go on.
    seen.over(StepStatus::Passed);
    seen.inside("each", 2, Some(3));
    stage.sees(&seen);
    assert_eq!(crumbs(&stage), "map-fold-until > each (1 of 3)");
    stage.press(KeyCode::Char('n'));
    stage.press(KeyCode::Char('n'));
    assert_eq!(crumbs(&stage), "map-fold-until > each (3 of 3)");
    stage.press(KeyCode::Char('p'));
    stage.press(KeyCode::Char('n'));
    // The latest is the latest, whichever comes.
    seen.over(StepStatus::Passed);
    seen.inside("each", 3, Some(4));
    stage.sees(&seen);
    assert_eq!(crumbs(&stage), "map-fold-until > each (4 of 4)");
}

#[test]
fn what_is_not_kept_is_said_to_be_in_the_sources() {
    let (mut stage, mut seen) = second_of_three();
    seen.view.past.clear();
    stage.sees(&seen);
    stage.state.focus(Pane::Graph);
    stage.press(KeyCode::Enter);
    stage.press(KeyCode::Char('p'));
    assert!(stage.screen().contains("kept in the sources only"));
    assert_eq!(crumbs(&stage), "map-fold-until > each (2 of 3)");
}

#[test]
fn a_step_that_has_not_begun_can_be_looked_into() {
    let (mut stage, _) = second_of_three();
    stage.state.focus(Pane::Graph);
    stage.press(KeyCode::Down);
    stage.press(KeyCode::Enter);
    assert_eq!(crumbs(&stage), "map-fold-until > together (not begun)");
    assert!(stage.screen().contains("join"), "{}", stage.screen());
    stage.press(KeyCode::Char('p'));
    stage.press(KeyCode::Char('n'));
    assert!(chosen(&stage).execution().is_none());
}

/// A wait inside of the second iteration.
fn waiting_inside() -> Stage {
    let (mut stage, mut seen) = second_of_three();
    let mut wait = recheck();
    wait.key.execution = seen.view.executions[1].id.clone();
    wait.key.step = Some("note".into());
    seen.step_in(1, "note").status = StepStatus::Waiting;
    seen.view.waits = vec![wait];
    seen.view.state = OperationState::Paused(Held::Waiting);
    stage.sees(&seen);
    stage
}

#[test]
fn a_repeating_step_waits_where_something_inside_of_it_does() {
    let stage = waiting_inside();
    let operation = chosen(&stage);
    assert_eq!(operation.live.node(0).status, StepStatus::Waiting);
    assert_eq!(operation.step, 0, "it is followed");
    assert!(operation.levels.is_empty(), "nobody is led away unasked");
}

#[test]
fn a_wait_leads_into_its_iteration() {
    let mut stage = waiting_inside();
    stage.state.focus(Pane::Waits);
    stage.press(KeyCode::Enter);
    assert_eq!(crumbs(&stage), "map-fold-until > each (2 of 3)");
    assert_eq!(chosen(&stage).chosen_step().expect("seen").slug, "note");
    assert_eq!(stage.state.pane, Pane::Graph);
    stage.press(KeyCode::Esc);
    assert_eq!(crumbs(&stage), "map-fold-until");
}

#[test]
fn the_chosen_wait_stays_chosen_when_others_go() {
    let mut stage = waiting_inside();
    let mut view = chosen(&stage).view.clone().expect("seen");
    let mut first = recheck();
    first.key.step = Some("first".into());
    view.waits.insert(0, first);
    stage.tell(Message::Viewed(Box::new(view.clone())));
    stage.state.focus(Pane::Waits);
    stage.press(KeyCode::Down);
    stage.press(KeyCode::Down);
    assert_eq!(chosen(&stage).wait_row(), 1);
    view.waits.remove(0);
    stage.tell(Message::Viewed(Box::new(view)));
    stage.press(KeyCode::Enter);
    assert_eq!(crumbs(&stage), "map-fold-until > each (2 of 3)");
}

/// Thirty-two routines, each inside of the one before (V19), and their pictures.
#[test]
fn thirty_two_levels_fit_into_every_size() {
    let mut inner = "{ steps: [ { slug: n, type: agent, agent: default } ] }".to_owned();
    for level in (2..=31).rev() {
        inner = format!(
            "{{ steps: [ {{ slug: level-{level}, type: map, source: {{ memory_key: k }}, routine: {inner} }} ] }}"
        );
    }
    let file = format!(
        "routine: deep
entry_steps: [level-1]
steps:
  - {{ slug: level-1, type: map, source: {{ memory_key: k }}, routine: {inner} }}
  - {{ slug: done, type: terminal }}
edges: [ {{ from: level-1, to: done }} ]
"
    );
    let mut stage = Stage::new();
    stage.start_file(&file, "op-1");
    stage.sees(&stage.made_up("op-1"));
    stage.state.focus(Pane::Graph);
    for _ in 0..31 {
        stage.press(KeyCode::Enter);
    }
    assert_eq!(chosen(&stage).levels.len(), 31);
    for (columns, rows) in [(80, 24), (120, 40), (40, 12)] {
        stage.resize(columns, rows);
        let screen = stage.screen();
        let title = screen
            .lines()
            .find(|line| line.contains("level-31"))
            .expect("where one is");
        assert!(title.trim_end().ends_with(['╮', '│']), "{screen}");
        assert!(title.contains('…') && title.contains("running"), "{title}");
    }
    for left in (0..31).rev() {
        stage.press(KeyCode::Esc);
        assert_eq!(chosen(&stage).levels.len(), left);
    }
}

/// A line that is longer than the screen, with its step at a place running.
fn long_line(stage: &mut Stage, running: usize) {
    let mut seen = stage.made_up("op-1");
    for (at, step) in seen.view.executions[0].steps.iter_mut().enumerate() {
        step.status = match at.cmp(&running) {
            std::cmp::Ordering::Less => StepStatus::Verified,
            std::cmp::Ordering::Equal => StepStatus::Running,
            std::cmp::Ordering::Greater => StepStatus::Idle,
        };
    }
    stage.sees(&seen);
}

#[test]
fn following_scrolls_only_when_the_step_would_be_out_of_view() {
    let steps: String = (0..9)
        .map(|n| format!("  - {{ slug: s{n}, type: agent, agent: default }}\n"))
        .collect();
    let edges: String = (0..9)
        .map(|n| match n {
            8 => "  - { from: s8, to: done }\n".to_owned(),
            n => format!("  - {{ from: s{n}, to: s{} }}\n", n + 1),
        })
        .collect();
    let file = format!(
        "routine: line\nentry_steps: [s0]\nsteps:\n{steps}  - {{ slug: done, type: terminal }}\nedges:\n{edges}"
    );
    let mut stage = Stage::new();
    stage.start_file(&file, "op-1");
    let mut scrolled = Vec::new();
    for running in 0..9 {
        long_line(&mut stage, running);
        scrolled.push(chosen(&stage).camera.boxes.1);
    }
    assert_eq!(scrolled[..2], [0, 0], "two boxes are in view");
    assert!(scrolled.is_sorted() && scrolled[8] > 0, "{scrolled:?}");
    // Back within what is seen: nothing moves.
    long_line(&mut stage, 7);
    assert_eq!(chosen(&stage).camera.boxes.1, scrolled[8]);

    // Whoever moved by hand is left alone, until they ask to follow.
    stage.state.focus(Pane::Graph);
    stage.press(KeyCode::Home);
    assert_eq!(chosen(&stage).camera.boxes.1, 0);
    long_line(&mut stage, 8);
    assert_eq!((chosen(&stage).camera.boxes.1, chosen(&stage).step), (0, 0));
    assert!(footer(&stage).contains("f follow"));
    stage.press(KeyCode::Char('f'));
    assert_eq!(chosen(&stage).follow, Follow::Events);
    assert_eq!(chosen(&stage).step, 8);
    assert!(chosen(&stage).camera.boxes.1 > 0);
}

#[test]
fn a_bounded_part_says_how_much_is_covered() {
    let (mut stage, mut seen) = second_of_three();
    seen.step("each").repeat = Some(RepeatView {
        current: None,
        done: 20,
        count: 20,
        total: Some(35),
    });
    stage.sees(&seen);
    stage.state.focus(Pane::Details);
    let screen = stage.screen();
    assert!(screen.contains("20 of 20 iterations are over"), "{screen}");
    assert!(screen.contains("covers 20 of 35 items"), "{screen}");
}
