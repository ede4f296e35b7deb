//! A routine file as a tree in which every key and every value knows its line and column.
//!
//! YAML and JSON are told apart by content: JSON is read as the YAML 1.2 that it is. The tree is
//! built from the events of the parser under `serde-saphyr`, and not through its `Spanned<T>`:
//! the events carry a position for each key too, cost one pass, and let aliases be paid for before
//! they are copied. Nothing here knows what a routine is.

mod scalar;

use std::collections::{HashMap, HashSet};

use serde_json::{Number, Value};
use serde_saphyr::granit_parser::{self, Event, Marker, Parser, Tag};

use crate::engine::routine::file::scalar::BadScalar;

/// Collections that may lie in each other. 32 levels of routines take about a hundred.
const DEPTH: usize = 512;
/// Depth of a value that is kept as JSON: what is kept must be readable inside a record again.
const JSON_DEPTH: usize = 100;
/// What aliases may copy, in nodes; long texts count more than once.
const ALIAS_WEIGHT: usize = 100_000;
/// Bytes of text that count as one more node.
const TEXT_WEIGHT: usize = 32;
/// Maps up to this size are searched for duplicate keys without a set.
const SMALL_MAP: usize = 16;

/// Where something begins in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

impl Position {
    /// The first character.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub at: Position,
    /// What it is.
    pub content: Content,
}

/// What stands at a place.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nothing, or `null`.
    Null,
    /// `true` or `false`. Words such as `no` stay text.
    Bool(bool),
    /// A finite number.
    Number(Number),
    /// Text.
    Text(Box<str>),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in file order, without duplicate keys.
    Map(Vec<Entry>),
}

/// One line of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Box<str>,
    /// Where the key begins.
    pub at: Position,
    /// The value.
    pub value: Node,
}

/// A file that is well-formed.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineFile {
    /// The one document's value.
    pub root: Node,
}

/// The bytes are neither YAML nor JSON that this format takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unparsable {
    /// Where.
    pub at: Position,
    /// For people.
    pub message: String,
}

impl Unparsable {
    fn at(at: Position, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }
}

impl RoutineFile {
    /// Reads one document. The caller bounds the size of the bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unparsable> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            // A carriage return alone breaks a line too, for YAML and so for the parser.
            let breaks = |c: char| c == '\n' || c == '\r';
            let line = valid.matches(breaks).count() - valid.matches("\r\n").count();
            let column = valid.chars().rev().take_while(|&c| !breaks(c)).count();
            Unparsable::at(
                position(line + 1, column),
                "this is not UTF-8 text; save the file as UTF-8",
            )
        })?;
        let options = granit_parser::options! {
            emit_comments: false,
            flow_nesting_limit: DEPTH,
            block_nesting_limit: DEPTH,
        };
        let mut tree = Tree::default();
        for next in Parser::new_from_str_with_options(text, options) {
            let (event, span) = next.map_err(|error| {
                Unparsable::at(place(error.marker()), explain(text, &error.info()))
            })?;
            tree.take(event, place(&span.start))?;
        }
        match tree.root {
            Some(root) => Ok(Self { root }),
            None => Err(Unparsable::at(
                Position::START,
                "the file is empty; a routine begins with `routine: NAME`",
            )),
        }
    }
}

impl Node {
    /// The word for what it is, with its article.
    pub fn kind(&self) -> &'static str {
        match &self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::Text(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Null
            | Content::Bool(_)
            | Content::Number(_)
            | Content::List(_)
            | Content::Map(_) => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.content {
            Content::List(items) => Some(items),
            Content::Null
            | Content::Bool(_)
            | Content::Number(_)
            | Content::Text(_)
            | Content::Map(_) => None,
        }
    }

    /// The entries, if it is a map.
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Map(entries) => Some(entries),
            Content::Null
            | Content::Bool(_)
            | Content::Number(_)
            | Content::Text(_)
            | Content::List(_) => None,
        }
    }

    /// The value of a map's key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let entry = self.as_map()?.iter().find(|entry| &*entry.key == key)?;
        Some(&entry.value)
    }

    /// The same as JSON; `None` where it lies too deep to be kept.
    pub fn to_json(&self) -> Option<Value> {
        self.json(JSON_DEPTH)
    }

    fn json(&self, depth: usize) -> Option<Value> {
        let inner = depth.checked_sub(1)?;
        Some(match &self.content {
            Content::Null => Value::Null,
            Content::Bool(flag) => Value::Bool(*flag),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text) => Value::String(text.to_string()),
            Content::List(items) => Value::Array(
                items
                    .iter()
                    .map(|item| item.json(inner))
                    .collect::<Option<_>>()?,
            ),
            Content::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|entry| Some((entry.key.to_string(), entry.value.json(inner)?)))
                    .collect::<Option<_>>()?,
            ),
        })
    }
}

/// A tree that grows by events.
#[derive(Default)]
struct Tree {
    root: Option<Node>,
    open: Vec<Open>,
    documents: usize,
    anchors: HashMap<usize, (Node, usize)>,
    copied: usize,
}

/// A collection whose end hasn't come yet.
struct Open {
    at: Position,
    anchor: usize,
    weight: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map {
        entries: Vec<Entry>,
        seen: HashSet<Box<str>>,
        key: Option<(Box<str>, Position)>,
    },
}

impl Tree {
    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), Unparsable> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Unparsable::at(
                        at,
                        "a second document begins here; a file holds one routine",
                    ));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                if self.awaits_key() {
                    return self.take_key(&text, at);
                }
                let core = core_tag(tag.as_deref(), at)?;
                let content = scalar::resolve(text, style, core)
                    .map_err(|BadScalar(message)| Unparsable::at(at, message))?;
                let weight = weight(&content);
                self.place(Node { at, content }, weight, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.open(Items::List(Vec::new()), at, anchor, tag.as_deref())?;
            }
            Event::MappingStart(_, anchor, tag) => {
                let items = Items::Map {
                    entries: Vec::new(),
                    seen: HashSet::new(),
                    key: None,
                };
                self.open(items, at, anchor, tag.as_deref())?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let content = match open.items {
                        Items::List(items) => Content::List(items),
                        Items::Map { entries, .. } => Content::Map(entries),
                    };
                    let node = Node {
                        at: open.at,
                        content,
                    };
                    self.place(node, open.weight, open.anchor)?;
                }
            }
            Event::Alias(anchor) => {
                if self.awaits_key() {
                    return Err(Unparsable::at(at, "a key must be plain text, not an alias"));
                }
                let Some((_, weight)) = self.anchors.get(&anchor) else {
                    return Err(Unparsable::at(at, "the alias stands inside its own anchor"));
                };
                let weight = *weight;
                self.pay(weight, at)?;
                let content = self.anchors[&anchor].0.content.clone();
                self.place(Node { at, content }, weight, 0)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes what an alias copies from the budget. Nothing is copied before it is paid for.
    fn pay(&mut self, weight: usize, at: Position) -> Result<(), Unparsable> {
        if self.copied + weight > ALIAS_WEIGHT {
            return Err(Unparsable::at(
                at,
                "the aliases of this file expand to more than a routine may hold",
            ));
        }
        self.copied += weight;
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Open {
                items: Items::Map { key: None, .. },
                ..
            })
        )
    }

    fn take_key(&mut self, text: &str, at: Position) -> Result<(), Unparsable> {
        let Some(Open {
            items: Items::Map { entries, seen, key },
            ..
        }) = self.open.last_mut()
        else {
            return Ok(());
        };
        let duplicate = if entries.len() < SMALL_MAP {
            entries.iter().any(|entry| &*entry.key == text)
        } else {
            if seen.is_empty() {
                seen.extend(entries.iter().map(|entry| entry.key.clone()));
            }
            !seen.insert(text.into())
        };
        if duplicate {
            return Err(Unparsable::at(
                at,
                format!("the key `{text}` stands here twice"),
            ));
        }
        *key = Some((text.into(), at));
        Ok(())
    }

    fn open(
        &mut self,
        items: Items,
        at: Position,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), Unparsable> {
        if self.awaits_key() {
            return Err(Unparsable::at(
                at,
                "a key must be plain text; put quotes around text that begins with a brace or a bracket",
            ));
        }
        core_tag(tag, at)?;
        self.open.push(Open {
            at,
            anchor,
            weight: 1,
            items,
        });
        Ok(())
    }

    fn place(&mut self, node: Node, weight: usize, anchor: usize) -> Result<(), Unparsable> {
        if anchor != 0 {
            // An anchor keeps a copy, so it is paid for like an alias.
            self.pay(weight, node.at)?;
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        parent.weight += weight;
        match &mut parent.items {
            Items::List(items) => items.push(node),
            Items::Map { entries, key, .. } => {
                if let Some((key, at)) = key.take() {
                    entries.push(Entry {
                        key,
                        at,
                        value: node,
                    });
                }
            }
        }
        Ok(())
    }
}

fn weight(content: &Content) -> usize {
    match content {
        Content::Text(text) => 1 + text.len() / TEXT_WEIGHT,
        Content::Null
        | Content::Bool(_)
        | Content::Number(_)
        | Content::List(_)
        | Content::Map(_) => 1,
    }
}

/// The name of a core tag. Other tags mean something to other programs only.
fn core_tag(tag: Option<&Tag>, at: Position) -> Result<Option<&str>, Unparsable> {
    match tag {
        None => Ok(None),
        Some(tag) => match tag.core_suffix() {
            Some(name) => Ok(Some(name)),
            None if tag.original() == "!" => Ok(Some("str")),
            None => Err(Unparsable::at(
                at,
                format!("the tag `{}` has no meaning here", tag.original()),
            )),
        },
    }
}

/// Says the parser's complaint, and what is usually meant where the text is a template.
fn explain(text: &str, complaint: &str) -> String {
    if text.contains(": {{") {
        format!("{complaint} (a value that begins with `{{{{` needs quotes)")
    } else {
        complaint.to_owned()
    }
}

fn place(marker: &Marker) -> Position {
    position(marker.line(), marker.col())
}

fn position(line: usize, characters_before: usize) -> Position {
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position {
        line: small(line.max(1)),
        column: small(characters_before + 1),
    }
}

#[cfg(test)]
mod tests;
