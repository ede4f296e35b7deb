//! Keeps letters of one frame from staying behind in the next.
//!
//! Some clusters are several letters side by side, in the scripts of India for example. The library
//! takes one for a single wide glyph and thinks it gone once its first cell is overwritten; most
//! terminals have put each letter into a cell of its own, and the others stay. So the cells that such a
//! cluster covered are written again in the frame after.

use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::Position;
use unicode_width::UnicodeWidthChar;

use crate::tui::text::cluster_width;

/// The cells that the last frame covered by clusters of several letters.
#[derive(Debug, Clone, Default)]
pub struct Residue(Vec<Position>);

impl Residue {
    /// Call with each frame's buffer when everything is drawn in it.
    pub fn settle(&mut self, buffer: &mut Buffer) {
        for position in self.0.drain(..) {
            if let Some(cell) = buffer.cell_mut(position)
                && cell.diff_option == CellDiffOption::None
            {
                cell.set_diff_option(CellDiffOption::AlwaysUpdate);
            }
        }
        for (at, cell) in buffer.content.iter().enumerate() {
            let symbol = cell.symbol();
            if symbol.len() > 1 && letters(symbol) > 1 {
                let (x, y) = buffer.pos_of(at);
                let covered = 1..cluster_width(symbol) as u16;
                self.0.extend(covered.map(|more| Position {
                    x: x.saturating_add(more),
                    y,
                }));
            }
        }
    }
}

/// Characters that take cells of their own.
fn letters(cluster: &str) -> usize {
    cluster
        .chars()
        .filter(|char| char.width().is_some_and(|width| width > 0))
        .count()
}
