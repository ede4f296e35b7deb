//! How each command is done: every call of a port in a task of its own.
//!
//! A port that panics has answered, honestly: nobody can say what became of the call. A port that
//! ignores its cancellation is still waited for, in the background: its reply is late evidence.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::evidence::Place;
use crate::engine::id::RequestId;
use crate::engine::operation::event::{Command, Event, Timer, VerifierFailure};
use crate::engine::ports::{
    ModelContext, ModelOutcome, ModelReply, ModelRequest, Permission, Sending, StorageError,
    ToolContext, ToolOutcome, VerifyContext, VerifyRequest,
};
use crate::engine::runner::actor::{Actor, InFlight, Line, Message, Reply, Worth};
use crate::engine::runner::rest::Ending;

/// A tool ends its own work at its time limit; only so much later does the runner stop waiting.
const TOOL_MARGIN_MS: u64 = 250;
/// The least time that a verifier has.
const VERIFIER_MS: u64 = 60_000;
/// What a verifier has beyond the time limits of the checks that it is asked to make.
const VERIFIER_MARGIN_MS: u64 = 5_000;
/// How long a verifier that was asked to stop may take to do so.
const VERIFIER_STOP_MS: u64 = 1_000;

impl Actor {
    /// Does what the machine asks for.
    pub(super) fn perform(&mut self, command: Command) {
        match command {
            // The leases were taken before the operation began; the machine only has to know.
            Command::TakeLeases(_) => self.queue.push_back(Event::LeasesTaken),
            Command::CallModel {
                request,
                run,
                place,
                call,
            } => self.call_model(request, run, &place, *call),
            Command::CallTool {
                request,
                place,
                tool,
                args,
                timeout_ms,
            } => self.call_tool(request, place, tool, args, timeout_ms),
            Command::AskPermission {
                request,
                place: _,
                tool,
                args,
            } => self.ask_permission(request, tool, args),
            Command::Verify {
                request,
                place,
                observation,
                checks,
                attestations,
            } => {
                let asked = VerifyRequest {
                    observation,
                    checks,
                    attestations,
                };
                self.verify(request, place, asked);
            }
            Command::StopRequest { request } => {
                if let Some(in_flight) = self.in_flight.get(&request) {
                    in_flight.stop.cancel();
                }
            }
            Command::SetTimer { timer, after_ms } => {
                self.alarm.set(timer, Instant::now(), after_ms);
            }
            Command::ClearTimer(timer) => self.alarm.clear(&timer),
            Command::IssueContinuation(generation) => self.arrive_at_pause(generation),
            Command::RevokeContinuation => self.revoke(),
            Command::ReleaseLeases => self.cleaned_up(),
            Command::Settle(outcome) => self.arrive_at_end(Ending::Settled(outcome)),
            Command::End => self.arrive_at_end(Ending::Closed),
            Command::ReportReceipts(decision) => {
                if let Some(to) = self.receipts.take() {
                    // Whoever asked may be gone; the account has it.
                    let _ = to.send(decision);
                }
            }
            // Sorted out before, by what they need.
            Command::RecordSource(_) | Command::RecordLateSource(_) | Command::Publish(_) => {}
        }
    }

    /// The account or the evidence couldn't be written: what would act is not done, and says so.
    pub(super) fn leave_out(&mut self, command: Command, why: &StorageError) {
        let event = match command {
            Command::CallModel { request, .. } => Event::ModelReplied {
                request,
                reply: Box::new(without_bytes(ModelOutcome::Stopped)),
            },
            Command::CallTool { request, .. } => Event::ToolReplied {
                request,
                outcome: ToolOutcome::Failed {
                    reason: format!("not called, because its intent couldn't be written: {why}"),
                },
            },
            Command::AskPermission { request, .. } => Event::PermissionDecided {
                request,
                permission: Permission::Deny {
                    reason: format!("the account couldn't be written: {why}"),
                },
            },
            Command::Verify { request, .. } => Event::VerifierDecided {
                request,
                decision: Err(VerifierFailure::Stopped),
            },
            command @ (Command::TakeLeases(_)
            | Command::StopRequest { .. }
            | Command::SetTimer { .. }
            | Command::ClearTimer(_)
            | Command::RecordSource(_)
            | Command::RecordLateSource(_)
            | Command::IssueContinuation(_)
            | Command::RevokeContinuation
            | Command::ReleaseLeases
            | Command::Publish(_)
            | Command::Settle(_)
            | Command::End
            | Command::ReportReceipts(_)) => return self.perform(command),
        };
        self.queue.push_back(event);
    }

    fn call_model(
        &mut self,
        request: RequestId,
        run: crate::engine::id::RunId,
        place: &Place,
        call: ModelRequest,
    ) {
        let worth = Worth::Model(call.model.clone());
        let Some((line, stop)) = self.launch(request, worth) else {
            return;
        };
        let context = ModelContext {
            operation: self.id.clone(),
            run,
            cancellation: stop,
            remaining_ms: self.remaining_ms(place),
            sending: Arc::new(GoesOut {
                request,
                line: line.clone(),
            }),
        };
        let models = Arc::clone(&self.ports.models);
        tokio::spawn(async move {
            let called = async move { models.call(call, context).await };
            let reply = caught(called).await.unwrap_or_else(|panic| {
                without_bytes(ModelOutcome::NoAnswer {
                    reason: format!("the model's adapter panicked: {panic}"),
                })
            });
            let reply = Reply::Model(Box::new(reply));
            line.send(Message::Replied { request, reply });
        });
    }

    fn call_tool(
        &mut self,
        request: RequestId,
        place: Place,
        tool: String,
        args: serde_json::Value,
        timeout_ms: u64,
    ) {
        let Some((line, stop)) = self.launch(request, Worth::Tool) else {
            return;
        };
        let context = ToolContext {
            operation: self.id.clone(),
            place,
            generation: self.operation.generation(),
            timeout_ms,
            cancellation: stop.clone(),
        };
        let tools = Arc::clone(&self.ports.tools);
        tokio::spawn(async move {
            let called = caught(async move { tools.call(&tool, args, context).await });
            tokio::pin!(called);
            let limit = Duration::from_millis(timeout_ms.saturating_add(TOOL_MARGIN_MS));
            let outcome = match tokio::time::timeout(limit, &mut called).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    line.send(Message::Overdue { request });
                    stop.cancel();
                    called.await
                }
            };
            let outcome = outcome.unwrap_or_else(|panic| ToolOutcome::Unknown {
                reason: format!("the tool panicked: {panic}"),
            });
            let reply = Reply::Tool(outcome);
            line.send(Message::Replied { request, reply });
        });
    }

    fn ask_permission(&mut self, request: RequestId, tool: String, args: serde_json::Value) {
        let Some((line, _)) = self.launch(request, Worth::Look) else {
            return;
        };
        let tools = Arc::clone(&self.ports.tools);
        let operation = self.id.clone();
        tokio::spawn(async move {
            let asked = async move { tools.permission(&operation, &tool, &args) };
            let permission = caught(asked)
                .await
                .unwrap_or_else(|panic| Permission::Deny {
                    reason: format!("the permissions panicked: {panic}"),
                });
            let reply = Reply::Permission(permission);
            line.send(Message::Replied { request, reply });
        });
    }

    fn verify(&mut self, request: RequestId, place: Option<Place>, asked: VerifyRequest) {
        let Some((line, stop)) = self.launch(request, Worth::Look) else {
            return;
        };
        let context = VerifyContext {
            operation: self.id.clone(),
            place,
            generation: self.operation.generation(),
            cancellation: stop.clone(),
            accounting: Arc::new(self.task.clone()),
        };
        let verifier = Arc::clone(&self.ports.verifier);
        let limit_ms = asked
            .checks
            .iter()
            .fold(VERIFIER_MARGIN_MS, |sum, check| {
                sum.saturating_add(check.timeout_ms)
            })
            .max(VERIFIER_MS);
        tokio::spawn(async move {
            let looked = caught(async move { verifier.verify(asked, context).await });
            let decision = tokio::select! {
                biased;
                decision = looked => decision.map_err(VerifierFailure::Panicked),
                () = stopped_for(&stop, VERIFIER_STOP_MS) => Err(VerifierFailure::Stopped),
                () = tokio::time::sleep(Duration::from_millis(limit_ms)) => {
                    Err(VerifierFailure::TimedOut(limit_ms))
                }
            };
            // A look that is over changes nothing: it is dropped, and told to stop besides.
            stop.cancel();
            let reply = Reply::Verifier(decision);
            line.send(Message::Replied { request, reply });
        });
    }

    /// Remembers a request as in flight. `None` when nobody can reach the operation any more.
    fn launch(&mut self, request: RequestId, worth: Worth) -> Option<(Line, CancellationToken)> {
        let line = self.line()?;
        let stop = self.root.child_token();
        let in_flight = InFlight {
            stop: stop.clone(),
            worth,
        };
        self.in_flight.insert(request, in_flight);
        Some((line, stop))
    }

    /// Milliseconds until the first deadline around a place.
    fn remaining_ms(&self, place: &Place) -> Option<u64> {
        let now = Instant::now();
        let step = Timer::Step {
            execution: place.execution.clone(),
            step: place.step.clone(),
            lap: place.lap,
        };
        [Timer::Deadline, step]
            .iter()
            .filter_map(|timer| self.alarm.remaining_ms(timer, now))
            .min()
    }
}

/// Tells the operation's task of every send.
struct GoesOut {
    request: RequestId,
    line: Line,
}

impl Sending for GoesOut {
    fn goes_out(&self, n: u32) {
        self.line.send(Message::Sent {
            request: self.request,
            attempt: n,
        });
    }
}

/// Ends a while after a cancellation.
async fn stopped_for(stop: &CancellationToken, ms: u64) {
    stop.cancelled().await;
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

fn without_bytes(outcome: ModelOutcome) -> ModelReply {
    ModelReply {
        outcome,
        request: Bytes::new(),
        response: Bytes::new(),
    }
}

/// What a future gives, or the text that it panicked with.
pub(super) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(future)
        .catch_unwind()
        .await
        .map_err(|panic| panic_text(&*panic))
}

/// The text of a panic, where it has one.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "without a text".to_owned()
    }
}
