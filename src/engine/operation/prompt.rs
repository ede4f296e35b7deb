//! What a model sees in a run, and nothing else (G18).

use std::fmt::Write as _;

use serde_json::Value;

use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::route::ROUTE_TOOL;

/// Everything that a run's first message is made of, templates expanded.
#[derive(Debug, Default)]
pub(super) struct Brief {
    pub(super) name: String,
    pub(super) instructions: Option<String>,
    pub(super) expected_output: Option<String>,
    pub(super) criteria: Vec<String>,
    pub(super) inputs: Vec<(String, Value)>,
    pub(super) handoffs: Vec<HandoffBlock>,
    pub(super) memory: Vec<(String, Option<Value>)>,
    pub(super) ways: Vec<WayOn>,
    pub(super) judges: bool,
}

/// One current activated incoming edge (G5).
#[derive(Debug)]
pub(super) struct HandoffBlock {
    pub(super) source: String,
    pub(super) purpose: Option<String>,
    pub(super) handoff: Value,
}

/// One edge that the verdict may activate.
#[derive(Debug)]
pub(super) struct WayOn {
    pub(super) target: String,
    pub(super) verdict: Verdict,
    pub(super) purpose: Option<String>,
    pub(super) handoff_instructions: Option<String>,
}

/// The system text: agent instructions, then routine instructions.
pub(super) fn system(agent: Option<&str>, routine: &[String]) -> String {
    agent
        .into_iter()
        .chain(routine.iter().map(String::as_str))
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// The one user message of a run that ends by a verdict.
pub(super) fn message(brief: &Brief) -> String {
    with_ending(brief, &ending(brief))
}

/// The same for a council's leader, who is told of the council first.
pub(super) fn message_with(brief: &Brief, council: &str) -> String {
    with_ending(brief, &format!("{council}\n\n{}", ending(brief)))
}

/// The message of a run that ends in another way.
pub(super) fn with_ending(brief: &Brief, ending: &str) -> String {
    let mut text = format!("# {}\n", brief.name);
    let mut section = |title: &str, body: &str| {
        // Writing to a String can't fail.
        let _ = write!(text, "\n## {title}\n\n{}\n", body.trim_end());
    };
    if let Some(instructions) = &brief.instructions {
        section("What to do", instructions);
    }
    if let Some(expected) = &brief.expected_output {
        section("Expected output", expected);
    }
    if !brief.criteria.is_empty() {
        section("Criteria", &list(brief.criteria.iter().cloned()));
    }
    if !brief.inputs.is_empty() {
        let inputs = brief
            .inputs
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        section("Inputs", &list(inputs));
    }
    for block in &brief.handoffs {
        let mut body = String::new();
        if let Some(purpose) = &block.purpose {
            let _ = writeln!(body, "Purpose: {purpose}\n");
        }
        let _ = write!(body, "{}", block.handoff);
        section(&format!("Handed over by `{}`", block.source), &body);
    }
    if !brief.memory.is_empty() {
        let entries = brief.memory.iter().map(|(key, value)| match value {
            Some(value) => format!("{key}: {value}"),
            None => format!("{key}: (nothing)"),
        });
        section("Memory", &list(entries));
    }
    section("How to end", ending);
    text
}

fn ending(brief: &Brief) -> String {
    let mut text = format!(
        "End by calling the tool `{ROUTE_TOOL}` once, alone, with `verdict`, `reasoning`, `output` and `next_steps`. "
    );
    text.push_str(if brief.judges {
        "Say \"pass\" if the work is good, \"fail\" if it is not."
    } else {
        "Say \"pass\" if the work is done, \"fail\" if it can't be done: that ends the routine."
    });
    for verdict in [Verdict::Pass, Verdict::Fail] {
        let label = verdict.label();
        let ways: Vec<_> = brief
            .ways
            .iter()
            .filter(|way| way.verdict == verdict)
            .collect();
        if ways.is_empty() {
            let _ = write!(text, "\nWith \"{label}\", `next_steps` is empty.");
            continue;
        }
        let _ = write!(
            text,
            "\nWith \"{label}\", `next_steps` has one entry for each of:"
        );
        for way in ways {
            let _ = write!(text, "\n- `{}`", way.target);
            if let Some(purpose) = &way.purpose {
                let _ = write!(text, " (purpose: {purpose})");
            }
            if let Some(instructions) = &way.handoff_instructions {
                let _ = write!(text, ": {instructions}");
            }
        }
    }
    text
}

fn list(items: impl Iterator<Item = String>) -> String {
    items
        .map(|item| format!("- {item}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// What the model is told after an answer that can't count (G4).
pub(super) fn correction(tool: &str, problems: &[String]) -> String {
    format!(
        "That did not end the step: {}. Call `{tool}` again, corrected.",
        problems.join("; ")
    )
}
