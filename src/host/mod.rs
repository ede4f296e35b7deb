//! Adapters of the world: what the engine's ports are made of in this application.

pub mod models;
