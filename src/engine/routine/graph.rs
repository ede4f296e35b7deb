//! The checked graph: steps and edges by index, which edges retry, and what lies in a loop's body.
//!
//! A [`RoutineGraph`] exists only for a body that keeps every rule, so code that holds one looks
//! nothing up by name and checks nothing again.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::engine::routine::definition::{Body, EdgeCondition, EdgeDefinition, StepDefinition};

/// Index of a step in its graph, in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepIndex(pub u32);

/// Index of an edge in its graph, in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EdgeIndex(pub u32);

impl StepIndex {
    /// As an index of a slice.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

impl EdgeIndex {
    /// As an index of a slice.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// A body that keeps every rule of G12, with its topology.
#[derive(Debug, Clone)]
pub struct RoutineGraph {
    body: Arc<Body>,
    topology: Arc<Topology>,
}

/// What is derived from the steps and edges.
#[derive(Debug)]
pub struct Topology {
    /// The entry steps, in file order.
    pub entries: Vec<StepIndex>,
    /// Per edge: its ends, its class and its handoff rule.
    pub edges: Vec<Edge>,
    /// Per step: the forward edges that lead to it, in file order.
    pub forward_in: Vec<Vec<EdgeIndex>>,
    /// Per step: the retry edges that lead to it, in file order.
    pub retry_in: Vec<Vec<EdgeIndex>>,
    /// Per step: all edges that leave it, in file order.
    pub outgoing: Vec<Vec<EdgeIndex>>,
    /// Per step: the graph of its nested routine (map, fold, until).
    pub nested: Vec<Option<RoutineGraph>>,
}

/// An edge with what the rules found out about it.
#[derive(Debug)]
pub struct Edge {
    /// Where it comes from.
    pub from: StepIndex,
    /// Where it leads.
    pub to: StepIndex,
    /// When it activates, with `on_pass` of a step that is no gate read as `always` (G2).
    pub condition: EdgeCondition,
    /// Whether it holds its target or starts it anew (G6).
    pub class: EdgeClass,
    /// What its handoff must fit.
    pub handoff: HandoffRule,
}

/// Whether an edge holds its target or starts it anew (G6).
#[derive(Debug)]
pub enum EdgeClass {
    /// Part of the acyclic graph.
    Forward,
    /// An `on_fail` edge that closes a cycle.
    Retry(RetryLoop),
}

/// What a retry edge owns.
#[derive(Debug)]
pub struct RetryLoop {
    /// How often it may be taken.
    pub max_attempts: u32,
    /// All steps reachable from the target by forward edges, the target included: what it invalidates (G7).
    pub invalidates: BTreeSet<StepIndex>,
    /// Retry edges whose body lies strictly inside this one's: what it gives new budgets (G6).
    pub renews: Vec<EdgeIndex>,
}

/// What a handoff must fit: any non-empty object, or a compiled JSON Schema besides.
#[derive(Debug)]
pub struct HandoffRule {
    schema: Option<jsonschema::Validator>,
}

impl HandoffRule {
    /// Any non-empty object.
    pub fn any() -> Self {
        Self { schema: None }
    }

    /// A non-empty object that fits the schema.
    pub fn of(schema: jsonschema::Validator) -> Self {
        Self {
            schema: Some(schema),
        }
    }

    /// Whether the edge states a schema.
    pub fn has_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// Says what is wrong with a handoff, in one sentence for a model or a person.
    pub fn check(&self, handoff: &serde_json::Value) -> Result<(), HandoffMismatch> {
        let Some(object) = handoff.as_object() else {
            return Err(HandoffMismatch("it must be a JSON object".into()));
        };
        if object.is_empty() {
            return Err(HandoffMismatch("it must not be empty".into()));
        }
        let Some(schema) = &self.schema else {
            return Ok(());
        };
        schema.validate(handoff).map_err(|error| {
            let place = error.instance_path().to_string();
            HandoffMismatch(match place.as_str() {
                "" => error.to_string(),
                _ => format!("at {place}: {error}"),
            })
        })
    }
}

/// Why a handoff doesn't fit its edge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HandoffMismatch(pub String);

impl RoutineGraph {
    /// Joins a body and the topology that the rules derived from it. Only the rules call this.
    pub(in crate::engine::routine) fn of(body: Arc<Body>, topology: Topology) -> Self {
        debug_assert_eq!(body.steps.len(), topology.outgoing.len());
        debug_assert_eq!(body.edges.len(), topology.edges.len());
        Self {
            body,
            topology: Arc::new(topology),
        }
    }

    /// The body as its author wrote it.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.body.steps.len()
    }

    /// Never true: an empty graph breaks a rule.
    pub fn is_empty(&self) -> bool {
        self.body.steps.is_empty()
    }

    /// Every step's index, in file order.
    pub fn steps(&self) -> impl Iterator<Item = StepIndex> + use<> {
        (0..self.body.steps.len() as u32).map(StepIndex)
    }

    /// Every edge's index, in file order.
    pub fn edges(&self) -> impl Iterator<Item = EdgeIndex> + use<> {
        (0..self.body.edges.len() as u32).map(EdgeIndex)
    }

    /// A step as its author wrote it.
    pub fn step(&self, step: StepIndex) -> &StepDefinition {
        &self.body.steps[step.at()]
    }

    /// An edge as its author wrote it.
    pub fn edge_text(&self, edge: EdgeIndex) -> &EdgeDefinition {
        &self.body.edges[edge.at()]
    }

    /// An edge with what the rules found out about it.
    pub fn edge(&self, edge: EdgeIndex) -> &Edge {
        &self.topology.edges[edge.at()]
    }

    /// The steps that start, in file order.
    pub fn entries(&self) -> &[StepIndex] {
        &self.topology.entries
    }

    /// The forward edges that lead to a step, in file order.
    pub fn forward_in(&self, step: StepIndex) -> &[EdgeIndex] {
        &self.topology.forward_in[step.at()]
    }

    /// The retry edges that lead to a step, in file order.
    pub fn retry_in(&self, step: StepIndex) -> &[EdgeIndex] {
        &self.topology.retry_in[step.at()]
    }

    /// All edges that leave a step, in file order.
    pub fn outgoing(&self, step: StepIndex) -> &[EdgeIndex] {
        &self.topology.outgoing[step.at()]
    }

    /// The graph of a repeating step's nested routine.
    pub fn nested(&self, step: StepIndex) -> Option<&RoutineGraph> {
        self.topology.nested[step.at()].as_ref()
    }

    /// Finds a step by slug.
    pub fn find(&self, slug: &str) -> Option<StepIndex> {
        self.steps().find(|&step| self.step(step).slug == slug)
    }
}

impl fmt::Display for StepIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
