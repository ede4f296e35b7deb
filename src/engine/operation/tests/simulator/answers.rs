//! What the random world answers: models, tools, the host, verifiers and persons, well or badly.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::engine::evidence::Place;
use crate::engine::operation::event::VerifierFailure;
use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::tests::simulator::chance::Chance;
use crate::engine::operation::tests::simulator::world::{Kind, World};
use crate::engine::operation::wait::{
    Accepting, Answer, Direction, OperatorVerdict, Permit, Question, Wait, WaitKind, Way,
};
use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelOutcome, ModelReply, ModelRequest,
    Permission, TokenUsage, ToolCall, ToolOutcome,
};
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

/// What a model makes of a request.
pub(super) fn reply(
    chance: &mut Chance,
    manner: Manner,
    world: &World,
    place: &Place,
    request: &ModelRequest,
) -> ModelReply {
    let is_gate = world.kind(&place.step) == Some(Kind::AgentGate);
    let fails = if is_gate { 30 } else { 2 };
    let choice = match manner {
        Manner::Kind => 0,
        Manner::Mild if is_gate => chance.weighed(&[60, 20, 2, 2, 10]),
        Manner::Mild => chance.weighed(&[80, 0, 2, 2, 16]),
        Manner::Wild => chance.weighed(&[50, fails, 7, 4, 22, 1, 1, 1, 1, 1, 1]),
    };
    let outcome = match choice {
        0 => right(chance, world, place, request, Verdict::Pass),
        1 => right(chance, world, place, request, Verdict::Fail),
        2 => called(vec![wrongly_routed(chance, world, place)]),
        3 => answered(None, Finish::Complete),
        4 => called(calls(chance, world, place, request)),
        5 => answered(
            Some(routed(chance, world, place, Verdict::Pass)),
            Finish::CutOff,
        ),
        6 => answered(
            None,
            Finish::Refused {
                reason: "no".into(),
            },
        ),
        7 => ModelOutcome::NotTaken {
            reason: "overloaded".into(),
        },
        8 => ModelOutcome::NoAnswer {
            reason: "reset".into(),
        },
        9 => ModelOutcome::Unreadable {
            reason: "html".into(),
        },
        _ => ModelOutcome::Stopped,
    };
    let response = match &outcome {
        ModelOutcome::Answered(_) | ModelOutcome::Unreadable { .. } => "response",
        ModelOutcome::NotTaken { .. } | ModelOutcome::NoAnswer { .. } | ModelOutcome::Stopped => "",
    };
    ModelReply {
        outcome,
        request: Bytes::from_static(b"request"),
        response: Bytes::from_static(response.as_bytes()),
    }
}

/// What a model says to nobody.
pub(super) fn late() -> ModelReply {
    ModelReply {
        outcome: answered(None, Finish::Complete),
        request: Bytes::from_static(b"request"),
        response: Bytes::from_static(b"response"),
    }
}

/// What ends a run well, whatever it is to end with.
fn right(
    chance: &mut Chance,
    world: &World,
    place: &Place,
    request: &ModelRequest,
    verdict: Verdict,
) -> ModelOutcome {
    let Some(tool) = request.tools.last() else {
        return answered(None, Finish::Complete);
    };
    let call = match tool.name.as_str() {
        "route_next_steps" => {
            // A vote was counted: whoever explains it says what it says.
            let has_failed = request.messages.iter().any(|message| {
                matches!(&**message, Message::User(text) if text.contains("so the verdict is \"fail\""))
            });
            let verdict = if has_failed { Verdict::Fail } else { verdict };
            routed(chance, world, place, verdict)
        }
        "cast_vote" => call(
            "cast_vote",
            json!({ "verdict": verdict.label(), "reasoning": "because" }),
        ),
        "assign_parts" => {
            let members = tool.schema["properties"]["parts"]["required"].as_array();
            let names = members.into_iter().flatten().filter_map(Value::as_str);
            let parts: Map<String, Value> = names
                .map(|name| (name.to_owned(), "some of it".into()))
                .collect();
            call("assign_parts", json!({ "parts": parts }))
        }
        _ => return answered(None, Finish::Complete),
    };
    called(vec![call])
}

fn answered(call: Option<ToolCall>, finish: Finish) -> ModelOutcome {
    ModelOutcome::Answered(ModelAnswer {
        text: Some("well".into()),
        calls: call.into_iter().collect(),
        finish,
        usage: TokenUsage {
            input_tokens: 3,
            output_tokens: 2,
        },
    })
}

fn called(calls: Vec<ToolCall>) -> ModelOutcome {
    ModelOutcome::Answered(ModelAnswer {
        text: None,
        calls,
        finish: Finish::Complete,
        usage: TokenUsage::default(),
    })
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: "c".into(),
        name: name.to_owned(),
        arguments: CallArguments::Json(arguments),
    }
}

fn routed(chance: &mut Chance, world: &World, place: &Place, verdict: Verdict) -> ToolCall {
    let next: Vec<Value> = world
        .edges()
        .filter(|edge| edge.from == place.step && edge.on_fail == (verdict == Verdict::Fail))
        .map(|edge| {
            json!({ "target_step": edge.to, "handoff": { "k": 1, "lap": place.lap, "z": 0 } })
        })
        .collect();
    let output = match chance.percent(4) {
        true => Value::String("long ".repeat(2_000)),
        false => json!({ "of": place.step, "items": [1, 2] }),
    };
    let args = json!({
        "verdict": verdict.label(),
        "reasoning": "because",
        "output": output,
        "next_steps": next,
    });
    call("route_next_steps", args)
}

fn wrongly_routed(chance: &mut Chance, world: &World, place: &Place) -> ToolCall {
    let mut right = routed(chance, world, place, Verdict::Pass);
    right.arguments = match (right.arguments, chance.below(4)) {
        (CallArguments::Json(mut args), 0) => {
            args["next_steps"] = json!([{ "target_step": "nowhere", "handoff": { "k": 1 } }]);
            CallArguments::Json(args)
        }
        (CallArguments::Json(mut args), 1) => {
            args["reasoning"] = json!(" ");
            CallArguments::Json(args)
        }
        (CallArguments::Json(mut args), 2) => {
            args["verdict"] = json!("maybe");
            CallArguments::Json(args)
        }
        _ => CallArguments::Malformed("{\"verdict\":".into()),
    };
    right
}

fn calls(
    chance: &mut Chance,
    world: &World,
    place: &Place,
    request: &ModelRequest,
) -> Vec<ToolCall> {
    let asks: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .filter(|name| name.starts_with("ask_"))
        .collect();
    let mut calls: Vec<ToolCall> = (0..1 + chance.below(3))
        .map(|_| {
            if let Some(ask) = chance.pick(&asks)
                && chance.percent(70)
            {
                let message = if chance.percent(90) { "well?" } else { "" };
                return call(ask, json!({ "message": message }));
            }
            let name = chance.word(&[
                "act",
                "commit",
                "look",
                "memory_get",
                "memory_list",
                "memory_set",
                "ghost",
            ]);
            let args = match name {
                "memory_set" => json!({ "key": "k", "value": 1 }),
                "memory_get" => json!({ "key": "k" }),
                _ => json!({}),
            };
            call(name, args)
        })
        .collect();
    if chance.percent(10) {
        calls.push(routed(chance, world, place, Verdict::Pass));
    }
    if chance.percent(5) {
        calls.push(ToolCall {
            id: "m".into(),
            name: "look".into(),
            arguments: CallArguments::Malformed("{".into()),
        });
    }
    calls
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
        Manner::Wild => match chance.weighed(&[82, 13, 5]) {
            0 => Permission::Allow,
            1 => Permission::Ask { reason },
            _ => Permission::Deny { reason },
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
