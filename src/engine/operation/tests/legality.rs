//! Every event in every phase: what is illegal changes nothing, what comes too late is kept.
//!
//! The table is written out, so that a change of `is_legal` has to be meant.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use crate::engine::digest::Digest;
use crate::engine::evidence::Receipt;
use crate::engine::id::{Generation, OperationId, RequestId, SourceId};
use crate::engine::operation::event::{Command, Event, Timer};
use crate::engine::operation::plan::{AgentProfile, Ownership, Plan};
use crate::engine::operation::{Operation, Phase};
use crate::engine::ports::{
    CallArguments, Finish, ModelAnswer, ModelOutcome, ModelReply, Permission, ResolvedModel,
    TokenUsage, ToolCall, ToolOutcome,
};
use crate::engine::routine::{Known, load};
use crate::engine::verify::Decision;

const ROUTINE: &str = "
routine: all
pre_steps: [{ name: before, tool: act }]
entry_steps: [work]
steps:
  - { slug: work, type: agent, agent: default }
  - { slug: done, type: terminal }
edges: [{ from: work, to: done }]
post_steps: [{ name: after, tool: act }]
post_steps_trigger: always
";

/// The phases, each with a letter of the table.
const PHASES: [&str; 11] = [
    "new", "leasing", "before", "paused", "graph", "after", "final", "failing", "settling",
    "settled", "ended",
];

/// Rows are events, columns phases in the order of `PHASES`: `+` legal, `-` a bug of the driver.
const TABLE: [(&str, &str); 17] = [
    ("started", "+----------"),
    ("leases_taken", "-+-----++++"),
    ("request_sent", "-++++++++++"),
    ("model_replied", "-++++++++++"),
    ("tool_replied", "-++++++++++"),
    ("tool_delivered", "-++++++++++"),
    ("permission_decided", "-++++++++++"),
    ("verifier_decided", "-++++++++++"),
    ("source_acknowledged", "-++++++++++"),
    ("timer_fired", "-++++++++++"),
    ("resume_admitted", "---+-------"),
    ("cancel_requested", "-++++++++++"),
    ("close_requested", "-++++++++++"),
    ("receipt_check_requested", "---------+-"),
    ("storage_failed", "-++++++++++"),
    ("cleanup_done", "---------++"),
    ("cleanup_failed", "---------++"),
];

/// A request that nobody made.
const NOBODYS: RequestId = RequestId(99);

fn operation() -> Operation {
    let known = Known {
        tools: ["act".to_owned()].into(),
        ..Known::default()
    };
    let loaded = load(ROUTINE.as_bytes(), &known);
    let routine = loaded
        .routine
        .unwrap_or_else(|| panic!("{:?}", loaded.issues));
    let model = ResolvedModel {
        provider: "test".into(),
        model: "m".into(),
        role: None,
        policy_version: None,
    };
    let agent = AgentProfile {
        name: "default".into(),
        instructions: None,
        model: model.clone(),
        tools: None,
        reasoning_effort: None,
        max_output_tokens: None,
        ownership: Ownership::Borrowed,
    };
    Operation::new(Arc::new(Plan {
        operation: OperationId::from("op"),
        definition: routine.definition,
        graph: routine.graph,
        inputs: BTreeMap::new(),
        agents: BTreeMap::from([("default".into(), agent)]),
        tools: BTreeMap::new(),
        model,
        max_observation_bytes: 1024 * 1024,
    }))
}

fn replied(verdict: &str, next: serde_json::Value) -> ModelReply {
    let args = json!({
        "verdict": verdict, "reasoning": "because", "output": 1, "next_steps": next,
    });
    ModelReply {
        outcome: ModelOutcome::Answered(ModelAnswer {
            text: None,
            calls: vec![ToolCall {
                id: "c".into(),
                name: "route_next_steps".into(),
                arguments: CallArguments::Json(args),
            }],
            finish: Finish::Complete,
            usage: TokenUsage::default(),
        }),
        request: Bytes::from_static(b"request"),
        response: Bytes::from_static(b"response"),
    }
}

fn tell(operation: &mut Operation, event: Event) {
    operation.apply(0, event).expect("legal");
}

/// Answers the `n`-th request: a call's permission, a tool, the model and the verifier in turn.
fn answer(operation: &mut Operation, n: u64) {
    let request = RequestId(n);
    let event = match n {
        1 | 5 => Event::PermissionDecided {
            request,
            permission: Permission::Allow,
        },
        2 | 6 => Event::ToolReplied {
            request,
            outcome: ToolOutcome::Done(json!({})),
        },
        3 => Event::ModelReplied {
            request,
            reply: Box::new(replied(
                "pass",
                json!([{ "target_step": "done", "handoff": { "k": 1 } }]),
            )),
        },
        _ => Event::VerifierDecided {
            request,
            decision: Ok(Decision::by_policy()),
        },
    };
    tell(operation, event);
}

/// Drives a fresh operation into a phase.
fn in_phase(phase: &str) -> Operation {
    let mut operation = operation();
    if phase == "new" {
        return operation;
    }
    tell(&mut operation, Event::Started);
    if phase == "leasing" {
        return operation;
    }
    tell(&mut operation, Event::LeasesTaken);
    if phase == "paused" {
        let permission = Permission::Ask {
            reason: "ask".into(),
        };
        let request = RequestId(1);
        tell(
            &mut operation,
            Event::PermissionDecided {
                request,
                permission,
            },
        );
    }
    let answered = match phase {
        "before" | "paused" => 0,
        "after" => 4,
        "final" => 6,
        "settled" => 7,
        _ => 2,
    };
    for n in 1..=answered {
        answer(&mut operation, n);
    }
    match phase {
        "failing" => {
            let reply = Box::new(replied("fail", json!([])));
            let request = RequestId(3);
            tell(&mut operation, Event::ModelReplied { request, reply });
        }
        "settling" => tell(&mut operation, Event::CancelRequested),
        "ended" => {
            tell(&mut operation, Event::CloseRequested);
            tell(&mut operation, Event::TimerFired(Timer::Grace));
        }
        _ => {}
    }
    let is_there = match &operation.phase {
        Phase::New => phase == "new",
        Phase::Leasing => phase == "leasing",
        Phase::Before(_) => matches!(phase, "before" | "paused"),
        Phase::Graph => phase == "graph",
        Phase::After(_, None) => phase == "after",
        Phase::After(_, Some(_)) => phase == "failing",
        Phase::Final(_) => phase == "final",
        Phase::Settling(_) => phase == "settling",
        Phase::Settled => phase == "settled",
        Phase::Ended => phase == "ended",
    };
    assert!(is_there, "{phase}: it is {:?}", operation.phase);
    operation
}

fn event(name: &str) -> Event {
    let request = NOBODYS;
    match name {
        "started" => Event::Started,
        "leases_taken" => Event::LeasesTaken,
        "request_sent" => Event::RequestSent {
            request,
            attempt: 1,
        },
        "model_replied" => Event::ModelReplied {
            request,
            reply: Box::new(replied("pass", json!([]))),
        },
        "tool_replied" => Event::ToolReplied {
            request,
            outcome: ToolOutcome::TimedOut,
        },
        "tool_delivered" => Event::ToolDelivered {
            delivery: "nobody's".into(),
            outcome: ToolOutcome::Done(json!(1)),
        },
        "permission_decided" => Event::PermissionDecided {
            request,
            permission: Permission::Allow,
        },
        "verifier_decided" => Event::VerifierDecided {
            request,
            decision: Ok(Decision::by_policy()),
        },
        "source_acknowledged" => Event::SourceAcknowledged {
            source: SourceId::from("nobody's"),
            receipt: Receipt {
                uri: "archive:x".into(),
                sha256: Digest::of(b"x"),
                bytes: 1,
            },
        },
        "timer_fired" => Event::TimerFired(Timer::Grace),
        "resume_admitted" => Event::ResumeAdmitted {
            generation: Generation(1),
            answers: Vec::new(),
        },
        "cancel_requested" => Event::CancelRequested,
        "close_requested" => Event::CloseRequested,
        "receipt_check_requested" => Event::ReceiptCheckRequested,
        "storage_failed" => Event::StorageFailed {
            reason: "full".into(),
        },
        "cleanup_done" => Event::CleanupDone,
        "cleanup_failed" => Event::CleanupFailed {
            reason: "busy".into(),
        },
        other => panic!("no event is called {other}"),
    }
}

#[test]
fn an_illegal_event_changes_nothing_and_a_legal_one_is_taken() {
    for (name, row) in TABLE {
        for (phase, cell) in PHASES.into_iter().zip(row.chars()) {
            let mut operation = in_phase(phase);
            let before = operation.view();
            let event = event(name);
            assert_eq!(event.name(), name);
            match (operation.apply(0, event), cell) {
                (Ok(_), '+') => {}
                (Err(illegal), '-') => {
                    assert_eq!(illegal.event, name);
                    assert_eq!(operation.view(), before, "{name} in {phase}");
                }
                (answer, cell) => panic!("{name} in {phase}: {answer:?}, the table says {cell}"),
            }
        }
    }
}

/// V11, V30: nothing that comes is refused or lost, whoever waits for it.
#[test]
fn a_reply_that_nobody_waits_for_is_kept_as_a_late_source_and_changes_nothing_else() {
    for name in [
        "model_replied",
        "tool_replied",
        "tool_delivered",
        "verifier_decided",
    ] {
        for phase in PHASES.into_iter().filter(|phase| *phase != "new") {
            let mut operation = in_phase(phase);
            let before = operation.view();
            let commands = operation.apply(0, event(name)).expect("never illegal");
            let kept = commands
                .iter()
                .filter(|command| matches!(command, Command::RecordLateSource(_)))
                .count();
            assert!(kept > 0, "{name} in {phase}: {commands:?}");
            let after = operation.view();
            assert_eq!(after.sources, before.sources + kept, "{name} in {phase}");
            assert_eq!(after.state, before.state, "{name} in {phase}");
            assert_eq!(after.executions, before.executions, "{name} in {phase}");
            assert_eq!(after.in_flight, before.in_flight, "{name} in {phase}");
        }
    }
}

/// V5: a continuation of another generation is no continuation.
#[test]
fn a_resume_of_the_wrong_generation_is_illegal() {
    let mut operation = in_phase("paused");
    let stale = Event::ResumeAdmitted {
        generation: Generation(0),
        answers: Vec::new(),
    };
    assert!(operation.apply(0, stale).is_err());
    let skipped = Event::ResumeAdmitted {
        generation: Generation(2),
        answers: Vec::new(),
    };
    assert!(operation.apply(0, skipped).is_err());
    assert!(operation.apply(0, event("resume_admitted")).is_ok());
}
