//! What a model's answer is: an end, calls, or something to be corrected (G4, M3).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::limits;
use crate::engine::operation::Operation;
use crate::engine::operation::ballot;
use crate::engine::operation::call::CallEnd;
use crate::engine::operation::outcome::Uncertainty;
use crate::engine::operation::prompt::{self};
use crate::engine::operation::published::CalledOutcome;
use crate::engine::operation::route::{self, ROUTE_TOOL};
use crate::engine::operation::state::{
    Call, CallAt, Goal, LEADER, Seat, StepRef, Turn, TurnAt, TurnEnd,
};
use crate::engine::ports::{CallArguments, Finish, Message, ModelAnswer, ToolCall};

impl Operation {
    pub(super) fn answered(
        &mut self,
        seat: Seat,
        turn: &mut Turn,
        answer: ModelAnswer,
    ) -> Option<TurnEnd> {
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
            Goal::Vote => ballot::read_vote(args),
            Goal::Assign { members } => ballot::read_parts(members, args),
        }
    }

    /// Looks at the next call of an answer: tells what is wrong with it, or begins it.
    pub(super) fn next_call(
        &mut self,
        seat: Seat,
        turn: &mut Turn,
        call: ToolCall,
    ) -> Option<TurnEnd> {
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
        let is_offered = turn.offered.iter().any(|tool| tool.name == call.name);
        let reason = format!("`{}` is not among the tools that are offered", call.name);
        // By the run's own tools: a host's may be called `ask_…` too.
        let member = turn.asks.iter().position(|ask| *ask == call.name);
        let pending = Call {
            tool: call.name,
            args,
            timeout_ms: limits::TOOL_TIMEOUT_MS,
            at: match member {
                Some(before) => CallAt::Member(LEADER + 1 + before),
                None => CallAt::Ask,
            },
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

impl Goal {
    /// The tool whose call ends a run with this goal; without one its text does.
    pub(super) fn tool(&self) -> Option<&'static str> {
        match self {
            Self::Route { .. } => Some(ROUTE_TOOL),
            Self::Say => None,
            Self::Vote => Some(ballot::VOTE_TOOL),
            Self::Assign { .. } => Some(ballot::ASSIGN_TOOL),
        }
    }

    fn correction(&self, problems: &[String]) -> String {
        match self.tool() {
            Some(tool) => prompt::correction(tool, problems),
            None => format!("That does not count: {}.", problems.join("; ")),
        }
    }
}
