//! Where somebody looks in an operation: its own graph, or an iteration of a repeating step, levels
//! deep (V22); and which step of it is chosen.
//!
//! Nothing is kept of what a view says: everything is looked up in the latest one, by identity.

use std::sync::Arc;

use crate::engine::operation::view::{ExecutionView, OperationView, StepStatus, StepView};
use crate::engine::operation::wait::WaitKey;
use crate::engine::routine::definition::{Body, StepDefinition, StepKind};
use crate::tui::graph::live::{LiveGraph, held_inside};
use crate::tui::state::operations::{Follow, Operation};
use crate::tui::state::routine::Picture;

/// One level down: into an iteration of a repeating step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The repeating step, by its place in the graph around it.
    pub step: usize,
    /// Which iteration is looked at.
    pub iteration: Looked,
    /// Where the graph around it was scrolled to.
    around: Camera,
}

/// Which iteration is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// The latest, whichever it is.
    Latest,
    /// This one, from 0.
    Index(u64),
}

/// What of a graph is in view: it moves only when the chosen step would be out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Camera {
    /// The picture's column and row that is shown top left.
    pub boxes: (usize, usize),
    /// The first row of the list.
    pub row: usize,
}

/// To an earlier or a later iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// To the one before.
    Earlier,
    /// To the one after.
    Later,
}

/// What came of turning to another iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// Another one is looked at.
    Yes,
    /// There is none in that direction.
    AtTheEnd,
    /// There was one, but its picture isn't kept any more.
    Forgotten,
    /// No iteration is looked at.
    NotInside,
}

/// The routine inside of a repeating step.
pub fn nested(step: &StepDefinition) -> Option<&Body> {
    match &step.kind {
        StepKind::Map(map) => Some(&map.routine),
        StepKind::Fold(fold) => Some(&fold.routine),
        StepKind::Until(until) => Some(&until.routine),
        StepKind::Agent(_)
        | StepKind::Gate(_)
        | StepKind::Council(_)
        | StepKind::Tool(_)
        | StepKind::Terminal { .. }
        | StepKind::TerminalFail { .. } => None,
    }
}

impl Operation {
    /// The definition of the graph that is looked at.
    pub fn body(&self) -> &Body {
        let mut body: &Body = &self.routine.definition.body;
        for level in &self.levels {
            body = body.steps.get(level.step).and_then(nested).unwrap_or(body);
        }
        body
    }

    /// The picture of the graph that is looked at.
    pub fn picture(&self) -> &Arc<Picture> {
        let mut picture = &self.routine.picture;
        for level in &self.levels {
            let inside = picture.nested.get(level.step).and_then(Option::as_ref);
            picture = inside.unwrap_or(picture);
        }
        picture
    }

    /// The execution that is looked at; `None` where it hasn't begun or isn't known any more.
    pub fn execution(&self) -> Option<&ExecutionView> {
        self.executions().pop().flatten()
    }

    /// The executions from the operation's own to the one that is looked at.
    fn executions(&self) -> Vec<Option<&ExecutionView>> {
        let Some(view) = &self.view else {
            return vec![None; self.levels.len() + 1];
        };
        let mut path = vec![view.executions.first()];
        for level in &self.levels {
            let around = path.last().copied().flatten();
            let inside = around.and_then(|around| {
                let slug = &around.steps.get(level.step)?.slug;
                let mut all = iterations(view, around, slug);
                match level.iteration {
                    Looked::Latest => all.max_by_key(|(index, _)| *index),
                    Looked::Index(wanted) => all.find(|(index, _)| *index == wanted),
                }
            });
            path.push(inside.map(|(_, execution)| execution));
        }
        path
    }

    /// Whether the iteration that is looked at is over.
    pub fn is_over(&self) -> bool {
        let (Some(view), Some(execution)) = (&self.view, self.execution()) else {
            return false;
        };
        view.past.iter().any(|past| past.id == execution.id)
    }

    /// The chosen step of the graph that is looked at.
    pub fn chosen_step(&self) -> Option<&StepView> {
        self.execution()?.steps.get(self.step)
    }

    /// The way from the operation's own graph to the one that is looked at, in words.
    pub fn crumbs(&self) -> Vec<String> {
        let mut crumbs = vec![self.routine.definition.slug.clone()];
        let mut body: &Body = &self.routine.definition.body;
        let executions = self.executions();
        for (level, pair) in self.levels.iter().zip(executions.windows(2)) {
            let Some(step) = body.steps.get(level.step) else {
                break;
            };
            let seen = pair[0].and_then(|around| around.steps.get(level.step));
            let which = pair[1].and_then(|inside| inside.iteration.as_ref());
            let of = match (&step.kind, seen.and_then(|seen| seen.repeat)) {
                (StepKind::Until(until), _) => format!(" of at most {}", until.max_iterations),
                (_, Some(repeat)) => format!(" of {}", repeat.count),
                (_, None) => String::new(),
            };
            let which = match which {
                Some(iteration) => format!("{}{of}", iteration.index + 1),
                None => "not begun".to_owned(),
            };
            crumbs.push(format!("{} ({which})", step.slug));
            body = nested(step).unwrap_or(body);
        }
        crumbs
    }

    /// The iteration that a wait is in, in words; `None` for the operation's own graph.
    pub fn iteration_of(&self, wait: &WaitKey) -> Option<String> {
        let view = self.view.as_ref()?;
        let mut executions = view.executions.iter();
        let execution = executions.find(|execution| execution.id == wait.execution)?;
        let iteration = execution.iteration.as_ref()?;
        let number = iteration.index + 1;
        Some(match iteration.total {
            Some(total) => format!("{} {number} of {total}", iteration.step),
            None => format!("{} {number}", iteration.step),
        })
    }

    /// Goes into the chosen step, where it repeats. There what happens is followed.
    pub fn go_inside(&mut self) -> bool {
        let chosen = self.body().steps.get(self.step);
        if chosen.and_then(nested).is_none() {
            return false;
        }
        self.levels.push(Level {
            step: self.step,
            iteration: Looked::Latest,
            around: std::mem::take(&mut self.camera),
        });
        self.step = 0;
        self.follow = Follow::Events;
        self.refresh();
        true
    }

    /// Goes back to the graph around, to the step that was gone into.
    pub fn go_outside(&mut self) -> bool {
        let Some(level) = self.levels.pop() else {
            return false;
        };
        self.step = level.step;
        self.camera = level.around;
        self.follow = Follow::Person;
        self.refresh();
        true
    }

    /// Looks at another iteration.
    pub fn turn(&mut self, turn: Turn) -> Turned {
        let executions = self.executions();
        let [.., around, here] = executions.as_slice() else {
            return Turned::NotInside;
        };
        let (Some(view), Some(level)) = (&self.view, self.levels.last()) else {
            return Turned::NotInside;
        };
        let here = here.and_then(|here| Some(here.iteration.as_ref()?.index));
        let slug = around.and_then(|around| Some((around, &around.steps.get(level.step)?.slug)));
        let (Some((around, slug)), Some(here)) = (slug, here) else {
            return Turned::AtTheEnd;
        };
        let indices = || iterations(view, around, slug).map(|(index, _)| index);
        let latest = indices().max();
        let wanted = match turn {
            Turn::Earlier => indices().filter(|&index| index < here).max(),
            Turn::Later => indices().filter(|&index| index > here).min(),
        };
        let Some(wanted) = wanted else {
            return match turn {
                Turn::Earlier if here > 0 => Turned::Forgotten,
                Turn::Earlier | Turn::Later => Turned::AtTheEnd,
            };
        };
        let looked = match Some(wanted) == latest {
            true => Looked::Latest,
            false => Looked::Index(wanted),
        };
        if let Some(level) = self.levels.last_mut() {
            level.iteration = looked;
        }
        self.refresh();
        Turned::Yes
    }

    /// Looks at what a wait is about, in whichever iteration that is.
    pub fn lead_to(&mut self, wait: &WaitKey) -> bool {
        let Some(view) = &self.view else {
            return false;
        };
        let find = |id| view.executions.iter().find(|execution| execution.id == id);
        let Some(target) = find(wait.execution.clone()) else {
            return false;
        };
        let mut levels = Vec::new();
        let mut inner = target;
        while let Some(iteration) = &inner.iteration {
            let Some(around) = find(iteration.execution.clone()) else {
                return false;
            };
            let mut steps = around.steps.iter();
            let Some(step) = steps.position(|step| step.slug == iteration.step) else {
                return false;
            };
            levels.push(Level {
                step,
                iteration: Looked::Latest,
                around: Camera::default(),
            });
            inner = around;
        }
        levels.reverse();
        let mut steps = target.steps.iter();
        let step = steps.position(|step| Some(&step.slug) == wait.step.as_ref());
        if self.levels.len() != levels.len() {
            self.camera = Camera::default();
        }
        self.levels = levels;
        self.step = step.unwrap_or(0);
        self.follow = Follow::Person;
        self.refresh();
        true
    }

    /// The end that was reached, in the graph that is looked at.
    fn reached(&self) -> Option<usize> {
        let steps = self.body().steps.iter().zip(&self.live.nodes);
        let mut reached = steps.map(|(step, live)| match step.kind {
            StepKind::Terminal { .. } | StepKind::TerminalFail { .. } => {
                live.status == StepStatus::Verified
            }
            StepKind::Agent(_)
            | StepKind::Gate(_)
            | StepKind::Council(_)
            | StepKind::Tool(_)
            | StepKind::Map(_)
            | StepKind::Fold(_)
            | StepKind::Until(_) => false,
        });
        reached.position(|reached| reached)
    }

    /// Takes what is looked at from the latest view.
    pub fn refresh(&mut self) {
        let live = match (&self.view, self.execution()) {
            (Some(view), Some(execution)) => {
                LiveGraph::of(&self.picture().shape, execution, &held_inside(view))
            }
            (Some(_), None) | (None, _) => LiveGraph::idle(&self.picture().shape),
        };
        self.live = live;
        if self.follow == Follow::Events {
            let end = || match self.state().is_terminal() {
                true => self.reached(),
                false => None,
            };
            self.step = of_interest(&self.live).or_else(end).unwrap_or(self.step);
        }
        self.step = self.step.min(self.live.nodes.len().saturating_sub(1));
    }
}

/// The iterations of a step that are known, with their numbers: those that are over first.
fn iterations<'a>(
    view: &'a OperationView,
    around: &'a ExecutionView,
    slug: &'a str,
) -> impl Iterator<Item = (u64, &'a ExecutionView)> {
    let past = view.past.iter().map(Arc::as_ref);
    let all = past.chain(&view.executions);
    all.filter_map(move |execution| {
        let iteration = execution.iteration.as_ref()?;
        let belongs = iteration.execution == around.id && iteration.step == slug;
        belongs.then_some((iteration.index, execution))
    })
}

/// The step that somebody wants to see: one that waits, else one that works, else one that failed.
fn of_interest(live: &LiveGraph) -> Option<usize> {
    let first = |wanted: &[StepStatus]| {
        let mut nodes = live.nodes.iter();
        nodes.position(|node| wanted.contains(&node.status))
    };
    first(&[
        StepStatus::Waiting,
        StepStatus::Blocked,
        StepStatus::Uncertain,
    ])
    .or_else(|| {
        first(&[
            StepStatus::Running,
            StepStatus::Verifying,
            StepStatus::Failed,
        ])
    })
}
