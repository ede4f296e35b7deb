//! What came back from the session.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use crate::engine::evidence::Receipt;
use crate::engine::id::{OperationId, SourceId};
use crate::engine::operation::outcome::{Outcome, Status};
use crate::engine::operation::view::OperationView;
use crate::host::session::types::{Inspected, Rest, SourceRow};
use crate::host::session::wording;
use crate::tui::effect::Effect;
use crate::tui::message::Previewed;
use crate::tui::state::confirm::place;
use crate::tui::state::document::Document;
use crate::tui::state::log::{Answering, Speaker};
use crate::tui::state::modal::{Dialog, Modal, Reader};
use crate::tui::state::notice::{Notice, Trouble};
use crate::tui::state::operations::{Asked, Closed, Operation, Pause};
use crate::tui::state::routine::LoadedRoutine;
use crate::tui::state::sources::Preview;
use crate::tui::state::{Loading, Screen, State, Ticket};
use crate::tui::text::Inert;

/// A routine was read and checked: it starts, unless something has to be asked or shown first.
pub(super) fn loaded(
    state: &mut State,
    ticket: Ticket,
    loaded: Result<Box<LoadedRoutine>, Trouble>,
) -> Vec<Effect> {
    if state.loading.remove(&ticket).is_none() {
        return vec![Effect::Unload(ticket)];
    }
    let routine = match loaded {
        Ok(routine) => routine,
        Err(trouble) => return tell(state, trouble),
    };
    let dialog = Dialog::run(ticket, &routine, state);
    state.loading.insert(ticket, Loading::Ready(routine));
    match dialog {
        None => vec![Effect::Start(ticket, BTreeMap::new())],
        Some(dialog) => {
            state.propose(Modal::Ask(Box::new(dialog)));
            Vec::new()
        }
    }
}

/// A routine was started, or refused.
pub(super) fn started(
    state: &mut State,
    ticket: Ticket,
    started: Result<OperationId, Trouble>,
    now: Instant,
) -> Vec<Effect> {
    let loading = state.loading.remove(&ticket);
    match (started, loading) {
        (Ok(id), Some(Loading::Ready(routine))) => {
            state.operations.add(Operation::begun(id, *routine, now));
            state.screen = Screen::Overview;
            state.details_scroll = 0;
        }
        (Err(trouble), _) => return tell(state, trouble),
        (Ok(_), Some(Loading::Asked(_)) | None) => {}
    }
    Vec::new()
}

/// An operation came to rest. It asks nothing by itself: a badge says that it waits.
pub(super) fn rested(state: &mut State, id: &OperationId, rest: Rest, now: Instant) -> Vec<Effect> {
    let Some(operation) = state.operations.get_mut(id) else {
        return Vec::new();
    };
    match rest {
        Rest::Paused {
            state: held,
            reason,
            waits,
            generation,
        } => {
            // A cancellation on its way is not undone by a pause that came first.
            if operation.asked != Asked::Cancel {
                operation.asked = Asked::Nothing;
                operation.pause = Some(Pause {
                    state: held,
                    reason: Inert::one_line(&reason),
                    waits,
                    generation,
                });
            }
        }
        Rest::Settled(outcome) => {
            let was_asked = operation.asked;
            end(operation, now);
            operation.outcome = Some(*outcome.clone());
            if was_asked != Asked::Cancel {
                state.notice = Some(told(&operation.label, &outcome));
            }
        }
        Rest::Ended => {
            end(operation, now);
            operation.closed = Closed::Yes;
        }
    }
    refresh_sources(state, id)
}

/// How an operation ended, in a few words.
fn told(label: &Inert, outcome: &Outcome) -> Notice {
    let text = wording::ending(outcome);
    let headline = text.first().map_or("", String::as_str);
    match outcome.status {
        Status::Succeeded => Notice::Said(Inert::one_line(&format!("{label}: {headline}"))),
        Status::Failed | Status::Cancelled => Notice::Trouble(Trouble::of(
            &format!("{label} has ended"),
            headline,
            "type /routine inspect for effects and what is required",
        )),
    }
}

fn end(operation: &mut Operation, now: Instant) {
    operation.pause = None;
    operation.asked = Asked::Nothing;
    operation.ended.get_or_insert(now);
}

/// Sources that are looked at are listed anew when an operation moved.
fn refresh_sources(state: &State, id: &OperationId) -> Vec<Effect> {
    match state.screen {
        Screen::Sources => vec![Effect::ListSources(id.clone())],
        Screen::Overview => Vec::new(),
    }
}

/// A confirmation was refused: the pause is as it was, and can be answered again.
pub(super) fn confirm_refused(
    state: &mut State,
    id: &OperationId,
    trouble: Trouble,
) -> Vec<Effect> {
    if let Some(operation) = state.operations.get_mut(id)
        && operation.asked == Asked::Confirm
    {
        operation.asked = Asked::Nothing;
    }
    tell(state, trouble)
}

/// A cancellation came to its end: what may have been done is shown (L5).
pub(super) fn cancelled(
    state: &mut State,
    id: &OperationId,
    rest: Option<Rest>,
    now: Instant,
) -> Vec<Effect> {
    let Some(operation) = state.operations.get_mut(id) else {
        return Vec::new();
    };
    end(operation, now);
    let label = operation.label.clone();
    match rest {
        Some(Rest::Settled(outcome)) => {
            operation.outcome.get_or_insert_with(|| *outcome.clone());
            let mut text = String::new();
            for line in wording::ending(&outcome) {
                // Writing to a String can't fail.
                let _ = writeln!(text, "{line}");
            }
            if outcome.effects.is_some() && wording::required(&outcome).next().is_none() {
                text.push_str("required: nothing\n");
            }
            state.propose(Modal::Read(Reader {
                title: Inert::one_line(&format!("{label} was cancelled")),
                document: Document::of(Inert::text(text.trim_end())),
                scroll: 0,
            }));
        }
        Some(Rest::Ended) => operation.closed = Closed::Yes,
        Some(Rest::Paused { .. }) | None => {}
    }
    refresh_sources(state, id)
}

/// An operation looks different.
pub(super) fn viewed(state: &mut State, view: OperationView) -> Vec<Effect> {
    if let Some(operation) = state.operations.get_mut(&view.operation) {
        if view.state.is_terminal() {
            operation.pause = None;
            operation.ended.get_or_insert(state.now);
        }
        operation.seen(view);
    }
    Vec::new()
}

/// An operation was inspected.
pub(super) fn inspected(
    state: &mut State,
    id: &OperationId,
    found: Option<Inspected>,
) -> Vec<Effect> {
    let Some(operation) = state.operations.get(id) else {
        return Vec::new();
    };
    let text = inspection(operation, found.as_ref());
    let title = Inert::one_line(&format!("{} (no model was asked)", operation.label));
    state.propose(Modal::Read(Reader {
        title,
        document: Document::of(Inert::text(&text)),
        scroll: 0,
    }));
    Vec::new()
}

fn inspection(operation: &Operation, found: Option<&Inspected>) -> String {
    let mut text = String::new();
    // Writing to a String can't fail.
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("operation", operation.id.as_str());
    line("routine", &operation.routine.definition.name);
    line("state", operation.state().label());
    if let Some(view) = &operation.view {
        line("model", &view.model);
        line("generation", &view.generation.0.to_string());
        line("effects", view.effects.label());
    }
    if let Some(pause) = &operation.pause {
        line("reason", pause.reason.as_str());
    }
    for wait in operation.waits() {
        let what = format!(
            "{}: {} ({}): {}",
            place(&wait.key),
            wait.state.label(),
            wait.kind.label(),
            wait.reason
        );
        line("wait", &what);
    }
    match found {
        None => line(
            "held",
            "no longer: it ended and its sources are acknowledged",
        ),
        Some(found) => {
            for (timer, ms) in &found.timers {
                line("timer", &format!("{timer}: {} s left", ms.div_ceil(1_000)));
            }
            line("in flight", &found.in_flight.to_string());
            let sources = format!(
                "{}, {} unacknowledged; index {}",
                found.sources, found.unacknowledged, found.source_index
            );
            line("sources", &sources);
            match &found.usage {
                Some(usage) if usage.is_empty() => line("usage", "none"),
                Some(usage) => {
                    for usage in usage {
                        line("usage", usage);
                    }
                }
                None => line("usage", "too large to show"),
            }
        }
    }
    if let Some(outcome) = &operation.outcome {
        for told in wording::ending(outcome) {
            line("outcome", &told);
        }
    }
    text.trim_end().to_owned()
}

/// An operation's sources were listed.
pub(super) fn listed(
    state: &mut State,
    id: &OperationId,
    listed: Result<Vec<SourceRow>, Trouble>,
) -> Vec<Effect> {
    match listed {
        Ok(rows) => {
            state.sources.listed(id, rows);
            Vec::new()
        }
        Err(trouble) => tell(state, trouble),
    }
}

/// A source was read. Only the one that was asked for last is shown.
pub(super) fn previewed(
    state: &mut State,
    source: SourceId,
    previewed: Result<Previewed, Trouble>,
) -> Vec<Effect> {
    match &state.sources.preview {
        Preview::Reading(wanted) if *wanted == source => {}
        _ => return Vec::new(),
    }
    state.sources.preview = match previewed {
        Ok(Previewed::Content(content)) => Preview::Shown {
            source,
            document: Document::of(content),
            scroll: 0,
        },
        Ok(Previewed::TooLarge(bytes)) => Preview::TooLarge { source, bytes },
        Err(trouble) => {
            state.sources.preview = Preview::Nothing;
            return tell(state, trouble);
        }
    };
    Vec::new()
}

/// The archive took a source, or not.
pub(super) fn archived(
    state: &mut State,
    operation: &OperationId,
    source: SourceId,
    kept: Result<Receipt, Trouble>,
) -> Vec<Effect> {
    match kept {
        Ok(receipt) => {
            let said = format!("archived as {}; press A to acknowledge it", receipt.uri);
            state.notice = Some(Notice::Said(Inert::one_line(&said)));
            state.sources.archived(source, receipt);
            refresh_sources(state, operation)
        }
        Err(trouble) => tell(state, trouble),
    }
}

/// An operation took a receipt, or not.
pub(super) fn acknowledged(
    state: &mut State,
    operation: OperationId,
    taken: Result<(), Trouble>,
) -> Vec<Effect> {
    match taken {
        Ok(()) => {
            state.notice = Some(Notice::Said(Inert::ours("the source is acknowledged")));
            vec![Effect::ListSources(operation)]
        }
        Err(trouble) => tell(state, trouble),
    }
}

/// The chat agent answered, or not.
pub(super) fn answered(state: &mut State, answer: Result<Inert, Trouble>) -> Vec<Effect> {
    state.chat.answering = Answering::No;
    match answer {
        Ok(text) => {
            state.chat.say(Speaker::Model, text);
            Vec::new()
        }
        Err(trouble) => {
            let said = format!("{}: {}", trouble.what, trouble.why);
            state.chat.say(Speaker::Program, Inert::text(&said));
            tell(state, trouble)
        }
    }
}

fn tell(state: &mut State, trouble: Trouble) -> Vec<Effect> {
    state.notice = Some(Notice::Trouble(trouble));
    Vec::new()
}
