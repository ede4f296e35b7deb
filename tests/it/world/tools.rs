//! Tools. Every toolbox here has one tool, `act`, without a contract.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use amos_tui::engine::capability::Capability;
use amos_tui::engine::id::OperationId;
use amos_tui::engine::ports::{Permission, ToolContext, ToolOutcome, Toolbox};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What becomes of a call.
#[derive(Clone)]
enum Behaviour {
    Done,
    /// Ignores its time limit and its cancellation, and settles once it is told to.
    Late(Arc<Notify>),
    /// Will deliver under the key `parcel`.
    Pending,
    Panics,
}

/// A toolbox with the tool `act`.
pub(crate) struct Bench {
    behaviour: Behaviour,
    permission: Permission,
    calls: Arc<AtomicUsize>,
}

impl Default for Bench {
    fn default() -> Self {
        Self::with(Behaviour::Done)
    }
}

impl Bench {
    fn with(behaviour: Behaviour) -> Self {
        Self {
            behaviour,
            permission: Permission::Allow,
            calls: Arc::default(),
        }
    }

    /// A tool that settles only once `told`, whatever its time limit.
    pub(crate) fn late(told: &Arc<Notify>) -> Self {
        Self::with(Behaviour::Late(Arc::clone(told)))
    }

    /// A tool that delivers later, under the key `parcel`.
    pub(crate) fn pending() -> Self {
        Self::with(Behaviour::Pending)
    }

    /// A tool that panics.
    pub(crate) fn panicking() -> Self {
        Self::with(Behaviour::Panics)
    }

    /// Has a person asked before every call.
    pub(crate) fn asked_about(self) -> Self {
        Self {
            permission: Permission::Ask {
                reason: "nobody said".into(),
            },
            ..self
        }
    }

    /// Counts the calls.
    pub(crate) fn calls(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.calls)
    }
}

impl Toolbox for Bench {
    fn capabilities(&self) -> Vec<Capability> {
        vec![Capability {
            name: "act".into(),
            description: "Acts.".into(),
            schema: json!({ "type": "object" }),
            contract: None,
        }]
    }

    fn permission(&self, _: &OperationId, _: &str, _: &Value) -> Permission {
        self.permission.clone()
    }

    fn call(&self, _: &str, args: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let behaviour = self.behaviour.clone();
        Box::pin(async move {
            match behaviour {
                Behaviour::Done => ToolOutcome::Done(json!({ "acted": args })),
                Behaviour::Late(told) => {
                    told.notified().await;
                    ToolOutcome::Done(json!({ "late": true }))
                }
                Behaviour::Pending => ToolOutcome::Pending {
                    delivery: "parcel".into(),
                },
                Behaviour::Panics => panic!("the tool broke"),
            }
        })
    }
}
