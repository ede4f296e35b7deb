//! The JSON Schema of the file format, made from the tables that the reader uses.
//!
//! For editors: it completes and checks words and types. What only the rules can say (names that
//! exist, cycles, budgets) is left to `validate`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::engine::routine::reader::routine::ROUTINE;
use crate::engine::routine::reader::table::{Field, Kinds, Need, Shape, Table};

/// The JSON Schema (draft 2020-12) of a routine file.
pub fn file_schema() -> Value {
    let mut definitions = Definitions::default();
    let mut root = definitions.body(&ROUTINE);
    let mut schema = Map::new();
    schema.insert(
        "$schema".into(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    schema.insert("title".into(), json!("amos-tui routine"));
    if let Value::Object(fields) = root.take() {
        schema.extend(fields);
    }
    schema.insert("$defs".into(), json!(definitions.made));
    Value::Object(schema)
}

/// Definitions that were made so far, by name.
#[derive(Default)]
struct Definitions {
    made: BTreeMap<String, Value>,
}

impl Definitions {
    /// A reference to a construct, which is defined on first use.
    fn table(&mut self, table: &'static Table) -> Value {
        let name = table.name.replace(' ', "_");
        if !self.made.contains_key(&name) {
            // Constructs contain each other: the name is taken before the fields are looked at.
            self.made.insert(name.clone(), Value::Null);
            let body = self.body(table);
            self.made.insert(name.clone(), body);
        }
        reference(&name)
    }

    fn body(&mut self, table: &'static Table) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in table.fields() {
            match field.need {
                Need::Optional => {}
                Need::Required(_) => required.push(json!(field.name)),
                Need::Refused(_) => continue,
            }
            properties.insert(field.name.into(), self.field(field));
        }
        let mut schema = json!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = Value::Array(required);
        }
        schema
    }

    fn field(&mut self, field: &Field) -> Value {
        let mut schema = match &field.shape {
            Shape::Text | Shape::Template => json!({"type": "string"}),
            Shape::Slug => json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}),
            Shape::Flag => json!({"type": "boolean"}),
            Shape::Whole(least, u64::MAX) => json!({"type": "integer", "minimum": least}),
            Shape::Whole(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Shape::Number(least, most) => {
                json!({"type": "number", "minimum": least, "maximum": most})
            }
            Shape::Word([word]) => json!({"const": word}),
            Shape::Word(words) => json!({"enum": words}),
            Shape::Words(words) => json!({"type": "array", "items": {"enum": words}}),
            Shape::Texts | Shape::Templates => {
                json!({"type": "array", "items": {"type": "string"}})
            }
            Shape::Any => json!({}),
            Shape::Arguments | Shape::JsonSchema => json!({"type": "object"}),
            Shape::Headers => {
                json!({"type": "object", "additionalProperties": {"type": "string"}})
            }
            Shape::One(table) => self.table(table),
            Shape::Many(table) => json!({"type": "array", "items": self.table(table)}),
            Shape::Named(table) => {
                json!({"type": "object", "additionalProperties": self.table(table)})
            }
            Shape::Choice(kinds) => json!({"type": "array", "items": self.kinds(kinds)}),
        };
        schema["description"] = json!(field.about);
        schema
    }

    fn kinds(&mut self, kinds: &'static Kinds) -> Value {
        let name = format!("any_{}", kinds.name);
        if !self.made.contains_key(&name) {
            self.made.insert(name.clone(), Value::Null);
            let tables = kinds.tables.iter().map(|(_, table)| self.table(table));
            let one_of: Vec<Value> = tables.collect();
            self.made.insert(name.clone(), json!({"oneOf": one_of}));
        }
        reference(&name)
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::routine::file::RoutineFile;
    use crate::engine::routine::{fixtures, load};

    fn accepts(text: &str) -> bool {
        let file = RoutineFile::parse(text.as_bytes()).expect("well-formed");
        let validator = jsonschema::validator_for(&file_schema()).expect("a schema");
        validator.is_valid(&file.root.to_json().expect("shallow"))
    }

    #[test]
    fn the_fixture_of_the_format_fits_the_schema() {
        assert!(accepts(fixtures::FORMAT));
        assert!(accepts(fixtures::EVERY_FIELD));
        assert!(accepts(&fixtures::line(3)));
    }

    /// The reader panics (in tests) where it asks for a field that its table lacks, or leaves one
    /// out; these two files make it open every table.
    #[test]
    fn schema_and_reader_know_the_same_fields() {
        for text in [fixtures::FORMAT, fixtures::EVERY_FIELD] {
            let loaded = load(text.as_bytes(), &fixtures::known());
            assert!(loaded.routine.is_some(), "{:#?}", loaded.issues);
        }
        let both = format!("{}{}", fixtures::FORMAT, fixtures::EVERY_FIELD);
        let schema = file_schema();
        let definitions = schema["$defs"].as_object().expect("definitions").values();
        for body in definitions.chain([&schema]) {
            let properties = body["properties"].as_object().into_iter().flatten();
            for (field, _) in properties {
                assert!(both.contains(&format!("{field}:")), "{field}");
            }
        }
    }

    #[test]
    fn what_the_reader_refuses_by_shape_the_schema_refuses_too() {
        let mut refused = 0;
        for case in fixtures::BROKEN.iter().filter(|case| case.by_shape) {
            refused += 1;
            assert!(!accepts(&case.file()), "{}", case.code.label());
        }
        assert!(refused > 5);
    }

    #[test]
    fn every_definition_is_used_and_complete() {
        let schema = file_schema();
        let text = schema.to_string();
        for (name, body) in schema["$defs"].as_object().expect("definitions") {
            assert!(!body.is_null(), "{name}");
            assert!(text.contains(&format!("#/$defs/{name}\"")), "{name}");
        }
    }
}
