//! `memory_set`, `memory_get`, `memory_list`, `memory_delete`, as far as the host is concerned: their
//! names are known and always allowed.
//!
//! The engine describes them and answers their calls itself, since its conditions read the same
//! memory. A call that reaches the host is a mistake and fails.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::engine::capability::Capability;
use crate::engine::operation::memory;
use crate::engine::ports::{ToolContext, ToolOutcome};
use crate::host::tools::Tool;

#[derive(Debug)]
struct MemoryTool(Capability);

pub(super) fn tools() -> impl Iterator<Item = Box<dyn Tool>> {
    memory::capabilities()
        .into_iter()
        .map(|capability| Box::new(MemoryTool(capability)) as Box<dyn Tool>)
}

impl Tool for MemoryTool {
    fn capability(&self) -> Capability {
        self.0.clone()
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
