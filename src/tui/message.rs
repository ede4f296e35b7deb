//! What the terminal and the session tell the screen, as past participles; times come along.

use std::time::Instant;

use crossterm::event::KeyEvent;

use crate::engine::evidence::Receipt;
use crate::engine::id::{OperationId, SourceId};
use crate::engine::operation::view::OperationView;
use crate::host::session::types::{Inspected, Rest, SourceRow};
use crate::tui::state::Ticket;
use crate::tui::state::log::Entry;
use crate::tui::state::notice::Trouble;
use crate::tui::state::routine::LoadedRoutine;
use crate::tui::text::Inert;

/// Something happened.
#[derive(Debug, Clone)]
pub enum Message {
    /// A key was pressed, repeated or released.
    Key(KeyEvent, Instant),
    /// Text was pasted.
    Pasted(String, Instant),
    /// The terminal has another size now.
    Resized(u16, u16),
    /// Time passed that somebody waited for.
    Ticked(Instant),
    /// The session was opened, or another model selected.
    ModelSelected(Inert),
    /// Another model wasn't selected, or something else went wrong.
    Failed(Trouble),
    /// A routine was read and checked.
    Loaded(Ticket, Result<Box<LoadedRoutine>, Trouble>),
    /// A routine was started, or refused.
    Started(Ticket, Result<OperationId, Trouble>, Instant),
    /// An operation came to rest.
    Rested(OperationId, Rest, Instant),
    /// A confirmation was refused.
    ConfirmRefused(OperationId, Trouble),
    /// A cancellation came to its end; `None` where the operation isn't held any more.
    Cancelled(OperationId, Option<Rest>, Instant),
    /// An operation looks different.
    Viewed(Box<OperationView>),
    /// Lines for the log, and how many events came too fast for it.
    Logged(Vec<Entry>, u64),
    /// An operation was inspected.
    Inspected(OperationId, Option<Inspected>),
    /// An operation's sources were listed.
    Listed(OperationId, Result<Vec<SourceRow>, Trouble>),
    /// A source was read, or is too large for the allowance.
    Previewed(SourceId, Result<Previewed, Trouble>),
    /// The archive took a source, or not.
    Archived(OperationId, SourceId, Result<Receipt, Trouble>),
    /// An operation took a receipt, or not.
    Acknowledged(OperationId, Result<(), Trouble>),
    /// The chat agent answered, or not.
    Answered(Result<Inert, Trouble>),
    /// The names in a folder were read, for completing a path that begins with it.
    FolderRead {
        /// The folder as it was typed, with its slash.
        typed: String,
        /// The names; folders end in a slash.
        names: Vec<String>,
    },
}

/// What came of a preview.
#[derive(Debug, Clone)]
pub enum Previewed {
    /// The content.
    Content(Inert),
    /// The true size; nothing was read.
    TooLarge(u64),
}
