//! A second account of every run (G11, G17, V6, V25): what it was asked, what it said, how it ended.
//!
//! It is kept from commands, events and the numbers of what the models said; the machine's own
//! bookkeeping is not looked at.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::engine::evidence::{Place, Source, SourceKind};
use crate::engine::id::{ExecutionId, RequestId, RunId};
use crate::engine::operation::outcome::Verdict as Said;
use crate::engine::operation::published::SettledVerdict;
use crate::engine::operation::tests::simulator::bench;
use crate::engine::operation::tests::simulator::invariants::{Verdict, ensure};
use crate::engine::operation::tests::simulator::replies::Role;
use crate::engine::operation::tests::simulator::world::{Worker, World};
use crate::engine::ports::{
    CallArguments, Finish, Message, ModelOutcome, ModelReply, ModelRequest, ToolCall,
};

/// One lap of one step of one execution.
pub(super) type LapKey = (ExecutionId, String, u32);

pub(super) fn lap_of(place: &Place) -> LapKey {
    (place.execution.clone(), place.step.clone(), place.lap.0)
}

/// How a run ended, if it was heard out.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    Said(u64),
    Voted(Said, u64),
    Assigned(u64),
    Routed(Said, Option<u64>),
}

/// What is known of one run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) lap: LapKey,
    pub(super) agent: String,
    pub(super) role: Role,
    pub(super) end: Option<End>,
    /// Something that comes after it has begun.
    pub(super) is_over: bool,
    pub(super) is_asked: bool,
    messages: usize,
}

impl Run {
    /// Whether it leads: only a leader gives verdicts and parts.
    pub(super) fn leads(&self) -> bool {
        matches!(self.role, Role::Route { .. } | Role::Assign { .. })
    }

    /// Whether it is a member's, and gave something that counts.
    pub(super) fn gave(&self) -> Option<u64> {
        match self.end {
            Some(End::Said(number) | End::Voted(_, number)) => Some(number),
            Some(End::Assigned(_) | End::Routed(..)) | None => None,
        }
    }
}

/// Every run so far.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) runs: BTreeMap<RunId, Run>,
    /// In the order in which they were first called.
    pub(super) laps: BTreeMap<LapKey, Vec<RunId>>,
    requests: BTreeMap<RequestId, RunId>,
    /// Who said what.
    numbers: BTreeMap<u64, RunId>,
    dispatched: BTreeSet<u64>,
    /// Whose answer is being read.
    heard: Option<RunId>,
    /// Whose arguments were recorded last.
    acted: Option<RunId>,
}

impl Runs {
    /// The runs of a lap, in the order in which they were first called.
    pub(super) fn of(&self, lap: &LapKey) -> impl Iterator<Item = &Run> {
        let runs = self.laps.get(lap).into_iter().flatten();
        runs.map(|run| &self.runs[run])
    }

    /// Whose call it is, where a model made it.
    pub(super) fn agent(&self, args: &Value) -> Option<&str> {
        let run = self.numbers.get(&args["said"].as_u64()?)?;
        Some(&self.runs[run].agent)
    }

    /// A model is called.
    pub(super) fn calls(
        &mut self,
        world: &World,
        request: RequestId,
        run: &RunId,
        place: &Place,
        call: &ModelRequest,
    ) -> Verdict {
        let agent = agent_of(call)?;
        let (lap, role) = (lap_of(place), Role::of(call));
        let known = match self.runs.get(run) {
            Some(known) => {
                let is_same = known.lap == lap && known.agent == agent && known.role == role;
                ensure(is_same, || {
                    format!("{run} was {known:?}, not {agent} in {lap:?}")
                })?;
                let may = known.end.is_none() && !known.is_over && !known.is_asked;
                ensure(may, || format!("{run} is called after its end: {known:?}"))?;
                ensure(known.messages < call.messages.len(), || {
                    format!("{run} asks the same again")
                })?;
                known.messages
            }
            None => 0,
        };
        for message in &call.messages[known..] {
            for number in numbers(message) {
                let by = self.numbers.get(&number).map(|run| &self.runs[run].lap);
                ensure(by == Some(&lap), || {
                    format!("{run} in {lap:?} is told {number} of {by:?}")
                })?;
            }
        }
        if known == 0 {
            let told = call
                .messages
                .first()
                .map(|first| numbers(first))
                .unwrap_or_default();
            match &world.workers[&place.step] {
                Worker::Agent(lone) => {
                    let is_lone = role
                        == Role::Route {
                            must: None,
                            asks: Vec::new(),
                        };
                    let is_right = *lone == agent && is_lone && told.is_empty();
                    ensure(is_right, || {
                        format!("`{agent}` works as {role:?} on {place:?}")
                    })?;
                    ensure(!self.laps.contains_key(&lap), || {
                        format!("a second run in {lap:?}")
                    })?;
                }
                Worker::Council(bench) => bench::opens(self, bench, &lap, &agent, &role, &told)?,
            }
            self.laps.entry(lap.clone()).or_default().push(run.clone());
        } else if let Worker::Council(bench) = &world.workers[&place.step] {
            bench::goes_on(self, bench, &lap, &role)?;
        }
        let known = self.runs.entry(run.clone()).or_insert(Run {
            lap,
            agent,
            role,
            end: None,
            is_over: false,
            is_asked: false,
            messages: 0,
        });
        known.messages = call.messages.len();
        known.is_asked = true;
        self.requests.insert(request, run.clone());
        Ok(())
    }

    /// A model has answered; `is_wanted` where its lap still counts.
    pub(super) fn hears(&mut self, request: RequestId, reply: &ModelReply, is_wanted: bool) {
        let Some(id) = self.requests.get(&request) else {
            return;
        };
        self.heard = Some(id.clone());
        let run = self.runs.get_mut(id).expect("its requests are known");
        run.is_asked = false;
        let ModelOutcome::Answered(answer) = &reply.outcome else {
            return;
        };
        let texts = answer.text.iter().flat_map(|text| said(text));
        let calls = answer.calls.iter().flat_map(numbers_of_call);
        for number in texts.chain(calls) {
            self.numbers.insert(number, id.clone());
        }
        if is_wanted && answer.finish == Finish::Complete {
            run.end = match (answer.calls.as_slice(), &run.role) {
                ([], Role::Say) => {
                    let text = answer.text.as_deref().unwrap_or_default();
                    said(text).first().copied().map(End::Said)
                }
                ([call], role) => ended(call, role),
                _ => None,
            };
        }
    }

    /// A tool is called: what a model called, once (V6).
    pub(super) fn acts(&mut self, place: &Place, args: &Value) -> Verdict {
        let Some(number) = args["said"].as_u64() else {
            return Ok(());
        };
        ensure(self.dispatched.insert(number), || {
            format!("call {number} was made twice")
        })?;
        let lap = self.numbers.get(&number).map(|run| &self.runs[run].lap);
        ensure(lap == Some(&lap_of(place)), || {
            format!("{place:?} makes call {number} of {lap:?}")
        })
    }

    /// Every run has its own sources (G11).
    pub(super) fn keeps(&mut self, source: &Source) -> Verdict {
        let header = &source.header;
        let number = |content: &[u8]| {
            let args: Value = serde_json::from_slice(content).unwrap_or_default();
            args["said"].as_u64()
        };
        let run = match header.kind {
            SourceKind::ModelRequest | SourceKind::ModelResponse => self.heard.clone(),
            SourceKind::ToolArguments => {
                let by = number(&source.content).and_then(|number| self.numbers.get(&number));
                self.acted = by.or(header.run.as_ref()).cloned();
                self.acted.clone()
            }
            SourceKind::ToolResult => self.acted.clone(),
            SourceKind::StepBody | SourceKind::Late => header.run.clone(),
        };
        ensure(run == header.run, || format!("{header:?} is of {run:?}"))?;
        let lap = run.and_then(|run| self.runs.get(&run)).map(|run| &run.lap);
        let place = header.place.as_ref().map(lap_of);
        ensure(lap.is_none() || lap == place.as_ref(), || {
            format!("{header:?} is of {lap:?}")
        })
    }

    /// A lap's verdict is known.
    pub(super) fn settles(
        &mut self,
        worker: &Worker,
        lap: &LapKey,
        verdict: SettledVerdict,
        output: &Value,
        data: &Value,
    ) -> Verdict {
        let said = match verdict {
            SettledVerdict::Pass => Said::Pass,
            SettledVerdict::Fail => Said::Fail,
            SettledVerdict::Skipped => return Ok(()),
            SettledVerdict::Uncertain => return self.account(worker, lap, data),
        };
        self.account(worker, lap, data)?;
        if data["by"] != "model" {
            return Ok(());
        }
        // The number of a long output isn't told.
        let number = output["said"].as_u64();
        let ends = |run: &Run| match run.end {
            Some(End::Routed(verdict, of)) => {
                verdict == said && (number == of || output.is_string())
            }
            Some(End::Said(_) | End::Voted(..) | End::Assigned(_)) | None => false,
        };
        let routes = |run: &&Run| matches!(run.role, Role::Route { .. });
        let last = self.of(lap).filter(routes).last();
        ensure(last.is_some_and(ends), || {
            format!("{lap:?} settled as {said:?} {output} after {last:?}")
        })?;
        match worker {
            Worker::Agent(_) => Ok(()),
            Worker::Council(bench) => bench::settles(self, bench, lap, said, data),
        }
    }

    fn account(&self, worker: &Worker, lap: &LapKey, data: &Value) -> Verdict {
        match worker {
            Worker::Agent(_) => Ok(()),
            Worker::Council(_) => bench::account(self, lap, data),
        }
    }
}

/// Who asks, by the world's instructions.
fn agent_of(call: &ModelRequest) -> Result<String, String> {
    let name = call.system.strip_prefix("You are ");
    let name = name.and_then(|name| name.strip_suffix('.'));
    name.map(str::to_owned)
        .ok_or_else(|| format!("nobody's system text: {}", call.system))
}

fn ended(call: &ToolCall, role: &Role) -> Option<End> {
    let CallArguments::Json(args) = &call.arguments else {
        return None;
    };
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let verdict = match args["verdict"].as_str() {
        Some("pass") => Some(Said::Pass),
        Some("fail") => Some(Said::Fail),
        Some(_) | None => None,
    };
    match (call.name.as_str(), role) {
        ("cast_vote", Role::Vote) if is_text(&args["reasoning"]) => {
            let number = said(args["reasoning"].as_str()?).first().copied()?;
            Some(End::Voted(verdict?, number))
        }
        ("assign_parts", Role::Assign { members }) => {
            let parts = args["parts"].as_object()?;
            let is_right = parts.len() == members.len()
                && members.iter().all(|it| parts.get(it).is_some_and(is_text));
            let number = said(&args.to_string()).first().copied()?;
            is_right.then_some(End::Assigned(number))
        }
        ("route_next_steps", Role::Route { must, .. }) => {
            let verdict = verdict?;
            let leads_nowhere = args["next_steps"].to_string().contains("nowhere");
            let is_right = is_text(&args["reasoning"])
                && !leads_nowhere
                && must.is_none_or(|must| must == verdict);
            is_right.then_some(End::Routed(verdict, args["output"]["said"].as_u64()))
        }
        _ => None,
    }
}

fn numbers(message: &Message) -> Vec<u64> {
    match message {
        Message::User(text) => said(text),
        Message::ToolResult { content, .. } => said(content),
        Message::Assistant { .. } => Vec::new(),
    }
}

fn numbers_of_call(call: &ToolCall) -> Vec<u64> {
    let CallArguments::Json(args) = &call.arguments else {
        return Vec::new();
    };
    let told = args["said"].as_u64().or(args["output"]["said"].as_u64());
    let mut numbers = said(&args.to_string());
    numbers.extend(told);
    numbers
}

/// The numbers of what a text repeats.
fn said(text: &str) -> Vec<u64> {
    let after = text.split("said-").skip(1);
    let digits = after.map(|rest| {
        let end = rest.find(|it: char| !it.is_ascii_digit());
        &rest[..end.unwrap_or(rest.len())]
    });
    digits.filter_map(|digits| digits.parse().ok()).collect()
}
