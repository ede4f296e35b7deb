//! Keeps what others write to stderr off the screen: libraries, and programs that inherit it. While
//! the terminal is ours it goes into a file of the data folder.
//!
//! A stderr that is no terminal is left alone.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fd::{AsFd as _, OwnedFd};

/// The file in the data folder.
const FILE: &str = "stderr.log";

/// A stderr that goes into a file, until it ends. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct Diverted(Arc<Original>);

#[derive(Debug)]
struct Original {
    stderr: OwnedFd,
    is_diverted: AtomicBool,
}

impl Diverted {
    /// Diverts stderr into the data folder; `None` where it is no terminal.
    pub(super) fn into(folder: &Path) -> io::Result<Option<Self>> {
        let stderr = io::stderr();
        if !stderr.is_terminal() {
            return Ok(None);
        }
        let mut options = OpenOptions::new();
        let file = options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(folder.join(FILE))?;
        let original = stderr.as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stderr(&file)?;
        Ok(Some(Self(Arc::new(Original {
            stderr: original,
            is_diverted: AtomicBool::new(true),
        }))))
    }

    /// From now on a panic of the calling thread is reported where it is seen.
    pub(super) fn end_at_panics(&self) {
        let diverted = self.clone();
        let screen = std::thread::current().id();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == screen {
                diverted.end();
            }
            before(panic);
        }));
    }

    /// Stderr is the terminal again.
    pub(super) fn end(&self) {
        if self.0.is_diverted.swap(false, Ordering::SeqCst) {
            // Nobody can be told if this fails.
            let _ = rustix::stdio::dup2_stderr(&self.0.stderr);
        }
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        if *self.is_diverted.get_mut() {
            // Nobody can be told if this fails.
            let _ = rustix::stdio::dup2_stderr(&self.stderr);
        }
    }
}
