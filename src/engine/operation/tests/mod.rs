//! The machine, played by hand.
