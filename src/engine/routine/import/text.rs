//! Templates of task lists, which name steps by name or by id, and names of their memory tools.

use crate::engine::routine::file::{Content, Entry, Node};
use crate::engine::routine::import::foreign::{list, text};
use crate::engine::routine::import::names::Names;
use crate::engine::routine::template::{Reference, Template};

/// A value whose texts are templates, with each task that they name called by its slug. What is no
/// template stays as it is, for the reader to report.
pub(super) fn templates(names: &Names<'_>, node: &Node) -> Node {
    let content = match &node.content {
        Content::Null => Content::Null,
        Content::Bool(flag) => Content::Bool(*flag),
        Content::Number(number) => Content::Number(number.clone()),
        Content::Text(text) => Content::Text(template(names, text).into()),
        Content::List(items) => {
            Content::List(items.iter().map(|item| templates(names, item)).collect())
        }
        Content::Map(entries) => Content::Map(
            entries
                .iter()
                .map(|entry| Entry {
                    key: entry.key.clone(),
                    at: entry.at,
                    value: templates(names, &entry.value),
                })
                .collect(),
        ),
    };
    Node {
        at: node.at,
        content,
    }
}

fn template(names: &Names<'_>, text: &str) -> String {
    let Ok(template) = Template::parse(text) else {
        return text.to_owned();
    };
    let named = template
        .references()
        .any(|reference| matches!(reference, Reference::Result(_)));
    if !named {
        return text.to_owned();
    }
    let by_slug = template.with_references(|reference| match &reference {
        Reference::Result(name) => match names.slug_of(name) {
            Some(slug) => Reference::Result(slug.to_owned()),
            None => reference,
        },
        Reference::Param(_)
        | Reference::Step(_)
        | Reference::MapItem
        | Reference::MapIndex
        | Reference::MapTotal
        | Reference::FoldAccumulator => reference,
    });
    by_slug.to_string()
}

/// A tool's name here. Only the memory tools are called otherwise.
pub(super) fn tool_name(name: &str) -> &str {
    match name {
        "context_set" | "memory_store" => "memory_set",
        "memory_retrieve" => "memory_get",
        other => other,
    }
}

/// A tool's name in a node.
pub(super) fn tool(node: &Node) -> Node {
    match node.as_text() {
        Some(name) => text(node.at, tool_name(name)),
        None => node.clone(),
    }
}

/// A list of names of tools, each once.
pub(super) fn tools(node: &Node) -> Node {
    let Some(items) = node.as_list() else {
        return node.clone();
    };
    let mut tools: Vec<Node> = Vec::with_capacity(items.len());
    for item in items.iter().map(tool) {
        if !tools.iter().any(|known| known.content == item.content) {
            tools.push(item);
        }
    }
    list(node.at, tools)
}
