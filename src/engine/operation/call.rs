//! A tool call's way: permission, dispatch, reply (M6, V11, V15, V17).
//!
//! Three owners make calls: a model's turn, a tool step, and a pre or post step. The way is the same;
//! what an outcome means is each owner's.

use serde_json::{Value, json};

use crate::engine::capability::SideEffects;
use crate::engine::evidence::Place;
use crate::engine::id::{Lap, RequestId};
use crate::engine::operation::event::Command;
use crate::engine::operation::flight::{Owner, Sent};
use crate::engine::operation::memory::MEMORY_TOOLS;
use crate::engine::operation::outcome::{Failure, Uncertainty};
use crate::engine::operation::published::{CalledOutcome, PublicEvent};
use crate::engine::operation::state::{
    Author, Call, CallAt, Seat, StepRef, StepState, ToolRun, TurnAt,
};
use crate::engine::operation::{Operation, Phase};
use crate::engine::ports::{Permission, ToolOutcome};

/// What a step of a call's way came to.
pub(super) enum Progress {
    /// The next event brings it on.
    Waits,
    /// It is over.
    Over(CallEnd),
}

/// How a call ended.
pub(super) enum CallEnd {
    /// The tool, or the machine for memory, replied.
    Replied(ToolOutcome),
    /// It was not allowed.
    Denied(String),
}

impl Operation {
    /// Brings a call on as far as possible: to the host, to a person, to the tool.
    pub(super) fn advance_call(
        &mut self,
        owner: Owner,
        place: &Place,
        call: &mut Call,
    ) -> Progress {
        match &call.at {
            CallAt::Ask => {
                // Memory's tools too: they are tool calls like any other (V5a).
                if MEMORY_TOOLS.contains(&call.tool.as_str()) && self.is_halted() {
                    return Progress::Waits;
                }
                if let Some(outcome) = self.memory.answer(&call.tool, &call.args) {
                    self.usage.tool_calls += 1;
                    return Progress::Over(CallEnd::Replied(outcome));
                }
                // Asking is no call: also while new calls are stopped, so that a pause shows every question.
                let request = self.request(owner, Sent::Question);
                call.at = CallAt::Asking(request);
                self.out.push(Command::AskPermission {
                    request,
                    place: place.clone(),
                    tool: call.tool.clone(),
                    args: call.args.clone(),
                });
                Progress::Waits
            }
            CallAt::Ready => {
                if self.is_halted() {
                    return Progress::Waits;
                }
                if let Some(tool) = self.plan.tools.get(&call.tool) {
                    self.effects.dispatched(tool, place);
                }
                self.usage.tool_calls += 1;
                let sent = Sent::Tool {
                    place: place.clone(),
                    tool: call.tool.clone(),
                };
                let request = self.request(owner, sent);
                call.at = CallAt::InFlight(request);
                self.out.push(Command::CallTool {
                    request,
                    place: place.clone(),
                    tool: call.tool.clone(),
                    args: call.args.clone(),
                    timeout_ms: call.timeout_ms,
                });
                Progress::Waits
            }
            CallAt::Delivery { delivered, .. } => match delivered {
                Some(outcome) if self.paused.is_none() => {
                    Progress::Over(CallEnd::Replied((**outcome).clone()))
                }
                Some(_) | None => Progress::Waits,
            },
            CallAt::Asking(_)
            | CallAt::Permission { .. }
            | CallAt::InFlight(_)
            | CallAt::Member(_) => Progress::Waits,
        }
    }

    pub(super) fn permission_decided(&mut self, request: RequestId, permission: Permission) {
        match self.in_flight.remove(&request).map(|flight| flight.owner) {
            Some(owner @ (Owner::Step(at) | Owner::Turn(Seat { at, .. })))
                if self.takes(at, request) =>
            {
                self.with_call(owner, |_, call| {
                    call.at = match permission {
                        Permission::Allow => CallAt::Ready,
                        Permission::Ask { reason } => CallAt::Permission { reason },
                        Permission::Deny { reason } => return Some(CallEnd::Denied(reason)),
                    };
                    None
                });
            }
            Some(Owner::Step(at) | Owner::Turn(Seat { at, .. })) => self.given_up(at, request),
            Some(Owner::Series(execution)) => self.series_permission(execution, permission),
            Some(Owner::Final(_) | Owner::Receipts) | None => {}
        }
        self.settle_if_quiet();
    }

    pub(super) fn tool_replied(&mut self, request: RequestId, outcome: ToolOutcome) {
        let Some(flight) = self.in_flight.remove(&request) else {
            return self.record_late(None, "tool result", late_outcome(&outcome));
        };
        // Whoever still waits: what settled has settled (L5).
        if let Sent::Tool { tool, .. } = &flight.sent {
            self.note_settled(tool, &outcome);
        }
        match flight.owner {
            owner @ (Owner::Step(at) | Owner::Turn(Seat { at, .. })) if self.takes(at, request) => {
                self.with_call(owner, |operation, call| match outcome {
                    ToolOutcome::Pending { delivery } => {
                        operation.deliveries.insert(delivery.clone(), owner);
                        call.at = CallAt::Delivery {
                            delivery,
                            delivered: None,
                        };
                        operation.publish_called(at, &call.tool, CalledOutcome::Pending);
                        None
                    }
                    outcome => Some(CallEnd::Replied(outcome)),
                });
            }
            Owner::Step(at) | Owner::Turn(Seat { at, .. }) => {
                self.called_in_vain(flight.sent, outcome);
                self.given_up(at, request);
            }
            Owner::Series(execution) if self.series_runs(execution) => {
                self.series_replied(execution, outcome);
            }
            Owner::Series(_) | Owner::Final(_) | Owner::Receipts => {
                self.called_in_vain(flight.sent, outcome);
            }
        }
        self.settle_if_quiet();
    }

    /// A call came to something after its step gave it up: told, counted and kept, nothing more.
    fn called_in_vain(&mut self, sent: Sent, outcome: ToolOutcome) {
        let Sent::Tool { place, tool } = sent else {
            return;
        };
        let content = late_outcome(&outcome);
        let (outcome, _, _) = CallEnd::Replied(outcome).read();
        self.publish(PublicEvent::ToolCalled {
            at: crate::engine::operation::at(&place),
            tool,
            outcome,
        });
        self.record_late(Some(place), "tool result", content);
    }

    /// A delivery comes once; a second, late or unknown one is a late source (V11).
    pub(super) fn tool_delivered(&mut self, delivery: &str, outcome: ToolOutcome) {
        let owner = match self.deliveries.remove(delivery) {
            Some(owner @ (Owner::Step(_) | Owner::Turn(_))) => owner,
            Some(Owner::Series(execution)) => return self.series_delivered(execution, outcome),
            Some(Owner::Final(_) | Owner::Receipts) | None => {
                return self.record_late(None, "delivery", late_outcome(&outcome));
            }
        };
        self.with_call(owner, |operation, call| {
            operation.note_settled(&call.tool, &outcome);
            deliver(call, outcome);
            None
        });
    }

    pub(super) fn note_settled(&mut self, tool: &str, outcome: &ToolOutcome) {
        let settled = match outcome {
            ToolOutcome::Done(_) | ToolOutcome::OutputLimit(_) => true,
            ToolOutcome::Failed { .. }
            | ToolOutcome::Pending { .. }
            | ToolOutcome::TimedOut
            | ToolOutcome::Unknown { .. } => false,
        };
        if let (true, Some(tool)) = (settled, self.plan.tools.get(tool)) {
            self.effects.settled(tool);
        }
    }

    /// Lets a reply act on the call that is waited for.
    pub(super) fn with_call(
        &mut self,
        owner: Owner,
        act: impl FnOnce(&mut Self, &mut Call) -> Option<CallEnd>,
    ) {
        match owner {
            Owner::Turn(seat) => self.with_turn(seat, |operation, turn| {
                let end = match &mut turn.at {
                    TurnAt::Call(_, call) => act(operation, call),
                    TurnAt::CallModel | TurnAt::CallingModel(_) | TurnAt::NextCall => None,
                };
                operation.turn_call_over(seat, turn, end?)
            }),
            Owner::Step(at) => match self.take_state(at) {
                StepState::ToolRun(mut run) => match act(self, &mut run.call) {
                    Some(end) => self.tool_run_over(at, *run, end),
                    None => {
                        self.set_state(at, StepState::ToolRun(run));
                        self.wake(at);
                    }
                },
                other => self.set_state(at, other),
            },
            Owner::Series(_) | Owner::Final(_) | Owner::Receipts => {}
        }
    }

    /// A step's time limit stands still while all it does is wait for a person or a delivery.
    pub(super) fn limit_follows_wait(&mut self, at: StepRef) {
        let state = self.state_of(at);
        match state.held() {
            Some(_) if !state.works() => self.hold_limit(at),
            Some(_) | None => self.run_limit(at),
        }
    }

    pub(super) fn advance_tool_run(&mut self, at: StepRef) {
        let place = self.place(at);
        let state = self.take_state(at);
        let StepState::ToolRun(mut run) = state else {
            return self.set_state(at, state);
        };
        match self.advance_call(Owner::Step(at), &place, &mut run.call) {
            Progress::Waits => self.set_state(at, StepState::ToolRun(run)),
            Progress::Over(end) => self.tool_run_over(at, *run, end),
        }
    }

    /// What an outcome means for a tool step (G3, V15). Its state has been taken.
    pub(super) fn tool_run_over(&mut self, at: StepRef, run: ToolRun, end: CallEnd) {
        let ToolRun { call, mut record } = run;
        let may_have_acted = self.side_effects(&call.tool).any();
        let (outcome, result, text) = end.read();
        // For a tool step `success: false` is a failure, with or without `error` (V15).
        let (outcome, text) = match (outcome, failed_by_itself(&result)) {
            (CalledOutcome::Ok, Some(text)) => (CalledOutcome::Failed, text),
            (outcome, _) => (outcome, text),
        };
        self.publish_called(at, &call.tool, outcome);
        self.keep_result(
            at,
            &mut record,
            (&call.tool, &call.args),
            outcome,
            result.clone(),
        );
        let tool = call.tool.clone();
        let failed = |text: String| Failure::ToolFailed {
            tool: tool.clone(),
            text,
        };
        match outcome {
            CalledOutcome::Ok => {
                self.claim_tool_result(at, result, Author::Host, String::new(), record);
            }
            CalledOutcome::Failed | CalledOutcome::Denied | CalledOutcome::Pending => {
                self.fail_step(at, failed(text));
            }
            CalledOutcome::Timeout if may_have_acted => {
                self.make_uncertain(at, Uncertainty::Timeout, text, record);
            }
            CalledOutcome::OutputLimit | CalledOutcome::Unknown if may_have_acted => {
                self.make_uncertain(at, Uncertainty::EffectUnknown, text, record);
            }
            CalledOutcome::Timeout | CalledOutcome::OutputLimit | CalledOutcome::Unknown => {
                self.fail_step(at, failed(text));
            }
        }
    }

    pub(super) fn side_effects(&self, tool: &str) -> SideEffects {
        match self.plan.tools.get(tool) {
            Some(tool) => tool.side_effects(),
            None => SideEffects::Unknown,
        }
    }

    pub(super) fn publish_called(&mut self, at: StepRef, tool: &str, outcome: CalledOutcome) {
        let at = self.at(at);
        self.publish(PublicEvent::ToolCalled {
            at,
            tool: tool.to_owned(),
            outcome,
        });
    }

    /// Where a pre or post step's events belong (C3).
    pub(super) fn series_place(&self, execution: usize, name: &str) -> Place {
        Place {
            execution: self.executions[execution].id.clone(),
            step: name.to_owned(),
            lap: Lap(1),
        }
    }

    /// Whether the operation still takes what comes as it was meant.
    pub(super) fn is_over_or_settling(&self) -> bool {
        match self.phase {
            Phase::Settling(_) | Phase::Settled | Phase::Ended => true,
            Phase::New | Phase::Leasing | Phase::Live | Phase::PostMortem(_) => false,
        }
    }
}

pub(super) fn deliver(call: &mut Call, outcome: ToolOutcome) {
    if let CallAt::Delivery { delivered, .. } = &mut call.at {
        *delivered = Some(Box::new(outcome));
    }
}

impl CallEnd {
    /// The word, the result that is kept, and the text for people and models.
    pub(super) fn read(self) -> (CalledOutcome, Value, String) {
        match self {
            Self::Denied(reason) => (
                CalledOutcome::Denied,
                json!({ "denied": reason }),
                format!("not allowed: {reason}"),
            ),
            Self::Replied(outcome) => match outcome {
                ToolOutcome::Done(value) => (CalledOutcome::Ok, value, String::new()),
                ToolOutcome::Failed { reason } => {
                    (CalledOutcome::Failed, json!({ "error": reason }), reason)
                }
                ToolOutcome::Pending { delivery } => (
                    CalledOutcome::Pending,
                    json!({ "pending": delivery }),
                    "pending".into(),
                ),
                ToolOutcome::TimedOut => (
                    CalledOutcome::Timeout,
                    json!({ "error": "timeout" }),
                    "it gave no result within its time limit".into(),
                ),
                ToolOutcome::OutputLimit(value) => (
                    CalledOutcome::OutputLimit,
                    value,
                    "it wrote more than is kept and was ended".into(),
                ),
                ToolOutcome::Unknown { reason } => {
                    (CalledOutcome::Unknown, json!({ "error": reason }), reason)
                }
            },
        }
    }
}

/// The text of a result that says `success: false`, if it does (V15).
pub(super) fn failed_by_itself(result: &Value) -> Option<String> {
    if result.get("success") != Some(&Value::Bool(false)) {
        return None;
    }
    Some(match result.get("error") {
        Some(Value::String(error)) => error.clone(),
        Some(error) => error.to_string(),
        None => match result.get("exit") {
            Some(exit) => format!("it ended with exit code {exit}"),
            None => "it says `success: false`".into(),
        },
    })
}

pub(super) fn late_outcome(outcome: &ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Done(value) | ToolOutcome::OutputLimit(value) => value.to_string(),
        ToolOutcome::Failed { reason } | ToolOutcome::Unknown { reason } => {
            json!({ "error": reason }).to_string()
        }
        ToolOutcome::Pending { delivery } => json!({ "pending": delivery }).to_string(),
        ToolOutcome::TimedOut => json!({ "error": "timeout" }).to_string(),
    }
}
