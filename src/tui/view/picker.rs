//! A list of operations to pick from.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::State;
use crate::tui::state::modal::{Picker, Picking};
use crate::tui::theme::Role;
use crate::tui::view::row::{
    HasKeys, IsChosen, Row, centred, chosen, clear, first_visible, frame, lines,
};

/// The widest list.
const WIDEST: u16 = 60;

pub(super) fn draw(state: &State, picker: &Picker, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let title = match picker.picking {
        Picking::Inspect => "Inspect which one?",
        Picking::Confirm => "Confirm which one?",
        Picking::Reconcile => "Reconcile which one?",
        Picking::Cancel => "Cancel which one?",
    };
    let rows = u16::try_from(picker.operations.len())
        .unwrap_or(u16::MAX)
        .saturating_add(2);
    let place = centred(
        area,
        WIDEST.min(area.width),
        rows.min(area.height.saturating_sub(2)),
    );
    clear(place, buffer);
    let inside = frame(theme, title, HasKeys::Yes, place, buffer);
    let height = usize::from(inside.height);
    let first = first_visible(picker.row, height);
    let visible = picker
        .operations
        .iter()
        .enumerate()
        .skip(first)
        .take(height);
    let rows: Vec<Row> = visible
        .map(|(at, id)| {
            let row = match state.operations.get(id) {
                None => Row::new().text(id.as_str(), theme.style(Role::Dim)),
                Some(operation) => {
                    let badge = theme.badge(operation.state());
                    Row::new()
                        .ours(badge.marker, badge.style)
                        .ours(" ", badge.style)
                        .column(badge.word, 10, badge.style)
                        .inert(&operation.label, theme.style(Role::Text))
                }
            };
            chosen(theme, row, IsChosen::of(at, Some(picker.row), HasKeys::Yes))
        })
        .collect();
    lines(inside, buffer, &rows);
}
