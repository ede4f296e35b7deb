//! What happens while a routine runs: a pure state machine.

pub mod event;
pub mod outcome;
pub mod plan;
pub mod published;
pub mod view;
pub mod wait;

use std::sync::Arc;

use crate::engine::evidence::{Receipt, SourceHeader};
use crate::engine::id::{Generation, SourceId};
use crate::engine::operation::event::{Command, Event, IllegalEvent};
use crate::engine::operation::plan::Plan;
use crate::engine::operation::view::{OperationState, OperationView};
use crate::engine::operation::wait::{Answer, BadAnswer, Wait, WaitKey};

/// One live dispatch of a routine, as pure state.
#[derive(Debug)]
pub struct Operation {
    plan: Arc<Plan>,
}

/// Whether answers may supply what only reconciliation may (V10a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A plain resume.
    Resume,
    /// A reconciliation.
    Reconcile,
}

impl Operation {
    /// An operation in which nothing has happened.
    pub fn new(plan: Arc<Plan>) -> Self {
        Self { plan }
    }

    /// Takes what happened, `now` milliseconds after the operation began by the monotonic clock,
    /// and says what to do about it, in order.
    pub fn apply(&mut self, now: u64, event: Event) -> Result<Vec<Command>, IllegalEvent> {
        let _ = (now, &self.plan);
        Err(IllegalEvent {
            event: event.name(),
            phase: "new",
        })
    }

    /// Says whether answers would be admitted, without changing anything.
    pub fn check_answers(
        &self,
        answers: &[(WaitKey, Answer)],
        admission: Admission,
    ) -> Result<(), BadAnswer> {
        let _ = (answers, admission);
        Ok(())
    }

    /// Where it stands. Cheap.
    pub fn state(&self) -> OperationState {
        OperationState::New
    }

    /// How many resumes were admitted.
    pub fn generation(&self) -> Generation {
        Generation::default()
    }

    /// What it waits for.
    pub fn waits(&self) -> Vec<Wait> {
        Vec::new()
    }

    /// A detached picture of everything. Its cost grows with the number of steps.
    pub fn view(&self) -> OperationView {
        unreachable!("BUG: not built yet")
    }

    /// Every source so far, in the order in which they were recorded, late ones included.
    pub fn sources(&self) -> &[SourceHeader] {
        &[]
    }

    /// The receipt of an acknowledged source.
    pub fn receipt(&self, source: &SourceId) -> Option<&Receipt> {
        let _ = source;
        None
    }

    /// Milliseconds left until the deadline at `now`; `None` without one.
    pub fn remaining_ms(&self, now: u64) -> Option<u64> {
        let _ = now;
        None
    }

    /// What it was planned from.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}
