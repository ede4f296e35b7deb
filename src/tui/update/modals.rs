//! Answering what lies over the screen. Each answer is checked once more against what it was meant for.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::engine::id::OperationId;
use crate::tui::effect::Effect;
use crate::tui::slash;
use crate::tui::state::confirm::Confirm;
use crate::tui::state::form::{Answered, Form};
use crate::tui::state::modal::{Dialog, Modal, Picker, Picking, Purpose, Run};
use crate::tui::state::notice::{Notice, Trouble};
use crate::tui::state::operations::Asked;
use crate::tui::state::{Loading, State};

/// A key arrived for what lies over the screen.
pub(super) fn key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    // Taken out while it is asked, put back unless it is done with.
    match state.modal.take() {
        None => Vec::new(),
        Some(Modal::Ask(mut dialog)) => match dialog.form.key(key) {
            Answered::Nothing => {
                state.modal = Some(Modal::Ask(dialog));
                Vec::new()
            }
            Answered::Dismissed => dismissed(state, &dialog.purpose),
            Answered::Accepted => accepted(state, dialog),
        },
        Some(Modal::Pick(picker)) => pick(state, picker, key),
        Some(Modal::Read(mut reader)) => {
            let page = usize::from(state.size.1.saturating_sub(6)).max(1);
            match key.code {
                KeyCode::Up | KeyCode::Char('k') => reader.scroll = reader.scroll.saturating_sub(1),
                KeyCode::Down | KeyCode::Char('j') => reader.scroll += 1,
                KeyCode::PageUp => reader.scroll = reader.scroll.saturating_sub(page),
                KeyCode::PageDown | KeyCode::Char(' ') => reader.scroll += page,
                KeyCode::Home => reader.scroll = 0,
                KeyCode::End => reader.scroll = usize::MAX / 2,
                KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | '?') | KeyCode::F(1) => {
                    return Vec::new();
                }
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                    return Vec::new();
                }
                _ => {}
            }
            let columns = usize::from(state.size.0.saturating_sub(2));
            reader.scroll = reader.document.clamp(columns, page, reader.scroll);
            state.modal = Some(Modal::Read(reader));
            Vec::new()
        }
    }
}

/// A paste arrived: it is for a text that is being written, and for nothing else.
pub(super) fn paste(state: &mut State, text: &str) {
    if let Some(Modal::Ask(dialog)) = &mut state.modal {
        dialog.form.paste(text);
    }
}

fn pick(state: &mut State, mut picker: Picker, key: KeyEvent) -> Vec<Effect> {
    let last = picker.operations.len().saturating_sub(1);
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => picker.row = picker.row.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => picker.row = (picker.row + 1).min(last),
        KeyCode::Home => picker.row = 0,
        KeyCode::End => picker.row = last,
        KeyCode::Esc | KeyCode::Char('q') => return Vec::new(),
        KeyCode::Char('c') if control => return Vec::new(),
        KeyCode::Enter if key.kind == KeyEventKind::Press => {
            return match picker.operations.get(picker.row) {
                Some(operation) => picked(state, picker.picking, operation),
                None => Vec::new(),
            };
        }
        _ => {}
    }
    state.modal = Some(Modal::Pick(picker));
    Vec::new()
}

fn picked(state: &mut State, picking: Picking, operation: &OperationId) -> Vec<Effect> {
    match picking {
        Picking::Inspect => slash::inspect(state, operation),
        Picking::Confirm => slash::confirm(state, operation),
        Picking::Reconcile => slash::reconcile(state, operation),
        Picking::Cancel => slash::cancel(state, operation),
    }
}

/// Everything stays as it is.
fn dismissed(state: &mut State, purpose: &Purpose) -> Vec<Effect> {
    match purpose {
        Purpose::Quit | Purpose::Cancel(_) | Purpose::Confirm(_) => Vec::new(),
        Purpose::Run(run) => {
            state.loading.remove(&run.ticket);
            vec![Effect::Unload(run.ticket)]
        }
    }
}

fn accepted(state: &mut State, mut dialog: Box<Dialog>) -> Vec<Effect> {
    let done = match &dialog.purpose {
        Purpose::Quit => Ok(vec![Effect::Quit]),
        Purpose::Cancel(operation) => Ok(cancel(state, operation)),
        Purpose::Confirm(confirm) => go_on(state, confirm, &dialog.form),
        Purpose::Run(run) => start(state, run, &dialog.form),
    };
    done.unwrap_or_else(|(item, problem)| {
        dialog.form.refuse(item, &problem);
        state.modal = Some(Modal::Ask(dialog));
        Vec::new()
    })
}

fn cancel(state: &mut State, operation: &OperationId) -> Vec<Effect> {
    match state.operations.get_mut(operation) {
        Some(operation) if operation.is_active() => {
            operation.asked = Asked::Cancel;
            vec![Effect::Cancel(operation.id.clone())]
        }
        Some(_) | None => refuse(
            state,
            Trouble::of(
                "nothing was cancelled",
                "the operation has ended meanwhile",
                "type /routine inspect to see how",
            ),
        ),
    }
}

/// Goes on, if the pause is still the one that was asked about.
fn go_on(
    state: &mut State,
    confirm: &Confirm,
    form: &Form,
) -> Result<Vec<Effect>, (usize, String)> {
    let answers = confirm.answers(form)?;
    let held = state.operations.get_mut(&confirm.operation);
    let current = held.filter(|operation| {
        let pause = operation.open_pause();
        pause.is_some_and(|pause| pause.generation == confirm.generation)
    });
    Ok(match current {
        Some(operation) => {
            operation.asked = Asked::Confirm;
            vec![Effect::Confirm(
                confirm.operation.clone(),
                confirm.generation,
                answers,
            )]
        }
        None => refuse(
            state,
            Trouble::of(
                "nothing was confirmed",
                "the operation has moved on since the question was asked",
                "look at it, then type /routine confirm again",
            ),
        ),
    })
}

fn start(state: &mut State, run: &Run, form: &Form) -> Result<Vec<Effect>, (usize, String)> {
    let Some(Loading::Ready(routine)) = state.loading.get(&run.ticket) else {
        return Ok(Vec::new());
    };
    let inputs = run.inputs(form, routine)?;
    Ok(vec![Effect::Start(run.ticket, inputs)])
}

fn refuse(state: &mut State, trouble: Trouble) -> Vec<Effect> {
    state.notice = Some(Notice::Trouble(trouble));
    Vec::new()
}
