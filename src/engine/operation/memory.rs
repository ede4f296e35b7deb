//! Routine memory and the `memory_*` tools, which the machine answers itself: conditions read what
//! they write, so no reply may be reordered around them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::capability::{
    Acknowledge, Capability, Commitment, Contract, Idempotency, Reversibility, SideEffects,
};
use crate::engine::operation::state::StepRef;
use crate::engine::ports::ToolOutcome;

/// The names of the tools that read and write routine memory.
pub const MEMORY_TOOLS: [&str; 4] = ["memory_set", "memory_get", "memory_list", "memory_delete"];

/// How the `memory_*` tools look to a model. They are there whatever tools the host has.
pub fn capabilities() -> [Capability; 4] {
    MEMORY_TOOLS.map(|name| {
        let key = json!({ "type": "string", "minLength": 1, "description": "The key." });
        let (description, required, properties) = match name {
            "memory_set" => (
                "Keeps a value in the routine's memory under a key. Gives the key.",
                json!(["key", "value"]),
                json!({ "key": key, "value": { "description": "Any JSON." } }),
            ),
            "memory_get" => (
                "Reads a key of the routine's memory. Gives whether it was found, and its value.",
                json!(["key"]),
                json!({ "key": key }),
            ),
            "memory_delete" => (
                "Takes a key out of the routine's memory. Gives whether it was found, and the \
                 value it had.",
                json!(["key"]),
                json!({ "key": key }),
            ),
            _ => (
                "Lists the keys of the routine's memory.",
                json!([]),
                json!({}),
            ),
        };
        Capability {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: json!({
                "type": "object",
                "required": required,
                "additionalProperties": false,
                "properties": properties,
            }),
            contract: Some(Contract {
                authority: None,
                // The memory ends with the operation; nothing outside it changes.
                side_effects: SideEffects::None,
                commitment: Commitment::None,
                idempotency: Idempotency::Idempotent,
                reversibility: Reversibility::Reversible,
                concurrency: Some("calls of one operation take turns".to_owned()),
                verification_hints: Vec::new(),
                acknowledge: Acknowledge::NotRequired,
            }),
        }
    })
}

/// What a routine remembers.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    values: BTreeMap<String, Value>,
    /// Slots that untils use for a while, the latest last (V18).
    slots: Vec<Slot>,
}

/// A slot in use, and what it held before.
#[derive(Debug, Clone)]
struct Slot {
    by: StepRef,
    key: String,
    before: Option<Value>,
}

impl Memory {
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    pub(super) fn set(&mut self, key: &str, value: Value) {
        self.values.insert(key.to_owned(), value);
    }

    /// A step uses a slot from now on.
    pub(super) fn lend(&mut self, by: StepRef, key: &str) {
        self.slots.push(Slot {
            by,
            key: key.to_owned(),
            before: self.values.get(key).cloned(),
        });
    }

    /// These steps use no slots any more: what was there before is there again.
    pub(super) fn give_back(&mut self, by: impl Fn(StepRef) -> bool) {
        while let Some(at) = self.slots.iter().rposition(|slot| by(slot.by)) {
            let Slot { key, before, .. } = self.slots.remove(at);
            // Whoever took the slot meanwhile found this one's value in it, and puts back what was
            // there before both.
            if let Some(later) = self.slots[at..].iter_mut().find(|slot| slot.key == key) {
                later.before = before;
                continue;
            }
            match before {
                Some(value) => self.values.insert(key, value),
                None => self.values.remove(&key),
            };
        }
    }

    /// Whether anybody uses a slot.
    #[cfg(test)]
    pub(super) fn is_lent(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Answers a call; `None` where the tool is none of memory's.
    pub(super) fn answer(&mut self, tool: &str, args: &Value) -> Option<ToolOutcome> {
        let known: &[&str] = match tool {
            "memory_set" => &["key", "value"],
            "memory_get" | "memory_delete" => &["key"],
            "memory_list" => &[],
            _ => return None,
        };
        Some(match self.checked(tool, known, args) {
            Ok(result) => ToolOutcome::Done(result),
            Err(reason) => ToolOutcome::Failed { reason },
        })
    }

    fn checked(&mut self, tool: &str, known: &[&str], args: &Value) -> Result<Value, String> {
        let args = args
            .as_object()
            .ok_or("the arguments must be a JSON object")?;
        if let Some(unknown) = args.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(format!("`{tool}` has no argument `{unknown}`"));
        }
        let key = match args.get("key") {
            Some(Value::String(key)) if !key.is_empty() => key.as_str(),
            Some(_) => return Err("`key` must be non-empty text".into()),
            None if known.contains(&"key") => return Err("`key` is missing".into()),
            None => "",
        };
        Ok(match tool {
            "memory_set" => {
                let value = args.get("value").ok_or("`value` is missing")?;
                self.set(key, value.clone());
                json!({ "key": key })
            }
            "memory_get" => {
                json!({ "found": self.values.contains_key(key), "value": self.values.get(key) })
            }
            "memory_delete" => {
                let value = self.values.remove(key);
                json!({ "found": value.is_some(), "value": value })
            }
            _ => json!({ "keys": self.values.keys().collect::<Vec<_>>() }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(memory: &mut Memory, tool: &str, args: Value) -> Value {
        match memory.answer(tool, &args) {
            Some(ToolOutcome::Done(value)) => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_set_is_found_listed_and_deleted() {
        let mut memory = Memory::default();
        assert_eq!(
            done(
                &mut memory,
                "memory_set",
                json!({"key": "k", "value": null})
            ),
            json!({"key": "k"})
        );
        assert_eq!(
            done(&mut memory, "memory_get", json!({"key": "k"})),
            json!({"found": true, "value": null})
        );
        assert_eq!(
            done(&mut memory, "memory_list", json!({})),
            json!({"keys": ["k"]})
        );
        assert_eq!(
            done(&mut memory, "memory_delete", json!({"key": "k"})),
            json!({"found": true, "value": null})
        );
        assert_eq!(
            done(&mut memory, "memory_get", json!({"key": "k"})),
            json!({"found": false, "value": null})
        );
    }

    #[test]
    fn a_wrong_call_fails_and_changes_nothing() {
        let mut memory = Memory::default();
        for args in [
            json!([]),
            json!({"key": 1, "value": 2}),
            json!({"key": "k"}),
            json!({"key": "k", "value": 1, "x": 2}),
        ] {
            assert!(matches!(
                memory.answer("memory_set", &args),
                Some(ToolOutcome::Failed { .. })
            ));
        }
        assert_eq!(
            done(&mut memory, "memory_list", json!({})),
            json!({"keys": []})
        );
        assert!(memory.answer("read_file", &json!({})).is_none());
    }
}
