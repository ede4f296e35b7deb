//! `/help`: commands and keys.

use std::fmt::Write as _;

use crate::tui::effect::Effect;
use crate::tui::keymap;
use crate::tui::slash::{COMMANDS, Command, Completes};
use crate::tui::state::State;
use crate::tui::state::document::Document;
use crate::tui::state::modal::{Modal, Reader};
use crate::tui::text::Inert;

pub(super) const COMMAND: Command = Command {
    name: "/help",
    arguments: "",
    help: "show commands and keys",
    completes: Completes::Nothing,
    run: |state, _| open(state),
};

/// Shows commands and keys.
pub(in crate::tui) fn open(state: &mut State) -> Vec<Effect> {
    let narrow = state.size.0 < 76;
    let entry = |text: &mut String, name: &str, what: &str| {
        // Writing to a String can't fail.
        let _ = match narrow {
            true => writeln!(text, "{name}\n    {what}"),
            false => writeln!(text, "  {name:<26} {what}"),
        };
    };
    let mut text = String::from(
        "Text without a slash goes to the chat agent.\n[op] may be left out: the chosen one is meant, or the only one that fits.\n\nCommands\n",
    );
    for command in COMMANDS {
        let typed = format!("{} {}", command.name, command.arguments);
        entry(&mut text, typed.trim_end(), command.help);
    }
    text.push_str("\nKeys\n");
    for (key, what) in keymap::ALL {
        entry(&mut text, key, what);
    }
    state.open(Modal::Read(Reader {
        title: Inert::ours("Help"),
        document: Document::of(Inert::text(text.trim_end())),
        scroll: 0,
    }));
    Vec::new()
}
