//! Runs one command without a shell, in a process group of its own that ends with it (M7).
//!
//! The group stands in a session of its own as well: a command has no controlling terminal, so it can
//! neither draw over the screen nor read what a person types.
//!
//! However the command ends (by itself, by its time limit, by cancellation, by too much output, or
//! because nobody waits for it any more), its whole session is ended too. A process that left the
//! session may live on, but can't make us wait: what still holds the pipes is left behind after a moment.
//!
//! Provider keys are taken out of the environment that a command inherits (M4). What a command does
//! is not looked into here.

mod session;

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
/// Addresses of providers, which some gateways take a key in, after a question mark.
const ADDRESS_VARIABLES: [&str; 3] = ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST"];

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
        .kill_on_drop(true);
    in_a_session_of_its_own(&mut system);
    for name in WITHHELD_VARIABLES {
        system.env_remove(name);
    }
    for name in ADDRESS_VARIABLES {
        if std::env::var_os(name).is_some_and(|address| address.as_encoded_bytes().contains(&b'?'))
        {
            system.env_remove(name);
        }
    }
    system.envs(&command.env);
    let child = system.spawn().map_err(refused)?;
    let leader = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    Ok((child, Group { leader }))
}

/// Leading a session, the command leads a group of the same number too.
#[allow(unsafe_code)]
fn in_a_session_of_its_own(system: &mut tokio::process::Command) {
    // SAFETY: what runs between fork and exec is one system call; it allocates nothing and takes no
    // lock that another thread could hold.
    unsafe {
        system.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
    }
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

    /// Ends every process of the group, and of the session around it.
    fn end(&mut self) {
        if let Some(leader) = self.leader.take() {
            let _ = rustix::process::kill_process_group(leader, Signal::KILL);
            session::end(leader);
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
mod tests;
