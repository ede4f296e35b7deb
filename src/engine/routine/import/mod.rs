//! Files that were written for other systems (G14), turned into the tree of a file of ours.
//!
//! A graph manifest and a task list are rewritten node by node, and each new node keeps the position
//! of what it came from. The same reader and the same rules then judge them, so that every problem
//! points into the author's own lines. Only what those couldn't see is reported here: fields that
//! the other format doesn't have, and features that we don't offer (`unsupported`).

mod foreign;
mod manifest;
mod names;
mod people;
mod repeat;
mod task;
mod task_list;
#[cfg(test)]
mod tests;
mod text;
mod unsupported;

use crate::engine::routine::file::RoutineFile;
use crate::engine::routine::import::foreign::Desk;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::reader::context::Spelling;

/// A format of another system (routine-format.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Format {
    /// A graph with `step_type` and `source_step`.
    GraphManifest,
    /// A list of `tasks` that depend on each other.
    TaskList,
}

impl Format {
    /// How this format spells our fields.
    pub(in crate::engine::routine) fn spelling(self) -> Spelling {
        match self {
            Self::GraphManifest => manifest::spelled,
            Self::TaskList => task_list::spelled,
        }
    }
}

/// Tells which other system a file was written for, if any. A file that names its `routine` is ours.
pub(in crate::engine::routine) fn recognise(file: &RoutineFile) -> Option<Format> {
    let root = &file.root;
    if root.get("routine").is_some() {
        return None;
    }
    let names_schema = root
        .get("schema")
        .and_then(|schema| schema.as_text())
        .is_some_and(|text| text.starts_with("nenjo.routine."));
    let wraps = root
        .get("manifest")
        .is_some_and(|manifest| manifest.as_map().is_some());
    let marked = |list: &str, marks: [&str; 2]| {
        let items = root.get(list).and_then(|list| list.as_list());
        items
            .unwrap_or_default()
            .iter()
            .any(|item| marks.iter().any(|mark| item.get(mark).is_some()))
    };
    if names_schema
        || wraps
        || marked("steps", ["step_type", "source_step"])
        || marked("edges", ["source_step", "target_step"])
    {
        return Some(Format::GraphManifest);
    }
    match root.get("tasks") {
        Some(_) if root.get("steps").is_none() => Some(Format::TaskList),
        Some(_) | None => None,
    }
}

/// Rewrites a file as one of ours. What is wrong with it is reported, and the rest still rewritten.
pub(in crate::engine::routine) fn rewrite(
    file: &RoutineFile,
    format: Format,
    issues: &Issues,
) -> RoutineFile {
    let desk = Desk {
        issues,
        subject: Subject::default(),
    };
    let root = match format {
        Format::GraphManifest => manifest::rewrite(desk, &file.root),
        Format::TaskList => task_list::rewrite(desk, &file.root),
    };
    RoutineFile { root }
}
