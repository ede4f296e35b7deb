//! The wire of Gemini's `generateContent`.

use bytes::Bytes;
use reqwest::Url;
use serde_json::{Map, Value, json};

use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelRequest, TokenUsage, ToolCall,
};
use crate::engine::routine::definition::ReasoningEffort;
use crate::host::models::names::ToolNames;
use crate::host::models::settings::BaseUrl;
use crate::host::models::wire::{self, Asked, Calls, Reading, Turns, Unreadable};
use crate::host::models::words;

/// Where a model is asked. Tuned models bring their own collection; the others are in `models`.
pub(crate) fn address(base: &BaseUrl, model: &str) -> Url {
    let collection = match model.split_once('/') {
        Some(("models" | "tunedModels", _)) => None,
        _ => Some("models"),
    };
    let method = format!("{model}:generateContent");
    let segments = collection.into_iter().chain(method.split('/'));
    base.join_version("v1beta", segments)
}

/// The request's body. `echo` gives what came beside a call.
pub(crate) fn body(
    request: &ModelRequest,
    names: &ToolNames,
    echo: &dyn Fn(&str) -> Option<Value>,
) -> Bytes {
    let mut turns = Turns::default();
    for entry in &request.messages {
        match &**entry {
            Message::User(text) => turns.add("user", vec![json!({ "text": text })]),
            Message::Assistant { text, calls } => {
                let text = text.as_deref().filter(|text| !text.is_empty());
                let said = text.into_iter().map(|text| json!({ "text": text }));
                let calls = calls.iter().map(|c| call(c, names, echo));
                turns.add("model", said.chain(calls).collect());
            }
            Message::ToolResult {
                call,
                tool,
                content,
            } => turns.add("user", vec![result(call, &names.spell(tool), content)]),
        }
    }
    let mut body = Map::new();
    body.insert("contents".to_owned(), turns.into_json("parts"));
    if !request.system.is_empty() {
        body.insert(
            "systemInstruction".to_owned(),
            json!({ "parts": [{ "text": request.system }] }),
        );
    }
    if !request.tools.is_empty() {
        let declarations: Value = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": names.spell(&tool.name),
                    "description": tool.description,
                    "parametersJsonSchema": wire::schema(tool),
                })
            })
            .collect();
        body.insert(
            "tools".to_owned(),
            json!([{ "functionDeclarations": declarations }]),
        );
    }
    if let Some(tool) = wire::forced(request) {
        let allowed = names.spell(tool);
        body.insert(
            "toolConfig".to_owned(),
            json!({ "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": [allowed] } }),
        );
    }
    let generation = generation(request);
    if !generation.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(generation));
    }
    wire::bytes(&Value::Object(body))
}

fn call(call: &ToolCall, names: &ToolNames, echo: &dyn Fn(&str) -> Option<Value>) -> Value {
    let mut function = json!({
        "name": names.spell(&call.name),
        "args": wire::arguments_as_object(&call.arguments),
    });
    if !wire::is_made_up(&call.id) {
        function["id"] = call.id.as_str().into();
    }
    let mut part = json!({ "functionCall": function });
    if let Some(signature) = echo(&call.id) {
        part["thoughtSignature"] = signature;
    }
    part
}

fn result(call: &str, spelled: &str, content: &str) -> Value {
    let mut function = json!({ "name": spelled, "response": { "result": content } });
    if !wire::is_made_up(call) {
        function["id"] = call.into();
    }
    json!({ "functionResponse": function })
}

fn generation(request: &ModelRequest) -> Map<String, Value> {
    let mut generation = Map::new();
    if let Some(limit) = request.max_output_tokens {
        generation.insert("maxOutputTokens".to_owned(), limit.into());
    }
    if let Some(effort) = request.reasoning_effort {
        // The second generation takes tokens, the later ones a word.
        let thinking = if request.model.model.contains("gemini-2") {
            json!({ "thinkingBudget": budget(effort) })
        } else {
            json!({ "thinkingLevel": level(effort) })
        };
        generation.insert("thinkingConfig".to_owned(), thinking);
    }
    generation
}

fn budget(effort: ReasoningEffort) -> u32 {
    match effort {
        ReasoningEffort::Minimal => 512,
        ReasoningEffort::Low => 1_024,
        ReasoningEffort::Medium => 8_192,
        ReasoningEffort::High => 24_576,
    }
}

fn level(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::Minimal => "minimal",
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

/// Reads a response body.
pub(crate) fn read(body: &[u8], asked: &Asked<'_>) -> Result<Reading, Unreadable> {
    let json = wire::parse(body)?;
    let usage = json.get("usageMetadata");
    let usage = TokenUsage {
        input_tokens: wire::tokens(usage, "promptTokenCount"),
        output_tokens: wire::tokens(usage, "candidatesTokenCount")
            + wire::tokens(usage, "thoughtsTokenCount"),
    };
    let Some(candidate) = json.get("candidates").and_then(|list| list.get(0)) else {
        let blocked = json
            .get("promptFeedback")
            .and_then(|feedback| feedback.get("blockReason"))
            .and_then(Value::as_str)
            .ok_or_else(|| Unreadable::shape("candidates"))?;
        return Ok(Reading::from(ModelAnswer {
            text: None,
            calls: Vec::new(),
            finish: Finish::Refused {
                reason: words::line(&format!("the prompt was blocked ({blocked})")),
            },
            usage,
        }));
    };
    let mut calls = Calls::none(asked);
    let mut echoes = Vec::new();
    let mut texts = Vec::new();
    let parts = candidate
        .get("content")
        .and_then(|content| content.get("parts"))
        .and_then(Value::as_array);
    for part in parts.into_iter().flatten() {
        if let Some(function) = part.get("functionCall") {
            let id = read_call(function, &mut calls)?;
            if let Some(signature) = part.get("thoughtSignature") {
                echoes.push((id, signature.clone()));
            }
        } else if part.get("thought").and_then(Value::as_bool) != Some(true) {
            texts.extend(part.get("text").and_then(Value::as_str));
        }
    }
    let text = wire::text(texts);
    let finish = finish(candidate, parts.is_none())?;
    let answer = ModelAnswer {
        text,
        calls: calls.take(),
        finish,
        usage,
    };
    Ok(Reading { answer, echoes })
}

fn read_call(function: &Value, calls: &mut Calls<'_>) -> Result<String, Unreadable> {
    let name = function
        .get("name")
        .and_then(Value::as_str)
        .ok_or_else(|| Unreadable::shape("name in a function call"))?;
    let arguments = match function.get("args") {
        Some(value) => CallArguments::Json(value.clone()),
        // The wire leaves an empty object out.
        None => CallArguments::Json(json!({})),
    };
    Ok(calls.add(function.get("id").and_then(Value::as_str), name, arguments))
}

fn finish(candidate: &Value, without_parts: bool) -> Result<Finish, Unreadable> {
    let said = candidate.get("finishMessage").and_then(Value::as_str);
    match candidate.get("finishReason").and_then(Value::as_str) {
        Some("MAX_TOKENS") => Ok(Finish::CutOff),
        Some(
            word @ ("SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT"
            | "SPII" | "IMAGE_SAFETY"),
        ) => Ok(Finish::Refused {
            reason: words::line(said.unwrap_or(word)),
        }),
        // A call that the provider itself couldn't read: an answer without one, to be corrected (M3).
        Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS") => {
            Ok(Finish::Complete)
        }
        Some("STOP") => Ok(Finish::Complete),
        Some(other) if without_parts => Err(Unreadable(words::line(&format!(
            "the provider broke the answer off ({other})"
        )))),
        None if without_parts => Err(Unreadable::shape("content")),
        Some(_) | None => Ok(Finish::Complete),
    }
}
