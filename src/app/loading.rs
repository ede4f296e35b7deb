//! From a file, or a demo, to a routine that is ready to start, with its picture. Off the loop: reading
//! may block, and laying out takes its time.

use std::path::Path;
use std::sync::Arc;

use crate::app::words;
use crate::engine::digest::Digest;
use crate::host::session::{Prepared, Session, demos, read_routine};
use crate::tui::graph::layered::Layered;
use crate::tui::state::notice::Trouble;
use crate::tui::state::routine::{Checks, LoadedRoutine, Origin, Picture, acting_checks};
use crate::tui::text::Inert;

/// Names that a folder's completion offers at most.
const NAMES: usize = 1_000;

/// A routine, ready to start and ready to be shown.
pub(super) struct Loaded {
    pub(super) prepared: Prepared,
    /// Of the file's bytes: what was accepted for it is accepted for nothing else.
    pub(super) digest: Digest,
    pub(super) routine: LoadedRoutine,
}

/// Reads and checks. Nothing runs.
pub(super) fn load(
    session: &Session,
    origin: Origin,
    is_known: impl Fn(&Digest) -> bool,
) -> Result<Loaded, Trouble> {
    let bytes = match &origin {
        Origin::Demo(name) => {
            let demo = demos::find(name);
            demo.map(|demo| demo.file.as_bytes().to_vec())
                .unwrap_or_default()
        }
        Origin::File(path) => {
            read_routine(Path::new(path)).map_err(|error| words::unreadable(&error))?
        }
    };
    let digest = Digest::of(&bytes);
    let prepared = session
        .prepare(&bytes)
        .map_err(|error| words::not_prepared(&origin, &error))?;
    let picture = Picture::of(&prepared.routine.graph, &Layered);
    let definition = prepared.routine.definition.clone();
    let checks = match acting_checks(&definition).is_empty() || is_known(&digest) {
        true => Checks::Known,
        false => Checks::Unseen,
    };
    let warnings = prepared.warnings.iter();
    let routine = LoadedRoutine {
        origin,
        definition,
        picture: Arc::new(picture),
        warnings: warnings
            .map(|warning| Inert::one_line(&warning.to_string()))
            .collect(),
        checks,
    };
    Ok(Loaded {
        prepared,
        digest,
        routine,
    })
}

/// The names in a folder that a path may go on with: routine files, and folders with a slash.
pub(super) fn names(typed: &str) -> Vec<String> {
    let folder = match typed {
        "" => Path::new("."),
        typed => Path::new(typed),
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .take(NAMES)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            if name.starts_with('.') {
                return None;
            }
            if entry.path().is_dir() {
                return Some(format!("{name}/"));
            }
            let is_routine = [".yaml", ".yml", ".json"]
                .iter()
                .any(|end| name.ends_with(end));
            is_routine.then_some(name)
        })
        .collect();
    names.sort();
    names
}
