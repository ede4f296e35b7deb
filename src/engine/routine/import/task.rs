//! Tasks as steps of the default agent, and their dependencies as edges.

use std::collections::HashSet;

use crate::engine::routine::file::{Content, Node};
use crate::engine::routine::import::foreign::{Desk, Foreign, Made, list, text};
use crate::engine::routine::import::names::{Meant, Names};
use crate::engine::routine::import::text::{templates, tools};
use crate::engine::routine::import::{repeat, unsupported};
use crate::engine::routine::issue::Code;

/// A list of tasks with what lies around it.
pub(super) struct TaskList<'a> {
    pub(super) desk: Desk<'a>,
    pub(super) names: &'a Names<'a>,
    /// The tools that the whole list needs: those of tasks that suggest none.
    pub(super) tools: Option<&'a Node>,
    /// The level of the list, the outermost being 1.
    pub(super) level: usize,
}

impl TaskList<'_> {
    /// Adds the steps, edges and entries that a list of tasks stands for.
    pub(super) fn rewrite(&self, tasks: &Node, made: &mut Made) {
        let Some(items) = tasks.as_list() else {
            // The reader says the same of all three, which makes one problem.
            for ours in ["entry_steps", "steps", "edges"] {
                made.put(ours, tasks.clone());
            }
            return;
        };
        let mut steps: Vec<Node> = Vec::with_capacity(items.len() + 1);
        let mut entries = Vec::new();
        let mut edges = Vec::new();
        let mut needed = HashSet::new();
        for (index, item) in items.iter().enumerate() {
            steps.push(self.task(item, index));
            if !self.names.is_first(index) {
                continue;
            }
            let before = self.dependencies(item, index, &mut edges, &mut needed);
            if let (0, Some(slug)) = (before, &self.names.slugs[index]) {
                let at = item.get("name").unwrap_or(item).at;
                entries.push(text(at, slug));
            }
        }
        if let Some(last) = (0..items.len()).rfind(|&task| self.names.is_first(task)) {
            let done = self.names.free_terminal();
            let mut ends: Vec<usize> = (0..items.len())
                .filter(|&task| self.names.is_first(task) && !needed.contains(&task))
                .collect();
            if ends.is_empty() {
                // Every task waits for another. The cycle is reported, and that's enough.
                ends.push(last);
            }
            for task in ends {
                if let Some(slug) = &self.names.slugs[task] {
                    edges.push(edge(&items[task], slug, &done, "Give the final result."));
                }
            }
            let mut terminal = Made::at(tasks.at);
            terminal.put("slug", text(tasks.at, &done));
            terminal.put("type", text(tasks.at, "terminal"));
            steps.push(terminal.node());
        }
        made.put("entry_steps", list(tasks.at, entries));
        made.put("steps", list(tasks.at, steps));
        made.put("edges", list(tasks.at, edges));
    }

    /// Adds an edge for each dependency; gives how many of them are tasks.
    fn dependencies(
        &self,
        task: &Node,
        index: usize,
        edges: &mut Vec<Node>,
        needed: &mut HashSet<usize>,
    ) -> usize {
        let Some(own) = self.names.slugs[index].as_deref() else {
            return 0;
        };
        let mut found = 0;
        let mut named = HashSet::new();
        let items = task.get("dependsOn").and_then(Node::as_list);
        for item in items.unwrap_or_default() {
            let Some(word) = item.as_text() else {
                let desk = self.desk.about_step(Some(own));
                desk.mistyped(item, "a dependency", "the name or the id of a task");
                continue;
            };
            let from = match self.names.meant(word) {
                // Once by name and once by id is still one dependency.
                Meant::One(task) if !named.insert(task) => continue,
                Meant::One(task) => {
                    needed.insert(task);
                    found += 1;
                    self.names.slugs[task].as_deref().unwrap_or(word)
                }
                Meant::Two => {
                    let message = format!("`{word}` is the name of one task and the id of another");
                    let desk = self.desk.about_step(Some(own));
                    desk.report(Code::BadValue, item.at, message);
                    continue;
                }
                // The rules say that there is no such step.
                Meant::Nothing => word,
            };
            let give = format!("Give the result that `{own}` depends on.");
            edges.push(edge(item, from, own, &give));
        }
        found
    }

    fn task(&self, node: &Node, index: usize) -> Node {
        let slug = self.names.slugs[index].as_deref();
        let desk = self.desk.about_step(slug);
        let Some(fields) = Foreign::open(desk, node, "task") else {
            return node.clone();
        };
        // Read elsewhere, but a wrong type is said here.
        fields.items("dependsOn");
        fields.aside(&["id", "metadata"]);
        unsupported::of_task(&fields);
        unsupported::scheduling(&fields);
        let mut calls = None;
        if let Some(execution) = fields.inside("execution") {
            unsupported::scheduling(&execution);
            calls = execution.entry("maxIterations");
            // Nothing here runs twice at a time, so there is no race to be protected from.
            execution.aside(&["raceProtection"]);
            execution.close();
        }
        let flow = fields.inside("controlFlow");
        let repeats = flow.as_ref().and_then(repeat::kind);
        let at = match &flow {
            Some(flow) if repeats.is_some() && repeat::lacks(flow) => flow.at,
            Some(_) | None => node.at,
        };
        let mut made = Made::at(at);
        match (slug, fields.entry("name")) {
            (Some(slug), Some(name)) => {
                made.put("slug", text(name.value.at, slug));
                made.carry("name", Some(name));
            }
            (_, name) => made.carry("slug", name),
        }
        let judged = fields.inside("validation");
        if let Some(validation) = &judged {
            unsupported::validation(validation);
        }
        match (flow, repeats) {
            (Some(flow), Some(_)) => {
                // The work is that of the tasks inside.
                fields.aside(&["description", "expectedOutput", "suggestedTools"]);
                if let Some(validation) = &judged {
                    refuse_criteria(validation);
                }
                repeat::rewrite(self, &flow, &mut made);
                flow.close();
            }
            // A control flow of no known type was reported; what lies in it can't be read.
            (Some(_) | None, _) => {
                made.put("type", text(node.at, "agent"));
                made.put("agent", text(node.at, "default"));
                for (ours, theirs) in [
                    ("instructions", "description"),
                    ("expected_output", "expectedOutput"),
                ] {
                    made.carry_as(ours, fields.entry(theirs), |node| {
                        templates(self.names, node)
                    });
                }
                match (fields.entry("suggestedTools"), self.tools) {
                    (None, Some(all)) => made.put("tools", tools(all)),
                    (suggested, _) => made.carry_as("tools", suggested, tools),
                }
                made.carry("max_model_calls", calls);
                if let Some(validation) = &judged {
                    criteria(validation, self.names, &mut made);
                }
            }
        }
        if let Some(validation) = judged {
            validation.close();
        }
        made.carry_as("condition", fields.entry("condition"), |node| {
            condition(desk, node, OnFalse::Counts)
        });
        fields.close();
        made.node()
    }
}

/// An edge that comes from a place.
fn edge(place: &Node, from: &str, to: &str, give: &str) -> Node {
    let mut made = Made::at(place.at);
    made.put("from", text(place.at, from));
    made.put("to", text(place.at, to));
    made.put("handoff_instructions", text(place.at, give));
    made.node()
}

/// Whether a condition that is false does something, or only doesn't end a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnFalse {
    Counts,
    MeansNothing,
}

/// A condition on a memory key.
pub(super) fn condition(desk: Desk<'_>, node: &Node, on_false: OnFalse) -> Node {
    let Some(fields) = Foreign::open(desk, node, "condition") else {
        return node.clone();
    };
    let mut made = Made::at(node.at);
    made.carry("memory_key", fields.entry("memoryKey"));
    made.carry("operator", fields.entry("operator"));
    made.carry("value", fields.entry_or_null("value"));
    let written = fields.entry("onFalse");
    if on_false == OnFalse::Counts {
        made.carry("on_false", written);
    }
    fields.close();
    made.node()
}

/// Criteria, and a reflection where one is asked for: `skipReflection` is false and there are criteria.
fn criteria(validation: &Foreign<'_>, names: &Names<'_>, made: &mut Made) {
    let criteria = validation.entry("completionCriteria");
    made.carry_as("criteria", criteria, |node| templates(names, node));
    let written = criteria.and_then(|entry| entry.value.as_list());
    let mode = validation.value("mode");
    let score = validation.entry("minCompletionScore");
    let mut reflection = Made::at(validation.at);
    match reflects(validation) && written.is_some_and(|list| !list.is_empty()) {
        true => reflection.put(
            "mode",
            match mode {
                Some(mode) => mode.clone(),
                None => text(validation.at, "strict"),
            },
        ),
        false => {
            reflection.put("mode", text(validation.at, "off"));
            let known = |node: &&Node| !matches!(node.as_text(), Some("strict" | "warn"));
            if let Some(mode) = mode.filter(known) {
                validation
                    .desk
                    .report(Code::BadValue, mode.at, "mode is one of strict, warn");
            }
        }
    }
    reflection.carry("min_score", score);
    made.put("reflection", reflection.node());
}

fn reflects(validation: &Foreign<'_>) -> bool {
    match validation.value("skipReflection") {
        None => false,
        Some(node) => match node.content {
            Content::Bool(skips) => !skips,
            Content::Null
            | Content::Number(_)
            | Content::Text(_)
            | Content::List(_)
            | Content::Map(_) => {
                let desk = validation.desk;
                desk.mistyped(node, "skipReflection", "true or false");
                false
            }
        },
    }
}

/// A repetition has no answer of its own that a model could judge.
fn refuse_criteria(validation: &Foreign<'_>) {
    validation.aside(&["minCompletionScore", "mode"]);
    let asked = reflects(validation);
    if let Some(criteria) = validation.entry("completionCriteria")
        && asked
    {
        let message = "criteria of a control flow aren't supported; give them to a task inside";
        validation
            .desk
            .report(Code::Unsupported, criteria.at, message);
    }
}
