//! What the screen asks for, as imperatives. Whoever performs them answers with messages.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engine::evidence::Receipt;
use crate::engine::id::{Generation, OperationId, SourceId};
use crate::engine::operation::wait::{Answer, WaitKey};
use crate::tui::state::Ticket;
use crate::tui::state::routine::Origin;

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Read and check a routine. Nothing runs.
    Load(Ticket, Origin),
    /// Start a routine that was loaded.
    Start(Ticket, BTreeMap<String, Value>),
    /// Forget a routine that was loaded.
    Unload(Ticket),
    /// Go on after exactly this pause.
    Confirm(OperationId, Generation, Vec<(WaitKey, Answer)>),
    /// Cancel an operation.
    Cancel(OperationId),
    /// Look an operation up.
    Inspect(OperationId),
    /// List an operation's sources.
    ListSources(OperationId),
    /// Read a source of at most so many bytes.
    Preview(OperationId, SourceId, u64),
    /// Keep a source exactly as it is.
    Archive(OperationId, SourceId),
    /// Give an operation the archive's receipt.
    Acknowledge(OperationId, SourceId, Receipt),
    /// Say something to the chat agent.
    Chat(String),
    /// Select another model.
    ChooseModel(String),
    /// Read the names in a folder, as it was typed.
    ReadFolder(String),
    /// Draw every cell anew.
    Redraw,
    /// Give the terminal back until the process is continued.
    Suspend,
    /// End the program.
    Quit,
}
