//! A text to read, over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::State;
use crate::tui::state::modal::Reader;
use crate::tui::theme::Role;
use crate::tui::view::row::{HasKeys, Row, centred, clear, frame, lines};

pub(super) fn draw(state: &State, reader: &Reader, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let columns = area.width;
    let most = usize::from(area.height.saturating_sub(4));
    // A short text takes no more room than it needs.
    let rows = reader
        .document
        .rows(usize::from(columns.saturating_sub(2)), 0, most);
    let height = u16::try_from(rows.len())
        .unwrap_or(u16::MAX)
        .saturating_add(2);
    let place = centred(area, columns, height);
    clear(place, buffer);
    let inside = frame(theme, reader.title.as_str(), HasKeys::Yes, place, buffer);
    let (columns, height) = (usize::from(inside.width), usize::from(inside.height));
    let first = reader.document.clamp(columns, height, reader.scroll);
    let rows = reader.document.rows(columns, first, height).into_iter();
    let rows: Vec<Row> = rows
        .map(|line| Row::new().line(line, theme.style(Role::Text)))
        .collect();
    lines(inside, buffer, &rows);
}
