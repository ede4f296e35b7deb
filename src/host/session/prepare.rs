//! From a file's bytes to something that can start: read, checked, agents resolved (V19, L4).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::limits;
use crate::engine::operation::plan::{AgentProfile, Ownership};
use crate::engine::ports::ResolvedModel;
use crate::engine::routine::definition::{
    AgentDefinition, Body, GateOwner, RoutineDefinition, StepKind,
};
use crate::engine::routine::issue::Issue;
use crate::engine::routine::{CheckedRoutine, load};
use crate::host::models::catalog::AgentModel;
use crate::host::models::provider::ModelNameError;
use crate::host::models::selection::{SelectionError, usable};
use crate::host::session::{CHAT_AGENT, Session};

/// A file that can't be read as a regular file of at most 16 MiB (C2).
#[derive(Debug, thiserror::Error)]
#[error("can't read {}: {why}", path.display())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// Reads a routine file: a regular file of at most 16 MiB, never a pipe that could block.
pub fn read_routine(path: &Path) -> Result<Vec<u8>, ReadError> {
    let bad = |why: String| ReadError {
        path: path.to_owned(),
        why,
    };
    let metadata = std::fs::metadata(path).map_err(|error| bad(error.to_string()))?;
    if !metadata.is_file() {
        return Err(bad("it is no regular file".into()));
    }
    let file = std::fs::File::open(path).map_err(|error| bad(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(limits::FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| bad(error.to_string()))?;
    if bytes.len() as u64 > limits::FILE_BYTES {
        return Err(bad(format!(
            "it has more than {} MiB",
            limits::FILE_BYTES / (1024 * 1024)
        )));
    }
    Ok(bytes)
}

/// A routine that can start.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The routine with its graph.
    pub routine: CheckedRoutine,
    /// Every agent that it names, resolved.
    pub agents: Arc<BTreeMap<String, AgentProfile>>,
    /// What somebody should look at all the same.
    pub warnings: Vec<Issue>,
}

/// What keeps a file from running.
#[derive(Debug, Clone)]
pub struct Problems {
    /// Every problem, by position; `unsupported` ones included.
    pub issues: Vec<Issue>,
}

/// Why a file can't start.
#[derive(Debug, thiserror::Error)]
pub enum NotPrepared {
    /// Its content doesn't parse or validate, or asks for what this version doesn't run (C2: exit 1).
    #[error("the routine is not valid")]
    Invalid(Problems),
    /// An agent's model can't be used (C2: exit 2).
    #[error("agent `{agent}`: {why}")]
    Model {
        /// The agent.
        agent: String,
        /// Why.
        why: SelectionError,
    },
}

impl Session {
    /// Checks a file's bytes and resolves the agents that it names. Does nothing else.
    pub fn prepare(&self, bytes: &[u8]) -> Result<Prepared, NotPrepared> {
        let loaded = load(bytes, &self.known());
        let Some(routine) = loaded.routine else {
            return Err(NotPrepared::Invalid(Problems {
                issues: loaded.issues,
            }));
        };
        if !routine.unsupported.is_empty() {
            let mut issues = loaded.issues;
            issues.extend(routine.unsupported.iter().cloned());
            issues.sort_by_key(|issue| (issue.line, issue.column));
            return Err(NotPrepared::Invalid(Problems { issues }));
        }
        let agents = agents_of(&routine.definition)
            .into_iter()
            .map(|name| Ok((name.to_owned(), self.profile(name, &routine.definition)?)))
            .collect::<Result<BTreeMap<_, _>, NotPrepared>>()?;
        Ok(Prepared {
            routine,
            agents: Arc::new(agents),
            warnings: loaded.issues,
        })
    }

    fn profile(
        &self,
        name: &str,
        definition: &RoutineDefinition,
    ) -> Result<AgentProfile, NotPrepared> {
        let chat = AgentDefinition::default();
        let (agent, ownership) = match (definition.agents.get(name), self.agents.get(name)) {
            (Some(agent), _) => (agent, Ownership::Owned),
            (None, Some(agent)) if name != CHAT_AGENT => (agent, Ownership::Owned),
            // The chat agent, as the configuration may shape it, is borrowed (G17).
            (None, agent) => (agent.unwrap_or(&chat), Ownership::Borrowed),
        };
        let model = self.resolve(agent).map_err(|why| NotPrepared::Model {
            agent: name.to_owned(),
            why,
        })?;
        Ok(AgentProfile {
            name: name.to_owned(),
            instructions: agent.instructions.clone(),
            model,
            tools: agent.tools.clone(),
            reasoning_effort: agent.reasoning_effort,
            max_output_tokens: agent.max_output_tokens,
            ownership,
        })
    }

    /// The agent's model, its role's, or the selected one (L4); never without its key.
    fn resolve(&self, agent: &AgentDefinition) -> Result<ResolvedModel, SelectionError> {
        let wanted = AgentModel {
            model: agent.model.as_deref(),
            role: agent.role,
        };
        let model = self
            .policy
            .resolve(wanted, &self.model())
            .map_err(|error: ModelNameError| error)?;
        if agent.model.is_some() {
            usable(&model.to_string(), self.models.settings())?;
        }
        Ok(model)
    }
}

/// The agents that a routine's steps name, nested routines included.
fn agents_of(definition: &RoutineDefinition) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    collect_agents(&definition.body, definition, &mut names);
    names
}

fn collect_agents<'a>(
    body: &'a Body,
    definition: &'a RoutineDefinition,
    names: &mut BTreeSet<&'a str>,
) {
    for step in &body.steps {
        match &step.kind {
            StepKind::Agent(step) => {
                names.insert(step.agent.as_str());
            }
            StepKind::Gate(gate) => match &gate.owner {
                GateOwner::Agent(step) => {
                    names.insert(step.agent.as_str());
                }
                GateOwner::Operator(_) | GateOwner::Checks(_) => {}
            },
            StepKind::Map(step) => collect_agents(&step.routine, definition, names),
            StepKind::Fold(step) => collect_agents(&step.routine, definition, names),
            StepKind::Until(step) => collect_agents(&step.routine, definition, names),
            StepKind::Council(step) => {
                if let Some(council) = definition.councils.get(&step.council) {
                    names.insert(council.leader.as_str());
                    names.extend(council.members.iter().map(String::as_str));
                }
            }
            StepKind::Tool(_) | StepKind::Terminal { .. } | StepKind::TerminalFail { .. } => {}
        }
    }
}
