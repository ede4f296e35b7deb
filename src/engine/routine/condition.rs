//! Conditions on memory values: what each operator makes of each value (V20).
//!
//! A missing key makes only `not_exists` true; nothing is coerced.

use serde_json::Value;

use crate::engine::routine::definition::{MemoryCondition, Operator};

impl MemoryCondition {
    /// Whether the condition holds for the key's value; `None` is a missing key.
    pub fn holds(&self, found: Option<&Value>) -> bool {
        let Some(found) = found else {
            return self.operator == Operator::NotExists;
        };
        let wanted = self.value.as_ref();
        match self.operator {
            Operator::Exists => true,
            Operator::NotExists => false,
            Operator::Equals => wanted.is_some_and(|wanted| equal(found, wanted)),
            Operator::Contains => wanted.is_some_and(|wanted| contains(found, wanted)),
            Operator::Truthy => truthy(found),
            Operator::GreaterThan => compare(found, wanted, |found, wanted| found > wanted),
            Operator::LessThan => compare(found, wanted, |found, wanted| found < wanted),
        }
    }
}

/// Deep equality, in which 1 and 1.0 are one number.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, one)| other.get(key).is_some_and(|other| equal(one, other)))
        }
        (one, other) => one == other,
    }
}

fn contains(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Array(items), wanted) => items.iter().any(|item| equal(item, wanted)),
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_),
            _,
        ) => false,
    }
}

fn truthy(found: &Value) -> bool {
    match found {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn compare(found: &Value, wanted: Option<&Value>, by: fn(f64, f64) -> bool) -> bool {
    match (found.as_f64(), wanted.and_then(Value::as_f64)) {
        (Some(found), Some(wanted)) => by(found, wanted),
        (Some(_) | None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each operator with the value it is compared with, and what it makes of
    /// missing, null, "", 0, false, [], {}, "0".
    #[test]
    fn every_operator_judges_every_empty_looking_value() {
        let found = [
            None,
            Some(json!(null)),
            Some(json!("")),
            Some(json!(0)),
            Some(json!(false)),
            Some(json!([])),
            Some(json!({})),
            Some(json!("0")),
        ];
        let t = true;
        let f = false;
        let table: &[(Operator, Option<Value>, [bool; 8])] = &[
            (Operator::Exists, None, [f, t, t, t, t, t, t, t]),
            (Operator::NotExists, None, [t, f, f, f, f, f, f, f]),
            (Operator::Truthy, None, [f, f, f, f, f, t, t, t]),
            (Operator::Equals, None, [f, f, f, f, f, f, f, f]),
            (
                Operator::Equals,
                Some(json!(null)),
                [f, t, f, f, f, f, f, f],
            ),
            (Operator::Equals, Some(json!("")), [f, f, t, f, f, f, f, f]),
            (Operator::Equals, Some(json!(0.0)), [f, f, f, t, f, f, f, f]),
            (
                Operator::Equals,
                Some(json!(false)),
                [f, f, f, f, t, f, f, f],
            ),
            (Operator::Equals, Some(json!([])), [f, f, f, f, f, t, f, f]),
            (Operator::Equals, Some(json!({})), [f, f, f, f, f, f, t, f]),
            (Operator::Equals, Some(json!("0")), [f, f, f, f, f, f, f, t]),
            (
                Operator::Contains,
                Some(json!("")),
                [f, f, t, f, f, f, f, t],
            ),
            (
                Operator::Contains,
                Some(json!("0")),
                [f, f, f, f, f, f, f, t],
            ),
            (Operator::Contains, Some(json!(0)), [f, f, f, f, f, f, f, f]),
            (
                Operator::GreaterThan,
                Some(json!(-1)),
                [f, f, f, t, f, f, f, f],
            ),
            (Operator::LessThan, Some(json!(1)), [f, f, f, t, f, f, f, f]),
            (
                Operator::GreaterThan,
                Some(json!("")),
                [f, f, f, f, f, f, f, f],
            ),
            (Operator::LessThan, None, [f, f, f, f, f, f, f, f]),
        ];
        for (operator, value, expected) in table {
            let condition = MemoryCondition {
                memory_key: "k".into(),
                operator: *operator,
                value: value.clone(),
            };
            let judged = found
                .each_ref()
                .map(|found| condition.holds(found.as_ref()));
            assert_eq!(judged, *expected, "{operator:?} {value:?}");
        }
    }

    #[test]
    fn equality_and_containment_look_into_values() {
        let holds = |operator, value: Value, found: Value| {
            MemoryCondition {
                memory_key: "k".into(),
                operator,
                value: Some(value),
            }
            .holds(Some(&found))
        };
        assert!(holds(
            Operator::Equals,
            json!({"a": [1, {"b": 2.0}]}),
            json!({"a": [1.0, {"b": 2}]})
        ));
        assert!(!holds(
            Operator::Equals,
            json!({"a": 1}),
            json!({"a": 1, "b": null})
        ));
        assert!(holds(
            Operator::Contains,
            json!({"a": 1}),
            json!([{"a": 1}])
        ));
        assert!(!holds(Operator::Contains, json!("a"), json!({"a": 1})));
    }
}
