//! Held evidence: reading, acknowledging, late arrivals, deliveries, receipts, retiring.

use std::sync::Arc;

use amos_tui::engine::digest::Digest;
use amos_tui::engine::evidence::Receipt;
use amos_tui::engine::id::OperationId;
use amos_tui::engine::ports::{ReadSourceError, ToolOutcome};
use amos_tui::engine::runner::{
    AcknowledgeError, Authorize, ModelTask, ReceiptCheckRefused, RoutineRunner,
};
use amos_tui::engine::verify::Decision;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::world::tools::Bench;
use crate::world::verifiers::{Scripted, waiting};
use crate::world::{ONE_STEP, ONE_TOOL, OPERATOR_GATE, World, handle, paused, settled};

fn receipt(uri: &str) -> Receipt {
    Receipt {
        uri: uri.into(),
        sha256: Digest::of(uri.as_bytes()),
        bytes: 3,
    }
}

/// Runs to the end, and gives the operation.
async fn ended(world: &World, runner: &RoutineRunner, text: &str) -> OperationId {
    let running = runner
        .start(world.request(text, &ModelTask::new()))
        .expect("admitted");
    let operation = running.operation().clone();
    settled(running.rest().await);
    operation
}

async fn index(runner: &RoutineRunner, operation: &OperationId) -> Vec<Value> {
    let bytes = runner
        .read_source(operation, &operation.source_index(), 1 << 20)
        .await
        .expect("held");
    std::str::from_utf8(&bytes)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[tokio::test]
async fn a_source_is_copied_whole_or_refused_with_its_true_size() {
    // V29
    let world = World::new();
    let runner = world.runner();
    let operation = ended(&world, &runner, ONE_STEP).await;
    let inspection = runner.inspect(&operation).await.expect("held");
    let header = &inspection.sources[0].header;
    let bytes = runner
        .read_source(&operation, &header.id, header.bytes)
        .await
        .expect("allowed");
    assert_eq!(Digest::of(&bytes), header.sha256);
    assert_eq!(
        runner
            .read_source(&operation, &header.id, header.bytes - 1)
            .await
            .expect_err("too large"),
        ReadSourceError::TooLarge {
            source_id: header.id.clone(),
            bytes: header.bytes,
            allowed: header.bytes - 1,
        }
    );
    assert_eq!(
        runner
            .read_source(&operation, &"elsewhere".into(), 10)
            .await
            .expect_err("unknown"),
        ReadSourceError::UnknownSource("elsewhere".into())
    );
}

#[tokio::test]
async fn an_operation_retires_once_every_source_has_its_receipt() {
    // V28, V29
    let world = World::new();
    let runner = world.runner();
    let operation = ended(&world, &runner, ONE_STEP).await;
    let sources = index(&runner, &operation).await;
    assert!(!sources.is_empty());
    for (n, source) in sources.iter().enumerate() {
        assert_eq!(source["receipt"], json!(null));
        let id = source["id"].as_str().expect("an id").into();
        let mine = receipt("archive:1");
        let acknowledge = |receipt| runner.acknowledge_source(&operation, &id, receipt);
        assert_eq!(acknowledge(mine.clone()).await, Ok(()));
        if n + 1 < sources.len() {
            assert_eq!(acknowledge(mine.clone()).await, Ok(()), "the same again");
            assert_eq!(
                acknowledge(receipt("archive:2")).await,
                Err(AcknowledgeError::OtherReceipt {
                    source_id: id.clone(),
                    held: Box::new(mine),
                })
            );
        }
    }
    assert_eq!(runner.inspect(&operation).await, None);
    assert!(runner.operations().is_empty());
    assert_eq!(
        runner
            .read_source(&operation, &operation.source_index(), 10)
            .await
            .expect_err("retired"),
        ReadSourceError::UnknownOperation(operation.clone())
    );
}

#[tokio::test]
async fn releasing_the_sources_retires_an_ended_operation() {
    // V28
    let world = World::new();
    let runner = world.runner();
    let operation = ended(&world, &runner, ONE_STEP).await;
    assert!(runner.release_sources(&operation).await);
    assert_eq!(runner.inspect(&operation).await, None);
    assert!(!runner.release_sources(&operation).await);
}

#[tokio::test]
async fn an_inspection_shows_what_has_no_receipt_first_and_counts_the_rest() {
    // V28
    let steps: String = (0..20)
        .map(|n| format!("  - {{ slug: s{n}, type: tool, tool: act }}\n"))
        .collect();
    let edges: String = (0..19)
        .map(|n| format!("  - {{ from: s{n}, to: s{} }}\n", n + 1))
        .collect();
    let text = format!(
        "routine: long\nentry_steps: [s0]\nsteps:\n{steps}  - {{ slug: done, type: terminal }}\nedges:\n{edges}  - {{ from: s19, to: done }}\n"
    );
    let world = World::new();
    let runner = world.runner();
    let operation = ended(&world, &runner, &text).await;
    let all = index(&runner, &operation).await.len();
    assert!(all > 24, "{all}");
    let before = runner.inspect(&operation).await.expect("held");
    assert_eq!(before.sources.len(), 24);
    assert_eq!(before.omitted_sources, all - 24);
    let newest = before.sources[0].header.id.clone();
    runner
        .acknowledge_source(&operation, &newest, receipt("archive:1"))
        .await
        .expect("known");
    let after = runner.inspect(&operation).await.expect("held");
    assert!(after.sources.iter().all(|it| it.receipt.is_none()));
    assert_eq!(after.unacknowledged, all - 1);
}

#[tokio::test(start_paused = true)]
async fn what_arrives_after_closing_is_kept_under_an_id_of_its_own() {
    // V30
    let mut world = World::new();
    let told = Arc::new(Notify::new());
    world.tools = Arc::new(Bench::late(&told));
    let runner = world.runner();
    let text = ONE_TOOL.replace("timeout_ms: 1000", "timeout_ms: 600000");
    let running = runner
        .start(world.request(&text, &ModelTask::new()))
        .expect("admitted");
    let operation = running.operation().clone();
    while world.events.count("step.started") == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(runner.close().await, vec![operation.clone()]);
    let _ = running.rest().await;
    let before = index(&runner, &operation).await;
    for source in &before {
        let id = source["id"].as_str().expect("an id").into();
        runner
            .acknowledge_source(&operation, &id, receipt("archive:1"))
            .await
            .expect("still taken");
    }
    assert!(
        runner.inspect(&operation).await.is_some(),
        "it is held while something may still come"
    );
    told.notify_one();
    let mut watch = runner.watch(&operation).expect("held");
    let after = loop {
        let after = index(&runner, &operation).await;
        if after.len() > before.len() {
            break after;
        }
        watch.changed().await.expect("held");
    };
    let late = after.last().expect("one more");
    assert_eq!(late["kind"], "late");
    assert_eq!(late["receipt"], json!(null));
    let id = late["id"].as_str().expect("an id").into();
    let bytes = runner.read_source(&operation, &id, 1 << 20).await;
    assert!(String::from_utf8_lossy(&bytes.expect("held")).contains("late"));
    assert!(runner.release_sources(&operation).await);
    assert_eq!(runner.inspect(&operation).await, None);
}

#[tokio::test]
async fn a_delivery_comes_once_and_a_second_one_is_late_evidence() {
    // V11
    let mut world = World::new();
    let bench = Bench::pending();
    let calls = bench.calls();
    world.tools = Arc::new(bench);
    let runner = world.runner();
    let task = ModelTask::new();
    let result = runner.run(world.request(ONE_TOOL, &task)).await;
    let pause = paused(result.expect("admitted"));
    assert_eq!(pause.waits[0].kind.label(), "delivery");
    let operation = pause.continuation.operation().clone();
    let parcel = || ToolOutcome::Done(json!({ "arrived": true }));
    runner
        .deliver(&operation, "parcel", parcel())
        .await
        .expect("held");
    let before = index(&runner, &operation).await.len();
    runner
        .deliver(&operation, "parcel", parcel())
        .await
        .expect("held");
    let after = index(&runner, &operation).await;
    assert_eq!(after.len(), before + 1);
    assert_eq!(after.last().expect("one more")["kind"], "late");
    let resumed = runner
        .resume(pause.continuation, world.consent(&task))
        .await;
    assert_eq!(settled(resumed.expect("admitted")).0, "succeeded");
    assert_eq!(calls.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_ended_operation_s_receipts_are_looked_at_again_and_its_status_stays() {
    // V31
    let mut world = World::new();
    world.verifier = Arc::new(Scripted::new([
        waiting("the step isn't there yet"),
        waiting("still nothing"),
        Decision::by_policy(),
    ]));
    let runner = world.runner();
    let task = ModelTask::new();
    let result = runner.run(world.request(ONE_TOOL, &task)).await;
    let (operation, _handle) = handle(result.expect("admitted"));
    let early = runner
        .check_receipts(&operation, Authorize::granted())
        .await;
    assert!(matches!(
        early.expect_err("paused"),
        ReceiptCheckRefused::NotSettled { .. }
    ));
    runner.cancel(&operation).await.expect("held");
    let first = runner
        .check_receipts(&operation, Authorize::granted())
        .await
        .expect("admitted")
        .expect("an answer");
    assert_eq!(first.finding.label(), "waiting");
    let second = runner
        .check_receipts(&operation, Authorize::granted())
        .await
        .expect("admitted")
        .expect("an answer");
    assert!(second.finding.is_verified());
    let state = runner.inspect(&operation).await.expect("held").state;
    assert_eq!(state.label(), "cancelled");
    assert_eq!(world.events.count("operation.settled"), 1);
}

#[tokio::test]
async fn nothing_is_checked_where_nothing_was_done() {
    // V31
    let world = World::new();
    let runner = world.runner();
    let result = runner
        .run(world.request(OPERATOR_GATE, &ModelTask::new()))
        .await;
    let (operation, _handle) = handle(result.expect("admitted"));
    runner.cancel(&operation).await.expect("held");
    let check = runner
        .check_receipts(&operation, Authorize::granted())
        .await;
    assert!(matches!(
        check.expect_err("nothing there"),
        ReceiptCheckRefused::NothingRetained | ReceiptCheckRefused::UnknownOperation(_)
    ));
}
