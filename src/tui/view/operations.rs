//! The operations of this process: state, name, age.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::frame_clock::age;
use crate::tui::state::operations::{Asked, Operation, short};
use crate::tui::state::{Pane, State};
use crate::tui::text::{Inert, width};
use crate::tui::theme::Role;
use crate::tui::view::row::{HasKeys, IsChosen, Row, chosen, first_visible, frame, lines, wrapped};

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let has_keys = has_keys(state, Pane::Operations);
    let inside = frame(theme, "Operations", has_keys, place, buffer);
    let all = state.operations.all();
    if all.is_empty() {
        let hint = Inert::ours("Nothing runs yet.\n\nType /routine demo and press Enter.");
        let rows = wrapped(&hint, usize::from(inside.width), theme.style(Role::Dim));
        lines(inside, buffer, &rows);
        return;
    }
    let row_of_chosen = state.operations.chosen_row();
    // Two rows each.
    let height = usize::from(inside.height) / 2;
    let first = first_visible(row_of_chosen.unwrap_or(0), height);
    let visible = all.iter().enumerate().skip(first).take(height.max(1));
    let rows: Vec<Row> = visible
        .flat_map(|(at, operation)| {
            let is_chosen = IsChosen::of(at, row_of_chosen, has_keys);
            let [status, name] = rows_of(state, operation, usize::from(inside.width));
            [chosen(theme, status, is_chosen), name]
        })
        .collect();
    lines(inside, buffer, &rows);
}

/// Marker, state, the end of the id and the age; below them the name.
fn rows_of(state: &State, operation: &Operation, columns: usize) -> [Row; 2] {
    let theme = state.theme;
    let dim = theme.style(Role::Dim);
    let badge = theme.badge(operation.state());
    let word = match operation.asked {
        Asked::Nothing => badge.word,
        Asked::Confirm => "going on",
        Asked::Cancel => "cancelling",
    };
    let until = operation.ended.unwrap_or(state.now);
    let elapsed = until.saturating_duration_since(operation.began).as_secs();
    let age = age(i64::try_from(elapsed).unwrap_or(i64::MAX));
    let id = short(&operation.id);
    let (id_and_age, id) = (format!("{id} {age}"), id.to_owned());
    // The list's own marker takes two cells of the first row, the state's two more.
    let room = columns.saturating_sub(4 + word.len() + 1);
    let right = match width(&id_and_age) <= room {
        true => id_and_age,
        false => id,
    };
    let status = Row::new()
        .ours(badge.marker, badge.style)
        .ours(" ", badge.style)
        .ours(word, badge.style)
        .text(&format!(" {right:>room$}"), dim);
    let name = Row::new()
        .ours("    ", dim)
        .text(&operation.routine.definition.slug, theme.style(Role::Text));
    [status, name]
}

/// Whether a pane has the keys.
pub(super) fn has_keys(state: &State, pane: Pane) -> HasKeys {
    HasKeys::when(state.pane == pane && state.modal.is_none())
}
