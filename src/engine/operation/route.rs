//! `route_next_steps`: the only way in which a model gives a verdict (G4).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::operation::ballot::{ASSIGN_TOOL, VOTE_TOOL};
use crate::engine::operation::outcome::Verdict;
use crate::engine::operation::state::{Author, Claim, WorkRecord};
use crate::engine::ports::OfferedTool;
use crate::engine::routine::definition::EdgeCondition;
use crate::engine::routine::graph::{EdgeIndex, RoutineGraph, StepIndex};

/// The name of the tool that ends a run.
pub const ROUTE_TOOL: &str = "route_next_steps";

/// The tools that end a run, whichever it is to end with: a verdict, a council's vote, its parts.
pub const ENDING_TOOLS: [&str; 3] = [ROUTE_TOOL, VOTE_TOOL, ASSIGN_TOOL];

/// The key by which an item's schema says which verdict activates it. Providers ignore it.
pub const ACTIVATED_BY: &str = "x-on";

/// The edges that a verdict activates, in file order.
pub(super) fn activated(graph: &RoutineGraph, step: StepIndex, verdict: Verdict) -> Vec<EdgeIndex> {
    graph
        .outgoing(step)
        .iter()
        .copied()
        .filter(|&edge| match (graph.edge(edge).condition, verdict) {
            (EdgeCondition::Always | EdgeCondition::OnPass, verdict) => verdict == Verdict::Pass,
            (EdgeCondition::OnFail, verdict) => verdict == Verdict::Fail,
        })
        .collect()
}

/// The tool as it is offered for one step.
pub(super) fn offered(graph: &RoutineGraph, step: StepIndex) -> OfferedTool {
    let mut items: Vec<Value> = graph
        .outgoing(step)
        .iter()
        .map(|&edge| {
            let text = graph.edge_text(edge);
            let condition = graph.edge(edge).condition;
            let mut handoff = text.handoff_schema.clone().unwrap_or_else(|| json!({}));
            if let Some(schema) = handoff.as_object_mut() {
                schema.entry("type").or_insert_with(|| json!("object"));
                schema.entry("minProperties").or_insert_with(|| json!(1));
                if let Some(instructions) = &text.handoff_instructions {
                    schema
                        .entry("description")
                        .or_insert_with(|| json!(instructions));
                }
            }
            json!({
                "type": "object",
                ACTIVATED_BY: match condition {
                    EdgeCondition::Always | EdgeCondition::OnPass => "pass",
                    EdgeCondition::OnFail => "fail",
                },
                "properties": {
                    "target_step": { "type": "string", "const": text.to },
                    "handoff": handoff,
                    "summary": { "type": "string" },
                },
                "required": ["target_step", "handoff"],
            })
        })
        .collect();
    let next_steps = match items.len() {
        0 => json!({ "type": "array", "maxItems": 0 }),
        1 => json!({ "type": "array", "items": items.remove(0) }),
        _ => json!({ "type": "array", "items": { "oneOf": items } }),
    };
    let mut required = vec!["verdict", "reasoning", "output"];
    // It may be left out where a verdict activates nothing.
    if [Verdict::Pass, Verdict::Fail]
        .into_iter()
        .all(|verdict| !activated(graph, step, verdict).is_empty())
    {
        required.push("next_steps");
    }
    OfferedTool {
        name: ROUTE_TOOL.to_owned(),
        description: "Ends this step with your verdict. Give one entry of `next_steps` for each step that the verdict leads to, no more and no fewer.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "verdict": { "type": "string", "enum": ["pass", "fail"] },
                "reasoning": { "type": "string", "minLength": 1 },
                "output": { "description": "The result of this step, as any JSON." },
                "next_steps": next_steps,
            },
            "required": required,
        }),
    }
}

/// Reads a call's arguments, or says everything that is wrong with them, in words for the model.
pub(super) fn read(
    graph: &RoutineGraph,
    step: StepIndex,
    args: &Value,
) -> Result<Claim, Vec<String>> {
    let Some(args) = args.as_object() else {
        return Err(vec!["the arguments must be a JSON object".into()]);
    };
    let mut problems = Vec::new();
    let verdict = match args.get("verdict").and_then(Value::as_str) {
        Some("pass") => Some(Verdict::Pass),
        Some("fail") => Some(Verdict::Fail),
        Some(_) | None => {
            problems.push("`verdict` must be \"pass\" or \"fail\"".to_owned());
            None
        }
    };
    let reasoning = match args.get("reasoning").and_then(Value::as_str) {
        Some(text) if !text.trim().is_empty() => text.to_owned(),
        Some(_) | None => {
            problems.push("`reasoning` must be non-empty text".to_owned());
            String::new()
        }
    };
    let handoffs = match verdict {
        Some(verdict) => next_steps(graph, step, verdict, args.get("next_steps"), &mut problems),
        None => BTreeMap::new(),
    };
    match (verdict, problems.is_empty()) {
        (Some(verdict), true) => Ok(Claim {
            verdict,
            reasoning,
            output: args.get("output").cloned().unwrap_or(Value::Null),
            data: Value::Null,
            author: Author::Model,
            handoffs,
            record: WorkRecord::default(),
        }),
        (Some(_) | None, _) => Err(problems),
    }
}

fn next_steps(
    graph: &RoutineGraph,
    step: StepIndex,
    verdict: Verdict,
    given: Option<&Value>,
    problems: &mut Vec<String>,
) -> BTreeMap<EdgeIndex, Value> {
    let edges = activated(graph, step, verdict);
    let mut handoffs = BTreeMap::new();
    let items: &[Value] = match given {
        None | Some(Value::Null) => &[],
        Some(Value::Array(items)) => items,
        Some(_) => {
            problems.push("`next_steps` must be an array".into());
            return handoffs;
        }
    };
    let label = verdict.label();
    for item in items {
        let Some(target) = item.get("target_step").and_then(Value::as_str) else {
            problems.push("each entry of `next_steps` needs a `target_step`".into());
            continue;
        };
        let Some(&edge) = edges
            .iter()
            .find(|&&edge| graph.edge_text(edge).to == target)
        else {
            problems.push(format!("verdict \"{label}\" does not lead to `{target}`"));
            continue;
        };
        if handoffs.contains_key(&edge) {
            problems.push(format!("`next_steps` names `{target}` twice"));
            continue;
        }
        let handoff = item.get("handoff").unwrap_or(&Value::Null);
        match graph.edge(edge).handoff.check(handoff) {
            Ok(()) => {
                handoffs.insert(edge, handoff.clone());
            }
            Err(problem) => {
                problems.push(format!("the handoff for `{target}`: {problem}"));
                // Named all the same, so that it isn't reported as missing besides.
                handoffs.insert(edge, Value::Null);
            }
        }
        if item
            .get("summary")
            .is_some_and(|summary| !summary.is_string() && !summary.is_null())
        {
            problems.push(format!("the summary for `{target}` must be text"));
        }
    }
    for &edge in &edges {
        if !handoffs.contains_key(&edge) {
            let target = &graph.edge_text(edge).to;
            problems.push(format!(
                "verdict \"{label}\" needs an entry for `{target}` in `next_steps`"
            ));
        }
    }
    handoffs
}
