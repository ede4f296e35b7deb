//! The state of everything that moves: one enum a step, one a tool call, one a conversation.
//!
//! Everything else (which edges are active, what is waited for, whether a join is ready) is derived
//! from these.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::engine::evidence::SourceHeader;
use crate::engine::id::{ExecutionId, Lap, RequestId, RunId, SourceId};
use crate::engine::operation::look::FinalLook;
use crate::engine::operation::outcome::{Uncertainty, Verdict};
use crate::engine::operation::published::CalledOutcome;
use crate::engine::ports::ToolOutcome;
use crate::engine::routine::graph::{EdgeIndex, RoutineGraph, StepIndex};
use crate::engine::verify::{Attestation, Decision, Finding, Held, Oversized};

pub(super) use crate::engine::operation::seat::{
    Chair, Contribution, Council, Given, Goal, LEADER, Lapse, Round, Seat, Turn, TurnAt, TurnEnd,
};

/// A step of one execution in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct StepRef {
    /// Index of the execution.
    pub(super) execution: usize,
    /// Index of the step.
    pub(super) step: StepIndex,
}

/// One pass through one graph.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) id: ExecutionId,
    pub(super) graph: RoutineGraph,
    pub(super) steps: Vec<Step>,
    /// Per edge: how often a retry edge was taken since its budget began.
    pub(super) taken: Vec<u32>,
    /// Step runs so far (G6).
    pub(super) runs: u64,
    /// Steps that are neither untouched nor settled; kept by `set_state` alone.
    pub(super) live: usize,
    /// Where the pass stands.
    pub(super) stage: Stage,
    /// What came of its pre steps.
    pub(super) pre: Vec<SeriesOutcome>,
    /// What came of its post steps.
    pub(super) post: Vec<SeriesOutcome>,
    /// The iteration that it is; the operation's own graph is none.
    pub(super) iteration: Option<Iteration>,
    /// The latest lap of each council whose first request went out: several runs work on one lap, and
    /// what was given up may be told to have gone out after its steps are gone (V25).
    pub(super) submitted: BTreeMap<StepIndex, Lap>,
}

/// Where one pass through a graph stands.
#[derive(Debug)]
pub(super) enum Stage {
    /// Pre steps run.
    Before(Series),
    /// The graph runs.
    Graph,
    /// Post steps run.
    After(Series),
    /// The final verification is asked for or isn't there yet.
    Final(FinalLook),
    /// It has ended; its steps are gone.
    Over,
}

impl Stage {
    /// How badly it holds the operation up, if it waits at all.
    pub(super) fn held(&self) -> Option<Held> {
        match self {
            Self::Before(series) | Self::After(series) => series.call.as_ref()?.at.held(),
            Self::Final(look) => look.at.held(),
            Self::Graph | Self::Over => None,
        }
    }
}

/// The one iteration of a repeating step that an execution is (V22).
#[derive(Debug, Clone)]
pub(super) struct Iteration {
    /// The repeating step.
    pub(super) of: StepRef,
    /// From 0.
    pub(super) index: u64,
    /// The length of the whole source; `None` for until.
    pub(super) total: Option<u64>,
    /// The item, for map and fold.
    pub(super) item: Value,
    /// The accumulator, for fold.
    pub(super) accumulator: Option<Value>,
}

/// A step of an execution.
#[derive(Debug)]
pub(super) struct Step {
    /// How often it has run.
    pub(super) lap: Lap,
    pub(super) state: StepState,
    /// Handoffs of retry edges that started it anew, current until it is invalidated (G7).
    pub(super) retries: Vec<RetryHandoff>,
    /// What is left of its time limit while it doesn't run, or when it began to run (V24).
    pub(super) limit: TimeLimit,
}

/// A step's time limit: it runs while the step works and stands still while the step waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeLimit {
    Unlimited,
    Running { since: u64, left_ms: u64 },
    Standing { left_ms: u64 },
}

/// A handoff that a retry edge brought.
#[derive(Debug, Clone)]
pub(super) struct RetryHandoff {
    pub(super) edge: EdgeIndex,
    /// The lap of the gate that sent it.
    pub(super) lap: Lap,
    pub(super) handoff: Value,
    /// The source of the gate's body, which holds the handoff too.
    pub(super) body: Option<SourceHeader>,
}

/// Where a step's latest lap stands.
#[derive(Debug)]
pub(super) enum StepState {
    /// Not reached, or to be done anew.
    Idle,
    /// Its inputs are there; its agent isn't, or nothing may start.
    Ready,
    /// A model works.
    Turn(Box<Turn>),
    /// A tool step's call is made.
    ToolRun(Box<ToolRun>),
    /// The host's checks give a gate's verdict.
    GateChecks(Box<GateChecks>),
    /// A person gives a gate's verdict.
    OperatorGate,
    /// Its condition is false, and it waits for that to change (V20).
    Condition,
    /// A council works (G11).
    Council(Box<Council>),
    /// A nested routine runs for each of its iterations.
    Repeating(Box<Repeat>),
    /// Its verdict is pass; its verification is asked for or isn't there yet.
    Claimed(Box<Claimed>),
    /// Its verdict counts: its edges have fired or died.
    Settled(Box<Settled>),
    /// It didn't run.
    Skipped(Skip),
    /// Nobody can tell what became of it (V10).
    Uncertain(Box<Uncertain>),
    /// Invalidated while something was in flight; free for a new lap when that has settled (G7).
    Stopping(BTreeSet<RequestId>),
    /// The operation ended around it.
    Stopped,
}

impl StepState {
    /// Whether the execution can't be over while a step is like this.
    pub(super) fn is_live(&self) -> bool {
        match self {
            Self::Idle | Self::Settled(_) | Self::Skipped(_) | Self::Stopped => false,
            Self::Ready
            | Self::Turn(_)
            | Self::ToolRun(_)
            | Self::GateChecks(_)
            | Self::OperatorGate
            | Self::Condition
            | Self::Council(_)
            | Self::Repeating(_)
            | Self::Claimed(_)
            | Self::Uncertain(_)
            | Self::Stopping(_) => true,
        }
    }

    /// Whether the step waits for this reply.
    pub(super) fn waits_for(&self, request: RequestId) -> bool {
        let held = match self {
            Self::Turn(turn) => turn.in_flight(),
            Self::Council(council) => {
                let mut turns = council.turns.values();
                return turns.any(|turn| turn.in_flight() == Some(request));
            }
            Self::ToolRun(run) => run.call.at.in_flight(),
            Self::GateChecks(checks) => checks.at.in_flight(),
            Self::Claimed(claimed) => claimed.at.in_flight(),
            // What its iterations have in flight is their steps' own; what was given up isn't waited for.
            Self::Repeating(_) | Self::Stopping(_) | Self::Uncertain(_) => None,
            Self::Idle
            | Self::Ready
            | Self::OperatorGate
            | Self::Condition
            | Self::Settled(_)
            | Self::Skipped(_)
            | Self::Stopped => None,
        };
        held == Some(request)
    }

    /// Whether somebody works on it although it waits: of a council's members each waits alone.
    pub(super) fn works(&self) -> bool {
        match self {
            Self::Council(council) => {
                let mut turns = council.turns.values();
                turns.any(|turn| turn.in_flight().is_some())
            }
            Self::Idle
            | Self::Ready
            | Self::Turn(_)
            | Self::ToolRun(_)
            | Self::GateChecks(_)
            | Self::OperatorGate
            | Self::Condition
            | Self::Repeating(_)
            | Self::Claimed(_)
            | Self::Settled(_)
            | Self::Skipped(_)
            | Self::Uncertain(_)
            | Self::Stopping(_)
            | Self::Stopped => false,
        }
    }

    /// How badly the step holds the operation up, if it waits at all.
    pub(super) fn held(&self) -> Option<Held> {
        match self {
            Self::Turn(turn) => turn.held(),
            Self::Council(council) => council.turns.values().filter_map(Turn::held).max(),
            Self::ToolRun(run) => run.call.at.held(),
            Self::GateChecks(checks) => checks.at.held().or(checks.looks.unlifted()),
            Self::OperatorGate | Self::Condition => Some(Held::Waiting),
            Self::Claimed(claimed) => claimed.at.held().or(claimed.looks.unlifted()),
            Self::Uncertain(_) => Some(Held::Uncertain),
            Self::Idle
            | Self::Ready
            | Self::Repeating(_)
            | Self::Settled(_)
            | Self::Skipped(_)
            | Self::Stopping(_)
            | Self::Stopped => None,
        }
    }
}

/// Why a step didn't run.
#[derive(Debug)]
pub(super) enum Skip {
    /// Nothing activated it (G8).
    NotActivated,
    /// Its author's condition, with the handoffs of its edges where the omission is approved (V20).
    ByCondition {
        handoffs: BTreeMap<EdgeIndex, Value>,
    },
}

/// A repeating step on its way (V22).
#[derive(Debug)]
pub(super) struct Repeat {
    pub(super) kind: Repeating,
    /// The chosen items; none for until.
    pub(super) items: Vec<Value>,
    /// The length of the whole source; `None` for until.
    pub(super) total: Option<u64>,
    /// How many iterations there are at most.
    pub(super) count: u64,
    /// The next one, from 0.
    pub(super) next: u64,
    /// Outputs so far, for map.
    pub(super) outputs: Vec<Value>,
    /// The accumulator, or the latest output.
    pub(super) last: Value,
    /// The execution that is the current iteration.
    pub(super) child: Option<usize>,
}

/// Which kind of repeating step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeating {
    Map,
    Fold,
    Until,
}

/// A tool call on its way.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) args: Value,
    pub(super) timeout_ms: u64,
    pub(super) at: CallAt,
}

/// Where a tool call stands.
#[derive(Debug)]
pub(super) enum CallAt {
    /// The host is to be asked whether it may be made.
    Ask,
    /// It was asked.
    Asking(RequestId),
    /// A person has to allow it.
    Permission { reason: String },
    /// It may be made.
    Ready,
    /// It is made.
    InFlight(RequestId),
    /// It will be delivered, or was while the operation was paused (V11).
    Delivery {
        delivery: String,
        delivered: Option<Box<ToolOutcome>>,
    },
    /// The member of a council on this chair answers it (G11).
    Member(usize),
}

impl CallAt {
    pub(super) fn in_flight(&self) -> Option<RequestId> {
        match self {
            Self::Asking(request) | Self::InFlight(request) => Some(*request),
            Self::Ask
            | Self::Permission { .. }
            | Self::Ready
            | Self::Delivery { .. }
            | Self::Member(_) => None,
        }
    }

    pub(super) fn held(&self) -> Option<Held> {
        match self {
            Self::Permission { .. } => Some(Held::Blocked),
            Self::Delivery { .. } => Some(Held::Waiting),
            Self::Ask | Self::Asking(_) | Self::Ready | Self::InFlight(_) | Self::Member(_) => None,
        }
    }
}

/// A tool step's work.
#[derive(Debug)]
pub(super) struct ToolRun {
    pub(super) call: Call,
    pub(super) record: WorkRecord,
}

/// What a lap leaves behind for observations: tool outcomes and sources.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkRecord {
    pub(super) run: Option<RunId>,
    pub(super) tools: Vec<ToolRecord>,
    pub(super) sources: Vec<SourceHeader>,
}

/// A tool call's real outcome (V13).
#[derive(Debug, Clone)]
pub(super) struct ToolRecord {
    pub(super) tool: String,
    pub(super) args: Value,
    pub(super) outcome: CalledOutcome,
    pub(super) result: Value,
    /// The source that holds the full result, where one was recorded.
    pub(super) source: Option<SourceHeader>,
}

/// A gate whose verdict the host's checks give (G15).
#[derive(Debug)]
pub(super) struct GateChecks {
    pub(super) at: LookAt,
    pub(super) looks: Looks,
    pub(super) bodies: Bodies,
}

/// A pass that waits for its verification.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) claim: Claim,
    /// The source of the step's body.
    pub(super) body: SourceHeader,
    pub(super) at: LookAt,
    pub(super) looks: Looks,
    pub(super) bodies: Bodies,
}

/// Where a verification stands.
#[derive(Debug)]
pub(super) enum LookAt {
    /// The verifier is to be asked.
    Ask,
    /// It was asked.
    Asking(RequestId),
    /// It said not yet, or failed.
    Held(Decision),
    /// It can't be asked: the view is too large until these sources are acknowledged (V26).
    Oversized {
        size: Oversized,
        sources: Vec<SourceId>,
    },
}

impl LookAt {
    pub(super) fn in_flight(&self) -> Option<RequestId> {
        match self {
            Self::Asking(request) => Some(*request),
            Self::Ask | Self::Held(_) | Self::Oversized { .. } => None,
        }
    }

    pub(super) fn held(&self) -> Option<Held> {
        match self {
            Self::Held(decision) => match &decision.finding {
                Finding::Held { state, .. } => Some(*state),
                Finding::Verified => None,
            },
            Self::Oversized { .. } => Some(Held::Uncertain),
            Self::Ask | Self::Asking(_) => None,
        }
    }
}

/// What was decided and attested for one lap.
#[derive(Debug, Clone, Default)]
pub(super) struct Looks {
    pub(super) first: Option<Decision>,
    pub(super) latest: Option<Decision>,
    pub(super) attestations: Vec<Attestation>,
}

impl Looks {
    /// What stopped new calls goes on stopping them while it is looked at again (V5a).
    fn unlifted(&self) -> Option<Held> {
        match &self.latest.as_ref()?.finding {
            Finding::Held { state, .. } => state.halts().then_some(*state),
            Finding::Verified => None,
        }
    }
}

/// Whether an observation carries bodies or the receipts of their sources (V26).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bodies {
    Inline,
    Receipts,
}

/// A verdict with everything that belongs to it.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) verdict: Verdict,
    pub(super) reasoning: String,
    pub(super) output: Value,
    pub(super) data: Value,
    pub(super) author: Author,
    /// The activated edges, each with its handoff.
    pub(super) handoffs: BTreeMap<EdgeIndex, Value>,
    pub(super) record: WorkRecord,
}

/// Who gave a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    Model,
    Host,
    Operator,
}

impl Author {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Host => "host",
            Self::Operator => "operator",
        }
    }
}

/// A verdict that counts.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) claim: Claim,
    /// The source of the step's body; terminals have none.
    pub(super) body: Option<SourceHeader>,
    /// Whether checks verified it, or the host's policy alone, or nobody had to.
    pub(super) basis: Basis,
}

/// What a settled step's verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    Checks,
    HostPolicy,
    /// A gate's fail and a terminal are not verified (V3).
    NotAsked,
}

/// A step of which nobody can tell what became (V10).
#[derive(Debug)]
pub(super) struct Uncertain {
    pub(super) why: Uncertainty,
    pub(super) text: String,
    /// What the step's data says all the same: what a council's members gave.
    pub(super) data: Value,
    pub(super) record: WorkRecord,
    /// What was asked to stop when the step gave up; its replies still come.
    pub(super) stopping: BTreeSet<RequestId>,
}

/// Pre or post steps on their way (V23).
#[derive(Debug)]
pub(super) struct Series {
    /// The next one, or the one on its way.
    pub(super) at: usize,
    pub(super) call: Option<Call>,
}

/// What came of a pre or post step.
#[derive(Debug, Clone)]
pub(super) struct SeriesOutcome {
    pub(super) name: String,
    pub(super) tool: String,
    pub(super) outcome: CalledOutcome,
    pub(super) result: Value,
    /// Why it failed, if it did.
    pub(super) failure: Option<String>,
    pub(super) source: Option<SourceHeader>,
}
