//! Where a reader is: whom problems concern, what templates can see, where findings go; and the
//! reading of single values.

use std::cell::RefCell;

use serde_json::Value;

use crate::engine::routine::file::{Content, Entry, Node, Position};
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{
    Feature, FeatureNote, NameNote, Named, Notes, Placed, Site, TemplateReference,
};
use crate::engine::routine::reader::near;
use crate::engine::routine::reader::table::{Kinds, Table};
use crate::engine::routine::reader::words::Word;
use crate::engine::routine::template::{Reference, Template, ValueTemplate};

/// So many names of an agent's instructions are judged in each of its steps, so that many times many
/// stay few. Whatever has no value fails clearly when it is needed.
const TOLD: usize = 100;

/// How the file at hand spells a field of ours: a rewritten file keeps its own words in messages.
pub(in crate::engine::routine) type Spelling = for<'a> fn(&'a str) -> &'a str;

/// The spelling of our own files.
pub(in crate::engine::routine) fn spelled_as_ours(name: &str) -> &str {
    name
}

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
    pub(in crate::engine::routine) spelling: Spelling,
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

    /// Notes what an agent's own instructions refer to.
    pub(in crate::engine::routine) fn note_told(
        &self,
        agent: &str,
        at: Position,
        template: &Template,
    ) {
        let (inputs, others): (Vec<_>, Vec<_>) = template
            .references()
            .partition(|reference| matches!(reference, Reference::Param(_)));
        self.note_references(at, inputs.into_iter());
        let others = others.into_iter().take(TOLD);
        let others = others.map(|reference| (at, reference.clone())).collect();
        self.notes
            .told
            .borrow_mut()
            .insert(agent.to_owned(), others);
    }

    /// Notes that an agent or a council works here: what the agents' own instructions refer to must
    /// have a value in this step (V21). Agents that the file doesn't define are judged when they run.
    pub(in crate::engine::routine) fn note_worker(&self, of: Named, name: &Placed<String>) {
        self.note_name(of, name);
        let seats = self.notes.seats.borrow();
        let own = std::slice::from_ref(&name.value);
        let agents = match of {
            Named::Agent => Some(own),
            Named::Council => seats.get(&name.value).map(Vec::as_slice),
            Named::Tool => None,
        };
        let told = self.notes.told.borrow();
        for agent in agents.unwrap_or_default() {
            for (at, reference) in told.get(agent).into_iter().flatten() {
                self.note_references(*at, std::iter::once(reference));
            }
        }
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
            format!(
                "{} must be {expected}, not {}",
                (self.spelling)(what),
                node.kind()
            ),
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

    /// A JSON value whose texts are templates, each reported where it stands.
    pub(in crate::engine::routine) fn value_template(
        &self,
        node: &Node,
        what: &str,
    ) -> Option<ValueTemplate> {
        // The depth is looked at once, before anything walks down.
        self.json(node, what)?;
        self.template_tree(node, what)
    }

    fn template_tree(&self, node: &Node, what: &str) -> Option<ValueTemplate> {
        Some(match &node.content {
            Content::Null => ValueTemplate::Plain(Value::Null),
            Content::Bool(flag) => ValueTemplate::Plain(Value::Bool(*flag)),
            Content::Number(number) => ValueTemplate::Plain(Value::Number(number.clone())),
            Content::Text(_) => ValueTemplate::Text(self.template(node, what)?),
            Content::List(items) => {
                let items = items.iter().map(|item| self.template_tree(item, what));
                // Every item is read, so that one broken template hides no other.
                let items: Vec<_> = items.collect();
                ValueTemplate::Array(items.into_iter().collect::<Option<_>>()?)
            }
            Content::Map(entries) => {
                let values = entries.iter().map(|entry| {
                    let value = self.template_tree(&entry.value, what)?;
                    Some((entry.key.to_string(), value))
                });
                let values: Vec<_> = values.collect();
                ValueTemplate::Object(values.into_iter().collect::<Option<_>>()?)
            }
        })
    }

    fn note_references<'t>(&self, at: Position, references: impl Iterator<Item = &'t Reference>) {
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
                let key = (self.spelling)(kinds.key);
                let message = format!("`{key}` is missing; {}", one_of(kinds.words()));
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
                        let key = (self.spelling)(kinds.key);
                        let message = format!("`{text}` is no {key}; {known}{hint}");
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

    /// Reports a field that a construct doesn't have.
    pub(in crate::engine::routine) fn unknown_field<'k>(
        &self,
        entry: &Entry,
        what: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) {
        if self.issues.gave_up() {
            // Looking for what was meant takes longest of all.
            return;
        }
        let hint = near::hint(&entry.key, known);
        let message = format!("`{}` is no field of this {what}{hint}", entry.key);
        self.report(Code::UnknownField, entry.at, message);
    }
}

fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    format!("it is one of {}", words.collect::<Vec<_>>().join(", "))
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
            "`{text}` is no {what}; {}{hint}",
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
