//! The words that a field may hold, each list beside the enum that it means.

use crate::engine::routine::definition::{
    CouncilStrategy, EdgeCondition, ModelRole, Omission, OnError, OnFalse, Operator, Plugin,
    PostStepsTrigger, ReasoningEffort, SyntheticSubject, VerificationMethod,
};

/// An enum that a file writes as one word.
pub(in crate::engine::routine) trait Word: Sized + 'static {
    /// Every word.
    const WORDS: &'static [&'static str];

    /// The meaning of a word.
    fn from_word(text: &str) -> Option<Self>;
}

/// A reflection's mode (V8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum ReflectionMode {
    Off,
    Strict,
    Warn,
}

macro_rules! words {
    ($($name:ident { $($word:literal => $variant:ident,)* })*) => {
        $(impl Word for $name {
            const WORDS: &'static [&'static str] = &[$($word,)*];

            fn from_word(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        })*
    };
}

words! {
    ModelRole {
        "instant" => Instant,
        "expert" => Expert,
        "frontier" => Frontier,
        "background" => Background,
    }
    ReasoningEffort {
        "minimal" => Minimal,
        "low" => Low,
        "medium" => Medium,
        "high" => High,
    }
    CouncilStrategy {
        "broadcast" => Broadcast,
        "round_robin" => RoundRobin,
        "decompose" => Decompose,
        "vote" => Vote,
        "dynamic" => Dynamic,
    }
    Plugin {
        "memory" => Memory,
        "evidence" => Evidence,
    }
    PostStepsTrigger {
        "on_success" => OnSuccess,
        "always" => Always,
    }
    OnError {
        "fail" => Fail,
        "continue" => Continue,
        "skip_remaining" => SkipRemaining,
    }
    Operator {
        "exists" => Exists,
        "not_exists" => NotExists,
        "equals" => Equals,
        "contains" => Contains,
        "truthy" => Truthy,
        "greater_than" => GreaterThan,
        "less_than" => LessThan,
    }
    OnFalse {
        "skip" => Skip,
        "fail" => Fail,
        "wait" => Wait,
    }
    Omission {
        "approved" => Approved,
        "refused" => Refused,
    }
    ReflectionMode {
        "off" => Off,
        "strict" => Strict,
        "warn" => Warn,
    }
    EdgeCondition {
        "always" => Always,
        "on_pass" => OnPass,
        "on_fail" => OnFail,
    }
    VerificationMethod {
        "deterministic_oracle" => DeterministicOracle,
        "state_readback" => StateReadback,
        "model_review" => ModelReview,
        "council_review" => CouncilReview,
        "operator_attestation" => OperatorAttestation,
    }
    SyntheticSubject {
        "job" => Job,
        "artifact" => Artifact,
    }
}
