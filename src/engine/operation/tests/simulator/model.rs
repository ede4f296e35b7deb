//! A second, naive account of a graph, kept from published events and the generator's edges alone.
//!
//! It says when a step may begin (G8), what is current (G7) and what a retry edge may still do (G6).

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::operation::published::{PublicEvent, SettledVerdict};
use crate::engine::operation::tests::simulator::world::{Graph, Kind, WorldEdge};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Fresh,
    Begun,
    Claimed,
    Done,
    Skipped,
    /// By its condition: its edges may activate all the same.
    Omitted,
}

#[derive(Debug)]
struct Step {
    kind: Kind,
    lap: u32,
    status: Status,
    /// Why nobody can tell what became of it, until somebody does.
    unsure: Option<&'static str>,
    is_entry: bool,
    /// Forward edges that are active, by source, with the source's lap.
    active: BTreeMap<String, u32>,
    /// Retry edges that started it anew, by gate, with the gate's lap.
    anew: BTreeMap<String, u32>,
}

/// What is known of the graph.
pub(super) struct Model {
    edges: Vec<WorldEdge>,
    steps: BTreeMap<String, Step>,
    taken: BTreeMap<(String, String), u32>,
    submitted: BTreeSet<(String, u32)>,
    /// Retry edges that one verdict took, until all of them are known.
    group: Vec<(String, String)>,
}

impl Model {
    pub(super) fn of(world: &Graph) -> Self {
        let step = |(slug, kind): (&String, &Kind)| {
            let step = Step {
                kind: *kind,
                lap: 0,
                status: Status::Fresh,
                unsure: None,
                is_entry: world.entries.contains(slug),
                active: BTreeMap::new(),
                anew: BTreeMap::new(),
            };
            (slug.clone(), step)
        };
        Self {
            edges: world.edges.clone(),
            steps: world.kinds.iter().map(step).collect(),
            taken: BTreeMap::new(),
            submitted: BTreeSet::new(),
            group: Vec::new(),
        }
    }

    /// Takes an event in, or says what is wrong with it.
    pub(super) fn take(&mut self, event: &PublicEvent) -> Result<(), String> {
        if !matches!(
            event,
            PublicEvent::EdgeActivated {
                attempt: Some(_),
                ..
            }
        ) {
            self.end_group();
        }
        match event {
            PublicEvent::StepStarted { at, .. } => self.begins(name(&at.step), lap(at.lap)),
            PublicEvent::StepSubmitted { at } => {
                let key = (name(&at.step).to_owned(), lap(at.lap));
                match self.submitted.insert(key.clone()) {
                    true => Ok(()),
                    false => Err(format!("{key:?} was submitted twice")),
                }
            }
            PublicEvent::StepSettled {
                at,
                verdict,
                reason,
                ..
            } => self.settles(name(&at.step), lap(at.lap), *verdict, *reason),
            PublicEvent::VerifyDecided {
                at,
                phase: "step",
                decision,
                ..
            } => {
                let step = self.step(name(&at.step))?;
                if step.status != Status::Claimed {
                    return Err(format!(
                        "{:?} was verified while {:?}",
                        at.step, step.status
                    ));
                }
                if *decision == "verified" {
                    step.status = Status::Done;
                }
                Ok(())
            }
            PublicEvent::EdgeActivated {
                at, edge, attempt, ..
            } => self.activates(name(&at.step), edge, *attempt),
            _ => Ok(()),
        }
    }

    pub(super) fn end_of_batch(&mut self) {
        self.end_group();
    }

    /// Whether everything is over and the graph may succeed (G10).
    pub(super) fn may_succeed(&self) -> Result<(), String> {
        let reached = |kind| {
            self.steps
                .values()
                .any(|step| step.kind == kind && step.status == Status::Done)
        };
        if !reached(Kind::Terminal) || reached(Kind::TerminalFail) {
            return Err("it succeeded without a terminal, or with a failing one".into());
        }
        for (slug, step) in &self.steps {
            if matches!(step.status, Status::Begun | Status::Claimed) {
                return Err(format!("it succeeded while `{slug}` was {:?}", step.status));
            }
        }
        Ok(())
    }

    /// What a model that begins on a step may be handed, by source with its lap.
    pub(super) fn handed(&self, slug: &str) -> BTreeSet<(String, u32)> {
        let step = &self.steps[slug];
        let pairs = step.active.iter().chain(&step.anew);
        pairs.map(|(from, lap)| (from.clone(), *lap)).collect()
    }

    /// A step's lap, while somebody works on it.
    pub(super) fn works(&self, slug: &str) -> Option<u32> {
        let step = self.steps.get(slug)?;
        let works = step.status == Status::Begun && step.unsure.is_none();
        works.then_some(step.lap)
    }

    /// The steps that somebody works on.
    pub(super) fn working(&self) -> impl Iterator<Item = &String> {
        let slugs = self.steps.keys();
        slugs.filter(|slug| self.works(slug).is_some())
    }

    /// The laps of which nobody can tell what became: while one is, nothing is called (V5a).
    pub(super) fn unsure(&self) -> impl Iterator<Item = (&String, u32)> {
        let steps = self.steps.iter();
        // What is looked at again with a resume stands only until then (V6, V26): so do all checks gates.
        let stands = |reason| !matches!(reason, "observation_too_large" | "verifier_failed");
        let unsure = steps.filter(move |(_, step)| {
            step.kind != Kind::ChecksGate && step.unsure.is_some_and(stands)
        });
        unsure.map(|(slug, step)| (slug, step.lap))
    }

    /// A step's lap, whatever became of it.
    pub(super) fn lap(&self, slug: &str) -> u32 {
        self.steps.get(slug).map_or(0, |step| step.lap)
    }

    fn step(&mut self, slug: &str) -> Result<&mut Step, String> {
        self.steps
            .get_mut(slug)
            .ok_or_else(|| format!("there is no step `{slug}`"))
    }

    fn begins(&mut self, slug: &str, lap: u32) -> Result<(), String> {
        self.may_begin(slug, lap)?;
        let step = self.step(slug)?;
        step.lap = lap;
        step.status = Status::Begun;
        step.unsure = None;
        Ok(())
    }

    fn inputs_are_there(&self, slug: &str) -> Result<(), String> {
        for edge in &self.edges {
            let is_forward = edge.retry.is_none() && edge.to == slug;
            let from = &self.steps[&edge.from];
            if is_forward
                && !matches!(
                    from.status,
                    Status::Done | Status::Skipped | Status::Omitted
                )
            {
                return Err(format!("`{slug}` didn't wait for `{}`", edge.from));
            }
        }
        Ok(())
    }

    fn may_begin(&self, slug: &str, lap: u32) -> Result<(), String> {
        let Some(step) = self.steps.get(slug) else {
            return Err(format!("there is no step `{slug}`"));
        };
        if step.status != Status::Fresh || lap != step.lap + 1 {
            return Err(format!("`{slug}` began lap {lap} after {step:?}"));
        }
        let is_activated = !step.active.is_empty() || !step.anew.is_empty();
        let begins = step.is_entry && step.lap == 0;
        if !(is_activated || begins) {
            return Err(format!("nothing activated `{slug}`"));
        }
        self.inputs_are_there(slug)
    }

    fn settles(
        &mut self,
        slug: &str,
        lap: u32,
        verdict: SettledVerdict,
        reason: Option<&'static str>,
    ) -> Result<(), String> {
        let kind = self.step(slug)?.kind;
        let is_terminal = matches!(kind, Kind::Terminal | Kind::TerminalFail);
        // Its skip may not fit its edges.
        let is_misfit =
            reason == Some("handoff_mismatch") && self.step(slug)?.status == Status::Fresh;
        if reason == Some("condition") || is_misfit {
            self.may_begin(slug, lap)?;
            let step = self.step(slug)?;
            step.lap = lap;
            step.status = match verdict {
                SettledVerdict::Skipped => Status::Omitted,
                SettledVerdict::Pass | SettledVerdict::Fail | SettledVerdict::Uncertain => {
                    Status::Done
                }
            };
            return Ok(());
        }
        if verdict == SettledVerdict::Skipped {
            self.inputs_are_there(slug)?;
            let step = self.step(slug)?;
            let is_activated = !step.active.is_empty() || !step.anew.is_empty();
            if step.status != Status::Fresh || is_activated || lap != step.lap + 1 {
                return Err(format!("`{slug}` was skipped after {step:?}"));
            }
            step.lap = lap;
            step.status = Status::Skipped;
            return Ok(());
        }
        if is_terminal {
            self.may_begin(slug, lap)?;
            let step = self.step(slug)?;
            step.lap = lap;
            step.status = Status::Done;
            return Ok(());
        }
        let step = self.step(slug)?;
        if !matches!(step.status, Status::Begun | Status::Claimed) || step.lap != lap {
            return Err(format!("`{slug}` settled lap {lap} after {step:?}"));
        }
        step.unsure = None;
        match verdict {
            SettledVerdict::Pass => step.status = Status::Claimed,
            SettledVerdict::Fail => step.status = Status::Done,
            SettledVerdict::Uncertain | SettledVerdict::Skipped => step.unsure = reason,
        }
        Ok(())
    }

    fn activates(&mut self, from: &str, label: &str, attempt: Option<u32>) -> Result<(), String> {
        let Some(edge) = self
            .edges
            .iter()
            .find(|edge| format!("{}->{}", edge.from, edge.to) == label)
            .cloned()
        else {
            return Err(format!("there is no edge {label}"));
        };
        let source = self.step(from)?;
        if edge.from != from || !matches!(source.status, Status::Done | Status::Omitted) {
            return Err(format!("{label} activated while its source was {source:?}"));
        }
        let lap = source.lap;
        match (edge.retry, attempt) {
            (None, None) => {
                self.step(&edge.to)?.active.insert(edge.from, lap);
                Ok(())
            }
            (Some(max), Some(attempt)) => {
                if self.group.is_empty() {
                    self.group_started(from);
                }
                let taken = self
                    .taken
                    .entry((edge.from.clone(), edge.to.clone()))
                    .or_default();
                *taken += 1;
                if *taken != attempt || attempt > max {
                    return Err(format!(
                        "{label} was taken {attempt} times, of {max}; {taken} counted"
                    ));
                }
                self.group.push((edge.from, edge.to));
                Ok(())
            }
            (None, Some(_)) | (Some(_), None) => Err(format!("{label} is told wrongly")),
        }
    }

    /// A verdict takes all retry edges of its gate: first every budget inside them begins anew (G6).
    fn group_started(&mut self, gate: &str) {
        let bodies: Vec<(usize, BTreeSet<String>)> = self
            .edges
            .iter()
            .enumerate()
            .filter(|(_, edge)| edge.retry.is_some())
            .map(|(at, edge)| (at, self.body(edge)))
            .collect();
        let mut renewed = Vec::new();
        for (outer, body) in bodies.iter().filter(|(at, _)| self.edges[*at].from == gate) {
            for (inner, within) in &bodies {
                if inner != outer && within.len() < body.len() && within.is_subset(body) {
                    renewed.push(*inner);
                }
            }
        }
        for at in renewed {
            let edge = &self.edges[at];
            self.taken.insert((edge.from.clone(), edge.to.clone()), 0);
        }
    }

    fn body(&self, edge: &WorldEdge) -> BTreeSet<String> {
        let ahead = self.reachable(&edge.to);
        ahead
            .iter()
            .filter(|step| self.reachable(step).contains(&edge.from))
            .cloned()
            .collect()
    }

    fn reachable(&self, from: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::from([from.to_owned()]);
        let mut open = vec![from.to_owned()];
        while let Some(at) = open.pop() {
            for edge in self.edges.iter().filter(|edge| edge.retry.is_none()) {
                if edge.from == at && seen.insert(edge.to.clone()) {
                    open.push(edge.to.clone());
                }
            }
        }
        seen
    }

    /// Everything ahead of the targets counts no more (G7).
    fn end_group(&mut self) {
        let group = std::mem::take(&mut self.group);
        let laps: Vec<u32> = group.iter().map(|(gate, _)| self.steps[gate].lap).collect();
        for (_, target) in &group {
            for gone in self.reachable(target) {
                for step in self.steps.values_mut() {
                    step.active.remove(&gone);
                }
                if let Some(step) = self.steps.get_mut(&gone) {
                    step.status = Status::Fresh;
                    step.unsure = None;
                    step.anew.clear();
                }
            }
        }
        for ((gate, target), lap) in group.into_iter().zip(laps) {
            if let Some(step) = self.steps.get_mut(&target) {
                step.anew.insert(gate, lap);
            }
        }
    }
}

fn name(step: &Option<String>) -> &str {
    step.as_deref().unwrap_or_default()
}

fn lap(lap: Option<crate::engine::id::Lap>) -> u32 {
    lap.map(|lap| lap.0).unwrap_or_default()
}
