//! How a model's run opens: what it is told, and which tools it is offered (G17, G18, V17).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::operation::Operation;
use crate::engine::operation::ballot;
use crate::engine::operation::outcome::{Failure, Verdict};
use crate::engine::operation::prompt::{self, Brief, WayOn};
use crate::engine::operation::route::{self};
use crate::engine::operation::state::{Goal, StepRef, StepState, Turn, TurnAt, WorkRecord};
use crate::engine::ports::{Message, OfferedTool, ToolChoice};
use crate::engine::routine::definition::{EdgeCondition, ModelWork, StepKind};
use crate::engine::routine::template::{MissingValue, Template};

impl Operation {
    /// Begins a fresh conversation on a step whose lap has just begun.
    pub(super) fn begin_turn(&mut self, at: StepRef, agent: &str, work: &ModelWork) {
        let brief = match self.brief(at, work) {
            Ok(brief) => brief,
            Err(missing) => {
                let text = missing.to_string();
                return self.fail_step(at, Failure::TemplateFailed { text });
            }
        };
        let message = prompt::message(&brief);
        match self.open_turn(at, agent, work, Goal::Route { must: None }, message, &[]) {
            Ok(turn) => {
                self.set_state(at, StepState::Turn(Box::new(turn)));
                self.limit(at, work.timeout_ms);
                self.wake(at);
            }
            Err(failure) => self.fail_step(at, failure),
        }
    }

    /// A fresh conversation of an agent with a goal (G17): its message, its tools, its run. A dynamic
    /// council's leader may ask the members.
    pub(super) fn open_turn(
        &mut self,
        at: StepRef,
        agent: &str,
        work: &ModelWork,
        goal: Goal,
        message: String,
        members: &[String],
    ) -> Result<Turn, Failure> {
        let routine =
            self.routine_instructions(at.execution)
                .map_err(|missing| Failure::TemplateFailed {
                    text: missing.to_string(),
                })?;
        let instructions = self.agent_instructions(at, agent)?;
        let system = prompt::system(instructions.as_deref(), &routine);
        let mut offered = self.offered(agent, work);
        let asks = ballot::ask_tools(members);
        let names = asks.iter().map(|tool| tool.name.clone()).collect();
        let own: Vec<OfferedTool> = asks
            .into_iter()
            .chain(self.ending_tool(at, &goal))
            .collect();
        // What the engine answers itself is offered once, whatever the host's tools are called.
        offered.retain(|tool| own.iter().all(|own| own.name != tool.name));
        let choice = match (goal.tool(), offered.is_empty() && members.is_empty()) {
            (Some(tool), true) => ToolChoice::Forced(tool.to_owned()),
            (Some(_) | None, _) => ToolChoice::Auto,
        };
        offered.extend(own);
        let run = self.next_run();
        Ok(Turn {
            agent: agent.to_owned(),
            goal,
            asks: names,
            system,
            messages: vec![Arc::new(Message::User(message))],
            offered: offered.into(),
            choice,
            model_calls: 0,
            corrections: 0,
            calls: VecDeque::new(),
            at: TurnAt::CallModel,
            effects: false,
            record: WorkRecord {
                run: Some(run.clone()),
                ..WorkRecord::default()
            },
            run,
        })
    }

    /// The agent's own instructions, which may name values like any others (V21).
    fn agent_instructions(&self, at: StepRef, agent: &str) -> Result<Option<String>, Failure> {
        let failed = |text: String| Failure::TemplateFailed {
            text: format!("the instructions of agent `{agent}`: {text}"),
        };
        let Some(text) = &self.plan.agents[agent].instructions else {
            return Ok(None);
        };
        let template = Template::parse(text).map_err(|error| failed(error.to_string()))?;
        let expanded = template.expand(&self.scope(at));
        expanded
            .map(Some)
            .map_err(|error| failed(error.to_string()))
    }

    /// The tool that ends a run with this goal, as it is offered.
    fn ending_tool(&self, at: StepRef, goal: &Goal) -> Option<OfferedTool> {
        match goal {
            Goal::Route { .. } => Some(route::offered(
                &self.executions[at.execution].graph,
                at.step,
            )),
            Goal::Say => None,
            Goal::Vote => Some(ballot::vote_tool()),
            Goal::Assign { members } => Some(ballot::assign_tool(members)),
        }
    }

    /// The routine's instructions, then those of the nested routines around the step.
    fn routine_instructions(&self, execution: usize) -> Result<Vec<String>, MissingValue> {
        let mut texts = Vec::new();
        let mut next = Some(execution);
        while let Some(index) = next {
            let execution = &self.executions[index];
            if let Some(text) = &execution.graph.body().instructions {
                texts.push(text.expand(&self.scope_of_start(index))?);
            }
            next = execution
                .iteration
                .as_ref()
                .map(|iteration| iteration.of.execution);
        }
        texts.reverse();
        Ok(texts)
    }

    pub(super) fn brief(&self, at: StepRef, work: &ModelWork) -> Result<Brief, MissingValue> {
        let scope = self.scope(at);
        let execution = &self.executions[at.execution];
        let graph = &execution.graph;
        let step = graph.step(at.step);
        let ways = graph
            .outgoing(at.step)
            .iter()
            .map(|&edge| {
                let text = graph.edge_text(edge);
                WayOn {
                    target: text.to.clone(),
                    verdict: match graph.edge(edge).condition {
                        EdgeCondition::Always | EdgeCondition::OnPass => Verdict::Pass,
                        EdgeCondition::OnFail => Verdict::Fail,
                    },
                    purpose: text.purpose.clone(),
                    handoff_instructions: text.handoff_instructions.clone(),
                }
            })
            .collect();
        let expand = |text: &crate::engine::routine::template::Template| text.expand(&scope);
        Ok(Brief {
            name: step.name.clone(),
            instructions: work.instructions.as_ref().map(expand).transpose()?,
            expected_output: work.expected_output.as_ref().map(expand).transpose()?,
            criteria: work.criteria.iter().map(expand).collect::<Result<_, _>>()?,
            inputs: self
                .plan
                .inputs
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            handoffs: execution.blocks(at.step),
            memory: work
                .memory
                .iter()
                .map(|key| (key.clone(), self.memory.get(key).cloned()))
                .collect(),
            ways,
            judges: matches!(step.kind, StepKind::Gate(_)),
        })
    }

    /// The tools of the step's scope (V17).
    fn offered(&self, agent: &str, work: &ModelWork) -> Vec<OfferedTool> {
        self.plan
            .tools
            .values()
            .filter(|tool| self.in_scope(agent, work, &tool.name))
            .map(|tool| OfferedTool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                schema: tool.schema.clone(),
            })
            .collect()
    }

    /// (the step's tools, else the agent's, else none) ∩ the agent's ∩ the routine's (V17).
    fn in_scope(&self, agent: &str, work: &ModelWork, tool: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == tool);
        let agent = self.plan.agents[agent].tools.as_deref();
        let asked = work.tools.as_deref().or(agent).is_some_and(names);
        asked
            && agent.is_none_or(names)
            && self
                .plan
                .definition
                .required_tools
                .as_deref()
                .is_none_or(names)
    }
}
