//! `command` checks: an exit code decides, the observation stands on the standard input.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::verify::Finding;
use crate::host::checks::{Look, blocked, name, timed_out, uncertain, waiting};
use crate::host::process::{self, Command, End};

/// The exit code that says "not yet".
const NOT_YET: i32 = 75;
/// The longest reason taken from a command's words, in characters.
const LONGEST: usize = 500;

pub(super) async fn find(
    look: &Look,
    run: &[String],
    cwd: Option<&str>,
    limit: Duration,
) -> Finding {
    let cwd = match look.workspace.folder(cwd.unwrap_or(".")) {
        Ok(cwd) => cwd,
        Err(error) => return uncertain(error.to_string()),
    };
    let command = Command {
        argv: run.to_owned(),
        cwd,
        stdin: look.observation.text().to_owned().into(),
        env: BTreeMap::new(),
        time_limit: limit,
    };
    let ended = match process::run(command, &look.cancellation).await {
        Ok(ended) => ended,
        Err(error) => return uncertain(error.to_string()),
    };
    match ended.end {
        End::Exited(0) => Finding::Verified,
        End::Exited(NOT_YET) => waiting(reason(&ended.stderr, NOT_YET)),
        End::Exited(code) => blocked(reason(&ended.stderr, code)),
        End::Signalled(signal) => uncertain(format!("ended by signal {signal}")),
        End::TimedOut => timed_out(limit),
        End::Cancelled => uncertain("the look was cancelled"),
        End::OutputLimit => uncertain("ended because it wrote too much"),
        End::Lost => uncertain("the system doesn't tell how it ended"),
    }
}

/// The command's last words, else its code.
fn reason(stderr: &[u8], code: i32) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().rev().map(str::trim);
    match lines.find(|line| !line.is_empty()) {
        Some(line) => name::shortened(line, LONGEST),
        None => format!("exit {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_last_line_that_says_something() {
        assert_eq!(reason(b"one\ntwo \n\n", 1), "two");
        assert_eq!(reason(b" \n", 3), "exit 3");
        assert_eq!(reason(b"\xff", 3), "\u{fffd}");
    }
}
