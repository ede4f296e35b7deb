//! The words that stories are told in: verdicts, calls, outcomes, decisions, answers, tools, events.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::capability::{
    Acknowledge, Capability, Commitment, Contract, Idempotency, Reversibility, SideEffects,
};
use crate::engine::operation::outcome;
use crate::engine::operation::published::{At, CalledOutcome, PublicEvent, SettledVerdict};
use crate::engine::operation::route::ROUTE_TOOL;
use crate::engine::operation::tests::play::Play;
use crate::engine::operation::wait::{Answer, OperatorVerdict, Permit};
use crate::engine::ports::{
    CallArguments, Finish, Message, ModelAnswer, ModelOutcome, ModelRequest, TokenUsage, ToolCall,
    ToolOutcome,
};
use crate::engine::routine::definition::{Check, VerificationMethod};
use crate::engine::verify::{CheckResult, Decision, Finding, Held};

/// A verdict of a model.
#[derive(Clone)]
pub(super) struct Verdict {
    verdict: &'static str,
    output: Value,
    handoffs: BTreeMap<String, Value>,
}

pub(super) fn pass() -> Verdict {
    Verdict {
        verdict: "pass",
        output: Value::Null,
        handoffs: BTreeMap::new(),
    }
}

pub(super) fn fail() -> Verdict {
    Verdict {
        verdict: "fail",
        ..pass()
    }
}

impl Verdict {
    pub(super) fn output(mut self, output: impl Into<Value>) -> Self {
        self.output = output.into();
        self
    }

    /// Instead of the handoff that the story makes up: `{"from": step, "lap": n}`.
    pub(super) fn handoff(mut self, target: &str, handoff: Value) -> Self {
        self.handoffs.insert(target.to_owned(), handoff);
        self
    }

    pub(super) fn is_fail(&self) -> bool {
        self.verdict == "fail"
    }

    pub(super) fn call(self, mut targets: BTreeMap<String, Value>) -> ToolCall {
        targets.extend(self.handoffs);
        let next: Vec<Value> = targets
            .into_iter()
            .map(|(target, handoff)| json!({ "target_step": target, "handoff": handoff }))
            .collect();
        route(json!({
            "verdict": self.verdict,
            "reasoning": format!("it is a {}", self.verdict),
            "output": self.output,
            "next_steps": next,
        }))
    }
}

/// A call of `route_next_steps` with exactly these arguments.
pub(super) fn route(args: Value) -> ToolCall {
    tool(ROUTE_TOOL, args)
}

pub(super) fn tool(name: &str, args: Value) -> ToolCall {
    ToolCall {
        id: format!("call-{name}"),
        name: name.to_owned(),
        arguments: CallArguments::Json(args),
    }
}

pub(super) fn malformed(name: &str, text: &str) -> ToolCall {
    ToolCall {
        arguments: CallArguments::Malformed(text.to_owned()),
        ..tool(name, Value::Null)
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

pub(super) fn done(value: Value) -> ToolOutcome {
    ToolOutcome::Done(value)
}

pub(super) fn failed(reason: &str) -> ToolOutcome {
    ToolOutcome::Failed {
        reason: reason.to_owned(),
    }
}

pub(super) fn unknown(reason: &str) -> ToolOutcome {
    ToolOutcome::Unknown {
        reason: reason.to_owned(),
    }
}

pub(super) fn pending(delivery: &str) -> ToolOutcome {
    ToolOutcome::Pending {
        delivery: delivery.to_owned(),
    }
}

// Decisions.

fn check(index: usize, finding: Finding) -> CheckResult {
    CheckResult {
        index,
        check: "command".into(),
        name: "the check".into(),
        method: Some(VerificationMethod::DeterministicOracle),
        covers: Vec::new(),
        independent: true,
        finding,
        manual: false,
        poll_ms: Some(5_000),
    }
}

pub(super) fn all_verified(checks: &[Check]) -> Decision {
    let verified = |index| check(index, Finding::Verified);
    Decision::of((0..checks.len()).map(verified).collect())
}

pub(super) fn verified() -> Decision {
    Decision::of(vec![check(0, Finding::Verified)])
}

fn held(state: Held, reason: &str) -> Decision {
    Decision::of(vec![check(
        0,
        Finding::Held {
            state,
            reason: reason.to_owned(),
        },
    )])
}

pub(super) fn waiting(reason: &str) -> Decision {
    held(Held::Waiting, reason)
}

pub(super) fn blocked(reason: &str) -> Decision {
    held(Held::Blocked, reason)
}

pub(super) fn uncertain(reason: &str) -> Decision {
    held(Held::Uncertain, reason)
}

/// A manual check that somebody has to answer.
pub(super) fn not_asked_yet() -> Decision {
    let finding = Finding::Held {
        state: Held::Waiting,
        reason: "nobody has said".into(),
    };
    Decision::of(vec![CheckResult {
        manual: true,
        ..check(0, finding)
    }])
}

// Answers.

pub(super) fn verdict(verdict: outcome::Verdict) -> OperatorVerdict {
    OperatorVerdict {
        verdict,
        reasoning: "I say so".into(),
        output: Value::Null,
        handoffs: BTreeMap::new(),
        direction: None,
    }
}

pub(super) fn approve() -> OperatorVerdict {
    verdict(outcome::Verdict::Pass)
}

pub(super) fn reject() -> OperatorVerdict {
    verdict(outcome::Verdict::Fail)
}

pub(super) fn allow() -> Answer {
    Answer::Permit(Permit::Allow)
}

pub(super) fn deny() -> Answer {
    Answer::Permit(Permit::Deny)
}

pub(super) fn fail_it() -> Answer {
    Answer::Fail {
        reasoning: "it went wrong".into(),
    }
}

// Tools.

fn contract(
    side_effects: SideEffects,
    commitment: Commitment,
    reversibility: Reversibility,
) -> Contract {
    Contract {
        authority: None,
        side_effects,
        commitment,
        idempotency: Idempotency::Unknown,
        reversibility,
        concurrency: None,
        verification_hints: Vec::new(),
        acknowledge: Acknowledge::NotRequired,
    }
}

/// `look` reads, `act` acts, `commit` commits, `bare` states no contract, and routine memory.
pub(super) fn tools() -> BTreeMap<String, Capability> {
    let reads = contract(
        SideEffects::None,
        Commitment::None,
        Reversibility::Reversible,
    );
    let acts = contract(
        SideEffects::Local,
        Commitment::None,
        Reversibility::Reversible,
    );
    let mut commits = contract(
        SideEffects::External,
        Commitment::Commits,
        Reversibility::Irreversible,
    );
    commits.verification_hints.push("read the receipt".into());
    let memory = ["memory_set", "memory_get", "memory_list", "memory_delete"]
        .map(|name| (name, Some(reads.clone())));
    [
        ("look", Some(reads)),
        ("act", Some(acts)),
        ("commit", Some(commits)),
        ("bare", None),
    ]
    .into_iter()
    .chain(memory)
    .map(|(name, contract)| {
        let capability = Capability {
            name: name.into(),
            description: format!("{name}s."),
            schema: json!({ "type": "object" }),
            contract,
        };
        (name.to_owned(), capability)
    })
    .collect()
}

// What a model sees.

pub(super) trait Seen {
    /// The text of the first message.
    fn prompt(&self) -> &str;
    /// The text of the last message.
    fn last(&self) -> &str;
    /// The names of the tools that are offered.
    fn offers(&self) -> Vec<&str>;
    /// The schema of one offered tool.
    fn schema_of(&self, tool: &str) -> &Value;
}

impl Seen for ModelRequest {
    fn prompt(&self) -> &str {
        text_of(&self.messages[0])
    }

    fn last(&self) -> &str {
        text_of(self.messages.last().expect("a message"))
    }

    fn offers(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn schema_of(&self, tool: &str) -> &Value {
        &self
            .tools
            .iter()
            .find(|held| held.name == tool)
            .expect("an offered tool")
            .schema
    }
}

fn text_of(message: &Message) -> &str {
    match message {
        Message::User(text) => text,
        Message::ToolResult { content, .. } => content,
        Message::Assistant { text, .. } => text.as_deref().unwrap_or_default(),
    }
}

// What the world is told.

impl Play {
    /// Everything that was published but sources, a line each.
    pub(super) fn events(&self) -> Vec<String> {
        self.published.iter().filter_map(line).collect()
    }

    /// The published lines that begin with one of these.
    pub(super) fn events_of(&self, beginnings: &[&str]) -> Vec<String> {
        let is_asked = |line: &String| {
            beginnings
                .iter()
                .any(|beginning| line.starts_with(beginning))
        };
        self.events().into_iter().filter(is_asked).collect()
    }
}

fn name(at: &At) -> &str {
    at.step.as_deref().unwrap_or("final")
}

fn lap(at: &At) -> u32 {
    at.lap.map_or(0, |lap| lap.0)
}

fn line(event: &PublicEvent) -> Option<String> {
    Some(match event {
        PublicEvent::OperationStarted { .. } => "started".into(),
        PublicEvent::StepStarted { at, .. } => format!("{} started lap {}", name(at), lap(at)),
        PublicEvent::StepSubmitted { at } => format!("{} submitted", name(at)),
        PublicEvent::ModelCalled {
            at, turn, r#try, ..
        } => match r#try {
            1 => format!("{} asked its model, call {turn}", name(at)),
            again => format!("{} asked its model, call {turn}, try {again}", name(at)),
        },
        PublicEvent::ToolCalled { at, tool, outcome } => {
            format!("{} called {tool}: {}", name(at), called(*outcome))
        }
        PublicEvent::StepSettled {
            at,
            verdict,
            reason,
            ..
        } => {
            let verdict = match verdict {
                SettledVerdict::Pass => "pass",
                SettledVerdict::Fail => "fail",
                SettledVerdict::Uncertain => "uncertain",
                SettledVerdict::Skipped => "skipped",
            };
            let reason = reason
                .map(|reason| format!(": {reason}"))
                .unwrap_or_default();
            format!("{} settled {verdict}{reason}", name(at))
        }
        PublicEvent::EdgeActivated { edge, attempt, .. } => match attempt {
            Some(attempt) => format!("{edge}, attempt {attempt}"),
            None => edge.clone(),
        },
        PublicEvent::VerifyDecided { at, decision, .. } => format!("{} {decision}", name(at)),
        PublicEvent::OperationPaused { state, .. } => format!("paused {}", state.label()),
        PublicEvent::OperationResumed { generation } => format!("resumed {}", generation.0),
        PublicEvent::SourceRecorded { .. } | PublicEvent::SourceAcknowledged { .. } => return None,
        PublicEvent::OperationSettled { status, .. } => format!("settled {}", status.label()),
    })
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
