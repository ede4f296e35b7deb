//! How steps and operations end: verdicts, reasons with their data, and the settled outcome.
//!
//! The codes are a contract (C3); a reason is a variant with data and becomes text only here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::engine::capability::EffectClass;

/// What a model, a person or the host's checks say of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The work is done, or good.
    Pass,
    /// It can't be done, or is not good.
    Fail,
}

impl Verdict {
    /// The word that events and records use.
    pub fn label(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
        }
    }
}

/// Why a step is uncertain: nobody can say what became of it (G3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Uncertainty {
    /// No valid verdict after the allowed corrections.
    NoVerdict,
    /// The model refused, or a filter stopped it.
    Refusal,
    /// The answer was cut by its limit.
    CutOff,
    /// The run used up its model calls.
    MaxModelCalls,
    /// The step passed its time limit.
    Timeout,
    /// A request was sent and no answer came.
    NoAnswer,
    /// An answer came that can't be read.
    UnreadableAnswer,
    /// Something may have been done.
    EffectUnknown,
    /// What a verifier should see is larger than it may be.
    ObservationTooLarge,
    /// The verifier itself failed.
    VerifierFailed,
}

impl Uncertainty {
    /// The code that events and records use.
    pub fn code(self) -> &'static str {
        match self {
            Self::NoVerdict => "no_verdict",
            Self::Refusal => "refusal",
            Self::CutOff => "cut_off",
            Self::MaxModelCalls => "max_model_calls",
            Self::Timeout => "timeout",
            Self::NoAnswer => "no_answer",
            Self::UnreadableAnswer => "unreadable_answer",
            Self::EffectUnknown => "effect_unknown",
            Self::ObservationTooLarge => "observation_too_large",
            Self::VerifierFailed => "verifier_failed",
        }
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// An agent said fail.
    VerdictFail {
        /// Its reasoning.
        reasoning: String,
    },
    /// A gate said fail and has no way for that.
    GateFailed {
        /// Its reasoning.
        reasoning: String,
    },
    /// The provider provably didn't take the request.
    ModelRefusedRequest {
        /// The provider's words.
        text: String,
    },
    /// A tool step failed.
    ToolFailed {
        /// The tool.
        tool: String,
        /// Why.
        text: String,
    },
    /// A pre step failed whose `on_error` is `fail`.
    PreStepFailed {
        /// Its name.
        name: String,
        /// Why.
        text: String,
    },
    /// A post step failed whose `on_error` is `fail`.
    PostStepFailed {
        /// Its name.
        name: String,
        /// Why.
        text: String,
    },
    /// What a step without model hands over doesn't fit its edge.
    HandoffMismatch {
        /// The edge.
        edge: String,
        /// Why not.
        text: String,
    },
    /// A template names something without value.
    TemplateFailed {
        /// Which.
        text: String,
    },
    /// A step's condition is false, and that fails it.
    ConditionFailed {
        /// The memory key.
        memory_key: String,
    },
    /// An iteration of a repeating step failed.
    IterationFailed {
        /// Which, from 0; `None` where none began.
        index: Option<u64>,
        /// The step inside that failed, if one did.
        step: Option<String>,
        /// Why.
        cause: Box<Failure>,
    },
    /// A source that can't be iterated over.
    BadSource {
        /// Why.
        text: String,
    },
    /// A source has more items than may be iterated over, and nothing chose a part.
    SourceTooLarge {
        /// How many.
        total: u64,
        /// How many may be.
        limit: u64,
    },
    /// An until's condition wasn't met after its last iteration.
    MaxIterationsExceeded {
        /// How many there were.
        max_iterations: u64,
    },
    /// A retry edge was taken as often as it may be.
    RetryExhausted {
        /// The gate's slug.
        gate: String,
        /// `gate->target`.
        edge: String,
        /// Its budget.
        max_attempts: u32,
        /// How often it was taken.
        attempts: u32,
    },
    /// An execution ran as many steps as it may.
    StepLimit,
    /// The operation's deadline passed.
    Deadline,
    /// Nothing is live and no terminal was reached.
    NoTerminalReached,
    /// A `terminal_fail` was reached.
    TerminalFail {
        /// Its text.
        text: Option<String>,
    },
    /// A person said so.
    FailedByOperator {
        /// Their reasoning.
        reasoning: String,
    },
    /// The log or the evidence couldn't be written.
    StorageFailed {
        /// Why.
        text: String,
    },
}

impl Failure {
    /// The code that events and records use.
    pub fn code(&self) -> &'static str {
        match self {
            Self::VerdictFail { .. } => "verdict_fail",
            Self::GateFailed { .. } => "gate_failed",
            Self::ModelRefusedRequest { .. } => "model_refused_request",
            Self::ToolFailed { .. } => "tool_failed",
            Self::PreStepFailed { .. } => "pre_step_failed",
            Self::PostStepFailed { .. } => "post_step_failed",
            Self::HandoffMismatch { .. } => "handoff_mismatch",
            Self::TemplateFailed { .. } => "template_failed",
            Self::ConditionFailed { .. } => "condition_failed",
            Self::IterationFailed { .. } | Self::BadSource { .. } => "iteration_failed",
            Self::SourceTooLarge { .. } => "source_too_large",
            Self::MaxIterationsExceeded { .. } => "max_iterations_exceeded",
            Self::RetryExhausted { .. } => "retry_exhausted",
            Self::StepLimit => "step_limit",
            Self::Deadline => "deadline",
            Self::NoTerminalReached => "no_terminal_reached",
            Self::TerminalFail { .. } => "terminal_fail",
            Self::FailedByOperator { .. } => "failed_by_operator",
            Self::StorageFailed { .. } => "storage_failed",
        }
    }

    /// What there is to know besides, as a JSON object; null where the code says all.
    pub fn detail(&self) -> Value {
        match self {
            Self::VerdictFail { reasoning }
            | Self::GateFailed { reasoning }
            | Self::FailedByOperator { reasoning } => json!({ "text": reasoning }),
            Self::ModelRefusedRequest { text }
            | Self::TemplateFailed { text }
            | Self::StorageFailed { text } => json!({ "text": text }),
            Self::ToolFailed { tool, text } => json!({ "tool": tool, "text": text }),
            Self::PreStepFailed { name, text } | Self::PostStepFailed { name, text } => {
                json!({ "name": name, "text": text })
            }
            Self::HandoffMismatch { edge, text } => json!({ "edge": edge, "text": text }),
            Self::ConditionFailed { memory_key } => json!({ "memory_key": memory_key }),
            Self::IterationFailed { index, step, cause } => json!({
                "iteration": index,
                "step": step,
                "reason": cause.code(),
                "cause": cause.detail(),
            }),
            Self::BadSource { text } => json!({ "text": text }),
            Self::SourceTooLarge { total, limit } => json!({ "total": total, "limit": limit }),
            Self::MaxIterationsExceeded { max_iterations } => {
                json!({ "max_iterations": max_iterations })
            }
            Self::RetryExhausted {
                gate,
                edge,
                max_attempts,
                attempts,
            } => json!({
                "reason": "retry_exhausted",
                "gate": gate,
                "edge": edge,
                "max_attempts": max_attempts,
                "attempts": attempts,
            }),
            Self::TerminalFail { text } => json!({ "text": text }),
            Self::StepLimit | Self::Deadline | Self::NoTerminalReached => Value::Null,
        }
    }
}

/// The status of an operation that settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A terminal was reached and the final verification held.
    Succeeded,
    /// It failed.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
}

impl Status {
    /// The word that events and records use.
    pub fn label(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Whether the task is fulfilled, which a completed run alone never says (L1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fulfillment {
    /// The assurance policy is satisfied.
    Fulfilled,
    /// It is not, or nobody decided.
    NotFulfilled,
}

/// What an operation used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Model requests that went out, corrections and re-sends included.
    pub model_calls: u64,
    /// Tool calls that were dispatched or answered by the engine.
    pub tool_calls: u64,
    /// Tokens read, as far as providers counted.
    pub input_tokens: u64,
    /// Tokens written, as far as providers counted.
    pub output_tokens: u64,
}

/// How an operation ended. The fields are those of `operation.settled` (C3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The status. It never changes again.
    pub status: Status,
    /// The reason's code; `None` for success.
    pub reason: Option<String>,
    /// What there is to know besides.
    pub detail: Value,
    /// The slug of the step where it failed.
    pub step: Option<String>,
    /// Output by terminal.
    pub outputs: BTreeMap<String, Value>,
    /// Whether the task is fulfilled.
    pub fulfillment: Fulfillment,
    /// What may have been done; for failed and cancelled operations (L5).
    pub effects: Option<EffectClass>,
    /// What was used.
    pub usage: Usage,
}
