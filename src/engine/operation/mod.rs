//! What happens while a routine runs: a pure state machine.
//!
//! [`Operation::apply`] takes an event and answers with the commands that follow from it. Nothing
//! here waits, reads a clock or touches the world; time and every reply come in as events. The
//! driver performs the commands in order, so a test can play the world by hand.
//!
//! | file | idea |
//! |---|---|
//! | `state` | one enum a step; everything else is derived |
//! | `flow` | joins, laps, retry edges, the end of the graph (G6–G10) |
//! | `work` | how a step begins and how its verdict is taken |
//! | `opening`, `turn`, `reading`, `seat` | a model's run: what it is told, how it goes on, what its answer is (G4, G18) |
//! | `route`, `prompt` | the tool that ends a run, and the words around it |
//! | `council`, `contributions`, `ballot` | several agents on one step: who speaks when, what they gave, the tools for it (G11) |
//! | `call`, `flight` | a tool call's way through scope, permission and dispatch, and what is in flight (M6, V17) |
//! | `look`, `observe`, `keeping` | verification and evidence (V3, V13, V26) |
//! | `series` | pre and post steps (V23) |
//! | `repeat`, `scope` | map, fold and until, and what templates mean inside (V21, V22) |
//! | `pause`, `waits`, `answers` | rest, what is waited for, what persons answer (V5a, V6, V10a) |
//! | `picture`, `interior`, `view` | what a screen shows of it all |
//! | `ending` | failure, cancellation, close, settlement (G10, V24, V31) |
//!
//! The table of events and phases is [`Operation::apply`]'s first match: what it refuses is a bug of
//! the driver. A reply whose request nobody waits for any more is not refused but kept as a late source.

mod answers;
mod ballot;
mod call;
mod contributions;
mod council;
mod effects;
mod ending;
pub mod event;
mod flight;
mod flow;
mod interior;
mod keeping;
mod look;
pub mod memory;
mod observe;
mod opening;
pub mod outcome;
mod pause;
mod picture;
pub mod plan;
mod prompt;
pub mod published;
mod reading;
mod repeat;
pub mod route;
mod scope;
mod seat;
mod series;
mod state;
mod turn;
pub mod view;
pub mod wait;
mod waits;
mod work;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::engine::evidence::{Place, Receipt, SourceHeader};
use crate::engine::id::{ExecutionId, Generation, RequestId, RunId, SourceId};
use crate::engine::operation::effects::EffectAccount;
use crate::engine::operation::ending::Ending;
use crate::engine::operation::event::{Command, Event, IllegalEvent, Timer};
use crate::engine::operation::flight::{Flight, Owner};
use crate::engine::operation::memory::Memory;
use crate::engine::operation::outcome::{Outcome, Usage};
use crate::engine::operation::plan::Plan;
use crate::engine::operation::published::{At, PublicEvent};
use crate::engine::operation::state::{Execution, Stage, StepRef, StepState};
use crate::engine::operation::view::OperationState;
use crate::engine::verify::Held;

/// One live dispatch of a routine, as pure state.
#[derive(Debug)]
pub struct Operation {
    plan: Arc<Plan>,
    phase: Phase,
    /// Nothing is in flight and nothing may start before a resume; the worst of the waits.
    paused: Option<Held>,
    /// A resume takes in what was delivered meanwhile, before anything is called: it may forbid that (V5a).
    is_taking_in: bool,
    generation: Generation,
    executions: Vec<Execution>,
    memory: Memory,
    agents: Agents,
    effects: EffectAccount,
    usage: Usage,
    in_flight: BTreeMap<RequestId, Flight>,
    /// What to look at; emptied after every event.
    agenda: VecDeque<Todo>,
    /// The executions that are not over, from outer to inner.
    active: BTreeSet<usize>,
    /// Iterations that are over, to be looked at; the latest of them.
    past: VecDeque<Arc<view::ExecutionView>>,
    /// The steps at which something failed, and why: to be told from those that were stopped.
    failed: BTreeMap<StepRef, String>,
    /// How badly each step that waits holds the operation up; kept by `set_state` alone.
    holds: BTreeMap<StepRef, Held>,
    deliveries: BTreeMap<String, Owner>,
    sources: Vec<SourceHeader>,
    receipts: BTreeMap<SourceId, Receipt>,
    outcome: Option<Outcome>,
    counters: Counters,
    now: u64,
    deadline: Option<u64>,
    /// Whether the post steps still run when what is in flight has ended (V23).
    run_post_steps_later: bool,
    out: Vec<Command>,
}

/// Where the operation stands.
#[derive(Debug)]
enum Phase {
    New,
    Leasing,
    /// Executions run, each at its own stage.
    Live,
    /// The graph failed, and the post steps that run all the same do.
    PostMortem(Ending),
    /// It is decided how the operation ends; what is in flight has the grace to settle.
    Settling(Ending),
    /// It settled. A receipt check may be in flight (V31).
    Settled,
    /// It was closed without an outcome.
    Ended,
}

/// Something on the agenda.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Todo {
    /// A step.
    Step(StepRef),
    /// An execution's pre or post steps, or its final verification.
    Stage(usize),
}

#[derive(Debug, Default)]
struct Counters {
    requests: u64,
    runs: u64,
    sources: u64,
}

/// Who works and who waits for a turn (G9).
#[derive(Debug, Default)]
struct Agents {
    busy: BTreeMap<String, StepRef>,
    queues: BTreeMap<String, VecDeque<StepRef>>,
}

/// Whether answers may supply what only reconciliation may (V10a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A plain resume.
    Resume,
    /// A reconciliation.
    Reconcile,
}

impl Operation {
    /// An operation in which nothing has happened.
    pub fn new(plan: Arc<Plan>) -> Self {
        let root = Execution::new(plan.operation.execution(1), plan.graph.clone(), None);
        Self {
            phase: Phase::New,
            paused: None,
            is_taking_in: false,
            generation: Generation::default(),
            executions: vec![root],
            memory: Memory::default(),
            agents: Agents::default(),
            effects: EffectAccount::default(),
            usage: Usage::default(),
            in_flight: BTreeMap::new(),
            agenda: VecDeque::new(),
            active: BTreeSet::from([0]),
            past: VecDeque::new(),
            failed: BTreeMap::new(),
            holds: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            sources: Vec::new(),
            receipts: BTreeMap::new(),
            outcome: None,
            counters: Counters::default(),
            now: 0,
            deadline: None,
            run_post_steps_later: false,
            out: Vec::new(),
            plan,
        }
    }

    /// Takes what happened, `now` milliseconds after the operation began by the monotonic clock,
    /// and says what to do about it, in order.
    ///
    /// # Errors
    /// [`IllegalEvent`] where the driver did something that can't be; nothing is changed then.
    pub fn apply(&mut self, now: u64, event: Event) -> Result<Vec<Command>, IllegalEvent> {
        if !self.is_legal(&event) {
            return Err(IllegalEvent {
                event: event.name(),
                phase: self.phase_label(),
            });
        }
        self.now = self.now.max(now);
        let was_halted = self.is_halted();
        match event {
            Event::Started => self.start(),
            Event::LeasesTaken => self.begin(),
            Event::RequestSent { request, attempt } => self.request_sent(request, attempt),
            Event::ModelReplied { request, reply } => self.model_replied(request, *reply),
            Event::ToolReplied { request, outcome } => self.tool_replied(request, outcome),
            Event::ToolDelivered { delivery, outcome } => self.tool_delivered(&delivery, outcome),
            Event::PermissionDecided {
                request,
                permission,
            } => {
                self.permission_decided(request, permission);
            }
            Event::VerifierDecided { request, decision } => {
                self.verifier_decided(request, decision)
            }
            Event::SourceAcknowledged { source, receipt } => self.acknowledged(source, receipt),
            Event::TimerFired(timer) => self.timer_fired(&timer),
            Event::ResumeAdmitted {
                generation,
                answers,
            } => self.resumed(generation, answers),
            Event::CancelRequested => self.cancel(),
            Event::CloseRequested => self.close(),
            Event::ReceiptCheckRequested => self.check_receipts(),
            Event::StorageFailed { reason } => self.storage_failed(reason),
            Event::CleanupDone | Event::CleanupFailed { .. } => {}
        }
        if self.is_taking_in {
            self.pump();
            self.is_taking_in = false;
            self.look_at_everything();
        } else if was_halted && !self.is_halted() {
            self.look_at_everything();
        }
        self.pump();
        self.pause_if_at_rest();
        Ok(std::mem::take(&mut self.out))
    }

    fn phase_label(&self) -> &'static str {
        match (&self.phase, &self.executions[0].stage) {
            (Phase::New, _) => "new",
            (Phase::Leasing, _) => "leasing",
            (Phase::Live, Stage::Before(_)) => "before the graph",
            (Phase::Live, Stage::Graph) => "in the graph",
            (Phase::Live, Stage::After(_)) | (Phase::PostMortem(_), _) => "after the graph",
            (Phase::Live, Stage::Final(_) | Stage::Over) => "verifying",
            (Phase::Settling(_), _) => "settling",
            (Phase::Settled, _) => "settled",
            (Phase::Ended, _) => "ended",
        }
    }

    /// The table of events and phases.
    fn is_legal(&self, event: &Event) -> bool {
        match event {
            Event::Started => matches!(self.phase, Phase::New),
            Event::LeasesTaken => match self.phase {
                Phase::Leasing => true,
                // It ended, or is ending, while the leases were being taken.
                Phase::PostMortem(_) | Phase::Settling(_) | Phase::Settled | Phase::Ended => true,
                Phase::New | Phase::Live => false,
            },
            Event::ResumeAdmitted { generation, .. } => {
                self.paused.is_some() && *generation == self.generation.next()
            }
            Event::ReceiptCheckRequested => matches!(self.phase, Phase::Settled),
            Event::CleanupDone | Event::CleanupFailed { .. } => match self.phase {
                Phase::Settled | Phase::Ended => true,
                Phase::New
                | Phase::Leasing
                | Phase::Live
                | Phase::PostMortem(_)
                | Phase::Settling(_) => false,
            },
            Event::RequestSent { .. }
            | Event::ModelReplied { .. }
            | Event::ToolReplied { .. }
            | Event::ToolDelivered { .. }
            | Event::PermissionDecided { .. }
            | Event::VerifierDecided { .. }
            | Event::SourceAcknowledged { .. }
            | Event::TimerFired(_)
            | Event::CancelRequested
            | Event::CloseRequested
            | Event::StorageFailed { .. } => !matches!(self.phase, Phase::New),
        }
    }

    /// Where it stands. Cheap.
    pub fn state(&self) -> OperationState {
        match (&self.phase, self.paused) {
            (Phase::New, _) => OperationState::New,
            (Phase::Settling(_) | Phase::PostMortem(_), _) => OperationState::Settling,
            (Phase::Settled, _) => match self.outcome.as_ref().map(|outcome| outcome.status) {
                Some(outcome::Status::Succeeded) => OperationState::Succeeded,
                Some(outcome::Status::Cancelled) => OperationState::Cancelled,
                Some(outcome::Status::Failed) | None => OperationState::Failed,
            },
            (Phase::Ended, _) => OperationState::Ended,
            (_, Some(held)) => OperationState::Paused(held),
            (_, None) => OperationState::Running,
        }
    }

    /// How many resumes were admitted.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Every source so far, in the order in which they were recorded, late ones included.
    pub fn sources(&self) -> &[SourceHeader] {
        &self.sources
    }

    /// The receipt of an acknowledged source.
    pub fn receipt(&self, source: &SourceId) -> Option<&Receipt> {
        self.receipts.get(source)
    }

    /// Milliseconds left until the deadline at `now`; `None` without one.
    pub fn remaining_ms(&self, now: u64) -> Option<u64> {
        self.deadline.map(|deadline| deadline.saturating_sub(now))
    }

    /// What it was planned from.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// How it ended, once it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Requests that are in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    fn start(&mut self) {
        self.publish(PublicEvent::OperationStarted {
            routine: self.plan.definition.slug.clone(),
            model: self.plan.model.to_string(),
        });
        if let Some(after_ms) = self.plan.definition.deadline_ms {
            self.deadline = Some(self.now + after_ms);
            self.out.push(Command::SetTimer {
                timer: Timer::Deadline,
                after_ms,
            });
        }
        let borrowed: Vec<String> = self
            .plan
            .agents
            .values()
            .filter(|agent| agent.ownership == plan::Ownership::Borrowed)
            .map(|agent| agent.name.clone())
            .collect();
        self.phase = Phase::Leasing;
        self.out.push(Command::TakeLeases(borrowed));
    }

    fn begin(&mut self) {
        if matches!(self.phase, Phase::Leasing) {
            self.phase = Phase::Live;
            self.agenda.push_back(Todo::Stage(0));
        }
    }

    /// Does everything that may be done now.
    fn pump(&mut self) {
        loop {
            match (&self.phase, self.agenda.pop_front()) {
                // Its execution may be over by now.
                (Phase::Live, Some(Todo::Step(at))) if !self.active.contains(&at.execution) => {}
                (Phase::Live, Some(Todo::Step(at))) => self.advance(at),
                (Phase::Live | Phase::PostMortem(_), Some(Todo::Stage(execution))) => {
                    self.advance_stage(execution);
                }
                // Its steps have ended.
                (Phase::PostMortem(_), Some(Todo::Step(_))) => {}
                (Phase::Live, None) => match self.finished_graph() {
                    Some(execution) => self.finish_graph(execution),
                    None => return,
                },
                (Phase::PostMortem(_), None) => return,
                (
                    Phase::New
                    | Phase::Leasing
                    | Phase::Settling(_)
                    | Phase::Settled
                    | Phase::Ended,
                    _,
                ) => {
                    self.agenda.clear();
                    return;
                }
            }
        }
    }

    /// An execution in whose graph nothing is live any more: the agenda is empty.
    fn finished_graph(&self) -> Option<usize> {
        // From inner to outer: an inner one that is over brings its step on first.
        self.active.iter().rev().copied().find(|&index| {
            let execution = &self.executions[index];
            matches!(execution.stage, Stage::Graph) && execution.live == 0
        })
    }

    fn advance_stage(&mut self, execution: usize) {
        match self.executions[execution].stage {
            Stage::Before(_) | Stage::After(_) => self.advance_series(execution),
            Stage::Final(_) => self.advance_final(execution),
            Stage::Graph | Stage::Over => {}
        }
    }

    /// Whether new model and tool calls are stopped (V5a).
    fn is_halted(&self) -> bool {
        self.is_taking_in
            || self.holds.values().any(|held| held.halts())
            || self
                .active
                .iter()
                .any(|&index| self.executions[index].stage.held().is_some_and(Held::halts))
    }

    /// Puts every step that may want something on the agenda.
    fn look_at_everything(&mut self) {
        let live = self.live_steps();
        self.agenda.extend(live.into_iter().map(Todo::Step));
        self.agenda
            .extend(self.active.iter().copied().map(Todo::Stage));
    }

    fn live_steps_of(&self, index: usize) -> Vec<StepRef> {
        let execution = &self.executions[index];
        let live = |step: &crate::engine::routine::graph::StepIndex| {
            execution
                .steps
                .get(step.at())
                .is_some_and(|step| step.state.is_live())
        };
        let steps = execution.graph.steps().filter(live);
        steps
            .map(|step| StepRef {
                execution: index,
                step,
            })
            .collect()
    }

    fn live_steps(&self) -> Vec<StepRef> {
        let active = self.active.iter();
        active
            .flat_map(|&index| self.live_steps_of(index))
            .collect()
    }

    fn wake(&mut self, at: StepRef) {
        self.agenda.push_back(Todo::Step(at));
    }

    fn state_of(&self, at: StepRef) -> &StepState {
        &self.executions[at.execution].steps[at.step.at()].state
    }

    /// The only place where a step's state changes; keeps what is derived from it.
    fn set_state(&mut self, at: StepRef, state: StepState) {
        match state.held() {
            Some(held) => {
                self.holds.insert(at, held);
            }
            None => {
                self.holds.remove(&at);
            }
        }
        let execution = &mut self.executions[at.execution];
        let slot = &mut execution.steps[at.step.at()].state;
        let (was_live, is_live) = (slot.is_live(), state.is_live());
        *slot = state;
        match (was_live, is_live) {
            (false, true) => execution.live += 1,
            (true, false) => execution.live -= 1,
            (true, true) | (false, false) => {}
        }
    }

    /// Takes a step's state out to change it; `set_state` must follow.
    fn take_state(&mut self, at: StepRef) -> StepState {
        // Stands for "taken"; keeps the live count, since a taken state is put back or replaced.
        let slot = &mut self.executions[at.execution].steps[at.step.at()].state;
        match slot.is_live() {
            true => std::mem::replace(slot, StepState::Ready),
            false => std::mem::replace(slot, StepState::Idle),
        }
    }

    /// An execution that is not over.
    fn find_execution(&self, id: &ExecutionId) -> Option<usize> {
        self.active
            .iter()
            .copied()
            .find(|&index| self.executions[index].id == *id)
    }

    fn place(&self, at: StepRef) -> Place {
        let execution = &self.executions[at.execution];
        Place {
            execution: execution.id.clone(),
            step: execution.graph.step(at.step).slug.clone(),
            lap: execution.steps[at.step.at()].lap,
        }
    }

    fn next_run(&mut self) -> RunId {
        self.counters.runs += 1;
        self.plan.operation.run(self.counters.runs)
    }

    fn publish(&mut self, event: PublicEvent) {
        self.out.push(Command::Publish(Box::new(event)));
    }
}

/// Where an event of a step belongs.
fn at(place: &Place) -> At {
    At {
        execution: place.execution.clone(),
        step: Some(place.step.clone()),
        lap: Some(place.lap),
    }
}
