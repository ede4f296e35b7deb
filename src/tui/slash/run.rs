//! `/routine run FILE`: starts a routine from a file, asking for what it needs.

use crate::tui::effect::Effect;
use crate::tui::slash::{Command, Completes, demo, refuse};
use crate::tui::state::State;
use crate::tui::state::notice::Trouble;
use crate::tui::state::routine::Origin;

pub(super) const COMMAND: Command = Command {
    name: "/routine run",
    arguments: "FILE",
    help: "start a routine from a file",
    completes: Completes::Path,
    run,
};

fn run(state: &mut State, argument: &str) -> Vec<Effect> {
    match argument {
        "" => refuse(
            state,
            Trouble::of(
                "nothing was started",
                "no file was named",
                "type /routine run and a path",
            ),
        ),
        path => demo::load(state, Origin::File(path.to_owned())),
    }
}
