//! Rules of single steps, entries and terminals.

use std::collections::HashSet;

use crate::engine::limits;
use crate::engine::routine::definition::EdgeCondition;
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{Kind, ListState, Order, Owner};
use crate::engine::routine::rules::sketch::{Meaning, Sketch};

/// `empty-graph`
pub(in crate::engine::routine) fn some_steps(sketch: &Sketch<'_>, issues: &Issues) {
    let steps = &sketch.outline.steps;
    if steps.items.is_empty() && steps.state != ListState::Unreadable {
        let message = "there is no step";
        issues.add(
            Code::EmptyGraph,
            steps.at,
            Subject::step(sketch.host),
            message,
        );
    }
}

/// `no-entry`, `unknown-entry`, `duplicate-entry`
pub(in crate::engine::routine) fn entries(sketch: &Sketch<'_>, issues: &Issues) {
    let entries = &sketch.outline.entries;
    let has_steps = !sketch.outline.steps.items.is_empty();
    if entries.items.is_empty()
        && entries.state != ListState::Unreadable
        && (has_steps || sketch.outline.order == Order::Stated && sketch.outline.host.is_none())
    {
        let message = "no step starts; name one in entry_steps";
        issues.add(
            Code::NoEntry,
            entries.at,
            Subject::step(sketch.host),
            message,
        );
    }
    let mut seen = HashSet::new();
    for entry in &entries.items {
        let subject = Subject::step(Some(&entry.value));
        if !sketch.found.contains_key(entry.value.as_str()) {
            let hint = issues.hint(&entry.value, sketch.found.keys().copied());
            let message = format!("the entry `{}` is no step{hint}", entry.value);
            issues.add(Code::UnknownEntry, entry.at, subject, message);
        }
        if !seen.insert(&entry.value) {
            let message = format!("the entry `{}` is named twice", entry.value);
            issues.add(Code::DuplicateEntry, entry.at, subject, message);
        }
    }
}

/// `duplicate-step`, of graph steps by slug and of pre and post steps by name
pub(in crate::engine::routine) fn distinct(sketch: &Sketch<'_>, issues: &Issues) {
    let mut seen = HashSet::new();
    for slug in sketch
        .outline
        .steps
        .items
        .iter()
        .flat_map(|step| &step.slug)
    {
        if !seen.insert(slug.value.as_str()) {
            let message = format!("there is a step `{}` already", slug.value);
            issues.add(
                Code::DuplicateStep,
                slug.at,
                Subject::step(Some(&slug.value)),
                message,
            );
        }
    }
    let mut seen = HashSet::new();
    let around = sketch
        .outline
        .pre_steps
        .iter()
        .chain(&sketch.outline.post_steps);
    for name in around.filter(|name| !name.value.is_empty()) {
        if !seen.insert(name.value.as_str()) {
            let message = format!("there is a pre or post step `{}` already", name.value);
            issues.add(
                Code::DuplicateStep,
                name.at,
                Subject::step(Some(&name.value)),
                message,
            );
        }
    }
}

/// `too-many-steps`
pub(in crate::engine::routine) fn not_too_many(sketch: &Sketch<'_>, issues: &Issues) {
    let most = limits::DEFINITION_STEPS;
    let mut counted = (0..sketch.len()).filter(|&index| !sketch.step(index).is_terminal());
    if let Some(first) = counted.nth(most) {
        let count = most + 1 + counted.count();
        let message = format!("there are {count} steps, {most} are allowed besides terminals");
        sketch.of_step(issues, Code::TooManySteps, first, message);
    }
}

/// `missing-outgoing`
pub(in crate::engine::routine) fn lead_on(sketch: &Sketch<'_>, issues: &Issues) {
    if !sketch.has_edges() {
        return;
    }
    let mut leads_on = vec![false; sketch.len()];
    let mut passes = vec![false; sketch.len()];
    for (step, edge, meaning) in sketch.leaving() {
        // An edge to a step that doesn't exist is meant to lead on; one to its own source can't be.
        if edge.to.as_ref().map(|to| to.value.as_str()) == sketch.step(step).slug() {
            continue;
        }
        leads_on[step] = true;
        passes[step] |= match meaning {
            Meaning::Plain(EdgeCondition::OnPass) | Meaning::GateAlways | Meaning::Unknown => true,
            Meaning::Plain(EdgeCondition::Always | EdgeCondition::OnFail) | Meaning::Impossible => {
                false
            }
        };
    }
    for step in 0..sketch.len() {
        let outline = sketch.step(step);
        let known = outline.slug().and_then(|slug| sketch.found.get(slug)) == Some(&step);
        if outline.is_terminal() || outline.kind.is_none() || !known {
            continue;
        }
        if !leads_on[step] {
            let message = "this step leads nowhere; add an edge from it";
            sketch.of_step(issues, Code::MissingOutgoing, step, message);
        } else if outline.kind == Some(Kind::Gate) && !passes[step] {
            let message = "this gate leads nowhere when it passes; add an on_pass edge";
            sketch.of_step(issues, Code::MissingOutgoing, step, message);
        }
    }
}

/// `terminal-has-outgoing`
pub(in crate::engine::routine) fn terminals_end(sketch: &Sketch<'_>, issues: &Issues) {
    for edge in &sketch.outline.edges.items {
        let Some(from) = &edge.from else { continue };
        let Some(&step) = sketch.found.get(from.value.as_str()) else {
            continue;
        };
        if sketch.step(step).is_terminal() {
            let label = edge.label();
            let subject = Subject {
                step: Some(&from.value),
                edge: label.as_deref(),
            };
            let message = format!("`{}` is a terminal; nothing comes after it", from.value);
            issues.add(Code::TerminalHasOutgoing, edge.at, subject, message);
        }
    }
}

/// `no-terminal`, `no-success-terminal`, `no-failure-terminal`
pub(in crate::engine::routine) fn terminals(sketch: &Sketch<'_>, issues: &Issues) {
    let outline = sketch.outline;
    if outline.steps.items.is_empty() {
        return;
    }
    let has = |kind| {
        outline
            .steps
            .items
            .iter()
            .any(|step| step.kind == Some(kind))
    };
    let missing = |code, message: &str| {
        issues.add(code, outline.steps.at, Subject::step(sketch.host), message);
    };
    match (has(Kind::Terminal), has(Kind::TerminalFail)) {
        (false, false) if outline.steps.items.iter().any(|step| step.kind.is_none()) => {}
        (false, false) => missing(
            Code::NoTerminal,
            "there is no terminal; add one and lead to it",
        ),
        (false, true) => missing(
            Code::NoSuccessTerminal,
            "there is no `terminal`: this can only fail",
        ),
        (true, false) if outline.order == Order::Stated => missing(
            Code::NoFailureTerminal,
            "there is no `terminal_fail`: work that isn't accepted ends by a step's failure, not in a place that you named",
        ),
        (true, false) | (true, true) => {}
    }
}

/// `unreachable-step`
pub(in crate::engine::routine) fn reachable(sketch: &Sketch<'_>, issues: &Issues) {
    if !sketch.has_edges() || sketch.entries.is_empty() {
        return;
    }
    let mut seen = vec![false; sketch.len()];
    let mut open = sketch.entries.clone();
    while let Some(step) = open.pop() {
        if !std::mem::replace(&mut seen[step], true) {
            open.extend(sketch.out[step].iter().map(|&link| sketch.links[link].to));
        }
    }
    for (step, seen) in seen.iter().enumerate() {
        let slug = sketch.step(step).slug();
        let first = slug.and_then(|slug| sketch.found.get(slug)) == Some(&step);
        if !seen && first {
            let message = "no entry step leads here; add an edge from a step that is reached";
            sketch.of_step(issues, Code::UnreachableStep, step, message);
        }
    }
}

/// `gate-without-criteria`
pub(in crate::engine::routine) fn gates_have_criteria(sketch: &Sketch<'_>, issues: &Issues) {
    for step in 0..sketch.len() {
        let outline = sketch.step(step);
        let judged = matches!(outline.owner, Some(Owner::Agent | Owner::Operator));
        if judged && outline.criteria == 0 {
            let message = "this gate judges by nothing; give it criteria";
            sketch.of_step(issues, Code::GateWithoutCriteria, step, message);
        }
    }
}
