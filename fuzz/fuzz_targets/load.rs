//! Any bytes as a routine file, in each of the formats that the loader takes.
//!
//! No panic, and: loading is deterministic; each problem lies inside the file; a routine comes out
//! exactly where no problem is an error; the same file as JSON has the same problems; what is
//! accepted fits the JSON Schema, keeps the promises of its graph, and can be drawn.

#![no_main]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use amos_tui::engine::routine::file::RoutineFile;
use amos_tui::engine::routine::graph::{EdgeClass, RoutineGraph};
use amos_tui::engine::routine::issue::{Issue, Severity};
use amos_tui::engine::routine::render::Drawing;
use amos_tui::engine::routine::schema::file_schema;
use amos_tui::engine::routine::{Known, Loaded, load};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// More problems than this are cut by position, which the JSON form changes.
const CUT: usize = 10_000;

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    Known {
        agents: words(&["configured"]),
        councils: words(&["assembly"]),
        tools: words(&[
            "read_file",
            "list_dir",
            "search_text",
            "write_file",
            "run_command",
            "http_request",
            "memory_set",
            "memory_get",
            "memory_list",
            "memory_delete",
            "synthetic_reserve",
            "synthetic_submit",
            "synthetic_artifact",
        ]),
    }
});

static SCHEMA: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&file_schema()).expect("a schema"));

fuzz_target!(|bytes: &[u8]| {
    let loaded = load(bytes, &KNOWN);
    assert_eq!(loaded.issues, load(bytes, &KNOWN).issues, "twice the same");
    places_lie_inside(bytes, &loaded.issues);
    let refused = loaded
        .issues
        .iter()
        .any(|it| it.severity == Severity::Error);
    assert_eq!(loaded.routine.is_none(), refused, "{:#?}", loaded.issues);
    let json = RoutineFile::parse(bytes)
        .ok()
        .and_then(|it| it.root.to_json());
    if let Some(json) = &json {
        as_json_the_same(json, &loaded);
    }
    if let Some(routine) = &loaded.routine {
        if let Some(json) = json.filter(|it| it.get("routine").is_some()) {
            let errors: Vec<String> = SCHEMA.iter_errors(&json).map(|it| it.to_string()).collect();
            assert!(
                errors.is_empty(),
                "accepted, but not by the schema: {errors:#?}"
            );
        }
        keeps_its_promises(&routine.graph);
        let drawing = Drawing::of(&routine.graph);
        let forms = [drawing.to_text(), drawing.to_mermaid(), drawing.to_dot()];
        assert!(forms.iter().all(|form| !form.is_empty()));
    }
});

/// Every place is one that an editor can go to; just after the end of a line counts.
fn places_lie_inside(bytes: &[u8], issues: &[Issue]) {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let widths: Vec<usize> = text
        .split(['\n', '\r'])
        .map(|it| it.chars().count())
        .collect();
    for issue in issues {
        let (line, column) = (issue.line as usize, issue.column as usize);
        let width = line.checked_sub(1).and_then(|line| widths.get(line));
        let inside = width.is_some_and(|width| (1..=width + 1).contains(&column));
        assert!(inside, "outside of the file: {issue:?}");
    }
}

/// JSON is YAML: the same tree has the same problems. Where they lie is another matter, and keys of
/// more than 1,024 characters and characters that no editor shows are left to YAML's own rules.
fn as_json_the_same(json: &Value, loaded: &Loaded) {
    let text = json.to_string();
    if loaded.issues.len() >= CUT || has_long_key(json) || text.chars().any(is_unprintable) {
        return;
    }
    let found = |issues: &[Issue]| -> BTreeSet<_> {
        let key = |it: &Issue| (it.code, it.step.clone(), it.edge.clone());
        issues.iter().map(key).collect()
    };
    let again = load(text.as_bytes(), &KNOWN);
    assert_eq!(
        found(&loaded.issues),
        found(&again.issues),
        "{:#?}\n{:#?}",
        loaded.issues,
        again.issues
    );
}

fn has_long_key(json: &Value) -> bool {
    match json {
        Value::Array(items) => items.iter().any(has_long_key),
        Value::Object(map) => map
            .iter()
            .any(|(key, item)| json!(key).to_string().len() > 1_000 || has_long_key(item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// G6, G12: forward edges close no cycle, retry edges do, and every step is reached.
fn keeps_its_promises(graph: &RoutineGraph) {
    let mut waits: Vec<usize> = graph.steps().map(|it| graph.forward_in(it).len()).collect();
    let mut ready: Vec<_> = graph.steps().filter(|it| waits[it.at()] == 0).collect();
    assert_eq!(ready.len(), graph.entries().len(), "only entries begin");
    let mut seen = 0;
    while let Some(step) = ready.pop() {
        seen += 1;
        for &edge in graph.outgoing(step) {
            let edge = graph.edge(edge);
            match &edge.class {
                EdgeClass::Forward => {
                    waits[edge.to.at()] -= 1;
                    if waits[edge.to.at()] == 0 {
                        ready.push(edge.to);
                    }
                }
                EdgeClass::Retry(retry) => {
                    assert!(retry.max_attempts > 0);
                    assert!(retry.invalidates.contains(&edge.from), "it closes a cycle");
                }
            }
        }
    }
    assert_eq!(seen, graph.len(), "a forward cycle");
    for nested in graph.steps().filter_map(|step| graph.nested(step)) {
        keeps_its_promises(nested);
    }
}
