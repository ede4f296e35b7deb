//! Plans a routine for a test: `story(text).start()` begins it.
//!
//! The text is YAML, or the notation of `sketch`. Agents and tools are made up to fit.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engine::id::OperationId;
use crate::engine::limits;
use crate::engine::operation::event::Event;
use crate::engine::operation::plan::{AgentProfile, Ownership, Plan};
use crate::engine::operation::tests::play::Play;
use crate::engine::operation::tests::sketch::yaml_of;
use crate::engine::operation::tests::words::tools;
use crate::engine::ports::ResolvedModel;
use crate::engine::routine::definition::{
    Body, GateOwner, GateStep, RoutineDefinition, StepDefinition, StepKind,
};
use crate::engine::routine::{Known, load};

/// A routine that is about to run.
pub(super) struct Story {
    pub(super) plan: Plan,
    pub(super) by_hand: Vec<&'static str>,
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

fn agents_of(definition: &RoutineDefinition, body: &Body) -> Vec<String> {
    let of_step = |step: &StepDefinition| match &step.kind {
        StepKind::Agent(step)
        | StepKind::Gate(GateStep {
            owner: GateOwner::Agent(step),
        }) => vec![step.agent.clone()],
        StepKind::Council(step) => {
            let council = &definition.councils[&step.council];
            let leader = [council.leader.clone()];
            leader.into_iter().chain(council.members.clone()).collect()
        }
        StepKind::Map(step) => agents_of(definition, &step.routine),
        StepKind::Fold(step) => agents_of(definition, &step.routine),
        StepKind::Until(step) => agents_of(definition, &step.routine),
        _ => Vec::new(),
    };
    body.steps.iter().flat_map(of_step).collect()
}

fn profiles(definition: &RoutineDefinition) -> BTreeMap<String, AgentProfile> {
    agents_of(definition, &definition.body)
        .into_iter()
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
