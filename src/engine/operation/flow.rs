//! Joins, laps, retry edges and the end of the graph (G6–G10).
//!
//! A join is decided by what its incoming forward edges can still do, never by who came first: an
//! edge is active, dead, or pending, and that is read off its source's state alone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::id::{ExecutionId, Lap};
use crate::engine::limits;
use crate::engine::operation::event::{Command, Timer};
use crate::engine::operation::look::FinalLook;
use crate::engine::operation::outcome::{Failure, Verdict};
use crate::engine::operation::prompt::HandoffBlock;
use crate::engine::operation::published::{At, PublicEvent, SettledVerdict};
use crate::engine::operation::state::{
    Author, Basis, Claim, Execution, Iteration, RetryHandoff, Series, Settled, Skip, Stage, Step,
    StepRef, StepState, TimeLimit, WorkRecord,
};
use crate::engine::operation::{Operation, Todo};
use crate::engine::routine::definition::{PostStepsTrigger, StepKind};
use crate::engine::routine::graph::{EdgeClass, EdgeIndex, RoutineGraph, StepIndex};

/// What an edge can still do for its target.
pub(super) enum EdgeState<'a> {
    /// Its source isn't settled.
    Pending,
    /// It activated, with this handoff.
    Active(&'a Value),
    /// It won't activate in this lap.
    Dead,
}

impl Execution {
    pub(super) fn new(id: ExecutionId, graph: RoutineGraph, iteration: Option<Iteration>) -> Self {
        let step = || Step {
            lap: Lap::default(),
            state: StepState::Idle,
            retries: Vec::new(),
            limit: TimeLimit::Unlimited,
        };
        Self {
            id,
            steps: (0..graph.len()).map(|_| step()).collect(),
            taken: vec![0; graph.body().edges.len()],
            runs: 0,
            live: 0,
            stage: Stage::Before(Series::new()),
            pre: Vec::new(),
            post: Vec::new(),
            iteration,
            submitted: BTreeMap::new(),
            graph,
        }
    }

    /// What a forward edge can still do, read off its source.
    pub(super) fn edge_state(&self, edge: EdgeIndex) -> EdgeState<'_> {
        match &self.steps[self.graph.edge(edge).from.at()].state {
            StepState::Settled(settled) => match settled.claim.handoffs.get(&edge) {
                Some(handoff) => EdgeState::Active(handoff),
                None => EdgeState::Dead,
            },
            StepState::Skipped(Skip::ByCondition { handoffs }) => match handoffs.get(&edge) {
                Some(handoff) => EdgeState::Active(handoff),
                None => EdgeState::Dead,
            },
            StepState::Skipped(Skip::NotActivated) | StepState::Stopped => EdgeState::Dead,
            StepState::Idle
            | StepState::Ready
            | StepState::Turn(_)
            | StepState::ToolRun(_)
            | StepState::GateChecks(_)
            | StepState::OperatorGate
            | StepState::Condition
            | StepState::Council(_)
            | StepState::Repeating(_)
            | StepState::Claimed(_)
            | StepState::Uncertain(_)
            | StepState::Stopping(_) => EdgeState::Pending,
        }
    }

    /// The current handoffs of a step, forward edges first, then retry edges (G5, G7).
    pub(super) fn handoffs(&self, step: StepIndex) -> Vec<(EdgeIndex, &Value)> {
        let forward =
            self.graph
                .forward_in(step)
                .iter()
                .filter_map(|&edge| match self.edge_state(edge) {
                    EdgeState::Active(handoff) => Some((edge, handoff)),
                    EdgeState::Pending | EdgeState::Dead => None,
                });
        let retries = &self.steps[step.at()].retries;
        forward
            .chain(retries.iter().map(|retry| (retry.edge, &retry.handoff)))
            .collect()
    }

    /// The output of its one reached terminal, with several an object by slug (C3).
    pub(super) fn output(&self) -> Value {
        let mut outputs: Vec<(&str, &Value)> = self
            .graph
            .steps()
            .filter_map(
                |step| match (&self.graph.step(step).kind, &self.steps[step.at()].state) {
                    (StepKind::Terminal { .. }, StepState::Settled(settled)) => {
                        Some((self.graph.step(step).slug.as_str(), &settled.claim.output))
                    }
                    _ => None,
                },
            )
            .collect();
        match outputs.len() {
            1 => outputs.remove(0).1.clone(),
            _ => outputs
                .into_iter()
                .map(|(slug, output)| (slug.to_owned(), output.clone()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    /// The handoff blocks that a step is shown.
    pub(super) fn blocks(&self, step: StepIndex) -> Vec<HandoffBlock> {
        self.handoffs(step)
            .into_iter()
            .map(|(edge, handoff)| {
                let text = self.graph.edge_text(edge);
                HandoffBlock {
                    source: text.from.clone(),
                    purpose: text.purpose.clone(),
                    handoff: handoff.clone(),
                }
            })
            .collect()
    }
}

impl Operation {
    /// Begins the graph: all entries in file order.
    pub(super) fn begin_graph(&mut self, execution: usize) {
        self.executions[execution].stage = Stage::Graph;
        let graph = self.executions[execution].graph.clone();
        let begins =
            |step: &StepIndex| graph.entries().contains(step) || graph.forward_in(*step).is_empty();
        // What only a retry edge leads to is passed by for now: it must hold nobody (G8).
        for step in graph.steps().filter(begins) {
            self.wake(StepRef { execution, step });
        }
    }

    /// Looks at one step and does what can be done.
    pub(super) fn advance(&mut self, at: StepRef) {
        match self.state_of(at) {
            StepState::Idle => self.evaluate(at),
            StepState::Ready => self.try_begin(at),
            StepState::Turn(_) => self.advance_turn(at),
            StepState::ToolRun(_) => self.advance_tool_run(at),
            StepState::GateChecks(_) => self.advance_gate_checks(at),
            StepState::Claimed(_) => self.advance_claimed(at),
            StepState::Repeating(_) => self.advance_repeat(at),
            StepState::Council(_) => self.advance_council(at),
            StepState::OperatorGate
            | StepState::Condition
            | StepState::Settled(_)
            | StepState::Skipped(_)
            | StepState::Uncertain(_)
            | StepState::Stopping(_)
            | StepState::Stopped => {}
        }
    }

    /// Decides whether an untouched step is ready, to be skipped, or still held (G8).
    fn evaluate(&mut self, at: StepRef) {
        let execution = &self.executions[at.execution];
        let step = &execution.steps[at.step.at()];
        let mut active = !step.retries.is_empty();
        for &edge in execution.graph.forward_in(at.step) {
            match execution.edge_state(edge) {
                EdgeState::Pending => return,
                EdgeState::Active(_) => active = true,
                EdgeState::Dead => {}
            }
        }
        let is_first_entry =
            step.lap == Lap::default() && execution.graph.entries().contains(&at.step);
        if active || is_first_entry {
            self.set_state(at, StepState::Ready);
            self.wake(at);
        } else {
            self.skip(at, Skip::NotActivated);
        }
    }

    /// A step that doesn't run: recorded, and its own edges die, unless its author's skip is
    /// approved (G8, V20).
    pub(super) fn skip(&mut self, at: StepRef, skip: Skip) {
        self.next_lap(at);
        let (reason, edges) = match &skip {
            Skip::NotActivated => ("not_activated", Vec::new()),
            Skip::ByCondition { handoffs } => {
                ("condition", handoffs.keys().copied().collect::<Vec<_>>())
            }
        };
        self.set_state(at, StepState::Skipped(skip));
        self.publish_settled(
            at,
            SettledVerdict::Skipped,
            Some(reason),
            Value::Null,
            Value::Null,
        );
        for edge in edges {
            self.publish_activation(at, edge, None);
        }
        self.wake_targets(at);
    }

    pub(super) fn next_lap(&mut self, at: StepRef) {
        let step = &mut self.executions[at.execution].steps[at.step.at()];
        step.lap = step.lap.next();
    }

    /// A step's verdict counts now: its edges fire or die (G9).
    pub(super) fn settle_step(&mut self, at: StepRef, settled: Settled) {
        let (forward, retries) = self.fired(at, &settled.claim);
        if retries.is_empty() {
            self.set_state(at, StepState::Settled(Box::new(settled)));
            for edge in forward {
                self.publish_activation(at, edge, None);
            }
            self.wake_targets(at);
        } else {
            self.take_retries(at, settled, &retries);
        }
    }

    fn fired(&self, at: StepRef, claim: &Claim) -> (Vec<EdgeIndex>, Vec<EdgeIndex>) {
        let graph = &self.executions[at.execution].graph;
        claim
            .handoffs
            .keys()
            .copied()
            .partition(|&edge| match graph.edge(edge).class {
                EdgeClass::Forward => true,
                EdgeClass::Retry(_) => false,
            })
    }

    fn wake_targets(&mut self, at: StepRef) {
        let execution = &self.executions[at.execution];
        for &edge in execution.graph.outgoing(at.step) {
            if matches!(execution.graph.edge(edge).class, EdgeClass::Forward) {
                let step = execution.graph.edge(edge).to;
                self.agenda.push_back(Todo::Step(StepRef {
                    execution: at.execution,
                    step,
                }));
            }
        }
    }

    /// Takes retry edges: budgets, invalidation, and the handoffs that start their targets (G6, G7).
    fn take_retries(&mut self, at: StepRef, settled: Settled, retries: &[EdgeIndex]) {
        let graph = self.executions[at.execution].graph.clone();
        let loop_of = |edge: EdgeIndex| match &graph.edge(edge).class {
            EdgeClass::Retry(retry) => retry,
            EdgeClass::Forward => unreachable!("BUG: only retry edges are taken"),
        };
        let lap = self.executions[at.execution].steps[at.step.at()].lap;
        for &edge in retries {
            let taken = self.executions[at.execution].taken[edge.at()];
            if taken >= loop_of(edge).max_attempts {
                let text = graph.edge_text(edge);
                let failure = Failure::RetryExhausted {
                    gate: text.from.clone(),
                    edge: text.label(),
                    max_attempts: loop_of(edge).max_attempts,
                    attempts: taken,
                };
                self.set_state(at, StepState::Settled(Box::new(settled)));
                return self.fail(failure, at);
            }
        }
        // Renewal first: an inner edge that is taken together with its outer one counts from there.
        for &edge in retries {
            for inner in &loop_of(edge).renews {
                self.executions[at.execution].taken[inner.at()] = 0;
            }
        }
        let mut handoffs = settled.claim.handoffs.clone();
        for &edge in retries {
            let taken = &mut self.executions[at.execution].taken[edge.at()];
            *taken += 1;
            let attempt = *taken;
            self.publish_activation(at, edge, Some(attempt));
        }
        for &edge in retries {
            for &step in &loop_of(edge).invalidates {
                self.invalidate(StepRef {
                    execution: at.execution,
                    step,
                });
            }
        }
        for &edge in retries {
            let target = graph.edge(edge).to;
            let handoff = handoffs.remove(&edge).unwrap_or(Value::Null);
            self.executions[at.execution].steps[target.at()]
                .retries
                .push(RetryHandoff {
                    edge,
                    lap,
                    handoff,
                    body: settled.body.clone(),
                });
            self.wake(StepRef {
                execution: at.execution,
                step: target,
            });
        }
    }

    /// Makes a step's latest run count no more (G7). What is in flight is asked to stop first.
    fn invalidate(&mut self, at: StepRef) {
        self.executions[at.execution].steps[at.step.at()]
            .retries
            .clear();
        self.clear_limit(at);
        self.abandon_iterations(at);
        for next in self.agents.forget(at) {
            self.wake(next);
        }
        self.deliveries.retain(|_, owner| owner.step() != Some(at));
        let in_flight = self.flights_of(at);
        if in_flight.is_empty() {
            self.free_agent_of(at);
            return self.set_state(at, StepState::Idle);
        }
        let asked = matches!(
            self.state_of(at),
            StepState::Stopping(_) | StepState::Uncertain(_)
        );
        if !asked {
            self.stop_flights_of(at);
        }
        self.set_state(at, StepState::Stopping(in_flight));
    }

    /// What was in flight for an invalidated lap has settled: the step is free for a new lap.
    pub(super) fn stopped(&mut self, at: StepRef) {
        self.free_agent_of(at);
        self.set_state(at, StepState::Idle);
        self.wake(at);
    }

    /// Nothing is live any more (G10).
    pub(super) fn finish_graph(&mut self, index: usize) {
        let execution = &self.executions[index];
        let reached = execution.graph.steps().any(|step| {
            matches!(execution.graph.step(step).kind, StepKind::Terminal { .. })
                && matches!(execution.steps[step.at()].state, StepState::Settled(_))
        });
        if !reached {
            return self.fail_execution(index, Failure::NoTerminalReached, None);
        }
        let body = execution.graph.body();
        self.executions[index].stage = match (body.post_steps.is_empty(), body.post_steps_trigger) {
            (true, _) => Stage::Final(FinalLook::new()),
            (false, PostStepsTrigger::OnSuccess | PostStepsTrigger::Always) => {
                Stage::After(Series::new())
            }
        };
        self.agenda.push_back(Todo::Stage(index));
    }

    /// A terminal is reached: its output is that of what activated it (C3).
    pub(super) fn reach_terminal(&mut self, at: StepRef) {
        self.next_lap(at);
        let execution = &self.executions[at.execution];
        let output = terminal_output(execution, at.step);
        let kind = &execution.graph.step(at.step).kind;
        let (verdict, reason) = match kind {
            StepKind::TerminalFail { reason } => (Verdict::Fail, reason.clone()),
            StepKind::Terminal { reason } => (Verdict::Pass, reason.clone()),
            StepKind::Agent(_)
            | StepKind::Gate(_)
            | StepKind::Council(_)
            | StepKind::Tool(_)
            | StepKind::Map(_)
            | StepKind::Fold(_)
            | StepKind::Until(_) => unreachable!("BUG: only terminals are reached"),
        };
        let text = match reason
            .map(|reason| reason.expand(&self.scope(at)))
            .transpose()
        {
            Ok(text) => text,
            Err(missing) => {
                let text = missing.to_string();
                return self.fail_step(at, Failure::TemplateFailed { text });
            }
        };
        let data = match &text {
            Some(text) => json!({ "text": text }),
            None => Value::Null,
        };
        let claim = Claim {
            verdict,
            reasoning: text.clone().unwrap_or_default(),
            output: output.clone(),
            data: data.clone(),
            author: Author::Host,
            handoffs: BTreeMap::new(),
            record: WorkRecord::default(),
        };
        let settled = Settled {
            claim,
            body: None,
            basis: Basis::NotAsked,
        };
        self.set_state(at, StepState::Settled(Box::new(settled)));
        let (verdict, reason) = match verdict {
            Verdict::Pass => (SettledVerdict::Pass, None),
            Verdict::Fail => (SettledVerdict::Fail, Some("terminal_fail")),
        };
        self.publish_settled(at, verdict, reason, output, data);
        if reason.is_some() {
            self.fail(Failure::TerminalFail { text }, at);
        }
    }

    fn publish_activation(&mut self, at: StepRef, edge: EdgeIndex, attempt: Option<u32>) {
        let graph = &self.executions[at.execution].graph;
        let (edge, condition) = (
            graph.edge_text(edge).label(),
            graph.edge(edge).condition.label(),
        );
        let at = self.at(at);
        self.publish(PublicEvent::EdgeActivated {
            at,
            edge,
            condition,
            attempt,
        });
    }

    pub(super) fn publish_settled(
        &mut self,
        at: StepRef,
        verdict: SettledVerdict,
        reason: Option<&'static str>,
        output: Value,
        data: Value,
    ) {
        let at = self.at(at);
        self.publish(PublicEvent::StepSettled {
            at,
            verdict,
            reason,
            output,
            data,
        });
    }

    pub(super) fn at(&self, at: StepRef) -> At {
        crate::engine::operation::at(&self.place(at))
    }

    /// A step fails: its execution fails, and with it whatever repeats that (G3).
    pub(super) fn fail(&mut self, failure: Failure, at: StepRef) {
        let step = self.place(at).step;
        self.fail_execution(at.execution, failure, Some(step));
    }

    /// Counts a step run against the execution's limit (G6).
    pub(super) fn count_run(&mut self, at: StepRef) -> Result<(), Failure> {
        let execution = &mut self.executions[at.execution];
        if execution.runs >= limits::EXECUTION_STEPS {
            return Err(Failure::StepLimit);
        }
        execution.runs += 1;
        Ok(())
    }

    /// Begins or goes on with a step's time limit.
    pub(super) fn run_limit(&mut self, at: StepRef) {
        let now = self.now;
        let step = &mut self.executions[at.execution].steps[at.step.at()];
        if let TimeLimit::Standing { left_ms } = step.limit {
            step.limit = TimeLimit::Running {
                since: now,
                left_ms,
            };
            let timer = self.step_timer(at);
            self.out.push(Command::SetTimer {
                timer,
                after_ms: left_ms,
            });
        }
    }

    /// Stands a step's time limit still while it waits for somebody.
    pub(super) fn hold_limit(&mut self, at: StepRef) {
        let now = self.now;
        let step = &mut self.executions[at.execution].steps[at.step.at()];
        if let TimeLimit::Running { since, left_ms } = step.limit {
            let left_ms = left_ms.saturating_sub(now.saturating_sub(since)).max(1);
            step.limit = TimeLimit::Standing { left_ms };
            let timer = self.step_timer(at);
            self.out.push(Command::ClearTimer(timer));
        }
    }

    /// Forgets a step's time limit.
    pub(super) fn clear_limit(&mut self, at: StepRef) {
        let step = &mut self.executions[at.execution].steps[at.step.at()];
        let limit = std::mem::replace(&mut step.limit, TimeLimit::Unlimited);
        if let TimeLimit::Running { .. } = limit {
            let timer = self.step_timer(at);
            self.out.push(Command::ClearTimer(timer));
        }
    }

    fn step_timer(&self, at: StepRef) -> Timer {
        let place = self.place(at);
        Timer::Step {
            execution: place.execution,
            step: place.step,
            lap: place.lap,
        }
    }
}

/// The output of the one step that activated a terminal, with several an object by slug (C3).
fn terminal_output(execution: &Execution, terminal: StepIndex) -> Value {
    let mut outputs: Vec<(&str, &Value)> = execution
        .handoffs(terminal)
        .into_iter()
        .filter_map(|(edge, _)| {
            let from = execution.graph.edge(edge).from;
            match &execution.steps[from.at()].state {
                StepState::Settled(settled) => Some((
                    execution.graph.step(from).slug.as_str(),
                    &settled.claim.output,
                )),
                StepState::Skipped(_) => {
                    Some((execution.graph.step(from).slug.as_str(), &Value::Null))
                }
                _ => None,
            }
        })
        .collect();
    match outputs.len() {
        0 => Value::Null,
        1 => outputs.remove(0).1.clone(),
        _ => Value::Object(
            outputs
                .into_iter()
                .map(|(slug, output)| (slug.to_owned(), output.clone()))
                .collect(),
        ),
    }
}
