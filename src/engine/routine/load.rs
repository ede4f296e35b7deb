//! The one way from a file's bytes to a routine that can run.

use std::sync::Arc;

use crate::engine::routine::definition::RoutineDefinition;
use crate::engine::routine::file::RoutineFile;
use crate::engine::routine::graph::RoutineGraph;
use crate::engine::routine::import;
use crate::engine::routine::issue::{Code, Issue};
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::reader::context::spelled_as_ours;
use crate::engine::routine::reader::routine as reader;
use crate::engine::routine::rules;
use crate::engine::routine::rules::names::Known;
use crate::engine::routine::runnable;

/// What became of a file.
#[derive(Debug)]
pub struct Loaded {
    /// Every problem, by position.
    pub issues: Vec<Issue>,
    /// The routine, where no problem is an error.
    pub routine: Option<CheckedRoutine>,
}

/// A routine that keeps every rule of G12.
#[derive(Debug, Clone)]
pub struct CheckedRoutine {
    /// The routine as its author wrote it.
    pub definition: Arc<RoutineDefinition>,
    /// Its graph; shares the definition's bodies.
    pub graph: RoutineGraph,
    /// What this version doesn't run yet: valid, and refused before any action.
    pub unsupported: Arc<[Issue]>,
}

/// Reads and judges a file. The caller bounds its size; see `limits::FILE_BYTES`.
pub fn load(bytes: &[u8], known: &Known) -> Loaded {
    let issues = Issues::default();
    let routine = check(bytes, known, &issues);
    Loaded {
        issues: issues.sorted(),
        routine,
    }
}

fn check(bytes: &[u8], known: &Known, issues: &Issues) -> Option<CheckedRoutine> {
    let file = match RoutineFile::parse(bytes) {
        Ok(file) => file,
        Err(bad) => {
            issues.add(Code::Parse, bad.at, Subject::default(), bad.message);
            return None;
        }
    };
    let reading = match import::recognise(&file) {
        None => reader::read(&file, spelled_as_ours, issues)?,
        Some(format) => {
            let ours = import::rewrite(&file, format, issues);
            reader::read(&ours, format.spelling(), issues)?
        }
    };
    if issues.gave_up() {
        // Rules would judge what wasn't read.
        return None;
    }
    let findings = rules::judge(&reading, known, issues);
    if issues.any_error() {
        return None;
    }
    let unsupported = runnable::unsupported(&reading.notes);
    let definition = Arc::new(reading.definition?);
    let graph = findings?.into_graph(&definition.body, reading.outline);
    Some(CheckedRoutine {
        definition,
        graph,
        unsupported: unsupported.into(),
    })
}
