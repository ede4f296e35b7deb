//! What changes in the picture of a graph while an operation runs.

use std::collections::BTreeMap;

use crate::engine::operation::view::{
    CouncilView, EdgeStatus, ExecutionView, MemberStatus, OperationView, StepStatus, StepView,
};
use crate::engine::routine::definition::CouncilStrategy;
use crate::engine::verify::Held;
use crate::tui::graph::shape::{Counts, GraphShape};

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
    /// How far it is inside.
    pub count: Option<Count>,
}

/// How far a step is inside: `reached` of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// What is counted.
    pub of_what: Counted,
    /// How many so far; of iterations, the one on its way.
    pub reached: u64,
    /// How many there are, or may be.
    pub of: u64,
}

/// What is counted inside of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Iterations over a source.
    Items,
    /// Iterations until something holds.
    Rounds,
    /// Votes for pass.
    Passes,
    /// Members that gave something.
    Contributions,
    /// Calls of members by their leader.
    Calls,
}

impl Count {
    /// In words, as it stands in a box.
    pub fn text(self) -> String {
        let Self { reached, of, .. } = self;
        match self.of_what {
            Counted::Items => format!("{reached} of {of}"),
            Counted::Rounds => format!("{reached} of at most {of}"),
            Counted::Passes => format!("{reached}/{of} pass"),
            Counted::Contributions => format!("{reached}/{of} said"),
            Counted::Calls => format!("{reached}/{of} calls"),
        }
    }

    /// The numbers alone, where room is scarce.
    pub fn short(self) -> String {
        format!("{}/{}", self.reached, self.of)
    }

    /// What a step counts, as far as it has begun to.
    pub fn of(step: &StepView, counts: Counts) -> Option<Self> {
        let iterations = |of_what| {
            let repeat = step.repeat.as_ref()?;
            let reached = repeat.current.map_or(repeat.done, |current| current + 1);
            Some(Self {
                of_what,
                reached,
                of: repeat.count,
            })
        };
        match counts {
            Counts::Nothing => None,
            Counts::Items(_) => iterations(Counted::Items),
            Counts::Rounds(_) => iterations(Counted::Rounds),
            Counts::Members => step.council.as_ref().map(Self::of_council),
        }
    }

    fn of_council(council: &CouncilView) -> Self {
        let members = council.members.len() as u64;
        let (of_what, reached, of) = match (council.strategy, council.calls) {
            (CouncilStrategy::Vote, _) => {
                let passed = council.count(|status| status == MemberStatus::VotedPass);
                (Counted::Passes, passed as u64, members)
            }
            (CouncilStrategy::Dynamic, Some((made, most))) => {
                (Counted::Calls, made.into(), most.into())
            }
            (
                CouncilStrategy::Broadcast
                | CouncilStrategy::RoundRobin
                | CouncilStrategy::Decompose
                | CouncilStrategy::Dynamic,
                _,
            ) => {
                let said = council.count(MemberStatus::counts);
                (Counted::Contributions, said as u64, members)
            }
        };
        Self {
            of_what,
            reached,
            of,
        }
    }
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
        count: None,
    };

    /// Its lap from the second on, in so many cells: where the word finds no room, a sign stands for it.
    pub fn lap_in(self, cells: usize) -> Option<String> {
        if self.lap < 2 {
            return None;
        }
        let words = format!("lap {}", self.lap);
        Some(match words.len() <= cells {
            true => words,
            false => format!("×{}", self.lap),
        })
    }

    /// Whether what it did counts no more, and it is to be done anew (G7).
    pub fn is_invalidated(self) -> bool {
        self.status == StepStatus::Idle && self.lap > 0
    }
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

impl LiveGraph {
    /// What an execution's graph looks like. A repeating step waits where something inside of it does.
    pub fn of(shape: &GraphShape, execution: &ExecutionView, held: &HeldInside<'_>) -> Self {
        let nodes = execution.steps.iter().enumerate().map(|(at, step)| {
            let inside = held.get(&(execution.id.as_str(), step.slug.as_str()));
            let counts = shape.nodes.get(at).map_or(Counts::Nothing, |it| it.counts);
            LiveNode {
                status: match (step.status, inside) {
                    (StepStatus::Running, Some(Held::Waiting)) => StepStatus::Waiting,
                    (StepStatus::Running, Some(Held::Blocked)) => StepStatus::Blocked,
                    (StepStatus::Running, Some(Held::Uncertain)) => StepStatus::Uncertain,
                    (status, _) => status,
                },
                lap: step.lap.0,
                count: Count::of(step, counts),
            }
        });
        let edges = execution.edges.iter().map(|edge| LiveEdge {
            status: edge.status,
            taken: edge.budget.map_or(0, |(taken, _)| taken),
        });
        Self {
            nodes: nodes.collect(),
            edges: edges.collect(),
        }
    }
}

/// The worst wait inside of each repeating step, by execution and slug.
pub type HeldInside<'a> = BTreeMap<(&'a str, &'a str), Held>;

/// Finds the repeating steps that something inside of them waits in, however deep.
pub fn held_inside(view: &OperationView) -> HeldInside<'_> {
    let around: BTreeMap<&str, (&str, &str)> = view
        .executions
        .iter()
        .filter_map(|execution| {
            let iteration = execution.iteration.as_ref()?;
            let outer = (iteration.execution.as_str(), iteration.step.as_str());
            Some((execution.id.as_str(), outer))
        })
        .collect();
    let mut held = HeldInside::new();
    for wait in &view.waits {
        let mut inner = wait.key.execution.as_str();
        while let Some(&(execution, step)) = around.get(inner) {
            let worst = held.entry((execution, step)).or_insert(wait.state);
            *worst = wait.state.max(*worst);
            inner = execution;
        }
    }
    held
}
