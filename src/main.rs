//! The `amos-tui` binary.
fn main() {}
