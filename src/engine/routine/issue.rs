//! What is wrong with a routine file: every problem at once, each with a code and a place (G12).

use std::fmt;

use serde::{Serialize, Serializer};

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// Whether the file can run.
    pub severity: Severity,
    /// What kind of problem it is.
    pub code: Code,
    /// The slug of the step that it concerns.
    pub step: Option<String>,
    /// `source->target` of the edge that it concerns.
    pub edge: Option<String>,
    /// From 1. What is missing has the line of what it is missing from.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// For people: what, and what to do.
    pub message: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            severity,
            code,
            line,
            column,
            message,
            ..
        } = self;
        write!(
            f,
            "{line}:{column}: {}[{}]: {message}",
            severity.label(),
            code.label()
        )
    }
}

/// Whether the file can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It can't.
    Error,
    /// It can, but somebody should look.
    Warning,
}

impl Severity {
    /// The word that output uses.
    pub fn label(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $label:literal $severity:ident,)*) => {
        /// What kind of problem it is. The labels are a contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code, in the order of the requirements.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The word that output uses.
            pub fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// Whether it stops the file from running.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    /// The bytes are neither YAML nor JSON.
    Parse = "parse" Error,
    /// A field that the format doesn't know.
    UnknownField = "unknown-field" Error,
    /// A required field is not there.
    MissingField = "missing-field" Error,
    /// Wrong type, unknown word or out of range, where no other code fits.
    BadValue = "bad-value" Error,
    /// No step at all.
    EmptyGraph = "empty-graph" Error,
    /// No entry step.
    NoEntry = "no-entry" Error,
    /// An entry that is no step.
    UnknownEntry = "unknown-entry" Error,
    /// An entry named twice.
    DuplicateEntry = "duplicate-entry" Error,
    /// An entry with an incoming edge that is no retry edge.
    EntryHasIncoming = "entry-has-incoming" Error,
    /// Two steps of one slug.
    DuplicateStep = "duplicate-step" Error,
    /// A slug with wrong characters or length.
    BadSlug = "bad-slug" Error,
    /// An edge or a source that names no step.
    UnknownStep = "unknown-step" Error,
    /// An edge from a step to itself.
    SelfEdge = "self-edge" Error,
    /// Two edges of one source and target whose conditions overlap.
    DuplicateEdge = "duplicate-edge" Error,
    /// A gate's edge that is `always` or has no condition.
    GateAlwaysEdge = "gate-always-edge" Error,
    /// `on_fail` from a step that is no gate.
    OnFailFromNonGate = "on-fail-from-non-gate" Error,
    /// A step that leads nowhere, or a gate without `on_pass`.
    MissingOutgoing = "missing-outgoing" Error,
    /// A terminal that leads on.
    TerminalHasOutgoing = "terminal-has-outgoing" Error,
    /// No terminal at all.
    NoTerminal = "no-terminal" Error,
    /// A step that no entry leads to.
    UnreachableStep = "unreachable-step" Error,
    /// A cycle that is no retry loop.
    Cycle = "cycle" Error,
    /// A gate, not the operator's, with forward and retry `on_fail` edges.
    MixedOnFail = "mixed-on-fail" Error,
    /// An agent step or a gate without owner.
    MissingAgent = "missing-agent" Error,
    /// A gate with more than one owner.
    GateOwner = "gate-owner" Error,
    /// A council step without council.
    MissingCouncil = "missing-council" Error,
    /// An agent that nothing defines.
    UnknownAgent = "unknown-agent" Error,
    /// A council that nothing defines.
    UnknownCouncil = "unknown-council" Error,
    /// A tool that nothing offers.
    UnknownTool = "unknown-tool" Error,
    /// A plugin that doesn't exist.
    UnknownPlugin = "unknown-plugin" Error,
    /// No JSON Schema for an object.
    BadHandoffSchema = "bad-handoff-schema" Error,
    /// A budget below 1, or on an edge that is no retry edge.
    BadMaxAttempts = "bad-max-attempts" Error,
    /// A condition that can't be looked at.
    BadCondition = "bad-condition" Error,
    /// A template that doesn't parse, or a name without value.
    BadTemplate = "bad-template" Error,
    /// A timer out of range.
    BadTimer = "bad-timer" Error,
    /// A source that can't be iterated over.
    BadSource = "bad-source" Error,
    /// Iterations out of range.
    BadMaxIterations = "bad-max-iterations" Error,
    /// A fold without `result_key`.
    MissingResultKey = "missing-result-key" Error,
    /// A check that can't be made.
    BadCheck = "bad-check" Error,
    /// An assurance policy that can't be met.
    BadAssurance = "bad-assurance" Error,
    /// More steps than a definition may have.
    TooManySteps = "too-many-steps" Error,
    /// More levels of nesting than a routine may have.
    TooDeep = "too-deep" Error,
    /// Something this version doesn't run.
    Unsupported = "unsupported" Error,
    /// A gate that a model or a person judges by nothing.
    GateWithoutCriteria = "gate-without-criteria" Warning,
    /// An edge that says nothing of its handoff.
    EdgeWithoutHandoff = "edge-without-handoff" Warning,
    /// No check anywhere.
    NoVerification = "no-verification" Warning,
    /// No `terminal`.
    NoSuccessTerminal = "no-success-terminal" Warning,
    /// No `terminal_fail`.
    NoFailureTerminal = "no-failure-terminal" Warning,
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
