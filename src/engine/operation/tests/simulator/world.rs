//! Random routines of everything that runs: written as YAML by `pen`, read by the real loader.
//!
//! The generator keeps its own list of edges and says which of them retry, so that the invariants
//! need not believe the loader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use crate::engine::capability::{
    Acknowledge, Capability, Commitment, Contract, Idempotency, Reversibility, SideEffects,
};
use crate::engine::id::OperationId;
use crate::engine::operation::plan::{AgentProfile, Ownership, Plan};
use crate::engine::operation::tests::simulator::chance::Chance;
use crate::engine::operation::tests::simulator::pen;
use crate::engine::ports::ResolvedModel;
use crate::engine::routine::{Known, load};

/// What a step of the world is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Agent,
    AgentGate,
    OperatorGate,
    ChecksGate,
    Tool,
    Council,
    Map,
    Fold,
    Until,
    Terminal,
    TerminalFail,
}

impl Kind {
    pub(super) fn is_gate(self) -> bool {
        matches!(
            self,
            Self::AgentGate | Self::OperatorGate | Self::ChecksGate
        )
    }

    pub(super) fn is_terminal(self) -> bool {
        matches!(self, Self::Terminal | Self::TerminalFail)
    }
}

/// An edge as the generator meant it.
#[derive(Debug, Clone)]
pub(super) struct WorldEdge {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) on_fail: bool,
    /// The budget of a retry edge.
    pub(super) retry: Option<u32>,
}

/// One graph as the generator meant it.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) edges: Vec<WorldEdge>,
    pub(super) kinds: BTreeMap<String, Kind>,
    pub(super) entries: BTreeSet<String>,
}

/// How the generator means a council to work together (G11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strategy {
    Broadcast,
    RoundRobin,
    Decompose,
    Vote,
    Dynamic,
}

impl Strategy {
    pub(super) const ALL: [Self; 5] = [
        Self::Broadcast,
        Self::RoundRobin,
        Self::Decompose,
        Self::Vote,
        Self::Dynamic,
    ];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::RoundRobin => "round_robin",
            Self::Decompose => "decompose",
            Self::Vote => "vote",
            Self::Dynamic => "dynamic",
        }
    }
}

/// A council as the generator meant it.
#[derive(Debug, Clone)]
pub(super) struct Bench {
    pub(super) leader: &'static str,
    pub(super) members: Vec<&'static str>,
    pub(super) strategy: Strategy,
    /// How often a dynamic one's leader may ask.
    pub(super) max_calls: usize,
}

/// Who works on a step.
#[derive(Debug, Clone)]
pub(super) enum Worker {
    Agent(&'static str),
    Council(Bench),
}

impl Worker {
    /// Everybody that it takes (G9).
    pub(super) fn agents(&self) -> Vec<&'static str> {
        match self {
            Self::Agent(agent) => vec![agent],
            Self::Council(bench) => {
                let mut agents = vec![bench.leader];
                agents.extend(bench.members.iter().filter(|it| **it != bench.leader));
                agents
            }
        }
    }
}

/// A routine with what the generator knows of it. Every slug of it is there once.
pub(super) struct World {
    pub(super) yaml: String,
    pub(super) plan: Arc<Plan>,
    /// The graphs: the outermost under an empty name, every other under the step that repeats it.
    pub(super) graphs: BTreeMap<String, Graph>,
    /// Who works on each step that takes agents.
    pub(super) workers: BTreeMap<String, Worker>,
    /// Whether an omission may be refused, so that nothing leads to a terminal any more.
    pub(super) may_die: bool,
}

pub(super) const TOOLS: [&str; 7] = [
    "act",
    "commit",
    "look",
    "memory_delete",
    "memory_get",
    "memory_list",
    "memory_set",
];

/// The memory slot of every until, which nothing else writes.
pub(super) const SLOT: &str = "it";

/// Graphs in graphs, the outermost included.
pub(super) const LEVELS: usize = 4;

/// How often a step of a graph repeats another graph.
#[derive(Debug, Clone, Copy)]
pub(super) enum Repeats {
    Often,
    Seldom,
}

impl Repeats {
    /// Often in so many of a hundred graphs.
    pub(super) fn of(chance: &mut Chance, percent: usize) -> Self {
        match chance.percent(percent) {
            true => Self::Often,
            false => Self::Seldom,
        }
    }
}

pub(super) struct Sketch {
    /// What every slug of it begins with.
    pub(super) prefix: String,
    pub(super) level: usize,
    pub(super) kinds: Vec<Kind>,
    pub(super) entries: Vec<usize>,
    pub(super) edges: Vec<(usize, usize, bool, bool)>,
}

impl World {
    pub(super) fn of(chance: &mut Chance) -> Self {
        let mut graphs = BTreeMap::new();
        let (yaml, workers) = pen::written(chance, &mut graphs);
        let plan = plan(&yaml, chance);
        Self {
            may_die: yaml.contains("omission: refused"),
            yaml,
            plan: Arc::new(plan),
            graphs,
            workers,
        }
    }

    /// The edges of all graphs.
    pub(super) fn edges(&self) -> impl Iterator<Item = &WorldEdge> {
        self.graphs.values().flat_map(|graph| &graph.edges)
    }

    /// What a step is, in whichever graph.
    pub(super) fn kind(&self, slug: &str) -> Option<Kind> {
        let mut graphs = self.graphs.values();
        graphs.find_map(|graph| graph.kinds.get(slug).copied())
    }
}

impl Sketch {
    /// Steps in an order in which every forward edge leads on; terminals last.
    pub(super) fn of(prefix: String, level: usize, repeats: Repeats, chance: &mut Chance) -> Self {
        let steps = 1 + chance.below(if level == 1 { 7 } else { 3 });
        let repeats = match (level < LEVELS, repeats) {
            (true, Repeats::Often) => 30,
            (true, Repeats::Seldom) => 3,
            (false, _) => 0,
        };
        let weights = [40, 25, 8, 12, 15, 20, repeats, repeats, repeats];
        let mut kinds: Vec<Kind> = (0..steps)
            .map(|_| match chance.weighed(&weights) {
                0 => Kind::Agent,
                1 => Kind::AgentGate,
                2 => Kind::OperatorGate,
                3 => Kind::ChecksGate,
                4 => Kind::Tool,
                5 => Kind::Council,
                6 => Kind::Map,
                7 => Kind::Fold,
                _ => Kind::Until,
            })
            .collect();
        kinds.extend([Kind::Terminal, Kind::Terminal, Kind::TerminalFail]);
        let mut sketch = Self {
            prefix,
            level,
            kinds,
            entries: Vec::new(),
            edges: Vec::new(),
        };
        let (done, other, lost) = (steps, steps + 1, steps + 2);
        for step in 0..steps {
            let last = step + 1 == steps;
            let is_reached = sketch.edges.iter().any(|&(_, to, ..)| to == step);
            if step == 0 || (!is_reached && chance.percent(12)) {
                sketch.entries.push(step);
                continue;
            }
            // Something that only a retry edge leads to.
            if !last && chance.percent(6) {
                let gates: Vec<usize> = (step + 1..steps)
                    .filter(|&gate| sketch.kinds[gate].is_gate())
                    .collect();
                if let Some(&gate) = chance.pick(&gates) {
                    sketch.connect(0, gate, false);
                    sketch.edges.push((step, gate, false, false));
                    sketch.edges.push((gate, step, true, true));
                    continue;
                }
            }
            for _ in 0..1 + chance.below(3).min(step - 1) {
                // Towards the first steps: fan-out before depth.
                let from = chance.below(step).min(chance.below(step));
                let on_fail = sketch.may_reject(from) && chance.percent(20);
                sketch.connect(from, step, on_fail);
            }
        }
        for step in 0..steps {
            let passes = sketch
                .edges
                .iter()
                .any(|&(from, _, on_fail, _)| from == step && !on_fail);
            if !passes {
                let to = if chance.percent(80) { done } else { other };
                sketch.connect(step, to, false);
            } else if chance.percent(8) {
                sketch.connect(step, other, false);
            }
            if sketch.kinds[step].is_gate() {
                sketch.fail_edges(step, lost, chance);
            }
        }
        sketch
    }

    /// Whether a gate may have a forward `on_fail` edge (`mixed-on-fail`).
    fn may_reject(&self, step: usize) -> bool {
        let retries = self
            .edges
            .iter()
            .any(|&(from, _, _, retries)| from == step && retries);
        self.kinds[step] == Kind::OperatorGate || (self.kinds[step].is_gate() && !retries)
    }

    fn fail_edges(&mut self, gate: usize, lost: usize, chance: &mut Chance) {
        let rejects = self
            .edges
            .iter()
            .any(|&(from, _, on_fail, retries)| from == gate && on_fail && !retries);
        let may_retry = self.kinds[gate] == Kind::OperatorGate || !rejects;
        if may_retry && chance.percent(65) {
            for _ in 0..1 + chance.below(5) / 4 {
                let before = self.before(gate);
                if let Some(&target) = chance.pick(&before) {
                    self.edges
                        .retain(|&(from, to, ..)| (from, to) != (gate, target));
                    self.edges.push((gate, target, true, true));
                }
            }
        }
        if self.may_reject(gate) && chance.percent(30) {
            self.connect(gate, lost, true);
        }
    }

    /// Every step from which passing edges alone lead to this one.
    pub(super) fn before(&self, step: usize) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        let mut open = vec![step];
        while let Some(at) = open.pop() {
            for &(from, to, on_fail, _) in &self.edges {
                if to == at && !on_fail && seen.insert(from) {
                    open.push(from);
                }
            }
        }
        seen.into_iter().collect()
    }

    fn connect(&mut self, from: usize, to: usize, on_fail: bool) {
        if !self.edges.iter().any(|edge| (edge.0, edge.1) == (from, to)) {
            self.edges.push((from, to, on_fail, false));
        }
    }

    pub(super) fn slug(&self, at: usize) -> String {
        let (prefix, terminals) = (&self.prefix, self.kinds.len() - 3);
        match at.checked_sub(terminals) {
            None => format!("{prefix}s{at}"),
            Some(0) => format!("{prefix}done"),
            Some(1) => format!("{prefix}other"),
            Some(_) => format!("{prefix}lost"),
        }
    }
}

fn plan(yaml: &str, chance: &mut Chance) -> Plan {
    let known = Known {
        tools: TOOLS.iter().map(|tool| (*tool).to_owned()).collect(),
        ..Known::default()
    };
    let loaded = load(yaml.as_bytes(), &known);
    let Some(routine) = loaded.routine else {
        panic!(
            "the generator writes valid routines: {:#?}\n{yaml}",
            loaded.issues
        );
    };
    assert!(routine.unsupported.is_empty(), "{:?}", routine.unsupported);
    let profile = |name: &str, tools: Option<Vec<String>>| AgentProfile {
        name: name.to_owned(),
        // By which the world knows who asks.
        instructions: Some(format!("You are {name}.")),
        model: model(),
        tools,
        reasoning_effort: None,
        max_output_tokens: None,
        ownership: if name == "default" {
            Ownership::Borrowed
        } else {
            Ownership::Owned
        },
    };
    let mut agents = BTreeMap::from([("default".to_owned(), profile("default", None))]);
    for (name, agent) in &routine.definition.agents {
        agents.insert(name.clone(), profile(name, agent.tools.clone()));
    }
    Plan {
        operation: OperationId::from("op"),
        definition: routine.definition,
        graph: routine.graph,
        inputs: BTreeMap::from([("p".to_owned(), json!("x"))]),
        agents,
        tools: TOOLS
            .iter()
            .map(|name| ((*name).to_owned(), capability(name)))
            .collect(),
        model: model(),
        max_observation_bytes: if chance.percent(30) {
            8 * 1024
        } else {
            1024 * 1024
        },
    }
}

fn model() -> ResolvedModel {
    ResolvedModel {
        provider: "test".into(),
        model: "m".into(),
        role: None,
        policy_version: None,
    }
}

fn capability(name: &str) -> Capability {
    let contract = |side_effects, commitment| Contract {
        authority: None,
        side_effects,
        commitment,
        idempotency: Idempotency::Unknown,
        reversibility: Reversibility::Unknown,
        concurrency: None,
        verification_hints: Vec::new(),
        acknowledge: Acknowledge::NotRequired,
    };
    Capability {
        name: name.to_owned(),
        description: String::new(),
        schema: json!({ "type": "object" }),
        contract: match name {
            "act" => None,
            "commit" => Some(contract(SideEffects::External, Commitment::Commits)),
            _ => Some(contract(SideEffects::None, Commitment::None)),
        },
    }
}
