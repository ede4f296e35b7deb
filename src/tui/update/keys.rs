//! Who gets a key: what lies over the screen, the command line, or the pane with the focus.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::tui::effect::Effect;
use crate::tui::input::Reaction;
use crate::tui::keymap::{self, Action};
use crate::tui::slash;
use crate::tui::state::guard::Judged;
use crate::tui::state::log::{Answering, Speaker};
use crate::tui::state::notice::{Notice, Trouble};
use crate::tui::state::{Pane, Panel, State};
use crate::tui::text::Inert;
use crate::tui::update::{modals, panes};

/// A key arrived.
pub(super) fn key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    // A key that was deferred comes before this one.
    let mut effects = settle(state);
    effects.extend(route(state, key));
    effects
}

fn route(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let judged = state.guard.judge(key, state.now);
    match keymap::always(key) {
        Some(Action::Redraw) => return vec![Effect::Redraw],
        Some(Action::Suspend) => return vec![Effect::Suspend],
        Some(_) | None => {}
    }
    if state.is_too_small() {
        // Nothing is answered that can't be seen (row 13).
        return Vec::new();
    }
    if state.modal.is_some() {
        return match judged {
            Judged::Counts => modals::key(state, key),
            Judged::Swallowed | Judged::Deferred => Vec::new(),
        };
    }
    if state.pane == Pane::Prompt {
        if key.code == KeyCode::Char('?') && state.prompt.is_empty() {
            return slash::open_help(state);
        }
        match state.prompt.key(key, state.now) {
            Reaction::NotMine => {}
            reaction => return react(state, reaction),
        }
    }
    // Asking to quit, or for a question, with a key that is held down would answer itself.
    match keymap::action(state.pane, key) {
        Some(Action::Quit | Action::AskToQuit | Action::Answer)
            if key.kind == KeyEventKind::Repeat =>
        {
            Vec::new()
        }
        Some(action) => panes::act(state, action),
        None => Vec::new(),
    }
}

/// Text was pasted: into a text of a question, or into the command line. It never submits.
pub(super) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    if state.is_too_small() {
        return Vec::new();
    }
    if state.modal.is_some() {
        modals::paste(state, text);
        return Vec::new();
    }
    state.focus(Pane::Prompt);
    let reaction = state.prompt.paste(text);
    react(state, reaction)
}

/// Time passed that the command line or a question waited for.
pub(super) fn tick(state: &mut State) -> Vec<Effect> {
    let mut effects = settle(state);
    let reaction = state.prompt.tick(state.now);
    effects.extend(react(state, reaction));
    effects
}

/// A key that could have been held down wasn't: it is for what lies over the screen.
fn settle(state: &mut State) -> Vec<Effect> {
    match state.guard.settle(state.now) {
        Some(key) if state.modal.is_some() && !state.is_too_small() => modals::key(state, key),
        Some(_) | None => Vec::new(),
    }
}

fn react(state: &mut State, reaction: Reaction) -> Vec<Effect> {
    match reaction {
        Reaction::Nothing | Reaction::NotMine => Vec::new(),
        Reaction::Changed => slash::offer(state),
        Reaction::Submitted(text) => submitted(state, &text),
    }
}

fn submitted(state: &mut State, text: &str) -> Vec<Effect> {
    state.notice = None;
    match text.trim_start().starts_with('/') {
        true => slash::run(state, text),
        false => say(state, text.trim()),
    }
}

/// Text without a slash goes to the chat agent.
fn say(state: &mut State, text: &str) -> Vec<Effect> {
    if state.chat.answering == Answering::Yes {
        // What was written isn't lost.
        state.prompt.set(text);
        let trouble = Trouble::of(
            "nothing was sent",
            "the answer to what you said before is still on its way",
            "wait for it, then press Enter",
        );
        state.notice = Some(Notice::Trouble(trouble));
        return Vec::new();
    }
    state.panel = Panel::Chat;
    state.shown = Pane::Panel;
    state.chat.say(Speaker::You, Inert::text(text));
    state.chat.answering = Answering::Yes;
    vec![Effect::Chat(text.to_owned())]
}
