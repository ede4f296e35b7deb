//! The architecture, read off the sources: who may name whom, what a room must not touch, and how
//! large a file or the list of dependencies may grow. Every finding names file and line.
//!
//! It reads text, not types: `crate::` paths in imports and in code alike, after comments and test
//! modules are taken out. Macros that build paths would escape it; there are none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files that were longer than [`LINES`] when the rule came, and how long each may be at most. The
/// numbers only ever shrink.
const LONGER: [(&str, usize); 0] = [];
/// Lines of a file, tests not counted.
const LINES: usize = 600;
/// Locked packages. Each one is somebody else's code that users run: raise it only with a reason.
const PACKAGES: usize = 430;

/// A part of the sources with rules of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    Leaf,
    Routine,
    Evidence,
    Verify,
    Operation,
    Record,
    Ports,
    Runner,
    /// `engine/mod.rs`, which declares the others.
    Engine,
    Host,
    /// The plain types that the terminal may know of the host.
    Session,
    Tui,
    /// Command line, wiring and `main`: they may name all.
    Edge,
}

impl Room {
    /// The room of a path's words below `crate`, or of a file below `src`.
    fn of(words: &[&str]) -> Option<Self> {
        Some(match words {
            ["engine", "id" | "digest" | "limits" | "capability", ..] => Self::Leaf,
            ["engine", "routine", ..] => Self::Routine,
            ["engine", "evidence", ..] => Self::Evidence,
            ["engine", "verify", ..] => Self::Verify,
            ["engine", "operation", ..] => Self::Operation,
            ["engine", "record", ..] => Self::Record,
            ["engine", "ports", ..] => Self::Ports,
            ["engine", "runner", ..] => Self::Runner,
            ["engine", "mod"] | ["engine"] => Self::Engine,
            ["host", "session", ..] => Self::Session,
            ["host", ..] => Self::Host,
            ["tui", ..] => Self::Tui,
            ["cli" | "app" | "main" | "lib", ..] => Self::Edge,
            _ => return None,
        })
    }

    /// The table of the design: each row of the engine may also name the rows above it.
    fn may_name(self, other: Self) -> bool {
        match self {
            Self::Edge => true,
            // Plain data of the ports is what the machine's commands and events are made of.
            Self::Operation => other <= Self::Operation || other == Self::Ports,
            Self::Leaf
            | Self::Routine
            | Self::Evidence
            | Self::Verify
            | Self::Record
            | Self::Ports
            | Self::Runner => other <= self,
            Self::Engine => other <= Self::Engine,
            Self::Host | Self::Session => other <= Self::Session,
            Self::Tui => other <= Self::Record || matches!(other, Self::Session | Self::Tui),
        }
    }

    /// Words that must not stand in the code of the room.
    fn banned(self) -> &'static [&'static str] {
        const SCREEN: [&str; 3] = ["ratatui", "crossterm", "tui_textarea"];
        match self {
            Self::Leaf
            | Self::Routine
            | Self::Evidence
            | Self::Verify
            | Self::Operation
            | Self::Record => &[
                "std::fs",
                "std::env",
                "std::net",
                "std::process",
                "std::thread",
                "std::io",
                "std::time",
                "tokio",
                "tokio_util",
                "futures_util",
                "reqwest",
                "hyper",
                "ratatui",
                "crossterm",
                "rustix",
                "SystemTime",
                "jiff",
                "uuid",
                "async fn",
                "async move",
                ".await",
            ],
            // The runner orders effects, so it may wait; what it does goes through ports.
            Self::Ports | Self::Runner | Self::Engine => &[
                "std::fs",
                "std::env",
                "std::net",
                "std::process",
                "std::thread",
                "tokio::fs",
                "tokio::process",
                "tokio::net",
                "reqwest",
                "hyper",
                "ratatui",
                "crossterm",
                "rustix",
                "SystemTime",
                "jiff",
                "uuid",
            ],
            Self::Host | Self::Session => &SCREEN,
            Self::Tui => &[
                "reqwest",
                "std::fs",
                "std::net",
                "std::process::Command",
                "tokio::process",
                "tokio::fs",
            ],
            Self::Edge => &[],
        }
    }
}

/// The terminal itself is a file; these hold it.
const TERMINAL: [&str; 3] = [
    "src/tui/restore.rs",
    "src/tui/terminal.rs",
    "src/tui/watchdog.rs",
];

/// The traits and contexts of the ports, which the machine must not name.
const ACTING_PORTS: [&str; 13] = [
    "Models",
    "Toolbox",
    "Verifier",
    "SourceStore",
    "RunLog",
    "Clock",
    "Ids",
    "Sending",
    "Accounting",
    "ModelContext",
    "ToolContext",
    "VerifyContext",
    "StorageError",
];

/// A file of the sources.
struct Source {
    /// From the package's folder.
    path: String,
    content: String,
    room: Room,
    /// Whether it is compiled for tests only.
    for_tests: bool,
}

impl Source {
    /// Its lines of code that ship, numbered from 1: comments and test modules are blank.
    fn code(&self) -> Vec<(usize, &str)> {
        let mut code = Vec::new();
        let mut lines = self.content.lines().enumerate().peekable();
        while let Some((n, line)) = lines.next() {
            if line == "#[cfg(test)]"
                && lines
                    .peek()
                    .is_some_and(|(_, next)| next.starts_with("mod ") && next.ends_with('{'))
            {
                for (_, line) in lines.by_ref() {
                    if line == "}" {
                        break;
                    }
                }
                continue;
            }
            let line = line.split("// ").next().unwrap_or_default();
            if line.trim_start().starts_with("//") {
                continue;
            }
            code.push((n + 1, line));
        }
        code
    }

    fn at(&self, line: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    files_below(&package().join("src"), &mut paths);
    paths.sort();
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("a text");
    let test_only: BTreeSet<PathBuf> = paths
        .iter()
        .flat_map(|path| {
            let content = read(path);
            let lines: Vec<&str> = content.lines().collect();
            let names = lines
                .windows(2)
                .filter(|two| two[0] == "#[cfg(test)]")
                .filter_map(|two| two[1].strip_prefix("mod ")?.strip_suffix(';'));
            let parent = match path.file_stem().and_then(|it| it.to_str()) {
                Some("mod" | "lib" | "main") => path.parent().expect("a folder").to_owned(),
                _ => path.with_extension(""),
            };
            names.map(|name| parent.join(name)).collect::<Vec<_>>()
        })
        .collect();
    paths
        .iter()
        .map(|path| {
            let below = path
                .strip_prefix(package())
                .expect("below")
                .display()
                .to_string();
            let words: Vec<&str> = below
                .trim_start_matches("src/")
                .trim_end_matches(".rs")
                .split('/')
                .collect();
            let room = Room::of(&words)
                .unwrap_or_else(|| panic!("{below}:1: the design knows no such room"));
            Source {
                content: read(path),
                room,
                for_tests: path
                    .ancestors()
                    .any(|it| test_only.contains(&it.with_extension(""))),
                path: below,
            }
        })
        .collect()
}

fn shipped() -> impl Iterator<Item = Source> {
    sources().into_iter().filter(|source| !source.for_tests)
}

#[track_caller]
fn assert_none(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

/// Every `crate::` path of a line, as its words.
fn paths(line: &str) -> impl Iterator<Item = Vec<&str>> {
    let own = ["crate::", "amos_tui::"];
    own.into_iter()
        .flat_map(|start| line.split(start).skip(1))
        .map(|rest| {
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':' || c == '{'))
                .unwrap_or(rest.len());
            rest[..end].split("::").collect()
        })
}

#[test]
fn rooms_name_only_what_the_table_allows() {
    let mut findings = Vec::new();
    for source in shipped() {
        for (n, line) in source.code() {
            for path in paths(line) {
                if path.first().is_some_and(|word| word.starts_with('{'))
                    || matches!(&path[..], ["engine" | "host", group, ..] if group.starts_with('{'))
                {
                    findings.push(source.at(n, "spell the path out, so that the room can be read"));
                    continue;
                }
                // `pub(in crate::cli)` and macros at the root name no room.
                let Some(room) = Room::of(&path) else {
                    continue;
                };
                if !source.room.may_name(room) {
                    let what = path.join("::");
                    findings.push(source.at(n, format!("{:?} must not name {what}", source.room)));
                }
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn the_machine_takes_plain_data_of_the_ports_and_nothing_that_acts() {
    let mut findings = Vec::new();
    for source in shipped().filter(|source| source.room == Room::Operation) {
        for (n, line) in source.code() {
            let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            for word in words.filter(|word| ACTING_PORTS.contains(word)) {
                findings.push(source.at(n, format!("the machine must not name {word}")));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn pure_rooms_touch_nothing_outside() {
    let mut findings = Vec::new();
    for source in shipped() {
        for (n, line) in source.code() {
            for word in source.room.banned() {
                // A whole word: `self.awaits_key()` awaits nothing.
                let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                let found = line.match_indices(word).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    let after = line[at + word.len()..].chars().next();
                    !inside(after) && (word.starts_with('.') || !inside(before))
                });
                let is_terminal = *word == "std::fs" && TERMINAL.contains(&&*source.path);
                if found && !is_terminal {
                    findings.push(source.at(n, format!("{:?} must not use {word}", source.room)));
                }
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn no_import_takes_a_detour() {
    let mut findings = Vec::new();
    for source in sources() {
        for (n, line) in source.content.lines().enumerate() {
            let line = line.trim();
            if line.contains("super::") && line != "use super::*;" && !line.starts_with("//") {
                findings.push(source.at(n + 1, "spell the path from `crate::`"));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn every_file_says_what_it_is_for() {
    let mut files = Vec::new();
    for folder in ["src", "tests", "benches", "examples", "fuzz/fuzz_targets"] {
        let folder = package().join(folder);
        if folder.exists() {
            files_below(&folder, &mut files);
        }
    }
    let findings: Vec<String> = files
        .iter()
        .filter(|path| {
            !std::fs::read_to_string(path)
                .expect("a text")
                .starts_with("//! ")
        })
        .map(|path| format!("{}:1: it has no `//!` head", path.display()))
        .collect();
    assert_none(&findings);
}

#[test]
fn no_file_grows_beyond_what_one_idea_needs() {
    let mut findings = Vec::new();
    for source in shipped() {
        let lines = source.content.lines().count();
        let tests = source
            .content
            .lines()
            .position(|line| line == "#[cfg(test)]")
            .map_or(0, |at| lines - at);
        let limit = LONGER
            .iter()
            .find(|(path, _)| *path == source.path)
            .map_or(LINES, |(_, limit)| *limit);
        if lines - tests > limit {
            let what = format!("{} lines, at most {limit}", lines - tests);
            findings.push(source.at(limit + 1, what));
        }
    }
    assert_none(&findings);
}

#[test]
fn nothing_unfinished_and_no_stray_output_ships() {
    const WORDS: [&str; 9] = [
        "todo!",
        "unimplemented!",
        "dbg!",
        "println!",
        "eprintln!",
        "print!(",
        "FIXME",
        "XXX",
        ".unwrap()",
    ];
    let mut findings = Vec::new();
    for source in shipped() {
        for (n, line) in source.code() {
            for word in WORDS.iter().filter(|word| line.contains(**word)) {
                findings.push(source.at(n, format!("{word} must not ship")));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn dependencies_stay_few() {
    let lock = std::fs::read_to_string(package().join("Cargo.lock")).expect("a lock file");
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    assert!(
        packages <= PACKAGES,
        "Cargo.lock:1: {packages} packages, at most {PACKAGES}"
    );
}

// Digests are made of canonical JSON: a dependency that switched `preserve_order` on would change
// every one of them.
#[test]
fn json_objects_keep_their_keys_sorted() {
    let object = serde_json::json!({"b": 1, "a": {"d": 2, "c": 3}});
    assert_eq!(object.to_string(), r#"{"a":{"c":3,"d":2},"b":1}"#);
}

#[test]
fn the_rules_catch_what_they_are_for() {
    let source = |path: &str, content: &str| Source {
        path: path.into(),
        content: content.into(),
        room: Room::of(&["engine", "operation"]).expect("a room"),
        for_tests: false,
    };
    let bad = source(
        "x.rs",
        "//! Head.\n// crate::host in a comment\nlet x = crate::host::storage::failure;\n#[cfg(test)]\nmod tests {\n    use crate::tui::text;\n}\nuse crate::engine::runner::Lease;\n",
    );
    let named: Vec<(usize, Vec<&str>)> = bad
        .code()
        .into_iter()
        .flat_map(|(n, line)| paths(line).map(move |path| (n, path)))
        .collect();
    assert_eq!(
        named,
        [
            (3, vec!["host", "storage", "failure"]),
            (8, vec!["engine", "runner", "Lease"]),
        ]
    );
    for (path, allowed) in [
        (&["host", "storage"][..], false),
        (&["engine", "runner"], false),
        (&["engine", "routine"], true),
        (&["tui", "text"], false),
    ] {
        let room = Room::of(path).expect("a room");
        assert_eq!(bad.room.may_name(room), allowed, "{path:?}");
    }
    assert!(!Room::Host.may_name(Room::Tui) && !Room::Tui.may_name(Room::Runner));
    assert!(!Room::Tui.may_name(Room::Host) && Room::Tui.may_name(Room::Session));
    assert!(Room::Verify.may_name(Room::Routine) && !Room::Routine.may_name(Room::Verify));
}
