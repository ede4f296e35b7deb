//! The lines of an operation's account: intents before their effects, and what came of them (L10).
//!
//! A request that an intent opened and no event closed reads as *uncertain*. Prompts, keys and
//! arguments never stand here, only their digests; the bytes are sources.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::engine::digest::Digest;
use crate::engine::evidence::Place;
use crate::engine::id::RequestId;
use crate::engine::operation::event::{Command, Event, Timer, VerifierFailure};
use crate::engine::operation::plan::Plan;
use crate::engine::operation::published::Published;
use crate::engine::ports::{
    Finish, LogKind, LogLine, ModelOutcome, ModelRequest, OfferedTool, ToolOutcome,
};
use crate::engine::runner::preflight::RunReferences;
use crate::engine::verify::Decision;

/// The first line: what the operation is made of and what it refers to.
pub(super) fn started(at: &str, plan: &Plan, references: &RunReferences) -> LogLine {
    let inputs: Value = plan
        .inputs
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    event(
        at,
        "started",
        None,
        json!({
            "routine": plan.definition.slug,
            "version": plan.definition.version,
            "model": plan.model.to_string(),
            "deadline_ms": plan.definition.deadline_ms,
            "max_observation_bytes": plan.max_observation_bytes,
            "inputs_sha256": Digest::of_json(&inputs),
            "agents": plan.agents.values().map(|agent| json!({
                "agent": agent.name,
                "model": agent.model,
                "reasoning_effort": agent.reasoning_effort,
                "instructions_sha256": agent.instructions.as_deref().map(|text| Digest::of(text.as_bytes())),
            })).collect::<Vec<_>>(),
            "references": to_value(references),
        }),
    )
}

/// The line of a command that touches the world; `None` for what stays inside.
pub(super) fn intent(
    at: &str,
    command: &Command,
    tools: &BTreeMap<String, Digest>,
) -> Option<LogLine> {
    let (request, detail) = match command {
        Command::TakeLeases(agents) => (None, json!({ "agents": agents })),
        Command::CallModel {
            request,
            run,
            place,
            call,
        } => (
            Some(request),
            at_place(place, model_call(run.as_str(), call, tools)),
        ),
        Command::CallTool {
            request,
            place,
            tool,
            args,
            timeout_ms,
        } => (
            Some(request),
            at_place(
                place,
                json!({
                    "tool": tool,
                    "arguments_sha256": Digest::of_json(args),
                    "timeout_ms": timeout_ms,
                }),
            ),
        ),
        Command::Verify {
            request,
            place,
            observation,
            checks,
            attestations,
        } => {
            let detail = json!({
                "phase": observation.phase().label(),
                "observation_sha256": observation.digest(),
                "checks": checks.len(),
                "attestations": attestations,
            });
            let detail = match place {
                Some(place) => at_place(place, detail),
                None => detail,
            };
            (Some(request), detail)
        }
        Command::IssueContinuation(generation) => (None, json!({ "generation": generation })),
        Command::RevokeContinuation | Command::ReleaseLeases | Command::End => (None, Value::Null),
        // Questions to the host that do nothing, and what stays inside of the runner. What is
        // published has its own line.
        Command::AskPermission { .. }
        | Command::StopRequest { .. }
        | Command::SetTimer { .. }
        | Command::ClearTimer(_)
        | Command::RecordSource(_)
        | Command::RecordLateSource(_)
        | Command::Publish(_)
        | Command::Settle(_)
        | Command::ReportReceipts(_) => return None,
    };
    Some(LogLine {
        at: at.to_owned(),
        kind: LogKind::Intent,
        name: command.name().to_owned(),
        request: request.map(|request| request.0),
        detail,
    })
}

/// The line of what happened; `None` where a published event says the same.
pub(super) fn happened(at: &str, what: &Event) -> Option<LogLine> {
    let (request, detail) = match what {
        Event::Started | Event::RequestSent { .. } | Event::SourceAcknowledged { .. } => {
            return None;
        }
        Event::LeasesTaken
        | Event::CancelRequested
        | Event::CloseRequested
        | Event::ReceiptCheckRequested
        | Event::CleanupDone => (None, Value::Null),
        Event::ModelReplied { request, reply } => (Some(request), model_outcome(&reply.outcome)),
        Event::ToolReplied { request, outcome } => (Some(request), tool_outcome(outcome)),
        Event::ToolDelivered { delivery, outcome } => {
            let mut detail = tool_outcome(outcome);
            detail["delivery"] = delivery.as_str().into();
            (None, detail)
        }
        Event::PermissionDecided {
            request,
            permission,
        } => (Some(request), to_value(permission)),
        Event::VerifierDecided { request, decision } => (Some(request), verdict(decision)),
        Event::TimerFired(timer) => (None, json!({ "timer": timer_name(timer) })),
        Event::ResumeAdmitted {
            generation,
            answers,
        } => (
            None,
            json!({
                "generation": generation,
                "answers": answers.iter().map(|(key, answer)| json!({
                    "wait": key,
                    "answer": answer,
                })).collect::<Vec<_>>(),
            }),
        ),
        Event::StorageFailed { reason } | Event::CleanupFailed { reason } => {
            (None, json!({ "reason": reason }))
        }
    };
    Some(event(at, what.name(), request, detail))
}

/// The line of a published event: all of it, so that records can tell it again.
pub(super) fn published(what: &Published) -> LogLine {
    let detail = to_value(what);
    let name = detail["type"].as_str().unwrap_or("published").to_owned();
    event(&what.at, &name, None, detail)
}

/// The line of an event that the machine refused: a defect of ours, kept so that it can be found.
pub(super) fn refused(at: &str, why: &impl std::fmt::Display) -> LogLine {
    event(at, "refused", None, json!({ "reason": why.to_string() }))
}

/// The line of a receipt check's finding (V31).
pub(super) fn receipts(at: &str, decision: &Result<Decision, VerifierFailure>) -> LogLine {
    event(at, "receipts_checked", None, verdict(decision))
}

/// A timer's name in the account.
pub(super) fn timer_name(timer: &Timer) -> String {
    match timer {
        Timer::Deadline => "deadline".into(),
        Timer::Grace => "grace".into(),
        Timer::Step {
            execution,
            step,
            lap,
        } => format!("{execution}/{step}#{lap}"),
    }
}

fn event(at: &str, name: &str, request: Option<&RequestId>, detail: Value) -> LogLine {
    LogLine {
        at: at.to_owned(),
        kind: LogKind::Event,
        name: name.to_owned(),
        request: request.map(|request| request.0),
        detail,
    }
}

fn at_place(place: &Place, mut detail: Value) -> Value {
    detail["execution"] = to_value(&place.execution);
    detail["step"] = place.step.as_str().into();
    detail["lap"] = place.lap.0.into();
    detail
}

fn model_call(run: &str, call: &ModelRequest, tools: &BTreeMap<String, Digest>) -> Value {
    json!({
        "run": run,
        "model": call.model,
        "reasoning_effort": call.reasoning_effort,
        "max_output_tokens": call.max_output_tokens,
        "messages": call.messages.len(),
        "instructions_sha256": Digest::of(call.system.as_bytes()),
        "capabilities": call.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        "capabilities_sha256": exposed(&call.tools, tools),
    })
}

/// Covers every tool that the model is offered, contracts included (L7).
fn exposed(offered: &[OfferedTool], tools: &BTreeMap<String, Digest>) -> Digest {
    let mut text = String::new();
    for tool in offered {
        let digest = match tools.get(&tool.name) {
            Some(digest) => digest.clone(),
            None => Digest::of_json(&json!({
                "name": tool.name,
                "description": tool.description,
                "schema": tool.schema,
            })),
        };
        text.push_str(&digest.to_string());
        text.push('\n');
    }
    Digest::of(text.as_bytes())
}

fn model_outcome(outcome: &ModelOutcome) -> Value {
    match outcome {
        ModelOutcome::Answered(answer) => json!({
            "outcome": "answered",
            "finish": match answer.finish {
                Finish::Complete => "complete",
                Finish::CutOff => "cut_off",
                Finish::Refused { .. } => "refused",
            },
            "usage": answer.usage,
        }),
        ModelOutcome::NotTaken { reason } => json!({ "outcome": "not_taken", "reason": reason }),
        ModelOutcome::NoAnswer { reason } => json!({ "outcome": "no_answer", "reason": reason }),
        ModelOutcome::Unreadable { reason } => json!({ "outcome": "unreadable", "reason": reason }),
        ModelOutcome::Stopped => json!({ "outcome": "stopped" }),
    }
}

fn tool_outcome(outcome: &ToolOutcome) -> Value {
    match outcome {
        ToolOutcome::Done(_) => json!({ "outcome": "done" }),
        ToolOutcome::Failed { reason } => json!({ "outcome": "failed", "reason": reason }),
        ToolOutcome::Pending { delivery } => {
            json!({ "outcome": "pending", "delivery": delivery })
        }
        ToolOutcome::TimedOut => json!({ "outcome": "timeout" }),
        ToolOutcome::OutputLimit(_) => json!({ "outcome": "output_limit" }),
        ToolOutcome::Unknown { reason } => json!({ "outcome": "unknown", "reason": reason }),
    }
}

fn verdict(decision: &Result<Decision, VerifierFailure>) -> Value {
    match decision {
        Ok(decision) => to_value(decision),
        Err(failure) => json!({ "failure": failure.to_string() }),
    }
}

fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("BUG: our own types are JSON")
}
