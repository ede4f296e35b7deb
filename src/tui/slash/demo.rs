//! `/routine demo [name]`: starts a routine that ships with the program (T3).

use crate::host::session::demos::{self, DEMOS};
use crate::tui::effect::Effect;
use crate::tui::slash::{Command, Completes, candidate, refuse};
use crate::tui::state::notice::Trouble;
use crate::tui::state::routine::Origin;
use crate::tui::state::{Loading, State};

pub(super) const COMMAND: Command = Command {
    name: "/routine demo",
    arguments: "[name]",
    help: "start a demo; verified-submission by default",
    completes: Completes::Words(|_| {
        let demos = DEMOS.iter();
        demos
            .map(|demo| candidate(demo.name.to_owned(), demo.about))
            .collect()
    }),
    run,
};

fn run(state: &mut State, argument: &str) -> Vec<Effect> {
    let name = match argument {
        "" => DEMOS[0].name,
        name => name,
    };
    let Some(demo) = demos::find(name) else {
        let names: Vec<&str> = DEMOS.iter().map(|demo| demo.name).collect();
        return refuse(
            state,
            Trouble::of(
                &format!("there is no demo {name}"),
                &format!("there are {}", names.join(", ")),
                "type /routine demo",
            ),
        );
    };
    load(state, Origin::Demo(demo.name))
}

/// Has a routine read and checked.
pub(super) fn load(state: &mut State, origin: Origin) -> Vec<Effect> {
    let ticket = state.ticket();
    state.loading.insert(ticket, Loading::Asked(origin.clone()));
    vec![Effect::Load(ticket, origin)]
}
