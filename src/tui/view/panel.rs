//! The panel at the bottom: the event log, or the chat.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::log::{Answering, Entry, Speaker, Utterance};
use crate::tui::state::operations::short;
use crate::tui::state::{Pane, Panel, State};
use crate::tui::text::Inert;
use crate::tui::theme::Role;
use crate::tui::view::operations::has_keys;
use crate::tui::view::row::{Row, frame, lines, wrapped};

/// Utterances that are looked at for the visible rows: enough for any terminal.
const LOOKED_AT: usize = 400;

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) {
    match state.panel {
        Panel::Log => log(state, place, buffer),
        Panel::Chat => chat(state, place, buffer),
    }
}

fn log(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let mut title = "Events".to_owned();
    if state.log.dropped > 0 {
        title.push_str(&format!(
            ", {} not shown: too many at once",
            state.log.dropped
        ));
    }
    if state.log.unseen > 0 {
        title.push_str(&format!(", {} new below", state.log.unseen));
    }
    let inside = frame(theme, &title, has_keys(state, Pane::Panel), place, buffer);
    let height = usize::from(inside.height);
    let entries = state.log.entries();
    let end = entries.len().saturating_sub(state.log.back);
    let start = end.saturating_sub(height);
    let rows: Vec<Row> = entries
        .range(start..end)
        .map(|entry| row(state, entry, inside.width))
        .collect();
    if rows.is_empty() {
        let row = Row::new().ours("Nothing happened yet.", theme.style(Role::Dim));
        lines(inside, buffer, &[row]);
        return;
    }
    lines(inside, buffer, &rows);
}

fn row(state: &State, entry: &Entry, columns: u16) -> Row {
    let theme = state.theme;
    let several = state.operations.all().len() > 1;
    let dim = theme.style(Role::Dim);
    let role = match entry.word.as_str() {
        "paused" => Role::Attention,
        "settled" => Role::Title,
        "error" => Role::Error,
        _ => Role::Text,
    };
    let mut row = Row::new();
    if columns >= 60 {
        row = row.inert(&entry.at, dim).ours(" ", dim);
    }
    if let (true, Some(operation)) = (several, &entry.operation) {
        row = row.text(short(operation), dim).ours(" ", dim);
    }
    row.column(entry.word.as_str(), 9, theme.style(role))
        .ours(" ", dim)
        .inert(&entry.text, theme.style(Role::Text))
}

fn chat(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let title = match state.chat.answering {
        Answering::No => "Chat",
        Answering::Yes => "Chat (waiting for the answer…)",
    };
    let inside = frame(theme, title, has_keys(state, Pane::Panel), place, buffer);
    let columns = usize::from(inside.width);
    let height = usize::from(inside.height);
    // From the end upwards, until there are rows enough.
    let mut rows: Vec<Row> = Vec::new();
    for said in state.chat.said.iter().rev().take(LOOKED_AT) {
        let mut above = utterance(state, said, columns);
        above.append(&mut rows);
        rows = above;
        if rows.len() >= height + state.chat.back {
            break;
        }
    }
    if rows.is_empty() {
        rows.push(Row::new().ours("Nothing was said yet.", theme.style(Role::Dim)));
    }
    let back = state.chat.back.min(rows.len().saturating_sub(height));
    let end = rows.len() - back;
    let start = end.saturating_sub(height);
    lines(inside, buffer, &rows[start..end]);
}

fn utterance(state: &State, said: &Utterance, columns: usize) -> Vec<Row> {
    let (who, role) = match said.by {
        Speaker::You => ("you    ", Role::Title),
        Speaker::Model => ("model  ", Role::Text),
        Speaker::Program => ("error  ", Role::Error),
    };
    let style = state.theme.style(role);
    let dim = state.theme.style(Role::Dim);
    let text: &Inert = &said.text;
    let mut first = true;
    wrapped(text, columns.saturating_sub(who.len()), style)
        .into_iter()
        .map(|row| {
            let mark = if std::mem::take(&mut first) {
                who
            } else {
                "       "
            };
            row.after(mark, dim)
        })
        .collect()
}
