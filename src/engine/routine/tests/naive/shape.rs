//! What G12 says of a graph's shape: its entries, edges and terminals.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::engine::routine::tests::naive::fields::{self, Is, Need, Table};
use crate::engine::routine::tests::naive::graph::{CONDITIONS, Edge, Graph, kind};
use crate::engine::routine::tests::naive::step::owners;
use crate::engine::routine::tests::naive::{Problems, items, text};

const EDGE: Table = &[
    ("from", Need::Must("missing-field"), Is::Text),
    ("to", Need::Must("missing-field"), Is::Text),
    ("condition", Need::May, Is::Word(CONDITIONS)),
    ("purpose", Need::May, Is::Text),
    ("handoff_instructions", Need::May, Is::Text),
    ("handoff_schema", Need::May, Is::Object),
    ("max_attempts", Need::May, Is::Whole(1, u32::MAX as u64)),
];

impl Graph<'_> {
    pub(super) fn judge(&self, problems: &mut Problems) {
        self.slugs(problems);
        self.each_edge(problems);
        self.entries(problems);
        if self.body.get("edges").is_some_and(Value::is_array) {
            self.outgoing(problems);
            self.reached(problems);
        }
        self.terminals(problems);
        self.mixed(problems);
        if !self.cyclic.is_empty() {
            problems.add("cycle", None);
            problems.cyclic.extend(self.cyclic.clone());
            if !self.cyclic_parts(&self.forward).is_empty() {
                problems.add("cycle", Some("that nobody closed"));
            }
        }
    }

    fn slugs(&self, problems: &mut Problems) {
        if self.body.get("steps").is_none_or(|it| it == &json!([])) {
            problems.add("empty-graph", self.place.host);
        }
        let slugs: Vec<&str> = items(self.body, "steps")
            .iter()
            .filter_map(|it| text(it, "slug"))
            .collect();
        for n in 0..slugs.len() {
            if slugs[..n].contains(&slugs[n]) {
                problems.add("duplicate-step", Some(slugs[n]));
            }
        }
    }

    fn each_edge(&self, problems: &mut Problems) {
        for value in items(self.body, "edges")
            .iter()
            .filter(|_| !self.is_in_a_line())
        {
            let Some(map) = value.as_object() else {
                problems.add("bad-value", None);
                continue;
            };
            let label = match (text(value, "from"), text(value, "to")) {
                (Some(from), Some(to)) => Some(format!("{from}->{to}")),
                _ => None,
            };
            let at = label.as_deref();
            fields::judge(problems, at, "bad-value", map, EDGE);
            if value
                .get("handoff_schema")
                .is_some_and(|it| !is_schema_for_an_object(it))
            {
                problems.add("bad-handoff-schema", at);
            }
        }
        for value in items(self.body, "edges") {
            self.half_an_edge(problems, value);
        }
        for (n, edge) in self.edges.iter().enumerate() {
            let label = edge.label();
            let at = Some(label.as_str());
            if edge.from == edge.to {
                problems.add("self-edge", at);
            }
            for end in [edge.from, edge.to] {
                if self.step(end).is_none() {
                    problems.add("unknown-step", at);
                }
            }
            if self.is_gate(edge.from) && edge.condition == Some("always") {
                problems.add("gate-always-edge", at);
            }
            if self.step(edge.from).is_some() && !self.may_fail(edge.from) && edge.fails() {
                problems.add("on-fail-from-non-gate", at);
            }
            if matches!(self.kind(edge.from), Some("terminal" | "terminal_fail")) {
                problems.add("terminal-has-outgoing", at);
            }
            let says = ["purpose", "handoff_instructions", "handoff_schema"];
            if self.is_sound(edge)
                && !self.is_in_a_line()
                && self.is_a_models(edge.from)
                && says.iter().all(|it| edge.value.get(*it).is_none())
            {
                problems.add("edge-without-handoff", at);
            }
            let twin = |other: &&Edge| other.from == edge.from && other.to == edge.to;
            if self.is_sound(edge)
                && self.edges[..n]
                    .iter()
                    .filter(twin)
                    .any(|other| self.overlap(edge, other))
            {
                problems.add("duplicate-edge", at);
            }
            if edge.value.get("max_attempts").is_some() && self.forward.contains(&n) {
                problems.add("bad-max-attempts", at);
            }
        }
    }

    /// Of an edge one of whose ends can't be read, what the other tells.
    fn half_an_edge(&self, problems: &mut Problems, value: &Value) {
        let (from, to) = (text(value, "from"), text(value, "to"));
        if from.is_some() == to.is_some() {
            return;
        }
        if from.into_iter().chain(to).any(|it| self.step(it).is_none()) {
            problems.add("unknown-step", None);
        }
        let always = value.get("condition").is_none_or(|it| it == "always");
        let fails = value.get("condition").is_some_and(|it| it == "on_fail");
        match from.and_then(|it| self.kind(it)) {
            Some("gate") if always => problems.add("gate-always-edge", from),
            Some("gate") | None => {}
            Some(kind) => {
                if fails {
                    problems.add("on-fail-from-non-gate", from);
                }
                if kind.starts_with("terminal") {
                    problems.add("terminal-has-outgoing", from);
                }
            }
        }
    }

    /// Whether one verdict activates both. Of a step that is no gate, `on_pass` means `always` (G2).
    fn overlap(&self, one: &Edge, other: &Edge) -> bool {
        let verdicts = |edge: &Edge| match edge.condition {
            Some("on_fail") => ["fail"].as_slice(),
            Some("on_pass") if self.may_fail(edge.from) => ["pass"].as_slice(),
            Some(_) => ["pass", "fail"].as_slice(),
            None => [].as_slice(),
        };
        verdicts(one).iter().any(|it| verdicts(other).contains(it))
    }

    fn entries(&self, problems: &mut Problems) {
        let unreadable = self
            .body
            .get("entry_steps")
            .is_some_and(|it| !it.is_array());
        let has_steps = !items(self.body, "steps").is_empty();
        if self.entries.is_empty() && !unreadable && (has_steps || self.place.level == 1) {
            problems.add("no-entry", self.place.host);
        }
        for (n, entry) in self.entries.iter().enumerate() {
            if self.step(entry).is_none() {
                problems.add("unknown-entry", Some(entry));
            }
            if self.entries[..n].contains(entry) {
                problems.add("duplicate-entry", Some(entry));
            }
        }
        for (n, edge) in self.edges.iter().enumerate() {
            if self.entries.contains(&edge.to) && self.is_sound(edge) && !self.retry.contains(&n) {
                problems.add("entry-has-incoming", Some(&edge.label()));
            }
        }
    }

    /// An edge whose target isn't there may still be meant to lead on; one to its own source isn't.
    fn outgoing(&self, problems: &mut Problems) {
        for &(slug, step) in &self.steps {
            let leaves =
                |edge: &Value| text(edge, "from") == Some(slug) && text(edge, "to") != Some(slug);
            let mut leaving = items(self.body, "edges").iter().filter(|it| leaves(it));
            let may_pass = |edge: &Value| text(edge, "condition") != Some("on_fail");
            let leads_on = match kind(step) {
                Some("terminal" | "terminal_fail") | None => true,
                Some("gate") => leaving.any(may_pass),
                Some(_) => leaving.next().is_some(),
            };
            if !leads_on {
                problems.add("missing-outgoing", Some(slug));
            }
        }
    }

    fn terminals(&self, problems: &mut Problems) {
        let steps = items(self.body, "steps");
        let any = |wanted| steps.iter().any(|it| kind(it) == wanted);
        let host = self.place.host;
        match (any(Some("terminal")), any(Some("terminal_fail"))) {
            _ if steps.is_empty() => {}
            // What nobody knows may be one.
            (false, false) if any(None) => {}
            (false, false) => problems.add("no-terminal", host),
            (false, true) => problems.add("no-success-terminal", host),
            (true, false) if !self.is_in_a_line() => problems.add("no-failure-terminal", host),
            (true, _) => {}
        }
    }

    fn reached(&self, problems: &mut Problems) {
        let all: Vec<usize> = (0..self.edges.len())
            .filter(|&n| self.is_sound(&self.edges[n]))
            .collect();
        let mut reached: BTreeSet<&str> = self
            .entries
            .iter()
            .copied()
            .filter(|it| self.step(it).is_some())
            .collect();
        if reached.is_empty() {
            // That nothing begins is said already.
            return;
        }
        for entry in reached.clone() {
            reached.extend(self.behind(entry, &all));
        }
        for (slug, _) in &self.steps {
            if !reached.contains(slug) {
                problems.add("unreachable-step", Some(slug));
            }
        }
    }

    fn mixed(&self, problems: &mut Problems) {
        for (slug, step) in &self.steps {
            let has = |list: &[usize]| {
                list.iter()
                    .any(|&n| self.edges[n].from == *slug && self.edges[n].fails())
            };
            if owners(step)[..] != ["operator"] && has(&self.forward) && has(&self.retry) {
                problems.add("mixed-on-fail", Some(slug));
            }
        }
    }
}

/// A JSON Schema that some object fits, as far as one can tell from `type`.
fn is_schema_for_an_object(schema: &Value) -> bool {
    if !schema.is_object() {
        return false;
    }
    let takes_objects = match schema.get("type") {
        None => true,
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|it| it == "object"),
        Some(_) => false,
    };
    takes_objects && jsonschema::validator_for(schema).is_ok()
}
