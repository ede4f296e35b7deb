//! What a model does in agent, gate and council steps, and who owns a gate (G15).

use crate::engine::limits;
use crate::engine::routine::definition::{
    AgentStep, CouncilStep, GateOwner, GateStep, ModelWork, OperatorGate, Plugin, Reflection,
    StepKind, VerificationMethod,
};
use crate::engine::routine::file::{Content, Node};
use crate::engine::routine::issue::Code;
use crate::engine::routine::outline::{CheckNote, Feature, Maker, Named, Owner};
use crate::engine::routine::reader::check;
use crate::engine::routine::reader::context::Context;
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::table::{Part, Shape, Table, needed, optional, required};
use crate::engine::routine::reader::words::{ReflectionMode, Word};

/// The fields of work that a model does.
pub(in crate::engine::routine) static WORK: Part = Part(&[
    optional("instructions", Shape::Template, "What to do."),
    optional(
        "expected_output",
        Shape::Template,
        "What the result should look like.",
    ),
    optional(
        "criteria",
        Shape::Templates,
        "What the result is judged by.",
    ),
    optional("tools", Shape::Texts, "The tools that the step asks for."),
    optional(
        "reflection",
        Shape::One(&REFLECTION),
        "A model's judgement against the criteria.",
    ),
    optional(
        "corrections",
        Shape::Whole(0, u32::MAX as u64),
        "Corrections of a wrong route_next_steps call; 2 by default.",
    ),
    optional(
        "max_model_calls",
        Shape::Whole(1, u32::MAX as u64),
        "Model calls of one run; 16 by default.",
    ),
    optional(
        "timeout_ms",
        Shape::Whole(1, limits::MAX_TIMER_MS),
        "Time limit in milliseconds; none by default.",
    ),
    optional(
        "memory",
        Shape::Texts,
        "Memory keys that the model is shown.",
    ),
    optional(
        "plugins",
        Shape::Words(Plugin::WORDS),
        "Plugins whose tools it is offered.",
    ),
]);

/// The owner of an agent step.
pub(in crate::engine::routine) static AGENT: Part = Part(&[needed(
    "agent",
    Code::MissingAgent,
    Shape::Text,
    "The agent that works; `default` is the chat agent.",
)]);

/// The owner of a gate: exactly one of these.
pub(in crate::engine::routine) static GATE: Part = Part(&[
    optional("agent", Shape::Text, "The agent that judges."),
    optional("operator", Shape::Flag, "true: a person judges."),
    optional(
        "checks",
        Shape::Choice(&check::CHECKS),
        "Checks that decide without a model.",
    ),
]);

/// The owner of a council step.
pub(in crate::engine::routine) static COUNCIL: Part = Part(&[needed(
    "council",
    Code::MissingCouncil,
    Shape::Text,
    "The council that works.",
)]);

static REFLECTION: Table = Table {
    name: "reflection",
    parts: &[&Part(&[
        required(
            "mode",
            Shape::Word(ReflectionMode::WORDS),
            "off, strict or warn.",
        ),
        optional(
            "min_score",
            Shape::Number(0.0, 100.0),
            "The score that is needed; 80 by default.",
        ),
    ])],
};

/// Reads an agent step.
pub(in crate::engine::routine) fn agent(fields: &Fields<'_>) -> Option<(StepKind, usize)> {
    let agent = fields.name("agent");
    let (work, criteria) = work(fields);
    let agent = agent?;
    fields.cx.note_worker(Named::Agent, &agent);
    Some((
        StepKind::Agent(AgentStep {
            agent: agent.value,
            work,
        }),
        criteria,
    ))
}

/// Reads a council step.
pub(in crate::engine::routine) fn council(fields: &Fields<'_>) -> Option<(StepKind, usize)> {
    let council = fields.name("council");
    let (work, criteria) = work(fields);
    judge(fields, VerificationMethod::CouncilReview);
    let council = council?;
    fields.cx.note_worker(Named::Council, &council);
    Some((
        StepKind::Council(CouncilStep {
            council: council.value,
            work,
        }),
        criteria,
    ))
}

/// Reads a gate, and who owns it.
pub(in crate::engine::routine) fn gate(
    fields: &Fields<'_>,
) -> (Option<Owner>, usize, Option<StepKind>) {
    let agent = fields.name("agent");
    let operator = fields.flag("operator") == Some(true);
    let checks = fields.node("checks");
    if let Some(agent) = &agent {
        fields.cx.note_worker(Named::Agent, agent);
    }
    let (work, criteria) = work(fields);
    let checks = checks.map(|node| {
        let list = check::checks(fields.cx, node);
        if node.as_list().is_some_and(<[Node]>::is_empty) {
            let message = "a gate's `checks` need at least one check";
            fields.cx.report(Code::BadCheck, node.at, message);
        }
        list
    });
    let mut owners = Vec::new();
    if fields.node("agent").is_some() {
        owners.push(Owner::Agent);
    }
    if operator {
        owners.push(Owner::Operator);
    }
    if checks.is_some() {
        owners.push(Owner::Checks);
    }
    let owner = match owners[..] {
        [owner] => owner,
        [] => {
            let message = "a gate needs an owner: `agent`, `operator: true` or `checks`";
            fields.cx.report(Code::MissingAgent, fields.at, message);
            return (None, criteria, None);
        }
        _ => {
            let message = "a gate has one owner: keep one of `agent`, `operator`, `checks`";
            fields.cx.report(Code::GateOwner, fields.at, message);
            return (None, criteria, None);
        }
    };
    let owned = match owner {
        Owner::Agent => {
            judge(fields, VerificationMethod::ModelReview);
            agent.map(|agent| {
                GateOwner::Agent(AgentStep {
                    agent: agent.value,
                    work,
                })
            })
        }
        Owner::Operator => {
            judge(fields, VerificationMethod::OperatorAttestation);
            Some(GateOwner::Operator(OperatorGate {
                instructions: work.instructions,
                criteria: work.criteria,
            }))
        }
        Owner::Checks => checks.map(GateOwner::Checks),
    };
    let kind = owned.map(|owner| StepKind::Gate(GateStep { owner }));
    (Some(owner), criteria, kind)
}

/// The work, and how many criteria stand in the file.
fn work(fields: &Fields<'_>) -> (ModelWork, usize) {
    let written = fields.node("criteria").and_then(Node::as_list);
    let work = ModelWork {
        instructions: fields.template("instructions"),
        expected_output: fields.template("expected_output"),
        criteria: fields.templates("criteria"),
        tools: fields.tools("tools"),
        reflection: fields
            .node("reflection")
            .and_then(|node| reflection(fields.cx, node))
            .unwrap_or_default(),
        corrections: fields
            .count("corrections", Code::BadValue, 0)
            .unwrap_or(limits::CORRECTIONS),
        max_model_calls: fields
            .count("max_model_calls", Code::BadValue, 1)
            .unwrap_or(limits::MODEL_CALLS),
        timeout_ms: fields.timer("timeout_ms"),
        memory: fields
            .texts("memory")
            .unwrap_or_default()
            .into_iter()
            .map(|key| key.value)
            .collect(),
        plugins: plugins(fields, "plugins").unwrap_or_default(),
    };
    if let Some(node) = fields.node("plugins")
        && work.plugins.contains(&Plugin::Evidence)
    {
        fields.cx.note_feature(Feature::EvidencePlugin, node.at);
    }
    (work, written.map_or(0, <[Node]>::len))
}

/// A list of plugins.
pub(in crate::engine::routine) fn plugins(
    fields: &Fields<'_>,
    name: &'static str,
) -> Option<Vec<Plugin>> {
    let words = fields.texts(name)?;
    let plugins = words.iter().filter_map(|word| {
        let plugin = Plugin::from_word(&word.value);
        if plugin.is_none() {
            let known = Plugin::WORDS.join(" and ");
            let message = format!("there is no plugin `{}`; known are {known}", word.value);
            fields.cx.report(Code::UnknownPlugin, word.at, message);
        }
        plugin
    });
    Some(plugins.collect())
}

fn reflection(cx: Context<'_>, node: &Node) -> Option<Reflection> {
    let fields = Fields::open(cx, node, &REFLECTION)?;
    let mode = fields.word("mode");
    let min_score = match fields.node("min_score") {
        None => Some(limits::MIN_SCORE),
        Some(node) => {
            let score = match &node.content {
                Content::Number(number) => number.as_f64(),
                Content::Null
                | Content::Bool(_)
                | Content::Text(_)
                | Content::List(_)
                | Content::Map(_) => None,
            };
            let score = score.filter(|score| (0.0..=100.0).contains(score));
            if score.is_none() {
                let message = "min_score must be a number from 0 to 100";
                cx.report(Code::BadValue, node.at, message);
            }
            score
        }
    };
    fields.close();
    let (mode, min_score) = (mode?, min_score?);
    let reflection = match mode {
        ReflectionMode::Off => return Some(Reflection::Off),
        ReflectionMode::Strict => Reflection::Strict { min_score },
        ReflectionMode::Warn => Reflection::Warn { min_score },
    };
    cx.note_feature(Feature::Reflection, node.at);
    note_judge(&cx, VerificationMethod::ModelReview);
    Some(reflection)
}

fn judge(fields: &Fields<'_>, method: VerificationMethod) {
    note_judge(&fields.cx, method);
}

fn note_judge(cx: &Context<'_>, method: VerificationMethod) {
    cx.notes.checks.borrow_mut().push(CheckNote {
        method: Some(method),
        covers: Vec::new(),
        independent: true,
        made_by: Maker::Judge,
    });
}
