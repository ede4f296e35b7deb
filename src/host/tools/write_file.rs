//! `write_file`: text into a file inside the workspace.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine::capability::{
    Acknowledge, Capability, Commitment, Contract, Idempotency, Reversibility, SideEffects,
};
use crate::engine::ports::{ToolContext, ToolOutcome};
use crate::host::tools::{Tool, blocking, parsed};
use crate::host::workspace::Workspace;

pub(super) struct WriteFile {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    text: String,
    #[serde(default)]
    mode: WriteMode,
}

/// What happens with what is there already.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WriteMode {
    /// It is replaced, all at once.
    #[default]
    Replace,
    /// The call fails.
    Create,
    /// It is added to.
    Append,
}

impl WriteFile {
    pub(super) fn of(workspace: Workspace) -> Self {
        Self { workspace }
    }
}

impl Tool for WriteFile {
    fn capability(&self) -> Capability {
        Capability {
            name: "write_file".to_owned(),
            description: "Writes text to a file of the workspace, making missing folders. Gives \
                          the path, and the whole file's size in bytes and SHA-256."
                .to_owned(),
            schema: json!({
                "type": "object",
                "required": ["path", "text"],
                "additionalProperties": false,
                "properties": {
                    "path": {
                        "type": "string",
                        "minLength": 1,
                        "description": "Path of the file, relative to the workspace.",
                    },
                    "text": { "type": "string", "description": "What to write." },
                    "mode": {
                        "enum": ["replace", "create", "append"],
                        "default": "replace",
                        "description": "replace: the file holds exactly this afterwards; create: \
                                        refuse if the file exists; append: add to its end.",
                    },
                },
            }),
            contract: Some(Contract {
                authority: Some("write inside the workspace".to_owned()),
                side_effects: SideEffects::Local,
                commitment: Commitment::None,
                // Replacing twice is, appending twice isn't.
                idempotency: Idempotency::NotIdempotent,
                reversibility: Reversibility::Reversible,
                concurrency: Some("the last replacement wins whole".to_owned()),
                verification_hints: vec!["a file check with the sha256 of the result".to_owned()],
                acknowledge: Acknowledge::NotRequired,
            }),
        }
    }

    fn refuses(&self, args: &Value) -> Option<String> {
        let path = args.get("path")?.as_str()?;
        self.workspace
            .contains(path)
            .err()
            .map(|error| error.to_string())
    }

    fn call(&self, args: Value, _context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let workspace = self.workspace.clone();
        blocking(move || {
            let Args { path, text, mode } = parsed(args)?;
            let written = workspace
                .target(&path)
                .and_then(|target| match mode {
                    WriteMode::Replace => target.replace(text.as_bytes()),
                    WriteMode::Create => target.create(text.as_bytes()),
                    WriteMode::Append => target.append(text.as_bytes()),
                })
                .map_err(|error| error.to_string())?;
            Ok(json!({ "path": path, "bytes": written.bytes, "sha256": written.sha256 }))
        })
    }
}
