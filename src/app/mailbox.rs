//! Views and events on their way to the screen.
//!
//! Operations publish as fast as they run; the screen looks once a frame. Of an operation's views only
//! the latest is kept, of events only so many, and how many came too fast is counted and shown. So a
//! flood costs neither memory nor an answered key (Q3).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::engine::id::OperationId;
use crate::engine::operation::published::Published;
use crate::engine::operation::view::OperationView;
use crate::engine::runner::Progress;
use crate::host::session::wording;
use crate::tui::message::Message;
use crate::tui::state::log::Entry;
use crate::tui::text::Inert;

/// Lines that are kept between two frames; more than any terminal shows.
const KEPT: usize = 1_000;
/// Characters of a line that are kept.
const LINE: usize = 400;

/// What waits for the next frame.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    contents: Mutex<Contents>,
    /// Somebody put something in.
    pub(super) filled: Notify,
}

#[derive(Debug, Default)]
struct Contents {
    views: BTreeMap<OperationId, OperationView>,
    entries: VecDeque<Entry>,
    dropped: u64,
}

impl Mailbox {
    /// An operation looks different.
    pub(super) fn view(&self, view: OperationView) {
        self.contents().views.insert(view.operation.clone(), view);
        self.filled.notify_one();
    }

    /// A part of the program panicked and went on.
    pub(super) fn fault(&self, text: &str) {
        self.add([entry("", None, "error", text)]);
    }

    /// Takes everything out, as messages for the screen.
    pub(super) fn take(&self) -> Vec<Message> {
        let Contents {
            views,
            entries,
            dropped,
        } = std::mem::take(&mut *self.contents());
        let views = views.into_values();
        let mut messages: Vec<Message> =
            views.map(|view| Message::Viewed(Box::new(view))).collect();
        if !entries.is_empty() || dropped > 0 {
            messages.push(Message::Logged(entries.into(), dropped));
        }
        messages
    }

    fn add(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut contents = self.contents();
        for entry in entries {
            if contents.entries.len() == KEPT {
                contents.entries.pop_front();
                contents.dropped += 1;
            }
            contents.entries.push_back(entry);
        }
        drop(contents);
        self.filled.notify_one();
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        // Each change under the lock is whole by itself.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Mailbox {
    fn published(&self, event: &Published) {
        let Some(told) = wording::told(&event.event) else {
            return;
        };
        let words = std::iter::once(told.word).chain(std::iter::repeat(""));
        let lines = words.zip(&told.lines);
        self.add(lines.map(|(word, text)| entry(&event.at, Some(&event.operation), word, text)));
    }
}

fn entry(at: &str, operation: Option<&OperationId>, word: &str, text: &str) -> Entry {
    let short = match text.char_indices().nth(LINE) {
        Some((end, _)) => &text[..end],
        None => text,
    };
    Entry {
        // RFC 3339: the time of day stands behind the date.
        at: Inert::one_line(at.get(11..19).unwrap_or("        ")),
        operation: operation.cloned(),
        word: Inert::one_line(word),
        text: Inert::one_line(short),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::id::Generation;
    use crate::engine::operation::published::PublicEvent;

    fn event(seq: u64) -> Published {
        Published {
            seq,
            at: "2026-11-30T12:34:56.789Z".into(),
            operation: "op-1".into(),
            event: PublicEvent::OperationResumed {
                generation: Generation(seq),
            },
        }
    }

    /// Q3, row 10.
    #[test]
    fn a_flood_is_kept_short_and_counted() {
        let mailbox = Mailbox::default();
        for seq in 0..50_000 {
            mailbox.published(&event(seq));
        }
        let messages = mailbox.take();
        let [Message::Logged(entries, dropped)] = messages.as_slice() else {
            panic!("{messages:?}");
        };
        assert_eq!((entries.len(), *dropped), (KEPT, 49_000));
        assert_eq!(entries[0].at.as_str(), "12:34:56");
        assert!(entries[KEPT - 1].text.as_str().contains("49999"));
        assert!(mailbox.take().is_empty());
    }
}
