//! A routine graph as a picture: boxes and lines where they fit, a list where they don't.
//!
//! ```text
//! RoutineGraph ─▶ GraphShape ─▶ Arranged (layout, once a definition)
//! ExecutionView ─▶ LiveGraph ─────────┐
//!                                     ▼
//!                        GraphWidget / ListWidget ─▶ Buffer (every frame)
//! ```
//!
//! A change of status never needs a new layout: boxes and labels reserve the cells that change.

pub mod layered;
pub mod layout;
pub mod list;
pub mod live;
pub mod paint;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod screens;
pub mod select;
pub mod shape;
