//! The last row: the keys that do something now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::keymap;
use crate::tui::state::State;
use crate::tui::state::modal::Modal;
use crate::tui::theme::Role;
use crate::tui::view::row::Row;

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) {
    let hints = match &state.modal {
        None => keymap::hints(state),
        Some(Modal::Ask(_)) => vec![
            ("Tab", "next"),
            ("Enter", "take"),
            ("←→", "choose"),
            ("Esc", "close"),
        ],
        Some(Modal::Pick(_)) => vec![("↑↓", "choose"), ("Enter", "take"), ("Esc", "close")],
        Some(Modal::Read(_)) => vec![("↑↓ PgUp PgDn", "scroll"), ("Esc", "close")],
    };
    let key = state.theme.style(Role::Key);
    let dim = state.theme.style(Role::Dim);
    let room = usize::from(place.width);
    let mut row = Row::new();
    for (name, what) in hints {
        let longer = row.clone().ours(name, key).ours(" ", dim).ours(what, dim);
        if longer.width() > room {
            break;
        }
        row = longer.ours("  ", dim);
    }
    row.draw(place, buffer);
}
