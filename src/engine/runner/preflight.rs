//! What is looked at before an operation begins: inputs, agents, tools, room and leases (V19).
//!
//! A refusal here means that nothing was done. What the graph's own rules already guarantee (its
//! shape, timers, templates, depth) is guaranteed by a [`CheckedRoutine`]'s existence and not looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::engine::capability::Capability;
use crate::engine::id::OperationId;
use crate::engine::operation::memory::MEMORY_TOOLS;
use crate::engine::operation::plan::{AgentProfile, Ownership, Plan};
use crate::engine::ports::ResolvedModel;
use crate::engine::routine::CheckedRoutine;
use crate::engine::routine::definition::{
    Body, GateOwner, ModelWork, RoutineDefinition, StepDefinition, StepKind,
};
use crate::engine::routine::graph::RoutineGraph;
use crate::engine::routine::issue::Issue;
use crate::engine::runner::lease::LeaseRefused;
use crate::engine::runner::model_task::ModelTask;

/// What shall run.
pub struct RunRequest {
    /// The routine, which keeps every rule.
    pub routine: CheckedRoutine,
    /// Every agent that the routine names, resolved; others may be among them.
    pub agents: Arc<BTreeMap<String, AgentProfile>>,
    /// The selected model.
    pub model: ResolvedModel,
    /// Everything else.
    pub options: RunOptions,
}

/// Options of a run (V1).
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Values by parameter.
    pub inputs: BTreeMap<String, Value>,
    /// The host's accounting and cancellation scope, kept for the operation's whole life.
    pub model_task: ModelTask,
    /// The caller's cancellation; a resume may replace it.
    pub cancellation: Option<CancellationToken>,
    /// What the records refer to.
    pub references: RunReferences,
}

/// What the records of a run refer to outside of it. What is absent is null there (V1, L2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunReferences {
    /// The task that dispatched the run.
    pub task: Option<String>,
    /// The host's piece of work.
    pub work_item: Option<String>,
    /// The run that this one is part of.
    pub parent: Option<String>,
    /// What belongs together.
    pub correlation: Option<String>,
    /// Who allowed it.
    pub authority_grants: Option<Vec<String>>,
    /// How it shall be verified.
    pub verification_plan: Option<VerificationPlan>,
    /// Where it runs.
    pub environments: Option<Vec<String>>,
}

/// Names a verification plan of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationPlan {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
}

/// Why an operation didn't begin. Nothing was done.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunRefused {
    /// The routine is valid, and asks for what this version doesn't run (V25).
    #[error("not supported: {}", .0.iter().map(|it| it.message.as_str()).collect::<Vec<_>>().join("; "))]
    Unsupported(Arc<[Issue]>),
    /// Inputs are missing that the routine requires.
    #[error("missing input: {}", .0.join(", "))]
    MissingInputs(Vec<String>),
    /// Inputs are given that no parameter names.
    #[error("unknown input: {}; known: {}", names.join(", "), or_none(known))]
    UnknownInputs {
        /// What was given.
        names: Vec<String>,
        /// What could have been.
        known: Vec<String>,
    },
    /// The routine names agents that weren't given.
    #[error("unknown agent: {}", .0.join(", "))]
    UnknownAgents(Vec<String>),
    /// The routine names councils that it doesn't define.
    #[error("unknown council: {}", .0.join(", "))]
    UnknownCouncils(Vec<String>),
    /// The routine or its agents name tools that the host doesn't have.
    #[error("unknown tool: {}", .0.join(", "))]
    UnknownTools(Vec<String>),
    /// The host runs as much as it may (V27).
    #[error("{limit} operations are active, which is the most at once")]
    TooManyActive {
        /// How many.
        limit: usize,
    },
    /// A borrowed agent can't be had (V16).
    #[error(transparent)]
    Lease(#[from] LeaseRefused),
    /// The caller or its model task was cancelled already.
    #[error("the caller is cancelled")]
    AlreadyCancelled,
    /// The runner is closed.
    #[error("the runner is closed")]
    Closed,
}

fn or_none(names: &[String]) -> String {
    match names {
        [] => "none".into(),
        names => names.join(", "),
    }
}

/// The tool by which an agent acknowledges evidence; the machine answers it (V12).
const ACKNOWLEDGE_TOOL: &str = "acknowledge_tool_evidence";

/// Whether the machine answers a tool itself.
fn is_answered_inside(tool: &str) -> bool {
    MEMORY_TOOLS.contains(&tool) || tool == ACKNOWLEDGE_TOOL
}

/// Checks a request against what there is, and copies what the operation needs.
pub(super) fn plan(
    request: &RunRequest,
    operation: OperationId,
    tools: &BTreeMap<String, Capability>,
    max_observation_bytes: usize,
) -> Result<Plan, RunRefused> {
    let CheckedRoutine {
        definition,
        graph,
        unsupported,
    } = &request.routine;
    if !unsupported.is_empty() {
        return Err(RunRefused::Unsupported(Arc::clone(unsupported)));
    }
    let inputs = inputs(definition, &request.options.inputs)?;
    let named = Named::of(definition, graph);
    if !named.unknown_councils.is_empty() {
        return Err(RunRefused::UnknownCouncils(owned(named.unknown_councils)));
    }
    let mut agents = BTreeMap::new();
    let mut unknown = Vec::new();
    for name in &named.agents {
        match request.agents.get(*name) {
            Some(agent) => {
                agents.insert((*name).to_owned(), agent.clone());
            }
            None => unknown.push((*name).to_owned()),
        }
    }
    if !unknown.is_empty() {
        return Err(RunRefused::UnknownAgents(unknown));
    }
    let unknown: BTreeSet<&str> = named
        .tools
        .iter()
        .copied()
        .chain(agents.values().flat_map(|agent| names(&agent.tools)))
        .filter(|tool| !tools.contains_key(*tool) && !is_answered_inside(tool))
        .collect();
    if !unknown.is_empty() {
        return Err(RunRefused::UnknownTools(owned(unknown)));
    }
    Ok(Plan {
        operation,
        definition: Arc::clone(definition),
        graph: graph.clone(),
        inputs,
        agents,
        tools: tools.clone(),
        model: request.model.clone(),
        max_observation_bytes,
    })
}

/// The agents that the operation needs and doesn't own.
pub(super) fn borrowed(plan: &Plan) -> impl Iterator<Item = String> {
    plan.agents
        .values()
        .filter(|agent| match agent.ownership {
            Ownership::Owned => false,
            Ownership::Borrowed => true,
        })
        .map(|agent| agent.name.clone())
}

/// A value for every parameter: the given one, else the default, else null where it is optional.
fn inputs(
    definition: &RoutineDefinition,
    given: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, RunRefused> {
    let parameters = &definition.parameters;
    let unknown: Vec<String> = given
        .keys()
        .filter(|name| !parameters.iter().any(|parameter| parameter.name == **name))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        let known = parameters.iter().map(|it| it.name.clone()).collect();
        return Err(RunRefused::UnknownInputs {
            names: unknown,
            known,
        });
    }
    let mut inputs = BTreeMap::new();
    let mut missing = Vec::new();
    for parameter in parameters {
        let value = match (given.get(&parameter.name), &parameter.default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => default.clone(),
            (None, None) if parameter.required => {
                missing.push(parameter.name.clone());
                continue;
            }
            (None, None) => Value::Null,
        };
        inputs.insert(parameter.name.clone(), value);
    }
    if !missing.is_empty() {
        return Err(RunRefused::MissingInputs(missing));
    }
    Ok(inputs)
}

fn names(list: &Option<Vec<String>>) -> impl Iterator<Item = &str> {
    list.iter().flatten().map(String::as_str)
}

fn owned(names: BTreeSet<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// Everything that a routine names outside of itself, nested routines included.
struct Named<'a> {
    definition: &'a RoutineDefinition,
    agents: BTreeSet<&'a str>,
    tools: BTreeSet<&'a str>,
    unknown_councils: BTreeSet<&'a str>,
}

impl<'a> Named<'a> {
    fn of(definition: &'a RoutineDefinition, graph: &'a RoutineGraph) -> Self {
        let mut named = Self {
            definition,
            agents: BTreeSet::new(),
            tools: names(&definition.required_tools).collect(),
            unknown_councils: BTreeSet::new(),
        };
        named.body(graph.body());
        named
    }

    fn body(&mut self, body: &'a Body) {
        for step in body.pre_steps.iter().chain(&body.post_steps) {
            self.tools.insert(&step.tool);
        }
        for step in &body.steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &'a StepDefinition) {
        match &step.kind {
            StepKind::Agent(agent) => {
                self.agents.insert(&agent.agent);
                self.work(&agent.work);
            }
            StepKind::Gate(gate) => match &gate.owner {
                GateOwner::Agent(agent) => {
                    self.agents.insert(&agent.agent);
                    self.work(&agent.work);
                }
                GateOwner::Operator(_) | GateOwner::Checks(_) => {}
            },
            StepKind::Council(council) => {
                match self.definition.councils.get(&council.council) {
                    Some(found) => {
                        self.agents.insert(&found.leader);
                        self.agents.extend(found.members.iter().map(String::as_str));
                    }
                    None => {
                        self.unknown_councils.insert(&council.council);
                    }
                }
                self.work(&council.work);
            }
            StepKind::Tool(tool) => {
                self.tools.insert(&tool.tool);
            }
            StepKind::Map(map) => self.body(&map.routine),
            StepKind::Fold(fold) => self.body(&fold.routine),
            StepKind::Until(until) => self.body(&until.routine),
            StepKind::Terminal { .. } | StepKind::TerminalFail { .. } => {}
        }
    }

    fn work(&mut self, work: &'a ModelWork) {
        self.tools.extend(names(&work.tools));
    }
}
