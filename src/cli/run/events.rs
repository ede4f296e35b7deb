//! Events out: one JSON object a line (C3), or lines for people.

use std::io::Write as _;

use tokio_util::sync::CancellationToken;

use crate::cli::Format;
use crate::engine::operation::published::{PublicEvent, Published};
use crate::engine::runner::Progress;
use crate::host::session::wording;
use crate::tui::text::Inert;

/// Writes events to stdout. When that fails, nobody reads any more: the run is cancelled.
pub(super) struct Printer {
    format: Format,
    closed: CancellationToken,
}

impl Printer {
    pub(super) fn of(format: Format) -> Self {
        Self {
            format,
            closed: CancellationToken::new(),
        }
    }

    /// Is cancelled when stdout can't be written to.
    pub(super) fn closed(&self) -> &CancellationToken {
        &self.closed
    }
}

impl Progress for Printer {
    fn published(&self, event: &Published) {
        let line = match self.format {
            Format::Json => serde_json::to_string(event).ok(),
            Format::Text => line(&event.event),
        };
        if let Some(mut line) = line {
            line.push('\n');
            let mut out = std::io::stdout().lock();
            if out
                .write_all(line.as_bytes())
                .and_then(|()| out.flush())
                .is_err()
            {
                self.closed.cancel();
            }
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
