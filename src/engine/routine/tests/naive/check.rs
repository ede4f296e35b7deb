//! Checks, and what an assurance policy asks of them.

use serde_json::{Value, json};

use crate::engine::routine::tests::naive::fields::{self, Is, Need, Table};
use crate::engine::routine::tests::naive::scope::{self, Scope};
use crate::engine::routine::tests::naive::{Problems, items, text};

const REQUESTS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const KINDS: &[&str] = &["command", "http", "file", "output", "manual", "synthetic"];
const METHODS: &[&str] = &[
    "deterministic_oracle",
    "state_readback",
    "model_review",
    "council_review",
    "operator_attestation",
];

const EVERY: Table = &[
    ("check", Need::Must("missing-field"), Is::Word(KINDS)),
    ("method", Need::May, Is::Word(METHODS)),
    ("covers", Need::May, Is::Texts),
    ("independent", Need::May, Is::Flag),
    ("poll_ms", Need::May, Is::Timer(100)),
    ("timeout_ms", Need::May, Is::Timer(1)),
];
const COMMAND: Table = &[
    ("run", Need::Must("missing-field"), Is::Texts),
    ("cwd", Need::May, Is::Text),
];
const HTTP: Table = &[
    ("url", Need::Must("missing-field"), Is::Text),
    ("request", Need::May, Is::Word(REQUESTS)),
    ("headers", Need::May, Is::Object),
    ("expect", Need::May, Is::Object),
];
const EXPECT: Table = &[
    ("status", Need::May, Is::Whole(100, 599)),
    ("path", Need::May, Is::Text),
    ("equals", Need::May, Is::Any),
];
const FILE: Table = &[
    ("path", Need::Must("missing-field"), Is::Text),
    ("sha256", Need::May, Is::Text),
    ("contains", Need::May, Is::Text),
    ("min_bytes", Need::May, Is::Whole(0, u64::MAX)),
];
const OUTPUT: Table = &[
    ("schema", Need::May, Is::Any),
    ("contains", Need::May, Is::Text),
    ("matches", Need::May, Is::Text),
];
const MANUAL: Table = &[("prompt", Need::Must("missing-field"), Is::Text)];
const SYNTHETIC: Table = &[
    ("job", Need::Must("missing-field"), Is::Text),
    ("of", Need::May, Is::Word(&["job", "artifact"])),
];

/// The fields of a check, by its word.
fn own(check: &Value) -> Option<Table> {
    match text(check, "check")? {
        "command" => Some(COMMAND),
        "http" => Some(HTTP),
        "file" => Some(FILE),
        "output" => Some(OUTPUT),
        "manual" => Some(MANUAL),
        "synthetic" => Some(SYNTHETIC),
        _ => None,
    }
}

/// One check.
pub(super) fn judge(problems: &mut Problems, at: Option<&str>, check: &Value, scope: &Scope) {
    let bad = "bad-check";
    let Some(map) = check.as_object() else {
        problems.add(bad, at);
        return;
    };
    let Some(own) = own(check) else {
        problems.add(
            if map.contains_key("check") {
                bad
            } else {
                "missing-field"
            },
            at,
        );
        let all = [EVERY, COMMAND, HTTP, FILE, OUTPUT, MANUAL, SYNTHETIC].concat();
        fields::known(problems, at, map, &all);
        return;
    };
    fields::judge(problems, at, bad, map, &[EVERY, own].concat());
    for (name, ..) in own
        .iter()
        .filter(|(name, ..)| *name != "schema" && *name != "expect")
    {
        scope::template(problems, at, check.get(name), scope);
    }
    let cannot_be_made = match text(check, "check") {
        Some("command") => check.get("run") == Some(&json!([])),
        Some("http") => {
            let strange = |value: &Value| !value.is_string();
            let headers = check.get("headers").and_then(Value::as_object);
            let address = |it: &str| it.starts_with("http://") || it.starts_with("https://");
            let expect = check.get("expect");
            let expects_nonsense = expect.is_some_and(|it| !expects(problems, at, it, scope));
            expects_nonsense
                || fixed(check, "url").is_some_and(|it| !address(it))
                || headers.is_some_and(|it| it.values().any(strange))
        }
        Some("file") => fixed(check, "sha256")
            .is_some_and(|it| it.len() != 64 || it.chars().any(|c| !c.is_ascii_hexdigit())),
        Some("output") => {
            let wrong = |schema: &Value| jsonschema::validator_for(schema).is_err();
            let pattern = fixed(check, "matches");
            // L8: it shows shape only and records no attempt.
            check
                .get("method")
                .is_some_and(|it| METHODS.iter().any(|word| it == word))
                || check.get("schema").is_some_and(wrong)
                || pattern.is_some_and(|it| wrong(&json!({ "pattern": it })))
                || ["schema", "contains", "matches"]
                    .iter()
                    .all(|it| map.get(*it).is_none())
        }
        Some(_) | None => false,
    };
    if cannot_be_made {
        problems.add(bad, at);
    }
}

/// Text that refers to nothing, so that it can be judged now.
fn fixed<'v>(check: &'v Value, name: &str) -> Option<&'v str> {
    text(check, name).filter(|it| !it.contains("{{"))
}

/// Nothing, `status` alone, or `path` with `equals`.
fn expects(problems: &mut Problems, at: Option<&str>, expect: &Value, scope: &Scope) -> bool {
    let Some(map) = expect.as_object() else {
        return true;
    };
    fields::judge(problems, at, "bad-check", map, EXPECT);
    match ["status", "path", "equals"].map(|name| map.contains_key(name)) {
        [_, false, false] => true,
        [false, true, true] => {
            let path = map.get("path");
            scope::template(problems, at, path, scope);
            scope::template(problems, at, map.get("equals"), scope);
            path.and_then(Value::as_str)
                .is_none_or(|it| it.contains("{{") || is_path(it))
        }
        _ => false,
    }
}

/// Names with dots, indices in brackets; as far as the tests go.
pub(super) fn is_path(text: &str) -> bool {
    let parts = text.trim().replace('[', ".[");
    text.trim().is_empty()
        || parts
            .split('.')
            .enumerate()
            .all(|(n, part)| match part.strip_prefix('[') {
                Some(index) => index
                    .strip_suffix(']')
                    .is_some_and(|it| it.parse::<usize>().is_ok()),
                None => {
                    !part.is_empty() && !part.contains(']') || n == 0 && parts.starts_with(".[")
                }
            })
}

/// What a check may bring to an assurance policy; `None` where its kind can't be read.
pub(super) fn attempt(check: &Value) -> Option<Attempt> {
    own(check)?;
    let kind = text(check, "check")?;
    let default = match kind {
        "command" => Some("deterministic_oracle"),
        "output" => None,
        "manual" => Some("operator_attestation"),
        _ => Some("state_readback"),
    };
    let given = METHODS
        .iter()
        .copied()
        .find(|it| text(check, "method") == Some(it));
    let covers = check
        .get("covers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    Some(Attempt {
        method: given.or(default),
        covers: covers
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        independent: check
            .get("independent")
            .and_then(Value::as_bool)
            .unwrap_or(kind != "manual"),
    })
}

/// A verification attempt that the routine would make (L6).
pub(super) struct Attempt {
    /// None records no attempt (L8).
    pub(super) method: Option<&'static str>,
    pub(super) covers: Vec<String>,
    pub(super) independent: bool,
}

const ASSURANCE: Table = &[
    ("required_methods", Need::May, Is::List),
    ("required_coverage", Need::May, Is::Texts),
    ("require_independent", Need::May, Is::Flag),
];

/// `bad-assurance`: what no attempt of the routine could satisfy.
pub(super) fn assurance(problems: &mut Problems, policy: &Value, attempts: &[Attempt]) {
    let Some(map) = policy.as_object() else {
        return;
    };
    fields::judge(problems, None, "bad-assurance", map, ASSURANCE);
    let attempts: Vec<&Attempt> = attempts.iter().filter(|it| it.method.is_some()).collect();
    let methods = items(map, "required_methods").iter();
    let unknown = |word: &Value| !METHODS.iter().any(|it| word == it);
    let unmet = |word: &Value| attempts.iter().all(|it| it.method != word.as_str());
    let coverage = items(map, "required_coverage")
        .iter()
        .filter_map(Value::as_str);
    let uncovered = |word: &str| {
        attempts
            .iter()
            .all(|it| it.covers.iter().all(|one| one != word))
    };
    if methods.clone().any(unknown)
        || methods.clone().any(unmet)
        || coverage.clone().any(uncovered)
        || policy.get("require_independent") == Some(&json!(true))
            && attempts.iter().all(|it| !it.independent)
    {
        problems.add("bad-assurance", None);
    }
}
