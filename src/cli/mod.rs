//! The command line: one file a subcommand, exit codes in one place.
//!
//! What is for a program goes to stdout, what is for people to stderr (C3). Everything a subcommand
//! does, a library user can do too.

mod closed;
mod exit;
mod graph;
mod issues;
pub(crate) mod open;
mod output;
mod run;
mod schema;
pub(crate) mod trouble;
mod validate;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::app;
use crate::cli::closed::stdout_was_closed;

pub use exit::Exit;

/// A terminal cockpit for verified AI routines: checks decide, work that is not proven waits.
#[derive(Debug, Parser)]
#[command(
    name = "amos-tui",
    version,
    about,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    after_help = "Without a subcommand the terminal application opens."
)]
struct Arguments {
    #[command(flatten)]
    application: app::Launch,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a routine file to its end, or to its first wait.
    Run(run::Arguments),
    /// Say everything that is wrong with routine files.
    Validate(validate::Arguments),
    /// Draw a routine's graph.
    Graph(graph::Arguments),
    /// Print the JSON Schema of routine files, for editors.
    Schema,
}

/// How a subcommand writes what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs: one object a line.
    Json,
}

/// A routine file and nothing else.
#[derive(Debug, clap::Args)]
struct OneFile {
    /// The routine file, YAML or JSON.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Parses the command line and does what it says.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version go to stdout with 0, mistakes to stderr with 2.
            let code = match (error.use_stderr(), error.print()) {
                // A closed stderr has no reader to tell.
                (true, _) => Exit::Usage,
                (false, Ok(())) if !stdout_was_closed() => Exit::Succeeded,
                (false, _) => Exit::Cancelled,
            };
            return code.into();
        }
    };
    let exit = match arguments.command {
        Some(Command::Run(arguments)) => run::main(arguments),
        Some(Command::Validate(arguments)) => validate::main(&arguments),
        Some(Command::Graph(arguments)) => graph::main(&arguments),
        Some(Command::Schema) => schema::main(),
        None => app::main(arguments.application),
    };
    exit.into()
}
