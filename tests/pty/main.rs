//! Programs in a real terminal: what they write to it, and how they leave it.

#![cfg(unix)]

mod app;
mod child;
mod run;
mod server;
mod terminal;
mod tui_dialogs;
mod tui_ends;
mod tui_inside;
mod tui_operations;
mod tui_screen;
mod world;
