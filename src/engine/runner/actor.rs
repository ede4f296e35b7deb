//! The one task that owns an operation: it takes messages, applies events, and orders effects.
//!
//! For every event: what happened and what is intended goes to the account, sources go to their
//! store, and only then is anything done. Whatever the store or the account can't take is not done.
//! How each command is done stands in [`crate::engine::runner::perform`].

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::engine::digest::Digest;
use crate::engine::evidence::Source;
use crate::engine::id::{Generation, OperationId, RequestId, SourceId};
use crate::engine::operation::Operation;
use crate::engine::operation::event::{Command, Event, VerifierFailure};
use crate::engine::operation::plan::{AgentProfile, Plan};
use crate::engine::operation::published::{PublicEvent, Published};
use crate::engine::ports::{ModelOutcome, ModelReply, Permission, ResolvedModel};
use crate::engine::ports::{StorageError, ToolOutcome};
use crate::engine::runner::Inner;
use crate::engine::runner::account;
use crate::engine::runner::alarm::Alarm;
use crate::engine::runner::arrival::{Cancellation, Cleanup, Keeping, Rests};
use crate::engine::runner::lease::Lease;
use crate::engine::runner::model_task::ModelTask;
use crate::engine::runner::preflight::RunReferences;
use crate::engine::runner::rest::{Silence, Waiter};
use crate::engine::runner::settings::Ports;
use crate::engine::runner::telling::{self, Told};
use crate::engine::verify::Decision;

/// What an operation's task is told.
pub(super) enum Message {
    /// A model request went out.
    Sent { request: RequestId, attempt: u32 },
    /// A port answered.
    Replied { request: RequestId, reply: Reply },
    /// A tool passed its time limit and hasn't answered; its reply may still come.
    Overdue { request: RequestId },
    /// Somebody looks at the operation or changes it.
    Visit(Visit),
    /// Somebody looks, which changes nothing.
    Look(Look),
}

type Visit = Box<dyn FnOnce(&mut Actor) + Send>;
type Look = Box<dyn FnOnce(&Actor) + Send>;

/// A port's answer.
pub(super) enum Reply {
    Model(Box<ModelReply>),
    Tool(ToolOutcome),
    Permission(Permission),
    Verifier(Result<Decision, VerifierFailure>),
}

/// The way to an operation's task.
///
/// The channel is unbounded: what is in flight bounds it (a few messages a request), and a port
/// must be able to report from a place that can't wait ([`crate::engine::ports::Sending`]).
#[derive(Debug, Clone)]
pub(super) struct Line(pub(super) mpsc::UnboundedSender<Message>);

impl Line {
    /// Sends a message; a task that is gone needs none.
    pub(super) fn send(&self, message: Message) {
        let _ = self.0.send(message);
    }

    /// Runs something in the operation's task.
    pub(super) fn visit(&self, visit: impl FnOnce(&mut Actor) + Send + 'static) {
        self.send(Message::Visit(Box::new(visit)));
    }

    /// Looks at the operation in its task. Whoever watches it hears nothing of that.
    pub(super) fn look(&self, look: impl FnOnce(&Actor) + Send + 'static) {
        self.send(Message::Look(Box::new(look)));
    }
}

/// What is in flight under a request.
pub(super) struct InFlight {
    /// Asks it to stop.
    pub(super) stop: CancellationToken,
    /// What its reply is worth when nobody waits for it any more.
    pub(super) worth: Worth,
}

/// What a late reply is worth.
pub(super) enum Worth {
    /// It is evidence: of this model.
    Model(ResolvedModel),
    /// It is evidence: of an effect.
    Tool,
    /// Nothing: a look changes nothing.
    Look,
}

/// What an operation's task begins with.
pub(super) struct Beginning {
    pub(super) plan: Arc<Plan>,
    pub(super) agents: Arc<BTreeMap<String, AgentProfile>>,
    pub(super) task: ModelTask,
    pub(super) caller: Option<CancellationToken>,
    pub(super) references: RunReferences,
    pub(super) lease: Lease,
    pub(super) slot: OwnedSemaphorePermit,
    pub(super) waiter: Waiter,
    pub(super) ports: Ports,
    pub(super) tool_digests: Arc<BTreeMap<String, Digest>>,
    pub(super) runner: Weak<Inner>,
    pub(super) line: mpsc::WeakUnboundedSender<Message>,
    pub(super) version: watch::Sender<u64>,
}

/// One operation and everything that surrounds it.
pub(super) struct Actor {
    pub(super) operation: Operation,
    pub(super) id: OperationId,
    pub(super) ports: Ports,
    pub(super) agents: Arc<BTreeMap<String, AgentProfile>>,
    pub(super) task: ModelTask,
    pub(super) caller: Option<CancellationToken>,
    pub(super) alarm: Alarm,
    pub(super) in_flight: HashMap<RequestId, InFlight>,
    /// The parent of every request's cancellation.
    pub(super) root: CancellationToken,
    /// The generation whose continuation is good.
    pub(super) live: Option<Generation>,
    /// Where each source stands among the operation's sources.
    pub(super) positions: HashMap<SourceId, usize>,
    pub(super) unacknowledged: usize,
    pub(super) keeping: Keeping,
    pub(super) rests: Rests,
    pub(super) lease: Option<Lease>,
    pub(super) receipts: Option<oneshot::Sender<Result<Decision, VerifierFailure>>>,
    pub(super) queue: VecDeque<Event>,
    began: Instant,
    seq: u64,
    references: RunReferences,
    tool_digests: Arc<BTreeMap<String, Digest>>,
    pub(super) runner: Weak<Inner>,
    line: mpsc::WeakUnboundedSender<Message>,
    told: mpsc::UnboundedSender<Told>,
    telling: JoinHandle<()>,
    version: watch::Sender<u64>,
    pub(super) slot: Option<OwnedSemaphorePermit>,
    storage: Storage,
    pub(super) cancellation: Cancellation,
    pub(super) cleanup: Cleanup,
    _stops_what_is_left: DropGuard,
    _registered: Registered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    Sound,
    Failed,
}

/// Takes the operation out of the runner's table, however its task ends.
struct Registered {
    runner: Weak<Inner>,
    operation: OperationId,
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some(runner) = self.runner.upgrade() {
            runner.forget(&self.operation);
        }
    }
}

/// One command, sorted by how it is done.
enum Deed {
    Tell(Published),
    Do(Command),
}

impl Actor {
    pub(super) fn new(beginning: Beginning) -> Self {
        let Beginning {
            plan,
            agents,
            task,
            caller,
            references,
            lease,
            slot,
            waiter,
            ports,
            tool_digests,
            runner,
            line,
            version,
        } = beginning;
        let id = plan.operation.clone();
        let root = CancellationToken::new();
        let (told, telling) = telling::start(Arc::clone(&ports.progress));
        Self {
            told,
            telling,
            _stops_what_is_left: root.clone().drop_guard(),
            _registered: Registered {
                runner: runner.clone(),
                operation: id.clone(),
            },
            operation: Operation::new(plan),
            id,
            ports,
            agents,
            task,
            caller,
            alarm: Alarm::default(),
            in_flight: HashMap::new(),
            root,
            live: None,
            positions: HashMap::new(),
            unacknowledged: 0,
            keeping: Keeping::Sources,
            rests: Rests::for_waiter(waiter),
            lease: Some(lease),
            receipts: None,
            queue: VecDeque::new(),
            began: Instant::now(),
            seq: 0,
            references,
            tool_digests,
            runner,
            line,
            version,
            slot: Some(slot),
            storage: Storage::Sound,
            cancellation: Cancellation::Open,
            cleanup: Cleanup::Open,
        }
    }

    /// Lives until the operation retires, or nobody can reach it any more.
    pub(super) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Message>) {
        self.apply(Event::Started);
        let sleep = tokio::time::sleep_until(self.began);
        tokio::pin!(sleep);
        while !self.retires() {
            let next = self.alarm.next();
            if let Some(next) = next
                && next != sleep.deadline()
            {
                sleep.as_mut().reset(next);
            }
            let open = self.cancellation == Cancellation::Open;
            tokio::select! {
                // Timers and cancellations first: replies that keep coming must not hold them up.
                biased;
                () = &mut sleep, if next.is_some() => self.fire(),
                () = cancelled(&self.task, self.caller.as_ref()), if open => self.request_cancel(),
                silence = gone(&mut self.rests.waiter) => self.waiter_gone(silence),
                message = inbox.recv() => match message {
                    Some(Message::Look(look)) => {
                        look(&self);
                        continue;
                    }
                    Some(message) => self.take(message),
                    None => break,
                },
            }
            self.version.send_modify(|version| *version += 1);
        }
        // Held here until the last event is told: whoever waits for its end may exit right after.
        drop(self.told);
        // The task catches what callbacks do.
        let _ = self.telling.await;
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Sent { request, attempt } => {
                if let Some(InFlight {
                    worth: Worth::Model(model),
                    ..
                }) = self.in_flight.get(&request)
                {
                    self.task.request_sent(model);
                }
                self.apply(Event::RequestSent { request, attempt });
            }
            Message::Replied { request, reply } => {
                let was = self.in_flight.remove(&request);
                self.apply(match reply {
                    Reply::Model(reply) => {
                        if let (
                            ModelOutcome::Answered(answer),
                            Some(InFlight {
                                worth: Worth::Model(model),
                                ..
                            }),
                        ) = (&reply.outcome, was)
                        {
                            self.task.answered(&model, answer.usage);
                        }
                        Event::ModelReplied { request, reply }
                    }
                    Reply::Tool(outcome) => Event::ToolReplied { request, outcome },
                    Reply::Permission(permission) => Event::PermissionDecided {
                        request,
                        permission,
                    },
                    Reply::Verifier(decision) => Event::VerifierDecided { request, decision },
                });
            }
            Message::Overdue { request } => self.apply(Event::ToolReplied {
                request,
                outcome: ToolOutcome::TimedOut,
            }),
            Message::Visit(visit) => visit(self),
            Message::Look(look) => look(self),
        }
    }

    fn fire(&mut self) {
        while let Some(timer) = self.alarm.due(Instant::now()) {
            self.apply(Event::TimerFired(timer));
        }
    }

    /// Applies an event and everything that follows from it at once.
    pub(super) fn apply(&mut self, event: Event) {
        self.queue.push_back(event);
        while let Some(event) = self.queue.pop_front() {
            self.apply_one(event);
        }
        self.arrive();
    }

    fn apply_one(&mut self, event: Event) {
        let at = self.ports.clock.now();
        let mut lines = Vec::new();
        match &event {
            Event::Started => {
                lines.push(account::started(
                    &at,
                    self.operation.plan(),
                    &self.references,
                ));
            }
            event => lines.extend(account::happened(&at, event)),
        }
        let now = self.began.elapsed().as_millis() as u64;
        let commands = self.operation.apply(now, event).unwrap_or_else(|illegal| {
            debug_assert!(false, "BUG: {illegal}");
            lines.push(account::refused(&at, &illegal));
            Vec::new()
        });
        let mut trouble = None;
        let mut deeds = Vec::with_capacity(commands.len());
        for command in commands {
            match command {
                Command::Publish(event) => {
                    if let PublicEvent::OperationPaused { reason, .. } = &*event {
                        self.rests.pause_reason = Some(reason.clone());
                    }
                    self.seq += 1;
                    let published = Published {
                        seq: self.seq,
                        at: at.clone(),
                        operation: self.id.clone(),
                        event: *event,
                    };
                    lines.push(account::published(&published));
                    deeds.push(Deed::Tell(published));
                }
                Command::RecordSource(source) | Command::RecordLateSource(source) => {
                    if let Err(error) = self.hold(&source) {
                        trouble.get_or_insert(error);
                    }
                }
                command => {
                    lines.extend(account::intent(&at, &command, &self.tool_digests));
                    if let Command::ReportReceipts(decision) = &command {
                        lines.push(account::receipts(&at, decision));
                    }
                    deeds.push(Deed::Do(command));
                }
            }
        }
        if let Err(error) = self.append(&lines) {
            trouble.get_or_insert(error);
        }
        if let Some(error) = &trouble {
            self.storage_failed(error);
            self.take_success_back(&mut deeds, error);
        }
        for deed in deeds {
            match (deed, &trouble) {
                (Deed::Tell(published), _) => self.tell(Told::Event(published)),
                (Deed::Do(command), None) => self.perform(command),
                (Deed::Do(command), Some(error)) => self.leave_out(command, error),
            }
        }
    }

    fn hold(&mut self, source: &Source) -> Result<(), StorageError> {
        self.positions
            .insert(source.header.id.clone(), self.positions.len());
        self.unacknowledged += 1;
        guarded(|| self.ports.sources.hold(&self.id, source))
    }

    fn append(&self, lines: &[crate::engine::ports::LogLine]) -> Result<(), StorageError> {
        if lines.is_empty() {
            return Ok(());
        }
        guarded(|| self.ports.log.append(&self.id, lines))
    }

    /// Tells the machine, once: a full disk fails a run, it doesn't flood it.
    fn storage_failed(&mut self, error: &StorageError) {
        if self.storage == Storage::Sound && !self.operation.state().is_terminal() {
            self.storage = Storage::Failed;
            self.queue.push_back(Event::StorageFailed {
                reason: error.to_string(),
            });
        }
    }

    /// The batch in hand settled the operation and can't be kept: whoever waits hears of a failure,
    /// because a success without its account is none (L10).
    fn take_success_back(&mut self, deeds: &mut [Deed], error: &StorageError) {
        let settles = |deed: &Deed| matches!(deed, Deed::Do(Command::Settle(_)));
        if !deeds.iter().any(settles) {
            return;
        }
        let Some(outcome) = self.operation.settled_unaccounted(error.to_string()) else {
            return;
        };
        for deed in deeds {
            match deed {
                Deed::Tell(published) => {
                    if let PublicEvent::OperationSettled { .. } = published.event {
                        published.event = PublicEvent::settled(outcome.clone());
                        // A little room may be left; where there is none, the account ends before.
                        let _ = self.append(&[account::published(published)]);
                    }
                }
                Deed::Do(Command::Settle(settled)) => **settled = outcome.clone(),
                Deed::Do(_) => {}
            }
        }
    }

    pub(super) fn tell(&self, told: Told) {
        // The other end lives as long as this one.
        let _ = self.told.send(told);
    }

    /// The line to this task, while anybody else holds it too.
    pub(super) fn line(&self) -> Option<Line> {
        self.line.upgrade().map(Line)
    }
}

/// Ends when the model task or the caller is cancelled.
async fn cancelled(task: &ModelTask, caller: Option<&CancellationToken>) {
    match caller {
        None => task.cancellation().cancelled().await,
        Some(caller) => {
            tokio::select! {
                () = task.cancellation().cancelled() => {}
                () = caller.cancelled() => {}
            }
        }
    }
}

/// Ends when whoever waits is gone; says what that means.
async fn gone(waiter: &mut Option<Waiter>) -> Silence {
    match waiter {
        Some(waiter) => {
            waiter.to.closed().await;
            waiter.silence
        }
        None => std::future::pending().await,
    }
}

/// A store or an account that panics has failed, and that is all (V14).
fn guarded(act: impl FnOnce() -> Result<(), StorageError>) -> Result<(), StorageError> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        Err(StorageError(format!(
            "it panicked: {}",
            crate::engine::runner::perform::panic_text(&*panic)
        )))
    })
}
