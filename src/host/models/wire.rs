//! What the four wires have in common: a request becomes bytes, bytes become an answer, and nothing
//! is sent here. Each wire's shapes are in a module of its own.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::engine::ports::{
    CallArguments, ModelAnswer, ModelRequest, OfferedTool, ToolCall, ToolChoice,
};
use crate::host::models::names::ToolNames;
use crate::host::models::words;
use crate::host::strict_json;

/// A body that is no readable answer. For people, already cleaned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(pub(crate) String);

impl Unreadable {
    /// The body lacks what every answer of this wire has.
    pub(crate) fn shape(missing: &str) -> Self {
        Self(format!("the answer has no {missing}"))
    }
}

/// A read answer, and what the provider wants back unchanged, each under a call's id.
#[derive(Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) answer: ModelAnswer,
    pub(crate) echoes: Vec<(String, Value)>,
}

impl From<ModelAnswer> for Reading {
    fn from(answer: ModelAnswer) -> Self {
        Self {
            answer,
            echoes: Vec::new(),
        }
    }
}

/// What reading an answer needs to know of its request.
pub(crate) struct Asked<'a> {
    pub(crate) names: &'a ToolNames,
    /// Entries of the conversation so far: makes the ids of its calls differ.
    pub(crate) messages: usize,
}

/// The tool that must be called, if it was offered at all.
pub(crate) fn forced(request: &ModelRequest) -> Option<&str> {
    match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Forced(name) => {
            let offered = request.tools.iter().any(|tool| &tool.name == name);
            offered.then_some(name.as_str())
        }
    }
}

/// The tool that ends every step with a model (G4).
pub(crate) const ROUTE: &str = "route_next_steps";
/// The annotation of its targets that the offline model reads.
pub(crate) const ON: &str = "x-on";

/// A tool's schema as a provider sees it: without the annotation, which no provider knows.
pub(crate) fn schema(tool: &OfferedTool) -> Value {
    let mut schema = tool.schema.clone();
    if tool.name == ROUTE
        && let Some(Value::Object(items)) = schema.pointer_mut("/properties/next_steps/items")
    {
        items.remove(ON);
        for branches in ["oneOf", "anyOf"] {
            let branches = items.get_mut(branches).and_then(Value::as_array_mut);
            for branch in branches.into_iter().flatten() {
                branch.as_object_mut().map(|branch| branch.remove(ON));
            }
        }
    }
    schema
}

/// A body as JSON. An error object counts as unreadable, whatever the status said.
pub(crate) fn parse(body: &[u8]) -> Result<Map<String, Value>, Unreadable> {
    let json = strict_json::parse_bytes(body).map_err(|error| {
        let seen = words::provider_message(body);
        Unreadable(format!("the answer is not JSON ({error}): {seen:?}"))
    })?;
    if json.get("error").is_some_and(|error| !error.is_null()) {
        let message = words::line(words::error_text(&json).unwrap_or("without a message"));
        return Err(Unreadable(format!("an error came as an answer: {message}")));
    }
    match json {
        Value::Object(object) => Ok(object),
        _ => Err(Unreadable("the answer is not a JSON object".to_owned())),
    }
}

/// Bytes of a request.
pub(crate) fn bytes(body: &Value) -> Bytes {
    body.to_string().into()
}

/// Arguments that came as JSON text. A key that is given twice makes them malformed.
pub(crate) fn arguments_in_text(text: &str) -> CallArguments {
    match strict_json::parse(text) {
        Ok(value) => CallArguments::Json(value),
        Err(_) => CallArguments::Malformed(text.to_owned()),
    }
}

/// Arguments as they go back in a conversation, for wires that take nothing but an object.
pub(crate) fn arguments_as_object(arguments: &CallArguments) -> Value {
    match arguments {
        CallArguments::Json(value) if value.is_object() => value.clone(),
        CallArguments::Json(value) => json!({ "arguments": value }),
        CallArguments::Malformed(text) => json!({ "malformed": text }),
    }
}

/// Joins the texts of an answer; nothing but space is no text.
pub(crate) fn text<'a>(parts: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let text: String = parts.into_iter().collect();
    (!text.trim().is_empty()).then_some(text)
}

/// A field of the provider's account.
pub(crate) fn tokens(usage: Option<&Value>, field: &str) -> u64 {
    count(usage.and_then(|usage| usage.get(field)))
}

/// A count of tokens; zero where the provider said nothing.
pub(crate) fn count(tokens: Option<&Value>) -> u64 {
    tokens.and_then(Value::as_u64).unwrap_or_default()
}

const MADE_UP: &str = "amos_call_";

/// Whether the adapter made the id up, so that the provider doesn't know it.
pub(crate) fn is_made_up(id: &str) -> bool {
    id.starts_with(MADE_UP)
}

/// Collects an answer's calls, with an id of its own for each that has none.
pub(crate) struct Calls<'a> {
    asked: &'a Asked<'a>,
    seen: HashSet<String>,
    calls: Vec<ToolCall>,
}

impl<'a> Calls<'a> {
    pub(crate) fn none(asked: &'a Asked<'a>) -> Self {
        Self {
            asked,
            seen: HashSet::new(),
            calls: Vec::new(),
        }
    }

    /// Adds a call and says under which id.
    pub(crate) fn add(
        &mut self,
        id: Option<&str>,
        spelled: &str,
        arguments: CallArguments,
    ) -> String {
        let given = id.filter(|id| !id.is_empty() && !self.seen.contains(*id));
        let id = match given {
            Some(id) => id.to_owned(),
            None => format!("{MADE_UP}{}_{}", self.asked.messages, self.calls.len()),
        };
        self.seen.insert(id.clone());
        self.calls.push(ToolCall {
            id: id.clone(),
            name: self.asked.names.meant_by(spelled),
            arguments,
        });
        id
    }

    pub(crate) fn take(self) -> Vec<ToolCall> {
        self.calls
    }
}

/// A conversation whose neighbours of one role are joined: Anthropic and Gemini want every result of
/// one answer's calls in one entry.
#[derive(Default)]
pub(crate) struct Turns {
    turns: Vec<(&'static str, Vec<Value>)>,
}

impl Turns {
    /// Adds parts to the entry of that role; none add nothing.
    pub(crate) fn add(&mut self, role: &'static str, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some((last, list)) if *last == role => list.extend(parts),
            _ => self.turns.push((role, parts)),
        }
    }

    /// The entries, with the wire's word for their parts.
    pub(crate) fn into_json(self, parts_field: &str) -> Value {
        let entry = |(role, parts)| {
            let mut entry = Map::new();
            entry.insert("role".to_owned(), Value::from(role));
            entry.insert(parts_field.to_owned(), Value::Array(parts));
            Value::Object(entry)
        };
        self.turns.into_iter().map(entry).collect()
    }
}
