//! The command line with its popup, and what a person is told above it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::tui::state::notice::Notice;
use crate::tui::state::{Pane, State};
use crate::tui::text::{Inert, width};
use crate::tui::theme::Role;
use crate::tui::view::row::{HasKeys, IsChosen, Row, chosen, clear, first_visible, lines, wrapped};

/// What stands before the text.
const MARK: &str = "> ";
/// The most rows of the popup.
const POPUP: usize = 8;

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) -> Option<Position> {
    let theme = state.theme;
    let mark = match state.pane {
        Pane::Prompt => theme.style(Role::Key),
        _ => theme.style(Role::Dim),
    };
    Row::new().ours(MARK, mark).draw(place, buffer);
    let inside = Rect {
        x: place.x.saturating_add(2),
        width: place.width.saturating_sub(2),
        ..place
    };
    if state.prompt.is_empty() {
        let hint = match state.pane {
            Pane::Prompt => "a message, or / for commands",
            _ => "Esc to type",
        };
        Row::new()
            .ours(hint, theme.style(Role::Dim))
            .draw(inside, buffer);
    }
    state
        .prompt
        .editor()
        .draw(inside, buffer, theme.style(Role::Input))
}

pub(super) fn notice(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let columns = usize::from(place.width).saturating_sub(8);
    let part = |head: &'static str, text: &Inert, role: Role| {
        let mut head = Some(head);
        wrapped(text, columns, theme.style(role))
            .into_iter()
            .map(move |row| row.after(head.take().unwrap_or("        "), theme.style(role)))
            .collect::<Vec<Row>>()
    };
    let rows = match &state.notice {
        None => Vec::new(),
        Some(Notice::Said(text)) => part("  note  ", text, Role::Success),
        Some(Notice::Trouble(trouble)) => {
            let mut rows = part("  error ", &trouble.what, Role::Error);
            let next = part("  next  ", &trouble.next, Role::Key);
            let why = part("  why   ", &trouble.why, Role::Text);
            // Where there is no room for all of it, what to do next stays.
            let room = usize::from(place.height).saturating_sub(rows.len() + next.len());
            rows.extend(why.into_iter().take(room));
            rows.extend(next);
            rows
        }
    };
    clear(place, buffer);
    lines(place, buffer, &rows);
}

/// The completion, above the command line.
pub(super) fn popup(state: &State, prompt: Rect, above: Rect, buffer: &mut Buffer) {
    let Some(popup) = state.prompt.popup().filter(|_| state.pane == Pane::Prompt) else {
        return;
    };
    let theme = state.theme;
    let candidates = popup.candidates();
    let height = candidates.len().min(POPUP).min(usize::from(above.height));
    let names = candidates
        .iter()
        .map(|one| width(Inert::one_line(&one.text).as_str()));
    let names = names.max().unwrap_or(0).min(28);
    let place = Rect {
        x: prompt.x,
        y: prompt.y.saturating_sub(height as u16),
        width: prompt.width,
        height: height as u16,
    };
    clear(place, buffer);
    let first = first_visible(popup.chosen(), height);
    let visible = candidates.iter().enumerate().skip(first).take(height);
    let rows: Vec<Row> = visible
        .map(|(at, one)| {
            let row = Row::new()
                .column(&one.text, names, theme.style(Role::Text))
                .ours("  ", theme.style(Role::Dim))
                .inert(&one.note, theme.style(Role::Dim));
            chosen(
                theme,
                row,
                IsChosen::of(at, Some(popup.chosen()), HasKeys::Yes),
            )
        })
        .collect();
    lines(place, buffer, &rows);
}
