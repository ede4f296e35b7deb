//! What a session says, as plain values: a front end keeps and shows these without knowing the runner.

use serde::Deserialize;

use crate::engine::evidence::{Receipt, SourceHeader};
use crate::engine::id::Generation;
use crate::engine::operation::outcome::Outcome;
use crate::engine::operation::wait::Wait;
use crate::engine::verify::Held;

/// Where an operation came to rest.
#[derive(Debug, Clone, PartialEq)]
pub enum Rest {
    /// It ended.
    Settled(Box<Outcome>),
    /// It waits.
    Paused {
        /// The worst of the waits.
        state: Held,
        /// Why, for people.
        reason: String,
        /// Everything that is waited for.
        waits: Vec<Wait>,
        /// Which pause it is: an answer to another one is refused.
        generation: Generation,
    },
    /// The runner was closed; its records say *ended with the process*.
    Ended,
}

/// A source and what the archive says of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SourceRow {
    /// What it is.
    #[serde(flatten)]
    pub header: SourceHeader,
    /// The archive's reference, once acknowledged.
    pub receipt: Option<Receipt>,
}

/// Where an operation stands, looked up without a model call (V28).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspected {
    /// Timers that run, with the milliseconds until each fires.
    pub timers: Vec<(String, u64)>,
    /// Requests in flight.
    pub in_flight: usize,
    /// Sources held, those included that an inspection leaves out.
    pub sources: usize,
    /// Sources without a receipt.
    pub unacknowledged: usize,
    /// Under which name all sources can be read.
    pub source_index: String,
    /// Model calls and tokens by model, one line each; `None` where the account is too large.
    pub usage: Option<Vec<String>>,
}
