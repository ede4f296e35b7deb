//! Which key does what, and which hints the footer shows.
//!
//! The command line takes every character; panes take letters only while they have the focus. What lies
//! over the screen has keys of its own.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::state::operations::Follow;
use crate::tui::state::scene::nested;
use crate::tui::state::{Pane, Screen, State};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The next pane gets the keys.
    NextPane,
    /// The previous pane gets the keys.
    PreviousPane,
    /// The command line gets the keys, with a slash.
    Command,
    /// The command line gets the keys; from the sources back to the overview.
    Leave,
    /// Up by one.
    Up,
    /// Down by one.
    Down,
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Up by a page.
    PageUp,
    /// Down by a page.
    PageDown,
    /// To the beginning.
    Start,
    /// To the end.
    End,
    /// Looks closer.
    Open,
    /// Looks at the iteration before.
    Earlier,
    /// Looks at the iteration after.
    Later,
    /// Goes with what happens.
    Follow,
    /// Asks what the chosen operation waits for.
    Confirm,
    /// Asks whether to cancel the chosen operation.
    Cancel,
    /// Looks the chosen operation up.
    Inspect,
    /// Shows the sources.
    Sources,
    /// Shows the log or the chat.
    SwapPanel,
    /// Opens the question that waits.
    Answer,
    /// Keeps the chosen source.
    Archive,
    /// Gives the operation the receipt of the chosen source.
    Acknowledge,
    /// A preview may read more.
    AllowMore,
    /// A preview may read less.
    AllowLess,
    /// Shows what keys and commands there are.
    Help,
    /// Ends the program, asking where something runs.
    Quit,
    /// Asks whether to end the program.
    AskToQuit,
    /// Draws every cell anew.
    Redraw,
    /// Stops the process until it is continued.
    Suspend,
}

/// A key and what it does.
struct Binding {
    code: KeyCode,
    control: Control,
    action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    Up,
    Down,
}

const fn key(code: KeyCode, action: Action) -> Binding {
    Binding {
        code,
        control: Control::Up,
        action,
    }
}

const fn control(char: char, action: Action) -> Binding {
    Binding {
        code: KeyCode::Char(char),
        control: Control::Down,
        action,
    }
}

/// Work everywhere, also under a question.
const ALWAYS: &[Binding] = &[control('l', Action::Redraw), control('z', Action::Suspend)];

/// Work wherever nothing lies over the screen.
const SHARED: &[Binding] = &[
    key(KeyCode::F(1), Action::Help),
    key(KeyCode::F(2), Action::Answer),
    key(KeyCode::F(3), Action::SwapPanel),
    key(KeyCode::Tab, Action::NextPane),
    key(KeyCode::BackTab, Action::PreviousPane),
    key(KeyCode::Esc, Action::Leave),
    key(KeyCode::PageUp, Action::PageUp),
    key(KeyCode::PageDown, Action::PageDown),
    control('c', Action::AskToQuit),
    control('d', Action::Quit),
];

/// Work in panes.
const PANES: &[Binding] = &[
    key(KeyCode::Up, Action::Up),
    key(KeyCode::Down, Action::Down),
    key(KeyCode::Left, Action::Left),
    key(KeyCode::Right, Action::Right),
    key(KeyCode::Char('k'), Action::Up),
    key(KeyCode::Char('j'), Action::Down),
    key(KeyCode::Char('h'), Action::Left),
    key(KeyCode::Char('l'), Action::Right),
    key(KeyCode::Home, Action::Start),
    key(KeyCode::End, Action::End),
    key(KeyCode::Char('g'), Action::Start),
    key(KeyCode::Char('G'), Action::End),
    key(KeyCode::Enter, Action::Open),
    key(KeyCode::Char('/'), Action::Command),
    key(KeyCode::Char('c'), Action::Confirm),
    key(KeyCode::Char('x'), Action::Cancel),
    key(KeyCode::Char('i'), Action::Inspect),
    key(KeyCode::Char('s'), Action::Sources),
    key(KeyCode::Char('?'), Action::Help),
    key(KeyCode::Char('q'), Action::Quit),
];

/// Work in the graph and in the details of its steps.
const GRAPH: &[Binding] = &[
    key(KeyCode::Char('p'), Action::Earlier),
    key(KeyCode::Char('n'), Action::Later),
    key(KeyCode::Char('f'), Action::Follow),
];

/// Work in the source browser.
const SOURCES: &[Binding] = &[
    key(KeyCode::Char('a'), Action::Archive),
    key(KeyCode::Char('A'), Action::Acknowledge),
    key(KeyCode::Char('+'), Action::AllowMore),
    key(KeyCode::Char('-'), Action::AllowLess),
];

/// What a key does everywhere, also under a question.
pub fn always(key: KeyEvent) -> Option<Action> {
    find(ALWAYS, key)
}

/// What a key does in a pane that nothing lies over. The command line was asked before.
pub fn action(pane: Pane, key: KeyEvent) -> Option<Action> {
    let special = match pane {
        Pane::Tree | Pane::Preview => find(SOURCES, key),
        Pane::Graph | Pane::Details => find(GRAPH, key),
        Pane::Prompt | Pane::Operations | Pane::Waits | Pane::Panel => None,
    };
    let shared = || find(SHARED, key);
    let panes = || (pane != Pane::Prompt).then(|| find(PANES, key)).flatten();
    special.or_else(shared).or_else(panes)
}

fn find(bindings: &[Binding], key: KeyEvent) -> Option<Action> {
    let control = match key.modifiers.contains(KeyModifiers::CONTROL) {
        true => Control::Down,
        false => Control::Up,
    };
    bindings
        .iter()
        .find(|binding| binding.code == key.code && binding.control == control)
        .map(|binding| binding.action)
}

/// The panes that can have the keys on a screen, in the order of Tab.
pub fn panes(screen: Screen) -> &'static [Pane] {
    match screen {
        Screen::Overview => &[
            Pane::Prompt,
            Pane::Operations,
            Pane::Graph,
            Pane::Details,
            Pane::Waits,
            Pane::Panel,
        ],
        Screen::Sources => &[Pane::Prompt, Pane::Tree, Pane::Preview],
    }
}

/// A key and what it does, in words.
pub type Hint = (&'static str, &'static str);

/// The keys that do something now, the most useful first.
pub fn hints(state: &State) -> Vec<Hint> {
    let mut hints: Vec<Hint> = Vec::new();
    let chosen = state.operations.chosen();
    let paused = chosen.is_some_and(|operation| operation.open_pause().is_some());
    let active = chosen.is_some_and(|operation| operation.is_active());
    if !state.postponed.is_empty() {
        hints.push(("F2", "answer"));
    }
    match state.pane {
        Pane::Prompt => {
            if state.prompt.popup().is_some() {
                hints.extend([("Tab", "complete"), ("↑↓", "choose"), ("Esc", "close")]);
            } else if state.prompt.is_empty() {
                if state.postponed.is_empty() && state.operations.paused().next().is_some() {
                    hints.push(("F2", "confirm"));
                }
                hints.extend([("/", "command"), ("Tab", "panes"), ("?", "help")]);
            } else {
                hints.extend([("Enter", "send"), ("^C", "clear"), ("F1", "help")]);
            }
        }
        Pane::Operations | Pane::Waits | Pane::Graph | Pane::Details => {
            hints.push(("↑↓", "move"));
            match state.pane {
                Pane::Graph => hints.extend(in_graph(state)),
                Pane::Waits if !chosen.is_none_or(|it| it.waits().is_empty()) => {
                    hints.push(("Enter", "show"));
                }
                _ => {}
            }
            if paused {
                hints.push(("c", "confirm"));
            }
            if active {
                hints.push(("x", "cancel"));
            }
            if chosen.is_some() {
                hints.extend([("i", "inspect"), ("s", "sources")]);
            }
            hints.push(("Tab", "next"));
            if !is_inside(state) {
                hints.push(("Esc", "back"));
            }
            hints.push(("?", "help"));
        }
        Pane::Panel => hints.extend([
            ("↑↓", "scroll"),
            ("End", "follow"),
            ("F3", "swap"),
            ("Esc", "back"),
        ]),
        Pane::Tree | Pane::Preview => {
            match state.sources.chosen() {
                Some((_, row)) => {
                    hints.push(("Enter", "preview"));
                    if row.receipt.is_none() {
                        hints.extend([("a", "archive"), ("A", "acknowledge")]);
                    }
                    hints.push(("+-", "allowance"));
                }
                None => hints.push(("↑↓", "move")),
            }
            hints.push(("Esc", "back"));
        }
    }
    hints
}

/// Whether an iteration is looked at, and Esc leads out of it.
fn is_inside(state: &State) -> bool {
    let chosen = state.operations.chosen();
    state.pane == Pane::Graph && chosen.is_some_and(|operation| !operation.levels.is_empty())
}

/// The keys of the graph alone.
fn in_graph(state: &State) -> Vec<Hint> {
    let mut hints = Vec::new();
    let Some(operation) = state.operations.chosen() else {
        return hints;
    };
    if is_inside(state) {
        hints.extend([("Esc", "out"), ("p n", "iteration")]);
    }
    let step = operation.body().steps.get(operation.step);
    if step.and_then(nested).is_some() {
        hints.push(("Enter", "inside"));
    }
    if operation.follow == Follow::Person && operation.is_active() {
        hints.push(("f", "follow"));
    }
    hints
}

/// Every key, for the help.
pub const ALL: &[Hint] = &[
    ("Tab, Shift-Tab", "the next, the previous pane"),
    ("Esc", "back: from an iteration, a pane, the sources"),
    ("/", "a command"),
    ("F1, ?", "this help"),
    ("F2", "answer what waits"),
    ("F3", "event log or chat"),
    ("arrows, h j k l", "move"),
    ("PageUp, PageDown", "scroll"),
    ("Home, End, g, G", "to the beginning, to the end"),
    ("Enter", "look closer: into a map, at a wait, at a source"),
    ("p, n", "in the graph: the iteration before, after"),
    ("f", "in the graph: follow what happens"),
    ("c", "confirm the chosen operation"),
    ("x", "cancel the chosen operation"),
    ("i", "inspect the chosen operation"),
    ("s", "sources of the chosen operation"),
    ("a, A", "in the sources: archive, acknowledge"),
    ("+, -", "in the sources: a preview may read more, less"),
    ("Ctrl-C", "clear the draft (Up brings it back); ask to quit"),
    ("Ctrl-D", "quit, where nothing is written"),
    ("Ctrl-L", "draw everything anew"),
    ("Ctrl-Z", "stop; fg goes on"),
];
