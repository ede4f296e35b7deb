//! A short name for a check, for reasons and lists.

use serde_json::Value;

use crate::engine::routine::definition::{CheckKind, SyntheticSubject};

/// The longest name, in characters.
const LONGEST: usize = 80;

/// Names a check by its kind and what it looks at, on one line.
pub(super) fn of(kind: &CheckKind<String, Value>) -> String {
    let subject = match kind {
        CheckKind::Command { run, .. } => run.join(" "),
        CheckKind::Http { url, method, .. } => format!("{method} {url}"),
        CheckKind::File { path, .. } => path.clone(),
        CheckKind::Output {
            schema,
            contains,
            matches,
        } => {
            let parts = [
                schema.as_ref().map(|_| "schema".to_owned()),
                contains.as_ref().map(|text| format!("contains {text:?}")),
                matches
                    .as_ref()
                    .map(|pattern| format!("matches /{pattern}/")),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        CheckKind::Manual { prompt } => prompt.clone(),
        CheckKind::Synthetic { job, of } => match of {
            SyntheticSubject::Job => format!("job {job}"),
            SyntheticSubject::Artifact => format!("artifact {job}"),
        },
    };
    let subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(format!("{} {subject}", kind.label()).trim_end(), LONGEST)
}

/// A text of at most this many characters.
pub(super) fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some(_) => text.chars().take(longest - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_kind_and_the_subject_on_one_line() {
        let command = |argv: &[&str]| CheckKind::Command {
            run: argv.iter().map(|text| (*text).to_owned()).collect(),
            cwd: None,
        };
        assert_eq!(
            of(&command(&["test", "-s", "notes.md"])),
            "command test -s notes.md"
        );
        assert_eq!(of(&command(&["sh", "-c", "a\n  b"])), "command sh -c a b");
        assert_eq!(of(&command(&[&"é".repeat(99)])).chars().count(), LONGEST);
        let job = CheckKind::Synthetic {
            job: "build".to_owned(),
            of: SyntheticSubject::Job,
        };
        assert_eq!(of(&job), "synthetic job build");
        let output = CheckKind::Output {
            schema: Some(Value::Bool(true)),
            contains: Some("x".to_owned()),
            matches: None,
        };
        assert_eq!(of(&output), "output schema, contains \"x\"");
    }
}
