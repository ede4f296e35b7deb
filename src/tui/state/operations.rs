//! The operations of this process, and which one is looked at: by identity, never by row.

use std::cell::RefCell;
use std::time::Instant;

use serde_json::Value;

use crate::engine::id::{ExecutionId, Generation, Lap, OperationId};
use crate::engine::operation::outcome::Outcome;
use crate::engine::operation::view::{OperationState, OperationView, StepStatus};
use crate::engine::operation::wait::{Wait, WaitKey};
use crate::engine::verify::Held;
use crate::tui::graph::live::LiveGraph;
use crate::tui::state::document::Document;
use crate::tui::state::routine::LoadedRoutine;
use crate::tui::state::scene::{Camera, Level};
use crate::tui::text::Inert;

/// Characters of an id that name it on the screen.
const SHORT: usize = 6;
/// The most of an output that the details show, in bytes; the sources have all of it.
const SHOWN_OUTPUT: usize = 16 * 1024;

/// The end of an id, which tells operations apart.
pub fn short(id: &OperationId) -> &str {
    let text = id.as_str();
    match text.char_indices().rev().nth(SHORT - 1) {
        Some((at, _)) if text.len() > 2 * SHORT => &text[at..],
        Some(_) | None => text,
    }
}

/// A pause of an operation: what can be answered now, and for which generation.
#[derive(Debug, Clone, PartialEq)]
pub struct Pause {
    /// The worst of the waits.
    pub state: Held,
    /// Why, for people.
    pub reason: Inert,
    /// Everything that is waited for.
    pub waits: Vec<Wait>,
    /// An answer to another pause is refused.
    pub generation: Generation,
}

/// What was asked of the session and has not come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Asked {
    /// Nothing.
    #[default]
    Nothing,
    /// To go on.
    Confirm,
    /// To end.
    Cancel,
}

/// An operation of this process.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its id.
    pub id: OperationId,
    /// Its routine.
    pub routine: LoadedRoutine,
    /// Its name and the end of its id.
    pub label: Inert,
    /// The latest picture of it; `None` before the first.
    pub view: Option<OperationView>,
    /// What of it is drawn into the graph.
    pub live: LiveGraph,
    /// Its latest pause, until it rests again.
    pub pause: Option<Pause>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Whether it ended with the runner.
    pub closed: Closed,
    /// What was asked of the session.
    pub asked: Asked,
    /// How deep in repeating steps somebody looks; empty for its own graph.
    pub levels: Vec<Level>,
    /// The chosen step of the graph that is looked at, by its place in the file.
    pub step: usize,
    /// What of that graph is in view.
    pub camera: Camera,
    /// The chosen wait; the first where it isn't there any more.
    pub wait: Option<WaitKey>,
    /// Whether the chosen step goes with what happens.
    pub follow: Follow,
    /// When it began, and when it ended.
    pub began: Instant,
    /// When it ended.
    pub ended: Option<Instant>,
    output: RefCell<Option<(OutputKey, Document)>>,
}

/// Whether an operation ended with the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Closed {
    /// It didn't.
    #[default]
    No,
    /// It did: its records say *ended with the process*.
    Yes,
}

/// Whether the chosen step goes with what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Follow {
    /// It is the one that waits, or else the one that runs.
    #[default]
    Events,
    /// Somebody chose it.
    Person,
}

type OutputKey = (Option<ExecutionId>, usize, Lap, StepStatus);

impl Operation {
    /// An operation that has just begun.
    pub fn begun(id: OperationId, routine: LoadedRoutine, now: Instant) -> Self {
        let name = &routine.definition.slug;
        Self {
            label: Inert::one_line(&format!("{name} {}", short(&id))),
            live: LiveGraph::idle(&routine.picture.shape),
            id,
            routine,
            view: None,
            pause: None,
            outcome: None,
            closed: Closed::No,
            asked: Asked::Nothing,
            levels: Vec::new(),
            step: 0,
            camera: Camera::default(),
            wait: None,
            follow: Follow::Events,
            began: now,
            ended: None,
            output: RefCell::new(None),
        }
    }

    /// Where it stands.
    pub fn state(&self) -> OperationState {
        use crate::engine::operation::outcome::Status;
        match (&self.outcome, self.closed, &self.view) {
            (Some(outcome), _, _) => match outcome.status {
                Status::Succeeded => OperationState::Succeeded,
                Status::Failed => OperationState::Failed,
                Status::Cancelled => OperationState::Cancelled,
            },
            (None, Closed::Yes, _) => OperationState::Ended,
            (None, Closed::No, Some(view)) => view.state,
            (None, Closed::No, None) => OperationState::New,
        }
    }

    /// Whether it has not ended.
    pub fn is_active(&self) -> bool {
        !self.state().is_terminal()
    }

    /// The pause that can be answered now: nothing is asked of the session yet.
    pub fn open_pause(&self) -> Option<&Pause> {
        match self.asked {
            Asked::Nothing => self.pause.as_ref(),
            Asked::Confirm | Asked::Cancel => None,
        }
    }

    /// What it waits for.
    pub fn waits(&self) -> &[Wait] {
        match (self.open_pause(), &self.view) {
            (Some(pause), _) => &pause.waits,
            (None, Some(view)) if self.is_active() => &view.waits,
            (None, _) => &[],
        }
    }

    /// The row of the chosen wait.
    pub fn wait_row(&self) -> usize {
        let mut waits = self.waits().iter();
        let chosen = self.wait.as_ref();
        let row = chosen.and_then(|key| waits.position(|wait| wait.key == *key));
        row.unwrap_or(0)
    }

    /// Chooses the wait that stands some rows below the chosen one, stopping at the ends.
    pub fn choose_wait_by(&mut self, rows: isize) {
        let row = self.wait_row().saturating_add_signed(rows);
        let waits = self.waits();
        let wait = waits.get(row.min(waits.len().saturating_sub(1)));
        self.wait = wait.map(|wait| wait.key.clone());
    }

    /// A newer picture arrived.
    pub fn seen(&mut self, view: OperationView) {
        if let Some(outcome) = &view.outcome {
            self.outcome.get_or_insert_with(|| outcome.clone());
        }
        self.view = Some(view);
        self.refresh();
    }

    /// Shows the chosen step's output to `read`, wrapped once.
    pub fn with_output<T>(&self, read: impl FnOnce(&Document) -> T) -> Option<T> {
        let step = self.chosen_step()?;
        let output = step.output.as_ref()?;
        let execution = self.execution().map(|execution| execution.id.clone());
        let key = (execution, self.step, step.lap, step.status);
        let mut held = self.output.borrow_mut();
        let fresh = held.as_ref().is_some_and(|(of, _)| *of == key);
        if !fresh {
            *held = Some((key, Document::of(shown(output))));
        }
        held.as_ref().map(|(_, document)| read(document))
    }
}

/// A value for people, the beginning of it where it is long.
pub fn shown(value: &Value) -> Inert {
    let mut text = match value {
        Value::String(text) => text.clone(),
        // Our own values are JSON; a failure would only be a missing text.
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    if text.len() > SHOWN_OUTPUT {
        let end = (0..=SHOWN_OUTPUT)
            .rev()
            .find(|&at| text.is_char_boundary(at))
            .unwrap_or(0);
        text.truncate(end);
        text.push_str("\n… more in /sources");
    }
    Inert::text(&text)
}

/// All operations, in the order in which they began.
#[derive(Debug, Clone, Default)]
pub struct Operations {
    list: Vec<Operation>,
    chosen: Option<OperationId>,
}

impl Operations {
    /// All of them, the oldest first.
    pub fn all(&self) -> &[Operation] {
        &self.list
    }

    /// One that began is chosen.
    pub fn add(&mut self, operation: Operation) {
        self.chosen = Some(operation.id.clone());
        self.list.push(operation);
    }

    /// One of them.
    pub fn get(&self, id: &OperationId) -> Option<&Operation> {
        self.list.iter().find(|operation| operation.id == *id)
    }

    /// One of them, to change it.
    pub fn get_mut(&mut self, id: &OperationId) -> Option<&mut Operation> {
        self.list.iter_mut().find(|operation| operation.id == *id)
    }

    /// The one that is looked at.
    pub fn chosen(&self) -> Option<&Operation> {
        self.get(self.chosen.as_ref()?)
    }

    /// The one that is looked at, to change it.
    pub fn chosen_mut(&mut self) -> Option<&mut Operation> {
        let id = self.chosen.clone()?;
        self.get_mut(&id)
    }

    /// Its row.
    pub fn chosen_row(&self) -> Option<usize> {
        let chosen = self.chosen.as_ref()?;
        self.list
            .iter()
            .position(|operation| operation.id == *chosen)
    }

    /// Looks at one of them.
    pub fn choose(&mut self, id: &OperationId) {
        if self.get(id).is_some() {
            self.chosen = Some(id.clone());
        }
    }

    /// Looks at the one that stands some rows below the chosen one, stopping at the ends.
    pub fn choose_by(&mut self, rows: isize) {
        let Some(last) = self.list.len().checked_sub(1) else {
            return;
        };
        let row = self.chosen_row().unwrap_or(0);
        let row = row.saturating_add_signed(rows).min(last);
        self.chosen = Some(self.list[row].id.clone());
    }

    /// Those that have not ended.
    pub fn active(&self) -> impl Iterator<Item = &Operation> {
        self.list.iter().filter(|operation| operation.is_active())
    }

    /// Those that somebody has to answer.
    pub fn paused(&self) -> impl Iterator<Item = &Operation> {
        self.list
            .iter()
            .filter(|operation| operation.open_pause().is_some())
    }
}
