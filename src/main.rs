//! The `amos-tui` binary: parse, dispatch, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    amos_tui::cli::main()
}
