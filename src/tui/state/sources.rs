//! The source browser: a tree by operation, execution and step, and a preview within an allowance
//! that the person gives (T6).

use std::collections::BTreeMap;

use crate::engine::evidence::{Receipt, SourceKind};
use crate::engine::id::{ExecutionId, OperationId, SourceId};
use crate::host::session::types::SourceRow;
use crate::tui::state::document::Document;

/// What a preview may read at first, in bytes.
pub const FIRST_ALLOWANCE: u64 = 16 * 1024;
/// The most that a preview may read, in bytes.
pub const MOST_ALLOWANCE: u64 = 16 * 1024 * 1024;
/// The least that a preview may read, in bytes.
pub const LEAST_ALLOWANCE: u64 = 1024;

/// How far a source is on its way into the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// Only the runner holds it.
    Held,
    /// The archive has it; the operation doesn't know yet.
    Archived,
    /// The operation has its receipt.
    Acknowledged,
}

impl Keeping {
    /// All of them, in the order of the way.
    pub const ALL: [Self; 3] = [Self::Held, Self::Archived, Self::Acknowledged];

    /// The word on the screen.
    pub fn label(self) -> &'static str {
        match self {
            Self::Held => "unacknowledged",
            Self::Archived => "archived",
            Self::Acknowledged => "acknowledged",
        }
    }
}

/// A row of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// An operation, with how many sources it has and how many are not acknowledged.
    Operation {
        /// Which.
        id: OperationId,
        /// Sources.
        sources: usize,
        /// Those without a receipt.
        open: usize,
    },
    /// An execution of the operation above.
    Execution(ExecutionId),
    /// A step of the execution above; `None` for what belongs to no step.
    Step(Option<String>),
    /// A source of the step above.
    Source {
        /// Whose.
        operation: OperationId,
        /// Its place among the operation's sources.
        at: usize,
    },
}

/// What the preview shows.
#[derive(Debug, Clone, Default)]
pub enum Preview {
    /// Nothing was asked for.
    #[default]
    Nothing,
    /// A source is being read.
    Reading(SourceId),
    /// A source.
    Shown {
        /// Which.
        source: SourceId,
        /// Its content.
        document: Document,
        /// The first visible row.
        scroll: usize,
    },
    /// It is larger than the allowance, so nothing was read.
    TooLarge {
        /// Which.
        source: SourceId,
        /// Its size.
        bytes: u64,
    },
}

/// The state of the source browser.
#[derive(Debug, Clone)]
pub struct Sources {
    lists: Vec<(OperationId, Vec<SourceRow>)>,
    /// What the archive has given for sources that the operation doesn't know yet.
    archived: BTreeMap<SourceId, Receipt>,
    /// The chosen row, by what it shows.
    chosen: Option<SourceId>,
    row: usize,
    /// What a preview may read, in bytes.
    pub allowance: u64,
    /// The preview.
    pub preview: Preview,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            lists: Vec::new(),
            archived: BTreeMap::new(),
            chosen: None,
            row: 0,
            allowance: FIRST_ALLOWANCE,
            preview: Preview::Nothing,
        }
    }
}

impl Sources {
    /// An operation's sources were read. The chosen source stays chosen.
    pub fn listed(&mut self, operation: &OperationId, rows: Vec<SourceRow>) {
        match self.lists.iter_mut().find(|(id, _)| id == operation) {
            Some((_, held)) => *held = rows,
            None => self.lists.push((operation.clone(), rows)),
        }
        self.settle();
    }

    /// A source's row.
    pub fn source(&self, operation: &OperationId, at: usize) -> Option<&SourceRow> {
        let (_, rows) = self.lists.iter().find(|(id, _)| id == operation)?;
        rows.get(at)
    }

    /// How far a source is on its way into the archive.
    pub fn keeping(&self, row: &SourceRow) -> Keeping {
        match (&row.receipt, self.archived.get(&row.header.id)) {
            (Some(_), _) => Keeping::Acknowledged,
            (None, Some(_)) => Keeping::Archived,
            (None, None) => Keeping::Held,
        }
    }

    /// The archive took a source.
    pub fn archived(&mut self, source: SourceId, receipt: Receipt) {
        self.archived.insert(source, receipt);
    }

    /// What the archive gave for a source.
    pub fn receipt(&self, source: &SourceId) -> Option<&Receipt> {
        self.archived.get(source)
    }

    /// The rows of the tree, from top to bottom.
    pub fn tree(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        for (operation, rows) in &self.lists {
            let open = rows.iter().filter(|row| row.receipt.is_none()).count();
            nodes.push(Node::Operation {
                id: operation.clone(),
                sources: rows.len(),
                open,
            });
            // Sources stand under their step, in the order in which the steps first left one.
            let mut places: Vec<(Option<&ExecutionId>, Option<&str>, Vec<usize>)> = Vec::new();
            for (at, row) in rows.iter().enumerate() {
                let place = row.header.place.as_ref();
                let execution = place.map(|place| &place.execution);
                let step = place.map(|place| place.step.as_str());
                match places
                    .iter_mut()
                    .find(|(e, s, _)| *e == execution && *s == step)
                {
                    Some((_, _, held)) => held.push(at),
                    None => places.push((execution, step, vec![at])),
                }
            }
            places.sort_by_key(|(execution, _, _)| execution.map(|id| id.as_str().len()));
            let mut above = None;
            for (execution, step, held) in places {
                if let Some(execution) = execution
                    && above != Some(execution)
                {
                    nodes.push(Node::Execution(execution.clone()));
                    above = Some(execution);
                }
                nodes.push(Node::Step(step.map(str::to_owned)));
                nodes.extend(held.into_iter().map(|at| Node::Source {
                    operation: operation.clone(),
                    at,
                }));
            }
        }
        nodes
    }

    /// The chosen row of the tree.
    pub fn row(&self) -> usize {
        self.row
    }

    /// The chosen source, with its operation.
    pub fn chosen(&self) -> Option<(OperationId, &SourceRow)> {
        match self.tree().into_iter().nth(self.row)? {
            Node::Source { operation, at } => {
                let row = self.source(&operation, at)?;
                Some((operation, row))
            }
            Node::Operation { .. } | Node::Execution(_) | Node::Step(_) => None,
        }
    }

    /// Moves the choice by some rows, stopping at the ends.
    pub fn choose_by(&mut self, rows: isize) {
        let last = self.tree().len().saturating_sub(1);
        self.row = self.row.saturating_add_signed(rows).min(last);
        self.chosen = self.chosen().map(|(_, row)| row.header.id.clone());
    }

    /// Finds the chosen source again after rows came or went.
    fn settle(&mut self) {
        let tree = self.tree();
        let place = tree.iter().position(|node| match node {
            Node::Source { operation, at } => self
                .source(operation, *at)
                .is_some_and(|row| Some(&row.header.id) == self.chosen.as_ref()),
            Node::Operation { .. } | Node::Execution(_) | Node::Step(_) => false,
        });
        let last = tree.len().saturating_sub(1);
        self.row = place.unwrap_or(self.row).min(last);
    }

    /// More or less may be read.
    pub fn allow(&mut self, factor: Allow) {
        self.allowance = match factor {
            Allow::More => (self.allowance * 4).min(MOST_ALLOWANCE),
            Allow::Less => (self.allowance / 4).max(LEAST_ALLOWANCE),
        };
    }
}

/// Which way the allowance goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allow {
    /// Four times as much.
    More,
    /// A quarter.
    Less,
}

/// Whether a source stands out: nobody waited for it.
pub fn is_late(row: &SourceRow) -> bool {
    row.header.kind == SourceKind::Late
}
