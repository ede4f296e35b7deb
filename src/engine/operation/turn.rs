//! A model's run on a step: requests, calls, corrections, and the verdict that ends it (G4, M3, M3a).

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::engine::evidence::SourceKind;
use crate::engine::id::{Lap, RequestId};
use crate::engine::limits;
use crate::engine::operation::Operation;
use crate::engine::operation::call::{CallEnd, Progress};
use crate::engine::operation::council;
use crate::engine::operation::event::Command;
use crate::engine::operation::flight::{Flight, Owner, Sent};
use crate::engine::operation::outcome::{Failure, Uncertainty, Verdict};
use crate::engine::operation::prompt::{self, Brief, WayOn};
use crate::engine::operation::published::{CalledOutcome, PublicEvent};
use crate::engine::operation::route::{self, ROUTE_TOOL};
use crate::engine::operation::state::{
    Call, CallAt, Chair, Goal, Seat, StepRef, StepState, Turn, TurnAt, TurnEnd, WorkRecord,
};
use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelOutcome, ModelReply, ModelRequest,
    OfferedTool, ToolCall, ToolChoice,
};
use crate::engine::routine::definition::{EdgeCondition, GateOwner, GateStep, ModelWork, StepKind};
use crate::engine::routine::template::MissingValue;

impl Operation {
    /// Begins a fresh conversation on a step whose lap has just begun.
    pub(super) fn begin_turn(&mut self, at: StepRef, agent: &str, work: &ModelWork) {
        let brief = match self.brief(at, work) {
            Ok(brief) => brief,
            Err(missing) => {
                let text = missing.to_string();
                return self.fail_step(at, Failure::TemplateFailed { text });
            }
        };
        let message = prompt::message(&brief);
        match self.open_turn(
            at,
            agent,
            work,
            Goal::Route { must: None },
            message,
            Vec::new(),
        ) {
            Ok(turn) => {
                self.set_state(at, StepState::Turn(Box::new(turn)));
                self.limit(at, work.timeout_ms);
                self.wake(at);
            }
            Err(failure) => self.fail_step(at, failure),
        }
    }

    /// A fresh conversation of an agent with a goal (G17): its message, its tools, its run.
    pub(super) fn open_turn(
        &mut self,
        at: StepRef,
        agent: &str,
        work: &ModelWork,
        goal: Goal,
        message: String,
        members: Vec<String>,
    ) -> Result<Turn, Failure> {
        let routine =
            self.routine_instructions(at.execution)
                .map_err(|missing| Failure::TemplateFailed {
                    text: missing.to_string(),
                })?;
        let instructions = self.plan.agents[agent].instructions.clone();
        let system = prompt::system(instructions.as_deref(), &routine);
        let mut offered = self.offered(agent, work);
        let own: Vec<OfferedTool> = members
            .iter()
            .map(|member| council::ask_tool(member))
            .chain(self.ending_tool(at, &goal))
            .collect();
        // What the engine answers itself is offered once, whatever the host's tools are called.
        offered.retain(|tool| own.iter().all(|own| own.name != tool.name));
        let choice = match (goal.tool(), offered.is_empty() && members.is_empty()) {
            (Some(tool), true) => ToolChoice::Forced(tool.to_owned()),
            (Some(_) | None, _) => ToolChoice::Auto,
        };
        offered.extend(own);
        let run = self.next_run();
        Ok(Turn {
            agent: agent.to_owned(),
            goal,
            members,
            system,
            messages: vec![Arc::new(Message::User(message))],
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
        })
    }

    /// The tool that ends a run with this goal, as it is offered.
    fn ending_tool(&self, at: StepRef, goal: &Goal) -> Option<OfferedTool> {
        match goal {
            Goal::Route { .. } => Some(route::offered(
                &self.executions[at.execution].graph,
                at.step,
            )),
            Goal::Say => None,
            Goal::Vote => Some(council::vote_tool()),
            Goal::Assign { members } => Some(council::assign_tool(members)),
        }
    }

    /// The routine's instructions, then those of the nested routines around the step.
    fn routine_instructions(&self, execution: usize) -> Result<Vec<String>, MissingValue> {
        let mut texts = Vec::new();
        let mut next = Some(execution);
        while let Some(index) = next {
            let execution = &self.executions[index];
            if let Some(text) = &execution.graph.body().instructions {
                texts.push(text.expand(&self.scope_of_start(index))?);
            }
            next = execution
                .iteration
                .as_ref()
                .map(|iteration| iteration.of.execution);
        }
        texts.reverse();
        Ok(texts)
    }

    pub(super) fn brief(&self, at: StepRef, work: &ModelWork) -> Result<Brief, MissingValue> {
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

    /// The tools of the step's scope (V17).
    fn offered(&self, agent: &str, work: &ModelWork) -> Vec<OfferedTool> {
        self.plan
            .tools
            .values()
            .filter(|tool| self.in_scope(agent, work, &tool.name))
            .map(|tool| OfferedTool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                schema: tool.schema.clone(),
            })
            .collect()
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
                TurnAt::CallingModel(_) | TurnAt::Member { .. } => return None,
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
        if self.is_halted() {
            return None;
        }
        let (max, _) = self.allowances(seat.at);
        if turn.model_calls >= max {
            return Some(TurnEnd::Uncertain {
                why: Uncertainty::MaxModelCalls,
                text: format!("the run used its {max} model calls without a verdict"),
            });
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
            owner,
            sent:
                Sent::Model {
                    place,
                    run,
                    turn,
                    model,
                },
        }) = self.in_flight.get(&request).cloned()
        else {
            return;
        };
        self.usage.model_calls += 1;
        let at = crate::engine::operation::at(&place);
        if turn == 1 && attempt == 1 && self.submits(owner, place.lap) {
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
    fn submits(&mut self, owner: Owner, lap: Lap) -> bool {
        let Owner::Turn(Seat {
            at,
            chair: Chair::Council(_),
        }) = owner
        else {
            return true;
        };
        // Kept with the step: the council may be gone before the request is told to have gone out.
        match self.executions[at.execution].steps.get_mut(at.step.at()) {
            Some(step) if step.submitted < lap => {
                step.submitted = lap;
                true
            }
            Some(_) | None => false,
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

    fn answered(&mut self, seat: Seat, turn: &mut Turn, answer: ModelAnswer) -> Option<TurnEnd> {
        let uncertain = |why, text: String| Some(TurnEnd::Uncertain { why, text });
        match &answer.finish {
            Finish::Complete => {}
            // Never acted on, also where its JSON happens to be complete (M3).
            Finish::CutOff => {
                let text = "the answer was cut by its token limit".to_owned();
                return uncertain(Uncertainty::CutOff, text);
            }
            Finish::Refused { reason } => {
                return uncertain(Uncertainty::Refusal, format!("the model refused: {reason}"));
            }
        }
        let problems = match self.read_answer(seat.at, turn, &answer) {
            Answer::Ends(end) => return Some(end),
            Answer::Calls => Vec::new(),
            Answer::Wrong(problems) => problems,
        };
        let (_, corrections) = self.allowances(seat.at);
        if !problems.is_empty() {
            // Before anything of the answer is performed: what can't be corrected isn't acted on.
            if turn.corrections >= corrections {
                let text = format!("no valid verdict: {}", problems.join("; "));
                return uncertain(Uncertainty::NoVerdict, text);
            }
            turn.corrections += 1;
        }
        turn.messages.push(Arc::new(Message::Assistant {
            text: answer.text,
            calls: answer.calls.clone(),
        }));
        if answer.calls.is_empty() {
            let correction = turn.goal.correction(&problems);
            turn.messages.push(Arc::new(Message::User(correction)));
            turn.at = TurnAt::CallModel;
        } else {
            turn.calls = answer.calls.into();
            turn.at = TurnAt::NextCall;
        }
        None
    }

    /// What an answer is, before anything of it is performed.
    fn read_answer(&self, at: StepRef, turn: &Turn, answer: &ModelAnswer) -> Answer {
        let ending = turn.goal.tool();
        match (answer.calls.as_slice(), ending) {
            ([], None) => match answer.text.as_deref().map(str::trim) {
                Some(text) if !text.is_empty() => Answer::Ends(TurnEnd::Said(text.into())),
                Some(_) | None => Answer::Wrong(vec!["the answer says nothing".into()]),
            },
            ([], Some(tool)) => Answer::Wrong(vec![format!(
                "the answer called no tool; only a call of `{tool}` ends the step"
            )]),
            ([call], Some(tool)) if call.name == tool => match &call.arguments {
                CallArguments::Json(args) => match self.read_ending(at, &turn.goal, args) {
                    Ok(end) => Answer::Ends(end),
                    Err(problems) => Answer::Wrong(problems),
                },
                CallArguments::Malformed(_) => Answer::Wrong(vec![malformed(tool)]),
            },
            (calls, ending) => {
                let problem = |call| call_problem(call, ending);
                let problems: Vec<String> = calls.iter().filter_map(problem).collect();
                if problems.is_empty() {
                    Answer::Calls
                } else {
                    Answer::Wrong(problems)
                }
            }
        }
    }

    /// Reads the arguments of the call that ends a run, or says everything that is wrong with them.
    fn read_ending(&self, at: StepRef, goal: &Goal, args: &Value) -> Result<TurnEnd, Vec<String>> {
        match goal {
            Goal::Route { must } => {
                let graph = &self.executions[at.execution].graph;
                let claim = route::read(graph, at.step, args)?;
                match must {
                    // The leader explains a vote and can't overrule it (G11).
                    Some(must) if claim.verdict != *must => Err(vec![format!(
                        "the members' vote is \"{0}\"; the verdict must be \"{0}\"",
                        must.label()
                    )]),
                    Some(_) | None => Ok(TurnEnd::Verdict(Box::new(claim))),
                }
            }
            Goal::Say => Err(vec!["no call ends this".into()]),
            Goal::Vote => council::read_vote(args),
            Goal::Assign { members } => council::read_parts(members, args),
        }
    }

    /// Looks at the next call of an answer: tells what is wrong with it, or begins it.
    fn next_call(&mut self, seat: Seat, turn: &mut Turn, call: ToolCall) -> Option<TurnEnd> {
        if Some(call.name.as_str()) == turn.goal.tool() {
            let problems = match &call.arguments {
                CallArguments::Malformed(_) => vec![malformed(&call.name)],
                CallArguments::Json(args) => {
                    let ending = self.read_ending(seat.at, &turn.goal, args);
                    ending.err().unwrap_or_else(|| vec![NOT_ALONE.to_owned()])
                }
            };
            let correction = turn.goal.correction(&problems);
            turn.tell(&call.id, &call.name, correction);
            return None;
        }
        let args = match call.arguments {
            CallArguments::Json(ref args) => args.clone(),
            CallArguments::Malformed(_) => {
                let told = json!({ "error": malformed(&call.name) }).to_string();
                turn.tell(&call.id, &call.name, told);
                return None;
            }
        };
        // By the run's own members: a host's tool may be called `ask_…` too.
        if let Some(member) = council::member_of_tool(&call.name)
            && turn.members.iter().any(|known| known == member)
        {
            turn.at = TurnAt::Member {
                call: call.id,
                member: member.to_owned(),
                args,
            };
            return None;
        }
        let is_offered = turn.offered.iter().any(|tool| tool.name == call.name);
        let reason = format!("`{}` is not among the tools that are offered", call.name);
        let pending = Call {
            tool: call.name,
            args,
            timeout_ms: limits::TOOL_TIMEOUT_MS,
            at: CallAt::Ask,
        };
        turn.at = TurnAt::Call(call.id, pending);
        if is_offered {
            return None;
        }
        // A guessed name, or one that was enabled later (V17).
        self.turn_call_over(seat, turn, CallEnd::Denied(reason))
    }

    /// What an outcome means for a model: a result like any other (V15), unless nobody can tell what
    /// a side-effecting tool did (G3).
    pub(super) fn turn_call_over(
        &mut self,
        seat: Seat,
        turn: &mut Turn,
        end: CallEnd,
    ) -> Option<TurnEnd> {
        let TurnAt::Call(id, call) = std::mem::replace(&mut turn.at, TurnAt::NextCall) else {
            unreachable!("BUG: only a call on its way is over");
        };
        let (outcome, result, text) = end.read();
        self.publish_called(seat.at, &call.tool, outcome);
        self.keep_result(
            seat.at,
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
            return Some(TurnEnd::Uncertain {
                why: Uncertainty::EffectUnknown,
                text: format!("`{}` may have acted: {text}", call.tool),
            });
        }
        let result = match (outcome, result) {
            (CalledOutcome::Denied, _) => json!({ "error": text }),
            (_, result) => result,
        };
        let content = match result {
            Value::String(text) => text,
            result => result.to_string(),
        };
        turn.tell(&id, &call.tool, content);
        None
    }
}

enum Answer {
    /// It ends the run.
    Ends(TurnEnd),
    /// Calls to be made.
    Calls,
    /// Something that needs a correction, and perhaps calls besides.
    Wrong(Vec<String>),
}

const NOT_ALONE: &str =
    "the verdict came before the results of the other calls were known; look at them first";

fn call_problem(call: &ToolCall, ending: Option<&str>) -> Option<String> {
    match &call.arguments {
        CallArguments::Malformed(_) => Some(malformed(&call.name)),
        CallArguments::Json(_) if Some(call.name.as_str()) == ending => Some(NOT_ALONE.to_owned()),
        CallArguments::Json(_) => None,
    }
}

fn malformed(tool: &str) -> String {
    format!("the arguments of `{tool}` are not valid JSON")
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

impl Goal {
    /// The tool whose call ends a run with this goal; without one its text does.
    pub(super) fn tool(&self) -> Option<&'static str> {
        match self {
            Self::Route { .. } => Some(ROUTE_TOOL),
            Self::Say => None,
            Self::Vote => Some(council::VOTE_TOOL),
            Self::Assign { .. } => Some(council::ASSIGN_TOOL),
        }
    }

    fn correction(&self, problems: &[String]) -> String {
        match self.tool() {
            Some(tool) => prompt::correction(tool, problems),
            None => format!("That does not count: {}.", problems.join("; ")),
        }
    }
}
