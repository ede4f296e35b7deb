//! One operation in the hands of a front end: started, at rest, confirmed, cancelled.
//!
//! A [`Live`] keeps what a resume must bring along and the right to resume, so that a front end
//! holds neither twice nor by accident.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::engine::id::{Generation, OperationId};
use crate::engine::operation::plan::AgentProfile;
use crate::engine::operation::wait::{Answer, WaitKey};
use crate::engine::runner::{
    Authorize, Continuation, Ending, ModelTask, Paused, Refusal, ResumeRequest, RunOptions,
    RunReferences, RunRefused, RunRequest, RunResult, Running,
};
use crate::host::session::{Prepared, Rest, Session};

/// An operation that a front end started.
pub struct Live {
    operation: OperationId,
    model_task: ModelTask,
    agents: Arc<BTreeMap<String, AgentProfile>>,
    hold: Hold,
}

/// What a front end has of its operation.
enum Hold {
    /// It runs; its first rest is still to come.
    Running(Running),
    /// It rests; this is the right to go on.
    Paused(Continuation),
    /// It has ended, or its handle is with a resume that is asked for.
    Nothing,
}

impl From<Ending> for Rest {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Settled(outcome) => Self::Settled(outcome),
            Ending::Closed => Self::Ended,
        }
    }
}

/// A confirmation was refused. Nothing changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfirmRefused {
    /// There is nothing to confirm: it runs, or has ended.
    #[error("the operation does not wait")]
    NotPaused,
    /// It was meant for an earlier pause.
    #[error("it was meant for an earlier pause of the operation")]
    EarlierPause,
    /// The runner said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Session {
    /// Starts an operation. A refusal means that nothing was done.
    pub fn start(
        &self,
        prepared: &Prepared,
        inputs: BTreeMap<String, Value>,
        cancellation: CancellationToken,
    ) -> Result<Live, RunRefused> {
        let model_task = ModelTask::new();
        let running = self.runner.start(RunRequest {
            routine: prepared.routine.clone(),
            agents: prepared.agents.clone(),
            model: self.model(),
            options: RunOptions {
                inputs,
                model_task: model_task.clone(),
                cancellation: Some(cancellation),
                references: RunReferences::default(),
            },
        })?;
        Ok(Live {
            operation: running.operation().clone(),
            model_task,
            agents: prepared.agents.clone(),
            hold: Hold::Running(running),
        })
    }

    /// Waits until the operation rests. `None` where it rests already.
    pub async fn rest(&self, live: &mut Live) -> Option<Rest> {
        match std::mem::replace(&mut live.hold, Hold::Nothing) {
            Hold::Running(running) => {
                let result = running.rest().await;
                Some(self.came_to_rest(live, result))
            }
            hold => {
                live.hold = hold;
                None
            }
        }
    }

    /// Goes on after a pause with what a person answered, to the next rest. What is not answered is
    /// looked at again. The answers are for that pause alone.
    pub async fn confirm(
        &self,
        live: &mut Live,
        generation: Generation,
        answers: Vec<(WaitKey, Answer)>,
    ) -> Result<Rest, ConfirmRefused> {
        let continuation = match std::mem::replace(&mut live.hold, Hold::Nothing) {
            Hold::Paused(continuation) => continuation,
            hold => {
                live.hold = hold;
                return Err(ConfirmRefused::NotPaused);
            }
        };
        if continuation.generation() != generation {
            live.hold = Hold::Paused(continuation);
            return Err(ConfirmRefused::EarlierPause);
        }
        let reconciles = answers.iter().any(|(_, answer)| answer.reconciles());
        let request = ResumeRequest {
            model_task: live.model_task.clone(),
            agents: live.agents.clone(),
            cancellation: None,
            answers,
            // The person at the front end has just said so, for exactly this pause.
            authorize: Authorize::granted(),
        };
        let resumed = if reconciles {
            self.runner.reconcile(continuation, request).await
        } else {
            self.runner.resume(continuation, request).await
        };
        match resumed {
            Ok(result) => Ok(self.came_to_rest(live, result)),
            Err(refused) => {
                live.hold = Hold::Paused(refused.continuation);
                Err(refused.why.into())
            }
        }
    }

    /// Cancels an operation in any state and waits for its end.
    pub async fn cancel(&self, operation: &OperationId) -> Option<Rest> {
        let ending = self.runner.cancel(operation).await.ok()?;
        self.forget(operation);
        Some(ending.into())
    }

    /// Waits for the end of an operation, also while it is paused: a deadline may pass then (V24).
    /// `None` where it isn't held any more.
    pub async fn ended(&self, operation: &OperationId) -> Option<Rest> {
        let ending = self.runner.ended(operation).await.ok()?;
        self.forget(operation);
        Some(ending.into())
    }

    fn came_to_rest(&self, live: &mut Live, result: RunResult) -> Rest {
        match result {
            RunResult::Settled(outcome) => {
                self.forget(&live.operation);
                Rest::Settled(outcome)
            }
            RunResult::Ended => Rest::Ended,
            RunResult::Paused(paused) => {
                let Paused {
                    continuation,
                    state,
                    reason,
                    waits,
                } = *paused;
                let generation = continuation.generation();
                live.hold = Hold::Paused(continuation);
                Rest::Paused {
                    state,
                    reason,
                    waits,
                    generation,
                }
            }
        }
    }
}

impl Live {
    /// The operation's id.
    pub fn operation(&self) -> &OperationId {
        &self.operation
    }
}
