//! Models.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use amos_tui::engine::ports::{
    CallArguments, Finish, ModelAnswer, ModelContext, ModelOutcome, ModelReply, ModelRequest,
    Models, TokenUsage, ToolCall,
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// Passes every step, with a handoff for every way that leads on.
#[derive(Default)]
pub(crate) struct Agreeing {
    calls: Arc<AtomicUsize>,
}

impl Agreeing {
    /// How many requests came.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Models for Agreeing {
    fn call(&self, request: ModelRequest, context: ModelContext) -> BoxFuture<'static, ModelReply> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            context.sending.goes_out(1);
            ModelReply {
                outcome: ModelOutcome::Answered(ModelAnswer {
                    text: None,
                    calls: vec![passes(&request)],
                    finish: Finish::Complete,
                    usage: TokenUsage {
                        input_tokens: 10,
                        output_tokens: 5,
                    },
                }),
                request: Bytes::from_static(b"request"),
                response: Bytes::from_static(b"response"),
            }
        })
    }
}

/// Agrees, and remembers which tools it was offered.
#[derive(Default)]
pub(crate) struct Curious {
    agreeing: Agreeing,
    offered: Mutex<Vec<String>>,
}

impl Curious {
    /// The names of the tools of its latest request.
    pub(crate) fn offered(&self) -> Vec<String> {
        self.offered.lock().expect("unpoisoned").clone()
    }
}

impl Models for Curious {
    fn call(&self, request: ModelRequest, context: ModelContext) -> BoxFuture<'static, ModelReply> {
        let names = request.tools.iter().map(|tool| tool.name.clone());
        *self.offered.lock().expect("unpoisoned") = names.collect();
        self.agreeing.call(request, context)
    }
}

/// Says that it goes out, and panics.
pub(crate) struct DisconnectingModel;

impl Models for DisconnectingModel {
    fn call(&self, _: ModelRequest, context: ModelContext) -> BoxFuture<'static, ModelReply> {
        Box::pin(async move {
            context.sending.goes_out(1);
            panic!("the line is dead")
        })
    }
}

/// Goes out, and stops when it is asked to.
pub(crate) struct SlowModel;

impl Models for SlowModel {
    fn call(&self, _: ModelRequest, context: ModelContext) -> BoxFuture<'static, ModelReply> {
        Box::pin(async move {
            context.sending.goes_out(1);
            context.cancellation.cancelled().await;
            ModelReply {
                outcome: ModelOutcome::Stopped,
                request: Bytes::from_static(b"request"),
                response: Bytes::new(),
            }
        })
    }
}

/// A call of `route_next_steps` that passes, with a handoff for every way that a pass activates.
fn passes(request: &ModelRequest) -> ToolCall {
    let tool = request
        .tools
        .iter()
        .find(|tool| tool.name == "route_next_steps")
        .expect("it is always offered");
    let items = &tool.schema["properties"]["next_steps"]["items"];
    let items = match items.get("oneOf").and_then(Value::as_array) {
        Some(items) => items.clone(),
        None => vec![items.clone()],
    };
    let next: Vec<Value> = items
        .iter()
        .filter(|item| item["x-on"] == "pass")
        .map(|item| {
            json!({
                "target_step": item["properties"]["target_step"]["const"],
                "handoff": { "note": "done" },
            })
        })
        .collect();
    ToolCall {
        id: "call-1".into(),
        name: "route_next_steps".into(),
        arguments: CallArguments::Json(json!({
            "verdict": "pass",
            "reasoning": "it is done",
            "output": "text",
            "next_steps": next,
        })),
    }
}
