//! Identifiers of the engine, one newtype each.
//!
//! An operation's id comes from the host's `Ids` port; every other id is derived from it and a
//! counter, so that the state machine needs no randomness and ids stay unique across operations.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as it is printed and stored.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// One live dispatch of a task in this process.
    OperationId
}
text_id! {
    /// One pass through one routine graph inside an operation.
    ExecutionId
}
text_id! {
    /// One bounded attempt by one actor at one piece of work.
    RunId
}
text_id! {
    /// One piece of raw evidence held by the runner.
    SourceId
}

impl OperationId {
    /// The id of the operation's `n`-th execution, counted from 1.
    pub fn execution(&self, n: u64) -> ExecutionId {
        ExecutionId(format!("{self}.x{n}").into())
    }

    /// The id of the operation's `n`-th run, counted from 1.
    pub fn run(&self, n: u64) -> RunId {
        RunId(format!("{self}.r{n}").into())
    }

    /// The id of the operation's `n`-th source, counted from 1.
    pub fn source(&self, n: u64) -> SourceId {
        SourceId(format!("{self}.s{n}").into())
    }

    /// The id under which the operation's source index is read (V29).
    pub fn source_index(&self) -> SourceId {
        SourceId(format!("{self}.index").into())
    }
}

/// The id of one request that the machine asked the driver to perform. A reply that names an
/// unknown request is a late arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

/// How often a step has run in its execution, from 1 (G7). Laps of different steps are never compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Lap(pub u32);

impl Lap {
    /// The lap after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Lap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many resumes an operation has admitted. A continuation belongs to exactly one generation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl Generation {
    /// The generation after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
