//! A place to run the binary in, a running one, and what it left.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Folders of one test: a workspace that is the current folder, a home, and data.
pub(crate) struct Place {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["workspace", "home"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self {
            folder,
            variables: Vec::new(),
        }
    }

    /// With a variable of the child's environment.
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// With a configuration file.
    pub(crate) fn configured(self, toml: &str) -> Self {
        let path = self.folder.path().join("config.toml");
        std::fs::write(&path, toml).expect("written");
        self.with("AMOS_CONFIG", path.display().to_string())
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Writes a file into the workspace and gives its name.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.workspace().join(name), content).expect("written");
        name.to_owned()
    }

    /// The binary with arguments, not started yet. Its environment is ours alone.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_amos-tui"));
        command.args(arguments);
        self.furnish(&mut command);
        command
    }

    /// A shell that runs the binary as `"$AMOS"`.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        self.furnish(&mut command);
        command.env("AMOS", env!("CARGO_BIN_EXE_amos-tui"));
        command
    }

    fn furnish(&self, command: &mut Command) {
        command
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path().join("home"))
            .env("AMOS_DATA_DIR", self.data())
            // Nothing listens there, so no model of this machine is ever found.
            .env("OLLAMA_HOST", "127.0.0.1:1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &self.variables {
            command.env(name, value);
        }
    }

    /// Runs the binary to its end.
    pub(crate) fn amos(&self, arguments: &[&str]) -> Ended {
        Running::start(self.command(arguments)).end()
    }

    /// `run FILE --format json` and further arguments, to its end.
    pub(crate) fn run(&self, file: &str, further: &[&str]) -> Ended {
        let mut arguments = vec!["run", file, "--format", "json"];
        arguments.extend(further);
        self.amos(&arguments)
    }

    /// Every byte that is kept under the data folder.
    pub(crate) fn kept(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut folders = vec![self.data()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    bytes.extend(std::fs::read(path).expect("content"));
                }
            }
        }
        bytes
    }
}

/// A demo that ships with the project.
pub(crate) fn demo(name: &str) -> String {
    format!("{}/demo-routines/{name}.yaml", env!("CARGO_MANIFEST_DIR"))
}

/// A process whose stdout is read line by line.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: String,
    errors: Option<JoinHandle<String>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("it starts");
        let stdout = child.stdout.take().expect("a pipe");
        let mut stderr = child.stderr.take().expect("a pipe");
        let (to, lines) = channel();
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = Vec::new();
            while let Ok(1..) = stdout.read_until(b'\n', &mut line) {
                let text = String::from_utf8(std::mem::take(&mut line)).expect("stdout is UTF-8");
                if to.send(text).is_err() {
                    break;
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).expect("stderr is read");
            String::from_utf8(text).expect("stderr is UTF-8")
        });
        Self {
            child,
            lines,
            seen: String::new(),
            errors: Some(errors),
        }
    }

    /// Waits for a line of stdout that holds a text.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push_str(&line);
                    if line.contains(text) {
                        return;
                    }
                }
                Err(why) => panic!("no {text:?} ({why}) in {}", self.seen),
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("an id isn't zero");
        kill_process(pid, signal).expect("it is there");
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.push_str(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    // Leaves nothing behind before it fails.
                    let _ = self.child.kill();
                    panic!("it doesn't end: {}", self.seen);
                }
            }
        }
        let errors = self.errors.take().expect("joined once");
        Ended {
            stderr: errors.join().expect("stderr is read"),
            status: self.child.wait().expect("it ends"),
            stdout: self.seen,
        }
    }
}

/// What a process left.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The exit code. A process that a signal killed has none.
    pub(crate) fn code(&self) -> i32 {
        assert_eq!(self.status.signal(), None, "{self:?}");
        self.status.code().expect("it ended by itself")
    }

    /// Fails unless the exit code is this one, and always where it panicked.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert_eq!(self.code(), code, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Every line of stdout, which must be one JSON object each (C3).
    pub(crate) fn events(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| {
                let event: Value = serde_json::from_str(line).unwrap_or_else(|error| {
                    panic!("{error}: {line}");
                });
                assert!(event.is_object(), "{line}");
                event
            })
            .collect()
    }

    /// The events of a type.
    pub(crate) fn of(&self, r#type: &str) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|event| event["type"] == r#type);
        events
    }

    /// The events of a type and a step.
    pub(crate) fn of_step(&self, r#type: &str, step: &str) -> Vec<Value> {
        let mut events = self.of(r#type);
        events.retain(|event| event["step"] == step);
        events
    }

    pub(crate) fn last(&self) -> Value {
        self.events().pop().expect("an event")
    }

    /// The settled event, which must be the last.
    pub(crate) fn settled(&self) -> Value {
        let last = self.last();
        assert_eq!(last["type"], "operation.settled", "{}", self.stdout);
        last
    }

    /// The paused event, which must be the last.
    pub(crate) fn paused(&self) -> Value {
        let last = self.last();
        assert_eq!(last["type"], "operation.paused", "{}", self.stdout);
        last
    }

    /// Fails unless stderr holds this text.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "no {text:?} in {}", self.stderr);
        self
    }
}
