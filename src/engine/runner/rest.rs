//! Where a run comes to rest, and how that reaches whoever waits for it.
//!
//! A rest travels in a [`Parcel`]: if the receiver is gone, or goes before it looked inside, the
//! operation's task hears of it, so that neither a continuation nor an outcome is lost on the way.

use tokio::sync::oneshot;

use crate::engine::operation::outcome::Outcome;
use crate::engine::operation::wait::Wait;
use crate::engine::runner::actor::Line;
use crate::engine::runner::continuation::Continuation;
use crate::engine::verify::Held;

/// Where a run came to rest.
#[derive(Debug)]
#[must_use = "a pause hands out the only right to go on"]
pub enum RunResult {
    /// It ended. Nothing changes its status any more.
    Settled(Box<Outcome>),
    /// It waits; a resume goes on.
    Paused(Box<Paused>),
    /// The runner was closed: the records say *ended with the process*, and there is no outcome.
    Ended,
}

/// A pause.
#[derive(Debug)]
pub struct Paused {
    /// The right to go on.
    pub continuation: Continuation,
    /// The worst of the waits.
    pub state: Held,
    /// Why, for people.
    pub reason: String,
    /// Everything that is waited for.
    pub waits: Vec<Wait>,
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// With an outcome.
    Settled(Box<Outcome>),
    /// By the runner's closing, without one.
    Closed,
}

/// What a receiver's silence means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Whoever ran or resumed is gone: the operation is cancelled.
    Cancels,
    /// Somebody looked on and stopped: the rest is kept for the next one.
    Keeps,
}

/// Whoever waits for the next rest.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) to: oneshot::Sender<Parcel>,
    pub(super) silence: Silence,
}

impl Waiter {
    /// A waiter and where its parcel arrives.
    pub(super) fn new(silence: Silence) -> (Self, oneshot::Receiver<Parcel>) {
        let (to, parcel) = oneshot::channel();
        (Self { to, silence }, parcel)
    }
}

/// A rest on its way.
#[derive(Debug)]
pub(super) struct Parcel {
    rest: Option<RunResult>,
    silence: Silence,
    line: Line,
}

impl Parcel {
    /// Packs a rest; `line` leads back to the operation's task.
    pub(super) fn new(rest: RunResult, silence: Silence, line: Line) -> Self {
        Self {
            rest: Some(rest),
            silence,
            line,
        }
    }

    /// Takes the rest out: from now on it is the receiver's.
    pub(super) fn open(mut self) -> RunResult {
        let rest = self.rest.take().expect("BUG: a parcel is opened once");
        match &rest {
            RunResult::Settled(_) | RunResult::Ended => {
                self.line.visit(|actor| actor.result_taken());
            }
            RunResult::Paused(_) => {}
        }
        rest
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            let silence = self.silence;
            self.line.visit(move |actor| actor.take_back(rest, silence));
        }
    }
}
