//! The connections of a routine.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
