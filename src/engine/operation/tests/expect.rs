//! What can be asked of a story so far, and what must be so.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engine::capability::EffectClass;
use crate::engine::id::Lap;
use crate::engine::operation::outcome::{Outcome, Status};
use crate::engine::operation::published::PublicEvent;
use crate::engine::operation::state::{Chair, Seat};
use crate::engine::operation::tests::play::{Looked, Play};
use crate::engine::operation::tests::words::Seen;
use crate::engine::operation::view::OperationState;
use crate::engine::operation::wait::{Wait, WaitKind};
use crate::engine::ports::ModelRequest;
use crate::engine::verify::Held;

impl Play {
    // What can be asked of the story so far.

    /// Who has something in flight, in the order in which it was begun.
    pub(super) fn running(&self) -> Vec<&str> {
        self.in_flight
            .iter()
            .map(|(_, step)| step.as_str())
            .collect()
    }

    pub(super) fn state(&self) -> OperationState {
        self.machine.state()
    }

    /// How often a step was submitted to its model.
    pub(super) fn submissions(&self, step: &str) -> usize {
        self.count(|event| match event {
            PublicEvent::StepSubmitted { at } => at.step.as_deref() == Some(step),
            _ => false,
        })
    }

    /// How often a step's model was asked, corrections included.
    pub(super) fn model_calls(&self, step: &str) -> usize {
        let of_step = self.requests.iter().filter(|((held, _), _)| held == step);
        of_step.map(|(_, requests)| requests.len()).sum()
    }

    fn count(&self, what: impl Fn(&PublicEvent) -> bool) -> usize {
        self.published.iter().filter(|event| what(event)).count()
    }

    /// The first request of a step's lap.
    pub(super) fn request(&self, step: &str, lap: u32) -> &ModelRequest {
        &self.all_requests(step, lap)[0]
    }

    /// The latest request of a step's lap.
    pub(super) fn latest_request(&self, step: &str, lap: u32) -> &ModelRequest {
        self.all_requests(step, lap).last().expect("a request")
    }

    fn all_requests(&self, step: &str, lap: u32) -> &[ModelRequest] {
        match self.requests.get(&(step.to_owned(), lap)) {
            Some(requests) => requests,
            None => panic!("no request of {step} in lap {lap}: {:?}", self.events()),
        }
    }

    /// The requests of a step's laps so far, corrections included, one iteration after another.
    pub(super) fn prompts(&self, step: &str) -> Vec<&str> {
        let of_step = self.requests.iter().filter(|((held, _), _)| held == step);
        of_step
            .flat_map(|(_, requests)| requests.iter().map(Seen::prompt))
            .collect()
    }

    /// Output and data of a step's latest settled verdict.
    pub(super) fn settled(&self, step: &str) -> (&Value, &Value) {
        let found = self.published.iter().rev().find_map(|event| match event {
            PublicEvent::StepSettled {
                at, output, data, ..
            } if at.step.as_deref() == Some(step) => Some((output, data)),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{step} didn't settle: {:?}", self.events()))
    }

    /// What routine memory holds.
    pub(super) fn memory(&self, key: &str) -> Option<&Value> {
        self.machine.memory.get(key)
    }

    pub(super) fn lap(&self, step: &str) -> u32 {
        let view = self.machine.view();
        let found = view.executions[0]
            .steps
            .iter()
            .find(|held| held.slug == step);
        let Lap(lap) = found.unwrap_or_else(|| panic!("no step {step}")).lap;
        lap
    }

    pub(super) fn outcome(&self) -> &Outcome {
        match &self.settled {
            Some(outcome) => outcome,
            None => panic!("not settled: {:?}", self.events()),
        }
    }

    pub(super) fn effects(&self) -> EffectClass {
        self.outcome().effects.expect("an effect class")
    }

    /// What the verifier was last shown about a step.
    pub(super) fn seen(&self, step: &str) -> &Looked {
        let of_step = |looked: &&Looked| looked.step == step;
        self.looked
            .iter()
            .rev()
            .find(of_step)
            .unwrap_or_else(|| panic!("{step} was never looked at"))
    }

    pub(super) fn looks(&self, step: &str) -> usize {
        self.looked
            .iter()
            .filter(|looked| looked.step == step)
            .count()
    }

    /// What every lap was shown first, and how it all ended: what no order of arrival may change.
    pub(super) fn transcript(&self) -> (BTreeMap<(String, u32), String>, Option<Outcome>) {
        let prompts = self
            .requests
            .iter()
            .map(|(at, requests)| (at.clone(), requests[0].prompt().to_owned()));
        (prompts.collect(), self.settled.clone())
    }

    /// Whose wait it is: the step's, at a council `step/agent`, or that of the `final` look.
    pub(super) fn who_waits(&self, wait: &Wait) -> String {
        let Some(step) = &wait.key.step else {
            return "final".into();
        };
        match (self.machine.find(&wait.key), wait.key.check) {
            (Some(at), Some(chair))
                if matches!(wait.kind, WaitKind::Permission | WaitKind::Delivery) =>
            {
                let chair = Chair::Council(chair);
                self.seat(Seat { at, chair })
            }
            (Some(_) | None, _) => step.clone(),
        }
    }

    // What must be so.

    pub(super) fn expect_running<const N: usize>(&mut self, steps: [&str; N]) -> &mut Self {
        assert_eq!(self.running(), steps, "{:?}", self.events());
        self
    }

    pub(super) fn expect_paused<const N: usize>(
        &mut self,
        state: Held,
        waits: [(&str, &str); N],
    ) -> &mut Self {
        assert_eq!(
            self.state(),
            OperationState::Paused(state),
            "{:?}",
            self.events()
        );
        let held = self.machine.waits();
        let held: Vec<(String, &str)> = held
            .iter()
            .map(|wait| (self.who_waits(wait), wait.kind.label()))
            .collect();
        assert_eq!(held, waits.map(|(who, kind)| (who.to_owned(), kind)));
        assert_eq!(self.continuation, Some(self.machine.generation()));
        self
    }

    pub(super) fn expect_succeeded(&mut self) -> &mut Self {
        assert_eq!(
            self.outcome().status,
            Status::Succeeded,
            "{:?}",
            self.outcome()
        );
        assert_eq!(self.outcome().reason, None);
        self
    }

    pub(super) fn expect_failed(&mut self, reason: &str) -> &mut Self {
        let outcome = self.outcome();
        assert_eq!(
            (outcome.status, outcome.reason.as_deref()),
            (Status::Failed, Some(reason)),
            "{outcome:?}"
        );
        self
    }

    pub(super) fn expect_cancelled(&mut self) -> &mut Self {
        let outcome = self.outcome();
        assert_eq!(
            (outcome.status, outcome.reason.as_deref()),
            (Status::Cancelled, Some("cancelled"))
        );
        self
    }

    pub(super) fn expect_lap(&mut self, step: &str, lap: u32) -> &mut Self {
        assert_eq!(self.lap(step), lap, "{step}: {:?}", self.events());
        self
    }

    /// A step's latest settled verdict and reason.
    pub(super) fn expect_settled(&mut self, step: &str, verdict: &str) -> &mut Self {
        let settled = self.events().into_iter().rev().find_map(|line| {
            line.strip_prefix(&format!("{step} settled "))
                .map(str::to_owned)
        });
        assert_eq!(settled.as_deref(), Some(verdict), "{:?}", self.events());
        self
    }
}
