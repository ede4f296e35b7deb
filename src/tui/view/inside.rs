//! What is inside of the chosen step, in rows: a council's members and their tally, iterations, and
//! what a join still waits for.

use crate::engine::operation::view::{
    CouncilView, EdgeStatus, MemberStatus, MemberView, RepeatView, StepStatus,
};
use crate::engine::routine::definition::{CouncilStrategy, StepKind};
use crate::tui::state::operations::Operation;
use crate::tui::state::scene::nested;
use crate::tui::text::{ELLIPSIS, Inert};
use crate::tui::theme::{Role, Theme};
use crate::tui::view::row::{Row, wrapped};

/// Rows of a member's words; the sources have all of them.
const WORDS: usize = 3;

/// Everything of the chosen step that isn't the step itself.
pub(super) fn rows(operation: &Operation, columns: usize, theme: Theme) -> Vec<Row> {
    let seen = operation.chosen_step();
    let mut rows = Vec::new();
    if let Some(council) = seen.and_then(|step| step.council.as_ref()) {
        rows.extend(members(council, columns, theme));
    }
    rows.extend(iterations(operation, columns, theme));
    rows.extend(join(operation, columns, theme));
    rows
}

fn strategy(strategy: CouncilStrategy) -> &'static str {
    match strategy {
        CouncilStrategy::Broadcast => "broadcast",
        CouncilStrategy::RoundRobin => "round_robin",
        CouncilStrategy::Decompose => "decompose",
        CouncilStrategy::Vote => "vote",
        CouncilStrategy::Dynamic => "dynamic",
    }
}

fn members(council: &CouncilView, columns: usize, theme: Theme) -> Vec<Row> {
    let title = theme.style(Role::Title);
    let text = theme.style(Role::Text);
    let mut rows =
        vec![Row::new().text(&format!("Council: {}", strategy(council.strategy)), title)];
    rows.extend(wrapped(&Inert::one_line(&tally(council)), columns, text));
    rows.extend(member("leader ", &council.leader, columns, theme));
    for it in &council.members {
        rows.extend(member("", it, columns, theme));
    }
    rows
}

/// How far it is, counted.
fn tally(council: &CouncilView) -> String {
    let members = council.members.len();
    match (council.strategy, council.calls) {
        (CouncilStrategy::Vote, _) => {
            let passed = council.count(|status| status == MemberStatus::VotedPass);
            format!(
                "{passed} of {members} passed, needs more than half: {}",
                council.needed()
            )
        }
        (CouncilStrategy::Dynamic, Some((made, most))) => {
            format!("{made} of at most {most} calls of members")
        }
        (
            CouncilStrategy::Broadcast
            | CouncilStrategy::RoundRobin
            | CouncilStrategy::Decompose
            | CouncilStrategy::Dynamic,
            _,
        ) => {
            let said = council.count(MemberStatus::counts);
            format!("{said} of {members} contributed")
        }
    }
}

fn member(role: &'static str, member: &MemberView, columns: usize, theme: Theme) -> Vec<Row> {
    const INDENT: &str = "  ";
    let dim = theme.style(Role::Dim);
    let badge = theme.badge(member.status);
    let head = Row::new()
        .ours(badge.marker, badge.style)
        .ours(" ", badge.style)
        .ours(role, dim)
        .text(&member.agent, theme.style(Role::Text))
        .ours(" ", dim)
        .ours(badge.word, badge.style);
    let mut rows = vec![head];
    if let Some(note) = &member.note {
        let note = Inert::one_line(note);
        let mut words = wrapped(&note, columns.saturating_sub(INDENT.len()), dim);
        if words.len() > WORDS {
            words.truncate(WORDS - 1);
            words.push(Row::new().ours(ELLIPSIS, dim));
        }
        rows.extend(words.into_iter().map(|row| row.after(INDENT, dim)));
    }
    rows
}

fn iterations(operation: &Operation, columns: usize, theme: Theme) -> Vec<Row> {
    let Some(definition) = operation.body().steps.get(operation.step) else {
        return Vec::new();
    };
    if nested(definition).is_none() {
        return Vec::new();
    }
    let most = match &definition.kind {
        StepKind::Until(until) => Some(until.max_iterations),
        StepKind::Agent(_)
        | StepKind::Gate(_)
        | StepKind::Council(_)
        | StepKind::Tool(_)
        | StepKind::Map(_)
        | StepKind::Fold(_)
        | StepKind::Terminal { .. }
        | StepKind::TerminalFail { .. } => None,
    };
    let repeat = operation.chosen_step().and_then(|step| step.repeat);
    let status = operation.live.node(operation.step).status;
    let dim = theme.style(Role::Dim);
    let told = match (repeat, most) {
        (Some(repeat), most) => how_far(repeat, most, status),
        (None, Some(most)) => vec![format!("at most {most} iterations")],
        (None, None) => Vec::new(),
    };
    let mut rows: Vec<Row> = told
        .iter()
        .flat_map(|line| wrapped(&Inert::one_line(line), columns, theme.style(Role::Text)))
        .collect();
    let hint = match status {
        StepStatus::Waiting | StepStatus::Blocked | StepStatus::Uncertain => {
            "Something inside of it waits: Enter in the graph leads there."
        }
        _ => "Enter in the graph looks inside.",
    };
    rows.extend(wrapped(&Inert::ours(hint), columns, dim));
    rows
}

fn how_far(repeat: RepeatView, most: Option<u64>, status: StepStatus) -> Vec<String> {
    let RepeatView {
        current,
        done,
        count,
        total,
    } = repeat;
    let mut told = vec![match (current, most) {
        (Some(current), Some(most)) => {
            format!(
                "iteration {} of at most {most}: {}",
                current + 1,
                status.label()
            )
        }
        (Some(current), None) => {
            format!("iteration {} of {count}: {}", current + 1, status.label())
        }
        (None, Some(most)) => format!("{done} of at most {most} iterations are over"),
        (None, None) => format!("{done} of {count} iterations are over"),
    }];
    if let Some(total) = total.filter(|total| *total > count) {
        told.push(format!("covers {count} of {total} items (max_iterations)"));
    }
    told
}

/// What a step with several ways to it still waits for (G8).
fn join(operation: &Operation, columns: usize, theme: Theme) -> Vec<Row> {
    let shape = &operation.picture().shape;
    let onward = || {
        let edges = shape.edges.iter().enumerate();
        edges.filter(|(_, edge)| edge.to == operation.step && !edge.is_back())
    };
    if onward().count() < 2 {
        return Vec::new();
    }
    let from = |status: EdgeStatus| {
        let of_status = onward().filter(|&(at, _)| operation.live.edge(at).status == status);
        let names =
            of_status.filter_map(|(_, edge)| Some(shape.nodes.get(edge.from)?.name.as_str()));
        names.collect::<Vec<_>>().join(", ")
    };
    let is_held = operation.live.node(operation.step).status == StepStatus::Idle;
    let waits = match is_held {
        true => "join, waits for: ",
        false => "join, still pending: ",
    };
    [
        (waits, from(EdgeStatus::Pending), Role::Text),
        ("activated by: ", from(EdgeStatus::Activated), Role::Dim),
        ("died: ", from(EdgeStatus::Dead), Role::Dim),
    ]
    .into_iter()
    .filter(|(_, names, _)| !names.is_empty())
    .flat_map(|(what, names, role)| {
        let line = Inert::one_line(&format!("{what}{names}"));
        wrapped(&line, columns, theme.style(role))
    })
    .collect()
}
