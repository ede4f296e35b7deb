//! Pictures of operations in the middle of something: nothing has run in them until a test says so.

use std::sync::Arc;

use crate::engine::id::{ExecutionId, Lap, OperationId};
use crate::engine::operation::view::{
    CouncilView, EdgeStatus, EdgeView, ExecutionView, IterationView, MemberStatus, MemberView,
    OperationState, OperationView, RepeatView, StepStatus, StepView,
};
use crate::engine::routine::definition::{Body, CouncilStrategy};
use crate::tui::message::Message;
use crate::tui::stage::Stage;
use crate::tui::state::scene::nested;

/// A picture of an operation that a test makes up.
pub(in crate::tui) struct MadeUp {
    pub(in crate::tui) view: OperationView,
    body: Body,
}

impl Stage {
    /// A picture in which nothing has run.
    pub(in crate::tui) fn made_up(&self, id: &str) -> MadeUp {
        let mut view = self.view(id, OperationState::Running);
        let operation = self.state.operations.get(&OperationId::from(id));
        let body = operation.expect("started").routine.definition.body.clone();
        view.executions = vec![idle(&body, view.operation.execution(1), None)];
        MadeUp {
            view,
            body: (*body).clone(),
        }
    }

    pub(in crate::tui) fn sees(&mut self, made_up: &MadeUp) {
        self.tell(Message::Viewed(Box::new(made_up.view.clone())));
    }
}

impl MadeUp {
    /// A step of an execution, by its place among the executions.
    pub(in crate::tui) fn step_in(&mut self, execution: usize, slug: &str) -> &mut StepView {
        let mut steps = self.view.executions[execution].steps.iter_mut();
        steps.find(|step| step.slug == slug).expect("a step")
    }

    /// A step of the operation's own graph.
    pub(in crate::tui) fn step(&mut self, slug: &str) -> &mut StepView {
        self.step_in(0, slug)
    }

    /// Steps stand so, in their first lap.
    pub(in crate::tui) fn stand(&mut self, slugs: &[&str], status: StepStatus) -> &mut Self {
        for slug in slugs {
            let step = self.step(slug);
            step.status = status;
            step.lap = Lap(step.lap.0.max(1));
        }
        self
    }

    /// Edges `from>to` stand so.
    pub(in crate::tui) fn edges(&mut self, edges: &[&str], status: EdgeStatus) -> &mut Self {
        for edge in edges {
            let (from, to) = edge.split_once('>').expect("two ends");
            let mut all = self.view.executions[0].edges.iter_mut();
            let found = all.find(|edge| edge.from == from && edge.to == to);
            found.expect("an edge").status = status;
        }
        self
    }

    /// A repeating step is at an iteration, from 0; gives its place among the executions.
    pub(in crate::tui) fn inside(&mut self, slug: &str, index: u64, total: Option<u64>) -> usize {
        let count = total.unwrap_or(3);
        let step = self.step(slug);
        step.status = StepStatus::Running;
        step.lap = Lap(1);
        step.repeat = Some(RepeatView {
            current: Some(index),
            done: index,
            count,
            total,
        });
        let body = self.body.steps.iter().find(|step| step.slug == slug);
        let body = nested(body.expect("a step")).expect("it repeats").clone();
        let around = self.view.executions[0].id.clone();
        let id = self.view.operation.execution(2 + index);
        let iteration = IterationView {
            execution: around,
            step: slug.to_owned(),
            index,
            total,
        };
        let inside = idle(&body, id, Some(iteration));
        self.view.executions.push(inside);
        self.view.executions.len() - 1
    }

    /// The latest execution is over, and looks so from now on.
    pub(in crate::tui) fn over(&mut self, status: StepStatus) {
        let mut over = self.view.executions.pop().expect("an iteration");
        for step in &mut over.steps {
            step.status = status;
            step.lap = Lap(1);
        }
        self.view.past.push(Arc::new(over));
    }
}

fn idle(body: &Body, id: ExecutionId, iteration: Option<IterationView>) -> ExecutionView {
    let steps = body.steps.iter().map(|step| StepView {
        slug: step.slug.clone(),
        kind: step.kind.label().to_owned(),
        agent: None,
        lap: Lap(0),
        status: StepStatus::Idle,
        output: None,
        note: None,
        council: None,
        repeat: None,
    });
    let edges = body.edges.iter().map(|edge| EdgeView {
        from: edge.from.clone(),
        to: edge.to.clone(),
        condition: edge.condition.label().to_owned(),
        status: EdgeStatus::Pending,
        budget: None,
    });
    ExecutionView {
        id,
        iteration,
        steps: steps.collect(),
        edges: edges.collect(),
    }
}

/// A council of which the members stand so, with their words.
pub(in crate::tui) fn council(
    strategy: CouncilStrategy,
    leader: MemberStatus,
    members: &[(&str, MemberStatus, &str)],
) -> CouncilView {
    let members = members.iter().map(|&(agent, status, note)| MemberView {
        agent: agent.to_owned(),
        status,
        note: (!note.is_empty()).then(|| note.to_owned()),
    });
    CouncilView {
        strategy,
        leader: MemberView {
            agent: "chair".to_owned(),
            status: leader,
            note: None,
        },
        members: members.collect(),
        calls: (strategy == CouncilStrategy::Dynamic).then_some((3, 8)),
    }
}
