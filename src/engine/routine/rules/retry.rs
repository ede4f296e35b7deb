//! Which edges retry (G6), and the cycles that are no retry loops.
//!
//! All `always` and `on_pass` edges must form no cycle. `on_fail` edges are added in the order of
//! their gate's distance from an entry, ties in file order: one that closes no cycle is a forward
//! edge, one that does is a retry edge.

use std::collections::VecDeque;

use crate::engine::routine::definition::EdgeCondition;
use crate::engine::routine::issue::Code;
use crate::engine::routine::issues::{Issues, Subject};
use crate::engine::routine::outline::Owner;
use crate::engine::routine::rules::matrix::Reach;
use crate::engine::routine::rules::sketch::{Meaning, Sketch};

/// Definitions larger than this have far too many steps already; their order isn't looked at.
const LARGEST: usize = 10_000;

/// Steps of a cycle that its problem names; a file may hold thousands of cycles of thousands of steps.
const SHOWN: usize = 12;

/// What became of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::routine) enum Class {
    /// Part of the acyclic graph.
    Forward,
    /// An `on_fail` edge that closes a cycle.
    Retry,
    /// Left out, because something is wrong with it.
    Neither,
}

/// Every link's class, and what the forward edges reach.
pub(in crate::engine::routine) struct Order {
    /// Per link.
    pub(in crate::engine::routine) classes: Vec<Class>,
    pub(in crate::engine::routine) reach: Reach,
}

/// Sorts the links into forward and retry edges. `None` where there are far too many steps.
pub(in crate::engine::routine) fn order(sketch: &Sketch<'_>, issues: &Issues) -> Option<Order> {
    if sketch.len() > LARGEST {
        return None;
    }
    let mut classes: Vec<Class> = sketch
        .links
        .iter()
        .map(|link| match link.meaning.is_base() {
            true => Class::Forward,
            false => Class::Neither,
        })
        .collect();
    let finished = without_cycles(sketch, &mut classes, issues);
    let mut reach = Reach::of(sketch.len());
    // A step finishes after everything that it leads to.
    for &step in &finished {
        for &link in &sketch.out[step] {
            if classes[link] == Class::Forward {
                reach.follow(step, sketch.links[link].to);
            }
        }
    }
    let distances = distances(sketch);
    let mut failing: Vec<usize> = (0..sketch.links.len())
        .filter(|&link| sketch.links[link].meaning == Meaning::Plain(EdgeCondition::OnFail))
        .collect();
    failing.sort_by_key(|&link| (distances[sketch.links[link].from], link));
    for link in failing {
        let (from, to) = (sketch.links[link].from, sketch.links[link].to);
        if reach.has(to, from) {
            classes[link] = Class::Retry;
        } else {
            classes[link] = Class::Forward;
            reach.add(from, to);
        }
    }
    Some(Order { classes, reach })
}

/// Fewest edges, of any condition, from an entry; unreachable steps come last.
fn distances(sketch: &Sketch<'_>) -> Vec<usize> {
    let mut distances = vec![usize::MAX; sketch.len()];
    let mut queue = VecDeque::new();
    for &entry in &sketch.entries {
        distances[entry] = 0;
        queue.push_back(entry);
    }
    while let Some(step) = queue.pop_front() {
        for &link in &sketch.out[step] {
            let to = sketch.links[link].to;
            if distances[to] == usize::MAX {
                distances[to] = distances[step] + 1;
                queue.push_back(to);
            }
        }
    }
    distances
}

/// Reports each cycle among the forward links and takes its closing link out. Returns the steps in
/// the order in which they finish: each after everything that it leads to.
fn without_cycles(sketch: &Sketch<'_>, classes: &mut [Class], issues: &Issues) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        Open,
        Finished,
    }
    let mut visits = vec![Visit::New; sketch.len()];
    let mut finished = Vec::with_capacity(sketch.len());
    for root in 0..sketch.len() {
        if visits[root] != Visit::New {
            continue;
        }
        visits[root] = Visit::Open;
        let mut path = vec![(root, 0)];
        while let Some((step, next)) = path.last_mut() {
            let step = *step;
            let Some(&link) = sketch.out[step].get(*next) else {
                visits[step] = Visit::Finished;
                finished.push(step);
                path.pop();
                continue;
            };
            *next += 1;
            if classes[link] != Class::Forward {
                continue;
            }
            let to = sketch.links[link].to;
            match visits[to] {
                Visit::New => {
                    visits[to] = Visit::Open;
                    path.push((to, 0));
                }
                Visit::Open => {
                    classes[link] = Class::Neither;
                    let cycle = path.iter().map(|(step, _)| *step);
                    report_cycle(sketch, link, cycle.skip_while(|&step| step != to), issues);
                }
                Visit::Finished => {}
            }
        }
    }
    finished
}

fn report_cycle(
    sketch: &Sketch<'_>,
    closing: usize,
    steps: impl Iterator<Item = usize>,
    issues: &Issues,
) {
    let link = &sketch.links[closing];
    let slug = |step: usize| sketch.step(step).slug().unwrap_or_default();
    let mut path: Vec<&str> = steps.map(slug).collect();
    if path.len() > SHOWN {
        path.splice(SHOWN / 2..path.len() - SHOWN / 2, ["…"]);
    }
    path.push(slug(link.to));
    let edge = sketch.edge(link);
    let label = edge.label();
    let subject = Subject {
        step: Some(slug(link.to)),
        edge: label.as_deref(),
    };
    let message = format!(
        "{} is a cycle; only a gate's on_fail edge may lead back",
        path.join(" -> ")
    );
    issues.add(Code::Cycle, edge.at, subject, message);
}

/// `mixed-on-fail`: a gate, not the operator's, can't choose between going on and going back.
pub(in crate::engine::routine) fn mixed_on_fail(
    sketch: &Sketch<'_>,
    order: &Order,
    issues: &Issues,
) {
    for step in 0..sketch.len() {
        if sketch.step(step).owner == Some(Owner::Operator) {
            continue;
        }
        let failing = || {
            sketch.out[step].iter().filter(|&&link| {
                sketch.links[link].meaning == Meaning::Plain(EdgeCondition::OnFail)
            })
        };
        let has = |class| failing().any(|&link| order.classes[link] == class);
        if has(Class::Forward) && has(Class::Retry) {
            let message = "some on_fail edges of this gate lead back and some lead on; only an operator gate may have both";
            sketch.of_step(issues, Code::MixedOnFail, step, message);
        }
    }
}

/// `bad-max-attempts`: only retry edges have a budget.
pub(in crate::engine::routine) fn budgets(sketch: &Sketch<'_>, order: &Order, issues: &Issues) {
    for (link, class) in sketch.links.iter().zip(&order.classes) {
        let edge = sketch.edge(link);
        if let (Some(budget), Class::Forward) = (&edge.max_attempts, class) {
            let message = "max_attempts belongs to retry edges, and this edge leads on";
            sketch.of_edge(issues, Code::BadMaxAttempts, edge, budget.at, message);
        }
    }
}

/// `entry-has-incoming`: an entry starts at once, so only retry edges may lead to it.
pub(in crate::engine::routine) fn entries_without_incoming(
    sketch: &Sketch<'_>,
    order: &Order,
    issues: &Issues,
) {
    let mut incoming = vec![Vec::new(); sketch.len()];
    for (link, class) in sketch.links.iter().zip(&order.classes) {
        if *class != Class::Retry {
            incoming[link.to].push(link);
        }
    }
    for entry in &sketch.outline.entries.items {
        let Some(&index) = sketch.found.get(entry.value.as_str()) else {
            continue;
        };
        for link in std::mem::take(&mut incoming[index]) {
            let label = sketch.edge(link).label();
            let subject = Subject {
                step: Some(&entry.value),
                edge: label.as_deref(),
            };
            let message = format!(
                "the entry step `{}` starts at once, but {} leads to it",
                entry.value,
                label.as_deref().unwrap_or("an edge")
            );
            issues.add(Code::EntryHasIncoming, entry.at, subject, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::engine::routine::file::RoutineFile;
    use crate::engine::routine::reader::context::spelled_as_ours;
    use crate::engine::routine::reader::routine;

    /// A sequence that looks random and is the same each time.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) as usize % sides
        }
    }

    /// G6, word for word and slowly.
    fn retries_by_the_book(steps: usize, edges: &[(usize, usize, bool)]) -> Vec<usize> {
        fn leads(graph: &[(usize, usize)], from: usize, to: usize, steps: usize) -> bool {
            let mut seen = vec![false; steps];
            let mut open = vec![from];
            while let Some(step) = open.pop() {
                if step == to {
                    return true;
                }
                if !std::mem::replace(&mut seen[step], true) {
                    open.extend(
                        graph
                            .iter()
                            .filter(|edge| edge.0 == step)
                            .map(|edge| edge.1),
                    );
                }
            }
            false
        }
        let mut distance = vec![usize::MAX; steps];
        distance[0] = 0;
        for _ in 0..steps {
            for &(from, to, _) in edges {
                distance[to] = distance[to].min(distance[from].saturating_add(1));
            }
        }
        let ends = |edge: usize| (edges[edge].0, edges[edge].1);
        let mut graph: Vec<_> = edges
            .iter()
            .filter(|edge| !edge.2)
            .map(|e| (e.0, e.1))
            .collect();
        let mut failing: Vec<usize> = (0..edges.len()).filter(|&edge| edges[edge].2).collect();
        failing.sort_by_key(|&edge| distance[edges[edge].0]);
        let mut retries = Vec::new();
        for edge in failing {
            let (from, to) = ends(edge);
            if leads(&graph, to, from, steps) {
                retries.push(edge);
            } else {
                graph.push((from, to));
            }
        }
        retries.sort_unstable();
        retries
    }

    #[test]
    fn retry_edges_are_those_that_the_rule_names_in_any_graph() {
        let mut dice = Dice(7);
        for _ in 0..400 {
            let steps = 3 + dice.roll(6);
            let mut edges = Vec::new();
            for _ in 0..2 * steps {
                let (from, to) = (dice.roll(steps), dice.roll(steps));
                let fail = dice.roll(2) == 0;
                // Passing edges lead on, so that there is no cycle among them.
                if from != to && (fail || from < to) && !edges.contains(&(from, to, fail)) {
                    edges.push((from, to, fail));
                }
            }
            let mut text = String::from("routine: r\nentry_steps: [s0]\nsteps:\n");
            for step in 0..steps {
                writeln!(text, "- {{slug: s{step}, type: gate, operator: true}}").expect("text");
            }
            text.push_str("edges:\n");
            for (from, to, fail) in &edges {
                let condition = if *fail { "on_fail" } else { "on_pass" };
                writeln!(
                    text,
                    "- {{from: s{from}, to: s{to}, condition: {condition}}}"
                )
                .expect("text");
            }
            if edges.is_empty() {
                continue;
            }
            let file = RoutineFile::parse(text.as_bytes()).expect("yaml");
            let issues = Issues::default();
            let reading = routine::read(&file, spelled_as_ours, &issues).expect("a map");
            let sketch = Sketch::of(&reading.outline, None);
            let order = order(&sketch, &issues).expect("small");
            let found: Vec<usize> = (0..edges.len())
                .filter(|&edge| order.classes[edge] == Class::Retry)
                .collect();
            assert_eq!(found, retries_by_the_book(steps, &edges), "{text}");
        }
    }
}
