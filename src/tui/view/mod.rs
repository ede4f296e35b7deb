//! State into a picture. One file a part of the screen; nothing here changes anything.
//!
//! [`draw`] gives the place of the terminal's cursor, which input methods need. All text of others is
//! an [`Inert`](crate::tui::text::Inert) before it comes here, or becomes one in the row that shows it.

mod details;
mod dialog;
mod footer;
mod graph;
mod header;
mod inside;
mod layout;
mod operations;
mod panel;
mod picker;
mod prompt;
mod reader;
mod row;
mod sources;
#[cfg(test)]
pub(in crate::tui) mod tests;
mod waits;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::tui::state::modal::Modal;
use crate::tui::state::{Pane, Screen, State};
use crate::tui::theme::Role;
use crate::tui::view::layout::Layout;
use crate::tui::view::row::{Row, lines};

/// Draws the whole screen, and says where the cursor belongs.
pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let area = area.intersection(buffer.area);
    let cursor = match state.is_too_small() {
        true => {
            too_small(state, area, buffer);
            None
        }
        false => screen(state, area, buffer),
    };
    state.theme.flatten(buffer);
    cursor
}

fn too_small(state: &State, area: Rect, buffer: &mut Buffer) {
    let style = state.theme.style(Role::Attention);
    let dim = state.theme.style(Role::Dim);
    let rows = [
        Row::new().ours("too small", style),
        Row::new().ours("40x12 at least", dim),
        Row::new().ours("nothing is confirmed", dim),
    ];
    lines(area, buffer, &rows);
}

fn screen(state: &State, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let layout = Layout::of(state, area);
    header::draw(state, layout.header, buffer);
    match state.screen {
        Screen::Overview => overview(state, &layout, buffer),
        Screen::Sources => sources::draw(state, &layout, buffer),
    }
    prompt::notice(state, layout.notice, buffer);
    let cursor = prompt::draw(state, layout.prompt, buffer);
    footer::draw(state, layout.footer, buffer);
    match &state.modal {
        None => {
            prompt::popup(state, layout.prompt, layout.body, buffer);
            cursor.filter(|_| state.pane == Pane::Prompt)
        }
        Some(Modal::Ask(ask)) => dialog::draw(state, ask, area, buffer),
        Some(Modal::Pick(picker)) => {
            picker::draw(state, picker, area, buffer);
            None
        }
        Some(Modal::Read(reader)) => {
            reader::draw(state, reader, area, buffer);
            None
        }
    }
}

fn overview(state: &State, layout: &Layout, buffer: &mut Buffer) {
    for (pane, place) in &layout.panes {
        match pane {
            Pane::Operations => operations::draw(state, *place, buffer),
            Pane::Graph => graph::draw(state, *place, buffer),
            Pane::Details => details::draw(state, *place, buffer),
            Pane::Waits => waits::draw(state, *place, buffer),
            Pane::Panel => panel::draw(state, *place, buffer),
            Pane::Prompt | Pane::Tree | Pane::Preview => {}
        }
    }
}

/// Where the graph is drawn, so that keys can walk over it as it is seen.
pub fn graph_place(state: &State) -> Rect {
    let area = Rect::new(0, 0, state.size.0, state.size.1);
    let layout = Layout::of(state, area);
    layout.inside(Pane::Graph).unwrap_or_default()
}

/// Where the preview of a source is drawn.
pub fn preview_place(size: (u16, u16)) -> Rect {
    sources::preview_place(layout::body_of(size))
}
