//! What is inside of a step, as a picture: a council's members (G11), a repeating step's iterations (V22).
//!
//! What a council's members gave is read from its account, as its step's data keeps it; so a picture
//! says the same while it works and afterwards, and nothing is held twice. Iterations that are over leave a picture behind, the
//! latest ones only, because the arena forgets their steps.

use std::sync::Arc;

use serde_json::Value;

use crate::engine::operation::Operation;
use crate::engine::operation::outcome::{Failure, Uncertainty, Verdict};
use crate::engine::operation::state::{
    Council, LEADER, Repeat, Round, StepRef, StepState, Turn, Uncertain,
};
use crate::engine::operation::view::{
    CouncilView, ExecutionView, MemberStatus, MemberView, RepeatView,
};
use crate::engine::routine::definition::{CouncilDefinition, CouncilStrategy, StepKind};
use crate::engine::verify::Held;

/// Iterations that are over and still to be looked at, at most.
const KEPT_PICTURES: usize = 64;
/// Their steps, at most, over all of them; one iteration always stays.
const KEPT_STEPS: usize = 4_000;
/// Bytes of an output that such a picture keeps.
const KEPT_OUTPUT: usize = 4 * 1024;
/// Characters of a member's words that a picture shows; the sources have all of them.
const SHOWN_WORDS: usize = 1_000;

/// What a member gave, as a picture of it.
struct Part {
    member: String,
    status: MemberStatus,
    note: Option<String>,
}

impl Operation {
    /// The members of a council step; `None` for other steps, and where nobody knows any more.
    pub(super) fn council_view(&self, at: StepRef) -> Option<CouncilView> {
        let graph = &self.executions[at.execution].graph;
        let StepKind::Council(step) = &graph.step(at.step).kind else {
            return None;
        };
        let definition = self.plan.definition.councils.get(&step.council)?;
        let (parts, leader, council) = match self.state_of(at) {
            StepState::Council(council) => {
                let parts = parts_of(&council.account());
                (parts, leader_at_work(council), Some(council.as_ref()))
            }
            StepState::Claimed(claimed) => {
                let parts = parts_of(&claimed.claim.data);
                (parts, MemberStatus::Answered, None)
            }
            StepState::Settled(settled) => {
                let parts = parts_of(&settled.claim.data);
                (parts, MemberStatus::Answered, None)
            }
            StepState::Uncertain(uncertain) => {
                let parts = parts_of(&uncertain.data);
                let leader = leader_given_up(uncertain, &parts, definition);
                (parts, leader, None)
            }
            StepState::Idle
            | StepState::Ready
            | StepState::Condition
            | StepState::Skipped(_)
            | StepState::Turn(_)
            | StepState::ToolRun(_)
            | StepState::GateChecks(_)
            | StepState::OperatorGate
            | StepState::Repeating(_) => (Vec::new(), MemberStatus::Waiting, None),
            // What its members gave went with the lap.
            StepState::Stopping(_) | StepState::Stopped => return None,
        };
        let open = |chair: usize| council.and_then(|council| council.turns.get(&chair));
        let member = |(at, agent): (usize, &String)| {
            let given = parts.iter().rev().find(|part| part.member == *agent);
            let (status, note) = match (open(at + 1), given) {
                (Some(turn), _) => (MemberStatus::Asked, held_note(turn)),
                (None, Some(part)) => (part.status, part.note.clone()),
                (None, None) => (MemberStatus::Waiting, None),
            };
            MemberView {
                agent: agent.clone(),
                status,
                note,
            }
        };
        let asked = council.map_or(0, |council| {
            council
                .turns
                .keys()
                .filter(|&&chair| chair != LEADER)
                .count()
        });
        let calls = (definition.strategy == CouncilStrategy::Dynamic)
            .then_some(((parts.len() + asked) as u32, definition.max_calls));
        Some(CouncilView {
            strategy: definition.strategy,
            leader: MemberView {
                agent: definition.leader.clone(),
                status: leader,
                note: open(LEADER).and_then(held_note),
            },
            members: definition.members.iter().enumerate().map(member).collect(),
            calls,
        })
    }

    /// How far a repeating step is; `None` for other steps, and before it has begun.
    pub(super) fn repeat_view(&self, at: StepRef) -> Option<RepeatView> {
        let graph = &self.executions[at.execution].graph;
        let (most, repeats_until) = match &graph.step(at.step).kind {
            StepKind::Map(step) => (step.max_iterations, false),
            StepKind::Fold(step) => (step.max_iterations, false),
            StepKind::Until(step) => (Some(step.max_iterations), true),
            StepKind::Agent(_)
            | StepKind::Gate(_)
            | StepKind::Council(_)
            | StepKind::Tool(_)
            | StepKind::Terminal { .. }
            | StepKind::TerminalFail { .. } => return None,
        };
        let chosen = |total: Option<u64>| match (total, most) {
            (Some(total), Some(most)) => total.min(most),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => 0,
        };
        let over = |data: &Value| {
            let number = |name: &str| data.get(name).and_then(Value::as_u64);
            let total = number("total");
            let done = match repeats_until {
                true => number("iterations"),
                false => number("covered"),
            };
            done.map(|done| RepeatView {
                current: None,
                done,
                count: chosen(total),
                total,
            })
        };
        match self.state_of(at) {
            StepState::Repeating(repeat) => Some(on_its_way(repeat)),
            StepState::Claimed(claimed) => over(&claimed.claim.data),
            StepState::Settled(settled) => over(&settled.claim.data),
            // The operation ended around it; the iteration that it was at stays to be seen.
            StepState::Stopped => {
                let mut iterations = self.active.iter().rev().filter_map(|&index| {
                    let iteration = self.executions[index].iteration.as_ref();
                    iteration.filter(|iteration| iteration.of == at)
                });
                iterations.next().map(|iteration| RepeatView {
                    current: Some(iteration.index),
                    done: iteration.index,
                    count: chosen(iteration.total),
                    total: iteration.total,
                })
            }
            StepState::Idle
            | StepState::Ready
            | StepState::Turn(_)
            | StepState::ToolRun(_)
            | StepState::GateChecks(_)
            | StepState::OperatorGate
            | StepState::Condition
            | StepState::Council(_)
            | StepState::Skipped(_)
            | StepState::Uncertain(_)
            | StepState::Stopping(_) => None,
        }
    }

    /// Something failed at a step; the first reason stays.
    pub(super) fn note_failure(&mut self, at: StepRef, failure: &Failure) {
        let detail = failure.detail();
        let code = failure.code();
        let note = match detail.get("text").and_then(Value::as_str) {
            Some(text) => format!("{code}: {}", short(text)),
            None => code.to_owned(),
        };
        self.failed.entry(at).or_insert(note);
    }

    /// An iteration is about to be over: its picture stays to be looked at.
    pub(super) fn keep_picture(&mut self, child: usize) {
        let mut picture = self.execution_view(child, &self.executions[child], &[]);
        for step in &mut picture.steps {
            step.output = step.output.take().filter(is_small);
        }
        self.past.push_back(Arc::new(picture));
        let steps = |past: &Arc<ExecutionView>| past.steps.len();
        while self.past.len() > KEPT_PICTURES
            || (self.past.len() > 1 && self.past.iter().map(steps).sum::<usize>() > KEPT_STEPS)
        {
            self.past.pop_front();
        }
    }

    /// A repeating step begins anew: its earlier lap's iterations aren't shown as this one's.
    pub(super) fn forget_pictures(&mut self, at: StepRef) {
        let execution = &self.executions[at.execution];
        let (id, slug) = (&execution.id, &execution.graph.step(at.step).slug);
        self.past.retain(|picture| {
            let iteration = picture.iteration.as_ref();
            !iteration.is_some_and(|it| it.execution == *id && it.step == *slug)
        });
    }
}

fn on_its_way(repeat: &Repeat) -> RepeatView {
    let current = repeat.child.and(repeat.next.checked_sub(1));
    RepeatView {
        current,
        done: current.unwrap_or(repeat.next),
        count: repeat.count,
        total: repeat.total,
    }
}

/// What a council's account in its step's data says of its members.
fn parts_of(data: &Value) -> Vec<Part> {
    let contributions = data.get("contributions").and_then(Value::as_array);
    let part = |entry: &Value| {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let (status, note) = match (text("said"), text("vote"), text("failed")) {
            (Some(said), _, _) => (MemberStatus::Answered, Some(said)),
            (None, Some(vote), _) if vote == Verdict::Pass.label() => {
                (MemberStatus::VotedPass, text("reasoning"))
            }
            (None, Some(_), _) => (MemberStatus::VotedFail, text("reasoning")),
            (None, None, Some(code)) => (failed(code), text("text")),
            (None, None, None) => return None,
        };
        Some(Part {
            member: text("member")?.to_owned(),
            status,
            note: note.map(short),
        })
    };
    contributions
        .into_iter()
        .flatten()
        .filter_map(part)
        .collect()
}

fn failed(code: &str) -> MemberStatus {
    match code == Uncertainty::Refusal.code() {
        true => MemberStatus::Refused,
        false => MemberStatus::Failed,
    }
}

fn leader_at_work(council: &Council) -> MemberStatus {
    if council.turns.contains_key(&LEADER) {
        MemberStatus::Asked
    } else if council.definition.strategy == CouncilStrategy::Decompose {
        // Its first part is to give the members theirs.
        match council.round {
            Round::Assigning => MemberStatus::Waiting,
            Round::Members | Round::Leader => MemberStatus::Answered,
        }
    } else {
        MemberStatus::Waiting
    }
}

/// The leader of a council that nobody can judge: it failed, unless it was never asked.
fn leader_given_up(
    uncertain: &Uncertain,
    parts: &[Part],
    definition: &CouncilDefinition,
) -> MemberStatus {
    let heard = parts.iter().any(|part| part.status.counts());
    let all = parts.len() >= definition.members.len();
    let asked = match definition.strategy {
        CouncilStrategy::Dynamic => uncertain.why != Uncertainty::EffectUnknown,
        CouncilStrategy::Decompose => parts.is_empty() || (heard && all),
        CouncilStrategy::Broadcast | CouncilStrategy::RoundRobin | CouncilStrategy::Vote => {
            heard && all
        }
    };
    match asked {
        true => failed(uncertain.why.code()),
        false => MemberStatus::Waiting,
    }
}

/// What an open conversation waits for, where it waits for somebody.
fn held_note(turn: &Turn) -> Option<String> {
    let note = match turn.held()? {
        Held::Waiting => "waits for what a tool delivers",
        Held::Blocked => "waits to be allowed a call",
        Held::Uncertain => "nobody can tell",
    };
    Some(note.to_owned())
}

fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN_WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Whether a value takes few bytes; looks at no more of it than that takes.
fn is_small(value: &Value) -> bool {
    fn left(value: &Value, room: usize) -> Option<usize> {
        let taken = match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 8,
            Value::String(text) => text.len(),
            Value::Array(items) => {
                return items
                    .iter()
                    .try_fold(room, |room, item| left(item, room)?.checked_sub(1));
            }
            Value::Object(fields) => {
                return fields.iter().try_fold(room, |room, (name, item)| {
                    left(item, room)?.checked_sub(name.len())
                });
            }
        };
        room.checked_sub(taken)
    }
    left(value, KEPT_OUTPUT).is_some()
}
