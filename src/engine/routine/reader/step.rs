//! Steps: one table a kind, and what all kinds share.

use crate::engine::routine::definition::{
    CheckDefinition, Omission, StepCondition, StepDefinition, StepKind,
};
use crate::engine::routine::file::Node;
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::Subject;
use crate::engine::routine::outline::{Feature, Kind, Placed, Site, StepOutline};
use crate::engine::routine::reader::context::Context;
use crate::engine::routine::reader::fields::Fields;
use crate::engine::routine::reader::repeat::Repeat;
use crate::engine::routine::reader::table::{
    Field, Kinds, Part, Shape, Table, optional, refused, required,
};
use crate::engine::routine::reader::words::Word;
use crate::engine::routine::reader::{check, condition, deterministic, repeat, work};

/// Every kind of step.
pub(in crate::engine::routine) static STEPS: Kinds = Kinds {
    name: "step",
    key: "type",
    tables: &[
        ("agent", &AGENT),
        ("gate", &GATE),
        ("council", &COUNCIL),
        ("tool", &TOOL),
        ("map", &MAP),
        ("fold", &FOLD),
        ("until", &UNTIL),
        ("terminal", &TERMINAL),
        ("terminal_fail", &TERMINAL_FAIL),
    ],
};

const fn kind(words: &'static [&'static str], about: &'static str) -> Field {
    required("type", Shape::Word(words), about)
}

static COMMON: Part = Part(&[
    required("slug", Shape::Slug, "The step's stable name."),
    optional(
        "name",
        Shape::Text,
        "Its display name; the slug by default.",
    ),
]);
static CONDITION: Part = Part(&[optional(
    "condition",
    Shape::One(&condition::STEP_CONDITION),
    "Whether the step runs at all.",
)]);
static OMISSION: Part = Part(&[optional(
    "omission",
    Shape::Word(Omission::WORDS),
    "Whether a skip counts as approved (the default).",
)]);
static VERIFY: Part = Part(&[optional(
    "verify",
    Shape::Choice(&check::CHECKS),
    "The checks that gate everything after the step.",
)]);
static REASON: Part = Part(&[optional("reason", Shape::Template, "Text for people.")]);

static AGENT: Table = Table {
    name: "agent step",
    parts: &[
        &Part(&[kind(&["agent"], "An agent works.")]),
        &COMMON,
        &work::AGENT,
        &work::WORK,
        &CONDITION,
        &OMISSION,
        &VERIFY,
    ],
};
static GATE: Table = Table {
    name: "gate",
    parts: &[
        &Part(&[kind(&["gate"], "A verdict chooses the way.")]),
        &COMMON,
        &work::GATE,
        &work::WORK,
        &Part(&[refused(
            "condition",
            Code::BadCondition,
            "a gate has no condition; put it on the step before",
        )]),
        &OMISSION,
        &VERIFY,
    ],
};
static COUNCIL: Table = Table {
    name: "council step",
    parts: &[
        &Part(&[kind(&["council"], "A council works.")]),
        &COMMON,
        &work::COUNCIL,
        &work::WORK,
        &CONDITION,
        &OMISSION,
        &VERIFY,
    ],
};
static TOOL: Table = Table {
    name: "tool step",
    parts: &[
        &Part(&[kind(&["tool"], "One tool call.")]),
        &COMMON,
        &deterministic::TOOL_CALL,
        &CONDITION,
        &OMISSION,
        &VERIFY,
    ],
};
static MAP: Table = Table {
    name: "map",
    parts: &[
        &Part(&[kind(&["map"], "A nested routine for each item.")]),
        &COMMON,
        &repeat::FROM,
        &repeat::REPEAT,
        &repeat::RESULT,
        &CONDITION,
        &OMISSION,
        &VERIFY,
    ],
};
static FOLD: Table = Table {
    name: "fold",
    parts: &[
        &Part(&[kind(
            &["fold"],
            "A nested routine for each item, carrying a value.",
        )]),
        &COMMON,
        &repeat::FROM,
        &repeat::REPEAT,
        &repeat::FOLD,
        &CONDITION,
        &OMISSION,
        &VERIFY,
    ],
};
static UNTIL: Table = Table {
    name: "until",
    parts: &[
        &Part(&[kind(
            &["until"],
            "A nested routine until a condition holds.",
        )]),
        &COMMON,
        &repeat::REPEAT,
        &repeat::RESULT,
        &repeat::UNTIL,
        &CONDITION,
        &OMISSION,
        &VERIFY,
    ],
};
static TERMINAL: Table = Table {
    name: "terminal",
    parts: &[&Part(&[kind(&["terminal"], "Success.")]), &COMMON, &REASON],
};
static TERMINAL_FAIL: Table = Table {
    name: "terminal_fail",
    parts: &[
        &Part(&[kind(&["terminal_fail"], "Failure.")]),
        &COMMON,
        &REASON,
    ],
};

fn kind_of(word: &str) -> Kind {
    match word {
        "agent" => Kind::Agent,
        "gate" => Kind::Gate,
        "council" => Kind::Council,
        "tool" => Kind::Tool,
        "map" => Kind::Map,
        "fold" => Kind::Fold,
        "until" => Kind::Until,
        "terminal" => Kind::Terminal,
        _ => Kind::TerminalFail,
    }
}

/// Reads the step at an index of its body.
pub(in crate::engine::routine) fn step(
    cx: Context<'_>,
    node: &Node,
    index: usize,
) -> (StepOutline, Option<StepDefinition>) {
    let written = node
        .get("slug")
        .and_then(|slug| Some((slug.as_text()?, slug.at)));
    let cx = Context {
        subject: Subject::step(written.map(|(slug, _)| slug)),
        site: Site::Step(index),
        ..cx
    };
    let mut outline = StepOutline {
        at: node.at,
        // A step of no known type keeps its slug, so that edges find it.
        slug: written.map(|(slug, at)| Placed {
            value: slug.to_owned(),
            at,
        }),
        name: node.get("name").and_then(Node::as_text).map(str::to_owned),
        kind: None,
        owner: None,
        criteria: 0,
        source: None,
        nested: None,
    };
    let Some((word, table)) = cx.choose(node, &STEPS) else {
        return (outline, None);
    };
    let Some(fields) = Fields::open(cx, node, table) else {
        return (outline, None);
    };
    let kind = kind_of(word);
    outline.kind = Some(kind);
    fields.node("type");
    let slug = fields.slug("slug");
    let name = fields.text("name");
    let content = content(&fields, kind, &mut outline);
    let rest = if kind.is_terminal() {
        Rest::default()
    } else {
        rest(&fields, kind, index)
    };
    fields.close();
    if matches!(kind, Kind::Council | Kind::Map | Kind::Fold | Kind::Until) {
        cx.note_feature(Feature::StepKind(kind), node.at);
    }
    let definition = match (slug, content) {
        (Some(slug), Some(kind)) => Some(StepDefinition {
            name: name.unwrap_or_else(|| slug.value.clone()),
            slug: slug.value,
            kind,
            condition: rest.condition,
            omission: rest.omission,
            verify: rest.verify,
        }),
        (None, _) | (_, None) => None,
    };
    (outline, definition)
}

/// What only one kind of step has.
fn content(fields: &Fields<'_>, kind: Kind, outline: &mut StepOutline) -> Option<StepKind> {
    let mut repeated = |repeat: Repeat| {
        outline.source = repeat.source;
        outline.nested = repeat.nested;
        repeat.kind
    };
    match kind {
        Kind::Map => repeated(repeat::map(fields)),
        Kind::Fold => repeated(repeat::fold(fields)),
        Kind::Until => repeated(repeat::until(fields)),
        Kind::Tool => deterministic::tool_call(fields).map(StepKind::Tool),
        Kind::Gate => {
            let (owner, criteria, kind) = work::gate(fields);
            outline.owner = owner;
            outline.criteria = criteria;
            kind
        }
        Kind::Agent => work::agent(fields).map(|(kind, criteria)| {
            outline.criteria = criteria;
            kind
        }),
        Kind::Council => work::council(fields).map(|(kind, criteria)| {
            outline.criteria = criteria;
            kind
        }),
        Kind::Terminal => Some(StepKind::Terminal {
            reason: fields.template("reason"),
        }),
        Kind::TerminalFail => Some(StepKind::TerminalFail {
            reason: fields.template("reason"),
        }),
    }
}

/// What every step but a terminal has.
#[derive(Default)]
struct Rest {
    condition: Option<StepCondition>,
    omission: Omission,
    verify: Vec<CheckDefinition>,
}

fn rest(fields: &Fields<'_>, kind: Kind, index: usize) -> Rest {
    let condition = (kind != Kind::Gate)
        .then(|| fields.node("condition"))
        .flatten()
        .and_then(|node| {
            fields.cx.note_feature(Feature::Condition, node.at);
            condition::step_condition(fields.cx, node)
        });
    let checks_cx = fields.cx.at_site(Site::StepChecks(index));
    Rest {
        condition,
        omission: fields.word("omission").unwrap_or_default(),
        verify: fields
            .node("verify")
            .map(|node| check::checks(checks_cx, node))
            .unwrap_or_default(),
    }
}
