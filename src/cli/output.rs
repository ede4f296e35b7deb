//! Writing to stdout and stderr: every failure is seen, none panics.

use std::io::{self, Write as _};

use crate::cli::closed::stdout_was_closed;
use crate::cli::exit::Exit;
use crate::tui::text::Inert;

/// Writes everything to stdout. A reader that went away is a cancellation (C2).
pub(in crate::cli) fn print(text: &str) -> Result<(), Exit> {
    if stdout_was_closed() {
        return Err(Exit::Cancelled);
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|_| Exit::Cancelled)
}

/// Tells a person something, of which nothing reaches the terminal but text (T8).
pub(in crate::cli) fn tell(text: &str) {
    // Without a stderr there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "{}", Inert::text(text).as_str());
}
