//! The machine, played by hand.

mod simulator;
