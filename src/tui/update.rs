//! Messages in, effects out: `update(&mut State, Message) -> Vec<Effect>`. It never waits, reads or
//! draws, so a test is a sentence: in this state, after this message, that.
//!
//! | file | idea |
//! |---|---|
//! | `keys` | who gets a key |
//! | `modals` | answering what lies over the screen |
//! | `panes`, `graph`, `camera` | moving about, in a graph, what of it is in view |
//! | `session` | what came back from the session |

mod camera;
mod graph;
mod keys;
mod modals;
mod panes;
mod session;
#[cfg(test)]
mod tests;

use crate::tui::effect::Effect;
use crate::tui::message::Message;
use crate::tui::slash;
use crate::tui::state::State;
use crate::tui::state::notice::Notice;

/// Takes a message into the state, and says what is to be done.
pub fn update(state: &mut State, message: Message) -> Vec<Effect> {
    let effects = take(state, message);
    camera::settle(state);
    effects
}

fn take(state: &mut State, message: Message) -> Vec<Effect> {
    match message {
        Message::Key(key, now) => {
            state.now = now;
            keys::key(state, key)
        }
        Message::Pasted(text, now) => {
            state.now = now;
            keys::paste(state, &text)
        }
        Message::Ticked(now) => {
            state.now = now;
            keys::tick(state)
        }
        Message::Resized(columns, rows) => {
            state.size = (columns, rows);
            Vec::new()
        }
        Message::ModelSelected(model) => {
            state.model = model;
            Vec::new()
        }
        Message::Failed(trouble) => {
            state.notice = Some(Notice::Trouble(trouble));
            Vec::new()
        }
        Message::Logged(entries, dropped) => {
            state.log.dropped += dropped;
            state.log.add(entries);
            Vec::new()
        }
        Message::FolderRead { typed, names } => {
            slash::offer_names(state, &typed, names);
            Vec::new()
        }
        Message::Loaded(ticket, loaded) => session::loaded(state, ticket, loaded),
        Message::Started(ticket, started, now) => session::started(state, ticket, started, now),
        Message::Rested(operation, rest, now) => session::rested(state, &operation, rest, now),
        Message::ConfirmRefused(operation, why) => session::confirm_refused(state, &operation, why),
        Message::Cancelled(operation, rest, now) => {
            session::cancelled(state, &operation, rest, now)
        }
        Message::Viewed(view) => session::viewed(state, *view),
        Message::Inspected(operation, found) => session::inspected(state, &operation, found),
        Message::Listed(operation, listed) => session::listed(state, &operation, listed),
        Message::Previewed(source, previewed) => session::previewed(state, source, previewed),
        Message::Archived(operation, source, kept) => {
            session::archived(state, &operation, source, kept)
        }
        Message::Acknowledged(operation, taken) => session::acknowledged(state, operation, taken),
        Message::Answered(answer) => session::answered(state, answer),
    }
}
