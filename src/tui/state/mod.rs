//! Everything that the screen shows, as plain values. Nothing here waits, reads or draws.
//!
//! | file | idea |
//! |---|---|
//! | `operations`, `routine` | what runs, and what it is made of |
//! | `scene` | which graph of it is looked at: iterations of repeating steps, levels deep |
//! | `log`, `sources`, `document` | what happened, what is evidence, long texts |
//! | `modal`, `form`, `confirm` | what lies over the screen, and how it is answered |
//! | `notice`, `guard` | what a person is told; keys that weren't meant |

pub mod confirm;
pub mod document;
pub mod form;
pub mod guard;
pub mod log;
pub mod modal;
pub mod notice;
pub mod operations;
pub mod routine;
pub mod scene;
pub mod sources;

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use crate::tui::input::Prompt;
use crate::tui::state::guard::Guard;
use crate::tui::state::log::{Chat, Log};
use crate::tui::state::modal::Modal;
use crate::tui::state::notice::Notice;
use crate::tui::state::operations::Operations;
use crate::tui::state::routine::{LoadedRoutine, Origin};
use crate::tui::state::sources::Sources;
use crate::tui::text::Inert;
use crate::tui::theme::Theme;

/// The fewest columns and rows in which everything can be shown.
pub const SMALLEST: (u16, u16) = (40, 12);

/// Names something that was asked of the session until it comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What fills the middle of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// Operations, graph, details, waits.
    Overview,
    /// The source browser.
    Sources,
}

/// What has the keys while nothing lies over the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The command line.
    Prompt,
    /// The operations.
    Operations,
    /// The graph.
    Graph,
    /// The chosen step.
    Details,
    /// The waits.
    Waits,
    /// The event log, or the chat.
    Panel,
    /// The tree of sources.
    Tree,
    /// The preview of a source.
    Preview,
}

/// What the panel at the bottom shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    /// What happened.
    Log,
    /// What was said.
    Chat,
}

/// A routine on its way from a command to an operation.
#[derive(Debug, Clone)]
pub enum Loading {
    /// Its file is being read.
    Asked(Origin),
    /// It is ready, and its question may be open.
    Ready(Box<LoadedRoutine>),
}

/// The whole state of the terminal application.
#[derive(Debug, Clone)]
pub struct State {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// How it looks.
    pub theme: Theme,
    /// The time of the last message that had one.
    pub now: Instant,
    /// The selected model and why it was selected (T4).
    pub model: Inert,
    /// The folder that tools and checks work in.
    pub workspace: Inert,
    /// What runs and ran.
    pub operations: Operations,
    /// What fills the middle.
    pub screen: Screen,
    /// What has the keys.
    pub pane: Pane,
    /// The pane that is shown where there is room for one only.
    pub shown: Pane,
    /// What the panel shows.
    pub panel: Panel,
    /// The command line.
    pub prompt: Prompt,
    /// What lies over the screen.
    pub modal: Option<Modal>,
    /// Questions that came while somebody wrote, and wait for a key.
    pub postponed: VecDeque<Modal>,
    /// Keeps keys from questions that they weren't meant for.
    pub guard: Guard,
    /// What a person is told until the next command.
    pub notice: Option<Notice>,
    /// What happened.
    pub log: Log,
    /// What was said.
    pub chat: Chat,
    /// The source browser.
    pub sources: Sources,
    /// Routines that are about to start.
    pub loading: BTreeMap<Ticket, Loading>,
    /// The first visible row of the details.
    pub details_scroll: usize,
    next_ticket: u64,
}

impl State {
    /// The state at the beginning.
    pub fn new(theme: Theme, size: (u16, u16), now: Instant) -> Self {
        Self {
            size,
            theme,
            now,
            model: Inert::ours("looking for a model…"),
            workspace: Inert::ours(""),
            operations: Operations::default(),
            screen: Screen::Overview,
            pane: Pane::Prompt,
            shown: Pane::Operations,
            panel: Panel::Log,
            prompt: Prompt::default(),
            modal: None,
            postponed: VecDeque::new(),
            guard: Guard::default(),
            notice: None,
            log: Log::default(),
            chat: Chat::default(),
            sources: Sources::default(),
            loading: BTreeMap::new(),
            details_scroll: 0,
            next_ticket: 0,
        }
    }

    /// A name that nothing else has.
    pub fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket)
    }

    /// Gives a pane the keys.
    pub fn focus(&mut self, pane: Pane) {
        self.pane = pane;
        if pane != Pane::Prompt {
            self.shown = pane;
        }
    }

    /// Lays something over the screen, because somebody asked for it just now.
    pub fn open(&mut self, modal: Modal) {
        self.modal = Some(modal);
        self.guard.appeared(self.now);
    }

    /// Lays a question over the screen that was asked for some time ago. Never over a draft or another
    /// question: there it waits behind a badge.
    pub fn propose(&mut self, modal: Modal) {
        match self.modal.is_none() && self.prompt.is_empty() {
            true => self.open(modal),
            false => self.postponed.push_back(modal),
        }
    }

    /// Whether the terminal is too small to show a question, so that no key may answer one.
    pub fn is_too_small(&self) -> bool {
        self.size.0 < SMALLEST.0 || self.size.1 < SMALLEST.1
    }

    /// When time alone changes something: a tick is wanted then.
    pub fn due(&self) -> Option<Instant> {
        let dues = [self.prompt.due(), self.guard.due()];
        dues.into_iter().flatten().min()
    }

    /// Since when the ages on the screen count, for those that still grow.
    pub fn ages(&self) -> impl Iterator<Item = Instant> {
        self.operations.active().map(|operation| operation.began)
    }
}
