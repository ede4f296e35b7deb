//! A drawing as a Mermaid flowchart.
//!
//! Steps are numbered, so that no slug can be a word of the language. Labels stand in quotes, and
//! every character that means anything to Mermaid, Markdown or HTML stands as its number.

use std::fmt::Write;

use crate::engine::routine::render::{Drawing, DrawnStep, Shape, line, target};

/// Characters that mean something to Mermaid, Markdown, HTML, or to what finds icons, formulas and
/// links in labels. They are written as their number.
const TELLING: &str = "\"#&<>`%|;\\*~$@:[]";

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

/// A line of a label, in which nothing but letters is left to be understood.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone().next();
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let tells = match c {
            // Within a word it is a letter like any other.
            '_' => !is_part(before) || !is_part(after),
            // At the beginning it makes a list, which no label may be.
            '-' | '+' => quoted.trim_start().is_empty(),
            '.' | ')' => is_number(&quoted),
            c => TELLING.contains(c),
        };
        if tells {
            // Writing to a string doesn't fail.
            let _ = write!(quoted, "#{};", u32::from(c));
        } else {
            quoted.push(c);
        }
        before = Some(c);
    }
    quoted
}

/// Whether text holds digits and nothing else.
fn is_number(text: &str) -> bool {
    let text = text.trim_start();
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
