//! Agents and councils that a file defines (G11, G17).

use std::collections::{BTreeMap, HashSet};

use crate::engine::limits;
use crate::engine::routine::definition::{
    AgentDefinition, CouncilDefinition, CouncilStrategy, ModelRole, ReasoningEffort,
};
use crate::engine::routine::file::Node;
use crate::engine::routine::issue::Code;
use crate::engine::routine::outline::{Named, Placed};
use crate::engine::routine::reader::context::{Context, placed};
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::table::{Part, Shape, Table, optional, required};
use crate::engine::routine::reader::words::Word;
use crate::engine::routine::template::Template;

/// An agent.
pub(in crate::engine::routine) static AGENT: Table = Table {
    name: "agent",
    parts: &[&Part(&[
        optional("instructions", Shape::Template, "Its system text."),
        optional("model", Shape::Text, "provider/model; wins over the role."),
        optional(
            "role",
            Shape::Word(ModelRole::WORDS),
            "A role of the model policy.",
        ),
        optional("tools", Shape::Texts, "The tools that it may be offered."),
        optional(
            "reasoning_effort",
            Shape::Word(ReasoningEffort::WORDS),
            "How hard the model should think.",
        ),
        optional(
            "max_output_tokens",
            Shape::Whole(1, u32::MAX as u64),
            "Limit of one answer, in tokens.",
        ),
    ])],
};

/// A council.
pub(in crate::engine::routine) static COUNCIL: Table = Table {
    name: "council",
    parts: &[&Part(&[
        required("leader", Shape::Text, "The agent that ends the step."),
        required("members", Shape::Texts, "The other agents, in order."),
        required(
            "strategy",
            Shape::Word(CouncilStrategy::WORDS),
            "How they work together.",
        ),
        optional(
            "max_calls",
            Shape::Whole(1, u32::MAX as u64),
            "Calls that the leader of a dynamic council may make; 8 by default.",
        ),
    ])],
};

/// Reads the agents. Names are known also where their definitions are broken.
pub(in crate::engine::routine) fn agents(
    cx: Context<'_>,
    node: &Node,
) -> BTreeMap<String, AgentDefinition> {
    let mut agents = BTreeMap::new();
    for entry in cx.entries(node, "agents").unwrap_or_default() {
        let agent = agent(cx, &entry.key, &entry.value).unwrap_or_default();
        agents.insert(entry.key.to_string(), agent);
    }
    agents
}

fn agent(cx: Context<'_>, name: &str, node: &Node) -> Option<AgentDefinition> {
    let fields = Fields::open(cx, node, &AGENT)?;
    let agent = AgentDefinition {
        instructions: instructions(&fields, name),
        model: model(&fields),
        role: fields.word("role"),
        tools: fields.tools("tools"),
        reasoning_effort: fields.word("reasoning_effort"),
        max_output_tokens: fields.count("max_output_tokens", Code::BadValue, 1),
    };
    fields.close();
    Some(agent)
}

/// An agent's own instructions. They are a template, whose parameters are judged here and whose
/// other names where the agent works.
fn instructions(fields: &Fields<'_>, name: &str) -> Option<String> {
    let node = fields.node("instructions")?;
    let text = placed(&fields.cx, node, "instructions")?;
    match Template::parse(&text.value) {
        Ok(template) => fields.cx.note_told(name, text.at, &template),
        Err(bad) => {
            let message = format!("instructions: {bad}");
            fields.cx.report(Code::BadTemplate, text.at, message);
        }
    }
    Some(text.value)
}

fn model(fields: &Fields<'_>) -> Option<String> {
    let model = fields.placed_text("model")?;
    let exact = match model.value.split_once('/') {
        Some((provider, name)) => !provider.trim().is_empty() && !name.trim().is_empty(),
        None => model.value == "offline",
    };
    if !exact {
        let message = format!("`{}` is no model; write provider/model", model.value);
        fields.cx.report(Code::BadValue, model.at, message);
    }
    Some(model.value)
}

/// Reads the councils. Names are known also where their definitions are broken.
pub(in crate::engine::routine) fn councils(
    cx: Context<'_>,
    node: &Node,
) -> (Vec<String>, BTreeMap<String, CouncilDefinition>) {
    let mut names = Vec::new();
    let mut councils = BTreeMap::new();
    for entry in cx.entries(node, "councils").unwrap_or_default() {
        names.push(entry.key.to_string());
        if let Some(council) = council(cx, &entry.value) {
            let leader = std::iter::once(&council.leader);
            let seats = leader.chain(&council.members).cloned().collect();
            cx.notes
                .seats
                .borrow_mut()
                .insert(entry.key.to_string(), seats);
            councils.insert(entry.key.to_string(), council);
        }
    }
    (names, councils)
}

fn council(cx: Context<'_>, node: &Node) -> Option<CouncilDefinition> {
    let fields = Fields::open(cx, node, &COUNCIL)?;
    let leader = fields.name("leader");
    let strategy = fields.word("strategy");
    let max_calls = fields
        .count("max_calls", Code::BadValue, 1)
        .unwrap_or(limits::COUNCIL_CALLS);
    let members = fields.node("members").and_then(|node| {
        let items = cx.items(node, "members")?;
        if items.is_empty() {
            cx.report(
                Code::BadValue,
                node.at,
                "a council needs at least one member",
            );
        }
        let mut members: Vec<Placed<String>> = Vec::new();
        let mut seen = HashSet::new();
        for member in items
            .iter()
            .filter_map(|item| placed(&cx, item, "a member"))
        {
            if !seen.insert(member.value.clone()) {
                let message = format!("`{}` is a member already; each counts once", member.value);
                cx.report(Code::BadValue, member.at, message);
            }
            members.push(member);
        }
        Some(members)
    });
    fields.close();
    for name in leader.iter().chain(members.iter().flatten()) {
        cx.note_name(Named::Agent, name);
    }
    Some(CouncilDefinition {
        leader: leader?.value,
        members: members?.into_iter().map(|member| member.value).collect(),
        strategy: strategy?,
        max_calls,
    })
}
