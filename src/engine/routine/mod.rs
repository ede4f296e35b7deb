//! What a routine is: from a file's bytes to a graph that can run.
//!
//! Three stages, each its own type, each made only by checking the one before:
//! [`file::RoutineFile`] (a tree with positions) → [`definition::RoutineDefinition`] (typed, every word
//! known) → [`graph::RoutineGraph`] (every rule of G12 holds). [`load`](fn@load) walks all three and
//! collects every problem on the way. Nothing here runs anything.

pub mod condition;
pub mod data_path;
pub mod definition;
pub mod file;
#[cfg(test)]
mod fixtures;
pub mod graph;
mod import;
pub mod issue;
mod issues;
mod load;
mod outline;
mod reader;
pub mod render;
mod rules;
mod runnable;
pub mod schema;
pub mod template;
#[cfg(test)]
mod tests;

pub use load::{CheckedRoutine, Loaded, load};
pub use reader::near::nearest;
pub use rules::names::Known;
