//! Programs in a real terminal: what they write to it, and how they leave it.

#![cfg(unix)]

mod child;
mod run;
mod terminal;
mod world;
