//! Errors of the session as a person sees them: what, why, and the next thing to type.

use crate::cli::open::MODEL_HINT;
use crate::engine::id::OperationId;
use crate::engine::ports::ReadSourceError;
use crate::engine::runner::{LeaseRefused, RunRefused};
use crate::host::session::{
    ChatRefused, ChooseModelError, ConfirmRefused, KeepError, NotPrepared, ReadError, ReceiptError,
};
use crate::tui::state::notice::Trouble;
use crate::tui::state::operations::short;
use crate::tui::state::routine::Origin;

/// Problems of a file that are shown; `validate` shows all.
const SHOWN: usize = 2;

pub(super) fn unreadable(error: &ReadError) -> Trouble {
    Trouble::of(
        &format!("{} was not started", error.path.display()),
        &error.why,
        "type /routine run and the path of a routine file",
    )
}

pub(super) fn not_prepared(origin: &Origin, error: &NotPrepared) -> Trouble {
    let name = match origin {
        Origin::Demo(name) => (*name).to_owned(),
        Origin::File(path) => path.clone(),
    };
    let what = format!("{name} was not started");
    match error {
        NotPrepared::Invalid(problems) => {
            let issues = &problems.issues;
            let mut why: Vec<String> = issues.iter().take(SHOWN).map(ToString::to_string).collect();
            if issues.len() > SHOWN {
                why.push(format!("and {} more", issues.len() - SHOWN));
            }
            let next = format!("run amos-tui validate {name} for all of it");
            Trouble::of(&what, &why.join("\n"), &next)
        }
        NotPrepared::Model { .. } => Trouble::of(&what, &error.to_string(), MODEL_HINT),
    }
}

pub(super) fn not_started(error: &RunRefused) -> Trouble {
    let next = match error {
        RunRefused::Lease(lease) => next_of_lease(lease),
        RunRefused::TooManyActive { .. } => "type /routine cancel to end one".to_owned(),
        RunRefused::MissingInputs(_) | RunRefused::UnknownInputs { .. } => {
            "type the command again and fill the form".to_owned()
        }
        RunRefused::Unsupported(_)
        | RunRefused::UnknownAgents(_)
        | RunRefused::UnknownCouncils(_)
        | RunRefused::UnknownTools(_) => "run amos-tui validate on the file".to_owned(),
        RunRefused::AlreadyCancelled | RunRefused::Closed => "type /quit and start anew".to_owned(),
    };
    Trouble::of("the routine was not started", &error.to_string(), &next)
}

fn next_of_lease(lease: &LeaseRefused) -> String {
    match lease {
        LeaseRefused::Leased { operation, .. } => {
            let op = short(operation);
            format!("type /routine confirm {op} or /routine cancel {op} first")
        }
        LeaseRefused::InUse { .. } => "wait for the chat's answer, then try again".to_owned(),
    }
}

pub(super) fn not_confirmed(error: &ConfirmRefused) -> Trouble {
    Trouble::of(
        "nothing was confirmed",
        &error.to_string(),
        "look at the operation, then type /routine confirm",
    )
}

pub(super) fn no_answer(error: &ChatRefused) -> Trouble {
    let next = match error {
        ChatRefused::Lease(lease) => next_of_lease(lease),
        ChatRefused::NoAnswer(_) => "say it again, or type /model to look at the model".to_owned(),
    };
    let what = match error {
        ChatRefused::Lease(_) => "nothing was sent",
        ChatRefused::NoAnswer(_) => "there is no answer",
    };
    Trouble::of(what, &error.to_string(), &next)
}

pub(super) fn model_not_chosen(error: &ChooseModelError) -> Trouble {
    let next = match error {
        ChooseModelError::Lease(lease) => next_of_lease(lease),
        ChooseModelError::Model(_) => {
            "type /model provider/model; /model offline needs no key".to_owned()
        }
    };
    Trouble::of("the model stays as it is", &error.to_string(), &next)
}

pub(super) fn not_listed(operation: &OperationId, error: &ReadSourceError) -> Trouble {
    Trouble::of(
        &format!("the sources of {} can't be listed", short(operation)),
        &error.to_string(),
        "type /routine inspect",
    )
}

pub(super) fn not_read(error: &ReadSourceError) -> Trouble {
    Trouble::of(
        "the source can't be read",
        &error.to_string(),
        "type /sources to list them again",
    )
}

pub(super) fn not_kept(error: &KeepError) -> Trouble {
    Trouble::of(
        "the source was not archived",
        &error.to_string(),
        "see that the data folder can be written to, then press a again",
    )
}

pub(super) fn not_acknowledged(error: &ReceiptError) -> Trouble {
    Trouble::of(
        "the receipt was not taken",
        &error.to_string(),
        "type /sources to list them again",
    )
}
