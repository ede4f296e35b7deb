//! What the chosen operation waits for.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::confirm::place as place_of;
use crate::tui::state::operations::Asked;
use crate::tui::state::{Pane, State};
use crate::tui::text::Inert;
use crate::tui::theme::Role;
use crate::tui::view::operations::has_keys;
use crate::tui::view::row::{Row, frame, lines, wrapped};

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let dim = theme.style(Role::Dim);
    let waits = state.operations.chosen().map_or(&[][..], |it| it.waits());
    let title = match waits.len() {
        0 => "Waits".to_owned(),
        n => format!("Waits ({n})"),
    };
    let inside = frame(theme, &title, has_keys(state, Pane::Waits), place, buffer);
    let columns = usize::from(inside.width);
    let height = usize::from(inside.height);
    let mut rows: Vec<Row> = Vec::new();
    for (at, wait) in waits.iter().enumerate() {
        // A head and a reason, and a row that says how many are left out.
        if at > 0 && rows.len() + 3 > height {
            let left = waits.len() - at;
            rows.truncate(height.saturating_sub(1));
            rows.push(Row::new().text(&format!("and {left} more: i inspects"), dim));
            break;
        }
        let badge = theme.badge(wait.state);
        let head = Row::new()
            .ours(badge.marker, badge.style)
            .ours(" ", badge.style)
            .ours(badge.word, badge.style)
            .text(
                &format!(" {} ({})", place_of(&wait.key), wait.kind.label()),
                theme.style(Role::Text),
            );
        rows.push(head);
        rows.extend(wrapped(&Inert::one_line(&wait.reason), columns, dim));
    }
    let hint = match state.operations.chosen() {
        Some(operation) if operation.open_pause().is_some() => "F2 or /routine confirm",
        Some(operation) if operation.asked == Asked::Confirm => "Going on…",
        Some(operation) if operation.is_active() => "It waits for nobody.",
        Some(_) => "It has ended.",
        None => "Nothing waits.",
    };
    if rows.len() < height {
        rows.push(Row::new().ours(
            hint,
            theme.style(match waits.is_empty() {
                true => Role::Dim,
                false => Role::Attention,
            }),
        ));
    }
    lines(inside, buffer, &rows);
}
