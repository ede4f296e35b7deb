//! What a council's members gave: how it is kept, counted, and told to the others (G11).

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::engine::operation::outcome::{Uncertainty, Verdict};
use crate::engine::operation::state::{
    CallAt, Contribution, Council, Given, LEADER, Lapse, Turn, TurnAt, WorkRecord,
};
use crate::engine::routine::definition::{CouncilDefinition, CouncilStrategy};

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

impl CouncilDefinition {
    /// The members' chairs, in order; the leader's comes before them.
    pub(super) fn chairs(&self) -> std::ops::RangeInclusive<usize> {
        LEADER + 1..=self.members.len()
    }

    pub(super) fn member(&self, chair: usize) -> &str {
        &self.members[chair - 1]
    }
}

impl Council {
    /// Takes in what a member gave: by chair where the members work side by side, so that nothing
    /// depends on who was first; else in the order in which they were asked.
    pub(super) fn add(&mut self, chair: usize, turn: Turn, given: Given) {
        let contribution = Contribution {
            chair,
            asked: self.asked.get(&chair).cloned(),
            run: turn.run,
            given,
            record: turn.record,
        };
        let place = match self.definition.strategy {
            CouncilStrategy::Broadcast | CouncilStrategy::Decompose | CouncilStrategy::Vote => {
                self.contributions.partition_point(|it| it.chair < chair)
            }
            CouncilStrategy::RoundRobin | CouncilStrategy::Dynamic => self.contributions.len(),
        };
        self.contributions.insert(place, contribution);
    }

    /// The chair of the member whose answer the leader waits for, if nobody sits on it yet.
    pub(super) fn asked_now(&self) -> Option<usize> {
        match &self.turns.get(&LEADER)?.at {
            TurnAt::Call(_, call) => match call.at {
                CallAt::Member(chair) if !self.turns.contains_key(&chair) => Some(chair),
                CallAt::Member(_)
                | CallAt::Ask
                | CallAt::Asking(_)
                | CallAt::Permission { .. }
                | CallAt::Ready
                | CallAt::InFlight(_)
                | CallAt::Delivery { .. } => None,
            },
            TurnAt::CallModel | TurnAt::CallingModel(_) | TurnAt::NextCall => None,
        }
    }

    /// The arguments of the call that the leader has made.
    pub(super) fn question(&self) -> Option<&Value> {
        match &self.turns.get(&LEADER)?.at {
            TurnAt::Call(_, call) => Some(&call.args),
            TurnAt::CallModel | TurnAt::CallingModel(_) | TurnAt::NextCall => None,
        }
    }

    /// Why nothing counts, where every member was asked and none gave anything (G11).
    pub(super) fn all_failed(&self) -> Option<(Uncertainty, String)> {
        let mut first = None;
        for chair in self.definition.chairs() {
            let mut of_chair = self.contributions.iter().filter(|it| it.chair == chair);
            let Given::Nothing { why, text } = &of_chair.next()?.given else {
                return None;
            };
            if of_chair.any(|it| it.given.counts()) {
                return None;
            }
            first.get_or_insert((*why, text));
        }
        let (why, text) = first?;
        let text = format!("no member gave anything that counts: {text}");
        Some((why.uncertainty(), text))
    }

    /// The work of all its runs: of the members in their order, and of the leader around them.
    pub(super) fn whole_record(&mut self, leader: WorkRecord) -> WorkRecord {
        let mut whole = std::mem::take(&mut self.assigning);
        for contribution in &mut self.contributions {
            whole.absorb(std::mem::take(&mut contribution.record));
        }
        whole.absorb(leader);
        whole
    }

    /// What is left of a council that nobody can judge: the work of all its runs, and its account.
    /// Who hasn't contributed yet never will.
    pub(super) fn given_up(mut self, why: Uncertainty, text: &str) -> (WorkRecord, Value) {
        let mut leader = WorkRecord::default();
        for (chair, turn) in std::mem::take(&mut self.turns) {
            if chair == LEADER {
                leader = turn.record;
            } else {
                let why = Lapse::Uncertain(why);
                let text = text.to_owned();
                self.add(chair, turn, Given::Nothing { why, text });
            }
        }
        let data = self.account();
        (self.whole_record(leader), data)
    }

    /// The verdict of a voting council, once its members have voted: the engine counts (G11).
    pub(super) fn voted(&self) -> Option<Verdict> {
        self.tally().map(Tally::verdict)
    }

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
                entry.insert("member".into(), self.definition.member(it.chair).into());
                entry.insert("run".into(), json!(it.run));
                if let Some(asked) = &it.asked {
                    entry.insert("asked".into(), asked.as_str().into());
                }
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

    /// What a leader that is to end the step is told.
    pub(super) fn for_leader(&self) -> String {
        let mut text = String::from("You lead a council and end this step.");
        if self.definition.strategy == CouncilStrategy::Dynamic {
            let _ = write!(
                text,
                " You may ask your members by their tools, {} times at the most.",
                self.definition.max_calls
            );
        }
        for it in &self.contributions {
            self.write_contribution(&mut text, it);
        }
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

    /// What a member is told of its council.
    pub(super) fn for_member(&self, chair: usize) -> String {
        let mut text = String::from("You are a member of a council.");
        let asked = self.asked.get(&chair).map_or("", String::as_str);
        match self.definition.strategy {
            CouncilStrategy::Vote => text.push_str(
                " Vote by calling the tool `cast_vote` once, alone: \"pass\" if the work is good, \"fail\" if it is not, with your reasoning.",
            ),
            CouncilStrategy::RoundRobin => {
                for it in &self.contributions {
                    self.write_contribution(&mut text, it);
                }
                text.push_str("\n\nAnswer with your contribution, in words.");
            }
            CouncilStrategy::Broadcast => {
                text.push_str(" Answer with your contribution, in words.");
            }
            CouncilStrategy::Decompose => {
                let _ = write!(
                    text,
                    " Answer with your contribution, in words. Your part: {asked}"
                );
            }
            CouncilStrategy::Dynamic => {
                let _ = write!(text, " Answer your leader, in words. It asks: {asked}");
            }
        }
        text
    }

    fn write_contribution(&self, text: &mut String, it: &Contribution) {
        // Writing to a String can't fail.
        let _ = write!(text, "\n\n### {}", self.definition.member(it.chair));
        if let Some(asked) = &it.asked {
            let _ = write!(text, "\n\nIts part: {asked}");
        }
        let _ = write!(text, "\n\n{}", it.given.told());
    }
}

impl Given {
    /// What the others and the leader are told of it.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Said(text) => text.clone(),
            Self::Vote { verdict, reasoning } => format!("voted {}: {reasoning}", verdict.label()),
            Self::Nothing { text, .. } => format!("(gave nothing that counts: {text})"),
        }
    }

    fn counts(&self) -> bool {
        match self {
            Self::Said(_) | Self::Vote { .. } => true,
            Self::Nothing { .. } => false,
        }
    }
}

impl Lapse {
    /// The word that the account uses.
    fn code(self) -> &'static str {
        match self {
            Self::Uncertain(why) => why.code(),
            Self::NotTaken => "model_refused_request",
        }
    }

    /// What it makes of a step in which nobody gave anything else.
    fn uncertainty(self) -> Uncertainty {
        match self {
            Self::Uncertain(why) => why,
            Self::NotTaken => Uncertainty::NoAnswer,
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
