//! `amos-tui graph FILE`: the routine's graph as text, Mermaid or DOT.

use clap::ValueEnum;

use crate::cli::OneFile;
use crate::cli::exit::Exit;
use crate::cli::issues::FileReport;
use crate::cli::open::no_settings;
use crate::cli::output::{print, tell};
use crate::cli::trouble::Trouble;
use crate::engine::routine::{load, render};
use crate::host::session::{known, read_routine};
use crate::host::settings::{PlatformFolders, configured_agents};
use crate::tui::text::Inert;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    of: OneFile,
    /// How to draw it.
    #[arg(long, value_enum, default_value = "text")]
    format: DrawAs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DrawAs {
    /// An outline for people.
    Text,
    /// A Mermaid flowchart.
    Mermaid,
    /// A graph for Graphviz.
    Dot,
}

pub(in crate::cli) fn main(arguments: &Arguments) -> Exit {
    let file = &arguments.of.file;
    let bytes = match read_routine(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            return Trouble::caused(error)
                .hint("name a routine file, YAML or JSON")
                .report();
        }
    };
    let environment = |name: &str| std::env::var_os(name);
    let agents = match configured_agents(&environment, &PlatformFolders::of_this_user()) {
        Ok(agents) => agents,
        Err(error) => return no_settings(error).report(),
    };
    let loaded = load(&bytes, &known(agents.keys()));
    let Some(routine) = loaded.routine else {
        tell(FileReport::of(file, &loaded.issues).text().trim_end());
        return Exit::Failed;
    };
    let drawing = render::Drawing::of(&routine.graph);
    let text = match arguments.format {
        DrawAs::Text => Inert::text(&drawing.to_text()).as_str().to_owned(),
        DrawAs::Mermaid => drawing.to_mermaid(),
        DrawAs::Dot => drawing.to_dot(),
    };
    match print(&text) {
        Ok(()) => Exit::Succeeded,
        Err(closed) => closed,
    }
}
