//! A detached picture of an operation: what an inspection and a screen show.
//!
//! Everything here is derived on demand; the machine keeps no second copy of its state.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::capability::EffectClass;
use crate::engine::id::{ExecutionId, Generation, Lap, OperationId};
use crate::engine::operation::outcome::{Outcome, Usage};
use crate::engine::operation::wait::Wait;
use crate::engine::routine::definition::CouncilStrategy;
use crate::engine::verify::Held;

/// A detached picture of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationView {
    /// The operation.
    pub operation: OperationId,
    /// The routine's slug.
    pub routine: String,
    /// The routine's display name.
    pub name: String,
    /// The selected model, `provider/model`.
    pub model: String,
    /// Where it stands.
    pub state: OperationState,
    /// How many resumes were admitted.
    pub generation: Generation,
    /// Pre steps, in file order.
    pub pre_steps: Vec<SeriesStepView>,
    /// Every execution, the root first.
    pub executions: Vec<ExecutionView>,
    /// Iterations that are over, as they ended: the latest of them, the oldest first. Long outputs are
    /// left out; the sources have them.
    pub past: Vec<Arc<ExecutionView>>,
    /// Post steps, in file order.
    pub post_steps: Vec<SeriesStepView>,
    /// What it waits for.
    pub waits: Vec<Wait>,
    /// What may have been done so far (L5).
    pub effects: EffectClass,
    /// What was used so far.
    pub usage: Usage,
    /// Requests in flight.
    pub in_flight: usize,
    /// Sources recorded so far.
    pub sources: usize,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
}

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// Preflight is over, nothing began.
    New,
    /// Something is in flight or may start.
    Running,
    /// Nothing is in flight and nothing may start before a resume.
    Paused(Held),
    /// It is decided how it ends; what is in flight is waited for.
    Settling,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It was closed without an outcome.
    Ended,
}

impl OperationState {
    /// The word that the screen and records use.
    pub fn label(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Running => "running",
            Self::Paused(held) => held.label(),
            Self::Settling => "settling",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Ended => "ended with the process",
        }
    }

    /// Whether the status can't change any more.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Ended => true,
            Self::New | Self::Running | Self::Paused(_) | Self::Settling => false,
        }
    }
}

/// One pass through one graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutionView {
    /// Its id.
    pub id: ExecutionId,
    /// The iteration that it is; the operation's own graph is none.
    pub iteration: Option<IterationView>,
    /// Its steps, in file order.
    pub steps: Vec<StepView>,
    /// Its edges, in file order.
    pub edges: Vec<EdgeView>,
}

/// The iteration of a repeating step that an execution is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationView {
    /// The execution of the repeating step.
    pub execution: ExecutionId,
    /// The repeating step's slug.
    pub step: String,
    /// From 0.
    pub index: u64,
    /// The length of the whole source; `None` for until.
    pub total: Option<u64>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepView {
    /// Its slug.
    pub slug: String,
    /// Its kind.
    pub kind: String,
    /// Its agent, if it has one.
    pub agent: Option<String>,
    /// How often it has run; 0 before the first.
    pub lap: Lap,
    /// Where its latest lap stands.
    pub status: StepStatus,
    /// Its output, once a verdict is known.
    pub output: Option<serde_json::Value>,
    /// The reasoning, the reason, or what it waits for.
    pub note: Option<String>,
    /// The council's members, where it is one.
    pub council: Option<CouncilView>,
    /// How far it is, where it repeats and has begun to.
    pub repeat: Option<RepeatView>,
}

/// A council: who has given what (G11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CouncilView {
    /// How its members work together.
    pub strategy: CouncilStrategy,
    /// Who ends the step.
    pub leader: MemberView,
    /// The members, in file order.
    pub members: Vec<MemberView>,
    /// Calls that a dynamic council's leader has made, of how many; `None` for other strategies.
    pub calls: Option<(u32, u32)>,
}

/// The leader or a member of a council.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// Its agent.
    pub agent: String,
    /// Where its part stands.
    pub status: MemberStatus,
    /// What it said, its reasoning, or why it gave nothing; the beginning of it where it is long.
    pub note: Option<String>,
}

/// Where a council member's part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    /// Nobody has asked it yet.
    Waiting,
    /// It was asked.
    Asked,
    /// It answered.
    Answered,
    /// It voted pass.
    VotedPass,
    /// It voted fail.
    VotedFail,
    /// It refused.
    Refused,
    /// It gave nothing that counts.
    Failed,
}

impl MemberStatus {
    /// The word that the screen uses.
    pub fn label(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Asked => "asked",
            Self::Answered => "answered",
            Self::VotedPass => "voted pass",
            Self::VotedFail => "voted fail",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    /// Whether it gave something that counts.
    pub fn counts(self) -> bool {
        match self {
            Self::Answered | Self::VotedPass | Self::VotedFail => true,
            Self::Waiting | Self::Asked | Self::Refused | Self::Failed => false,
        }
    }
}

impl CouncilView {
    /// Votes for pass that are needed: more than half of all members.
    pub fn needed(&self) -> usize {
        self.members.len() / 2 + 1
    }

    /// Members that stand so.
    pub fn count(&self, is_counted: impl Fn(MemberStatus) -> bool) -> usize {
        let members = self.members.iter();
        members.filter(|member| is_counted(member.status)).count()
    }
}

/// How far a repeating step is (V22).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatView {
    /// The iteration on its way, from 0.
    pub current: Option<u64>,
    /// Iterations that are over.
    pub done: u64,
    /// How many there are; for until, at most.
    pub count: u64,
    /// The length of the whole source; `None` for until.
    pub total: Option<u64>,
}

/// Where a step's latest lap stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not reached, or to be done anew.
    Idle,
    /// Its inputs are there; its agent isn't, or nothing may start.
    Ready,
    /// It works.
    Running,
    /// Its verdict is known, its verification isn't.
    Verifying,
    /// It waits.
    Waiting,
    /// It waits, and stops the rest.
    Blocked,
    /// Nobody can tell what became of it.
    Uncertain,
    /// It passed and was verified by checks.
    Verified,
    /// It passed and nothing was asked to verify it.
    Passed,
    /// It failed.
    Failed,
    /// It didn't run.
    Skipped,
    /// It was asked to stop.
    Stopping,
    /// It was stopped.
    Stopped,
}

impl StepStatus {
    /// The word that the screen and records use.
    pub fn label(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Verifying => "verifying",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Uncertain => "uncertain",
            Self::Verified => "verified",
            Self::Passed => "unverified",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        }
    }
}

/// One edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EdgeView {
    /// The source's slug.
    pub from: String,
    /// The target's slug.
    pub to: String,
    /// Its condition.
    pub condition: String,
    /// Whether it activated in its source's latest lap.
    pub status: EdgeStatus,
    /// For a retry edge: how often it was taken of how often it may be.
    pub budget: Option<(u32, u32)>,
}

/// Whether an edge activated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeStatus {
    /// Its source isn't settled.
    Pending,
    /// It did.
    Activated,
    /// It won't in this lap.
    Dead,
}

/// A pre or post step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesStepView {
    /// Its name.
    pub name: String,
    /// Its tool.
    pub tool: String,
    /// Where it stands.
    pub status: StepStatus,
    /// Why it failed or waits.
    pub note: Option<String>,
}
