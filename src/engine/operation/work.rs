//! How a step begins, and how its verdict is taken (G3, G9, G15, G16).

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::engine::evidence::SourceKind;
use crate::engine::limits;
use crate::engine::operation::flow::EdgeState;
use crate::engine::operation::outcome::{Failure, Uncertainty, Verdict};
use crate::engine::operation::published::{CalledOutcome, PublicEvent, SettledVerdict};
use crate::engine::operation::state::{
    Author, Basis, Bodies, Call, CallAt, Claim, Claimed, GateChecks, LookAt, Looks, Settled, Skip,
    StepRef, StepState, TimeLimit, ToolRun, Uncertain, WorkRecord,
};
use crate::engine::operation::{Agents, Operation, route};
use crate::engine::routine::definition::{
    AgentStep, GateOwner, GateStep, Omission, OnFalse, StepCondition, StepKind, ToolStep,
};
use crate::engine::routine::graph::{EdgeIndex, RoutineGraph, StepIndex};

impl Operation {
    /// A ready step begins, or queues for its agent, or stays where new calls are stopped (V5a).
    pub(super) fn try_begin(&mut self, at: StepRef) {
        let graph = self.executions[at.execution].graph.clone();
        if let Some(condition) = &graph.step(at.step).condition
            && !self.agents.is_queued(at)
            && !condition
                .when
                .holds(self.memory.get(&condition.when.memory_key))
        {
            return self.condition_is_false(at, condition);
        }
        match &graph.step(at.step).kind {
            StepKind::Terminal { .. } | StepKind::TerminalFail { .. } => self.reach_terminal(at),
            StepKind::Agent(step) => self.begin_agent(at, step),
            StepKind::Gate(GateStep { owner }) => match owner {
                GateOwner::Agent(step) => self.begin_agent(at, step),
                GateOwner::Checks(_) => self.begin_lap(at, None, |operation| {
                    let checks = GateChecks {
                        at: LookAt::Ask,
                        looks: Looks::default(),
                        bodies: Bodies::Inline,
                    };
                    operation.set_state(at, StepState::GateChecks(Box::new(checks)));
                    operation.wake(at);
                }),
                GateOwner::Operator(gate) => self.begin_lap(at, None, |operation| match operation
                    .asked_of_operator(at, gate)
                {
                    Ok(_) => operation.set_state(at, StepState::OperatorGate),
                    Err(missing) => {
                        let text = missing.to_string();
                        operation.fail_step(at, Failure::TemplateFailed { text });
                    }
                }),
            },
            StepKind::Tool(step) => {
                if !self.is_halted() {
                    self.begin_tool(at, step);
                }
            }
            StepKind::Map(_) | StepKind::Fold(_) | StepKind::Until(_) => {
                self.begin_lap(at, None, |operation| operation.begin_repeat(at));
            }
            StepKind::Council(step) => {
                let agents = self.council_agents(step);
                self.agents.queue(&agents, at);
                self.next_turn(at);
            }
        }
    }

    /// A false condition skips the step, fails it, or has it wait before anything is submitted (V20).
    fn condition_is_false(&mut self, at: StepRef, condition: &StepCondition) {
        match condition.on_false {
            OnFalse::Skip => self.skip_by_condition(at),
            OnFalse::Wait => self.set_state(at, StepState::Condition),
            OnFalse::Fail => {
                let memory_key = condition.when.memory_key.clone();
                self.begin_lap(at, None, |operation| {
                    operation.fail_step(at, Failure::ConditionFailed { memory_key });
                });
            }
        }
    }

    /// The author's own skip is approved: its edges activate, unless the omission is refused (V20).
    fn skip_by_condition(&mut self, at: StepRef) {
        let handoffs = match self.executions[at.execution].graph.step(at.step).omission {
            Omission::Approved => {
                self.host_handoffs(at, Verdict::Pass, &json!({ "skipped": true }))
            }
            Omission::Refused => Ok(BTreeMap::new()),
        };
        match handoffs {
            Ok(handoffs) => self.skip(at, Skip::ByCondition { handoffs }),
            Err(failure) => {
                self.next_lap(at);
                self.fail_step(at, failure);
            }
        }
    }

    fn begin_agent(&mut self, at: StepRef, step: &AgentStep) {
        self.agents.queue(std::slice::from_ref(&step.agent), at);
        self.next_turn(at);
    }

    /// Lets a queued step begin if it is first with all its agents and they are free (G9).
    fn next_turn(&mut self, at: StepRef) {
        if self.is_halted() {
            return;
        }
        let graph = self.executions[at.execution].graph.clone();
        match &graph.step(at.step).kind {
            StepKind::Agent(step)
            | StepKind::Gate(GateStep {
                owner: GateOwner::Agent(step),
            }) => {
                if self.agents.take(std::slice::from_ref(&step.agent), at) {
                    self.begin_lap(at, Some(&step.agent), |operation| {
                        operation.begin_turn(at, &step.agent, &step.work);
                    });
                }
            }
            StepKind::Council(step) => {
                if self.agents.take(&self.council_agents(step), at) {
                    self.begin_lap(at, Some(&step.council), |operation| {
                        operation.begin_council(at, step);
                    });
                }
            }
            StepKind::Gate(_)
            | StepKind::Tool(_)
            | StepKind::Map(_)
            | StepKind::Fold(_)
            | StepKind::Until(_)
            | StepKind::Terminal { .. }
            | StepKind::TerminalFail { .. } => unreachable!("BUG: only agents queue"),
        }
    }

    /// Frees the agent that a step works with, if it does. The next one in its queue begins when the
    /// agenda comes to it, so that a failure in between starts nothing.
    pub(super) fn free_agent_of(&mut self, at: StepRef) {
        for next in self.agents.free(at) {
            self.wake(next);
        }
    }

    /// Counts and announces a lap, then begins its work.
    fn begin_lap(&mut self, at: StepRef, agent: Option<&str>, begin: impl FnOnce(&mut Self)) {
        if let Err(failure) = self.count_run(at) {
            return self.fail(failure, at);
        }
        self.next_lap(at);
        let kind = self.executions[at.execution]
            .graph
            .step(at.step)
            .kind
            .label();
        let event = PublicEvent::StepStarted {
            at: self.at(at),
            kind,
            agent: agent.map(str::to_owned),
        };
        self.publish(event);
        begin(self);
    }

    fn begin_tool(&mut self, at: StepRef, step: &ToolStep) {
        let args = step.args.expand(&self.scope(at));
        let timeout_ms = step.timeout_ms;
        let tool = step.tool.clone();
        self.begin_lap(at, None, |operation| match args {
            Ok(args) => {
                let call = Call {
                    tool,
                    args,
                    timeout_ms,
                    at: CallAt::Ask,
                };
                let run = ToolRun {
                    call,
                    record: WorkRecord::default(),
                };
                operation.set_state(at, StepState::ToolRun(Box::new(run)));
                operation.wake(at);
            }
            Err(missing) => {
                let text = missing.to_string();
                operation.fail_step(at, Failure::TemplateFailed { text });
            }
        });
    }

    /// Begins a step's time limit, if it has one.
    pub(super) fn limit(&mut self, at: StepRef, timeout_ms: Option<u64>) {
        if let Some(left_ms) = timeout_ms {
            self.executions[at.execution].steps[at.step.at()].limit =
                TimeLimit::Standing { left_ms };
            self.run_limit(at);
        }
    }

    /// A verdict is there: keep it, tell it, and route or have it verified.
    ///
    /// The step's state has been taken; this puts the next one in.
    pub(super) fn claim(&mut self, at: StepRef, claim: Claim) {
        self.clear_limit(at);
        self.free_agent_of(at);
        let place = self.place(at);
        let graph = self.executions[at.execution].graph.clone();
        let content = body_json(&graph, &claim).to_string();
        let run = claim.record.run.clone();
        let body = self.record(
            SourceKind::StepBody,
            Some(place),
            run,
            "step body",
            content.into(),
        );
        match claim.verdict {
            Verdict::Pass => {
                let claimed = Claimed {
                    claim,
                    body,
                    at: LookAt::Ask,
                    looks: Looks::default(),
                    bodies: Bodies::Inline,
                };
                self.observe_claim(at, claimed);
            }
            Verdict::Fail => self.claim_failure(at, claim, body),
        }
    }

    /// A fail routes without verification (V3), or fails the routine (G3).
    fn claim_failure(
        &mut self,
        at: StepRef,
        claim: Claim,
        body: crate::engine::evidence::SourceHeader,
    ) {
        let graph = self.executions[at.execution].graph.clone();
        let reasoning = claim.reasoning.clone();
        let (output, data) = (claim.output.clone(), settled_data(&claim));
        let has_way = !claim.handoffs.is_empty();
        let (reason, failure) = match &graph.step(at.step).kind {
            StepKind::Gate(_) if has_way => (None, None),
            StepKind::Gate(_) => (Some("gate_failed"), Some(Failure::GateFailed { reasoning })),
            StepKind::Agent(_)
            | StepKind::Council(_)
            | StepKind::Tool(_)
            | StepKind::Map(_)
            | StepKind::Fold(_)
            | StepKind::Until(_)
            | StepKind::Terminal { .. }
            | StepKind::TerminalFail { .. } => (
                Some("verdict_fail"),
                Some(Failure::VerdictFail { reasoning }),
            ),
        };
        self.publish_settled(at, SettledVerdict::Fail, reason, output, data);
        let settled = Settled {
            claim,
            body: Some(body),
            basis: Basis::NotAsked,
        };
        match failure {
            None => self.settle_step(at, settled),
            Some(failure) => {
                self.set_state(at, StepState::Settled(Box::new(settled)));
                self.fail(failure, at);
            }
        }
    }

    /// Nobody can tell what became of the step (V10). Its state has been taken.
    pub(super) fn make_uncertain(
        &mut self,
        at: StepRef,
        why: Uncertainty,
        text: impl Into<String>,
        record: WorkRecord,
    ) {
        self.leave_uncertain(
            at,
            Uncertain {
                why,
                text: text.into(),
                data: Value::Null,
                record,
                stopping: std::collections::BTreeSet::new(),
            },
        );
    }

    /// As [`Self::make_uncertain`], where something may still be in flight.
    pub(super) fn leave_uncertain(&mut self, at: StepRef, uncertain: Uncertain) {
        self.clear_limit(at);
        // A delivery that still comes finds nobody: it is a late source (V11).
        self.deliveries.retain(|_, owner| owner.step() != Some(at));
        let why = uncertain.why;
        let data = uncertain.data.clone();
        let is_quiet = uncertain.stopping.is_empty();
        // First: what this frees must see that new calls are stopped.
        self.set_state(at, StepState::Uncertain(Box::new(uncertain)));
        // Else the agent is freed by the reply: it never works on two things at once (G9).
        if is_quiet {
            self.free_agent_of(at);
        }
        self.publish_settled(
            at,
            SettledVerdict::Uncertain,
            Some(why.code()),
            Value::Null,
            data,
        );
    }

    /// A known failure of a step: the routine fails (G3). Its state has been taken.
    pub(super) fn fail_step(&mut self, at: StepRef, failure: Failure) {
        self.clear_limit(at);
        self.free_agent_of(at);
        self.set_state(at, StepState::Stopped);
        let data = failure.detail();
        self.publish_settled(
            at,
            SettledVerdict::Fail,
            Some(failure.code()),
            Value::Null,
            data,
        );
        self.fail(failure, at);
    }

    /// Gives a step without model the handoffs of its edges, checked against their schemas (G5).
    pub(super) fn host_handoffs(
        &self,
        at: StepRef,
        verdict: Verdict,
        handoff: &Value,
    ) -> Result<BTreeMap<EdgeIndex, Value>, Failure> {
        let graph = &self.executions[at.execution].graph;
        route::activated(graph, at.step, verdict)
            .into_iter()
            .map(|edge| match graph.edge(edge).handoff.check(handoff) {
                Ok(()) => Ok((edge, handoff.clone())),
                Err(mismatch) => Err(Failure::HandoffMismatch {
                    edge: graph.edge_text(edge).label(),
                    text: mismatch.to_string(),
                }),
            })
            .collect()
    }

    /// The result of a tool step, whoever gave it. Its state has been taken.
    pub(super) fn claim_tool_result(
        &mut self,
        at: StepRef,
        result: Value,
        author: Author,
        reasoning: String,
        record: WorkRecord,
    ) {
        let graph = self.executions[at.execution].graph.clone();
        if let StepKind::Tool(ToolStep {
            result_key: Some(key),
            ..
        }) = &graph.step(at.step).kind
        {
            self.memory.set(key, result.clone());
        }
        match self.host_handoffs(at, Verdict::Pass, &json!({ "result": result })) {
            Ok(handoffs) => self.claim(
                at,
                Claim {
                    verdict: Verdict::Pass,
                    reasoning,
                    output: result,
                    data: Value::Null,
                    author,
                    handoffs,
                    record,
                },
            ),
            Err(failure) => self.fail_step(at, failure),
        }
    }

    /// What came in, by source step: the outputs of the direct predecessors and the retry handoffs.
    pub(super) fn incoming(&self, at: StepRef) -> BTreeMap<String, Value> {
        self.executions[at.execution]
            .blocks(at.step)
            .into_iter()
            .map(|block| (block.source, block.handoff))
            .collect()
    }

    /// The settled direct predecessors whose edges are active, in file order (V13).
    pub(super) fn predecessors(&self, at: StepRef) -> Vec<(StepIndex, &Settled)> {
        let execution = &self.executions[at.execution];
        let mut seen = Vec::new();
        for &edge in execution.graph.forward_in(at.step) {
            let from = execution.graph.edge(edge).from;
            if let (EdgeState::Active(_), StepState::Settled(settled)) = (
                execution.edge_state(edge),
                &execution.steps[from.at()].state,
            ) && !seen.iter().any(|(step, _)| *step == from)
            {
                seen.push((from, &**settled));
            }
        }
        seen
    }

    /// Keeps a tool call's result as evidence and in the lap's record.
    pub(super) fn keep_result(
        &mut self,
        at: StepRef,
        record: &mut WorkRecord,
        call: (&str, &Value),
        outcome: CalledOutcome,
        result: Value,
    ) {
        let (tool, args) = call;
        let place = self.place(at);
        let run = record.run.clone();
        let arguments = Bytes::from(args.to_string());
        let arguments = self.record(
            SourceKind::ToolArguments,
            Some(place.clone()),
            run.clone(),
            tool,
            arguments,
        );
        record.sources.push(arguments);
        let source = match &result {
            Value::Null => None,
            result => {
                let content = Bytes::from(result.to_string());
                Some(self.record(SourceKind::ToolResult, Some(place), run, tool, content))
            }
        };
        record.sources.extend(source.clone());
        record
            .tools
            .push(crate::engine::operation::state::ToolRecord {
                tool: tool.to_owned(),
                args: args.clone(),
                outcome,
                result,
                source,
            });
    }
}

impl Agents {
    /// Puts a step into the queue of each of its agents, at once: so no two steps wait for each other.
    fn queue(&mut self, agents: &[String], at: StepRef) {
        for agent in agents {
            let queue = self.queues.entry(agent.clone()).or_default();
            if !queue.contains(&at) {
                queue.push_back(at);
            }
        }
    }

    /// Takes all agents or none: the step must be first with each, and each must be free (G9).
    fn take(&mut self, agents: &[String], at: StepRef) -> bool {
        let may = agents.iter().all(|agent| {
            let first = self.queues.get(agent).and_then(VecDeque::front);
            first == Some(&at) && !self.busy.contains_key(agent)
        });
        if may {
            for agent in agents {
                if let Some(queue) = self.queues.get_mut(agent) {
                    queue.pop_front();
                }
                self.busy.insert(agent.clone(), at);
            }
        }
        may
    }

    /// Ends a step's turns and says who is next.
    fn free(&mut self, at: StepRef) -> Vec<StepRef> {
        let works = |(_, busy): &(&String, &StepRef)| **busy == at;
        let agents: Vec<String> = self
            .busy
            .iter()
            .filter(works)
            .map(|(agent, _)| agent.clone())
            .collect();
        let mut next = Vec::new();
        for agent in agents {
            self.busy.remove(&agent);
            next.extend(self.queues.get(&agent).and_then(VecDeque::front).copied());
        }
        next
    }

    /// Whoever works in an execution works for this step from now on, until that has settled.
    pub(super) fn hand_over(&mut self, execution: usize, to: StepRef) {
        for busy in self.busy.values_mut() {
            if busy.execution == execution {
                *busy = to;
            }
        }
    }

    fn is_queued(&self, at: StepRef) -> bool {
        self.queues.values().any(|queue| queue.contains(&at))
    }

    /// Takes a step out of every queue and says who stands first there now: it may be free to begin.
    /// Who works goes on working.
    pub(super) fn forget(&mut self, at: StepRef) -> Vec<StepRef> {
        let mut first = Vec::new();
        for queue in self.queues.values_mut() {
            if queue.contains(&at) {
                queue.retain(|queued| *queued != at);
                first.extend(queue.front().copied());
            }
        }
        first
    }

    /// Forgets everybody.
    pub(super) fn clear(&mut self) {
        self.busy.clear();
        self.queues.clear();
    }
}

/// A step's body as it is kept: verdict, reasoning, output and handoffs by target.
pub(super) fn body_json(graph: &RoutineGraph, claim: &Claim) -> Value {
    let handoffs: serde_json::Map<String, Value> = claim
        .handoffs
        .iter()
        .map(|(&edge, handoff)| (graph.edge_text(edge).to.clone(), handoff.clone()))
        .collect();
    json!({
        "by": claim.author.label(),
        "verdict": claim.verdict.label(),
        "reasoning": claim.reasoning,
        "output": claim.output,
        "data": claim.data,
        "handoffs": handoffs,
    })
}

/// The `data` of `step.settled`.
pub(super) fn settled_data(claim: &Claim) -> Value {
    let mut data = match &claim.data {
        Value::Object(data) => data.clone(),
        Value::Null => serde_json::Map::new(),
        other => serde_json::Map::from_iter([("data".to_owned(), other.clone())]),
    };
    data.insert("reasoning".into(), claim.reasoning.clone().into());
    data.insert("by".into(), claim.author.label().into());
    Value::Object(data)
}

/// Small results stand inline as exact JSON, large ones by reference (V13).
pub(super) fn is_inline(result: &Value) -> bool {
    match result {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= limits::INLINE_RESULT_BYTES,
        Value::Array(_) | Value::Object(_) => {
            result.to_string().len() <= limits::INLINE_RESULT_BYTES
        }
    }
}
