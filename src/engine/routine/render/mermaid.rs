//! A drawing as a Mermaid flowchart.
//!
//! Steps are numbered, so that no slug can be a word of the language. Labels stand in quotes, and
//! every character that means anything to Mermaid, Markdown or HTML stands as its number.

use std::fmt::Write;

use crate::engine::routine::render::{Drawing, DrawnStep, Shape, line, target};

/// Characters that are written as their number.
const TELLING: &str = "\"#&<>`%|;";

pub(super) fn flowchart(drawing: &Drawing) -> String {
    let mut text = String::from("flowchart TD\n");
    body(&mut text, drawing, "", 1);
    text
}

fn body(text: &mut String, drawing: &Drawing, prefix: &str, depth: usize) {
    let indent = "  ".repeat(depth);
    let places = drawing.places();
    line(text, format_args!("{indent}{prefix}start((\" \"))"));
    for (index, step) in drawing.steps.iter().enumerate() {
        let own = format!("{prefix}s{index}");
        match &step.nested {
            None => {
                let (open, close) = brackets(step.shape);
                line(
                    text,
                    format_args!("{indent}{own}{open}\"{}\"{close}", label(step)),
                );
            }
            Some(nested) => {
                line(
                    text,
                    format_args!("{indent}subgraph {own}[\"{}\"]", label(step)),
                );
                body(text, nested, &format!("{own}_"), depth + 1);
                line(text, format_args!("{indent}end"));
            }
        }
    }
    for (index, step) in drawing.steps.iter().enumerate() {
        let own = format!("{prefix}s{index}");
        if step.is_entry() {
            line(text, format_args!("{indent}{prefix}start --> {own}"));
        }
        for edge in &step.edges {
            let arrow = match edge.budget {
                None => "-->",
                Some(_) => "-.->",
            };
            let label = edge
                .label()
                .map(|label| format!("|\"{}\"|", quoted(&label)));
            let label = label.unwrap_or_default();
            line(
                text,
                format_args!(
                    "{indent}{own} {arrow}{label} {}",
                    target(&places, prefix, &edge.to)
                ),
            );
        }
    }
}

fn brackets(shape: Shape) -> (&'static str, &'static str) {
    match shape {
        Shape::Work | Shape::Repetition => ("[", "]"),
        Shape::Choice => ("{", "}"),
        Shape::Council => ("{{", "}}"),
        Shape::Call => ("[[", "]]"),
        Shape::Success => ("([", "])"),
        Shape::Failure => (">", "]"),
    }
}

fn label(step: &DrawnStep) -> String {
    let lines: Vec<String> = step.lines().iter().map(|line| quoted(line)).collect();
    lines.join("<br/>")
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        match TELLING.contains(c) {
            // Writing to a string doesn't fail.
            true => {
                let _ = write!(quoted, "#{};", u32::from(c));
            }
            false => quoted.push(c),
        }
    }
    quoted
}
