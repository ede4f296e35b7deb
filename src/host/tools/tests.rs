//! The tools as the runner sees them: against a real folder and real commands.

use std::os::unix::fs::symlink;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::engine::capability::{Commitment, SideEffects};
use crate::engine::digest::Digest;
use crate::engine::evidence::Place;
use crate::engine::id::{Generation, Lap};
use crate::host::synthetic::SyntheticAct;

struct World {
    folder: tempfile::TempDir,
    tools: HostTools,
    synthetic: Arc<SyntheticJobs>,
    cancellation: CancellationToken,
}

impl World {
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("w")).expect("a root");
        let workspace = Workspace::open(&folder.path().join("w")).expect("a workspace");
        let synthetic = Arc::new(SyntheticJobs::default());
        Self {
            tools: HostTools::of(workspace, Permissions::default(), Arc::clone(&synthetic)),
            folder,
            synthetic,
            cancellation: CancellationToken::new(),
        }
    }

    fn operation() -> OperationId {
        OperationId::from("op-1")
    }

    fn permission(&self, tool: &str, args: &Value) -> Permission {
        self.tools.permission(&Self::operation(), tool, args)
    }

    async fn call_within(&self, timeout_ms: u64, tool: &str, args: Value) -> ToolOutcome {
        let context = ToolContext {
            operation: Self::operation(),
            place: Place {
                execution: Self::operation().execution(1),
                step: "step".to_owned(),
                lap: Lap(1),
            },
            generation: Generation(0),
            timeout_ms,
            cancellation: self.cancellation.clone(),
        };
        self.tools.call(tool, args, context).await
    }

    async fn call(&self, tool: &str, args: Value) -> ToolOutcome {
        self.call_within(20_000, tool, args).await
    }

    async fn done(&self, tool: &str, args: Value) -> Value {
        match self.call(tool, args).await {
            ToolOutcome::Done(result) => result,
            other => panic!("{other:?}"),
        }
    }

    async fn failed(&self, tool: &str, args: Value) -> String {
        match self.call(tool, args).await {
            ToolOutcome::Failed { reason } => reason,
            other => panic!("{other:?}"),
        }
    }
}

// M5
#[test]
fn every_tool_is_known_sorted_and_states_a_contract() {
    let world = World::open();
    let capabilities = world.tools.capabilities();
    let names: Vec<&str> = capabilities.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.is_sorted() && KNOWN_TOOLS.is_sorted());
    assert!(names.iter().all(|name| KNOWN_TOOLS.contains(name)));
    assert!(capabilities.iter().all(|tool| tool.contract.is_some()));
    let missing: Vec<_> = KNOWN_TOOLS
        .iter()
        .filter(|name| !names.contains(name))
        .collect();
    assert_eq!(missing, [&"http_request", &"list_dir", &"search_text"]);
}

// L5, L7
#[test]
fn contracts_say_what_a_call_may_change() {
    let world = World::open();
    for tool in world.tools.capabilities() {
        let expected = match tool.name.as_str() {
            "run_command" => (SideEffects::Unknown, Commitment::Unknown),
            "write_file" | "synthetic_reserve" | "synthetic_submit" | "synthetic_artifact" => {
                (SideEffects::Local, Commitment::None)
            }
            _ => (SideEffects::None, Commitment::None),
        };
        assert_eq!(
            (tool.side_effects(), tool.commitment()),
            expected,
            "{}",
            tool.name
        );
    }
}

#[tokio::test]
async fn a_file_is_written_and_read_back() {
    let world = World::open();
    let text = "notes é";
    let written = world
        .done("write_file", json!({"path": "a/n.md", "text": text}))
        .await;
    assert_eq!(
        written,
        json!({"path": "a/n.md", "bytes": 8, "sha256": Digest::of(text.as_bytes())})
    );
    let read = world.done("read_file", json!({"path": "a/n.md"})).await;
    assert_eq!(read, json!({"text": text, "bytes": 8, "complete": true}));
    let more = json!({"path": "a/n.md", "text": "!", "mode": "append"});
    assert_eq!(world.done("write_file", more).await["bytes"], 9);
    let again = json!({"path": "a/n.md", "text": "", "mode": "create"});
    assert!(
        world
            .failed("write_file", again)
            .await
            .contains("exists already")
    );
}

// M3
#[tokio::test]
async fn arguments_that_do_not_fit_fail_before_anything_is_done() {
    let world = World::open();
    for (tool, args) in [
        ("write_file", json!({"path": "x"})),
        ("write_file", json!({"path": "x", "text": 1})),
        (
            "write_file",
            json!({"path": "x", "text": "", "mode": "overwrite"}),
        ),
        ("write_file", json!({"path": "x", "text": "", "extra": 1})),
        ("read_file", json!({"path": "x", "max_bytes": 0})),
        ("read_file", json!("x")),
        ("run_command", json!({"argv": []})),
        ("run_command", json!({"argv": "touch x"})),
        (
            "run_command",
            json!({"argv": ["touch", "x"], "env": {"A=B": ""}}),
        ),
        ("synthetic_artifact", json!({"job": "j"})),
    ] {
        let reason = world.failed(tool, args.clone()).await;
        assert!(reason.contains("don't fit"), "{tool} {args}: {reason}");
        assert_eq!(
            world.permission(tool, &args),
            Permission::Futile { reason },
            "nobody is asked"
        );
    }
    let entries = std::fs::read_dir(world.folder.path().join("w")).expect("entries");
    assert_eq!(entries.count(), 0);
}

#[tokio::test]
async fn tools_that_are_not_there_say_so() {
    let world = World::open();
    assert!(
        world
            .failed("nonsense", json!({}))
            .await
            .contains("no tool")
    );
    assert!(
        world
            .failed("http_request", json!({}))
            .await
            .contains("not supported")
    );
    assert!(
        world
            .failed("memory_list", json!({}))
            .await
            .contains("memory")
    );
}

// M6
#[test]
fn effects_ask_and_reads_do_not() {
    let world = World::open();
    let ask = |tool, args| matches!(world.permission(tool, &args), Permission::Ask { .. });
    assert!(ask("write_file", json!({"path": "x", "text": ""})));
    assert!(ask("run_command", json!({"argv": ["true"]})));
    assert!(!ask("read_file", json!({"path": "x"})));
    assert!(!ask("memory_list", json!({})));
    assert!(!ask("synthetic_submit", json!({"job": "j"})));
}

// M7
#[tokio::test]
async fn a_path_outside_is_a_failed_call_and_never_a_question() {
    let world = World::open();
    for (tool, args) in [
        ("write_file", json!({"path": "../made", "text": ""})),
        (
            "run_command",
            json!({"argv": ["touch", "made"], "cwd": ".."}),
        ),
    ] {
        let reason = world.failed(tool, args.clone()).await;
        assert!(reason.contains("outside the workspace"), "{reason}");
        assert_eq!(world.permission(tool, &args), Permission::Futile { reason });
    }
    let reason = world
        .failed("read_file", json!({"path": "../secret"}))
        .await;
    assert!(reason.contains("outside the workspace"), "{reason}");
    assert!(!world.folder.path().join("made").exists());
}

// M7: between the question and the call, a link changes where the path leads.
#[tokio::test]
async fn a_call_that_was_allowed_fails_when_its_path_leads_outside_by_then() {
    let world = World::open();
    let link = world.folder.path().join("w/link");
    std::fs::create_dir(&link).expect("a folder");
    let args = json!({"path": "link/x", "text": "x"});
    let permission = world.permission("write_file", &args);
    assert!(matches!(permission, Permission::Ask { .. }));
    std::fs::remove_dir(&link).expect("removed");
    symlink("..", &link).expect("a link");
    let reason = world.failed("write_file", args).await;
    assert!(reason.contains("outside"), "{reason}");
    assert!(!world.folder.path().join("x").exists());
}

// V15
#[tokio::test]
async fn a_command_gives_its_exit_code_and_success() {
    let world = World::open();
    let args = json!({
        "argv": ["sh", "-c", "cat; echo $WORD >&2; exit 4"],
        "stdin": "in",
        "env": {"WORD": "word"},
    });
    let expected = json!({"exit": 4, "stdout": "in", "stderr": "word\n", "success": false});
    assert_eq!(world.done("run_command", args).await, expected);
    let place = world
        .done("run_command", json!({"argv": ["pwd", "-P"]}))
        .await;
    let root = world
        .folder
        .path()
        .join("w")
        .canonicalize()
        .expect("a path");
    assert_eq!(place["stdout"], format!("{}\n", root.display()));
    assert_eq!(place["success"], true);
    let killed = world
        .done("run_command", json!({"argv": ["sh", "-c", "kill -9 $$"]}))
        .await;
    assert_eq!(
        (&killed["exit"], &killed["success"]),
        (&Value::Null, &json!(false))
    );
}

// M7, C3
#[tokio::test]
async fn a_command_that_ends_otherwise_says_how() {
    let world = World::open();
    let argv = |argv: &[&str]| json!({ "argv": argv });
    let late = world
        .call_within(100, "run_command", argv(&["sleep", "60"]))
        .await;
    assert_eq!(late, ToolOutcome::TimedOut);
    let absent = world
        .failed("run_command", argv(&["no-such-program-here"]))
        .await;
    assert!(absent.contains("can't be started"), "{absent}");
    let ToolOutcome::OutputLimit(kept) = world.call("run_command", argv(&["yes"])).await else {
        panic!("it should have been ended");
    };
    assert_eq!(kept["output_limit"], true);
    assert_eq!(kept["stdout"].as_str().map(str::len), Some(8 * 1024 * 1024));
    world.cancellation.cancel();
    let cancelled = world.call("run_command", argv(&["sleep", "60"])).await;
    assert!(matches!(cancelled, ToolOutcome::Unknown { .. }));
}

// T3
#[tokio::test]
async fn synthetic_tools_leave_receipts_and_no_file() {
    let world = World::open();
    let submitted = world
        .done("synthetic_submit", json!({"job": "build"}))
        .await;
    assert_eq!(
        submitted,
        json!({"receipt": "synthetic:submit:build:1", "job": "build"})
    );
    let made = world
        .done("synthetic_artifact", json!({"job": "build", "text": "t"}))
        .await;
    assert_eq!(made["text"], "t");
    let count = |act| world.synthetic.count(&World::operation(), "build", act);
    assert_eq!(
        (count(SyntheticAct::Submit), count(SyntheticAct::Artifact)),
        (1, 1)
    );
    assert_eq!(
        std::fs::read_dir(world.folder.path().join("w"))
            .expect("entries")
            .count(),
        0
    );
}
