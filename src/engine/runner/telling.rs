//! Tells progress what happened, and hands results over behind it.
//!
//! One task an operation. Events and results go through one queue, so a result never arrives before
//! the events that explain it (G10), and a callback that panics costs nobody anything (V14).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::engine::operation::published::Published;
use crate::engine::runner::rest::Parcel;
use crate::engine::runner::settings::Progress;

/// One entry of the queue.
pub(super) enum Told {
    /// An event.
    Event(Published),
    /// A result for whoever waits.
    Rest(oneshot::Sender<Parcel>, Parcel),
    /// Something to be done once everything before was told.
    Then(Box<dyn FnOnce() + Send>),
}

/// Starts the task, which ends when the sender is gone and everything was told.
///
/// The queue is unbounded: its length is bounded by what one operation can publish while a callback
/// is slow, and an operation must neither wait for a callback nor leave out an event.
pub(super) fn start(progress: Arc<dyn Progress>) -> (mpsc::UnboundedSender<Told>, JoinHandle<()>) {
    let (sender, mut queue) = mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        while let Some(told) = queue.recv().await {
            match told {
                Told::Event(event) => {
                    // What a callback leaves half done is its own; we keep nothing of it.
                    let _ = catch_unwind(AssertUnwindSafe(|| progress.published(&event)));
                }
                // A parcel that can't be handed over reports that itself.
                Told::Rest(to, parcel) => drop(to.send(parcel)),
                Told::Then(act) => act(),
            }
        }
    });
    (sender, task)
}
