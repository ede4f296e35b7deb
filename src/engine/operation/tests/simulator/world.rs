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

/// A routine with what the generator knows of it.
pub(super) struct World {
    pub(super) yaml: String,
    pub(super) plan: Arc<Plan>,
    pub(super) edges: Vec<WorldEdge>,
    pub(super) kinds: BTreeMap<String, Kind>,
    pub(super) entries: BTreeSet<String>,
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

struct Sketch {
    kinds: Vec<Kind>,
    entries: Vec<usize>,
    edges: Vec<(usize, usize, bool, bool)>,
}

impl World {
    pub(super) fn of(chance: &mut Chance) -> Self {
        let sketch = Sketch::of(chance);
        let mut edges: Vec<WorldEdge> = Vec::new();
        for &(from, to, on_fail, retries) in &sketch.edges {
            edges.push(WorldEdge {
                from: sketch.slug(from),
                to: sketch.slug(to),
                on_fail,
                retry: retries.then(|| 1 + chance.below(3) as u32),
            });
        }
        let kinds = (0..sketch.kinds.len())
            .map(|at| (sketch.slug(at), sketch.kinds[at]))
            .collect();
        let entries = sketch.entries.iter().map(|&at| sketch.slug(at)).collect();
        let yaml = written(&sketch, &edges, chance);
        let plan = plan(&yaml, chance);
        Self {
            yaml,
            plan: Arc::new(plan),
            edges,
            kinds,
            entries,
        }
    }
}

impl Sketch {
    /// Steps in an order in which every forward edge leads on; terminals last.
    fn of(chance: &mut Chance) -> Self {
        let steps = 1 + chance.below(7);
        let mut kinds: Vec<Kind> = (0..steps)
            .map(|_| match chance.weighed(&[40, 25, 8, 12, 15]) {
                0 => Kind::Agent,
                1 => Kind::AgentGate,
                2 => Kind::OperatorGate,
                3 => Kind::ChecksGate,
                _ => Kind::Tool,
            })
            .collect();
        kinds.extend([Kind::Terminal, Kind::Terminal, Kind::TerminalFail]);
        let mut sketch = Self {
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
        let terminals = self.kinds.len() - 3;
        match at.checked_sub(terminals) {
            None => format!("s{at}"),
            Some(0) => "done".into(),
            Some(1) => "other".into(),
            Some(_) => "lost".into(),
        }
    }
}

fn written(sketch: &Sketch, edges: &[WorldEdge], chance: &mut Chance) -> String {
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
    series(&mut text, "pre_steps", chance);
    let entries: Vec<String> = sketch.entries.iter().map(|&at| sketch.slug(at)).collect();
    let _ = writeln!(text, "entry_steps: [{}]", entries.join(", "));
    // In some worlds everybody waits for one agent.
    let agents: &[&'static str] = match chance.percent(35) {
        true => &["a0"],
        false => &["a0", "a0", "a1", "a2", "default"],
    };
    text.push_str("steps:\n");
    for (at, kind) in sketch.kinds.iter().enumerate() {
        let slug = sketch.slug(at);
        if edges
            .iter()
            .any(|edge| edge.from == slug || edge.to == slug)
        {
            // A pre step that was left out has no result (V21, V23).
            let named = match text.contains("name: pre1") && chance.percent(15) {
                true => "{{step.pre1}}",
                false => "{{param.p}}",
            };
            step(&mut text, &slug, *kind, (named, agents), chance);
        }
    }
    text.push_str("edges:\n");
    for edge in edges {
        let is_gate = (0..sketch.kinds.len())
            .any(|at| sketch.slug(at) == edge.from && sketch.kinds[at].is_gate());
        let condition = match (is_gate, edge.on_fail) {
            (_, true) => ", condition: on_fail",
            (true, false) => ", condition: on_pass",
            (false, false) => "",
        };
        let _ = write!(
            text,
            "  - {{ from: {}, to: {}{condition}",
            edge.from, edge.to
        );
        if let Some(max) = edge.retry {
            let _ = write!(text, ", max_attempts: {max}");
        }
        if chance.percent(12) {
            text.push_str(", handoff_schema: { type: object, required: [k], properties: { k: { type: integer } } }");
        }
        text.push_str(" }\n");
    }
    series(&mut text, "post_steps", chance);
    if chance.percent(50) {
        text.push_str("post_steps_trigger: always\n");
    }
    if chance.percent(60) {
        let _ = writeln!(text, "verify: {}", checks(chance));
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

fn series(text: &mut String, list: &str, chance: &mut Chance) {
    let count = [0, 0, 1, 2, 3][chance.below(5)];
    if count == 0 {
        return;
    }
    let _ = writeln!(text, "{list}:");
    for at in 0..count {
        let tool = chance.word(&["act", "commit", "look", "memory_set"]);
        let args = match tool {
            "memory_set" => "{ key: k, value: 1 }",
            _ => "{ x: \"{{param.p}}\" }",
        };
        let on_error = chance.word(&["fail", "continue", "skip_remaining"]);
        let _ = writeln!(
            text,
            "  - {{ name: {}{at}, tool: {tool}, args: {args}, on_error: {on_error}, result_key: r{at} }}",
            &list[..3].trim_end_matches('s'),
        );
    }
}

fn step(
    text: &mut String,
    slug: &str,
    kind: Kind,
    (named, agents): (&str, &[&'static str]),
    chance: &mut Chance,
) {
    let _ = write!(text, "  - {{ slug: {slug}");
    match kind {
        Kind::Terminal => text.push_str(", type: terminal"),
        Kind::TerminalFail => text.push_str(", type: terminal_fail, reason: It is lost"),
        Kind::Tool => {
            let tool = chance.word(&["act", "commit", "look", "memory_get"]);
            let _ = write!(
                text,
                ", type: tool, tool: {tool}, args: {{ key: \"k{named}\" }}"
            );
            if chance.percent(30) {
                text.push_str(", result_key: t");
            }
        }
        Kind::OperatorGate => text.push_str(", type: gate, operator: true, criteria: [good]"),
        Kind::ChecksGate => {
            let _ = write!(text, ", type: gate, checks: {}", checks(chance));
        }
        Kind::Agent | Kind::AgentGate => {
            let agent = chance.word(agents);
            let word = if kind == Kind::Agent { "agent" } else { "gate" };
            let _ = write!(
                text,
                ", type: {word}, agent: {agent}, criteria: [\"good {named}\"], corrections: {}, max_model_calls: {}",
                chance.below(3),
                1 + chance.below(6)
            );
            if chance.percent(20) {
                let _ = write!(text, ", timeout_ms: {}", 100 + chance.below(5_000));
            }
            if chance.percent(40) {
                let _ = write!(text, ", tools: {}", tool_list(chance));
            }
        }
    }
    let may_verify = !matches!(kind, Kind::Terminal | Kind::TerminalFail);
    if may_verify && kind != Kind::ChecksGate && chance.percent(35) {
        let _ = write!(text, ", verify: {}", checks(chance));
    }
    text.push_str(" }\n");
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
