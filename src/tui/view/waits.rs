//! What the chosen operation waits for. The last row says what to do, however long the reasons are.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::engine::operation::wait::Wait;
use crate::tui::state::confirm::place as place_of;
use crate::tui::state::operations::{Asked, Operation};
use crate::tui::state::{Pane, State};
use crate::tui::text::{ELLIPSIS, Inert};
use crate::tui::theme::{Role, SELECTED, Theme};
use crate::tui::view::operations::has_keys;
use crate::tui::view::row::{HasKeys, Row, frame, lines, wrapped};

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let chosen = state.operations.chosen();
    let waits = chosen.map_or(&[][..], Operation::waits);
    let title = match waits.len() {
        0 => "Waits".to_owned(),
        n => format!("Waits ({n})"),
    };
    let has_keys = has_keys(state, Pane::Waits);
    let inside = frame(theme, &title, has_keys, place, buffer);
    let columns = usize::from(inside.width);
    // One row is the hint's.
    let room = usize::from(inside.height).saturating_sub(1);
    let row = chosen.map_or(0, Operation::wait_row);
    let selected = (has_keys == HasKeys::Yes).then_some(row);
    let reasons: Vec<String> = waits
        .iter()
        .map(|wait| {
            let inside = chosen.and_then(|operation| operation.iteration_of(&wait.key));
            let inside = inside.map(|inside| format!("{inside}: "));
            format!("{}{}", inside.unwrap_or_default(), wait.reason)
        })
        .collect();
    let mut rows = listed(waits, &reasons, selected, (columns, room), theme);
    if waits.is_empty() || room > 0 {
        let hint = hint(chosen, waits.len());
        let role = match waits.is_empty() {
            true => Role::Dim,
            false => Role::Attention,
        };
        rows.push(Row::new().ours(hint, theme.style(role)));
    }
    lines(inside, buffer, &rows);
}

fn hint(chosen: Option<&Operation>, waits: usize) -> &'static str {
    match chosen {
        Some(operation) if operation.open_pause().is_some() => "F2 or /routine confirm",
        Some(operation) if operation.asked == Asked::Confirm => "Going on…",
        Some(operation) if operation.is_active() && waits > 0 => "Other steps still run.",
        Some(operation) if operation.is_active() => "It waits for nobody.",
        Some(_) => "It has ended.",
        None => "Nothing waits.",
    }
}

/// The waits in so many rows, from the one before the chosen one's end on: a head each, and of each
/// reason as much as there is room for.
fn listed(
    waits: &[Wait],
    reasons: &[String],
    selected: Option<usize>,
    (columns, room): (usize, usize),
    theme: Theme,
) -> Vec<Row> {
    let dim = theme.style(Role::Dim);
    let mut rows: Vec<Row> = Vec::new();
    let first = selected.unwrap_or(0);
    for (at, (wait, reason)) in waits.iter().zip(reasons).enumerate().skip(first) {
        let left = waits.len() - at;
        // A head and a reason, and a row that says how many are left out.
        if at > first && rows.len() + 2 + usize::from(left > 1) > room {
            rows.truncate(room.saturating_sub(1));
            rows.push(Row::new().text(&format!("and {left} more: i inspects"), dim));
            break;
        }
        rows.push(head(wait, selected == Some(at), theme));
        // One of several leaves room for the next.
        let rest = room.saturating_sub(rows.len());
        let most = match left {
            1 => rest,
            _ => rest.saturating_sub(1).max(1).min(rest),
        };
        let mut reason = wrapped(&Inert::one_line(reason), columns, dim);
        if reason.len() > most {
            reason.truncate(most);
            if let Some(last) = reason.pop() {
                let cut = last.cut(columns.saturating_sub(1));
                reason.push(cut.ours(ELLIPSIS, dim));
            }
        }
        rows.extend(reason);
    }
    rows
}

fn head(wait: &Wait, is_selected: bool, theme: Theme) -> Row {
    let badge = theme.badge(wait.state);
    let marker = match is_selected {
        true => SELECTED,
        false => "",
    };
    Row::new()
        .ours(marker, theme.style(Role::Text))
        .ours(badge.marker, badge.style)
        .ours(" ", badge.style)
        .ours(badge.word, badge.style)
        .text(
            &format!(" {} ({})", place_of(&wait.key), wait.kind.label()),
            theme.style(Role::Text),
        )
}
