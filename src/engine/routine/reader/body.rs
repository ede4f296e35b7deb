//! Bodies: the steps, edges, pre and post steps that a routine and a nested routine share.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use crate::engine::limits;
use crate::engine::routine::definition::{
    Body, DeterministicStep, EdgeCondition, EdgeDefinition, OnError, PostStepsTrigger,
    StepDefinition, StepKind,
};
use crate::engine::routine::file::{Node, Position};
use crate::engine::routine::graph::HandoffRule;
use crate::engine::routine::issue::Code;
use crate::engine::routine::outline::{
    EdgeOutline, HandoffText, Kind, ListState, Listed, Order, Outline, Placed, Site, StepOutline,
    WrittenCondition,
};
use crate::engine::routine::reader::context::{Context, placed};
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::table::{Part, Shape, Table, optional, required};
use crate::engine::routine::reader::{check, deterministic, edge, step};

/// A body of so many times the allowed steps isn't read.
const FAR_BEYOND: usize = 10;

/// Fields that both kinds of bodies have and may leave out.
pub(in crate::engine::routine) static AROUND: Part = Part(&[
    optional(
        "instructions",
        Shape::Template,
        "Added to every agent's system text while the routine runs.",
    ),
    optional(
        "pre_steps",
        Shape::Many(&deterministic::DETERMINISTIC_STEP),
        "Tool calls before the graph.",
    ),
    optional(
        "post_steps",
        Shape::Many(&deterministic::DETERMINISTIC_STEP),
        "Tool calls after the graph.",
    ),
    optional(
        "verify",
        Shape::Choice(&check::CHECKS),
        "Final checks, after the post steps.",
    ),
]);

/// The steps.
pub(in crate::engine::routine) static STEPS: Part = Part(&[required(
    "steps",
    Shape::Choice(&step::STEPS),
    "The nodes of the graph.",
)]);

/// A nested routine.
pub(in crate::engine::routine) static NESTED: Table = Table {
    name: "nested routine",
    parts: &[
        &STEPS,
        &Part(&[
            optional(
                "entry_steps",
                Shape::Texts,
                "Slugs of the steps that start. Without entries and edges the steps run in file order.",
            ),
            optional(
                "edges",
                Shape::Many(&edge::EDGE),
                "The connections of the graph.",
            ),
        ]),
        &AROUND,
    ],
};

/// Reads a nested routine.
pub(in crate::engine::routine) fn nested(
    cx: Context<'_>,
    node: &Node,
    host: Kind,
) -> Option<(Arc<Body>, Outline)> {
    let level = cx.level + 1;
    if level > limits::NESTED_LEVELS {
        let most = limits::NESTED_LEVELS;
        let message =
            format!("routines may lie in each other {most} levels deep, this is one more");
        cx.report(Code::TooDeep, node.at, message);
        return None;
    }
    let references = RefCell::default();
    let cx = Context {
        references: &references,
        level,
        wrong: Code::BadValue,
        ..cx
    };
    let fields = Fields::open(cx, node, &NESTED)?;
    let (mut body, mut outline) = read(&fields, Some(host));
    fields.close();
    let stated = [outline.entries.state, outline.edges.state];
    if stated == [ListState::Missing; 2] {
        put_in_file_order(&mut body, &mut outline);
    } else if outline.edges.state == ListState::Missing {
        // Entries alone say that the graph is stated: there are no edges, and the rules see that.
        outline.edges.state = ListState::Read;
    }
    outline.references = references.into_inner();
    Some((Arc::new(body), outline))
}

/// Reads the fields that both kinds of bodies have. References are left to the caller.
pub(in crate::engine::routine) fn read(fields: &Fields<'_>, host: Option<Kind>) -> (Body, Outline) {
    let cx = fields.cx;
    let instructions = fields.node("instructions").and_then(|node| {
        cx.at_site(Site::Instructions)
            .template(node, "instructions")
    });
    let (pre_names, pre_steps) =
        deterministic_steps(fields, "pre_steps", OnError::Fail, Site::PreStep);
    let entries = listed(fields, "entry_steps", |_, node| {
        placed(&cx, node, "an entry step")
    });
    refuse_masses(fields);
    let mut steps = Vec::new();
    let step_outlines = listed(fields, "steps", |index, node| {
        let (outline, step) = step::step(cx, node, index);
        steps.extend(step);
        Some(outline)
    });
    let mut edges = Vec::new();
    let edge_outlines = listed(fields, "edges", |_, node| {
        let (outline, edge) = edge::edge(cx, node);
        edges.extend(edge);
        Some(outline)
    });
    let (post_names, post_steps) =
        deterministic_steps(fields, "post_steps", OnError::Continue, Site::PostStep);
    let verify = fields
        .node("verify")
        .map(|node| check::checks(cx.at_site(Site::FinalChecks), node))
        .unwrap_or_default();
    let body = Body {
        instructions,
        pre_steps,
        entry_steps: entries
            .items
            .iter()
            .map(|entry| entry.value.clone())
            .collect(),
        steps,
        edges,
        post_steps,
        post_steps_trigger: PostStepsTrigger::default(),
        verify,
    };
    let outline = Outline {
        at: fields.at,
        host,
        entries,
        steps: step_outlines,
        edges: edge_outlines,
        order: Order::Stated,
        pre_steps: pre_names,
        post_steps: post_names,
        references: Vec::new(),
    };
    (body, outline)
}

/// Gives up on a body with far more steps than it may have: reading them all would take time and
/// memory, and nobody wants to hear what is wrong with each.
fn refuse_masses(fields: &Fields<'_>) {
    let steps = fields.node("steps").and_then(Node::as_list);
    let mut counted = steps.unwrap_or_default().iter().filter(|step| {
        let word = step.get("type").and_then(Node::as_text);
        !matches!(word, Some("terminal" | "terminal_fail"))
    });
    let most = limits::DEFINITION_STEPS;
    let Some(first) = counted.nth(most) else {
        return;
    };
    let count = most + 1 + counted.count();
    if count > FAR_BEYOND * most {
        let message = format!("there are {count} steps, {most} are allowed besides terminals");
        fields.cx.report(Code::TooManySteps, first.at, message);
        fields.cx.issues.give_up();
    }
}

fn listed<'a, T>(
    fields: &Fields<'a>,
    name: &'static str,
    mut read: impl FnMut(usize, &'a Node) -> Option<T>,
) -> Listed<T> {
    let missing = |state| Listed {
        at: fields.at,
        items: Vec::new(),
        state,
    };
    let Some(node) = fields.node(name) else {
        return missing(ListState::Missing);
    };
    let Some(items) = fields.cx.items(node, name) else {
        return missing(ListState::Unreadable);
    };
    let items = items.iter().enumerate();
    Listed {
        at: node.at,
        items: items
            .take_while(|_| !fields.cx.issues.gave_up())
            .filter_map(|(index, item)| read(index, item))
            .collect(),
        state: ListState::Read,
    }
}

fn deterministic_steps(
    fields: &Fields<'_>,
    name: &'static str,
    on_error: OnError,
    site: fn(usize) -> Site,
) -> (Vec<Placed<String>>, Vec<DeterministicStep>) {
    let mut steps = Vec::new();
    let names = listed(fields, name, |index, node| {
        let cx = fields.cx.at_site(site(index));
        let (name, step) = deterministic::deterministic_step(cx, node, on_error);
        steps.extend(step);
        // A step without a name keeps its place, so that indices stay right.
        Some(name.unwrap_or(Placed {
            value: String::new(),
            at: node.at,
        }))
    });
    (names.items, steps)
}

/// Lets the steps run in file order to a terminal: the last step, or one that is added.
fn put_in_file_order(body: &mut Body, outline: &mut Outline) {
    outline.order = Order::FileOrder;
    let Some(last) = outline.steps.items.last() else {
        return;
    };
    if !last.is_terminal() {
        let (terminal, step) = added_terminal(&outline.steps.items, last.at);
        outline.steps.items.push(terminal);
        body.steps.push(step);
    }
    // Of two steps with one slug the first counts: nobody wrote the cycle that both would make.
    let mut seen = HashSet::new();
    let named: Vec<&StepOutline> = outline
        .steps
        .items
        .iter()
        .filter(|step| step.slug().is_some_and(|slug| seen.insert(slug)))
        .collect();
    outline.entries.items = named
        .first()
        .and_then(|step| step.slug.clone())
        .into_iter()
        .collect();
    body.entry_steps = outline
        .entries
        .items
        .iter()
        .map(|entry| entry.value.clone())
        .collect();
    let mut edges = Vec::new();
    for pair in named.windows(2) {
        let condition = match pair[0].kind {
            Some(Kind::Gate) => EdgeCondition::OnPass,
            _ => EdgeCondition::Always,
        };
        edges.push(EdgeOutline {
            at: pair[0].at,
            from: pair[0].slug.clone(),
            to: pair[1].slug.clone(),
            condition: WrittenCondition::Given(Placed {
                value: condition,
                at: pair[0].at,
            }),
            max_attempts: None,
            handoff: HandoffText::Given,
            rule: HandoffRule::any(),
        });
    }
    body.edges = edges
        .iter()
        .filter_map(|edge| {
            let WrittenCondition::Given(condition) = &edge.condition else {
                return None;
            };
            Some(EdgeDefinition {
                from: edge.from.as_ref()?.value.clone(),
                to: edge.to.as_ref()?.value.clone(),
                condition: condition.value,
                purpose: None,
                handoff_instructions: None,
                handoff_schema: None,
                max_attempts: None,
            })
        })
        .collect();
    outline.edges.items = edges;
    outline.entries.state = ListState::Read;
    outline.edges.state = ListState::Read;
}

/// `done`, else `done-2`, and so on.
fn added_terminal(steps: &[StepOutline], at: Position) -> (StepOutline, StepDefinition) {
    let taken = |slug: &str| steps.iter().any(|step| step.slug() == Some(slug));
    let mut slug = "done".to_owned();
    let mut number = 1;
    while taken(&slug) {
        number += 1;
        slug = format!("done-{number}");
    }
    let outline = StepOutline {
        at,
        slug: Some(Placed {
            value: slug.clone(),
            at,
        }),
        name: None,
        kind: Some(Kind::Terminal),
        owner: None,
        criteria: 0,
        source: None,
        nested: None,
    };
    let step = StepDefinition {
        name: slug.clone(),
        slug,
        kind: StepKind::Terminal { reason: None },
        condition: None,
        omission: Default::default(),
        verify: Vec::new(),
    };
    (outline, step)
}
