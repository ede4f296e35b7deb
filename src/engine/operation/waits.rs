//! What an operation waits for, derived from where everything stands (V6, T5).

use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::state::{
    Call, CallAt, LookAt, Series, Stage, StepRef, StepState, TurnAt, Uncertain,
};
use crate::engine::operation::wait::{
    Accepting, Direction, Question, Wait, WaitKey, WaitKind, WaitPhase, Way,
};
use crate::engine::operation::{Operation, Phase};
use crate::engine::routine::definition::{
    CheckKind, EdgeCondition, GateOwner, GateStep, OperatorGate, StepKind,
};
use crate::engine::routine::graph::{EdgeClass, StepIndex};
use crate::engine::verify::{CheckResult, Decision, Finding, Held};

impl Operation {
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
                for (&chair, turn) in &council.turns {
                    if let TurnAt::Call(_, call) = &turn.at {
                        let key = WaitKey {
                            check: Some(chair),
                            ..key(owner_phase)
                        };
                        let wait = call_wait(key, call);
                        waits.extend(wait.map(|wait| Wait {
                            reason: format!("agent `{}`: {}", turn.agent, wait.reason),
                            ..wait
                        }));
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
        CallAt::Ask
        | CallAt::Asking(_)
        | CallAt::Ready
        | CallAt::InFlight(_)
        | CallAt::Member(_) => return None,
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
