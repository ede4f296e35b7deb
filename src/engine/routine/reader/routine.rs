//! The whole file: parameters, agents, bounds, the outermost body and the assurance policy.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use crate::engine::limits;
use crate::engine::routine::definition::{
    AssurancePolicy, Parameter, Plugin, PostStepsTrigger, RoutineDefinition, VerificationMethod,
};
use crate::engine::routine::file::{Node, Position, RoutineFile};
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{Notes, Outline, Placed, Site};
use crate::engine::routine::reader::context::{Context, Spelling, read_word};
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::table::{Part, Shape, Table, optional, required};
use crate::engine::routine::reader::words::Word;
use crate::engine::routine::reader::{agents, body, edge, work};

/// A routine file.
pub(in crate::engine::routine) static ROUTINE: Table = Table {
    name: "routine",
    parts: &[
        &Part(&[
            required("routine", Shape::Slug, "The routine's slug."),
            optional(
                "name",
                Shape::Text,
                "Its display name; the slug by default.",
            ),
            optional("description", Shape::Text, "What it is for."),
            optional("version", Shape::Text, "The author's version."),
            optional(
                "parameters",
                Shape::Many(&PARAMETER),
                "What run takes as inputs.",
            ),
            optional("agents", Shape::Named(&agents::AGENT), "Agents by name."),
            optional(
                "councils",
                Shape::Named(&agents::COUNCIL),
                "Councils by name.",
            ),
            optional(
                "required_tools",
                Shape::Texts,
                "The outer bound on what models are offered; none when left out.",
            ),
            optional(
                "required_plugins",
                Shape::Words(Plugin::WORDS),
                "The outer bound on the steps' plugins; none when left out.",
            ),
            optional(
                "deadline_ms",
                Shape::Whole(0, limits::MAX_TIMER_MS),
                "The operation's deadline in milliseconds; 0 is none.",
            ),
            required(
                "entry_steps",
                Shape::Texts,
                "Slugs of the steps that start.",
            ),
        ]),
        &body::STEPS,
        &Part(&[required(
            "edges",
            Shape::Many(&edge::EDGE),
            "The connections of the graph.",
        )]),
        &body::AROUND,
        &Part(&[
            optional(
                "post_steps_trigger",
                Shape::Word(PostStepsTrigger::WORDS),
                "When the post steps run; on_success by default.",
            ),
            optional(
                "assurance",
                Shape::One(&ASSURANCE),
                "What fulfillment needs.",
            ),
        ]),
    ],
};

static PARAMETER: Table = Table {
    name: "parameter",
    parts: &[&Part(&[
        required("name", Shape::Text, "Its name, as -i name=value gives it."),
        optional("description", Shape::Text, "For people."),
        optional(
            "required",
            Shape::Flag,
            "Whether run refuses without it; false by default.",
        ),
        optional(
            "default",
            Shape::Any,
            "Used when no value is given; null by default.",
        ),
    ])],
};

static ASSURANCE: Table = Table {
    name: "assurance policy",
    parts: &[&Part(&[
        optional(
            "required_methods",
            Shape::Words(VerificationMethod::WORDS),
            "Methods of which each must have a verified attempt.",
        ),
        optional(
            "required_coverage",
            Shape::Texts,
            "Words of which each must be covered.",
        ),
        optional(
            "require_independent",
            Shape::Flag,
            "Whether an attempt by another actor is needed; false by default.",
        ),
    ])],
};

/// What was read of a file.
pub(in crate::engine::routine) struct Reading {
    /// Worth something only where no error was found.
    pub(in crate::engine::routine) definition: Option<RoutineDefinition>,
    /// What could be read of the outermost body.
    pub(in crate::engine::routine) outline: Outline,
    /// Names of the parameters.
    pub(in crate::engine::routine) parameters: Vec<String>,
    /// Names of the agents that the file defines.
    pub(in crate::engine::routine) agents: Vec<String>,
    /// Names of the councils that the file defines.
    pub(in crate::engine::routine) councils: Vec<String>,
    pub(in crate::engine::routine) assurance: Option<AssuranceOutline>,
    pub(in crate::engine::routine) notes: Notes,
}

/// An assurance policy with places.
#[derive(Debug, Default)]
pub(in crate::engine::routine) struct AssuranceOutline {
    pub(in crate::engine::routine) methods: Vec<Placed<VerificationMethod>>,
    pub(in crate::engine::routine) coverage: Vec<Placed<String>>,
    /// Where an independent attempt is required.
    pub(in crate::engine::routine) independent: Option<Position>,
}

/// Reads a file. `None` where it isn't even a map.
pub(in crate::engine::routine) fn read(
    file: &RoutineFile,
    spelling: Spelling,
    issues: &Issues,
) -> Option<Reading> {
    let notes = Notes::default();
    let references = RefCell::default();
    let cx = Context {
        issues,
        notes: &notes,
        references: &references,
        subject: Subject::default(),
        site: Site::Instructions,
        level: 1,
        wrong: Code::BadValue,
        spelling,
    };
    let fields = Fields::open(cx, &file.root, &ROUTINE)?;
    let slug = fields.slug("routine");
    let name = fields.text("name");
    let description = fields.text("description");
    let version = fields.text("version");
    let parameters = fields
        .node("parameters")
        .map(|node| parameters(cx, node))
        .unwrap_or_default();
    let agents = fields
        .node("agents")
        .map(|node| agents::agents(cx, node))
        .unwrap_or_default();
    let (council_names, councils) = fields
        .node("councils")
        .map(|node| agents::councils(cx, node))
        .unwrap_or_default();
    let required_tools = fields.tools("required_tools");
    let required_plugins = work::plugins(&fields, "required_plugins");
    let deadline_ms = fields.deadline("deadline_ms");
    let (mut body, mut outline) = body::read(&fields, None);
    body.post_steps_trigger = fields.word("post_steps_trigger").unwrap_or_default();
    let assurance = fields
        .node("assurance")
        .and_then(|node| assurance(cx, node));
    fields.close();
    outline.references = references.into_inner();
    let parameter_names = parameters.iter().map(|one| one.name.clone()).collect();
    let agent_names = agents.keys().cloned().collect();
    let definition = slug.map(|slug| RoutineDefinition {
        name: name.unwrap_or_else(|| slug.value.clone()),
        slug: slug.value,
        description,
        version,
        parameters,
        agents,
        councils,
        required_tools,
        required_plugins,
        deadline_ms,
        body: Arc::new(body),
        assurance: assurance.as_ref().map(AssuranceOutline::policy),
    });
    Some(Reading {
        definition,
        outline,
        parameters: parameter_names,
        agents: agent_names,
        councils: council_names,
        assurance,
        notes,
    })
}

fn parameters(cx: Context<'_>, node: &Node) -> Vec<Parameter> {
    let mut seen = HashSet::new();
    let mut parameters = Vec::new();
    for item in cx.items(node, "parameters").unwrap_or_default() {
        let Some(fields) = Fields::open(cx, item, &PARAMETER) else {
            continue;
        };
        let name = fields.name("name");
        let description = fields.text("description");
        let required = fields.flag("required").unwrap_or(false);
        let default = fields.json("default");
        fields.close();
        let Some(name) = name else { continue };
        if !seen.insert(name.value.clone()) {
            let message = format!("the parameter `{}` stands here twice", name.value);
            cx.report(Code::BadValue, name.at, message);
        }
        parameters.push(Parameter {
            name: name.value,
            description,
            required,
            default,
        });
    }
    parameters
}

fn assurance(cx: Context<'_>, node: &Node) -> Option<AssuranceOutline> {
    let cx = cx.with_code(Code::BadAssurance);
    let fields = Fields::open(cx, node, &ASSURANCE)?;
    let methods = fields
        .node("required_methods")
        .and_then(|node| cx.items(node, "required_methods"))
        .unwrap_or_default()
        .iter()
        .filter_map(|item| {
            Some(Placed {
                value: read_word(&cx, item, "method")?,
                at: item.at,
            })
        })
        .collect();
    let coverage = fields.texts("required_coverage").unwrap_or_default();
    let independent = (fields.flag("require_independent") == Some(true))
        .then(|| fields.node("require_independent").map(|node| node.at))
        .flatten();
    fields.close();
    Some(AssuranceOutline {
        methods,
        coverage,
        independent,
    })
}

impl AssuranceOutline {
    fn policy(&self) -> AssurancePolicy {
        AssurancePolicy {
            required_methods: self.methods.iter().map(|method| method.value).collect(),
            required_coverage: self
                .coverage
                .iter()
                .map(|word| word.value.clone())
                .collect(),
            require_independent: self.independent.is_some(),
        }
    }
}
