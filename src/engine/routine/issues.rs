//! Collects problems while a file is read and judged, each with its place.

use std::cell::RefCell;
use std::collections::HashSet;

use crate::engine::routine::file::Position;
use crate::engine::routine::issue::{Code, Issue, Severity};

/// What a problem is about.
#[derive(Clone, Copy, Default)]
pub(in crate::engine::routine) struct Subject<'a> {
    /// The slug of a step.
    pub(in crate::engine::routine) step: Option<&'a str>,
    /// `source->target` of an edge.
    pub(in crate::engine::routine) edge: Option<&'a str>,
}

impl<'a> Subject<'a> {
    /// A step.
    pub(in crate::engine::routine) fn step(slug: Option<&'a str>) -> Self {
        Self {
            step: slug,
            edge: None,
        }
    }

    /// An edge.
    pub(in crate::engine::routine) fn edge(label: Option<&'a str>) -> Self {
        Self {
            step: None,
            edge: label,
        }
    }
}

/// Problems in the order in which they are found.
#[derive(Default)]
pub(in crate::engine::routine) struct Issues(RefCell<Vec<Issue>>);

impl Issues {
    /// Adds one.
    pub(in crate::engine::routine) fn add(
        &self,
        code: Code,
        at: Position,
        subject: Subject<'_>,
        message: impl Into<String>,
    ) {
        self.0.borrow_mut().push(Issue {
            severity: code.severity(),
            code,
            step: subject.step.map(str::to_owned),
            edge: subject.edge.map(str::to_owned),
            line: at.line,
            column: at.column,
            message: message.into(),
        });
    }

    /// Whether the file can't run.
    pub(in crate::engine::routine) fn any_error(&self) -> bool {
        self.0
            .borrow()
            .iter()
            .any(|issue| issue.severity == Severity::Error)
    }

    /// All, by position; each once.
    pub(in crate::engine::routine) fn sorted(self) -> Vec<Issue> {
        let mut issues = self.0.into_inner();
        issues.sort_by(|a, b| {
            (a.line, a.column, a.severity, a.code).cmp(&(b.line, b.column, b.severity, b.code))
        });
        let mut seen = HashSet::new();
        issues.retain(|issue| {
            seen.insert((
                issue.code,
                issue.line,
                issue.column,
                issue.step.clone(),
                issue.edge.clone(),
                issue.message.clone(),
            ))
        });
        issues
    }
}
