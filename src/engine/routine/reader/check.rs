//! Checks: what a step, a gate or the whole routine is verified by.

use std::collections::BTreeMap;

use serde_json::json;

use crate::engine::limits;
use crate::engine::routine::data_path;
use crate::engine::routine::definition::{
    CheckDefinition, CheckKind, HttpExpectation, SyntheticSubject, VerificationMethod,
};
use crate::engine::routine::file::Node;
use crate::engine::routine::issue::Code;
use crate::engine::routine::outline::{CheckNote, Feature, Maker};
use crate::engine::routine::reader::context::Context;
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::table::{Kinds, Part, Shape, Table, optional, required};
use crate::engine::routine::reader::words::Word;
use crate::engine::routine::template::Template;

static COMMON: Part = Part(&[
    optional(
        "method",
        Shape::Word(VerificationMethod::WORDS),
        "How the attempt is recorded.",
    ),
    optional(
        "covers",
        Shape::Texts,
        "What the check covers, in the assurance policy's words.",
    ),
    optional(
        "independent",
        Shape::Flag,
        "Whether another actor than the claim's makes it.",
    ),
    optional(
        "poll_ms",
        Shape::Whole(limits::MIN_POLL_MS, limits::MAX_TIMER_MS),
        "Pause between two looks in milliseconds; 5000 by default.",
    ),
    optional(
        "timeout_ms",
        Shape::Whole(1, limits::MAX_TIMER_MS),
        "Time limit in milliseconds; 30000 by default.",
    ),
]);

static COMMAND: Table = Table {
    name: "command check",
    parts: &[
        &Part(&[
            required(
                "check",
                Shape::Word(&["command"]),
                "Runs a command: exit 0 verifies.",
            ),
            required("run", Shape::Templates, "The argument vector; no shell."),
            optional("cwd", Shape::Template, "Its folder, inside the workspace."),
        ]),
        &COMMON,
    ],
};
static HTTP: Table = Table {
    name: "http check",
    parts: &[
        &Part(&[
            required("check", Shape::Word(&["http"]), "Reads a URL."),
            required("url", Shape::Template, "Where."),
            optional(
                "request",
                Shape::Word(REQUESTS),
                "The method; GET by default.",
            ),
            optional("headers", Shape::Headers, "Request headers."),
            optional(
                "expect",
                Shape::One(&EXPECT),
                "What verifies; any 2xx by default.",
            ),
        ]),
        &COMMON,
    ],
};
static FILE: Table = Table {
    name: "file check",
    parts: &[
        &Part(&[
            required("check", Shape::Word(&["file"]), "Looks at a file."),
            required("path", Shape::Template, "Inside the workspace."),
            optional("sha256", Shape::Template, "Its digest, 64 hex digits."),
            optional("contains", Shape::Template, "Text that it holds."),
            optional("min_bytes", Shape::Whole(0, u64::MAX), "Its smallest size."),
        ]),
        &COMMON,
    ],
};
static OUTPUT: Table = Table {
    name: "output check",
    parts: &[
        &Part(&[
            required(
                "check",
                Shape::Word(&["output"]),
                "Looks at the step's output.",
            ),
            optional("schema", Shape::JsonSchema, "What it must fit."),
            optional("contains", Shape::Template, "Text that it holds."),
            optional("matches", Shape::Template, "A regular expression."),
        ]),
        &COMMON,
    ],
};
static MANUAL: Table = Table {
    name: "manual check",
    parts: &[
        &Part(&[
            required("check", Shape::Word(&["manual"]), "Asks a person."),
            required("prompt", Shape::Template, "The question."),
        ]),
        &COMMON,
    ],
};
static SYNTHETIC: Table = Table {
    name: "synthetic check",
    parts: &[
        &Part(&[
            required(
                "check",
                Shape::Word(&["synthetic"]),
                "Stands for remote work in demos.",
            ),
            required("job", Shape::Template, "The job's name."),
            optional(
                "of",
                Shape::Word(SyntheticSubject::WORDS),
                "What of it; job by default.",
            ),
        ]),
        &COMMON,
    ],
};
static EXPECT: Table = Table {
    name: "expectation",
    parts: &[&Part(&[
        optional("status", Shape::Whole(100, 599), "This status."),
        optional("path", Shape::Template, "A path into the JSON body."),
        optional("equals", Shape::Any, "The value at that path."),
    ])],
};

/// Every check.
pub(in crate::engine::routine) static CHECKS: Kinds = Kinds {
    name: "check",
    key: "check",
    tables: &[
        ("command", &COMMAND),
        ("http", &HTTP),
        ("file", &FILE),
        ("output", &OUTPUT),
        ("manual", &MANUAL),
        ("synthetic", &SYNTHETIC),
    ],
};

const REQUESTS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Reads a list of checks.
pub(in crate::engine::routine) fn checks(cx: Context<'_>, node: &Node) -> Vec<CheckDefinition> {
    let cx = cx.with_code(Code::BadCheck);
    let items = cx.items(node, "a list of checks").unwrap_or_default();
    items.iter().filter_map(|item| check(cx, item)).collect()
}

fn check(cx: Context<'_>, node: &Node) -> Option<CheckDefinition> {
    let (word, table) = cx.choose(node, &CHECKS)?;
    let fields = Fields::open(cx, node, table)?;
    fields.node("check");
    let kind = match word {
        "command" => command(&fields),
        "http" => http(&fields),
        "file" => file(&fields),
        "output" => output(&fields),
        "manual" => fields
            .template("prompt")
            .map(|prompt| CheckKind::Manual { prompt }),
        _ => synthetic(&fields),
    };
    let default_method = match word {
        "command" => Some(VerificationMethod::DeterministicOracle),
        "output" => None,
        "manual" => Some(VerificationMethod::OperatorAttestation),
        _ => Some(VerificationMethod::StateReadback),
    };
    let given = fields.word::<VerificationMethod>("method");
    if word == "output" && given.is_some() {
        let message = "an output check shows shape only and records no attempt; leave `method` out";
        cx.report(Code::BadCheck, node.at, message);
    }
    let covers = fields.texts("covers").unwrap_or_default();
    let method = given.or(default_method);
    let covers: Vec<String> = covers.into_iter().map(|word| word.value).collect();
    let independent = fields.flag("independent").unwrap_or(word != "manual");
    let poll_bounds = (limits::MIN_POLL_MS, limits::MAX_TIMER_MS);
    let poll_ms = fields
        .whole("poll_ms", Code::BadTimer, poll_bounds)
        .unwrap_or(limits::POLL_MS);
    let timeout_ms = fields
        .timer("timeout_ms")
        .unwrap_or(limits::CHECK_TIMEOUT_MS);
    fields.close();
    // A check that is broken still says what it would have covered.
    cx.notes.checks.borrow_mut().push(CheckNote {
        method,
        covers: covers.clone(),
        independent,
        made_by: Maker::Check,
    });
    Some(CheckDefinition {
        kind: kind?,
        method,
        covers,
        independent,
        poll_ms,
        timeout_ms,
    })
}

fn command(fields: &Fields<'_>) -> Option<CheckKind> {
    let node = fields.node("run");
    let run = fields.templates("run");
    let cwd = fields.template("cwd");
    if run.is_empty() {
        if let Some(node) = node.filter(|node| node.as_list().is_some_and(<[Node]>::is_empty)) {
            let message = "`run` must name a program, as in run: [test, -s, notes.md]";
            fields.cx.report(Code::BadCheck, node.at, message);
        }
        return None;
    }
    Some(CheckKind::Command { run, cwd })
}

fn http(fields: &Fields<'_>) -> Option<CheckKind> {
    fields.cx.note_feature(Feature::HttpCheck, fields.at);
    let url = fields.template("url");
    if let (Some(template), Some(node)) = (&url, fields.node("url"))
        && template.references().next().is_none()
        && !node.as_text().is_some_and(|text| {
            let rest = text
                .strip_prefix("https://")
                .or(text.strip_prefix("http://"));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
        })
    {
        let message = "`url` must begin with http:// or https://";
        fields.cx.report(Code::BadCheck, node.at, message);
    }
    let method = match fields.node("request") {
        None => Some("GET".to_owned()),
        Some(node) => match node.as_text().filter(|text| REQUESTS.contains(text)) {
            Some(method) => Some(method.to_owned()),
            None => {
                let message = format!("`request` is one of {}", REQUESTS.join(", "));
                fields.cx.report(Code::BadCheck, node.at, message);
                None
            }
        },
    };
    let mut headers = BTreeMap::new();
    if let Some(node) = fields.node("headers") {
        for entry in fields.cx.entries(node, "headers").unwrap_or_default() {
            if let Some(value) = fields.cx.template(&entry.value, &entry.key) {
                headers.insert(entry.key.to_string(), value);
            }
        }
    }
    let expect = match fields.node("expect") {
        None => Some(HttpExpectation::Success),
        Some(node) => expectation(fields.cx, node),
    };
    Some(CheckKind::Http {
        url: url?,
        method: method?,
        headers,
        expect: expect?,
    })
}

fn expectation(cx: Context<'_>, node: &Node) -> Option<HttpExpectation> {
    let fields = Fields::open(cx, node, &EXPECT)?;
    let status = fields.whole("status", Code::BadCheck, (100, 599));
    let path = fields.node("path");
    let equals = fields.node("equals");
    let has_status = fields.node("status").is_some();
    fields.close();
    match (has_status, path, equals) {
        (false, None, None) => Some(HttpExpectation::Success),
        (true, None, None) => {
            let status = u16::try_from(status?).ok()?;
            Some(HttpExpectation::Status(status))
        }
        (false, Some(path), Some(equals)) => {
            let path_template = data_path_template(&cx, path, "path")?;
            Some(HttpExpectation::Value {
                path: path_template,
                equals: cx.value_template(equals, "equals")?,
            })
        }
        (true, Some(_), _)
        | (true, _, Some(_))
        | (false, Some(_), None)
        | (false, None, Some(_)) => {
            let message = "`expect` holds either `status`, or `path` together with `equals`";
            cx.report(Code::BadCheck, node.at, message);
            None
        }
    }
}

/// A path into JSON; one that refers to nothing is checked now.
pub(in crate::engine::routine) fn data_path_template(
    cx: &Context<'_>,
    node: &Node,
    what: &str,
) -> Option<Template> {
    let template = cx.template(node, what)?;
    if template.references().next().is_none()
        && let Err(bad) = data_path::DataPath::parse(node.as_text().unwrap_or_default())
    {
        cx.report(cx.wrong, node.at, format!("{what}: {bad}"));
        return None;
    }
    Some(template)
}

fn file(fields: &Fields<'_>) -> Option<CheckKind> {
    let path = fields.template("path");
    let sha256 = fields.template("sha256");
    let contains = fields.template("contains");
    let min_bytes = fields.whole("min_bytes", Code::BadCheck, (0, u64::MAX));
    if let (Some(template), Some(node)) = (&sha256, fields.node("sha256"))
        && template.references().next().is_none()
        && !node
            .as_text()
            .is_some_and(|text| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        let message = "`sha256` has 64 hex digits";
        fields.cx.report(Code::BadCheck, node.at, message);
    }
    Some(CheckKind::File {
        path: path?,
        sha256,
        contains,
        min_bytes,
    })
}

fn output(fields: &Fields<'_>) -> Option<CheckKind> {
    let mut schema = None;
    if let Some(node) = fields.node("schema") {
        schema = fields.cx.json(node, "schema");
        if let Some(Err(error)) = schema.as_ref().map(jsonschema::validator_for) {
            let message = format!("`schema` is no JSON Schema: {error}");
            fields.cx.report(Code::BadCheck, node.at, message);
        }
    }
    let contains = fields.template("contains");
    let matches = fields.template("matches");
    if let (Some(template), Some(node)) = (&matches, fields.node("matches"))
        && template.references().next().is_none()
        && let Some(pattern) = node.as_text()
        && jsonschema::validator_for(&json!({"pattern": pattern})).is_err()
    {
        let why = regex::Regex::new(pattern)
            .err()
            .map(|error| error.to_string());
        // The library draws a picture over several lines; its last line says what is wrong.
        let why = why.as_deref().and_then(|text| text.lines().last());
        let why = why.and_then(|line| line.strip_prefix("error: "));
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let message = format!("`{pattern}` is no regular expression{why}");
        fields.cx.report(Code::BadCheck, node.at, message);
    }
    let given = ["schema", "contains", "matches"].map(|name| fields.node(name).is_some());
    if !given.contains(&true) {
        let message = "an output check needs `schema`, `contains` or `matches`";
        fields.cx.report(Code::BadCheck, fields.at, message);
    }
    Some(CheckKind::Output {
        schema,
        contains,
        matches,
    })
}

fn synthetic(fields: &Fields<'_>) -> Option<CheckKind> {
    let job = fields.template("job");
    let of = fields.word("of").unwrap_or_default();
    Some(CheckKind::Synthetic { job: job?, of })
}
