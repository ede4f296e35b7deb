//! The verified-routine engine: a pure state machine and the runner that performs its commands.
//!
//! The engine knows no terminal, no HTTP, no file, no environment and no clock of its own. Everything
//! it needs from outside comes through [`ports`].
//!
//! Reading order: [`routine`] (what a routine is), [`operation`] (what happens while one runs),
//! [`verify`] and [`evidence`] (what counts as done, and what is kept), [`ports`] (what a host
//! supplies), [`runner`] (how effects are ordered).

pub mod capability;
pub mod digest;
pub mod evidence;
pub mod id;
pub mod limits;
pub mod operation;
pub mod ports;
pub mod routine;
pub mod runner;
pub mod verify;
