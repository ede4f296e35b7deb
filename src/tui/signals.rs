//! The signals that a full-screen program has to answer, as one stream.
//!
//! From [`Signals::listen`] on none of them has its default effect. What each one leads to is decided
//! by who reads the stream.

use std::io;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT. In raw mode Ctrl-C is a key, so this one comes from outside.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone or somebody says so.
    HangUp,
    /// SIGTSTP. In raw mode Ctrl-Z is a key, so this one comes from outside.
    Stop,
    /// SIGCONT: the process was stopped and goes on.
    Continue,
}

impl Signal {
    /// The exit code of a program that ends by this signal (C2); `None` where it doesn't end.
    pub fn exit_code(self) -> Option<u8> {
        match self {
            Self::Interrupt => Some(130),
            Self::Terminate => Some(143),
            Self::HangUp => Some(129),
            Self::Stop | Self::Continue => None,
        }
    }
}

/// The stream of signals.
#[derive(Debug)]
pub struct Signals {
    interrupt: Stream,
    terminate: Stream,
    hang_up: Stream,
    stop: Stream,
    go_on: Stream,
}

impl Signals {
    /// Starts to listen. Needs a runtime.
    pub fn listen() -> io::Result<Self> {
        let kind = |signal: rustix::process::Signal| SignalKind::from_raw(signal.as_raw());
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            stop: signal(kind(rustix::process::Signal::TSTP))?,
            go_on: signal(kind(rustix::process::Signal::CONT))?,
        })
    }

    /// The next signal. Those that end the program come before the others.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            biased;
            Some(()) = self.terminate.recv() => Signal::Terminate,
            Some(()) = self.hang_up.recv() => Signal::HangUp,
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            Some(()) = self.stop.recv() => Signal::Stop,
            Some(()) = self.go_on.recv() => Signal::Continue,
            else => std::future::pending().await,
        }
    }
}
