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
    let by_person = |link: &&Link<'_>| human.contains(link.from);
    let kinds = |step: &str| {
        let of = |word| {
            links
                .iter()
                .any(|link| link.from == step && link.word == word)
        };
        of("rejected") && of("changes_requested")
    };
    for link in links
        .iter()
        .filter(by_person)
        .filter(|link| kinds(link.from))
    {
        let problem = match link.word {
            // Certainly a way back: no failing edge is needed to come round.
            "rejected" if leads(&links, link, |other| !other.fails()) => {
                "leads back, as `changes_requested` does"
            }
            // Certainly a way on: nothing that leads from there comes round.
            "changes_requested" if !leads(&links, link, |other| other.from != link.from) => {
                "leads on, as `rejected` does"
            }
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

/// Whether some links lead from a link's target to its source.
fn leads(links: &[Link<'_>], back: &Link<'_>, takes: impl Fn(&Link<'_>) -> bool) -> bool {
    let mut out: HashMap<&str, Vec<&str>> = HashMap::new();
    for link in links.iter().filter(|link| takes(link)) {
        out.entry(link.from).or_default().push(link.to);
    }
    let mut seen = HashSet::new();
    let mut open = vec![back.to];
    while let Some(step) = open.pop() {
        if step == back.from {
            return true;
        }
        if seen.insert(step) {
            open.extend(out.get(step).into_iter().flatten());
        }
    }
    false
}
