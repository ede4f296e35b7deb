//! `run_command`: a command without a shell, in the workspace (M7).

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine::capability::{
    Acknowledge, Capability, Commitment, Contract, Idempotency, Reversibility, SideEffects,
};
use crate::engine::ports::{ToolContext, ToolOutcome};
use crate::host::process::{self, Command, End, Ended};
use crate::host::tools::{Tool, parsed};
use crate::host::workspace::Workspace;

pub(super) struct RunCommand {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Args {
    argv: Vec<String>,
    cwd: Option<String>,
    stdin: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

impl RunCommand {
    pub(super) fn of(workspace: Workspace) -> Self {
        Self { workspace }
    }
}

impl Tool for RunCommand {
    fn capability(&self) -> Capability {
        Capability {
            name: "run_command".to_owned(),
            description: "Runs a command in the workspace, without a shell unless argv names one. \
                          Gives its exit code and what it wrote; bytes that are no UTF-8 are \
                          replaced. success is false for any exit code but 0."
                .to_owned(),
            schema: json!({
                "type": "object",
                "required": ["argv"],
                "additionalProperties": false,
                "properties": {
                    "argv": {
                        "type": "array",
                        "minItems": 1,
                        "items": { "type": "string" },
                        "description": "The program and its arguments, one item each.",
                    },
                    "cwd": {
                        "type": "string",
                        "minLength": 1,
                        "description": "Folder to run in, relative to the workspace.",
                    },
                    "stdin": { "type": "string", "description": "Text for its standard input." },
                    "env": {
                        "type": "object",
                        "additionalProperties": { "type": "string" },
                        "description": "Environment variables to add.",
                    },
                },
            }),
            contract: Some(Contract {
                authority: Some("run commands".to_owned()),
                side_effects: SideEffects::Unknown,
                commitment: Commitment::Unknown,
                idempotency: Idempotency::Unknown,
                reversibility: Reversibility::Unknown,
                concurrency: None,
                verification_hints: vec![
                    "a command or file check of what it should have changed".to_owned(),
                ],
                acknowledge: Acknowledge::NotRequired,
            }),
        }
    }

    fn refuses(&self, args: &Value) -> Option<String> {
        // Not part of the schema: some providers refuse rules about property names.
        let names = args.get("env").and_then(Value::as_object);
        if let Some(name) = names
            .into_iter()
            .flat_map(|env| env.keys())
            .find(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            return Some(format!(
                "the arguments of run_command don't fit: {name:?} can't be the name of a variable"
            ));
        }
        let cwd = args.get("cwd")?.as_str()?;
        let folder = self.workspace.folder(cwd);
        folder.err().map(|error| error.to_string())
    }

    fn call(&self, args: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let workspace = self.workspace.clone();
        async move {
            let args: Args = match parsed(args) {
                Ok(args) => args,
                Err(reason) => return ToolOutcome::Failed { reason },
            };
            let cwd = match workspace.folder(args.cwd.as_deref().unwrap_or(".")) {
                Ok(cwd) => cwd,
                Err(error) => {
                    return ToolOutcome::Failed {
                        reason: error.to_string(),
                    };
                }
            };
            let command = Command {
                argv: args.argv,
                cwd,
                stdin: args.stdin.unwrap_or_default().into(),
                env: args.env,
                time_limit: Duration::from_millis(context.timeout_ms),
            };
            match process::run(command, &context.cancellation).await {
                Ok(ended) => outcome(&ended),
                Err(error) => ToolOutcome::Failed {
                    reason: error.to_string(),
                },
            }
        }
        .boxed()
    }
}

fn outcome(ended: &Ended) -> ToolOutcome {
    let stdout = String::from_utf8_lossy(&ended.stdout);
    let stderr = String::from_utf8_lossy(&ended.stderr);
    match ended.end {
        End::Exited(code) => ToolOutcome::Done(json!({
            "exit": code,
            "stdout": stdout,
            "stderr": stderr,
            "success": code == 0,
        })),
        End::Signalled(signal) => ToolOutcome::Done(json!({
            "exit": null,
            "signal": signal,
            "stdout": stdout,
            "stderr": stderr,
            "success": false,
        })),
        End::OutputLimit => ToolOutcome::OutputLimit(json!({
            "exit": null,
            "stdout": stdout,
            "stderr": stderr,
            "success": false,
            "output_limit": true,
        })),
        End::TimedOut => ToolOutcome::TimedOut,
        End::Cancelled => ToolOutcome::Unknown {
            reason: "the command was ended before it was done".to_owned(),
        },
        End::Lost => ToolOutcome::Unknown {
            reason: "the system doesn't tell how the command ended".to_owned(),
        },
    }
}
