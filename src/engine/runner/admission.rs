//! Going on after a pause: what is asked, in which order, and what a refusal leaves (V5, V10a, V31).
//!
//! First everything that needs nobody's consent, then the host's consent in a task of its own, then
//! everything again in the operation's task: meanwhile it may have been cancelled, closed or have
//! passed its deadline.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::engine::id::{Generation, OperationId};
use crate::engine::operation::event::{Event, VerifierFailure};
use crate::engine::operation::plan::AgentProfile;
use crate::engine::operation::view::OperationState;
use crate::engine::operation::wait::{Answer, WaitKey};
use crate::engine::operation::{Admission, Operation};
use crate::engine::runner::RoutineRunner;
use crate::engine::runner::actor::Actor;
use crate::engine::runner::continuation::{
    Authorization, AuthorizationRequest, Authorize, Continuation, InHand, Refusal, ResumeRefused,
    ResumeRequest,
};
use crate::engine::runner::model_task::ModelTask;
use crate::engine::runner::perform::caught;
use crate::engine::runner::rest::{RunResult, Silence, Waiter};
use crate::engine::verify::Decision;

/// What a resume brings along, but for the host's consent.
struct Terms {
    generation: Generation,
    task: ModelTask,
    agents: Arc<BTreeMap<String, AgentProfile>>,
    cancellation: Option<CancellationToken>,
    answers: Vec<(WaitKey, Answer)>,
    admission: Admission,
}

/// A receipt check didn't come about. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptCheckRefused {
    /// There is no such operation, or it has retired.
    #[error("no operation {0} is held here")]
    UnknownOperation(OperationId),
    /// The operation has no outcome: it still lives, or its runner was closed.
    #[error("the operation is {}", state.label())]
    NotSettled {
        /// Where it stands.
        state: OperationState,
    },
    /// A check is under way.
    #[error("a receipt check is under way")]
    UnderWay,
    /// The operation retains no effects.
    #[error("the operation retains nothing to check")]
    NothingRetained,
    /// The host didn't consent.
    #[error(transparent)]
    Consent(#[from] Refusal),
}

impl RoutineRunner {
    /// Goes on after a pause, with the host's consent: what was judged is judged again, what had to
    /// be admitted is asked again, and nothing is sent or done twice (V6).
    ///
    /// Ends at the next rest. A refusal leaves everything as it was and gives the handle back.
    ///
    /// Dropping the future before the resume is admitted leaves the operation paused and its handle
    /// locked until the host's consent has come; then [`Self::reclaim`] gives it back. Dropping it
    /// later cancels the operation.
    pub async fn resume(
        &self,
        continuation: Continuation,
        request: ResumeRequest,
    ) -> Result<RunResult, ResumeRefused> {
        self.go_on(continuation, request, Admission::Resume).await
    }

    /// Goes on after a pause like [`Self::resume`], and lets the answers supply what is missing of
    /// an uncertain step, or fail it (V10a). What they supply is recorded as the operator's.
    pub async fn reconcile(
        &self,
        continuation: Continuation,
        request: ResumeRequest,
    ) -> Result<RunResult, ResumeRefused> {
        self.go_on(continuation, request, Admission::Reconcile)
            .await
    }

    /// Gives back the handle of a resume whose caller went away, once its authorisation has answered.
    pub fn reclaim(&self, operation: &OperationId) -> Option<Continuation> {
        self.inner.registry().parked.remove(operation)
    }

    async fn go_on(
        &self,
        continuation: Continuation,
        request: ResumeRequest,
        admission: Admission,
    ) -> Result<RunResult, ResumeRefused> {
        let ResumeRequest {
            model_task,
            agents,
            cancellation,
            answers,
            authorize,
        } = request;
        let hand = InHand::new(continuation);
        if !hand.get().is_of(&self.inner) {
            return Err(refused(hand, Refusal::OtherRunner));
        }
        let operation = hand.get().operation().clone();
        let terms = Arc::new(Terms {
            generation: hand.get().generation(),
            task: model_task,
            agents,
            cancellation,
            answers,
            admission,
        });
        let looked = Arc::clone(&terms);
        let question = self
            .ask(&operation, move |actor| actor.may_go_on(&looked))
            .await
            .unwrap_or(Err(Refusal::Retired));
        let (hand, consent) = match question {
            Ok(question) => authorized(hand, authorize, question).await,
            Err(why) => return Err(refused(hand, why)),
        };
        if let Err(why) = consent {
            return Err(refused(hand, why));
        }
        let (waiter, parcel) = Waiter::new(Silence::Cancels);
        if let Err((hand, why)) = self.admit(&operation, hand, terms, waiter).await {
            return Err(refused(hand, why));
        }
        match parcel.await {
            Ok(parcel) => Ok(parcel.open()),
            Err(_) => Ok(RunResult::Ended),
        }
    }

    async fn admit(
        &self,
        operation: &OperationId,
        hand: InHand,
        terms: Arc<Terms>,
        waiter: Waiter,
    ) -> Result<(), (InHand, Refusal)> {
        // Shared, so that a task that has just ended can't take the handle with it.
        let shared = Arc::new(Mutex::new(Some(hand)));
        let take = |shared: &Mutex<Option<InHand>>| {
            let mut hand = shared.lock().unwrap_or_else(|it| it.into_inner());
            hand.take()
        };
        let offered = Arc::clone(&shared);
        let admitted = self
            .ask(operation, move |actor| {
                let hand = take(&offered).expect("BUG: the handle is offered once");
                match actor.may_go_on(&terms) {
                    Ok(_) => {
                        hand.spend();
                        actor.go_on(&terms, waiter);
                        Ok(())
                    }
                    Err(why) => Err((hand, why)),
                }
            })
            .await;
        match admitted {
            Some(admitted) => admitted,
            None => match take(&shared) {
                Some(hand) => Err((hand, Refusal::Retired)),
                // It was admitted in the operation's last moment.
                None => Ok(()),
            },
        }
    }

    /// Looks again, with the host's consent, at what an ended operation's effects came to. It
    /// changes records and fulfillment, never the status, and may be repeated (V31).
    pub async fn check_receipts(
        &self,
        operation: &OperationId,
        authorize: Authorize,
    ) -> Result<Result<Decision, VerifierFailure>, ReceiptCheckRefused> {
        let unknown = || ReceiptCheckRefused::UnknownOperation(operation.clone());
        let question = self
            .ask(operation, Actor::may_check_receipts)
            .await
            .ok_or_else(unknown)??;
        let ((), consent) = authorized((), authorize, question).await;
        consent?;
        let (to, found) = oneshot::channel();
        self.ask(operation, move |actor| actor.check_receipts(to))
            .await
            .ok_or_else(unknown)??;
        found
            .await
            .map_err(|_| ReceiptCheckRefused::NothingRetained)
    }
}

fn refused(hand: InHand, why: Refusal) -> ResumeRefused {
    ResumeRefused {
        continuation: hand.give_back(),
        why,
    }
}

/// Asks for the host's consent in a task of its own. What is `kept` stays there until the host
/// answers, also when the caller goes away.
async fn authorized<T: Send + 'static>(
    kept: T,
    authorize: Authorize,
    question: AuthorizationRequest,
) -> (T, Result<(), Refusal>) {
    let (to, answered) = oneshot::channel();
    tokio::spawn(async move {
        let consent = match caught(async move { authorize.ask(question).await }).await {
            Ok(Ok(Authorization::Granted)) => Ok(()),
            Ok(Ok(Authorization::Denied { reason })) => Err(Refusal::Denied { reason }),
            Ok(Err(reason)) => Err(Refusal::AuthorizationFailed { reason }),
            Err(panic) => Err(Refusal::AuthorizationFailed {
                reason: format!("it panicked: {panic}"),
            }),
        };
        // Where the caller is gone, a handle parks itself on being dropped.
        drop(to.send((kept, consent)));
    });
    match answered.await {
        Ok(answer) => answer,
        // The task ends without an answer only together with the whole runtime.
        Err(_) => std::future::pending().await,
    }
}

impl Actor {
    /// Everything that a resume needs but the host's consent.
    fn may_go_on(&self, terms: &Terms) -> Result<AuthorizationRequest, Refusal> {
        let state = self.operation.state();
        match state {
            OperationState::Paused(_) if self.live == Some(terms.generation) => {}
            OperationState::New | OperationState::Running | OperationState::Paused(_) => {
                return Err(Refusal::Stale);
            }
            OperationState::Settling
            | OperationState::Succeeded
            | OperationState::Failed
            | OperationState::Cancelled
            | OperationState::Ended => return Err(Refusal::Ended { state }),
        }
        if !self.task.same(&terms.task) {
            return Err(Refusal::OtherModelTask);
        }
        if *self.agents != *terms.agents {
            return Err(Refusal::OtherAgents);
        }
        let caller = terms.cancellation.as_ref().or(self.caller.as_ref());
        if self.is_cancelled() || caller.is_some_and(CancellationToken::is_cancelled) {
            return Err(Refusal::AlreadyCancelled);
        }
        self.operation
            .check_answers(&terms.answers, terms.admission)?;
        Ok(question(&self.operation, terms.answers.clone()))
    }

    fn go_on(&mut self, terms: &Terms, waiter: Waiter) {
        self.revoke();
        if let Some(cancellation) = &terms.cancellation {
            self.caller = Some(cancellation.clone());
        }
        self.rests.waiter = Some(waiter);
        self.apply(Event::ResumeAdmitted {
            generation: terms.generation.next(),
            answers: terms.answers.clone(),
        });
    }

    fn may_check_receipts(&mut self) -> Result<AuthorizationRequest, ReceiptCheckRefused> {
        let state = self.operation.state();
        match state {
            OperationState::New
            | OperationState::Running
            | OperationState::Paused(_)
            | OperationState::Settling
            | OperationState::Ended => return Err(ReceiptCheckRefused::NotSettled { state }),
            OperationState::Succeeded | OperationState::Failed | OperationState::Cancelled => {}
        }
        if self.receipts.is_some() {
            return Err(ReceiptCheckRefused::UnderWay);
        }
        Ok(question(&self.operation, Vec::new()))
    }

    fn check_receipts(
        &mut self,
        to: oneshot::Sender<Result<Decision, VerifierFailure>>,
    ) -> Result<(), ReceiptCheckRefused> {
        self.may_check_receipts()?;
        self.receipts = Some(to);
        let before = self.in_flight.len();
        self.apply(Event::ReceiptCheckRequested);
        if self.in_flight.len() == before && self.receipts.take().is_some() {
            return Err(ReceiptCheckRefused::NothingRetained);
        }
        Ok(())
    }
}

fn question(operation: &Operation, answers: Vec<(WaitKey, Answer)>) -> AuthorizationRequest {
    AuthorizationRequest {
        operation: operation.plan().operation.clone(),
        generation: operation.generation(),
        state: operation.state(),
        waits: operation.waits(),
        answers,
    }
}
