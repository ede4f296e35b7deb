//! A routine as its author wrote it, with every word known and every default filled in.
//!
//! Nothing here says that the graph makes sense: that is what the graph stage
//! ([`crate::engine::routine::graph::RoutineGraph`]) adds.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::routine::template::{MissingValue, Scope, Template, ValueTemplate};

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

/// One connection of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeDefinition {
    /// Slug of the source.
    pub from: String,
    /// Slug of the target.
    pub to: String,
    /// When it activates. `on_pass` from a step that is no gate is read as `always` (G2).
    pub condition: EdgeCondition,
    /// Why the target gets the work.
    pub purpose: Option<String>,
    /// What the handoff should hold.
    pub handoff_instructions: Option<String>,
    /// JSON Schema of the handoff; `None` takes any non-empty object.
    pub handoff_schema: Option<Value>,
    /// The budget of a retry edge, where the file gives one.
    pub max_attempts: Option<u32>,
}

impl EdgeDefinition {
    /// `source->target`, as events and records name the edge.
    pub fn label(&self) -> String {
        format!("{}->{}", self.from, self.to)
    }
}

/// When an edge activates (G2).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum EdgeCondition {
    /// Whenever the source passed.
    #[default]
    Always,
    /// The gate said pass.
    OnPass,
    /// The gate said fail.
    OnFail,
}

impl EdgeCondition {
    /// The word that the file, the screen and the log use.
    pub fn label(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::OnPass => "on_pass",
            Self::OnFail => "on_fail",
        }
    }
}

/// A check with what every check has (routine-format.md, Checks): as written, or as [`Check`] with
/// every template expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckDefinition<T = Template, J = ValueTemplate> {
    /// What is looked at.
    pub kind: CheckKind<T, J>,
    /// How the attempt is recorded; `None` for `output` checks, which record none (L8).
    pub method: Option<VerificationMethod>,
    /// What the check covers, in the assurance policy's words.
    pub covers: Vec<String>,
    /// Whether it is made by another actor than the claim's.
    pub independent: bool,
    /// Pause between two looks in milliseconds.
    pub poll_ms: u64,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
}

/// What a check looks at.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckKind<T = Template, J = ValueTemplate> {
    /// Runs a command.
    Command {
        /// The argument vector.
        run: Vec<T>,
        /// Its folder, inside the workspace.
        cwd: Option<T>,
    },
    /// Reads a URL.
    Http {
        /// Where.
        url: T,
        /// The method; `GET` by default.
        method: String,
        /// Request headers.
        headers: BTreeMap<String, T>,
        /// What verifies.
        expect: HttpExpectation<T, J>,
    },
    /// Looks at a file.
    File {
        /// Inside the workspace.
        path: T,
        /// Its digest in hex.
        sha256: Option<T>,
        /// Text that it holds.
        contains: Option<T>,
        /// Its smallest size.
        min_bytes: Option<u64>,
    },
    /// Looks at the shape of the step's output (L8).
    Output {
        /// JSON Schema.
        schema: Option<Value>,
        /// Text that it holds.
        contains: Option<T>,
        /// A regular expression.
        matches: Option<T>,
    },
    /// Asks a person.
    Manual {
        /// The question.
        prompt: T,
    },
    /// Stands for remote work in demos.
    Synthetic {
        /// The job's name.
        job: T,
        /// What of it.
        of: SyntheticSubject,
    },
}

/// A check with every template expanded: what a verifier is asked.
pub type Check = CheckDefinition<String, Value>;

impl<T, J> CheckKind<T, J> {
    /// The word that the file, the screen and the log use.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Http { .. } => "http",
            Self::File { .. } => "file",
            Self::Output { .. } => "output",
            Self::Manual { .. } => "manual",
            Self::Synthetic { .. } => "synthetic",
        }
    }
}

impl CheckDefinition {
    /// Puts the values into every template.
    pub fn expand(&self, scope: &dyn Scope) -> Result<Check, MissingValue> {
        Ok(Check {
            kind: self.kind.expand(scope)?,
            method: self.method,
            covers: self.covers.clone(),
            independent: self.independent,
            poll_ms: self.poll_ms,
            timeout_ms: self.timeout_ms,
        })
    }
}

impl CheckKind {
    fn expand(&self, scope: &dyn Scope) -> Result<CheckKind<String, Value>, MissingValue> {
        let text = |template: &Template| template.expand(scope);
        let optional = |template: &Option<Template>| template.as_ref().map(text).transpose();
        Ok(match self {
            Self::Command { run, cwd } => CheckKind::Command {
                run: run.iter().map(text).collect::<Result<_, _>>()?,
                cwd: optional(cwd)?,
            },
            Self::Http {
                url,
                method,
                headers,
                expect,
            } => CheckKind::Http {
                url: text(url)?,
                method: method.clone(),
                headers: headers
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), text(value)?)))
                    .collect::<Result<_, _>>()?,
                expect: match expect {
                    HttpExpectation::Success => HttpExpectation::Success,
                    HttpExpectation::Status(status) => HttpExpectation::Status(*status),
                    HttpExpectation::Value { path, equals } => HttpExpectation::Value {
                        path: text(path)?,
                        equals: equals.expand(scope)?,
                    },
                },
            },
            Self::File {
                path,
                sha256,
                contains,
                min_bytes,
            } => CheckKind::File {
                path: text(path)?,
                sha256: optional(sha256)?,
                contains: optional(contains)?,
                min_bytes: *min_bytes,
            },
            Self::Output {
                schema,
                contains,
                matches,
            } => CheckKind::Output {
                schema: schema.clone(),
                contains: optional(contains)?,
                matches: optional(matches)?,
            },
            Self::Manual { prompt } => CheckKind::Manual {
                prompt: text(prompt)?,
            },
            Self::Synthetic { job, of } => CheckKind::Synthetic {
                job: text(job)?,
                of: *of,
            },
        })
    }
}

/// What an `http` check expects.
#[derive(Debug, Clone, PartialEq)]
pub enum HttpExpectation<T = Template, J = ValueTemplate> {
    /// Any 2xx.
    Success,
    /// This status.
    Status(u16),
    /// This value at this path of the JSON body.
    Value {
        /// Dots and brackets.
        path: T,
        /// Compared deeply.
        equals: J,
    },
}

/// What a `synthetic` check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyntheticSubject {
    /// The job: ready from the first admitted resume on.
    #[default]
    Job,
    /// The artifact: made by `synthetic_artifact` in this operation.
    Artifact,
}

/// How a claim is verified (L6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationMethod {
    /// A program that always gives the same answer.
    DeterministicOracle,
    /// Reading the state back.
    StateReadback,
    /// A model.
    ModelReview,
    /// A council.
    CouncilReview,
    /// A person.
    OperatorAttestation,
}

/// What fulfillment needs (L6).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AssurancePolicy {
    /// Methods of which each must have a verified attempt.
    pub required_methods: Vec<VerificationMethod>,
    /// Coverage of which each word must be covered.
    pub required_coverage: Vec<String>,
    /// Whether an independent attempt is needed.
    pub require_independent: bool,
}
