//! Ollama's own wire, `/api/chat`.
//!
//! It can't force a tool, so tools are only offered. An answer bound to a schema (`format`) would come
//! as text and could be read back as the call; but text never counts as one, whatever it looks like
//! (G4), and a server that doesn't know `format` sends just that.

use bytes::Bytes;
use reqwest::Url;
use serde_json::{Map, Value, json};

use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelRequest, TokenUsage, ToolCall,
};
use crate::engine::routine::definition::ReasoningEffort;
use crate::host::models::names::ToolNames;
use crate::host::models::settings::BaseUrl;
use crate::host::models::wire::{self, Asked, Calls, Reading, Unreadable};

/// The request's body.
pub(crate) fn body(request: &ModelRequest, names: &ToolNames) -> Bytes {
    let system = (!request.system.is_empty())
        .then(|| json!({ "role": "system", "content": request.system }));
    let messages: Value = system
        .into_iter()
        .chain(request.messages.iter().map(|entry| message(entry, names)))
        .collect();
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.model.as_str().into());
    body.insert("messages".to_owned(), messages);
    body.insert("stream".to_owned(), false.into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": {
                    "name": names.spell(&tool.name),
                    "description": tool.description,
                    "parameters": wire::schema(tool),
                },
            })
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    if let Some(limit) = request.max_output_tokens {
        body.insert("options".to_owned(), json!({ "num_predict": limit }));
    }
    if let Some(effort) = request.reasoning_effort {
        body.insert("think".to_owned(), think(&request.model.model, effort));
    }
    wire::bytes(&Value::Object(body))
}

fn message(message: &Message, names: &ToolNames) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Assistant { text, calls } => {
            let content = text.as_deref().unwrap_or_default();
            let mut entry = json!({ "role": "assistant", "content": content });
            if !calls.is_empty() {
                entry["tool_calls"] = calls.iter().map(|c| call(c, names)).collect();
            }
            entry
        }
        Message::ToolResult { tool, content, .. } => {
            json!({ "role": "tool", "tool_name": names.spell(tool), "content": content })
        }
    }
}

fn call(call: &ToolCall, names: &ToolNames) -> Value {
    json!({
        "function": {
            "name": names.spell(&call.name),
            "arguments": wire::arguments_as_object(&call.arguments),
        },
    })
}

/// Only one family takes grades of thinking; the others are told whether to.
fn think(model: &str, effort: ReasoningEffort) -> Value {
    let graded = model.contains("gpt-oss");
    match effort {
        ReasoningEffort::Minimal if graded => "low".into(),
        ReasoningEffort::Low if graded => "low".into(),
        ReasoningEffort::Medium if graded => "medium".into(),
        ReasoningEffort::High if graded => "high".into(),
        ReasoningEffort::Minimal => false.into(),
        ReasoningEffort::Low | ReasoningEffort::Medium | ReasoningEffort::High => true.into(),
    }
}

/// Reads a response body.
pub(crate) fn read(body: &[u8], asked: &Asked<'_>) -> Result<Reading, Unreadable> {
    let json = wire::parse(body)?;
    let message = json
        .get("message")
        .and_then(Value::as_object)
        .ok_or_else(|| Unreadable::shape("message"))?;
    if json.get("done").and_then(Value::as_bool) != Some(true) {
        return Err(Unreadable("the answer isn't done".to_owned()));
    }
    let mut calls = Calls::none(asked);
    for call in message
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        read_call(call, &mut calls)?;
    }
    Ok(Reading::from(ModelAnswer {
        text: wire::text(message.get("content").and_then(Value::as_str)),
        calls: calls.take(),
        finish: match json.get("done_reason").and_then(Value::as_str) {
            Some("length") => Finish::CutOff,
            _ => Finish::Complete,
        },
        usage: TokenUsage {
            input_tokens: wire::count(json.get("prompt_eval_count")),
            output_tokens: wire::count(json.get("eval_count")),
        },
    }))
}

fn read_call(call: &Value, calls: &mut Calls<'_>) -> Result<(), Unreadable> {
    let function = call.get("function");
    let name = function
        .and_then(|function| function.get("name"))
        .and_then(Value::as_str)
        .ok_or_else(|| Unreadable::shape("name in a tool call"))?;
    let arguments = match function.and_then(|function| function.get("arguments")) {
        Some(Value::String(text)) => wire::arguments_in_text(text),
        Some(value) => CallArguments::Json(value.clone()),
        None => CallArguments::Malformed(String::new()),
    };
    calls.add(call.get("id").and_then(Value::as_str), name, arguments);
    Ok(())
}

/// Where the installed models are listed.
pub(crate) fn tags(base: &BaseUrl) -> Url {
    base.join(["api", "tags"])
}

/// The installed models.
pub(crate) fn read_tags(body: &[u8]) -> Option<Vec<String>> {
    let json: Value = serde_json::from_slice(body).ok()?;
    let models = json.get("models")?.as_array()?;
    let name = |model: &Value| model.get("name")?.as_str().map(str::to_owned);
    Some(models.iter().filter_map(name).collect())
}
