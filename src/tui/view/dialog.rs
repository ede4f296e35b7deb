//! A question over the screen. The buttons stand in the last row and are always seen; what is above
//! scrolls, so that what has the focus is seen too.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use crate::tui::state::State;
use crate::tui::state::form::{Body, Focus, Form};
use crate::tui::state::modal::{Dialog, Purpose};
use crate::tui::text::Inert;
use crate::tui::theme::{Role, Theme};
use crate::tui::view::row::{HasKeys, Row, centred, clear, frame, lines, wrapped};

/// The widest question.
const WIDEST: u16 = 84;
/// Rows that a text to write shows at most.
const TEXT_ROWS: usize = 4;

/// A row of the form; a text that is written has an editor in its place.
enum Part {
    Row(Row),
    Text { item: usize, row: usize },
}

pub(super) fn draw(
    state: &State,
    dialog: &Dialog,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let theme = state.theme;
    let columns = match area.width {
        // No slivers of what is below at its sides.
        0..=60 => area.width,
        wider => (wider - 2).min(WIDEST),
    };
    let inner = usize::from(columns.saturating_sub(4));
    let form = &dialog.form;
    let (parts, focused) = parts(form, inner, theme);
    let stale = is_stale(state, dialog);
    let extra = usize::from(form.problem.is_some()) + usize::from(stale);
    let wanted = parts.len() + extra + 4;
    let place = centred(
        area,
        columns,
        u16::try_from(wanted)
            .unwrap_or(u16::MAX)
            .min(area.height.saturating_sub(1)),
    );
    clear(place, buffer);
    let inside = frame(theme, dialog.title.as_str(), HasKeys::Yes, place, buffer);
    let inside = Rect {
        x: inside.x.saturating_add(1),
        width: inside.width.saturating_sub(2),
        ..inside
    };
    let foot = 2 + extra as u16;
    let body = Rect {
        height: inside.height.saturating_sub(foot),
        ..inside
    };
    let height = usize::from(body.height);
    let first = match focused {
        // What has the focus is seen whole, as far as there is room.
        Some((start, end)) => end.saturating_sub(height).min(start),
        None => form.scroll.first(parts.len(), height),
    };
    let mut cursor = None;
    for (y, part) in (body.y..body.bottom()).zip(parts.iter().skip(first)) {
        let row_place = Rect {
            y,
            height: 1,
            ..body
        };
        match part {
            Part::Row(row) => row.draw(row_place, buffer),
            Part::Text { item, row: 0 } => {
                let rows = body.bottom().saturating_sub(y);
                let drawn = text(form, *item, row_place, rows, theme, buffer);
                cursor = cursor.or(drawn);
            }
            Part::Text { .. } => {}
        }
    }
    let hidden = parts.len().saturating_sub(first + height);
    foot_rows(form, dialog, stale, hidden, inside, buffer, theme);
    cursor
}

/// The rows of a form, and which of them have the focus.
fn parts(form: &Form, columns: usize, theme: Theme) -> (Vec<Part>, Option<(usize, usize)>) {
    let mut parts = Vec::new();
    let mut focused = None;
    for (at, item) in form.items.iter().enumerate() {
        if !form.is_there(at) {
            continue;
        }
        let start = parts.len();
        let has_focus = form.focus == Focus::Item(at);
        match &item.body {
            Body::Says(role, text) => {
                let rows = wrapped(text, columns, theme.style(*role));
                parts.extend(rows.into_iter().map(Part::Row));
            }
            Body::Choice {
                label,
                options,
                chosen,
            } => parts.push(Part::Row(choice(label, options, *chosen, has_focus, theme))),
            Body::Text { label, editor } => {
                let mark = if has_focus { "> " } else { "  " };
                let label = Row::new()
                    .ours(mark, theme.style(Role::Key))
                    .inert(label, theme.style(Role::Dim));
                parts.push(Part::Row(label));
                let rows = editor.lines().count().clamp(1, TEXT_ROWS);
                parts.extend((0..rows).map(|row| Part::Text { item: at, row }));
            }
        }
        if has_focus {
            focused = Some((start, parts.len()));
        }
    }
    (parts, focused)
}

fn choice(
    label: &'static str,
    options: &[&'static str],
    chosen: Option<usize>,
    has_focus: bool,
    theme: Theme,
) -> Row {
    let mark = if has_focus { "> " } else { "  " };
    let mut row = Row::new()
        .ours(mark, theme.style(Role::Key))
        .ours(label, theme.style(Role::Dim))
        .ours(":", theme.style(Role::Dim));
    for (at, option) in options.iter().enumerate() {
        let (dot, style) = match chosen == Some(at) {
            true => (" (*) ", theme.style(Role::Title)),
            false => (" ( ) ", theme.style(Role::Text)),
        };
        row = row.ours(dot, style).ours(option, style);
    }
    row
}

fn text(
    form: &Form,
    item: usize,
    place: Rect,
    room: u16,
    theme: Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let Some(Body::Text { editor, .. }) = form.items.get(item).map(|item| &item.body) else {
        return None;
    };
    let rows = editor.lines().count().clamp(1, TEXT_ROWS) as u16;
    let inside = Rect {
        x: place.x.saturating_add(2),
        width: place.width.saturating_sub(2),
        height: rows.min(room),
        ..place
    };
    let style = theme.style(Role::Input).add_modifier(Modifier::UNDERLINED);
    if editor.is_empty() {
        Row::new()
            .ours("________", theme.style(Role::Dim))
            .draw(inside, buffer);
    }
    let cursor = editor.draw(inside, buffer, style);
    cursor.filter(|_| form.focus == Focus::Item(item))
}

fn foot_rows(
    form: &Form,
    dialog: &Dialog,
    stale: bool,
    hidden: usize,
    inside: Rect,
    buffer: &mut Buffer,
    theme: Theme,
) {
    let mut rows = Vec::new();
    if stale {
        rows.push(Row::new().ours(
            "It has moved on: this can't be confirmed any more.",
            theme.style(Role::Error),
        ));
    }
    if let Some(problem) = &form.problem {
        rows.push(Row::new().inert(problem, theme.style(Role::Error)));
    }
    let more = Inert::one_line(&format!("{hidden} more rows: PageDown"));
    rows.push(match hidden {
        0 => Row::new(),
        _ => Row::new().inert(&more, theme.style(Role::Dim)),
    });
    let accept = match (stale, &dialog.purpose) {
        (true, Purpose::Confirm(_)) => theme.style(Role::Dim),
        _ => theme.style(Role::Text),
    };
    let dismiss = button(
        form.buttons.dismiss,
        form.focus == Focus::Dismiss,
        theme,
        theme.style(Role::Text),
    );
    let accept = button(
        form.buttons.accept,
        form.focus == Focus::Accept,
        theme,
        accept,
    );
    rows.push(
        dismiss
            .and(Row::new().ours("  ", theme.style(Role::Text)))
            .and(accept),
    );
    let height = rows.len() as u16;
    let place = Rect {
        y: inside.bottom().saturating_sub(height),
        height: height.min(inside.height),
        ..inside
    };
    lines(place, buffer, &rows);
}

fn button(label: &'static str, has_focus: bool, theme: Theme, style: ratatui::style::Style) -> Row {
    let mark = if has_focus { "> " } else { "  " };
    let style = match has_focus {
        true => style
            .patch(theme.style(Role::Selected))
            .add_modifier(Modifier::BOLD),
        false => style,
    };
    Row::new()
        .ours(mark, theme.style(Role::Key))
        .ours("[ ", style)
        .ours(label, style)
        .ours(" ]", style)
}

/// Whether the pause that is being answered is over.
fn is_stale(state: &State, dialog: &Dialog) -> bool {
    let Purpose::Confirm(confirm) = &dialog.purpose else {
        return false;
    };
    let operation = state.operations.get(&confirm.operation);
    let pause = operation.and_then(|operation| operation.open_pause());
    pause.is_none_or(|pause| pause.generation != confirm.generation)
}
