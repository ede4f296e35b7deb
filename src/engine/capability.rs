//! What a tool can do, and what a stopped operation may have done.
//!
//! A [`Capability`] is the static description of a tool; its contract is execution metadata and is
//! never sent to a provider (L7). An [`EffectClass`] says what a stopped operation may have done (L5).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::engine::digest::Digest;

/// A tool as it is offered: what a model may see, and the contract it never sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Capability {
    /// The name it is called by.
    pub name: String,
    /// One sentence for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Value,
    /// The contract, where the tool states one.
    pub contract: Option<Contract>,
}

impl Capability {
    /// Covers name, description, schema and contract, so that any change gives another snapshot (L7).
    pub fn digest(&self) -> Digest {
        Digest::of_json(&json!({
            "name": self.name,
            "description": self.description,
            "schema": self.schema,
            "contract": self.contract,
        }))
    }

    /// Whether dispatching the tool may change something. A tool without a contract may (L5).
    pub fn side_effects(&self) -> SideEffects {
        match &self.contract {
            Some(contract) => contract.side_effects,
            None => SideEffects::Unknown,
        }
    }

    /// What it means when the tool has settled. Unknown without a contract (L5).
    pub fn commitment(&self) -> Commitment {
        match &self.contract {
            Some(contract) => contract.commitment,
            None => Commitment::Unknown,
        }
    }
}

/// What a tool says of itself (L7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// What the caller must be allowed to do, in words of the host.
    pub authority: Option<String>,
    /// What a call may change.
    pub side_effects: SideEffects,
    /// Whether a settled call commits somebody.
    pub commitment: Commitment,
    /// Whether calling twice is the same as calling once.
    pub idempotency: Idempotency,
    /// Whether the effect can be taken back.
    pub reversibility: Reversibility,
    /// How concurrent calls are kept apart, in words.
    pub concurrency: Option<String>,
    /// How to find out whether the effect happened.
    pub verification_hints: Vec<String>,
    /// Whether the agent must acknowledge the result before anything progresses (V12).
    pub acknowledge: Acknowledge,
}

/// What a call may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffects {
    /// It only reads.
    None,
    /// It changes something on this machine.
    Local,
    /// It changes something elsewhere.
    External,
    /// Nobody said.
    Unknown,
}

impl SideEffects {
    /// Whether the account of effects has to remember the call.
    pub fn any(self) -> bool {
        match self {
            Self::None => false,
            Self::Local | Self::External | Self::Unknown => true,
        }
    }
}

/// Whether a settled call commits somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Commitment {
    /// Nothing is owed afterwards.
    None,
    /// A settled call commits.
    Commits,
    /// Nobody said.
    Unknown,
}

/// Whether calling twice is the same as calling once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// It is.
    Idempotent,
    /// It is not.
    NotIdempotent,
    /// Nobody said.
    Unknown,
}

/// Whether an effect can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reversibility {
    /// It can.
    Reversible,
    /// It cannot.
    Irreversible,
    /// Nobody said.
    Unknown,
}

/// Whether the agent must acknowledge a result (V12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acknowledge {
    /// Nothing waits for it.
    NotRequired,
    /// Nothing progresses before it.
    Required,
}

/// The effect class of a cancelled or failed operation, from harmless to grave (L5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// No side-effecting tool was dispatched.
    #[default]
    BeforeEffects,
    /// One was dispatched, settled or not.
    AfterPartialEffects,
    /// One whose contract commits has settled.
    AfterCommitment,
}

impl EffectClass {
    /// The word that the screen, the log and the records use.
    pub fn label(self) -> &'static str {
        match self {
            Self::BeforeEffects => "before_effects",
            Self::AfterPartialEffects => "after_partial_effects",
            Self::AfterCommitment => "after_commitment",
        }
    }
}
