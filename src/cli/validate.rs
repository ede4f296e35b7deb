//! `amos-tui validate FILE…`: every problem of every file at once.

use std::path::PathBuf;

use crate::cli::Format;
use crate::cli::exit::Exit;
use crate::cli::issues::FileReport;
use crate::cli::open::no_settings;
use crate::cli::output::print;
use crate::cli::trouble::Trouble;
use crate::engine::routine::load;
use crate::host::session::{known, read_routine};
use crate::host::settings::{PlatformFolders, configured_agents};
use crate::tui::text::Inert;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The routine files, YAML or JSON.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// How to write what was found.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(in crate::cli) fn main(arguments: &Arguments) -> Exit {
    let environment = |name: &str| std::env::var_os(name);
    let agents = match configured_agents(&environment, &PlatformFolders::of_this_user()) {
        Ok(agents) => agents,
        Err(error) => return no_settings(error).report(),
    };
    let known = known(agents.keys());
    let mut exit = Exit::Succeeded;
    for file in &arguments.files {
        let bytes = match read_routine(file) {
            Ok(bytes) => bytes,
            Err(error) => {
                Trouble::caused(error)
                    .hint("name a routine file, YAML or JSON")
                    .report();
                // Of several files, one that can't be read weighs more (C2).
                exit = Exit::Usage;
                continue;
            }
        };
        let loaded = load(&bytes, &known);
        let report = FileReport::of(file, &loaded.issues);
        let text = match arguments.format {
            Format::Json => report.json(),
            Format::Text => Inert::text(&report.text()).as_str().to_owned(),
        };
        if let Err(closed) = print(&text) {
            return closed;
        }
        if !report.is_valid() && exit == Exit::Succeeded {
            exit = Exit::Failed;
        }
    }
    exit
}
