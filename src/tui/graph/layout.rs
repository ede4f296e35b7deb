//! Where everything of a graph's picture stands, independent of who worked it out.
//!
//! A [`Layout`] is made once a definition by an [`Arrange`]; [`Arranged`] holds the vertical and the
//! horizontal one and picks the better for a viewport. Cells are kept sparsely by row, so a frame
//! costs what is visible. No colours and no status here.

use std::ops::Range;

use crate::tui::graph::shape::GraphShape;

/// Cells that a picture may have. Above this composing it costs seconds and hundreds of megabytes,
/// and nobody finds anything in it: the list is shown instead.
pub const MAX_CELLS: usize = 2_000_000;

/// Works out where things stand.
pub trait Arrange {
    /// Lays a graph out in one direction.
    fn arrange(&self, shape: &GraphShape, flow: Flow) -> Result<Layout, TooLarge>;
}

/// Where onward edges lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    /// From top to bottom.
    Down,
    /// From left to right.
    Right,
}

/// The picture would be too large to be of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the graph would take {width} x {height} cells")]
pub struct TooLarge {
    /// Columns that it would take.
    pub width: usize,
    /// Rows that it would take.
    pub height: usize,
}

/// A finished layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Where onward edges lead.
    pub flow: Flow,
    /// Columns of the whole picture.
    pub width: usize,
    /// Rows of the whole picture.
    pub height: usize,
    /// Where each node's box stands, in file order.
    pub nodes: Vec<Area>,
    /// Where each edge's label stands, in file order; `None` where it has none or there was no room.
    pub labels: Vec<Option<Spot>>,
    strokes: Vec<Stroke>,
    rows: Vec<Range<u32>>,
    by_top: Vec<u32>,
    tallest: usize,
}

/// A rectangle of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// First column.
    pub x: usize,
    /// First row.
    pub y: usize,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// A place for a text in one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// First column.
    pub x: usize,
    /// The row.
    pub y: usize,
    /// Columns.
    pub width: usize,
}

/// One cell of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stroke {
    /// Its column.
    pub x: u32,
    /// The edge that it belongs to; where several meet, one of them.
    pub edge: u32,
    /// What is drawn.
    pub ink: Ink,
}

/// What is drawn in a cell of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Lines to the neighbours.
    Line {
        /// To which.
        arms: Arms,
        /// Whether it belongs to a retry edge alone.
        dashed: Dashed,
    },
    /// The edge arrives.
    Head(Heading),
}

/// Whether a line is drawn through or dashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dashed {
    /// Drawn through.
    No,
    /// A retry edge.
    Yes,
}

/// Where an arrow points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// To the top.
    Up,
    /// To the bottom.
    Down,
    /// To the left.
    Left,
    /// To the right.
    Right,
}

/// The neighbours that a line leads to, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arms(pub u8);

impl Arms {
    /// The cell above.
    pub const UP: u8 = 1;
    /// The cell below.
    pub const DOWN: u8 = 2;
    /// The cell to the left.
    pub const LEFT: u8 = 4;
    /// The cell to the right.
    pub const RIGHT: u8 = 8;
}

impl Area {
    /// The column of its middle.
    pub fn middle_x(self) -> usize {
        self.x + self.width / 2
    }

    /// The row of its middle.
    pub fn middle_y(self) -> usize {
        self.y + self.height / 2
    }
}

impl Layout {
    /// Puts the parts together. Strokes come row by row.
    pub fn of(
        flow: Flow,
        (width, height): (usize, usize),
        nodes: Vec<Area>,
        labels: Vec<Option<Spot>>,
        strokes_by_row: Vec<Vec<Stroke>>,
    ) -> Self {
        let mut strokes = Vec::with_capacity(strokes_by_row.iter().map(Vec::len).sum());
        let mut rows = Vec::with_capacity(height);
        for mut row in strokes_by_row {
            row.sort_unstable_by_key(|stroke| stroke.x);
            let start = strokes.len() as u32;
            strokes.extend(row);
            rows.push(start..strokes.len() as u32);
        }
        let mut by_top: Vec<u32> = (0..nodes.len() as u32).collect();
        by_top.sort_by_key(|&node| nodes[node as usize].y);
        let tallest = nodes.iter().map(|area| area.height).max().unwrap_or(0);
        Self {
            flow,
            width,
            height,
            nodes,
            labels,
            strokes,
            rows,
            by_top,
            tallest,
        }
    }

    /// The edge cells of a row within some columns, from left to right.
    pub fn strokes(&self, row: usize, columns: Range<usize>) -> &[Stroke] {
        let Some(row) = self.rows.get(row) else {
            return &[];
        };
        let row = &self.strokes[row.start as usize..row.end as usize];
        let start = row.partition_point(|stroke| (stroke.x as usize) < columns.start);
        let end = row.partition_point(|stroke| (stroke.x as usize) < columns.end);
        &row[start..end.max(start)]
    }

    /// The nodes of which some row lies within some rows.
    pub fn nodes_in(&self, rows: Range<usize>) -> impl Iterator<Item = usize> {
        let top = |&node: &u32| self.nodes[node as usize].y;
        let first = rows.start.saturating_sub(self.tallest);
        let start = self.by_top.partition_point(|node| top(node) < first);
        let end = self.by_top.partition_point(|node| top(node) < rows.end);
        self.by_top[start..end.max(start)]
            .iter()
            .map(|&node| node as usize)
    }
}

/// A graph laid out both ways.
#[derive(Debug, Clone)]
pub struct Arranged {
    down: Result<Layout, TooLarge>,
    right: Result<Layout, TooLarge>,
}

impl Arranged {
    /// Lays a graph out both ways. It takes milliseconds for a thousand steps and longer for wild
    /// ones, so it belongs off the thread that draws.
    pub fn of(shape: &GraphShape, by: &impl Arrange) -> Self {
        Self {
            down: by.arrange(shape, Flow::Down),
            right: by.arrange(shape, Flow::Right),
        }
    }

    /// The layout that shows most in a viewport: one that fits whole, downwards first, else the one
    /// that has to be scrolled in one direction only, else downwards.
    pub fn best_for(&self, width: u16, height: u16) -> Result<&Layout, TooLarge> {
        let (down, right) = match (&self.down, &self.right) {
            (Ok(down), Ok(right)) => (down, right),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => return Ok(one),
            (Err(too_large), Err(_)) => return Err(*too_large),
        };
        let wide = |layout: &Layout| layout.width <= usize::from(width);
        let high = |layout: &Layout| layout.height <= usize::from(height);
        Ok(if wide(down) && high(down) {
            down
        } else if wide(right) && high(right) {
            right
        } else if wide(down) {
            down
        } else if high(right) {
            right
        } else {
            down
        })
    }
}
