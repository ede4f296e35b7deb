//! Events out: one JSON object a line (C3), or lines for people.

use std::io::{self, Write as _};
use std::sync::mpsc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::cli::Format;
use crate::engine::operation::outcome::{Fulfillment, Status};
use crate::engine::operation::published::{
    At, CalledOutcome, PublicEvent, Published, SettledVerdict,
};
use crate::engine::runner::Progress;
use crate::tui::text::Inert;

/// Writes events to stdout. When that fails, nobody reads any more: the run is cancelled.
///
/// A thread of its own does the writing: a reader that is slow, or stopped reading, must hold up
/// neither the operation nor a signal.
pub(super) struct Printer {
    format: Format,
    closed: CancellationToken,
    entries: mpsc::Sender<Entry>,
}

/// What the writing thread is given.
enum Entry {
    Line(String),
    /// To be told when everything before is written.
    Mark(oneshot::Sender<()>),
}

impl Printer {
    /// Starts the thread.
    pub(super) fn start(format: Format) -> io::Result<Self> {
        let closed = CancellationToken::new();
        // Unbounded, as what comes before it: an operation must not wait for a reader.
        let (entries, received) = mpsc::channel();
        let fails = closed.clone();
        std::thread::Builder::new()
            .name("events".into())
            .spawn(move || write(&received, &fails))?;
        Ok(Self {
            format,
            closed,
            entries,
        })
    }

    /// Is cancelled when stdout can't be written to.
    pub(super) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Waits until every event so far is written, or can't be.
    pub(super) async fn printed(&self) {
        let (to, marked) = oneshot::channel();
        // The thread lives as long as this.
        let _ = self.entries.send(Entry::Mark(to));
        let _ = marked.await;
    }
}

impl Progress for Printer {
    fn published(&self, event: &Published) {
        let line = match self.format {
            Format::Json => serde_json::to_string(event).ok(),
            Format::Text => line(&event.event),
        };
        if let Some(mut line) = line {
            line.push('\n');
            let _ = self.entries.send(Entry::Line(line));
        }
    }
}

/// Writes what comes, as much at once as is there.
fn write(received: &mpsc::Receiver<Entry>, closed: &CancellationToken) {
    while let Ok(first) = received.recv() {
        let mut text = String::new();
        let mut marks = Vec::new();
        for entry in std::iter::once(first).chain(received.try_iter()) {
            match entry {
                Entry::Line(line) => text.push_str(&line),
                Entry::Mark(to) => marks.push(to),
            }
        }
        let mut out = io::stdout().lock();
        if !closed.is_cancelled()
            && out
                .write_all(text.as_bytes())
                .and_then(|()| out.flush())
                .is_err()
        {
            closed.cancel();
        }
        for to in marks {
            // Whoever asked may be gone.
            let _ = to.send(());
        }
    }
}

/// An event for people; `None` for what only programs want to know.
fn line(event: &PublicEvent) -> Option<String> {
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
            ..
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
            (
                "verdict",
                format!("{}: {word}{reason}{}", place(at), shown(output)),
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
            return Some(
                settled(
                    *status,
                    reason.as_deref(),
                    detail,
                    step.as_deref(),
                    outputs,
                    *fulfillment,
                ) + &effects
                    .map(|class| format!("\n          effects: {}", class.label()))
                    .unwrap_or_default()
                    + &format!(
                        "\n          used: {} model calls, {} tool calls, {} tokens in, {} out",
                        usage.model_calls,
                        usage.tool_calls,
                        usage.input_tokens,
                        usage.output_tokens
                    ),
            );
        }
        PublicEvent::StepSubmitted { .. }
        | PublicEvent::EdgeActivated { attempt: None, .. }
        | PublicEvent::SourceRecorded { .. }
        | PublicEvent::SourceAcknowledged { .. } => return None,
    };
    Some(column(word, &text))
}

fn settled(
    status: Status,
    reason: Option<&str>,
    detail: &Value,
    step: Option<&str>,
    outputs: &std::collections::BTreeMap<String, Value>,
    fulfillment: Fulfillment,
) -> String {
    let mut text = status.label().to_owned();
    if let Some(reason) = reason.filter(|reason| *reason != status.label()) {
        text.push_str(&format!(", {reason}"));
    }
    if let Some(step) = step {
        text.push_str(&format!(" at {step}"));
    }
    if let Some(why) = detail.get("text").and_then(Value::as_str) {
        text.push_str(&format!(": {why}"));
    }
    text.push_str(match fulfillment {
        Fulfillment::Fulfilled => "; the task is fulfilled",
        Fulfillment::NotFulfilled => "; not recorded as fulfilled",
    });
    let mut lines = column("settled", &text);
    for (terminal, output) in outputs {
        lines.push('\n');
        lines.push_str(&column("", &format!("{terminal}{}", shown(output))));
    }
    for required in detail
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        lines.push('\n');
        lines.push_str(&column(
            "",
            &format!("required: {}", required.as_str().unwrap_or_default()),
        ));
    }
    lines
}

/// One line: the word in its column, and text of which nothing reaches the terminal but text (T8).
fn column(word: &str, text: &str) -> String {
    format!("{word:<9} {}", Inert::one_line(text).as_str())
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
