//! What a layout needs to know of a graph: names, kinds, ends and which edges go back.
//!
//! It is all text and indices, cleaned once; nothing here changes while an operation runs.

use std::collections::VecDeque;

use crate::engine::routine::definition::EdgeCondition;
use crate::engine::routine::graph::{EdgeClass, RoutineGraph};
use crate::tui::text::Inert;

/// A graph as it is drawn: nodes and edges in file order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphShape {
    /// The steps.
    pub nodes: Vec<NodeShape>,
    /// The edges.
    pub edges: Vec<EdgeShape>,
}

/// A step as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeShape {
    /// Its display name.
    pub name: Inert,
    /// Its kind, in the engine's word.
    pub kind: &'static str,
}

/// An edge as it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeShape {
    /// Index of the source.
    pub from: usize,
    /// Index of the target.
    pub to: usize,
    /// When it activates.
    pub condition: EdgeCondition,
    /// Whether it leads on or back.
    pub way: EdgeWay,
}

/// Whether an edge leads on or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeWay {
    /// Part of the acyclic graph.
    Onward,
    /// A retry edge.
    Back {
        /// How often it may be taken.
        max_attempts: u32,
    },
}

impl EdgeShape {
    /// Whether it is a retry edge.
    pub fn is_back(&self) -> bool {
        matches!(self.way, EdgeWay::Back { .. })
    }

    /// What stands on the edge after it was taken `taken` times: nothing where it always activates.
    pub fn label(&self, taken: u32) -> Option<String> {
        match (self.way, self.condition) {
            (EdgeWay::Back { max_attempts }, _) => Some(format!("retry {taken}/{max_attempts}")),
            (EdgeWay::Onward, EdgeCondition::Always) => None,
            (EdgeWay::Onward, EdgeCondition::OnPass | EdgeCondition::OnFail) => {
                Some(self.condition.label().to_owned())
            }
        }
    }

    /// The longest label that it will have.
    pub fn longest_label(&self) -> Option<String> {
        match self.way {
            EdgeWay::Back { max_attempts } => self.label(max_attempts),
            EdgeWay::Onward => self.label(0),
        }
    }
}

impl From<&RoutineGraph> for GraphShape {
    fn from(graph: &RoutineGraph) -> Self {
        let nodes = graph.steps().map(|step| {
            let step = graph.step(step);
            NodeShape {
                name: Inert::one_line(&step.name),
                kind: step.kind.label(),
            }
        });
        let edges = graph.edges().map(|edge| {
            let edge = graph.edge(edge);
            EdgeShape {
                from: edge.from.at(),
                to: edge.to.at(),
                condition: edge.condition,
                way: match &edge.class {
                    EdgeClass::Forward => EdgeWay::Onward,
                    EdgeClass::Retry(back) => EdgeWay::Back {
                        max_attempts: back.max_attempts,
                    },
                },
            }
        });
        Self {
            nodes: nodes.collect(),
            edges: edges.collect(),
        }
    }
}

impl GraphShape {
    /// The steps in an order in which every onward edge leads down, file order among equals.
    pub fn topological(&self) -> Vec<usize> {
        let mut waits_for = vec![0usize; self.nodes.len()];
        let mut leads_to = vec![Vec::new(); self.nodes.len()];
        for edge in self.edges.iter().filter(|edge| !edge.is_back()) {
            waits_for[edge.to] += 1;
            leads_to[edge.from].push(edge.to);
        }
        let mut free: VecDeque<usize> = (0..self.nodes.len())
            .filter(|&node| waits_for[node] == 0)
            .collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(node) = free.pop_front() {
            order.push(node);
            for &next in &leads_to[node] {
                waits_for[next] -= 1;
                if waits_for[next] == 0 {
                    free.push_back(next);
                }
            }
        }
        // A checked graph has no cycle of onward edges; whatever is left is still shown.
        let left = (0..self.nodes.len()).filter(|&node| waits_for[node] > 0);
        order.extend(left);
        order
    }
}
