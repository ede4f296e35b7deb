//! What the graph keeps of the rules' findings: every name an index, every edge with its class.

use std::collections::BTreeSet;

use crate::engine::limits;
use crate::engine::routine::definition::{Body, EdgeCondition, StepKind};
use crate::engine::routine::graph::{
    Edge, EdgeClass, EdgeIndex, HandoffRule, RetryLoop, RoutineGraph, StepIndex, Topology,
};
use crate::engine::routine::outline::Outline;
use crate::engine::routine::rules::retry::{Class, Order};
use crate::engine::routine::rules::sketch::{Meaning, Sketch};

use std::sync::Arc;

/// A body's findings, and those of the routines nested in it, by step.
pub(in crate::engine::routine) struct Findings {
    links: Vec<(usize, usize, EdgeCondition)>,
    classes: Vec<EdgeClassDraft>,
    entries: Vec<usize>,
    nested: Vec<(usize, Findings)>,
}

enum EdgeClassDraft {
    Forward,
    Retry {
        invalidates: BTreeSet<StepIndex>,
        renews: Vec<EdgeIndex>,
    },
}

fn step_index(index: usize) -> StepIndex {
    StepIndex(u32::try_from(index).unwrap_or(u32::MAX))
}

fn edge_index(index: usize) -> EdgeIndex {
    EdgeIndex(u32::try_from(index).unwrap_or(u32::MAX))
}

impl Findings {
    /// Keeps what the rules found out. Worth something only where no error was found.
    pub(in crate::engine::routine) fn of(
        sketch: &Sketch<'_>,
        order: &Order,
        nested: Vec<(usize, Findings)>,
    ) -> Self {
        let retries: Vec<usize> = (0..sketch.links.len())
            .filter(|&link| order.classes[link] == Class::Retry)
            .collect();
        let classes = sketch.links.iter().zip(&order.classes);
        Self {
            links: sketch
                .links
                .iter()
                .map(|link| (link.from, link.to, condition(link.meaning)))
                .collect(),
            classes: classes
                .map(|(link, class)| match class {
                    Class::Forward | Class::Neither => EdgeClassDraft::Forward,
                    Class::Retry => EdgeClassDraft::Retry {
                        invalidates: std::iter::once(link.to)
                            .chain(order.reach.row(link.to))
                            .map(step_index)
                            .collect(),
                        renews: renewed(sketch, order, &retries, (link.to, link.from)),
                    },
                })
                .collect(),
            entries: sketch.entries.clone(),
            nested,
        }
    }

    /// Joins the findings with the body that they are about.
    pub(in crate::engine::routine) fn into_graph(
        mut self,
        body: &Arc<Body>,
        outline: Outline,
    ) -> RoutineGraph {
        let steps = body.steps.len();
        let mut forward_in = vec![Vec::new(); steps];
        let mut retry_in = vec![Vec::new(); steps];
        let mut outgoing = vec![Vec::new(); steps];
        let mut rules: Vec<HandoffRule> = outline
            .edges
            .items
            .into_iter()
            .map(|edge| edge.rule)
            .collect();
        let mut edges = Vec::with_capacity(self.links.len());
        for (index, class) in self.classes.into_iter().enumerate() {
            let (from, to, condition) = self.links[index];
            outgoing[from].push(edge_index(index));
            let class = match class {
                EdgeClassDraft::Forward => {
                    forward_in[to].push(edge_index(index));
                    EdgeClass::Forward
                }
                EdgeClassDraft::Retry {
                    invalidates,
                    renews,
                } => {
                    retry_in[to].push(edge_index(index));
                    EdgeClass::Retry(RetryLoop {
                        max_attempts: body.edges[index]
                            .max_attempts
                            .unwrap_or(limits::MAX_ATTEMPTS),
                        invalidates,
                        renews,
                    })
                }
            };
            edges.push(Edge {
                from: step_index(from),
                to: step_index(to),
                condition,
                class,
                handoff: std::mem::replace(&mut rules[index], HandoffRule::any()),
            });
        }
        let mut nested: Vec<Option<RoutineGraph>> = (0..steps).map(|_| None).collect();
        let mut outlines: Vec<Option<Box<Outline>>> = outline
            .steps
            .items
            .into_iter()
            .map(|step| step.nested)
            .collect();
        for (step, findings) in self.nested.drain(..) {
            let inner = match &body.steps[step].kind {
                StepKind::Map(map) => Some(&map.routine),
                StepKind::Fold(fold) => Some(&fold.routine),
                StepKind::Until(until) => Some(&until.routine),
                StepKind::Agent(_)
                | StepKind::Gate(_)
                | StepKind::Council(_)
                | StepKind::Tool(_)
                | StepKind::Terminal { .. }
                | StepKind::TerminalFail { .. } => None,
            };
            if let (Some(inner), Some(outline)) = (inner, outlines[step].take()) {
                nested[step] = Some(findings.into_graph(inner, *outline));
            }
        }
        RoutineGraph::of(
            Arc::clone(body),
            Topology {
                entries: self.entries.into_iter().map(step_index).collect(),
                edges,
                forward_in,
                retry_in,
                outgoing,
                nested,
            },
        )
    }
}

/// Retry edges whose body lies strictly inside that of the edge from `gate` back to `target`.
///
/// A body is all steps on forward paths from target to gate. If both ends of another body lie in
/// it, so does every path between them; and in a graph without cycles two bodies are equal only if
/// their ends are.
fn renewed(
    sketch: &Sketch<'_>,
    order: &Order,
    retries: &[usize],
    (target, gate): (usize, usize),
) -> Vec<EdgeIndex> {
    let reaches = |from, to| from == to || order.reach.has(from, to);
    let within = |step| reaches(target, step) && reaches(step, gate);
    retries
        .iter()
        .filter(|&&link| {
            let (from, to) = (sketch.links[link].from, sketch.links[link].to);
            (to, from) != (target, gate) && within(to) && within(from)
        })
        .map(|&link| edge_index(link))
        .collect()
}

fn condition(meaning: Meaning) -> EdgeCondition {
    match meaning {
        Meaning::Plain(condition) => condition,
        Meaning::GateAlways => EdgeCondition::OnPass,
        Meaning::Impossible | Meaning::Unknown => EdgeCondition::Always,
    }
}
