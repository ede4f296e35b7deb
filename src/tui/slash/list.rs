//! `/routine list`: goes to the operations.

use crate::tui::effect::Effect;
use crate::tui::slash::{Command, Completes, refuse};
use crate::tui::state::notice::{Notice, Trouble};
use crate::tui::state::{Pane, Screen, State};
use crate::tui::text::Inert;

pub(super) const COMMAND: Command = Command {
    name: "/routine list",
    arguments: "",
    help: "go to the operations of this process",
    completes: Completes::Nothing,
    run,
};

fn run(state: &mut State, _: &str) -> Vec<Effect> {
    let all = state.operations.all().len();
    if all == 0 {
        return refuse(
            state,
            Trouble::of(
                "there is no operation",
                "nothing was started yet",
                "type /routine demo",
            ),
        );
    }
    let paused = state.operations.paused().count();
    let active = state.operations.active().count();
    state.screen = Screen::Overview;
    state.focus(Pane::Operations);
    state.notice = Some(Notice::Said(Inert::one_line(&format!(
        "{all} operations: {active} active, {paused} of them paused"
    ))));
    Vec::new()
}
