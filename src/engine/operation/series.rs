//! Pre and post steps: tool calls without a model, one after another (V23).

use serde_json::{Value, json};

use crate::engine::evidence::SourceKind;
use crate::engine::operation::call::{CallEnd, Progress, deliver, failed_by_itself, late_outcome};
use crate::engine::operation::flight::Owner;
use crate::engine::operation::look::FinalLook;
use crate::engine::operation::outcome::Failure;
use crate::engine::operation::published::{CalledOutcome, PublicEvent};
use crate::engine::operation::state::{Call, CallAt, Series, SeriesOutcome, Stage};
use crate::engine::operation::{Operation, Phase, Todo};
use crate::engine::ports::{Permission, ToolOutcome};
use crate::engine::routine::definition::{DeterministicStep, OnError};

impl Series {
    pub(super) fn new() -> Self {
        Self { at: 0, call: None }
    }
}

/// Which of the two lists runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Pre,
    Post,
}

impl Operation {
    fn series(&mut self, execution: usize) -> Option<(Which, &mut Series)> {
        match &mut self.executions[execution].stage {
            Stage::Before(series) => Some((Which::Pre, series)),
            Stage::After(series) => Some((Which::Post, series)),
            Stage::Graph | Stage::Final(_) | Stage::Over => None,
        }
    }

    fn series_steps(&self, execution: usize, which: Which) -> &[DeterministicStep] {
        let body = self.executions[execution].graph.body();
        match which {
            Which::Pre => &body.pre_steps,
            Which::Post => &body.post_steps,
        }
    }

    /// Brings the list on.
    pub(super) fn advance_series(&mut self, execution: usize) {
        let Some((which, series)) = self.series(execution) else {
            return;
        };
        let (at, call) = (series.at, series.call.take());
        let Some(step) = self.series_steps(execution, which).get(at).cloned() else {
            return self.series_done(execution, which);
        };
        let scope = match which {
            Which::Pre => self.scope_of_start(execution),
            Which::Post => self.scope_of_end(execution),
        };
        let mut call = match call {
            Some(call) => call,
            None => match step.args.expand(&scope) {
                Ok(args) => Call {
                    tool: step.tool.clone(),
                    args,
                    timeout_ms: step.timeout_ms,
                    at: CallAt::Ask,
                },
                Err(missing) => {
                    let end = CallEnd::Replied(ToolOutcome::Failed {
                        reason: missing.to_string(),
                    });
                    return self.series_step_over(execution, which, &step, Value::Null, end);
                }
            },
        };
        let place = self.series_place(execution, &step.name);
        match self.advance_call(Owner::Series(execution), &place, &mut call) {
            Progress::Over(end) => self.series_step_over(execution, which, &step, call.args, end),
            Progress::Waits => {
                if let Some((_, series)) = self.series(execution) {
                    series.call = Some(call);
                }
            }
        }
    }

    pub(super) fn series_permission(&mut self, execution: usize, permission: Permission) {
        let is_failing = matches!(self.phase, Phase::PostMortem(_));
        self.agenda.push_back(Todo::Stage(execution));
        let Some((_, series)) = self.series(execution) else {
            return;
        };
        let Some(call) = &mut series.call else {
            return;
        };
        match permission {
            Permission::Allow => call.at = CallAt::Ready,
            // After a failure nobody is asked any more: there is nothing left to resume.
            Permission::Ask { reason } if is_failing => {
                self.series_call_over(execution, CallEnd::Denied(reason))
            }
            Permission::Ask { reason } => call.at = CallAt::Permission { reason },
            Permission::Deny { reason } => {
                self.series_call_over(execution, CallEnd::Denied(reason))
            }
            Permission::Futile { reason } => {
                let end = self.futile(reason);
                self.series_call_over(execution, end);
            }
        }
    }

    /// Whether what a pre or post step called is still waited for.
    pub(super) fn series_runs(&mut self, execution: usize) -> bool {
        self.series(execution)
            .is_some_and(|(_, series)| series.call.is_some())
    }

    pub(super) fn series_replied(&mut self, execution: usize, outcome: ToolOutcome) {
        let is_failing = matches!(self.phase, Phase::PostMortem(_));
        self.agenda.push_back(Todo::Stage(execution));
        let Some((which, series)) = self.series(execution) else {
            return;
        };
        match (outcome, &mut series.call) {
            // Nothing waits after a failure: there is nothing left to resume (V23).
            (ToolOutcome::Pending { delivery }, Some(_)) if is_failing => {
                let reason = format!("it would deliver `{delivery}` later; nothing waits for it");
                self.series_call_over(execution, CallEnd::Replied(ToolOutcome::Unknown { reason }));
            }
            (ToolOutcome::Pending { delivery }, Some(call)) => {
                call.at = CallAt::Delivery {
                    delivery: delivery.clone(),
                    delivered: None,
                };
                let (tool, at) = (call.tool.clone(), series.at);
                self.deliveries.insert(delivery, Owner::Series(execution));
                if let Some(step) = self.series_steps(execution, which).get(at) {
                    let place = self.series_place(execution, &step.name);
                    self.publish(PublicEvent::ToolCalled {
                        at: crate::engine::operation::at(&place),
                        tool,
                        outcome: CalledOutcome::Pending,
                    });
                }
            }
            (outcome, _) => self.series_call_over(execution, CallEnd::Replied(outcome)),
        }
    }

    pub(super) fn series_delivered(&mut self, execution: usize, outcome: ToolOutcome) {
        let noted = outcome.clone();
        self.agenda.push_back(Todo::Stage(execution));
        let tool = match self.series(execution) {
            Some((
                _,
                Series {
                    call: Some(call), ..
                },
            )) => {
                deliver(call, outcome);
                call.tool.clone()
            }
            Some(_) | None => return self.record_late(None, "delivery", late_outcome(&outcome)),
        };
        self.note_settled(&tool, &noted);
    }

    /// The call on its way is over.
    pub(super) fn series_call_over(&mut self, execution: usize, end: CallEnd) {
        let Some((which, series)) = self.series(execution) else {
            return;
        };
        let (at, Some(call)) = (series.at, series.call.take()) else {
            return;
        };
        let Some(step) = self.series_steps(execution, which).get(at).cloned() else {
            return;
        };
        self.series_step_over(execution, which, &step, call.args, end);
    }

    fn series_step_over(
        &mut self,
        execution: usize,
        which: Which,
        step: &DeterministicStep,
        args: Value,
        end: CallEnd,
    ) {
        let (outcome, result, text) = end.read();
        let (outcome, failure) = match (outcome, failed_by_itself(&result)) {
            (CalledOutcome::Ok, None) => (CalledOutcome::Ok, None),
            (CalledOutcome::Ok, Some(text)) => (CalledOutcome::Failed, Some(text)),
            // The effect of what gave no result is not known.
            (CalledOutcome::Timeout | CalledOutcome::OutputLimit | CalledOutcome::Unknown, _)
                if self.side_effects(&step.tool).any() =>
            {
                (outcome, Some(format!("{text}; its effect is not known")))
            }
            (outcome, _) => (outcome, Some(text)),
        };
        let place = self.series_place(execution, &step.name);
        self.publish(PublicEvent::ToolCalled {
            at: crate::engine::operation::at(&place),
            tool: step.tool.clone(),
            outcome,
        });
        let arguments = args.to_string();
        self.record(
            SourceKind::ToolArguments,
            Some(place.clone()),
            None,
            &step.tool,
            arguments.into(),
        );
        let source = match &result {
            Value::Null => None,
            result => {
                let content = result.to_string();
                Some(self.record(
                    SourceKind::ToolResult,
                    Some(place),
                    None,
                    &step.tool,
                    content.into(),
                ))
            }
        };
        // The failure stays visible where the routine goes on (V23).
        let result = match (&failure, result) {
            (Some(text), Value::Object(mut result)) => {
                result.insert("success".into(), false.into());
                result.entry("error").or_insert_with(|| text.clone().into());
                Value::Object(result)
            }
            (Some(text), other) => json!({ "success": false, "error": text, "result": other }),
            (None, result) => result,
        };
        if let Some(key) = &step.result_key {
            self.memory.set(key, result.clone());
        }
        let kept = SeriesOutcome {
            name: step.name.clone(),
            tool: step.tool.clone(),
            outcome,
            result,
            failure: failure.clone(),
            source,
        };
        match which {
            Which::Pre => self.executions[execution].pre.push(kept),
            Which::Post => self.executions[execution].post.push(kept),
        }
        self.agenda.push_back(Todo::Stage(execution));
        let Some((_, series)) = self.series(execution) else {
            return;
        };
        series.at += 1;
        match (failure, step.on_error) {
            (None, _) | (Some(_), OnError::Continue) => {}
            (Some(_), OnError::SkipRemaining) => series.at = usize::MAX,
            (Some(text), OnError::Fail) => {
                // Where the routine has failed already its reason stands, but the list ends too.
                series.at = usize::MAX;
                let name = step.name.clone();
                let failure = match which {
                    Which::Pre => Failure::PreStepFailed {
                        name: name.clone(),
                        text,
                    },
                    Which::Post => Failure::PostStepFailed {
                        name: name.clone(),
                        text,
                    },
                };
                self.fail_execution(execution, failure, Some(name));
            }
        }
    }

    fn series_done(&mut self, execution: usize, which: Which) {
        match which {
            Which::Pre => self.begin_graph(execution),
            Which::Post => match std::mem::replace(&mut self.phase, Phase::Live) {
                Phase::PostMortem(ending) => self.settle(ending),
                other => {
                    self.phase = other;
                    self.executions[execution].stage = Stage::Final(FinalLook::new());
                    self.agenda.push_back(Todo::Stage(execution));
                }
            },
        }
    }
}
