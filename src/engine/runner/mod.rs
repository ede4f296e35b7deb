//! The only place where effects are ordered: [`RoutineRunner`] drives operations through the ports.
//!
//! Each operation has a task of its own that owns the pure machine
//! ([`crate::engine::operation::Operation`]). It applies what happens, writes the account, and
//! performs what the machine asks for; each call of a port runs in a task of its own, so nothing
//! that a host's code does can hold up a cancellation, a deadline or an inspection.
//!
//! | file | idea |
//! |---|---|
//! | `preflight` | what is looked at before anything begins |
//! | `actor`, `perform` | the operation's task, and how each command is done |
//! | `account` | the lines of the log |
//! | `telling`, `rest`, `arrival` | events out, and results behind them |
//! | `continuation`, `admission` | the right to go on, and how it is used |
//! | `lease`, `model_task` | what an operation has of its host |
//! | `inspection`, `held` | looking at it, and its evidence |
//!
//! A step waits for its verifier; the host consents, the verifier looks again, and nothing is sent
//! twice:
//!
//! ```
//! # use std::collections::BTreeMap;
//! # use std::sync::Arc;
//! # use std::sync::atomic::{AtomicBool, Ordering};
//! # use amos_tui::engine::capability::Capability;
//! # use amos_tui::engine::evidence::{Source, SourceHeader};
//! # use amos_tui::engine::id::OperationId;
//! # use amos_tui::engine::operation::outcome::Status;
//! # use amos_tui::engine::operation::published::Published;
//! # use amos_tui::engine::ports::*;
//! # use amos_tui::engine::verify::{Decision, Finding, Held};
//! # use bytes::Bytes;
//! # use futures_util::future::BoxFuture;
//! # use serde_json::Value;
//! use amos_tui::engine::routine::{Known, load};
//! use amos_tui::engine::runner::{
//!     AgentLeases, Authorize, ModelTask, Ports, ResumeRequest, RoutineRunner, RunOptions,
//!     RunRequest, RunResult, RunnerLimits,
//! };
//!
//! /// Says "not yet" the first time, and "verified" from then on.
//! #[derive(Default)]
//! struct Patient(AtomicBool);
//!
//! impl Verifier for Patient {
//!     fn verify(&self, _: VerifyRequest, _: VerifyContext) -> BoxFuture<'static, Decision> {
//!         let asked_before = self.0.swap(true, Ordering::SeqCst);
//!         Box::pin(async move {
//!             if asked_before {
//!                 return Decision::by_policy();
//!             }
//!             let reason = "the build still runs".to_owned();
//!             let finding = Finding::Held { state: Held::Waiting, reason };
//!             Decision { finding, checks: Vec::new() }
//!         })
//!     }
//! }
//! #
//! # /// A host whose one tool answers at once, and that keeps nothing.
//! # struct Tiny;
//! # impl Models for Tiny {
//! #     fn call(&self, _: ModelRequest, _: ModelContext) -> BoxFuture<'static, ModelReply> {
//! #         unreachable!("this routine asks no model")
//! #     }
//! # }
//! # impl Toolbox for Tiny {
//! #     fn capabilities(&self) -> Vec<Capability> {
//! #         vec![Capability {
//! #             name: "build".into(),
//! #             description: "Builds.".into(),
//! #             schema: serde_json::json!({ "type": "object" }),
//! #             contract: None,
//! #         }]
//! #     }
//! #     fn permission(&self, _: &OperationId, _: &str, _: &Value) -> Permission {
//! #         Permission::Allow
//! #     }
//! #     fn call(&self, _: &str, _: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
//! #         Box::pin(std::future::ready(ToolOutcome::Done(Value::Null)))
//! #     }
//! # }
//! # impl SourceStore for Tiny {
//! #     fn hold(&self, _: &OperationId, _: &Source) -> Result<(), StorageError> {
//! #         Ok(())
//! #     }
//! #     fn read(&self, _: &OperationId, _: &SourceHeader) -> Result<Bytes, StorageError> {
//! #         Err(StorageError("nothing is kept".into()))
//! #     }
//! # }
//! # impl RunLog for Tiny {
//! #     fn append(&self, _: &OperationId, _: &[LogLine]) -> Result<(), StorageError> {
//! #         Ok(())
//! #     }
//! # }
//! # impl Clock for Tiny {
//! #     fn now(&self) -> String {
//! #         "2026-01-01T00:00:00.000Z".into()
//! #     }
//! # }
//! # impl Ids for Tiny {
//! #     fn operation(&self) -> OperationId {
//! #         "op-1".into()
//! #     }
//! # }
//!
//! const ROUTINE: &str = "
//! routine: build
//! entry_steps: [build]
//! steps:
//!   - { slug: build, type: tool, tool: build }
//!   - { slug: done, type: terminal }
//! edges:
//!   - { from: build, to: done }
//! ";
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let known = Known { tools: ["build".to_owned()].into(), ..Known::default() };
//! let routine = load(ROUTINE.as_bytes(), &known).routine.expect("it is valid");
//!
//! let ports = Ports {
//!     verifier: Arc::new(Patient::default()),
//!     // Everything else of this host is tiny.
//!     models: Arc::new(Tiny),
//!     tools: Arc::new(Tiny),
//!     sources: Arc::new(Tiny),
//!     log: Arc::new(Tiny),
//!     clock: Arc::new(Tiny),
//!     ids: Arc::new(Tiny),
//!     progress: Arc::new(|event: &Published| assert!(event.seq > 0)),
//! };
//! let runner = RoutineRunner::new(ports, RunnerLimits::default(), AgentLeases::new())?;
//!
//! let task = ModelTask::new();
//! let agents = Arc::new(BTreeMap::new());
//! let request = RunRequest {
//!     routine,
//!     agents: Arc::clone(&agents),
//!     model: ResolvedModel {
//!         provider: "offline".into(),
//!         model: "offline".into(),
//!         role: None,
//!         policy_version: None,
//!     },
//!     options: RunOptions { model_task: task.clone(), ..RunOptions::default() },
//! };
//! let RunResult::Paused(pause) = runner.run(request).await? else {
//!     panic!("it waits for the build");
//! };
//! assert_eq!(pause.reason, "the build still runs");
//!
//! let resume = ResumeRequest {
//!     model_task: task,
//!     agents,
//!     cancellation: None,
//!     answers: Vec::new(),
//!     authorize: Authorize::granted(),
//! };
//! let RunResult::Settled(outcome) = runner.resume(pause.continuation, resume).await? else {
//!     panic!("it is done");
//! };
//! assert_eq!(outcome.status, Status::Succeeded);
//! # Ok(())
//! # }
//! ```
//!
//! Not offered: restoring an operation after a restart, leases across processes, effects that
//! happen exactly once. The account tells what happened; nothing resumes from it (V33).

mod account;
mod actor;
mod admission;
mod alarm;
mod arrival;
mod continuation;
mod held;
mod inspection;
mod lease;
mod model_task;
mod perform;
mod preflight;
mod rest;
mod settings;
mod telling;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::engine::capability::Capability;
use crate::engine::digest::Digest;
use crate::engine::id::OperationId;
use crate::engine::operation::event::Event;
use crate::engine::operation::memory;
use crate::engine::operation::view::OperationView;
use crate::engine::ports::ToolOutcome;
use crate::engine::runner::actor::{Actor, Beginning, Line};
use crate::engine::runner::rest::{Parcel, Silence, Waiter};

pub use admission::ReceiptCheckRefused;
pub use continuation::{
    Authorization, AuthorizationRequest, Authorize, Continuation, Refusal, ResumeRefused,
    ResumeRequest,
};
pub use held::AcknowledgeError;
pub use inspection::{InspectedSource, Inspection, RemainingTime};
pub use lease::{AgentLeases, Lease, LeaseRefused, Use};
pub use model_task::{Account, ModelTask, ModelUsage};
pub use preflight::{RunOptions, RunReferences, RunRefused, RunRequest, VerificationPlan};
pub use rest::{Ending, Paused, RunResult};
pub use settings::{BadLimit, Ports, Progress, RunnerLimits};

/// Runs routines. Cheap to clone; clones are the same runner.
///
/// Everything but the constructor needs a tokio runtime around it. Dropping the last clone closes
/// the runner without waiting.
#[derive(Clone)]
pub struct RoutineRunner {
    inner: Arc<Inner>,
}

/// What the clones of a runner share.
pub(crate) struct Inner {
    ports: Ports,
    limits: RunnerLimits,
    leases: AgentLeases,
    tools: BTreeMap<String, Capability>,
    tool_digests: Arc<BTreeMap<String, Digest>>,
    slots: Arc<Semaphore>,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    door: Door,
    operations: HashMap<OperationId, Entry>,
    /// Handles whose callers went away while their authorisation was asked.
    parked: HashMap<OperationId, Continuation>,
}

/// Whether operations may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Door {
    #[default]
    Open,
    Closed,
}

/// One operation that is held here.
struct Entry {
    line: Line,
    version: watch::Receiver<u64>,
}

/// No such operation is held here: there never was one, or it has retired.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no operation {0} is held here")]
pub struct UnknownOperation(pub OperationId);

/// An operation that has begun. Dropping it cancels the operation.
#[must_use = "dropping it cancels the operation"]
pub struct Running {
    operation: OperationId,
    parcel: oneshot::Receiver<Parcel>,
}

impl Running {
    /// The operation's id.
    pub fn operation(&self) -> &OperationId {
        &self.operation
    }

    /// Ends where the operation comes to rest first.
    pub async fn rest(self) -> RunResult {
        match self.parcel.await {
            Ok(parcel) => parcel.open(),
            // Its task is gone with the runner or the runtime.
            Err(_) => RunResult::Ended,
        }
    }
}

impl RoutineRunner {
    /// A runner of these ports. Runners that lend the same agents share `leases`.
    ///
    /// # Errors
    /// [`BadLimit`] where a bound lies outside of its own bounds.
    pub fn new(ports: Ports, limits: RunnerLimits, leases: AgentLeases) -> Result<Self, BadLimit> {
        let limits = limits.checked()?;
        // Routine memory is there whatever the host has; what the host says of it wins.
        let tools: BTreeMap<String, Capability> = memory::capabilities()
            .into_iter()
            .chain(ports.tools.capabilities())
            .map(|tool| (tool.name.clone(), tool))
            .collect();
        let digests = tools.iter().map(|(name, it)| (name.clone(), it.digest()));
        Ok(Self {
            inner: Arc::new(Inner {
                tool_digests: Arc::new(digests.collect()),
                tools,
                slots: Arc::new(Semaphore::new(limits.max_active_operations)),
                ports,
                limits,
                leases,
                registry: Mutex::default(),
            }),
        })
    }

    /// Runs a routine to its first rest.
    ///
    /// Dropping the future cancels the operation.
    ///
    /// # Errors
    /// [`RunRefused`] where nothing was done.
    pub async fn run(&self, request: RunRequest) -> Result<RunResult, RunRefused> {
        Ok(self.start(request)?.rest().await)
    }

    /// Begins a run and gives its id at once.
    ///
    /// # Errors
    /// [`RunRefused`] where nothing was done.
    pub fn start(&self, request: RunRequest) -> Result<Running, RunRefused> {
        let inner = &self.inner;
        let options = &request.options;
        if inner.registry().door == Door::Closed {
            return Err(RunRefused::Closed);
        }
        let caller = options.cancellation.as_ref();
        if options.model_task.cancellation().is_cancelled()
            || caller.is_some_and(CancellationToken::is_cancelled)
        {
            return Err(RunRefused::AlreadyCancelled);
        }
        let limit = inner.limits.max_active_operations;
        let slot = Arc::clone(&inner.slots)
            .try_acquire_owned()
            .map_err(|_| RunRefused::TooManyActive { limit })?;
        let operation = inner.ports.ids.operation();
        let plan = preflight::plan(
            &request,
            operation.clone(),
            &inner.tools,
            inner.limits.max_observation_bytes,
        )?;
        let lease = inner.leases.take(&operation, preflight::borrowed(&plan))?;
        let (sender, inbox) = mpsc::unbounded_channel();
        let (version, seen) = watch::channel(0);
        let (waiter, parcel) = Waiter::new(Silence::Cancels);
        let entry = Entry {
            line: Line(sender),
            version: seen,
        };
        let beginning = Beginning {
            plan: Arc::new(plan),
            agents: request.agents,
            task: request.options.model_task,
            caller: request.options.cancellation,
            references: request.options.references,
            lease,
            slot,
            waiter,
            ports: inner.ports.clone(),
            tool_digests: Arc::clone(&inner.tool_digests),
            runner: Arc::downgrade(inner),
            line: entry.line.0.downgrade(),
            version,
        };
        {
            let mut registry = inner.registry();
            // Closing may have begun meanwhile; it sees this operation, or this sees it.
            if registry.door == Door::Closed {
                return Err(RunRefused::Closed);
            }
            registry.operations.insert(operation.clone(), entry);
        }
        tokio::spawn(Actor::new(beginning).run(inbox));
        Ok(Running { operation, parcel })
    }

    /// Waits for an operation's next rest that nobody else waits for, such as the outcome of one
    /// that was cancelled while paused. `None` where there is nothing to wait for.
    pub async fn next_rest(&self, operation: &OperationId) -> Option<RunResult> {
        let (waiter, parcel) = Waiter::new(Silence::Keeps);
        self.ask(operation, move |actor| actor.next_rest(waiter))
            .await?;
        Some(parcel.await.ok()?.open())
    }

    /// Cancels an operation in any state, and waits for its end. What has ended stays as it is.
    ///
    /// It never claims to know whether an external action happened: the outcome names the effect
    /// class (V31, L5).
    pub async fn cancel(&self, operation: &OperationId) -> Result<Ending, UnknownOperation> {
        let unknown = || UnknownOperation(operation.clone());
        let (to, ending) = oneshot::channel();
        self.ask(operation, move |actor| {
            actor.tell_ending(to);
            actor.request_cancel();
        })
        .await
        .ok_or_else(unknown)?;
        ending.await.map_err(|_| unknown())
    }

    /// Waits for an operation's end and changes nothing, whoever else waits for it.
    pub async fn ended(&self, operation: &OperationId) -> Result<Ending, UnknownOperation> {
        let unknown = || UnknownOperation(operation.clone());
        let (to, ending) = oneshot::channel();
        self.ask(operation, move |actor| actor.tell_ending(to))
            .await
            .ok_or_else(unknown)?;
        ending.await.map_err(|_| unknown())
    }

    /// Delivers a pending tool call (V11). One that nobody waits for becomes a late source.
    pub async fn deliver(
        &self,
        operation: &OperationId,
        delivery: impl Into<String>,
        outcome: ToolOutcome,
    ) -> Result<(), UnknownOperation> {
        let delivery = delivery.into();
        self.ask(operation, move |actor| {
            actor.apply(Event::ToolDelivered { delivery, outcome });
        })
        .await
        .ok_or_else(|| UnknownOperation(operation.clone()))
    }

    /// Closes the runner: nothing begins any more, continuations are revoked, running work is asked
    /// to stop. Ends when every operation has, and says which are still held for their sources;
    /// reading and acknowledging go on. May be called again (V30).
    pub async fn close(&self) -> Vec<OperationId> {
        let lines = self.inner.shut();
        let mut endings = Vec::with_capacity(lines.len());
        for line in lines {
            let (to, ending) = oneshot::channel();
            line.visit(move |actor| {
                actor.tell_ending(to);
                actor.request_close();
            });
            endings.push(ending);
        }
        for ending in endings {
            // A task that is gone has ended too.
            let _ = ending.await;
        }
        self.operations()
    }

    /// The operations that are held here, in no particular order.
    pub fn operations(&self) -> Vec<OperationId> {
        self.inner.registry().operations.keys().cloned().collect()
    }

    /// Looks at an operation: locally, in bounded space, without a model call. `None` where it isn't
    /// held, or has retired: its result was taken, cleanup is done, and every source is
    /// acknowledged or released (V28).
    pub async fn inspect(&self, operation: &OperationId) -> Option<Inspection> {
        self.look(operation, Actor::inspection).await
    }

    /// A detached picture of all of an operation, for a screen. Its cost grows with the steps.
    pub async fn view(&self, operation: &OperationId) -> Option<OperationView> {
        self.look(operation, |actor| actor.operation.view()).await
    }

    /// A number that grows whenever an operation may look different, so that a screen knows when to
    /// ask again. It is closed when the operation retires.
    pub fn watch(&self, operation: &OperationId) -> Option<watch::Receiver<u64>> {
        let registry = self.inner.registry();
        Some(registry.operations.get(operation)?.version.clone())
    }

    /// The leases that this runner takes.
    pub fn leases(&self) -> &AgentLeases {
        &self.inner.leases
    }

    /// Runs something in an operation's task. `None` where that is gone.
    async fn ask<T: Send + 'static>(
        &self,
        operation: &OperationId,
        ask: impl FnOnce(&mut Actor) -> T + Send + 'static,
    ) -> Option<T> {
        let (to, answer) = oneshot::channel();
        self.line(operation)?.visit(move |actor| {
            // Whoever asked may be gone.
            let _ = to.send(ask(actor));
        });
        answer.await.ok()
    }

    /// Looks at something in an operation's task. `None` where that is gone.
    async fn look<T: Send + 'static>(
        &self,
        operation: &OperationId,
        look: impl FnOnce(&Actor) -> T + Send + 'static,
    ) -> Option<T> {
        let (to, answer) = oneshot::channel();
        self.line(operation)?.look(move |actor| {
            // Whoever asked may be gone.
            let _ = to.send(look(actor));
        });
        answer.await.ok()
    }

    fn line(&self, operation: &OperationId) -> Option<Line> {
        let registry = self.inner.registry();
        Some(registry.operations.get(operation)?.line.clone())
    }
}

impl Inner {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        // Nothing panics while the table is locked, so a poisoned one is still whole.
        self.registry
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Keeps a handle for its owner, while its operation is held.
    fn park(&self, continuation: Continuation) {
        let mut registry = self.registry();
        let operation = continuation.operation();
        if registry.operations.contains_key(operation) {
            let operation = operation.clone();
            registry.parked.insert(operation, continuation);
        }
    }

    /// An operation has retired.
    fn forget(&self, operation: &OperationId) {
        let mut registry = self.registry();
        registry.operations.remove(operation);
        registry.parked.remove(operation);
    }

    /// Lets nothing begin any more, and gives the ways to what has.
    fn shut(&self) -> Vec<Line> {
        let mut registry = self.registry();
        registry.door = Door::Closed;
        let entries = registry.operations.values();
        entries.map(|entry| entry.line.clone()).collect()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for line in self.shut() {
            line.visit(|actor| actor.request_close());
        }
    }
}
