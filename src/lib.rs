//! A terminal cockpit for verified AI routines.
pub mod engine;
pub mod host;
