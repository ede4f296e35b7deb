//! Which operation a command means: the named one, else the chosen one, else the only one that fits,
//! else a list to pick from (T2).

use crate::engine::id::OperationId;
use crate::tui::input::completion::Candidate;
use crate::tui::slash::candidate;
use crate::tui::state::State;
use crate::tui::state::notice::Trouble;
use crate::tui::state::operations::{Operation, short};

/// What a command means.
pub(super) enum Target {
    /// This operation.
    One(OperationId),
    /// One of these.
    Several(Vec<OperationId>),
}

/// Finds the operation for a command that fits some of them.
pub(super) fn target(
    state: &State,
    argument: &str,
    fits: fn(&Operation) -> bool,
) -> Result<Target, Trouble> {
    if !argument.is_empty() {
        return named(state, argument);
    }
    let fitting: Vec<OperationId> = state
        .operations
        .all()
        .iter()
        .filter(|operation| fits(operation))
        .map(|operation| operation.id.clone())
        .collect();
    match (state.operations.chosen(), fitting.as_slice()) {
        (Some(chosen), _) if fits(chosen) => Ok(Target::One(chosen.id.clone())),
        (_, [only]) => Ok(Target::One(only.clone())),
        (Some(chosen), []) => Ok(Target::One(chosen.id.clone())),
        (None, []) => Err(Trouble::of(
            "there is no operation",
            "nothing was started yet",
            "type /routine demo",
        )),
        (_, several) => Ok(Target::Several(several.to_vec())),
    }
}

/// An operation by its id, the end of its id, or its routine's name.
fn named(state: &State, argument: &str) -> Result<Target, Trouble> {
    let all = state.operations.all();
    if let Some(exact) = all
        .iter()
        .find(|operation| operation.id.as_str() == argument)
    {
        return Ok(Target::One(exact.id.clone()));
    }
    let fitting: Vec<OperationId> = all
        .iter()
        .filter(|operation| {
            operation.id.as_str().ends_with(argument)
                || operation.routine.definition.slug == argument
        })
        .map(|operation| operation.id.clone())
        .collect();
    match fitting.as_slice() {
        [only] => Ok(Target::One(only.clone())),
        [] => Err(Trouble::of(
            &format!("there is no operation {argument}"),
            "no id ends like that, and no routine has that name",
            "type /routine list",
        )),
        several => Ok(Target::Several(several.to_vec())),
    }
}

/// The operations that fit, for the completion.
pub(super) fn candidates(state: &State, fits: fn(&Operation) -> bool) -> Vec<Candidate> {
    let fitting = state.operations.all().iter().rev().filter(|it| fits(it));
    fitting
        .map(|operation| {
            let note = format!(
                "{} {}",
                operation.routine.definition.slug,
                operation.state().label()
            );
            candidate(short(&operation.id).to_owned(), &note)
        })
        .collect()
}
