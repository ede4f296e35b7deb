//! What persons answer: whether it fits, and what it does (V10a, T5).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::operation::call::CallEnd;
use crate::engine::operation::flight::Owner;
use crate::engine::operation::outcome::{Failure, Verdict};
use crate::engine::operation::route;
use crate::engine::operation::state::{
    Author, CallAt, Chair, Claim, Looks, Seat, Stage, StepRef, StepState, WorkRecord,
};
use crate::engine::operation::wait::{
    Accepting, Answer, BadAnswer, Direction, OperatorVerdict, Permit, Question, WaitKey, WaitKind,
    WaitPhase,
};
use crate::engine::operation::{Admission, Operation};
use crate::engine::routine::definition::{GateOwner, GateStep, StepKind};
use crate::engine::routine::graph::EdgeClass;
use crate::engine::verify::{Attestation, Held};

impl Operation {
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

    pub(super) fn find(&self, key: &WaitKey) -> Option<StepRef> {
        let execution = self.find_execution(&key.execution)?;
        let step = self.executions[execution]
            .graph
            .find(key.step.as_deref()?)?;
        Some(StepRef { execution, step })
    }

    pub(super) fn answer(&mut self, key: &WaitKey, answer: Answer) {
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
