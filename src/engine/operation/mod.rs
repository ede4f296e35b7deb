//! What happens while a routine runs: a pure state machine.
