//! The wire of OpenAI's chat completions, which every OpenAI-compatible server speaks.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelRequest, TokenUsage, ToolCall,
};
use crate::engine::routine::definition::ReasoningEffort;
use crate::host::models::names::ToolNames;
use crate::host::models::wire::{self, Asked, Calls, Reading, Unreadable};
use crate::host::models::words;

/// Who answers: OpenAI itself, whose newer models refuse what compatible servers know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Compatible,
}

/// What compatible servers say beside a message with calls and want back with it.
const OF_MESSAGE: [&str; 2] = ["reasoning_content", "reasoning_details"];
/// The same, beside a single call.
const OF_CALL: &str = "extra_content";

/// The request's body. `echo` gives what came beside a call.
pub(crate) fn body(
    request: &ModelRequest,
    names: &ToolNames,
    dialect: Dialect,
    echo: &dyn Fn(&str) -> Option<Value>,
) -> Bytes {
    let system = (!request.system.is_empty())
        .then(|| json!({ "role": "system", "content": request.system }));
    let messages: Value = system
        .into_iter()
        .chain(request.messages.iter().map(|m| message(m, names, echo)))
        .collect();
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.model.as_str().into());
    body.insert("messages".to_owned(), messages);
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
    if let Some(tool) = wire::forced(request) {
        body.insert(
            "tool_choice".to_owned(),
            json!({ "type": "function", "function": { "name": names.spell(tool) } }),
        );
    }
    if let Some(effort) = effort(request, dialect) {
        body.insert("reasoning_effort".to_owned(), effort.into());
    }
    if let Some(limit) = request.max_output_tokens {
        // OpenAI's reasoning models refuse the old field; many servers know no other.
        let field = match dialect {
            Dialect::OpenAi => "max_completion_tokens",
            Dialect::Compatible => "max_tokens",
        };
        body.insert(field.to_owned(), limit.into());
    }
    wire::bytes(&Value::Object(body))
}

fn message(message: &Message, names: &ToolNames, echo: &dyn Fn(&str) -> Option<Value>) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text.as_deref().unwrap_or_default() })
        }
        Message::Assistant { text, calls } => {
            let mut entry = json!({ "role": "assistant", "content": text });
            let mut list = Vec::new();
            for earlier in calls {
                let mut call = call(earlier, names);
                if let Some(Value::Object(mut kept)) = echo(&earlier.id) {
                    if let Some(extra) = kept.remove(OF_CALL) {
                        call[OF_CALL] = extra;
                    }
                    for (field, value) in kept {
                        entry[field] = value;
                    }
                }
                list.push(call);
            }
            entry["tool_calls"] = list.into();
            entry
        }
        Message::ToolResult { call, content, .. } => {
            json!({ "role": "tool", "tool_call_id": call, "content": content })
        }
    }
}

fn call(call: &ToolCall, names: &ToolNames) -> Value {
    // Some servers parse the arguments of earlier calls and refuse the request where they can't.
    let arguments = match &call.arguments {
        CallArguments::Json(value) => value.to_string(),
        CallArguments::Malformed(_) => wire::arguments_as_object(&call.arguments).to_string(),
    };
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": names.spell(&call.name), "arguments": arguments },
    })
}

fn effort(request: &ModelRequest, dialect: Dialect) -> Option<&'static str> {
    match request.reasoning_effort {
        Some(ReasoningEffort::Minimal) => Some("minimal"),
        Some(ReasoningEffort::Low) => Some("low"),
        Some(ReasoningEffort::Medium) => Some("medium"),
        Some(ReasoningEffort::High) => Some("high"),
        // On this endpoint newer models take tools only when told not to reason. An effort that
        // was asked for is sent as asked: the provider's refusal says what to change.
        None if dialect == Dialect::OpenAi
            && !request.tools.is_empty()
            && reasons_without_tools(&request.model.model) =>
        {
            Some("none")
        }
        None => None,
    }
}

/// Whether the model is GPT 5.4 or later, which refuse tools beside reasoning here.
fn reasons_without_tools(model: &str) -> bool {
    let Some(version) = model.strip_prefix("gpt-") else {
        return false;
    };
    let version = version.split('-').next().unwrap_or_default();
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(major), Ok(minor)) => (major, minor) >= (5, 4),
        _ => false,
    }
}

/// Reads a response body.
pub(crate) fn read(body: &[u8], asked: &Asked<'_>) -> Result<Reading, Unreadable> {
    let json = wire::parse(body)?;
    let choice = json
        .get("choices")
        .and_then(|choices| choices.get(0))
        .ok_or_else(|| Unreadable::shape("choices"))?;
    let message = choice
        .get("message")
        .and_then(Value::as_object)
        .ok_or_else(|| Unreadable::shape("message"))?;
    let mut calls = Calls::none(asked);
    let mut echoes = Vec::new();
    match message.get("tool_calls") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) => {
            for call in list {
                let id = read_call(call, &mut calls)?;
                let first = echoes.is_empty();
                echoes.push((id, beside(call, first.then_some(message))));
            }
        }
        Some(_) => return Err(Unreadable::shape("list of tool calls")),
    }
    let (text, refusal) = content(message)?;
    let usage = json.get("usage");
    echoes.retain(|(_, beside)| beside.as_object().is_some_and(|kept| !kept.is_empty()));
    let answer = ModelAnswer {
        text,
        calls: calls.take(),
        finish: finish(choice.get("finish_reason"), refusal)?,
        usage: TokenUsage {
            input_tokens: wire::tokens(usage, "prompt_tokens"),
            output_tokens: wire::tokens(usage, "completion_tokens"),
        },
    };
    Ok(Reading { answer, echoes })
}

/// What has to come back beside a call, and beside the message where the call is its first.
fn beside(call: &Value, message: Option<&Map<String, Value>>) -> Value {
    let of_message = OF_MESSAGE
        .into_iter()
        .filter_map(|field| Some((field, message?.get(field)?)));
    let of_call = call.get(OF_CALL).map(|extra| (OF_CALL, extra));
    of_message
        .chain(of_call)
        .filter(|(_, value)| !value.is_null())
        .map(|(field, value)| (field.to_owned(), value.clone()))
        .collect()
}

fn read_call(call: &Value, calls: &mut Calls<'_>) -> Result<String, Unreadable> {
    let function = call.get("function");
    let name = function
        .and_then(|function| function.get("name"))
        .and_then(Value::as_str)
        .ok_or_else(|| Unreadable::shape("name in a tool call"))?;
    let arguments = match function.and_then(|function| function.get("arguments")) {
        Some(Value::String(text)) => wire::arguments_in_text(text),
        // Not the standard, but typed all the same.
        Some(value @ Value::Object(_)) => CallArguments::Json(value.clone()),
        Some(other) => CallArguments::Malformed(other.to_string()),
        None => CallArguments::Malformed(String::new()),
    };
    Ok(calls.add(call.get("id").and_then(Value::as_str), name, arguments))
}

/// The message's text, and its refusal if it is one.
fn content(message: &Map<String, Value>) -> Result<(Option<String>, Option<String>), Unreadable> {
    let said = message.get("refusal").and_then(Value::as_str);
    match message.get("content") {
        None | Some(Value::Null) => Ok((None, wire::text(said))),
        Some(Value::String(text)) => Ok((wire::text([text.as_str()]), wire::text(said))),
        Some(Value::Array(parts)) => {
            let of = |field| {
                parts
                    .iter()
                    .filter_map(move |part: &Value| part.get(field).and_then(Value::as_str))
            };
            Ok((
                wire::text(of("text")),
                wire::text(of("refusal").chain(said)),
            ))
        }
        Some(_) => Err(Unreadable::shape("readable content")),
    }
}

fn finish(word: Option<&Value>, refusal: Option<String>) -> Result<Finish, Unreadable> {
    match (word.and_then(Value::as_str), refusal) {
        (_, Some(reason)) => Ok(Finish::Refused {
            reason: words::line(&reason),
        }),
        (Some("content_filter"), None) => Ok(Finish::Refused {
            reason: "stopped by the content filter".to_owned(),
        }),
        (Some("length" | "max_tokens" | "model_length"), None) => Ok(Finish::CutOff),
        (Some(word @ ("error" | "insufficient_system_resource")), None) => Err(Unreadable(
            format!("the provider broke the answer off ({word})"),
        )),
        (_, None) => Ok(Finish::Complete),
    }
}
