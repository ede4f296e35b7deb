//! The tools of a council: a vote, the parts of the work, a question to a member (G11).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::state::TurnEnd;
use crate::engine::ports::OfferedTool;

/// The tool by which a member votes.
pub(super) const VOTE_TOOL: &str = "cast_vote";

/// The tool by which a leader gives each member its part.
pub(super) const ASSIGN_TOOL: &str = "assign_parts";

/// What stands before a member's name in the tool by which a leader asks it.
const ASK: &str = "ask_";

/// The longest tool name that every provider takes.
const NAME_CHARS: usize = 64;

/// The tools by which a leader asks its members, in their order.
pub(super) fn ask_tools(members: &[String]) -> Vec<OfferedTool> {
    let mut tools: Vec<OfferedTool> = Vec::with_capacity(members.len());
    for member in members {
        let taken = |name: &String| {
            let others = members.iter().filter(|other| *other != member);
            let mut whole = others.map(|other| format!("{ASK}{other}"));
            whole.any(|other| other == *name) || tools.iter().any(|tool| tool.name == *name)
        };
        let numbered = (2_u32..).map(|n| name_of(member, &format!("_{n}")));
        let name = std::iter::once(name_of(member, ""))
            .chain(numbered)
            .find(|name| !taken(name))
            .expect("BUG: numbers ended");
        tools.push(OfferedTool {
            name,
            description: format!("Asks the council's member {member} and gives its answer."),
            schema: json!({
                "type": "object",
                "properties": { "message": { "type": "string", "minLength": 1 } },
                "required": ["message"],
            }),
        });
    }
    tools
}

/// A name that every provider takes: agents may be called anything.
fn name_of(member: &str, suffix: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    let name = ASK.chars().chain(member.chars().map(plain));
    let name: String = name.take(NAME_CHARS - suffix.len()).collect();
    name + suffix
}

pub(super) fn vote_tool() -> OfferedTool {
    OfferedTool {
        name: VOTE_TOOL.to_owned(),
        description: "Casts your vote and ends your part.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "verdict": { "type": "string", "enum": ["pass", "fail"] },
                "reasoning": { "type": "string", "minLength": 1 },
            },
            "required": ["verdict", "reasoning"],
        }),
    }
}

pub(super) fn assign_tool(members: &[String]) -> OfferedTool {
    let parts: Map<String, Value> = members
        .iter()
        .map(|it| (it.clone(), json!({ "type": "string", "minLength": 1 })))
        .collect();
    OfferedTool {
        name: ASSIGN_TOOL.to_owned(),
        description: "Gives each member its part of the work.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "parts": { "type": "object", "properties": parts, "required": members },
            },
            "required": ["parts"],
        }),
    }
}

/// Reads a vote, or says what is wrong with it.
pub(super) fn read_vote(args: &Value) -> Result<TurnEnd, Vec<String>> {
    let mut problems = Vec::new();
    let verdict = match args.get("verdict").and_then(Value::as_str) {
        Some("pass") => Verdict::Pass,
        Some("fail") => Verdict::Fail,
        Some(_) | None => {
            problems.push("`verdict` must be \"pass\" or \"fail\"".to_owned());
            Verdict::Fail
        }
    };
    let reasoning = args
        .get("reasoning")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if reasoning.trim().is_empty() {
        problems.push("`reasoning` must be non-empty text".to_owned());
    }
    match problems.is_empty() {
        true => Ok(TurnEnd::Vote {
            verdict,
            reasoning: reasoning.to_owned(),
        }),
        false => Err(problems),
    }
}

/// Reads the parts of all members, or says what is wrong with them.
pub(super) fn read_parts(members: &[String], args: &Value) -> Result<TurnEnd, Vec<String>> {
    let Some(given) = args.get("parts").and_then(Value::as_object) else {
        return Err(vec![
            "`parts` must be an object with a text for each member".into(),
        ]);
    };
    let mut problems = Vec::new();
    let mut parts = BTreeMap::new();
    for member in members {
        match given.get(member).and_then(Value::as_str) {
            Some(part) if !part.trim().is_empty() => {
                parts.insert(member.clone(), part.to_owned());
            }
            Some(_) | None => problems.push(format!("`{member}` needs a part, as text")),
        }
    }
    for unknown in given.keys().filter(|name| !members.contains(name)) {
        problems.push(format!("there is no member `{unknown}`"));
    }
    match problems.is_empty() {
        true => Ok(TurnEnd::Parts(parts)),
        false => Err(problems),
    }
}
