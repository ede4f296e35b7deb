//! The built-in tools (M5): what they are called, what they take and give, and what they promise.
//!
//! A call's arguments are checked against the tool's schema before anything is done. A call that
//! can only fail (an unknown name, arguments that don't fit, a path outside the workspace) is never
//! a question to a person (M7): it has failed before it is dispatched.
//!
//! Routine memory is the engine's: its tools are described here and answered there.

mod memory;
mod read_file;
mod run_command;
mod synthetic_tools;
mod write_file;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::engine::capability::Capability;
use crate::engine::id::OperationId;
use crate::engine::ports::{Permission, ToolContext, ToolOutcome, Toolbox};
use crate::host::permission::Permissions;
use crate::host::schema::Schema;
use crate::host::synthetic::SyntheticJobs;
use crate::host::workspace::Workspace;

/// Every name that a routine file may use, sorted: also of tools that aren't offered yet.
pub const KNOWN_TOOLS: [&str; 13] = [
    "http_request",
    "list_dir",
    "memory_delete",
    "memory_get",
    "memory_list",
    "memory_set",
    "read_file",
    "run_command",
    "search_text",
    "synthetic_artifact",
    "synthetic_reserve",
    "synthetic_submit",
    "write_file",
];

/// One tool of this host.
trait Tool: Send + Sync {
    /// What it says of itself.
    fn capability(&self) -> Capability;

    /// Says why a call with arguments that fit the schema could only fail. Acts on nothing.
    fn refuses(&self, _args: &Value) -> Option<String> {
        None
    }

    /// Makes a call whose arguments fit the schema.
    fn call(&self, args: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome>;
}

/// The tools of one host, bound to one workspace.
pub struct HostTools {
    tools: BTreeMap<String, Entry>,
    permissions: Permissions,
}

struct Entry {
    tool: Box<dyn Tool>,
    capability: Capability,
    schema: Schema,
}

impl HostTools {
    /// Brings the built-in tools together.
    pub fn of(
        workspace: Workspace,
        permissions: Permissions,
        synthetic: Arc<SyntheticJobs>,
    ) -> Self {
        let mut tools: Vec<Box<dyn Tool>> = vec![
            Box::new(read_file::ReadFile::of(workspace.clone())),
            Box::new(write_file::WriteFile::of(workspace.clone())),
            Box::new(run_command::RunCommand::of(workspace)),
        ];
        tools.extend(memory::tools());
        tools.extend(synthetic_tools::tools(&synthetic));
        let entry = |tool: Box<dyn Tool>| {
            let capability = tool.capability();
            let schema = Schema::of(&capability.schema)
                .unwrap_or_else(|error| panic!("BUG: {}: {error}", capability.name));
            let entry = Entry {
                tool,
                schema,
                capability: capability.clone(),
            };
            (capability.name, entry)
        };
        Self {
            tools: tools.into_iter().map(entry).collect(),
            permissions,
        }
    }

    /// Finds a call's tool and makes sure that the call is worth trying.
    fn admit(&self, tool: &str, args: &Value) -> Result<&Entry, String> {
        let Some(entry) = self.tools.get(tool) else {
            return Err(if KNOWN_TOOLS.contains(&tool) {
                format!("{tool} is not supported in this version")
            } else {
                format!("there is no tool {tool:?}")
            });
        };
        entry
            .schema
            .check(args)
            .map_err(|reason| format!("the arguments of {tool} don't fit: {reason}"))?;
        match entry.tool.refuses(args) {
            Some(reason) => Err(reason),
            None => Ok(entry),
        }
    }
}

impl Toolbox for HostTools {
    fn capabilities(&self) -> Vec<Capability> {
        let entries = self.tools.values();
        entries.map(|entry| entry.capability.clone()).collect()
    }

    fn permission(&self, _operation: &OperationId, tool: &str, args: &Value) -> Permission {
        match (self.permissions.permission(tool), self.admit(tool, args)) {
            (denied @ Permission::Deny { .. }, _) => denied,
            (_, Err(reason)) => Permission::Futile { reason },
            (permission, Ok(_)) => permission,
        }
    }

    fn call(
        &self,
        tool: &str,
        args: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, ToolOutcome> {
        // Looked at again: what a path leads to may have changed since.
        match self.admit(tool, &args) {
            Ok(entry) => entry.tool.call(args, context),
            Err(reason) => async { ToolOutcome::Failed { reason } }.boxed(),
        }
    }
}

/// Takes arguments that fit the schema apart.
fn parsed<T: DeserializeOwned>(args: Value) -> Result<T, String> {
    serde_json::from_value(args).map_err(|error| format!("the arguments don't fit: {error}"))
}

/// Does blocking work away from the runtime's own threads.
fn blocking(
    work: impl FnOnce() -> Result<Value, String> + Send + 'static,
) -> BoxFuture<'static, ToolOutcome> {
    async {
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(result)) => ToolOutcome::Done(result),
            Ok(Err(reason)) => ToolOutcome::Failed { reason },
            Err(error) => ToolOutcome::Unknown {
                reason: format!("the tool broke off: {error}"),
            },
        }
    }
    .boxed()
}

#[cfg(test)]
mod tests;
