//! What changes in the picture of a graph while an operation runs.

use crate::engine::operation::view::{EdgeStatus, ExecutionView, StepStatus};
use crate::tui::graph::shape::GraphShape;

/// The live state of a graph's steps and edges, in file order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveGraph {
    /// Per step.
    pub nodes: Vec<LiveNode>,
    /// Per edge.
    pub edges: Vec<LiveEdge>,
}

/// The live state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveNode {
    /// Where its latest lap stands.
    pub status: StepStatus,
    /// How often it has run.
    pub lap: u32,
}

/// The live state of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveEdge {
    /// Whether it activated.
    pub status: EdgeStatus,
    /// How often a retry edge was taken.
    pub taken: u32,
}

impl LiveNode {
    /// Not reached yet.
    pub const IDLE: Self = Self {
        status: StepStatus::Idle,
        lap: 0,
    };
}

impl LiveEdge {
    /// Nothing known yet.
    pub const PENDING: Self = Self {
        status: EdgeStatus::Pending,
        taken: 0,
    };
}

impl LiveGraph {
    /// A graph of which nothing ran.
    pub fn idle(shape: &GraphShape) -> Self {
        Self {
            nodes: vec![LiveNode::IDLE; shape.nodes.len()],
            edges: vec![LiveEdge::PENDING; shape.edges.len()],
        }
    }

    /// A step; idle where the view has none.
    pub fn node(&self, node: usize) -> LiveNode {
        self.nodes.get(node).copied().unwrap_or(LiveNode::IDLE)
    }

    /// An edge; pending where the view has none.
    pub fn edge(&self, edge: usize) -> LiveEdge {
        self.edges.get(edge).copied().unwrap_or(LiveEdge::PENDING)
    }
}

impl From<&ExecutionView> for LiveGraph {
    fn from(view: &ExecutionView) -> Self {
        let nodes = view.steps.iter().map(|step| LiveNode {
            status: step.status,
            lap: step.lap.0,
        });
        let edges = view.edges.iter().map(|edge| LiveEdge {
            status: edge.status,
            taken: edge.budget.map_or(0, |(taken, _)| taken),
        });
        Self {
            nodes: nodes.collect(),
            edges: edges.collect(),
        }
    }
}
