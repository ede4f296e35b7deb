//! Plays one seed: keeps what is in flight and lets chance decide what happens next.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::digest::Digest;
use crate::engine::evidence::{Place, Receipt};
use crate::engine::id::{RequestId, SourceId};
use crate::engine::operation::event::{Command, Event, Timer};
use crate::engine::operation::state::Execution;
use crate::engine::operation::tests::simulator::answers::{self, Manner};
use crate::engine::operation::tests::simulator::chance::Chance;
use crate::engine::operation::tests::simulator::invariants::Watch;
use crate::engine::operation::tests::simulator::world::{LEVELS, World};
use crate::engine::operation::view::OperationState;
use crate::engine::operation::wait::{Answer, WaitKey};
use crate::engine::operation::{Admission, Operation};
use crate::engine::ports::ModelRequest;
use crate::engine::routine::definition::Check;
use crate::engine::verify::Attestation;

/// Events in which a kind world has to bring any operation to its end.
const PATIENCE: usize = 4_000;

/// What the driver is doing.
enum Pending {
    Leases,
    Model {
        request: RequestId,
        place: Place,
        call: Box<ModelRequest>,
        sent: u32,
    },
    Tool {
        request: RequestId,
    },
    Permission {
        request: RequestId,
    },
    Verify {
        request: RequestId,
        checks: Vec<Check>,
        attestations: Vec<Attestation>,
    },
    Cleanup,
}

/// How a seed ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) state: Option<OperationState>,
    pub(super) resumes: u64,
    pub(super) seen: BTreeSet<String>,
    /// Executions that were iterations, by level.
    pub(super) iterations: [u64; LEVELS],
}

/// One operation in its world.
pub(super) struct Play<'a> {
    chance: Chance,
    world: &'a World,
    operation: Operation,
    watch: Watch<'a>,
    manner: Manner,
    now: u64,
    pending: Vec<Pending>,
    /// Requests that were answered, to be answered again.
    answered: Vec<RequestId>,
    timers: BTreeMap<Timer, u64>,
    cleared: Vec<Timer>,
    deliveries: Vec<String>,
    delivered: Vec<String>,
    /// How often a kind world resumed where only conditions waited.
    vain: usize,
    story: &'a mut Vec<String>,
}

impl<'a> Play<'a> {
    pub(super) fn of(chance: Chance, world: &'a World, story: &'a mut Vec<String>) -> Self {
        Self {
            chance,
            operation: Operation::new(world.plan.clone()),
            watch: Watch::of(world),
            world,
            manner: Manner::Wild,
            now: 0,
            pending: Vec::new(),
            answered: Vec::new(),
            timers: BTreeMap::new(),
            cleared: Vec::new(),
            deliveries: Vec::new(),
            delivered: Vec::new(),
            vain: 0,
            story,
        }
    }

    /// Wild for a while, then kind until it ends, then a little of what comes too late.
    pub(super) fn run(mut self) -> Result<Ended, String> {
        self.tell(Event::Started)?;
        if self.chance.percent(50) {
            self.manner = Manner::Mild;
        }
        let wild = 20 + self.chance.below(160);
        let fate = match self.chance.percent(30) {
            true => self.chance.below(wild),
            false => usize::MAX,
        };
        for at in 0..wild {
            if at == fate {
                self.interrupt()?;
            }
            self.anything()?;
        }
        self.manner = Manner::Kind;
        for _ in 0..PATIENCE {
            if self.watch.is_ended() {
                break;
            }
            self.something_kind()?;
        }
        if !self.watch.is_ended() {
            return Err(format!("it doesn't end: {:?}", self.operation.state()));
        }
        let settled = self.operation.outcome().cloned();
        self.manner = Manner::Wild;
        for _ in 0..12 {
            self.anything()?;
        }
        match settled == self.operation.outcome().cloned() {
            true => Ok(Ended {
                state: Some(self.operation.state()),
                resumes: self.operation.generation().0,
                seen: self.watch.seen().clone(),
                iterations: self.iterations(),
            }),
            false => Err("the outcome changed after the end".into()),
        }
    }

    fn iterations(&self) -> [u64; LEVELS] {
        let mut counts = [0; LEVELS];
        for execution in &self.operation.executions {
            let around = |held: &Execution| {
                let of = held.iteration.as_ref()?.of;
                Some(of.execution)
            };
            let outward = std::iter::successors(around(execution), |&index| {
                around(&self.operation.executions[index])
            });
            counts[outward.count()] += 1;
        }
        counts
    }

    fn interrupt(&mut self) -> Result<(), String> {
        match self.chance.weighed(&[45, 30, 25]) {
            0 => self.tell(Event::CancelRequested),
            1 => self.tell(Event::CloseRequested),
            _ => self.tell(Event::StorageFailed {
                reason: "the disk is full".into(),
            }),
        }
    }

    fn anything(&mut self) -> Result<(), String> {
        let is_settled = self.operation.outcome().is_some();
        let if_any = |count: usize, weight: usize| if count == 0 { 0 } else { weight };
        let is_settling = self.operation.state() == OperationState::Settling;
        let is_paused = matches!(self.operation.state(), OperationState::Paused(_));
        let weights = [
            if_any(self.pending.len(), 70),
            if_any(self.pending.len(), 20),
            if_any(self.timers.len(), 2),
            if_any(self.answered.len(), 3),
            if_any(self.deliveries.len(), 8),
            2,
            if_any(self.operation.sources().len(), 4),
            if is_paused { 40 } else { 0 },
            if is_settled { 6 } else { 0 },
            if_any(self.cleared.len(), 1),
            if is_settling { 2 } else { 0 },
        ];
        match self.chance.weighed(&weights) {
            0 => self.reply(),
            1 => self.send(),
            2 => self.fire(),
            3 => self.reply_again(),
            4 => self.deliver(),
            5 => self.deliver_wrongly(),
            6 => self.acknowledge(),
            7 => self.resume(),
            8 => self.tell(Event::ReceiptCheckRequested),
            9 => self.fire_late(),
            _ => self.interrupt(),
        }
    }

    fn something_kind(&mut self) -> Result<(), String> {
        if !self.pending.is_empty() {
            return self.reply();
        }
        if !self.deliveries.is_empty() {
            return self.deliver();
        }
        match self.operation.state() {
            OperationState::Paused(_) => {
                let open: Vec<SourceId> = self
                    .operation
                    .sources()
                    .iter()
                    .map(|source| source.id.clone())
                    .filter(|source| self.operation.receipt(source).is_none())
                    .collect();
                let is_oversized =
                    self.operation.waits().iter().any(|wait| {
                        wait.kind == crate::engine::operation::wait::WaitKind::Evidence
                    });
                // Nobody can answer a condition, and a view may be too large with receipts too (V26): in
                // the end somebody gives up.
                let is_vain = (self.operation.waits().iter())
                    .all(|wait| wait.kind == crate::engine::operation::wait::WaitKind::Condition);
                let is_done = is_oversized && open.is_empty();
                self.vain += usize::from(is_vain || is_done);
                if self.vain > 2 {
                    return self.tell(Event::CancelRequested);
                }
                if is_oversized {
                    for source in open {
                        self.tell(acknowledged(source))?;
                    }
                }
                self.resume()
            }
            other => Err(format!("it is {other:?} and nothing can be done")),
        }
    }

    fn reply(&mut self) -> Result<(), String> {
        let at = self.chance.below(self.pending.len());
        match self.pending.swap_remove(at) {
            Pending::Leases => self.tell(Event::LeasesTaken),
            Pending::Cleanup => match self.manner == Manner::Wild && self.chance.percent(30) {
                true => self.tell(Event::CleanupFailed {
                    reason: "busy".into(),
                }),
                false => self.tell(Event::CleanupDone),
            },
            Pending::Model {
                request,
                place,
                call,
                sent,
            } => {
                let reply =
                    answers::reply(&mut self.chance, self.manner, self.world, &place, &call);
                let went_out = !reply.response.is_empty() || self.chance.percent(60);
                if sent == 0 && went_out {
                    self.tell(Event::RequestSent {
                        request,
                        attempt: 1,
                    })?;
                }
                self.answered.push(request);
                self.tell(Event::ModelReplied {
                    request,
                    reply: Box::new(reply),
                })
            }
            Pending::Tool { request } => {
                let delivery = format!("d{}", self.deliveries.len() + self.delivered.len());
                let outcome = answers::outcome(&mut self.chance, self.manner, &delivery);
                if let crate::engine::ports::ToolOutcome::Pending { .. } = outcome {
                    self.deliveries.push(delivery);
                }
                self.answered.push(request);
                self.tell(Event::ToolReplied { request, outcome })
            }
            Pending::Permission { request } => {
                let permission = answers::permission(&mut self.chance, self.manner);
                self.tell(Event::PermissionDecided {
                    request,
                    permission,
                })
            }
            Pending::Verify {
                request,
                checks,
                attestations,
            } => {
                let decision =
                    answers::decision(&mut self.chance, self.manner, &checks, &attestations);
                self.answered.push(request);
                self.tell(Event::VerifierDecided { request, decision })
            }
        }
    }

    /// A model request goes out, for the first time or again.
    fn send(&mut self) -> Result<(), String> {
        let at = self.chance.below(self.pending.len());
        let Pending::Model { request, sent, .. } = &mut self.pending[at] else {
            return Ok(());
        };
        *sent += 1;
        let event = Event::RequestSent {
            request: *request,
            attempt: *sent,
        };
        self.tell(event)
    }

    fn fire(&mut self) -> Result<(), String> {
        let timers: Vec<Timer> = self.timers.keys().cloned().collect();
        let Some(timer) = self.chance.pick(&timers).cloned() else {
            return Ok(());
        };
        if let Some(due) = self.timers.remove(&timer) {
            self.now = self.now.max(due);
        }
        self.tell(Event::TimerFired(timer))
    }

    /// A timer that fired while it was being cleared.
    fn fire_late(&mut self) -> Result<(), String> {
        let cleared = self.cleared.clone();
        match self.chance.pick(&cleared).cloned() {
            // What runs again isn't late.
            Some(timer) if !self.timers.contains_key(&timer) => self.tell(Event::TimerFired(timer)),
            Some(_) | None => Ok(()),
        }
    }

    fn reply_again(&mut self) -> Result<(), String> {
        let answered = self.answered.clone();
        let Some(&request) = self.chance.pick(&answered) else {
            return Ok(());
        };
        let before = self.operation.sources().len();
        match self.chance.below(4) {
            0 => {
                let reply = answers::late();
                self.tell(Event::ModelReplied {
                    request,
                    reply: Box::new(reply),
                })?;
            }
            1 => {
                let outcome = answers::outcome(&mut self.chance, self.manner, "late");
                self.tell(Event::ToolReplied { request, outcome })?;
            }
            2 => {
                let decision = answers::decision(&mut self.chance, Manner::Kind, &[], &[]);
                self.tell(Event::VerifierDecided { request, decision })?;
            }
            _ => {
                let permission = answers::permission(&mut self.chance, self.manner);
                return self.tell(Event::PermissionDecided {
                    request,
                    permission,
                });
            }
        }
        match self.operation.sources().len() > before {
            true => Ok(()),
            false => Err("a late reply was lost".into()),
        }
    }

    fn deliver(&mut self) -> Result<(), String> {
        let at = self.chance.below(self.deliveries.len());
        let delivery = self.deliveries.swap_remove(at);
        self.delivered.push(delivery.clone());
        let mut outcome = answers::outcome(&mut self.chance, self.manner, "nested");
        if let crate::engine::ports::ToolOutcome::Pending { .. } = outcome {
            outcome = crate::engine::ports::ToolOutcome::TimedOut;
        }
        self.tell(Event::ToolDelivered { delivery, outcome })
    }

    fn deliver_wrongly(&mut self) -> Result<(), String> {
        let delivered = self.delivered.clone();
        let delivery = match self.chance.pick(&delivered) {
            Some(delivery) if self.chance.percent(70) => delivery.clone(),
            Some(_) | None => "nobody's".into(),
        };
        let before = self.operation.sources().len();
        let outcome = answers::outcome(&mut self.chance, Manner::Kind, "");
        self.tell(Event::ToolDelivered { delivery, outcome })?;
        match self.operation.sources().len() == before + 1 {
            true => Ok(()),
            false => Err("a second delivery was not kept".into()),
        }
    }

    fn acknowledge(&mut self) -> Result<(), String> {
        let sources: Vec<SourceId> = self
            .operation
            .sources()
            .iter()
            .map(|source| source.id.clone())
            .collect();
        match self.chance.pick(&sources).cloned() {
            Some(source) => self.tell(acknowledged(source)),
            None => Ok(()),
        }
    }

    fn resume(&mut self) -> Result<(), String> {
        let mut given: Vec<(WaitKey, Answer)> = Vec::new();
        for wait in self.operation.waits() {
            if let Some(answer) = answers::answer(&mut self.chance, self.manner, &wait) {
                given.push((wait.key, answer));
            }
        }
        let admission = match given.iter().any(|(_, answer)| answer.reconciles()) {
            true => Admission::Reconcile,
            false => Admission::Resume,
        };
        self.operation
            .check_answers(&given, admission)
            .map_err(|bad| format!("a good answer is refused: {bad}, {given:?}"))?;
        self.tell(Event::ResumeAdmitted {
            generation: self.operation.generation().next(),
            answers: given,
        })
    }

    fn tell(&mut self, event: Event) -> Result<(), String> {
        self.now += self.chance.below(40) as u64;
        self.story
            .push(format!("{:>6} {}", self.now, brief(&event)));
        let commands = self
            .operation
            .apply(self.now, event.clone())
            .map_err(|illegal| illegal.to_string())?;
        for command in &commands {
            self.story
                .push(format!("         -> {}", brief_command(command)));
            self.perform(command);
        }
        self.watch.look(&event, &commands, &self.operation)
    }

    fn perform(&mut self, command: &Command) {
        match command {
            Command::TakeLeases(_) => self.pending.push(Pending::Leases),
            Command::ReleaseLeases => self.pending.push(Pending::Cleanup),
            Command::CallModel {
                request,
                place,
                call,
                ..
            } => self.pending.push(Pending::Model {
                request: *request,
                place: place.clone(),
                call: call.clone(),
                sent: 0,
            }),
            Command::CallTool { request, .. } => {
                self.pending.push(Pending::Tool { request: *request });
            }
            Command::AskPermission { request, .. } => {
                self.pending.push(Pending::Permission { request: *request });
            }
            Command::Verify {
                request,
                checks,
                attestations,
                ..
            } => self.pending.push(Pending::Verify {
                request: *request,
                checks: checks.clone(),
                attestations: attestations.clone(),
            }),
            Command::SetTimer { timer, after_ms } => {
                self.timers.insert(timer.clone(), self.now + after_ms);
            }
            Command::ClearTimer(timer) => {
                self.timers.remove(timer);
                self.cleared.push(timer.clone());
            }
            Command::StopRequest { .. }
            | Command::RecordSource(_)
            | Command::RecordLateSource(_)
            | Command::IssueContinuation(_)
            | Command::RevokeContinuation
            | Command::Publish(_)
            | Command::Settle(_)
            | Command::End
            | Command::ReportReceipts(_) => {}
        }
    }
}

fn acknowledged(source: SourceId) -> Event {
    Event::SourceAcknowledged {
        source,
        receipt: Receipt {
            uri: "archive:x".into(),
            sha256: Digest::of(b"x"),
            bytes: 1,
        },
    }
}

fn brief(event: &Event) -> String {
    short(format!("{event:?}"))
}

fn brief_command(command: &Command) -> String {
    match command {
        Command::CallModel { request, place, .. } => {
            format!("call_model {request:?} {} lap {}", place.step, place.lap)
        }
        Command::CallTool {
            request,
            place,
            tool,
            ..
        } => {
            format!(
                "call_tool {request:?} {} lap {} {tool}",
                place.step, place.lap
            )
        }
        Command::Verify { request, place, .. } => {
            let step = place.as_ref().map(|place| place.step.as_str());
            format!("verify {request:?} {step:?}")
        }
        Command::RecordSource(source) | Command::RecordLateSource(source) => {
            format!("{} {}", command.name(), source.header.id)
        }
        Command::Publish(event) => short(format!("{event:?}")),
        other => short(format!("{other:?}")),
    }
}

fn short(text: String) -> String {
    match text.char_indices().nth(220) {
        None => text,
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
