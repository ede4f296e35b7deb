//! Every JSON text is read as what a JSON parser makes of it, or is refused for a reason that we name.

#![no_main]

use amos_tui::engine::routine::file::RoutineFile;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// What a file may not hold, though JSON can say it: a key twice, a number without end, and what no
/// editor shows (YAML's parser takes it only as an escape).
const REFUSALS: [&str; 3] = ["stands here twice", "is too large", "unexpected character"];

fuzz_target!(|bytes: &[u8]| {
    let Ok(expected) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    match RoutineFile::parse(bytes) {
        Ok(file) => match file.root.to_json() {
            Some(read) => assert!(alike(&expected, &read), "{expected}\n{read}"),
            None => assert!(depth(&expected) > 90, "too deep to keep: {expected}"),
        },
        Err(refusal) => {
            let named = REFUSALS.iter().any(|it| refusal.message.contains(it));
            assert!(named, "{refusal} at {:?}", refusal.at);
        }
    }
});

/// The same, 1 and 1.0 being one number.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, one)| other.get(key).is_some_and(|it| alike(one, it)))
        }
        (one, other) => one == other,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}
