//! A map under reading: asks a table's fields one by one and reports whatever is wrong with them.

use std::cell::Cell;

use serde_json::Value;

use crate::engine::limits;
use crate::engine::routine::file::{Content, Entry, Node, Position};
use crate::engine::routine::issue::Code;
use crate::engine::routine::outline::{Named, Placed};
use crate::engine::routine::reader::context::{Context, is_slug, placed, read_word};
use crate::engine::routine::reader::table::{Need, Table};
use crate::engine::routine::reader::words::Word;
use crate::engine::routine::template::{Template, ValueTemplate};

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
                    let name = (cx.spelling)(field.name);
                    let message = format!("the {} needs `{name}`", table.name);
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
            let message = format!("`{}` must not be empty", (self.cx.spelling)(name));
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
                let name = (self.cx.spelling)(name);
                let message = match most {
                    most if most >= u64::from(u32::MAX) => {
                        format!("{name} must be a whole number of at least {least}")
                    }
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
