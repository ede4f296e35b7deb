//! The event log and the chat: the newest lines of each, followed unless somebody scrolled back.

use std::collections::VecDeque;

use crate::engine::id::OperationId;
use crate::tui::text::Inert;

/// Lines that are kept.
const KEPT: usize = 5_000;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The time of day, `HH:MM:SS`.
    pub at: Inert,
    /// Which operation; `None` for what the program says itself.
    pub operation: Option<OperationId>,
    /// What it is about, in a word.
    pub word: Inert,
    /// The text, one line.
    pub text: Inert,
}

/// The event log.
#[derive(Debug, Clone, Default)]
pub struct Log {
    entries: VecDeque<Entry>,
    /// Events that came faster than they could be shown.
    pub dropped: u64,
    /// Lines between the last one and the last visible one; 0 follows.
    pub back: usize,
    /// Lines that came since somebody scrolled back.
    pub unseen: usize,
}

impl Log {
    /// The lines, oldest first.
    pub fn entries(&self) -> &VecDeque<Entry> {
        &self.entries
    }

    /// Adds lines. Whoever scrolled back keeps seeing what they see.
    pub fn add(&mut self, entries: impl IntoIterator<Item = Entry>) {
        for entry in entries {
            self.entries.push_back(entry);
            if self.back > 0 {
                self.back += 1;
                self.unseen += 1;
            }
        }
        let surplus = self.entries.len().saturating_sub(KEPT);
        self.entries.drain(..surplus);
        self.back = self.back.min(self.entries.len().saturating_sub(1));
    }

    /// Scrolls back by some lines.
    pub fn older(&mut self, lines: usize) {
        self.back = (self.back + lines).min(self.entries.len().saturating_sub(1));
    }

    /// Scrolls forward by some lines; at the end the log is followed again.
    pub fn newer(&mut self, lines: usize) {
        self.back = self.back.saturating_sub(lines);
        self.unseen = self.unseen.min(self.back);
    }
}

/// Who says something in the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The person.
    You,
    /// The chat agent.
    Model,
    /// The program: why there is no answer.
    Program,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    /// By whom.
    pub by: Speaker,
    /// What.
    pub text: Inert,
}

/// Whether an answer is being waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answering {
    /// It isn't.
    #[default]
    No,
    /// It is.
    Yes,
}

/// The conversation with the chat agent.
#[derive(Debug, Clone, Default)]
pub struct Chat {
    /// What was said, oldest first.
    pub said: Vec<Utterance>,
    /// Whether an answer is on its way.
    pub answering: Answering,
    /// Rows between the last one and the last visible one; 0 follows.
    pub back: usize,
}

impl Chat {
    /// Somebody says something.
    pub fn say(&mut self, by: Speaker, text: Inert) {
        self.said.push(Utterance { by, text });
        let surplus = self.said.len().saturating_sub(KEPT);
        self.said.drain(..surplus);
        self.back = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: usize) -> Entry {
        Entry {
            at: Inert::ours("12:00:00"),
            operation: None,
            word: Inert::ours("step"),
            text: Inert::one_line(&n.to_string()),
        }
    }

    /// Row 34.
    #[test]
    fn new_lines_dont_move_what_a_reader_sees() {
        let mut log = Log::default();
        log.add((0..10).map(entry));
        log.older(3);
        log.add((10..110).map(entry));
        assert_eq!((log.back, log.unseen), (103, 100));
        log.newer(usize::MAX);
        assert_eq!((log.back, log.unseen), (0, 0));
    }

    #[test]
    fn the_log_keeps_the_newest() {
        let mut log = Log::default();
        log.add((0..KEPT + 7).map(entry));
        assert_eq!(log.entries().len(), KEPT);
        assert_eq!(log.entries()[0].text.as_str(), "7");
    }
}
