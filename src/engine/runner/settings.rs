//! What a runner is built with: its ports, and its bounds.

use std::sync::Arc;

use crate::engine::limits;
use crate::engine::operation::published::Published;
use crate::engine::ports::{Clock, Ids, Models, RunLog, SourceStore, Toolbox, Verifier};

/// Everything that a runner needs from its host. The verifier is required like the rest: without
/// one nothing would ever be done (V1).
#[derive(Clone)]
pub struct Ports {
    /// The models of all providers.
    pub models: Arc<dyn Models>,
    /// The tools and their permissions.
    pub tools: Arc<dyn Toolbox>,
    /// Decides what is done.
    pub verifier: Arc<dyn Verifier>,
    /// Holds raw evidence.
    pub sources: Arc<dyn SourceStore>,
    /// The account of every operation.
    pub log: Arc<dyn RunLog>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Makes operation ids.
    pub ids: Arc<dyn Ids>,
    /// Is told of every event.
    pub progress: Arc<dyn Progress>,
}

/// Is told of every event of every operation.
///
/// Each operation's events come in order, in a task of their own. A panic is caught and changes
/// nothing (V14); a call that doesn't return holds back that operation's further events and the
/// caller's result, which never comes before the events that explain it (G10).
pub trait Progress: Send + Sync {
    /// One event. Should return soon.
    fn published(&self, event: &Published);
}

impl<F: Fn(&Published) + Send + Sync> Progress for F {
    fn published(&self, event: &Published) {
        self(event);
    }
}

/// The bounds of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunnerLimits {
    /// The largest observation, in bytes: 8 KiB to 64 MiB (V26).
    pub max_observation_bytes: usize,
    /// Operations that are active at once, paused and settling ones included: 1 to 1,000 (V27).
    pub max_active_operations: usize,
}

impl Default for RunnerLimits {
    fn default() -> Self {
        Self {
            max_observation_bytes: limits::OBSERVATION_BYTES,
            max_active_operations: limits::ACTIVE_OPERATIONS,
        }
    }
}

/// A bound that lies outside of its own bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {value}; it must lie between {least} and {most}")]
pub struct BadLimit {
    /// The bound's name.
    pub name: &'static str,
    /// What it was.
    pub value: usize,
    /// The least it may be.
    pub least: usize,
    /// The most it may be.
    pub most: usize,
}

impl RunnerLimits {
    /// Gives the bounds back if each lies within its own.
    pub(super) fn checked(self) -> Result<Self, BadLimit> {
        let Self {
            max_observation_bytes,
            max_active_operations,
        } = self;
        within(
            "max_observation_bytes",
            max_observation_bytes,
            limits::OBSERVATION_BYTES_BOUNDS,
        )?;
        within(
            "max_active_operations",
            max_active_operations,
            limits::ACTIVE_OPERATIONS_BOUNDS,
        )?;
        Ok(self)
    }
}

fn within(name: &'static str, value: usize, (least, most): (usize, usize)) -> Result<(), BadLimit> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(BadLimit {
        name,
        value,
        least,
        most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_outside_of_their_own_bounds_are_named() {
        let small = RunnerLimits {
            max_observation_bytes: 8 * 1024 - 1,
            ..RunnerLimits::default()
        };
        assert_eq!(
            small.checked().expect_err("too small").to_string(),
            "max_observation_bytes is 8191; it must lie between 8192 and 67108864"
        );
        let many = RunnerLimits {
            max_active_operations: 1_001,
            ..RunnerLimits::default()
        };
        assert_eq!(
            many.checked().expect_err("too many").name,
            "max_active_operations"
        );
        assert!(RunnerLimits::default().checked().is_ok());
    }
}
