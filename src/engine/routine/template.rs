//! Templates: `{{param.x}}` and its like, parsed once and expanded exactly once (V21).
//!
//! Text that came out of a value is never looked at again, and an unknown name is an error,
//! never left standing.

use std::fmt;

use serde_json::Value;

/// Text with references, ready to be expanded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Name(Reference),
}

/// What a template refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// An input.
    Param(String),
    /// A pre or post step's result.
    Step(String),
    /// A graph step's output, by slug or by name.
    Result(String),
    /// The item of the enclosing map or fold.
    MapItem,
    /// Its index, from 0.
    MapIndex,
    /// The length of the whole source.
    MapTotal,
    /// The accumulator of the enclosing fold.
    FoldAccumulator,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Param(name) => write!(f, "param.{name}"),
            Self::Step(name) => write!(f, "step.{name}"),
            Self::Result(name) => write!(f, "result.{name}"),
            Self::MapItem => f.write_str("map.item"),
            Self::MapIndex => f.write_str("map.index"),
            Self::MapTotal => f.write_str("map.total"),
            Self::FoldAccumulator => f.write_str("fold.accumulator"),
        }
    }
}

/// The text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTemplate {
    /// `{{` without its `}}`.
    #[error("`{{{{` without its `}}}}`; write `{{{{{{{{` for two literal braces")]
    Unclosed,
    /// Braces around something that is no name.
    #[error(
        "`{{{{{0}}}}}` is no name; known are param.NAME, step.NAME, result.NAME, map.item, map.index, map.total, fold.accumulator"
    )]
    UnknownName(String),
}

/// A name that has no value where the template is expanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{{{{{0}}}}}` has no value here")]
pub struct MissingValue(pub String);

/// Gives the values of names.
pub trait Scope {
    /// The value, or `None` where the name means nothing here. Null is a value.
    fn value(&self, reference: &Reference) -> Option<Value>;
}

impl Template {
    /// Parses text.
    pub fn parse(text: &str) -> Result<Self, BadTemplate> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 2..];
            if let Some(after) = rest.strip_prefix("{{") {
                plain.push_str("{{");
                rest = after;
                continue;
            }
            let end = rest.find("}}").ok_or(BadTemplate::Unclosed)?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Name(reference(&rest[..end])?));
            rest = &rest[end + 2..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// Text that holds no reference, whatever it looks like.
    pub fn literal(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::Text(text.into())],
        }
    }

    /// What it refers to, in order.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Name(reference) => Some(reference),
        })
    }

    /// The same text with each reference replaced.
    pub(in crate::engine::routine) fn with_references(
        self,
        mut replace: impl FnMut(Reference) -> Reference,
    ) -> Self {
        let parts = self.parts.into_iter().map(|part| match part {
            Part::Text(plain) => Part::Text(plain),
            Part::Name(reference) => Part::Name(replace(reference)),
        });
        Self {
            parts: parts.collect(),
        }
    }

    /// Puts the values in. Non-strings are written as compact JSON, null as nothing.
    pub fn expand(&self, scope: &dyn Scope) -> Result<String, MissingValue> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Name(reference) => match scope.value(reference) {
                    None => return Err(MissingValue(reference.to_string())),
                    Some(Value::Null) => {}
                    Some(Value::String(value)) => text.push_str(&value),
                    Some(value) => text.push_str(&value.to_string()),
                },
            }
        }
        Ok(text)
    }
}

impl fmt::Display for Template {
    /// Writes the template as an author would.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(plain) => f.write_str(&plain.replace("{{", "{{{{"))?,
                Part::Name(reference) => write!(f, "{{{{{reference}}}}}")?,
            }
        }
        Ok(())
    }
}

fn reference(text: &str) -> Result<Reference, BadTemplate> {
    let name = text.trim();
    let unknown = || BadTemplate::UnknownName(name.to_owned());
    let (space, rest) = name.split_once('.').ok_or_else(unknown)?;
    match (space, rest) {
        (_, "") => Err(unknown()),
        ("param", name) => Ok(Reference::Param(name.to_owned())),
        ("step", name) => Ok(Reference::Step(name.to_owned())),
        ("result", name) => Ok(Reference::Result(name.to_owned())),
        ("map", "item") => Ok(Reference::MapItem),
        ("map", "index") => Ok(Reference::MapIndex),
        ("map", "total") => Ok(Reference::MapTotal),
        ("fold", "accumulator") => Ok(Reference::FoldAccumulator),
        _ => Err(unknown()),
    }
}

/// A JSON value whose strings are templates; keys are taken as they stand.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueTemplate {
    /// A number, a boolean or null.
    Plain(Value),
    /// Text.
    Text(Template),
    /// An array.
    Array(Vec<ValueTemplate>),
    /// An object.
    Object(Vec<(String, ValueTemplate)>),
}

impl ValueTemplate {
    /// Parses every string of a value.
    pub fn parse(value: &Value) -> Result<Self, BadTemplate> {
        Ok(match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Plain(value.clone()),
            Value::String(text) => Self::Text(Template::parse(text)?),
            Value::Array(items) => {
                Self::Array(items.iter().map(Self::parse).collect::<Result<_, _>>()?)
            }
            Value::Object(entries) => Self::Object(
                entries
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), Self::parse(value)?)))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    /// An object without entries.
    pub fn empty_object() -> Self {
        Self::Object(Vec::new())
    }

    /// Puts the values in. A string stays a string, also where it is one single reference.
    pub fn expand(&self, scope: &dyn Scope) -> Result<Value, MissingValue> {
        Ok(match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => Value::String(template.expand(scope)?),
            Self::Array(items) => Value::Array(
                items
                    .iter()
                    .map(|item| item.expand(scope))
                    .collect::<Result<_, _>>()?,
            ),
            Self::Object(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), value.expand(scope)?)))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    /// What it refers to, in order.
    pub fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Text(template) => template.references().collect(),
            Self::Array(items) => items.iter().flat_map(Self::references).collect(),
            Self::Object(entries) => entries
                .iter()
                .flat_map(|(_, value)| value.references())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Params(Value);

    impl Scope for Params {
        fn value(&self, reference: &Reference) -> Option<Value> {
            match reference {
                Reference::Param(name) => self.0.get(name).cloned(),
                _ => None,
            }
        }
    }

    fn expand(text: &str, params: Value) -> Result<String, MissingValue> {
        Template::parse(text)
            .expect("template")
            .expand(&Params(params))
    }

    /// O12b
    #[test]
    fn text_that_came_out_of_a_value_is_never_expanded_again() {
        let params = json!({"x": "{{param.secret}}", "secret": "s"});
        assert_eq!(
            expand("<{{param.x}}>", params),
            Ok("<{{param.secret}}>".into())
        );
    }

    #[test]
    fn values_are_written_as_compact_json_and_null_as_nothing() {
        let params = json!({"o": {"b": [1, 2.5], "a": null}, "n": null, "t": true});
        assert_eq!(
            expand("{{param.o}}|{{param.n}}|{{param.t}}", params),
            Ok(r#"{"a":null,"b":[1,2.5]}||true"#.into())
        );
    }

    #[test]
    fn names_may_hold_spaces_hyphens_and_dots() {
        let template = Template::parse("{{ result.Name Of-Step.v2 }}").expect("template");
        assert_eq!(
            template.references().collect::<Vec<_>>(),
            [&Reference::Result("Name Of-Step.v2".into())]
        );
    }

    #[test]
    fn doubled_braces_are_literal() {
        assert_eq!(
            expand("a {{{{param.x}} b", json!({})),
            Ok("a {{param.x}} b".into())
        );
    }

    /// O12: nothing comes out of a prototype.
    #[test]
    fn an_unknown_name_is_never_left_standing() {
        assert_eq!(
            expand("{{param.constructor}}", json!({})),
            Err(MissingValue("param.constructor".into()))
        );
        assert!(matches!(
            Template::parse("{{user.name}}"),
            Err(BadTemplate::UnknownName(_))
        ));
        assert!(matches!(Template::parse("{{x"), Err(BadTemplate::Unclosed)));
    }
}
