//! The terminal application: wires a session and the screen, and nothing else does.
//!
//! | file | idea |
//! |---|---|
//! | `mod` | from the arguments to the exit code; the terminal is given back whatever happens |
//! | `looping` | one loop: signals, keys, frames, results, in that order |
//! | `mailbox` | views and events on their way to the screen, bounded and coalescing |
//! | `perform` | effects: one task each, one task an operation |
//! | `loading` | from a file to a routine with its picture |
//! | `stderr` | what others write there, off the screen |
//! | `words` | errors in three parts |

mod loading;
mod looping;
mod mailbox;
mod perform;
mod stderr;
#[cfg(test)]
mod tests;
mod words;

use anyhow::Context as _;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::app::looping::Loop;
use crate::app::mailbox::Mailbox;
use crate::app::stderr::Diverted;
use crate::cli::Exit;
use crate::cli::open::Opening;
use crate::cli::trouble::Trouble;
use crate::host::session::Session;
use crate::host::settings::{Colour, Flags};
use crate::tui::signals::Signals;
use crate::tui::state::State;
use crate::tui::terminal::{FullScreen, Tty};
use crate::tui::theme::{Colours, Glyphs, Theme};
use crate::tui::watchdog::{GRACE, Watchdog};

/// How long the session may take to open before the first frame is drawn without it (Q4).
const FIRST_FRAME: Duration = Duration::from_millis(50);
/// How long ending what still runs after that may take.
const SHUTDOWN: Duration = Duration::from_millis(200);
/// How long closing may take at the end.
const CLOSING: Duration = Duration::from_secs(4);
/// What is said after a panic.
const AFTER_PANIC: &str = "amos-tui ended by a fault of its own; operations ended with it, their records and sources stay";

/// What the command line says of the application.
#[derive(Debug, clap::Args)]
pub struct Launch {
    /// The model for whatever names none: `provider/model`, or `offline`. An agent's own `model` or `role` wins.
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// Let this tool be called without asking; may be repeated.
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,
    /// The folder that tools and checks work in; the current one by default.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

/// Opens the application and runs it to its end.
pub fn main(arguments: Launch) -> Exit {
    let term = std::env::var("TERM").ok();
    let tty = match Tty::find(term.as_deref()) {
        Ok(tty) => tty,
        Err(no_terminal) => return Trouble::usage(no_terminal.to_string()).report(),
    };
    let flags = Flags {
        model: arguments.model,
        allow: arguments.allow,
    };
    let opening = match Opening::prepare(&flags, arguments.workspace.as_deref()) {
        Ok(opening) => opening,
        Err(trouble) => return trouble.report(),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("can't start the asynchronous runtime")
    {
        Ok(runtime) => runtime,
        Err(error) => return Trouble::caused(error).report(),
    };
    let exit = match runtime.block_on(run(tty, opening)) {
        Ok(exit) => exit,
        Err(trouble) => trouble.report(),
    };
    // What still runs ends with its task. A tool or a check that doesn't return must not hold the exit
    // up.
    runtime.shutdown_timeout(SHUTDOWN);
    exit
}

/// The theme for this terminal.
fn theme(colour: Colour) -> Theme {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    Theme {
        colours: match colour {
            Colour::Allowed => Colours::Named,
            Colour::Off => Colours::Off,
        },
        glyphs: Glyphs::of_locale(locale.as_deref()),
    }
}

async fn run(tty: Tty, opening: Opening) -> Result<Exit, Trouble> {
    let theme = theme(opening.settings.colour);
    let folder = opening.settings.data_folder.clone();
    let mailbox = Arc::new(Mailbox::default());
    let mut opening = pin!(opening.open(mailbox.clone()));
    // What fails at once fails before the terminal is taken.
    let early = tokio::time::timeout(FIRST_FRAME, &mut opening).await;
    let early = early.ok().transpose()?;
    let mut signals = Signals::listen()
        .context("can't listen for signals")
        .map_err(Trouble::caused)?;
    let screen = FullScreen::enter(tty)
        .context("can't take the terminal")
        .map_err(Trouble::caused)?;
    // The data folder may be missing before the session is opened; then this begins next time.
    let diverted = Diverted::into(&folder).ok().flatten();
    let panics = mailbox.clone();
    screen
        .restorer()
        .report_panics(AFTER_PANIC, move |panic| panics.fault(panic));
    if let Some(diverted) = &diverted {
        diverted.end_at_panics();
    }
    let hung_up = Arc::new(Notify::new());
    let watchdog = watch(&screen, hung_up.clone())
        .context("can't watch the terminal")
        .map(Arc::new)
        .map_err(Trouble::caused)?;
    let state = State::new(theme, (80, 24), Instant::now());
    let mut running = Loop::new(screen, state, mailbox, hung_up, watchdog.clone());
    let session = match early {
        Some(session) => session,
        None => {
            if let Err(trouble) = running.draw() {
                return unless_hung_up(&watchdog, trouble);
            }
            tokio::select! {
                biased;
                signal = signals.next() => {
                    return Ok(signal.exit_code().map_or(Exit::Succeeded, number));
                }
                session = &mut opening => match session {
                    Ok(session) => session,
                    Err(trouble) => {
                        // The panic hook keeps it too, so it doesn't end by itself.
                        if let Some(diverted) = &diverted {
                            diverted.end();
                        }
                        return Err(trouble);
                    }
                },
            }
        }
    };
    let session = Arc::new(session);
    let exit = running.run(session.clone(), signals).await;
    let exit = exit.or_else(|trouble| unless_hung_up(&watchdog, trouble));
    // From here on the terminal is the shell's again.
    drop(running);
    if let Some(diverted) = &diverted {
        diverted.end();
    }
    close(&session).await;
    exit
}

/// A terminal that is gone may be noticed first by what can't be done with it any more.
fn unless_hung_up(watchdog: &Watchdog, trouble: Trouble) -> Result<Exit, Trouble> {
    match watchdog.has_hung_up() {
        true => Ok(Exit::Signal(1)),
        false => Err(trouble),
    }
}

/// Ends the process some time after the terminal is gone, whatever it is doing then.
fn watch(screen: &FullScreen, hung_up: Arc<Notify>) -> std::io::Result<Watchdog> {
    let restorer = screen.restorer();
    Watchdog::watch(
        &screen.restorer(),
        GRACE,
        move || hung_up.notify_one(),
        move || {
            restorer.restore();
            std::process::exit(129);
        },
    )
}

/// Quit and signals are a close: continuations are revoked, nothing is confirmed (T7).
async fn close(session: &Session) {
    // What doesn't end in time ends with the process; its account says so.
    let _ = tokio::time::timeout(CLOSING, session.close()).await;
}

/// The exit of a program that a signal ends; codes are 128 and its number.
fn number(code: u8) -> Exit {
    Exit::Signal(code.saturating_sub(128))
}
