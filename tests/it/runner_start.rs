//! Beginning, running and ending: preflight, leases, events, results, cancellation.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use amos_tui::engine::operation::memory::MEMORY_TOOLS;
use amos_tui::engine::operation::plan::Ownership;
use amos_tui::engine::operation::published::Published;
use amos_tui::engine::operation::view::OperationState;
use amos_tui::engine::ports::LogKind;
use amos_tui::engine::routine::Known;
use amos_tui::engine::runner::{
    Ending, LeaseRefused, ModelTask, RunRefused, RunResult, RunnerLimits,
};
use amos_tui::engine::verify::Held;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::world::models::{Agreeing, Curious, SlowModel};
use crate::world::stores::MemoryLog;
use crate::world::tools::Bench;
use crate::world::verifiers::{HangingVerifier, Scripted, waiting};
use crate::world::{ONE_STEP, ONE_TOOL, OPERATOR_GATE, World, checked, handle, paused, settled};

const WITH_INPUTS: &str = "
routine: inputs
parameters:
  - { name: version, required: true }
  - { name: tone }
entry_steps: [draft]
steps:
  - { slug: draft, type: agent, agent: default, instructions: 'Write {{param.version}}.' }
  - { slug: done, type: terminal }
edges:
  - { from: draft, to: done }
";

#[tokio::test]
async fn a_run_settles_and_every_event_comes_before_its_result() {
    // G10, C3
    let world = World::new();
    let runner = world.runner();
    let result = runner
        .run(world.request(ONE_STEP, &ModelTask::new()))
        .await
        .expect("admitted");
    assert_eq!(settled(result), ("succeeded".into(), None));
    let types = world.events.types();
    assert_eq!(types.first().map(String::as_str), Some("operation.started"));
    assert_eq!(types.last().map(String::as_str), Some("operation.settled"));
    assert_eq!(world.events.count("model.called"), 1);
    let seqs: Vec<u64> = world
        .events
        .all()
        .iter()
        .map(|event| event["seq"].as_u64().expect("a number"))
        .collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_intent_stands_in_the_account_before_the_event_that_closes_it() {
    // L10
    let mut world = World::new();
    let log = Arc::new(MemoryLog::default());
    world.log = log.clone();
    let result = world
        .runner()
        .run(world.request(ONE_STEP, &ModelTask::new()))
        .await
        .expect("admitted");
    settled(result);
    let lines = log.lines();
    assert_eq!(lines[0].name, "started");
    assert_eq!(lines[0].detail["references"]["task"], json!(null));
    let intents = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.kind == LogKind::Intent && line.request.is_some());
    let mut opened = 0;
    for (at, intent) in intents {
        opened += 1;
        let closed = lines
            .iter()
            .position(|line| line.kind == LogKind::Event && line.request == intent.request);
        assert!(closed.is_some_and(|closed| closed > at), "{intent:?}");
    }
    assert!(opened >= 2, "a model call and a verification");
}

#[tokio::test]
async fn inputs_are_checked_by_name_before_anything_is_done() {
    // V19
    let world = World::new();
    let runner = world.runner();
    let mut request = world.request(WITH_INPUTS, &ModelTask::new());
    request.options.inputs = [("colour".to_owned(), json!("red"))].into();
    assert_eq!(
        runner.run(request).await.expect_err("unknown").to_string(),
        "unknown input: colour; known: version, tone"
    );
    let request = world.request(WITH_INPUTS, &ModelTask::new());
    assert_eq!(
        runner.run(request).await.expect_err("missing"),
        RunRefused::MissingInputs(vec!["version".into()])
    );
    assert!(world.events.all().is_empty());
    assert!(runner.operations().is_empty());
}

#[tokio::test]
async fn agents_and_tools_that_are_not_there_are_named() {
    // V19
    let world = World::new();
    let runner = world.runner();
    let mut request = world.request(ONE_STEP, &ModelTask::new());
    request.agents = Arc::default();
    assert_eq!(
        runner.run(request).await.expect_err("no agent"),
        RunRefused::UnknownAgents(vec!["default".into()])
    );
    let mut request = world.request(ONE_STEP, &ModelTask::new());
    let mut agents = (*request.agents).clone();
    if let Some(agent) = agents.get_mut("default") {
        agent.tools = Some(vec!["memory_get".into(), "fly".into()]);
    }
    request.agents = Arc::new(agents);
    assert_eq!(
        runner.run(request).await.expect_err("no tool"),
        RunRefused::UnknownTools(vec!["fly".into()])
    );
}

#[tokio::test]
async fn one_operation_more_than_allowed_is_refused_until_one_has_ended() {
    // V27: paused ones count
    let mut world = World::new();
    world.limits = RunnerLimits {
        max_active_operations: 1,
        ..RunnerLimits::default()
    };
    let runner = world.runner();
    let task = ModelTask::new();
    let first = runner
        .run(world.request(OPERATOR_GATE, &task))
        .await
        .expect("room");
    let (operation, _handle) = handle(first);
    assert_eq!(
        runner
            .run(world.request(ONE_STEP, &task))
            .await
            .expect_err("full"),
        RunRefused::TooManyActive { limit: 1 }
    );
    runner.cancel(&operation).await.expect("held");
    let second = runner.run(world.request(ONE_STEP, &task)).await;
    settled(second.expect("room again"));
}

#[tokio::test]
async fn a_borrowed_agent_is_one_operation_s_alone_and_the_refusal_names_it() {
    // V16
    let mut world = World::new();
    world.ownership = Ownership::Borrowed;
    world.verifier = Arc::new(Scripted::new([waiting("not yet")]));
    let runner = world.runner();
    let task = ModelTask::new();
    let first = runner
        .run(world.request(ONE_STEP, &task))
        .await
        .expect("free");
    let (operation, _handle) = handle(first);
    let leased = LeaseRefused::Leased {
        agent: "default".into(),
        operation: operation.clone(),
    };
    let other = world.runner();
    assert_eq!(
        other
            .run(world.request(ONE_STEP, &task))
            .await
            .expect_err("leased"),
        RunRefused::Lease(leased.clone())
    );
    assert_eq!(world.leases.try_use("default").expect_err("leased"), leased);
    runner.cancel(&operation).await.expect("held");
    assert!(world.leases.try_use("default").is_ok());
}

#[tokio::test]
async fn a_caller_that_was_cancelled_already_starts_nothing() {
    let world = World::new();
    let mut request = world.request(ONE_STEP, &ModelTask::new());
    let caller = CancellationToken::new();
    caller.cancel();
    request.options.cancellation = Some(caller);
    assert_eq!(
        world.runner().run(request).await.expect_err("cancelled"),
        RunRefused::AlreadyCancelled
    );
}

#[tokio::test]
async fn cancelling_the_caller_or_its_model_task_cancels_the_operation() {
    let mut world = World::new();
    world.models = Arc::new(SlowModel);
    let runner = world.runner();
    let caller = CancellationToken::new();
    let mut request = world.request(ONE_STEP, &ModelTask::new());
    request.options.cancellation = Some(caller.clone());
    let running = runner.start(request).expect("admitted");
    caller.cancel();
    assert_eq!(
        settled(running.rest().await),
        ("cancelled".into(), Some("cancelled".into()))
    );

    let task = ModelTask::new();
    let running = runner
        .start(world.request(ONE_STEP, &task))
        .expect("admitted");
    task.cancellation().cancel();
    assert_eq!(settled(running.rest().await).0, "cancelled");
}

#[tokio::test]
async fn dropping_the_future_of_a_run_cancels_its_operation() {
    // P18
    let mut world = World::new();
    world.models = Arc::new(SlowModel);
    let runner = world.runner();
    let running = runner
        .start(world.request(ONE_STEP, &ModelTask::new()))
        .expect("admitted");
    let operation = running.operation().clone();
    let mut watch = runner.watch(&operation).expect("held");
    drop(running);
    loop {
        let state = runner.inspect(&operation).await.expect("held").state;
        if state == OperationState::Cancelled {
            break;
        }
        watch.changed().await.expect("held for its sources");
    }
    assert_eq!(
        world.events.types().last().map(String::as_str),
        Some("operation.settled")
    );
}

#[tokio::test]
async fn a_rest_that_came_before_anybody_waited_is_not_missed() {
    // P19: no signal is lost between looking and waiting
    for text in [ONE_STEP, OPERATOR_GATE] {
        let world = World::new();
        let runner = world.runner();
        let running = runner
            .start(world.request(text, &ModelTask::new()))
            .expect("admitted");
        let operation = running.operation().clone();
        let mut watch = runner.watch(&operation).expect("held");
        loop {
            let state = runner.inspect(&operation).await.expect("held").state;
            if state.is_terminal() || state == OperationState::Paused(Held::Waiting) {
                break;
            }
            watch.changed().await.expect("held");
        }
        // Whoever waits only now is told, and what is asked of it now is heard.
        match running.rest().await {
            RunResult::Paused(_) => {
                let ending = runner.cancel(&operation).await.expect("held");
                assert!(matches!(ending, Ending::Settled(_)));
            }
            RunResult::Settled(outcome) => assert_eq!(outcome.status.label(), "succeeded"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn what_this_version_does_not_run_is_refused_before_anything_is_done() {
    // O1, V8, V19, V25: no score makes a step pass while nobody asks for it.
    let mut world = World::new();
    let model = Arc::new(Agreeing::default());
    world.models = model.clone();
    let runner = world.runner();
    for mode in ["strict, min_score: 0", "strict", "warn"] {
        let reflection = format!("criteria: [x], reflection: {{ mode: {mode} }}");
        let text = ONE_STEP.replace("instructions: Write.", &reflection);
        let refused = runner.run(world.request(&text, &ModelTask::new())).await;
        let why = refused.expect_err("refused");
        let RunRefused::Unsupported(issues) = why else {
            panic!("{why:?}");
        };
        assert_eq!(issues.len(), 1);
        assert_eq!(
            (issues[0].code.label(), issues[0].step.as_deref()),
            ("unsupported", Some("draft"))
        );
    }
    let off = ONE_STEP.replace("instructions: Write.", "reflection: { mode: off }");
    assert_eq!((model.calls(), world.events.all().len()), (0, 0));
    let result = runner.run(world.request(&off, &ModelTask::new())).await;
    assert_eq!(settled(result.expect("admitted")).0, "succeeded");
}

#[tokio::test]
async fn a_progress_callback_that_panics_changes_nothing() {
    // V14
    let mut world = World::new();
    world.progress = Arc::new(|_: &Published| panic!("no screen"));
    let result = world
        .runner()
        .run(world.request(ONE_STEP, &ModelTask::new()))
        .await
        .expect("admitted");
    assert_eq!(settled(result).0, "succeeded");
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_that_races_a_verification_wins_once_and_for_all() {
    // B7
    let mut world = World::new();
    world.verifier = Arc::new(HangingVerifier);
    let runner = world.runner();
    let running = runner
        .start(world.request(ONE_STEP, &ModelTask::new()))
        .expect("admitted");
    let operation = running.operation().clone();
    while world.events.count("step.settled") == 0 {
        tokio::task::yield_now().await;
    }
    let ending = runner.cancel(&operation).await.expect("held");
    let Ending::Settled(outcome) = ending else {
        panic!("closed");
    };
    assert_eq!(outcome.status.label(), "cancelled");
    assert_eq!(settled(running.rest().await).0, "cancelled");
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(world.events.count("operation.settled"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_passes_while_paused_settles_and_kills_the_handle() {
    // V24
    let world = World::new();
    let runner = world.runner();
    let task = ModelTask::new();
    let text = format!("{OPERATOR_GATE}deadline_ms: 5000\n");
    let result = runner.run(world.request(&text, &task)).await;
    let (operation, continuation) = handle(result.expect("admitted"));
    let remaining = &runner.inspect(&operation).await.expect("held").deadlines[0];
    assert_eq!(remaining.timer, "deadline");
    assert!(remaining.remaining_ms <= 5_000);
    let ended = runner.next_rest(&operation).await.expect("it ends");
    assert_eq!(settled(ended), ("failed".into(), Some("deadline".into())));
    let refused = runner.resume(continuation, world.consent(&task)).await;
    let why = refused.expect_err("dead").why.to_string();
    assert_eq!(why, "the operation has ended and is not held any more");
}

#[tokio::test]
async fn closing_ends_paused_and_running_operations_without_an_outcome() {
    // V30
    let mut world = World::new();
    world.models = Arc::new(SlowModel);
    let runner = world.runner();
    let task = ModelTask::new();
    let running = runner
        .start(world.request(ONE_STEP, &task))
        .expect("admitted");
    let gate = runner.run(world.request(OPERATOR_GATE, &task)).await;
    let (_, continuation) = handle(gate.expect("admitted"));
    let _ = runner.close().await;
    assert!(matches!(running.rest().await, RunResult::Ended));
    let refused = runner.resume(continuation, world.consent(&task)).await;
    refused.expect_err("revoked");
    assert_eq!(
        runner
            .run(world.request(ONE_STEP, &task))
            .await
            .expect_err("closed"),
        RunRefused::Closed
    );
    assert_eq!(world.events.count("operation.settled"), 0);
    let _ = runner.close().await;
}

#[tokio::test]
async fn a_question_about_a_call_waits_blocked_and_nothing_is_called() {
    // M6, V5a
    let mut world = World::new();
    let bench = Bench::default().asked_about();
    let calls = bench.calls();
    world.tools = Arc::new(bench);
    let result = world
        .runner()
        .run(world.request(ONE_TOOL, &ModelTask::new()))
        .await;
    let paused = paused(result.expect("admitted"));
    assert_eq!(paused.state.label(), "blocked");
    assert!(paused.reason.contains("nobody said"), "{}", paused.reason);
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_model_task_keeps_the_account_of_every_model() {
    let mut world = World::new();
    let model = Arc::new(Agreeing::default());
    world.models = model.clone();
    let task = ModelTask::new();
    let result = world.runner().run(world.request(ONE_STEP, &task)).await;
    settled(result.expect("admitted"));
    assert_eq!(model.calls(), 1);
    let account = task.account();
    assert_eq!(account.models["scripted/one"].calls, 1);
    assert_eq!(account.models["scripted/one"].tokens.input_tokens, 10);
}

#[tokio::test]
async fn dropping_the_last_runner_closes_it() {
    let mut world = World::new();
    let told = Arc::new(Notify::new());
    world.tools = Arc::new(Bench::late(&told));
    let runner = world.runner();
    let running = runner
        .start(world.request(ONE_TOOL, &ModelTask::new()))
        .expect("admitted");
    while world.events.count("step.started") == 0 {
        tokio::task::yield_now().await;
    }
    drop(runner);
    told.notify_one();
    assert!(matches!(running.rest().await, RunResult::Ended));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_side_by_side_each_end_once_and_give_their_agent_back() {
    // Q6, V16: ends by settling, cancelling and closing, in any order
    let mut world = World::new();
    world.ownership = Ownership::Borrowed;
    world.verifier = Arc::new(Scripted::new([waiting("not yet")]));
    let runner = world.runner();
    let task = ModelTask::new();
    for round in 0..20 {
        let running = runner
            .start(world.request(ONE_STEP, &task))
            .unwrap_or_else(|refused| panic!("round {round}: {refused}"));
        let operation = running.operation().clone();
        let beside = runner.start(world.request(OPERATOR_GATE, &task));
        let beside = beside.expect("it borrows nobody");
        if round % 2 == 0 {
            let (one, other) = tokio::join!(runner.cancel(&operation), running.rest());
            one.expect("held");
            drop(other);
        } else {
            let _handle = handle(running.rest().await);
            runner.cancel(&operation).await.expect("held");
        }
        drop(beside);
    }
    let _ = runner.close().await;
    assert_eq!(world.leases.holder("default"), None);
    let mut ended = std::collections::BTreeMap::<String, usize>::new();
    for event in world.events.all() {
        if event["type"] == "operation.settled" {
            *ended.entry(event["operation"].to_string()).or_default() += 1;
        }
    }
    assert!(ended.values().all(|&times| times == 1), "{ended:?}");
    assert!(ended.len() >= 20, "{ended:?}");
}

#[tokio::test]
async fn routine_memory_is_there_whatever_tools_the_host_has() {
    // V17: offered where a step asks for it, and no side effect of anything.
    for fields in [
        "plugins: [memory]",
        "tools: [memory_set, memory_get, memory_list, memory_delete]",
    ] {
        let known = Known {
            tools: MEMORY_TOOLS.map(str::to_owned).into(),
            ..Known::default()
        };
        let text = ONE_STEP.replace("instructions: Write.", fields);
        let mut world = World::new();
        let mut request = world.request(ONE_STEP, &ModelTask::new());
        request.routine = checked(&text, &known);
        let model = Arc::new(Curious::default());
        world.models = model.clone();
        let result = world.runner().run(request).await.expect("admitted");
        assert_eq!(settled(result).0, "succeeded");
        let offered = model.offered();
        let memory = offered.iter().filter(|name| name.starts_with("memory_"));
        assert_eq!(memory.count(), 4, "{fields}: {offered:?}");
    }
}
