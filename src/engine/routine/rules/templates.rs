//! What templates may refer to (V21), and where sources may come from.
//!
//! Names are looked up in the body that they stand in, then outwards: a nested routine sees what
//! the step that repeats it sees.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::{Kind, Outline, Placed, Site};
use crate::engine::routine::rules::retry::Order;
use crate::engine::routine::rules::sketch::Sketch;
use crate::engine::routine::template::Reference;

/// A body and what lies around it.
pub(in crate::engine::routine) struct Frame<'a> {
    pub(in crate::engine::routine) sketch: &'a Sketch<'a>,
    pub(in crate::engine::routine) order: Option<&'a Order>,
    pub(in crate::engine::routine) parameters: &'a BTreeSet<&'a str>,
    /// Per name: the first pre step and the first post step of that name.
    pub(in crate::engine::routine) around: &'a Around<'a>,
    /// The body around it, and the index of the step that repeats this one.
    pub(in crate::engine::routine) outer: Option<(&'a Frame<'a>, usize)>,
}

/// The pre and post steps of a body by name, each with its first index.
pub(in crate::engine::routine) struct Around<'a> {
    pre: HashMap<&'a str, usize>,
    post: HashMap<&'a str, usize>,
}

impl<'a> Around<'a> {
    /// Those of a body.
    pub(in crate::engine::routine) fn of(outline: &'a Outline) -> Self {
        let by_name = |steps: &'a [Placed<String>]| {
            let mut first = HashMap::with_capacity(steps.len());
            for (index, step) in steps.iter().enumerate() {
                first.entry(step.value.as_str()).or_insert(index);
            }
            first
        };
        Self {
            pre: by_name(&outline.pre_steps),
            post: by_name(&outline.post_steps),
        }
    }
}

/// What became of a look-up.
enum LookUp {
    Found,
    /// It exists, but has no value there.
    TooEarly,
    Unknown,
}

/// `bad-template`: names that have no value where the template is expanded
pub(in crate::engine::routine) fn references(frame: &Frame<'_>, issues: &Issues) {
    for note in &frame.sketch.outline.references {
        let Some(problem) = problem(frame, &note.reference, note.site, issues) else {
            continue;
        };
        let step = match note.site {
            Site::Step(index) | Site::StepChecks(index) => frame.sketch.step(index).slug(),
            Site::PreStep(index) => name_at(&frame.sketch.outline.pre_steps, index),
            Site::PostStep(index) => name_at(&frame.sketch.outline.post_steps, index),
            Site::Instructions | Site::FinalChecks => frame.sketch.host,
        };
        let message = format!("`{{{{{}}}}}`: {problem}", note.reference);
        issues.add(Code::BadTemplate, note.at, Subject::step(step), message);
    }
}

fn name_at(names: &[Placed<String>], index: usize) -> Option<&str> {
    names
        .get(index)
        .map(|name| name.value.as_str())
        .filter(|name| !name.is_empty())
}

fn problem(
    frame: &Frame<'_>,
    reference: &Reference,
    site: Site,
    issues: &Issues,
) -> Option<String> {
    match reference {
        Reference::Param(name) => (!frame.parameters.contains(name.as_str())).then(|| {
            let hint = issues.hint(name, frame.parameters.iter().copied());
            format!("there is no parameter `{name}`{hint}")
        }),
        Reference::MapItem | Reference::MapIndex | Reference::MapTotal => {
            (!inside(frame, &[Kind::Map, Kind::Fold]))
                .then(|| "it has a value only inside a map or a fold".to_owned())
        }
        Reference::FoldAccumulator => {
            (!inside(frame, &[Kind::Fold])).then(|| "it has a value only inside a fold".to_owned())
        }
        Reference::Step(name) => match pre_or_post(frame, name, site) {
            LookUp::Found => None,
            LookUp::TooEarly => Some(format!("the step `{name}` hasn't run by then")),
            LookUp::Unknown => {
                let outline = frame.sketch.outline;
                let names = outline.pre_steps.iter().chain(&outline.post_steps);
                let hint = issues.hint(name, names.map(|name| name.value.as_str()));
                Some(format!("there is no pre or post step `{name}`{hint}"))
            }
        },
        Reference::Result(name) => match result(frame, name, site) {
            LookUp::Found => None,
            LookUp::TooEarly => Some(format!("the step `{name}` doesn't precede")),
            LookUp::Unknown => {
                let hint = issues.hint(name, frame.sketch.found.keys().copied());
                Some(format!("there is no step `{name}`{hint}"))
            }
        },
    }
}

fn inside(frame: &Frame<'_>, hosts: &[Kind]) -> bool {
    frame
        .sketch
        .outline
        .host
        .is_some_and(|host| hosts.contains(&host))
        || frame.outer.is_some_and(|(outer, _)| inside(outer, hosts))
}

fn pre_or_post(frame: &Frame<'_>, name: &str, site: Site) -> LookUp {
    let outline = frame.sketch.outline;
    let (pre, post) = match site {
        Site::PreStep(index) => (index, 0),
        Site::Instructions | Site::Step(_) | Site::StepChecks(_) => (outline.pre_steps.len(), 0),
        Site::PostStep(index) => (outline.pre_steps.len(), index),
        Site::FinalChecks => (outline.pre_steps.len(), outline.post_steps.len()),
    };
    let first_pre = frame.around.pre.get(name).copied();
    let first_post = frame.around.post.get(name).copied();
    if first_pre.is_some_and(|first| first < pre) || first_post.is_some_and(|first| first < post) {
        return LookUp::Found;
    }
    let around = match frame.outer {
        Some((outer, host)) => pre_or_post(outer, name, Site::Step(host)),
        None => LookUp::Unknown,
    };
    match around {
        LookUp::Unknown if first_pre.is_some() || first_post.is_some() => LookUp::TooEarly,
        found => found,
    }
}

fn result(frame: &Frame<'_>, name: &str, site: Site) -> LookUp {
    let sketch = frame.sketch;
    let by_name = || {
        let mut steps = sketch.outline.steps.items.iter();
        steps.position(|step| step.name.as_deref() == Some(name))
    };
    let step = sketch.found.get(name).copied().or_else(by_name);
    if let Some(step) = step {
        let precedes = |to| frame.order.is_none_or(|order| order.reach.has(step, to));
        let visible = match site {
            Site::Instructions | Site::PreStep(_) => false,
            Site::Step(index) => precedes(index),
            Site::StepChecks(index) => step == index || precedes(index),
            Site::PostStep(_) | Site::FinalChecks => true,
        };
        if visible {
            return LookUp::Found;
        }
    }
    let around = match frame.outer {
        Some((outer, host)) => result(outer, name, Site::Step(host)),
        None => LookUp::Unknown,
    };
    match around {
        LookUp::Unknown if step.is_some() => LookUp::TooEarly,
        found => found,
    }
}

/// `unknown-step`, `bad-source`: items come from a step that precedes
pub(in crate::engine::routine) fn sources(frame: &Frame<'_>, issues: &Issues) {
    let sketch = frame.sketch;
    for (index, step) in sketch.outline.steps.items.iter().enumerate() {
        let Some(source) = &step.source else { continue };
        let subject = Subject::step(step.slug());
        let Some(&from) = sketch.found.get(source.value.as_str()) else {
            let hint = issues.hint(&source.value, sketch.found.keys().copied());
            let message = format!("there is no step `{}`{hint}", source.value);
            issues.add(Code::UnknownStep, source.at, subject, message);
            continue;
        };
        if frame
            .order
            .is_some_and(|order| !order.reach.has(from, index))
        {
            let message = format!(
                "the step `{}` doesn't precede, so it has no output yet",
                source.value
            );
            issues.add(Code::BadSource, source.at, subject, message);
        }
    }
}
