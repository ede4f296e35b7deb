//! The source browser: the tree, and the preview beside it, or below it where it is narrow (T6).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::operations::short;
use crate::tui::state::sources::{Keeping, Node, Preview, is_late};
use crate::tui::state::{Pane, State};
use crate::tui::text::Inert;
use crate::tui::theme::Role;
use crate::tui::view::layout::{Layout, split_columns};
use crate::tui::view::operations::has_keys;
use crate::tui::view::row::{IsChosen, Row, chosen, first_visible, frame, lines, wrapped};

pub(super) fn draw(state: &State, layout: &Layout, buffer: &mut Buffer) {
    let (tree, preview) = places(layout.body);
    draw_tree(state, tree, buffer);
    draw_preview(state, preview, buffer);
}

fn places(body: Rect) -> (Rect, Rect) {
    match body.width >= 72 {
        true => split_columns(body, body.width / 2),
        false => {
            let above = Rect {
                height: body.height.div_ceil(2),
                ..body
            };
            let below = Rect {
                y: above.bottom(),
                height: body.height - above.height,
                ..body
            };
            (above, below)
        }
    }
}

/// What is inside of the preview's frame, below its first row.
pub(super) fn preview_place(body: Rect) -> Rect {
    let (_, preview) = places(body);
    Rect {
        width: preview.width.saturating_sub(2),
        height: preview.height.saturating_sub(3),
        ..preview
    }
}

fn draw_tree(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let keys = has_keys(state, Pane::Tree);
    let inside = frame(theme, "Sources", keys, place, buffer);
    let tree = state.sources.tree();
    if tree.is_empty() {
        let row = Row::new().ours("No sources are held.", theme.style(Role::Dim));
        lines(inside, buffer, &[row]);
        return;
    }
    let legend = Keeping::ALL.into_iter().fold(Row::new(), |row, keeping| {
        let (mark, role) = look(keeping);
        row.ours(mark, theme.style(role))
            .ours(keeping.label(), theme.style(Role::Dim))
            .ours("  ", theme.style(Role::Dim))
    });
    // Where there is little room, it is the tree's.
    let foot = u16::from(inside.height >= 5);
    let height = usize::from(inside.height - foot);
    let foot = Rect {
        y: inside.bottom().saturating_sub(1),
        height: foot,
        ..inside
    };
    let row_of_chosen = state.sources.row();
    let first = first_visible(row_of_chosen, height);
    let visible = tree.iter().enumerate().skip(first).take(height);
    let rows: Vec<Row> = visible
        .map(|(at, node)| {
            let is_chosen = IsChosen::of(at, Some(row_of_chosen), keys);
            chosen(theme, row(state, node), is_chosen)
        })
        .collect();
    lines(inside, buffer, &rows);
    legend.draw(foot, buffer);
}

/// How a source stands out by how far it is on its way into the archive.
fn look(keeping: Keeping) -> (&'static str, Role) {
    match keeping {
        Keeping::Held => ("* ", Role::Attention),
        Keeping::Archived => ("~ ", Role::Text),
        Keeping::Acknowledged => ("+ ", Role::Success),
    }
}

fn row(state: &State, node: &Node) -> Row {
    let theme = state.theme;
    let text = theme.style(Role::Text);
    let dim = theme.style(Role::Dim);
    match node {
        Node::Operation { id, sources, open } => {
            let name = state.operations.get(id).map(|operation| &operation.label);
            let head = match open {
                0 => Row::new().text(&format!("+ all {sources} "), theme.style(Role::Success)),
                open => {
                    let text = format!("* {open} of {sources} ");
                    Row::new().text(&text, theme.style(Role::Attention))
                }
            };
            match name {
                Some(label) => head.inert(label, theme.style(Role::Title)),
                None => head.text(short(id), theme.style(Role::Title)),
            }
        }
        Node::Execution(id) => {
            let name = id
                .as_str()
                .rsplit_once('.')
                .map_or(id.as_str(), |(_, end)| end);
            Row::new().ours(" execution ", dim).text(name, dim)
        }
        Node::Step(step) => Row::new()
            .ours("  ", dim)
            .text(step.as_deref().unwrap_or("of no step"), text),
        Node::Source { operation, at } => {
            let Some(source) = state.sources.source(operation, *at) else {
                return Row::new();
            };
            let header = &source.header;
            let (mark, role) = look(state.sources.keeping(source));
            let mut row = Row::new().ours("    ", dim).ours(mark, theme.style(role));
            row = match is_late(source) {
                true => row.ours("LATE", theme.style(Role::Error)),
                false => row.ours(header.kind.label(), text),
            };
            row = row.text(&format!(" {}", bytes(header.bytes)), dim);
            // Some labels only repeat the kind.
            match header.label.replace(' ', "_") == header.kind.label() {
                true => row,
                false => row.text(&format!(" {}", header.label), dim),
            }
        }
    }
}

fn draw_preview(state: &State, place: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let dim = theme.style(Role::Dim);
    let title = format!("Preview, at most {}", bytes(state.sources.allowance));
    let inside = frame(theme, &title, has_keys(state, Pane::Preview), place, buffer);
    let head = Rect {
        height: 1.min(inside.height),
        ..inside
    };
    let body = Rect {
        y: inside.y.saturating_add(1),
        height: inside.height.saturating_sub(1),
        ..inside
    };
    let columns = usize::from(body.width);
    match &state.sources.preview {
        Preview::Nothing => Row::new()
            .ours("Enter reads the chosen source.", dim)
            .draw(head, buffer),
        Preview::Reading(source) => Row::new()
            .ours("reading ", dim)
            .text(source.as_str(), dim)
            .draw(head, buffer),
        Preview::TooLarge {
            source,
            bytes: size,
        } => {
            Row::new()
                .text(tail(source.as_str()), theme.style(Role::Title))
                .draw(head, buffer);
            let text = Inert::one_line(&format!(
                "It has {}, {} are allowed; nothing is shown cut. + allows more.",
                bytes(*size),
                bytes(state.sources.allowance)
            ));
            lines(
                body,
                buffer,
                &wrapped(&text, columns, theme.style(Role::Attention)),
            );
        }
        Preview::Shown {
            source,
            document,
            scroll,
        } => {
            Row::new()
                .text(tail(source.as_str()), theme.style(Role::Title))
                .draw(head, buffer);
            let height = usize::from(body.height);
            let first = document.clamp(columns, height, *scroll);
            let rows = document.rows(columns, first, height).into_iter();
            let rows: Vec<Row> = rows
                .map(|line| Row::new().line(line, theme.style(Role::Text)))
                .collect();
            lines(body, buffer, &rows);
        }
    }
}

/// The end of a source's id, which is its number in its operation.
fn tail(id: &str) -> &str {
    id.rsplit_once('.').map_or(id, |(_, end)| end)
}

/// A size for people.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1_024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
