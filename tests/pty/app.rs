//! The terminal application in a terminal, and the person before it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use portable_pty::CommandBuilder;
use tempfile::TempDir;

use crate::server::{Answers, SUBMITS, Server};
use crate::world::{World, screen_of};

/// Moves to the accepting button of a question from the dismissing one, which has the focus first.
pub(crate) const BACK_TAB: &str = "\x1b[Z";
pub(crate) const TAB: &str = "\t";
pub(crate) const ENTER: &str = "\r";
pub(crate) const ESCAPE: &str = "\x1b";
pub(crate) const RIGHT: &str = "\x1b[C";
pub(crate) const UP: &str = "\x1b[A";
pub(crate) const F2: &str = "\x1bOQ";
pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_D: &str = "\x04";
pub(crate) const CTRL_L: &str = "\x0c";

/// The sizes that every screen is tested at.
pub(crate) const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];
/// The header's badge of one operation that waits.
pub(crate) const PAUSED: &str = "1 paused: F2";
/// The hint of an empty command line: the application is ready.
const READY: &str = "a message, or / for commands";
/// Nobody types faster; keys that are closer together count as a paste.
const TYPING: Duration = Duration::from_millis(20);

/// A key that comes again within a shorter time is being held down.
const LET_GO: Duration = Duration::from_millis(150);

/// The application, running.
pub(crate) struct App {
    pub(crate) world: World,
    folder: TempDir,
    size: (u16, u16),
    /// What was written before the last change of size is of no interest.
    from: usize,
}

impl App {
    /// Opens it without a provider.
    pub(crate) fn offline(size: (u16, u16)) -> Self {
        Self::open(size, &[], &[])
    }

    /// Opens it with a model of this server.
    pub(crate) fn asking(size: (u16, u16), server: &Server) -> Self {
        let variables = [("OPENAI_BASE_URL", server.address())];
        Self::open(size, &["--model", "openai/x"], &variables)
    }

    /// Opens it and waits until it can be used.
    pub(crate) fn open(size: (u16, u16), arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = command(folder.path());
        command.args(arguments);
        for (name, value) in variables {
            command.env(name, value);
        }
        let app = Self::start(size, command, folder);
        app.sees(READY);
        app
    }

    /// Starts a shell with job control; `$APP` is the application.
    pub(crate) fn in_shell(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = CommandBuilder::new("sh");
        command.args(["-m", "-c", script]);
        isolate(&mut command, folder.path());
        command.env("APP", env!("CARGO_BIN_EXE_amos-tui"));
        Self::start(SIZES[0], command, folder)
    }

    fn start(size: (u16, u16), command: CommandBuilder, folder: TempDir) -> Self {
        Self {
            world: World::start_at(size, command),
            folder,
            size,
            from: 0,
        }
    }

    /// What the terminal shows.
    pub(crate) fn screen(&self) -> String {
        self.world.read(|written| self.shown(written))
    }

    fn shown(&self, written: &str) -> String {
        screen_of(written.get(self.from..).unwrap_or_default(), self.size)
    }

    /// Waits until a text is on the screen, and gives the screen.
    pub(crate) fn sees(&self, text: &str) -> String {
        self.shows(text, |screen| screen.contains(text))
    }

    /// Waits until a text isn't on the screen any more, and gives the screen.
    pub(crate) fn sees_no(&self, text: &str) -> String {
        self.shows(&format!("end of {text}"), |screen| !screen.contains(text))
    }

    /// Waits until the screen is as it has to be, and gives it.
    pub(crate) fn shows(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let written = self.world.try_for(|written| holds(&self.shown(written)));
        let screen = self.shown(&written);
        assert!(holds(&screen), "no {what} on\n{screen}");
        screen
    }

    /// Presses a key, no sooner after the one before than a person would.
    pub(crate) fn key(&mut self, key: &str) {
        std::thread::sleep(TYPING);
        self.world.press(key);
    }

    /// Presses the key that was pressed before once more, late enough not to be taken for a held one.
    pub(crate) fn key_again(&mut self, key: &str) {
        std::thread::sleep(LET_GO);
        self.key(key);
    }

    /// Writes into what has the focus.
    pub(crate) fn writes(&mut self, text: &str) {
        self.key(text);
        self.sees(text);
    }

    /// Writes a line and presses Enter.
    pub(crate) fn says(&mut self, line: &str) {
        self.writes(line);
        self.key(ENTER);
    }

    /// Gives the command and waits until its question is there, with the harmless button chosen.
    pub(crate) fn is_asked(&mut self, line: &str, question: &str, dismissing: &str) -> String {
        self.says(line);
        self.sees(question);
        self.sees(&format!("> [ {dismissing} ]"))
    }

    /// Moves to the accepting button and presses it.
    pub(crate) fn accepts(&mut self, button: &str) {
        let focused = format!("> [ {button} ]");
        self.key(BACK_TAB);
        self.sees(&focused);
        self.presses(button);
    }

    /// Presses the button that has the focus.
    pub(crate) fn presses(&mut self, button: &str) {
        let focused = format!("> [ {button} ]");
        self.sees(&focused);
        self.key(ENTER);
        self.sees_no(&focused);
    }

    /// Chooses the n-th option of a choice that has the focus.
    pub(crate) fn chooses(&mut self, options: &[&str]) {
        for option in options {
            self.key(" ");
            self.sees(&format!("(*) {option}"));
        }
    }

    /// Starts the demo and waits until it waits.
    pub(crate) fn demo(&mut self) {
        self.says("/routine demo");
        self.sees(PAUSED);
    }

    /// Puts a routine into the workspace.
    pub(crate) fn has_routine(&self, text: &str) {
        std::fs::write(self.file("routine.yaml"), text).expect("written");
    }

    /// A file of the workspace.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.from = self.world.read(str::len);
        self.size = (columns, rows);
        self.world.resize(columns, rows);
    }

    /// Whatever is kept of all operations.
    pub(crate) fn accounts(&self) -> String {
        let Ok(runs) = std::fs::read_dir(self.folder.path().join("data/runs")) else {
            return String::new();
        };
        let texts = runs.map(|entry| {
            let path = entry.expect("an entry").path();
            std::fs::read_to_string(path).expect("a text")
        });
        texts.collect()
    }

    /// How often something was confirmed.
    pub(crate) fn confirmed(&self) -> usize {
        let accounts = self.accounts();
        accounts.matches(r#""name":"operation.resumed""#).count()
    }

    /// Fails if anything was ever confirmed.
    pub(crate) fn assert_nothing_was_confirmed(&self) {
        let accounts = self.accounts();
        assert!(!accounts.contains("operation.resumed"), "{accounts}");
    }
}

/// The application, with nothing of this machine in reach.
pub(crate) fn command(folder: &Path) -> CommandBuilder {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_amos-tui"));
    isolate(&mut command, folder);
    command
}

fn isolate(command: &mut CommandBuilder, folder: &Path) {
    let workspace = folder.join("workspace");
    std::fs::create_dir_all(&workspace).expect("a folder");
    command.cwd(workspace);
    command.env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", folder);
    command.env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8");
    command.env("AMOS_DATA_DIR", folder.join("data"));
    command.env("OLLAMA_HOST", "127.0.0.1:1");
}

/// A server that answers at once, and the application that asks it.
pub(crate) fn asking(size: (u16, u16)) -> (Server, App) {
    let server = Server::start(SUBMITS, Answers::AtOnce);
    let app = App::asking(size, &server);
    (server, app)
}
