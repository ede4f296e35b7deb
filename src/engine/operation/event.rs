//! What the machine is told, and what it tells the driver to do.
//!
//! Events are past participles, commands imperatives. Every reply carries the id of the request it
//! answers: an unknown id is a late arrival, never an error.

use crate::engine::evidence::{Place, Receipt, Source};
use crate::engine::id::{ExecutionId, Generation, Lap, RequestId, RunId, SourceId};
use crate::engine::operation::outcome::Outcome;
use crate::engine::operation::published::PublicEvent;
use crate::engine::operation::wait::{Answer, WaitKey};
use crate::engine::ports::{ModelReply, ModelRequest, Permission, ToolOutcome};
use crate::engine::routine::definition::Check;
use crate::engine::verify::{Attestation, Decision, Observation};

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Preflight is over; the operation begins. Exactly once, first.
    Started,
    /// The borrowed agents are leased. Answers `TakeLeases`.
    LeasesTaken,
    /// A model request went out for the `attempt`-th time.
    RequestSent {
        /// The request.
        request: RequestId,
        /// Which send, from 1.
        attempt: u32,
    },
    /// Something came of a model request. Answers `CallModel`.
    ModelReplied {
        /// The request.
        request: RequestId,
        /// What came, boxed for its size.
        reply: Box<ModelReply>,
    },
    /// Something came of a tool call. Answers `CallTool`.
    ToolReplied {
        /// The request.
        request: RequestId,
        /// What came.
        outcome: ToolOutcome,
    },
    /// A pending tool call was delivered (V11).
    ToolDelivered {
        /// Names the delivery.
        delivery: String,
        /// What came.
        outcome: ToolOutcome,
    },
    /// The host said whether a call may be made. Answers `AskPermission`.
    PermissionDecided {
        /// The request.
        request: RequestId,
        /// What it said.
        permission: Permission,
    },
    /// The verifier answered, or failed. Answers `Verify`.
    VerifierDecided {
        /// The request.
        request: RequestId,
        /// Its decision, or why there is none (V4).
        decision: Result<Decision, VerifierFailure>,
    },
    /// The archive's reference for a source (V29).
    SourceAcknowledged {
        /// The source.
        source: SourceId,
        /// The reference.
        receipt: Receipt,
    },
    /// A timer fired.
    TimerFired(Timer),
    /// A resume was authorised and admitted: exactly while paused, with the generation that follows.
    ResumeAdmitted {
        /// The generation from now on.
        generation: Generation,
        /// Checked with [`crate::engine::operation::Operation::check_answers`] before.
        answers: Vec<(WaitKey, Answer)>,
    },
    /// Somebody cancelled.
    CancelRequested,
    /// The runner closes.
    CloseRequested,
    /// A terminated operation's receipts shall be looked at again (V31).
    ReceiptCheckRequested,
    /// The log or the evidence couldn't be written.
    StorageFailed {
        /// Why.
        reason: String,
    },
    /// Leases are released and what was temporary is restored. Answers `ReleaseLeases`.
    CleanupDone,
    /// That didn't work; it may be tried again, bookkeeping only.
    CleanupFailed {
        /// Why.
        reason: String,
    },
}

/// The verifier gave no decision (V4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifierFailure {
    /// It panicked.
    #[error("the verifier panicked: {0}")]
    Panicked(String),
    /// It passed its time limit.
    #[error("the verifier gave no answer within {0} ms")]
    TimedOut(u64),
    /// It was asked to stop.
    #[error("the verifier was stopped")]
    Stopped,
}

/// Something shall be done. The driver performs commands in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Lease the borrowed agents, all of them. Answered by `LeasesTaken`.
    TakeLeases(Vec<String>),
    /// Send a model request. Answered by `ModelReplied`.
    CallModel {
        /// The request.
        request: RequestId,
        /// The run that it belongs to.
        run: RunId,
        /// Where.
        place: Place,
        /// What is sent, boxed for its size.
        call: Box<ModelRequest>,
    },
    /// Call a tool. Answered by `ToolReplied`, by a time-out at the latest.
    CallTool {
        /// The request.
        request: RequestId,
        /// Where.
        place: Place,
        /// The tool.
        tool: String,
        /// Its exact arguments.
        args: serde_json::Value,
        /// Time limit in milliseconds.
        timeout_ms: u64,
    },
    /// Ask the host whether a call may be made. Answered by `PermissionDecided`.
    AskPermission {
        /// The request.
        request: RequestId,
        /// Where.
        place: Place,
        /// The tool.
        tool: String,
        /// Its exact arguments.
        args: serde_json::Value,
    },
    /// Ask the verifier. Answered by `VerifierDecided`, by a time-out at the latest.
    Verify {
        /// The request.
        request: RequestId,
        /// Where; `None` for the final verification.
        place: Option<Place>,
        /// What is judged.
        observation: Observation,
        /// The checks that the definition names.
        checks: Vec<Check>,
        /// What persons said of this lap's manual checks.
        attestations: Vec<Attestation>,
    },
    /// Ask what is in flight under this request to stop. Its reply still comes.
    StopRequest {
        /// The request.
        request: RequestId,
    },
    /// Fire a timer after so many milliseconds. Setting it again replaces it.
    SetTimer {
        /// Which.
        timer: Timer,
        /// After how long.
        after_ms: u64,
    },
    /// Forget a timer.
    ClearTimer(Timer),
    /// Hold a source. Its bytes are not needed by the machine any more.
    RecordSource(Source),
    /// Hold a source that arrived after nobody waited for it any more.
    RecordLateSource(Source),
    /// Hand out the continuation of this generation to whoever runs or resumed the operation.
    IssueContinuation(Generation),
    /// No continuation of the operation is good any more.
    RevokeContinuation,
    /// Release the leases. Answered by `CleanupDone` or `CleanupFailed`.
    ReleaseLeases,
    /// Tell the world.
    Publish(Box<PublicEvent>),
    /// The operation ended, with this outcome.
    Settle(Box<Outcome>),
    /// The operation was closed without an outcome: its records say *ended with the process*.
    End,
    /// A receipt check of a terminated operation found this (V31).
    ReportReceipts(Result<Decision, VerifierFailure>),
}

impl Command {
    /// The name that the account uses.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TakeLeases(_) => "take_leases",
            Self::CallModel { .. } => "call_model",
            Self::CallTool { .. } => "call_tool",
            Self::AskPermission { .. } => "ask_permission",
            Self::Verify { .. } => "verify",
            Self::StopRequest { .. } => "stop_request",
            Self::SetTimer { .. } => "set_timer",
            Self::ClearTimer(_) => "clear_timer",
            Self::RecordSource(_) => "record_source",
            Self::RecordLateSource(_) => "record_late_source",
            Self::IssueContinuation(_) => "issue_continuation",
            Self::RevokeContinuation => "revoke_continuation",
            Self::ReleaseLeases => "release_leases",
            Self::Publish(_) => "publish",
            Self::Settle(_) => "settle",
            Self::End => "end",
            Self::ReportReceipts(_) => "report_receipts",
        }
    }
}

/// A timer of the operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The operation's deadline (V24).
    Deadline,
    /// What a settling operation waits for what is in flight (G10).
    Grace,
    /// An iteration's deadline (V24).
    Iteration {
        /// The execution that is the iteration.
        execution: ExecutionId,
    },
    /// A lap's time limit (V24).
    Step {
        /// The execution.
        execution: ExecutionId,
        /// The step's slug.
        step: String,
        /// The lap.
        lap: Lap,
    },
}

/// The driver did something that can't be: a bug, never the world's doing. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} is illegal while the operation is {phase}")]
pub struct IllegalEvent {
    /// The event's name.
    pub event: &'static str,
    /// Where the operation stood.
    pub phase: &'static str,
}

impl Event {
    /// The name that the account uses.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::LeasesTaken => "leases_taken",
            Self::RequestSent { .. } => "request_sent",
            Self::ModelReplied { .. } => "model_replied",
            Self::ToolReplied { .. } => "tool_replied",
            Self::ToolDelivered { .. } => "tool_delivered",
            Self::PermissionDecided { .. } => "permission_decided",
            Self::VerifierDecided { .. } => "verifier_decided",
            Self::SourceAcknowledged { .. } => "source_acknowledged",
            Self::TimerFired(_) => "timer_fired",
            Self::ResumeAdmitted { .. } => "resume_admitted",
            Self::CancelRequested => "cancel_requested",
            Self::CloseRequested => "close_requested",
            Self::ReceiptCheckRequested => "receipt_check_requested",
            Self::StorageFailed { .. } => "storage_failed",
            Self::CleanupDone => "cleanup_done",
            Self::CleanupFailed { .. } => "cleanup_failed",
        }
    }
}
