//! Files that were written for other systems: recognised, so that nobody gets fifty complaints
//! about fields that were right where they came from.

use crate::engine::routine::file::{Node, Position, RoutineFile};

/// A file of another system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::routine) struct Foreign {
    /// Which system's.
    pub(in crate::engine::routine) format: Format,
    /// Where that shows.
    pub(in crate::engine::routine) at: Position,
}

/// A format of another system (routine-format.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Format {
    /// A graph with `step_type` and `source_step`.
    GraphManifest,
    /// A list of `tasks` that depend on each other.
    TaskList,
}

impl Foreign {
    /// For people.
    pub(in crate::engine::routine) fn message(&self) -> String {
        let what = match self.format {
            Format::GraphManifest => "a graph manifest (schema nenjo.routine.v1)",
            Format::TaskList => "a task list",
        };
        format!(
            "this is {what}; this version doesn't import it. Write it as a routine: routine, entry_steps, steps, edges"
        )
    }
}

/// Tells which other system a file was written for, if any. A file that names its `routine` is ours.
pub(in crate::engine::routine) fn recognise(file: &RoutineFile) -> Option<Foreign> {
    let root = &file.root;
    if root.get("routine").is_some() {
        return None;
    }
    let of = |format, node: &Node| {
        Some(Foreign {
            format,
            at: node.at,
        })
    };
    if let Some(schema) = root.get("schema")
        && schema
            .as_text()
            .is_some_and(|text| text.starts_with("nenjo.routine."))
    {
        return of(Format::GraphManifest, schema);
    }
    if let Some(manifest) = root.get("manifest")
        && manifest.as_map().is_some()
    {
        return of(Format::GraphManifest, manifest);
    }
    let marked = |list: &str, marks: [&str; 2]| {
        let items = root.get(list)?.as_list()?;
        items
            .iter()
            .find_map(|item| marks.into_iter().find_map(|mark| item.get(mark)))
    };
    if let Some(node) = marked("steps", ["step_type", "source_step"])
        .or_else(|| marked("edges", ["source_step", "target_step"]))
    {
        return of(Format::GraphManifest, node);
    }
    match root.get("tasks") {
        Some(tasks) if root.get("steps").is_none() => of(Format::TaskList, tasks),
        Some(_) | None => None,
    }
}
