//! Councils: a leader, its members, and how they work together (G11).
//!
//! Every contribution is a run of its own with its own sources. A member that fails is recorded and
//! the leader is told; if all fail, nobody can say what the step would have given.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::engine::id::{RequestId, RunId};
use crate::engine::operation::Operation;
use crate::engine::operation::ballot;
use crate::engine::operation::outcome::{Failure, Uncertainty, Verdict};
use crate::engine::operation::prompt;
use crate::engine::operation::state::{
    Chair, Contribution, Council, Given, Goal, Round, Seat, StepRef, StepState, Turn, TurnAt,
    TurnEnd, Uncertain, WorkRecord,
};
use crate::engine::routine::definition::{CouncilStep, CouncilStrategy, StepKind};

/// The leader's chair.
const LEADER: usize = 0;

impl Operation {
    /// The agents that a council takes together, all or none (G9).
    pub(super) fn council_agents(&self, step: &CouncilStep) -> Vec<String> {
        let definition = &self.plan.definition.councils[&step.council];
        let mut agents = vec![definition.leader.clone()];
        for member in &definition.members {
            if !agents.contains(member) {
                agents.push(member.clone());
            }
        }
        agents
    }

    /// A council begins its lap; its agents are taken.
    pub(super) fn begin_council(&mut self, at: StepRef, step: &CouncilStep) {
        let definition = self.plan.definition.councils[&step.council].clone();
        let round = match definition.strategy {
            CouncilStrategy::Decompose => Round::Assigning,
            CouncilStrategy::Broadcast | CouncilStrategy::RoundRobin | CouncilStrategy::Vote => {
                Round::Members
            }
            CouncilStrategy::Dynamic => Round::Leader,
        };
        let council = Council {
            calls_left: definition.max_calls,
            definition,
            turns: BTreeMap::new(),
            to_come: VecDeque::new(),
            parts: BTreeMap::new(),
            contributions: Vec::new(),
            round,
            record: WorkRecord::default(),
        };
        self.set_state(at, StepState::Council(Box::new(council)));
        self.limit(at, step.work.timeout_ms);
        self.with_council(at, |operation, council| operation.begin_round(at, council));
        self.wake(at);
    }

    /// Lets something act on a council, and takes it as failed where that fails.
    fn with_council(
        &mut self,
        at: StepRef,
        act: impl FnOnce(&mut Self, &mut Council) -> Result<(), Failure>,
    ) {
        match self.take_state(at) {
            StepState::Council(mut council) => match act(self, &mut council) {
                Ok(()) => {
                    self.set_state(at, StepState::Council(council));
                    self.limit_follows_wait(at);
                }
                Err(failure) => self.fail_step(at, failure),
            },
            other => self.set_state(at, other),
        }
    }

    /// Brings every open conversation on as far as possible.
    pub(super) fn advance_council(&mut self, at: StepRef) {
        let chairs: Vec<usize> = match self.state_of(at) {
            StepState::Council(council) => council.turns.keys().copied().collect(),
            _ => return,
        };
        for chair in chairs {
            let seat = Seat {
                at,
                chair: Chair::Council(chair),
            };
            let StepState::Council(mut council) = self.take_state(at) else {
                unreachable!("BUG: looked at above");
            };
            match council.turns.remove(&chair) {
                None => self.set_state(at, StepState::Council(council)),
                Some(mut turn) => {
                    let end = self.drive(seat, &mut turn);
                    self.after_seat(at, council, chair, turn, end);
                }
            }
            if !matches!(self.state_of(at), StepState::Council(_)) {
                return;
            }
        }
    }

    /// Puts a council's conversation back, or takes its end as the member's or the leader's.
    pub(super) fn after_seat(
        &mut self,
        at: StepRef,
        mut council: Box<Council>,
        chair: usize,
        turn: Turn,
        end: Option<TurnEnd>,
    ) {
        let Some(end) = end else {
            // The leader asks one member at a time and waits for its answer.
            let asks = matches!(turn.at, TurnAt::Member { .. }) && council.turns.is_empty();
            council.turns.insert(chair, turn);
            if asks {
                let done = self.ask_member(at, &mut council);
                return self.put_council(at, council, done);
            }
            self.set_state(at, StepState::Council(council));
            return self.limit_follows_wait(at);
        };
        // A member's unknown effect is the step's (G3).
        if let TurnEnd::Uncertain {
            why: Uncertainty::EffectUnknown,
            text,
        } = end
        {
            let why = Uncertainty::EffectUnknown;
            if chair != LEADER {
                let text = text.clone();
                council.add(chair, turn.run.clone(), Given::Nothing { why, text });
            }
            council.record.absorb(turn.record);
            return self.council_uncertain(at, *council, why, text);
        }
        if chair == LEADER {
            self.leader_ended(at, council, turn, end);
        } else {
            self.member_ended(at, council, chair, turn, end);
        }
    }

    fn put_council(&mut self, at: StepRef, council: Box<Council>, done: Result<(), Failure>) {
        match done {
            Ok(()) => {
                self.set_state(at, StepState::Council(council));
                self.limit_follows_wait(at);
                self.wake(at);
            }
            Err(failure) => self.fail_step(at, failure),
        }
    }

    fn leader_ended(&mut self, at: StepRef, mut council: Box<Council>, turn: Turn, end: TurnEnd) {
        council.record.absorb(turn.record);
        match end {
            TurnEnd::Parts(parts) => {
                council.parts = parts;
                council.round = Round::Members;
                let done = self.begin_round(at, &mut council);
                self.put_council(at, council, done);
            }
            TurnEnd::Verdict(mut claim) => {
                if let Some((why, text)) = council.all_failed() {
                    return self.council_uncertain(at, *council, why, text);
                }
                claim.data = council.account();
                claim.record = std::mem::take(&mut council.record);
                self.claim(at, *claim);
            }
            TurnEnd::Uncertain { why, text } => self.council_uncertain(at, *council, why, text),
            TurnEnd::NotTaken { text } => {
                self.fail_step(at, Failure::ModelRefusedRequest { text });
            }
            TurnEnd::Said(_) | TurnEnd::Vote { .. } => {
                unreachable!("BUG: a leader assigns parts or gives a verdict")
            }
        }
    }

    fn member_ended(
        &mut self,
        at: StepRef,
        mut council: Box<Council>,
        chair: usize,
        turn: Turn,
        end: TurnEnd,
    ) {
        let given = match end {
            TurnEnd::Said(text) => Given::Said(text),
            TurnEnd::Vote { verdict, reasoning } => Given::Vote { verdict, reasoning },
            TurnEnd::Uncertain { why, text } => Given::Nothing { why, text },
            TurnEnd::NotTaken { text } => Given::Nothing {
                why: Uncertainty::NoAnswer,
                text,
            },
            TurnEnd::Verdict(_) | TurnEnd::Parts(_) => {
                unreachable!("BUG: a member gives no verdict and no parts")
            }
        };
        council.record.absorb(turn.record);
        let told = given.told();
        council.add(chair, turn.run, given);
        let done = match council.round {
            Round::Leader => {
                council.answer_leader(&told);
                Ok(())
            }
            Round::Assigning | Round::Members => self.next_member(at, &mut council),
        };
        match done {
            Ok(()) if council.turns.is_empty() && council.to_come.is_empty() => {
                self.members_done(at, council);
            }
            done => self.put_council(at, council, done),
        }
    }

    /// All members have given what they give: the leader ends the step, unless nobody gave anything.
    fn members_done(&mut self, at: StepRef, mut council: Box<Council>) {
        if let Some((why, text)) = council.all_failed() {
            return self.council_uncertain(at, *council, why, text);
        }
        council.round = Round::Leader;
        let done = self.begin_round(at, &mut council);
        self.put_council(at, council, done);
    }

    fn council_uncertain(&mut self, at: StepRef, council: Council, why: Uncertainty, text: String) {
        let stopping = self.stop_flights_of(at);
        let (record, data) = council.given_up();
        let uncertain = Uncertain {
            why,
            text,
            data,
            record,
            stopping,
        };
        self.leave_uncertain(at, uncertain);
    }

    /// Asks everything to stop that is in flight for a step, and says what that is.
    pub(super) fn stop_flights_of(&mut self, at: StepRef) -> BTreeSet<RequestId> {
        let flights = self.in_flight.iter();
        let requests: BTreeSet<RequestId> = flights
            .filter(|(_, flight)| flight.owner.step() == Some(at))
            .map(|(request, _)| *request)
            .collect();
        for &request in &requests {
            self.out
                .push(crate::engine::operation::event::Command::StopRequest { request });
        }
        requests
    }

    /// Opens the conversations with which a round begins.
    fn begin_round(&mut self, at: StepRef, council: &mut Council) -> Result<(), Failure> {
        match council.round {
            Round::Assigning => {
                let members = council.definition.members.clone();
                self.open_chair(at, council, LEADER, Goal::Assign { members }, "")
            }
            Round::Leader => {
                let must = council.tally().map(|tally| tally.verdict());
                self.open_chair(at, council, LEADER, Goal::Route { must }, "")
            }
            Round::Members => {
                council.to_come = (1..=council.definition.members.len()).collect();
                let at_once = match council.definition.strategy {
                    CouncilStrategy::RoundRobin => 1,
                    CouncilStrategy::Broadcast
                    | CouncilStrategy::Decompose
                    | CouncilStrategy::Vote
                    | CouncilStrategy::Dynamic => council.to_come.len(),
                };
                (0..at_once).try_for_each(|_| self.next_member(at, council))
            }
        }
    }

    fn next_member(&mut self, at: StepRef, council: &mut Council) -> Result<(), Failure> {
        let Some(chair) = council.to_come.pop_front() else {
            return Ok(());
        };
        let goal = match council.definition.strategy {
            CouncilStrategy::Vote => Goal::Vote,
            CouncilStrategy::Broadcast
            | CouncilStrategy::RoundRobin
            | CouncilStrategy::Decompose
            | CouncilStrategy::Dynamic => Goal::Say,
        };
        self.open_chair(at, council, chair, goal, "")
    }

    /// A dynamic council's leader asked a member (G11).
    fn ask_member(&mut self, at: StepRef, council: &mut Council) -> Result<(), Failure> {
        let Some(Turn {
            at: TurnAt::Member { member, args, .. },
            ..
        }) = council.turns.get(&LEADER)
        else {
            return Ok(());
        };
        let message = match args.get("message").and_then(Value::as_str) {
            Some(message) if !message.trim().is_empty() => message.to_owned(),
            Some(_) | None => {
                council.answer_leader("`message` must be non-empty text");
                return Ok(());
            }
        };
        let position = council
            .definition
            .members
            .iter()
            .position(|it| it == member);
        match position {
            None => council.answer_leader("there is no such member"),
            Some(_) if council.calls_left == 0 => {
                council.answer_leader("all calls of members are used up; end the step now");
            }
            Some(position) => {
                council.calls_left -= 1;
                return self.open_chair(at, council, position + 1, Goal::Say, &message);
            }
        }
        Ok(())
    }

    fn open_chair(
        &mut self,
        at: StepRef,
        council: &mut Council,
        chair: usize,
        goal: Goal,
        asked: &str,
    ) -> Result<(), Failure> {
        let graph = self.executions[at.execution].graph.clone();
        let StepKind::Council(step) = &graph.step(at.step).kind else {
            unreachable!("BUG: only a council has chairs");
        };
        let brief = self
            .brief(at, &step.work)
            .map_err(|missing| Failure::TemplateFailed {
                text: missing.to_string(),
            })?;
        let (agent, message, asks) = if chair == LEADER {
            let agent = council.definition.leader.clone();
            let message = match &goal {
                Goal::Assign { .. } => prompt::with_ending(&brief, ASSIGNING),
                Goal::Route { .. } | Goal::Say | Goal::Vote => {
                    prompt::message_with(&brief, &council.for_leader())
                }
            };
            let asks = match council.definition.strategy {
                CouncilStrategy::Dynamic => council.definition.members.clone(),
                CouncilStrategy::Broadcast
                | CouncilStrategy::RoundRobin
                | CouncilStrategy::Decompose
                | CouncilStrategy::Vote => Vec::new(),
            };
            (agent, message, asks)
        } else {
            let agent = council.definition.members[chair - 1].clone();
            let message = prompt::with_ending(&brief, &council.for_member(&agent, asked));
            (agent, message, Vec::new())
        };
        let turn = self.open_turn(at, &agent, &step.work, goal, message, asks)?;
        council.turns.insert(chair, turn);
        Ok(())
    }
}

const ASSIGNING: &str = "You lead a council. Give each member its part of the work, in words that it can \
    work from alone, by calling the tool `assign_parts` once, alone. You will see what they gave and end \
    the step then.";

/// How the members voted. Pass needs more than half of all members (G11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tally {
    members: usize,
    pass: usize,
    fail: usize,
}

impl Tally {
    fn verdict(self) -> Verdict {
        match self.pass * 2 > self.members {
            true => Verdict::Pass,
            false => Verdict::Fail,
        }
    }
}

impl Council {
    /// Takes in what a member gave: by chair where the members work side by side, so that nothing
    /// depends on who was first; else in the order in which they were asked.
    fn add(&mut self, chair: usize, run: RunId, given: Given) {
        let contribution = Contribution {
            chair,
            member: self.definition.members[chair - 1].clone(),
            run,
            given,
        };
        let place = match self.definition.strategy {
            CouncilStrategy::Broadcast | CouncilStrategy::Decompose | CouncilStrategy::Vote => {
                self.contributions.partition_point(|it| it.chair < chair)
            }
            CouncilStrategy::RoundRobin | CouncilStrategy::Dynamic => self.contributions.len(),
        };
        self.contributions.insert(place, contribution);
    }

    /// Why nothing counts, where every member was asked and none gave anything (G11).
    fn all_failed(&self) -> Option<(Uncertainty, String)> {
        let members = 1..=self.definition.members.len();
        let first = members
            .map(|chair| {
                let mut given = self.contributions.iter().filter(|it| it.chair == chair);
                given.try_fold(None, |first, it| match &it.given {
                    Given::Nothing { why, text } => Some(first.or(Some((*why, text)))),
                    Given::Said(_) | Given::Vote { .. } => None,
                })?
            })
            .collect::<Option<Vec<_>>>()?;
        let (why, text) = first.first()?;
        Some((*why, format!("no member gave anything that counts: {text}")))
    }

    /// What is left of a council that nobody can judge: the work of all its runs, and its account.
    pub(super) fn given_up(mut self) -> (WorkRecord, Value) {
        let data = self.account();
        for turn in std::mem::take(&mut self.turns).into_values() {
            self.record.absorb(turn.record);
        }
        (self.record, data)
    }

    /// The count of a voting council, once its members have voted.
    fn tally(&self) -> Option<Tally> {
        if self.definition.strategy != CouncilStrategy::Vote {
            return None;
        }
        let count = |wanted| {
            let votes = self.contributions.iter().filter(|it| match &it.given {
                Given::Vote { verdict, .. } => *verdict == wanted,
                Given::Said(_) | Given::Nothing { .. } => false,
            });
            votes.count()
        };
        Some(Tally {
            members: self.definition.members.len(),
            pass: count(Verdict::Pass),
            fail: count(Verdict::Fail),
        })
    }

    /// What the step's data says of the council.
    pub(super) fn account(&self) -> Value {
        let contributions: Vec<Value> = self
            .contributions
            .iter()
            .map(|it| {
                let mut entry = Map::new();
                entry.insert("member".into(), json!(it.member));
                entry.insert("run".into(), json!(it.run));
                match &it.given {
                    Given::Said(text) => entry.insert("said".into(), json!(text)),
                    Given::Vote { verdict, reasoning } => {
                        entry.insert("reasoning".into(), json!(reasoning));
                        entry.insert("vote".into(), json!(verdict.label()))
                    }
                    Given::Nothing { why, text } => {
                        entry.insert("text".into(), json!(text));
                        entry.insert("failed".into(), json!(why.code()))
                    }
                };
                Value::Object(entry)
            })
            .collect();
        let mut data = Map::new();
        data.insert("contributions".into(), contributions.into());
        if let Some(Tally {
            members,
            pass,
            fail,
        }) = self.tally()
        {
            data.insert(
                "tally".into(),
                json!({ "members": members, "pass": pass, "fail": fail }),
            );
        }
        data.into()
    }

    fn for_leader(&self) -> String {
        let mut text = String::from("You lead a council and end this step.");
        if self.definition.strategy == CouncilStrategy::Dynamic {
            let _ = write!(
                text,
                " You may ask your members by their tools, {} times at the most.",
                self.definition.max_calls
            );
        }
        self.write_contributions(&mut text);
        if let Some(tally) = self.tally() {
            let _ = write!(
                text,
                "\n\nOf {} members {} voted pass and {} voted fail, so the verdict is \"{}\". Explain it; you can't overrule it.",
                tally.members,
                tally.pass,
                tally.fail,
                tally.verdict().label()
            );
        }
        text
    }

    fn for_member(&self, member: &str, asked: &str) -> String {
        let mut text = String::from("You are a member of a council.");
        if let Some(part) = self.parts.get(member) {
            let _ = write!(text, " Your part: {part}");
        }
        if !asked.is_empty() {
            let _ = write!(text, " Your leader asks: {asked}");
        }
        match self.definition.strategy {
            CouncilStrategy::Vote => text.push_str(
                " Vote by calling the tool `cast_vote` once, alone: \"pass\" if the work is good, \"fail\" if it is not, with your reasoning.",
            ),
            CouncilStrategy::RoundRobin => {
                self.write_contributions(&mut text);
                text.push_str("\n\nAnswer with your contribution, in words.");
            }
            CouncilStrategy::Broadcast | CouncilStrategy::Decompose | CouncilStrategy::Dynamic => {
                text.push_str(" Answer with your contribution, in words.");
            }
        }
        text
    }

    fn write_contributions(&self, text: &mut String) {
        for it in &self.contributions {
            // Writing to a String can't fail.
            let _ = write!(text, "\n\n### {}\n\n{}", it.member, it.given.told());
        }
    }

    /// Answers the leader's call of a member.
    fn answer_leader(&mut self, told: &str) {
        if let Some(turn) = self.turns.get_mut(&LEADER)
            && let TurnAt::Member { call, member, .. } =
                std::mem::replace(&mut turn.at, TurnAt::NextCall)
        {
            turn.tell(&call, &ballot::tool_of_member(&member), told.to_owned());
        }
    }
}

impl Given {
    /// What the others and the leader are told of it.
    fn told(&self) -> String {
        match self {
            Self::Said(text) => text.clone(),
            Self::Vote { verdict, reasoning } => format!("voted {}: {reasoning}", verdict.label()),
            Self::Nothing { text, .. } => format!("(gave nothing that counts: {text})"),
        }
    }
}

impl WorkRecord {
    /// Takes in what another run left behind.
    fn absorb(&mut self, other: Self) {
        self.run = other.run.or(self.run.take());
        self.tools.extend(other.tools);
        self.sources.extend(other.sources);
    }
}
