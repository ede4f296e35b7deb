//! `/model [provider/model]`: says which model is selected and why, or selects another one (T4).

use crate::tui::effect::Effect;
use crate::tui::slash::{Command, Completes, candidate};
use crate::tui::state::State;
use crate::tui::state::notice::Notice;
use crate::tui::text::Inert;

pub(super) const COMMAND: Command = Command {
    name: "/model",
    arguments: "[provider/model]",
    help: "show the model and why, or select another",
    completes: Completes::Words(|_| {
        let models = [
            ("offline", "built in, asks no provider"),
            ("openai/", "and a model"),
            ("anthropic/", "and a model"),
            ("gemini/", "and a model"),
            ("ollama/", "and a model"),
        ];
        let models = models.into_iter();
        models
            .map(|(name, note)| candidate(name.to_owned(), note))
            .collect()
    }),
    run,
};

fn run(state: &mut State, argument: &str) -> Vec<Effect> {
    match argument {
        "" => {
            let text = format!(
                "Model: {}. /model provider/model selects another one.",
                state.model
            );
            state.notice = Some(Notice::Said(Inert::one_line(&text)));
            Vec::new()
        }
        name => vec![Effect::ChooseModel(name.to_owned())],
    }
}
