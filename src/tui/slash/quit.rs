//! `/quit`: ends the program, asking first where something is active or paused (T7).

use crate::tui::effect::Effect;
use crate::tui::slash::{Command, Completes};
use crate::tui::state::State;
use crate::tui::state::modal::{Dialog, Modal};

pub(super) const COMMAND: Command = Command {
    name: "/quit",
    arguments: "",
    help: "end the program; asks where something runs",
    completes: Completes::Nothing,
    run: |state, _| quit(state),
};

/// Ends the program, or asks.
pub(in crate::tui) fn quit(state: &mut State) -> Vec<Effect> {
    let active = state.operations.active().count();
    match active {
        0 => vec![Effect::Quit],
        _ => ask(state),
    }
}

/// Asks whether to end the program.
pub(in crate::tui) fn ask(state: &mut State) -> Vec<Effect> {
    let dialog = Dialog::quit(state.operations.active());
    state.open(Modal::Ask(Box::new(dialog)));
    Vec::new()
}
