//! Text from outside, made inert once (T8): nothing of it can move the cursor, colour the screen,
//! hide from the reader or take another number of cells than we count.
//!
//! [`Inert`] is made where foreign text enters the view model; everything that draws takes an
//! [`Inert`] or a [`Line`] of one, so that raw text can't reach a cell by mistake. What happens to what:
//!
//! | in the text | on the screen |
//! |---|---|
//! | CSI, OSC, DCS, APC, PM, SOS, other escapes, their C1 forms | dropped whole; an unterminated string ends with its line |
//! | tab | spaces up to the next stop |
//! | CRLF, a lone CR, LF | a line break; a space in one-line text |
//! | other C0 and DEL | `^@` … `^_`, `^?` |
//! | C1, bidi controls, tags, zero-width and other invisible characters | `\u{202E}` |
//! | variation selectors, joiners between emoji, skin tones | dropped: terminals disagree on their width |
//! | regional indicators (flags) | plain letters, for the same reason |
//! | combining marks | three a cluster; on nothing, on a dotted circle |
//!
//! Widths are those that ratatui counts with, cluster by cluster.
//! Wrapping, cutting and padding never split a cluster. Nothing here knows colours or widgets.

mod clean;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::sync::Arc;

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// Cells between two tab stops.
pub const TAB_STOP: usize = 8;
/// What stands for text that was cut away; one cell wide.
pub const ELLIPSIS: &str = "…";

/// The same JSON, in which whatever could harm a terminal is written as `\u202e`: programs read the
/// same text, and a person who sees it sees all of it. Line breaks between values stay.
pub fn inert_json(json: String) -> String {
    let is_harmful = |char: char| char == '\u{7f}' || clean::is_unseen(char);
    if !json.contains(is_harmful) {
        return json;
    }
    let mut inert = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        if is_harmful(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                // Writing to a string can't fail.
                let _ = write!(inert, "\\u{unit:04x}");
            }
        } else {
            inert.push(char);
        }
    }
    inert
}

/// Text that can be drawn without harm. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inert(Arc<str>);

impl Inert {
    /// Cleans a text of any number of lines. Line breaks stay.
    pub fn text(foreign: &str) -> Self {
        Self(clean::clean(foreign, clean::Breaks::Keep).into())
    }

    /// Cleans a text that is shown in one line: a title, a name, a reason. A line break becomes a space.
    pub fn one_line(foreign: &str) -> Self {
        Self(clean::clean(foreign, clean::Breaks::Space).into())
    }

    /// Cleans bytes; what isn't UTF-8 becomes U+FFFD.
    pub fn bytes(foreign: &[u8]) -> Self {
        Self::text(&String::from_utf8_lossy(foreign))
    }

    /// A word of ours, which needs no cleaning.
    pub fn ours(word: &'static str) -> Self {
        Self(word.into())
    }

    /// The clean text, line breaks included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lines, at least one.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.0.split('\n').map(Line)
    }

    /// A part of one line, in bytes between clusters; nothing where there is no such part.
    pub fn part(&self, part: Range<usize>) -> Line<'_> {
        Line(self.0.get(part).unwrap_or(""))
    }

    /// The first line; the whole text where it was cleaned as one.
    pub fn first_line(&self) -> Line<'_> {
        Line(self.0.split('\n').next().unwrap_or(""))
    }
}

impl fmt::Display for Inert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Inert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// One line of an [`Inert`], or a part of one that begins and ends between clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    /// The line's text.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Its width in cells.
    pub fn width(self) -> usize {
        width(self.0)
    }

    /// The line in at most `cells` cells; what doesn't fit is replaced by an ellipsis.
    pub fn truncate(self, cells: usize) -> Cow<'a, str> {
        if cells == 0 {
            return Cow::Borrowed("");
        }
        let mut used = 0;
        // Where the text has to end if an ellipsis is needed after it.
        let mut room_for_ellipsis = 0;
        for (at, cluster) in self.0.grapheme_indices(true) {
            let next = used + cluster_width(cluster);
            if next > cells {
                return Cow::Owned(format!("{}{ELLIPSIS}", &self.0[..room_for_ellipsis]));
            }
            used = next;
            if used < cells {
                room_for_ellipsis = at + cluster.len();
            }
        }
        Cow::Borrowed(self.0)
    }

    /// The line in exactly `cells` cells, cut or followed by spaces.
    pub fn pad(self, cells: usize) -> String {
        let mut text = self.truncate(cells).into_owned();
        let missing = cells.saturating_sub(width(&text));
        text.extend(std::iter::repeat_n(' ', missing));
        text
    }

    /// The line without its first `cells` cells, for horizontal scrolling. A wide cluster that
    /// straddles the edge is left out.
    pub fn skip(self, cells: usize) -> Line<'a> {
        let mut used = 0;
        for (at, cluster) in self.0.grapheme_indices(true) {
            if used >= cells {
                return Line(&self.0[at..]);
            }
            used += cluster_width(cluster);
        }
        Line("")
    }

    /// The line in rows of at most `cells` cells, broken at spaces where there are any. At least
    /// one row, but none at zero cells. A cluster wider than a row is replaced by an ellipsis.
    pub fn wrap(self, cells: usize) -> Wrap<'a> {
        Wrap {
            rest: (cells > 0).then_some(self.0),
            cells,
        }
    }
}

/// The rows of a wrapped line, made one after the other, so that a caller who shows ten rows of a
/// huge line pays for ten.
#[derive(Debug, Clone)]
pub struct Wrap<'a> {
    rest: Option<&'a str>,
    cells: usize,
}

impl Wrap<'_> {
    /// How many bytes the rows to come are made of.
    pub fn left(&self) -> usize {
        self.rest.map_or(0, str::len)
    }
}

impl<'a> Iterator for Wrap<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.rest?;
        let mut used = 0;
        // After the last space that fits: where a row ends that doesn't break a word.
        let mut word_end = None;
        for (at, cluster) in rest.grapheme_indices(true) {
            let next = used + cluster_width(cluster);
            if next <= self.cells {
                used = next;
                if cluster == " " {
                    word_end = Some(at + 1);
                }
                continue;
            }
            if at == 0 {
                self.rest = Some(&rest[cluster.len()..]).filter(|rest| !rest.is_empty());
                return Some(Line(ELLIPSIS));
            }
            // A space that hangs over the edge ends the row and isn't seen.
            let (row, rest) = match (cluster, word_end) {
                (" ", _) => (&rest[..at], &rest[at + 1..]),
                (_, Some(end)) => (rest[..end].trim_end_matches(' '), &rest[end..]),
                (_, None) => (&rest[..at], &rest[at..]),
            };
            self.rest = Some(rest).filter(|rest| !rest.is_empty());
            return Some(Line(row));
        }
        self.rest = None;
        Some(Line(rest))
    }
}

/// The width of clean text in cells: the sum over its clusters.
pub fn width(clean: &str) -> usize {
    if clean.is_ascii() {
        return clean.len();
    }
    clean.graphemes(true).map(cluster_width).sum()
}

/// The width of one cluster in cells, as ratatui counts it.
pub fn cluster_width(cluster: &str) -> usize {
    usize::from(cluster.cell_width())
}
