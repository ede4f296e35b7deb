//! The wire of Anthropic's messages.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelRequest, TokenUsage, ToolCall,
};
use crate::engine::routine::definition::ReasoningEffort;
use crate::host::models::names::ToolNames;
use crate::host::models::wire::{self, Asked, Calls, Reading, Turns, Unreadable};
use crate::host::models::words;

/// The version of the wire.
pub(crate) const VERSION: &str = "2023-06-01";
/// The answer's limit where none was set: this wire demands one.
const MAX_TOKENS: u32 = 16_384;
/// Models that refuse every forced tool choice; they are asked in words only.
const NEVER_FORCED: [&str; 3] = ["claude-opus-5-5", "claude-fable-5-1", "claude-mythos-5-1"];

/// The request's body. `echo` gives what came beside a call.
pub(crate) fn body(
    request: &ModelRequest,
    names: &ToolNames,
    echo: &dyn Fn(&str) -> Option<Value>,
) -> Bytes {
    let mut turns = Turns::default();
    for entry in &request.messages {
        match &**entry {
            Message::User(text) => turns.add("user", vec![spoken(text)]),
            Message::Assistant { text, calls } => {
                turns.add("assistant", assistant(text.as_deref(), calls, names, echo));
            }
            Message::ToolResult { call, content, .. } => {
                turns.add("user", vec![result(call, content)]);
            }
        }
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.model.as_str().into());
    body.insert("messages".to_owned(), turns.into_json("content"));
    let limit = request.max_output_tokens.unwrap_or(MAX_TOKENS);
    body.insert("max_tokens".to_owned(), limit.into());
    if !request.system.trim().is_empty() {
        body.insert("system".to_owned(), request.system.as_str().into());
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": names.spell(&tool.name),
                "description": tool.description,
                "input_schema": wire::schema(tool),
            })
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    if let Some(tool) = wire::forced(request)
        && !NEVER_FORCED
            .iter()
            .any(|model| request.model.model.starts_with(model))
    {
        body.insert(
            "tool_choice".to_owned(),
            json!({ "type": "tool", "name": names.spell(tool) }),
        );
    }
    if let Some(effort) = request.reasoning_effort {
        let word = match effort {
            ReasoningEffort::Minimal | ReasoningEffort::Low => "low",
            ReasoningEffort::Medium => "medium",
            ReasoningEffort::High => "high",
        };
        body.insert("output_config".to_owned(), json!({ "effort": word }));
    }
    wire::bytes(&Value::Object(body))
}

/// A block of text; the wire refuses blank ones.
fn spoken(text: &str) -> Value {
    let text = if text.trim().is_empty() {
        "(nothing)"
    } else {
        text
    };
    json!({ "type": "text", "text": text })
}

fn assistant(
    text: Option<&str>,
    calls: &[ToolCall],
    names: &ToolNames,
    echo: &dyn Fn(&str) -> Option<Value>,
) -> Vec<Value> {
    let mut blocks = Vec::new();
    if let Some(Value::Array(thinking)) = calls.first().and_then(|call| echo(&call.id)) {
        blocks.extend(thinking);
    }
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        blocks.push(spoken(text));
    }
    blocks.extend(calls.iter().map(|call| {
        json!({
            "type": "tool_use",
            "id": call.id,
            "name": names.spell(&call.name),
            "input": wire::arguments_as_object(&call.arguments),
        })
    }));
    blocks
}

fn result(call: &str, content: &str) -> Value {
    if content.is_empty() {
        json!({ "type": "tool_result", "tool_use_id": call })
    } else {
        json!({ "type": "tool_result", "tool_use_id": call, "content": content })
    }
}

/// Reads a response body.
pub(crate) fn read(body: &[u8], asked: &Asked<'_>) -> Result<Reading, Unreadable> {
    let json = wire::parse(body)?;
    let blocks = json
        .get("content")
        .and_then(Value::as_array)
        .ok_or_else(|| Unreadable::shape("content"))?;
    let mut calls = Calls::none(asked);
    let mut first_call = None;
    let mut texts = Vec::new();
    let mut thinking = Vec::new();
    for block in blocks {
        match block.get("type").and_then(Value::as_str) {
            Some("text") => texts.extend(block.get("text").and_then(Value::as_str)),
            Some("tool_use") => {
                let id = read_call(block, &mut calls)?;
                first_call.get_or_insert(id);
            }
            Some("thinking" | "redacted_thinking") => thinking.push(block.clone()),
            // Blocks that nobody asked for say nothing here.
            _ => {}
        }
    }
    let echoes = match first_call {
        Some(call) if !thinking.is_empty() => vec![(call, Value::Array(thinking))],
        _ => Vec::new(),
    };
    let text = wire::text(texts);
    let usage = json.get("usage");
    let input = [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ];
    let answer = ModelAnswer {
        finish: finish(&json, text.as_deref())?,
        text,
        calls: calls.take(),
        usage: TokenUsage {
            input_tokens: input.iter().map(|field| wire::tokens(usage, field)).sum(),
            output_tokens: wire::tokens(usage, "output_tokens"),
        },
    };
    Ok(Reading { answer, echoes })
}

fn read_call(block: &Value, calls: &mut Calls<'_>) -> Result<String, Unreadable> {
    let name = block
        .get("name")
        .and_then(Value::as_str)
        .ok_or_else(|| Unreadable::shape("name in a tool call"))?;
    let arguments = match block.get("input") {
        Some(Value::String(text)) => wire::arguments_in_text(text),
        Some(value) => CallArguments::Json(value.clone()),
        None => CallArguments::Malformed(String::new()),
    };
    Ok(calls.add(block.get("id").and_then(Value::as_str), name, arguments))
}

fn finish(json: &Map<String, Value>, text: Option<&str>) -> Result<Finish, Unreadable> {
    match json.get("stop_reason").and_then(Value::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => Ok(Finish::CutOff),
        Some("refusal") => Ok(Finish::Refused {
            reason: words::line(text.unwrap_or("the model refused")),
        }),
        // V10: the provider suspended the turn; nobody asked for that, and it isn't an answer.
        Some("pause_turn") => Err(Unreadable(
            "the provider suspended the answer (pause_turn)".to_owned(),
        )),
        _ => Ok(Finish::Complete),
    }
}
