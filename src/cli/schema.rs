//! `amos-tui schema`: the JSON Schema of routine files.

use crate::cli::exit::Exit;
use crate::cli::output::print;
use crate::engine::routine::schema::file_schema;

pub(in crate::cli) fn main() -> Exit {
    let text = serde_json::to_string_pretty(&file_schema()).expect("BUG: a schema is plain JSON");
    match print(&format!("{text}\n")) {
        Ok(()) => Exit::Succeeded,
        Err(closed) => closed,
    }
}
