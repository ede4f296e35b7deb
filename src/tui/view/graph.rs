//! The chosen operation's graph with live states: boxes where they fit, a list where they don't.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;

use crate::tui::graph::list::ListWidget;
use crate::tui::graph::paint::GraphWidget;
use crate::tui::graph::select;
use crate::tui::state::operations::Operation;
use crate::tui::state::{Pane, State};
use crate::tui::text::{ELLIPSIS, Inert, width};
use crate::tui::theme::Role;
use crate::tui::view::operations::has_keys;
use crate::tui::view::row::{frame, lines, wrapped};

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let chosen = state.operations.chosen();
    let title = match chosen {
        // Corners, a line, spaces, and the marker of the pane that has the keys.
        Some(operation) => title(operation, usize::from(place.width).saturating_sub(6)),
        None => "Graph".to_owned(),
    };
    let inside = frame(theme, &title, has_keys(state, Pane::Graph), place, buffer);
    let Some(operation) = chosen else {
        welcome(state, inside, buffer);
        return;
    };
    let picture = operation.picture();
    let selected = Some(operation.step);
    let size = (inside.width, inside.height);
    match picture.boxes(inside) {
        Some(layout) => GraphWidget {
            shape: &picture.shape,
            layout,
            live: &operation.live,
            theme,
            selected,
            offset: select::scroll_to(layout, selected, size, operation.camera.boxes),
        }
        .render(inside, buffer),
        None => ListWidget {
            shape: &picture.shape,
            rows: &picture.rows,
            live: &operation.live,
            theme,
            selected,
            offset: (picture.rows).scroll_to(selected, inside.height, operation.camera.row),
        }
        .render(inside, buffer),
    }
}

/// Which graph is looked at, and where it stands, in so many cells.
fn title(operation: &Operation, cells: usize) -> String {
    let state = match operation.is_over() {
        true => "over",
        false => operation.state().label(),
    };
    match operation.levels.is_empty() {
        true => format!("{}: {state}", operation.routine.definition.name),
        false => {
            let room = cells.saturating_sub(state.len() + 2);
            format!("{}: {state}", breadcrumb(&operation.crumbs(), room))
        }
    }
}

/// A way in so many cells. What is left out of the middle is an ellipsis; where one is looked stays.
fn breadcrumb(crumbs: &[String], cells: usize) -> String {
    const BETWEEN: &str = " > ";
    let clean: Vec<Inert> = crumbs.iter().map(|it| Inert::one_line(it)).collect();
    let join = |parts: &[&str]| parts.join(BETWEEN);
    let texts: Vec<&str> = clean.iter().map(Inert::as_str).collect();
    let whole = join(&texts);
    let (Some((first, rest)), true) = (texts.split_first(), width(&whole) > cells) else {
        return whole;
    };
    // The beginning and as much of the end as there is room for; then the end alone.
    let from_end = (1..rest.len()).map(|left_out| &rest[left_out..]);
    let shortened = from_end.map(|end| join(&[&[*first, ELLIPSIS], end].concat()));
    let last = rest.last().copied().unwrap_or(first);
    let ends = [join(&[ELLIPSIS, last]), last.to_owned()];
    let fits = shortened.chain(ends).find(|text| width(text) <= cells);
    let short = fits.unwrap_or_else(|| last.to_owned());
    Inert::one_line(&short)
        .first_line()
        .truncate(cells)
        .into_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breadcrumb_is_shortened_in_the_middle_and_keeps_where_one_is() {
        let levels = (1..=31).map(|level| format!("level-{level} (1 of 2)"));
        let crumbs: Vec<String> = std::iter::once("deep".to_owned()).chain(levels).collect();
        for cells in 0..200 {
            assert!(width(&breadcrumb(&crumbs, cells)) <= cells);
        }
        let short = breadcrumb(&crumbs, 44);
        assert_eq!(short, "deep > … > level-31 (1 of 2)");
        assert_eq!(breadcrumb(&crumbs, 24), "… > level-31 (1 of 2)");
        assert_eq!(breadcrumb(&crumbs[..2], 44), "deep > level-1 (1 of 2)");
    }
}
