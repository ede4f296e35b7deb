//! Field tables: what each construct of the file format may hold, as data.
//!
//! The reader can ask only for fields that a table names and must ask for each of them; the JSON
//! Schema is made from the same tables. So the three can't drift apart.

use crate::engine::routine::issue::Code;

/// A construct of the file format: a map with known keys.
pub(in crate::engine::routine) struct Table {
    /// Its name in the JSON Schema and in messages.
    pub(in crate::engine::routine) name: &'static str,
    /// Its fields, in parts that constructs share.
    pub(in crate::engine::routine) parts: &'static [&'static Part],
}

/// Fields that several constructs share.
pub(in crate::engine::routine) struct Part(pub(in crate::engine::routine) &'static [Field]);

/// One field of a construct.
pub(in crate::engine::routine) struct Field {
    pub(in crate::engine::routine) name: &'static str,
    pub(in crate::engine::routine) shape: Shape,
    pub(in crate::engine::routine) need: Need,
    /// One line for a person who hovers over it in an editor.
    pub(in crate::engine::routine) about: &'static str,
}

/// Whether a field must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Need {
    /// It may be left out.
    Optional,
    /// Its absence is this code.
    Required(Code),
    /// Its presence is this code: other constructs have it, this one can't. The field's line says why.
    Refused(Code),
}

/// What a field's value looks like.
pub(in crate::engine::routine) enum Shape {
    /// Text, taken as it stands.
    Text,
    /// Text that may refer to values.
    Template,
    /// A slug.
    Slug,
    /// `true` or `false`.
    Flag,
    /// A whole number between two bounds, both included.
    Whole(u64, u64),
    /// A number between two bounds, both included.
    Number(f64, f64),
    /// One of some words.
    Word(&'static [&'static str]),
    /// A list of words.
    Words(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of templates.
    Templates,
    /// Anything.
    Any,
    /// A map of anything.
    Arguments,
    /// A map of templates.
    Headers,
    /// A JSON Schema.
    JsonSchema,
    /// A construct.
    One(&'static Table),
    /// A list of constructs.
    Many(&'static Table),
    /// A map from names to constructs.
    Named(&'static Table),
    /// A list of constructs, told apart by the word under this key.
    Choice(&'static Kinds),
}

/// Constructs that are told apart by a word.
pub(in crate::engine::routine) struct Kinds {
    /// The name of the whole in the JSON Schema and in messages.
    pub(in crate::engine::routine) name: &'static str,
    /// The key that holds the word.
    pub(in crate::engine::routine) key: &'static str,
    /// The words and their tables.
    pub(in crate::engine::routine) tables: &'static [(&'static str, &'static Table)],
}

impl Table {
    /// Every field, in the order of the format's description.
    pub(in crate::engine::routine) fn fields(&self) -> impl Iterator<Item = &'static Field> {
        self.parts.iter().flat_map(|part| part.0.iter())
    }
}

impl Kinds {
    /// The words.
    pub(in crate::engine::routine) fn words(&self) -> impl Iterator<Item = &'static str> {
        self.tables.iter().map(|(word, _)| *word)
    }
}

/// A field that may be left out.
pub(in crate::engine::routine) const fn optional(
    name: &'static str,
    shape: Shape,
    about: &'static str,
) -> Field {
    Field {
        name,
        shape,
        need: Need::Optional,
        about,
    }
}

/// A field that must be there.
pub(in crate::engine::routine) const fn required(
    name: &'static str,
    shape: Shape,
    about: &'static str,
) -> Field {
    needed(name, Code::MissingField, shape, about)
}

/// A field whose absence has a code of its own.
pub(in crate::engine::routine) const fn needed(
    name: &'static str,
    code: Code,
    shape: Shape,
    about: &'static str,
) -> Field {
    Field {
        name,
        shape,
        need: Need::Required(code),
        about,
    }
}

/// A field that other constructs have and this one can't; the line says why.
pub(in crate::engine::routine) const fn refused(
    name: &'static str,
    code: Code,
    why: &'static str,
) -> Field {
    Field {
        name,
        shape: Shape::Any,
        need: Need::Refused(code),
        about: why,
    }
}
