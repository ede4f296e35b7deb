//! Ports that panic, hang, talk nonsense or can't write: honest pauses, never a crash, never a pass.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use amos_tui::engine::ports::Verifier;
use amos_tui::engine::runner::{ModelTask, Paused};
use tokio::sync::Notify;

use crate::world::models::DisconnectingModel;
use crate::world::stores::{ForgetfulStore, FullLog};
use crate::world::tools::Bench;
use crate::world::verifiers::{HangingVerifier, PanickingVerifier, Scripted, nonsense};
use crate::world::{ONE_STEP, ONE_TOOL, World, paused, settled};

async fn pause_of(verifier: impl Verifier + 'static) -> Paused {
    let mut world = World::new();
    world.verifier = Arc::new(verifier);
    let runner = world.runner();
    let result = runner.run(world.request(ONE_STEP, &ModelTask::new())).await;
    let pause = paused(result.expect("admitted"));
    let _ = runner.close().await;
    pause
}

#[tokio::test]
async fn a_verifier_that_panics_gives_an_uncertain_pause() {
    // V4
    let pause = pause_of(PanickingVerifier).await;
    assert_eq!(pause.state.label(), "uncertain");
    assert!(pause.reason.contains("no opinion"), "{}", pause.reason);
}

#[tokio::test(start_paused = true)]
async fn a_verifier_that_hangs_gives_an_uncertain_pause() {
    // V4
    let pause = pause_of(HangingVerifier).await;
    assert_eq!(pause.state.label(), "uncertain");
    assert!(pause.reason.contains("60000 ms"), "{}", pause.reason);
}

#[tokio::test]
async fn a_verifier_that_contradicts_itself_gives_an_uncertain_pause() {
    // V4
    let pause = pause_of(Scripted::new([nonsense()])).await;
    assert_eq!(pause.state.label(), "uncertain");
}

#[tokio::test]
async fn a_model_adapter_that_panics_leaves_its_step_uncertain() {
    let mut world = World::new();
    world.models = Arc::new(DisconnectingModel);
    let runner = world.runner();
    let result = runner.run(world.request(ONE_STEP, &ModelTask::new())).await;
    let pause = paused(result.expect("admitted"));
    assert_eq!(pause.state.label(), "uncertain");
    let settled = world
        .events
        .all()
        .into_iter()
        .find(|event| event["type"] == "step.settled")
        .expect("a verdict");
    assert_eq!(settled["reason"], "no_answer");
}

#[tokio::test]
async fn a_tool_that_panics_may_have_done_anything() {
    // P12: the step that it happened in is named, and the panic too
    let mut world = World::new();
    world.tools = Arc::new(Bench::panicking());
    let runner = world.runner();
    let result = runner.run(world.request(ONE_TOOL, &ModelTask::new())).await;
    let pause = paused(result.expect("admitted"));
    assert_eq!(pause.state.label(), "uncertain");
    let called = world
        .events
        .all()
        .into_iter()
        .find(|event| event["type"] == "tool.called")
        .expect("a call");
    assert_eq!(called["outcome"], "unknown");
    assert_eq!(called["step"], "act");
    assert_eq!(pause.waits[0].key.step.as_deref(), Some("act"));
    assert!(pause.reason.contains("panicked"), "{}", pause.reason);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_passes_its_time_limit_is_late_evidence_and_changes_nothing() {
    // V30
    let mut world = World::new();
    let told = Arc::new(Notify::new());
    world.tools = Arc::new(Bench::late(&told));
    let runner = world.runner();
    let result = runner.run(world.request(ONE_TOOL, &ModelTask::new())).await;
    let pause = paused(result.expect("admitted"));
    assert_eq!(pause.state.label(), "uncertain");
    let operation = pause.continuation.operation().clone();
    let before = runner.inspect(&operation).await.expect("held");
    assert_eq!(before.in_flight, 1, "it is still waited for");
    told.notify_one();
    let after = loop {
        let after = runner.inspect(&operation).await.expect("held");
        if after.in_flight == 0 {
            break after;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    assert_eq!(after.state, before.state);
    assert_eq!(after.unacknowledged, before.unacknowledged + 1);
    assert_eq!(after.sources[0].header.kind.label(), "late");
}

#[tokio::test]
async fn an_intent_that_can_not_be_written_is_not_performed() {
    // L10, C2
    for appends in 0..4 {
        let mut world = World::new();
        let bench = Bench::default();
        let calls = bench.calls();
        world.tools = Arc::new(bench);
        world.log = Arc::new(FullLog::after(appends));
        let runner = world.runner();
        let result = runner.run(world.request(ONE_TOOL, &ModelTask::new())).await;
        let (status, reason) = settled(result.expect("admitted"));
        assert_eq!(
            (status.as_str(), reason.as_deref()),
            ("failed", Some("storage_failed")),
            "after {appends} appends"
        );
        assert!(calls.load(Ordering::SeqCst) <= 1);
        assert_eq!(world.events.count("operation.settled"), 1);
        if appends < 2 {
            assert_eq!(calls.load(Ordering::SeqCst), 0, "after {appends} appends");
        }
    }
}

#[tokio::test]
async fn no_success_is_told_that_the_account_does_not_hold() {
    // L10, C2
    let mut succeeded = 0;
    for appends in 0..40 {
        let mut world = World::new();
        let log = Arc::new(FullLog::after(appends));
        world.log = Arc::clone(&log) as _;
        let runner = world.runner();
        let result = runner.run(world.request(ONE_TOOL, &ModelTask::new())).await;
        let (status, reason) = settled(result.expect("admitted"));
        let told = world.events.all().pop().expect("an event");
        assert_eq!(told["type"], "operation.settled", "after {appends} appends");
        assert_eq!(told["status"], status, "after {appends} appends");
        let mut lines = log.lines().into_iter();
        let kept = lines.any(|line| line.name == "operation.settled");
        match reason.as_deref() {
            None => assert!(kept, "after {appends} appends"),
            Some(reason) => {
                assert!(!kept, "after {appends} appends");
                assert_eq!(reason, "storage_failed");
                assert!(told["effects"].is_string(), "{told}");
            }
        }
        succeeded += usize::from(status == "succeeded");
    }
    assert!(0 < succeeded && succeeded < 36, "{succeeded} of 40");
}

#[tokio::test]
async fn evidence_that_can_not_be_held_fails_the_run() {
    let mut world = World::new();
    world.sources = Arc::new(ForgetfulStore);
    let runner = world.runner();
    let result = runner.run(world.request(ONE_STEP, &ModelTask::new())).await;
    assert_eq!(
        settled(result.expect("admitted")),
        ("failed".into(), Some("storage_failed".into()))
    );
}
