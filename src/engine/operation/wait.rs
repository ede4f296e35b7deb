//! What an operation waits for, and what a person can answer (V6, T5).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::id::{ExecutionId, Lap};
use crate::engine::operation::outcome::Verdict;
use crate::engine::verify::{AttestationVerdict, Held};

/// Where in an operation's life a wait stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitPhase {
    /// Among the pre steps.
    Pre,
    /// At a step's work or its verification.
    Step,
    /// At a gate's owner.
    Gate,
    /// Among the post steps.
    Post,
    /// At the final verification.
    Final,
}

/// What kind of wait it is (C3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A check doesn't hold yet.
    Check,
    /// A person has to say whether something is right.
    Manual,
    /// A person has to give a gate's verdict.
    OperatorGate,
    /// A person has to allow a call.
    Permission,
    /// A step's condition isn't met.
    Condition,
    /// A tool will deliver later.
    Delivery,
    /// Evidence has to be acknowledged.
    Evidence,
    /// A strict reflection was negative.
    Reflection,
    /// Nobody can tell what became of it.
    Uncertain,
}

impl WaitKind {
    /// The word that events and the screen use.
    pub fn label(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Manual => "manual",
            Self::OperatorGate => "operator_gate",
            Self::Permission => "permission",
            Self::Condition => "condition",
            Self::Delivery => "delivery",
            Self::Evidence => "evidence",
            Self::Reflection => "reflection",
            Self::Uncertain => "uncertain",
        }
    }
}

/// Names one wait of one lap, so that an answer can't hit another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WaitKey {
    /// The execution.
    pub execution: ExecutionId,
    /// The step's slug, or the name of a pre or post step; `None` for the final verification.
    pub step: Option<String>,
    /// The step's lap; `None` for the final verification.
    pub lap: Option<Lap>,
    /// Where in the operation's life.
    pub phase: WaitPhase,
    /// The check's position, where several checks of one lap wait; at a council's calls the chair.
    pub check: Option<usize>,
}

/// One thing that an operation waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Names it.
    #[serde(flatten)]
    pub key: WaitKey,
    /// What kind it is.
    pub kind: WaitKind,
    /// How bad it is.
    pub state: Held,
    /// Why, for people.
    pub reason: String,
    /// After how many milliseconds looking again makes sense.
    pub poll_ms: Option<u64>,
    /// What a person has to see to answer.
    pub question: Question,
}

/// What a person has to see to answer a wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// Nothing but the reason: resuming looks again.
    Recheck,
    /// Is it right?
    Manual {
        /// What to look at.
        prompt: String,
    },
    /// May this exact call be made?
    Permission {
        /// The tool.
        tool: String,
        /// Its exact arguments.
        args: Value,
    },
    /// Which verdict?
    OperatorGate {
        /// What to decide.
        instructions: Option<String>,
        /// What to judge by.
        criteria: Vec<String>,
        /// What came in, by source step.
        inputs: BTreeMap<String, Value>,
        /// The ways that lead on.
        ways: Vec<Way>,
    },
    /// What became of it?
    Uncertain {
        /// What is missing, in the engine's code.
        code: String,
        /// Whether accepting has to supply a verdict.
        needs: Accepting,
        /// The ways that lead on.
        ways: Vec<Way>,
    },
}

/// What accepting an uncertain step takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accepting {
    /// It can't be accepted: only looking again or failing it helps.
    Nothing,
    /// A verdict, and handoffs for the edges that it activates.
    Verdict,
    /// The result that the tool would have given.
    Result,
}

/// An edge that an answer may activate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// The target's slug.
    pub target: String,
    /// Which verdict activates it.
    pub verdict: Verdict,
    /// Whether it leads on or back (G6).
    pub direction: Direction,
    /// Why the target gets the work.
    pub purpose: Option<String>,
    /// What the handoff should hold.
    pub handoff_instructions: Option<String>,
    /// What the handoff has to fit; a handoff is required where this is given.
    pub handoff_schema: Option<Value>,
}

/// Whether an edge leads on or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A forward edge.
    Onward,
    /// A retry edge.
    Back,
}

/// What a person answers to one wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Of a manual check: right or not right, kept as an operator's attestation.
    Attest {
        /// What is said.
        verdict: AttestationVerdict,
        /// Why.
        reasoning: Option<String>,
    },
    /// Of an operator gate.
    Decide(OperatorVerdict),
    /// Of a permission: this exact call, once.
    Permit(Permit),
    /// Of an uncertain step: the retained response counts, with what the operator supplies (V10a).
    Accept(OperatorVerdict),
    /// Of an uncertain step, or of a delivery that is lost: it failed (V10, V10a).
    Fail {
        /// Why.
        reasoning: String,
    },
}

impl Answer {
    /// Whether the answer supplies what only reconciliation may (V10a).
    pub fn reconciles(&self) -> bool {
        match self {
            Self::Attest { .. } | Self::Decide(_) | Self::Permit(_) => false,
            Self::Accept(_) | Self::Fail { .. } => true,
        }
    }
}

/// Whether one exact call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permit {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}

/// A verdict that a person gives, recorded as the operator's for ever.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorVerdict {
    /// Pass or fail.
    pub verdict: Verdict,
    /// Why; never empty.
    pub reasoning: String,
    /// The output, where the step needs one.
    pub output: Value,
    /// Handoff by target.
    pub handoffs: BTreeMap<String, Value>,
    /// Where a failing operator gate has edges of both kinds: rejected (onward) or to be reworked (back).
    pub direction: Option<Direction>,
}

/// An answer that doesn't fit its wait. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// Nothing waits under this key.
    #[error("nothing waits at {0}")]
    NoSuchWait(String),
    /// The answer is not one for this kind of wait.
    #[error("a wait of kind {0} takes no such answer")]
    WrongKind(&'static str),
    /// The answer supplies what only reconciliation may.
    #[error("this answer needs reconciliation, not a resume")]
    NeedsReconcile,
    /// Reasoning is empty.
    #[error("a reasoning is needed")]
    NoReasoning,
    /// The verdict leads nowhere.
    #[error("this step has no way for that verdict")]
    NoWay,
    /// A handoff is missing, unexpected or doesn't fit.
    #[error("the handoff for {target}: {problem}")]
    Handoff {
        /// The target.
        target: String,
        /// What is wrong with it.
        problem: String,
    },
}
