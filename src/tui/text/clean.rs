//! The scanner behind [`crate::tui::text::Inert`]: one pass over foreign text, one clean text out.
//!
//! It decides what is dropped, expanded or made visible. It knows nothing of rows and columns but
//! what tab stops need.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use unicode_width::UnicodeWidthChar;

use crate::tui::text::{TAB_STOP, width};

/// Marks that one cluster keeps. Every script gets by with this; a tower of hundreds doesn't.
const MARKS: usize = 3;
const ESCAPE: char = '\u{1b}';
/// C1: control sequence introducer.
const CSI: char = '\u{9b}';
/// C1: string terminator.
const ST: char = '\u{9c}';

/// What becomes of line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui::text) enum Breaks {
    /// They stay.
    Keep,
    /// They become a space.
    Space,
}

/// Cleans a text.
pub(in crate::tui::text) fn clean(foreign: &str, breaks: Breaks) -> String {
    // Most text is plain; it is copied as it is.
    if foreign.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return foreign.to_owned();
    }
    let mut scanner = Scanner {
        input: foreign.chars().peekable(),
        output: String::with_capacity(foreign.len()),
        measured: 0,
        column: 0,
        base: None,
        marks: 0,
        escape_again: false,
    };
    while let Some(char) = scanner.next() {
        scanner.take(char, breaks);
    }
    scanner.output
}

struct Scanner<'a> {
    input: Peekable<Chars<'a>>,
    output: String,
    /// How much of the output is counted in `column`.
    measured: usize,
    /// Cells of the current line up to `measured`.
    column: usize,
    /// The character that marks would sit on, if there is one in this line.
    base: Option<char>,
    /// Marks that it has.
    marks: usize,
    /// An ESC that ended a string and begins the next sequence. Handed back here and not by
    /// recursion: a text of nothing but string starts must not exhaust the stack.
    escape_again: bool,
}

impl Scanner<'_> {
    fn next(&mut self) -> Option<char> {
        if std::mem::take(&mut self.escape_again) {
            return Some(ESCAPE);
        }
        self.input.next()
    }

    fn take(&mut self, char: char, breaks: Breaks) {
        match char {
            ESCAPE => self.escape(),
            CSI => self.control_sequence(),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.control_string(),
            '\r' => {
                self.input.next_if_eq(&'\n');
                self.line_break(breaks);
            }
            '\n' => self.line_break(breaks),
            '\t' => self.tab(),
            '\0'..='\u{1f}' => self.caret(char::from(char as u8 + b'@')),
            '\u{7f}' => self.caret('?'),
            '\u{fe0e}' | '\u{fe0f}' if self.base.is_some_and(|base| !is_selector(base)) => {
                self.base = Some(char);
            }
            '\u{200c}' | '\u{200d}' => self.joiner(char),
            '\u{1f3fb}'..='\u{1f3ff}' if self.base.is_some_and(is_pictograph) => {}
            '\u{1f1e6}'..='\u{1f1ff}' => {
                self.letter(char::from(b'A' + (char as u32 - 0x1f1e6) as u8));
            }
            _ if is_unseen(char) => self.notation(char),
            _ if char.width() == Some(0) && !is_conjoining(char) => self.mark(char),
            _ => self.letter(char),
        }
    }

    fn letter(&mut self, char: char) {
        self.output.push(char);
        self.base = Some(char);
        self.marks = 0;
    }

    fn caret(&mut self, char: char) {
        self.letter('^');
        self.letter(char);
    }

    /// An unseen character by its number.
    fn notation(&mut self, char: char) {
        // Writing to a string can't fail.
        let _ = write!(self.output, "\\u{{{:X}}}", char as u32);
        self.base = Some('}');
        self.marks = 0;
    }

    fn mark(&mut self, char: char) {
        if self.base.is_none() {
            self.letter('\u{25cc}');
        }
        if self.marks < MARKS {
            self.output.push(char);
            self.marks += 1;
        }
    }

    /// Joiners shape the letters of some scripts; between emoji they merge pictures where the
    /// terminal can; anywhere else they only hide.
    fn joiner(&mut self, char: char) {
        match self.base {
            Some(base) if is_pictograph(base) || is_selector(base) => {}
            Some(base) if is_shaped(base) => self.mark(char),
            _ => self.notation(char),
        }
    }

    fn line_break(&mut self, breaks: Breaks) {
        match breaks {
            Breaks::Keep => {
                self.output.push('\n');
                self.base = None;
                self.marks = 0;
                self.measured = self.output.len();
                self.column = 0;
            }
            Breaks::Space => self.letter(' '),
        }
    }

    fn tab(&mut self) {
        self.column += width(&self.output[self.measured..]);
        let spaces = TAB_STOP - self.column % TAB_STOP;
        self.output.extend(std::iter::repeat_n(' ', spaces));
        self.column += spaces;
        self.measured = self.output.len();
        self.base = Some(' ');
        self.marks = 0;
    }

    /// What follows an ESC.
    fn escape(&mut self) {
        match self.input.peek() {
            Some('[') => {
                self.input.next();
                self.control_sequence();
            }
            Some(']' | 'P' | 'X' | '^' | '_') => {
                self.input.next();
                self.control_string();
            }
            Some('\u{20}'..='\u{7e}') => {
                while self
                    .input
                    .next_if(|c| ('\u{20}'..='\u{2f}').contains(c))
                    .is_some()
                {}
                self.input.next_if(|c| ('\u{30}'..='\u{7e}').contains(c));
            }
            _ => self.caret('['),
        }
    }

    /// Parameters, intermediates and the final byte of a CSI. What doesn't fit isn't part of it.
    fn control_sequence(&mut self) {
        while self
            .input
            .next_if(|c| ('\u{30}'..='\u{3f}').contains(c))
            .is_some()
        {}
        while self
            .input
            .next_if(|c| ('\u{20}'..='\u{2f}').contains(c))
            .is_some()
        {}
        self.input.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
    }

    /// The payload of an OSC, DCS, APC, PM or SOS. It ends with its terminator, or, where that is
    /// missing, with the line: one stray byte must not hide the rest of a file.
    fn control_string(&mut self) {
        while let Some(char) = self.input.next_if(|c| !matches!(c, '\n' | '\r')) {
            match char {
                '\u{7}' | '\u{18}' | '\u{1a}' | ST => return,
                // ESC ends the string; with a backslash it is the terminator, else a new sequence.
                ESCAPE => {
                    self.escape_again = self.input.next_if_eq(&'\\').is_none();
                    return;
                }
                _ => {}
            }
        }
    }
}

fn is_selector(char: char) -> bool {
    matches!(char, '\u{fe00}'..='\u{fe0f}')
}

/// Characters that joiners and skin tones combine into one picture.
fn is_pictograph(char: char) -> bool {
    matches!(char, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Letters of scripts that are written with joiners: from Arabic to the scripts of India and beyond.
fn is_shaped(char: char) -> bool {
    matches!(char, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}')
}

/// Vowels and finals of Hangul syllables: no width of their own, but no marks either.
fn is_conjoining(char: char) -> bool {
    matches!(char, '\u{1161}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7fb}')
}

/// Characters that show nothing or change how others are shown.
pub(in crate::tui::text) fn is_unseen(char: char) -> bool {
    matches!(char,
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}
