//! What this version doesn't run yet. Such files are valid; running them is refused before any action.

use crate::engine::routine::issue::{Code, Issue};
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{Feature, Named, Notes};

/// The features that don't run, with the words for people. Shrinks as they come.
const FEATURES: &[(Feature, &str)] = &[
    (Feature::Reflection, "reflection"),
    (Feature::EvidencePlugin, "the plugin `evidence`"),
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

#[cfg(test)]
mod tests {
    use crate::engine::routine::issue::Code;
    use crate::engine::routine::{fixtures, load};

    /// A step with this in it, in a routine that is valid.
    fn unsupported(step: &str, top: &str) -> Vec<String> {
        let text = format!(
            "routine: r\nagents: {{a: {{}}, b: {{}}}}\ncouncils: {{c: {{leader: a, members: [b], strategy: broadcast}}}}\n{top}\nentry_steps: [s]\nsteps:\n  - {{slug: s, {step}}}\n  - {{slug: done, type: terminal}}\nedges: [{{from: s, to: done}}]\n"
        );
        let loaded = load(text.as_bytes(), &fixtures::known());
        let issues = loaded.issues;
        let routine = loaded
            .routine
            .unwrap_or_else(|| panic!("{issues:#?}\n{text}"));
        assert!(
            routine
                .unsupported
                .iter()
                .all(|it| it.code == Code::Unsupported && it.line > 0)
        );
        routine
            .unsupported
            .iter()
            .map(|it| it.message.clone())
            .collect()
    }

    const NESTED: &str = "routine: {steps: [{slug: n, type: agent, agent: a}]}";

    /// V19, V25: what is valid runs, but for these.
    #[test]
    fn what_is_not_run_yet_is_named_and_everything_else_runs() {
        let reflect = "reflection: {mode: strict}";
        let table = [
            (
                format!("type: agent, agent: a, criteria: [x], {reflect}"),
                "reflection",
            ),
            (
                "type: agent, agent: a, criteria: [x], reflection: {mode: warn}".into(),
                "reflection",
            ),
            (
                format!("type: council, council: c, criteria: [x], {reflect}"),
                "reflection",
            ),
            (
                "type: agent, agent: a, plugins: [memory, evidence]".into(),
                "the plugin `evidence`",
            ),
            (
                "type: agent, agent: a, tools: [list_dir]".into(),
                "`list_dir`",
            ),
            (
                "type: tool, tool: search_text, args: {pattern: x}".into(),
                "`search_text`",
            ),
            (
                "type: tool, tool: http_request, args: {url: 'http://x'}".into(),
                "`http_request`",
            ),
            (
                "type: agent, agent: a, verify: [{check: http, url: 'http://x'}]".into(),
                "http checks",
            ),
            (
                format!(
                    "type: until, stop_when: {{memory_key: k, operator: exists}}, {}",
                    NESTED.replace("agent: a", &format!("agent: a, criteria: [x], {reflect}"))
                ),
                "reflection",
            ),
        ];
        for (step, what) in table {
            let found = unsupported(&step, "");
            assert_eq!(found.len(), 1, "{step}: {found:?}");
            assert!(found[0].contains(what), "{step}: {found:?}");
        }
        for top in [
            "required_tools: [list_dir]",
            "pre_steps: [{name: p, tool: list_dir}]",
            "post_steps: [{name: p, tool: search_text}]",
            "verify: [{check: http, url: 'http://x'}]",
        ] {
            let found = unsupported("type: agent, agent: a", top);
            assert_eq!(found.len(), 1, "{top}: {found:?}");
        }
        let condition =
            "condition: {memory_key: k, operator: exists, on_false: wait}, omission: refused";
        for step in [
            "type: agent, agent: a, reflection: {mode: off}, plugins: [memory], memory: [k], corrections: 0, max_model_calls: 1, timeout_ms: 1".into(),
            format!("type: agent, agent: a, {condition}"),
            format!("type: council, council: c, plugins: [memory], {condition}"),
            format!("type: tool, tool: memory_list, {condition}"),
            format!("type: map, source: {{memory_key: k}}, max_iterations: 1, iteration_deadline_ms: 1, result_key: r, {NESTED}, {condition}"),
            format!("type: fold, source: {{memory_key: k}}, initial_value: 0, result_key: r, {NESTED}, {condition}"),
            format!("type: until, stop_when: {{memory_key: k, operator: less_than, value: 1}}, iteration_key: i, {NESTED}, {condition}"),
            "type: agent, agent: a, verify: [{check: command, run: [x], cwd: y}, {check: file, path: x}, {check: output, contains: x}, {check: manual, prompt: x}, {check: synthetic, job: x}]".into(),
        ] {
            let found = unsupported(&step, "required_plugins: [memory, evidence]\ndeadline_ms: 1\nassurance: {}\npost_steps_trigger: always");
            assert!(found.is_empty(), "{step}: {found:?}");
        }
    }
}
