//! The terminal application: what is on the screen, and what keys mean.
//!
//! This room turns state into pictures and keys into intents. It runs nothing, reads no file and
//! calls no model; the loop that wires it to a session lives in `app`.

pub mod graph;
#[cfg(unix)]
pub mod restore;
#[cfg(unix)]
pub mod signals;
#[cfg(unix)]
pub mod terminal;
pub mod text;
pub mod theme;
#[cfg(unix)]
pub mod watchdog;
