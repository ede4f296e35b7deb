//! The right to go on: single use, same process, and given back by every refusal (V5).
//!
//! A [`Continuation`] is moved into a resume. It comes back inside [`ResumeRefused`], or, where the
//! caller went away meanwhile, it is parked and can be reclaimed; only an admission spends it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::engine::id::{Generation, OperationId};
use crate::engine::operation::plan::AgentProfile;
use crate::engine::operation::view::OperationState;
use crate::engine::operation::wait::{Answer, BadAnswer, Wait, WaitKey};
use crate::engine::runner::Inner;
use crate::engine::runner::model_task::ModelTask;

/// The single-use, same-process right to resume a paused operation.
///
/// It can't be cloned, serialised or rebuilt. Dropping it ends nothing: the operation stays paused
/// until it is cancelled, closed or past its deadline.
///
/// ```compile_fail
/// fn twice(continuation: amos_tui::engine::runner::Continuation) {
///     let _ = continuation.clone();
/// }
/// ```
/// ```compile_fail
/// fn written(continuation: amos_tui::engine::runner::Continuation) {
///     let _ = serde_json::to_string(&continuation);
/// }
/// ```
#[must_use = "without its continuation a paused operation can only be cancelled"]
pub struct Continuation {
    operation: OperationId,
    generation: Generation,
    runner: Weak<Inner>,
}

impl Continuation {
    pub(super) fn issue(
        operation: OperationId,
        generation: Generation,
        runner: Weak<Inner>,
    ) -> Self {
        Self {
            operation,
            generation,
            runner,
        }
    }

    /// The operation that it resumes.
    pub fn operation(&self) -> &OperationId {
        &self.operation
    }

    /// How many resumes were admitted before it was issued.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    pub(super) fn is_of(&self, runner: &Arc<Inner>) -> bool {
        std::ptr::eq(self.runner.as_ptr(), Arc::as_ptr(runner))
    }
}

impl fmt::Debug for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Continuation")
            .field("operation", &self.operation)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}

/// A continuation in the runner's hands. Unless it is spent or given back, it is parked.
#[derive(Debug)]
pub(super) struct InHand {
    continuation: Option<Continuation>,
}

impl InHand {
    pub(super) fn new(continuation: Continuation) -> Self {
        Self {
            continuation: Some(continuation),
        }
    }

    pub(super) fn get(&self) -> &Continuation {
        self.continuation
            .as_ref()
            .expect("BUG: it is there until it is spent or given back")
    }

    /// Gives it back to the caller.
    pub(super) fn give_back(mut self) -> Continuation {
        self.continuation
            .take()
            .expect("BUG: it is there until it is spent or given back")
    }

    /// Uses it up.
    pub(super) fn spend(mut self) {
        self.continuation = None;
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        if let Some(continuation) = self.continuation.take()
            && let Some(runner) = continuation.runner.upgrade()
        {
            runner.park(continuation);
        }
    }
}

/// What a resume brings along.
pub struct ResumeRequest {
    /// The model task of the run: another one is refused (V7).
    pub model_task: ModelTask,
    /// The agents of the run: other ones are refused.
    pub agents: Arc<BTreeMap<String, AgentProfile>>,
    /// Replaces the caller's cancellation; `None` keeps the one there is (V7).
    pub cancellation: Option<CancellationToken>,
    /// What a person says of the waits. What stays unanswered is looked at again.
    pub answers: Vec<(WaitKey, Answer)>,
    /// The host's consent, asked before anything changes.
    pub authorize: Authorize,
}

/// What the host is asked to consent to.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthorizationRequest {
    /// The operation.
    pub operation: OperationId,
    /// How many resumes were admitted.
    pub generation: Generation,
    /// Where it stands.
    pub state: OperationState,
    /// What it waits for.
    pub waits: Vec<Wait>,
    /// What a person says of the waits.
    pub answers: Vec<(WaitKey, Answer)>,
}

/// The host's consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {
    /// It may.
    Granted,
    /// It may not.
    Denied {
        /// Why, for people.
        reason: String,
    },
}

type Asked = BoxFuture<'static, Result<Authorization, String>>;

/// How the host is asked for its consent. It runs in a task of its own: it may take its time, fail
/// or panic, and the operation can be cancelled meanwhile.
pub struct Authorize(Box<dyn FnOnce(AuthorizationRequest) -> Asked + Send>);

impl Authorize {
    /// Asks by a function. Its error is text for people.
    pub fn by<F, Fut>(ask: F) -> Self
    where
        F: FnOnce(AuthorizationRequest) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Authorization, String>> + Send + 'static,
    {
        Self(Box::new(move |request| Box::pin(ask(request))))
    }

    /// The host has consented already, for example because a person at its screen just did.
    pub fn granted() -> Self {
        Self::by(|_| std::future::ready(Ok(Authorization::Granted)))
    }

    pub(super) fn ask(self, request: AuthorizationRequest) -> Asked {
        (self.0)(request)
    }
}

impl fmt::Debug for Authorize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorize(..)")
    }
}

/// A resume was refused. Nothing changed, and the caller has its handle back.
#[derive(Debug, thiserror::Error)]
#[error("operation {} was not resumed: {why}", continuation.operation())]
pub struct ResumeRefused {
    /// The handle, unspent.
    pub continuation: Continuation,
    /// Why.
    #[source]
    pub why: Refusal,
}

/// Why something that needs the host's consent was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The host said no.
    #[error("the host denied it: {reason}")]
    Denied {
        /// Why.
        reason: String,
    },
    /// The host couldn't say.
    #[error("the host's authorisation failed: {reason}")]
    AuthorizationFailed {
        /// Why.
        reason: String,
    },
    /// The caller had cancelled already.
    #[error("the caller is cancelled")]
    AlreadyCancelled,
    /// Another model task than the run's.
    #[error("the model task is another one than the run's")]
    OtherModelTask,
    /// Other agents than the run's.
    #[error("the agents are others than the run's")]
    OtherAgents,
    /// The handle of an earlier pause, or of one that is over.
    #[error("the handle belongs to a pause that is over")]
    Stale,
    /// The handle of another runner.
    #[error("the handle belongs to another runner")]
    OtherRunner,
    /// An answer doesn't fit.
    #[error("an answer doesn't fit: {0}")]
    BadAnswer(#[from] BadAnswer),
    /// The operation has ended, or is about to.
    #[error("the operation is {}", state.label())]
    Ended {
        /// Where it stands.
        state: OperationState,
    },
    /// The operation has ended and is not held any more.
    #[error("the operation has ended and is not held any more")]
    Retired,
}
