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

/// A row of the form; a text that is written has a field in its place.
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
    let pause = pause_of(state, dialog);
    let extra = usize::from(form.problem.is_some()) + usize::from(pause == Pause::Over);
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
    let rows = foot_rows(form, pause, hidden, theme);
    let height = rows.len() as u16;
    let place = Rect {
        y: inside.bottom().saturating_sub(height),
        height: height.min(inside.height),
        ..inside
    };
    lines(place, buffer, &rows);
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
        let has_focus = HasKeys::when(form.focus == Focus::Item(at));
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
            Body::Text { label, field } => {
                let mark = mark(has_focus);
                let label = Row::new()
                    .ours(mark, theme.style(Role::Key))
                    .inert(label, theme.style(Role::Dim));
                parts.push(Part::Row(label));
                let rows = field.rows().clamp(1, TEXT_ROWS);
                parts.extend((0..rows).map(|row| Part::Text { item: at, row }));
            }
        }
        if has_focus == HasKeys::Yes {
            focused = Some((start, parts.len()));
        }
    }
    (parts, focused)
}

fn mark(has_focus: HasKeys) -> &'static str {
    match has_focus {
        HasKeys::Yes => "> ",
        HasKeys::No => "  ",
    }
}

fn choice(
    label: &'static str,
    options: &[&'static str],
    chosen: Option<usize>,
    has_focus: HasKeys,
    theme: Theme,
) -> Row {
    let mark = mark(has_focus);
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
    let Some(Body::Text { field, .. }) = form.items.get(item).map(|item| &item.body) else {
        return None;
    };
    let rows = field.rows().clamp(1, TEXT_ROWS) as u16;
    let inside = Rect {
        x: place.x.saturating_add(2),
        width: place.width.saturating_sub(2),
        height: rows.min(room),
        ..place
    };
    let style = theme.style(Role::Input).add_modifier(Modifier::UNDERLINED);
    if field.is_empty() {
        Row::new()
            .ours("________", theme.style(Role::Dim))
            .draw(inside, buffer);
    }
    let cursor = field.draw(inside, buffer, style);
    cursor.filter(|_| form.focus == Focus::Item(item))
}

/// What is wrong, how much is hidden, and the buttons.
fn foot_rows(form: &Form, pause: Pause, hidden: usize, theme: Theme) -> Vec<Row> {
    let mut rows = Vec::new();
    if pause == Pause::Over {
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
    let text = theme.style(Role::Text);
    let accept = match pause {
        Pause::Over => theme.style(Role::Dim),
        Pause::Current | Pause::None => text,
    };
    let focus = |on| HasKeys::when(form.focus == on);
    let dismiss = button(form.buttons.dismiss, focus(Focus::Dismiss), theme, text);
    let accept = button(form.buttons.accept, focus(Focus::Accept), theme, accept);
    rows.push(dismiss.and(Row::new().ours("  ", text)).and(accept));
    rows
}

fn button(
    label: &'static str,
    has_focus: HasKeys,
    theme: Theme,
    style: ratatui::style::Style,
) -> Row {
    let mark = mark(has_focus);
    let style = match has_focus {
        HasKeys::Yes => style
            .patch(theme.style(Role::Selected))
            .add_modifier(Modifier::BOLD),
        HasKeys::No => style,
    };
    Row::new()
        .ours(mark, theme.style(Role::Key))
        .ours("[ ", style)
        .ours(label, style)
        .ours(" ]", style)
}

/// Whether the pause that is being answered is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// No pause is being answered.
    None,
    /// It is.
    Current,
    /// It is over: nothing can be confirmed any more.
    Over,
}

fn pause_of(state: &State, dialog: &Dialog) -> Pause {
    let Purpose::Confirm(confirm) = &dialog.purpose else {
        return Pause::None;
    };
    let operation = state.operations.get(&confirm.operation);
    let pause = operation.and_then(|operation| operation.open_pause());
    match pause.is_some_and(|pause| pause.generation == confirm.generation) {
        true => Pause::Current,
        false => Pause::Over,
    }
}
