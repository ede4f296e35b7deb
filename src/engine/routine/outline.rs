//! What could be read of a body, with places: what the rules judge.
//!
//! An outline keeps broken pieces too, so that one problem doesn't hide another. The typed body is
//! made beside it and is worth something only where no error was found.

use std::cell::RefCell;

use crate::engine::routine::definition::{EdgeCondition, VerificationMethod};
use crate::engine::routine::file::Position;
use crate::engine::routine::graph::HandoffRule;
use crate::engine::routine::template::Reference;

/// Something with the place where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::routine) struct Placed<T> {
    pub(in crate::engine::routine) value: T,
    pub(in crate::engine::routine) at: Position,
}

/// A step's kind, without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Kind {
    Agent,
    Gate,
    Council,
    Tool,
    Map,
    Fold,
    Until,
    Terminal,
    TerminalFail,
}

impl Kind {
    /// Whether reaching it ends a branch.
    pub(in crate::engine::routine) fn is_terminal(self) -> bool {
        matches!(self, Self::Terminal | Self::TerminalFail)
    }
}

/// Who gives a gate's verdict, without the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Owner {
    Agent,
    Operator,
    Checks,
}

/// A body with places.
#[derive(Debug)]
pub(in crate::engine::routine) struct Outline {
    /// Where the body begins.
    pub(in crate::engine::routine) at: Position,
    /// Which repeating step it belongs to; `None` for the outermost.
    pub(in crate::engine::routine) host: Option<Kind>,
    /// Where the entries are listed, and which; `None` where they couldn't be read.
    pub(in crate::engine::routine) entries: Listed<Placed<String>>,
    pub(in crate::engine::routine) steps: Listed<StepOutline>,
    pub(in crate::engine::routine) edges: Listed<EdgeOutline>,
    /// Whether entries and edges were made from the order of the steps.
    pub(in crate::engine::routine) order: Order,
    pub(in crate::engine::routine) pre_steps: Vec<Placed<String>>,
    pub(in crate::engine::routine) post_steps: Vec<Placed<String>>,
    /// Names that templates refer to.
    pub(in crate::engine::routine) references: Vec<TemplateReference>,
}

/// A list that may have been missing or unreadable.
#[derive(Debug)]
pub(in crate::engine::routine) struct Listed<T> {
    pub(in crate::engine::routine) at: Position,
    pub(in crate::engine::routine) items: Vec<T>,
    pub(in crate::engine::routine) state: ListState,
}

/// Whether a list was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum ListState {
    /// It was read; single items may still be broken.
    Read,
    /// The field was left out.
    Missing,
    /// Something else stood there.
    Unreadable,
}

/// Where the order of a body's steps comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Order {
    /// Entries and edges say it.
    Stated,
    /// The steps run in file order to a terminal.
    FileOrder,
}

/// A step with places.
#[derive(Debug)]
pub(in crate::engine::routine) struct StepOutline {
    pub(in crate::engine::routine) at: Position,
    pub(in crate::engine::routine) slug: Option<Placed<String>>,
    pub(in crate::engine::routine) name: Option<String>,
    pub(in crate::engine::routine) kind: Option<Kind>,
    pub(in crate::engine::routine) owner: Option<Owner>,
    /// How many criteria it is judged by.
    pub(in crate::engine::routine) criteria: usize,
    /// The step that a map or fold takes its items from.
    pub(in crate::engine::routine) source: Option<Placed<String>>,
    /// The nested routine.
    pub(in crate::engine::routine) nested: Option<Box<Outline>>,
}

impl StepOutline {
    /// The slug as text.
    pub(in crate::engine::routine) fn slug(&self) -> Option<&str> {
        self.slug.as_ref().map(|slug| slug.value.as_str())
    }

    /// Whether reaching it ends a branch.
    pub(in crate::engine::routine) fn is_terminal(&self) -> bool {
        self.kind.is_some_and(Kind::is_terminal)
    }
}

/// An edge with places.
#[derive(Debug)]
pub(in crate::engine::routine) struct EdgeOutline {
    pub(in crate::engine::routine) at: Position,
    pub(in crate::engine::routine) from: Option<Placed<String>>,
    pub(in crate::engine::routine) to: Option<Placed<String>>,
    pub(in crate::engine::routine) condition: WrittenCondition,
    pub(in crate::engine::routine) max_attempts: Option<Placed<u32>>,
    /// Whether it says anything of its handoff.
    pub(in crate::engine::routine) handoff: HandoffText,
    pub(in crate::engine::routine) rule: HandoffRule,
}

/// An edge's condition as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::routine) enum WrittenCondition {
    /// None.
    Absent,
    /// One of the three words.
    Given(Placed<EdgeCondition>),
    /// Something else; reported already.
    Unreadable,
}

/// Whether an edge says anything of its handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum HandoffText {
    Given,
    Absent,
}

impl EdgeOutline {
    /// `source->target`, where both are known.
    pub(in crate::engine::routine) fn label(&self) -> Option<String> {
        let (from, to) = (self.from.as_ref()?, self.to.as_ref()?);
        Some(format!("{}->{}", from.value, to.value))
    }
}

/// A name that a template refers to, and where the template belongs.
#[derive(Debug)]
pub(in crate::engine::routine) struct TemplateReference {
    pub(in crate::engine::routine) at: Position,
    pub(in crate::engine::routine) site: Site,
    pub(in crate::engine::routine) reference: Reference,
}

/// Where in a body a template belongs: what it can see depends on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Site {
    /// The body's instructions.
    Instructions,
    /// A pre step, by index.
    PreStep(usize),
    /// A step, by index.
    Step(usize),
    /// A step's checks, which see its own output too.
    StepChecks(usize),
    /// A post step, by index.
    PostStep(usize),
    /// The final checks.
    FinalChecks,
    /// An agent's own instructions: wherever the agent works.
    Anywhere,
}

/// What the whole file names and asks for, wherever it stands.
#[derive(Debug, Default)]
pub(in crate::engine::routine) struct Notes {
    pub(in crate::engine::routine) names: RefCell<Vec<NameNote>>,
    pub(in crate::engine::routine) checks: RefCell<Vec<CheckNote>>,
    pub(in crate::engine::routine) features: RefCell<Vec<FeatureNote>>,
}

/// A name of something that is defined elsewhere.
#[derive(Debug)]
pub(in crate::engine::routine) struct NameNote {
    pub(in crate::engine::routine) of: Named,
    pub(in crate::engine::routine) name: String,
    pub(in crate::engine::routine) at: Position,
    pub(in crate::engine::routine) step: Option<String>,
}

/// What a name is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Named {
    Agent,
    Council,
    Tool,
}

/// A check or a judge, as far as assurance is concerned.
#[derive(Debug)]
pub(in crate::engine::routine) struct CheckNote {
    pub(in crate::engine::routine) method: Option<VerificationMethod>,
    pub(in crate::engine::routine) covers: Vec<String>,
    pub(in crate::engine::routine) independent: bool,
    pub(in crate::engine::routine) made_by: Maker,
}

/// Who makes an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Maker {
    /// A check of the file.
    Check,
    /// A gate, a council or a reflection.
    Judge,
}

/// A use of something that not every version runs.
#[derive(Debug)]
pub(in crate::engine::routine) struct FeatureNote {
    pub(in crate::engine::routine) feature: Feature,
    pub(in crate::engine::routine) at: Position,
    pub(in crate::engine::routine) step: Option<String>,
}

/// Something that not every version runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Feature {
    StepKind(Kind),
    Condition,
    Reflection,
    Plugins,
    HttpCheck,
}
