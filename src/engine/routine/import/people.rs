//! Human steps as operator gates: three words on their edges become two verdicts.
//!
//! A person's `fail` rejects by the edges that lead on and asks for rework by those that lead back
//! (G6). So `rejected` and `changes_requested` of one step stay apart only where the graph tells
//! them apart in that way.

use std::collections::{HashMap, HashSet};

use crate::engine::routine::file::Node;
use crate::engine::routine::import::foreign::Desk;
use crate::engine::routine::issue::Code;

/// The slugs of a manifest's human steps.
pub(super) fn steps(steps: &[Node]) -> HashSet<&str> {
    let human = |step: &&Node| step.get("step_type").and_then(Node::as_text) == Some("human");
    steps
        .iter()
        .filter(human)
        .filter_map(|step| step.get("slug")?.as_text())
        .collect()
}

/// A decision's word as one of our conditions; other words stay, for the reader to report.
pub(super) fn condition(word: &str) -> &str {
    match word {
        "approved" => "on_pass",
        "rejected" | "changes_requested" => "on_fail",
        other => other,
    }
}

/// Reports human steps whose two ways to fail lead the same way: our operator couldn't choose.
pub(super) fn tell_apart(desk: Desk<'_>, edges: &[Node], human: &HashSet<&str>) {
    let links: Vec<Link<'_>> = edges.iter().filter_map(Link::of).collect();
    let said: HashSet<(&str, &str)> = links.iter().map(|link| (link.from, link.word)).collect();
    let passing = Ways::of(links.iter().filter(|link| !link.fails()));
    let all = Ways::of(links.iter());
    let asked = |link: &&Link<'_>| {
        human.contains(link.from)
            && said.contains(&(link.from, "rejected"))
            && said.contains(&(link.from, "changes_requested"))
    };
    let mut judged = HashSet::new();
    for link in links.iter().filter(asked) {
        if !judged.insert((link.from, link.to, link.word)) {
            // A twin is reported as such, and leads nowhere else.
            continue;
        }
        let problem = match link.word {
            // Certainly a way back: no failing edge is needed to come round.
            "rejected" if passing.lead(link.to, link.from) => {
                "leads back, as `changes_requested` does"
            }
            // Certainly a way on: nothing that leads from there comes round.
            "changes_requested" if !all.lead(link.to, link.from) => "leads on, as `rejected` does",
            _ => continue,
        };
        let label = format!("{}->{}", link.from, link.to);
        let message = format!(
            "`{}` {problem}, and an operator's fail couldn't choose; that isn't supported",
            link.word
        );
        desk.about_edge(Some(&label))
            .report(Code::Unsupported, link.at.at, message);
    }
}

/// An edge, as far as its direction is concerned.
struct Link<'a> {
    from: &'a str,
    to: &'a str,
    word: &'a str,
    /// The condition's node.
    at: &'a Node,
}

impl<'a> Link<'a> {
    fn of(edge: &'a Node) -> Option<Self> {
        let at = edge.get("condition").unwrap_or(edge);
        Some(Self {
            from: edge.get("source_step")?.as_text()?,
            to: edge.get("target_step")?.as_text()?,
            word: at.as_text().unwrap_or("always"),
            at,
        })
    }

    fn fails(&self) -> bool {
        matches!(self.word, "on_fail" | "rejected" | "changes_requested")
    }
}

/// Where some links lead from each step.
struct Ways<'a>(HashMap<&'a str, Vec<&'a str>>);

impl<'a> Ways<'a> {
    fn of<'l>(links: impl Iterator<Item = &'l Link<'a>>) -> Self
    where
        'a: 'l,
    {
        let mut out: HashMap<&str, Vec<&str>> = HashMap::new();
        for link in links {
            out.entry(link.from).or_default().push(link.to);
        }
        Self(out)
    }

    fn lead(&self, from: &str, to: &str) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![from];
        while let Some(step) = open.pop() {
            if step == to {
                return true;
            }
            if seen.insert(step) {
                open.extend(self.0.get(step).into_iter().flatten());
            }
        }
        false
    }
}
