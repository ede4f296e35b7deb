//! Rest: what is waited for, what a person may answer, and how a resume takes it up (V5, V5a, V6, V10a).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::id::Generation;
use crate::engine::operation::call::CallEnd;
use crate::engine::operation::event::Command;
use crate::engine::operation::flight::Owner;
use crate::engine::operation::outcome::{Failure, Verdict};
use crate::engine::operation::published::{PublicEvent, PublicWait};
use crate::engine::operation::route;
use crate::engine::operation::state::{
    Author, Bodies, Call, CallAt, Chair, Claim, LookAt, Looks, Seat, Series, Stage, StepRef,
    StepState, TurnAt, Uncertain, WorkRecord,
};
use crate::engine::operation::wait::{
    Accepting, Answer, BadAnswer, Direction, OperatorVerdict, Permit, Question, Wait, WaitKey,
    WaitKind, WaitPhase, Way,
};
use crate::engine::operation::{Admission, Operation, Phase, Todo};
use crate::engine::routine::definition::{
    CheckKind, EdgeCondition, GateOwner, GateStep, OperatorGate, StepKind,
};
use crate::engine::routine::graph::{EdgeClass, StepIndex};
use crate::engine::verify::{Attestation, CheckResult, Decision, Finding, Held};

impl Operation {
    /// Pauses when nothing is in flight and nothing may start, and hands out one continuation.
    pub(super) fn pause_if_at_rest(&mut self) {
        let may_rest = matches!(self.phase, Phase::Live);
        if !may_rest || self.paused.is_some() || !self.in_flight.is_empty() {
            return;
        }
        let waits = self.waits();
        let Some(state) = waits.iter().map(|wait| wait.state).max() else {
            return;
        };
        self.paused = Some(state);
        // Whoever would work but may not isn't timed for it.
        for at in self.live_steps() {
            self.hold_limit(at);
        }
        let worst: Vec<&str> = waits
            .iter()
            .filter(|wait| wait.state == state)
            .map(|wait| wait.reason.as_str())
            .collect();
        let reason = worst.join("; ");
        let waits = waits.iter().map(PublicWait::from).collect();
        self.publish(PublicEvent::OperationPaused {
            state,
            reason,
            waits,
        });
        self.out.push(Command::IssueContinuation(self.generation));
    }

    /// What it waits for: by execution, from outer to inner, each in file order.
    pub fn waits(&self) -> Vec<Wait> {
        let mut waits = Vec::new();
        if !matches!(self.phase, Phase::Live) {
            return waits;
        }
        for &execution in &self.active {
            match &self.executions[execution].stage {
                Stage::Before(series) => {
                    waits.extend(self.series_wait(execution, WaitPhase::Pre, series));
                }
                Stage::After(series) => {
                    waits.extend(self.series_wait(execution, WaitPhase::Post, series));
                }
                Stage::Final(look) => {
                    let key = WaitKey {
                        execution: self.executions[execution].id.clone(),
                        step: None,
                        lap: None,
                        phase: WaitPhase::Final,
                        check: None,
                    };
                    let checks = &self.executions[execution].graph.body().verify;
                    waits.extend(look_waits(&key, &look.at, checks, |sources| {
                        self.unacknowledged(sources).len()
                    }));
                }
                Stage::Graph => {
                    let first = StepRef {
                        execution,
                        step: StepIndex(0),
                    };
                    let held = self.holds.range(first..);
                    for (&at, _) in held.take_while(|(at, _)| at.execution == execution) {
                        self.step_waits(at, &mut waits);
                    }
                }
                Stage::Over => {}
            }
        }
        waits
    }

    fn series_wait(&self, execution: usize, phase: WaitPhase, series: &Series) -> Option<Wait> {
        let body = self.executions[execution].graph.body();
        let steps = match phase {
            WaitPhase::Pre => &body.pre_steps,
            WaitPhase::Step | WaitPhase::Gate | WaitPhase::Post | WaitPhase::Final => {
                &body.post_steps
            }
        };
        let place = self.series_place(execution, &steps.get(series.at)?.name);
        let key = WaitKey {
            execution: place.execution,
            step: Some(place.step),
            lap: Some(place.lap),
            phase,
            check: None,
        };
        call_wait(key, series.call.as_ref()?)
    }

    fn step_waits(&self, at: StepRef, waits: &mut Vec<Wait>) {
        let graph = &self.executions[at.execution].graph;
        let step = graph.step(at.step);
        let place = self.place(at);
        let owner_phase = match step.kind {
            StepKind::Gate(_) => WaitPhase::Gate,
            StepKind::Agent(_)
            | StepKind::Council(_)
            | StepKind::Tool(_)
            | StepKind::Map(_)
            | StepKind::Fold(_)
            | StepKind::Until(_)
            | StepKind::Terminal { .. }
            | StepKind::TerminalFail { .. } => WaitPhase::Step,
        };
        let key = |phase| WaitKey {
            execution: place.execution.clone(),
            step: Some(place.step.clone()),
            lap: Some(place.lap),
            phase,
            check: None,
        };
        let open = |sources: &[_]| self.unacknowledged(sources).len();
        match self.state_of(at) {
            StepState::Turn(turn) => {
                if let TurnAt::Call(_, call) = &turn.at {
                    waits.extend(call_wait(key(owner_phase), call));
                }
            }
            StepState::Council(council) => {
                for (chair, turn) in &council.turns {
                    if let TurnAt::Call(_, call) = &turn.at {
                        // The chair tells the members' questions apart.
                        let key = WaitKey {
                            check: Some(*chair),
                            ..key(owner_phase)
                        };
                        waits.extend(call_wait(key, call));
                    }
                }
            }
            StepState::ToolRun(run) => waits.extend(call_wait(key(owner_phase), &run.call)),
            StepState::GateChecks(gate) => {
                if let StepKind::Gate(GateStep {
                    owner: GateOwner::Checks(checks),
                }) = &step.kind
                {
                    waits.extend(look_waits(&key(WaitPhase::Gate), &gate.at, checks, open));
                }
            }
            StepState::Claimed(claimed) => {
                waits.extend(look_waits(
                    &key(WaitPhase::Step),
                    &claimed.at,
                    &step.verify,
                    open,
                ));
            }
            StepState::OperatorGate => waits.push(self.operator_wait(at, key(WaitPhase::Gate))),
            StepState::Condition => {
                let mut key = key(WaitPhase::Step);
                // The lap that it would begin: nothing of it was counted yet.
                key.lap = Some(place.lap.next());
                waits.extend(self.condition_wait(at, key));
            }
            StepState::Uncertain(uncertain) => {
                waits.push(self.uncertain_wait(at, key(owner_phase), uncertain));
            }
            StepState::Idle
            | StepState::Ready
            | StepState::Settled(_)
            | StepState::Skipped(_)
            | StepState::Repeating(_)
            | StepState::Stopping(_)
            | StepState::Stopped => {}
        }
    }

    fn condition_wait(&self, at: StepRef, key: WaitKey) -> Option<Wait> {
        let condition = self.executions[at.execution]
            .graph
            .step(at.step)
            .condition
            .as_ref()?;
        Some(Wait {
            key,
            kind: WaitKind::Condition,
            state: Held::Waiting,
            reason: format!(
                "the condition on the memory key `{}` is not met",
                condition.when.memory_key
            ),
            poll_ms: None,
            question: Question::Recheck,
        })
    }

    fn operator_wait(&self, at: StepRef, key: WaitKey) -> Wait {
        let step = self.executions[at.execution].graph.step(at.step);
        let empty = OperatorGate::default();
        let gate = match &step.kind {
            StepKind::Gate(GateStep {
                owner: GateOwner::Operator(gate),
            }) => gate,
            _ => &empty,
        };
        let scope = self.scope(at);
        // A name without value is shown as its author wrote it: a person can still decide.
        let text = |template: &crate::engine::routine::template::Template| {
            template
                .expand(&scope)
                .unwrap_or_else(|_| template.to_string())
        };
        let instructions = gate.instructions.as_ref().map(text);
        let reason = instructions
            .clone()
            .unwrap_or_else(|| format!("{} needs a person's verdict", step.name));
        Wait {
            key,
            kind: WaitKind::OperatorGate,
            state: Held::Waiting,
            reason,
            poll_ms: None,
            question: Question::OperatorGate {
                instructions,
                criteria: gate.criteria.iter().map(text).collect(),
                inputs: self.incoming(at),
                ways: self.ways(at),
            },
        }
    }

    fn uncertain_wait(&self, at: StepRef, key: WaitKey, uncertain: &Uncertain) -> Wait {
        let step = self.executions[at.execution].graph.step(at.step);
        let needs = match step.kind {
            StepKind::Tool(_) => Accepting::Result,
            StepKind::Agent(_)
            | StepKind::Gate(_)
            | StepKind::Council(_)
            | StepKind::Map(_)
            | StepKind::Fold(_)
            | StepKind::Until(_)
            | StepKind::Terminal { .. }
            | StepKind::TerminalFail { .. } => Accepting::Verdict,
        };
        Wait {
            key,
            kind: WaitKind::Uncertain,
            state: Held::Uncertain,
            reason: uncertain.text.clone(),
            poll_ms: None,
            question: Question::Uncertain {
                code: uncertain.why.code().to_owned(),
                needs,
                ways: self.ways(at),
            },
        }
    }

    fn ways(&self, at: StepRef) -> Vec<Way> {
        let graph = &self.executions[at.execution].graph;
        graph
            .outgoing(at.step)
            .iter()
            .map(|&edge| {
                let text = graph.edge_text(edge);
                Way {
                    target: text.to.clone(),
                    verdict: match graph.edge(edge).condition {
                        EdgeCondition::Always | EdgeCondition::OnPass => Verdict::Pass,
                        EdgeCondition::OnFail => Verdict::Fail,
                    },
                    direction: match graph.edge(edge).class {
                        EdgeClass::Forward => Direction::Onward,
                        EdgeClass::Retry(_) => Direction::Back,
                    },
                    purpose: text.purpose.clone(),
                    handoff_instructions: text.handoff_instructions.clone(),
                    handoff_schema: text.handoff_schema.clone(),
                }
            })
            .collect()
    }

    /// Says whether answers would be admitted, without changing anything.
    ///
    /// # Errors
    /// The first answer that doesn't fit its wait.
    pub fn check_answers(
        &self,
        answers: &[(WaitKey, Answer)],
        admission: Admission,
    ) -> Result<(), BadAnswer> {
        let waits = self.waits();
        for (key, answer) in answers {
            let Some(wait) = waits.iter().find(|wait| wait.key == *key) else {
                return Err(BadAnswer::NoSuchWait(
                    key.step.clone().unwrap_or_else(|| "the end".into()),
                ));
            };
            if answer.reconciles() && admission == Admission::Resume {
                return Err(BadAnswer::NeedsReconcile);
            }
            match (answer, &wait.question) {
                (Answer::Attest { .. }, Question::Manual { .. })
                | (Answer::Permit(_), Question::Permission { .. }) => {}
                (Answer::Decide(verdict), Question::OperatorGate { .. }) => {
                    self.check_verdict(key, verdict)?;
                }
                (Answer::Accept(verdict), Question::Uncertain { needs, .. }) => match needs {
                    Accepting::Nothing => return Err(BadAnswer::WrongKind(wait.kind.label())),
                    Accepting::Verdict => self.check_verdict(key, verdict)?,
                    Accepting::Result => {
                        if verdict.reasoning.trim().is_empty() {
                            return Err(BadAnswer::NoReasoning);
                        }
                        self.check_result(key, verdict)?;
                    }
                },
                // A delivery may be lost: only a person can say so (V10).
                (Answer::Fail { reasoning }, _)
                    if wait.state == Held::Uncertain || wait.kind == WaitKind::Delivery =>
                {
                    if reasoning.trim().is_empty() {
                        return Err(BadAnswer::NoReasoning);
                    }
                }
                (
                    Answer::Attest { .. }
                    | Answer::Permit(_)
                    | Answer::Decide(_)
                    | Answer::Accept(_)
                    | Answer::Fail { .. },
                    _,
                ) => return Err(BadAnswer::WrongKind(wait.kind.label())),
            }
        }
        Ok(())
    }

    fn check_verdict(&self, key: &WaitKey, verdict: &OperatorVerdict) -> Result<(), BadAnswer> {
        if verdict.reasoning.trim().is_empty() {
            return Err(BadAnswer::NoReasoning);
        }
        match self.find(key) {
            Some(at) => self.operator_handoffs(at, verdict).map(|_| ()),
            None => Ok(()),
        }
    }

    fn check_result(&self, key: &WaitKey, verdict: &OperatorVerdict) -> Result<(), BadAnswer> {
        let Some(at) = self.find(key) else {
            return Ok(());
        };
        match self.host_handoffs(at, Verdict::Pass, &json!({ "result": verdict.output })) {
            Ok(_) => Ok(()),
            Err(Failure::HandoffMismatch { edge, text }) => Err(BadAnswer::Handoff {
                target: edge,
                problem: text,
            }),
            Err(other) => Err(BadAnswer::Handoff {
                target: key_name(key),
                problem: other.code().into(),
            }),
        }
    }

    /// The handoffs that a person's verdict activates: required where the edge has a schema, else
    /// made from the verdict (G5).
    fn operator_handoffs(
        &self,
        at: StepRef,
        given: &OperatorVerdict,
    ) -> Result<BTreeMap<crate::engine::routine::graph::EdgeIndex, Value>, BadAnswer> {
        let graph = &self.executions[at.execution].graph;
        let leading: Vec<_> = route::activated(graph, at.step, given.verdict)
            .into_iter()
            .filter(|&edge| match (&graph.edge(edge).class, given.direction) {
                (EdgeClass::Forward, Some(Direction::Back)) => false,
                (EdgeClass::Retry(_), Some(Direction::Onward)) => false,
                (EdgeClass::Forward | EdgeClass::Retry(_), _) => true,
            })
            .collect();
        let directions: Vec<_> = leading
            .iter()
            .map(|&edge| matches!(graph.edge(edge).class, EdgeClass::Forward))
            .collect();
        // With edges of both kinds the person has to say which (G6).
        if directions.contains(&true) && directions.contains(&false) {
            return Err(BadAnswer::NoWay);
        }
        if leading.is_empty() && given.direction.is_some() {
            return Err(BadAnswer::NoWay);
        }
        for target in given.handoffs.keys() {
            if !leading
                .iter()
                .any(|&edge| graph.edge_text(edge).to == *target)
            {
                let problem = "this verdict does not lead there".to_owned();
                return Err(BadAnswer::Handoff {
                    target: target.clone(),
                    problem,
                });
            }
        }
        let from_verdict =
            json!({ "verdict": given.verdict.label(), "reasoning": given.reasoning });
        leading
            .into_iter()
            .map(|edge| {
                let target = graph.edge_text(edge).to.clone();
                let rule = &graph.edge(edge).handoff;
                let handoff = match given.handoffs.get(&target) {
                    Some(handoff) => handoff.clone(),
                    None if rule.has_schema() => {
                        return Err(BadAnswer::Handoff {
                            target,
                            problem: "it is required".into(),
                        });
                    }
                    None => from_verdict.clone(),
                };
                match rule.check(&handoff) {
                    Ok(()) => Ok((edge, handoff)),
                    Err(mismatch) => Err(BadAnswer::Handoff {
                        target,
                        problem: mismatch.to_string(),
                    }),
                }
            })
            .collect()
    }

    fn find(&self, key: &WaitKey) -> Option<StepRef> {
        let execution = self.find_execution(&key.execution)?;
        let step = self.executions[execution]
            .graph
            .find(key.step.as_deref()?)?;
        Some(StepRef { execution, step })
    }

    /// Takes up every wait again, with the answers that were given (V5a, V6).
    pub(super) fn resumed(&mut self, generation: Generation, answers: Vec<(WaitKey, Answer)>) {
        self.paused = None;
        self.generation = generation;
        self.publish(PublicEvent::OperationResumed { generation });
        for (key, answer) in answers {
            self.answer(&key, answer);
            if self.is_over_or_settling() {
                return;
            }
        }
        for execution in self.active.clone() {
            self.take_up_stage(execution);
        }
        let held: Vec<StepRef> = self.holds.keys().copied().collect();
        for at in held {
            self.take_up_step(at);
        }
        for at in self.live_steps() {
            self.limit_follows_wait(at);
        }
    }

    fn take_up_stage(&mut self, execution: usize) {
        let may_look = match &self.executions[execution].stage {
            Stage::Final(look) => self.may_look(&look.at),
            Stage::Before(_) | Stage::Graph | Stage::After(_) | Stage::Over => false,
        };
        match &mut self.executions[execution].stage {
            Stage::Final(look) if may_look => take_up(&mut look.at, &mut look.bodies),
            Stage::Before(Series {
                call: Some(call), ..
            })
            | Stage::After(Series {
                call: Some(call), ..
            }) => ask_again(call),
            Stage::Before(_) | Stage::Graph | Stage::After(_) | Stage::Final(_) | Stage::Over => {}
        }
        self.agenda.push_back(Todo::Stage(execution));
    }

    /// Judgements are looked at again, admissions asked again (V6).
    fn take_up_step(&mut self, at: StepRef) {
        let state = match self.take_state(at) {
            StepState::Turn(mut turn) => {
                if let TurnAt::Call(_, call) = &mut turn.at {
                    ask_again(call);
                }
                StepState::Turn(turn)
            }
            StepState::Council(mut council) => {
                for turn in council.turns.values_mut() {
                    if let TurnAt::Call(_, call) = &mut turn.at {
                        ask_again(call);
                    }
                }
                StepState::Council(council)
            }
            StepState::ToolRun(mut run) => {
                ask_again(&mut run.call);
                StepState::ToolRun(run)
            }
            StepState::GateChecks(mut gate) => {
                if self.may_look(&gate.at) {
                    take_up(&mut gate.at, &mut gate.bodies);
                }
                StepState::GateChecks(gate)
            }
            StepState::Claimed(mut claimed) => {
                if self.may_look(&claimed.at) {
                    let was_oversized = matches!(claimed.at, LookAt::Oversized { .. });
                    take_up(&mut claimed.at, &mut claimed.bodies);
                    if was_oversized {
                        return self.observe_claim(at, *claimed);
                    }
                }
                StepState::Claimed(claimed)
            }
            // Looked at again when it is about to begin.
            StepState::Condition => StepState::Ready,
            other => other,
        };
        self.set_state(at, state);
        self.wake(at);
    }

    /// Whether looking again makes sense: a view that was too large needs its receipts first (V26).
    fn may_look(&self, at: &LookAt) -> bool {
        match at {
            LookAt::Held(_) => true,
            LookAt::Oversized { sources, .. } => self.unacknowledged(sources).is_empty(),
            LookAt::Ask | LookAt::Asking(_) => false,
        }
    }

    fn answer(&mut self, key: &WaitKey, answer: Answer) {
        match (key.phase, answer) {
            (_, Answer::Fail { reasoning }) => {
                if let Some(execution) = self.find_execution(&key.execution) {
                    let failure = Failure::FailedByOperator { reasoning };
                    self.fail_execution(execution, failure, key.step.clone());
                }
            }
            (WaitPhase::Final, Answer::Attest { verdict, reasoning }) => {
                if let Some(execution) = self.find_execution(&key.execution)
                    && let (Stage::Final(look), Some(check)) =
                        (&mut self.executions[execution].stage, key.check)
                {
                    look.looks.attest(Attestation {
                        check,
                        verdict,
                        reasoning,
                    });
                }
            }
            (WaitPhase::Pre | WaitPhase::Post, Answer::Permit(permit)) => {
                if let Some(execution) = self.find_execution(&key.execution) {
                    self.permit_series(execution, permit);
                }
            }
            (_, answer) => {
                if let Some(at) = self.find(key) {
                    self.answer_step(at, key, answer);
                }
            }
        }
    }

    fn permit_series(&mut self, execution: usize, permit: Permit) {
        match permit {
            Permit::Deny => self.series_call_over(execution, CallEnd::Denied(DENIED.into())),
            Permit::Allow => {
                if let Stage::Before(series) | Stage::After(series) =
                    &mut self.executions[execution].stage
                    && let Some(call) = &mut series.call
                {
                    call.at = CallAt::Ready;
                }
            }
        }
    }

    fn answer_step(&mut self, at: StepRef, key: &WaitKey, answer: Answer) {
        match (self.take_state(at), answer) {
            (StepState::Claimed(mut claimed), Answer::Attest { verdict, reasoning }) => {
                if let Some(check) = key.check {
                    claimed.looks.attest(Attestation {
                        check,
                        verdict,
                        reasoning,
                    });
                }
                self.set_state(at, StepState::Claimed(claimed));
            }
            (StepState::GateChecks(mut gate), Answer::Attest { verdict, reasoning }) => {
                if let Some(check) = key.check {
                    gate.looks.attest(Attestation {
                        check,
                        verdict,
                        reasoning,
                    });
                }
                self.set_state(at, StepState::GateChecks(gate));
            }
            (StepState::OperatorGate, Answer::Decide(given)) => {
                self.claim_of_operator(at, given, Value::Null, WorkRecord::default());
            }
            (StepState::Uncertain(uncertain), Answer::Accept(given)) => {
                let kind = &self.executions[at.execution].graph.step(at.step).kind;
                match kind {
                    StepKind::Tool(_) => {
                        let OperatorVerdict {
                            output, reasoning, ..
                        } = given;
                        let record = uncertain.record;
                        self.claim_tool_result(at, output, Author::Operator, reasoning, record);
                    }
                    StepKind::Agent(_)
                    | StepKind::Gate(_)
                    | StepKind::Council(_)
                    | StepKind::Map(_)
                    | StepKind::Fold(_)
                    | StepKind::Until(_)
                    | StepKind::Terminal { .. }
                    | StepKind::TerminalFail { .. } => {
                        self.claim_of_operator(at, given, uncertain.data, uncertain.record)
                    }
                }
            }
            (state @ StepState::Turn(_), Answer::Permit(permit)) => {
                self.set_state(at, state);
                self.permit(Owner::Turn(Seat::lone(at)), permit);
            }
            (state @ StepState::Council(_), Answer::Permit(permit)) => {
                self.set_state(at, state);
                let chair = Chair::Council(key.check.unwrap_or_default());
                self.permit(Owner::Turn(Seat { at, chair }), permit);
            }
            (state @ StepState::ToolRun(_), Answer::Permit(permit)) => {
                self.set_state(at, state);
                self.permit(Owner::Step(at), permit);
            }
            (state, _) => self.set_state(at, state),
        }
    }

    fn permit(&mut self, owner: Owner, permit: Permit) {
        self.with_call(owner, |_, call| match permit {
            Permit::Deny => Some(CallEnd::Denied(DENIED.into())),
            Permit::Allow => {
                call.at = CallAt::Ready;
                None
            }
        });
    }

    /// What a person supplies is the operator's for ever; its verification is still asked (V10a).
    fn claim_of_operator(
        &mut self,
        at: StepRef,
        given: OperatorVerdict,
        data: Value,
        record: WorkRecord,
    ) {
        // Checked before the admission; what doesn't fit any more leads nowhere.
        let handoffs = self.operator_handoffs(at, &given).unwrap_or_default();
        let OperatorVerdict {
            verdict,
            reasoning,
            output,
            ..
        } = given;
        // An operator gate's output is its reasoning (C3).
        let output = match &self.executions[at.execution].graph.step(at.step).kind {
            StepKind::Gate(GateStep {
                owner: GateOwner::Operator(_),
            }) => Value::String(reasoning.clone()),
            _ => output,
        };
        let claim = Claim {
            verdict,
            reasoning,
            output,
            data,
            author: Author::Operator,
            handoffs,
            record,
        };
        self.claim(at, claim);
    }
}

const DENIED: &str = "the operator denied this call";

fn key_name(key: &WaitKey) -> String {
    key.step.clone().unwrap_or_else(|| "the end".into())
}

impl Looks {
    /// The latest word on a check counts.
    fn attest(&mut self, attestation: Attestation) {
        self.attestations
            .retain(|held| held.check != attestation.check);
        self.attestations.push(attestation);
    }
}

/// A judgement is looked at again; a view that was too large now carries receipts (V26).
fn take_up(at: &mut LookAt, bodies: &mut Bodies) {
    match at {
        LookAt::Held(_) => *at = LookAt::Ask,
        LookAt::Oversized { .. } => {
            *bodies = Bodies::Receipts;
            *at = LookAt::Ask;
        }
        LookAt::Ask | LookAt::Asking(_) => {}
    }
}

fn ask_again(call: &mut Call) {
    if let CallAt::Permission { .. } = call.at {
        call.at = CallAt::Ask;
    }
}

fn call_wait(key: WaitKey, call: &Call) -> Option<Wait> {
    let (kind, reason, question) = match &call.at {
        CallAt::Permission { reason } => (
            WaitKind::Permission,
            format!("`{}` needs permission: {reason}", call.tool),
            Question::Permission {
                tool: call.tool.clone(),
                args: call.args.clone(),
            },
        ),
        CallAt::Delivery {
            delivery,
            delivered,
        } => (
            WaitKind::Delivery,
            match delivered {
                Some(_) => format!("`{}` has delivered; resume to go on", call.tool),
                None => format!("`{}` has not delivered `{delivery}` yet", call.tool),
            },
            Question::Recheck,
        ),
        CallAt::Ask | CallAt::Asking(_) | CallAt::Ready | CallAt::InFlight(_) => return None,
    };
    Some(Wait {
        key,
        kind,
        state: call.at.held()?,
        reason,
        poll_ms: None,
        question,
    })
}

/// The waits of a verification: one for each check that doesn't hold.
fn look_waits(
    key: &WaitKey,
    at: &LookAt,
    checks: &[crate::engine::routine::definition::CheckDefinition],
    open: impl Fn(&[crate::engine::id::SourceId]) -> usize,
) -> Vec<Wait> {
    match at {
        LookAt::Ask | LookAt::Asking(_) => Vec::new(),
        LookAt::Held(decision) => decision_waits(key, decision, checks),
        LookAt::Oversized { size, sources } => vec![Wait {
            key: key.clone(),
            kind: WaitKind::Evidence,
            state: Held::Uncertain,
            reason: format!(
                "{size}; {} of {} sources are to be acknowledged",
                open(sources),
                sources.len()
            ),
            poll_ms: None,
            question: Question::Recheck,
        }],
    }
}

fn decision_waits(
    key: &WaitKey,
    decision: &Decision,
    checks: &[crate::engine::routine::definition::CheckDefinition],
) -> Vec<Wait> {
    let held = decision
        .checks
        .iter()
        .filter_map(|check| match &check.finding {
            Finding::Verified => None,
            Finding::Held { state, reason } => Some((check, *state, reason)),
        });
    let waits: Vec<Wait> = held
        .map(|(check, state, reason)| Wait {
            key: WaitKey {
                check: Some(check.index),
                ..key.clone()
            },
            kind: if check.manual {
                WaitKind::Manual
            } else {
                WaitKind::Check
            },
            state,
            reason: reason.clone(),
            poll_ms: if state == Held::Waiting {
                check.poll_ms
            } else {
                None
            },
            question: question(check, checks),
        })
        .collect();
    if !waits.is_empty() {
        return waits;
    }
    match &decision.finding {
        Finding::Verified => Vec::new(),
        Finding::Held { state, reason } => vec![Wait {
            key: key.clone(),
            kind: match state {
                Held::Waiting | Held::Blocked => WaitKind::Check,
                Held::Uncertain => WaitKind::Uncertain,
            },
            state: *state,
            reason: reason.clone(),
            poll_ms: None,
            question: match state {
                Held::Waiting | Held::Blocked => Question::Recheck,
                Held::Uncertain => Question::Uncertain {
                    code: "verifier_failed".into(),
                    needs: Accepting::Nothing,
                    ways: Vec::new(),
                },
            },
        }],
    }
}

fn question(
    check: &CheckResult,
    checks: &[crate::engine::routine::definition::CheckDefinition],
) -> Question {
    match checks.get(check.index).map(|definition| &definition.kind) {
        Some(CheckKind::Manual { .. }) => Question::Manual {
            prompt: check.name.clone(),
        },
        _ if check.manual => Question::Manual {
            prompt: check.name.clone(),
        },
        _ => Question::Recheck,
    }
}
