//! Map, fold and until: a nested routine for each iteration, one after another (V22).
//!
//! Each iteration is an execution of its own, so repeated slugs stay apart, and an iteration that
//! waits holds only the next one. What the author chose to cover is said in the step's `data`.

use serde_json::{Value, json};

use crate::engine::limits;
use crate::engine::operation::event::{Command, Timer};
use crate::engine::operation::flight::Owner;
use crate::engine::operation::outcome::{Failure, Verdict};
use crate::engine::operation::published::SettledVerdict;
use crate::engine::operation::state::{
    Author, Claim, Execution, Iteration, Repeat, Repeating, Seat, Stage, StepRef, StepState,
    WorkRecord,
};
use crate::engine::operation::{Operation, Todo};
use crate::engine::routine::data_path::{self, DataPath};
use crate::engine::routine::definition::{IterationSource, StepKind, UntilStep};
use crate::engine::routine::template::Template;

impl Operation {
    /// A repeating step begins its lap: always at the first item.
    pub(super) fn begin_repeat(&mut self, at: StepRef) {
        let graph = self.executions[at.execution].graph.clone();
        let repeat = match &graph.step(at.step).kind {
            StepKind::Map(step) => {
                self.items(at, &step.source, step.max_iterations)
                    .map(|(items, total)| Repeat {
                        kind: Repeating::Map,
                        count: items.len() as u64,
                        items,
                        total: Some(total),
                        next: 0,
                        outputs: Vec::new(),
                        last: Value::Null,
                        child: None,
                    })
            }
            StepKind::Fold(step) => {
                self.items(at, &step.source, step.max_iterations)
                    .map(|(items, total)| Repeat {
                        kind: Repeating::Fold,
                        count: items.len() as u64,
                        items,
                        total: Some(total),
                        next: 0,
                        outputs: Vec::new(),
                        last: step.initial_value.clone(),
                        child: None,
                    })
            }
            StepKind::Until(step) => {
                // What the slot held before is put back (V18).
                if let Some(key) = &step.iteration_key {
                    self.memory.lend(at, key);
                }
                Ok(Repeat {
                    kind: Repeating::Until,
                    count: step.max_iterations,
                    items: Vec::new(),
                    total: None,
                    next: 0,
                    outputs: Vec::new(),
                    last: Value::Null,
                    child: None,
                })
            }
            StepKind::Agent(_)
            | StepKind::Gate(_)
            | StepKind::Council(_)
            | StepKind::Tool(_)
            | StepKind::Terminal { .. }
            | StepKind::TerminalFail { .. } => unreachable!("BUG: only repeating steps repeat"),
        };
        self.forget_pictures(at);
        match repeat {
            Ok(repeat) => {
                self.set_state(at, StepState::Repeating(Box::new(repeat)));
                self.wake(at);
            }
            Err(failure) => self.fail_step(at, failure),
        }
    }

    /// The items to go through, and how many there are in all.
    fn items(
        &self,
        at: StepRef,
        source: &IterationSource,
        max: Option<u64>,
    ) -> Result<(Vec<Value>, u64), Failure> {
        let expand = |text: &Template| {
            text.expand(&self.scope(at))
                .map_err(|missing| Failure::TemplateFailed {
                    text: missing.to_string(),
                })
        };
        let bad = |text: String| Failure::BadSource { text };
        let (name, value, path) = match source {
            IterationSource::Step { step, path } => {
                let execution = &self.executions[at.execution];
                let state = execution
                    .graph
                    .find(step)
                    .map(|found| &execution.steps[found.at()].state);
                let value = match state {
                    Some(StepState::Settled(settled)) => Some(&settled.claim.output),
                    Some(_) | None => None,
                };
                (format!("the output of `{step}`"), value, path)
            }
            IterationSource::Memory { key, path } => {
                let key = expand(key)?;
                (
                    format!("the memory value `{key}`"),
                    self.memory.get(&key),
                    path,
                )
            }
        };
        let value = value.ok_or_else(|| bad(format!("{name} is not there")))?;
        let path = match path {
            Some(path) => expand(path)?,
            None => String::new(),
        };
        let place = if path.is_empty() {
            name
        } else {
            format!("`{path}` of {name}")
        };
        let path = DataPath::parse(&path).map_err(|error| bad(error.to_string()))?;
        let found = path
            .find(value)
            .ok_or_else(|| bad(format!("{place} is not there")))?;
        let items =
            data_path::items(&found).ok_or_else(|| bad(format!("{place} holds no array")))?;
        let total = items.len() as u64;
        let count = match max {
            Some(max) => total.min(max),
            None if total > limits::ITERATIONS => {
                return Err(Failure::SourceTooLarge {
                    total,
                    limit: limits::ITERATIONS,
                });
            }
            None => total,
        };
        Ok((items[..count as usize].to_vec(), total))
    }

    /// Begins the next iteration, or ends the step.
    pub(super) fn advance_repeat(&mut self, at: StepRef) {
        let mut repeat = match self.take_state(at) {
            StepState::Repeating(repeat) if repeat.child.is_none() => repeat,
            other => return self.set_state(at, other),
        };
        if repeat.next >= repeat.count {
            return self.repeat_over(at, *repeat);
        }
        let index = repeat.next;
        let graph = self.executions[at.execution].graph.clone();
        let Some(nested) = graph.nested(at.step).cloned() else {
            unreachable!("BUG: a repeating step has a nested graph");
        };
        if let StepKind::Until(UntilStep {
            iteration_key: Some(key),
            ..
        }) = &graph.step(at.step).kind
        {
            self.memory.set(key, json!(index));
        }
        let iteration = Iteration {
            of: at,
            index,
            total: repeat.total,
            item: repeat
                .items
                .get(index as usize)
                .cloned()
                .unwrap_or(Value::Null),
            accumulator: match repeat.kind {
                Repeating::Fold => Some(repeat.last.clone()),
                Repeating::Map | Repeating::Until => None,
            },
        };
        let child = self.executions.len();
        let id = self.plan.operation.execution(child as u64 + 1);
        if let Some(after_ms) = iteration_deadline(&graph.step(at.step).kind) {
            let execution = id.clone();
            self.out.push(Command::SetTimer {
                timer: Timer::Iteration { execution },
                after_ms,
            });
        }
        self.executions
            .push(Execution::new(id, nested, Some(iteration)));
        self.active.insert(child);
        repeat.next += 1;
        repeat.child = Some(child);
        self.set_state(at, StepState::Repeating(repeat));
        self.agenda.push_back(Todo::Stage(child));
    }

    /// An iteration has succeeded.
    pub(super) fn iteration_over(&mut self, child: usize, iteration: &Iteration) {
        let output = self.executions[child].output();
        self.keep_picture(child);
        self.retire(child);
        let at = iteration.of;
        let mut repeat = match self.take_state(at) {
            StepState::Repeating(repeat) => repeat,
            other => return self.set_state(at, other),
        };
        repeat.child = None;
        match repeat.kind {
            Repeating::Map => repeat.outputs.push(output),
            Repeating::Fold | Repeating::Until => repeat.last = output,
        }
        let graph = self.executions[at.execution].graph.clone();
        if let StepKind::Until(step) = &graph.step(at.step).kind {
            if step
                .stop_when
                .holds(self.memory.get(&step.stop_when.memory_key))
            {
                repeat.count = repeat.next;
            } else if repeat.next >= repeat.count {
                self.give_back_slot(at);
                let max_iterations = repeat.count;
                let failure = Failure::MaxIterationsExceeded { max_iterations };
                return self.fail_repeat(at, failure, repeat.output());
            }
        }
        self.set_state(at, StepState::Repeating(repeat));
        self.wake(at);
    }

    /// An iteration failed: the step fails, with what came before kept (V22).
    pub(super) fn fail_iteration(
        &mut self,
        iteration: &Iteration,
        cause: Failure,
        step: Option<String>,
    ) {
        let at = iteration.of;
        let failure = Failure::IterationFailed {
            index: Some(iteration.index),
            step,
            cause: Box::new(cause),
        };
        let kept = match self.take_state(at) {
            StepState::Repeating(repeat) => repeat.output(),
            other => {
                // It has failed already; the first failure is the reason (G10).
                return self.set_state(at, other);
            }
        };
        self.fail_repeat(at, failure, kept);
    }

    /// A repeating step fails, and what its iterations gave is told. Its state has been taken.
    fn fail_repeat(&mut self, at: StepRef, failure: Failure, kept: Value) {
        self.set_state(at, StepState::Stopped);
        let data = failure.detail();
        self.publish_settled(at, SettledVerdict::Fail, Some(failure.code()), kept, data);
        self.fail(failure, at);
    }

    fn repeat_over(&mut self, at: StepRef, repeat: Repeat) {
        self.give_back_slot(at);
        let output = repeat.output();
        let data = match repeat.total {
            Some(total) => json!({ "covered": repeat.next, "total": total }),
            None => json!({ "iterations": repeat.next }),
        };
        let graph = self.executions[at.execution].graph.clone();
        if let Some(key) = result_key(&graph.step(at.step).kind) {
            self.memory.set(key, output.clone());
        }
        let handoff = json!({ "output": output, "data": data });
        match self.host_handoffs(at, Verdict::Pass, &handoff) {
            Ok(handoffs) => self.claim(
                at,
                Claim {
                    verdict: Verdict::Pass,
                    reasoning: String::new(),
                    output,
                    data,
                    author: Author::Host,
                    handoffs,
                    record: WorkRecord::default(),
                },
            ),
            Err(failure) => self.fail_step(at, failure),
        }
    }

    /// What an until's slot held before is there again (V18).
    fn give_back_slot(&mut self, at: StepRef) {
        self.memory.give_back(|by| by == at);
    }

    /// The operation ends around its iterations: their deadlines and slots go, and no stage of theirs
    /// runs on or holds anything up. What their steps were stays to be seen.
    pub(super) fn stop_iterations(&mut self) {
        self.memory.give_back(|_| true);
        for execution in self.active.clone() {
            if self.executions[execution].iteration.is_some() {
                self.clear_iteration_timer(execution);
                self.executions[execution].stage = Stage::Over;
            }
        }
    }

    /// An execution is over: nothing of it is needed any more but its place in the arena.
    fn retire(&mut self, execution: usize) {
        self.clear_iteration_timer(execution);
        self.active.remove(&execution);
        let held = &mut self.executions[execution];
        held.stage = Stage::Over;
        held.steps = Vec::new();
        held.taken = Vec::new();
        held.pre = Vec::new();
        held.post = Vec::new();
        held.live = 0;
    }

    fn clear_iteration_timer(&mut self, execution: usize) {
        let held = &self.executions[execution];
        let Some(iteration) = &held.iteration else {
            return;
        };
        let around = &self.executions[iteration.of.execution].graph;
        if iteration_deadline(&around.step(iteration.of.step).kind).is_some() {
            let execution = held.id.clone();
            self.out
                .push(Command::ClearTimer(Timer::Iteration { execution }));
        }
    }

    /// The executions below a repeating step, from inner to outer.
    fn below(&self, at: StepRef) -> Vec<usize> {
        let mut below = Vec::new();
        for &index in &self.active {
            let Some(iteration) = &self.executions[index].iteration else {
                continue;
            };
            if iteration.of == at || below.contains(&iteration.of.execution) {
                below.push(index);
            }
        }
        below.reverse();
        below
    }

    /// A repeating step is invalidated: its iterations stop, and what they have in flight is the
    /// step's own from now on, so that a new lap begins only when it has settled (G7).
    pub(super) fn abandon_iterations(&mut self, at: StepRef) {
        self.give_back_slot(at);
        for execution in self.below(at) {
            for step in self.live_steps_of(execution) {
                self.clear_limit(step);
                for next in self.agents.forget(step) {
                    self.wake(next);
                }
                self.holds.remove(&step);
            }
            self.agents.hand_over(execution, at);
            for flight in self.in_flight.values_mut() {
                let is_below = match flight.owner {
                    Owner::Step(step) | Owner::Turn(Seat { at: step, .. }) => {
                        step.execution == execution
                    }
                    Owner::Series(index) | Owner::Final(index) => index == execution,
                    Owner::Receipts => false,
                };
                if is_below {
                    flight.owner = Owner::Step(at);
                }
            }
            self.deliveries.retain(|_, owner| match owner {
                Owner::Step(step) | Owner::Turn(Seat { at: step, .. }) => {
                    step.execution != execution
                }
                Owner::Series(index) | Owner::Final(index) => *index != execution,
                Owner::Receipts => true,
            });
            self.memory.give_back(|by| by.execution == execution);
            self.retire(execution);
        }
    }
}

impl Repeat {
    /// What the step gives: the array of all, or the last.
    fn output(&self) -> Value {
        match self.kind {
            Repeating::Map => Value::Array(self.outputs.clone()),
            Repeating::Fold | Repeating::Until => self.last.clone(),
        }
    }
}

fn iteration_deadline(kind: &StepKind) -> Option<u64> {
    match kind {
        StepKind::Map(step) => step.iteration_deadline_ms,
        StepKind::Fold(step) => step.iteration_deadline_ms,
        StepKind::Until(step) => step.iteration_deadline_ms,
        StepKind::Agent(_)
        | StepKind::Gate(_)
        | StepKind::Council(_)
        | StepKind::Tool(_)
        | StepKind::Terminal { .. }
        | StepKind::TerminalFail { .. } => None,
    }
}

fn result_key(kind: &StepKind) -> Option<&str> {
    match kind {
        StepKind::Map(step) => step.result_key.as_deref(),
        StepKind::Fold(step) => Some(&step.result_key),
        StepKind::Until(step) => step.result_key.as_deref(),
        StepKind::Agent(_)
        | StepKind::Gate(_)
        | StepKind::Council(_)
        | StepKind::Tool(_)
        | StepKind::Terminal { .. }
        | StepKind::TerminalFail { .. } => None,
    }
}
