//! Events in words for people: one place, so that both front ends say the same.
//!
//! Nothing here is made inert or cut to a width: that is for whoever shows it.

use serde_json::Value;

use crate::engine::operation::outcome::{Fulfillment, Outcome, Status};
use crate::engine::operation::published::{At, CalledOutcome, PublicEvent, SettledVerdict};

/// An event for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// What it is about, in one word of at most nine letters.
    pub word: &'static str,
    /// The text, at least one line.
    pub lines: Vec<String>,
}

/// An event for people; `None` for what only programs want to know.
pub fn told(event: &PublicEvent) -> Option<Told> {
    let (word, text) = match event {
        PublicEvent::OperationStarted { routine, model } => {
            ("started", format!("{routine} with {model}"))
        }
        PublicEvent::StepStarted { at, kind, agent } => {
            let by = agent
                .as_ref()
                .map(|agent| format!(", {agent}"))
                .unwrap_or_default();
            ("step", format!("{} ({kind}{by})", place(at)))
        }
        PublicEvent::ModelCalled {
            at,
            turn,
            r#try,
            model,
            ..
        } => {
            let again = if *r#try > 1 {
                format!(", sent again ({try})")
            } else {
                String::new()
            };
            (
                "model",
                format!("{} asks {model}, call {turn}{again}", place(at)),
            )
        }
        PublicEvent::ToolCalled { at, tool, outcome } => (
            "tool",
            format!("{} called {tool}: {}", place(at), called(*outcome)),
        ),
        PublicEvent::StepSettled {
            at,
            verdict,
            reason,
            output,
            data,
        } => {
            let word = match verdict {
                SettledVerdict::Pass => "pass",
                SettledVerdict::Fail => "fail",
                SettledVerdict::Uncertain => "uncertain",
                SettledVerdict::Skipped => "skipped",
            };
            let reason = reason
                .map(|reason| format!(" ({reason})"))
                .unwrap_or_default();
            // Said here, because the end of an iteration's routine tells only that one failed.
            let why = match verdict {
                SettledVerdict::Fail => data.get("text").and_then(Value::as_str),
                SettledVerdict::Pass | SettledVerdict::Uncertain | SettledVerdict::Skipped => None,
            };
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            (
                "verdict",
                format!("{}: {word}{reason}{why}{}", place(at), shown(output)),
            )
        }
        PublicEvent::EdgeActivated {
            edge,
            attempt: Some(attempt),
            ..
        } => ("rework", format!("{edge}, attempt {attempt}")),
        PublicEvent::VerifyDecided {
            at,
            phase,
            decision,
            basis,
            reason,
        } => {
            let what = match &at.step {
                Some(_) => place(at),
                None => (*phase).to_owned(),
            };
            let decision = match *basis {
                "host_policy" => "unverified: no check asks for more",
                _ => decision,
            };
            let reason = reason
                .as_ref()
                .map(|reason| format!(": {reason}"))
                .unwrap_or_default();
            ("verify", format!("{what} is {decision}{reason}"))
        }
        PublicEvent::OperationPaused { state, reason, .. } => {
            ("paused", format!("{}: {reason}", state.label()))
        }
        PublicEvent::OperationResumed { generation } => {
            ("resumed", format!("for the {}. time", generation.0))
        }
        PublicEvent::OperationSettled {
            status,
            reason,
            detail,
            step,
            outputs,
            fulfillment,
            effects,
            usage,
        } => {
            return Some(Told {
                word: "settled",
                lines: ending(&Outcome {
                    status: *status,
                    reason: reason.clone(),
                    detail: detail.clone(),
                    step: step.clone(),
                    outputs: outputs.clone(),
                    fulfillment: *fulfillment,
                    effects: *effects,
                    usage: *usage,
                }),
            });
        }
        PublicEvent::StepSubmitted { .. }
        | PublicEvent::EdgeActivated { attempt: None, .. }
        | PublicEvent::SourceRecorded { .. }
        | PublicEvent::SourceAcknowledged { .. } => return None,
    };
    Some(Told {
        word,
        lines: vec![text],
    })
}

/// How an operation ended, line by line: what, the outputs, the effect class and what it now
/// requires (L5), what was used.
pub fn ending(outcome: &Outcome) -> Vec<String> {
    let mut lines = vec![headline(outcome)];
    for (terminal, output) in &outcome.outputs {
        lines.push(format!("{terminal}{}", shown(output)));
    }
    for required in required(outcome) {
        lines.push(format!("required: {required}"));
    }
    if let Some(class) = outcome.effects {
        lines.push(format!("effects: {}", class.label()));
    }
    let usage = outcome.usage;
    lines.push(format!(
        "used: {} model calls, {} tool calls, {} tokens in, {} out",
        usage.model_calls, usage.tool_calls, usage.input_tokens, usage.output_tokens
    ));
    lines
}

/// What an operation that was stopped now requires of its people (L5).
pub fn required(outcome: &Outcome) -> impl Iterator<Item = &str> {
    let required = outcome.detail.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str)
}

fn headline(outcome: &Outcome) -> String {
    let status = outcome.status.label();
    let mut text = status.to_owned();
    if let Some(reason) = outcome.reason.as_deref().filter(|reason| *reason != status) {
        text.push_str(&format!(", {reason}"));
    }
    if let Some(step) = &outcome.step {
        text.push_str(&format!(" at {step}"));
    }
    if let Some(why) = outcome.detail.get("text").and_then(Value::as_str) {
        text.push_str(&format!(": {why}"));
    }
    text.push_str(match outcome.fulfillment {
        Fulfillment::Fulfilled => "; the task is fulfilled",
        Fulfillment::NotFulfilled => match outcome.status {
            // All that was asked for held; whether that fulfils a task is for its records to say (L1).
            Status::Succeeded => "; fulfillment is not recorded",
            Status::Failed | Status::Cancelled => "; the task is not fulfilled",
        },
    });
    text
}

fn place(at: &At) -> String {
    match (&at.step, at.lap) {
        (Some(step), Some(lap)) if lap.0 > 1 => format!("{step} (lap {lap})"),
        (Some(step), _) => step.clone(),
        (None, _) => at.execution.to_string(),
    }
}

fn called(outcome: CalledOutcome) -> &'static str {
    match outcome {
        CalledOutcome::Ok => "ok",
        CalledOutcome::Failed => "failed",
        CalledOutcome::Denied => "denied",
        CalledOutcome::Pending => "pending",
        CalledOutcome::Timeout => "timeout",
        CalledOutcome::OutputLimit => "output_limit",
        CalledOutcome::Unknown => "unknown",
    }
}

/// A short look at an output.
fn shown(output: &Value) -> String {
    const WIDTH: usize = 100;
    let text = match output {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut short: String = text.chars().take(WIDTH).collect();
    if text.chars().nth(WIDTH).is_some() {
        short.push('…');
    }
    format!(" = {short}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settled(verdict: SettledVerdict) -> String {
        let event = PublicEvent::StepSettled {
            at: At {
                execution: "op-1.x1".into(),
                step: Some("note".into()),
                lap: None,
            },
            verdict,
            reason: Some("model_refused_request"),
            output: Value::Null,
            data: json!({ "text": "can't be reached" }),
        };
        told(&event).expect("it is told").lines.join("\n")
    }

    // A nested routine's failure reaches the operation only as `iteration_failed`.
    #[test]
    fn a_failed_step_says_why_where_it_fails() {
        assert_eq!(
            settled(SettledVerdict::Fail),
            "note: fail (model_refused_request): can't be reached"
        );
        assert_eq!(
            settled(SettledVerdict::Skipped),
            "note: skipped (model_refused_request)"
        );
    }
}
