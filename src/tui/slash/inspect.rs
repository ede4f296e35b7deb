//! `/routine inspect [op]`: looks an operation up, without a model call (V28).

use crate::engine::id::OperationId;
use crate::tui::effect::Effect;
use crate::tui::slash::target::{Target, candidates, target};
use crate::tui::slash::{Command, Completes, refuse};
use crate::tui::state::State;
use crate::tui::state::modal::{Modal, Picker, Picking};

pub(super) const COMMAND: Command = Command {
    name: "/routine inspect",
    arguments: "[op]",
    help: "show where an operation stands; asks no model",
    completes: Completes::Words(|state| candidates(state, |_| true)),
    run,
};

fn run(state: &mut State, argument: &str) -> Vec<Effect> {
    match target(state, argument, |_| true) {
        Ok(Target::One(operation)) => inspect(state, &operation),
        Ok(Target::Several(operations)) => {
            state.open(Modal::Pick(Picker::of(Picking::Inspect, operations)));
            Vec::new()
        }
        Err(trouble) => refuse(state, trouble),
    }
}

/// Looks one operation up.
pub(in crate::tui) fn inspect(state: &mut State, operation: &OperationId) -> Vec<Effect> {
    state.operations.choose(operation);
    vec![Effect::Inspect(operation.clone())]
}
