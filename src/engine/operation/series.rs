//! Pre and post steps: tool calls without a model, one after another (V23).

use serde_json::{Value, json};

use crate::engine::evidence::SourceKind;
use crate::engine::operation::call::{CallEnd, Progress, deliver, failed_by_itself, late_outcome};
use crate::engine::operation::flight::Owner;
use crate::engine::operation::look::FinalLook;
use crate::engine::operation::outcome::Failure;
use crate::engine::operation::published::CalledOutcome;
use crate::engine::operation::state::{Call, CallAt, Series, SeriesOutcome};
use crate::engine::operation::{Operation, Phase};
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
    fn series(&mut self) -> Option<(Which, &mut Series)> {
        match &mut self.phase {
            Phase::Before(series) => Some((Which::Pre, series)),
            Phase::After(series, _) => Some((Which::Post, series)),
            Phase::New
            | Phase::Leasing
            | Phase::Graph
            | Phase::Final(_)
            | Phase::Settling(_)
            | Phase::Settled
            | Phase::Ended => None,
        }
    }

    /// Brings the list on. Says whether something moved.
    pub(super) fn advance_series(&mut self) -> bool {
        let definition = self.plan.definition.clone();
        let Some((which, series)) = self.series() else {
            return false;
        };
        let steps = match which {
            Which::Pre => &definition.body.pre_steps,
            Which::Post => &definition.body.post_steps,
        };
        let Some(step) = steps.get(series.at) else {
            self.series_done(which);
            return true;
        };
        let mut call = match series.call.take() {
            Some(call) => call,
            None => match step.args.expand(&self.scope_of(0)) {
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
                    self.series_step_over(which, step, Value::Null, end);
                    return true;
                }
            },
        };
        let place = self.series_place(&step.name);
        let progress = self.advance_call(Owner::Series, &place, &mut call);
        match progress {
            Progress::Over(end) => {
                self.series_step_over(which, step, call.args, end);
                true
            }
            Progress::Waits => {
                if let Some((_, series)) = self.series() {
                    series.call = Some(call);
                }
                false
            }
        }
    }

    pub(super) fn series_permission(&mut self, permission: Permission) {
        let is_failing = matches!(self.phase, Phase::After(_, Some(_)));
        let Some((_, series)) = self.series() else {
            return;
        };
        let Some(call) = &mut series.call else {
            return;
        };
        match permission {
            Permission::Allow => call.at = CallAt::Ready,
            // After a failure nobody is asked any more: there is nothing left to resume.
            Permission::Ask { reason } if is_failing => {
                self.series_call_over(CallEnd::Denied(reason))
            }
            Permission::Ask { reason } => call.at = CallAt::Permission { reason },
            Permission::Deny { reason } => self.series_call_over(CallEnd::Denied(reason)),
        }
    }

    /// Whether what a pre or post step called is still waited for.
    pub(super) fn series_runs(&mut self) -> bool {
        self.series()
            .is_some_and(|(_, series)| series.call.is_some())
    }

    pub(super) fn series_replied(&mut self, outcome: ToolOutcome) {
        let is_failing = matches!(self.phase, Phase::After(_, Some(_)));
        let Some((which, series)) = self.series() else {
            return;
        };
        match (outcome, &mut series.call) {
            // Nothing waits after a failure: there is nothing left to resume (V23).
            (ToolOutcome::Pending { delivery }, Some(_)) if is_failing => {
                let reason = format!("it would deliver `{delivery}` later; nothing waits for it");
                self.series_call_over(CallEnd::Replied(ToolOutcome::Unknown { reason }));
            }
            (ToolOutcome::Pending { delivery }, Some(call)) => {
                call.at = CallAt::Delivery {
                    delivery: delivery.clone(),
                    delivered: None,
                };
                let (tool, at) = (call.tool.clone(), series.at);
                self.deliveries.insert(delivery, Owner::Series);
                let body = &self.plan.definition.body;
                let steps = match which {
                    Which::Pre => &body.pre_steps,
                    Which::Post => &body.post_steps,
                };
                let name = steps[at].name.clone();
                self.publish_series_called(&name, &tool, CalledOutcome::Pending);
            }
            (outcome, _) => self.series_call_over(CallEnd::Replied(outcome)),
        }
    }

    pub(super) fn series_delivered(&mut self, outcome: ToolOutcome) {
        let noted = outcome.clone();
        let tool = match self.series() {
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
    pub(super) fn series_call_over(&mut self, end: CallEnd) {
        let definition = self.plan.definition.clone();
        let Some((which, series)) = self.series() else {
            return;
        };
        let Some(call) = series.call.take() else {
            return;
        };
        let steps = match which {
            Which::Pre => &definition.body.pre_steps,
            Which::Post => &definition.body.post_steps,
        };
        let step = &steps[series.at];
        self.series_step_over(which, step, call.args, end);
    }

    fn series_step_over(
        &mut self,
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
        self.publish_series_called(&step.name, &step.tool, outcome);
        let place = self.series_place(&step.name);
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
            Which::Pre => self.pre.push(kept),
            Which::Post => self.post.push(kept),
        }
        let Some((_, series)) = self.series() else {
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
                self.fail_in_series(failure, name);
            }
        }
    }

    fn series_done(&mut self, which: Which) {
        match which {
            Which::Pre => self.begin_graph(),
            Which::Post => match std::mem::replace(&mut self.phase, Phase::Graph) {
                Phase::After(_, Some(ending)) => self.settle(ending),
                Phase::After(_, None)
                | Phase::New
                | Phase::Leasing
                | Phase::Before(_)
                | Phase::Graph
                | Phase::Final(_)
                | Phase::Settling(_)
                | Phase::Settled
                | Phase::Ended => self.phase = Phase::Final(FinalLook::new()),
            },
        }
    }
}
