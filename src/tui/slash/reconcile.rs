//! `/routine reconcile [op]`: confirms an operation of which something is uncertain (V10a).

use crate::engine::id::OperationId;
use crate::engine::operation::wait::Question;
use crate::tui::effect::Effect;
use crate::tui::slash::confirm::confirm;
use crate::tui::slash::target::{Target, candidates, target};
use crate::tui::slash::{Command, Completes, refuse};
use crate::tui::state::State;
use crate::tui::state::modal::{Modal, Picker, Picking};
use crate::tui::state::notice::Trouble;
use crate::tui::state::operations::Operation;

pub(super) const COMMAND: Command = Command {
    name: "/routine reconcile",
    arguments: "[op]",
    help: "recheck, accept or fail what nobody can tell",
    completes: Completes::Words(|state| candidates(state, is_uncertain)),
    run,
};

fn is_uncertain(operation: &Operation) -> bool {
    let waits = operation
        .open_pause()
        .into_iter()
        .flat_map(|pause| &pause.waits);
    let mut questions = waits.map(|wait| &wait.question);
    questions.any(|question| matches!(question, Question::Uncertain { .. }))
}

fn run(state: &mut State, argument: &str) -> Vec<Effect> {
    match target(state, argument, is_uncertain) {
        Ok(Target::One(operation)) => reconcile(state, &operation),
        Ok(Target::Several(operations)) => {
            state.open(Modal::Pick(Picker::of(Picking::Reconcile, operations)));
            Vec::new()
        }
        Err(trouble) => refuse(state, trouble),
    }
}

/// Asks what became of one operation; refused where nothing of it is uncertain.
pub(in crate::tui) fn reconcile(state: &mut State, operation: &OperationId) -> Vec<Effect> {
    let uncertain = state.operations.get(operation).map(is_uncertain);
    match uncertain {
        Some(false) => {
            let trouble = Trouble::of(
                "nothing was reconciled",
                "nothing of the operation is uncertain",
                "type /routine confirm to answer what it waits for",
            );
            refuse(state, trouble)
        }
        Some(true) | None => confirm(state, operation),
    }
}
