//! The frozen, detached view that a verifier judges (V13, V26).
//!
//! An observation is built once, as owned JSON, under a byte budget. What would be larger is never
//! cut: it doesn't come to be.

use std::sync::Arc;

use serde_json::Value;

use crate::engine::digest::Digest;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObservationPhase {
    /// One lap of one step.
    Step,
    /// The whole operation, after the post steps.
    Final,
}

impl ObservationPhase {
    /// The word that observations and events use.
    pub fn label(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Final => "final",
        }
    }
}

/// A frozen view: cheap to share, impossible to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    phase: ObservationPhase,
    json: Arc<Value>,
    text: Arc<str>,
}

/// The view would be larger than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the observation would have {bytes} bytes, {limit} are allowed")]
pub struct Oversized {
    /// What it would have.
    pub bytes: usize,
    /// What is allowed.
    pub limit: usize,
}

impl Observation {
    /// Freezes a view of at most `limit` bytes of compact JSON.
    pub fn of(phase: ObservationPhase, json: Value, limit: usize) -> Result<Self, Oversized> {
        let text = json.to_string();
        if text.len() > limit {
            return Err(Oversized {
                bytes: text.len(),
                limit,
            });
        }
        Ok(Self {
            phase,
            json: Arc::new(json),
            text: text.into(),
        })
    }

    /// What is judged.
    pub fn phase(&self) -> ObservationPhase {
        self.phase
    }

    /// The view.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The view as compact JSON: what a command check reads on its standard input.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The digest of the view's canonical JSON.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}
