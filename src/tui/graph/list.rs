//! A graph as a list: one row a step, onward edges lead down. For graphs that are too large to be
//! drawn, terminals that are too narrow, and people who can't see pictures.
//!
//! ```text
//! > ✓ draft        verified    agent         lap 2  ▶ check
//!   ● check        running     gate                 ▷ publish on_pass ↺ draft 1 of 2
//!   ● each         running     map    2 of 3        ▷ check
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
use crate::tui::graph::shape::{Counts, EdgeShape, EdgeWay, GraphShape, Laps};
use crate::tui::text::Inert;
use crate::tui::theme::{Role, SELECTED, Theme};

/// The widest column of names.
const WIDEST_NAME: usize = 32;
/// The narrowest column of names.
const NARROWEST_NAME: usize = 8;
/// The longest word of a status.
const WORD: usize = 11;
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
    /// Cells for laps and for what is counted, in words and in numbers alone.
    beside: Beside,
    beside_short: Beside,
}

/// Cells that are kept beside a step's word, by the definition alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Beside {
    count: usize,
    lap: usize,
}

impl Beside {
    fn of(
        shape: &GraphShape,
        count: impl Fn(Counts) -> usize,
        lap: impl Fn(Laps) -> usize,
    ) -> Self {
        let counts = shape.nodes.iter().map(|node| count(node.counts));
        let laps = shape.nodes.iter().map(|node| lap(node.laps));
        Self {
            count: counts.max().unwrap_or(0),
            lap: laps.max().unwrap_or(0),
        }
    }

    /// With the spaces before them.
    fn width(self) -> usize {
        let with_space = |cells: usize| cells + usize::from(cells > 0);
        with_space(self.count) + with_space(self.lap)
    }
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
            beside: Beside::of(shape, Counts::reserved, Laps::reserved),
            beside_short: Beside::of(shape, Counts::reserved_short, Laps::reserved_short),
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
        let badge = self.theme.badge(live);
        let chosen = self.selected == Some(node);
        let mut text = self.theme.style(Role::Text);
        if chosen {
            text = text.add_modifier(Modifier::REVERSED);
        }
        let dim = self.theme.style(Role::Dim);
        let is_wide = columns >= WIDTH_WITH_KIND;
        let beside = match is_wide {
            true => self.rows.beside,
            false => self.rows.beside_short,
        };
        // Marker, word, count and lap come first; of what is left, at most half of the row is the name's.
        let left = columns.saturating_sub(4 + 2 + WORD + beside.width());
        let name_width = self
            .rows
            .name_width
            .min(columns.saturating_sub(4) / 2)
            .min(left)
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
        if is_wide {
            spans.push(Span::styled(format!("  {:KIND$}", step.kind), dim));
        }
        if beside.count > 0 {
            let count = live.count.map(|count| match is_wide {
                true => count.text(),
                false => count.short(),
            });
            let count = Inert::one_line(&count.unwrap_or_default());
            let count = count.first_line().pad(beside.count);
            spans.push(Span::styled(format!(" {count}"), badge.style));
        }
        if beside.lap > 0 {
            let lap = live.lap_in(beside.lap).unwrap_or_default();
            let lap = Inert::one_line(&lap).first_line().pad(beside.lap);
            spans.push(Span::styled(format!(" {lap}"), dim));
        }
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
        let arrow = match edge.way {
            EdgeWay::Back { .. } => "↺",
            // Told apart without colour, in ASCII too.
            EdgeWay::Onward => self.theme.badge(status).marker,
        };
        let rest = match (edge.way, edge.condition) {
            (EdgeWay::Back { max_attempts }, _) => format!(" {taken} of {max_attempts}"),
            (EdgeWay::Onward, EdgeCondition::Always) => String::new(),
            (EdgeWay::Onward, condition) => format!(" {}", condition.label()),
        };
        format!("{arrow} {target}{rest}")
    }
}
