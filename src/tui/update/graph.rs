//! Moving about in graphs: from step to step, into the iterations of a repeating step and out again.

use crate::tui::graph::layout::Heading;
use crate::tui::graph::select;
use crate::tui::state::notice::{Notice, Trouble};
use crate::tui::state::operations::Follow;
use crate::tui::state::scene::{Turn, Turned};
use crate::tui::state::{Pane, State};
use crate::tui::text::Inert;
use crate::tui::view;

/// Walks over the graph: by direction where it is drawn, by rows where it is listed.
pub(super) fn walk(state: &mut State, heading: Heading, by: usize) {
    let place = view::graph_place(state);
    let Some(operation) = state.operations.chosen_mut() else {
        return;
    };
    let picture = operation.picture().clone();
    let mut step = operation.step;
    for _ in 0..by.min(picture.shape.nodes.len()) {
        let next = match picture.boxes(place) {
            Some(layout) => select::neighbour(layout, step, heading),
            None => match heading {
                Heading::Up | Heading::Left => select::previous(picture.rows.order(), Some(step)),
                Heading::Down | Heading::Right => select::next(picture.rows.order(), Some(step)),
            },
        };
        match next {
            Some(next) => step = next,
            None => break,
        }
    }
    operation.step = step;
    operation.follow = Follow::Person;
    state.details_scroll = 0;
}

/// Goes into the chosen step where it repeats, else to its details.
pub(super) fn look_closer(state: &mut State) {
    let inside = state
        .operations
        .chosen_mut()
        .is_some_and(|it| it.go_inside());
    state.details_scroll = 0;
    if !inside {
        state.focus(Pane::Details);
    }
}

/// Goes back to the graph around, where there is one.
pub(super) fn go_outside(state: &mut State) -> bool {
    state.details_scroll = 0;
    state
        .operations
        .chosen_mut()
        .is_some_and(|it| it.go_outside())
}

/// Looks at another iteration.
pub(super) fn turn(state: &mut State, turn: Turn) {
    let Some(operation) = state.operations.chosen_mut() else {
        return;
    };
    let told = match operation.turn(turn) {
        Turned::Yes => {
            state.details_scroll = 0;
            state.notice = None;
            return;
        }
        Turned::NotInside => "choose a map, fold or until step and press Enter first",
        Turned::AtTheEnd => match turn {
            Turn::Earlier => "this is the first iteration",
            Turn::Later => "this is the latest iteration",
        },
        Turned::Forgotten => "what came before is kept in the sources only: press s",
    };
    state.notice = Some(Notice::Said(Inert::ours(told)));
}

/// What happens is followed from now on.
pub(super) fn follow(state: &mut State) {
    if let Some(operation) = state.operations.chosen_mut() {
        operation.follow = Follow::Events;
        operation.refresh();
        state.details_scroll = 0;
    }
}

/// Looks at what the chosen wait is about, wherever that is.
pub(super) fn lead_to_wait(state: &mut State) {
    let Some(operation) = state.operations.chosen_mut() else {
        return;
    };
    let row = operation.wait_row();
    let Some(wait) = operation.waits().get(row).map(|wait| wait.key.clone()) else {
        return;
    };
    if operation.lead_to(&wait) {
        state.details_scroll = 0;
        state.focus(Pane::Graph);
    } else {
        state.notice = Some(Notice::Trouble(Trouble::of(
            "nothing is shown for this wait",
            "where it waits is not in the picture of the operation",
            "press i to inspect it",
        )));
    }
}
