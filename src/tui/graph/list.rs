//! A graph as a list: one row a step, onward edges lead down. For graphs that are too large to be
//! drawn, terminals that are too narrow, and people who can't see pictures.
//!
//! ```text
//! > ✓ draft        verified    agent     ×2  → check
//!   ● check        running     gate          → publish (on_pass)  ↺ draft 1/2
//! ```
//!
//! Builds no more rows than are visible.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::engine::operation::view::EdgeStatus;
use crate::engine::routine::definition::EdgeCondition;
use crate::tui::graph::live::LiveGraph;
use crate::tui::graph::shape::{EdgeShape, EdgeWay, GraphShape};
use crate::tui::text::Inert;
use crate::tui::theme::{Role, SELECTED, Theme};

/// The widest column of names.
const WIDEST_NAME: usize = 32;
/// The narrowest column of names.
const NARROWEST_NAME: usize = 8;
/// The longest word of a status.
const WORD: usize = 10;
/// The longest word of a kind.
const KIND: usize = 13;
/// From this width on kinds are shown.
const WIDTH_WITH_KIND: usize = 70;

/// The rows of a graph's list, made once a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRows {
    order: Vec<usize>,
    outgoing: Vec<Vec<usize>>,
    name_width: usize,
}

impl ListRows {
    /// Orders the steps and gathers their edges.
    pub fn of(shape: &GraphShape) -> Self {
        let mut outgoing = vec![Vec::new(); shape.nodes.len()];
        for (edge, ends) in shape.edges.iter().enumerate() {
            outgoing[ends.from].push(edge);
        }
        let widths = shape
            .nodes
            .iter()
            .map(|node| node.name.first_line().width());
        Self {
            order: shape.topological(),
            outgoing,
            name_width: widths.max().unwrap_or(0).clamp(NARROWEST_NAME, WIDEST_NAME),
        }
    }

    /// The steps, from top to bottom.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The row of a step.
    pub fn row_of(&self, node: usize) -> Option<usize> {
        self.order.iter().position(|&other| other == node)
    }

    /// The first row to show so that a step is visible among `rows` rows, nearest to `offset`.
    pub fn scroll_to(&self, node: Option<usize>, rows: u16, offset: usize) -> usize {
        let rows = usize::from(rows);
        let offset = match node.and_then(|node| self.row_of(node)) {
            Some(row) => offset.max((row + 1).saturating_sub(rows)).min(row),
            None => offset,
        };
        offset.min(self.order.len().saturating_sub(rows))
    }
}

/// The visible rows of a list.
#[derive(Debug, Clone, Copy)]
pub struct ListWidget<'a> {
    /// The graph.
    pub shape: &'a GraphShape,
    /// Its rows.
    pub rows: &'a ListRows,
    /// What changes.
    pub live: &'a LiveGraph,
    /// How it looks.
    pub theme: Theme,
    /// The selected step.
    pub selected: Option<usize>,
    /// The first visible row.
    pub offset: usize,
}

impl Widget for ListWidget<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        let visible = self.rows.order.iter().skip(self.offset);
        for (y, &node) in (area.y..area.bottom()).zip(visible) {
            let row = Rect {
                y,
                height: 1,
                ..area
            };
            self.row(node, usize::from(area.width)).render(row, buffer);
        }
    }
}

impl ListWidget<'_> {
    fn row(&self, node: usize, columns: usize) -> Line<'static> {
        let live = self.live.node(node);
        let badge = self.theme.badge(live.status);
        let chosen = self.selected == Some(node);
        let mut text = self.theme.style(Role::Text);
        if chosen {
            text = text.add_modifier(Modifier::REVERSED);
        }
        let dim = self.theme.style(Role::Dim);
        // Marker, word and lap come first; half of what is left is the name's.
        let name_width = self
            .rows
            .name_width
            .min(columns.saturating_sub(4) / 2)
            .max(NARROWEST_NAME);
        let step = &self.shape.nodes[node];
        let mut spans = vec![
            Span::styled(
                if chosen { SELECTED } else { " " },
                self.theme.style(Role::Text),
            ),
            Span::raw(" "),
            Span::styled(badge.marker, badge.style),
            Span::raw(" "),
            Span::styled(step.name.first_line().pad(name_width), text),
            Span::styled(format!("  {:WORD$}", badge.word), badge.style),
        ];
        if columns >= WIDTH_WITH_KIND {
            spans.push(Span::styled(format!("  {:KIND$}", step.kind), dim));
        }
        let lap = match live.lap {
            0 | 1 => String::new(),
            lap => format!("×{lap}"),
        };
        spans.push(Span::styled(format!(" {lap:3}"), dim));
        let used: usize = spans.iter().map(Span::width).sum();
        let mut room = columns.saturating_sub(used);
        for &edge in &self.rows.outgoing[node] {
            let live = self.live.edge(edge);
            let written = self.edge(&self.shape.edges[edge], live.status, live.taken);
            let written = Inert::one_line(&format!(" {written}"));
            let shown = written.first_line().truncate(room).into_owned();
            room -= crate::tui::text::width(&shown);
            spans.push(Span::styled(shown, self.theme.badge(live.status).style));
        }
        Line::from(spans)
    }

    fn edge(&self, edge: &EdgeShape, status: EdgeStatus, taken: u32) -> String {
        let target = &self.shape.nodes[edge.to].name;
        let arrow = match (edge.way, status) {
            (EdgeWay::Back { .. }, _) => "↺",
            (EdgeWay::Onward, EdgeStatus::Pending | EdgeStatus::Activated) => "→",
            (EdgeWay::Onward, EdgeStatus::Dead) => "×",
        };
        let rest = match (edge.way, edge.condition) {
            (EdgeWay::Back { max_attempts }, _) => format!(" {taken}/{max_attempts}"),
            (EdgeWay::Onward, EdgeCondition::Always) => String::new(),
            (EdgeWay::Onward, condition) => format!(" {}", condition.label()),
        };
        format!("{arrow} {target}{rest}")
    }
}
