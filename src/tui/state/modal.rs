//! What lies over the screen and has all keys: a question, a list to pick from, or a text to read.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engine::id::OperationId;
use crate::engine::routine::definition::Parameter;
use crate::tui::state::confirm::Confirm;
use crate::tui::state::document::Document;
use crate::tui::state::form::Form;
use crate::tui::state::operations::Operation;
use crate::tui::state::routine::{self, Checks, LoadedRoutine};
use crate::tui::state::{State, Ticket};
use crate::tui::text::Inert;
use crate::tui::theme::Role;

/// What lies over the screen.
#[derive(Debug, Clone)]
pub enum Modal {
    /// A question.
    Ask(Box<Dialog>),
    /// A list of operations to pick from.
    Pick(Picker),
    /// A text to read.
    Read(Reader),
}

/// A question.
#[derive(Debug, Clone)]
pub struct Dialog {
    /// What it is about.
    pub title: Inert,
    /// What stands in it.
    pub form: Form,
    /// What accepting does.
    pub purpose: Purpose,
}

/// What accepting a question does.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// Ends the program.
    Quit,
    /// Cancels an operation.
    Cancel(OperationId),
    /// Goes on with an operation.
    Confirm(Confirm),
    /// Starts a routine.
    Run(Run),
}

/// A routine that is about to start.
#[derive(Debug, Clone)]
pub struct Run {
    /// Under which it was loaded.
    pub ticket: Ticket,
    inputs: Vec<(String, usize)>,
}

/// What an operation is picked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picking {
    /// To be inspected.
    Inspect,
    /// To be confirmed.
    Confirm,
    /// To be reconciled.
    Reconcile,
    /// To be cancelled.
    Cancel,
}

/// A list of operations to pick from.
#[derive(Debug, Clone)]
pub struct Picker {
    /// What for.
    pub picking: Picking,
    /// Which ones.
    pub operations: Vec<OperationId>,
    /// The chosen row.
    pub row: usize,
}

/// A text to read.
#[derive(Debug, Clone)]
pub struct Reader {
    /// What it is.
    pub title: Inert,
    /// The text.
    pub document: Document,
    /// The first visible row.
    pub scroll: usize,
}

impl Dialog {
    /// Asks whether to end the program.
    pub fn quit<'a>(active: impl Iterator<Item = &'a Operation>) -> Self {
        let mut form = Form::of("Stay", "Quit");
        let mut any = false;
        for operation in active {
            any = true;
            form.say(
                Role::Text,
                &format!("{} is {}", operation.label, operation.state().label()),
            );
        }
        form.say(
            Role::Text,
            match any {
                true => {
                    "Operations end with the process: nothing of them is confirmed, and nothing resumes after a restart. Their records and sources stay."
                }
                false => "Nothing is running.",
            },
        );
        Self {
            title: Inert::ours("Quit?"),
            form,
            purpose: Purpose::Quit,
        }
    }

    /// Asks whether to cancel an operation.
    pub fn cancel(operation: &Operation) -> Self {
        let mut form = Form::of("Keep it", "Cancel the operation");
        form.say(Role::Text, &format!("It is {}.", operation.state().label()));
        if let Some(view) = &operation.view {
            form.say(
                Role::Attention,
                &format!("Effects so far: {}", view.effects.label()),
            );
        }
        form.say(
            Role::Text,
            "Cancelling revokes the right to go on and asks running work to stop. It doesn't claim to know whether an action outside happened.",
        );
        Self {
            title: Inert::one_line(&format!("Cancel {}?", operation.label)),
            form,
            purpose: Purpose::Cancel(operation.id.clone()),
        }
    }

    /// Asks for the inputs of a routine, and shows the checks that running it accepts; `None` where
    /// there is nothing to ask and nothing to show.
    pub fn run(ticket: Ticket, routine: &LoadedRoutine, state: &State) -> Option<Self> {
        let definition = &routine.definition;
        let asks = routine::missing(definition).next().is_some();
        let shows = routine.checks == Checks::Unseen;
        if !asks && !shows {
            return None;
        }
        let mut form = Form::of("Cancel", "Run");
        if let Some(description) = &definition.description {
            form.say(Role::Text, description);
        }
        form.say(Role::Dim, &format!("Model: {}", state.model));
        for warning in &routine.warnings {
            form.say(Role::Attention, warning.as_str());
        }
        if shows {
            form.say(Role::Text, "");
            form.say(Role::Title, "Running it accepts these checks:");
            for check in routine::acting_checks(definition) {
                form.say(Role::Attention, &check);
            }
            if !state.workspace.is_empty() {
                form.say(Role::Dim, &format!("Commands run in {}.", state.workspace));
            }
        }
        if !definition.parameters.is_empty() {
            form.say(Role::Text, "");
        }
        let inputs = definition.parameters.iter().map(|parameter| {
            let item = form.text(Vec::new(), &label(parameter), &filled(parameter));
            (parameter.name.clone(), item)
        });
        let inputs = inputs.collect();
        Some(Self {
            title: Inert::one_line(&format!("Run {}?", definition.name)),
            form,
            purpose: Purpose::Run(Run { ticket, inputs }),
        })
    }
}

impl Picker {
    /// A list with the newest chosen.
    pub fn of(picking: Picking, operations: Vec<OperationId>) -> Self {
        let row = operations.len().saturating_sub(1);
        Self {
            picking,
            operations,
            row,
        }
    }
}

fn label(parameter: &Parameter) -> String {
    let required = match parameter.required && parameter.default.is_none() {
        true => " (required)",
        false => "",
    };
    match &parameter.description {
        Some(description) => format!("{}{required}: {description}", parameter.name),
        None => format!("{}{required}", parameter.name),
    }
}

fn filled(parameter: &Parameter) -> String {
    match &parameter.default {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

impl Run {
    /// The inputs that were written; or what is missing, and where. What was left as it stood takes
    /// the file's default, which may be no text, or one that was made inert to stand there.
    pub fn inputs(
        &self,
        form: &Form,
        routine: &LoadedRoutine,
    ) -> Result<BTreeMap<String, Value>, (usize, String)> {
        let mut inputs = BTreeMap::new();
        let parameters = routine.definition.parameters.iter();
        for ((name, item), parameter) in self.inputs.iter().zip(parameters) {
            let written = form.written(*item);
            if written == Inert::text(&filled(parameter)).as_str() {
                if parameter.required && parameter.default.is_none() {
                    return Err((*item, format!("{name} is required")));
                }
                continue;
            }
            let value = match &parameter.default {
                Some(Value::String(_)) | None => Value::String(written),
                // What stands in the place of a number or a list is one too, where it can be read so.
                Some(_) => serde_json::from_str(&written).unwrap_or(Value::String(written)),
            };
            inputs.insert(name.clone(), value);
        }
        Ok(inputs)
    }
}
