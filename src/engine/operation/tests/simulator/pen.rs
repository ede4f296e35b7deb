//! Writes the sketched graphs as YAML, with everything that has no say in who leads to whom.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::engine::operation::tests::simulator::chance::Chance;
use crate::engine::operation::tests::simulator::world::{
    Bench, Graph, Kind, Repeats, SLOT, Sketch, Strategy, TOOLS, Worker, WorldEdge,
};

/// Everybody who may lead a council or sit on one.
const AGENTS: [&str; 5] = ["a0", "a1", "a2", "a3", "default"];

pub(super) fn written(
    chance: &mut Chance,
    graphs: &mut BTreeMap<String, Graph>,
) -> (String, BTreeMap<String, Worker>) {
    let mut text = String::from("routine: world\nparameters: [{ name: p, default: x }]\n");
    text.push_str("agents:\n");
    for agent in ["a0", "a1", "a2", "a3"] {
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
    let benches = benches(chance);
    text.push_str("councils:\n");
    for (at, bench) in benches.iter().enumerate() {
        let _ = writeln!(
            text,
            "  c{at}: {{ leader: {}, members: [{}], strategy: {}, max_calls: {} }}",
            bench.leader,
            bench.members.join(", "),
            bench.strategy.label(),
            bench.max_calls,
        );
    }
    let root = Sketch::of(String::new(), 1, Repeats::of(chance, 50), chance);
    let mut pen = Pen {
        chance,
        agents,
        benches,
        workers: BTreeMap::new(),
    };
    let fields = pen.body("", &root, graphs);
    for (name, field) in fields {
        let _ = writeln!(text, "{name}: {field}");
    }
    (text, pen.workers)
}

/// A few councils, which share agents with each other and with the other steps.
fn benches(chance: &mut Chance) -> Vec<Bench> {
    let mut bench = || {
        let mut rest = AGENTS.to_vec();
        let members = (0..1 + chance.below(4))
            .map(|_| rest.swap_remove(chance.below(rest.len())))
            .collect();
        Bench {
            leader: chance.word(&AGENTS),
            members,
            strategy: Strategy::ALL[chance.below(Strategy::ALL.len())],
            max_calls: 1 + chance.below(5),
        }
    };
    (0..3).map(|_| bench()).collect()
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
    benches: Vec<Bench>,
    workers: BTreeMap<String, Worker>,
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
            Kind::Agent | Kind::Council | Kind::AgentGate | Kind::OperatorGate => 12,
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
                let _ = write!(text, ", type: {word}, agent: {agent}");
                self.workers.insert(slug, Worker::Agent(agent));
                self.model_work(&mut text, named);
            }
            Kind::Council => {
                let council = self.chance.below(self.benches.len());
                let _ = write!(text, ", type: council, council: c{council}");
                let bench = self.benches[council].clone();
                self.workers.insert(slug, Worker::Council(bench));
                self.model_work(&mut text, named);
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

    fn model_work(&mut self, text: &mut String, named: &str) {
        let _ = write!(
            text,
            ", criteria: [\"good {named}\"], corrections: {}, max_model_calls: {}",
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
            .filter(|&step| matches!(sketch.kinds[step], Kind::Agent | Kind::Council))
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
        let repeats = Repeats::of(self.chance, 60);
        let inner = Sketch::of(format!("{slug}-"), sketch.level + 1, repeats, self.chance);
        let fields: Vec<String> = self
            .body(&slug, &inner, graphs)
            .into_iter()
            .map(|(name, field)| format!("{name}: {field}"))
            .collect();
        let _ = write!(text, ", routine: {{ {} }}", fields.join(", "));
    }
}
