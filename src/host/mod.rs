//! The host: everything around the engine that touches the world. It implements the engine's ports.
//!
//! [`workspace`] and [`process`] are the two guarded ways to files and commands; [`tools`] and
//! [`checks`] are built on them and on nothing else. [`evidence_store`], [`archive`] and
//! [`run_log`] keep what happened on disk. [`settings`] says what the person chose.
//!
//! [`models`] speaks to the providers.
//!
//! Nothing here decides what a routine does next: that is the engine's.

pub mod archive;
pub mod checks;
pub mod clock;
pub mod evidence_store;
pub mod ids;
pub mod models;
pub mod permission;
pub mod process;
pub mod run_log;
mod schema;
pub mod session;
pub mod settings;
mod storage;
pub mod strict_json;
pub mod synthetic;
pub mod tools;
pub mod workspace;
