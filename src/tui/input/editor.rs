//! A text with a cursor that always stands between clusters.
//!
//! The ready-made editors edit by `char`: one Backspace would take the accent off a letter or one
//! person out of a family, and where a character has no width their cursor loses its place. The text is
//! kept exactly as it was typed or pasted; only what is drawn is made inert.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::text::{Inert, TAB_STOP, width};

/// Changes that can be taken back.
const UNDONE: usize = 100;

/// A text with a cursor and an undo history.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    now: Moment,
    past: Vec<Moment>,
    future: Vec<Moment>,
    typing: Typing,
    killed: String,
}

/// What undo goes back to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Moment {
    text: String,
    /// In bytes, between clusters.
    cursor: usize,
}

/// Whether the last change was a typed character. A word that was typed is taken back in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Typing {
    #[default]
    No,
    Word,
}

/// A way to move the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// One cluster to the left, over line ends.
    Left,
    /// One cluster to the right, over line ends.
    Right,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// To the beginning of the previous word.
    WordLeft,
    /// To the beginning of the next word.
    WordRight,
    /// To the beginning of the line.
    LineStart,
    /// To the end of the line.
    LineEnd,
    /// To the end of the text.
    TextEnd,
}

/// What to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// The cluster before the cursor, or the line break.
    Before,
    /// The cluster after the cursor, or the line break.
    After,
    /// The word before the cursor.
    WordBefore,
    /// From the beginning of the line to the cursor.
    LineBefore,
    /// From the cursor to the end of the line.
    LineAfter,
}

impl Editor {
    /// An editor that holds a text, with the cursor at its end and nothing to undo.
    pub fn holding(text: &str) -> Self {
        Self {
            now: Moment {
                text: text.to_owned(),
                cursor: text.len(),
            },
            ..Self::default()
        }
    }

    /// The text, lines joined by line feeds.
    pub fn text(&self) -> &str {
        &self.now.text
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.now.text.is_empty()
    }

    /// The lines, at least one.
    pub fn lines(&self) -> impl Iterator<Item = &str> + Clone {
        self.now.text.split('\n')
    }

    /// The cursor's line.
    pub fn line(&self) -> &str {
        &self.now.text[self.line_start()..self.line_end()]
    }

    /// The number of the cursor's line, and the cursor's place in that line in bytes.
    pub fn cursor(&self) -> (usize, usize) {
        let row = self.before().matches('\n').count();
        (row, self.now.cursor - self.line_start())
    }

    /// Inserts a text at the cursor; CRLF and CR become line breaks.
    pub fn insert(&mut self, text: &str) {
        let mut chars = text.chars();
        let typed =
            matches!((chars.next(), chars.next()), (Some(char), None) if !char.is_whitespace());
        match (self.typing, typed) {
            (Typing::Word, true) => self.future.clear(),
            _ => self.remember(),
        }
        self.typing = if typed { Typing::Word } else { Typing::No };
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.now.text.insert_str(self.now.cursor, &text);
        // What was inserted may have joined what follows: the cursor goes behind it.
        self.now.cursor = boundary(&self.now.text, self.now.cursor + text.len());
    }

    /// Moves the cursor.
    pub fn go(&mut self, motion: Motion) {
        self.typing = Typing::No;
        self.now.cursor = match motion {
            Motion::Left => self.now.cursor - self.cluster_before(),
            Motion::Right => self.now.cursor + self.cluster_after(),
            Motion::Up => self.in_line(Neighbour::Above),
            Motion::Down => self.in_line(Neighbour::Below),
            Motion::WordLeft => self.word_left(),
            Motion::WordRight => self.word_right(),
            Motion::LineStart => self.line_start(),
            Motion::LineEnd => self.line_end(),
            Motion::TextEnd => self.now.text.len(),
        };
    }

    /// Deletes something.
    pub fn delete(&mut self, deletion: Deletion) {
        let cursor = self.now.cursor;
        let part = match deletion {
            Deletion::Before => cursor - self.cluster_before()..cursor,
            Deletion::After => cursor..cursor + self.cluster_after(),
            Deletion::WordBefore => self.word_left()..cursor,
            Deletion::LineBefore => self.line_start()..cursor,
            Deletion::LineAfter => cursor..self.line_end(),
        };
        match deletion {
            Deletion::Before | Deletion::After => {}
            Deletion::WordBefore | Deletion::LineBefore | Deletion::LineAfter => {
                self.killed = self.now.text[part.clone()].to_owned();
            }
        }
        self.splice(part, "");
    }

    /// Inserts what was deleted last by a word or a line.
    pub fn yank(&mut self) {
        let cursor = self.now.cursor;
        let killed = self.killed.clone();
        self.splice(cursor..cursor, &killed);
    }

    /// Takes the last change back.
    pub fn undo(&mut self) {
        self.typing = Typing::No;
        if let Some(before) = self.past.pop() {
            self.future.push(std::mem::replace(&mut self.now, before));
        }
    }

    /// Makes the last change that was taken back again.
    pub fn redo(&mut self) {
        self.typing = Typing::No;
        if let Some(after) = self.future.pop() {
            self.past.push(std::mem::replace(&mut self.now, after));
        }
    }

    /// Replaces a part of the cursor's line, given in bytes between clusters, as one change.
    pub fn replace(&mut self, part: Range<usize>, text: &str) {
        let start = self.line_start();
        self.splice(start + part.start..start + part.end, text);
    }

    fn splice(&mut self, part: Range<usize>, text: &str) {
        if part.is_empty() && text.is_empty() {
            return;
        }
        self.remember();
        self.typing = Typing::No;
        self.now.text.replace_range(part.clone(), text);
        self.now.cursor = boundary(&self.now.text, part.start + text.len());
    }

    fn remember(&mut self) {
        self.future.clear();
        self.past.push(self.now.clone());
        let surplus = self.past.len().saturating_sub(UNDONE);
        self.past.drain(..surplus);
    }

    fn before(&self) -> &str {
        &self.now.text[..self.now.cursor]
    }

    fn after(&self) -> &str {
        &self.now.text[self.now.cursor..]
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.after()
            .find('\n')
            .map_or(self.now.text.len(), |at| self.now.cursor + at)
    }

    /// Bytes of the cluster before the cursor; a line break is one.
    fn cluster_before(&self) -> usize {
        self.before()
            .graphemes(true)
            .next_back()
            .map_or(0, str::len)
    }

    /// Bytes of the cluster after the cursor; a line break is one.
    fn cluster_after(&self) -> usize {
        self.after().graphemes(true).next().map_or(0, str::len)
    }

    fn word_left(&self) -> usize {
        let mut words = self.before().split_word_bound_indices();
        let word = words.rfind(|(_, word)| !word.trim().is_empty());
        word.map_or(0, |(at, _)| at)
    }

    fn word_right(&self) -> usize {
        let mut words = self.after().split_word_bound_indices().skip(1);
        let word = words.find(|(_, word)| !word.trim().is_empty());
        word.map_or(self.now.text.len(), |(at, _)| self.now.cursor + at)
    }

    /// The place in the line above or below that is nearest to the cursor's column.
    fn in_line(&self, neighbour: Neighbour) -> usize {
        let column = shown(&self.now.text[self.line_start()..self.now.cursor])
            .first_line()
            .width();
        let start = match neighbour {
            Neighbour::Above if self.line_start() == 0 => return self.now.cursor,
            Neighbour::Above => {
                let above = &self.now.text[..self.line_start() - 1];
                above.rfind('\n').map_or(0, |at| at + 1)
            }
            Neighbour::Below if self.line_end() == self.now.text.len() => return self.now.cursor,
            Neighbour::Below => self.line_end() + 1,
        };
        let line = self.now.text[start..].split('\n').next().unwrap_or("");
        let mut place = start;
        for (at, cluster) in line.grapheme_indices(true) {
            let end = at + cluster.len();
            if shown(&line[..end]).first_line().width() > column {
                break;
            }
            place = start + end;
        }
        place
    }

    /// Draws the text, as [`draw`] does.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer, style: Style) -> Option<Position> {
        draw(self.lines(), self.cursor(), area, buffer, style)
    }
}

#[derive(Debug, Clone, Copy)]
enum Neighbour {
    Above,
    Below,
}

/// Draws the lines of a text, scrolled so that the cursor is seen (its row, and its byte in that row),
/// and gives the cell where the terminal's own cursor belongs. Input methods show their candidates there.
pub fn draw<'a>(
    lines: impl Iterator<Item = &'a str> + Clone,
    (row, byte): (usize, usize),
    area: Rect,
    buffer: &mut Buffer,
    style: Style,
) -> Option<Position> {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return None;
    }
    let first = (row + 1).saturating_sub(usize::from(area.height));
    let before = lines.clone().nth(row).and_then(|line| line.get(..byte))?;
    // Cleaning and measuring cluster by cluster keeps the cursor exact whatever is in the line.
    let column = shown(before).first_line().width();
    let hidden = (column + 1).saturating_sub(usize::from(area.width));
    for (y, line) in (area.y..area.bottom()).zip(lines.skip(first)) {
        let line = shown(line);
        let seen = line.first_line().skip(hidden);
        // A wide cluster cut by the left edge leaves a gap.
        let cut = line.first_line().width().saturating_sub(hidden);
        let gap = cut.saturating_sub(seen.width()) as u16;
        let x = area.x.saturating_add(gap);
        if x < area.right() {
            buffer.set_stringn(x, y, seen.as_str(), usize::from(area.right() - x), style);
        }
    }
    Some(Position {
        x: area.x + (column - hidden) as u16,
        y: area.y + (row - first) as u16,
    })
}

/// The first place between clusters from a byte on.
fn boundary(text: &str, byte: usize) -> usize {
    if byte == text.len() {
        return byte;
    }
    // Clusters don't reach over line breaks, so looking at one line is enough.
    let start = text[..byte].rfind('\n').map_or(0, |at| at + 1);
    let ends = text[start..]
        .grapheme_indices(true)
        .map(|(at, cluster)| start + at + cluster.len());
    match byte == start {
        true => byte,
        false => ends
            .into_iter()
            .find(|&end| end >= byte)
            .unwrap_or(text.len()),
    }
}

/// A line as it is drawn. Each cluster is cleaned for itself: an escape character is shown and doesn't
/// swallow what was typed after it.
fn shown(line: &str) -> Inert {
    if line.is_ascii() && !line.bytes().any(|byte| byte.is_ascii_control()) {
        return Inert::one_line(line);
    }
    let mut clean = String::with_capacity(line.len());
    let mut column = 0;
    for cluster in line.graphemes(true) {
        let cluster = match cluster {
            // A tab takes what is left of its column, counted from the beginning of the line.
            "\t" => " ".repeat(TAB_STOP - column % TAB_STOP),
            cluster => Inert::one_line(cluster).as_str().to_owned(),
        };
        column += width(&cluster);
        clean.push_str(&cluster);
    }
    Inert::one_line(&clean)
}
