//! `/routine cancel [op]`: asks, cancels, and then shows what may have been done (L5).

use crate::engine::id::OperationId;
use crate::tui::effect::Effect;
use crate::tui::slash::target::{Target, candidates, target};
use crate::tui::slash::{Command, Completes, refuse};
use crate::tui::state::State;
use crate::tui::state::modal::{Dialog, Modal, Picker, Picking};
use crate::tui::state::notice::Trouble;
use crate::tui::state::operations::Operation;

pub(super) const COMMAND: Command = Command {
    name: "/routine cancel",
    arguments: "[op]",
    help: "end an operation; shows what may have been done",
    completes: Completes::Words(|state| candidates(state, Operation::is_active)),
    run,
};

fn run(state: &mut State, argument: &str) -> Vec<Effect> {
    match target(state, argument, Operation::is_active) {
        Ok(Target::One(operation)) => cancel(state, &operation),
        Ok(Target::Several(operations)) => {
            state.open(Modal::Pick(Picker::of(Picking::Cancel, operations)));
            Vec::new()
        }
        Err(trouble) => refuse(state, trouble),
    }
}

/// Asks whether to cancel one operation.
pub(in crate::tui) fn cancel(state: &mut State, operation: &OperationId) -> Vec<Effect> {
    state.operations.choose(operation);
    let Some(operation) = state.operations.get(operation) else {
        return Vec::new();
    };
    if !operation.is_active() {
        let trouble = Trouble::of(
            &format!("{} was not cancelled", operation.label),
            &format!("it is {} already", operation.state().label()),
            "type /routine inspect to see how it ended",
        );
        return refuse(state, trouble);
    }
    let dialog = Dialog::cancel(operation);
    state.open(Modal::Ask(Box::new(dialog)));
    Vec::new()
}
