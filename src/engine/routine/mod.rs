//! What a routine is: from a file's bytes to a graph that can run.
//!
//! Three stages, each its own type, each made only by checking the one before:
//! `RoutineFile` (a tree with positions) → [`definition::RoutineDefinition`] (typed, every word known)
//! → [`graph::RoutineGraph`] (every rule of G12 holds). Nothing here runs anything.

pub mod data_path;
pub mod definition;
pub mod file;
pub mod graph;
pub mod issue;
mod issues;
mod outline;
mod reader;
pub mod template;
