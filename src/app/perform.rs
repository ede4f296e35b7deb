//! Effects: what the screen asks for, done in tasks of their own, answered with messages.
//!
//! Each operation has one task that holds its right to go on. A confirmation is ordered from that
//! task; a cancellation isn't, since it must not wait behind one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::app::loading::{self, Loaded};
use crate::app::mailbox::Mailbox;
use crate::app::words;
use crate::engine::digest::Digest;
use crate::engine::id::{Generation, OperationId, SourceId};
use crate::engine::operation::wait::{Answer, WaitKey};
use crate::engine::ports::ReadSourceError;
use crate::host::session::{Live, Prepared, Rest, Session};
use crate::tui::effect::Effect;
use crate::tui::message::{Message, Previewed};
use crate::tui::state::Ticket;
use crate::tui::state::notice::Trouble;
use crate::tui::state::routine::Origin;
use crate::tui::text::Inert;

/// The shortest time between two views of one operation: about every second frame.
const BETWEEN_VIEWS: Duration = Duration::from_millis(33);
/// Confirmations of one operation that may wait for its task; one is on its way at a time.
const ORDERS: usize = 2;

/// Performs effects.
pub(super) struct Performer {
    session: Arc<Session>,
    mailbox: Arc<Mailbox>,
    results: mpsc::Sender<Message>,
    shared: Arc<Shared>,
}

/// What tasks leave for later ones.
#[derive(Default)]
struct Shared {
    ready: Mutex<HashMap<Ticket, (Prepared, Digest)>>,
    /// Files whose checks were accepted by running them (M6).
    accepted: Mutex<HashSet<Digest>>,
    operations: Mutex<HashMap<OperationId, mpsc::Sender<Order>>>,
}

/// Go on after this pause, with these answers.
struct Order {
    generation: Generation,
    answers: Vec<(WaitKey, Answer)>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change under these locks is whole by itself.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Performer {
    pub(super) fn new(
        session: Arc<Session>,
        mailbox: Arc<Mailbox>,
        results: mpsc::Sender<Message>,
    ) -> Self {
        Self {
            session,
            mailbox,
            results,
            shared: Arc::default(),
        }
    }

    /// Begins to do something; its answer comes as a message.
    pub(super) fn perform(&self, effect: Effect) {
        let session = self.session.clone();
        let shared = self.shared.clone();
        let results = self.results.clone();
        match effect {
            Effect::Load(ticket, origin) => self.answer(load(session, shared, ticket, origin)),
            Effect::Start(ticket, inputs) => {
                tokio::spawn(start(session, shared, results, ticket, inputs));
            }
            Effect::Unload(ticket) => {
                locked(&self.shared.ready).remove(&ticket);
            }
            Effect::Confirm(operation, generation, answers) => {
                let order = Order {
                    generation,
                    answers,
                };
                self.confirm(operation, order);
            }
            Effect::Cancel(operation) => self.answer(async move {
                let rest = session.cancel(&operation).await;
                Message::Cancelled(operation, rest, Instant::now())
            }),
            Effect::Inspect(operation) => self.answer(async move {
                let found = session.inspect(&operation).await;
                Message::Inspected(operation, found)
            }),
            Effect::ListSources(operation) => self.answer(async move {
                let listed = match session.sources(&operation).await {
                    // It has retired: every source is acknowledged, and the archive has them.
                    Err(ReadSourceError::UnknownOperation(_)) => Ok(Vec::new()),
                    listed => listed.map_err(|error| words::not_listed(&operation, &error)),
                };
                Message::Listed(operation, listed)
            }),
            Effect::Preview(operation, source, allowance) => {
                self.answer(preview(session, operation, source, allowance));
            }
            Effect::Archive(operation, source) => self.answer(async move {
                let kept = session.archive_exact(&operation, &source).await;
                let kept = kept.map_err(|error| words::not_kept(&error));
                Message::Archived(operation, source, kept)
            }),
            Effect::Acknowledge(operation, source, receipt) => self.answer(async move {
                let taken = session.acknowledge(&operation, &source, receipt).await;
                let taken = taken.map_err(|error| words::not_acknowledged(&error));
                Message::Acknowledged(operation, taken)
            }),
            Effect::Chat(text) => self.answer(async move {
                // The process's end is the only thing that stops a chat.
                let answer = session.chat(&text, CancellationToken::new()).await;
                let answer = answer.map(|text| Inert::text(&text));
                Message::Answered(answer.map_err(|error| words::no_answer(&error)))
            }),
            Effect::ChooseModel(name) => self.answer(async move {
                match session.choose_model(&name) {
                    Ok(()) => Message::ModelSelected(Inert::one_line(&session.model_text())),
                    Err(error) => Message::Failed(words::model_not_chosen(&error)),
                }
            }),
            Effect::ReadFolder(typed) => self.answer(async move {
                let folder = typed.clone();
                let names = tokio::task::spawn_blocking(move || loading::names(&folder)).await;
                Message::FolderRead {
                    typed,
                    names: names.unwrap_or_default(),
                }
            }),
            // They are the loop's.
            Effect::Redraw | Effect::Suspend | Effect::Quit => {}
        }
    }

    /// Follows an operation that the screen knows, until it retires.
    pub(super) fn watch(&self, operation: OperationId) {
        let session = self.session.clone();
        let mailbox = self.mailbox.clone();
        tokio::spawn(async move {
            let Some(mut version) = session.runner().watch(&operation) else {
                return;
            };
            loop {
                version.mark_unchanged();
                match session.runner().view(&operation).await {
                    Some(view) => mailbox.view(view),
                    None => return,
                }
                tokio::time::sleep(BETWEEN_VIEWS).await;
                if version.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn answer(&self, task: impl Future<Output = Message> + Send + 'static) {
        let results = self.results.clone();
        tokio::spawn(async move {
            // A loop that has ended needs no answers.
            let _ = results.send(task.await).await;
        });
    }

    fn confirm(&self, operation: OperationId, order: Order) {
        let orders = locked(&self.shared.operations).get(&operation).cloned();
        let taken = orders.map(|orders| orders.try_send(order).is_ok());
        if taken != Some(true) {
            let trouble = Trouble::of(
                "nothing was confirmed",
                "the operation takes no confirmation now",
                "look at the operation, then type /routine confirm",
            );
            self.answer(async move { Message::ConfirmRefused(operation, trouble) });
        }
    }
}

async fn load(
    session: Arc<Session>,
    shared: Arc<Shared>,
    ticket: Ticket,
    origin: Origin,
) -> Message {
    let read = tokio::task::spawn_blocking(move || {
        let loaded = loading::load(&session, origin, |digest| {
            locked(&shared.accepted).contains(digest)
        });
        loaded.map(|loaded| {
            let Loaded {
                prepared,
                digest,
                routine,
            } = loaded;
            locked(&shared.ready).insert(ticket, (prepared, digest));
            Box::new(routine)
        })
    });
    let loaded = read.await.unwrap_or_else(|error| {
        Err(Trouble::of(
            "the routine was not read",
            &error.to_string(),
            "see the event log",
        ))
    });
    Message::Loaded(ticket, loaded)
}

async fn start(
    session: Arc<Session>,
    shared: Arc<Shared>,
    results: mpsc::Sender<Message>,
    ticket: Ticket,
    inputs: BTreeMap<String, Value>,
) {
    let Some((prepared, digest)) = locked(&shared.ready).remove(&ticket) else {
        return;
    };
    let started = session.start(&prepared, inputs, CancellationToken::new());
    let live = match started {
        Ok(live) => live,
        Err(error) => {
            let refused = Err(words::not_started(&error));
            let message = Message::Started(ticket, refused, Instant::now());
            let _ = results.send(message).await;
            return;
        }
    };
    locked(&shared.accepted).insert(digest);
    let operation = live.operation().clone();
    let (sender, orders) = mpsc::channel(ORDERS);
    locked(&shared.operations).insert(operation.clone(), sender);
    let message = Message::Started(ticket, Ok(operation.clone()), Instant::now());
    if results.send(message).await.is_ok() {
        operate(&session, live, orders, &results).await;
    }
    locked(&shared.operations).remove(&operation);
}

/// One operation from rest to rest, until it has ended. Holds its right to go on.
async fn operate(
    session: &Session,
    mut live: Live,
    mut orders: mpsc::Receiver<Order>,
    results: &mpsc::Sender<Message>,
) {
    let operation = live.operation().clone();
    let mut rest = session.rest(&mut live).await.unwrap_or(Rest::Ended);
    loop {
        let has_ended = !matches!(rest, Rest::Paused { .. });
        let message = Message::Rested(operation.clone(), rest, Instant::now());
        if results.send(message).await.is_err() || has_ended {
            return;
        }
        rest = loop {
            let order = tokio::select! {
                biased;
                ended = end(session, &operation) => break ended,
                order = orders.recv() => order,
            };
            let Some(order) = order else {
                return;
            };
            match session
                .confirm(&mut live, order.generation, order.answers)
                .await
            {
                Ok(rest) => break rest,
                Err(refused) => {
                    let trouble = words::not_confirmed(&refused);
                    let message = Message::ConfirmRefused(operation.clone(), trouble);
                    if results.send(message).await.is_err() {
                        return;
                    }
                }
            }
        };
    }
}

/// The end of an operation that nobody confirmed: its deadline passed, or it was cancelled.
async fn end(session: &Session, operation: &OperationId) -> Rest {
    match session.ended(operation).await {
        Some(rest) => rest,
        // It isn't held any more, so nothing comes of it; the view showed how it ended.
        None => std::future::pending().await,
    }
}

async fn preview(
    session: Arc<Session>,
    operation: OperationId,
    source: SourceId,
    allowance: u64,
) -> Message {
    let previewed = match session.preview(&operation, &source, allowance).await {
        Ok(bytes) => {
            // Cleaning megabytes takes its time.
            let clean = tokio::task::spawn_blocking(move || Inert::bytes(&bytes)).await;
            clean.map(Previewed::Content).map_err(|error| {
                Trouble::of(
                    "the source can't be shown",
                    &error.to_string(),
                    "press Enter again",
                )
            })
        }
        Err(ReadSourceError::TooLarge { bytes, .. }) => Ok(Previewed::TooLarge(bytes)),
        Err(error) => Err(words::not_read(&error)),
    };
    Message::Previewed(source, previewed)
}
