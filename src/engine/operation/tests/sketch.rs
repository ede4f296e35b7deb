//! A short notation for routines in tests; it only writes the YAML that the loader reads.
//!
//! ```text
//! a -> {b, c} -> j            edges; sets fan out and in
//! g -pass-> done              edges of a gate
//! g -fail-> a | max_attempts: 1   fields of the line's last edges
//! a = tools: [act]            fields of a step
//! c : lead vote {a, b}        a council step: its council's leader, strategy and members
//! c : lead dynamic {a} | max_calls: 2   with fields of the council
//! @ deadline_ms: 500          a line of the routine itself
//! ```
//!
//! A step with `-pass->` or `-fail->` is a gate, `done…` a terminal, `lost…` a failing one, everything
//! else an agent step whose agent has the step's name. Entries are the steps that begin a line before
//! anything leads to them, but on a gate's fail. Text that begins with `routine:` is YAML already.

use std::collections::{BTreeMap, BTreeSet};

struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    condition: Option<&'static str>,
    fields: String,
}

pub(super) fn yaml_of(text: &str) -> String {
    if text.trim_start().starts_with("routine:") {
        return text.to_owned();
    }
    let text = text.replace(", ", ",");
    let mut sketch = Sketch::default();
    for line in text.lines() {
        sketch.line(line);
    }
    sketch.yaml()
}

#[derive(Default)]
struct Sketch<'a> {
    order: Vec<&'a str>,
    heads: BTreeSet<&'a str>,
    edges: Vec<Edge<'a>>,
    fields: BTreeMap<&'a str, &'a str>,
    councils: BTreeMap<&'a str, Council<'a>>,
    top: Vec<&'a str>,
}

struct Council<'a> {
    leader: &'a str,
    strategy: &'a str,
    members: Vec<&'a str>,
    fields: &'a str,
}

impl<'a> Sketch<'a> {
    fn line(&mut self, line: &'a str) {
        let trimmed = line.trim();
        if let Some(top) = line.trim_start().strip_prefix("@ ") {
            self.top.push(top);
        } else if let Some((name, fields)) = trimmed.split_once(" = ") {
            self.mention(name);
            self.fields.insert(name, fields);
        } else if let Some((name, council)) = trimmed.split_once(" : ") {
            self.mention(name);
            self.councils.insert(name, Council::of(council));
        } else if !trimmed.is_empty() {
            let (chain, fields) = trimmed.split_once(" | ").unwrap_or((trimmed, ""));
            self.chain(chain, fields);
        }
    }

    fn chain(&mut self, chain: &'a str, fields: &str) {
        let words: Vec<&str> = chain.split_whitespace().collect();
        let mut from = set(words[0]);
        for &name in &from {
            if !self.order.contains(&name) || self.fields.contains_key(name) {
                self.heads.insert(name);
            }
            self.mention(name);
        }
        let arrows = words[1..].chunks(2);
        let last = arrows.len();
        for (at, arrow) in arrows.enumerate() {
            let condition = match arrow[0] {
                "->" => None,
                "-pass->" => Some("on_pass"),
                "-fail->" => Some("on_fail"),
                other => panic!("`{other}` is no arrow"),
            };
            let to = set(arrow[1]);
            for &from in &from {
                for &to in &to {
                    self.mention(to);
                    let fields = if at + 1 == last {
                        fields.to_owned()
                    } else {
                        String::new()
                    };
                    self.edges.push(Edge {
                        from,
                        to,
                        condition,
                        fields,
                    });
                }
            }
            from = to;
        }
    }

    fn mention(&mut self, name: &'a str) {
        if !self.order.contains(&name) {
            self.order.push(name);
        }
    }

    fn yaml(&self) -> String {
        let mut text = String::from("routine: story\n");
        for line in &self.top {
            text.push_str(line);
            text.push('\n');
        }
        let steps: Vec<String> = self.order.iter().map(|name| self.step(name)).collect();
        let mut agents = BTreeSet::new();
        for step in &steps {
            for part in step.split(" agent: ").skip(1) {
                agents.insert(part.split([',', '}']).next().unwrap_or(part).trim());
            }
        }
        for council in self.councils.values() {
            agents.extend(council.members.iter().chain([&council.leader]));
        }
        if !self.councils.is_empty() {
            let councils: Vec<String> = self.councils.iter().map(Council::yaml).collect();
            text.push_str(&format!("councils: {{ {} }}\n", councils.join(", ")));
        }
        if !self.top.iter().any(|line| line.starts_with("agents:")) {
            let agents: Vec<String> = agents.iter().map(|name| format!("{name}: {{}}")).collect();
            text.push_str(&format!("agents: {{ {} }}\n", agents.join(", ")));
        }
        let is_target = |name: &str| {
            let leads = |edge: &Edge<'_>| edge.to == name && edge.condition != Some("on_fail");
            self.edges.iter().any(leads)
        };
        let entries: Vec<&str> = self
            .order
            .iter()
            .copied()
            .filter(|name| self.heads.contains(name) && !is_target(name))
            .collect();
        text.push_str(&format!("entry_steps: [{}]\nsteps:\n", entries.join(", ")));
        text.push_str(&steps.concat());
        text.push_str("edges:\n");
        for edge in &self.edges {
            let condition = edge.condition.map(|word| format!(", condition: {word}"));
            text.push_str(&format!(
                "  - {{ from: {}, to: {}{}{} }}\n",
                edge.from,
                edge.to,
                condition.unwrap_or_default(),
                more(&edge.fields)
            ));
        }
        text
    }

    fn step(&self, name: &str) -> String {
        let fields = self.fields.get(name).copied().unwrap_or_default();
        let is_gate = self
            .edges
            .iter()
            .any(|edge| edge.from == name && edge.condition.is_some());
        let kind = if fields.contains("type:") {
            String::new()
        } else if self.councils.contains_key(name) {
            format!(", type: council, council: {name}")
        } else if name.starts_with("done") {
            ", type: terminal".into()
        } else if name.starts_with("lost") {
            ", type: terminal_fail".into()
        } else {
            let kind = if is_gate { "gate" } else { "agent" };
            let owned = ["operator: true", "checks:", "agent:"]
                .iter()
                .any(|owner| fields.contains(owner));
            let owner = if owned {
                String::new()
            } else {
                format!(", agent: {name}")
            };
            format!(", type: {kind}{owner}")
        };
        format!("  - {{ slug: {name}{kind}{} }}\n", more(fields))
    }
}

impl<'a> Council<'a> {
    fn of(text: &'a str) -> Self {
        let (council, fields) = text.split_once(" | ").unwrap_or((text, ""));
        let [leader, strategy, members] = council.split(' ').collect::<Vec<_>>()[..] else {
            panic!("`{council}` is no leader, strategy and members");
        };
        Self {
            leader,
            strategy,
            members: set(members),
            fields,
        }
    }

    fn yaml((name, council): (&&str, &Self)) -> String {
        format!(
            "{name}: {{ leader: {}, strategy: {}, members: [{}]{} }}",
            council.leader,
            council.strategy,
            council.members.join(", "),
            more(council.fields)
        )
    }
}

fn set(word: &str) -> Vec<&str> {
    word.trim_matches(['{', '}']).split(',').collect()
}

fn more(fields: &str) -> String {
    if fields.is_empty() {
        String::new()
    } else {
        format!(", {}", fields.replace(',', ", "))
    }
}
