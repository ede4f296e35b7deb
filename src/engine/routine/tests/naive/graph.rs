//! Steps and edges as a graph: G1, G2, and which edges retry (G6), by brute force.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::engine::routine::tests::naive::step::{self, owners};
use crate::engine::routine::tests::naive::{Place, items, text};

pub(super) const CONDITIONS: &[&str] = &["always", "on_pass", "on_fail"];

/// An edge whose ends can be read.
pub(super) struct Edge<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    /// None: nobody can read it.
    pub(super) condition: Option<&'a str>,
    pub(super) value: &'a Value,
}

impl Edge<'_> {
    pub(super) fn label(&self) -> String {
        format!("{}->{}", self.from, self.to)
    }

    pub(super) fn fails(&self) -> bool {
        self.condition == Some("on_fail")
    }
}

/// A body with its graph spelled out: a nested one without entries and edges runs in file order to
/// a terminal, the last step or an added one.
pub(super) fn as_written(body: &Map<String, Value>, place: Place) -> Map<String, Value> {
    let mut body = body.clone();
    let stated = body.contains_key("entry_steps") || body.contains_key("edges");
    if place.level == 1 || items(&body, "steps").is_empty() {
        return body;
    }
    if stated {
        // What only one of them says is all there is.
        body.entry("entry_steps").or_insert(json!([]));
        body.entry("edges").or_insert(json!([]));
        return body;
    }
    let mut steps = items(&body, "steps").to_vec();
    let is_end = |step: &Value| matches!(text(step, "type"), Some("terminal" | "terminal_fail"));
    if !steps.last().is_some_and(is_end) {
        let taken = |slug: &str| steps.iter().any(|it| text(it, "slug") == Some(slug));
        let names = std::iter::once("done".to_owned()).chain((2..).map(|n| format!("done-{n}")));
        let slug = names.into_iter().find(|it| !taken(it));
        steps.push(json!({"slug": slug, "type": "terminal"}));
    }
    let mut line: Vec<&Value> = Vec::new();
    for step in &steps {
        let slug = text(step, "slug");
        if slug.is_some() && line.iter().all(|it| text(it, "slug") != slug) {
            line.push(step);
        }
    }
    let edges: Vec<Value> = line
        .windows(2)
        .map(|two| {
            let condition = match text(two[0], "type") {
                Some("gate") => "on_pass",
                Some(_) | None => "always",
            };
            json!({"from": two[0]["slug"], "to": two[1]["slug"], "condition": condition})
        })
        .collect();
    let entries: Vec<&Value> = line.iter().take(1).map(|it| &it["slug"]).collect();
    body.insert("entry_steps".into(), json!(entries));
    body.insert("edges".into(), json!(edges));
    body.insert("steps".into(), json!(steps));
    body.insert(IN_A_LINE.into(), json!(true));
    body
}

/// Marks a body whose edges nobody wrote.
const IN_A_LINE: &str = "(in a line)";

/// A graph whose edges have ends.
pub(super) struct Graph<'a> {
    pub(super) place: Place<'a>,
    pub(super) body: &'a Map<String, Value>,
    /// By slug, in file order, the first of each.
    pub(super) steps: Vec<(&'a str, &'a Value)>,
    pub(super) edges: Vec<Edge<'a>>,
    pub(super) entries: Vec<&'a str>,
    /// Edges by index (G6): those that lead on, those that retry, and those that close a cycle.
    pub(super) forward: Vec<usize>,
    pub(super) retry: Vec<usize>,
    closing: Vec<usize>,
    /// Cyclic parts among the edges that must have none, by the edges inside.
    pub(super) cyclic: Vec<BTreeSet<String>>,
}

impl<'a> Graph<'a> {
    pub(super) fn of(body: &'a Map<String, Value>, place: Place<'a>, closing: &[String]) -> Self {
        let mut steps: Vec<(&str, &Value)> = Vec::new();
        for step in items(body, "steps") {
            if let Some(slug) = text(step, "slug")
                && steps.iter().all(|(other, _)| *other != slug)
            {
                steps.push((slug, step));
            }
        }
        let mut edges = Vec::new();
        for value in items(body, "edges") {
            if let (Some(from), Some(to)) = (text(value, "from"), text(value, "to")) {
                let condition = match value.get("condition") {
                    None => Some("always"),
                    Some(word) => word.as_str().filter(|it| CONDITIONS.contains(it)),
                };
                edges.push(Edge {
                    from,
                    to,
                    condition,
                    value,
                });
            }
        }
        let entries = items(body, "entry_steps")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let mut graph = Self {
            place,
            body,
            steps,
            edges,
            entries,
            forward: Vec::new(),
            retry: Vec::new(),
            closing: Vec::new(),
            cyclic: Vec::new(),
        };
        graph.classify(closing);
        graph
    }

    pub(super) fn is_in_a_line(&self) -> bool {
        self.body.contains_key(IN_A_LINE)
    }

    /// The slug of the last step.
    pub(super) fn last(&self) -> Option<&'a str> {
        self.steps.last().map(|(slug, _)| *slug)
    }

    pub(super) fn step(&self, slug: &str) -> Option<&'a Value> {
        self.steps
            .iter()
            .find(|(other, _)| *other == slug)
            .map(|(_, step)| *step)
    }

    /// A type that exists; None where nobody knows what the step is.
    pub(super) fn kind(&self, slug: &str) -> Option<&'a str> {
        self.step(slug).and_then(kind)
    }

    pub(super) fn is_gate(&self, slug: &str) -> bool {
        self.kind(slug) == Some("gate")
    }

    /// Who writes the handoffs: G5 says what a step without a model hands over, so nobody need.
    pub(super) fn is_a_models(&self, slug: &str) -> bool {
        match self.kind(slug) {
            Some("agent" | "council") => true,
            Some("gate") => self
                .step(slug)
                .is_some_and(|it| owners(it)[..] == ["agent"]),
            Some(_) | None => false,
        }
    }

    /// Both ends exist, and it isn't one end twice.
    pub(super) fn is_sound(&self, edge: &Edge) -> bool {
        edge.from != edge.to && self.step(edge.from).is_some() && self.step(edge.to).is_some()
    }

    /// Steps that lie behind `from` on edges of a list, `from` itself only on a cycle.
    pub(super) fn behind(&self, from: &str, edges: &[usize]) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        loop {
            let before = found.len();
            for &n in edges {
                let edge = &self.edges[n];
                if edge.from == from || found.contains(edge.from) {
                    found.insert(edge.to);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// G6: the fewest edges from an entry, of any condition.
    fn distance(&self, slug: &str) -> usize {
        let mut near: BTreeSet<&str> = self.entries.iter().copied().collect();
        for distance in 0..=self.steps.len() {
            if near.contains(slug) {
                return distance;
            }
            let next: Vec<&str> = self
                .edges
                .iter()
                .filter(|edge| self.is_sound(edge) && near.contains(edge.from))
                .map(|edge| edge.to)
                .collect();
            near.extend(next);
        }
        usize::MAX
    }

    /// G6: which edges lead on and which retry. Edges that can't be what they say take no part:
    /// `on_fail` of a step that doesn't fail, and conditions that nobody can read.
    fn classify(&mut self, closing: &[String]) {
        let sound = |n: &usize| self.is_sound(&self.edges[*n]);
        let base: Vec<usize> = (0..self.edges.len())
            .filter(sound)
            .filter(|&n| matches!(self.edges[n].condition, Some("always" | "on_pass")))
            .collect();
        let mut fails: Vec<usize> = (0..self.edges.len())
            .filter(sound)
            .filter(|&n| self.edges[n].fails() && self.may_fail(self.edges[n].from))
            .collect();
        fails.sort_by_key(|&n| self.distance(self.edges[n].from));
        let cyclic = self.cyclic_parts(&base);
        (self.closing, self.forward) = base.into_iter().partition(|&n| {
            let label = self.edges[n].label();
            closing.contains(&label) && cyclic.iter().any(|part| part.contains(&label))
        });
        self.cyclic = cyclic;
        for n in fails {
            let edge = &self.edges[n];
            if self.behind(edge.to, &self.forward).contains(edge.from) {
                self.retry.push(n);
            } else {
                self.forward.push(n);
            }
        }
    }

    pub(super) fn may_fail(&self, slug: &str) -> bool {
        matches!(self.kind(slug), Some("gate") | None)
    }

    /// Steps that lie behind each other, as the edges among them.
    pub(super) fn cyclic_parts(&self, edges: &[usize]) -> Vec<BTreeSet<String>> {
        let behind: BTreeMap<&str, BTreeSet<&str>> = self
            .steps
            .iter()
            .map(|(slug, _)| (*slug, self.behind(slug, edges)))
            .collect();
        let mut parts: BTreeSet<BTreeSet<String>> = BTreeSet::new();
        for (slug, _) in &self.steps {
            let part: BTreeSet<&str> = behind[slug]
                .iter()
                .copied()
                .filter(|other| behind[other].contains(slug))
                .collect();
            let edges = edges.iter().map(|&n| &self.edges[n]);
            let inside = edges.filter(|it| part.contains(it.from) && part.contains(it.to));
            parts.insert(inside.map(Edge::label).collect());
        }
        parts.into_iter().filter(|part| !part.is_empty()).collect()
    }

    /// Which steps each step precedes.
    pub(super) fn precedence(&self) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
        let behind = |slug| self.behind(slug, &self.forward);
        self.steps
            .iter()
            .map(|(slug, _)| (*slug, behind(slug)))
            .collect()
    }
}

/// A type that exists.
pub(super) fn kind(step: &Value) -> Option<&str> {
    text(step, "type").filter(|it| step::KINDS.contains(it))
}
