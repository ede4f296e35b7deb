//! `memory_set`, `memory_get`, `memory_list`, `memory_delete`: how routine memory looks to a model.
//!
//! The engine answers these calls itself, since its conditions read the same memory. A call that
//! reaches the host is a mistake and fails.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::engine::capability::{
    Acknowledge, Capability, Commitment, Contract, Idempotency, Reversibility, SideEffects,
};
use crate::engine::ports::{ToolContext, ToolOutcome};
use crate::host::tools::Tool;

#[derive(Debug, Clone, Copy)]
enum MemoryTool {
    Set,
    Get,
    List,
    Delete,
}

pub(super) fn tools() -> impl Iterator<Item = Box<dyn Tool>> {
    [
        MemoryTool::Set,
        MemoryTool::Get,
        MemoryTool::List,
        MemoryTool::Delete,
    ]
    .into_iter()
    .map(|tool| Box::new(tool) as Box<dyn Tool>)
}

impl Tool for MemoryTool {
    fn capability(&self) -> Capability {
        let key = json!({ "type": "string", "minLength": 1, "description": "The key." });
        let (name, description, required, properties) = match self {
            Self::Set => (
                "memory_set",
                "Keeps a value in the routine's memory under a key. Gives the key.",
                json!(["key", "value"]),
                json!({ "key": key, "value": { "description": "Any JSON." } }),
            ),
            Self::Get => (
                "memory_get",
                "Reads a key of the routine's memory. Gives whether it was found, and its value.",
                json!(["key"]),
                json!({ "key": key }),
            ),
            Self::List => (
                "memory_list",
                "Lists the keys of the routine's memory.",
                json!([]),
                json!({}),
            ),
            Self::Delete => (
                "memory_delete",
                "Takes a key out of the routine's memory. Gives whether it was found, and the \
                 value it had.",
                json!(["key"]),
                json!({ "key": key }),
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
    }

    fn call(&self, _args: Value, _context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        async {
            ToolOutcome::Failed {
                reason: "the routine's memory is not kept by the host".to_owned(),
            }
        }
        .boxed()
    }
}
