//! A graph for people to read: a small model of what is drawn, and its text form.
//!
//! Other forms (mermaid, dot) can be made from the same model. The full-screen interface draws its
//! own picture.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::engine::routine::definition::{EdgeCondition, GateOwner, StepKind};
use crate::engine::routine::graph::{EdgeClass, RoutineGraph, StepIndex};

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
    /// Who or what does it.
    pub by: Option<String>,
    /// Whether it starts at once.
    pub starts: Start,
    /// Where it leads, in file order.
    pub edges: Vec<DrawnEdge>,
    /// The nested routine.
    pub nested: Option<Drawing>,
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

    fn write(&self, text: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        for step in &self.steps {
            let start = match step.starts {
                Start::Entry => "* ",
                Start::Later => "  ",
            };
            let name = match step.name == step.slug {
                true => String::new(),
                false => format!("  \"{}\"", step.name),
            };
            let by = step.by.as_ref().map(|by| format!(" by {by}"));
            let by = by.unwrap_or_default();
            line(
                text,
                format_args!("{indent}{start}{} [{}{by}]{name}", step.slug, step.kind),
            );
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
                    Some(1) => format!("<-{condition} {} (retry, at most once)", edge.to),
                    Some(most) => {
                        format!("<-{condition} {} (retry, at most {most} times)", edge.to)
                    }
                };
                line(text, format_args!("{indent}    {arrow}"));
            }
        }
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
        by: by(&step.kind),
        starts: match graph.entries().contains(&index) {
            true => Start::Entry,
            false => Start::Later,
        },
        edges: edges.collect(),
        nested: graph.nested(index).map(Drawing::of),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::routine::{fixtures, load};

    #[test]
    fn the_fixture_reads_as_an_outline_in_topological_order() {
        let loaded = load(fixtures::FORMAT.as_bytes(), &fixtures::known());
        let routine = loaded.routine.expect("valid");
        let text = Drawing::of(&routine.graph).to_text();
        assert_eq!(
            text,
            "\
* draft [agent by writer]  \"Draft the notes\"
    -> check
  check [gate by critic]
    <- on_fail draft (retry, at most 2 times)
    -> on_pass tests
  tests [gate by a check]
    -> on_pass stamp
    -> on_fail rejected
  stamp [tool by run_command]
    -> each_file
  each_file [map]
    each time:
      * note [agent by critic]
          -> done
        done [terminal]
    -> review
  review [council by editors]
    -> release
  release [gate by the operator]
    -> on_pass done
    -> on_fail rejected
  done [terminal]
  rejected [terminal_fail]
"
        );
    }
}
