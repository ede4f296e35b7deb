//! A verifier's answer: verified, or not yet with a reason. Nothing else is a completion (V2).

use serde::{Deserialize, Serialize};

use crate::engine::routine::definition::VerificationMethod;

/// Why something isn't verified, from mild to grave: the worst of several counts (V5a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// Not yet; look again later.
    Waiting,
    /// Nobody can tell.
    Uncertain,
    /// Somebody has to do something first.
    Blocked,
}

impl Held {
    /// Whether every new model and tool call of the operation stops (V5a).
    pub fn halts(self) -> bool {
        match self {
            Self::Waiting => false,
            Self::Uncertain | Self::Blocked => true,
        }
    }

    /// The word that the screen, the log and the records use.
    pub fn label(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Uncertain => "uncertain",
        }
    }
}

/// What is found of one check or of all together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Finding {
    /// It holds.
    Verified,
    /// It doesn't, or not yet.
    Held {
        /// How badly.
        state: Held,
        /// Why, for people.
        reason: String,
    },
}

impl Finding {
    /// The word that the screen, the log and the records use.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Held { state, .. } => state.label(),
        }
    }

    /// Whether it holds.
    pub fn is_verified(&self) -> bool {
        matches!(self, Self::Verified)
    }
}

/// What a verifier answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// All together.
    pub finding: Finding,
    /// Each check that was made. Empty where the host verified by policy alone.
    pub checks: Vec<CheckResult>,
}

impl Decision {
    /// Verified because the host's policy asks for nothing: shown as *unverified*.
    pub fn by_policy() -> Self {
        Self {
            finding: Finding::Verified,
            checks: Vec::new(),
        }
    }

    /// Nobody can tell, and why.
    pub fn uncertain(reason: impl Into<String>) -> Self {
        Self {
            finding: Finding::Held {
                state: Held::Uncertain,
                reason: reason.into(),
            },
            checks: Vec::new(),
        }
    }

    /// The worst of several checks; the reason names each that doesn't hold.
    pub fn of(checks: Vec<CheckResult>) -> Self {
        let mut worst: Option<Held> = None;
        let mut reasons = Vec::new();
        for check in &checks {
            if let Finding::Held { state, reason } = &check.finding {
                worst = worst.max(Some(*state));
                reasons.push(format!("{}: {reason}", check.name));
            }
        }
        let finding = match worst {
            None => Finding::Verified,
            Some(state) => Finding::Held {
                state,
                reason: reasons.join("; "),
            },
        };
        Self { finding, checks }
    }

    /// `checks` where something was looked at, else `host_policy` (C3).
    pub fn basis(&self) -> &'static str {
        if self.checks.is_empty() && self.finding.is_verified() {
            "host_policy"
        } else {
            "checks"
        }
    }
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Its position among the checks that were asked, from 0.
    pub index: usize,
    /// The check's kind, as the file names it.
    pub check: String,
    /// A short name for people.
    pub name: String,
    /// How the attempt is recorded; `None` records none.
    pub method: Option<VerificationMethod>,
    /// What it covers.
    pub covers: Vec<String>,
    /// Whether another actor than the claim's made it.
    pub independent: bool,
    /// What was found.
    pub finding: Finding,
    /// Whether a person has to say.
    pub manual: bool,
    /// After how many milliseconds looking again makes sense; `None` where only a person can change it.
    pub poll_ms: Option<u64>,
}

/// What a person said of a manual check, kept for the lap that it was said of (T5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attestation {
    /// The check's position among the checks that are asked.
    pub check: usize,
    /// What was said.
    pub verdict: AttestationVerdict,
    /// Why, in the person's words.
    pub reasoning: Option<String>,
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttestationVerdict {
    /// It is right.
    Right,
    /// It is not.
    NotRight,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V5a, routine-format.md: blocked, uncertain, waiting, verified.
    #[test]
    fn of_several_checks_the_worst_counts_and_blocked_is_the_worst() {
        let check = |index, finding| CheckResult {
            index,
            check: "file".into(),
            name: format!("check {index}"),
            method: None,
            covers: Vec::new(),
            independent: true,
            finding,
            manual: false,
            poll_ms: None,
        };
        let held = |state| Finding::Held {
            state,
            reason: "no".into(),
        };
        let worst = |states: &[Held]| {
            let checks = states.iter().enumerate();
            let checks = checks.map(|(index, state)| check(index, held(*state)));
            match Decision::of(checks.collect()).finding {
                Finding::Held { state, .. } => state,
                Finding::Verified => panic!("nothing holds"),
            }
        };
        assert_eq!(worst(&[Held::Waiting]), Held::Waiting);
        assert_eq!(worst(&[Held::Uncertain, Held::Waiting]), Held::Uncertain);
        assert_eq!(
            worst(&[Held::Blocked, Held::Uncertain, Held::Waiting]),
            Held::Blocked
        );
    }
}
