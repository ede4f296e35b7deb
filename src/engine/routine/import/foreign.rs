//! Reading a map of another format, and making a node of ours.
//!
//! What a map may hold is what is asked of it: a key that nobody asked for is an `unknown-field`.

use std::cell::RefCell;

use crate::engine::routine::file::{Content, Entry, Node, Position};
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::reader::near;

/// Where problems go, and whom they concern.
#[derive(Clone, Copy)]
pub(super) struct Desk<'a> {
    pub(super) issues: &'a Issues,
    pub(super) subject: Subject<'a>,
}

impl<'a> Desk<'a> {
    /// The same, about a step.
    pub(super) fn about_step<'b>(self, slug: Option<&'b str>) -> Desk<'b>
    where
        'a: 'b,
    {
        Desk {
            issues: self.issues,
            subject: Subject::step(slug),
        }
    }

    /// The same, about an edge.
    pub(super) fn about_edge<'b>(self, label: Option<&'b str>) -> Desk<'b>
    where
        'a: 'b,
    {
        Desk {
            issues: self.issues,
            subject: Subject::edge(label),
        }
    }

    /// Reports a problem.
    pub(super) fn report(&self, code: Code, at: Position, message: impl Into<String>) {
        self.issues.add(code, at, self.subject, message);
    }

    /// Says that a value has the wrong type.
    pub(super) fn mistyped(&self, node: &Node, what: &str, expected: &str) {
        let message = format!("{what} must be {expected}, not {}", node.kind());
        self.report(Code::BadValue, node.at, message);
    }
}

/// A map of another format under reading.
pub(super) struct Foreign<'a> {
    pub(super) desk: Desk<'a>,
    pub(super) at: Position,
    what: &'static str,
    entries: &'a [Entry],
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Foreign<'a> {
    /// Opens a map; anything else is reported.
    pub(super) fn open(desk: Desk<'a>, node: &'a Node, what: &'static str) -> Option<Self> {
        let Some(entries) = node.as_map() else {
            desk.mistyped(node, what, "a map");
            return None;
        };
        Some(Self {
            desk,
            at: node.at,
            what,
            entries,
            asked: RefCell::default(),
        })
    }

    /// A key with its value. Files that programs write say `null` for what isn't there; so it is
    /// taken for left out.
    pub(super) fn entry(&self, name: &'static str) -> Option<&'a Entry> {
        self.entry_or_null(name)
            .filter(|entry| entry.value.content != Content::Null)
    }

    /// A key with its value, where `null` is a value like any other.
    pub(super) fn entry_or_null(&self, name: &'static str) -> Option<&'a Entry> {
        self.asked.borrow_mut().push(name);
        self.entries.iter().find(|entry| &*entry.key == name)
    }

    /// A value; `null` is taken for left out.
    pub(super) fn value(&self, name: &'static str) -> Option<&'a Node> {
        self.entry(name).map(|entry| &entry.value)
    }

    /// Opens the map under a key, if there is one.
    pub(super) fn inside(&self, name: &'static str) -> Option<Self> {
        Self::open(self.desk, self.value(name)?, name)
    }

    /// The items of the list under a key; anything else there is reported.
    pub(super) fn items(&self, name: &'static str) -> &'a [Node] {
        let Some(node) = self.value(name) else {
            return &[];
        };
        let items = node.as_list();
        if items.is_none() {
            self.desk.mistyped(node, name, "a list");
        }
        items.unwrap_or_default()
    }

    /// Names that this format has and that mean nothing to a run.
    pub(super) fn aside(&self, names: &[&'static str]) {
        self.asked.borrow_mut().extend(names);
    }

    /// Ends the reading: what wasn't asked for is unknown.
    pub(super) fn close(self) {
        let asked = self.asked.into_inner();
        for entry in self.entries {
            if !asked.contains(&&*entry.key) {
                let hint = near::hint(&entry.key, asked.iter().copied());
                let message = format!("`{}` is no field of this {}{hint}", entry.key, self.what);
                self.desk.report(Code::UnknownField, entry.at, message);
            }
        }
    }
}

/// A map of ours in the making.
pub(super) struct Made {
    at: Position,
    entries: Vec<Entry>,
}

impl Made {
    /// An empty one that comes from a place.
    pub(super) fn at(at: Position) -> Self {
        Self {
            at,
            entries: Vec::new(),
        }
    }

    /// Adds a value; its key stands where the value does.
    pub(super) fn put(&mut self, key: &str, value: Node) {
        self.entries.push(Entry {
            key: key.into(),
            at: value.at,
            value,
        });
    }

    /// Adds a value of the other format under our key, if there is one.
    pub(super) fn carry(&mut self, key: &str, entry: Option<&Entry>) {
        self.carry_as(key, entry, Node::clone);
    }

    /// The same, with the value rewritten.
    pub(super) fn carry_as(
        &mut self,
        key: &str,
        entry: Option<&Entry>,
        rewrite: impl FnOnce(&Node) -> Node,
    ) {
        if let Some(entry) = entry {
            self.entries.push(Entry {
                key: key.into(),
                at: entry.at,
                value: rewrite(&entry.value),
            });
        }
    }

    /// The finished node.
    pub(super) fn node(self) -> Node {
        Node {
            at: self.at,
            content: Content::Map(self.entries),
        }
    }
}

/// Text that comes from a place.
pub(super) fn text(at: Position, text: &str) -> Node {
    Node {
        at,
        content: Content::Text(text.into()),
    }
}

/// A list that comes from a place.
pub(super) fn list(at: Position, items: Vec<Node>) -> Node {
    Node {
        at,
        content: Content::List(items),
    }
}

/// `true`, because of something at a place.
pub(super) fn yes(at: Position) -> Node {
    Node {
        at,
        content: Content::Bool(true),
    }
}
