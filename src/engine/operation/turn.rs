//! A model's run on a step: requests, calls, corrections, and the verdict that ends it (G4, M3, M3a).

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::engine::evidence::SourceKind;
use crate::engine::id::RequestId;
use crate::engine::limits;
use crate::engine::operation::Operation;
use crate::engine::operation::call::{CallEnd, Progress};
use crate::engine::operation::event::Command;
use crate::engine::operation::flight::{Flight, Owner, Sent};
use crate::engine::operation::outcome::{Failure, Uncertainty, Verdict};
use crate::engine::operation::prompt::{self, Brief, WayOn};
use crate::engine::operation::published::{CalledOutcome, PublicEvent};
use crate::engine::operation::route::{self, ROUTE_TOOL};
use crate::engine::operation::state::{Call, CallAt, StepRef, StepState, Turn, TurnAt, WorkRecord};
use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelOutcome, ModelReply, ModelRequest,
    OfferedTool, ToolCall, ToolChoice,
};
use crate::engine::routine::definition::{EdgeCondition, GateOwner, GateStep, ModelWork, StepKind};
use crate::engine::routine::template::MissingValue;

impl Operation {
    /// Begins a fresh conversation on a step whose lap has just begun.
    pub(super) fn begin_turn(&mut self, at: StepRef, agent: &str, work: &ModelWork) {
        let profile = self.plan.agents[agent].clone();
        let brief = match self.brief(at, work) {
            Ok(brief) => brief,
            Err(missing) => {
                let text = missing.to_string();
                return self.fail_step(at, Failure::TemplateFailed { text });
            }
        };
        let body = self.executions[at.execution].graph.body();
        let routine = match body
            .instructions
            .as_ref()
            .map(|text| text.expand(&self.scope(at)))
        {
            None => None,
            Some(Ok(text)) => Some(text),
            Some(Err(missing)) => {
                let text = missing.to_string();
                return self.fail_step(at, Failure::TemplateFailed { text });
            }
        };
        let system = prompt::system(profile.instructions.as_deref(), routine.as_deref());
        let offered = self.offered(at, agent, work);
        let choice = match offered.len() {
            1 => ToolChoice::Forced(ROUTE_TOOL.to_owned()),
            _ => ToolChoice::Auto,
        };
        let run = self.next_run();
        let turn = Turn {
            agent: agent.to_owned(),
            system,
            messages: vec![Arc::new(Message::User(prompt::message(&brief)))],
            offered: offered.into(),
            choice,
            model_calls: 0,
            corrections: 0,
            calls: VecDeque::new(),
            at: TurnAt::CallModel,
            effects: false,
            record: WorkRecord {
                run: Some(run.clone()),
                ..WorkRecord::default()
            },
            run,
        };
        self.set_state(at, StepState::Turn(Box::new(turn)));
        self.limit(at, work.timeout_ms);
        self.wake(at);
    }

    fn brief(&self, at: StepRef, work: &ModelWork) -> Result<Brief, MissingValue> {
        let scope = self.scope(at);
        let execution = &self.executions[at.execution];
        let graph = &execution.graph;
        let step = graph.step(at.step);
        let ways = graph
            .outgoing(at.step)
            .iter()
            .map(|&edge| {
                let text = graph.edge_text(edge);
                WayOn {
                    target: text.to.clone(),
                    verdict: match graph.edge(edge).condition {
                        EdgeCondition::Always | EdgeCondition::OnPass => Verdict::Pass,
                        EdgeCondition::OnFail => Verdict::Fail,
                    },
                    purpose: text.purpose.clone(),
                    handoff_instructions: text.handoff_instructions.clone(),
                }
            })
            .collect();
        let expand = |text: &crate::engine::routine::template::Template| text.expand(&scope);
        Ok(Brief {
            name: step.name.clone(),
            instructions: work.instructions.as_ref().map(expand).transpose()?,
            expected_output: work.expected_output.as_ref().map(expand).transpose()?,
            criteria: work.criteria.iter().map(expand).collect::<Result<_, _>>()?,
            inputs: self
                .plan
                .inputs
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            handoffs: execution.blocks(at.step),
            memory: work
                .memory
                .iter()
                .map(|key| (key.clone(), self.memory.get(key).cloned()))
                .collect(),
            ways,
            judges: matches!(step.kind, StepKind::Gate(_)),
        })
    }

    /// The tools of the step's scope (V17), and always the one that ends the run (G4).
    fn offered(&self, at: StepRef, agent: &str, work: &ModelWork) -> Vec<OfferedTool> {
        let mut offered: Vec<OfferedTool> = self
            .plan
            .tools
            .values()
            .filter(|tool| self.in_scope(agent, work, &tool.name))
            .map(|tool| OfferedTool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                schema: tool.schema.clone(),
            })
            .collect();
        offered.push(route::offered(
            &self.executions[at.execution].graph,
            at.step,
        ));
        offered
    }

    /// (the step's tools, else the agent's, else none) ∩ the agent's ∩ the routine's (V17).
    fn in_scope(&self, agent: &str, work: &ModelWork, tool: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == tool);
        let agent = self.plan.agents[agent].tools.as_deref();
        let asked = work.tools.as_deref().or(agent).is_some_and(names);
        asked
            && agent.is_none_or(names)
            && self
                .plan
                .definition
                .required_tools
                .as_deref()
                .is_none_or(names)
    }

    pub(super) fn advance_turn(&mut self, at: StepRef) {
        loop {
            let state = self.take_state(at);
            let StepState::Turn(mut turn) = state else {
                return self.set_state(at, state);
            };
            match &mut turn.at {
                TurnAt::CallingModel(_) => return self.set_state(at, StepState::Turn(turn)),
                TurnAt::CallModel => return self.call_model(at, turn),
                TurnAt::NextCall => match turn.calls.pop_front() {
                    None => {
                        turn.at = TurnAt::CallModel;
                        self.set_state(at, StepState::Turn(turn));
                    }
                    Some(call) => self.next_call(at, turn, call),
                },
                TurnAt::Call(_, call) => {
                    let place = self.place(at);
                    match self.advance_call(Owner::Step(at), &place, call) {
                        Progress::Over(end) => self.turn_call_over(at, turn, end),
                        Progress::Waits => {
                            if matches!(call.at, CallAt::InFlight(_))
                                && self.side_effects(&call.tool).any()
                            {
                                turn.effects = true;
                            }
                            return self.set_state(at, StepState::Turn(turn));
                        }
                    }
                }
            }
            if !matches!(self.state_of(at), StepState::Turn(_)) || self.is_over_or_settling() {
                return;
            }
        }
    }

    fn call_model(&mut self, at: StepRef, mut turn: Box<Turn>) {
        if self.is_halted() {
            return self.set_state(at, StepState::Turn(turn));
        }
        let (max, _) = self.allowances(at);
        if turn.model_calls >= max {
            let text = format!("the run used its {max} model calls without a verdict");
            return self.make_uncertain(at, Uncertainty::MaxModelCalls, text, turn.record);
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
            place: self.place(at),
            run: turn.run.clone(),
            turn: turn.model_calls,
            model: call.model.to_string(),
        };
        let request = self.request(Owner::Step(at), sent);
        turn.at = TurnAt::CallingModel(request);
        let command = Command::CallModel {
            request,
            run: turn.run.clone(),
            place: self.place(at),
            call: Box::new(call),
        };
        self.set_state(at, StepState::Turn(turn));
        self.out.push(command);
    }

    /// `max_model_calls` and `corrections` of a step.
    fn allowances(&self, at: StepRef) -> (u32, u32) {
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
        if turn == 1 && attempt == 1 {
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

    pub(super) fn model_replied(&mut self, request: RequestId, reply: ModelReply) {
        match self.in_flight.remove(&request) {
            Some(Flight {
                owner: Owner::Step(at),
                ..
            }) if self.takes(at, request) => self.step_replied(at, reply),
            Some(flight) => {
                self.record_late_reply(Some(&flight), reply);
                if let Owner::Step(at) = flight.owner {
                    self.given_up(at, request);
                }
            }
            None => self.record_late_reply(None, reply),
        }
        self.settle_if_quiet();
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

    fn step_replied(&mut self, at: StepRef, reply: ModelReply) {
        let mut turn = match self.take_state(at) {
            StepState::Turn(turn) => turn,
            other => return self.set_state(at, other),
        };
        let ModelReply {
            outcome,
            request,
            response,
        } = reply;
        self.keep_exchange(at, &mut turn, request, response);
        let uncertain = match outcome {
            ModelOutcome::Answered(answer) => {
                self.count_tokens(&answer);
                return self.answered(at, turn, answer);
            }
            ModelOutcome::NotTaken { reason } if !turn.effects => {
                return self.fail_step(at, Failure::ModelRefusedRequest { text: reason });
            }
            // Something may have been done before: a plain failure would hide it (G3).
            ModelOutcome::NotTaken { reason } => (Uncertainty::EffectUnknown, reason),
            ModelOutcome::NoAnswer { reason } => (Uncertainty::NoAnswer, reason),
            ModelOutcome::Unreadable { reason } => (Uncertainty::UnreadableAnswer, reason),
            ModelOutcome::Stopped => (Uncertainty::NoAnswer, "the request was stopped".into()),
        };
        self.make_uncertain(at, uncertain.0, uncertain.1, turn.record);
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

    fn answered(&mut self, at: StepRef, mut turn: Box<Turn>, answer: ModelAnswer) {
        match &answer.finish {
            Finish::Complete => {}
            // Never acted on, also where its JSON happens to be complete (M3).
            Finish::CutOff => {
                let text = "the answer was cut by its token limit";
                return self.make_uncertain(at, Uncertainty::CutOff, text, turn.record);
            }
            Finish::Refused { reason } => {
                let text = format!("the model refused: {reason}");
                return self.make_uncertain(at, Uncertainty::Refusal, text, turn.record);
            }
        }
        let problems = match self.read_answer(at, &answer.calls) {
            Answer::Verdict(mut claim) => {
                claim.record = turn.record;
                return self.claim(at, *claim);
            }
            Answer::Calls => Vec::new(),
            Answer::Wrong(problems) => problems,
        };
        let (_, corrections) = self.allowances(at);
        if !problems.is_empty() {
            // Before anything of the answer is performed: what can't be corrected isn't acted on.
            if turn.corrections >= corrections {
                let text = format!("no valid verdict: {}", problems.join("; "));
                return self.make_uncertain(at, Uncertainty::NoVerdict, text, turn.record);
            }
            turn.corrections += 1;
        }
        turn.messages.push(Arc::new(Message::Assistant {
            text: answer.text,
            calls: answer.calls.clone(),
        }));
        if answer.calls.is_empty() {
            turn.messages
                .push(Arc::new(Message::User(prompt::correction(&problems))));
            turn.at = TurnAt::CallModel;
        } else {
            turn.calls = answer.calls.into();
            turn.at = TurnAt::NextCall;
        }
        self.set_state(at, StepState::Turn(turn));
        self.wake(at);
    }

    /// What an answer is, before anything of it is performed.
    fn read_answer(&self, at: StepRef, calls: &[ToolCall]) -> Answer {
        let graph = &self.executions[at.execution].graph;
        match calls {
            [] => Answer::Wrong(vec![format!(
                "the answer called no tool; only a call of `{ROUTE_TOOL}` ends the step"
            )]),
            [call] if call.name == ROUTE_TOOL => match &call.arguments {
                CallArguments::Json(args) => match route::read(graph, at.step, args) {
                    Ok(claim) => Answer::Verdict(Box::new(claim)),
                    Err(problems) => Answer::Wrong(problems),
                },
                CallArguments::Malformed(_) => Answer::Wrong(vec![malformed(ROUTE_TOOL)]),
            },
            calls => {
                let problems: Vec<String> = calls.iter().filter_map(call_problem).collect();
                if problems.is_empty() {
                    Answer::Calls
                } else {
                    Answer::Wrong(problems)
                }
            }
        }
    }

    /// Looks at the next call of an answer: tells what is wrong with it, or begins it.
    fn next_call(&mut self, at: StepRef, mut turn: Box<Turn>, call: ToolCall) {
        if call.name == ROUTE_TOOL {
            let problems = match &call.arguments {
                CallArguments::Malformed(_) => vec![malformed(ROUTE_TOOL)],
                CallArguments::Json(args) => {
                    let graph = &self.executions[at.execution].graph;
                    let mut problems = route::read(graph, at.step, args).err().unwrap_or_default();
                    if problems.is_empty() {
                        problems.push(NOT_ALONE.to_owned());
                    }
                    problems
                }
            };
            turn.tell(&call, prompt::correction(&problems));
            return self.set_state(at, StepState::Turn(turn));
        }
        let args = match call.arguments {
            CallArguments::Json(ref args) => args.clone(),
            CallArguments::Malformed(_) => {
                turn.tell(&call, json!({ "error": malformed(&call.name) }).to_string());
                return self.set_state(at, StepState::Turn(turn));
            }
        };
        let mut pending = Call {
            tool: call.name.clone(),
            args,
            timeout_ms: limits::TOOL_TIMEOUT_MS,
            at: CallAt::Ask,
        };
        if !turn.offered.iter().any(|tool| tool.name == call.name) {
            // A guessed name, or one that was enabled later (V17).
            let reason = format!("`{}` is not among the tools that are offered", call.name);
            pending.at = CallAt::Ask;
            turn.at = TurnAt::Call(call.id, pending);
            return self.turn_call_over(at, turn, CallEnd::Denied(reason));
        }
        turn.at = TurnAt::Call(call.id, pending);
        self.set_state(at, StepState::Turn(turn));
    }

    /// What an outcome means for a model: a result like any other (V15), unless nobody can tell what
    /// a side-effecting tool did (G3). The step's state has been taken.
    pub(super) fn turn_call_over(&mut self, at: StepRef, mut turn: Box<Turn>, end: CallEnd) {
        let TurnAt::Call(id, call) = std::mem::replace(&mut turn.at, TurnAt::NextCall) else {
            unreachable!("BUG: only a call on its way is over");
        };
        let (outcome, result, text) = end.read();
        self.publish_called(at, &call.tool, outcome);
        self.keep_result(
            at,
            &mut turn.record,
            (&call.tool, &call.args),
            outcome,
            result.clone(),
        );
        let is_unknown = match outcome {
            CalledOutcome::Timeout | CalledOutcome::OutputLimit | CalledOutcome::Unknown => {
                self.side_effects(&call.tool).any()
            }
            CalledOutcome::Ok
            | CalledOutcome::Failed
            | CalledOutcome::Denied
            | CalledOutcome::Pending => false,
        };
        if is_unknown {
            let text = format!("`{}` may have acted: {text}", call.tool);
            return self.make_uncertain(at, Uncertainty::EffectUnknown, text, turn.record);
        }
        let result = match (outcome, result) {
            (CalledOutcome::Denied, _) => json!({ "error": text }),
            (_, result) => result,
        };
        turn.messages.push(Arc::new(Message::ToolResult {
            call: id,
            tool: call.tool,
            content: match result {
                Value::String(text) => text,
                result => result.to_string(),
            },
        }));
        self.set_state(at, StepState::Turn(turn));
        self.limit_follows_wait(at);
        self.wake(at);
    }
}

enum Answer {
    /// A valid verdict.
    Verdict(Box<crate::engine::operation::state::Claim>),
    /// Calls to be made.
    Calls,
    /// Something that needs a correction, and perhaps calls besides.
    Wrong(Vec<String>),
}

const NOT_ALONE: &str =
    "the verdict came before the results of the other calls were known; look at them first";

fn call_problem(call: &ToolCall) -> Option<String> {
    match &call.arguments {
        CallArguments::Malformed(_) => Some(malformed(&call.name)),
        CallArguments::Json(_) if call.name == ROUTE_TOOL => Some(NOT_ALONE.to_owned()),
        CallArguments::Json(_) => None,
    }
}

fn malformed(tool: &str) -> String {
    format!("the arguments of `{tool}` are not valid JSON")
}

impl Turn {
    fn tell(&mut self, call: &ToolCall, content: String) {
        self.messages.push(Arc::new(Message::ToolResult {
            call: call.id.clone(),
            tool: call.name.clone(),
            content,
        }));
    }
}
