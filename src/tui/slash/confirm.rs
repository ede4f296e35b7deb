//! `/routine confirm [op]`: asks what the operation's state asks for (T5).

use crate::engine::id::OperationId;
use crate::tui::effect::Effect;
use crate::tui::slash::target::{Target, candidates, target};
use crate::tui::slash::{Command, Completes, refuse};
use crate::tui::state::State;
use crate::tui::state::confirm::Confirm;
use crate::tui::state::modal::{Dialog, Modal, Picker, Picking, Purpose};
use crate::tui::state::notice::Trouble;
use crate::tui::state::operations::{Asked, Operation};
use crate::tui::text::Inert;

pub(super) const COMMAND: Command = Command {
    name: "/routine confirm",
    arguments: "[op]",
    help: "answer what waits, or look again",
    completes: Completes::Words(|state| candidates(state, is_paused)),
    run,
};

fn is_paused(operation: &Operation) -> bool {
    operation.open_pause().is_some()
}

fn run(state: &mut State, argument: &str) -> Vec<Effect> {
    match target(state, argument, is_paused) {
        Ok(Target::One(operation)) => confirm(state, &operation),
        Ok(Target::Several(operations)) => {
            state.open(Modal::Pick(Picker::of(Picking::Confirm, operations)));
            Vec::new()
        }
        Err(trouble) => refuse(state, trouble),
    }
}

/// Asks what one operation waits for; refused, saying why, where it waits for nothing.
pub(in crate::tui) fn confirm(state: &mut State, operation: &OperationId) -> Vec<Effect> {
    state.operations.choose(operation);
    let Some(operation) = state.operations.get(operation) else {
        return Vec::new();
    };
    let Some(pause) = operation.open_pause() else {
        let trouble = nothing_to_confirm(operation);
        return refuse(state, trouble);
    };
    let (confirm, form) = Confirm::of(operation, pause);
    let dialog = Dialog {
        title: Inert::one_line(&format!("Confirm {}?", operation.label)),
        form,
        purpose: Purpose::Confirm(confirm),
    };
    state.open(Modal::Ask(Box::new(dialog)));
    Vec::new()
}

fn nothing_to_confirm(operation: &Operation) -> Trouble {
    let what = format!("{} was not confirmed", operation.label);
    match operation.asked {
        Asked::Confirm => Trouble::of(
            &what,
            "it was confirmed a moment ago and is going on",
            "wait until it rests again",
        ),
        Asked::Cancel => Trouble::of(&what, "it is being cancelled", "wait until it has ended"),
        Asked::Nothing if operation.is_active() => Trouble::of(
            &what,
            "it is running and waits for nobody",
            "wait until it rests, or type /routine cancel",
        ),
        Asked::Nothing => Trouble::of(
            &what,
            &format!(
                "it is {}: nothing changes that any more",
                operation.state().label()
            ),
            "type /routine inspect, or start anew",
        ),
    }
}
