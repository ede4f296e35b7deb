//! Checks and the assurance policy: what a routine's author wants verified.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::routine::template::{MissingValue, Scope, Template, ValueTemplate};

/// A check with what every check has (routine-format.md, Checks): as written, or as [`Check`] with
/// every template expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckDefinition<T = Template, J = ValueTemplate> {
    /// What is looked at.
    pub kind: CheckKind<T, J>,
    /// How the attempt is recorded; `None` for `output` checks, which record none (L8).
    pub method: Option<VerificationMethod>,
    /// What the check covers, in the assurance policy's words.
    pub covers: Vec<String>,
    /// Whether it is made by another actor than the claim's.
    pub independent: bool,
    /// Pause between two looks in milliseconds.
    pub poll_ms: u64,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
}

/// What a check looks at.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckKind<T = Template, J = ValueTemplate> {
    /// Runs a command.
    Command {
        /// The argument vector.
        run: Vec<T>,
        /// Its folder, inside the workspace.
        cwd: Option<T>,
    },
    /// Reads a URL.
    Http {
        /// Where.
        url: T,
        /// The method; `GET` by default.
        method: String,
        /// Request headers.
        headers: BTreeMap<String, T>,
        /// What verifies.
        expect: HttpExpectation<T, J>,
    },
    /// Looks at a file.
    File {
        /// Inside the workspace.
        path: T,
        /// Its digest in hex.
        sha256: Option<T>,
        /// Text that it holds.
        contains: Option<T>,
        /// Its smallest size.
        min_bytes: Option<u64>,
    },
    /// Looks at the shape of the step's output (L8).
    Output {
        /// JSON Schema.
        schema: Option<Value>,
        /// Text that it holds.
        contains: Option<T>,
        /// A regular expression.
        matches: Option<T>,
    },
    /// Asks a person.
    Manual {
        /// The question.
        prompt: T,
    },
    /// Stands for remote work in demos.
    Synthetic {
        /// The job's name.
        job: T,
        /// What of it.
        of: SyntheticSubject,
    },
}

/// A check with every template expanded: what a verifier is asked.
pub type Check = CheckDefinition<String, Value>;

impl<T, J> CheckKind<T, J> {
    /// The word that the file, the screen and the log use.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Http { .. } => "http",
            Self::File { .. } => "file",
            Self::Output { .. } => "output",
            Self::Manual { .. } => "manual",
            Self::Synthetic { .. } => "synthetic",
        }
    }
}

impl CheckDefinition {
    /// Puts the values into every template.
    pub fn expand(&self, scope: &dyn Scope) -> Result<Check, MissingValue> {
        Ok(Check {
            kind: self.kind.expand(scope)?,
            method: self.method,
            covers: self.covers.clone(),
            independent: self.independent,
            poll_ms: self.poll_ms,
            timeout_ms: self.timeout_ms,
        })
    }
}

impl CheckKind {
    fn expand(&self, scope: &dyn Scope) -> Result<CheckKind<String, Value>, MissingValue> {
        let text = |template: &Template| template.expand(scope);
        let optional = |template: &Option<Template>| template.as_ref().map(text).transpose();
        Ok(match self {
            Self::Command { run, cwd } => CheckKind::Command {
                run: run.iter().map(text).collect::<Result<_, _>>()?,
                cwd: optional(cwd)?,
            },
            Self::Http {
                url,
                method,
                headers,
                expect,
            } => CheckKind::Http {
                url: text(url)?,
                method: method.clone(),
                headers: headers
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), text(value)?)))
                    .collect::<Result<_, _>>()?,
                expect: match expect {
                    HttpExpectation::Success => HttpExpectation::Success,
                    HttpExpectation::Status(status) => HttpExpectation::Status(*status),
                    HttpExpectation::Value { path, equals } => HttpExpectation::Value {
                        path: text(path)?,
                        equals: equals.expand(scope)?,
                    },
                },
            },
            Self::File {
                path,
                sha256,
                contains,
                min_bytes,
            } => CheckKind::File {
                path: text(path)?,
                sha256: optional(sha256)?,
                contains: optional(contains)?,
                min_bytes: *min_bytes,
            },
            Self::Output {
                schema,
                contains,
                matches,
            } => CheckKind::Output {
                schema: schema.clone(),
                contains: optional(contains)?,
                matches: optional(matches)?,
            },
            Self::Manual { prompt } => CheckKind::Manual {
                prompt: text(prompt)?,
            },
            Self::Synthetic { job, of } => CheckKind::Synthetic {
                job: text(job)?,
                of: *of,
            },
        })
    }
}

/// What an `http` check expects.
#[derive(Debug, Clone, PartialEq)]
pub enum HttpExpectation<T = Template, J = ValueTemplate> {
    /// Any 2xx.
    Success,
    /// This status.
    Status(u16),
    /// This value at this path of the JSON body.
    Value {
        /// Dots and brackets.
        path: T,
        /// Compared deeply.
        equals: J,
    },
}

/// What a `synthetic` check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyntheticSubject {
    /// The job: ready from the first admitted resume on.
    #[default]
    Job,
    /// The artifact: made by `synthetic_artifact` in this operation.
    Artifact,
}

/// How a claim is verified (L6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationMethod {
    /// A program that always gives the same answer.
    DeterministicOracle,
    /// Reading the state back.
    StateReadback,
    /// A model.
    ModelReview,
    /// A council.
    CouncilReview,
    /// A person.
    OperatorAttestation,
}

/// What fulfillment needs (L6).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AssurancePolicy {
    /// Methods of which each must have a verified attempt.
    pub required_methods: Vec<VerificationMethod>,
    /// Coverage of which each word must be covered.
    pub required_coverage: Vec<String>,
    /// Whether an independent attempt is needed.
    pub require_independent: bool,
}
