//! From a tree to a typed routine: every word known, every default filled in, every problem collected.
//!
//! One file a construct; each names its fields in a table, which the JSON Schema is made from too.
//! Whether the graph makes sense is judged elsewhere, by the rules.

pub(in crate::engine::routine) mod agents;
pub(in crate::engine::routine) mod body;
#[cfg(test)]
mod bounds;
pub(in crate::engine::routine) mod check;
pub(in crate::engine::routine) mod condition;
pub(in crate::engine::routine) mod context;
pub(in crate::engine::routine) mod deterministic;
pub(in crate::engine::routine) mod edge;
pub(in crate::engine::routine) mod fields;
pub(in crate::engine::routine) mod near;
pub(in crate::engine::routine) mod repeat;
pub(in crate::engine::routine) mod routine;
pub(in crate::engine::routine) mod step;
pub(in crate::engine::routine) mod table;
pub(in crate::engine::routine) mod words;
pub(in crate::engine::routine) mod work;
