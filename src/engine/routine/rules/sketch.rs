//! An outline with its names resolved: what the rules of one body look at.

use std::collections::HashMap;

use crate::engine::routine::definition::EdgeCondition;
use crate::engine::routine::file::Position;
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{
    EdgeOutline, Kind, ListState, Outline, StepOutline, WrittenCondition,
};

/// A body whose edges know their steps.
pub(in crate::engine::routine) struct Sketch<'a> {
    pub(in crate::engine::routine) outline: &'a Outline,
    /// The slug of the step that repeats the body: what has no step of its own concerns that one.
    pub(in crate::engine::routine) host: Option<&'a str>,
    /// Slug to index; of two equal slugs the first.
    pub(in crate::engine::routine) found: HashMap<&'a str, usize>,
    /// Edges whose ends both exist and differ, in file order.
    pub(in crate::engine::routine) links: Vec<Link>,
    /// Per step: indices of the links that leave it.
    pub(in crate::engine::routine) out: Vec<Vec<usize>>,
    /// Entries that exist, each once, in file order.
    pub(in crate::engine::routine) entries: Vec<usize>,
}

/// An edge between two steps.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine::routine) struct Link {
    /// Its index in the outline.
    pub(in crate::engine::routine) edge: usize,
    pub(in crate::engine::routine) from: usize,
    pub(in crate::engine::routine) to: usize,
    pub(in crate::engine::routine) meaning: Meaning,
}

/// What an edge's condition means, with `on_pass` of a step that is no gate read as `always` (G2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Meaning {
    /// One of the three.
    Plain(EdgeCondition),
    /// A gate's edge without a usable condition: reported, and read as `on_pass` meanwhile.
    GateAlways,
    /// `on_fail` where nothing can fail: reported, and left out of the order of steps.
    Impossible,
    /// Not readable: reported, and left out of the order of steps.
    Unknown,
}

impl<'a> Sketch<'a> {
    /// Resolves the names of an outline. Names of nothing are left to the rules.
    pub(in crate::engine::routine) fn of(outline: &'a Outline, host: Option<&'a str>) -> Self {
        let steps = &outline.steps.items;
        let mut found = HashMap::with_capacity(steps.len());
        for (index, step) in steps.iter().enumerate() {
            if let Some(slug) = step.slug() {
                found.entry(slug).or_insert(index);
            }
        }
        let mut links = Vec::with_capacity(outline.edges.items.len());
        let mut out = vec![Vec::new(); steps.len()];
        for (index, edge) in outline.edges.items.iter().enumerate() {
            let (Some(from), Some(to)) = (&edge.from, &edge.to) else {
                continue;
            };
            let ends = (found.get(from.value.as_str()), found.get(to.value.as_str()));
            let (Some(&from), Some(&to)) = ends else {
                continue;
            };
            if from != to {
                out[from].push(links.len());
                links.push(Link {
                    edge: index,
                    from,
                    to,
                    meaning: meaning(edge, steps[from].kind),
                });
            }
        }
        let mut entries: Vec<usize> = Vec::new();
        let mut listed = vec![false; steps.len()];
        for entry in &outline.entries.items {
            if let Some(&index) = found.get(entry.value.as_str())
                && !std::mem::replace(&mut listed[index], true)
            {
                entries.push(index);
            }
        }
        Self {
            outline,
            host,
            found,
            links,
            out,
            entries,
        }
    }

    /// How many steps there are.
    pub(in crate::engine::routine) fn len(&self) -> usize {
        self.outline.steps.items.len()
    }

    /// A step.
    pub(in crate::engine::routine) fn step(&self, index: usize) -> &'a StepOutline {
        &self.outline.steps.items[index]
    }

    /// Edges that leave a step, wherever they lead: its index, the edge, what its condition means.
    pub(in crate::engine::routine) fn leaving(
        &self,
    ) -> impl Iterator<Item = (usize, &'a EdgeOutline, Meaning)> {
        self.outline.edges.items.iter().filter_map(|edge| {
            let from = *self.found.get(edge.from.as_ref()?.value.as_str())?;
            Some((from, edge, meaning(edge, self.step(from).kind)))
        })
    }

    /// A link's edge.
    pub(in crate::engine::routine) fn edge(&self, link: &Link) -> &'a EdgeOutline {
        &self.outline.edges.items[link.edge]
    }

    /// Whether the edges could be read at all; without them most rules would only echo that.
    pub(in crate::engine::routine) fn has_edges(&self) -> bool {
        self.outline.edges.state == ListState::Read
    }

    /// Reports a problem of a step.
    pub(in crate::engine::routine) fn of_step(
        &self,
        issues: &Issues,
        code: Code,
        index: usize,
        message: impl Into<String>,
    ) {
        let step = self.step(index);
        issues.add(code, step.at, Subject::step(step.slug()), message);
    }

    /// Reports a problem of an edge at a place.
    pub(in crate::engine::routine) fn of_edge(
        &self,
        issues: &Issues,
        code: Code,
        edge: &EdgeOutline,
        at: Position,
        message: impl Into<String>,
    ) {
        let label = edge.label();
        issues.add(code, at, Subject::edge(label.as_deref()), message);
    }
}

fn meaning(edge: &EdgeOutline, from: Option<Kind>) -> Meaning {
    let gate = match from {
        Some(Kind::Gate) => Some(true),
        Some(_) => Some(false),
        None => None,
    };
    match (&edge.condition, gate) {
        (WrittenCondition::Unreadable, _) => Meaning::Unknown,
        (WrittenCondition::Absent, Some(true)) => Meaning::GateAlways,
        (WrittenCondition::Absent, Some(false) | None) => Meaning::Plain(EdgeCondition::Always),
        (WrittenCondition::Given(given), gate) => match (given.value, gate) {
            (EdgeCondition::Always, Some(true)) => Meaning::GateAlways,
            (EdgeCondition::OnPass, Some(false)) => Meaning::Plain(EdgeCondition::Always),
            (EdgeCondition::OnFail, Some(false)) => Meaning::Impossible,
            (condition, Some(_) | None) => Meaning::Plain(condition),
        },
    }
}

impl Meaning {
    /// Whether the edge belongs to the graph that must have no cycle (G6).
    pub(in crate::engine::routine) fn is_base(self) -> bool {
        match self {
            Self::Plain(EdgeCondition::Always | EdgeCondition::OnPass) | Self::GateAlways => true,
            Self::Plain(EdgeCondition::OnFail) | Self::Impossible | Self::Unknown => false,
        }
    }
}
