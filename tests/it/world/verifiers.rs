//! Verifiers.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use amos_tui::engine::ports::{Verifier, VerifyContext, VerifyRequest};
use amos_tui::engine::verify::{CheckResult, Decision, Finding, Held};
use futures_util::future::BoxFuture;

/// Verifies everything.
pub(crate) struct ByPolicy;

impl Verifier for ByPolicy {
    fn verify(&self, _: VerifyRequest, _: VerifyContext) -> BoxFuture<'static, Decision> {
        Box::pin(std::future::ready(Decision::by_policy()))
    }
}

/// Gives these decisions in turn, the last one for ever.
pub(crate) struct Scripted {
    decisions: Mutex<VecDeque<Decision>>,
    looks: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new(decisions: impl IntoIterator<Item = Decision>) -> Self {
        Self {
            decisions: Mutex::new(decisions.into_iter().collect()),
            looks: AtomicUsize::new(0),
        }
    }

    /// How often it was asked.
    pub(crate) fn looks(&self) -> usize {
        self.looks.load(Ordering::SeqCst)
    }
}

impl Verifier for Scripted {
    fn verify(&self, _: VerifyRequest, _: VerifyContext) -> BoxFuture<'static, Decision> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        let mut decisions = self.decisions.lock().expect("unpoisoned");
        let decision = match decisions.len() {
            1 => decisions[0].clone(),
            _ => decisions.pop_front().expect("never empty"),
        };
        Box::pin(std::future::ready(decision))
    }
}

/// Panics.
pub(crate) struct PanickingVerifier;

impl Verifier for PanickingVerifier {
    fn verify(&self, _: VerifyRequest, _: VerifyContext) -> BoxFuture<'static, Decision> {
        panic!("no opinion")
    }
}

/// Never answers, also when it is asked to stop.
pub(crate) struct HangingVerifier;

impl Verifier for HangingVerifier {
    fn verify(&self, _: VerifyRequest, _: VerifyContext) -> BoxFuture<'static, Decision> {
        Box::pin(std::future::pending())
    }
}

/// Not yet, and why.
pub(crate) fn waiting(reason: &str) -> Decision {
    held(Held::Waiting, reason)
}

/// Not so, and why.
pub(crate) fn held(state: Held, reason: &str) -> Decision {
    Decision {
        finding: Finding::Held {
            state,
            reason: reason.to_owned(),
        },
        checks: Vec::new(),
    }
}

/// Says verified, while its own check doesn't hold.
pub(crate) fn nonsense() -> Decision {
    Decision {
        finding: Finding::Verified,
        checks: vec![CheckResult {
            index: 0,
            check: "command".into(),
            name: "test".into(),
            method: None,
            covers: Vec::new(),
            independent: true,
            finding: Finding::Held {
                state: Held::Blocked,
                reason: "red".into(),
            },
            manual: false,
            poll_ms: None,
        }],
    }
}
