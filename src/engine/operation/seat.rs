//! The state of conversations: alone on a step, or at a council.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::engine::id::{RequestId, RunId};
use crate::engine::operation::outcome::{Uncertainty, Verdict};
use crate::engine::operation::state::{Call, Claim, StepRef, WorkRecord};
use crate::engine::ports::{Message, OfferedTool, ToolCall, ToolChoice};
use crate::engine::routine::definition::CouncilDefinition;
use crate::engine::verify::Held;

/// One run of a model on a step: a fresh conversation (G17).
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) run: RunId,
    pub(super) agent: String,
    pub(super) goal: Goal,
    /// The tools by which it asks a council's members, by chair: a dynamic council's leader alone does.
    pub(super) asks: Vec<String>,
    pub(super) system: String,
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) offered: Arc<[OfferedTool]>,
    pub(super) choice: ToolChoice,
    pub(super) model_calls: u32,
    pub(super) corrections: u32,
    /// Calls of the latest answer that are still to be made.
    pub(super) calls: VecDeque<ToolCall>,
    pub(super) at: TurnAt,
    /// Whether a side-effecting tool was dispatched (G3).
    pub(super) effects: bool,
    pub(super) record: WorkRecord,
}

impl Turn {
    pub(super) fn in_flight(&self) -> Option<RequestId> {
        match &self.at {
            TurnAt::CallingModel(request) => Some(*request),
            TurnAt::Call(_, call) => call.at.in_flight(),
            TurnAt::CallModel | TurnAt::NextCall => None,
        }
    }

    pub(super) fn held(&self) -> Option<Held> {
        match &self.at {
            TurnAt::Call(_, call) => call.at.held(),
            TurnAt::CallModel | TurnAt::CallingModel(_) | TurnAt::NextCall => None,
        }
    }
}

/// What a run is to end with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Goal {
    /// A verdict by `route_next_steps`; after a vote it must be this one (G11).
    Route { must: Option<Verdict> },
    /// A contribution in words.
    Say,
    /// A structured vote.
    Vote,
    /// A part for each member.
    Assign { members: Vec<String> },
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    Verdict(Box<Claim>),
    Said(String),
    Vote {
        verdict: Verdict,
        reasoning: String,
    },
    Parts(BTreeMap<String, String>),
    /// Nobody can say what came of it.
    Uncertain {
        why: Uncertainty,
        text: String,
    },
    /// The provider provably didn't take the request, and nothing was done before.
    NotTaken {
        text: String,
    },
}

/// Where a conversation sits: alone on its step, or at a council.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) at: StepRef,
    pub(super) chair: Chair,
}

/// Whose conversation it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chair {
    /// The step's only one.
    Lone,
    /// One of a council: [`LEADER`], or `n` for the `n`-th member's.
    Council(usize),
}

/// The leader's chair.
pub(super) const LEADER: usize = 0;

impl Seat {
    pub(super) fn lone(at: StepRef) -> Self {
        Self {
            at,
            chair: Chair::Lone,
        }
    }
}

/// A council at work (G11).
#[derive(Debug)]
pub(super) struct Council {
    pub(super) definition: CouncilDefinition,
    /// Conversations that are open, by chair.
    pub(super) turns: BTreeMap<usize, Turn>,
    /// Chairs of members whose turn is still to come.
    pub(super) to_come: VecDeque<usize>,
    /// What the leader gave each chair to do, or asked it last.
    pub(super) asked: BTreeMap<usize, String>,
    /// What the members gave so far, in order.
    pub(super) contributions: Vec<Contribution>,
    /// Calls of members that the leader may still make.
    pub(super) calls_left: u32,
    pub(super) round: Round,
    /// What the run left behind in which the leader gave the parts.
    pub(super) assigning: WorkRecord,
}

/// What a council is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    /// The leader gives each member its part.
    Assigning,
    /// The members contribute.
    Members,
    /// The leader ends the step.
    Leader,
}

/// What came of one member's run.
#[derive(Debug)]
pub(super) struct Contribution {
    pub(super) chair: usize,
    /// What the leader had asked of it.
    pub(super) asked: Option<String>,
    pub(super) run: RunId,
    pub(super) given: Given,
    pub(super) record: WorkRecord,
}

/// What a member gave.
#[derive(Debug)]
pub(super) enum Given {
    Said(String),
    Vote {
        verdict: Verdict,
        reasoning: String,
    },
    /// Nothing that counts, and why.
    Nothing {
        why: Lapse,
        text: String,
    },
}

/// Why a member gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lapse {
    /// What would make a step of its own uncertain.
    Uncertain(Uncertainty),
    /// The provider provably didn't take its request.
    NotTaken,
}

/// Where a conversation stands.
#[derive(Debug)]
pub(super) enum TurnAt {
    /// The model is to be asked.
    CallModel,
    /// It was asked.
    CallingModel(RequestId),
    /// The next call of its answer is to be looked at.
    NextCall,
    /// One of its calls is on its way; the text is the provider's id of the call.
    Call(String, Call),
}
