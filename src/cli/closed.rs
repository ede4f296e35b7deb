//! Whether stdout was closed before the program started.
//!
//! By the time of `main` the standard library has put `/dev/null` in the place of every standard
//! stream that was closed, and a write there seems to work. So this looks before that, from the list
//! of functions that the system calls before a program's entry.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

#[allow(unsafe_code)]
#[used]
// SAFETY: these sections hold pointers to functions of this type. Nothing of the standard library is
// used that its start prepares: one system call, and a store to an atomic.
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    WAS_CLOSED.store(flags == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
}

/// Whether there never was a stdout: nobody reads what is written (C2).
pub(in crate::cli) fn stdout_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
