//! A long text to read: wrapped only as far as somebody has read, and only once for a width
//! (design decision 10).

use std::cell::RefCell;
use std::ops::Range;

use crate::tui::text::{Inert, Line};

/// A text with the rows that were made of it so far.
#[derive(Debug, Clone)]
pub struct Document {
    text: Inert,
    wrapped: RefCell<Wrapped>,
}

/// Rows for one width.
#[derive(Debug, Clone, Default)]
struct Wrapped {
    width: Option<usize>,
    rows: Vec<Range<usize>>,
    /// Where the next row begins.
    next: usize,
    /// Where the line ends that the next row belongs to.
    line_end: usize,
    finished: bool,
}

impl Document {
    /// A document of a text.
    pub fn of(text: Inert) -> Self {
        Self {
            text,
            wrapped: RefCell::default(),
        }
    }

    /// The text.
    pub fn text(&self) -> &Inert {
        &self.text
    }

    /// Up to `count` rows from the `first` one on, at a width in cells.
    pub fn rows(&self, width: usize, first: usize, count: usize) -> Vec<Line<'_>> {
        let mut wrapped = self.wrapped.borrow_mut();
        wrapped.up_to(&self.text, width, first.saturating_add(count));
        let rows = wrapped.rows.iter().skip(first).take(count);
        rows.map(|row| self.text.part(row.clone())).collect()
    }

    /// The nearest row to `wanted` from which a page of `height` rows is full, or the first one.
    pub fn clamp(&self, width: usize, height: usize, wanted: usize) -> usize {
        let mut wrapped = self.wrapped.borrow_mut();
        wrapped.up_to(&self.text, width, wanted.saturating_add(height));
        wanted.min(wrapped.rows.len().saturating_sub(height))
    }
}

impl Wrapped {
    /// Makes rows until there are `count` or the text ends.
    fn up_to(&mut self, text: &Inert, width: usize, count: usize) {
        if self.width != Some(width) {
            *self = Self {
                width: Some(width),
                ..Self::default()
            };
            self.line_end = end_of_line(text, 0);
            self.finished = width == 0;
        }
        while !self.finished && self.rows.len() < count {
            let line = text.part(self.next..self.line_end);
            let before = line.as_str().len();
            let mut wrap = line.wrap(width);
            let row = wrap.next().map_or(0, |row| row.as_str().len());
            let taken = before - wrap.left();
            self.rows.push(self.next..self.next + row.min(taken));
            self.next += taken;
            if self.next < self.line_end {
                continue;
            }
            if self.line_end == text.as_str().len() {
                self.finished = true;
            } else {
                self.next = self.line_end + 1;
                self.line_end = end_of_line(text, self.next);
            }
        }
    }
}

fn end_of_line(text: &Inert, from: usize) -> usize {
    let rest = &text.as_str()[from..];
    rest.find('\n').map_or(text.as_str().len(), |at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: usize) -> Vec<String> {
        let document = Document::of(Inert::text(text));
        let rows = document.rows(width, 0, 100);
        rows.iter().map(|row| row.as_str().to_owned()).collect()
    }

    #[test]
    fn rows_are_those_of_wrapping_line_by_line() {
        assert_eq!(rows("one two\n\nthree", 4), ["one", "two", "", "thre", "e"]);
        assert_eq!(rows("", 4), [""]);
        assert_eq!(rows("漢字漢", 4), ["漢字", "漢"]);
        assert!(rows("text", 0).is_empty());
    }

    #[test]
    fn a_page_never_starts_behind_the_last_full_one() {
        let document = Document::of(Inert::text("a\nb\nc\nd"));
        assert_eq!(document.clamp(10, 2, 1), 1);
        assert_eq!(document.clamp(10, 2, 99), 2);
        assert_eq!(document.clamp(10, 9, 99), 0);
    }

    /// Row 9: what nobody has read isn't wrapped.
    #[test]
    fn a_huge_line_is_wrapped_only_as_far_as_it_is_read() {
        let document = Document::of(Inert::text(&"x ".repeat(5 << 20)));
        let start = std::time::Instant::now();
        for page in 0..20 {
            assert_eq!(document.rows(80, page * 40, 40).len(), 40);
        }
        assert_eq!(document.wrapped.borrow().rows.len(), 800);
        assert!(start.elapsed().as_millis() < 1_000, "{:?}", start.elapsed());
    }
}
