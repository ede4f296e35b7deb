//! Pretended remote work for demos: what the `synthetic_*` tools did and their checks can see.
//!
//! It lives in memory, belongs to one operation, and touches nothing outside.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::id::OperationId;

/// What can be done with a synthetic job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyntheticAct {
    /// A place for it was reserved.
    Reserve,
    /// It was submitted.
    Submit,
    /// Its artifact was made.
    Artifact,
}

impl SyntheticAct {
    /// The word in receipts and reasons.
    pub fn label(self) -> &'static str {
        match self {
            Self::Reserve => "reserve",
            Self::Submit => "submit",
            Self::Artifact => "artifact",
        }
    }
}

/// Every operation's synthetic jobs.
#[derive(Debug, Default)]
pub struct SyntheticJobs {
    done: Mutex<HashMap<OperationId, Acts>>,
}

/// How often each act was done, by job.
type Acts = BTreeMap<(String, SyntheticAct), u64>;

impl SyntheticJobs {
    /// Does something and gives its receipt. Doing it again is another act with another receipt.
    pub fn act(&self, operation: &OperationId, job: &str, act: SyntheticAct) -> String {
        let mut done = self.locked();
        let acts = done.entry(operation.clone()).or_default();
        let count = acts.entry((job.to_owned(), act)).or_default();
        *count += 1;
        format!("synthetic:{}:{job}:{count}", act.label())
    }

    /// How often something was done with a job of an operation.
    pub fn count(&self, operation: &OperationId, job: &str, act: SyntheticAct) -> u64 {
        let done = self.locked();
        let acts = done.get(operation);
        acts.and_then(|acts| acts.get(&(job.to_owned(), act)))
            .copied()
            .unwrap_or_default()
    }

    /// Forgets an operation that has retired.
    pub fn forget(&self, operation: &OperationId) {
        self.locked().remove(operation);
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<OperationId, Acts>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_kept_apart_by_operation_and_counted() {
        let jobs = SyntheticJobs::default();
        let (one, other) = (OperationId::from("1"), OperationId::from("2"));
        assert_eq!(
            jobs.act(&one, "build", SyntheticAct::Submit),
            "synthetic:submit:build:1"
        );
        assert_eq!(
            jobs.act(&one, "build", SyntheticAct::Submit),
            "synthetic:submit:build:2"
        );
        assert_eq!(jobs.count(&one, "build", SyntheticAct::Submit), 2);
        assert_eq!(jobs.count(&one, "build", SyntheticAct::Artifact), 0);
        assert_eq!(jobs.count(&other, "build", SyntheticAct::Submit), 0);
        jobs.forget(&one);
        assert_eq!(jobs.count(&one, "build", SyntheticAct::Submit), 0);
    }
}
