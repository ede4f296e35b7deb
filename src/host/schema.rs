//! JSON Schema at the host's edge: arguments of tools and outputs of steps.
//!
//! References to other documents are refused; nothing is ever fetched.

use jsonschema::Validator;
use serde_json::Value;

/// How many problems a reason names.
const SHOWN: usize = 3;

/// A schema that was compiled.
#[derive(Debug, Clone)]
pub(crate) struct Schema(Validator);

impl Schema {
    /// Compiles a schema; the error says what is wrong with it.
    pub(crate) fn of(schema: &Value) -> Result<Self, String> {
        jsonschema::validator_for(schema)
            .map(Self)
            .map_err(|error| format!("the schema can't be used: {}", error.masked()))
    }

    /// Says what doesn't fit, without repeating the values.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let mut errors = self.0.iter_errors(value);
        let shown: Vec<String> = errors
            .by_ref()
            .take(SHOWN)
            .map(|error| match error.instance_path().as_str() {
                "" => error.masked().to_string(),
                path => format!("{path}: {}", error.masked()),
            })
            .collect();
        if shown.is_empty() {
            return Ok(());
        }
        let more = match errors.count() {
            0 => String::new(),
            more => format!("; {more} more"),
        };
        Err(format!("{}{more}", shown.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let schema = Schema::of(&json!({
            "type": "object",
            "required": ["path"],
            "properties": { "path": { "type": "string" }, "n": { "type": "integer" } },
            "additionalProperties": false,
        }))
        .expect("a schema");
        assert_eq!(schema.check(&json!({"path": "a"})), Ok(()));
        let reason = schema
            .check(&json!({"n": "secret", "x": 1}))
            .expect_err("three problems");
        for part in ["\"path\"", "/n", "x"] {
            assert!(reason.contains(part), "{reason}");
        }
        assert!(!reason.contains("secret"), "{reason}");
    }

    #[test]
    fn a_schema_that_refers_elsewhere_is_refused() {
        for reference in ["https://example.invalid/s.json", "file:///etc/passwd"] {
            assert!(
                Schema::of(&json!({"$ref": reference})).is_err(),
                "{reference}"
            );
        }
        assert!(Schema::of(&json!({"type": "nonsense"})).is_err());
    }
}
