//! The command line: keys and pastes in, a submitted text out.
//!
//! | key | does |
//! |---|---|
//! | Enter | submits; within a paste it is a line break |
//! | Alt-Enter | a line break |
//! | Up, Down | another line; from the first or last one through the history, the draft at its end |
//! | Tab, Shift-Tab, Esc | take, choose, close the completion |
//! | Ctrl-C | clears the draft, which Up brings back; without a draft it is the caller's |
//! | Ctrl-D | deletes forward; without a draft it is the caller's |
//! | Ctrl-A E B F P N, W U K Y, Ctrl-Z* | as in a shell; *Ctrl-Z is left to the caller, undo is Ctrl-_ |
//!
//! After a change the caller looks at [`Prompt::before_cursor`] and may [`Prompt::offer`] completions;
//! [`Prompt::due`] says when [`Prompt::tick`] is needed. Pure: time comes with the keys. What a submitted text means is decided elsewhere.

pub mod burst;
pub mod completion;
pub mod editor;
pub mod field;
pub mod history;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::tui::input::burst::{Arrow, Burst, Enter, Wheel};
use crate::tui::input::completion::{Candidate, Popup};
use crate::tui::input::editor::{Deletion, Editor, Motion};
use crate::tui::input::history::History;

/// What came of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing that can be seen.
    Nothing,
    /// The prompt looks different.
    Changed,
    /// The draft was submitted; the prompt is empty now.
    Submitted(String),
    /// The key is not for the prompt.
    NotMine,
}

/// The command line.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    editor: Editor,
    history: History,
    burst: Burst,
    wheel: Wheel,
    /// What stood here before the first arrow of what may be a turned wheel.
    before_arrow: Option<(Editor, History)>,
    popup: Option<Popup>,
}

impl Prompt {
    /// The draft.
    pub fn text(&self) -> &str {
        self.editor.text()
    }

    /// Whether there is no draft.
    pub fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// The text with its cursor, for drawing.
    pub fn editor(&self) -> &Editor {
        &self.editor
    }

    /// The open completion.
    pub fn popup(&self) -> Option<&Popup> {
        self.popup.as_ref()
    }

    /// Replaces the draft, for example by a command that the user picked.
    pub fn set(&mut self, text: &str) {
        self.editor = Editor::holding(text);
        self.changed();
    }

    /// The word that a completion would replace, from the last blank before the cursor on, and its
    /// place in the cursor's line in bytes.
    pub fn word(&self) -> (String, Range<usize>) {
        let (_, byte) = self.editor.cursor();
        let line = self.editor.line();
        let start = line[..byte].rfind(' ').map_or(0, |blank| blank + 1);
        (line[start..byte].to_owned(), start..byte)
    }

    /// What stands in the cursor's line before the cursor.
    pub fn before_cursor(&self) -> &str {
        let (_, byte) = self.editor.cursor();
        &self.editor.line()[..byte]
    }

    /// Offers candidates for the word before the cursor; those that don't fit are left out.
    pub fn offer(&mut self, candidates: Vec<Candidate>) {
        let (word, part) = self.word();
        self.popup = Popup::of(&word, part, candidates);
    }

    /// A paste arrived. It never submits.
    pub fn paste(&mut self, text: &str) -> Reaction {
        self.editor.insert(text);
        self.changed();
        self.burst.other();
        Reaction::Changed
    }

    /// When [`Self::tick`] has to be called.
    pub fn due(&self) -> Option<Instant> {
        self.burst.due()
    }

    /// Time passed: an Enter that was held may submit now.
    pub fn tick(&mut self, now: Instant) -> Reaction {
        match self.burst.settle(now) {
            Some(Enter::Submit) => self.submit(),
            Some(Enter::LineBreak) => self.line_break(),
            Some(Enter::Held) | None => Reaction::Nothing,
        }
    }

    /// A key arrived.
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Reaction {
        match key.kind {
            KeyEventKind::Release => return Reaction::Nothing,
            // A key that is held down may write, but not submit.
            KeyEventKind::Repeat if key.code == KeyCode::Enter => return Reaction::Nothing,
            KeyEventKind::Press | KeyEventKind::Repeat => {}
        }
        // An Enter whose time is over submits before anything else happens.
        if let submitted @ Reaction::Submitted(_) = self.tick(now) {
            let then = self.key(key, now);
            debug_assert!(!matches!(then, Reaction::Submitted(_)));
            return submitted;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            // AltGr arrives as both and writes.
            KeyCode::Char(char) if control == alt => self.character(char, now),
            KeyCode::Enter if alt => {
                self.burst.other();
                self.line_break()
            }
            KeyCode::Enter => match self.burst.enter(now) {
                Enter::Submit => self.submit(),
                Enter::Held => Reaction::Changed,
                Enter::LineBreak => self.line_break(),
            },
            _ => {
                self.burst.other();
                self.command(key, now)
            }
        }
    }

    fn command(&mut self, key: KeyEvent, now: Instant) -> Reaction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, control) {
            (KeyCode::Tab, _) if self.popup.is_some() => self.accept(),
            (KeyCode::BackTab, _) if self.popup.is_some() => self.choose(Popup::next),
            (KeyCode::Esc, _) if self.popup.is_some() => {
                self.popup = None;
                Reaction::Changed
            }
            (KeyCode::Up, false) if self.popup.is_some() => self.choose(Popup::previous),
            (KeyCode::Down, false) if self.popup.is_some() => self.choose(Popup::next),
            (KeyCode::Up, false) => self.arrow(Vertical::Up, now),
            (KeyCode::Down, false) => self.arrow(Vertical::Down, now),
            (KeyCode::Char('p'), true) => self.look(Vertical::Up),
            (KeyCode::Char('n'), true) => self.look(Vertical::Down),
            (KeyCode::Left, true) => self.go(Motion::WordLeft),
            (KeyCode::Right, true) => self.go(Motion::WordRight),
            (KeyCode::Left, false) | (KeyCode::Char('b'), true) => self.go(Motion::Left),
            (KeyCode::Right, false) | (KeyCode::Char('f'), true) => self.go(Motion::Right),
            (KeyCode::Home, _) | (KeyCode::Char('a'), true) => self.go(Motion::LineStart),
            (KeyCode::End, _) | (KeyCode::Char('e'), true) => self.go(Motion::LineEnd),
            (KeyCode::Char('b'), false) => self.go(Motion::WordLeft),
            (KeyCode::Char('f'), false) => self.go(Motion::WordRight),
            (KeyCode::Backspace, false) | (KeyCode::Char('h'), true) => {
                self.delete(Deletion::Before)
            }
            (KeyCode::Backspace, true) | (KeyCode::Char('w'), true) => {
                self.delete(Deletion::WordBefore)
            }
            (KeyCode::Delete, _) => self.delete(Deletion::After),
            (KeyCode::Char('u'), true) => self.delete(Deletion::LineBefore),
            (KeyCode::Char('k'), true) => self.delete(Deletion::LineAfter),
            (KeyCode::Char('y'), true) => self.edit(Editor::yank),
            (KeyCode::Char('_' | '7'), true) => self.edit(Editor::undo),
            (KeyCode::Char('r'), true) => self.edit(Editor::redo),
            (KeyCode::Char('c'), true) if !self.is_empty() => self.put_away(),
            (KeyCode::Char('d'), true) if !self.is_empty() => self.delete(Deletion::After),
            _ => Reaction::NotMine,
        }
    }

    fn character(&mut self, char: char, now: Instant) -> Reaction {
        if self.burst.character(now) == Some(Enter::LineBreak) {
            self.editor.insert("\n");
        }
        self.editor.insert(char.encode_utf8(&mut [0; 4]));
        self.changed();
        Reaction::Changed
    }

    fn line_break(&mut self) -> Reaction {
        self.editor.insert("\n");
        self.changed();
        Reaction::Changed
    }

    fn submit(&mut self) -> Reaction {
        let text = std::mem::take(&mut self.editor).text().to_owned();
        self.popup = None;
        self.before_arrow = None;
        self.history.keep(&text);
        match text.trim().is_empty() {
            true => Reaction::Changed,
            false => Reaction::Submitted(text),
        }
    }

    /// Clears the draft and keeps it where Up finds it.
    fn put_away(&mut self) -> Reaction {
        self.history.keep(self.editor.text());
        self.editor = Editor::default();
        self.changed();
        Reaction::Changed
    }

    fn accept(&mut self) -> Reaction {
        if let Some(popup) = self.popup.take() {
            let text = format!("{} ", popup.accepted());
            self.editor.replace(popup.part.clone(), &text);
            self.changed();
        }
        Reaction::Changed
    }

    fn choose(&mut self, choose: fn(&mut Popup)) -> Reaction {
        if let Some(popup) = &mut self.popup {
            choose(popup);
        }
        Reaction::Changed
    }

    fn go(&mut self, motion: Motion) -> Reaction {
        self.editor.go(motion);
        self.popup = None;
        Reaction::Changed
    }

    fn delete(&mut self, deletion: Deletion) -> Reaction {
        self.edit(|editor| editor.delete(deletion))
    }

    fn edit(&mut self, edit: impl FnOnce(&mut Editor)) -> Reaction {
        edit(&mut self.editor);
        self.changed();
        Reaction::Changed
    }

    fn changed(&mut self) {
        self.history.edited();
        self.before_arrow = None;
        self.popup = None;
    }

    fn arrow(&mut self, vertical: Vertical, now: Instant) -> Reaction {
        if self.wheel.arrow(now) == Arrow::Wheel {
            // The first arrow was none either: what it did is undone.
            return match self.before_arrow.take() {
                Some((editor, history)) => {
                    (self.editor, self.history) = (editor, history);
                    Reaction::Changed
                }
                None => Reaction::Nothing,
            };
        }
        self.before_arrow = Some((self.editor.clone(), self.history.clone()));
        let (row, _) = self.editor.cursor();
        let last = self.editor.lines().count() - 1;
        match vertical {
            Vertical::Up if row > 0 => self.editor.go(Motion::Up),
            Vertical::Down if row < last => self.editor.go(Motion::Down),
            Vertical::Up | Vertical::Down => return self.look(vertical),
        }
        Reaction::Changed
    }

    fn look(&mut self, vertical: Vertical) -> Reaction {
        let found = match vertical {
            Vertical::Up => self.history.older(self.editor.text()).map(str::to_owned),
            Vertical::Down => self.history.newer(),
        };
        match found {
            Some(text) => {
                self.editor = Editor::holding(&text);
                self.popup = None;
                Reaction::Changed
            }
            None => Reaction::Nothing,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Vertical {
    Up,
    Down,
}
