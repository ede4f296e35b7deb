//! The full screen: entering it, drawing frames on it, leaving it for a while and for good.
//!
//! A frame is written between the marks of a synchronised update and only where something changed.
//! Who asks for frames, and what is on them, is not decided here.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};

use nix::unistd::{getpgid, getpgrp, getppid, getsid};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::fd::AsFd as _;
use rustix::process::{Signal, kill_current_process_group};

use crate::tui::residue::Residue;
use crate::tui::restore::Restorer;

const BEGIN_FRAME: &[u8] = b"\x1b[?2026h";
const END_FRAME: &[u8] = b"\x1b[?2026l";

/// Why there can be no full screen. Each is one plain line for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTerminal {
    /// Keys can't be read.
    #[error("standard input is not a terminal; use `amos-tui run FILE` in scripts")]
    Input,
    /// Nothing can be shown.
    #[error("standard output is not a terminal; use `amos-tui run FILE` in scripts")]
    Output,
    /// The terminal can't do it.
    #[error("this terminal (TERM=dumb) can't show a full screen; use `amos-tui run FILE`")]
    Dumb,
}

/// A process's standard streams, found to be a terminal that can do full screen.
#[derive(Debug)]
pub struct Tty(());

impl Tty {
    /// Looks at the standard streams and at the value of `TERM`. Writes nothing.
    pub fn find(term: Option<&str>) -> Result<Self, NoTerminal> {
        if !io::stdin().is_terminal() {
            return Err(NoTerminal::Input);
        }
        if !io::stdout().is_terminal() {
            return Err(NoTerminal::Output);
        }
        if term == Some("dumb") {
            return Err(NoTerminal::Dumb);
        }
        Ok(Self(()))
    }
}

/// Whether the process was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspension {
    /// The signal to stop was sent; the terminal is given back until [`FullScreen::resume`].
    Stopping,
    /// Nobody could continue the process, so it goes on.
    NobodyToContinue,
}

/// The terminal in full screen. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct FullScreen {
    terminal: Terminal<CrosstermBackend<Frames>>,
    restorer: Restorer,
    size: Rect,
    residue: Residue,
}

impl FullScreen {
    /// Takes the terminal. On an error it is as it was.
    pub fn enter(_: Tty) -> io::Result<Self> {
        let restorer = Restorer::remember(io::stdin().as_fd(), io::stdout().as_fd())?;
        let backend = CrosstermBackend::new(Frames {
            output: restorer.output()?,
            restorer: restorer.clone(),
            pending: Vec::new(),
        });
        restorer.take()?;
        // A viewport that we size ourselves: the library would start a program for asking the size
        // where the terminal says 0x0, at every frame.
        let size = restorer.size();
        let options = TerminalOptions {
            viewport: Viewport::Fixed(size),
        };
        match Terminal::with_options(backend, options) {
            Ok(terminal) => Ok(Self {
                terminal,
                restorer,
                size,
                residue: Residue::default(),
            }),
            Err(error) => {
                restorer.restore();
                Err(error)
            }
        }
    }

    /// What gives the terminal back; for the panic hook, the watchdog and the ends of the program.
    pub fn restorer(&self) -> Restorer {
        self.restorer.clone()
    }

    /// Draws one frame, if the terminal is taken.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if !self.restorer.is_taken() {
            return Ok(());
        }
        self.terminal.backend_mut().write_all(BEGIN_FRAME)?;
        if self.restorer.size() != self.size {
            self.redraw()?;
        }
        let drawn = self.terminal.draw(|frame| {
            view(frame);
            self.residue.settle(frame.buffer_mut());
        });
        let drawn = drawn.map(drop);
        // The frame ends also where drawing failed, else the terminal would wait for it.
        self.terminal.backend_mut().write_all(END_FRAME)?;
        Write::flush(self.terminal.backend_mut())?;
        drawn
    }

    /// Forgets what is on the screen: the next frame writes every cell, at the size that is then.
    pub fn redraw(&mut self) -> io::Result<()> {
        self.size = self.restorer.size();
        // Not `clear`: that asks the terminal for its cursor and waits for an answer among the keys.
        self.terminal.resize(self.size)
    }

    /// Gives the terminal back and stops the process group, as Ctrl-Z does in a terminal that isn't
    /// raw. Call [`Self::resume`] when SIGCONT arrives: this thread may run on for a moment.
    ///
    /// Where nobody could continue the process, because no shell watches it, nothing happens.
    pub fn suspend(&mut self) -> io::Result<Suspension> {
        if !is_watched() {
            return Ok(Suspension::NobodyToContinue);
        }
        self.restorer.restore();
        // Not SIGTSTP: it is caught, so that a SIGTSTP from outside comes here too.
        kill_current_process_group(Signal::STOP)?;
        Ok(Suspension::Stopping)
    }

    /// Takes the terminal again after SIGCONT, also where it was stopped without [`Self::suspend`]:
    /// the shell may have changed everything meanwhile.
    ///
    /// The kernel sends SIGCONT after a hang-up too, so an error here is no reason to stop closing.
    pub fn resume(&mut self) -> io::Result<()> {
        self.restorer.take()?;
        self.redraw()
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        self.restorer.restore();
    }
}

/// Gathers a frame and writes it in one go. What is left of one when the terminal has been given back,
/// by a panic in the middle of drawing for example, is thrown away and not written over the shell.
#[derive(Debug)]
struct Frames {
    output: File,
    restorer: Restorer,
    pending: Vec<u8>,
}

impl Write for Frames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let frame = std::mem::take(&mut self.pending);
        if !self.restorer.is_taken() {
            return Ok(());
        }
        self.output.write_all(&frame)?;
        self.output.flush()
    }
}

/// Whether a shell in the same session watches our process group. An orphaned group would never be
/// continued; the kernel ignores SIGTSTP there for the same reason.
fn is_watched() -> bool {
    // An id may be 0 here: in a container that of a group or session that was made outside.
    let (parent, ours) = (getppid(), getpgrp());
    if parent.as_raw() == 0 {
        return false;
    }
    match (getpgid(Some(parent)), getsid(Some(parent)), getsid(None)) {
        // The parent belongs to our group: it is a wrapper, and the group's leader counts, who
        // is watched unless he leads the session.
        (Ok(group), _, Ok(session)) if group == ours => ours != session,
        (Ok(_), Ok(theirs), Ok(session)) => theirs == session,
        _ => false,
    }
}
