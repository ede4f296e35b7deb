//! Verification: of a step's claim, of a gate by the host's checks, of the whole operation (V3, V4, V6).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::id::RequestId;
use crate::engine::operation::event::{Command, VerifierFailure};
use crate::engine::operation::flight::{Owner, Sent};
use crate::engine::operation::outcome::{Failure, Uncertainty, Verdict};
use crate::engine::operation::published::{At, PublicEvent, SettledVerdict};
use crate::engine::operation::scope::OperationScope;
use crate::engine::operation::state::{
    Author, Basis, Bodies, Claim, Claimed, GateChecks, LookAt, Looks, Settled, Stage, StepRef,
    StepState, WorkRecord,
};
use crate::engine::operation::work::settled_data;
use crate::engine::operation::{Operation, Phase};
use crate::engine::routine::definition::{Check, CheckDefinition, GateOwner, GateStep, StepKind};
use crate::engine::verify::{CheckResult, Decision, Finding, Held, Observation, ObservationPhase};

/// The final verification.
#[derive(Debug)]
pub(super) struct FinalLook {
    pub(super) at: LookAt,
    pub(super) looks: Looks,
    pub(super) bodies: Bodies,
}

impl FinalLook {
    pub(super) fn new() -> Self {
        Self {
            at: LookAt::Ask,
            looks: Looks::default(),
            bodies: Bodies::Inline,
        }
    }
}

impl Looks {
    /// Keeps a decision: the first and the latest are what a verifier is shown again (V13).
    fn keep(&mut self, decision: Decision) {
        self.first.get_or_insert_with(|| decision.clone());
        self.latest = Some(decision);
    }
}

impl Operation {
    /// A claim is about to be verified: its view is built once, now. A view that would be too large
    /// makes the step uncertain before any further action (V26). The step's state has been taken.
    pub(super) fn observe_claim(&mut self, at: StepRef, mut claimed: Claimed) {
        match self.observe_step(at, &claimed) {
            Ok(_) => {
                let (output, data) = (claimed.claim.output.clone(), settled_data(&claimed.claim));
                claimed.at = LookAt::Ask;
                self.set_state(at, StepState::Claimed(Box::new(claimed)));
                self.publish_settled(at, SettledVerdict::Pass, None, output, data);
                self.wake(at);
            }
            Err(size) => {
                let sources = self.sources_in_view(at, &claimed);
                claimed.at = LookAt::Oversized { size, sources };
                self.set_state(at, StepState::Claimed(Box::new(claimed)));
                let reason = Some(Uncertainty::ObservationTooLarge.code());
                self.publish_settled(
                    at,
                    SettledVerdict::Uncertain,
                    reason,
                    Value::Null,
                    Value::Null,
                );
            }
        }
    }

    pub(super) fn advance_claimed(&mut self, at: StepRef) {
        if !matches!(self.state_of(at), StepState::Claimed(claimed) if matches!(claimed.at, LookAt::Ask))
        {
            return;
        }
        let graph = self.executions[at.execution].graph.clone();
        // While the claim is still in its place: a step's own checks may name its output.
        let checks = self.expand_checks(&self.scope(at), &graph.step(at.step).verify);
        let state = self.take_state(at);
        let StepState::Claimed(mut claimed) = state else {
            return self.set_state(at, state);
        };
        let observation = match self.observe_step(at, &claimed) {
            Ok(observation) => observation,
            Err(_) => {
                // Grew since the last look, by decisions for example.
                return self.observe_claim(at, *claimed);
            }
        };
        match checks {
            Ok(checks) => {
                let request = self.request(Owner::Step(at), Sent::Look);
                claimed.at = LookAt::Asking(request);
                let command = Command::Verify {
                    request,
                    place: Some(self.place(at)),
                    observation,
                    checks,
                    attestations: claimed.looks.attestations.clone(),
                };
                self.set_state(at, StepState::Claimed(claimed));
                self.out.push(command);
            }
            Err(failure) => {
                self.set_state(at, StepState::Claimed(claimed));
                self.fail(failure, at);
            }
        }
    }

    pub(super) fn advance_gate_checks(&mut self, at: StepRef) {
        let state = self.take_state(at);
        let StepState::GateChecks(mut gate) = state else {
            return self.set_state(at, state);
        };
        match gate.at {
            LookAt::Asking(_) | LookAt::Held(_) | LookAt::Oversized { .. } => {
                return self.set_state(at, StepState::GateChecks(gate));
            }
            LookAt::Ask => {}
        }
        let graph = self.executions[at.execution].graph.clone();
        let StepKind::Gate(GateStep {
            owner: GateOwner::Checks(definitions),
        }) = &graph.step(at.step).kind
        else {
            unreachable!("BUG: only a checks gate is decided by checks");
        };
        let observation = match self.observe_gate(at, &gate.looks, gate.bodies) {
            Ok(observation) => observation,
            Err(size) => {
                let sources = self.incoming_sources(at);
                gate.at = LookAt::Oversized { size, sources };
                self.set_state(at, StepState::GateChecks(gate));
                let reason = Some(Uncertainty::ObservationTooLarge.code());
                return self.publish_settled(
                    at,
                    SettledVerdict::Uncertain,
                    reason,
                    Value::Null,
                    Value::Null,
                );
            }
        };
        match self.expand_checks(&self.scope(at), definitions) {
            Ok(checks) => {
                let request = self.request(Owner::Step(at), Sent::Look);
                gate.at = LookAt::Asking(request);
                let attestations = gate.looks.attestations.clone();
                self.set_state(at, StepState::GateChecks(gate));
                let place = Some(self.place(at));
                self.out.push(Command::Verify {
                    request,
                    place,
                    observation,
                    checks,
                    attestations,
                });
            }
            Err(failure) => {
                self.set_state(at, StepState::GateChecks(gate));
                self.fail(failure, at);
            }
        }
    }

    /// Asks the verifier about a whole execution.
    pub(super) fn advance_final(&mut self, execution: usize) {
        let Stage::Final(look) = &self.executions[execution].stage else {
            return;
        };
        match look.at {
            LookAt::Ask => {}
            LookAt::Asking(_) | LookAt::Held(_) | LookAt::Oversized { .. } => return,
        }
        let observation = self.observe_final(execution, &look.looks, look.bodies);
        let attestations = look.looks.attestations.clone();
        let graph = self.executions[execution].graph.clone();
        let at = match observation {
            Err(size) => LookAt::Oversized {
                size,
                sources: self.final_sources(execution),
            },
            Ok(observation) => {
                match self.expand_checks(&self.scope_of_end(execution), &graph.body().verify) {
                    Err(failure) => return self.fail_execution(execution, failure, None),
                    Ok(checks) => {
                        let request = self.request(Owner::Final(execution), Sent::Look);
                        self.out.push(Command::Verify {
                            request,
                            place: None,
                            observation,
                            checks,
                            attestations,
                        });
                        LookAt::Asking(request)
                    }
                }
            }
        };
        if let Stage::Final(look) = &mut self.executions[execution].stage {
            look.at = at;
        }
    }

    /// Looks at the receipts of an operation that has settled (V31).
    pub(super) fn check_receipts(&mut self) {
        let definition = self.plan.definition.clone();
        let asked = match self.observe_final(0, &Looks::default(), Bodies::Receipts) {
            Ok(observation) => self
                .expand_checks(&self.scope_of_end(0), &definition.body.verify)
                .map(|checks| (observation, checks))
                .ok(),
            Err(_) => None,
        };
        match asked {
            Some((observation, checks)) => {
                let request = self.request(Owner::Receipts, Sent::Look);
                let attestations = Vec::new();
                self.out.push(Command::Verify {
                    request,
                    place: None,
                    observation,
                    checks,
                    attestations,
                });
            }
            None => {
                let decision = Decision::uncertain("the final view can't be built");
                self.out.push(Command::ReportReceipts(Ok(decision)));
            }
        }
    }

    fn expand_checks(
        &self,
        scope: &OperationScope<'_>,
        checks: &[CheckDefinition],
    ) -> Result<Vec<Check>, Failure> {
        checks
            .iter()
            .map(|check| check.expand(scope))
            .collect::<Result<_, _>>()
            .map_err(|missing| Failure::TemplateFailed {
                text: missing.to_string(),
            })
    }

    pub(super) fn verifier_decided(
        &mut self,
        request: RequestId,
        decision: Result<Decision, VerifierFailure>,
    ) {
        match self.in_flight.remove(&request).map(|flight| flight.owner) {
            Some(Owner::Step(at)) if self.takes(at, request) => self.step_decided(at, decision),
            Some(Owner::Step(at)) => {
                self.record_late_decision(&decision);
                self.given_up(at, request);
            }
            Some(Owner::Final(execution)) => self.final_decided(execution, decision),
            Some(Owner::Receipts) => self.out.push(Command::ReportReceipts(decision)),
            Some(Owner::Turn(_) | Owner::Series(_)) | None => self.record_late_decision(&decision),
        }
        self.settle_if_quiet();
    }

    fn record_late_decision(&mut self, decision: &Result<Decision, VerifierFailure>) {
        if let Ok(decision) = decision {
            self.record_late(None, "decision", json!(decision).to_string());
        }
    }

    fn step_decided(&mut self, at: StepRef, decision: Result<Decision, VerifierFailure>) {
        match self.take_state(at) {
            StepState::Claimed(claimed) => self.claim_decided(at, *claimed, decision),
            StepState::GateChecks(gate) => self.gate_decided(at, *gate, decision),
            other => self.set_state(at, other),
        }
    }

    fn claim_decided(
        &mut self,
        at: StepRef,
        mut claimed: Claimed,
        decision: Result<Decision, VerifierFailure>,
    ) {
        let decision = understood(decision);
        self.publish_decided(self.at(at), ObservationPhase::Step, &decision);
        claimed.looks.keep(decision.clone());
        match &decision.finding {
            Finding::Verified => {
                let basis = match decision.basis() {
                    "checks" => Basis::Checks,
                    _ => Basis::HostPolicy,
                };
                let settled = Settled {
                    claim: claimed.claim,
                    body: Some(claimed.body),
                    basis,
                };
                self.settle_step(at, settled);
            }
            Finding::Held { .. } => {
                claimed.at = LookAt::Held(decision);
                self.set_state(at, StepState::Claimed(Box::new(claimed)));
            }
        }
    }

    /// All verified: pass; any blocked: fail; else any uncertain: uncertain; else it waits (G15).
    fn gate_decided(
        &mut self,
        at: StepRef,
        mut gate: GateChecks,
        decision: Result<Decision, VerifierFailure>,
    ) {
        let failed = decision.is_err();
        let decision = understood(decision);
        gate.looks.keep(decision.clone());
        let verdict = match &decision.finding {
            Finding::Verified => Verdict::Pass,
            Finding::Held {
                state: Held::Blocked,
                ..
            } => Verdict::Fail,
            Finding::Held {
                state: Held::Uncertain,
                reason,
            } => {
                let code = match failed {
                    true => Uncertainty::VerifierFailed.code(),
                    // A check itself can't tell.
                    false => Uncertainty::NoVerdict.code(),
                };
                let data = json!({ "text": reason });
                gate.at = LookAt::Held(decision);
                self.set_state(at, StepState::GateChecks(Box::new(gate)));
                return self.publish_settled(
                    at,
                    SettledVerdict::Uncertain,
                    Some(code),
                    Value::Null,
                    data,
                );
            }
            Finding::Held {
                state: Held::Waiting,
                ..
            } => {
                gate.at = LookAt::Held(decision);
                return self.set_state(at, StepState::GateChecks(Box::new(gate)));
            }
        };
        let checks = checks_json(&decision.checks);
        let handoff = json!({ "verdict": verdict.label(), "checks": checks });
        let reasoning = match &decision.finding {
            Finding::Verified => "every check holds".to_owned(),
            Finding::Held { reason, .. } => reason.clone(),
        };
        match self.host_handoffs(at, verdict, &handoff) {
            Ok(handoffs) => self.claim(
                at,
                Claim {
                    verdict,
                    reasoning,
                    output: checks,
                    data: Value::Null,
                    author: Author::Host,
                    handoffs,
                    record: WorkRecord::default(),
                },
            ),
            Err(failure) => self.fail_step(at, failure),
        }
    }

    fn final_decided(&mut self, execution: usize, decision: Result<Decision, VerifierFailure>) {
        let is_live = matches!(self.phase, Phase::Live);
        if !is_live || !matches!(self.executions[execution].stage, Stage::Final(_)) {
            return self.record_late_decision(&decision);
        }
        let decision = understood(decision);
        let at = At {
            execution: self.executions[execution].id.clone(),
            step: None,
            lap: None,
        };
        self.publish_decided(at, ObservationPhase::Final, &decision);
        let Stage::Final(look) = &mut self.executions[execution].stage else {
            return;
        };
        look.looks.keep(decision.clone());
        if decision.finding.is_verified() {
            self.execution_over(execution);
        } else {
            look.at = LookAt::Held(decision);
        }
    }

    fn publish_decided(&mut self, at: At, phase: ObservationPhase, decision: &Decision) {
        let reason = match &decision.finding {
            Finding::Verified => None,
            Finding::Held { reason, .. } => Some(reason.clone()),
        };
        self.publish(PublicEvent::VerifyDecided {
            at,
            phase: phase.label(),
            decision: decision.finding.label(),
            basis: decision.basis(),
            reason,
        });
    }

    /// Every graph step's observation, built under the budget of the plan.
    pub(super) fn freeze(
        &self,
        phase: ObservationPhase,
        json: Value,
    ) -> Result<Observation, crate::engine::verify::Oversized> {
        Observation::of(phase, json, self.plan.max_observation_bytes)
    }
}

/// A verifier that failed, or answered nonsense, can't tell (V4).
fn understood(decision: Result<Decision, VerifierFailure>) -> Decision {
    match decision {
        Err(failure) => Decision::uncertain(failure.to_string()),
        Ok(decision) => {
            let mut worst: Option<Held> = None;
            for check in &decision.checks {
                if let Finding::Held { state, .. } = &check.finding {
                    worst = worst.max(Some(*state));
                }
            }
            let stated = match &decision.finding {
                Finding::Verified => None,
                Finding::Held { state, .. } => Some(*state),
            };
            if stated < worst {
                Decision::uncertain(format!(
                    "the verifier says `{}` but one of its checks does not hold",
                    decision.finding.label()
                ))
            } else {
                decision
            }
        }
    }
}

fn checks_json(checks: &[CheckResult]) -> Value {
    checks
        .iter()
        .map(|check| {
            let mut entry = BTreeMap::from([
                ("check", json!(check.check)),
                ("name", json!(check.name)),
                ("decision", json!(check.finding.label())),
            ]);
            if let Finding::Held { reason, .. } = &check.finding {
                entry.insert("reason", json!(reason));
            }
            json!(entry)
        })
        .collect()
}
