//! Raw evidence: what a source is, and what an archive's receipt says of it.
//!
//! The machine names and describes sources; the runner holds their bytes; the host archives them.
//! Nothing here reads or writes bytes.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::engine::digest::Digest;
use crate::engine::id::{ExecutionId, Lap, RunId, SourceId};

/// What a source holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A tool call's arguments, as exact JSON.
    ToolArguments,
    /// A tool call's result, as exact JSON.
    ToolResult,
    /// A model request, byte for byte without its authorization.
    ModelRequest,
    /// A model's response, byte for byte.
    ModelResponse,
    /// What a step ended with: verdict, reasoning, output and handoffs.
    StepBody,
    /// Something that arrived after nobody waited for it any more (V30).
    Late,
}

impl SourceKind {
    /// The word that the screen, the log and the records use.
    pub fn label(self) -> &'static str {
        match self {
            Self::ToolArguments => "tool_arguments",
            Self::ToolResult => "tool_result",
            Self::ModelRequest => "model_request",
            Self::ModelResponse => "model_response",
            Self::StepBody => "step_body",
            Self::Late => "late",
        }
    }
}

/// Where in an operation something belongs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The execution.
    pub execution: ExecutionId,
    /// The step's slug, or a pre or post step's name.
    pub step: String,
    /// The step's lap.
    pub lap: Lap,
}

/// A source without its bytes: what records, observations and inspections carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceHeader {
    /// Its id.
    pub id: SourceId,
    /// What it holds.
    pub kind: SourceKind,
    /// Where it came from; `None` for what belongs to no step.
    pub place: Option<Place>,
    /// The run that it belongs to, if any.
    pub run: Option<RunId>,
    /// A word for people: a tool's name, for example.
    pub label: String,
    /// The digest of its bytes.
    pub sha256: Digest,
    /// Its size.
    pub bytes: u64,
}

/// A source with its bytes, on its way to whoever holds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What it is.
    pub header: SourceHeader,
    /// What it holds.
    pub content: Bytes,
}

/// The archive's immutable reference for a source, once acknowledged (V29).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Where the archive keeps it.
    pub uri: String,
    /// The digest of what is kept; differs from the source's where it was redacted.
    pub sha256: Digest,
    /// The size of what is kept.
    pub bytes: u64,
}
