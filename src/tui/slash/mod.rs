//! Commands of the command line: one file each, with name, help, completion and what it does (T2).

mod cancel;
mod confirm;
mod demo;
mod help;
mod inspect;
mod list;
mod model;
mod quit;
mod reconcile;
mod run;
mod sources;
mod target;

use crate::tui::effect::Effect;
use crate::tui::input::completion::{self, Candidate, Fit};
use crate::tui::state::State;
use crate::tui::state::notice::{Notice, Trouble};
use crate::tui::text::Inert;

pub(in crate::tui) use cancel::cancel;
pub(in crate::tui) use confirm::confirm;
pub(in crate::tui) use help::open as open_help;
pub(in crate::tui) use inspect::inspect;
pub(in crate::tui) use quit::{ask as ask_to_quit, quit};
pub(in crate::tui) use reconcile::reconcile;
pub(in crate::tui) use sources::open as open_sources;

/// A command.
pub struct Command {
    /// What is typed, one or two words.
    pub name: &'static str,
    /// What may follow, for the help.
    pub arguments: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// What may follow, for the completion.
    pub completes: Completes,
    /// Does it. The argument is trimmed.
    pub run: fn(&mut State, &str) -> Vec<Effect>,
}

/// What may follow a command.
pub enum Completes {
    /// Nothing.
    Nothing,
    /// One of some words.
    Words(fn(&State) -> Vec<Candidate>),
    /// The path of a file.
    Path,
}

/// Every command, in the order of the help.
pub const COMMANDS: &[&Command] = &[
    &demo::COMMAND,
    &run::COMMAND,
    &list::COMMAND,
    &inspect::COMMAND,
    &confirm::COMMAND,
    &cancel::COMMAND,
    &reconcile::COMMAND,
    &sources::COMMAND,
    &model::COMMAND,
    &help::COMMAND,
    &quit::COMMAND,
];

/// Does what a text with a slash says.
pub fn run(state: &mut State, text: &str) -> Vec<Effect> {
    let text = text.trim();
    if text.contains('\n') {
        // What was pasted by mistake is not run line by line, and not lost either.
        state.prompt.set(text);
        return refuse(
            state,
            Trouble::of(
                "nothing was run",
                "several lines are no command",
                "leave one line, then press Enter",
            ),
        );
    }
    match find(text) {
        Some((command, argument)) => (command.run)(state, argument),
        None => refuse(state, unknown(text)),
    }
}

/// The command that a text begins with, and the rest.
fn find(text: &str) -> Option<(&'static Command, &str)> {
    let words = |name: &str| name.split(' ').count();
    COMMANDS
        .iter()
        .filter_map(|command| {
            let mut rest = text;
            for word in command.name.split(' ') {
                rest = rest.trim_start().strip_prefix(word)?;
                if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
                    return None;
                }
            }
            Some((*command, rest.trim()))
        })
        .max_by_key(|(command, _)| words(command.name))
}

fn unknown(text: &str) -> Trouble {
    let near = COMMANDS
        .iter()
        .filter_map(|command| Some((completion::fit(text, command.name)?, command.name)))
        .min_by_key(|(fit, _)| *fit);
    let next = match near {
        Some((Fit::Prefix | Fit::Inside | Fit::Scattered, name)) => format!("did you mean {name}?"),
        None => "type /help for all commands".to_owned(),
    };
    Trouble::of(
        &format!("{text} was not run"),
        "there is no such command",
        &next,
    )
}

/// Tells why a command did nothing.
pub(in crate::tui) fn refuse(state: &mut State, trouble: Trouble) -> Vec<Effect> {
    state.notice = Some(Notice::Trouble(trouble));
    Vec::new()
}

/// Offers what could stand at the cursor.
pub fn offer(state: &mut State) -> Vec<Effect> {
    let before = state.prompt.before_cursor().to_owned();
    if !before.starts_with('/') || before.contains('\n') {
        return Vec::new();
    }
    let (word, _) = state.prompt.word();
    let above = before[..before.len() - word.len()].trim();
    if above.is_empty() {
        state.prompt.offer(first_words());
        return Vec::new();
    }
    let seconds = second_words(above);
    if !seconds.is_empty() {
        state.prompt.offer(seconds);
        return Vec::new();
    }
    let Some((command, "")) = find(above) else {
        return Vec::new();
    };
    match command.completes {
        Completes::Nothing => Vec::new(),
        Completes::Words(words) => {
            let words = words(state);
            state.prompt.offer(words);
            Vec::new()
        }
        Completes::Path => {
            let folder = word.rfind('/').map_or("", |at| &word[..=at]);
            vec![Effect::ReadFolder(folder.to_owned())]
        }
    }
}

/// The names in a folder came: they are offered if a path that begins with it is still being typed.
pub fn offer_names(state: &mut State, typed: &str, names: Vec<String>) {
    let before = state.prompt.before_cursor().to_owned();
    let (word, _) = state.prompt.word();
    let folder = word.rfind('/').map_or("", |at| &word[..=at]);
    let above = before[..before.len() - word.len()].trim();
    let wants = find(above).is_some_and(|(command, rest)| {
        rest.is_empty() && matches!(command.completes, Completes::Path)
    });
    if wants && folder == typed {
        let names = names
            .into_iter()
            .map(|name| candidate(format!("{typed}{name}"), ""));
        state.prompt.offer(names.collect());
    }
}

fn first_words() -> Vec<Candidate> {
    let mut words: Vec<Candidate> = Vec::new();
    for command in COMMANDS {
        let (word, note) = match command.name.split_once(' ') {
            Some((word, _)) => (word, "run and steer routines"),
            None => (command.name, command.help),
        };
        if !words.iter().any(|known| known.text == word) {
            words.push(candidate(word.to_owned(), note));
        }
    }
    words
}

fn second_words(first: &str) -> Vec<Candidate> {
    COMMANDS
        .iter()
        .filter_map(|command| {
            let (word, second) = command.name.split_once(' ')?;
            (word == first).then(|| candidate(second.to_owned(), command.help))
        })
        .collect()
}

/// Something that may be typed, with a note beside it.
fn candidate(text: String, note: &str) -> Candidate {
    Candidate {
        text,
        note: Inert::one_line(note),
    }
}
