//! Notices that the terminal is gone, and sees to it that the program goes too (T7).
//!
//! A closed terminal makes `crossterm` 0.29 spin without ever returning, so this watches on a thread
//! of its own, by the kernel's hang-up flag, and sleeps until then. It confirms nothing and answers
//! nothing: a closed window is not a decision.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::tui::restore::Restorer;

/// How long the program has for closing after a hang-up before it is made to end.
pub const GRACE: Duration = Duration::from_millis(1_500);

/// What a terminal that is gone is known by.
const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(PollFlags::NVAL);

/// A running watch. Dropping it ends the watch.
#[derive(Debug)]
pub struct Watchdog {
    ends: Arc<[File; 2]>,
    // Closing it wakes the thread.
    _alive: PipeWriter,
}

impl Watchdog {
    /// Watches the terminal. After a hang-up calls `hung_up`, which should start closing, and
    /// `force` when the grace is over, which should end the process.
    pub fn watch(
        restorer: &Restorer,
        grace: Duration,
        hung_up: impl FnOnce() + Send + 'static,
        force: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let ends = Arc::new([restorer.input()?, restorer.output()?]);
        let watched = ends.clone();
        let (dropped, alive) = io::pipe()?;
        std::thread::Builder::new()
            .name("terminal watchdog".into())
            .spawn(move || {
                if wait(&watched, &dropped) == Woken::HungUp {
                    hung_up();
                    std::thread::sleep(grace);
                    force();
                }
            })?;
        Ok(Self {
            ends,
            _alive: alive,
        })
    }

    /// Whether the terminal is gone by now. What fails then fails because of that.
    pub fn has_hung_up(&self) -> bool {
        let mut ends = self
            .ends
            .each_ref()
            .map(|end| PollFd::new(end, PollFlags::empty()));
        poll(&mut ends, Some(&Timespec::default())).is_ok()
            && ends.iter().any(|end| end.revents().intersects(GONE))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    HungUp,
    Dropped,
}

fn wait(ends: &[File; 2], dropped: &PipeReader) -> Woken {
    loop {
        // Nothing is asked for, so nothing but errors and hang-ups wakes.
        let mut watched = [
            PollFd::new(&ends[0], PollFlags::empty()),
            PollFd::new(&ends[1], PollFlags::empty()),
            PollFd::new(dropped, PollFlags::empty()),
        ];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Woken::Dropped,
            Ok(_) => {}
        }
        if watched[2].revents().intersects(GONE) {
            return Woken::Dropped;
        }
        if watched[..2]
            .iter()
            .any(|end| end.revents().intersects(GONE))
        {
            return Woken::HungUp;
        }
    }
}
