//! A graph for people to read: a small model of what is drawn, and its form as text, Mermaid and DOT.
//!
//! Names come from files and may hold anything; every form shows them on one line and keeps them
//! inside their quotes. The full-screen interface draws its own picture.

mod clause;
mod dot;
mod label;
mod mermaid;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use crate::engine::routine::definition::{EdgeCondition, GateOwner, StepKind};
use crate::engine::routine::graph::{EdgeClass, RoutineGraph, StepIndex};
use crate::engine::routine::render::label::one_line;

/// What is drawn of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// The steps, each after everything that leads to it by forward edges; ties in file order.
    pub steps: Vec<DrawnStep>,
}

/// A step as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnStep {
    /// Its slug.
    pub slug: String,
    /// Its display name.
    pub name: String,
    /// Its kind, as the file names it.
    pub kind: &'static str,
    /// How it looks where steps have shapes.
    pub shape: Shape,
    /// Who or what does it.
    pub by: Option<String>,
    /// On what it depends whether it runs at all, and how long it repeats.
    pub clauses: Vec<String>,
    /// Whether it starts at once.
    pub starts: Start,
    /// Where it leads, in file order.
    pub edges: Vec<DrawnEdge>,
    /// The nested routine.
    pub nested: Option<Drawing>,
}

/// How a step looks where steps have shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Work of a model.
    Work,
    /// A way is chosen.
    Choice,
    /// Work of several models.
    Council,
    /// A tool call.
    Call,
    /// A nested routine.
    Repetition,
    /// The end, with success.
    Success,
    /// The end, with failure.
    Failure,
}

/// Whether a step starts at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// It is an entry.
    Entry,
    /// It waits for others.
    Later,
}

/// An edge as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnEdge {
    /// The slug of its target.
    pub to: String,
    /// When it activates.
    pub condition: EdgeCondition,
    /// How often it may be taken, if it retries.
    pub budget: Option<u32>,
}

impl Drawing {
    /// What is drawn of a graph.
    pub fn of(graph: &RoutineGraph) -> Self {
        let steps = in_order(graph);
        Self {
            steps: steps.into_iter().map(|step| drawn(graph, step)).collect(),
        }
    }

    /// An outline: a line for each step, and one for each of its edges.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text
    }

    /// A Mermaid flowchart.
    pub fn to_mermaid(&self) -> String {
        mermaid::flowchart(self)
    }

    /// A graph in Graphviz' language.
    pub fn to_dot(&self) -> String {
        dot::digraph(self)
    }

    /// Where each step stands, by slug.
    fn places(&self) -> HashMap<&str, usize> {
        let steps = self.steps.iter().enumerate();
        steps
            .map(|(place, step)| (step.slug.as_str(), place))
            .collect()
    }

    fn write(&self, text: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        for step in &self.steps {
            let start = match step.starts {
                Start::Entry => "* ",
                Start::Later => "  ",
            };
            let name = match step.name == step.slug {
                true => String::new(),
                false => {
                    let name = step.name.replace('\\', "\\\\").replace('"', "\\\"");
                    format!("  \"{}\"", one_line(&name))
                }
            };
            let by = step.by.as_ref().map(|by| format!(" by {}", one_line(by)));
            let by = by.unwrap_or_default();
            line(
                text,
                format_args!("{indent}{start}{} [{}{by}]{name}", step.slug, step.kind),
            );
            for clause in &step.clauses {
                line(text, format_args!("{indent}    {}", one_line(clause)));
            }
            if let Some(nested) = &step.nested {
                line(text, format_args!("{indent}    each time:"));
                nested.write(text, depth + 3);
            }
            for edge in &step.edges {
                let condition = match edge.condition {
                    EdgeCondition::Always => String::new(),
                    EdgeCondition::OnPass | EdgeCondition::OnFail => {
                        format!(" {}", edge.condition.label())
                    }
                };
                let arrow = match edge.budget {
                    None => format!("->{condition} {}", edge.to),
                    Some(most) => {
                        format!("<-{condition} {} (retry, {})", edge.to, at_most(most))
                    }
                };
                line(text, format_args!("{indent}    {arrow}"));
            }
        }
    }
}

impl DrawnStep {
    /// What stands in a step's box: the name, the slug where it is another, the kind and the owner, and
    /// on what it depends.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![one_line(&self.name)];
        if self.name != self.slug {
            lines.push(self.slug.clone());
        }
        lines.push(match &self.by {
            Some(by) => format!("{} by {}", self.kind, one_line(by)),
            None => self.kind.to_owned(),
        });
        lines.extend(self.clauses.iter().map(|clause| one_line(clause)));
        lines
    }

    /// Whether it is an entry.
    fn is_entry(&self) -> bool {
        self.starts == Start::Entry
    }
}

impl DrawnEdge {
    /// What stands at an edge, if anything.
    fn label(&self) -> Option<String> {
        let condition = match self.condition {
            EdgeCondition::Always => None,
            EdgeCondition::OnPass | EdgeCondition::OnFail => Some(self.condition.label()),
        };
        let budget = self.budget.map(|most| format!("retry, {}", at_most(most)));
        match (condition, budget) {
            (Some(condition), Some(budget)) => Some(format!("{condition}, {budget}")),
            (None, Some(budget)) => Some(budget),
            (Some(condition), None) => Some(condition.to_owned()),
            (None, None) => None,
        }
    }
}

/// The number of an edge's target. Edges of a graph lead to its own steps.
fn target(places: &HashMap<&str, usize>, prefix: &str, to: &str) -> String {
    let place = places
        .get(to)
        .expect("BUG: an edge of a graph leads out of it");
    format!("{prefix}s{place}")
}

fn at_most(times: u32) -> String {
    match times {
        1 => "at most once".to_owned(),
        more => format!("at most {more} times"),
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string doesn't fail.
    let _ = writeln!(text, "{line}");
}

fn drawn(graph: &RoutineGraph, index: StepIndex) -> DrawnStep {
    let step = graph.step(index);
    let edges = graph.outgoing(index).iter().map(|&edge| {
        let edge = graph.edge(edge);
        DrawnEdge {
            to: graph.step(edge.to).slug.clone(),
            condition: edge.condition,
            budget: match &edge.class {
                EdgeClass::Forward => None,
                EdgeClass::Retry(retry) => Some(retry.max_attempts),
            },
        }
    });
    DrawnStep {
        slug: step.slug.clone(),
        name: step.name.clone(),
        kind: step.kind.label(),
        shape: shape(&step.kind),
        by: by(&step.kind),
        clauses: clause::of(step),
        starts: match graph.entries().contains(&index) {
            true => Start::Entry,
            false => Start::Later,
        },
        edges: edges.collect(),
        nested: graph.nested(index).map(Drawing::of),
    }
}

fn shape(kind: &StepKind) -> Shape {
    match kind {
        StepKind::Agent(_) => Shape::Work,
        StepKind::Gate(_) => Shape::Choice,
        StepKind::Council(_) => Shape::Council,
        StepKind::Tool(_) => Shape::Call,
        StepKind::Map(_) | StepKind::Fold(_) | StepKind::Until(_) => Shape::Repetition,
        StepKind::Terminal { .. } => Shape::Success,
        StepKind::TerminalFail { .. } => Shape::Failure,
    }
}

fn by(kind: &StepKind) -> Option<String> {
    match kind {
        StepKind::Agent(step) => Some(step.agent.clone()),
        StepKind::Gate(gate) => Some(match &gate.owner {
            GateOwner::Agent(step) => step.agent.clone(),
            GateOwner::Operator(_) => "the operator".to_owned(),
            GateOwner::Checks(checks) => match checks.len() {
                1 => "a check".to_owned(),
                count => format!("{count} checks"),
            },
        }),
        StepKind::Council(step) => Some(step.council.clone()),
        StepKind::Tool(step) => Some(step.tool.clone()),
        StepKind::Map(_)
        | StepKind::Fold(_)
        | StepKind::Until(_)
        | StepKind::Terminal { .. }
        | StepKind::TerminalFail { .. } => None,
    }
}

/// Each step after everything that leads to it by forward edges; of several the first in the file.
fn in_order(graph: &RoutineGraph) -> Vec<StepIndex> {
    let mut missing: Vec<usize> = graph
        .steps()
        .map(|step| graph.forward_in(step).len())
        .collect();
    let mut ready: BTreeSet<StepIndex> = graph
        .steps()
        .filter(|step| missing[step.at()] == 0)
        .collect();
    let mut order = Vec::with_capacity(graph.len());
    while let Some(step) = ready.pop_first() {
        order.push(step);
        for &edge in graph.outgoing(step) {
            let edge = graph.edge(edge);
            if matches!(edge.class, EdgeClass::Forward) {
                missing[edge.to.at()] -= 1;
                if missing[edge.to.at()] == 0 {
                    ready.insert(edge.to);
                }
            }
        }
    }
    order
}
