//! Coming to rest: pauses, endings, who hears of them, and when an operation retires.
//!
//! A rest is handed to the one who ran or resumed; where nobody waits it is kept for whoever comes.

use tokio::sync::oneshot;

use crate::engine::id::Generation;
use crate::engine::operation::event::Event;
use crate::engine::operation::view::OperationState;
use crate::engine::runner::actor::{Actor, InFlight, Worth};
use crate::engine::runner::continuation::Continuation;
use crate::engine::runner::rest::{Ending, Parcel, Paused, RunResult, Silence, Waiter};
use crate::engine::runner::telling::Told;

/// Whether the host still wants an ended operation's unacknowledged sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    Sources,
    Nothing,
}

/// What the batch in hand leads to, once all of it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Pause(Generation),
    End,
}

/// Whether the operation was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cancellation {
    Open,
    Requested,
}

/// Where an operation's result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultState {
    /// Somebody waits for it, or may come for it.
    Wanted,
    /// Whoever it was for is gone.
    Unwanted,
    Taken,
}

/// Whether the leases are given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cleanup {
    Open,
    Done,
}

/// Rests, and whoever waits for them.
#[derive(Debug)]
pub(super) struct Rests {
    pub(super) waiter: Option<Waiter>,
    /// A rest that nobody waited for.
    kept: Option<RunResult>,
    ending: Option<Ending>,
    /// Whoever wants to hear of the ending besides.
    ended: Vec<oneshot::Sender<Ending>>,
    arrival: Option<Arrival>,
    pub(super) pause_reason: Option<String>,
    result: ResultState,
}

impl Rests {
    pub(super) fn for_waiter(waiter: Waiter) -> Self {
        Self {
            waiter: Some(waiter),
            kept: None,
            ending: None,
            ended: Vec::new(),
            arrival: None,
            pause_reason: None,
            result: ResultState::Wanted,
        }
    }
}

impl Actor {
    /// The batch in hand is done: goes where it leads.
    pub(super) fn arrive(&mut self) {
        match self.rests.arrival.take() {
            Some(Arrival::Pause(generation)) => self.pause(generation),
            Some(Arrival::End) => self.end(),
            None => {}
        }
    }

    /// The generation's continuation shall be handed out, once the batch in hand is done.
    pub(super) fn arrive_at_pause(&mut self, generation: Generation) {
        self.live = Some(generation);
        self.rests.arrival = Some(Arrival::Pause(generation));
    }

    /// The operation ended; its result shall be handed out, once the batch in hand is done.
    pub(super) fn arrive_at_end(&mut self, ending: Ending) {
        self.rests.ending = Some(ending);
        self.rests.arrival = Some(Arrival::End);
        // It counts as active until here (V27).
        self.slot = None;
    }

    /// No continuation is good any more.
    pub(super) fn revoke(&mut self) {
        self.live = None;
        if matches!(self.rests.kept, Some(RunResult::Paused(_))) {
            self.rests.kept = None;
        }
        if let Some(Arrival::Pause(_)) = self.rests.arrival {
            self.rests.arrival = None;
        }
    }

    pub(super) fn cleaned_up(&mut self) {
        self.lease = None;
        self.cleanup = Cleanup::Done;
        self.queue.push_back(Event::CleanupDone);
    }

    fn pause(&mut self, generation: Generation) {
        let OperationState::Paused(state) = self.operation.state() else {
            return;
        };
        let waits = self.operation.waits();
        let reason = self.rests.pause_reason.take().unwrap_or_else(|| {
            let reasons: Vec<&str> = waits.iter().map(|wait| wait.reason.as_str()).collect();
            reasons.join("; ")
        });
        let continuation = Continuation::issue(self.id.clone(), generation, self.runner.clone());
        self.rest(RunResult::Paused(Box::new(Paused {
            continuation,
            state,
            reason,
            waits,
        })));
    }

    fn end(&mut self) {
        let Some(ending) = self.rests.ending.clone() else {
            return;
        };
        for to in std::mem::take(&mut self.rests.ended) {
            self.report(to, ending.clone());
        }
        self.rest(match ending {
            Ending::Settled(outcome) => RunResult::Settled(outcome),
            Ending::Closed => RunResult::Ended,
        });
    }

    /// Hands a rest to whoever waits, or keeps it.
    fn rest(&mut self, rest: RunResult) {
        match self.rests.waiter.take() {
            Some(waiter) => self.hand_over(waiter, rest),
            None => self.rests.kept = Some(rest),
        }
    }

    fn hand_over(&mut self, waiter: Waiter, rest: RunResult) {
        let Some(line) = self.line() else {
            return;
        };
        let parcel = Parcel::new(rest, waiter.silence, line);
        self.tell(Told::Rest(waiter.to, parcel));
    }

    /// Lets somebody wait for the next rest that nobody else waits for.
    pub(super) fn next_rest(&mut self, waiter: Waiter) {
        match self.rests.kept.take() {
            Some(rest) => self.hand_over(waiter, rest),
            // Dropping the waiter answers: there is nothing to wait for.
            None if self.rests.waiter.is_some() || self.rests.ending.is_some() => {}
            None => self.rests.waiter = Some(waiter),
        }
    }

    /// Tells how the operation ends, behind every event.
    pub(super) fn tell_ending(&mut self, to: oneshot::Sender<Ending>) {
        match self.rests.ending.clone() {
            Some(ending) => self.report(to, ending),
            None => self.rests.ended.push(to),
        }
    }

    fn report(&mut self, to: oneshot::Sender<Ending>, ending: Ending) {
        let line = self.line();
        self.tell(Told::Then(Box::new(move || {
            if to.send(ending).is_ok()
                && let Some(line) = line
            {
                line.visit(|actor| actor.result_taken());
            }
        })));
    }

    /// The result is in somebody's hands.
    pub(super) fn result_taken(&mut self) {
        self.rests.result = ResultState::Taken;
    }

    /// A rest didn't arrive.
    pub(super) fn take_back(&mut self, rest: RunResult, silence: Silence) {
        match (silence, rest) {
            (Silence::Cancels, RunResult::Paused(_)) => self.waiter_gone(Silence::Cancels),
            (Silence::Cancels, RunResult::Settled(_) | RunResult::Ended) => {
                self.rests.result = ResultState::Unwanted;
            }
            (Silence::Keeps, RunResult::Paused(paused)) => {
                if self.live == Some(paused.continuation.generation()) {
                    self.rest(RunResult::Paused(paused));
                }
            }
            (Silence::Keeps, rest @ (RunResult::Settled(_) | RunResult::Ended)) => self.rest(rest),
        }
    }

    pub(super) fn waiter_gone(&mut self, silence: Silence) {
        self.rests.waiter = None;
        match silence {
            Silence::Cancels => {
                self.rests.result = ResultState::Unwanted;
                self.request_cancel();
            }
            Silence::Keeps => {}
        }
    }

    /// Cancels, once; what has ended stays as it is.
    pub(super) fn request_cancel(&mut self) {
        if self.cancellation == Cancellation::Open {
            self.cancellation = Cancellation::Requested;
            if !self.operation.state().is_terminal() {
                self.apply(Event::CancelRequested);
            }
        }
    }

    /// Closes; what has ended stays as it is.
    pub(super) fn request_close(&mut self) {
        if !self.operation.state().is_terminal() {
            self.apply(Event::CloseRequested);
        }
    }

    /// Whether the caller or its model task was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancellation == Cancellation::Requested || self.task.cancellation().is_cancelled()
    }

    /// V28: the result was taken, cleanup is done, and every source is acknowledged or released.
    pub(super) fn retires(&self) -> bool {
        if !self.operation.state().is_terminal()
            || self.rests.result == ResultState::Wanted
            || self.cleanup == Cleanup::Open
            || self.receipts.is_some()
        {
            return false;
        }
        match self.keeping {
            Keeping::Nothing => true,
            Keeping::Sources => {
                let comes = |it: &InFlight| match it.worth {
                    Worth::Model(_) | Worth::Tool => true,
                    Worth::Look => false,
                };
                self.unacknowledged == 0 && !self.in_flight.values().any(comes)
            }
        }
    }
}
