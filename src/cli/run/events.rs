//! Events out: one JSON object a line (C3), or lines for people.

use std::io::{self, Write as _};
use std::sync::mpsc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::cli::Format;
use crate::cli::closed::stdout_was_closed;
use crate::engine::operation::published::{PublicEvent, Published};
use crate::engine::runner::Progress;
use crate::host::session::wording;
use crate::tui::text::{Inert, inert_json};

/// Writes events to stdout. When that fails, nobody reads any more: the run is cancelled.
///
/// A thread of its own does the writing: a reader that is slow, or stopped reading, must hold up
/// neither the operation nor a signal.
pub(super) struct Printer {
    format: Format,
    closed: CancellationToken,
    entries: mpsc::Sender<Entry>,
}

/// What the writing thread is given.
enum Entry {
    Line(String),
    /// To be told when everything before is written.
    Mark(oneshot::Sender<()>),
}

impl Printer {
    /// Starts the thread.
    pub(super) fn start(format: Format) -> io::Result<Self> {
        let closed = CancellationToken::new();
        if stdout_was_closed() {
            closed.cancel();
        }
        // Unbounded, as what comes before it: an operation must not wait for a reader.
        let (entries, received) = mpsc::channel();
        let fails = closed.clone();
        std::thread::Builder::new()
            .name("events".into())
            .spawn(move || write(&received, &fails))?;
        Ok(Self {
            format,
            closed,
            entries,
        })
    }

    /// Is cancelled when stdout can't be written to.
    pub(super) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Waits until every event so far is written, or can't be.
    pub(super) async fn printed(&self) {
        let (to, marked) = oneshot::channel();
        // The thread lives as long as this.
        let _ = self.entries.send(Entry::Mark(to));
        let _ = marked.await;
    }
}

impl Progress for Printer {
    fn published(&self, event: &Published) {
        let line = match self.format {
            Format::Json => serde_json::to_string(event).ok().map(inert_json),
            Format::Text => line(&event.event),
        };
        if let Some(mut line) = line {
            line.push('\n');
            let _ = self.entries.send(Entry::Line(line));
        }
    }
}

/// Writes what comes, as much at once as is there.
fn write(received: &mpsc::Receiver<Entry>, closed: &CancellationToken) {
    while let Ok(first) = received.recv() {
        let mut text = String::new();
        let mut marks = Vec::new();
        for entry in std::iter::once(first).chain(received.try_iter()) {
            match entry {
                Entry::Line(line) => text.push_str(&line),
                Entry::Mark(to) => marks.push(to),
            }
        }
        let mut out = io::stdout().lock();
        if !closed.is_cancelled()
            && out
                .write_all(text.as_bytes())
                .and_then(|()| out.flush())
                .is_err()
        {
            closed.cancel();
        }
        for to in marks {
            // Whoever asked may be gone.
            let _ = to.send(());
        }
    }
}

/// An event for people; `None` for what only programs want to know.
fn line(event: &PublicEvent) -> Option<String> {
    let told = wording::told(event)?;
    let words = std::iter::once(told.word).chain(std::iter::repeat(""));
    let lines = words
        .zip(&told.lines)
        .map(|(word, text)| column(word, text));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// One line: the word in its column, and text of which nothing reaches the terminal but text (T8).
fn column(word: &str, text: &str) -> String {
    format!("{word:<9} {}", Inert::one_line(text).as_str())
}
