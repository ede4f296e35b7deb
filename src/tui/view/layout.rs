//! What stands where: three layouts by the size of the terminal.
//!
//! ```text
//! from 110x30: operations | graph | details    from 72x20: operations | graph     below: one pane
//!              waits      |       |                        waits      | details          with tabs
//!              panel                                       panel
//! ```

use ratatui::layout::Rect;

use crate::tui::state::notice::Notice;
use crate::tui::state::{Pane, State};
use crate::tui::text::Inert;

/// From this size on details stand beside the graph.
const WIDE: (u16, u16) = (110, 30);
/// From this size on several panes are shown.
const MIDDLE: (u16, u16) = (72, 20);
/// The most rows of a notice.
const NOTICE: usize = 4;
/// The most rows of the command line.
const PROMPT: usize = 5;

/// What stands where.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) header: Rect,
    /// Between header and command line.
    pub(super) body: Rect,
    /// The panes of the overview.
    pub(super) panes: Vec<(Pane, Rect)>,
    pub(super) notice: Rect,
    pub(super) prompt: Rect,
    pub(super) footer: Rect,
}

impl Layout {
    pub(super) fn of(state: &State, area: Rect) -> Self {
        let notice = match &state.notice {
            None => 0,
            Some(notice) => notice_rows(notice, usize::from(area.width)).min(NOTICE),
        };
        let prompt = state.prompt.editor().lines().count().clamp(1, PROMPT);
        let [header, body, prompt, footer] = stack(area, prompt as u16);
        // Over the end of the body, so that nothing else moves when somebody is told something.
        let notice = Rect {
            y: body.bottom().saturating_sub(notice as u16),
            height: (notice as u16).min(body.height),
            ..body
        };
        Self {
            header,
            body,
            panes: panes(state, body),
            notice,
            prompt,
            footer,
        }
    }

    /// What is inside of a pane's frame.
    pub(super) fn inside(&self, pane: Pane) -> Option<Rect> {
        let (_, place) = self.panes.iter().find(|(shown, _)| *shown == pane)?;
        Some(Rect {
            x: place.x + 1,
            y: place.y + 1,
            width: place.width.saturating_sub(2),
            height: place.height.saturating_sub(2),
        })
    }
}

/// The body while there is one line to write in.
pub(super) fn body_of(size: (u16, u16)) -> Rect {
    let [_, body, _, _] = stack(Rect::new(0, 0, size.0, size.1), 1);
    body
}

/// Rows of a notice at a width.
pub(super) fn notice_rows(notice: &Notice, columns: usize) -> usize {
    let rows = |text: &Inert| -> usize {
        text.lines()
            .map(|line| line.wrap(columns.saturating_sub(8)).count())
            .sum()
    };
    match notice {
        Notice::Trouble(trouble) => rows(&trouble.what) + rows(&trouble.why) + rows(&trouble.next),
        Notice::Said(text) => rows(text),
    }
}

/// Cuts an area into header, body, command line and footer.
fn stack(area: Rect, prompt: u16) -> [Rect; 4] {
    let mut top = area.y;
    [1, area.height.saturating_sub(2 + prompt), prompt, 1].map(|height| {
        let y = top.min(area.bottom());
        let height = height.min(area.bottom() - y);
        top = y + height;
        Rect { y, height, ..area }
    })
}

fn panes(state: &State, body: Rect) -> Vec<(Pane, Rect)> {
    let (columns, rows) = state.size;
    if columns >= WIDE.0 && rows >= WIDE.1 {
        let (top, panel) = split_rows(body, body.height.saturating_sub(11));
        let (left, right) = split_columns(top, 32);
        let (graph, details) = split_columns(right, right.width.saturating_sub(36));
        let (operations, waits) = split_rows(left, left.height / 2);
        vec![
            (Pane::Operations, operations),
            (Pane::Waits, waits),
            (Pane::Graph, graph),
            (Pane::Details, details),
            (Pane::Panel, panel),
        ]
    } else if columns >= MIDDLE.0 && rows >= MIDDLE.1 {
        let (top, panel) = split_rows(body, body.height.saturating_sub(7));
        let (left, right) = split_columns(top, 27);
        let (operations, waits) = split_rows(left, left.height / 2);
        // The chosen step takes the graph's place while it is looked at.
        let middle = match state.shown {
            Pane::Details => Pane::Details,
            _ => Pane::Graph,
        };
        vec![
            (Pane::Operations, operations),
            (Pane::Waits, waits),
            (middle, right),
            (Pane::Panel, panel),
        ]
    } else {
        let shown = match state.shown {
            Pane::Prompt | Pane::Tree | Pane::Preview => Pane::Operations,
            shown => shown,
        };
        vec![(shown, body)]
    }
}

fn split_rows(area: Rect, first: u16) -> (Rect, Rect) {
    let first = first.min(area.height);
    let above = Rect {
        height: first,
        ..area
    };
    let below = Rect {
        y: area.y + first,
        height: area.height - first,
        ..area
    };
    (above, below)
}

pub(super) fn split_columns(area: Rect, first: u16) -> (Rect, Rect) {
    let first = first.min(area.width);
    let left = Rect {
        width: first,
        ..area
    };
    let right = Rect {
        x: area.x + first,
        width: area.width - first,
        ..area
    };
    (left, right)
}
