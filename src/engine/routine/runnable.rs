//! What this version doesn't run yet. Such files are valid; running them is refused before any action.

use crate::engine::routine::issue::{Code, Issue};
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{Feature, Named, Notes};

/// The features that don't run, with the words for people. Shrinks as they come.
const FEATURES: &[(Feature, &str)] = &[
    (Feature::Reflection, "reflection"),
    (Feature::Plugins, "plugins"),
    (Feature::HttpCheck, "http checks"),
];

/// The tools that don't run, wherever they are named.
const TOOLS: &[&str] = &["list_dir", "search_text", "http_request"];

/// What a file asks for and doesn't get, by position.
pub(in crate::engine::routine) fn unsupported(notes: &Notes) -> Vec<Issue> {
    let issues = Issues::default();
    for note in notes.features.borrow().iter() {
        if let Some((_, what)) = FEATURES
            .iter()
            .find(|(feature, _)| *feature == note.feature)
        {
            let message = format!("this version doesn't run {what} yet");
            issues.add(
                Code::Unsupported,
                note.at,
                Subject::step(note.step.as_deref()),
                message,
            );
        }
    }
    for note in notes.names.borrow().iter() {
        if note.of == Named::Tool && TOOLS.contains(&note.name.as_str()) {
            let message = format!("this version doesn't have the tool `{}` yet", note.name);
            issues.add(
                Code::Unsupported,
                note.at,
                Subject::step(note.step.as_deref()),
                message,
            );
        }
    }
    issues.sorted()
}
