//! The chosen step: where it stands, what it leads to, what it gave.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::operations::Operation;
use crate::tui::state::routine::checks_of;
use crate::tui::state::{Pane, State};
use crate::tui::text::Inert;
use crate::tui::theme::{Role, Theme};
use crate::tui::view::inside;
use crate::tui::view::operations::has_keys;
use crate::tui::view::row::{Row, frame, lines, wrapped};

pub(super) fn draw(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let has_keys = has_keys(state, Pane::Details);
    let Some(operation) = state.operations.chosen() else {
        let inside = frame(theme, "Step", has_keys, place, buffer);
        lines(
            inside,
            buffer,
            &[Row::new().ours("No step.", theme.style(Role::Dim))],
        );
        return;
    };
    let body = operation.body();
    let title = body
        .steps
        .get(operation.step)
        .map_or("Step", |step| &step.name);
    let inside = frame(theme, title, has_keys, place, buffer);
    let columns = usize::from(inside.width);
    let height = usize::from(inside.height);
    let head = head(operation, columns, theme);
    let scroll = state.details_scroll;
    let mut rows: Vec<Row> = head.iter().skip(scroll).take(height).cloned().collect();
    let room = height.saturating_sub(rows.len());
    if room > 0 {
        let first = scroll.saturating_sub(head.len());
        let output = operation.with_output(|document| {
            let first = document.clamp(columns, room, first);
            let shown = document.rows(columns, first, room).into_iter();
            shown
                .map(|line| Row::new().line(line, theme.style(Role::Text)))
                .collect::<Vec<Row>>()
        });
        rows.extend(output.unwrap_or_default());
    }
    lines(inside, buffer, &rows);
}

/// Everything but the output.
fn head(operation: &Operation, columns: usize, theme: Theme) -> Vec<Row> {
    let text = theme.style(Role::Text);
    let dim = theme.style(Role::Dim);
    let mut rows = Vec::new();
    let Some(definition) = operation.body().steps.get(operation.step) else {
        return rows;
    };
    let seen = operation.chosen_step();
    let live = operation.live.node(operation.step);
    let badge = theme.badge(live);
    let mut status = Row::new()
        .ours(badge.marker, badge.style)
        .ours(" ", badge.style)
        .ours(badge.word, badge.style);
    if let Some(step) = seen.filter(|step| step.lap.0 > 1) {
        status = status.text(&format!("  lap {}", step.lap), dim);
    }
    rows.push(status);
    let agent = seen.and_then(|step| step.agent.as_deref());
    let by = agent
        .map(|agent| format!(" by {agent}"))
        .unwrap_or_default();
    let kind = format!("{} {}{by}", definition.slug, definition.kind.label());
    rows.push(Row::new().text(&kind, dim));
    if live.is_invalidated() {
        let told = Inert::ours("Its last lap counts no more; it is done anew.");
        rows.extend(wrapped(&told, columns, text));
    }
    if let Some(note) = seen.and_then(|step| step.note.as_ref()) {
        rows.extend(wrapped(&Inert::text(note), columns, text));
    }
    rows.extend(inside::rows(operation, columns, theme));
    for check in checks_of(definition) {
        let check = Inert::one_line(&format!("checked by {check}"));
        rows.extend(wrapped(&check, columns, dim));
    }
    rows.extend(edges(operation, theme));
    if let Some(view) = &operation.view
        && seen.is_some_and(|step| step.output.is_none())
        && view.in_flight > 0
    {
        rows.push(Row::new().text(&format!("{} in flight", view.in_flight), dim));
    }
    if seen.is_some_and(|step| step.output.is_some()) {
        rows.push(Row::new().ours("Output", theme.style(Role::Title)));
    }
    rows
}

fn edges(operation: &Operation, theme: Theme) -> Vec<Row> {
    let shape = &operation.picture().shape;
    let mut rows = Vec::new();
    for (at, edge) in shape.edges.iter().enumerate() {
        let (arrow, other) = match operation.step {
            step if edge.from == step => ("to ", edge.to),
            step if edge.to == step => ("from ", edge.from),
            _ => continue,
        };
        let live = operation.live.edge(at);
        let badge = theme.badge(live.status);
        let label = edge.label(live.taken).map(|label| format!(" {label}"));
        let Some(node) = shape.nodes.get(other) else {
            continue;
        };
        rows.push(
            Row::new()
                .ours(badge.marker, badge.style)
                .ours(" ", badge.style)
                .ours(arrow, theme.style(Role::Dim))
                .inert(&node.name, theme.style(Role::Text))
                .text(&label.unwrap_or_default(), theme.style(Role::Dim))
                .text(&format!(" {}", badge.word), badge.style),
        );
    }
    rows
}
