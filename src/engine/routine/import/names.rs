//! Names of other formats as slugs, and which task a dependency means.

use std::collections::HashMap;

use crate::engine::routine::file::Node;
use crate::engine::routine::import::foreign::Desk;
use crate::engine::routine::issue::Code;
use crate::engine::routine::reader::context::is_slug;

/// Characters of a slug.
const LONGEST: usize = 64;

/// A name as a slug: lower case, other characters to `-`, trimmed to what a slug may be. A name
/// without one usable character stays as it is, and is no slug.
pub(super) fn slug(name: &str) -> String {
    let plain: String = name
        .trim()
        .chars()
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            'a'..='z' | '0'..='9' | '_' | '-' => c,
            _ => '-',
        })
        .collect();
    let begun = plain.trim_start_matches(['-', '_']);
    let mut end = begun.len().min(LONGEST);
    end = begun[..end].trim_end_matches('-').len();
    let slug = &begun[..end];
    match is_slug(slug) {
        true => slug.to_owned(),
        false => name.to_owned(),
    }
}

/// The tasks of one list, by what they may be called.
pub(super) struct Names<'a> {
    by_name: HashMap<&'a str, usize>,
    by_id: HashMap<&'a str, usize>,
    by_slug: HashMap<String, usize>,
    /// Per task; `None` where it has no name.
    pub(super) slugs: Vec<Option<String>>,
    /// The list around the task that repeats this one.
    outer: Option<&'a Names<'a>>,
}

/// What a word for a task means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    /// This one, by index.
    One(usize),
    /// One by its name and another by its id.
    Two,
    /// None of this list.
    Nothing,
}

impl<'a> Names<'a> {
    /// Reads the names and ids of a list's tasks. A second task of one id is reported; one of the
    /// same name has the same slug, which the rules report.
    pub(super) fn of(desk: Desk<'_>, tasks: &'a [Node], outer: Option<&'a Names<'a>>) -> Self {
        let mut names = Self {
            by_name: HashMap::new(),
            by_id: HashMap::new(),
            by_slug: HashMap::new(),
            slugs: Vec::with_capacity(tasks.len()),
            outer,
        };
        for (index, task) in tasks.iter().enumerate() {
            let name = task.get("name").and_then(Node::as_text);
            let slug = name.map(slug);
            if let (Some(name), Some(slug)) = (name, &slug) {
                names.by_name.entry(name).or_insert(index);
                names.by_slug.entry(slug.clone()).or_insert(index);
            }
            if let Some(id) = task.get("id")
                && let Some(text) = id.as_text()
                && *names.by_id.entry(text).or_insert(index) != index
            {
                let message = format!("there is a task with the id `{text}` already");
                let desk = desk.about_step(slug.as_deref());
                desk.report(Code::DuplicateStep, id.at, message);
            }
            names.slugs.push(slug);
        }
        names
    }

    /// The task that a word means: by name or by id, whatever the word looks like.
    pub(super) fn meant(&self, word: &str) -> Meant {
        match (self.by_name.get(word), self.by_id.get(word)) {
            (Some(named), Some(identified)) if named != identified => Meant::Two,
            (Some(&task), _) | (None, Some(&task)) => Meant::One(task),
            (None, None) => match self.by_slug.get(word) {
                Some(&task) => Meant::One(task),
                None => Meant::Nothing,
            },
        }
    }

    /// The slug of the task that a word means, in this list or outwards.
    pub(super) fn slug_of(&self, word: &str) -> Option<&str> {
        match self.meant(word) {
            Meant::One(task) => self.slugs[task].as_deref(),
            Meant::Two => None,
            Meant::Nothing => self.outer?.slug_of(word),
        }
    }

    /// Whether a task is the first of its slug; only that one has edges.
    pub(super) fn is_first(&self, task: usize) -> bool {
        self.slugs[task]
            .as_ref()
            .is_some_and(|slug| self.by_slug.get(slug) == Some(&task))
    }

    /// A slug for an added terminal: `done`, else `done-2`, and so on.
    pub(super) fn free_terminal(&self) -> String {
        let mut slug = "done".to_owned();
        let mut number = 1;
        while self.by_slug.contains_key(&slug) {
            number += 1;
            slug = format!("done-{number}");
        }
        slug
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_slug() {
        let long = "x".repeat(70);
        for (name, expected) in [
            ("Draft the notes", "draft-the-notes"),
            ("  Ship it!  ", "ship-it"),
            ("_private (v2)", "private--v2"),
            ("Größe", "gr--e"),
            ("already-a_slug2", "already-a_slug2"),
            ("日本", "日本"),
            ("", ""),
            (long.as_str(), &long[..64]),
        ] {
            assert_eq!(slug(name), expected, "{name}");
        }
    }
}
