//! What is wrong with a file, as C4's line or for people.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::engine::routine::issue::{Issue, Severity};
use crate::tui::text::inert_json;

/// C4: one line for each file.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct FileReport<'a> {
    file: String,
    valid: bool,
    issues: &'a [Issue],
}

impl<'a> FileReport<'a> {
    pub(in crate::cli) fn of(file: &Path, issues: &'a [Issue]) -> Self {
        let valid = issues
            .iter()
            .all(|issue| issue.severity == Severity::Warning);
        Self {
            file: file.display().to_string(),
            valid,
            issues,
        }
    }

    /// Whether no issue is an error.
    pub(in crate::cli) fn is_valid(&self) -> bool {
        self.valid
    }

    /// One line of JSON.
    pub(in crate::cli) fn json(&self) -> String {
        let line = serde_json::to_string(self).expect("BUG: a report is plain JSON");
        inert_json(line + "\n")
    }

    /// Lines for people, `file:line:column: severity[code]: message`.
    pub(in crate::cli) fn text(&self) -> String {
        let mut text = String::new();
        for issue in self.issues {
            // Writing to a String can't fail.
            let _ = writeln!(text, "{}:{issue}", self.file);
        }
        let count = |severity| {
            self.issues
                .iter()
                .filter(|issue| issue.severity == severity)
                .count()
        };
        let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        let _ = match (self.valid, count(Severity::Error), count(Severity::Warning)) {
            (true, _, 0) => writeln!(text, "{}: valid", self.file),
            (true, _, warnings) => {
                writeln!(
                    text,
                    "{}: valid, {}",
                    self.file,
                    plural(warnings, "warning")
                )
            }
            (false, errors, 0) => writeln!(text, "{}: {}", self.file, plural(errors, "error")),
            (false, errors, warnings) => writeln!(
                text,
                "{}: {}, {}",
                self.file,
                plural(errors, "error"),
                plural(warnings, "warning")
            ),
        };
        text
    }
}
