//! Councils at work: which chair speaks when, and what its end means for the step (G11).
//!
//! Every contribution is a run of its own. What the members gave, how it is counted and what the
//! others are told of it is `contributions`.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::engine::operation::Operation;
use crate::engine::operation::call::CallEnd;
use crate::engine::operation::outcome::{Failure, Uncertainty};
use crate::engine::operation::prompt::{self, Brief};
use crate::engine::operation::state::{
    Chair, Council, Given, Goal, LEADER, Lapse, Round, Seat, StepRef, StepState, Turn, TurnEnd,
    Uncertain, WorkRecord,
};
use crate::engine::ports::ToolOutcome;
use crate::engine::routine::definition::{CouncilStep, CouncilStrategy, ModelWork, StepKind};

/// What a council does next.
enum Next {
    /// Its open conversations bring it on.
    Wait,
    /// The leader is to give each member its part.
    Assign,
    /// This chair's member is to speak.
    Speak(usize),
    /// The leader is to end the step.
    End,
    /// The leader asked the member on this chair.
    Ask(usize),
}

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
        let (round, to_come) = match definition.strategy {
            CouncilStrategy::Decompose => (Round::Assigning, VecDeque::new()),
            CouncilStrategy::Broadcast | CouncilStrategy::RoundRobin | CouncilStrategy::Vote => {
                (Round::Members, definition.chairs().collect())
            }
            CouncilStrategy::Dynamic => (Round::Leader, VecDeque::new()),
        };
        let council = Council {
            calls_left: definition.max_calls,
            definition,
            turns: BTreeMap::new(),
            to_come,
            asked: BTreeMap::new(),
            contributions: Vec::new(),
            round,
            assigning: WorkRecord::default(),
        };
        self.limit(at, step.work.timeout_ms);
        self.go_on(at, Box::new(council));
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
            let mut council = match self.take_state(at) {
                StepState::Council(council) => council,
                // One of them ended the council.
                other => return self.set_state(at, other),
            };
            match council.turns.remove(&chair) {
                None => self.set_state(at, StepState::Council(council)),
                Some(mut turn) => {
                    let end = self.drive(seat, &mut turn);
                    self.after_seat(at, council, chair, turn, end);
                }
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
        match end {
            None => {
                council.turns.insert(chair, turn);
                self.go_on(at, council);
            }
            Some(end) if chair == LEADER => self.leader_ended(at, council, turn, end),
            Some(end) => self.member_ended(at, council, chair, turn, end),
        }
    }

    /// Opens what is next, until conversations have to bring the council on.
    fn go_on(&mut self, at: StepRef, mut council: Box<Council>) {
        loop {
            let opened = match self.take_next(&mut council) {
                Next::Wait => {
                    self.set_state(at, StepState::Council(council));
                    return self.limit_follows_wait(at);
                }
                Next::Assign => {
                    let members = council.definition.members.clone();
                    self.open_leader(at, &mut council, Goal::Assign { members })
                }
                Next::Speak(chair) => self.open_member(at, &mut council, chair),
                Next::Ask(chair) => self.ask_member(at, &mut council, chair),
                Next::End => {
                    // There is nothing that a leader could judge.
                    if let Some((why, text)) = council.all_failed() {
                        return self.council_uncertain(at, *council, why, text);
                    }
                    let must = council.voted();
                    self.open_leader(at, &mut council, Goal::Route { must })
                }
            };
            match opened {
                Ok(()) => self.wake(at),
                Err(failure) => return self.fail_step(at, failure),
            }
        }
    }

    /// Says what is next, and counts on its being done.
    fn take_next(&self, council: &mut Council) -> Next {
        let is_quiet = council.turns.is_empty();
        match council.round {
            Round::Assigning if is_quiet => Next::Assign,
            Round::Assigning => Next::Wait,
            Round::Members => {
                let in_turn = council.definition.strategy == CouncilStrategy::RoundRobin;
                if in_turn && !is_quiet {
                    return Next::Wait;
                }
                match council.to_come.pop_front() {
                    Some(chair) => Next::Speak(chair),
                    None if is_quiet => {
                        council.round = Round::Leader;
                        Next::End
                    }
                    None => Next::Wait,
                }
            }
            Round::Leader if is_quiet => Next::End,
            Round::Leader => match council.asked_now() {
                // A new call like any other (V5a).
                Some(chair) if !self.is_halted() => Next::Ask(chair),
                Some(_) | None => Next::Wait,
            },
        }
    }

    fn leader_ended(&mut self, at: StepRef, mut council: Box<Council>, turn: Turn, end: TurnEnd) {
        match end {
            TurnEnd::Parts(mut parts) => {
                council.assigning = turn.record;
                for chair in council.definition.chairs() {
                    let part = parts.remove(council.definition.member(chair));
                    council.asked.extend(part.map(|part| (chair, part)));
                }
                council.to_come = council.definition.chairs().collect();
                council.round = Round::Members;
                self.go_on(at, council);
            }
            TurnEnd::Verdict(mut claim) => {
                if let Some((why, text)) = council.all_failed() {
                    council.turns.insert(LEADER, turn);
                    return self.council_uncertain(at, *council, why, text);
                }
                claim.data = council.account();
                claim.record = council.whole_record(turn.record);
                self.claim(at, *claim);
            }
            TurnEnd::Uncertain { why, text } => {
                council.turns.insert(LEADER, turn);
                self.council_uncertain(at, *council, why, text);
            }
            TurnEnd::NotTaken { text } => {
                self.fail_step(at, Failure::ModelRefusedRequest { text });
            }
            TurnEnd::Said(_) | TurnEnd::Vote { .. } => {
                unreachable!("BUG: a leader assigns parts or gives a verdict")
            }
        }
    }

    /// A member that fails is recorded and the leader is told (G11), unless it had begun to act: then
    /// nobody can say what of its work is done, and the step is uncertain (G3).
    fn member_ended(
        &mut self,
        at: StepRef,
        mut council: Box<Council>,
        chair: usize,
        turn: Turn,
        end: TurnEnd,
    ) {
        let acted = turn.effects;
        let given = match end {
            TurnEnd::Said(text) => Given::Said(text),
            TurnEnd::Vote { verdict, reasoning } => Given::Vote { verdict, reasoning },
            TurnEnd::Uncertain { why, text } if acted => {
                council.turns.insert(chair, turn);
                return self.council_uncertain(at, *council, why, text);
            }
            TurnEnd::Uncertain { why, text } => Given::Nothing {
                why: Lapse::Uncertain(why),
                text,
            },
            TurnEnd::NotTaken { text } => Given::Nothing {
                why: Lapse::NotTaken,
                text,
            },
            TurnEnd::Verdict(_) | TurnEnd::Parts(_) => {
                unreachable!("BUG: a member gives no verdict and no parts")
            }
        };
        let told = match &given {
            Given::Nothing { text, .. } => ToolOutcome::Failed {
                reason: text.clone(),
            },
            Given::Said(_) | Given::Vote { .. } => ToolOutcome::Done(given.told().into()),
        };
        council.add(chair, turn, given);
        self.answer_leader(at, &mut council, CallEnd::Replied(told));
        self.go_on(at, council);
    }

    /// Answers the leader's question to a member, if it asked one.
    fn answer_leader(&mut self, at: StepRef, council: &mut Council, end: CallEnd) {
        let seat = Seat {
            at,
            chair: Chair::Council(LEADER),
        };
        if let Some(mut turn) = council.turns.remove(&LEADER) {
            let ended = self.turn_call_over(seat, &mut turn, end);
            assert!(ended.is_none(), "BUG: a member's answer ends no run");
            council.turns.insert(LEADER, turn);
            self.wake(at);
        }
    }

    /// A dynamic council's leader asked a member (G11).
    fn ask_member(
        &mut self,
        at: StepRef,
        council: &mut Council,
        chair: usize,
    ) -> Result<(), Failure> {
        if council.calls_left == 0 {
            let reason = "all calls of members are used up; end the step now";
            self.answer_leader(at, council, CallEnd::Denied(reason.into()));
            return Ok(());
        }
        self.usage.tool_calls += 1;
        let question = council.question().and_then(|it| it.get("message"));
        match question.and_then(Value::as_str) {
            Some(message) if !message.trim().is_empty() => {
                let message = message.to_owned();
                council.calls_left -= 1;
                council.asked.insert(chair, message);
                self.open_member(at, council, chair)
            }
            Some(_) | None => {
                let reason = "`message` must be non-empty text".to_owned();
                let end = CallEnd::Replied(ToolOutcome::Failed { reason });
                self.answer_leader(at, council, end);
                Ok(())
            }
        }
    }

    fn council_uncertain(&mut self, at: StepRef, council: Council, why: Uncertainty, text: String) {
        let stopping = self.stop_flights_of(at);
        let (record, data) = council.given_up(why, &text);
        let uncertain = Uncertain {
            why,
            text,
            data,
            record,
            stopping,
        };
        self.leave_uncertain(at, uncertain);
    }

    fn open_leader(
        &mut self,
        at: StepRef,
        council: &mut Council,
        goal: Goal,
    ) -> Result<(), Failure> {
        let (work, brief) = self.council_work(at)?;
        let message = match &goal {
            Goal::Assign { .. } => prompt::with_ending(&brief, ASSIGNING),
            Goal::Route { .. } | Goal::Say | Goal::Vote => {
                prompt::message_with(&brief, &council.for_leader())
            }
        };
        let asks = match council.definition.strategy {
            CouncilStrategy::Dynamic => council.definition.members.as_slice(),
            CouncilStrategy::Broadcast
            | CouncilStrategy::RoundRobin
            | CouncilStrategy::Decompose
            | CouncilStrategy::Vote => &[],
        };
        let leader = &council.definition.leader;
        let turn = self.open_turn(at, leader, &work, goal, message, asks)?;
        council.turns.insert(LEADER, turn);
        Ok(())
    }

    fn open_member(
        &mut self,
        at: StepRef,
        council: &mut Council,
        chair: usize,
    ) -> Result<(), Failure> {
        let (work, brief) = self.council_work(at)?;
        let goal = match council.definition.strategy {
            CouncilStrategy::Vote => Goal::Vote,
            CouncilStrategy::Broadcast
            | CouncilStrategy::RoundRobin
            | CouncilStrategy::Decompose
            | CouncilStrategy::Dynamic => Goal::Say,
        };
        let message = prompt::with_ending(&brief, &council.for_member(chair));
        let member = council.definition.member(chair);
        let turn = self.open_turn(at, member, &work, goal, message, &[])?;
        council.turns.insert(chair, turn);
        Ok(())
    }

    fn council_work(&self, at: StepRef) -> Result<(ModelWork, Brief), Failure> {
        let graph = &self.executions[at.execution].graph;
        let StepKind::Council(step) = &graph.step(at.step).kind else {
            unreachable!("BUG: only a council has chairs");
        };
        match self.brief(at, &step.work) {
            Ok(brief) => Ok((step.work.clone(), brief)),
            Err(missing) => Err(Failure::TemplateFailed {
                text: missing.to_string(),
            }),
        }
    }
}

const ASSIGNING: &str = "You lead a council. Give each member its part of the work, in words that it can \
    work from alone, by calling the tool `assign_parts` once, alone. You will see what they gave and end \
    the step then.";
