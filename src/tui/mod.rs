//! The terminal application: what is on the screen, and what keys mean.
//!
//! This room turns state into pictures and keys into intents. It runs nothing, reads no file and
//! calls no model; the loop that wires it to a session lives in `app`.
//!
//! What everything on the screen is made of: [`text`] (foreign text, made inert where it enters the
//! state), [`theme`] (looks by meaning), [`graph`] (a routine as a picture or a list), [`input`] (the
//! command line) and [`frame_clock`] (when to draw). What surrounds it: `terminal` (full screen),
//! `restore` (giving the terminal back), `signals` and `watchdog` (what ends or stops the program).

pub mod effect;
pub mod frame_clock;
pub mod graph;
pub mod input;
pub mod keymap;
pub mod message;
pub mod residue;
#[cfg(unix)]
pub mod restore;
#[cfg(unix)]
pub mod signals;
pub mod slash;
#[cfg(test)]
mod stage;
pub mod state;
#[cfg(unix)]
pub mod terminal;
pub mod text;
pub mod theme;
pub mod update;
pub mod view;
#[cfg(unix)]
pub mod watchdog;
