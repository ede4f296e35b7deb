//! The first row: which model is selected and why, and what needs somebody (T4).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::State;
use crate::tui::theme::Role;
use crate::tui::view::row::Row;

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let dim = theme.style(Role::Dim);
    let badge = badge(state, place.width);
    let room = usize::from(place.width).saturating_sub(badge.width() + 1);
    let name = match place.width {
        0..60 => Row::new(),
        _ => Row::new()
            .ours("amos-tui  ", theme.style(Role::Title))
            .ours("model ", dim),
    };
    let model = name.inert(&state.model, theme.style(Role::Text));
    model.draw(
        Rect {
            width: room as u16,
            ..place
        },
        buffer,
    );
    let x = place.right().saturating_sub(badge.width() as u16);
    badge.draw(
        Rect {
            x,
            width: place.right() - x,
            ..place
        },
        buffer,
    );
}

/// What needs somebody, or how much is going on.
fn badge(state: &State, columns: u16) -> Row {
    let theme = state.theme;
    let attention = theme.style(Role::Attention);
    let paused = state.operations.paused().count();
    let active = state.operations.active().count();
    if !state.postponed.is_empty() {
        let text = match columns {
            0..60 => format!("!{} F2", state.postponed.len()),
            _ => format!("! {} to answer: F2", state.postponed.len()),
        };
        return Row::new().text(&text, attention);
    }
    match (paused, active) {
        (0, 0) => Row::new(),
        (0, active) => Row::new().text(&format!("{active} active"), theme.style(Role::Dim)),
        (paused, _) if columns < 60 => Row::new().text(&format!("!{paused} F2"), attention),
        (paused, _) => Row::new().text(&format!("! {paused} paused: F2"), attention),
    }
}
