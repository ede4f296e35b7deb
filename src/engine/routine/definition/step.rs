//! The nodes of a routine: what each kind of step says.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::routine::definition::{Body, CheckDefinition, Plugin};
use crate::engine::routine::template::{Template, ValueTemplate};

/// One node of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct StepDefinition {
    /// Its stable name.
    pub slug: String,
    /// Its display name; the slug when none was given.
    pub name: String,
    /// What it is.
    pub kind: StepKind,
    /// Whether it runs at all (V20); never on gates.
    pub condition: Option<StepCondition>,
    /// Whether a skip counts as approved (V20).
    pub omission: Omission,
    /// The checks that gate everything after it (V3).
    pub verify: Vec<CheckDefinition>,
}

/// What a step is.
#[derive(Debug, Clone, PartialEq)]
pub enum StepKind {
    /// An agent works.
    Agent(AgentStep),
    /// A verdict chooses the way.
    Gate(GateStep),
    /// A council works.
    Council(CouncilStep),
    /// One tool call (G16).
    Tool(ToolStep),
    /// A nested routine for each item.
    Map(MapStep),
    /// A nested routine for each item, carrying a value.
    Fold(FoldStep),
    /// A nested routine until a condition holds.
    Until(UntilStep),
    /// Success.
    Terminal {
        /// Text for people.
        reason: Option<Template>,
    },
    /// Failure.
    TerminalFail {
        /// Text for people.
        reason: Option<Template>,
    },
}

impl StepKind {
    /// The word that the file, the screen and the log use.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Gate(_) => "gate",
            Self::Council(_) => "council",
            Self::Tool(_) => "tool",
            Self::Map(_) => "map",
            Self::Fold(_) => "fold",
            Self::Until(_) => "until",
            Self::Terminal { .. } => "terminal",
            Self::TerminalFail { .. } => "terminal_fail",
        }
    }

    /// Whether reaching the step ends its branch.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal { .. } | Self::TerminalFail { .. })
    }
}

/// What agent, agent-gate and council steps have in common: work that a model does.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelWork {
    /// What to do.
    pub instructions: Option<Template>,
    /// What the result should look like.
    pub expected_output: Option<Template>,
    /// What the result is judged by.
    pub criteria: Vec<Template>,
    /// The tools that the step asks for; `None` leaves that to the agent (V17).
    pub tools: Option<Vec<String>>,
    /// A model's judgement against the criteria (V8).
    pub reflection: Reflection,
    /// Corrections of a wrong `route_next_steps` call (G4).
    pub corrections: u32,
    /// Model calls of one run (M3a).
    pub max_model_calls: u32,
    /// Time limit in milliseconds; `None` is none (V24).
    pub timeout_ms: Option<u64>,
    /// Memory keys that the model is shown.
    pub memory: Vec<String>,
    /// Plugins whose tools it is offered.
    pub plugins: Vec<Plugin>,
}

/// An agent step.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStep {
    /// The agent's name.
    pub agent: String,
    /// Its work.
    pub work: ModelWork,
}

/// A gate step with its one owner (G15).
#[derive(Debug, Clone, PartialEq)]
pub struct GateStep {
    /// Who gives the verdict.
    pub owner: GateOwner,
}

/// Who gives a gate's verdict (G15).
#[derive(Debug, Clone, PartialEq)]
pub enum GateOwner {
    /// An agent.
    Agent(AgentStep),
    /// A person.
    Operator(OperatorGate),
    /// The host's checks.
    Checks(Vec<CheckDefinition>),
}

/// What a person is shown at an operator gate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperatorGate {
    /// What to decide.
    pub instructions: Option<Template>,
    /// What to judge by.
    pub criteria: Vec<Template>,
}

/// A council step.
#[derive(Debug, Clone, PartialEq)]
pub struct CouncilStep {
    /// The council's name.
    pub council: String,
    /// Its work.
    pub work: ModelWork,
}

/// A tool step (G16).
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStep {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: ValueTemplate,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
    /// The memory key that keeps the result.
    pub result_key: Option<String>,
}

/// A map step (V22).
#[derive(Debug, Clone, PartialEq)]
pub struct MapStep {
    /// The items.
    pub source: IterationSource,
    /// The work for each.
    pub routine: Arc<Body>,
    /// Chooses a bounded part of a larger source.
    pub max_iterations: Option<u64>,
    /// Deadline of one iteration in milliseconds; `None` is none.
    pub iteration_deadline_ms: Option<u64>,
    /// The memory key that keeps the result.
    pub result_key: Option<String>,
}

/// A fold step (V22).
#[derive(Debug, Clone, PartialEq)]
pub struct FoldStep {
    /// The items.
    pub source: IterationSource,
    /// The work for each.
    pub routine: Arc<Body>,
    /// The accumulator before the first item.
    pub initial_value: Value,
    /// Chooses a bounded part of a larger source.
    pub max_iterations: Option<u64>,
    /// Deadline of one iteration in milliseconds; `None` is none.
    pub iteration_deadline_ms: Option<u64>,
    /// The memory key that keeps the result.
    pub result_key: String,
}

/// An until step (V22).
#[derive(Debug, Clone, PartialEq)]
pub struct UntilStep {
    /// The work.
    pub routine: Arc<Body>,
    /// When to stop, looked at after each iteration.
    pub stop_when: MemoryCondition,
    /// The most iterations.
    pub max_iterations: u64,
    /// The memory key that holds the iteration's number.
    pub iteration_key: Option<String>,
    /// Deadline of one iteration in milliseconds; `None` is none.
    pub iteration_deadline_ms: Option<u64>,
    /// The memory key that keeps the result.
    pub result_key: Option<String>,
}

/// Where map and fold take their items from.
#[derive(Debug, Clone, PartialEq)]
pub enum IterationSource {
    /// The output of a step that precedes, and a path into it.
    Step {
        /// The step's slug.
        step: String,
        /// Dots and brackets.
        path: Option<Template>,
    },
    /// A memory value, and a path into it.
    Memory {
        /// The key.
        key: Template,
        /// Dots and brackets.
        path: Option<Template>,
    },
}

/// A condition on a memory key (V20).
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryCondition {
    /// The key.
    pub memory_key: String,
    /// How it is compared.
    pub operator: Operator,
    /// What it is compared with.
    pub value: Option<Value>,
}

/// How a memory value is compared (V20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// The key has a value.
    Exists,
    /// It has none.
    NotExists,
    /// Deep equality.
    Equals,
    /// Array element or substring.
    Contains,
    /// Not null, "", 0, false or missing.
    Truthy,
    /// Numbers only.
    GreaterThan,
    /// Numbers only.
    LessThan,
}

/// A step's condition and what its falsity does.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCondition {
    /// What is looked at.
    pub when: MemoryCondition,
    /// What happens when it is false.
    pub on_false: OnFalse,
}

/// What a false condition does (V20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFalse {
    /// The step is skipped.
    Skip,
    /// The step fails.
    Fail,
    /// The step waits before submission.
    Wait,
}

/// Whether a skipped step's edges activate (V20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Omission {
    /// They do, with `{"skipped":true}`.
    #[default]
    Approved,
    /// They die.
    Refused,
}

/// A model's judgement of a step against its criteria (V8).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Reflection {
    /// None.
    #[default]
    Off,
    /// A negative judgement needs reconciliation.
    Strict {
        /// The score that is needed.
        min_score: f64,
    },
    /// A negative judgement is kept beside the outcome.
    Warn {
        /// The score that is wished for.
        min_score: f64,
    },
}
