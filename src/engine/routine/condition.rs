//! Conditions on memory values: what each operator makes of each value (V20).
//!
//! A missing key makes only `not_exists` true; nothing is coerced.

use std::cmp::Ordering;

use serde_json::{Number, Value};

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
            Operator::GreaterThan => compared(found, wanted) == Some(Ordering::Greater),
            Operator::LessThan => compared(found, wanted) == Some(Ordering::Less),
        }
    }
}

/// Deep equality, in which 1 and 1.0 are one number.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => in_order(one, other) == Some(Ordering::Equal),
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

/// How two numbers stand to each other; other types don't at all.
fn compared(found: &Value, wanted: Option<&Value>) -> Option<Ordering> {
    match (found, wanted) {
        (Value::Number(found), Some(Value::Number(wanted))) => in_order(found, wanted),
        (
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
            _,
        ) => None,
    }
}

/// Whole numbers are compared digit by digit, however large: as fractions neighbours would be one.
fn in_order(one: &Number, other: &Number) -> Option<Ordering> {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        (Some(_) | None, _) => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn whole(number: &Number) -> Option<i128> {
    /// Beyond it lies no whole number that a file or a tool could have written in digits.
    const FAR: f64 = 1e30;
    let of_digits = number.as_i64().map(i128::from);
    let of_digits = of_digits.or_else(|| number.as_u64().map(i128::from));
    of_digits.or_else(|| {
        let number = number.as_f64()?;
        (number.fract() == 0.0 && number.abs() < FAR).then_some(number as i128)
    })
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
        // Two ids that are one and the same as fractions.
        let (id, next) = (9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64);
        assert!(holds(Operator::Equals, json!(id), json!(id)));
        assert!(!holds(Operator::Equals, json!(id), json!(next)));
        assert!(!holds(Operator::Contains, json!([id]), json!([[next]])));
        assert!(holds(Operator::GreaterThan, json!(id), json!(next)));
        assert!(!holds(Operator::LessThan, json!(next), json!(next)));
        assert!(holds(Operator::LessThan, json!(u64::MAX), json!(-1)));
        assert!(holds(Operator::Equals, json!(u64::MAX), json!(u64::MAX)));
        assert!(holds(
            Operator::Equals,
            json!(9_007_199_254_740_992.0),
            json!(id)
        ));
        assert!(holds(Operator::GreaterThan, json!(1), json!(1.5)));
        assert!(holds(Operator::LessThan, json!(1e300), json!(1)));
        assert!(holds(Operator::Equals, json!(0), json!(-0.0)));
    }
}
