//! Looking at an operation without changing it: locally, bounded, and without a model call (V28).

use serde::Serialize;

use crate::engine::evidence::{Receipt, SourceHeader};
use crate::engine::id::{Generation, OperationId, SourceId};
use crate::engine::limits;
use crate::engine::operation::published::PublicWait;
use crate::engine::operation::view::OperationState;
use crate::engine::runner::account::timer_name;
use crate::engine::runner::actor::Actor;
use crate::engine::runner::model_task::Account;
use tokio::time::Instant;

/// Models that an inspection's usage may name; a larger account is left out (V28).
const INSPECTED_MODELS: usize = 64;
/// Waits that an inspection shows; the view has all of them.
const INSPECTED_WAITS: usize = 24;

/// Where an operation stands, in bounded space.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// The operation.
    pub operation: OperationId,
    /// The routine's slug.
    pub routine: String,
    /// Where it stands.
    pub state: OperationState,
    /// How many resumes were admitted.
    pub generation: Generation,
    /// What it waits for; at most 24 of them.
    pub waits: Vec<PublicWait>,
    /// How many waits are not shown.
    pub omitted_waits: usize,
    /// Timers that run, the first to fire first; at most 24 of them.
    pub deadlines: Vec<RemainingTime>,
    /// Requests in flight, those included that nobody waits for any more.
    pub in_flight: usize,
    /// At most 24 sources: those without a receipt first, each group from new to old.
    pub sources: Vec<InspectedSource>,
    /// How many sources are not shown.
    pub omitted_sources: usize,
    /// How many sources have no receipt yet.
    pub unacknowledged: usize,
    /// Under which id all of them can be read.
    pub source_index: SourceId,
    /// The model task's account; `None` where it is too large for this view.
    pub usage: Option<Account>,
    /// Whether the account was left out. The model task keeps it.
    pub usage_omitted: bool,
}

/// A timer that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemainingTime {
    /// Which: `deadline`, `grace`, or a step's lap.
    pub timer: String,
    /// Milliseconds until it fires.
    pub remaining_ms: u64,
}

/// A source as an inspection and the source index show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InspectedSource {
    /// What it is.
    #[serde(flatten)]
    pub header: SourceHeader,
    /// The archive's reference, once acknowledged.
    pub receipt: Option<Receipt>,
}

impl Actor {
    pub(super) fn inspection(&self) -> Inspection {
        let all = self.operation.sources();
        let receipted = |header: &&SourceHeader| self.operation.receipt(&header.id).is_some();
        let newest = || all.iter().rev();
        let sources: Vec<InspectedSource> = newest()
            .filter(|header| !receipted(header))
            // Both groups together never fill more than the bound.
            .take(limits::INSPECTED_SOURCES)
            .chain(newest().filter(receipted))
            .take(limits::INSPECTED_SOURCES)
            .map(|header| self.inspected(header))
            .collect();
        let waits = self.operation.waits();
        let usage = self.task.account_up_to(INSPECTED_MODELS);
        Inspection {
            operation: self.id.clone(),
            routine: self.operation.plan().definition.slug.clone(),
            state: self.operation.state(),
            generation: self.operation.generation(),
            omitted_waits: waits.len().saturating_sub(INSPECTED_WAITS),
            waits: waits
                .iter()
                .take(INSPECTED_WAITS)
                .map(PublicWait::from)
                .collect(),
            deadlines: self
                .alarm
                .all(Instant::now())
                .take(INSPECTED_WAITS)
                .map(|(timer, remaining_ms)| RemainingTime {
                    timer: timer_name(timer),
                    remaining_ms,
                })
                .collect(),
            in_flight: self.in_flight.len(),
            omitted_sources: all.len() - sources.len(),
            sources,
            unacknowledged: self.unacknowledged,
            source_index: self.id.source_index(),
            usage_omitted: usage.is_none(),
            usage,
        }
    }

    pub(super) fn inspected(&self, header: &SourceHeader) -> InspectedSource {
        InspectedSource {
            header: header.clone(),
            receipt: self.operation.receipt(&header.id).cloned(),
        }
    }
}
