//! A world of named doubles: models, tools, verifiers and stores that do what their names say.
//!
//! [`World::new`] is one in which everything works; a test replaces what it is about.

pub(crate) mod models;
pub(crate) mod stores;
pub(crate) mod tools;
pub(crate) mod verifiers;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use amos_tui::engine::id::OperationId;
use amos_tui::engine::operation::plan::{AgentProfile, Ownership};
use amos_tui::engine::operation::published::Published;
use amos_tui::engine::ports::{
    Clock, Ids, Models, ResolvedModel, RunLog, SourceStore, Toolbox, Verifier,
};
use amos_tui::engine::routine::{CheckedRoutine, Known, load};
use amos_tui::engine::runner::{
    AgentLeases, Authorize, Continuation, ModelTask, Paused, Ports, Progress, ResumeRequest,
    RoutineRunner, RunOptions, RunRequest, RunResult, RunnerLimits,
};
use serde_json::Value;

use crate::world::models::Agreeing;
use crate::world::stores::{MemoryLog, MemoryStore};
use crate::world::tools::Bench;
use crate::world::verifiers::ByPolicy;

/// One agent step that leads to the end.
pub(crate) const ONE_STEP: &str = "
routine: one-step
entry_steps: [draft]
steps:
  - { slug: draft, type: agent, agent: default, instructions: Write. }
  - { slug: done, type: terminal }
edges:
  - { from: draft, to: done }
";

/// One tool step that leads to the end.
pub(crate) const ONE_TOOL: &str = "
routine: one-tool
entry_steps: [act]
steps:
  - { slug: act, type: tool, tool: act, timeout_ms: 1000 }
  - { slug: done, type: terminal }
edges:
  - { from: act, to: done }
";

/// An operator gate between a start and an end.
pub(crate) const OPERATOR_GATE: &str = "
routine: release
entry_steps: [ship]
steps:
  - { slug: ship, type: gate, operator: true, instructions: Ship it? }
  - { slug: done, type: terminal }
  - { slug: kept, type: terminal_fail }
edges:
  - { from: ship, to: done, condition: on_pass }
  - { from: ship, to: kept, condition: on_fail }
";

/// Everything that a runner needs, to be taken apart by a test.
pub(crate) struct World {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) tools: Arc<dyn Toolbox>,
    pub(crate) verifier: Arc<dyn Verifier>,
    pub(crate) sources: Arc<dyn SourceStore>,
    pub(crate) log: Arc<dyn RunLog>,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) events: Arc<Events>,
    pub(crate) leases: AgentLeases,
    pub(crate) limits: RunnerLimits,
    pub(crate) ownership: Ownership,
}

impl World {
    /// A world in which everything works.
    pub(crate) fn new() -> Self {
        let events = Arc::new(Events::default());
        let heard = Arc::clone(&events);
        Self {
            models: Arc::new(Agreeing::default()),
            tools: Arc::new(Bench::default()),
            verifier: Arc::new(ByPolicy),
            sources: Arc::new(MemoryStore::default()),
            log: Arc::new(MemoryLog::default()),
            progress: Arc::new(move |event: &Published| heard.hear(event)),
            events,
            leases: AgentLeases::new(),
            limits: RunnerLimits::default(),
            ownership: Ownership::Owned,
        }
    }

    /// The runner of this world.
    pub(crate) fn runner(&self) -> RoutineRunner {
        let ports = Ports {
            models: Arc::clone(&self.models),
            tools: Arc::clone(&self.tools),
            verifier: Arc::clone(&self.verifier),
            sources: Arc::clone(&self.sources),
            log: Arc::clone(&self.log),
            clock: Arc::new(StoppedClock),
            ids: Arc::new(Counted::default()),
            progress: Arc::clone(&self.progress),
        };
        RoutineRunner::new(ports, self.limits, self.leases.clone()).expect("good limits")
    }

    /// A run of a routine's text under a model task.
    pub(crate) fn request(&self, text: &str, task: &ModelTask) -> RunRequest {
        let known = Known {
            tools: self
                .tools
                .capabilities()
                .into_iter()
                .map(|it| it.name)
                .collect(),
            ..Known::default()
        };
        RunRequest {
            routine: checked(text, &known),
            agents: self.agents(),
            model: model(),
            options: RunOptions {
                model_task: task.clone(),
                ..RunOptions::default()
            },
        }
    }

    /// The agent `default`, as the world lends or gives it.
    pub(crate) fn agents(&self) -> Arc<BTreeMap<String, AgentProfile>> {
        let agent = AgentProfile {
            name: "default".into(),
            instructions: None,
            model: model(),
            tools: None,
            reasoning_effort: None,
            max_output_tokens: None,
            ownership: self.ownership,
        };
        Arc::new([("default".to_owned(), agent)].into())
    }

    /// A resume that the host consents to at once.
    pub(crate) fn consent(&self, task: &ModelTask) -> ResumeRequest {
        self.consent_by(task, Authorize::granted())
    }

    /// A resume that the host is asked about in this way.
    pub(crate) fn consent_by(&self, task: &ModelTask, authorize: Authorize) -> ResumeRequest {
        ResumeRequest {
            model_task: task.clone(),
            agents: self.agents(),
            cancellation: None,
            answers: Vec::new(),
            authorize,
        }
    }
}

/// The routine of a text that must be valid.
pub(crate) fn checked(text: &str, known: &Known) -> CheckedRoutine {
    let loaded = load(text.as_bytes(), known);
    loaded
        .routine
        .unwrap_or_else(|| panic!("not valid: {:#?}", loaded.issues))
}

/// The model of every agent here.
pub(crate) fn model() -> ResolvedModel {
    ResolvedModel {
        provider: "scripted".into(),
        model: "one".into(),
        role: None,
        policy_version: None,
    }
}

/// The pause that a result must be.
pub(crate) fn paused(result: RunResult) -> Paused {
    match result {
        RunResult::Paused(paused) => *paused,
        other => panic!("not paused: {other:?}"),
    }
}

/// The status and the reason that a result must have.
pub(crate) fn settled(result: RunResult) -> (String, Option<String>) {
    match result {
        RunResult::Settled(outcome) => (outcome.status.label().to_owned(), outcome.reason),
        other => panic!("not settled: {other:?}"),
    }
}

/// The operation and the handle of a pause.
pub(crate) fn handle(result: RunResult) -> (OperationId, Continuation) {
    let continuation = paused(result).continuation;
    (continuation.operation().clone(), continuation)
}

/// Every event, as it went out.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Vec<Value>>);

impl Events {
    pub(crate) fn hear(&self, event: &Published) {
        let event = serde_json::to_value(event).expect("events are JSON");
        self.0.lock().expect("unpoisoned").push(event);
    }

    pub(crate) fn all(&self) -> Vec<Value> {
        self.0.lock().expect("unpoisoned").clone()
    }

    /// The types, in order.
    pub(crate) fn types(&self) -> Vec<String> {
        let types = self.all().into_iter();
        types
            .map(|event| event["type"].as_str().expect("a type").to_owned())
            .collect()
    }

    /// How many events of a type there were.
    pub(crate) fn count(&self, r#type: &str) -> usize {
        self.types().iter().filter(|it| *it == r#type).count()
    }
}

/// A clock that always says the same.
struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> String {
        "2026-01-01T00:00:00.000Z".into()
    }
}

/// Ids that count.
#[derive(Default)]
struct Counted(AtomicU64);

impl Ids for Counted {
    fn operation(&self) -> OperationId {
        format!("op-{}", self.0.fetch_add(1, Ordering::Relaxed) + 1).into()
    }
}
