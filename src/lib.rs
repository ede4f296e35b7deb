//! A terminal cockpit for *verified* AI routines.
//!
//! A routine is a graph of agents, gates and councils, written in a file. A model's text never
//! counts as done: the host's checks decide, work that isn't proven waits, evidence is kept and
//! acknowledged, and a person inspects, confirms or cancels from the terminal.
//!
//! # Using it as a library
//!
//! Load a file with [`engine::routine::load`], give the runner your models, tools, checks and storage
//! through the traits of [`engine::ports`], and drive it with [`engine::runner::RoutineRunner`]:
//! [`engine::runner`] shows a whole program that runs, waits and goes on. To have this application's
//! own adapters instead, open a [`host::session::Session`], as both front ends do.
//!
//! # The rooms
//!
//! | room | what it is | never names |
//! |---|---|---|
//! | [`engine`] | the pure state machine of an operation, and the runner that performs its commands | a terminal, HTTP, files, the environment |
//! | [`host`] | adapters of the world, and the session that both front ends drive | a terminal |
//! | [`tui`] | state into a picture, keys into intents | the runner, files, HTTP |
//! | [`app`] | wires a session and the screen | |
//! | [`cli`] | one file a subcommand | |
//!
//! # Invariants
//!
//! - **The rooms hold.** Cargo can't forbid an import inside one package, so
//!   `tests/it/architecture.rs` does.
//! - **Nothing is sent or done twice.** No path dispatches an action again to regain a lost
//!   observation; the operation's simulator keeps it over thousands of seeds.
//! - **A pause hands out one right to go on**, and every refusal gives it back
//!   ([`engine::runner::Continuation`]).
//! - **An intent stands in the account before its effect.** An intent without an event reads as
//!   *uncertain* ([`engine::runner`]).
//! - **No leader overrules a vote.** The engine counts, and a council in which everybody failed is
//!   uncertain, never a pass; `pass_needs_more_than_half_of_all_members_and_no_leader_overrules_the_count`
//!   keeps the one, `a_council_in_which_all_fail_is_uncertain` the other.
//! - **An unknown word is an error, never a default** ([`engine::routine`]).
//!
//! Not offered: durable restore after a restart, a journal to resume from, distributed leases,
//! exactly-once effects. What is kept on disk is an account, not a way back.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod app;
pub mod cli;
pub mod engine;
pub mod host;
pub mod tui;
