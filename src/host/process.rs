//! Runs one command without a shell, in a process group of its own that ends with it (M7).
//!
//! However the command ends (by itself, by its time limit, by cancellation, by too much output, or
//! because nobody waits for it any more), its whole group is ended too. A process that left the group
//! may live on, but can't make us wait: what still holds the pipes is left behind after a moment.
//!
//! Provider keys are taken out of the environment that a command inherits (M4). What a command does
//! is not looked into here.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::limits;

/// How long a group may tidy up after it was asked to end.
const TIDY_UP: Duration = Duration::from_millis(250);
/// How long pipes may stay open after everything of the group has ended.
const DRAIN: Duration = Duration::from_millis(300);
/// How long the system may take to end what was killed.
const KILL: Duration = Duration::from_secs(1);
const CHUNK: usize = 64 * 1024;

/// Variables that a command never inherits.
pub const WITHHELD_VARIABLES: [&str; 3] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"];

/// What to run.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments; no shell reads them.
    pub argv: Vec<String>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// What it reads; it may ignore it.
    pub stdin: Bytes,
    /// Added to the inherited environment.
    pub env: BTreeMap<String, String>,
    /// After this it is ended.
    pub time_limit: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that we didn't send.
    Signalled(i32),
    /// By us: its time limit passed.
    TimedOut,
    /// By us: it was cancelled.
    Cancelled,
    /// By us: it wrote more than is kept.
    OutputLimit,
    /// Nobody can say: the system didn't tell.
    Lost,
}

/// What is left of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub end: End,
    /// What it wrote, as far as it was captured.
    pub stdout: Vec<u8>,
    /// What it wrote, as far as it was captured.
    pub stderr: Vec<u8>,
}

/// The command never ran.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// There is no program to run.
    #[error("the command is empty")]
    Empty,
    /// The system refused.
    #[error("{program:?} can't be started: {error}")]
    Refused {
        /// The program.
        program: String,
        /// The system's words.
        error: io::Error,
    },
}

/// Runs a command to its end. Dropping the future ends the group as well.
pub async fn run(command: Command, cancellation: &CancellationToken) -> Result<Ended, NotStarted> {
    run_within(command, cancellation, limits::COMMAND_OUTPUT_BYTES).await
}

async fn run_within(
    command: Command,
    cancellation: &CancellationToken,
    output_limit: usize,
) -> Result<Ended, NotStarted> {
    let started = Instant::now();
    let (mut child, mut group) = start(&command)?;
    let mut stdout = Pipe::of(child.stdout.take());
    let mut stderr = Pipe::of(child.stderr.take());
    let mut feeding = Box::pin(feed(child.stdin.take(), command.stdin));
    let mut fed = false;
    let mut stage = Stage::Running;
    let mut until = started + command.time_limit;

    let end = loop {
        tokio::select! {
            biased;
            () = cancellation.cancelled(), if stage == Stage::Running => {
                group.ask();
                (stage, until) = (Stage::Asked(End::Cancelled), Instant::now() + TIDY_UP);
            }
            () = tokio::time::sleep_until(until) => match stage {
                Stage::Running => {
                    group.ask();
                    (stage, until) = (Stage::Asked(End::TimedOut), Instant::now() + TIDY_UP);
                }
                Stage::Asked(end) => {
                    group.end();
                    (stage, until) = (Stage::Killed(end), Instant::now() + KILL);
                }
                Stage::Killed(end) | Stage::Drained(end) => break end,
            },
            exited = child.wait(), if !matches!(stage, Stage::Drained(_)) => {
                let end = stage.end_after(exited);
                // What the command left running ends with it, and lets go of the pipes.
                group.end();
                (stage, until) = (Stage::Drained(end), Instant::now() + DRAIN);
            }
            () = stdout.read(), if stdout.open() => {}
            () = stderr.read(), if stderr.open() => {}
            () = &mut feeding, if !fed => fed = true,
            else => {}
        }
        let over = stdout.captured.len() + stderr.captured.len() > output_limit;
        match stage {
            Stage::Drained(end) if !stdout.open() && !stderr.open() => break end,
            // Output that came before the exit counts, also where it is read after it.
            Stage::Drained(_) if over => break End::OutputLimit,
            Stage::Running if over => {
                group.end();
                (stage, until) = (Stage::Killed(End::OutputLimit), Instant::now() + KILL);
            }
            Stage::Running | Stage::Asked(_) | Stage::Killed(_) | Stage::Drained(_) => {}
        }
        if over {
            // Enough is kept; nothing that comes now is read.
            stdout.close();
            stderr.close();
        }
    };
    stdout.captured.truncate(output_limit);
    stderr
        .captured
        .truncate(output_limit - stdout.captured.len());
    Ok(Ended {
        end,
        stdout: stdout.captured,
        stderr: stderr.captured,
    })
}

/// How far the end of a command has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It does its work.
    Running,
    /// It was asked to end.
    Asked(End),
    /// It was killed.
    Killed(End),
    /// It has ended; what it wrote is still being read.
    Drained(End),
}

impl Stage {
    /// How the command ended, now that it has: our own doing comes before what the system says.
    fn end_after(self, exited: io::Result<ExitStatus>) -> End {
        use std::os::unix::process::ExitStatusExt;
        match (self, exited) {
            (Self::Asked(end) | Self::Killed(end) | Self::Drained(end), _) => end,
            (Self::Running, Ok(status)) => match (status.code(), status.signal()) {
                (Some(code), _) => End::Exited(code),
                (None, Some(signal)) => End::Signalled(signal),
                (None, None) => End::Lost,
            },
            (Self::Running, Err(_)) => End::Lost,
        }
    }
}

fn start(command: &Command) -> Result<(Child, Group), NotStarted> {
    let Some((program, arguments)) = command.argv.split_first() else {
        return Err(NotStarted::Empty);
    };
    let refused = |error| NotStarted::Refused {
        program: program.clone(),
        error,
    };
    let mut system = tokio::process::Command::new(program);
    system
        .args(arguments)
        .current_dir(&command.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    for name in WITHHELD_VARIABLES {
        system.env_remove(name);
    }
    system.envs(&command.env);
    let child = system.spawn().map_err(refused)?;
    let leader = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    Ok((child, Group { leader }))
}

/// Feeds a command. That it doesn't read to the end is its own business.
async fn feed(stdin: Option<ChildStdin>, content: Bytes) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(&content).await;
        let _ = stdin.shutdown().await;
    }
}

/// A process group that ends with us.
#[derive(Debug)]
struct Group {
    /// Taken once the group was ended, so that a number used again is never hit.
    leader: Option<Pid>,
}

impl Group {
    /// Asks every process of the group to end. One that is gone already is no error.
    fn ask(&self) {
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process_group(leader, Signal::TERM);
        }
    }

    /// Ends every process of the group.
    fn end(&mut self) {
        if let Some(leader) = self.leader.take() {
            let _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// One pipe of a command and what came through it.
struct Pipe<R> {
    reader: Option<R>,
    captured: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn of(reader: Option<R>) -> Self {
        Self {
            reader,
            captured: Vec::new(),
        }
    }

    fn open(&self) -> bool {
        self.reader.is_some()
    }

    fn close(&mut self) {
        self.reader = None;
    }

    /// Takes what is there. Loses nothing when it is dropped while waiting.
    async fn read(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        self.captured.reserve(CHUNK);
        match reader.read_buf(&mut self.captured).await {
            Ok(0) | Err(_) => self.close(),
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(argv: &[&str]) -> Command {
        Command {
            argv: argv.iter().map(|text| (*text).to_owned()).collect(),
            cwd: std::env::temp_dir(),
            stdin: Bytes::new(),
            env: BTreeMap::new(),
            time_limit: Duration::from_secs(20),
        }
    }

    async fn ended(command: Command) -> Ended {
        run(command, &CancellationToken::new())
            .await
            .expect("started")
    }

    /// Whether a process still runs; one that ended and wasn't reaped by its parent doesn't.
    fn runs(pid: &str) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
            .is_ok_and(|stat| !stat.contains(") Z "))
    }

    async fn gone(pid: &str) {
        let until = Instant::now() + Duration::from_secs(5);
        while runs(pid) {
            assert!(Instant::now() < until, "process {pid} lives on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_command_gives_its_code_and_both_outputs() {
        let ended = ended(command(&["sh", "-c", "echo out; echo err >&2; exit 3"])).await;
        assert_eq!(ended.end, End::Exited(3));
        assert_eq!(
            (&ended.stdout[..], &ended.stderr[..]),
            (&b"out\n"[..], &b"err\n"[..])
        );
    }

    #[tokio::test]
    async fn no_shell_reads_the_arguments() {
        let ended = ended(command(&["echo", "$HOME; *"])).await;
        assert_eq!(ended.stdout, b"$HOME; *\n");
    }

    #[tokio::test]
    async fn input_environment_and_folder_arrive() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut given = command(&["sh", "-c", "cat; echo $WORD; pwd -P"]);
        given.stdin = Bytes::from_static(b"in ");
        given.env.insert("WORD".into(), "word".into());
        given.cwd = folder.path().canonicalize().expect("a path");
        let expected = format!("in word\n{}\n", given.cwd.display());
        assert_eq!(
            String::from_utf8_lossy(&ended(given).await.stdout),
            expected
        );
    }

    #[tokio::test]
    async fn input_that_nobody_reads_is_no_error() {
        let mut given = command(&["true"]);
        given.stdin = Bytes::from(vec![b'x'; 4 * 1024 * 1024]);
        assert_eq!(ended(given).await.end, End::Exited(0));
    }

    #[tokio::test]
    async fn output_that_is_no_utf8_comes_as_it_is() {
        let ended = ended(command(&["printf", r"\377\000a"])).await;
        assert_eq!(ended.stdout, [0xff, 0, b'a']);
    }

    // M7
    #[tokio::test]
    async fn what_a_command_left_in_the_background_ends_with_it() {
        let started = Instant::now();
        let ended = ended(command(&["sh", "-c", "sleep 100 & echo $!"])).await;
        assert_eq!(ended.end, End::Exited(0));
        assert!(started.elapsed() < Duration::from_secs(5));
        gone(&String::from_utf8_lossy(&ended.stdout)).await;
    }

    // M7
    #[tokio::test]
    async fn a_process_that_left_the_group_cannot_make_us_wait() {
        let started = Instant::now();
        let ended = ended(command(&["sh", "-c", "setsid sleep 7 & echo hi"])).await;
        assert_eq!(
            (ended.end, &ended.stdout[..]),
            (End::Exited(0), &b"hi\n"[..])
        );
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    // M7
    #[tokio::test]
    async fn a_command_that_ignores_the_request_to_end_is_killed_with_its_group() {
        let mut given = command(&[
            "sh",
            "-c",
            "trap '' TERM; sleep 100 & echo $!; while :; do sleep 1; done",
        ]);
        given.time_limit = Duration::from_millis(200);
        let started = Instant::now();
        let ended = ended(given).await;
        assert_eq!(ended.end, End::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(5));
        gone(&String::from_utf8_lossy(&ended.stdout)).await;
    }

    #[tokio::test]
    async fn a_command_may_tidy_up_when_its_time_is_over() {
        let mut given = command(&[
            "sh",
            "-c",
            "trap 'echo tidy; exit 0' TERM; sleep 100 & wait",
        ]);
        given.time_limit = Duration::from_millis(200);
        let ended = ended(given).await;
        assert_eq!(
            (ended.end, &ended.stdout[..]),
            (End::TimedOut, &b"tidy\n"[..])
        );
    }

    #[tokio::test]
    async fn a_cancelled_command_ends() {
        let cancellation = CancellationToken::new();
        cancellation.cancel();
        let ended = run(command(&["sleep", "100"]), &cancellation)
            .await
            .expect("started");
        assert_eq!(ended.end, End::Cancelled);
    }

    #[tokio::test]
    async fn a_command_that_nobody_waits_for_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut given = command(&["sh", "-c", "echo $$ > pid.part; mv pid.part pid; sleep 100"]);
        given.cwd = folder.path().to_owned();
        let file = folder.path().join("pid");
        let cancellation = CancellationToken::new();
        {
            let mut running = Box::pin(run(given, &cancellation));
            while !file.exists() {
                tokio::select! {
                    _ = &mut running => panic!("it ended by itself"),
                    () = tokio::time::sleep(Duration::from_millis(5)) => {}
                }
            }
        }
        gone(&std::fs::read_to_string(file).expect("a pid")).await;
    }

    // M7
    #[tokio::test]
    async fn too_much_output_ends_the_command_and_what_was_captured_stays() {
        let cancellation = CancellationToken::new();
        let ended = run(command(&["yes"]), &cancellation)
            .await
            .expect("started");
        assert_eq!(ended.end, End::OutputLimit);
        assert_eq!(ended.stdout.len(), limits::COMMAND_OUTPUT_BYTES);
        let given = command(&[
            "sh",
            "-c",
            "head -c 600 /dev/zero >&2; head -c 600 /dev/zero",
        ]);
        let ended = run_within(given, &cancellation, 1000)
            .await
            .expect("started");
        assert_eq!(ended.end, End::OutputLimit);
        assert_eq!(ended.stdout.len() + ended.stderr.len(), 1000);
    }

    #[tokio::test]
    async fn output_as_large_as_allowed_is_fine() {
        let given = command(&["head", "-c", "1000", "/dev/zero"]);
        let ended = run_within(given, &CancellationToken::new(), 1000)
            .await
            .expect("started");
        assert_eq!((ended.end, ended.stdout.len()), (End::Exited(0), 1000));
    }

    #[tokio::test]
    async fn a_signal_is_told_apart_from_a_code() {
        let ended = ended(command(&["sh", "-c", "kill -9 $$"])).await;
        assert_eq!(ended.end, End::Signalled(9));
    }

    #[tokio::test]
    async fn what_cannot_be_started_says_why() {
        for argv in [&[][..], &["no-such-program-here"], &["/"], &["a\0b"]] {
            assert!(
                run(command(argv), &CancellationToken::new()).await.is_err(),
                "{argv:?}"
            );
        }
    }

    // M4
    #[tokio::test]
    async fn keys_of_providers_are_not_inherited() {
        let ended = ended(command(&["env"])).await;
        let text = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(WITHHELD_VARIABLES.iter().all(|name| !text.contains(name)));
    }
}
