//! Tests of whole calls: against a real server on loopback that misbehaves as told.

mod answers;
mod built_in;
mod sending;
mod server;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::engine::id::{OperationId, RunId};
use crate::engine::ports::{
    Message, ModelAnswer, ModelContext, ModelOutcome, ModelReply, ModelRequest, Models as _,
    OfferedTool, ResolvedModel, Sending, ToolChoice,
};
use crate::host::models::provider::Provider;
use crate::host::models::settings::{BaseUrl, ProviderSettings};
use crate::host::models::{HostModels, SendPolicy};

/// The key that must never be seen anywhere but in a header.
const KEY: &str = "sk-never-to-be-seen-0123456789";

/// Remembers which sends were announced.
#[derive(Debug, Default)]
struct Announced(Mutex<Vec<u32>>);

impl Sending for Announced {
    fn goes_out(&self, n: u32) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(n);
    }
}

impl Announced {
    fn numbers(&self) -> Vec<u32> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// A context, and what is announced in it.
fn context() -> (ModelContext, Arc<Announced>) {
    let announced = Arc::new(Announced::default());
    let context = ModelContext {
        operation: OperationId::from("op"),
        run: RunId::from("op.r1"),
        cancellation: CancellationToken::new(),
        remaining_ms: None,
        sending: announced.clone(),
    };
    (context, announced)
}

/// Pauses short enough for tests.
fn quick() -> SendPolicy {
    SendPolicy {
        first_pause: Duration::from_millis(1),
        response_bytes: 64 * 1024,
        ..SendPolicy::default()
    }
}

/// Models of which every provider lives at that address.
fn models_at(base: &str) -> HostModels {
    let base = BaseUrl::read("test", base).expect("address");
    let v1 = BaseUrl::read("test", base.join(["v1"]).as_str()).expect("address");
    HostModels::with_policy(
        ProviderSettings {
            openai_key: Some(KEY.into()),
            openai_base_url: Some(v1),
            anthropic_key: Some(KEY.into()),
            anthropic_base_url: Some(base.clone()),
            gemini_key: Some(KEY.into()),
            gemini_base_url: Some(base.clone()),
            ollama_host: Some(base),
        },
        quick(),
    )
}

fn route_tool() -> OfferedTool {
    OfferedTool {
        name: "route_next_steps".to_owned(),
        description: "Ends the step.".to_owned(),
        schema: json!({
            "type": "object",
            "required": ["verdict", "reasoning", "next_steps"],
            "properties": {
                "verdict": { "enum": ["pass", "fail"] },
                "reasoning": { "type": "string", "minLength": 1 },
                "output": {},
                "next_steps": { "type": "array", "items": { "oneOf": [
                    { "type": "object", "x-on": "pass", "properties": {
                        "target_step": { "const": "next" },
                        "handoff": { "type": "object", "required": ["notes"], "properties": { "notes": { "type": "string" } } },
                    } },
                    { "type": "object", "x-on": "fail", "properties": {
                        "target_step": { "enum": ["draft", "other"] },
                        "handoff": { "type": "object" },
                    } },
                ] } },
            },
        }),
    }
}

/// A first request that forces `route_next_steps`.
fn request(provider: Provider) -> ModelRequest {
    ModelRequest {
        model: ResolvedModel {
            provider: provider.name().to_owned(),
            model: "test/model-1".to_owned(),
            role: None,
            policy_version: None,
        },
        system: "You test.".to_owned(),
        messages: vec![Arc::new(Message::User("Do the step.".to_owned()))],
        tools: Arc::new([route_tool()]),
        tool_choice: ToolChoice::Forced("route_next_steps".to_owned()),
        reasoning_effort: None,
        max_output_tokens: None,
    }
}

/// An OpenAI answer with these parts of its only choice.
fn choice(message: Value, finish: &str) -> String {
    json!({ "choices": [{ "message": message, "finish_reason": finish }] }).to_string()
}

/// An OpenAI answer that passes.
fn passing() -> String {
    choice(
        json!({
            "role": "assistant", "content": null,
            "tool_calls": [{ "id": "call_1", "type": "function", "function": {
                "name": "route_next_steps", "arguments": "{\"verdict\":\"pass\"}",
            } }],
        }),
        "tool_calls",
    )
}

fn word(outcome: &ModelOutcome) -> &'static str {
    match outcome {
        ModelOutcome::Answered(_) => "answered",
        ModelOutcome::NotTaken { .. } => "not taken",
        ModelOutcome::NoAnswer { .. } => "no answer",
        ModelOutcome::Unreadable { .. } => "unreadable",
        ModelOutcome::Stopped => "stopped",
    }
}

fn answer(reply: &ModelReply) -> &ModelAnswer {
    match &reply.outcome {
        ModelOutcome::Answered(answer) => answer,
        other => panic!("not answered: {other:?}"),
    }
}

/// What a person is told.
fn reason(outcome: &ModelOutcome) -> &str {
    match outcome {
        ModelOutcome::NotTaken { reason }
        | ModelOutcome::NoAnswer { reason }
        | ModelOutcome::Unreadable { reason } => reason,
        ModelOutcome::Answered(_) | ModelOutcome::Stopped => "",
    }
}

/// Nothing that is kept or shown of a reply holds the key (M4).
fn assert_keyless(reply: &ModelReply) {
    assert!(!format!("{reply:?}").contains(KEY), "{reply:?}");
    for bytes in [&reply.request, &reply.response] {
        assert!(!String::from_utf8_lossy(bytes).contains(KEY));
    }
}

async fn call(models: &HostModels, request: ModelRequest) -> (ModelReply, Vec<u32>) {
    let (context, announced) = context();
    let reply = models.call(request, context).await;
    assert_keyless(&reply);
    (reply, announced.numbers())
}
