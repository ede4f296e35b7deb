//! The chosen operation's graph with live states: boxes where they fit, a list where they don't.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;

use crate::tui::graph::list::ListWidget;
use crate::tui::graph::paint::GraphWidget;
use crate::tui::graph::select;
use crate::tui::state::operations::Operation;
use crate::tui::state::{Pane, State};
use crate::tui::text::Inert;
use crate::tui::theme::Role;
use crate::tui::view::operations::has_keys;
use crate::tui::view::row::{frame, lines, wrapped};

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let chosen = state.operations.chosen();
    let title = match chosen {
        Some(operation) => title(operation),
        None => "Graph".to_owned(),
    };
    let inside = frame(theme, &title, has_keys(state, Pane::Graph), place, buffer);
    let Some(operation) = chosen else {
        welcome(state, inside, buffer);
        return;
    };
    let picture = &operation.routine.picture;
    let selected = Some(operation.step);
    match picture.boxes(inside) {
        Some(layout) => GraphWidget {
            shape: &picture.shape,
            layout,
            live: &operation.live,
            theme,
            selected,
            offset: select::scroll_to(layout, selected, (inside.width, inside.height), (0, 0)),
        }
        .render(inside, buffer),
        None => ListWidget {
            shape: &picture.shape,
            rows: &picture.rows,
            live: &operation.live,
            theme,
            selected,
            offset: picture.rows.scroll_to(selected, inside.height, 0),
        }
        .render(inside, buffer),
    }
}

fn title(operation: &Operation) -> String {
    format!(
        "{}: {}",
        operation.routine.definition.name,
        operation.state().label()
    )
}

fn welcome(state: &State, place: Rect, buffer: &mut Buffer) {
    let text = Inert::ours(
        "A routine is a graph of steps. What a model says never counts as done: checks decide, and what isn't proven waits for you.\n\n/routine demo       run the shipped demo\n/routine run FILE   run a file of yours\n/help               all commands and keys\n\nText without a slash goes to the chat agent.",
    );
    let rows = wrapped(
        &text,
        usize::from(place.width),
        state.theme.style(Role::Dim),
    );
    lines(place, buffer, &rows);
}
