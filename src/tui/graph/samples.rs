//! Graphs that the tests of this folder draw.

use crate::engine::operation::view::{EdgeStatus, StepStatus};
use crate::engine::routine::definition::EdgeCondition;
use crate::tui::graph::live::{LiveEdge, LiveGraph, LiveNode};
use crate::tui::graph::shape::{Counts, EdgeShape, EdgeWay, GraphShape, Laps, NodeShape};
use crate::tui::text::Inert;

/// An edge of a sample: `a>b` always, `a+b` on_pass, `a-b` on_fail onward, `a~b` a retry edge taken
/// at most twice.
pub(in crate::tui::graph) fn graph(nodes: &[(&str, &'static str)], edges: &[&str]) -> GraphShape {
    let index = |slug: &str| {
        nodes
            .iter()
            .position(|(name, _)| *name == slug)
            .expect("a sample names its own steps")
    };
    let edge = |text: &&str| {
        let at = text
            .find(['>', '+', '-', '~'])
            .expect("a sample's edge has a sign");
        let (condition, way) = match &text[at..=at] {
            ">" => (EdgeCondition::Always, EdgeWay::Onward),
            "+" => (EdgeCondition::OnPass, EdgeWay::Onward),
            "-" => (EdgeCondition::OnFail, EdgeWay::Onward),
            _ => (EdgeCondition::OnFail, EdgeWay::Back { max_attempts: 2 }),
        };
        EdgeShape {
            from: index(&text[..at]),
            to: index(&text[at + 1..]),
            condition,
            way,
        }
    };
    let nodes = nodes.iter().map(|(name, kind)| node(name, kind));
    GraphShape::of(nodes.collect(), edges.iter().map(edge).collect())
}

/// A step of a sample, with what its kind counts.
pub(in crate::tui::graph) fn node(name: &str, kind: &'static str) -> NodeShape {
    NodeShape {
        name: Inert::one_line(name),
        kind,
        counts: match kind {
            "map" | "fold" => Counts::Items(1_000),
            "until" => Counts::Rounds(1_000),
            "council" => Counts::Members,
            _ => Counts::Nothing,
        },
        laps: Laps::One,
    }
}

/// Five steps in a row.
pub(in crate::tui::graph) fn line() -> GraphShape {
    graph(
        &[
            ("collect", "tool"),
            ("summarise", "agent"),
            ("translate", "agent"),
            ("publish", "tool"),
            ("done", "terminal"),
        ],
        &[
            "collect>summarise",
            "summarise>translate",
            "translate>publish",
            "publish>done",
        ],
    )
}

/// A gate that sends work back.
pub(in crate::tui::graph) fn gated() -> GraphShape {
    graph(
        &[
            ("draft", "agent"),
            ("check", "gate"),
            ("publish", "tool"),
            ("done", "terminal"),
        ],
        &[
            "draft>check",
            "check+publish",
            "check~draft",
            "publish>done",
        ],
    )
}

/// One step, three branches, a join.
pub(in crate::tui::graph) fn fan() -> GraphShape {
    graph(
        &[
            ("plan", "agent"),
            ("search web", "agent"),
            ("search docs", "agent"),
            ("証拠を集める", "agent"),
            ("merge", "agent"),
            ("done", "terminal"),
        ],
        &[
            "plan>search web",
            "plan>search docs",
            "plan>証拠を集める",
            "search web>merge",
            "search docs>merge",
            "証拠を集める>merge",
            "merge>done",
        ],
    )
}

/// Everything at once.
pub(in crate::tui::graph) fn twelve() -> GraphShape {
    graph(
        &[
            ("brief", "agent"),
            ("plan", "agent"),
            ("search web", "agent"),
            ("search docs", "map"),
            ("証拠を集める", "agent"),
            ("merge", "agent"),
            ("draft", "agent"),
            ("gate: cited?", "gate"),
            ("council A", "council"),
            ("council B", "council"),
            ("verdict", "gate"),
            ("publish", "terminal"),
            ("rejected", "terminal_fail"),
        ],
        &[
            "brief>plan",
            "plan>search web",
            "plan>search docs",
            "plan>証拠を集める",
            "search web>merge",
            "search docs>merge",
            "証拠を集める>merge",
            "merge>draft",
            "draft>gate: cited?",
            "gate: cited?~draft",
            "gate: cited?+council A",
            "gate: cited?+council B",
            "council A>verdict",
            "council B>verdict",
            "verdict+publish",
            "verdict-rejected",
        ],
    )
}

/// A loop within a loop, and a gate that rejects or sends back.
pub(in crate::tui::graph) fn loops() -> GraphShape {
    graph(
        &[
            ("outline", "agent"),
            ("write", "agent"),
            ("lint", "gate"),
            ("edit", "agent"),
            ("review", "gate"),
            ("done", "terminal"),
            ("rejected", "terminal_fail"),
        ],
        &[
            "outline>write",
            "write>lint",
            "lint~write",
            "lint+edit",
            "edit>review",
            "review~outline",
            "review+done",
            "review-rejected",
        ],
    )
}

/// A thousand steps: 20 fans of 48 between joins, and a line.
pub(in crate::tui::graph) fn thousand() -> GraphShape {
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    let onward = |from, to| EdgeShape {
        from,
        to,
        condition: EdgeCondition::Always,
        way: EdgeWay::Onward,
    };
    for block in 0..20 {
        let first = nodes.len();
        for step in 0..50 {
            nodes.push(node(&format!("step {block}.{step}"), "agent"));
        }
        for step in first + 1..first + 49 {
            edges.push(onward(first, step));
            edges.push(onward(step, first + 49));
        }
        if block < 19 {
            edges.push(onward(first + 49, first + 50));
        }
    }
    GraphShape::of(nodes, edges)
}

/// As if the first `done` steps passed and the next one runs.
pub(in crate::tui::graph) fn under_way(shape: &GraphShape, done: usize) -> LiveGraph {
    let status = |node: usize| match node.cmp(&done) {
        std::cmp::Ordering::Less => StepStatus::Verified,
        std::cmp::Ordering::Equal => StepStatus::Running,
        std::cmp::Ordering::Greater => StepStatus::Idle,
    };
    LiveGraph {
        nodes: (0..shape.nodes.len())
            .map(|node| LiveNode {
                status: status(node),
                lap: u32::from(node <= done),
                count: None,
            })
            .collect(),
        edges: shape
            .edges
            .iter()
            .map(|edge| LiveEdge {
                status: match edge.from < done && !edge.is_back() {
                    true => EdgeStatus::Activated,
                    false => EdgeStatus::Pending,
                },
                taken: 0,
            })
            .collect(),
    }
}
