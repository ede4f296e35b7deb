//! Draws the visible part of a laid-out graph: lines by the state of their edge, boxes by the state
//! of their step.
//!
//! ```text
//! ╭ map ─── 2 of 3 ╮   kind, and how far it is inside
//! │ ✓ check  lap 2 │   marker, name, lap from the second on
//! ╰─ verified ─────╯   word
//! ```
//!
//! Where these stand depends on the definition alone, so nothing moves while it runs.
//!
//! Without colour an activated edge is heavy with a filled arrow, a pending one light with a hollow
//! arrow, a dead one ends in a cross; a retry edge is dashed. Costs what is visible, not what there is.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;

use crate::engine::operation::view::EdgeStatus;
use crate::tui::graph::layout::{Area, Arms, Dashed, Heading, Ink, Layout, Spot};
use crate::tui::graph::live::LiveGraph;
use crate::tui::graph::shape::GraphShape;
use crate::tui::text::{Inert, Line, width};
use crate::tui::theme::{Badge, Role, SELECTED, Theme};

/// A graph, its layout, its live state, and what of it is looked at.
#[derive(Debug, Clone, Copy)]
pub struct GraphWidget<'a> {
    /// The graph.
    pub shape: &'a GraphShape,
    /// Where everything stands.
    pub layout: &'a Layout,
    /// What changes.
    pub live: &'a LiveGraph,
    /// How it looks.
    pub theme: Theme,
    /// The selected step.
    pub selected: Option<usize>,
    /// The picture's column and row that is shown top left.
    pub offset: (usize, usize),
}

impl Widget for GraphWidget<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        // A narrow picture stands in the middle.
        let inset = usize::from(area.width).saturating_sub(self.layout.width) / 2;
        let area = match self.offset.0 {
            0 => Rect {
                x: area.x + inset as u16,
                width: area.width - inset as u16,
                ..area
            },
            _ => area,
        };
        let mut window = Window {
            area,
            offset: self.offset,
            buffer,
        };
        self.edges(&mut window);
        self.labels(&mut window);
        for node in self.layout.nodes_in(window.rows()) {
            self.node(node, &mut window);
        }
    }
}

impl GraphWidget<'_> {
    fn edges(&self, window: &mut Window<'_>) {
        for y in window.rows() {
            for stroke in self.layout.strokes(y, window.columns()) {
                let edge = stroke.edge as usize;
                let status = self.live.edge(edge).status;
                let glyph = match stroke.ink {
                    Ink::Line { arms, dashed } => line_glyph(arms, dashed, status),
                    Ink::Head(heading) => head_glyph(heading, status),
                };
                window.put(stroke.x as usize, y, glyph, self.edge_style(status));
            }
        }
    }

    fn edge_style(&self, status: EdgeStatus) -> Style {
        self.theme.badge(status).style
    }

    fn labels(&self, window: &mut Window<'_>) {
        for (edge, spot) in self.layout.labels.iter().enumerate() {
            let Some(Spot { x, y, width }) = *spot else {
                continue;
            };
            if !window.rows().contains(&y) {
                continue;
            }
            let live = self.live.edge(edge);
            let Some(label) = self
                .shape
                .edges
                .get(edge)
                .and_then(|edge| edge.label(live.taken))
            else {
                continue;
            };
            // A space on each side keeps the words off the line that they stand on.
            let label = Inert::one_line(&format!(" {label}"));
            let label = Inert::one_line(&label.first_line().pad(width));
            window.print(x, y, &label, self.edge_style(live.status));
        }
    }

    fn node(&self, node: usize, window: &mut Window<'_>) {
        let (Some(&area), Some(step)) = (self.layout.nodes.get(node), self.shape.nodes.get(node))
        else {
            return;
        };
        if area.width < 4 || area.height < 3 {
            return;
        }
        let live = self.live.node(node);
        let badge = self.theme.badge(live);
        let chosen = self.selected == Some(node);
        self.frame(area, badge, chosen, step.kind, window);
        if let Some(count) = live.count {
            // Between the kind and the corner, at the right.
            let room = area.width.saturating_sub(step.kind.len() + 4);
            let count = Inert::one_line(&format!(" {} ", count.text()));
            let count = count.first_line().truncate(room).into_owned();
            let x = area.x + area.width - 1 - width(&count);
            window.print(x, area.y, &Inert::one_line(&count), badge.style);
        }

        let inside = area.width - 4;
        let lap = match live.lap_in(step.laps.reserved()) {
            Some(lap) => format!(" {lap}"),
            None => String::new(),
        };
        let name = step
            .name
            .first_line()
            .pad(inside.saturating_sub(2 + width(&lap)));
        let y = area.y + 1;
        let mut text = self.theme.style(Role::Text);
        if chosen {
            text = text.add_modifier(Modifier::REVERSED);
        }
        let before = if chosen { SELECTED } else { " " };
        window.print(
            area.x + 1,
            y,
            &Inert::ours(before),
            self.theme.style(Role::Text),
        );
        window.print(area.x + 2, y, &Inert::ours(badge.marker), badge.style);
        window.put(area.x + 3, y, " ", text);
        let after_marker = Inert::one_line(&format!("{name}{lap}"));
        window.print(area.x + 4, y, &after_marker, text);
        window.put(
            area.x + area.width - 2,
            y,
            " ",
            self.theme.style(Role::Text),
        );
    }

    fn frame(&self, area: Area, badge: Badge, chosen: bool, kind: &str, window: &mut Window<'_>) {
        let Area {
            x,
            y,
            width,
            height,
        } = area;
        let [
            horizontal,
            vertical,
            top_left,
            top_right,
            low_left,
            low_right,
        ] = match chosen {
            false => ["─", "│", "╭", "╮", "╰", "╯"],
            true => ["═", "║", "╔", "╗", "╚", "╝"],
        };
        let (right, bottom) = (x + width - 1, y + height - 1);
        for column in x + 1..right {
            window.put(column, y, horizontal, badge.style);
            window.put(column, bottom, horizontal, badge.style);
        }
        for row in y + 1..bottom {
            window.put(x, row, vertical, badge.style);
            window.put(right, row, vertical, badge.style);
        }
        window.put(x, y, top_left, badge.style);
        window.put(right, y, top_right, badge.style);
        window.put(x, bottom, low_left, badge.style);
        window.put(right, bottom, low_right, badge.style);
        let dim = self.theme.style(Role::Dim);
        window.print(x + 1, y, &Inert::one_line(&format!(" {kind} ")), dim);
        let word = Inert::one_line(&format!(" {} ", badge.word));
        window.print(x + 2, bottom, &word, badge.style);
    }
}

fn line_glyph(arms: Arms, dashed: Dashed, status: EdgeStatus) -> &'static str {
    const UP: u8 = Arms::UP;
    const DOWN: u8 = Arms::DOWN;
    const LEFT: u8 = Arms::LEFT;
    const RIGHT: u8 = Arms::RIGHT;
    const VERTICAL: u8 = UP | DOWN;
    const HORIZONTAL: u8 = LEFT | RIGHT;
    let heavy = match status {
        EdgeStatus::Activated => true,
        EdgeStatus::Pending | EdgeStatus::Dead => false,
    };
    match (arms.0, dashed, heavy) {
        (UP | DOWN | VERTICAL, Dashed::No, false) => "│",
        (UP | DOWN | VERTICAL, Dashed::No, true) => "┃",
        (UP | DOWN | VERTICAL, Dashed::Yes, false) => "┊",
        (UP | DOWN | VERTICAL, Dashed::Yes, true) => "┇",
        (LEFT | RIGHT | HORIZONTAL, Dashed::No, false) => "─",
        (LEFT | RIGHT | HORIZONTAL, Dashed::No, true) => "━",
        (LEFT | RIGHT | HORIZONTAL, Dashed::Yes, false) => "┈",
        (LEFT | RIGHT | HORIZONTAL, Dashed::Yes, true) => "┅",
        (arms, _, false) => match arms & 15 {
            5 => "╯",
            6 => "╮",
            7 => "┤",
            9 => "╰",
            10 => "╭",
            11 => "├",
            13 => "┴",
            14 => "┬",
            15 => "┼",
            _ => " ",
        },
        (arms, _, true) => match arms & 15 {
            5 => "┛",
            6 => "┓",
            7 => "┫",
            9 => "┗",
            10 => "┏",
            11 => "┣",
            13 => "┻",
            14 => "┳",
            15 => "╋",
            _ => " ",
        },
    }
}

fn head_glyph(heading: Heading, status: EdgeStatus) -> &'static str {
    match (heading, status) {
        (_, EdgeStatus::Dead) => "×",
        (Heading::Up, EdgeStatus::Activated) => "▲",
        (Heading::Down, EdgeStatus::Activated) => "▼",
        (Heading::Left, EdgeStatus::Activated) => "◀",
        (Heading::Right, EdgeStatus::Activated) => "▶",
        (Heading::Up, EdgeStatus::Pending) => "△",
        (Heading::Down, EdgeStatus::Pending) => "▽",
        (Heading::Left, EdgeStatus::Pending) => "◁",
        (Heading::Right, EdgeStatus::Pending) => "▷",
    }
}

/// The part of the buffer that shows the picture from an offset on.
struct Window<'a> {
    area: Rect,
    offset: (usize, usize),
    buffer: &'a mut Buffer,
}

impl Window<'_> {
    fn columns(&self) -> std::ops::Range<usize> {
        self.offset.0..self.offset.0 + usize::from(self.area.width)
    }

    fn rows(&self) -> std::ops::Range<usize> {
        self.offset.1..self.offset.1 + usize::from(self.area.height)
    }

    fn position(&self, x: usize, y: usize) -> Option<Position> {
        if !self.columns().contains(&x) || !self.rows().contains(&y) {
            return None;
        }
        Some(Position {
            x: self.area.x + (x - self.offset.0) as u16,
            y: self.area.y + (y - self.offset.1) as u16,
        })
    }

    /// Draws one of our own glyphs.
    fn put(&mut self, x: usize, y: usize, glyph: &'static str, style: Style) {
        let position = self.position(x, y);
        if let Some(cell) = position.and_then(|position| self.buffer.cell_mut(position)) {
            cell.set_symbol(glyph).set_style(style);
        }
    }

    /// Draws a text; what lies outside is cut between clusters.
    fn print(&mut self, x: usize, y: usize, text: &Inert, style: Style) {
        let line: Line<'_> = text.first_line();
        let hidden = self.offset.0.saturating_sub(x);
        let whole = line.width();
        if hidden >= whole {
            return;
        }
        let seen = line.skip(hidden);
        // A wide cluster cut by the left edge leaves a gap.
        let start = x + whole - seen.width();
        let Some(at) = self.position(start, y) else {
            return;
        };
        let room = usize::from(self.area.right() - at.x);
        self.buffer
            .set_stringn(at.x, at.y, seen.as_str(), room, style);
    }
}
