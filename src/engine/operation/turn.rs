//! A model's run on a step: requests, calls, corrections, and the verdict that ends it (G4, M3, M3a).

use std::sync::Arc;

use bytes::Bytes;

use crate::engine::evidence::SourceKind;
use crate::engine::id::{Lap, RequestId};
use crate::engine::limits;
use crate::engine::operation::Operation;
use crate::engine::operation::call::Progress;
use crate::engine::operation::event::Command;
use crate::engine::operation::flight::{Flight, Owner, Sent};
use crate::engine::operation::outcome::{Failure, Uncertainty};
use crate::engine::operation::published::PublicEvent;
use crate::engine::operation::state::{
    CallAt, Chair, Seat, StepRef, StepState, Turn, TurnAt, TurnEnd,
};
use crate::engine::ports::{Message, ModelAnswer, ModelOutcome, ModelReply, ModelRequest};
use crate::engine::routine::definition::{GateOwner, GateStep, StepKind};

impl Operation {
    pub(super) fn advance_turn(&mut self, at: StepRef) {
        let mut turn = match self.take_state(at) {
            StepState::Turn(turn) => turn,
            other => return self.set_state(at, other),
        };
        let end = self.drive(Seat::lone(at), &mut turn);
        self.after_turn(at, turn, end);
    }

    /// Brings a conversation on as far as possible. Says how it ended, if it did.
    pub(super) fn drive(&mut self, seat: Seat, turn: &mut Turn) -> Option<TurnEnd> {
        loop {
            match &mut turn.at {
                TurnAt::CallingModel(_) => return None,
                TurnAt::CallModel => return self.call_model(seat, turn),
                TurnAt::NextCall => match turn.calls.pop_front() {
                    None => turn.at = TurnAt::CallModel,
                    Some(call) => {
                        if let Some(end) = self.next_call(seat, turn, call) {
                            return Some(end);
                        }
                    }
                },
                TurnAt::Call(_, call) => {
                    let place = self.place(seat.at);
                    match self.advance_call(Owner::Turn(seat), &place, call) {
                        Progress::Over(end) => {
                            if let Some(end) = self.turn_call_over(seat, turn, end) {
                                return Some(end);
                            }
                        }
                        Progress::Waits => {
                            if matches!(call.at, CallAt::InFlight(_))
                                && self.side_effects(&call.tool).any()
                            {
                                turn.effects = true;
                            }
                            return None;
                        }
                    }
                }
            }
        }
    }

    /// Puts a step's conversation back, or takes its end as the step's.
    pub(super) fn after_turn(&mut self, at: StepRef, turn: Box<Turn>, end: Option<TurnEnd>) {
        match end {
            None => {
                self.set_state(at, StepState::Turn(turn));
                self.limit_follows_wait(at);
            }
            Some(TurnEnd::Verdict(mut claim)) => {
                claim.record = turn.record;
                self.claim(at, *claim);
            }
            Some(TurnEnd::Uncertain { why, text }) => {
                self.make_uncertain(at, why, text, turn.record);
            }
            Some(TurnEnd::NotTaken { text }) => {
                self.fail_step(at, Failure::ModelRefusedRequest { text });
            }
            Some(TurnEnd::Said(_) | TurnEnd::Vote { .. } | TurnEnd::Parts(_)) => {
                unreachable!("BUG: only a council's runs end like this")
            }
        }
    }

    fn call_model(&mut self, seat: Seat, turn: &mut Turn) -> Option<TurnEnd> {
        let (max, _) = self.allowances(seat.at);
        if turn.model_calls >= max {
            return Some(TurnEnd::Uncertain {
                why: Uncertainty::MaxModelCalls,
                text: format!("the run used its {max} model calls without a verdict"),
            });
        }
        if self.is_halted() {
            return None;
        }
        turn.model_calls += 1;
        let profile = &self.plan.agents[&turn.agent];
        let call = ModelRequest {
            model: profile.model.clone(),
            system: turn.system.clone(),
            messages: turn.messages.clone(),
            tools: turn.offered.clone(),
            tool_choice: turn.choice.clone(),
            reasoning_effort: profile.reasoning_effort,
            max_output_tokens: profile.max_output_tokens,
        };
        let sent = Sent::Model {
            seat,
            place: self.place(seat.at),
            run: turn.run.clone(),
            turn: turn.model_calls,
            model: call.model.to_string(),
        };
        let request = self.request(Owner::Turn(seat), sent);
        turn.at = TurnAt::CallingModel(request);
        self.out.push(Command::CallModel {
            request,
            run: turn.run.clone(),
            place: self.place(seat.at),
            call: Box::new(call),
        });
        None
    }

    /// `max_model_calls` and `corrections` of a step.
    pub(super) fn allowances(&self, at: StepRef) -> (u32, u32) {
        match &self.executions[at.execution].graph.step(at.step).kind {
            StepKind::Agent(step)
            | StepKind::Gate(GateStep {
                owner: GateOwner::Agent(step),
            }) => (step.work.max_model_calls, step.work.corrections),
            StepKind::Council(step) => (step.work.max_model_calls, step.work.corrections),
            StepKind::Gate(_)
            | StepKind::Tool(_)
            | StepKind::Map(_)
            | StepKind::Fold(_)
            | StepKind::Until(_)
            | StepKind::Terminal { .. }
            | StepKind::TerminalFail { .. } => (limits::MODEL_CALLS, limits::CORRECTIONS),
        }
    }

    /// A request went out: each is visible, the lap's first is its submission (C3, V25).
    pub(super) fn request_sent(&mut self, request: RequestId, attempt: u32) {
        // Told after the request was answered or abandoned: nothing to count it against any more.
        let Some(Flight {
            sent:
                Sent::Model {
                    seat,
                    place,
                    run,
                    turn,
                    model,
                },
            ..
        }) = self.in_flight.get(&request).cloned()
        else {
            return;
        };
        self.usage.model_calls += 1;
        let at = crate::engine::operation::at(&place);
        if turn == 1 && attempt == 1 && self.submits(seat, place.lap) {
            self.publish(PublicEvent::StepSubmitted { at: at.clone() });
        }
        self.publish(PublicEvent::ModelCalled {
            at,
            run,
            turn,
            r#try: attempt,
            model,
        });
    }

    /// Whether the first request of a run is its lap's first: of a council's runs only one is.
    fn submits(&mut self, seat: Seat, lap: Lap) -> bool {
        match seat.chair {
            Chair::Lone => true,
            Chair::Council(_) => {
                let submitted = &mut self.executions[seat.at.execution].submitted;
                let latest = submitted.entry(seat.at.step).or_default();
                let is_first = *latest < lap;
                *latest = lap.max(*latest);
                is_first
            }
        }
    }

    pub(super) fn model_replied(&mut self, request: RequestId, reply: ModelReply) {
        match self.in_flight.remove(&request) {
            Some(Flight {
                owner: Owner::Turn(seat),
                ..
            }) if self.takes(seat.at, request) => {
                self.with_turn(seat, |operation, turn| operation.replied(seat, turn, reply));
            }
            Some(flight) => {
                self.record_late_reply(Some(&flight), reply);
                if let Some(at) = flight.owner.step() {
                    self.given_up(at, request);
                }
            }
            None => self.record_late_reply(None, reply),
        }
        self.settle_if_quiet();
    }

    /// Lets something act on the conversation at a seat, and takes what came of it.
    pub(super) fn with_turn(
        &mut self,
        seat: Seat,
        act: impl FnOnce(&mut Self, &mut Turn) -> Option<TurnEnd>,
    ) {
        match (self.take_state(seat.at), seat.chair) {
            (StepState::Turn(mut turn), Chair::Lone) => {
                let end = act(self, &mut turn);
                self.after_turn(seat.at, turn, end);
                self.wake(seat.at);
            }
            (StepState::Council(mut council), Chair::Council(chair)) => {
                match council.turns.remove(&chair) {
                    Some(mut turn) => {
                        let end = act(self, &mut turn);
                        self.after_seat(seat.at, council, chair, turn, end);
                    }
                    None => self.set_state(seat.at, StepState::Council(council)),
                }
                self.wake(seat.at);
            }
            (other, _) => self.set_state(seat.at, other),
        }
    }

    fn record_late_reply(&mut self, flight: Option<&Flight>, reply: ModelReply) {
        if let ModelOutcome::Answered(answer) = &reply.outcome {
            self.count_tokens(answer);
        }
        let place = match flight.map(|flight| &flight.sent) {
            Some(Sent::Model { place, .. }) => Some(place.clone()),
            Some(Sent::Tool { .. } | Sent::Question | Sent::Look) | None => None,
        };
        self.record_late(place.clone(), "model request", reply.request);
        self.record_late(place, "model response", reply.response);
    }

    fn count_tokens(&mut self, answer: &ModelAnswer) {
        self.usage.input_tokens += answer.usage.input_tokens;
        self.usage.output_tokens += answer.usage.output_tokens;
    }

    fn replied(&mut self, seat: Seat, turn: &mut Turn, reply: ModelReply) -> Option<TurnEnd> {
        let ModelReply {
            outcome,
            request,
            response,
        } = reply;
        self.keep_exchange(seat.at, turn, request, response);
        let (why, text) = match outcome {
            ModelOutcome::Answered(answer) => {
                self.count_tokens(&answer);
                return self.answered(seat, turn, answer);
            }
            ModelOutcome::NotTaken { reason } if !turn.effects => {
                return Some(TurnEnd::NotTaken { text: reason });
            }
            // Something may have been done before: a plain failure would hide it (G3).
            ModelOutcome::NotTaken { reason } => (Uncertainty::EffectUnknown, reason),
            ModelOutcome::NoAnswer { reason } => (Uncertainty::NoAnswer, reason),
            ModelOutcome::Unreadable { reason } => (Uncertainty::UnreadableAnswer, reason),
            ModelOutcome::Stopped => (Uncertainty::NoAnswer, "the request was stopped".into()),
        };
        Some(TurnEnd::Uncertain { why, text })
    }

    fn keep_exchange(&mut self, at: StepRef, turn: &mut Turn, request: Bytes, response: Bytes) {
        let place = self.place(at);
        for (kind, label, content) in [
            (SourceKind::ModelRequest, "model request", request),
            (SourceKind::ModelResponse, "model response", response),
        ] {
            if !content.is_empty() {
                let run = Some(turn.run.clone());
                let header = self.record(kind, Some(place.clone()), run, label, content);
                turn.record.sources.push(header);
            }
        }
    }
}

impl Turn {
    pub(super) fn tell(&mut self, call: &str, tool: &str, content: String) {
        self.messages.push(Arc::new(Message::ToolResult {
            call: call.to_owned(),
            tool: tool.to_owned(),
            content,
        }));
    }
}
