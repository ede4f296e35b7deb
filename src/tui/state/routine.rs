//! A routine as the screen knows it: its picture, its inputs, and what its checks would do.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::engine::routine::definition::{
    CheckDefinition, CheckKind, GateOwner, Parameter, RoutineDefinition, StepDefinition, StepKind,
    SyntheticSubject,
};
use crate::engine::routine::graph::RoutineGraph;
use crate::tui::graph::layout::{Arrange, Arranged, Layout};
use crate::tui::graph::list::ListRows;
use crate::tui::graph::shape::GraphShape;
use crate::tui::text::Inert;

/// The narrowest place in which boxes are drawn.
const NARROWEST: u16 = 24;
/// The lowest place in which boxes are drawn.
const LOWEST: u16 = 6;

/// Where a routine comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It ships with the program.
    Demo(&'static str),
    /// A file, as it was typed.
    File(String),
}

impl Origin {
    /// What to type to start it.
    pub fn command(&self) -> String {
        match self {
            Self::Demo(name) => format!("/routine demo {name}"),
            Self::File(path) => format!("/routine run {path}"),
        }
    }
}

/// A graph that was laid out, off the thread that draws.
#[derive(Debug)]
pub struct Picture {
    /// The graph.
    pub shape: GraphShape,
    /// As boxes.
    pub arranged: Arranged,
    /// As a list.
    pub rows: ListRows,
    /// Per step: what is inside of it, where it repeats.
    pub nested: Vec<Option<Arc<Picture>>>,
}

impl Picture {
    /// Lays a graph out with everything inside of it. It may take a while.
    pub fn of(graph: &RoutineGraph, by: &impl Arrange) -> Self {
        let shape = GraphShape::from(graph);
        let inside = graph.steps().map(|step| {
            let nested = graph.nested(step)?;
            Some(Arc::new(Self::of(nested, by)))
        });
        Self {
            arranged: Arranged::of(&shape, by),
            rows: ListRows::of(&shape),
            nested: inside.collect(),
            shape,
        }
    }

    /// The boxes that fit a place best; `None` where a list is better.
    pub fn boxes(&self, place: Rect) -> Option<&Layout> {
        if place.width < NARROWEST || place.height < LOWEST {
            return None;
        }
        let layout = self.arranged.best_for(place.width, place.height).ok()?;
        // A picture that has to be scrolled both ways, or far to the side, is harder to read than a list.
        let columns = usize::from(place.width);
        let fits = layout.width <= columns
            || (layout.height <= usize::from(place.height) && layout.width <= 2 * columns);
        fits.then_some(layout)
    }
}

/// A routine that is ready to start.
#[derive(Debug, Clone)]
pub struct LoadedRoutine {
    /// Where it comes from.
    pub origin: Origin,
    /// The routine.
    pub definition: Arc<RoutineDefinition>,
    /// Its picture.
    pub picture: Arc<Picture>,
    /// What somebody should look at all the same.
    pub warnings: Vec<Inert>,
    /// Whether its checks were shown before.
    pub checks: Checks,
}

/// Whether a file's checks have to be shown before it runs (M6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    /// It ran before, or has none that act.
    Known,
    /// Running it accepts commands that nobody has seen yet.
    Unseen,
}

/// The parameters that have to be asked for.
pub fn missing(definition: &RoutineDefinition) -> impl Iterator<Item = &Parameter> {
    let parameters = definition.parameters.iter();
    parameters.filter(|parameter| parameter.required && parameter.default.is_none())
}

/// The checks of a routine that run or send something, with where they stand.
pub fn acting_checks(definition: &RoutineDefinition) -> Vec<String> {
    let mut texts = Vec::new();
    for step in &definition.body.steps {
        let gate = match &step.kind {
            StepKind::Gate(gate) => match &gate.owner {
                GateOwner::Checks(checks) => checks.as_slice(),
                GateOwner::Agent(_) | GateOwner::Operator(_) => &[],
            },
            _ => &[],
        };
        let checks = step.verify.iter().chain(gate).filter(|check| acts(check));
        texts.extend(checks.map(|check| format!("{}: {}", step.slug, check_text(check))));
    }
    let last = definition.body.verify.iter().filter(|check| acts(check));
    texts.extend(last.map(|check| format!("at the end: {}", check_text(check))));
    texts
}

fn acts(check: &CheckDefinition) -> bool {
    match check.kind {
        CheckKind::Command { .. } | CheckKind::Http { .. } => true,
        CheckKind::File { .. }
        | CheckKind::Output { .. }
        | CheckKind::Manual { .. }
        | CheckKind::Synthetic { .. } => false,
    }
}

/// The checks that gate what follows a step.
pub fn checks_of(step: &StepDefinition) -> Vec<String> {
    step.verify.iter().map(check_text).collect()
}

/// A check in one line, as it is written in the file.
fn check_text(check: &CheckDefinition) -> String {
    match &check.kind {
        CheckKind::Command { run, cwd } => {
            let argv: Vec<String> = run.iter().map(|part| quoted(&part.to_string())).collect();
            let cwd = cwd.as_ref().map(|cwd| format!(" in {cwd}"));
            format!("command {}{}", argv.join(" "), cwd.unwrap_or_default())
        }
        CheckKind::Http { url, method, .. } => format!("http {method} {url}"),
        CheckKind::File { path, .. } => format!("file {path}"),
        CheckKind::Output { .. } => "output of the step".to_owned(),
        CheckKind::Manual { prompt } => format!("manual: {prompt}"),
        CheckKind::Synthetic { job, of } => match of {
            SyntheticSubject::Job => format!("synthetic job {job}"),
            SyntheticSubject::Artifact => format!("synthetic artifact of {job}"),
        },
    }
}

/// An argument so that its borders can be seen.
fn quoted(argument: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "-_./:{}=+@%".contains(char);
    match !argument.is_empty() && argument.chars().all(plain) {
        true => argument.to_owned(),
        false => format!("{argument:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::routine::{Known, load};
    use crate::host::session::demos;

    /// M6
    #[test]
    fn commands_are_listed_with_every_argument() {
        let known = Known {
            agents: ["default".to_owned()].into(),
            councils: [].into(),
            tools: ["run_command".to_owned(), "write_file".to_owned()].into(),
        };
        let demo = demos::find("checks-and-operator").expect("a demo");
        let routine = load(demo.file.as_bytes(), &known).routine.expect("valid");
        assert_eq!(
            acting_checks(&routine.definition),
            [
                r#"tools: command sh -c "command -v date >/dev/null""#,
                "at the end: command test -s {{param.path}}",
            ]
        );
    }
}
