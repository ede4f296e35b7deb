//! What preflight found out, once and for all: the machine looks nothing up outside of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::engine::capability::Capability;
use crate::engine::id::OperationId;
use crate::engine::ports::ResolvedModel;
use crate::engine::routine::definition::{ReasoningEffort, RoutineDefinition};
use crate::engine::routine::graph::RoutineGraph;

/// A detached copy of everything that an operation needs (V19).
#[derive(Debug, Clone)]
pub struct Plan {
    /// The operation's id.
    pub operation: OperationId,
    /// The routine.
    pub definition: Arc<RoutineDefinition>,
    /// Its checked graph.
    pub graph: RoutineGraph,
    /// A value for every parameter; null for an optional one without.
    pub inputs: BTreeMap<String, Value>,
    /// Every agent that the routine names, resolved.
    pub agents: BTreeMap<String, AgentProfile>,
    /// Every tool that the host has.
    pub tools: BTreeMap<String, Capability>,
    /// The selected model, as the start event names it.
    pub model: ResolvedModel,
    /// The largest observation, in bytes (V26).
    pub max_observation_bytes: usize,
}

/// An agent as the operation uses it (G17).
#[derive(Debug, Clone, PartialEq)]
pub struct AgentProfile {
    /// Its name.
    pub name: String,
    /// Its system text.
    pub instructions: Option<String>,
    /// Its exact model.
    pub model: ResolvedModel,
    /// The tools it may be offered; `None` leaves that to the step (V17).
    pub tools: Option<Vec<String>>,
    /// How hard its model should think.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Limit of one answer, in tokens.
    pub max_output_tokens: Option<u32>,
    /// Whether the operation owns it.
    pub ownership: Ownership,
}

/// Whether an operation owns an agent or borrows it (G17, V16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// An instance of the operation's own.
    Owned,
    /// Lent by the host, leased for the operation's whole life.
    Borrowed,
}
