//! Names of what is defined elsewhere: agents, councils, tools; and what assurance asks for.

use std::collections::{BTreeSet, HashSet};

use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{Maker, Named};
use crate::engine::routine::reader::routine::Reading;

/// What a file may name without defining it. The agent `default` always exists.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Agents of the configuration.
    pub agents: BTreeSet<String>,
    /// Councils of the configuration.
    pub councils: BTreeSet<String>,
    /// Tools of the host.
    pub tools: BTreeSet<String>,
}

/// The chat agent's name (G17).
const DEFAULT_AGENT: &str = "default";

/// `unknown-agent`, `unknown-council`, `unknown-tool`
pub(in crate::engine::routine) fn known(reading: &Reading, known: &Known, issues: &Issues) {
    let text = String::as_str;
    let agents: BTreeSet<&str> = known
        .agents
        .iter()
        .chain(&reading.agents)
        .map(text)
        .chain([DEFAULT_AGENT])
        .collect();
    let councils: BTreeSet<&str> = known
        .councils
        .iter()
        .chain(&reading.councils)
        .map(text)
        .collect();
    let tools: BTreeSet<&str> = known.tools.iter().map(text).collect();
    for note in reading.notes.names.borrow().iter() {
        let (names, code, word) = match note.of {
            Named::Agent => (&agents, Code::UnknownAgent, "agent"),
            Named::Council => (&councils, Code::UnknownCouncil, "council"),
            Named::Tool => (&tools, Code::UnknownTool, "tool"),
        };
        if !names.contains(note.name.as_str()) {
            let hint = issues.hint(&note.name, names.iter().copied());
            let message = format!("there is no {word} `{}`{hint}", note.name);
            issues.add(code, note.at, Subject::step(note.step.as_deref()), message);
        }
    }
}

/// `bad-assurance`: what nothing in the file could ever satisfy
pub(in crate::engine::routine) fn assurance(reading: &Reading, issues: &Issues) {
    let Some(policy) = &reading.assurance else {
        return;
    };
    let notes = reading.notes.checks.borrow();
    let cannot = |at, message: String| {
        issues.add(Code::BadAssurance, at, Subject::default(), message);
    };
    for method in &policy.methods {
        if !notes.iter().any(|note| note.method == Some(method.value)) {
            cannot(
                method.at,
                "no check, gate or council of this routine works by this method".into(),
            );
        }
    }
    let attempts = notes.iter().filter(|note| note.method.is_some());
    let covered: HashSet<&str> = attempts
        .flat_map(|note| note.covers.iter().map(String::as_str))
        .collect();
    for word in &policy.coverage {
        if !covered.contains(word.value.as_str()) {
            let all = notes
                .iter()
                .flat_map(|note| note.covers.iter().map(String::as_str));
            let hint = issues.hint(&word.value, all);
            cannot(word.at, format!("no check covers `{}`{hint}", word.value));
        }
    }
    if let Some(at) = policy.independent
        && !notes
            .iter()
            .any(|note| note.method.is_some() && note.independent)
    {
        cannot(at, "no check of this routine is independent".into());
    }
}

/// `no-verification`
pub(in crate::engine::routine) fn some_verification(reading: &Reading, issues: &Issues) {
    let notes = reading.notes.checks.borrow();
    if !notes.iter().any(|note| note.made_by == Maker::Check) {
        let message = "nothing checks this routine's work; it will stay not fulfilled";
        issues.add(
            Code::NoVerification,
            reading.outline.at,
            Subject::default(),
            message,
        );
    }
}
