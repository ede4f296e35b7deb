//! What the world is told: the events of C3, field by field. Their names and fields are a contract.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::engine::capability::EffectClass;
use crate::engine::evidence::Receipt;
use crate::engine::id::{ExecutionId, Generation, Lap, OperationId, RunId, SourceId};
use crate::engine::operation::outcome::{Fulfillment, Outcome, Status, Usage};
use crate::engine::operation::wait::Wait;
use crate::engine::verify::Held;

/// One event, numbered and dated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    /// From 1, without gaps, in order.
    pub seq: u64,
    /// RFC 3339.
    pub at: String,
    /// The operation.
    pub operation: OperationId,
    /// What happened.
    #[serde(flatten)]
    pub event: PublicEvent,
}

/// Where an event belongs: an execution, and a step where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct At {
    /// The execution.
    pub execution: ExecutionId,
    /// The step's slug, or a pre or post step's name.
    pub step: Option<String>,
    /// The step's lap.
    pub lap: Option<Lap>,
}

/// The verdict as `step.settled` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledVerdict {
    /// Pass.
    Pass,
    /// Fail.
    Fail,
    /// Nobody can tell.
    Uncertain,
    /// It didn't run.
    Skipped,
}

/// What came of a tool call, as `tool.called` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CalledOutcome {
    /// It settled.
    Ok,
    /// It failed, and that is known.
    Failed,
    /// It was not allowed.
    Denied,
    /// It will be delivered later.
    Pending,
    /// It passed its time limit.
    Timeout,
    /// It wrote more than is kept.
    OutputLimit,
    /// Nobody can tell.
    Unknown,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type")]
pub enum PublicEvent {
    /// The operation began.
    #[serde(rename = "operation.started")]
    OperationStarted {
        /// The routine's slug.
        routine: String,
        /// The selected model, `provider/model`.
        model: String,
    },
    /// A step began a lap.
    #[serde(rename = "step.started")]
    StepStarted {
        /// Where.
        #[serde(flatten)]
        at: At,
        /// The step's kind.
        kind: &'static str,
        /// Its agent, if it has one.
        agent: Option<String>,
    },
    /// A step's first model request of a lap went out.
    #[serde(rename = "step.submitted")]
    StepSubmitted {
        /// Where.
        #[serde(flatten)]
        at: At,
    },
    /// A model request went out.
    #[serde(rename = "model.called")]
    ModelCalled {
        /// Where.
        #[serde(flatten)]
        at: At,
        /// The run.
        run: RunId,
        /// Which model call of the run, from 1.
        turn: u32,
        /// Which send of the request, from 1.
        r#try: u32,
        /// `provider/model`.
        model: String,
    },
    /// A tool call came to something.
    #[serde(rename = "tool.called")]
    ToolCalled {
        /// Where.
        #[serde(flatten)]
        at: At,
        /// The tool.
        tool: String,
        /// What came of it.
        outcome: CalledOutcome,
    },
    /// A lap's verdict is known.
    #[serde(rename = "step.settled")]
    StepSettled {
        /// Where.
        #[serde(flatten)]
        at: At,
        /// The verdict.
        verdict: SettledVerdict,
        /// The reason's code, where there is one.
        reason: Option<&'static str>,
        /// The step's output.
        output: Value,
        /// What there is to know besides.
        data: Value,
    },
    /// An edge activated.
    #[serde(rename = "edge.activated")]
    EdgeActivated {
        /// Where: the source step.
        #[serde(flatten)]
        at: At,
        /// `source->target`.
        edge: String,
        /// Its condition.
        condition: &'static str,
        /// How often a retry edge was taken within its budget; null for a forward edge.
        attempt: Option<u32>,
    },
    /// The verifier decided.
    #[serde(rename = "verify.decided")]
    VerifyDecided {
        /// Where.
        #[serde(flatten)]
        at: At,
        /// `step` or `final`.
        phase: &'static str,
        /// The finding.
        decision: &'static str,
        /// `checks` or `host_policy`.
        basis: &'static str,
        /// Why, for people.
        reason: Option<String>,
    },
    /// Nothing is in flight and nothing may start.
    #[serde(rename = "operation.paused")]
    OperationPaused {
        /// The worst of the waits.
        state: Held,
        /// Why, for people.
        reason: String,
        /// Everything that is waited for.
        waits: Vec<PublicWait>,
    },
    /// A resume was admitted.
    #[serde(rename = "operation.resumed")]
    OperationResumed {
        /// Which.
        generation: Generation,
    },
    /// A source is held.
    #[serde(rename = "source.recorded")]
    SourceRecorded {
        /// Where, if it belongs to a step.
        #[serde(flatten)]
        at: At,
        /// Its id.
        source: SourceId,
        /// Its size.
        bytes: u64,
    },
    /// A source is acknowledged.
    #[serde(rename = "source.acknowledged")]
    SourceAcknowledged {
        /// Its id.
        source: SourceId,
        /// The archive's reference.
        receipt: Receipt,
    },
    /// The operation ended. Nothing follows.
    #[serde(rename = "operation.settled")]
    OperationSettled {
        /// The status.
        status: Status,
        /// The reason's code.
        reason: Option<String>,
        /// What there is to know besides.
        detail: Value,
        /// Where it failed.
        step: Option<String>,
        /// Output by terminal.
        outputs: BTreeMap<String, Value>,
        /// Whether the task is fulfilled.
        fulfillment: Fulfillment,
        /// What may have been done.
        effects: Option<EffectClass>,
        /// What was used.
        usage: Usage,
    },
}

impl PublicEvent {
    /// The event of a settled operation.
    pub fn settled(outcome: Outcome) -> Self {
        let Outcome {
            status,
            reason,
            detail,
            step,
            outputs,
            fulfillment,
            effects,
            usage,
        } = outcome;
        Self::OperationSettled {
            status,
            reason,
            detail,
            step,
            outputs,
            fulfillment,
            effects,
            usage,
        }
    }
}

/// A wait as `operation.paused` tells it: without what only a person who answers needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublicWait {
    /// The execution.
    pub execution: ExecutionId,
    /// The step's slug or name.
    pub step: Option<String>,
    /// The step's lap.
    pub lap: Option<Lap>,
    /// Where in the operation's life.
    pub phase: crate::engine::operation::wait::WaitPhase,
    /// What kind it is.
    pub kind: crate::engine::operation::wait::WaitKind,
    /// How bad it is.
    pub state: Held,
    /// Why, for people.
    pub reason: String,
}

impl From<&Wait> for PublicWait {
    fn from(wait: &Wait) -> Self {
        Self {
            execution: wait.key.execution.clone(),
            step: wait.key.step.clone(),
            lap: wait.key.lap,
            phase: wait.key.phase,
            kind: wait.kind,
            state: wait.state,
            reason: wait.reason.clone(),
        }
    }
}
