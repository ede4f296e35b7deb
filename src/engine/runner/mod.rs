//! The only place where effects are ordered.
