//! Exit codes (C2), decided here and nowhere else.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Succeeded, or valid.
    Succeeded,
    /// Failed, or content that doesn't parse or validate.
    Failed,
    /// Bad usage, or a file that can't be read.
    Usage,
    /// The operation waits.
    Paused,
    /// The operation was cancelled, also by a closed stdout.
    Cancelled,
    /// A signal ended it, by its number.
    Signal(u8),
}

impl Exit {
    /// The code.
    pub fn code(self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Paused => 3,
            Self::Cancelled => 4,
            Self::Signal(number) => 128 + number,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
