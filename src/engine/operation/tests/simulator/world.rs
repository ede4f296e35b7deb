//! Random routines of everything that runs today: written as YAML, read by the real loader.
//!
//! The generator keeps its own list of edges and says which of them retry, so that the invariants
//! need not believe the loader.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;

use crate::engine::capability::{
    Acknowledge, Capability, Commitment, Contract, Idempotency, Reversibility, SideEffects,
};
use crate::engine::id::OperationId;
use crate::engine::operation::plan::{AgentProfile, Ownership, Plan};
use crate::engine::operation::tests::simulator::chance::Chance;
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
    Map,
    Fold,
    Until,
    Terminal,
    TerminalFail,
}

impl Kind {
    fn is_gate(self) -> bool {
        matches!(
            self,
            Self::AgentGate | Self::OperatorGate | Self::ChecksGate
        )
    }

    fn is_terminal(self) -> bool {
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

/// A routine with what the generator knows of it. Every slug of it is there once.
pub(super) struct World {
    pub(super) yaml: String,
    pub(super) plan: Arc<Plan>,
    /// The graphs: the outermost under an empty name, every other under the step that repeats it.
    pub(super) graphs: BTreeMap<String, Graph>,
    /// Whether an omission may be refused, so that nothing leads to a terminal any more.
    pub(super) may_die: bool,
}

const TOOLS: [&str; 7] = [
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

struct Sketch {
    /// What every slug of it begins with.
    prefix: String,
    level: usize,
    kinds: Vec<Kind>,
    entries: Vec<usize>,
    edges: Vec<(usize, usize, bool, bool)>,
}

impl World {
    pub(super) fn of(chance: &mut Chance) -> Self {
        let mut graphs = BTreeMap::new();
        let yaml = written(chance, &mut graphs);
        let plan = plan(&yaml, chance);
        Self {
            may_die: yaml.contains("omission: refused"),
            yaml,
            plan: Arc::new(plan),
            graphs,
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
    fn of(prefix: String, level: usize, repeats: bool, chance: &mut Chance) -> Self {
        let steps = 1 + chance.below(if level == 1 { 7 } else { 3 });
        // In every other world hardly anything is done once.
        let repeats = match level < LEVELS {
            true if repeats => 30,
            true => 3,
            false => 0,
        };
        let weights = [40, 25, 8, 12, 15, repeats, repeats, repeats];
        let mut kinds: Vec<Kind> = (0..steps)
            .map(|_| match chance.weighed(&weights) {
                0 => Kind::Agent,
                1 => Kind::AgentGate,
                2 => Kind::OperatorGate,
                3 => Kind::ChecksGate,
                4 => Kind::Tool,
                5 => Kind::Map,
                6 => Kind::Fold,
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
    fn before(&self, step: usize) -> Vec<usize> {
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

    fn slug(&self, at: usize) -> String {
        let (prefix, terminals) = (&self.prefix, self.kinds.len() - 3);
        match at.checked_sub(terminals) {
            None => format!("{prefix}s{at}"),
            Some(0) => format!("{prefix}done"),
            Some(1) => format!("{prefix}other"),
            Some(_) => format!("{prefix}lost"),
        }
    }
}

fn written(chance: &mut Chance, graphs: &mut BTreeMap<String, Graph>) -> String {
    let mut text = String::from("routine: world\nparameters: [{ name: p, default: x }]\n");
    text.push_str("agents:\n");
    for agent in ["a0", "a1", "a2"] {
        let tools = tool_list(chance);
        let _ = writeln!(
            text,
            "  {agent}: {{ instructions: You work., tools: {tools} }}"
        );
    }
    if chance.percent(20) {
        let _ = writeln!(text, "required_tools: {}", tool_list(chance));
    }
    if chance.percent(20) {
        let _ = writeln!(text, "deadline_ms: {}", 1_000 + chance.below(100_000));
    }
    if chance.percent(50) {
        text.push_str("post_steps_trigger: always\n");
    }
    // In some worlds everybody waits for one agent.
    let agents: &[&'static str] = match chance.percent(35) {
        true => &["a0"],
        false => &["a0", "a0", "a1", "a2", "default"],
    };
    let root = Sketch::of(String::new(), 1, chance.percent(50), chance);
    let fields = Pen { chance, agents }.body("", &root, graphs);
    for (name, field) in fields {
        let _ = writeln!(text, "{name}: {field}");
    }
    text
}

fn tool_list(chance: &mut Chance) -> String {
    let tools: Vec<&str> = TOOLS.into_iter().filter(|_| chance.percent(60)).collect();
    format!("[{}]", tools.join(", "))
}

fn checks(chance: &mut Chance) -> String {
    let checks: Vec<&str> = (0..1 + chance.below(3))
        .map(|_| {
            chance.word(&[
                "{ check: manual, prompt: Is it right? }",
                "{ check: file, path: \"out-{{param.p}}\" }",
                "{ check: command, run: [test, -f, out] }",
            ])
        })
        .collect();
    format!("[{}]", checks.join(", "))
}

/// Writes graphs, in flow style so that one stands in another.
struct Pen<'a> {
    chance: &'a mut Chance,
    agents: &'a [&'static str],
}

impl Pen<'_> {
    /// The fields that every body has.
    fn body(
        &mut self,
        host: &str,
        sketch: &Sketch,
        graphs: &mut BTreeMap<String, Graph>,
    ) -> Vec<(&'static str, String)> {
        let mut edges: Vec<WorldEdge> = Vec::new();
        for &(from, to, on_fail, retries) in &sketch.edges {
            edges.push(WorldEdge {
                from: sketch.slug(from),
                to: sketch.slug(to),
                on_fail,
                retry: retries.then(|| 1 + self.chance.below(3) as u32),
            });
        }
        let mut fields = Vec::new();
        let pre = self.series("pre", sketch);
        let has_named = pre.contains(&format!("{}pre1", sketch.prefix));
        fields.push(("pre_steps", pre));
        let entries: Vec<String> = sketch.entries.iter().map(|&at| sketch.slug(at)).collect();
        fields.push(("entry_steps", format!("[{}]", entries.join(", "))));
        let mut steps = Vec::new();
        for at in 0..sketch.kinds.len() {
            let slug = sketch.slug(at);
            if edges
                .iter()
                .any(|edge| edge.from == slug || edge.to == slug)
            {
                // A pre step that was left out has no result (V21, V23).
                let named = match has_named && self.chance.percent(15) {
                    true => format!("{{{{step.{}pre1}}}}", sketch.prefix),
                    false => "{{param.p}}".into(),
                };
                steps.push(self.step(sketch, at, &named, graphs));
            }
        }
        fields.push(("steps", format!("[\n  {}]", steps.join(",\n  "))));
        let written: Vec<String> = edges.iter().map(|edge| self.edge(sketch, edge)).collect();
        fields.push(("edges", format!("[\n  {}]", written.join(",\n  "))));
        fields.push(("post_steps", self.series("post", sketch)));
        let looks = if sketch.level == 1 { 60 } else { 20 };
        if self.chance.percent(looks) {
            fields.push(("verify", checks(self.chance)));
        }
        let graph = Graph {
            edges,
            kinds: (0..sketch.kinds.len())
                .map(|at| (sketch.slug(at), sketch.kinds[at]))
                .collect(),
            entries: entries.into_iter().collect(),
        };
        graphs.insert(host.to_owned(), graph);
        fields
    }

    fn edge(&mut self, sketch: &Sketch, edge: &WorldEdge) -> String {
        let mut text = format!("{{ from: {}, to: {}", edge.from, edge.to);
        let from = (0..sketch.kinds.len()).find(|&at| sketch.slug(at) == edge.from);
        let kind = from.map_or(Kind::Terminal, |at| sketch.kinds[at]);
        let is_gate = kind.is_gate();
        text.push_str(match (is_gate, edge.on_fail) {
            (_, true) => ", condition: on_fail",
            (true, false) => ", condition: on_pass",
            (false, false) => "",
        });
        if let Some(max) = edge.retry {
            let _ = write!(text, ", max_attempts: {max}");
        }
        // What has no model never hands over what the schema asks for.
        let asks = match kind {
            Kind::Agent | Kind::AgentGate | Kind::OperatorGate => 12,
            _ => 1,
        };
        if self.chance.percent(asks) {
            text.push_str(", handoff_schema: { type: object, required: [k], properties: { k: { type: integer } } }");
        }
        text.push_str(" }");
        text
    }

    fn series(&mut self, list: &str, sketch: &Sketch) -> String {
        let count = match sketch.level {
            1 => [0, 0, 1, 2, 3][self.chance.below(5)],
            _ => [0, 0, 0, 1, 2][self.chance.below(5)],
        };
        let mut steps = Vec::new();
        // What maps and folds go through; nobody has to allow it.
        if list == "pre" && sketch.level == 1 {
            let items = self
                .chance
                .word(&["[]", "[1]", "[1, 2]", "[1, 2]", "[1, 2, 3]"]);
            steps.push(format!(
                "{{ name: items, tool: memory_set, args: {{ key: items, value: {items} }} }}"
            ));
        }
        for at in 0..count {
            let tool = self.chance.word(&["act", "commit", "look", "memory_set"]);
            let args = match tool {
                "memory_set" => "{ key: k, value: 1 }",
                _ => "{ x: \"{{param.p}}\" }",
            };
            let on_error = self.chance.word(&["fail", "continue", "skip_remaining"]);
            steps.push(format!(
                "{{ name: {}{list}{at}, tool: {tool}, args: {args}, on_error: {on_error}, result_key: r{at} }}",
                sketch.prefix,
            ));
        }
        format!("[{}]", steps.join(", "))
    }

    fn step(
        &mut self,
        sketch: &Sketch,
        at: usize,
        named: &str,
        graphs: &mut BTreeMap<String, Graph>,
    ) -> String {
        let (slug, kind) = (sketch.slug(at), sketch.kinds[at]);
        let mut text = format!("{{ slug: {slug}");
        match kind {
            Kind::Terminal => text.push_str(", type: terminal"),
            Kind::TerminalFail => text.push_str(", type: terminal_fail, reason: It is lost"),
            Kind::Tool => {
                let tool = self.chance.word(&["act", "commit", "look", "memory_get"]);
                let _ = write!(
                    text,
                    ", type: tool, tool: {tool}, args: {{ key: \"k{named}\" }}"
                );
                if self.chance.percent(30) {
                    text.push_str(", result_key: t");
                }
            }
            Kind::OperatorGate => text.push_str(", type: gate, operator: true, criteria: [good]"),
            Kind::ChecksGate => {
                let _ = write!(text, ", type: gate, checks: {}", checks(self.chance));
            }
            Kind::Agent | Kind::AgentGate => {
                let agent = self.chance.word(self.agents);
                let word = if kind == Kind::Agent { "agent" } else { "gate" };
                let _ = write!(
                    text,
                    ", type: {word}, agent: {agent}, criteria: [\"good {named}\"], corrections: {}, max_model_calls: {}",
                    self.chance.below(3),
                    1 + self.chance.below(6)
                );
                if self.chance.percent(20) {
                    let _ = write!(text, ", timeout_ms: {}", 100 + self.chance.below(5_000));
                }
                if self.chance.percent(40) {
                    let _ = write!(text, ", tools: {}", tool_list(self.chance));
                }
            }
            Kind::Map | Kind::Fold | Kind::Until => self.repeat(&mut text, sketch, at, graphs),
        }
        if !kind.is_terminal() && !kind.is_gate() && self.chance.percent(20) {
            let key = self.chance.word(&["items", "k", "r0", "t", SLOT]);
            let operator = self.chance.word(&["exists", "not_exists", "truthy"]);
            let on_false = ["skip", "wait", "fail"][self.chance.weighed(&[12, 2, 1])];
            let _ = write!(
                text,
                ", condition: {{ memory_key: {key}, operator: {operator}, on_false: {on_false} }}"
            );
            if self.chance.percent(25) {
                text.push_str(", omission: refused");
            }
        }
        if !kind.is_terminal() && kind != Kind::ChecksGate && self.chance.percent(35) {
            let _ = write!(text, ", verify: {}", checks(self.chance));
        }
        text.push_str(" }");
        text
    }

    fn repeat(
        &mut self,
        text: &mut String,
        sketch: &Sketch,
        at: usize,
        graphs: &mut BTreeMap<String, Graph>,
    ) {
        let slug = sketch.slug(at);
        let before: Vec<usize> = sketch
            .before(at)
            .into_iter()
            .filter(|&step| sketch.kinds[step] == Kind::Agent)
            .collect();
        let source = match self.chance.pick(&before) {
            Some(&step) if self.chance.percent(50) => format!("{{ step: {} }}", sketch.slug(step)),
            Some(_) | None if self.chance.percent(3) => "{ memory_key: nothing }".into(),
            Some(_) | None => "{ memory_key: items }".into(),
        };
        match sketch.kinds[at] {
            Kind::Map => {
                let _ = write!(text, ", type: map, source: {source}");
            }
            Kind::Fold => {
                let _ = write!(
                    text,
                    ", type: fold, source: {source}, initial_value: 0, result_key: t"
                );
            }
            _ => {
                let stop = self.chance.word(&[
                    "{ memory_key: it, operator: greater_than, value: 0 }",
                    "{ memory_key: items, operator: exists }",
                    "{ memory_key: k, operator: exists }",
                ]);
                let _ = write!(text, ", type: until, stop_when: {stop}");
                if self.chance.percent(70) {
                    let _ = write!(text, ", iteration_key: {SLOT}");
                }
            }
        }
        let most = 1 + self.chance.below(3);
        if sketch.kinds[at] == Kind::Until || self.chance.percent(30) {
            let _ = write!(text, ", max_iterations: {most}");
        }
        if self.chance.percent(15) {
            let deadline = 200 + self.chance.below(3_000);
            let _ = write!(text, ", iteration_deadline_ms: {deadline}");
        }
        let repeats = self.chance.percent(60);
        let inner = Sketch::of(format!("{slug}-"), sketch.level + 1, repeats, self.chance);
        let fields: Vec<String> = self
            .body(&slug, &inner, graphs)
            .into_iter()
            .map(|(name, field)| format!("{name}: {field}"))
            .collect();
        let _ = write!(text, ", routine: {{ {} }}", fields.join(", "));
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
        instructions: None,
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
