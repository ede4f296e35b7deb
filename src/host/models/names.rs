//! Tool names on a wire. Providers take letters, digits, `_` and `-` only, so the name of an MCP
//! tool (`server.tool`) is spelled differently there and read back.

use std::collections::HashMap;

use crate::engine::ports::OfferedTool;

/// The longest name that every provider takes.
const NAME_CHARS: usize = 64;

/// The names of one request's tools, ours and the wire's.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    spelled: HashMap<String, String>,
    meant: HashMap<String, String>,
}

impl ToolNames {
    /// Spells every offered tool. A name that fits keeps its spelling; one that doesn't never takes
    /// it away.
    pub(crate) fn of(tools: &[OfferedTool]) -> Self {
        let mut names = Self::default();
        let (fit, unfit): (Vec<_>, Vec<_>) = tools
            .iter()
            .map(|tool| &tool.name)
            .partition(|name| fits(name));
        for name in fit {
            names.add(name, name.clone());
        }
        for name in unfit {
            let spelled = plain(name, NAME_CHARS);
            let free = std::iter::once(spelled)
                .chain((2_u32..).map(|n| {
                    let suffix = format!("_{n}");
                    plain(name, NAME_CHARS - suffix.len()) + &suffix
                }))
                .find(|spelled| !names.meant.contains_key(spelled));
            names.add(name, free.expect("BUG: numbers ended"));
        }
        names
    }

    fn add(&mut self, name: &str, spelled: String) {
        self.meant.insert(spelled.clone(), name.to_owned());
        self.spelled.insert(name.to_owned(), spelled);
    }

    /// How the wire spells a tool; also one that isn't offered (any more).
    pub(crate) fn spell(&self, name: &str) -> String {
        match self.spelled.get(name) {
            Some(spelled) => spelled.clone(),
            None => plain(name, NAME_CHARS),
        }
    }

    /// Which tool the wire means. A name that was not offered stays as it came: a guess is denied
    /// at dispatch, by that name (V17).
    pub(crate) fn meant_by(&self, spelled: &str) -> String {
        match self.meant.get(spelled) {
            Some(name) => name.clone(),
            None => spelled.to_owned(),
        }
    }
}

fn fits(name: &str) -> bool {
    name.len() <= NAME_CHARS
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(is_plain)
}

fn plain(name: &str, chars: usize) -> String {
    let kept = name.chars().map(|c| if is_plain(c) { c } else { '_' });
    let start = match name.chars().next() {
        Some(c) if c.is_ascii_digit() || c == '-' => Some('_'),
        Some(_) => None,
        None => Some('_'),
    };
    start.into_iter().chain(kept).take(chars).collect()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(names: &[&str]) -> ToolNames {
        let tools: Vec<_> = names
            .iter()
            .map(|name| OfferedTool {
                name: (*name).to_owned(),
                description: String::new(),
                schema: json!({}),
            })
            .collect();
        ToolNames::of(&tools)
    }

    #[test]
    fn dotted_names_go_out_spelled_and_come_back() {
        let names = names(&["read_file", "git.log"]);
        assert_eq!(names.spell("git.log"), "git_log");
        assert_eq!(names.meant_by("git_log"), "git.log");
        assert_eq!(names.spell("read_file"), "read_file");
    }

    #[test]
    fn two_tools_never_share_a_spelling_and_a_plain_name_keeps_its_own() {
        let names = names(&["a.b", "a b", "a_b", "ä.b"]);
        let mut spelled: Vec<_> = ["a.b", "a b", "a_b", "ä.b"].map(|n| names.spell(n)).into();
        assert_eq!(spelled[2], "a_b");
        spelled.sort();
        spelled.dedup();
        assert_eq!(spelled.len(), 4);
        for name in ["a.b", "a b", "a_b", "ä.b"] {
            assert_eq!(names.meant_by(&names.spell(name)), name);
        }
    }

    #[test]
    fn long_names_are_cut_and_still_told_apart() {
        let one = format!("server.{}", "x".repeat(100));
        let two = format!("{one}y");
        let names = names(&[&one, &two]);
        assert!(names.spell(&one).len() <= NAME_CHARS);
        assert!(names.spell(&two).len() <= NAME_CHARS);
        assert_eq!(names.meant_by(&names.spell(&two)), two);
    }

    #[test]
    fn a_guessed_name_stays_as_it_came() {
        assert_eq!(names(&["a.b"]).meant_by("rm_rf"), "rm_rf");
        assert_eq!(names(&[]).spell("9.lives"), "_9_lives");
    }
}
