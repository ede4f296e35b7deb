//! A drawing in Graphviz' language.
//!
//! Steps are numbered. Labels stand in quotes; quotes, backslashes and what HTML knows stand as
//! entities, so that nothing in a label can end it.

use std::fmt::Write;

use crate::engine::routine::render::{Drawing, DrawnStep, Shape, line, target};

pub(super) fn digraph(drawing: &Drawing) -> String {
    let mut text = String::from("digraph routine {\n  node [shape=box];\n");
    body(&mut text, drawing, "", 1);
    text.push_str("}\n");
    text
}

fn body(text: &mut String, drawing: &Drawing, prefix: &str, depth: usize) {
    let indent = "  ".repeat(depth);
    let places = drawing.places();
    line(
        text,
        format_args!("{indent}{prefix}start [shape=point, label=\"\"];"),
    );
    for (index, step) in drawing.steps.iter().enumerate() {
        let own = format!("{prefix}s{index}");
        if let Some(nested) = &step.nested {
            line(text, format_args!("{indent}subgraph cluster_{own} {{"));
            line(text, format_args!("{indent}  label=\"\";"));
            node(text, &format!("{indent}  "), &own, step);
            body(text, nested, &format!("{own}_"), depth + 1);
            line(
                text,
                format_args!("{indent}  {own} -> {own}_start [style=dotted, label=\"each time\"];"),
            );
            line(text, format_args!("{indent}}}"));
        } else {
            node(text, &indent, &own, step);
        }
    }
    for (index, step) in drawing.steps.iter().enumerate() {
        let own = format!("{prefix}s{index}");
        if step.is_entry() {
            line(text, format_args!("{indent}{prefix}start -> {own};"));
        }
        for edge in &step.edges {
            let mut attributes = Vec::new();
            if let Some(label) = edge.label() {
                attributes.push(format!("label=\"{}\"", quoted(&label)));
            }
            if edge.budget.is_some() {
                // The way back must not turn the picture upside down.
                attributes.push("style=dashed, constraint=false".to_owned());
            }
            let attributes = match attributes.is_empty() {
                true => String::new(),
                false => format!(" [{}]", attributes.join(", ")),
            };
            let to = target(&places, prefix, &edge.to);
            line(text, format_args!("{indent}{own} -> {to}{attributes};"));
        }
    }
}

fn node(text: &mut String, indent: &str, id: &str, step: &DrawnStep) {
    let shape = match step.shape {
        Shape::Work => "box",
        Shape::Choice => "diamond",
        Shape::Council => "hexagon",
        Shape::Call => "component",
        Shape::Repetition => "box3d",
        Shape::Success => "doublecircle",
        Shape::Failure => "doubleoctagon",
    };
    let lines: Vec<String> = step.lines().iter().map(|line| quoted(line)).collect();
    let label = lines.join("\\n");
    line(
        text,
        format_args!("{indent}{id} [shape={shape}, label=\"{label}\"];"),
    );
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' | '&' | '<' | '>' => {
                // Writing to a string doesn't fail.
                let _ = write!(quoted, "&#{};", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted
}
