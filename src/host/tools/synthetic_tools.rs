//! `synthetic_reserve`, `synthetic_submit`, `synthetic_artifact`: pretended remote work for demos.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine::capability::{
    Acknowledge, Capability, Commitment, Contract, Idempotency, Reversibility, SideEffects,
};
use crate::engine::ports::{ToolContext, ToolOutcome};
use crate::host::synthetic::{SyntheticAct, SyntheticJobs};
use crate::host::tools::{Tool, parsed};

struct SyntheticTool {
    act: SyntheticAct,
    jobs: Arc<SyntheticJobs>,
}

#[derive(Deserialize)]
struct Args {
    job: String,
    text: Option<String>,
}

pub(super) fn tools(jobs: &Arc<SyntheticJobs>) -> impl Iterator<Item = Box<dyn Tool>> {
    [
        SyntheticAct::Reserve,
        SyntheticAct::Submit,
        SyntheticAct::Artifact,
    ]
    .into_iter()
    .map(|act| {
        let jobs = Arc::clone(jobs);
        Box::new(SyntheticTool { act, jobs }) as Box<dyn Tool>
    })
}

impl Tool for SyntheticTool {
    fn capability(&self) -> Capability {
        let description = match self.act {
            SyntheticAct::Reserve => "SYNTHETIC, for demos: pretends to reserve a place for a job.",
            SyntheticAct::Submit => "SYNTHETIC, for demos: pretends to submit a job.",
            SyntheticAct::Artifact => {
                "SYNTHETIC, for demos: pretends to write a job's artifact; no file is made."
            }
        };
        let mut required = vec!["job"];
        let mut properties = json!({
            "job": { "type": "string", "minLength": 1, "description": "The job's name." },
        });
        if self.act == SyntheticAct::Artifact {
            required.push("text");
            properties["text"] = json!({ "type": "string", "description": "What it holds." });
        }
        Capability {
            name: format!("synthetic_{}", self.act.label()),
            description: format!("{description} Gives a receipt and the job's name."),
            schema: json!({
                "type": "object",
                "required": required,
                "additionalProperties": false,
                "properties": properties,
            }),
            contract: Some(Contract {
                authority: None,
                side_effects: SideEffects::Local,
                commitment: Commitment::None,
                idempotency: Idempotency::NotIdempotent,
                reversibility: Reversibility::Reversible,
                concurrency: None,
                verification_hints: vec!["a synthetic check of the job".to_owned()],
                acknowledge: Acknowledge::NotRequired,
            }),
        }
    }

    fn call(&self, args: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let outcome = match parsed::<Args>(args) {
            Ok(Args { job, text }) => {
                let receipt = self.jobs.act(&context.operation, &job, self.act);
                let mut result = json!({ "receipt": receipt, "job": job });
                if let Some(text) = text {
                    // The artifact itself: the result is kept as a source.
                    result["text"] = text.into();
                }
                ToolOutcome::Done(result)
            }
            Err(reason) => ToolOutcome::Failed { reason },
        };
        async { outcome }.boxed()
    }
}
