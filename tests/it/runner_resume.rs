//! Going on after a pause: who may, what a refusal leaves, and what happens meanwhile.

use std::sync::Arc;

use amos_tui::engine::operation::outcome::Verdict;
use amos_tui::engine::operation::wait::{Answer, OperatorVerdict, Permit};
use amos_tui::engine::runner::{
    Authorization, Authorize, Continuation, ModelTask, Paused, Refusal, ResumeRefused,
    ResumeRequest,
};
use amos_tui::engine::verify::Decision;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::world::models::Agreeing;
use crate::world::tools::Bench;
use crate::world::verifiers::{Scripted, waiting};
use crate::world::{ONE_STEP, ONE_TOOL, OPERATOR_GATE, World, handle, paused, settled};

/// A world whose verifier says "not yet" once.
fn waits_once() -> World {
    let mut world = World::new();
    world.verifier = Arc::new(Scripted::new([waiting("queued"), Decision::by_policy()]));
    world
}

#[tokio::test]
async fn a_resume_verifies_again_and_sends_nothing_again() {
    // V6
    let mut world = waits_once();
    let model = Arc::new(Agreeing::default());
    world.models = model.clone();
    let runner = world.runner();
    let task = ModelTask::new();
    let result = runner.run(world.request(ONE_STEP, &task)).await;
    let paused = paused(result.expect("admitted"));
    assert_eq!(paused.reason, "queued");
    let resumed = runner
        .resume(paused.continuation, world.consent(&task))
        .await;
    assert_eq!(settled(resumed.expect("admitted")).0, "succeeded");
    assert_eq!(model.calls(), 1);
    assert_eq!(world.events.count("step.submitted"), 1);
    assert_eq!(world.events.count("operation.resumed"), 1);
}

#[tokio::test]
async fn what_a_caller_does_to_its_definition_after_the_start_changes_nothing() {
    // B5, H6, V19: no other graph ever comes near a handle
    let world = waits_once();
    let runner = world.runner();
    let task = ModelTask::new();
    let request = world.request(ONE_STEP, &task);
    let mut mine = request.routine.definition.clone();
    let paused = paused(runner.run(request).await.expect("admitted"));
    let definition = Arc::make_mut(&mut mine);
    definition.slug = "another".into();
    Arc::make_mut(&mut definition.body).steps.clear();
    let operation = paused.continuation.operation().clone();
    let view = runner.view(&operation).await.expect("held");
    assert_eq!(
        (view.routine.as_str(), view.executions[0].steps.len()),
        ("one-step", 2)
    );
    let resumed = runner
        .resume(paused.continuation, world.consent(&task))
        .await;
    assert_eq!(settled(resumed.expect("admitted")).0, "succeeded");
}

/// Resumes, expects a refusal, and gives back the handle and the reason.
async fn refused(
    world: &World,
    runner: &amos_tui::engine::runner::RoutineRunner,
    continuation: Continuation,
    change: impl FnOnce(&mut ResumeRequest),
    task: &ModelTask,
) -> (Continuation, Refusal) {
    let mut request = world.consent(task);
    change(&mut request);
    let ResumeRefused { continuation, why } = runner
        .resume(continuation, request)
        .await
        .expect_err("refused");
    (continuation, why)
}

#[tokio::test]
async fn every_refusal_leaves_everything_as_it_was_and_gives_the_handle_back() {
    // V5, V7
    let world = waits_once();
    let runner = world.runner();
    let task = ModelTask::new();
    let result = runner.run(world.request(ONE_STEP, &task)).await;
    let (operation, continuation) = handle(result.expect("admitted"));
    let before = runner.inspect(&operation).await.expect("held");
    let events = world.events.all().len();

    let denied = Authorize::by(|_| async {
        Ok(Authorization::Denied {
            reason: "not you".into(),
        })
    });
    let (continuation, why) = refused(
        &world,
        &runner,
        continuation,
        |it| it.authorize = denied,
        &task,
    )
    .await;
    assert_eq!(
        why,
        Refusal::Denied {
            reason: "not you".into()
        }
    );

    let failing = Authorize::by(|_| async { Err("no answer".into()) });
    let (continuation, why) = refused(
        &world,
        &runner,
        continuation,
        |it| it.authorize = failing,
        &task,
    )
    .await;
    assert_eq!(
        why,
        Refusal::AuthorizationFailed {
            reason: "no answer".into()
        }
    );

    let panicking = Authorize::by(|_| async { panic!("who asks") });
    let (continuation, why) = refused(
        &world,
        &runner,
        continuation,
        |it| it.authorize = panicking,
        &task,
    )
    .await;
    assert_eq!(
        why,
        Refusal::AuthorizationFailed {
            reason: "it panicked: who asks".into()
        }
    );

    let caller = CancellationToken::new();
    caller.cancel();
    let (continuation, why) = refused(
        &world,
        &runner,
        continuation,
        |it| it.cancellation = Some(caller),
        &task,
    )
    .await;
    assert_eq!(why, Refusal::AlreadyCancelled);

    let other = ModelTask::new();
    let (continuation, why) = refused(&world, &runner, continuation, |_| {}, &other).await;
    assert_eq!(why, Refusal::OtherModelTask);

    let (continuation, why) = refused(
        &world,
        &runner,
        continuation,
        |it| it.agents = Arc::default(),
        &task,
    )
    .await;
    assert_eq!(why, Refusal::OtherAgents);

    let (continuation, why) = refused(&world, &world.runner(), continuation, |_| {}, &task).await;
    assert_eq!(why, Refusal::OtherRunner);

    assert_eq!(runner.inspect(&operation).await.as_ref(), Some(&before));
    assert_eq!(world.events.all().len(), events);
    let resumed = runner.resume(continuation, world.consent(&task)).await;
    assert_eq!(settled(resumed.expect("unspent")).0, "succeeded");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_before_the_host_is_asked() {
    let world = World::new();
    let runner = world.runner();
    let task = ModelTask::new();
    let result = runner.run(world.request(OPERATOR_GATE, &task)).await;
    let pause = paused(result.expect("admitted"));
    let key = pause.waits[0].key.clone();
    let verdict = |reasoning: &str| {
        Answer::Decide(OperatorVerdict {
            verdict: Verdict::Pass,
            reasoning: reasoning.into(),
            output: Value::Null,
            handoffs: Default::default(),
            direction: None,
        })
    };
    let mut request = world.consent_by(&task, Authorize::by(|_| async { panic!("never asked") }));
    request.answers = vec![(key.clone(), verdict(" "))];
    let refused = runner.resume(pause.continuation, request).await;
    let ResumeRefused { continuation, why } = refused.expect_err("no reasoning");
    assert!(matches!(why, Refusal::BadAnswer(_)), "{why:?}");
    let mut request = world.consent(&task);
    request.answers = vec![(key, verdict("it is fine"))];
    let resumed = runner.resume(continuation, request).await;
    assert_eq!(settled(resumed.expect("admitted")).0, "succeeded");
}

#[tokio::test]
async fn an_authorisation_that_does_not_answer_stays_locked_and_a_cancellation_works_meanwhile() {
    // V5
    let world = waits_once();
    let runner = world.runner();
    let task = ModelTask::new();
    let result = runner.run(world.request(ONE_STEP, &task)).await;
    let (operation, continuation) = handle(result.expect("admitted"));
    let asked = Arc::new(Notify::new());
    let (answer, answered) = oneshot::channel::<()>();
    let slow = Authorize::by({
        let asked = Arc::clone(&asked);
        move |_| async move {
            asked.notify_one();
            let _ = answered.await;
            Ok(Authorization::Granted)
        }
    });
    let resuming = tokio::spawn({
        let runner = runner.clone();
        let request = world.consent_by(&task, slow);
        async move { runner.resume(continuation, request).await }
    });
    asked.notified().await;
    assert!(runner.reclaim(&operation).is_none(), "locked");
    runner.cancel(&operation).await.expect("held");
    assert!(!resuming.is_finished());
    answer.send(()).expect("still asked");
    let refused = resuming.await.expect("no panic").expect_err("ended");
    assert!(
        matches!(refused.why, Refusal::Ended { .. } | Refusal::Retired),
        "{:?}",
        refused.why
    );
    assert_eq!(world.events.count("operation.resumed"), 0);
}

#[tokio::test]
async fn a_caller_that_went_away_finds_its_handle_again_once_the_host_has_answered() {
    // V5: dropping the caller doesn't unlock it
    let world = waits_once();
    let runner = world.runner();
    let task = ModelTask::new();
    let result = runner.run(world.request(ONE_STEP, &task)).await;
    let (operation, continuation) = handle(result.expect("admitted"));
    let asked = Arc::new(Notify::new());
    let (answer, answered) = oneshot::channel::<()>();
    let slow = Authorize::by({
        let asked = Arc::clone(&asked);
        move |_| async move {
            asked.notify_one();
            let _ = answered.await;
            Ok(Authorization::Granted)
        }
    });
    let resuming = tokio::spawn({
        let runner = runner.clone();
        let request = world.consent_by(&task, slow);
        async move { runner.resume(continuation, request).await }
    });
    asked.notified().await;
    resuming.abort();
    let _ = resuming.await;
    assert!(runner.reclaim(&operation).is_none(), "still locked");
    answer.send(()).expect("still asked");
    let continuation = loop {
        match runner.reclaim(&operation) {
            Some(continuation) => break continuation,
            None => tokio::task::yield_now().await,
        }
    };
    assert_eq!(
        world.events.count("operation.resumed"),
        0,
        "nothing was admitted"
    );
    let resumed = runner.resume(continuation, world.consent(&task)).await;
    assert_eq!(settled(resumed.expect("unspent")).0, "succeeded");
}

#[tokio::test(start_paused = true)]
async fn dropping_an_admitted_resume_cancels_the_operation() {
    // P18
    let mut world = World::new();
    let never = Arc::new(Notify::new());
    world.tools = Arc::new(Bench::late(&never).asked_about());
    let runner = world.runner();
    let task = ModelTask::new();
    let result = runner.run(world.request(ONE_TOOL, &task)).await;
    let pause = paused(result.expect("admitted"));
    let operation = pause.continuation.operation().clone();
    let mut request = world.consent(&task);
    request.answers = vec![(pause.waits[0].key.clone(), Answer::Permit(Permit::Allow))];
    let resuming = tokio::spawn({
        let runner = runner.clone();
        async move { runner.resume(pause.continuation, request).await }
    });
    let mut watch = runner.watch(&operation).expect("held");
    while world.events.count("operation.resumed") == 0 {
        watch.changed().await.expect("held");
    }
    resuming.abort();
    let _ = resuming.await;
    assert!(runner.reclaim(&operation).is_none(), "it was spent");
    while world.events.count("operation.settled") == 0 {
        watch.changed().await.expect("held for the late tool");
    }
    let settled = world.events.all().pop().expect("the last event");
    assert_eq!(settled["status"], "cancelled");
    assert_eq!(settled["effects"], "after_partial_effects");
}

#[tokio::test]
async fn a_new_caller_s_cancellation_replaces_the_old_one() {
    // V7
    let mut world = World::new();
    world.verifier = Arc::new(Scripted::new([waiting("queued")]));
    let runner = world.runner();
    let task = ModelTask::new();
    let (old, new) = (CancellationToken::new(), CancellationToken::new());
    let mut request = world.request(ONE_STEP, &task);
    request.options.cancellation = Some(old.clone());
    let (operation, continuation) = handle(runner.run(request).await.expect("admitted"));
    let mut request = world.consent(&task);
    request.cancellation = Some(new.clone());
    let resumed = runner.resume(continuation, request).await;
    let _handle = handle(resumed.expect("admitted"));
    old.cancel();
    let state = runner.inspect(&operation).await.expect("held").state;
    assert_eq!(state.label(), "waiting");
    new.cancel();
    let ended = runner.next_rest(&operation).await.expect("it ends");
    assert_eq!(settled(ended).0, "cancelled");
}

#[tokio::test]
async fn three_hundred_waiting_rounds_stay_bounded() {
    // B17, V6
    let mut world = World::new();
    let verifier = Arc::new(Scripted::new([waiting("queued")]));
    let model = Arc::new(Agreeing::default());
    world.verifier = verifier.clone();
    world.models = model.clone();
    let runner = world.runner();
    let task = ModelTask::new();
    let result = runner.run(world.request(ONE_STEP, &task)).await;
    let (operation, mut continuation) = handle(result.expect("admitted"));
    let before = runner.inspect(&operation).await.expect("held");
    for round in 1..=300 {
        let resumed = runner.resume(continuation, world.consent(&task)).await;
        continuation = paused(resumed.expect("admitted")).continuation;
        assert_eq!(continuation.generation().0, round);
    }
    let after = runner.inspect(&operation).await.expect("held");
    assert_eq!(verifier.looks(), 301);
    assert_eq!(model.calls(), 1);
    assert_eq!(after.sources, before.sources);
    assert_eq!(after.waits, before.waits);
}

#[tokio::test]
async fn what_a_runner_left_behind_is_never_played_again() {
    // H11, V33: the account is an account; another runner over it has nothing to resume.
    let mut world = World::new();
    let model = Arc::new(Agreeing::default());
    world.models = model.clone();
    let two = ONE_STEP
        .replace("draft, to: done", "draft, to: ship")
        .replace(
            "  - { slug: done, type: terminal }\n",
            "  - { slug: ship, type: gate, operator: true }\n  - { slug: done, type: terminal }\n",
        )
        + "  - { from: ship, to: done, condition: on_pass }\n";
    let task = ModelTask::new();
    let runner = world.runner();
    let result = runner.run(world.request(&two, &task)).await;
    let (operation, continuation) = handle(result.expect("admitted"));
    runner.close().await;
    let next = world.runner();
    assert!(next.inspect(&operation).await.is_none());
    assert!(next.reclaim(&operation).is_none());
    assert!(next.next_rest(&operation).await.is_none());
    let refused = next.resume(continuation, world.consent(&task)).await;
    let ResumeRefused { why, .. } = refused.expect_err("another runner's");
    assert!(matches!(why, Refusal::OtherRunner), "{why:?}");
    assert_eq!(
        (model.calls(), world.events.count("operation.started")),
        (1, 1)
    );
}

#[tokio::test]
async fn of_two_paused_operations_each_takes_its_own_answers_and_handle_alone() {
    // B3, B4: the same routine, the same step, the same question.
    let world = World::new();
    let runner = world.runner();
    let task = ModelTask::new();
    let one = paused(
        runner
            .run(world.request(OPERATOR_GATE, &task))
            .await
            .expect("admitted"),
    );
    let two = paused(
        runner
            .run(world.request(OPERATOR_GATE, &task))
            .await
            .expect("admitted"),
    );
    let others = two.continuation.operation().clone();
    let before = runner.inspect(&others).await.expect("held");
    let decided = |paused: &Paused| {
        let verdict = OperatorVerdict {
            verdict: Verdict::Pass,
            reasoning: "I looked".into(),
            output: Value::Null,
            handoffs: Default::default(),
            direction: None,
        };
        vec![(paused.waits[0].key.clone(), Answer::Decide(verdict))]
    };
    let (right, astray) = (decided(&one), decided(&two));
    let (continuation, why) = refused(
        &world,
        &runner,
        one.continuation,
        |it| it.answers = astray,
        &task,
    )
    .await;
    assert!(matches!(why, Refusal::BadAnswer(_)), "{why:?}");
    let mut request = world.consent(&task);
    request.answers = right;
    let resumed = runner.resume(continuation, request).await.expect("unspent");
    assert_eq!(settled(resumed).0, "succeeded");
    assert_eq!(runner.inspect(&others).await.as_ref(), Some(&before));
    let mut request = world.consent(&task);
    request.answers = decided(&two);
    let resumed = runner.resume(two.continuation, request).await;
    assert_eq!(settled(resumed.expect("its own")).0, "succeeded");
}
