//! `/sources`: the source browser (T6).

use crate::tui::effect::Effect;
use crate::tui::slash::{Command, Completes, refuse};
use crate::tui::state::notice::Trouble;
use crate::tui::state::{Pane, Screen, State};

pub(super) const COMMAND: Command = Command {
    name: "/sources",
    arguments: "",
    help: "browse, archive and acknowledge evidence",
    completes: Completes::Nothing,
    run: |state, _| open(state),
};

/// Shows the sources of every operation; they are listed anew.
pub(in crate::tui) fn open(state: &mut State) -> Vec<Effect> {
    if state.operations.all().is_empty() {
        return refuse(
            state,
            Trouble::of(
                "there are no sources",
                "nothing was started yet",
                "type /routine demo",
            ),
        );
    }
    state.screen = Screen::Sources;
    state.focus(Pane::Tree);
    let all = state.operations.all().iter().rev();
    all.map(|operation| Effect::ListSources(operation.id.clone()))
        .collect()
}
