//! How a run ends: exit codes, signals, a reader that goes away, deadlines at a wait (C1, C2).

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::cli::gates::ONE;
use crate::cli::program::{Place, Running, demo};
use crate::cli::provider::{Provider, Reply, pass_to};

const SIGNALS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

/// A check that waits for a file that never comes.
fn waiting(deadline_ms: u32, poll_ms: u32) -> String {
    format!(
        "routine: wait
deadline_ms: {deadline_ms}
entry_steps: [look]
steps:
  - {{ slug: look, type: gate, checks: [{{ check: file, path: sign, poll_ms: {poll_ms} }}] }}
  - {{ slug: done, type: terminal }}
edges:
  - {{ from: look, to: done, condition: on_pass }}
"
    )
}

// C2: each cancels, and the settled event comes first.
#[test]
fn a_signal_cancels_a_run_whose_model_hangs() {
    for (signal, code) in SIGNALS {
        let provider = Provider::answering(|_, _| Reply::Silence);
        let place = provider.place();
        let file = place.file("one.yaml", ONE);
        let arguments = ["run", &file, "--format", "json", "--model", "openai/m"];
        let mut running = Running::start(place.command(&arguments));
        running.wait_for("model.called");
        let began = Instant::now();
        running.signal(signal);
        let ended = running.end().expect(code);
        assert!(began.elapsed() < Duration::from_secs(2), "{signal:?}");
        let settled = ended.settled();
        assert_eq!(
            [&settled["status"], &settled["reason"]],
            ["cancelled", "cancelled"]
        );
        assert_eq!(settled["effects"], "before_effects");
        // L3: the attempt is recorded.
        assert_eq!(settled["usage"]["model_calls"], 1);
    }
}

// C2
#[test]
fn a_signal_cancels_a_run_that_polls() {
    for (signal, code) in SIGNALS {
        let place = Place::new();
        let file = place.file("wait.yaml", waiting(0, 60_000));
        let arguments = ["run", &file, "--format", "json", "--on-wait", "poll"];
        let mut running = Running::start(place.command(&arguments));
        running.wait_for("operation.paused");
        running.signal(signal);
        let ended = running.end().expect(code);
        assert_eq!(ended.settled()["status"], "cancelled");
    }
}

/// A run whose command doesn't listen to signals, and that command's process.
fn stubborn(place: &Place) -> (Running, String) {
    let text = "routine: long
entry_steps: [act]
steps:
  - { slug: act, type: tool, tool: run_command, args: { argv: [sh, -c, \"trap '' TERM INT HUP; echo $$ > part; mv part began; sleep 9\"] } }
  - { slug: done, type: terminal }
edges: [{ from: act, to: done }]
";
    let file = place.file("long.yaml", text);
    let arguments = ["run", &file, "--format", "json", "--allow", "run_command"];
    let mut running = Running::start(place.command(&arguments));
    running.wait_for("step.started");
    let until = Instant::now() + Duration::from_secs(10);
    let process = loop {
        match std::fs::read_to_string(place.workspace().join("began")) {
            Ok(process) => break process.trim().to_owned(),
            Err(_) => assert!(Instant::now() < until, "the command doesn't begin"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    (running, process)
}

// C2, G10: what doesn't end within its grace is left behind, and so is a command.
#[test]
fn a_signal_ends_a_command_that_runs() {
    let place = Place::new();
    let (running, _) = stubborn(&place);
    let began = Instant::now();
    running.signal(Signal::TERM);
    let settled = running.end().expect(143).settled();
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(settled["effects"], "after_partial_effects");
}

// M7: also where a person asks twice and nothing more is waited for.
#[cfg(target_os = "linux")]
#[test]
fn a_second_signal_leaves_no_command_behind() {
    let place = Place::new();
    let (running, process) = stubborn(&place);
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(20));
    running.signal(Signal::INT);
    running.end().expect(130);
    // Killed is not gone yet.
    let until = Instant::now() + Duration::from_secs(5);
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    while runs() {
        assert!(Instant::now() < until, "process {process} lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

// C2: a reader that stopped reading holds up the settled event, but not a second signal.
#[test]
fn a_second_signal_ends_a_run_whose_reader_does_not_read() {
    let place = Place::new();
    let mut text = String::from("routine: long\nentry_steps: [s1]\nsteps:\n");
    let steps = 1..=200;
    for n in steps.clone() {
        text.push_str(&format!(
            "  - {{ slug: s{n}, type: agent, agent: default }}\n"
        ));
    }
    text.push_str("  - { slug: s201, type: terminal }\nedges:\n");
    for n in steps {
        text.push_str(&format!("  - {{ from: s{n}, to: s{} }}\n", n + 1));
    }
    let file = place.file("long.yaml", text);
    let mut command = place.command(&["run", &file, "--format", "json"]);
    let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
    let stdout = child.stdout.take().expect("a pipe");
    let pid = Pid::from_raw(child.id() as i32).expect("an id isn't zero");
    // Until the pipe is as full as its last line lets it be.
    let until = Instant::now() + Duration::from_secs(10);
    let (mut before, mut same) = (0, 0);
    while same < 20 {
        assert!(Instant::now() < until, "the pipe doesn't fill");
        let held = rustix::io::ioctl_fionread(&stdout).expect("a pipe");
        same = if held == before && held > 50_000 {
            same + 1
        } else {
            0
        };
        before = held;
        std::thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..2 {
        kill_process(pid, Signal::INT).expect("it is there");
        std::thread::sleep(Duration::from_millis(50));
    }
    let until = Instant::now() + Duration::from_secs(5);
    let code = loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status.code();
        }
        if Instant::now() > until {
            child.kill().expect("it is ours");
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(code, Some(130));
}

// C2: closed before the first event, or in the middle.
#[test]
fn a_closed_stdout_cancels_without_a_panic() {
    for format in ["json", "text"] {
        for lines in [0, 1] {
            let provider = Provider::answering(|_, number| {
                let reply = pass_to("done", "x");
                match number {
                    1 => Reply::Later(Duration::from_millis(100), Box::new(reply)),
                    _ => reply,
                }
            });
            let place = provider.place();
            let file = place.file("one.yaml", ONE);
            let arguments = ["run", &file, "--format", format, "--model", "openai/m"];
            let mut child = place.command(&arguments).spawn().expect("it starts");
            let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
            for _ in 0..lines {
                stdout.read_line(&mut String::new()).expect("a line");
            }
            drop(stdout);
            let output = child.wait_with_output().expect("it ends");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(4), "{stderr}");
            assert!(!stderr.contains("panicked"), "{stderr}");
        }
    }
}

// C2: the other subcommands too.
#[test]
fn a_closed_stdout_is_four_everywhere() {
    let linear = demo("linear");
    for arguments in [
        &["schema"][..],
        &["graph", &linear],
        &["validate", &linear],
        &["--help"],
        &["--version"],
    ] {
        let place = Place::new();
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = place.command(arguments);
        let output = command.stdout(writer).output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{arguments:?} {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

// C2: also where there never was one; the standard library puts `/dev/null` in its place.
#[test]
fn a_stdout_that_was_closed_from_the_start_is_four_everywhere() {
    for arguments in [
        "run \"$FILE\" --format json",
        "run \"$FILE\"",
        "validate \"$FILE\"",
        "graph \"$FILE\"",
        "schema",
        "--version",
        "run --help",
    ] {
        let place = Place::new();
        let mut command = place.shell(&format!("exec \"$AMOS\" {arguments} >&-"));
        command.env("FILE", demo("linear"));
        let ended = Running::start(command).end().expect(4);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
    let place = Place::new();
    let mut command = place.command(&["run", &demo("linear")]);
    let output = command.stdout(Stdio::null()).output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "/dev/null is a stdout");
}

#[test]
fn a_closed_stderr_stops_nobody() {
    let place = Place::new();
    let mut command = place.shell("exec \"$AMOS\" run \"$FILE\" --format json 2>&-");
    command.env("FILE", demo("linear"));
    Running::start(command).end().expect(0).settled();
}

// C1: every resume is an admitted one.
#[test]
fn polling_looks_again_until_the_check_holds() {
    let place = Place::new();
    let file = place.file("wait.yaml", waiting(0, 100));
    let arguments = ["run", &file, "--format", "json", "--on-wait", "poll"];
    let mut running = Running::start(place.command(&arguments));
    running.wait_for("operation.paused");
    running.wait_for("operation.resumed");
    running.wait_for("operation.paused");
    place.file("sign", "now");
    let ended = running.end().expect(0);
    let resumed = ended.of("operation.resumed");
    for (n, event) in resumed.iter().enumerate() {
        assert_eq!(event["generation"], n + 1);
    }
    assert_eq!(resumed.len(), ended.of("operation.paused").len());
    assert_eq!(ended.of_step("step.started", "look").len(), 1);
}

// C1: blocked, uncertain, or only other waits left: 3, at once.
#[test]
fn polling_gives_up_where_only_a_person_can_help() {
    let gate = |owner: &str| {
        format!(
            "routine: gate
entry_steps: [look]
steps:
  - {{ slug: look, type: gate, {owner} }}
  - {{ slug: done, type: terminal }}
edges:
  - {{ from: look, to: done, condition: on_pass }}
"
        )
    };
    let verify = ONE.replace(
        "entry_steps",
        "verify: [{ check: manual, prompt: Right? }]\nentry_steps",
    );
    let blocked = ONE.replace(
        "entry_steps",
        "verify: [{ check: file, path: b, contains: x }, { check: file, path: never, poll_ms: 100 }]\nentry_steps",
    );
    for (text, state, kinds) in [
        (gate("operator: true"), "waiting", &["operator_gate"][..]),
        (
            gate("checks: [{ check: manual, prompt: Right? }]"),
            "waiting",
            &["manual"],
        ),
        (
            gate("checks: [{ check: command, run: [no-such-program] }]"),
            "uncertain",
            &["check"],
        ),
        (verify, "waiting", &["manual"]),
        (blocked, "blocked", &["check", "check"]),
    ] {
        let place = Place::new();
        place.file("b", "y");
        let file = place.file("gate.yaml", &text);
        let ended = place.run(&file, &["--on-wait", "poll"]).expect(3);
        let paused = ended.paused();
        let found: Vec<_> = paused["waits"]
            .as_array()
            .expect("waits")
            .iter()
            .map(|wait| wait["kind"].as_str().expect("a word"))
            .collect();
        assert_eq!(
            (paused["state"].as_str(), &*found),
            (Some(state), kinds),
            "{text}"
        );
        assert!(ended.of("operation.resumed").is_empty());
        ended.says("--on-wait prompt");
    }
}

// C1: a manual check beside one that waits doesn't keep that one from being looked at again.
#[test]
fn polling_goes_on_while_any_check_says_waiting() {
    let place = Place::new();
    let text = ONE.replace(
        "entry_steps",
        "verify: [{ check: manual, prompt: Right? }, { check: file, path: sign, poll_ms: 100 }]\nentry_steps",
    );
    let file = place.file("two.yaml", text);
    let arguments = ["run", &file, "--format", "json", "--on-wait", "poll"];
    let mut running = Running::start(place.command(&arguments));
    running.wait_for("operation.resumed");
    place.file("sign", "now");
    let ended = running.end().expect(3);
    let paused = ended.paused();
    assert_eq!(paused["waits"].as_array().map(Vec::len), Some(1));
    assert_eq!(paused["waits"][0]["kind"], "manual");
}

// V24: deadlines run on while waiting, and end the wait itself.
#[test]
fn a_deadline_that_passes_at_a_wait_ends_the_run_at_once() {
    let place = Place::new();
    let file = place.file("wait.yaml", waiting(300, 60_000));
    let began = Instant::now();
    let ended = place.run(&file, &["--on-wait", "poll"]).expect(1);
    assert!(began.elapsed() < Duration::from_secs(5));
    let settled = ended.settled();
    assert_eq!(
        [&settled["status"], &settled["reason"]],
        ["failed", "deadline"]
    );
    assert_eq!(ended.of("operation.paused").len(), 1);
}

// C2: a stdin that is closed or no terminal doesn't matter without questions.
#[test]
fn without_a_stdin_a_run_goes_on() {
    let place = Place::new();
    let mut command = place.command(&["run", &demo("linear")]);
    let output = command.stdin(Stdio::null()).output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
}

// T7, C2: help and version are no mistakes.
#[test]
fn help_and_version_go_to_stdout_with_zero() {
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let ended = Place::new().amos(arguments).expect(0);
        assert!(!ended.stdout.is_empty() && ended.stderr.is_empty());
    }
}
