//! A routine as its author wrote it, with every word known and every default filled in.
//!
//! Nothing here says that the graph makes sense: that is what the graph stage
//! ([`crate::engine::routine::graph::RoutineGraph`]) adds.

mod check;
mod edge;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::routine::template::{Template, ValueTemplate};

pub use check::{
    AssurancePolicy, Check, CheckDefinition, CheckKind, HttpExpectation, SyntheticSubject,
    VerificationMethod,
};
pub use edge::{EdgeCondition, EdgeDefinition};
pub use step::{
    AgentStep, CouncilStep, FoldStep, GateOwner, GateStep, IterationSource, MapStep,
    MemoryCondition, ModelWork, Omission, OnFalse, Operator, OperatorGate, Reflection,
    StepCondition, StepDefinition, StepKind, ToolStep, UntilStep,
};

/// A whole routine file.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineDefinition {
    /// The routine's slug.
    pub slug: String,
    /// Its display name; the slug when none was given.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The author's version.
    pub version: Option<String>,
    /// What `run` takes as inputs.
    pub parameters: Vec<Parameter>,
    /// Agents defined in the file.
    pub agents: BTreeMap<String, AgentDefinition>,
    /// Councils defined in the file.
    pub councils: BTreeMap<String, CouncilDefinition>,
    /// The outer bound on what models are offered (V17); `None` is no bound.
    pub required_tools: Option<Vec<String>>,
    /// The outer bound on the steps' plugins; `None` is no bound.
    pub required_plugins: Option<Vec<Plugin>>,
    /// The operation's deadline in milliseconds; `None` is none (also written as 0).
    pub deadline_ms: Option<u64>,
    /// The work itself.
    pub body: Arc<Body>,
    /// What fulfillment needs (L6).
    pub assurance: Option<AssurancePolicy>,
}

/// What a routine and a nested routine have in common.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    /// Added to every agent's system text while the routine runs.
    pub instructions: Option<Template>,
    /// Tool calls before the graph.
    pub pre_steps: Vec<DeterministicStep>,
    /// Slugs of the steps that start.
    pub entry_steps: Vec<String>,
    /// The nodes, in file order.
    pub steps: Vec<StepDefinition>,
    /// The connections, in file order.
    pub edges: Vec<EdgeDefinition>,
    /// Tool calls after the graph.
    pub post_steps: Vec<DeterministicStep>,
    /// When the post steps run.
    pub post_steps_trigger: PostStepsTrigger,
    /// Final checks, after the post steps.
    pub verify: Vec<CheckDefinition>,
}

/// An input of the routine.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name, as `-i name=value` gives it.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// Whether `run` refuses without it.
    pub required: bool,
    /// Used when no value is given; an optional parameter without one is null (V21).
    pub default: Option<Value>,
}

/// An agent defined in a file or in the configuration (G17).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentDefinition {
    /// Its system text.
    pub instructions: Option<String>,
    /// `provider/model`; wins over the role.
    pub model: Option<String>,
    /// A role of the model policy (L4).
    pub role: Option<ModelRole>,
    /// The tools it may be offered; `None` leaves that to the step (V17).
    pub tools: Option<Vec<String>>,
    /// How hard the model should think, in the provider's words.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Limit of one answer, in tokens.
    pub max_output_tokens: Option<u32>,
}

/// The roles of the model policy (L4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelRole {
    /// Small and fast.
    Instant,
    /// The working model.
    Expert,
    /// The strongest one.
    Frontier,
    /// Cheap, for work nobody waits for.
    Background,
}

/// How hard a model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEffort {
    /// As little as the provider allows.
    Minimal,
    /// A little.
    Low,
    /// The provider's middle.
    Medium,
    /// As much as the provider allows.
    High,
}

/// A council (G11).
#[derive(Debug, Clone, PartialEq)]
pub struct CouncilDefinition {
    /// The agent that ends the step.
    pub leader: String,
    /// The other agents, in order.
    pub members: Vec<String>,
    /// How they work together.
    pub strategy: CouncilStrategy,
    /// Calls that the leader of a `dynamic` council may make.
    pub max_calls: u32,
}

/// How a council works together (G11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CouncilStrategy {
    /// The same work, side by side.
    Broadcast,
    /// In turn, each seeing what came before.
    RoundRobin,
    /// The leader gives each member its part.
    Decompose,
    /// Structured votes, counted by the engine.
    Vote,
    /// The leader calls members as tools.
    Dynamic,
}

/// A plugin of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plugin {
    /// Offers the `memory_*` tools.
    Memory,
    /// Offers `acknowledge_tool_evidence`.
    Evidence,
}

/// When post steps run (V23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostStepsTrigger {
    /// After success only.
    #[default]
    OnSuccess,
    /// After any terminal outcome but cancellation.
    Always,
}

/// A tool call without a model, before or after the graph (V23).
#[derive(Debug, Clone, PartialEq)]
pub struct DeterministicStep {
    /// Its name, as `{{step.NAME}}` finds it.
    pub name: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: ValueTemplate,
    /// The memory key that keeps the result.
    pub result_key: Option<String>,
    /// What a failure does.
    pub on_error: OnError,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
}

/// What a failed deterministic step does (V23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The routine fails.
    Fail,
    /// The next one runs; the failure stays visible.
    Continue,
    /// The remaining ones of the list are left out.
    SkipRemaining,
}
