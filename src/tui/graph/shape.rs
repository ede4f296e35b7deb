//! What a layout needs to know of a graph: names, kinds, ends and which edges go back.
//!
//! It is all text and indices, cleaned once; nothing here changes while an operation runs.

use std::collections::VecDeque;

use crate::engine::limits;
use crate::engine::routine::definition::{EdgeCondition, StepDefinition, StepKind};
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
    /// What it counts while it works.
    pub counts: Counts,
    /// Whether it can have to be done anew.
    pub laps: Laps,
}

/// What a step counts while it works: room is kept for it from the beginning, so that nothing moves
/// when the numbers grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Nothing.
    Nothing,
    /// Iterations over a source, at most so many.
    Items(u64),
    /// Iterations until something holds, at most so many.
    Rounds(u64),
    /// What a council's members gave.
    Members,
}

/// Whether a step can have to be done anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Laps {
    /// No retry edge leads to it or before it.
    One,
    /// A retry edge can invalidate it.
    Several,
}

impl Counts {
    /// What a step counts, by its definition.
    pub fn of(step: &StepDefinition) -> Self {
        match &step.kind {
            StepKind::Map(map) => Self::Items(map.max_iterations.unwrap_or(limits::ITERATIONS)),
            StepKind::Fold(fold) => Self::Items(fold.max_iterations.unwrap_or(limits::ITERATIONS)),
            StepKind::Until(until) => Self::Rounds(until.max_iterations),
            StepKind::Council(_) => Self::Members,
            StepKind::Agent(_)
            | StepKind::Gate(_)
            | StepKind::Tool(_)
            | StepKind::Terminal { .. }
            | StepKind::TerminalFail { .. } => Self::Nothing,
        }
    }

    /// Cells of the longest text that it will have.
    pub fn reserved(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Items(most) => format!("{most} of {most}").len(),
            Self::Rounds(most) => format!("{most} of at most {most}").len(),
            Self::Members => "99/99 calls".len(),
        }
    }

    /// The same where room is scarce.
    pub fn reserved_short(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Items(most) | Self::Rounds(most) => format!("{most}/{most}").len(),
            Self::Members => "99/99".len(),
        }
    }
}

impl Laps {
    /// Cells of its lap, where it can have several.
    pub fn reserved(self) -> usize {
        match self {
            Self::One => 0,
            Self::Several => "lap 99".len(),
        }
    }

    /// The same where room is scarce.
    pub fn reserved_short(self) -> usize {
        match self {
            Self::One => 0,
            Self::Several => 3,
        }
    }
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
            (EdgeWay::Back { max_attempts }, _) => Some(format!("retry {taken} of {max_attempts}")),
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
                counts: Counts::of(step),
                laps: Laps::One,
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
        Self::of(nodes.collect(), edges.collect())
    }
}

impl GraphShape {
    /// Puts nodes and edges together, and finds out which nodes a retry edge can invalidate (G7).
    pub fn of(mut nodes: Vec<NodeShape>, edges: Vec<EdgeShape>) -> Self {
        let mut leads_to = vec![Vec::new(); nodes.len()];
        for edge in edges.iter().filter(|edge| !edge.is_back()) {
            leads_to[edge.from].push(edge.to);
        }
        let mut reached: Vec<usize> = edges
            .iter()
            .filter(|edge| edge.is_back())
            .map(|edge| edge.to)
            .collect();
        while let Some(node) = reached.pop() {
            if nodes[node].laps == Laps::One {
                nodes[node].laps = Laps::Several;
                reached.extend(&leads_to[node]);
            }
        }
        Self { nodes, edges }
    }

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
