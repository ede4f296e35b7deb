//! Plays an operation by hand, in words that a test can be read by.
//!
//! `story(text)` plans a routine (YAML, or the notation of `sketch`), `start()` begins it, and every
//! word after that is something the world does. What the host would do without thinking happens by
//! itself unless the story says otherwise: leases, sends, permissions, verifications, cleanup. Each
//! event is watched for what must never happen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::engine::capability::EffectClass;
use crate::engine::evidence::{Place, Receipt, Source, SourceKind};
use crate::engine::id::{Generation, Lap, OperationId, RequestId, SourceId};
use crate::engine::limits;
use crate::engine::operation::event::{Command, Event, Timer, VerifierFailure};
use crate::engine::operation::outcome::{Outcome, Status};
use crate::engine::operation::plan::{AgentProfile, Ownership, Plan};
use crate::engine::operation::published::PublicEvent;
use crate::engine::operation::tests::sketch::yaml_of;
use crate::engine::operation::tests::words::{Seen, Verdict, all_verified, tools};
use crate::engine::operation::view::OperationState;
use crate::engine::operation::wait::{Answer, BadAnswer, Wait, WaitKey};
use crate::engine::operation::{Admission, Operation};
use crate::engine::ports::{
    Finish, ModelAnswer, ModelOutcome, ModelReply, ModelRequest, Permission, ResolvedModel,
    TokenUsage, ToolCall, ToolOutcome,
};
use crate::engine::routine::definition::{
    Check, EdgeCondition, GateOwner, GateStep, RoutineDefinition, StepKind,
};
use crate::engine::routine::{Known, load};
use crate::engine::verify::{Attestation, Decision, Held, Observation};

/// A routine that is about to run.
pub(super) struct Story {
    plan: Plan,
    by_hand: Vec<&'static str>,
}

/// Plans a routine.
pub(super) fn story(text: &str) -> Story {
    let yaml = yaml_of(text);
    let tools = tools();
    let known = Known {
        tools: tools.keys().cloned().collect(),
        ..Known::default()
    };
    let loaded = load(yaml.as_bytes(), &known);
    let issues: Vec<_> = loaded
        .issues
        .iter()
        .filter(|issue| issue.code.severity() == crate::engine::routine::issue::Severity::Error)
        .collect();
    let routine = loaded
        .routine
        .unwrap_or_else(|| panic!("{issues:#?}\n{yaml}"));
    let inputs = routine
        .definition
        .parameters
        .iter()
        .map(|parameter| {
            (
                parameter.name.clone(),
                parameter.default.clone().unwrap_or_default(),
            )
        })
        .collect();
    let plan = Plan {
        operation: OperationId::from("op"),
        agents: profiles(&routine.definition),
        definition: routine.definition,
        graph: routine.graph,
        inputs,
        tools,
        model: model(),
        max_observation_bytes: limits::OBSERVATION_BYTES,
    };
    Story {
        plan,
        by_hand: Vec::new(),
    }
}

fn model() -> ResolvedModel {
    ResolvedModel {
        provider: "test".into(),
        model: "m".into(),
        role: None,
        policy_version: None,
    }
}

fn profiles(definition: &RoutineDefinition) -> BTreeMap<String, AgentProfile> {
    let named = definition
        .body
        .steps
        .iter()
        .filter_map(|step| match &step.kind {
            StepKind::Agent(step)
            | StepKind::Gate(GateStep {
                owner: GateOwner::Agent(step),
            }) => Some(step.agent.clone()),
            _ => None,
        });
    named
        .map(|name| {
            let agent = definition.agents.get(&name).cloned().unwrap_or_default();
            let profile = AgentProfile {
                name: name.clone(),
                instructions: agent.instructions,
                model: model(),
                tools: agent.tools,
                reasoning_effort: agent.reasoning_effort,
                max_output_tokens: agent.max_output_tokens,
                ownership: match name.as_str() {
                    "default" => Ownership::Borrowed,
                    _ => Ownership::Owned,
                },
            };
            (name, profile)
        })
        .collect()
}

impl Story {
    pub(super) fn input(mut self, name: &str, value: Value) -> Self {
        self.plan.inputs.insert(name.to_owned(), value);
        self
    }

    pub(super) fn max_observation_bytes(mut self, bytes: usize) -> Self {
        self.plan.max_observation_bytes = bytes;
        self
    }

    pub(super) fn without_the_tool(mut self, name: &str) -> Self {
        self.plan.tools.remove(name);
        self
    }

    /// The story says what the verifier answers about these steps; `final` is the final look.
    pub(super) fn verified_by_hand(mut self, steps: &[&'static str]) -> Self {
        self.by_hand.extend(steps);
        self
    }

    /// The story says whether these tools may be called.
    pub(super) fn permitted_by_hand(self, tools: &[&'static str]) -> Self {
        self.verified_by_hand(tools)
    }

    pub(super) fn start(self) -> Play {
        let mut play = Play::of(self);
        play.tell(Event::Started);
        play.tell(Event::LeasesTaken);
        play
    }
}

/// A model request that the world has.
struct Asked {
    request: RequestId,
    place: Place,
    call: ModelRequest,
}

/// A tool call or a question about one.
struct Called {
    request: RequestId,
    step: String,
    tool: String,
    args: Value,
}

/// A question to the verifier.
pub(super) struct Looked {
    request: RequestId,
    step: String,
    pub(super) observation: Observation,
    pub(super) checks: Vec<Check>,
    pub(super) attestations: Vec<Attestation>,
}

/// An operation on its way.
pub(super) struct Play {
    pub(super) machine: Operation,
    by_hand: Vec<&'static str>,
    pub(super) now: u64,
    in_flight: Vec<(RequestId, String)>,
    asked: Vec<Asked>,
    called: Vec<Called>,
    questions: Vec<Called>,
    pub(super) looked: Vec<Looked>,
    /// Every model request by step and lap.
    requests: BTreeMap<(String, u32), Vec<ModelRequest>>,
    /// Every tool call that was dispatched.
    pub(super) dispatched: Vec<(String, Value)>,
    pub(super) stopped: Vec<String>,
    timers: BTreeMap<Timer, u64>,
    pub(super) published: Vec<PublicEvent>,
    pub(super) sources: Vec<Source>,
    pub(super) late: Vec<Source>,
    pub(super) continuation: Option<Generation>,
    pub(super) issued: usize,
    pub(super) settled: Option<Outcome>,
    pub(super) ended: bool,
    pub(super) receipts: Vec<Result<Decision, VerifierFailure>>,
    submitted: BTreeSet<(String, u32)>,
    answered: BTreeSet<RequestId>,
}

impl Play {
    fn of(story: Story) -> Self {
        Self {
            machine: Operation::new(Arc::new(story.plan)),
            by_hand: story.by_hand,
            now: 0,
            in_flight: Vec::new(),
            asked: Vec::new(),
            called: Vec::new(),
            questions: Vec::new(),
            looked: Vec::new(),
            requests: BTreeMap::new(),
            dispatched: Vec::new(),
            stopped: Vec::new(),
            timers: BTreeMap::new(),
            published: Vec::new(),
            sources: Vec::new(),
            late: Vec::new(),
            continuation: None,
            issued: 0,
            settled: None,
            ended: false,
            receipts: Vec::new(),
            submitted: BTreeSet::new(),
            answered: BTreeSet::new(),
        }
    }

    /// Tells the machine what happened, and lets the host do what it does without thinking.
    pub(super) fn tell(&mut self, event: Event) -> &mut Self {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let was_halted = self.is_halted();
            let commands = self
                .machine
                .apply(self.now, event.clone())
                .unwrap_or_else(|illegal| panic!("{illegal}: {event:?}"));
            for command in commands {
                if was_halted && self.is_halted() {
                    self.watch_halted(&command);
                }
                events.extend(self.perform(command));
            }
        }
        self
    }

    fn is_halted(&self) -> bool {
        self.machine
            .waits()
            .iter()
            .any(|wait| wait.state >= Held::Blocked)
    }

    /// Blocked and uncertain stop every new model and tool call (V5a).
    fn watch_halted(&self, command: &Command) {
        if let Command::CallModel { place, .. } | Command::CallTool { place, .. } = command {
            panic!("{place:?} started something while new calls are stopped");
        }
    }

    fn perform(&mut self, command: Command) -> Option<Event> {
        if self.settled.is_some() || self.ended {
            let allowed = matches!(
                command,
                Command::RecordLateSource(_)
                    | Command::ReleaseLeases
                    | Command::Settle(_)
                    | Command::End
                    | Command::Verify { .. }
                    | Command::ReportReceipts(_)
            );
            assert!(allowed, "{} after the end", command.name());
        }
        match command {
            Command::TakeLeases(_) => None,
            Command::CallModel {
                request,
                place,
                call,
                ..
            } => {
                self.in_flight.push((request, place.step.clone()));
                let sent = self
                    .requests
                    .entry((place.step.clone(), place.lap.0))
                    .or_default();
                sent.push((*call).clone());
                self.asked.push(Asked {
                    request,
                    place,
                    call: *call,
                });
                Some(Event::RequestSent {
                    request,
                    attempt: 1,
                })
            }
            Command::CallTool {
                request,
                place,
                tool,
                args,
                ..
            } => {
                self.in_flight.push((request, place.step.clone()));
                self.dispatched.push((tool.clone(), args.clone()));
                self.called.push(Called {
                    request,
                    step: place.step,
                    tool,
                    args,
                });
                None
            }
            Command::AskPermission {
                request,
                place,
                tool,
                args,
            } => {
                if self.by_hand.contains(&tool.as_str()) {
                    self.in_flight.push((request, place.step.clone()));
                    self.questions.push(Called {
                        request,
                        step: place.step,
                        tool,
                        args,
                    });
                    return None;
                }
                let permission = Permission::Allow;
                Some(Event::PermissionDecided {
                    request,
                    permission,
                })
            }
            Command::Verify {
                request,
                place,
                observation,
                checks,
                attestations,
            } => {
                let step = place.map_or("final".to_owned(), |place| place.step);
                let decision = match checks.is_empty() {
                    true => Decision::by_policy(),
                    false => all_verified(&checks),
                };
                // A checks gate is decided by its checks; its pass has no checks of its own.
                let by_hand = self.by_hand.contains(&step.as_str())
                    && !(checks.is_empty() && self.is_checks_gate(&step));
                let looked = Looked {
                    request,
                    step: step.clone(),
                    observation,
                    checks,
                    attestations,
                };
                self.looked.push(looked);
                if by_hand {
                    self.in_flight.push((request, step));
                    return None;
                }
                self.answered.insert(request);
                Some(Event::VerifierDecided {
                    request,
                    decision: Ok(decision),
                })
            }
            Command::StopRequest { request } => {
                let stopped = self.in_flight.iter().find(|(held, _)| *held == request);
                self.stopped.extend(stopped.map(|(_, step)| step.clone()));
                None
            }
            Command::SetTimer { timer, after_ms } => {
                self.timers.insert(timer, self.now + after_ms);
                None
            }
            Command::ClearTimer(timer) => {
                self.timers.remove(&timer);
                None
            }
            Command::RecordSource(source) => {
                self.sources.push(source);
                None
            }
            Command::RecordLateSource(source) => {
                assert_eq!(source.header.kind, SourceKind::Late, "{source:?}");
                self.late.push(source);
                None
            }
            Command::IssueContinuation(generation) => {
                assert_eq!(self.continuation, None, "two continuations are live");
                self.continuation = Some(generation);
                self.issued += 1;
                None
            }
            Command::RevokeContinuation => {
                assert!(self.continuation.take().is_some(), "nothing to revoke");
                None
            }
            Command::ReleaseLeases => Some(Event::CleanupDone),
            Command::Publish(event) => {
                self.published.push(*event);
                self.watch_published();
                None
            }
            Command::Settle(outcome) => {
                assert!(self.settled.is_none(), "settled twice");
                self.settled = Some(*outcome);
                None
            }
            Command::End => {
                self.ended = true;
                None
            }
            Command::ReportReceipts(found) => {
                self.receipts.push(found);
                None
            }
        }
    }

    fn is_checks_gate(&self, step: &str) -> bool {
        let graph = &self.machine.plan().graph;
        let kind = graph.find(step).map(|step| &graph.step(step).kind);
        matches!(
            kind,
            Some(StepKind::Gate(GateStep {
                owner: GateOwner::Checks(_)
            }))
        )
    }

    fn watch_published(&mut self) {
        let (latest, before) = self.published.split_last().expect("an event");
        let was_settled = matches!(before.last(), Some(PublicEvent::OperationSettled { .. }));
        assert!(!was_settled, "{latest:?} after the operation settled");
        if let PublicEvent::StepSubmitted { at } = latest {
            let key = (
                at.step.clone().unwrap_or_default(),
                at.lap.map_or(0, |lap| lap.0),
            );
            assert!(self.submitted.insert(key), "submitted twice: {latest:?}");
        }
    }

    fn done_with(&mut self, request: RequestId) {
        self.in_flight.retain(|(held, _)| *held != request);
    }

    fn take_asked(&mut self, step: &str) -> Asked {
        let found = self.asked.iter().position(|asked| asked.place.step == step);
        let found =
            found.unwrap_or_else(|| panic!("no model works on {step}: {:?}", self.events()));
        let asked = self.asked.remove(found);
        self.done_with(asked.request);
        asked
    }

    /// The model that works on a step ends it with a verdict.
    pub(super) fn answer(&mut self, step: &str, verdict: Verdict) -> &mut Self {
        let asked = self.take_asked(step);
        let graph = &self.machine.plan().graph;
        let index = graph.find(step).unwrap_or_else(|| panic!("no step {step}"));
        let mut targets = BTreeMap::new();
        for &edge in graph.outgoing(index) {
            let on_fail = graph.edge(edge).condition == EdgeCondition::OnFail;
            if on_fail == verdict.is_fail() {
                let handoff = json!({ "from": step, "lap": asked.place.lap.0 });
                targets.insert(graph.edge_text(edge).to.clone(), handoff);
            }
        }
        let call = verdict.call(targets);
        self.reply_to(asked.request, answered(vec![call]))
    }

    /// The model that works on a step makes these calls.
    pub(super) fn calls<const N: usize>(&mut self, step: &str, calls: [ToolCall; N]) -> &mut Self {
        self.reply(step, answered(calls.to_vec()))
    }

    /// The model that works on a step says something and calls nothing.
    pub(super) fn says(&mut self, step: &str, text: &str) -> &mut Self {
        let mut outcome = answered(Vec::new());
        if let ModelOutcome::Answered(answer) = &mut outcome {
            answer.text = Some(text.to_owned());
        }
        self.reply(step, outcome)
    }

    /// This comes of the model request of a step.
    pub(super) fn reply(&mut self, step: &str, outcome: ModelOutcome) -> &mut Self {
        let request = self.take_asked(step).request;
        self.reply_to(request, outcome)
    }

    fn reply_to(&mut self, request: RequestId, outcome: ModelOutcome) -> &mut Self {
        let reply = ModelReply {
            outcome,
            request: Bytes::from(format!("request {}", request.0)),
            response: Bytes::from(format!("response {}", request.0)),
        };
        self.tell(Event::ModelReplied {
            request,
            reply: Box::new(reply),
        })
    }

    /// This comes of the tool call of a step.
    pub(super) fn tool(&mut self, step: &str, outcome: ToolOutcome) -> &mut Self {
        let found = self.called.iter().position(|called| called.step == step);
        let found =
            found.unwrap_or_else(|| panic!("no tool works for {step}: {:?}", self.events()));
        let request = self.called.remove(found).request;
        self.done_with(request);
        self.tell(Event::ToolReplied { request, outcome })
    }

    /// A pending call is delivered.
    pub(super) fn deliver(&mut self, delivery: &str, outcome: ToolOutcome) -> &mut Self {
        self.tell(Event::ToolDelivered {
            delivery: delivery.into(),
            outcome,
        })
    }

    /// The host says whether the step's call may be made.
    pub(super) fn permission(&mut self, step: &str, permission: Permission) -> &mut Self {
        let found = self.questions.iter().position(|asked| asked.step == step);
        let found = found.unwrap_or_else(|| panic!("no permission is asked for {step}"));
        let request = self.questions.remove(found).request;
        self.done_with(request);
        self.tell(Event::PermissionDecided {
            request,
            permission,
        })
    }

    /// The verifier answers about a step, or about the end (`final`).
    pub(super) fn verify(&mut self, step: &str, decision: Decision) -> &mut Self {
        self.verifier(step, Ok(decision))
    }

    pub(super) fn verifier(
        &mut self,
        step: &str,
        decision: Result<Decision, VerifierFailure>,
    ) -> &mut Self {
        let open =
            |looked: &&Looked| looked.step == step && !self.answered.contains(&looked.request);
        let request = match self.looked.iter().find(open) {
            Some(looked) => looked.request,
            None => panic!("nothing is asked about {step}: {:?}", self.events()),
        };
        self.answered.insert(request);
        self.done_with(request);
        self.tell(Event::VerifierDecided { request, decision })
    }

    /// Somebody resumes without any answer.
    pub(super) fn resume(&mut self) -> &mut Self {
        self.admit(Vec::new())
    }

    fn admit(&mut self, answers: Vec<(WaitKey, Answer)>) -> &mut Self {
        let held = self.continuation.take().expect("a continuation");
        assert_eq!(held, self.machine.generation());
        let generation = held.next();
        self.tell(Event::ResumeAdmitted {
            generation,
            answers,
        })
    }

    /// Somebody resumes and answers the waits of these steps.
    pub(super) fn resume_with<const N: usize>(
        &mut self,
        answers: [(&str, Answer); N],
    ) -> &mut Self {
        let answers = self.keyed(answers);
        self.machine
            .check_answers(&answers, Admission::Resume)
            .expect("good answers");
        self.admit(answers)
    }

    /// Somebody reconciles (V10a).
    pub(super) fn reconcile<const N: usize>(&mut self, answers: [(&str, Answer); N]) -> &mut Self {
        let answers = self.keyed(answers);
        self.machine
            .check_answers(&answers, Admission::Reconcile)
            .expect("good answers");
        self.admit(answers)
    }

    /// What is wrong with an answer; nothing is changed.
    pub(super) fn refused(&self, step: &str, answer: Answer, admission: Admission) -> BadAnswer {
        let answers = self.keyed([(step, answer)]);
        self.machine
            .check_answers(&answers, admission)
            .expect_err("a bad answer")
    }

    fn keyed<const N: usize>(&self, answers: [(&str, Answer); N]) -> Vec<(WaitKey, Answer)> {
        answers
            .map(|(step, answer)| (self.wait(step).key, answer))
            .to_vec()
    }

    /// What is waited for at a step; `final` is the final look.
    pub(super) fn wait(&self, step: &str) -> Wait {
        let waits = self.machine.waits();
        let named = |wait: &&Wait| wait.key.step.as_deref().unwrap_or("final") == step;
        match waits.iter().find(named) {
            Some(wait) => wait.clone(),
            None => panic!("nothing waits at {step}: {waits:?}"),
        }
    }

    /// So many milliseconds pass, and every timer that is due fires.
    pub(super) fn passes(&mut self, ms: u64) -> &mut Self {
        let until = self.now + ms;
        while let Some((at, timer)) = self
            .timers
            .iter()
            .map(|(timer, at)| (*at, timer.clone()))
            .filter(|(at, _)| *at <= until)
            .min()
        {
            self.now = at;
            self.timers.remove(&timer);
            self.tell(Event::TimerFired(timer));
        }
        self.now = until;
        self
    }

    pub(super) fn cancel(&mut self) -> &mut Self {
        self.tell(Event::CancelRequested)
    }

    pub(super) fn close(&mut self) -> &mut Self {
        self.tell(Event::CloseRequested)
    }

    /// The archive's reference for everything that is held.
    pub(super) fn acknowledge_everything(&mut self) -> &mut Self {
        let sources: Vec<SourceId> = self
            .machine
            .sources()
            .iter()
            .map(|held| held.id.clone())
            .collect();
        for source in sources {
            let header = self
                .machine
                .sources()
                .iter()
                .find(|held| held.id == source)
                .expect("held");
            let receipt = Receipt {
                uri: format!("archive:{source}"),
                sha256: header.sha256.clone(),
                bytes: header.bytes,
            };
            self.tell(Event::SourceAcknowledged { source, receipt });
        }
        self
    }

    // What can be asked of the story so far.

    /// Who has something in flight, in the order in which it was begun.
    pub(super) fn running(&self) -> Vec<&str> {
        self.in_flight
            .iter()
            .map(|(_, step)| step.as_str())
            .collect()
    }

    pub(super) fn state(&self) -> OperationState {
        self.machine.state()
    }

    /// How often a step was submitted to its model.
    pub(super) fn submissions(&self, step: &str) -> usize {
        self.count(|event| match event {
            PublicEvent::StepSubmitted { at } => at.step.as_deref() == Some(step),
            _ => false,
        })
    }

    /// How often a step's model was asked, corrections included.
    pub(super) fn model_calls(&self, step: &str) -> usize {
        let of_step = self.requests.iter().filter(|((held, _), _)| held == step);
        of_step.map(|(_, requests)| requests.len()).sum()
    }

    fn count(&self, what: impl Fn(&PublicEvent) -> bool) -> usize {
        self.published.iter().filter(|event| what(event)).count()
    }

    /// The first request of a step's lap.
    pub(super) fn request(&self, step: &str, lap: u32) -> &ModelRequest {
        &self.all_requests(step, lap)[0]
    }

    /// The latest request of a step's lap.
    pub(super) fn latest_request(&self, step: &str, lap: u32) -> &ModelRequest {
        self.all_requests(step, lap).last().expect("a request")
    }

    fn all_requests(&self, step: &str, lap: u32) -> &[ModelRequest] {
        match self.requests.get(&(step.to_owned(), lap)) {
            Some(requests) => requests,
            None => panic!("no request of {step} in lap {lap}: {:?}", self.events()),
        }
    }

    pub(super) fn lap(&self, step: &str) -> u32 {
        let view = self.machine.view();
        let found = view.executions[0]
            .steps
            .iter()
            .find(|held| held.slug == step);
        let Lap(lap) = found.unwrap_or_else(|| panic!("no step {step}")).lap;
        lap
    }

    pub(super) fn outcome(&self) -> &Outcome {
        match &self.settled {
            Some(outcome) => outcome,
            None => panic!("not settled: {:?}", self.events()),
        }
    }

    pub(super) fn effects(&self) -> EffectClass {
        self.outcome().effects.expect("an effect class")
    }

    /// What the verifier was last shown about a step.
    pub(super) fn seen(&self, step: &str) -> &Looked {
        let of_step = |looked: &&Looked| looked.step == step;
        self.looked
            .iter()
            .rev()
            .find(of_step)
            .unwrap_or_else(|| panic!("{step} was never looked at"))
    }

    pub(super) fn looks(&self, step: &str) -> usize {
        self.looked
            .iter()
            .filter(|looked| looked.step == step)
            .count()
    }

    /// What every lap was shown first, and how it all ended: what no order of arrival may change.
    pub(super) fn transcript(&self) -> (BTreeMap<(String, u32), String>, Option<Outcome>) {
        let prompts = self
            .requests
            .iter()
            .map(|(at, requests)| (at.clone(), requests[0].prompt().to_owned()));
        (prompts.collect(), self.settled.clone())
    }

    // What must be so.

    pub(super) fn expect_running<const N: usize>(&mut self, steps: [&str; N]) -> &mut Self {
        assert_eq!(self.running(), steps, "{:?}", self.events());
        self
    }

    pub(super) fn expect_paused<const N: usize>(
        &mut self,
        state: Held,
        waits: [(&str, &str); N],
    ) -> &mut Self {
        assert_eq!(
            self.state(),
            OperationState::Paused(state),
            "{:?}",
            self.events()
        );
        let held = self.machine.waits();
        let held: Vec<(&str, &str)> = held
            .iter()
            .map(|wait| {
                (
                    wait.key.step.as_deref().unwrap_or("final"),
                    wait.kind.label(),
                )
            })
            .collect();
        assert_eq!(held, waits);
        assert_eq!(self.continuation, Some(self.machine.generation()));
        self
    }

    pub(super) fn expect_succeeded(&mut self) -> &mut Self {
        assert_eq!(
            self.outcome().status,
            Status::Succeeded,
            "{:?}",
            self.outcome()
        );
        assert_eq!(self.outcome().reason, None);
        self
    }

    pub(super) fn expect_failed(&mut self, reason: &str) -> &mut Self {
        let outcome = self.outcome();
        assert_eq!(
            (outcome.status, outcome.reason.as_deref()),
            (Status::Failed, Some(reason)),
            "{outcome:?}"
        );
        self
    }

    pub(super) fn expect_cancelled(&mut self) -> &mut Self {
        let outcome = self.outcome();
        assert_eq!(
            (outcome.status, outcome.reason.as_deref()),
            (Status::Cancelled, Some("cancelled"))
        );
        self
    }

    pub(super) fn expect_lap(&mut self, step: &str, lap: u32) -> &mut Self {
        assert_eq!(self.lap(step), lap, "{step}: {:?}", self.events());
        self
    }

    /// A step's latest settled verdict and reason.
    pub(super) fn expect_settled(&mut self, step: &str, verdict: &str) -> &mut Self {
        let settled = self.events().into_iter().rev().find_map(|line| {
            line.strip_prefix(&format!("{step} settled "))
                .map(str::to_owned)
        });
        assert_eq!(settled.as_deref(), Some(verdict), "{:?}", self.events());
        self
    }
}

/// A complete answer with these calls; 10 tokens in, 5 out.
pub(super) fn answered(calls: Vec<ToolCall>) -> ModelOutcome {
    ModelOutcome::Answered(ModelAnswer {
        text: None,
        calls,
        finish: Finish::Complete,
        usage: TokenUsage {
            input_tokens: 10,
            output_tokens: 5,
        },
    })
}
