//! A pseudo-terminal with a child in it: its bytes, its screen, its end.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// How long anything may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Names what the child of this test binary has to be; see `child`.
pub(crate) const ROLE: &str = "AMOS_TEST_CHILD";

type Output = Arc<(Mutex<Vec<u8>>, Condvar)>;

/// A terminal with a child in it.
pub(crate) struct World {
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    output: Output,
    stop_reading: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    ended: Receiver<ExitStatus>,
    pid: u32,
    before: String,
}

impl World {
    /// Starts this test binary as a child in a role.
    pub(crate) fn child(role: &str) -> Self {
        Self::start(this_binary(role))
    }

    /// Starts a shell with job control that runs `script`; `$CHILD` is the command of a child.
    pub(crate) fn shell(role: &str, script: &str) -> Self {
        let child = this_binary(role);
        let words = child
            .get_argv()
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        let mut shell = CommandBuilder::new("sh");
        shell.args(["-m", "-c", script]);
        shell.env("CHILD", words.collect::<Vec<_>>().join(" "));
        shell.env(ROLE, role);
        shell.env("TERM", "xterm-256color");
        Self::start(shell)
    }

    /// Starts a program in a terminal of 80x24.
    pub(crate) fn start(command: CommandBuilder) -> Self {
        Self::start_at((80, 24), command)
    }

    /// Starts a program in a terminal of so many columns and rows.
    pub(crate) fn start_at((columns, rows): (u16, u16), mut command: CommandBuilder) -> Self {
        // Else the library starts it in the home folder, which there need not be.
        if command.get_cwd().is_none() {
            command.cwd(std::env::temp_dir());
        }
        let pty = native_pty_system()
            .openpty(size(columns, rows))
            .expect("a pseudo-terminal");
        let before = termios(pty.master.as_ref());
        let mut child = pty.slave.spawn_command(command).expect("the child starts");
        drop(pty.slave);
        let pid = child.process_id().expect("a running child has an id");
        let mut source = pty.master.try_clone_reader().expect("a reader");
        let writer = pty.master.take_writer().expect("a writer");
        let output: Output = Arc::default();
        let stop_reading = Arc::new(AtomicBool::new(false));
        let (sink, stop) = (Arc::clone(&output), Arc::clone(&stop_reading));
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = source.read(&mut chunk) {
                sink.0
                    .lock()
                    .expect("nobody panics")
                    .extend_from_slice(&chunk[..read]);
                sink.1.notify_all();
                if stop.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        let (tell, ended) = channel();
        std::thread::spawn(move || {
            let status = child.wait().expect("a child can be waited for");
            // The test may be over.
            let _ = tell.send(status);
        });
        Self {
            master: Some(pty.master),
            writer: Some(writer),
            output,
            stop_reading,
            reader: Some(reader),
            ended,
            pid,
            before,
        }
    }

    /// Types.
    pub(crate) fn press(&mut self, keys: &str) {
        let writer = self.writer.as_mut().expect("the terminal is open");
        writer
            .write_all(keys.as_bytes())
            .expect("the terminal takes keys");
        writer.flush().expect("the terminal takes keys");
    }

    /// Waits until the bytes that came so far satisfy a condition.
    pub(crate) fn wait_for(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let text = self.try_for(&holds);
        assert!(holds(&text), "no {what} in {text:?}");
        text
    }

    /// The same, but what came is given back in any case.
    pub(crate) fn try_for(&self, holds: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        let mut bytes = self.output.0.lock().expect("nobody panics");
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if holds(&text) || started.elapsed() > PATIENCE {
                return text;
            }
            let step = Duration::from_millis(100);
            bytes = self
                .output
                .1
                .wait_timeout(bytes, step)
                .expect("nobody panics")
                .0;
        }
    }

    /// Waits until a text is on the screen.
    pub(crate) fn wait_for_screen(&self, text: &str) {
        self.wait_for(text, |bytes| screen(bytes).contains(text));
    }

    /// Looks at the bytes that came so far.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&str) -> T) -> T {
        let bytes = self.output.0.lock().expect("nobody panics");
        look(&String::from_utf8_lossy(&bytes))
    }

    /// The process of the child itself.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal to the child itself.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid as i32).expect("an id isn't zero");
        rustix::process::kill_process(pid, signal).expect("the child is there");
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let master = self.master.as_ref().expect("the terminal is open");
        master
            .resize(size(columns, rows))
            .expect("a terminal can be resized");
    }

    /// Closes the terminal, as closing its window does. The child has to answer `nudge` with output.
    pub(crate) fn close(&mut self, nudge: &str) {
        self.stop_reading.store(true, Ordering::SeqCst);
        self.press(nudge);
        let reader = self.reader.take().expect("closed once");
        reader.join().expect("the reader ends");
        // Dropping the writer types a line break, which a person who closes a window doesn't: the child
        // stands still until the terminal is gone, and what was typed with it.
        self.signal(rustix::process::Signal::STOP);
        self.writer = None;
        self.master = None;
        // The hang-up lets it go on already, and it may be gone.
        let child = rustix::process::Pid::from_raw(self.pid as i32).expect("an id isn't zero");
        let _ = rustix::process::kill_process(child, rustix::process::Signal::CONT);
    }

    /// The exit code, which has to come within a time.
    pub(crate) fn exit_within(&self, limit: Duration) -> u32 {
        self.ended
            .recv_timeout(limit)
            .expect("the child ends in time")
            .exit_code()
    }

    /// The exit code, and everything that was written.
    pub(crate) fn end(&mut self) -> (u32, String) {
        let code = self.exit_within(PATIENCE);
        self.join();
        (code, self.read(str::to_owned))
    }

    /// Waits until everything was read that a child wrote which has ended.
    pub(crate) fn join(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader ends with the child");
        }
    }

    /// Lets time pass while output is taken.
    pub(crate) fn watch(&self, until: Instant) {
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            std::thread::sleep(left);
        }
    }

    /// Fails unless the terminal's line settings are what they were before the child started.
    pub(crate) fn assert_settings_as_before(&self) {
        let master = self.master.as_ref().expect("the terminal is open");
        assert_eq!(termios(master.as_ref()), self.before);
    }
}

fn this_binary(role: &str) -> CommandBuilder {
    let mut command = CommandBuilder::new(std::env::current_exe().expect("this binary has a path"));
    command.args([
        "--exact",
        "child::child",
        "--nocapture",
        "--test-threads=1",
        "--quiet",
    ]);
    command.env(ROLE, role);
    command.env("TERM", "xterm-256color");
    command
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn termios(master: &(dyn MasterPty + Send)) -> String {
    format!(
        "{:?}",
        master.get_termios().expect("a terminal has settings")
    )
}

/// What an 80x24 terminal shows after these bytes.
pub(crate) fn screen(bytes: &str) -> String {
    screen_of(bytes, (80, 24))
}

/// What a terminal of so many columns and rows shows after these bytes.
pub(crate) fn screen_of(bytes: &str, (columns, rows): (u16, u16)) -> String {
    let cells = |n| NonZero::new(n).expect("not zero");
    let mut terminal = vt100::Parser::new(cells(rows), cells(columns), 0);
    terminal.process(bytes.as_bytes());
    terminal.screen().contents()
}
