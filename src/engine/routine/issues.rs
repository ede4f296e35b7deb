//! Collects problems while a file is read and judged, each with its place.

use std::cell::RefCell;
use std::collections::HashSet;

use crate::engine::routine::file::Position;
use crate::engine::routine::issue::{Code, Issue, Severity};
use crate::engine::routine::reader::near;

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
            step: slug.map(shortened),
            edge: None,
        }
    }

    /// An edge.
    pub(in crate::engine::routine) fn edge(label: Option<&'a str>) -> Self {
        Self {
            step: None,
            edge: label.map(shortened),
        }
    }
}

/// The beginning of a name of any length: every problem of a step repeats it.
fn shortened(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAMED)]
}

/// Problems of one severity that are kept. A file of a thousand steps that are all wrong in several
/// ways stays far below; a hostile one must not fill the memory.
const KEPT: usize = 10_000;

/// Pairs of characters that are compared to say what was meant, all problems together: without a
/// bound a file of many names and many slips would take minutes.
const HINTED: usize = 10_000_000;
/// Bytes of a name that problems repeat. A name that is valid is shorter.
const NAMED: usize = 200;

/// Problems in the order in which they are found.
#[derive(Default)]
pub(in crate::engine::routine) struct Issues(RefCell<Found>);

#[derive(Default)]
struct Found {
    kept: Vec<Issue>,
    errors: Tally,
    warnings: Tally,
    reading: Reading,
    hinted: usize,
}

/// How many problems of one severity there are.
#[derive(Default)]
struct Tally {
    found: usize,
    /// The first that wasn't kept.
    beyond: Option<(Code, Position)>,
}

/// Whether all of the file is looked at.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    Whole,
    /// What isn't read can't be judged.
    GivenUp,
}

impl Issues {
    /// Adds one.
    pub(in crate::engine::routine) fn add(
        &self,
        code: Code,
        at: Position,
        subject: Subject<'_>,
        message: impl Into<String>,
    ) {
        let found = &mut *self.0.borrow_mut();
        let severity = code.severity();
        let tally = match severity {
            Severity::Error => &mut found.errors,
            Severity::Warning => &mut found.warnings,
        };
        tally.found += 1;
        if tally.found > KEPT {
            tally.beyond.get_or_insert((code, at));
            return;
        }
        found.kept.push(Issue {
            severity,
            code,
            step: subject.step.map(shortened).map(str::to_owned),
            edge: subject.edge.map(shortened).map(str::to_owned),
            line: at.line,
            column: at.column,
            message: message.into(),
        });
    }

    /// `; did you mean X?` or nothing, where a file's own names are many.
    pub(in crate::engine::routine) fn hint<'a>(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> String {
        let found = &mut *self.0.borrow_mut();
        if found.hinted >= HINTED {
            return String::new();
        }
        let compared = |name: &&str| found.hinted += near::effort(word, name);
        near::hint(word, known.into_iter().inspect(compared))
    }

    /// Whether the file can't run.
    pub(in crate::engine::routine) fn any_error(&self) -> bool {
        self.0.borrow().errors.found > 0
    }

    /// Says that the rest of the file isn't worth reading.
    pub(in crate::engine::routine) fn give_up(&self) {
        self.0.borrow_mut().reading = Reading::GivenUp;
    }

    /// Whether reading on is worth nothing: somebody said so, or no further error would be kept.
    pub(in crate::engine::routine) fn gave_up(&self) -> bool {
        let found = self.0.borrow();
        found.reading == Reading::GivenUp || found.errors.found > KEPT
    }

    /// All that are kept, by position, each once; last how many are not.
    pub(in crate::engine::routine) fn sorted(self) -> Vec<Issue> {
        let Found {
            kept: mut issues,
            errors,
            warnings,
            ..
        } = self.0.into_inner();
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
        issues.extend([warnings.rest(), errors.rest()].into_iter().flatten());
        issues
    }
}

impl Tally {
    /// The line that stands for what isn't kept.
    fn rest(&self) -> Option<Issue> {
        let (code, at) = self.beyond?;
        let severity = code.severity();
        let more = self.found - KEPT;
        Some(Issue {
            severity,
            code,
            step: None,
            edge: None,
            line: at.line,
            column: at.column,
            message: format!(
                "{more} or more further {}s are left out, from here on; see to the others first",
                severity.label()
            ),
        })
    }
}
