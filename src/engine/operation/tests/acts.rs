//! What the world does in a story: models answer, tools reply, people decide, time passes.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::json;

use crate::engine::evidence::Receipt;
use crate::engine::id::{RequestId, SourceId};
use crate::engine::operation::Admission;
use crate::engine::operation::event::{Event, VerifierFailure};
use crate::engine::operation::tests::play::{Asked, Looked, Play};
use crate::engine::operation::tests::words::Verdict;
use crate::engine::operation::tests::words::answered;
use crate::engine::operation::wait::{Answer, BadAnswer, Wait, WaitKey};
use crate::engine::ports::{ModelOutcome, ModelReply, Permission, ToolCall, ToolOutcome};
use crate::engine::routine::definition::EdgeCondition;
use crate::engine::verify::Decision;

impl Play {
    /// `seat` is a step, or `step/agent` at a council; the same in everything below.
    fn take_asked(&mut self, seat: &str) -> Asked {
        let found = self.asked.iter().position(|asked| asked.seat == seat);
        let found =
            found.unwrap_or_else(|| panic!("no model works on {seat}: {:?}", self.events()));
        let asked = self.asked.remove(found);
        self.done_with(asked.request);
        asked
    }

    /// The model that works on a step ends it with a verdict.
    pub(super) fn answer(&mut self, seat: &str, verdict: Verdict) -> &mut Self {
        let asked = self.take_asked(seat);
        let step = asked.place.step.as_str();
        let held = self.machine.find_execution(&asked.place.execution);
        let held = held.unwrap_or_else(|| panic!("{step} works for what is over"));
        let graph = &self.machine.executions[held].graph;
        let index = graph.find(step).unwrap_or_else(|| panic!("no step {step}"));
        let mut targets = BTreeMap::new();
        for &edge in graph.outgoing(index) {
            let on_fail = graph.edge(edge).condition == EdgeCondition::OnFail;
            if on_fail == verdict.is_fail() {
                let handoff = json!({ "from": step, "lap": asked.place.lap.0 });
                targets.insert(graph.edge_text(edge).to.clone(), handoff);
            }
        }
        let call = verdict.call(targets);
        self.reply_to(asked.request, answered(vec![call]))
    }

    /// The model that works on a step makes these calls.
    pub(super) fn calls<const N: usize>(&mut self, step: &str, calls: [ToolCall; N]) -> &mut Self {
        self.reply(step, answered(calls.to_vec()))
    }

    /// The model that works on a step says something and calls nothing.
    pub(super) fn says(&mut self, step: &str, text: &str) -> &mut Self {
        let mut outcome = answered(Vec::new());
        if let ModelOutcome::Answered(answer) = &mut outcome {
            answer.text = Some(text.to_owned());
        }
        self.reply(step, outcome)
    }

    /// This comes of the model request of a step.
    pub(super) fn reply(&mut self, step: &str, outcome: ModelOutcome) -> &mut Self {
        let request = self.take_asked(step).request;
        self.reply_to(request, outcome)
    }

    fn reply_to(&mut self, request: RequestId, outcome: ModelOutcome) -> &mut Self {
        let reply = ModelReply {
            outcome,
            request: Bytes::from(format!("request {}", request.0)),
            response: Bytes::from(format!("response {}", request.0)),
        };
        self.tell(Event::ModelReplied {
            request,
            reply: Box::new(reply),
        })
    }

    /// The model request of a step goes out once more (M2).
    pub(super) fn sends_again(&mut self, step: &str, attempt: u32) -> &mut Self {
        let asked = self.asked.iter().find(|asked| asked.seat == step);
        let request = asked.expect("a model request").request;
        self.tell(Event::RequestSent { request, attempt })
    }

    /// This comes of the tool call of a step.
    pub(super) fn tool(&mut self, step: &str, outcome: ToolOutcome) -> &mut Self {
        let found = self.called.iter().position(|called| called.seat == step);
        let found =
            found.unwrap_or_else(|| panic!("no tool works for {step}: {:?}", self.events()));
        let request = self.called.remove(found).request;
        self.done_with(request);
        self.tell(Event::ToolReplied { request, outcome })
    }

    /// A pending call is delivered.
    pub(super) fn deliver(&mut self, delivery: &str, outcome: ToolOutcome) -> &mut Self {
        self.tell(Event::ToolDelivered {
            delivery: delivery.into(),
            outcome,
        })
    }

    /// The host says whether the step's call may be made.
    pub(super) fn permission(&mut self, step: &str, permission: Permission) -> &mut Self {
        let found = self.questions.iter().position(|asked| asked.seat == step);
        let found = found.unwrap_or_else(|| panic!("no permission is asked for {step}"));
        let request = self.questions.remove(found).request;
        self.done_with(request);
        self.tell(Event::PermissionDecided {
            request,
            permission,
        })
    }

    /// The verifier answers about a step, or about the end (`final`).
    pub(super) fn verify(&mut self, step: &str, decision: Decision) -> &mut Self {
        self.verifier(step, Ok(decision))
    }

    pub(super) fn verifier(
        &mut self,
        step: &str,
        decision: Result<Decision, VerifierFailure>,
    ) -> &mut Self {
        let open =
            |looked: &&Looked| looked.step == step && !self.answered.contains(&looked.request);
        let request = match self.looked.iter().find(open) {
            Some(looked) => looked.request,
            None => panic!("nothing is asked about {step}: {:?}", self.events()),
        };
        self.answered.insert(request);
        self.done_with(request);
        self.tell(Event::VerifierDecided { request, decision })
    }

    /// Somebody resumes without any answer.
    pub(super) fn resume(&mut self) -> &mut Self {
        self.admit(Vec::new())
    }

    fn admit(&mut self, answers: Vec<(WaitKey, Answer)>) -> &mut Self {
        let held = self.continuation.take().expect("a continuation");
        assert_eq!(held, self.machine.generation());
        let generation = held.next();
        self.tell(Event::ResumeAdmitted {
            generation,
            answers,
        })
    }

    /// Somebody resumes and answers the waits of these steps.
    pub(super) fn resume_with<const N: usize>(
        &mut self,
        answers: [(&str, Answer); N],
    ) -> &mut Self {
        let answers = self.keyed(answers);
        self.machine
            .check_answers(&answers, Admission::Resume)
            .expect("good answers");
        self.admit(answers)
    }

    /// Somebody reconciles (V10a).
    pub(super) fn reconcile<const N: usize>(&mut self, answers: [(&str, Answer); N]) -> &mut Self {
        let answers = self.keyed(answers);
        self.machine
            .check_answers(&answers, Admission::Reconcile)
            .expect("good answers");
        self.admit(answers)
    }

    /// What is wrong with an answer; nothing is changed.
    pub(super) fn refused(&self, step: &str, answer: Answer, admission: Admission) -> BadAnswer {
        let answers = self.keyed([(step, answer)]);
        self.machine
            .check_answers(&answers, admission)
            .expect_err("a bad answer")
    }

    fn keyed<const N: usize>(&self, answers: [(&str, Answer); N]) -> Vec<(WaitKey, Answer)> {
        answers
            .map(|(step, answer)| (self.wait(step).key, answer))
            .to_vec()
    }

    /// What is waited for at a step; `final` is the final look.
    pub(super) fn wait(&self, step: &str) -> Wait {
        let waits = self.machine.waits();
        let named = |wait: &&Wait| self.who_waits(wait) == step;
        match waits.iter().find(named) {
            Some(wait) => wait.clone(),
            None => panic!("nothing waits at {step}: {waits:?}"),
        }
    }

    /// So many milliseconds pass, and every timer that is due fires.
    pub(super) fn passes(&mut self, ms: u64) -> &mut Self {
        let until = self.now + ms;
        while let Some((at, timer)) = self
            .timers
            .iter()
            .map(|(timer, at)| (*at, timer.clone()))
            .filter(|(at, _)| *at <= until)
            .min()
        {
            self.now = at;
            self.timers.remove(&timer);
            self.tell(Event::TimerFired(timer));
        }
        self.now = until;
        self
    }

    pub(super) fn cancel(&mut self) -> &mut Self {
        self.tell(Event::CancelRequested)
    }

    pub(super) fn close(&mut self) -> &mut Self {
        self.tell(Event::CloseRequested)
    }

    /// The archive's reference for everything that is held.
    pub(super) fn acknowledge_everything(&mut self) -> &mut Self {
        let sources: Vec<SourceId> = self
            .machine
            .sources()
            .iter()
            .map(|held| held.id.clone())
            .collect();
        for source in sources {
            let header = self
                .machine
                .sources()
                .iter()
                .find(|held| held.id == source)
                .expect("held");
            let receipt = Receipt {
                uri: format!("archive:{source}"),
                sha256: header.sha256.clone(),
                bytes: header.bytes,
            };
            self.tell(Event::SourceAcknowledged { source, receipt });
        }
        self
    }
}
