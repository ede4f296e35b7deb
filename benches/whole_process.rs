//! The command line as a whole process, against the numbers of Q1 and Q2: best of five.
//!
//! `cargo bench --bench whole_process` prints them; it judges nothing, since times belong to a
//! machine. Peak memory is shown where GNU `time` is installed.

#![expect(clippy::print_stdout, reason = "numbers are what it is for")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

const ROUNDS: usize = 5;
/// GNU time: the shell's own tells no memory.
const TIME: &str = "/usr/bin/time";

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).expect("written");
        name.to_owned()
    };
    let line = write("line.yaml", line(1_000));
    let fan = write("fan.yaml", fan(100));

    let run = best(folder.path(), &["run", &line, "--format", "json"]);
    run.show("Q1  line of 1,000 steps", "under 300 ms, 40 MB");
    let at = |step: usize| settled(&run.stdout, &format!("s{step}"));
    let (first, middle, last) = (at(1), at(500), at(999));
    let early = middle.duration_since(first).as_secs_f64();
    let late = last.duration_since(middle).as_secs_f64();
    println!(
        "Q1  (t999 - t500) / (t500 - t1): {:.1} ms / {:.1} ms = {:.2}    (at most 1.3)",
        late * 1e3,
        early * 1e3,
        late / early
    );
    best(folder.path(), &["run", &fan, "--format", "json"])
        .show("Q1  fan-out of 100 and its join", "under 100 ms");
    best(folder.path(), &["validate", &line]).show("Q2  validating 1,000 steps", "under 100 ms");
}

/// Steps one after another.
fn line(steps: usize) -> String {
    let mut text = String::from("routine: line\nentry_steps: [s1]\nsteps:\n");
    for n in 1..=steps {
        push(
            &mut text,
            format_args!("  - {{ slug: s{n}, type: agent, agent: default }}"),
        );
    }
    push(
        &mut text,
        format_args!("  - {{ slug: done, type: terminal }}\nedges:"),
    );
    for n in 1..steps {
        push(
            &mut text,
            format_args!("  - {{ from: s{n}, to: s{} }}", n + 1),
        );
    }
    push(
        &mut text,
        format_args!("  - {{ from: s{steps}, to: done }}"),
    );
    text
}

/// Branches of agents of their own, between a start and a join.
fn fan(width: usize) -> String {
    let mut text = String::from("routine: fan\nagents:\n");
    for n in 1..=width {
        push(&mut text, format_args!("  a{n}: {{}}"));
    }
    text.push_str("entry_steps: [split]\nsteps:\n");
    for slug in ["split", "join"] {
        push(
            &mut text,
            format_args!("  - {{ slug: {slug}, type: agent, agent: default }}"),
        );
    }
    for n in 1..=width {
        push(
            &mut text,
            format_args!("  - {{ slug: s{n}, type: agent, agent: a{n} }}"),
        );
    }
    text.push_str("  - { slug: done, type: terminal }\nedges:\n  - { from: join, to: done }\n");
    for n in 1..=width {
        push(&mut text, format_args!("  - {{ from: split, to: s{n} }}"));
        push(&mut text, format_args!("  - {{ from: s{n}, to: join }}"));
    }
    text
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String can't fail.
    let _ = writeln!(text, "{line}");
}

/// The best of some rounds.
struct Best {
    wall: Duration,
    /// In KiB; `None` without GNU time.
    peak: Option<u64>,
    stdout: String,
}

impl Best {
    fn show(&self, what: &str, wanted: &str) {
        let peak = match self.peak {
            Some(kib) => format!("{:.1} MB", kib as f64 / 1024.0),
            None => "no GNU time, no memory".to_owned(),
        };
        println!(
            "{what}: {:.1} ms, {peak}    ({wanted})",
            self.wall.as_secs_f64() * 1e3
        );
    }
}

fn best(folder: &Path, arguments: &[&str]) -> Best {
    let timed = Path::new(TIME).exists();
    let rounds = (0..ROUNDS).map(|round| {
        let mut command = if timed {
            let mut command = Command::new(TIME);
            command.args(["-f", "peak %M", env!("CARGO_BIN_EXE_amos-tui")]);
            command
        } else {
            Command::new(env!("CARGO_BIN_EXE_amos-tui"))
        };
        command
            .args(arguments)
            .env_clear()
            .current_dir(folder)
            .env("AMOS_DATA_DIR", folder.join(format!("data-{round}")))
            .env("AMOS_MODEL", "offline")
            .stdin(Stdio::null());
        let began = Instant::now();
        let output = command.output().expect("it runs");
        let wall = began.elapsed();
        assert!(output.status.success(), "{output:?}");
        let stderr = String::from_utf8(output.stderr).expect("a text");
        let peak = stderr
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("peak "));
        Best {
            wall,
            peak: peak.map(|kib| kib.parse().expect("a number")),
            stdout: String::from_utf8(output.stdout).expect("a text"),
        }
    });
    rounds.min_by_key(|round| round.wall).expect("some rounds")
}

/// When a step's verdict was known.
fn settled(stdout: &str, step: &str) -> Timestamp {
    stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .find(|event| event["type"] == "step.settled" && event["step"] == step)
        .and_then(|event| event["at"].as_str()?.parse().ok())
        .expect("it settled")
}
