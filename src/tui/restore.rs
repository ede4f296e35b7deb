//! Gives the terminal back as it was (T7), whatever happened: quit, error, panic, signal, suspension.
//!
//! Every step is attempted even if one before it failed, restoring twice does nothing the second time,
//! and nothing here can block for long: no lock is taken, and a terminal that doesn't read is left
//! alone after a moment. The library's own restore does only a part of this and stops at the first error.

use std::fs::File;
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use ratatui::layout::Rect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::termios::{
    OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
};

/// What full screen switches on: alternate screen, bracketed paste, focus events, no cursor. No mouse,
/// so that selecting text stays the terminal's; no keyboard flags, so that none can be left behind.
pub const ENTER: &str = concat!("\x1b[?1049h", "\x1b[?2004h", "\x1b[?1004h", "\x1b[?25l");

/// What undoes it, and what a library or a crash might have switched on besides.
pub const LEAVE: &str = concat!(
    "\x1b[?2026l", // a frame that was never finished
    "\x1b[?1000l",
    "\x1b[?1002l",
    "\x1b[?1003l",
    "\x1b[?1006l", // mouse
    "\x1b[?2004l", // bracketed paste
    "\x1b[?1004l", // focus events
    "\x1b[<u",     // keyboard flags of the alternate screen
    "\x1b[0m",     // colours
    "\x1b[?25h",   // cursor
    "\x1b[?1049l", // alternate screen
);

/// How long a terminal that doesn't read is waited for, in milliseconds.
const PATIENCE_MS: i64 = 200;

/// Knows how the terminal was, and whether it has to be given back. Clones share that knowledge.
#[derive(Debug, Clone)]
pub struct Restorer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    input: File,
    output: File,
    before: Termios,
    full_screen: AtomicBool,
}

impl Restorer {
    /// Remembers how the terminal is now. Nothing is changed.
    pub fn remember(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> io::Result<Self> {
        let before = tcgetattr(input)?;
        Ok(Self(Arc::new(Shared {
            input: File::from(input.try_clone_to_owned()?),
            output: File::from(output.try_clone_to_owned()?),
            before,
            full_screen: AtomicBool::new(false),
        })))
    }

    /// Takes the terminal: raw mode, then full screen. What fails half-way is undone.
    pub fn take(&self) -> io::Result<()> {
        self.0.full_screen.store(true, Ordering::SeqCst);
        let mut raw = self.0.before.clone();
        raw.make_raw();
        let taken = tcsetattr(&self.0.input, OptionalActions::Now, &raw)
            .map_err(io::Error::from)
            .and_then(|()| (&self.0.output).write_all(ENTER.as_bytes()));
        if taken.is_err() {
            self.restore();
        }
        taken
    }

    /// Whether the terminal is taken.
    pub fn is_taken(&self) -> bool {
        self.0.full_screen.load(Ordering::SeqCst)
    }

    /// Gives the terminal back, if it is taken.
    pub fn restore(&self) {
        if !self.0.full_screen.swap(false, Ordering::SeqCst) {
            return;
        }
        // Errors are of no use here: there is nobody to tell, and the next step may still work.
        let _ = write_patiently(&self.0.output, LEAVE.as_bytes());
        // Replies and focus events that nobody reads any more must not be typed into the shell.
        let _ = tcflush(&self.0.input, QueueSelector::IFlush);
        let _ = tcsetattr(&self.0.input, OptionalActions::Now, &self.0.before);
    }

    /// The terminal's size now; 80x24 where it doesn't know.
    pub(in crate::tui) fn size(&self) -> Rect {
        match tcgetwinsize(&self.0.output) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Rect::new(0, 0, size.ws_col, size.ws_row)
            }
            Ok(_) | Err(_) => Rect::new(0, 0, 80, 24),
        }
    }

    /// A second handle on the terminal's output.
    pub(in crate::tui) fn output(&self) -> io::Result<File> {
        self.0.output.try_clone()
    }

    /// A second handle on the terminal's input.
    pub(in crate::tui) fn input(&self) -> io::Result<File> {
        self.0.input.try_clone()
    }

    /// From now on a panic of the calling thread gives the terminal back before it is reported, and a
    /// panic of any other thread leaves the screen alone and is told to `elsewhere`: host code may
    /// panic without ending the program.
    ///
    /// `hint` follows the report: what to do next.
    pub fn report_panics(
        &self,
        hint: &'static str,
        elsewhere: impl Fn(&str) + Send + Sync + 'static,
    ) {
        let restorer = self.clone();
        let screen: ThreadId = std::thread::current().id();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
            if restorer.is_taken() && std::thread::current().id() != screen {
                elsewhere(&panic.to_string());
                return;
            }
            restorer.restore();
            before(panic);
            let _ = writeln!(io::stderr(), "{hint}");
        }));
    }
}

/// Writes everything, but never waits long for a terminal that doesn't read.
fn write_patiently(output: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let mut ready = [PollFd::from_borrowed_fd(output.as_fd(), PollFlags::OUT)];
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: PATIENCE_MS * 1_000_000,
        };
        match poll(&mut ready, Some(&patience)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        match (&*output).write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
