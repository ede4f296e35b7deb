//! The configuration file: TOML, every key known.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Table, Value};

use crate::engine::limits;
use crate::engine::routine::definition::{AgentDefinition, ModelRole, ReasoningEffort};
use crate::engine::routine::nearest;
use crate::host::permission;
use crate::host::permission::Policy;
use crate::host::settings::{ChosenLimits, Policies};
use crate::host::tools::KNOWN_TOOLS;

const KEYS: [&str; 4] = ["agents", "limits", "model", "permissions"];
const LIMIT_KEYS: [&str; 2] = ["max_active_operations", "max_observation_bytes"];
const AGENT_KEYS: [&str; 6] = [
    "instructions",
    "max_output_tokens",
    "model",
    "reasoning_effort",
    "role",
    "tools",
];

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct SettingsFile {
    pub(super) model: Option<String>,
    pub(super) permissions: Policies,
    pub(super) agents: BTreeMap<String, AgentDefinition>,
    pub(super) limits: ChosenLimits,
}

/// The shape of the file; unknown keys are looked for before.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Shape {
    model: Option<String>,
    permissions: BTreeMap<String, Policy>,
    agents: BTreeMap<String, AgentShape>,
    limits: LimitsShape,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AgentShape {
    instructions: Option<String>,
    model: Option<String>,
    role: Option<ModelRole>,
    tools: Option<Vec<String>>,
    reasoning_effort: Option<ReasoningEffort>,
    max_output_tokens: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LimitsShape {
    max_observation_bytes: Option<u64>,
    max_active_operations: Option<u64>,
}

impl SettingsFile {
    /// Reads the file's text; an error says what is wrong and where.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error| described(&error))?;
        known_keys(&table, "", &KEYS)?;
        if let Some(Value::Table(limits)) = table.get("limits") {
            known_keys(limits, "limits.", &LIMIT_KEYS)?;
        }
        if let Some(Value::Table(agents)) = table.get("agents") {
            for (name, agent) in agents {
                if let Value::Table(agent) = agent {
                    known_keys(agent, &format!("agents.{name}."), &AGENT_KEYS)?;
                }
            }
        }
        // Read from the text once more, so that an error knows its line.
        let shape: Shape = toml::from_str(text).map_err(|error| described(&error))?;
        for (tool, policy) in &shape.permissions {
            known_tool(tool, *policy)?;
        }
        Ok(Self {
            model: shape.model,
            permissions: shape.permissions,
            agents: shape
                .agents
                .into_iter()
                .map(|(name, agent)| (name, agent.into()))
                .collect(),
            limits: shape.limits.within_bounds()?,
        })
    }
}

impl From<AgentShape> for AgentDefinition {
    fn from(agent: AgentShape) -> Self {
        Self {
            instructions: agent.instructions,
            model: agent.model,
            role: agent.role,
            tools: agent.tools,
            reasoning_effort: agent.reasoning_effort,
            max_output_tokens: agent.max_output_tokens,
        }
    }
}

impl LimitsShape {
    fn within_bounds(self) -> Result<ChosenLimits, String> {
        let bounded = |name, value: Option<u64>, default, (least, most): (usize, usize)| {
            let Some(value) = value else {
                return Ok(default);
            };
            usize::try_from(value)
                .ok()
                .filter(|value| (least..=most).contains(value))
                .ok_or_else(|| format!("limits.{name} must be from {least} to {most}, not {value}"))
        };
        Ok(ChosenLimits {
            max_observation_bytes: bounded(
                "max_observation_bytes",
                self.max_observation_bytes,
                limits::OBSERVATION_BYTES,
                limits::OBSERVATION_BYTES_BOUNDS,
            )?,
            max_active_operations: bounded(
                "max_active_operations",
                self.max_active_operations,
                limits::ACTIVE_OPERATIONS,
                limits::ACTIVE_OPERATIONS_BOUNDS,
            )?,
        })
    }
}

fn known_keys(table: &Table, within: &str, known: &[&str]) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(unknown(&format!("key {within}{key}"), key, known)),
    }
}

/// A tool of ours, or one of a server: `server.tool`.
fn known_tool(tool: &str, policy: Policy) -> Result<(), String> {
    if tool.contains('.') {
        return Ok(());
    }
    if !KNOWN_TOOLS.contains(&tool) {
        return Err(unknown(
            &format!("tool permissions.{tool}"),
            tool,
            &KNOWN_TOOLS,
        ));
    }
    if permission::is_always_allowed(tool) && policy != Policy::Allow {
        return Err(format!("permissions.{tool}: this tool is always allowed"));
    }
    Ok(())
}

fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("unknown {what}; did you mean {meant}?"),
        None => format!("unknown {what}; known are {}", known.join(", ")),
    }
}

/// The parser's words, which name line and column.
fn described(error: &toml::de::Error) -> String {
    error.to_string().trim_end().to_owned()
}
