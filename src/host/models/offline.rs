//! The built-in model that asks nobody (M1).
//!
//! It answers `route_next_steps` with a pass and a handoff for each target that a pass may activate;
//! any other forced tool, a council's vote and a council's parts with arguments made from the schema;
//! everything else with a sentence.
//! Reads no clock, keeps no state: the same request gets the same answer.
//!
//! Whether a target belongs to a pass is said by the item's annotation `x-on` in the tool's schema:
//! `pass`, `fail` or `always`; an item without one counts as `pass`.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::engine::operation::route::ENDING_TOOLS;
use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelContext, ModelOutcome, ModelReply,
    ModelRequest, OfferedTool, TokenUsage, ToolCall, ToolChoice,
};
use crate::engine::routine::definition::ReasoningEffort;
use crate::host::models::wire::{self, ON, ROUTE};
use crate::host::models::{sample, words};

/// Characters of a step's first words that an answer repeats.
const NAMED_CHARS: usize = 80;

/// Answers at once. The bytes are the canonical JSON of the request and of the answer.
pub(crate) fn answer(request: &ModelRequest, context: &ModelContext) -> ModelReply {
    let recorded = record(&Recorded::of(request));
    if context.cancellation.is_cancelled() {
        return ModelReply {
            outcome: ModelOutcome::Stopped,
            request: recorded,
            response: Bytes::new(),
        };
    }
    context.sending.goes_out(1);
    let said = said(request);
    let call = called(request).map(|tool| ToolCall {
        id: format!("offline_{}", request.messages.len()),
        name: tool.name.clone(),
        arguments: CallArguments::Json(if tool.name == ROUTE {
            route(&tool.schema, &said)
        } else {
            sample::value(&tool.schema)
        }),
    });
    let text = call.is_none().then_some(said);
    let response = record(&RecordedAnswer {
        calls: call.iter().map(RecordedCall::of).collect(),
        text: text.as_deref(),
    });
    ModelReply {
        outcome: ModelOutcome::Answered(ModelAnswer {
            text,
            calls: call.into_iter().collect(),
            finish: Finish::Complete,
            usage: TokenUsage::default(),
        }),
        request: recorded,
        response,
    }
}

/// The tool that is called: the forced one, else the one that ends the run.
fn called(request: &ModelRequest) -> Option<&OfferedTool> {
    let mut tools = request.tools.iter();
    match wire::forced(request) {
        Some(name) => tools.find(|tool| tool.name == name),
        None => tools.find(|tool| ENDING_TOOLS.contains(&tool.name.as_str())),
    }
}

/// A sentence with the first words of the latest that the user said.
fn said(request: &ModelRequest) -> String {
    let user = request
        .messages
        .iter()
        .rev()
        .find_map(|message| match &**message {
            Message::User(text) => Some(text),
            Message::Assistant { .. } | Message::ToolResult { .. } => None,
        });
    let first = user.and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
    match first {
        Some(first) => {
            let named: String = words::line(first).chars().take(NAMED_CHARS).collect();
            format!("offline answer to: {named}")
        }
        None => "offline answer".to_owned(),
    }
}

fn route(schema: &Value, said: &str) -> Value {
    let output = match schema.pointer("/properties/output") {
        Some(wanted) if wanted.get("type").is_some_and(|kind| kind != "string") => {
            sample::value(wanted)
        }
        _ => said.into(),
    };
    json!({
        "verdict": "pass",
        "reasoning": "The offline model passes every step; nothing was judged.",
        "output": output,
        "next_steps": next_steps(schema),
    })
}

fn next_steps(schema: &Value) -> Value {
    let Some(items) = schema.pointer("/properties/next_steps/items") else {
        return Value::Array(Vec::new());
    };
    let branches = ["oneOf", "anyOf"]
        .iter()
        .find_map(|word| items.get(word).and_then(Value::as_array));
    let kinds = match branches {
        Some(branches) => branches.as_slice(),
        None => std::slice::from_ref(items),
    };
    let mut steps = Map::new();
    for kind in kinds {
        if kind.get(ON).and_then(Value::as_str) == Some("fail") {
            continue;
        }
        let handoff = kind.pointer("/properties/handoff");
        for target in targets(kind) {
            steps
                .entry(target)
                .or_insert_with(|| sample::handoff(handoff));
        }
    }
    steps
        .into_iter()
        .map(|(target, handoff)| json!({ "target_step": target, "handoff": handoff }))
        .collect()
}

fn targets(kind: &Value) -> impl Iterator<Item = &str> {
    let target = kind.pointer("/properties/target_step");
    let one = target.and_then(|target| target.get("const"));
    let several = target
        .and_then(|target| target.get("enum"))
        .and_then(Value::as_array);
    one.into_iter()
        .chain(several.into_iter().flatten())
        .filter_map(Value::as_str)
}

/// A request as it is recorded. Fields stand in the order of their names, so that the text is
/// canonical without building and cloning a value.
#[derive(Serialize)]
struct Recorded<'a> {
    max_output_tokens: Option<u32>,
    messages: Vec<RecordedMessage<'a>>,
    model: String,
    reasoning_effort: Option<ReasoningEffort>,
    system: &'a str,
    tool_choice: Option<&'a str>,
    tools: Vec<RecordedTool<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum RecordedMessage<'a> {
    Assistant {
        calls: Vec<RecordedCall<'a>>,
        role: &'static str,
        text: Option<&'a str>,
    },
    User {
        role: &'static str,
        text: &'a str,
    },
    Tool {
        call: &'a str,
        content: &'a str,
        role: &'static str,
        tool: &'a str,
    },
}

#[derive(Serialize)]
struct RecordedCall<'a> {
    arguments: Arguments<'a>,
    id: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct RecordedTool<'a> {
    description: &'a str,
    name: &'a str,
    schema: &'a Value,
}

/// An answer as it is recorded.
#[derive(Serialize)]
struct RecordedAnswer<'a> {
    calls: Vec<RecordedCall<'a>>,
    text: Option<&'a str>,
}

/// Arguments as JSON, or as the text that is none.
#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'a> {
    Json(&'a Value),
    Malformed(&'a str),
}

impl<'a> RecordedCall<'a> {
    fn of(call: &'a ToolCall) -> Self {
        Self {
            arguments: match &call.arguments {
                CallArguments::Json(value) => Arguments::Json(value),
                CallArguments::Malformed(text) => Arguments::Malformed(text),
            },
            id: &call.id,
            name: &call.name,
        }
    }
}

impl<'a> Recorded<'a> {
    fn of(request: &'a ModelRequest) -> Self {
        Self {
            max_output_tokens: request.max_output_tokens,
            messages: request.messages.iter().map(|m| recorded(m)).collect(),
            model: request.model.to_string(),
            reasoning_effort: request.reasoning_effort,
            system: &request.system,
            tool_choice: match &request.tool_choice {
                ToolChoice::Auto => None,
                ToolChoice::Forced(name) => Some(name),
            },
            tools: request
                .tools
                .iter()
                .map(|tool| RecordedTool {
                    description: &tool.description,
                    name: &tool.name,
                    schema: &tool.schema,
                })
                .collect(),
        }
    }
}

fn recorded(message: &Message) -> RecordedMessage<'_> {
    match message {
        Message::User(text) => RecordedMessage::User { role: "user", text },
        Message::Assistant { text, calls } => RecordedMessage::Assistant {
            calls: calls.iter().map(RecordedCall::of).collect(),
            role: "assistant",
            text: text.as_deref(),
        },
        Message::ToolResult {
            call,
            tool,
            content,
        } => RecordedMessage::Tool {
            call,
            content,
            role: "tool",
            tool,
        },
    }
}

fn record(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value)
        .expect("BUG: a record that is no JSON")
        .into()
}
