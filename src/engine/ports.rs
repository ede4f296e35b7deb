//! What a host supplies: the only ways in which the engine touches the world.
//!
//! Every port may fail, panic or never answer; the runner isolates each call in a task of its own
//! and reads what it can't tell as *uncertain*.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::engine::capability::Capability;
use crate::engine::evidence::{Place, Source, SourceHeader};
use crate::engine::id::{Generation, OperationId, RunId, SourceId};
use crate::engine::routine::definition::{Check, ModelRole, ReasoningEffort};
use crate::engine::verify::{Attestation, Decision, Observation};

/// A model that was resolved for an agent: never a role alone, always exact.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResolvedModel {
    /// The provider's name.
    pub provider: String,
    /// The provider's name of the model; may hold slashes.
    pub model: String,
    /// The role that it was resolved from, if any.
    pub role: Option<ModelRole>,
    /// The dated table that resolved it, if one did.
    pub policy_version: Option<String>,
}

impl std::fmt::Display for ResolvedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// One request to a model: everything it will see (G18).
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// Which model.
    pub model: ResolvedModel,
    /// Agent instructions, then routine instructions.
    pub system: String,
    /// The conversation, the user message first.
    pub messages: Vec<Arc<Message>>,
    /// What it may call.
    pub tools: Arc<[OfferedTool]>,
    /// Whether it must call one tool.
    pub tool_choice: ToolChoice,
    /// How hard it should think.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Limit of the answer, in tokens.
    pub max_output_tokens: Option<u32>,
}

/// A tool as a model sees it: without its contract (L7).
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// The name it is called by.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Value,
}

/// Whether a model must call a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// This tool, where the provider can force one (G4).
    Forced(String),
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the host says.
    User(String),
    /// What the model said, with its calls.
    Assistant {
        /// Its text, if any.
        text: Option<String>,
        /// Its calls, in order.
        calls: Vec<ToolCall>,
    },
    /// What came of a call.
    ToolResult {
        /// The call's id.
        call: String,
        /// The tool's name.
        tool: String,
        /// Exact text for the model.
        content: String,
    },
}

/// A typed tool call. Text that looks like one is none (G4).
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's id, or one that the adapter made up.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the provider gave them.
    pub arguments: CallArguments,
}

/// A call's arguments, parsed or not; what doesn't parse is never guessed (M3).
#[derive(Debug, Clone, PartialEq)]
pub enum CallArguments {
    /// JSON.
    Json(Value),
    /// Something else, as it came.
    Malformed(String),
}

/// What came of a model request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// What happened.
    pub outcome: ModelOutcome,
    /// The request body, byte for byte, without its authorization.
    pub request: Bytes,
    /// The response body, byte for byte, as far as it came.
    pub response: Bytes,
}

/// What happened to a model request (G3, M2, M3).
#[derive(Debug, Clone, PartialEq)]
pub enum ModelOutcome {
    /// A readable answer came.
    Answered(ModelAnswer),
    /// The provider provably didn't take it, also after the allowed re-sends.
    NotTaken {
        /// Why, for people, with what to do about it.
        reason: String,
    },
    /// It was sent and nobody can say what became of it.
    NoAnswer {
        /// Why, for people.
        reason: String,
    },
    /// An answer came that can't be read.
    Unreadable {
        /// Why, for people.
        reason: String,
    },
    /// It was asked to stop and did.
    Stopped,
}

/// A readable answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// The text, if any.
    pub text: Option<String>,
    /// The typed calls, in order.
    pub calls: Vec<ToolCall>,
    /// How the answer ended.
    pub finish: Finish,
    /// What it cost.
    pub usage: TokenUsage,
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// By itself.
    Complete,
    /// Cut by its token limit: never acted on (M3).
    CutOff,
    /// Refused, or stopped by a content filter.
    Refused {
        /// The provider's words.
        reason: String,
    },
}

/// Tokens that a provider counted; zero where it said nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// Lets a model adapter say that a request goes out now.
pub trait Sending: Send + Sync {
    /// Called right before the `n`-th send of one request, from 1 (M2).
    fn goes_out(&self, n: u32);
}

/// What a model call is bound to.
#[derive(Clone)]
pub struct ModelContext {
    /// The operation.
    pub operation: OperationId,
    /// The run.
    pub run: RunId,
    /// Ends the call.
    pub cancellation: CancellationToken,
    /// Milliseconds until a deadline that a re-send must not pass; `None` is none (M2).
    pub remaining_ms: Option<u64>,
    /// Must be told of every send.
    pub sending: Arc<dyn Sending>,
}

/// The models of all providers that the host has.
pub trait Models: Send + Sync {
    /// Sends one request, again only where the provider provably didn't take it (M2). Answers
    /// `Stopped` soon after the cancellation. Never follows a redirect.
    fn call(&self, request: ModelRequest, context: ModelContext) -> BoxFuture<'static, ModelReply>;
}

/// What a tool call is bound to.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The operation.
    pub operation: OperationId,
    /// Where in the operation.
    pub place: Place,
    /// How many resumes were admitted.
    pub generation: Generation,
    /// Time limit in milliseconds. The tool ends its own work then; the runner enforces it besides.
    pub timeout_ms: u64,
    /// Ends the call.
    pub cancellation: CancellationToken,
}

/// What came of a tool call (C3).
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    /// It settled. `success: false` inside is the caller's to judge (V15).
    Done(Value),
    /// It couldn't be done, and nothing was.
    Failed {
        /// Why, for a model and for people.
        reason: String,
    },
    /// It will be delivered later, under this key (V11).
    Pending {
        /// Names the delivery.
        delivery: String,
    },
    /// It passed its time limit.
    TimedOut,
    /// It wrote more than is kept; what was captured stands, marked as such (M7).
    OutputLimit(Value),
    /// Nobody can say what became of it.
    Unknown {
        /// Why, for people.
        reason: String,
    },
}

/// The host's tools.
pub trait Toolbox: Send + Sync {
    /// Every tool there is, once, sorted by name. Does not change while the runner lives.
    fn capabilities(&self) -> Vec<Capability>;

    /// Whether the call may be made now (M6). Must not ask a person and not act.
    fn permission(&self, operation: &OperationId, tool: &str, args: &Value) -> Permission;

    /// Makes the call.
    fn call(
        &self,
        tool: &str,
        args: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, ToolOutcome>;
}

/// The host's answer to whether a call may be made (M6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "permission", rename_all = "snake_case")]
pub enum Permission {
    /// It may.
    Allow,
    /// A person has to say.
    Ask {
        /// The question's reason, for people.
        reason: String,
    },
    /// It may not.
    Deny {
        /// Why, for the model and for people.
        reason: String,
    },
    /// It could only fail, so nobody is asked and nothing is dispatched: it has failed (M7).
    Futile {
        /// Why, for the model and for people.
        reason: String,
    },
}

/// What a verifier is asked.
#[derive(Debug, Clone)]
pub struct VerifyRequest {
    /// What is judged.
    pub observation: Observation,
    /// The checks that the definition names; empty where it names none.
    pub checks: Vec<Check>,
    /// What persons said of this lap's manual checks.
    pub attestations: Vec<Attestation>,
}

/// What a verification is bound to (V2).
#[derive(Clone)]
pub struct VerifyContext {
    /// The operation.
    pub operation: OperationId,
    /// Where in the operation; `None` for the final verification.
    pub place: Option<Place>,
    /// How many resumes were admitted.
    pub generation: Generation,
    /// Ends the look; covers every deadline around it.
    pub cancellation: CancellationToken,
    /// Counts model calls that a helper makes. Calls made beside it are not counted.
    pub accounting: Arc<dyn Accounting>,
}

/// Lets a helper call of the host share the operation's account (V2).
pub trait Accounting: Send + Sync {
    /// Adds one model call and its tokens.
    fn model_called(&self, usage: TokenUsage);
}

/// Decides what is done (V2). Whether its answer is true is the host's responsibility.
pub trait Verifier: Send + Sync {
    /// Judges an observation.
    fn verify(
        &self,
        request: VerifyRequest,
        context: VerifyContext,
    ) -> BoxFuture<'static, Decision>;
}

/// Why an account or a store couldn't be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StorageError(pub String);

/// Holds sources while an operation needs them (V29).
pub trait SourceStore: Send + Sync {
    /// Takes a source. When this returns, a killed process doesn't lose it.
    fn hold(&self, operation: &OperationId, source: &Source) -> Result<(), StorageError>;

    /// Copies a held source.
    fn read(&self, operation: &OperationId, source: &SourceHeader) -> Result<Bytes, StorageError>;
}

/// The operation's account: an intent stands in it before its effect (L10).
pub trait RunLog: Send + Sync {
    /// Appends lines in order. When this returns, a killed process doesn't lose them.
    fn append(&self, operation: &OperationId, lines: &[LogLine]) -> Result<(), StorageError>;
}

/// One line of the account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// When, in RFC 3339.
    pub at: String,
    /// Intent or event.
    pub kind: LogKind,
    /// The command's or the event's name.
    pub name: String,
    /// The request that an intent opens and an event closes, if any.
    pub request: Option<u64>,
    /// What is to know of it. Never prompts or keys.
    pub detail: Value,
}

/// What a line of the account says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// Something is about to be done.
    Intent,
    /// Something happened.
    Event,
}

/// The wall clock and the monotonic one.
pub trait Clock: Send + Sync {
    /// Now, in RFC 3339 with milliseconds, UTC.
    fn now(&self) -> String;
}

/// Makes ids that no other operation has.
pub trait Ids: Send + Sync {
    /// A fresh operation id.
    fn operation(&self) -> OperationId;
}

/// Copies a held source within an allowance (V29).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadSourceError {
    /// There is no such operation, or it has retired.
    #[error("no operation {0} is held here")]
    UnknownOperation(OperationId),
    /// The operation has no such source.
    #[error("the operation has no source {0}")]
    UnknownSource(SourceId),
    /// The source is larger than the allowance; it is never cut.
    #[error("source {source_id} has {bytes} bytes, {allowed} are allowed")]
    TooLarge {
        /// Which.
        source_id: SourceId,
        /// Its true size.
        bytes: u64,
        /// What was allowed.
        allowed: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
