//! The real binary, started as a person or a script would start it: arguments and environment in,
//! exit code, stdout and stderr out.
//!
//! Each test has folders of its own and an environment that holds nothing of this machine's.

#![cfg(unix)]

mod bad_input;
mod demos;
mod effects;
mod events;
mod exits;
mod gates;
mod program;
mod provider;
mod providers;
mod runnable;
mod storage;
