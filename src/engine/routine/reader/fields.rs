//! A map under reading: asks a table's fields one by one and reports whatever is wrong with them.

use std::cell::{Cell, RefCell};

use serde_json::Value;

use crate::engine::limits;
use crate::engine::routine::file::{Content, Entry, Node, Position};
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{
    Feature, FeatureNote, NameNote, Named, Notes, Placed, Site, TemplateReference,
};
use crate::engine::routine::reader::near;
use crate::engine::routine::reader::table::{Kinds, Need, Table};
use crate::engine::routine::reader::words::Word;
use crate::engine::routine::template::{Template, ValueTemplate};

/// Where a reader is: whom problems concern, what templates can see, where findings go.
#[derive(Clone, Copy)]
pub(in crate::engine::routine) struct Context<'a> {
    pub(in crate::engine::routine) issues: &'a Issues,
    pub(in crate::engine::routine) notes: &'a Notes,
    pub(in crate::engine::routine) references: &'a RefCell<Vec<TemplateReference>>,
    pub(in crate::engine::routine) subject: Subject<'a>,
    pub(in crate::engine::routine) site: Site,
    /// The level of the body, the outermost being 1.
    pub(in crate::engine::routine) level: usize,
    /// The code of a wrong value where the field has none of its own.
    pub(in crate::engine::routine) wrong: Code,
}

impl<'a> Context<'a> {
    /// Reports a problem.
    pub(in crate::engine::routine) fn report(
        &self,
        code: Code,
        at: Position,
        message: impl Into<String>,
    ) {
        self.issues.add(code, at, self.subject, message);
    }

    /// The same, with templates that belong elsewhere.
    pub(in crate::engine::routine) fn at_site(self, site: Site) -> Self {
        Self { site, ..self }
    }

    /// The same, with another code for wrong values.
    pub(in crate::engine::routine) fn with_code(self, wrong: Code) -> Self {
        Self { wrong, ..self }
    }

    /// Notes a name that is defined elsewhere.
    pub(in crate::engine::routine) fn note_name(&self, of: Named, name: &Placed<String>) {
        self.notes.names.borrow_mut().push(NameNote {
            of,
            name: name.value.clone(),
            at: name.at,
            step: self.subject.step.map(str::to_owned),
        });
    }

    /// Notes a use of something that not every version runs.
    pub(in crate::engine::routine) fn note_feature(&self, feature: Feature, at: Position) {
        self.notes.features.borrow_mut().push(FeatureNote {
            feature,
            at,
            step: self.subject.step.map(str::to_owned),
        });
    }

    /// Says that a value has the wrong type.
    pub(in crate::engine::routine) fn mistyped(&self, node: &Node, what: &str, expected: &str) {
        self.report(
            self.wrong,
            node.at,
            format!("{what} must be {expected}, not {}", node.kind()),
        );
    }

    /// A template in a node.
    pub(in crate::engine::routine) fn template(&self, node: &Node, what: &str) -> Option<Template> {
        let Some(text) = node.as_text() else {
            self.mistyped(node, what, "text");
            return None;
        };
        match Template::parse(text) {
            Ok(template) => {
                self.note_references(node.at, template.references());
                Some(template)
            }
            Err(bad) => {
                self.report(Code::BadTemplate, node.at, format!("{what}: {bad}"));
                None
            }
        }
    }

    /// A JSON value in a node.
    pub(in crate::engine::routine) fn json(&self, node: &Node, what: &str) -> Option<Value> {
        let json = node.to_json();
        if json.is_none() {
            self.report(self.wrong, node.at, format!("{what} is nested too deeply"));
        }
        json
    }

    /// A JSON value whose texts are templates.
    pub(in crate::engine::routine) fn value_template(
        &self,
        node: &Node,
        what: &str,
    ) -> Option<ValueTemplate> {
        let json = self.json(node, what)?;
        match ValueTemplate::parse(&json) {
            Ok(template) => {
                self.note_references(node.at, template.references().into_iter());
                Some(template)
            }
            Err(bad) => {
                self.report(Code::BadTemplate, node.at, format!("{what}: {bad}"));
                None
            }
        }
    }

    fn note_references<'t>(
        &self,
        at: Position,
        references: impl Iterator<Item = &'t crate::engine::routine::template::Reference>,
    ) {
        let mut noted = self.references.borrow_mut();
        noted.extend(references.map(|reference| TemplateReference {
            at,
            site: self.site,
            reference: reference.clone(),
        }));
    }

    /// The items of a list.
    pub(in crate::engine::routine) fn items(
        &self,
        node: &'a Node,
        what: &str,
    ) -> Option<&'a [Node]> {
        let items = node.as_list();
        if items.is_none() {
            self.mistyped(node, what, "a list");
        }
        items
    }

    /// The entries of a map.
    pub(in crate::engine::routine) fn entries(
        &self,
        node: &'a Node,
        what: &str,
    ) -> Option<&'a [Entry]> {
        let entries = node.as_map();
        if entries.is_none() {
            self.mistyped(node, what, "a map");
        }
        entries
    }

    /// The table that a construct's own word chooses. Where there is none, fields that no table
    /// knows are reported all the same.
    pub(in crate::engine::routine) fn choose(
        &self,
        node: &'a Node,
        kinds: &'static Kinds,
    ) -> Option<(&'static str, &'static Table)> {
        let entries = self.entries(node, kinds.name)?;
        let chosen = match node.get(kinds.key) {
            None => {
                let message = format!("`{}` is missing; {}", kinds.key, one_of(kinds.words()));
                self.report(Code::MissingField, node.at, message);
                None
            }
            Some(word) => match word.as_text() {
                None => {
                    self.mistyped(word, kinds.key, "text");
                    None
                }
                Some(text) => {
                    let found = kinds.tables.iter().find(|(known, _)| *known == text);
                    if found.is_none() {
                        let hint = near::hint(text, kinds.words());
                        let known = one_of(kinds.words());
                        let message = format!("`{text}` is no {}{hint}; {known}", kinds.key);
                        self.report(self.wrong, word.at, message);
                    }
                    found
                }
            },
        };
        if chosen.is_none() {
            let known = || {
                kinds
                    .tables
                    .iter()
                    .flat_map(|(_, table)| table.fields().map(|field| field.name))
            };
            for entry in entries {
                if !known().any(|name| name == &*entry.key) {
                    self.unknown_field(entry, kinds.name, known());
                }
            }
        }
        chosen.copied()
    }

    fn unknown_field<'k>(
        &self,
        entry: &Entry,
        what: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) {
        let hint = near::hint(&entry.key, known);
        let message = format!("a {what} has no field `{}`{hint}", entry.key);
        self.report(Code::UnknownField, entry.at, message);
    }
}

fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    format!("it is one of {}", words.collect::<Vec<_>>().join(", "))
}

/// A map under reading.
pub(in crate::engine::routine) struct Fields<'a> {
    pub(in crate::engine::routine) cx: Context<'a>,
    pub(in crate::engine::routine) at: Position,
    entries: &'a [Entry],
    table: &'static Table,
    /// One bit a field of the table: whether it was asked for.
    asked: Cell<u64>,
}

impl<'a> Fields<'a> {
    /// Opens a map, reporting fields that the table doesn't know and required ones that are missing.
    pub(in crate::engine::routine) fn open(
        cx: Context<'a>,
        node: &'a Node,
        table: &'static Table,
    ) -> Option<Self> {
        let entries = cx.entries(node, table.name)?;
        for entry in entries {
            if !table.fields().any(|field| field.name == &*entry.key) {
                cx.unknown_field(entry, table.name, table.fields().map(|field| field.name));
            }
        }
        for field in table.fields() {
            let entry = entries.iter().find(|entry| &*entry.key == field.name);
            match (field.need, entry) {
                (Need::Required(code), None) => {
                    let message = format!("the {} needs `{}`", table.name, field.name);
                    cx.report(code, node.at, message);
                }
                (Need::Refused(code), Some(entry)) => cx.report(code, entry.at, field.about),
                (Need::Optional | Need::Refused(_), _) | (Need::Required(_), Some(_)) => {}
            }
        }
        Some(Self {
            cx,
            at: node.at,
            entries,
            table,
            asked: Cell::new(0),
        })
    }

    /// Ends the reading. Every field of the table must have been asked for.
    pub(in crate::engine::routine) fn close(self) {
        for (index, field) in self.table.fields().enumerate() {
            debug_assert!(
                self.asked.get() & 1 << index != 0 || matches!(field.need, Need::Refused(_)),
                "BUG: `{}` of {} was never read",
                field.name,
                self.table.name
            );
        }
    }

    /// A field's value, whatever it is.
    pub(in crate::engine::routine) fn node(&self, name: &'static str) -> Option<&'a Node> {
        let index = self.table.fields().position(|field| field.name == name);
        debug_assert!(index.is_some(), "BUG: {} has no `{name}`", self.table.name);
        self.asked.set(self.asked.get() | 1 << index.unwrap_or(0));
        let entry = self.entries.iter().find(|entry| &*entry.key == name)?;
        Some(&entry.value)
    }

    /// Text.
    pub(in crate::engine::routine) fn text(&self, name: &'static str) -> Option<String> {
        self.placed_text(name).map(|text| text.value)
    }

    /// Text with its place.
    pub(in crate::engine::routine) fn placed_text(
        &self,
        name: &'static str,
    ) -> Option<Placed<String>> {
        let node = self.node(name)?;
        placed(&self.cx, node, name)
    }

    /// Text that isn't empty: the name of something.
    pub(in crate::engine::routine) fn name(&self, name: &'static str) -> Option<Placed<String>> {
        let text = self.placed_text(name)?;
        if text.value.trim().is_empty() {
            let message = format!("`{name}` must not be empty");
            self.cx.report(self.cx.wrong, text.at, message);
            return None;
        }
        Some(text)
    }

    /// A slug. One with wrong characters is reported, and still names its step.
    pub(in crate::engine::routine) fn slug(&self, name: &'static str) -> Option<Placed<String>> {
        let node = self.node(name)?;
        let slug = placed(&self.cx.with_code(Code::BadSlug), node, name)?;
        if !is_slug(&slug.value) {
            let message = format!(
                "`{}` is no slug; a slug has 1 to 64 of a-z, 0-9, - and _, and begins with a letter or digit",
                slug.value
            );
            self.cx.report(Code::BadSlug, slug.at, message);
        }
        Some(slug)
    }

    /// `true` or `false`.
    pub(in crate::engine::routine) fn flag(&self, name: &'static str) -> Option<bool> {
        let node = self.node(name)?;
        match node.content {
            Content::Bool(flag) => Some(flag),
            Content::Null
            | Content::Number(_)
            | Content::Text(_)
            | Content::List(_)
            | Content::Map(_) => {
                self.cx.mistyped(node, name, "true or false");
                None
            }
        }
    }

    /// A whole number between two bounds, both included.
    pub(in crate::engine::routine) fn whole(
        &self,
        name: &'static str,
        code: Code,
        (least, most): (u64, u64),
    ) -> Option<u64> {
        let node = self.node(name)?;
        let number = match &node.content {
            Content::Number(number) => number.as_u64(),
            Content::Null
            | Content::Bool(_)
            | Content::Text(_)
            | Content::List(_)
            | Content::Map(_) => None,
        };
        match number {
            Some(number) if (least..=most).contains(&number) => Some(number),
            Some(_) | None => {
                let message = match most {
                    u64::MAX => format!("{name} must be a whole number of at least {least}"),
                    most => format!("{name} must be a whole number from {least} to {most}"),
                };
                self.cx.report(code, node.at, message);
                None
            }
        }
    }

    /// As [`Self::whole`], for counters of 32 bits.
    pub(in crate::engine::routine) fn count(
        &self,
        name: &'static str,
        code: Code,
        least: u32,
    ) -> Option<u32> {
        let bounds = (u64::from(least), u64::from(u32::MAX));
        self.whole(name, code, bounds)
            .and_then(|number| u32::try_from(number).ok())
    }

    /// A timer that can't be switched off, in milliseconds.
    pub(in crate::engine::routine) fn timer(&self, name: &'static str) -> Option<u64> {
        self.whole(name, Code::BadTimer, (1, limits::MAX_TIMER_MS))
    }

    /// A deadline in milliseconds; 0 is none.
    pub(in crate::engine::routine) fn deadline(&self, name: &'static str) -> Option<u64> {
        self.whole(name, Code::BadTimer, (0, limits::MAX_TIMER_MS))
            .filter(|&deadline| deadline > 0)
    }

    /// One of some words.
    pub(in crate::engine::routine) fn word<W: Word>(&self, name: &'static str) -> Option<W> {
        let node = self.node(name)?;
        read_word(&self.cx, node, name)
    }

    /// A template.
    pub(in crate::engine::routine) fn template(&self, name: &'static str) -> Option<Template> {
        let node = self.node(name)?;
        self.cx.template(node, name)
    }

    /// A list of templates; empty where it was left out.
    pub(in crate::engine::routine) fn templates(&self, name: &'static str) -> Vec<Template> {
        let Some(node) = self.node(name) else {
            return Vec::new();
        };
        let items = self.cx.items(node, name).unwrap_or_default();
        items
            .iter()
            .filter_map(|item| self.cx.template(item, name))
            .collect()
    }

    /// A list of texts.
    pub(in crate::engine::routine) fn texts(
        &self,
        name: &'static str,
    ) -> Option<Vec<Placed<String>>> {
        let node = self.node(name)?;
        let items = self.cx.items(node, name)?;
        Some(
            items
                .iter()
                .filter_map(|item| placed(&self.cx, item, name))
                .collect(),
        )
    }

    /// A list of names of tools, noted as such.
    pub(in crate::engine::routine) fn tools(&self, name: &'static str) -> Option<Vec<String>> {
        let tools = self.texts(name)?;
        for tool in &tools {
            self.cx.note_name(Named::Tool, tool);
        }
        Some(tools.into_iter().map(|tool| tool.value).collect())
    }

    /// A map of values whose texts are templates; empty where it was left out.
    pub(in crate::engine::routine) fn arguments(&self, name: &'static str) -> ValueTemplate {
        self.node(name)
            .and_then(|node| {
                self.cx.entries(node, name)?;
                self.cx.value_template(node, name)
            })
            .unwrap_or_else(ValueTemplate::empty_object)
    }

    /// Any JSON value.
    pub(in crate::engine::routine) fn json(&self, name: &'static str) -> Option<Value> {
        let node = self.node(name)?;
        self.cx.json(node, name)
    }
}

/// Text with its place.
pub(in crate::engine::routine) fn placed(
    cx: &Context<'_>,
    node: &Node,
    what: &str,
) -> Option<Placed<String>> {
    match node.as_text() {
        Some(text) => Some(Placed {
            value: text.to_owned(),
            at: node.at,
        }),
        None => {
            let expected = match node.content {
                Content::Bool(_) | Content::Number(_) => "text (put quotes around it)",
                Content::Null | Content::Text(_) | Content::List(_) | Content::Map(_) => "text",
            };
            cx.mistyped(node, what, expected);
            None
        }
    }
}

/// One of some words, from a node.
pub(in crate::engine::routine) fn read_word<W: Word>(
    cx: &Context<'_>,
    node: &Node,
    what: &str,
) -> Option<W> {
    let Some(text) = node.as_text() else {
        cx.mistyped(node, what, &format!("one of {}", W::WORDS.join(", ")));
        return None;
    };
    let word = W::from_word(text);
    if word.is_none() {
        let hint = near::hint(text, W::WORDS.iter().copied());
        let message = format!(
            "`{text}` is no {what}{hint}; {}",
            one_of(W::WORDS.iter().copied())
        );
        cx.report(cx.wrong, node.at, message);
    }
    word
}

/// `[a-z0-9][a-z0-9_-]{0,63}`
pub(in crate::engine::routine) fn is_slug(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 64
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|b| plain(b) || b == b'_' || b == b'-')
}
