//! Rules of single edges and of pairs of them.

use std::collections::HashMap;

use crate::engine::routine::definition::EdgeCondition;
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{HandoffText, Kind, Owner, WrittenCondition};
use crate::engine::routine::rules::sketch::{Meaning, Sketch};

/// `unknown-step`, `self-edge`
pub(in crate::engine::routine) fn ends(sketch: &Sketch<'_>, issues: &Issues) {
    for edge in &sketch.outline.edges.items {
        for end in edge.from.iter().chain(&edge.to) {
            if !sketch.found.contains_key(end.value.as_str()) {
                let hint = issues.hint(&end.value, sketch.found.keys().copied());
                let message = format!("there is no step `{}`{hint}", end.value);
                sketch.of_edge(issues, Code::UnknownStep, edge, end.at, message);
            }
        }
        if let (Some(from), Some(to)) = (&edge.from, &edge.to)
            && from.value == to.value
        {
            let label = edge.label();
            let subject = Subject {
                step: Some(&from.value),
                edge: label.as_deref(),
            };
            let message = "this edge leads from a step to itself";
            issues.add(Code::SelfEdge, edge.at, subject, message);
        }
    }
}

/// `gate-always-edge`, `on-fail-from-non-gate`
pub(in crate::engine::routine) fn conditions(sketch: &Sketch<'_>, issues: &Issues) {
    for (from, edge, meaning) in sketch.leaving() {
        let at = match &edge.condition {
            WrittenCondition::Given(condition) => condition.at,
            WrittenCondition::Absent | WrittenCondition::Unreadable => edge.at,
        };
        let label = edge.label();
        let subject = Subject {
            step: sketch.step(from).slug(),
            edge: label.as_deref(),
        };
        match meaning {
            Meaning::GateAlways => {
                let message = "an edge that leaves a gate needs condition on_pass or on_fail";
                issues.add(Code::GateAlwaysEdge, at, subject, message);
            }
            Meaning::Impossible => {
                let message =
                    "only a gate's fail goes on; any other step that fails ends the routine";
                issues.add(Code::OnFailFromNonGate, at, subject, message);
            }
            Meaning::Plain(_) | Meaning::Unknown => {}
        }
    }
}

/// `duplicate-edge`: `always` overlaps everything, `on_pass` and `on_fail` only themselves.
pub(in crate::engine::routine) fn distinct(sketch: &Sketch<'_>, issues: &Issues) {
    #[derive(Default)]
    struct Taken {
        always: bool,
        pass: bool,
        fail: bool,
    }
    let mut seen: HashMap<(usize, usize), Taken> = HashMap::new();
    for link in &sketch.links {
        let taken = seen.entry((link.from, link.to)).or_default();
        let overlaps = match link.meaning {
            Meaning::Plain(EdgeCondition::Always) | Meaning::GateAlways => {
                let any = taken.always || taken.pass || taken.fail;
                taken.always = true;
                any
            }
            Meaning::Plain(EdgeCondition::OnPass) => {
                taken.always || std::mem::replace(&mut taken.pass, true)
            }
            Meaning::Plain(EdgeCondition::OnFail) | Meaning::Impossible => {
                taken.always || std::mem::replace(&mut taken.fail, true)
            }
            Meaning::Unknown => false,
        };
        if overlaps {
            let edge = sketch.edge(link);
            let message = "another edge leads from and to the same steps under the same condition";
            sketch.of_edge(issues, Code::DuplicateEdge, edge, edge.at, message);
        }
    }
}

/// `edge-without-handoff`, where a model has to write one: it should be told what.
pub(in crate::engine::routine) fn handoffs(sketch: &Sketch<'_>, issues: &Issues) {
    for link in &sketch.links {
        let edge = sketch.edge(link);
        let from = sketch.step(link.from);
        let written_by_model = matches!(from.kind, Some(Kind::Agent | Kind::Council))
            || from.owner == Some(Owner::Agent);
        if written_by_model && edge.handoff == HandoffText::Absent {
            let message = "nothing says what to hand over; give handoff_instructions, handoff_schema or purpose";
            sketch.of_edge(issues, Code::EdgeWithoutHandoff, edge, edge.at, message);
        }
    }
}
