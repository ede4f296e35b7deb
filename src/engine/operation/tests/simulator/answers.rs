//! What the random world answers beside its models: tools, the host, verifiers and persons, well or badly.

use serde_json::json;

use crate::engine::operation::event::VerifierFailure;
use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::tests::simulator::chance::Chance;
use crate::engine::operation::wait::{
    Accepting, Answer, Direction, OperatorVerdict, Permit, Question, Wait, WaitKind, Way,
};
use crate::engine::ports::{Permission, ToolOutcome};
use crate::engine::routine::definition::{Check, CheckKind};
use crate::engine::verify::{
    Attestation, AttestationVerdict, CheckResult, Decision, Finding, Held,
};

/// How the world behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// As it comes.
    Wild,
    /// Nearly everything is answered well in the end, so that stories get long.
    Mild,
    /// Everything is answered well.
    Kind,
}

/// What a tool makes of a call. `delivery` names what a pending one will be delivered under.
pub(super) fn outcome(chance: &mut Chance, manner: Manner, delivery: &str) -> ToolOutcome {
    let choice = match manner {
        Manner::Kind => 0,
        Manner::Mild => chance.weighed(&[85, 0, 0, 0, 0, 0, 0, 15]),
        Manner::Wild => chance.weighed(&[60, 4, 6, 6, 3, 3, 3, 12]),
    };
    match choice {
        0 => ToolOutcome::Done(json!({ "fine": true, "k": 1 })),
        1 => ToolOutcome::Done(json!({ "long": "long ".repeat(2_000) })),
        2 => ToolOutcome::Done(json!({ "success": false, "exit": 1 })),
        3 => ToolOutcome::Failed {
            reason: "no such file".into(),
        },
        4 => ToolOutcome::TimedOut,
        5 => ToolOutcome::OutputLimit(json!({ "kept": "some" })),
        6 => ToolOutcome::Unknown {
            reason: "it was ended".into(),
        },
        _ => ToolOutcome::Pending {
            delivery: delivery.to_owned(),
        },
    }
}

/// What the host says to a call.
pub(super) fn permission(chance: &mut Chance, manner: Manner) -> Permission {
    let reason = String::from("the settings say so");
    match manner {
        Manner::Kind => Permission::Allow,
        Manner::Mild => match chance.percent(90) {
            true => Permission::Allow,
            false => Permission::Ask { reason },
        },
        Manner::Wild => match chance.weighed(&[80, 12, 4, 4]) {
            0 => Permission::Allow,
            1 => Permission::Ask { reason },
            2 => Permission::Deny { reason },
            _ => Permission::Futile { reason },
        },
    }
}

/// What a verifier says.
pub(super) fn decision(
    chance: &mut Chance,
    manner: Manner,
    checks: &[Check],
    attestations: &[Attestation],
) -> Result<Decision, VerifierFailure> {
    if manner == Manner::Wild {
        match chance.below(40) {
            0 => return Err(VerifierFailure::Panicked("oh".into())),
            1 => return Err(VerifierFailure::TimedOut(1)),
            2 => return Ok(Decision::uncertain("who knows")),
            _ => {}
        }
    }
    if checks.is_empty() {
        return Ok(Decision::by_policy());
    }
    let mut results = Vec::new();
    for (index, check) in checks.iter().enumerate() {
        let manual = matches!(check.kind, CheckKind::Manual { .. });
        let said = attestations.iter().find(|said| said.check == index);
        let held = |state| Finding::Held {
            state,
            reason: "it does not hold".into(),
        };
        let finding = match (manual, said.map(|said| said.verdict)) {
            (true, Some(AttestationVerdict::Right)) => Finding::Verified,
            (true, Some(AttestationVerdict::NotRight)) => held(Held::Blocked),
            (true, None) => held(Held::Waiting),
            (false, _) if manner == Manner::Kind => Finding::Verified,
            (false, _) if manner == Manner::Mild && chance.percent(60) => Finding::Verified,
            (false, _) => match chance.weighed(&[70, 14, 8, 8]) {
                0 => Finding::Verified,
                1 => held(Held::Waiting),
                2 => held(Held::Blocked),
                _ => held(Held::Uncertain),
            },
        };
        results.push(CheckResult {
            index,
            check: check.kind.label().to_owned(),
            name: format!("check {index}"),
            method: check.method,
            covers: Vec::new(),
            independent: true,
            finding,
            manual,
            poll_ms: None,
        });
    }
    let mut decision = Decision::of(results);
    // Nonsense: verified, though a check doesn't hold (V4).
    if manner == Manner::Wild && chance.percent(2) {
        decision.finding = Finding::Verified;
    }
    Ok(decision)
}

/// What a person answers to a wait, if anything.
pub(super) fn answer(chance: &mut Chance, manner: Manner, wait: &Wait) -> Option<Answer> {
    let is_wild = manner == Manner::Wild;
    if is_wild && chance.percent(30) {
        return None;
    }
    let fails = is_wild && chance.percent(4);
    let fail = Answer::Fail {
        reasoning: "it is lost".into(),
    };
    match &wait.question {
        Question::Manual { .. } => Some(Answer::Attest {
            verdict: match is_wild && chance.percent(20) {
                true => AttestationVerdict::NotRight,
                false => AttestationVerdict::Right,
            },
            reasoning: None,
        }),
        Question::Permission { .. } => Some(Answer::Permit(match is_wild && chance.percent(20) {
            true => Permit::Deny,
            false => Permit::Allow,
        })),
        Question::OperatorGate { ways, .. } => {
            let verdict = match is_wild && chance.percent(35) {
                true => Verdict::Fail,
                false => Verdict::Pass,
            };
            Some(Answer::Decide(decided(chance, verdict, ways)))
        }
        Question::Uncertain { needs, ways, .. } => match needs {
            _ if fails => Some(fail),
            Accepting::Nothing => None,
            Accepting::Verdict => Some(Answer::Accept(decided(chance, Verdict::Pass, ways))),
            Accepting::Result => {
                let schema = ways.iter().any(|way| way.handoff_schema.is_some());
                Some(match schema {
                    // What a tool hands over never fits the generator's schema.
                    true => fail,
                    false => Answer::Accept(decided(chance, Verdict::Pass, &[])),
                })
            }
        },
        Question::Recheck if fails && wait.kind == WaitKind::Delivery => Some(fail),
        Question::Recheck => None,
    }
}

fn decided(chance: &mut Chance, verdict: Verdict, ways: &[Way]) -> OperatorVerdict {
    let open: Vec<&Way> = ways.iter().filter(|way| way.verdict == verdict).collect();
    let leads = |direction| open.iter().any(|way| way.direction == direction);
    let direction = match (leads(Direction::Onward), leads(Direction::Back)) {
        (true, true) => match chance.percent(50) {
            true => Some(Direction::Onward),
            false => Some(Direction::Back),
        },
        _ => None,
    };
    let handoffs = open
        .iter()
        .filter(|way| direction.is_none_or(|direction| way.direction == direction))
        .map(|way| (way.target.clone(), json!({ "k": 1 })))
        .collect();
    OperatorVerdict {
        verdict,
        reasoning: "I looked".into(),
        output: json!({ "k": 1 }),
        handoffs,
        direction,
    }
}
