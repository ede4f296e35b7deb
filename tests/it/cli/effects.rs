//! Tools: what is asked first, what is never done, what nobody can tell (M5 to M7, G3, L5).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::gates::ONE;
use crate::cli::program::{Ended, Place};
use crate::cli::provider::{Provider, calls, pass_to, status};

/// A routine of one tool step.
fn tool(tool: &str, args: &Value, further: &str) -> String {
    format!(
        "routine: act
entry_steps: [act]
steps:
  - {{ slug: act, type: tool, tool: {tool}, args: {args}{further} }}
  - {{ slug: done, type: terminal }}
edges:
  - {{ from: act, to: done }}
"
    )
}

fn run(place: &Place, text: &str, further: &[&str]) -> Ended {
    let file = place.file("routine.yaml", text);
    place.run(&file, further)
}

fn outcomes(ended: &Ended) -> Vec<String> {
    let called = ended.of("tool.called").into_iter();
    called
        .map(|it| it["outcome"].as_str().expect("a word").to_owned())
        .collect()
}

// M6: on the command line it waits as blocked, pre, post and `tool` steps too.
#[test]
fn a_call_that_needs_permission_waits_as_blocked() {
    let write = json!({"path": "x", "text": "y"});
    let pre = format!("pre_steps: [{{ name: act, tool: write_file, args: {write} }}]\nentry_steps");
    let post =
        format!("post_steps: [{{ name: act, tool: write_file, args: {write} }}]\nentry_steps");
    for (text, phase) in [
        (tool("write_file", &write, ""), "step"),
        (ONE.replace("entry_steps", &pre), "pre"),
        (ONE.replace("entry_steps", &post), "post"),
    ] {
        let place = Place::new();
        let ended = run(&place, &text, &["--on-wait", "poll"]).expect(3);
        let paused = ended.paused();
        assert_eq!(paused["state"], "blocked");
        let wait = &paused["waits"][0];
        assert_eq!(
            [&wait["kind"], &wait["phase"], &wait["step"]],
            ["permission", phase, "act"]
        );
        assert!(!place.workspace().join("x").exists());
        let place = Place::new();
        let ended = run(&place, &text, &["--allow", "write_file"]).expect(0);
        assert_eq!(outcomes(&ended), ["ok"]);
        assert_eq!(
            std::fs::read(place.workspace().join("x")).expect("written"),
            b"y"
        );
    }
}

// M6: a denied one counts as failed.
#[test]
fn a_denied_call_fails_its_step_and_is_not_made() {
    let text = tool("write_file", &json!({"path": "x", "text": "y"}), "");
    let place = Place::new().configured("[permissions]\nwrite_file = \"deny\"");
    let ended = run(&place, &text, &[]).expect(1);
    assert_eq!(ended.settled()["reason"], "tool_failed");
    assert_eq!(outcomes(&ended), ["denied"]);
    assert!(!place.workspace().join("x").exists());
    // C5: the flag wins.
    run(&place, &text, &["--allow", "write_file"]).expect(0);
}

// M6: a denied call is told to the model.
#[test]
fn a_model_is_told_that_its_call_was_denied_and_goes_on() {
    let provider = Provider::answering(|_, number| match number {
        1 => calls(&[("write_file", json!({"path": "x", "text": "y"}))]),
        _ => pass_to("done", "x"),
    });
    let place = provider
        .place()
        .configured("[permissions]\nwrite_file = \"deny\"");
    let text = ONE.replace("instructions: Write.", "tools: [write_file]");
    let ended = provider.run(&place, &text, &[]).expect(0);
    assert_eq!(outcomes(&ended), ["denied"]);
    let seen = provider.seen();
    let told = seen[1].body["messages"]
        .as_array()
        .expect("messages")
        .last()
        .cloned();
    let told = told.expect("a message");
    assert_eq!([&told["role"], &told["tool_call_id"]], ["tool", "call_0"]);
    assert!(
        told["content"].as_str().expect("a text").contains("den"),
        "{told}"
    );
    assert!(!place.workspace().join("x").exists());
}

// V17
#[test]
fn a_tool_that_was_not_offered_is_not_called() {
    let provider = Provider::answering(|_, number| match number {
        1 => calls(&[("write_file", json!({"path": "x", "text": "y"}))]),
        _ => pass_to("done", "x"),
    });
    let place = provider.place();
    let text = ONE.replace("instructions: Write.", "tools: [read_file]");
    let ended = provider
        .run(&place, &text, &["--allow", "write_file"])
        .expect(0);
    assert!(
        outcomes(&ended).iter().all(|outcome| outcome != "ok"),
        "{}",
        ended.stdout
    );
    assert!(!place.workspace().join("x").exists());
}

// M7: a failed call, nothing done, never a question.
#[test]
fn paths_outside_the_workspace_fail_without_a_question() {
    let place = Place::new();
    std::fs::write(place.root().join("secret"), "s").expect("written");
    std::os::unix::fs::symlink("..", place.workspace().join("up")).expect("a link");
    let absolute = place.root().join("secret").display().to_string();
    for path in [
        "../secret",
        "up/secret",
        absolute.as_str(),
        "a/../../secret",
    ] {
        for (name, args) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "text": "y"})),
        ] {
            let ended = run(&place, &tool(name, &args, ""), &[]).expect(1);
            assert_eq!(ended.settled()["reason"], "tool_failed", "{name} {path}");
            assert_eq!(ended.settled()["effects"], "before_effects");
            assert_eq!(outcomes(&ended), ["failed"]);
        }
    }
    assert_eq!(
        std::fs::read(place.root().join("secret")).expect("there"),
        b"s"
    );
}

// G3: a time-out of a side-effecting `tool` step is uncertain; its process group ends with it.
#[test]
fn a_command_that_passes_its_time_limit_is_unknown_and_ended() {
    let argv = json!({"argv": ["sh", "-c", "sleep 7 & echo $! > child; wait"]});
    let place = Place::new();
    let began = Instant::now();
    let text = tool("run_command", &argv, ", timeout_ms: 200");
    let ended = run(&place, &text, &["--allow", "run_command"]).expect(3);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(outcomes(&ended), ["timeout"]);
    let settled = &ended.of_step("step.settled", "act")[0];
    assert_eq!(settled["verdict"], "uncertain");
    assert!(["timeout", "effect_unknown"].contains(&settled["reason"].as_str().expect("a code")));
    let child = std::fs::read_to_string(place.workspace().join("child")).expect("written");
    let gone = || {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        status.map_or(true, |status| status.contains(") Z "))
    };
    let until = Instant::now() + Duration::from_secs(3);
    while !gone() {
        assert!(Instant::now() < until, "the command's child lives on");
        std::thread::yield_now();
    }
}

// M7
#[test]
fn a_command_that_floods_is_ended_and_marked() {
    let argv = json!({"argv": ["sh", "-c", "yes"]});
    let place = Place::new();
    let text = tool("run_command", &argv, "");
    let ended = run(&place, &text, &["--allow", "run_command"]).expect(3);
    assert_eq!(outcomes(&ended), ["output_limit"]);
}

// M4: a gateway's address may hold a key; a local server's doesn't, and a command may need it.
#[test]
fn commands_do_not_inherit_an_address_that_may_hold_a_key() {
    let place = Place::new()
        .with("OPENAI_BASE_URL", "http://127.0.0.1:1/v1?api-key=hush")
        .with("OPENAI_API_KEY", "hush-hush-hush")
        .with("ANTHROPIC_BASE_URL", "http://127.0.0.1:1");
    let text = tool("run_command", &json!({"argv": ["env"]}), "");
    let further = ["--allow", "run_command", "--model", "offline"];
    let ended = run(&place, &text, &further).expect(0);
    assert!(!ended.stdout.contains("hush"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("ANTHROPIC_BASE_URL"),
        "{}",
        ended.stdout
    );
}

// G3: an exit code isn't a failure of the call, only of the command.
#[test]
fn a_command_that_exits_with_an_error_fails_its_step() {
    let place = Place::new();
    let text = tool("run_command", &json!({"argv": ["sh", "-c", "exit 3"]}), "");
    let ended = run(&place, &text, &["--allow", "run_command"]).expect(1);
    let settled = ended.settled();
    assert_eq!(
        [&settled["reason"], &settled["step"]],
        ["tool_failed", "act"]
    );
    // L5: it was dispatched.
    assert_ne!(settled["effects"], "before_effects");
    assert!(settled["detail"]["required"].is_array(), "{settled}");
    let place = Place::new();
    let text = tool(
        "run_command",
        &json!({"argv": ["no-such-program-here"]}),
        "",
    );
    run(&place, &text, &["--allow", "run_command"]).expect(1);
}

// G3, B9: after a side effect nobody can tell, and nothing is done twice.
#[test]
fn a_refused_request_after_a_side_effect_is_uncertain_and_the_tool_ran_once() {
    let provider = Provider::answering(|_, number| match number {
        1 => calls(&[(
            "run_command",
            json!({"argv": ["sh", "-c", "echo x >> log"]}),
        )]),
        _ => status(400),
    });
    let place = provider.place();
    let text = ONE.replace("instructions: Write.", "tools: [run_command]");
    let ended = provider
        .run(&place, &text, &["--allow", "run_command"])
        .expect(3);
    let settled = &ended.of_step("step.settled", "draft")[0];
    assert_eq!(
        [&settled["verdict"], &settled["reason"]],
        ["uncertain", "effect_unknown"]
    );
    assert_eq!(outcomes(&ended), ["ok"]);
    let log = std::fs::read_to_string(place.workspace().join("log")).expect("written");
    assert_eq!(log, "x\n");
}

// V23
#[test]
fn pre_steps_that_fail_end_the_routine_unless_told_to_continue() {
    let pre = |on_error: &str| {
        let step = format!(
            "pre_steps: [{{ name: look, tool: read_file, args: {{ path: no }}{on_error} }}]\nentry_steps"
        );
        ONE.replace("entry_steps", &step)
    };
    let settled = run(&Place::new(), &pre(""), &[]).expect(1).settled();
    assert_eq!(
        [&settled["reason"], &settled["detail"]["name"]],
        ["pre_step_failed", "look"]
    );
    for on_error in [", on_error: continue", ", on_error: skip_remaining"] {
        let ended = run(&Place::new(), &pre(on_error), &[]).expect(0);
        assert_eq!(outcomes(&ended), ["failed"]);
    }
}

// V23: post steps run after success; with `always` after a failure too.
#[test]
fn post_steps_run_when_they_are_triggered() {
    let text = |trigger: &str| {
        let post = format!(
            "post_steps: [{{ name: note, tool: write_file, args: {{ path: note, text: x }} }}]\npost_steps_trigger: {trigger}\nentry_steps"
        );
        tool("read_file", &json!({"path": "no"}), "").replacen("entry_steps", &post, 1)
    };
    for (trigger, written) in [("on_success", false), ("always", true)] {
        let place = Place::new();
        let ended = run(&place, &text(trigger), &["--allow", "write_file"]).expect(1);
        assert_eq!(ended.settled()["reason"], "tool_failed");
        assert_eq!(
            place.workspace().join("note").exists(),
            written,
            "{trigger}"
        );
    }
}

// M6: what is always allowed can't be denied.
#[test]
fn memory_and_synthetic_tools_need_no_permission() {
    let place = Place::new();
    let set = tool("memory_set", &json!({"key": "k", "value": 1}), "");
    assert_eq!(outcomes(&run(&place, &set, &[]).expect(0)), ["ok"]);
    let submit = tool("synthetic_submit", &json!({"job": "j"}), "");
    assert_eq!(outcomes(&run(&place, &submit, &[]).expect(0)), ["ok"]);
    let place = Place::new().configured("[permissions]\nmemory_set = \"deny\"");
    run(&place, &set, &[]).expect(2).says("always allowed");
}

// routine-format.md, Checks: exit 75 waits, with its last words as the reason; the observation
// comes on stdin.
#[test]
fn a_command_check_waits_blocks_or_holds_by_its_exit_code() {
    let checked = |script: &str| {
        let check = json!({"check": "command", "run": ["sh", "-c", script], "poll_ms": 100});
        ONE.replace("instructions: Write.", &format!("verify: [{check}]"))
    };
    let waits = "cat > seen; echo first >&2; echo not yet >&2; test -e sign || exit 75";
    let place = Place::new();
    let paused = run(&place, &checked(waits), &[]).expect(3).paused();
    assert_eq!(paused["state"], "waiting");
    assert_eq!(paused["waits"][0]["reason"], "not yet");
    let seen = std::fs::read(place.workspace().join("seen")).expect("written");
    let seen: Value = serde_json::from_slice(&seen).expect("an observation is JSON");
    assert!(seen.is_object());
    place.file("sign", "");
    let ended = run(&place, &checked(waits), &["--on-wait", "poll"]).expect(0);
    assert_eq!(
        ended.of_step("verify.decided", "draft")[0]["basis"],
        "checks"
    );
    let paused = run(&place, &checked("echo wrong >&2; exit 1"), &[])
        .expect(3)
        .paused();
    assert_eq!(paused["state"], "blocked");
    assert_eq!(paused["waits"][0]["reason"], "wrong");
    let killed = checked("kill -9 $$");
    assert_eq!(
        run(&place, &killed, &[]).expect(3).paused()["state"],
        "uncertain"
    );
}

// G15: checks decide a gate: verified passes, blocked fails.
#[test]
fn a_checks_gate_passes_or_fails_without_a_model() {
    let gate = |script: &str| {
        format!(
            "routine: gate
entry_steps: [look]
steps:
  - {{ slug: look, type: gate, checks: [{{ check: command, run: [sh, -c, {script}] }}] }}
  - {{ slug: done, type: terminal }}
  - {{ slug: not, type: terminal_fail, reason: Unfit }}
edges:
  - {{ from: look, to: done, condition: on_pass, handoff_schema: {{ type: object, required: [verdict, checks] }} }}
  - {{ from: look, to: not, condition: on_fail }}
"
        )
    };
    let ended = run(&Place::new(), &gate("exit 0"), &[]).expect(0);
    assert_eq!(ended.of_step("step.settled", "look")[0]["verdict"], "pass");
    assert!(ended.of("model.called").is_empty() && ended.of("step.submitted").is_empty());
    let settled = run(&Place::new(), &gate("exit 1"), &[]).expect(1).settled();
    assert_eq!(
        [&settled["reason"], &settled["detail"]["text"]],
        ["terminal_fail", "Unfit"]
    );
}

// G5: what a tool hands over has to fit its edge.
#[test]
fn a_result_that_does_not_fit_its_edge_fails_the_step() {
    let text = tool("memory_set", &json!({"key": "k", "value": 1}), "").replace(
        "from: act, to: done",
        "from: act, to: done, handoff_schema: { type: object, required: [note] }",
    );
    let settled = run(&Place::new(), &text, &[]).expect(1).settled();
    assert_eq!(
        [&settled["reason"], &settled["step"]],
        ["handoff_mismatch", "act"]
    );
    assert_eq!(settled["detail"]["edge"], "act->done");
}
