//! Builds what a verifier sees (V13). Full bodies stand once, small tool results inline, everything
//! else is a source reference.

use serde_json::{Map, Value, json};

use crate::engine::evidence::SourceHeader;
use crate::engine::id::SourceId;
use crate::engine::operation::Operation;
use crate::engine::operation::state::{
    Bodies, Claimed, Looks, SeriesOutcome, Settled, StepRef, StepState, ToolRecord,
};
use crate::engine::operation::work::{body_json, is_inline};
use crate::engine::routine::definition::StepKind;
use crate::engine::verify::{Observation, ObservationPhase, Oversized};

impl Operation {
    /// The view of a claimed step.
    pub(super) fn observe_step(
        &self,
        at: StepRef,
        claimed: &Claimed,
    ) -> Result<Observation, Oversized> {
        let graph = &self.executions[at.execution].graph;
        let Claimed {
            claim,
            body,
            looks,
            bodies,
            ..
        } = claimed;
        let result = match bodies {
            Bodies::Inline => body_json(graph, claim),
            Bodies::Receipts => self.receipt_of(body),
        };
        let tools: Vec<Value> = claim
            .record
            .tools
            .iter()
            .map(|tool| self.tool_json(tool, *bodies))
            .collect();
        let mut view = self.step_view(at, looks, *bodies);
        view.insert("result".into(), result);
        view.insert("tools".into(), tools.into());
        let sources = claim.record.sources.iter().chain([body]);
        let sources = match bodies {
            Bodies::Inline => sources.map(reference).collect(),
            // A council's, or those of a run with many calls, could outgrow the view once more.
            Bodies::Receipts => {
                json!({ "count": sources.count(), "index": self.plan.operation.source_index() })
            }
        };
        view.insert("sources".into(), sources);
        self.freeze(ObservationPhase::Step, view.into())
    }

    /// The view of a gate whose verdict the host's checks give: what came in, and no result yet.
    pub(super) fn observe_gate(
        &self,
        at: StepRef,
        looks: &Looks,
        bodies: Bodies,
    ) -> Result<Observation, Oversized> {
        let mut view = self.step_view(at, looks, bodies);
        view.insert("result".into(), Value::Null);
        // What the gate judges: there is no output of its own yet.
        view.insert("output".into(), self.judged(at, bodies));
        view.insert("tools".into(), json!([]));
        view.insert("sources".into(), json!([]));
        self.freeze(ObservationPhase::Step, view.into())
    }

    /// The output of the one direct predecessor, with several an object by slug.
    fn judged(&self, at: StepRef, bodies: Bodies) -> Value {
        let graph = &self.executions[at.execution].graph;
        let mut outputs: Vec<(&str, Value)> = self
            .predecessors(at)
            .into_iter()
            .map(|(step, settled)| {
                let output = match (bodies, &settled.body) {
                    (Bodies::Receipts, Some(body)) => self.receipt_of(body),
                    (Bodies::Inline | Bodies::Receipts, _) => settled.claim.output.clone(),
                };
                (graph.step(step).slug.as_str(), output)
            })
            .collect();
        match outputs.len() {
            0 => Value::Null,
            1 => outputs.remove(0).1,
            _ => outputs
                .into_iter()
                .map(|(slug, output)| (slug.to_owned(), output))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    fn step_view(&self, at: StepRef, looks: &Looks, bodies: Bodies) -> Map<String, Value> {
        let place = self.place(at);
        let graph = &self.executions[at.execution].graph;
        let predecessors: Map<String, Value> = self
            .predecessors(at)
            .into_iter()
            .map(|(step, settled)| {
                let lap = self.executions[at.execution].steps[step.at()].lap;
                (
                    graph.step(step).slug.clone(),
                    self.predecessor_json(lap.0, settled, bodies),
                )
            })
            .collect();
        let mut view = self.envelope(ObservationPhase::Step, looks);
        view.insert("execution".into(), json!(place.execution));
        view.insert("step".into(), place.step.into());
        view.insert("lap".into(), place.lap.0.into());
        view.insert("predecessors".into(), predecessors.into());
        let retries: Vec<Value> = self.executions[at.execution].steps[at.step.at()]
            .retries
            .iter()
            .map(|retry| {
                let from = &graph.edge_text(retry.edge).from;
                let handoff = match (bodies, &retry.body) {
                    (Bodies::Receipts, Some(body)) => self.receipt_of(body),
                    (Bodies::Inline | Bodies::Receipts, _) => retry.handoff.clone(),
                };
                json!({ "from": from, "lap": retry.lap, "handoff": handoff })
            })
            .collect();
        view.insert("retries".into(), retries.into());
        view
    }

    fn predecessor_json(&self, lap: u32, settled: &Settled, bodies: Bodies) -> Value {
        let claim = &settled.claim;
        let output = match (bodies, &settled.body) {
            (Bodies::Receipts, Some(body)) => self.receipt_of(body),
            (Bodies::Inline | Bodies::Receipts, _) => claim.output.clone(),
        };
        json!({
            "lap": lap,
            "by": claim.author.label(),
            "verdict": claim.verdict.label(),
            "output": output,
            "source": settled.body.as_ref().map(reference),
        })
    }

    fn tool_json(&self, tool: &ToolRecord, bodies: Bodies) -> Value {
        let (arguments, result, source) = match bodies {
            Bodies::Inline => {
                let inline = |value: &Value| is_inline(value).then(|| value.clone());
                let source = tool.source.as_ref().map(reference);
                (inline(&tool.args), inline(&tool.result), source)
            }
            // The receipt names its source, its digest and its size.
            Bodies::Receipts => {
                let receipt = tool.source.as_ref().map(|source| self.receipt_of(source));
                (None, receipt, None)
            }
        };
        json!({
            "tool": tool.tool,
            "outcome": tool.outcome,
            "arguments": arguments,
            "result": result,
            "source": source,
        })
    }

    /// The view of a whole execution.
    pub(super) fn observe_final(
        &self,
        index: usize,
        looks: &Looks,
        bodies: Bodies,
    ) -> Result<Observation, Oversized> {
        let root = &self.executions[index];
        let mut terminals = Map::new();
        for step in root.graph.steps() {
            if let (StepKind::Terminal { .. }, StepState::Settled(settled)) =
                (&root.graph.step(step).kind, &root.steps[step.at()].state)
            {
                let output = match bodies {
                    Bodies::Inline => settled.claim.output.clone(),
                    Bodies::Receipts => {
                        let from = self.predecessors(StepRef {
                            execution: index,
                            step,
                        });
                        from.iter()
                            .filter_map(|(_, settled)| settled.body.as_ref())
                            .map(|body| self.receipt_of(body))
                            .collect()
                    }
                };
                terminals.insert(root.graph.step(step).slug.clone(), output);
            }
        }
        let output = match terminals.len() {
            1 => terminals.values().next().cloned().unwrap_or_default(),
            _ => Value::Object(terminals.clone()),
        };
        let series = |outcomes: &[SeriesOutcome]| -> Value {
            outcomes
                .iter()
                .map(|outcome| self.series_json(outcome, bodies))
                .collect()
        };
        let mut view = self.envelope(ObservationPhase::Final, looks);
        view.insert("execution".into(), json!(root.id));
        view.insert("step".into(), Value::Null);
        view.insert("lap".into(), Value::Null);
        view.insert("output".into(), output);
        view.insert("terminals".into(), terminals.into());
        view.insert("post_steps".into(), series(&root.post));
        // References to every source could outgrow the view; the index leads to them all (V29).
        view.insert(
            "sources".into(),
            json!({ "count": self.sources.len(), "index": self.plan.operation.source_index() }),
        );
        self.freeze(ObservationPhase::Final, view.into())
    }

    fn series_json(&self, outcome: &SeriesOutcome, bodies: Bodies) -> Value {
        let result = match (bodies, &outcome.source) {
            (Bodies::Receipts, Some(source)) => self.receipt_of(source),
            (Bodies::Inline | Bodies::Receipts, _) if is_inline(&outcome.result) => {
                outcome.result.clone()
            }
            (Bodies::Inline | Bodies::Receipts, _) => Value::Null,
        };
        json!({
            "name": outcome.name,
            "tool": outcome.tool,
            "outcome": outcome.outcome,
            "failure": outcome.failure,
            "result": result,
            "source": outcome.source.as_ref().map(reference),
        })
    }

    fn envelope(&self, phase: ObservationPhase, looks: &Looks) -> Map<String, Value> {
        let mut view = Map::new();
        view.insert("phase".into(), phase.label().into());
        view.insert("operation".into(), json!(self.plan.operation));
        view.insert("routine".into(), self.plan.definition.slug.clone().into());
        view.insert("generation".into(), json!(self.generation));
        view.insert(
            "first_decision".into(),
            json!(looks.first.as_ref().map(|decision| &decision.finding)),
        );
        view.insert(
            "latest_decision".into(),
            json!(looks.latest.as_ref().map(|decision| &decision.finding)),
        );
        view
    }

    fn receipt_of(&self, source: &SourceHeader) -> Value {
        json!({ "source": source.id, "receipt": self.receipts.get(&source.id) })
    }

    /// The sources whose bodies make a claimed step's view large.
    pub(super) fn sources_in_view(&self, at: StepRef, claimed: &Claimed) -> Vec<SourceId> {
        let mut sources = self.incoming_sources(at);
        sources.push(claimed.body.id.clone());
        sources.extend(
            claimed
                .claim
                .record
                .tools
                .iter()
                .filter_map(|tool| tool.source.as_ref())
                .map(|source| source.id.clone()),
        );
        sources
    }

    /// The sources of the bodies that came in, over forward and retry edges.
    pub(super) fn incoming_sources(&self, at: StepRef) -> Vec<SourceId> {
        let retries = &self.executions[at.execution].steps[at.step.at()].retries;
        let mut sources = self.predecessor_sources(at);
        sources.extend(
            retries
                .iter()
                .filter_map(|retry| retry.body.as_ref())
                .map(|body| body.id.clone()),
        );
        sources
    }

    /// The sources of the predecessors' bodies.
    pub(super) fn predecessor_sources(&self, at: StepRef) -> Vec<SourceId> {
        self.predecessors(at)
            .into_iter()
            .filter_map(|(_, settled)| settled.body.as_ref())
            .map(|body| body.id.clone())
            .collect()
    }

    /// The sources whose bodies make the final view large.
    pub(super) fn final_sources(&self, index: usize) -> Vec<SourceId> {
        let root = &self.executions[index];
        let terminals = root.graph.steps().filter(|&step| {
            matches!(root.graph.step(step).kind, StepKind::Terminal { .. })
                && matches!(root.steps[step.at()].state, StepState::Settled(_))
        });
        let mut sources: Vec<SourceId> = terminals
            .flat_map(|step| {
                self.predecessor_sources(StepRef {
                    execution: index,
                    step,
                })
            })
            .collect();
        sources.extend(
            root.post
                .iter()
                .filter_map(|outcome| outcome.source.as_ref())
                .map(|source| source.id.clone()),
        );
        sources
    }
}

/// A source as an observation refers to it.
fn reference(source: &SourceHeader) -> Value {
    json!({ "id": source.id, "kind": source.kind, "sha256": source.sha256, "bytes": source.bytes })
}
