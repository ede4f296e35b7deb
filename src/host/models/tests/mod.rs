//! Tests of whole calls: against a real server on loopback that misbehaves as told.

mod built_in;
mod openai;
mod other_wires;
mod sending;
mod server;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::engine::id::{OperationId, RunId};
use crate::engine::ports::{
    CallArguments, Message, ModelAnswer, ModelContext, ModelOutcome, ModelReply, ModelRequest,
    Models as _, OfferedTool, ResolvedModel, Sending, ToolCall, ToolChoice,
};
use crate::engine::routine::definition::ReasoningEffort;
use crate::host::models::provider::Provider;
use crate::host::models::settings::{BaseUrl, ProviderSettings};
use crate::host::models::tests::server::{Misbehaving, says};
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

/// Sends one request to a server with one answer.
async fn ask(asked: ModelRequest, body: &str) -> (Value, String, ModelReply) {
    let server = Misbehaving::with([says(200, body)]).await;
    let models = models_at(&format!("http://{}", server.address));
    let (reply, announced) = call(&models, asked).await;
    assert_eq!(announced, [1]);
    assert_eq!(&reply.response[..], body.as_bytes());
    let arrived = server.arrived().remove(0);
    assert_eq!(arrived.body, reply.request);
    let sent = serde_json::from_slice(&arrived.body).expect("json");
    (sent, arrived.path().to_owned(), reply)
}

fn pass(id: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "route_next_steps".to_owned(),
        arguments: CallArguments::Json(json!({ "verdict": "pass" })),
    }
}

/// The schema of `route_next_steps` as a provider sees it.
fn seen_schema() -> Value {
    let text = route_tool().schema.to_string();
    let text = text
        .replace(r#","x-on":"pass""#, "")
        .replace(r#","x-on":"fail""#, "");
    assert!(!text.contains("x-on"));
    serde_json::from_str(&text).expect("json")
}

/// A conversation with a call of a dotted tool, a broken call, and what came of them.
fn conversation(provider: Provider, ids: [&str; 2]) -> ModelRequest {
    let tool = OfferedTool {
        name: "git.log".to_owned(),
        description: "Reads the log.".to_owned(),
        schema: json!({ "type": "object" }),
    };
    let broken = ToolCall {
        id: ids[1].to_owned(),
        name: "git.log".to_owned(),
        arguments: CallArguments::Malformed("{\"n\":".to_owned()),
    };
    let result = |id: &str, content: &str| Message::ToolResult {
        call: id.to_owned(),
        tool: "git.log".to_owned(),
        content: content.to_owned(),
    };
    let messages = [
        Message::User("Do the step.".to_owned()),
        Message::Assistant {
            text: Some("I look.".to_owned()),
            calls: vec![
                ToolCall {
                    id: ids[0].to_owned(),
                    name: "git.log".to_owned(),
                    arguments: CallArguments::Json(json!({ "n": 1 })),
                },
                broken,
            ],
        },
        result(ids[0], "a commit"),
        result(ids[1], "no JSON"),
        Message::User("Go on.".to_owned()),
    ];
    ModelRequest {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([tool, route_tool()]),
        tool_choice: ToolChoice::Auto,
        reasoning_effort: Some(ReasoningEffort::Low),
        max_output_tokens: Some(77),
        ..request(provider)
    }
}
