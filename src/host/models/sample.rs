//! Makes a small value that fits a JSON Schema, for the model that asks nobody.
//!
//! Knows types, constants, enumerations, required and nested properties, items, sizes, bounds,
//! local references and the first branch of a choice. Patterns, conditions and negations are left
//! alone: a value that misses one of those is refused where the schema is enforced.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::{Map, Number, Value, json};

/// Deeper values are null: only a schema that refers to itself gets here.
const LEVELS: usize = 16;
/// Further values are null too: references that branch grow without end in a few levels.
const VALUES: usize = 20_000;

/// A value that fits the schema.
pub(crate) fn value(schema: &Value) -> Value {
    Maker::of(schema).value(schema, 0, 0)
}

/// A non-empty object that fits the schema, as a handoff must be (G4).
pub(crate) fn handoff(schema: Option<&Value>) -> Value {
    let anything = Value::Bool(true);
    let schema = schema.unwrap_or(&anything);
    let made = Maker::of(schema).object(schema);
    match made {
        Value::Object(object) if object.is_empty() => json!({ "note": NOTE }),
        made => made,
    }
}

/// What stands where any text would do.
const NOTE: &str = "made by the offline model";

struct Maker<'a> {
    root: &'a Value,
    /// Values that may still be made.
    left: Cell<usize>,
}

impl<'a> Maker<'a> {
    fn of(root: &'a Value) -> Self {
        Self {
            root,
            left: Cell::new(VALUES),
        }
    }

    /// As `value`, but an object wherever the schema leaves the type open, and with one optional
    /// property rather than none.
    fn object(&self, schema: &Value) -> Value {
        let schema = self.flat(schema, 0);
        if let Some(given) = given(&schema, 0) {
            return given;
        }
        let mut object = self.properties(&schema, 0);
        let first = properties(&schema).and_then(|all| all.iter().next());
        if let (true, Some((name, property))) = (object.is_empty(), first) {
            object.insert(name.clone(), self.value(property, 1, 0));
        }
        Value::Object(object)
    }

    /// `variant` makes values of one schema differ, for lists of unique items.
    fn value(&self, schema: &Value, level: usize, variant: usize) -> Value {
        let left = self.left.get();
        if level > LEVELS || left == 0 {
            return Value::Null;
        }
        self.left.set(left - 1);
        let schema = self.flat(schema, level);
        if let Some(given) = given(&schema, variant) {
            return given;
        }
        match kind(&schema) {
            "object" => Value::Object(self.properties(&schema, level)),
            "array" => self.items(&schema, level),
            "integer" => integer(&schema, variant).into(),
            "number" => number(&schema, variant),
            "boolean" => (variant.is_multiple_of(2)).into(),
            "null" => Value::Null,
            _ => text(&schema, variant).into(),
        }
    }

    /// The schema with its reference followed, and with all parts and the first branch of each
    /// choice laid over it.
    fn flat<'s>(&self, schema: &'s Value, level: usize) -> Cow<'s, Value> {
        let Value::Object(own) = schema else {
            return Cow::Owned(Value::Object(Map::new()));
        };
        let layered = ["$ref", "allOf", "anyOf", "oneOf"];
        if level > LEVELS || !layered.iter().any(|word| own.contains_key(*word)) {
            return Cow::Borrowed(schema);
        }
        let mut flat = own.clone();
        let followed = flat
            .remove("$ref")
            .and_then(|to| self.root.pointer(to.as_str()?.strip_prefix('#')?).cloned());
        let mut layers: Vec<Value> = followed.into_iter().collect();
        if let Some(Value::Array(parts)) = flat.remove("allOf") {
            layers.extend(parts);
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = flat.remove(choice) {
                layers.extend(branches.into_iter().next());
            }
        }
        for layer in layers {
            if let Value::Object(layer) = self.flat(&layer, level + 1).into_owned() {
                lay_over(&mut flat, layer);
            }
        }
        Cow::Owned(Value::Object(flat))
    }

    fn properties(&self, schema: &Value, level: usize) -> Map<String, Value> {
        let anything = Value::Bool(true);
        let mut object = Map::new();
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            let property = properties(schema)
                .and_then(|all| all.get(name))
                .unwrap_or(&anything);
            object.insert(name.to_owned(), self.value(property, level + 1, 0));
        }
        let least = size(schema, "minProperties");
        for (name, property) in properties(schema).into_iter().flatten() {
            if object.len() < least && !object.contains_key(name) {
                object.insert(name.clone(), self.value(property, level + 1, 0));
            }
        }
        let more = schema.get("additionalProperties").unwrap_or(&anything);
        for n in 0..least.saturating_sub(object.len()) {
            object.insert(format!("note_{n}"), self.value(more, level + 1, n));
        }
        object
    }

    fn items(&self, schema: &Value, level: usize) -> Value {
        let anything = Value::Bool(true);
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let rest = schema.get("items").unwrap_or(&anything);
        (0..size(schema, "minItems"))
            .map(|n| {
                let item = first.and_then(|first| first.get(n)).unwrap_or(rest);
                self.value(item, level + 1, n)
            })
            .collect()
    }
}

/// A value that the schema names itself.
fn given(schema: &Value, variant: usize) -> Option<Value> {
    if let Some(only) = schema.get("const") {
        return Some(only.clone());
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array)
        && !list.is_empty()
    {
        return list.get(variant % list.len()).cloned();
    }
    schema.get("default").cloned()
}

fn kind(schema: &Value) -> &str {
    let has = |words: &[&str]| words.iter().any(|word| schema.get(word).is_some());
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null")
            .unwrap_or("null"),
        _ if has(&["properties", "required", "minProperties"]) => "object",
        _ if has(&["items", "prefixItems", "minItems"]) => "array",
        _ if has(&[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ]) =>
        {
            "number"
        }
        _ => "string",
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn size(schema: &Value, word: &str) -> usize {
    let size = schema.get(word).and_then(Value::as_u64).unwrap_or(0);
    // A value of that size would help nobody; the schema's owner refuses the smaller one.
    usize::try_from(size).unwrap_or(usize::MAX).min(10_000)
}

/// Lays one schema over another: names come together, the rest is the layer's.
fn lay_over(flat: &mut Map<String, Value>, layer: Map<String, Value>) {
    for (word, value) in layer {
        match (flat.get_mut(&word), value) {
            (Some(Value::Object(own)), Value::Object(more)) if word == "properties" => {
                own.extend(more);
            }
            (Some(Value::Array(own)), Value::Array(more)) if word == "required" => {
                own.extend(more);
            }
            (_, value) => {
                flat.insert(word, value);
            }
        }
    }
}

/// The upper bound where there is one, so that a score is a good one; else the lower.
fn integer(schema: &Value, variant: usize) -> i64 {
    let whole = |word, round: fn(f64) -> f64| bound(schema, word).map(|at| round(at) as i64);
    let variant = i64::try_from(variant).unwrap_or_default();
    let step = whole("multipleOf", f64::ceil).unwrap_or(1).max(1);
    let most =
        whole("maximum", f64::floor).or_else(|| whole("exclusiveMaximum", |at| at.ceil() - 1.0));
    let least =
        whole("minimum", f64::ceil).or_else(|| whole("exclusiveMinimum", |at| at.floor() + 1.0));
    let up = |least: i64| least.saturating_add(step - 1).div_euclid(step);
    // Bounds in steps; a variant that would leave them starts again.
    let most = most.map(|most| most.div_euclid(step));
    let steps = match (most, least.map(up)) {
        (Some(most), Some(least)) => {
            most - variant % most.saturating_sub(least).max(0).saturating_add(1)
        }
        (Some(most), None) => most.saturating_sub(variant),
        (None, Some(least)) => least.saturating_add(variant),
        (None, None) => 1 + variant,
    };
    steps.saturating_mul(step)
}

fn number(schema: &Value, variant: usize) -> Value {
    let step = bound(schema, "multipleOf").filter(|step| *step > 0.0);
    let unit = step.unwrap_or(1.0);
    let by = variant as f64 * unit;
    let on_step = |at: f64, round: fn(f64) -> f64| match step {
        Some(step) => round(at / step) * step,
        None => at,
    };
    let least = bound(schema, "minimum")
        .or_else(|| bound(schema, "exclusiveMinimum").map(|at| at + unit / 1024.0));
    let most = bound(schema, "maximum").or_else(|| {
        let open = bound(schema, "exclusiveMaximum")?;
        // Halfway to the lower bound is surely inside.
        Some(least.map_or(open - unit / 1024.0, |least| f64::midpoint(least, open)))
    });
    let at = match (most, least) {
        (Some(most), Some(least)) if on_step(most, f64::floor) - by < least => {
            on_step(most, f64::floor)
        }
        (Some(most), _) => on_step(most, f64::floor) - by,
        (None, Some(least)) => on_step(least, f64::ceil) + by,
        (None, None) => unit + by,
    };
    Number::from_f64(at).map_or(Value::Null, Value::Number)
}

fn bound(schema: &Value, word: &str) -> Option<f64> {
    schema.get(word).and_then(Value::as_f64)
}

fn text(schema: &Value, variant: usize) -> String {
    let format = schema.get("format").and_then(Value::as_str);
    let mut text = match format {
        Some("date-time") => "2000-01-01T00:00:00Z",
        Some("date") => "2000-01-01",
        Some("time") => "00:00:00Z",
        Some("duration") => "PT1S",
        Some("email" | "idn-email") => "offline@example.com",
        Some("hostname" | "idn-hostname") => "example.com",
        Some("uri" | "uri-reference" | "iri" | "iri-reference") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("ipv4") => "127.0.0.1",
        Some("ipv6") => "::1",
        _ => NOTE,
    }
    .to_owned();
    if variant > 0 {
        text = format!("{variant} {text}");
    }
    let most = schema.get("maxLength").map(|_| size(schema, "maxLength"));
    let least = size(schema, "minLength");
    let count = text.chars().count();
    if count < least {
        text.extend(std::iter::repeat_n('.', least - count));
    }
    match most {
        Some(most) if most < count.max(least) => text.chars().take(most).collect(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fits(schema: &Value, value: &Value) {
        let validator = jsonschema::validator_for(schema).expect("schema");
        let errors: Vec<_> = validator
            .iter_errors(value)
            .map(|e| e.to_string())
            .collect();
        assert!(
            errors.is_empty(),
            "{schema} does not take {value}: {errors:?}"
        );
    }

    #[test]
    fn handoffs_fit_the_schemas_that_authors_write() {
        for schema in [
            json!(true),
            json!({}),
            json!({ "type": "object" }),
            json!({ "type": "object", "required": ["notes"], "properties": { "notes": { "type": "string" } } }),
            json!({ "type": "object", "properties": { "only": { "type": "integer", "minimum": 3 } }, "additionalProperties": false }),
            json!({ "required": ["a", "b"], "properties": { "a": { "enum": ["x", "y"] } } }),
            json!({ "type": "object", "minProperties": 3 }),
            json!({ "oneOf": [
                { "type": "object", "required": ["kind"], "properties": { "kind": { "const": "one" } } },
                { "type": "object", "required": ["kind"], "properties": { "kind": { "const": "two" } } },
            ] }),
            json!({ "allOf": [
                { "required": ["a"], "properties": { "a": { "type": "boolean" } } },
                { "required": ["b"], "properties": { "b": { "type": ["null", "integer"] } } },
            ] }),
            json!({ "$ref": "#/$defs/part", "$defs": { "part": {
                "type": "object", "required": ["list"],
                "properties": { "list": { "type": "array", "minItems": 2, "uniqueItems": true, "items": { "type": "string", "minLength": 40 } } },
            } } }),
            json!({ "type": "object", "required": ["files"], "properties": { "files": {
                "type": "array", "minItems": 3, "uniqueItems": true, "items": { "enum": ["a", "b", "c"] },
            } } }),
            json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 } } }),
        ] {
            let made = handoff(Some(&schema));
            assert!(made.as_object().is_some_and(|o| !o.is_empty()), "{schema}");
            fits(&schema, &made);
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#" } } });
        assert!(value(&schema).is_object());
        let hollow = json!({ "$ref": "#" });
        assert!(!value(&hollow).is_null());
        let many: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
        let branching: Map<String, Value> = many
            .iter()
            .map(|name| (name.clone(), json!({ "$ref": "#" })))
            .collect();
        value(&json!({ "required": many, "properties": branching }));
    }

    #[test]
    fn bounds_of_any_size_are_met_without_overflow() {
        for schema in [
            json!({ "type": "integer", "minimum": i64::MAX, "multipleOf": 7 }),
            json!({ "type": "integer", "maximum": -1e300 }),
            json!({ "type": "number", "minimum": 1e308 }),
            json!({ "type": "array", "minItems": u64::MAX, "items": { "type": "null" } }),
        ] {
            value(&schema);
        }
    }

    #[test]
    fn scores_are_good_ones() {
        let schema = json!({ "type": "number", "minimum": 0, "maximum": 100 });
        assert_eq!(value(&schema), json!(100.0));
    }

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(json!({ "type": "boolean" })),
            Just(json!({ "type": "null" })),
            Just(json!({ "const": { "x": [1] } })),
            Just(json!({ "enum": ["b", 2, null] })),
            (0_u64..60, 0_u64..60).prop_map(|(a, b)| json!({
                "type": "string", "minLength": a.min(b), "maxLength": a.max(b),
            })),
            (-50_i64..50, 0_i64..50).prop_map(|(least, more)| json!({
                "type": "integer", "minimum": least, "maximum": least + more,
            })),
            (-50_i64..50, 1_i64..9).prop_map(|(least, step)| json!({
                "type": "integer", "exclusiveMinimum": least, "multipleOf": step,
            })),
            (-50_i64..50).prop_map(|most| json!({ "type": "number", "exclusiveMaximum": most })),
            (-50_i64..50, 0_i64..3).prop_map(|(least, more)| json!({
                "type": "number", "minimum": least, "maximum": least + more,
            })),
        ]
    }

    fn schemas() -> impl Strategy<Value = Value> {
        leaf().prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                (inner.clone(), 0_u64..3).prop_map(|(items, least)| json!({
                    "type": "array", "items": items, "minItems": least,
                })),
                prop::collection::btree_map("[a-d]", inner.clone(), 0..4).prop_map(|properties| {
                    let required: Vec<_> = properties.keys().cloned().collect();
                    json!({
                        "type": "object", "properties": properties, "required": required,
                        "additionalProperties": false,
                    })
                }),
                inner.prop_map(|branch| json!({ "anyOf": [branch, { "type": "null" }] })),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 256,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn made_values_fit_their_schema(schema in schemas()) {
            fits(&schema, &value(&schema));
        }
    }
}
