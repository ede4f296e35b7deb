//! The host's accounting and cancellation scope of an operation: a model task.
//!
//! It is given to a run and kept for the operation's whole life; a resume must name the same one (V7).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::engine::ports::{Accounting, ResolvedModel, TokenUsage};

/// The host's accounting and cancellation scope. Clones are the same task.
#[derive(Clone)]
pub struct ModelTask {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    cancellation: CancellationToken,
    account: Mutex<Account>,
}

/// Everything that was used under a model task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    /// By model, `provider/model`.
    pub models: BTreeMap<String, ModelUsage>,
    /// What helpers of the host reported, such as a check that asks a model (V2).
    pub helpers: ModelUsage,
}

/// What one model was asked and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Requests that went out, re-sends included.
    pub calls: u64,
    /// Tokens read and written, as far as the provider counted.
    #[serde(flatten)]
    pub tokens: TokenUsage,
}

impl ModelUsage {
    fn add(&mut self, tokens: TokenUsage) {
        let held = &mut self.tokens;
        held.input_tokens = held.input_tokens.saturating_add(tokens.input_tokens);
        held.output_tokens = held.output_tokens.saturating_add(tokens.output_tokens);
    }
}

impl ModelTask {
    /// A task of its own, cancelled by nobody.
    pub fn new() -> Self {
        Self::under(CancellationToken::new())
    }

    /// A task that ends with a scope of the host's.
    pub fn under(cancellation: CancellationToken) -> Self {
        Self {
            inner: Arc::new(Inner {
                cancellation,
                account: Mutex::default(),
            }),
        }
    }

    /// Whether both are one task: identity, not likeness.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Cancels every operation of the task.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.inner.cancellation
    }

    /// A copy of the full account.
    pub fn account(&self) -> Account {
        self.held().clone()
    }

    /// A copy of the account, or `None` where it names more than `limit` models.
    pub(super) fn account_up_to(&self, limit: usize) -> Option<Account> {
        let account = self.held();
        (account.models.len() <= limit).then(|| account.clone())
    }

    /// A request to a model went out.
    pub(super) fn request_sent(&self, model: &ResolvedModel) {
        self.held().of(model).calls += 1;
    }

    /// A model's answer came.
    pub(super) fn answered(&self, model: &ResolvedModel, tokens: TokenUsage) {
        self.held().of(model).add(tokens);
    }

    fn held(&self) -> MutexGuard<'_, Account> {
        // Only sums stand under the lock, so a poisoned one is still whole.
        self.inner
            .account
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Account {
    fn of(&mut self, model: &ResolvedModel) -> &mut ModelUsage {
        self.models.entry(model.to_string()).or_default()
    }
}

impl Default for ModelTask {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ModelTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ModelTask")
            .field(&Arc::as_ptr(&self.inner))
            .finish()
    }
}

impl Accounting for ModelTask {
    fn model_called(&self, usage: TokenUsage) {
        let mut account = self.held();
        account.helpers.calls += 1;
        account.helpers.add(usage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_one_task_and_likeness_is_not_identity() {
        let task = ModelTask::new();
        assert!(task.same(&task.clone()));
        assert!(!task.same(&ModelTask::new()));
    }

    #[test]
    fn a_helper_s_calls_stand_beside_those_of_the_runner() {
        let task = ModelTask::new();
        let model = ResolvedModel {
            provider: "offline".into(),
            model: "m".into(),
            role: None,
            policy_version: None,
        };
        let tokens = TokenUsage {
            input_tokens: 3,
            output_tokens: 4,
        };
        task.request_sent(&model);
        task.answered(&model, tokens);
        task.model_called(tokens);
        let account = task.account();
        let once = ModelUsage { calls: 1, tokens };
        assert_eq!(account.models["offline/m"], once);
        assert_eq!(account.helpers, once);
        assert_eq!(task.account_up_to(0), None);
    }
}
