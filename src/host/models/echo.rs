//! What providers want back unchanged beside a call: Anthropic's thinking blocks, Gemini's thought
//! signatures. The conversation of the engine has no place for them, and their loss ends a turn with
//! a refused request, so the adapter keeps them while a run lasts.
//!
//! Bounded, and in memory only: what was dropped is simply not sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::engine::id::RunId;

/// Bytes that are kept, over all runs; the oldest goes first.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

type Key = (RunId, String);

#[derive(Debug, Default)]
struct Kept {
    values: HashMap<Key, Value>,
    order: VecDeque<(Key, usize)>,
    bytes: usize,
}

/// Echoes by run and call.
#[derive(Debug, Default)]
pub(crate) struct Echoes(Mutex<Kept>);

impl Echoes {
    /// Keeps what came beside a call.
    pub(crate) fn keep(&self, run: &RunId, call: String, value: Value) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let size = value.to_string().len();
        let key = (run.clone(), call);
        if kept.values.insert(key.clone(), value).is_none() {
            kept.bytes += size;
            kept.order.push_back((key, size));
        }
        while kept.bytes > KEPT_BYTES {
            let Some((oldest, size)) = kept.order.pop_front() else {
                return;
            };
            kept.values.remove(&oldest);
            kept.bytes -= size;
        }
    }

    /// What came beside that call.
    pub(crate) fn of(&self, run: &RunId, call: &str) -> Option<Value> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.values.get(&(run.clone(), call.to_owned())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_belong_to_a_run_and_the_oldest_are_dropped_first() {
        let echoes = Echoes::default();
        let (one, two) = (RunId::from("one"), RunId::from("two"));
        echoes.keep(&one, "c".to_owned(), Value::from("x"));
        assert_eq!(echoes.of(&one, "c"), Some(Value::from("x")));
        assert_eq!(echoes.of(&two, "c"), None);
        echoes.keep(
            &two,
            "c".to_owned(),
            Value::from("y".repeat(KEPT_BYTES - 2)),
        );
        assert_eq!(echoes.of(&one, "c"), None);
        assert!(echoes.of(&two, "c").is_some());
    }
}
