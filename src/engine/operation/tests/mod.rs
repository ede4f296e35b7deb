//! The machine, played by hand.

mod legality;
mod simulator;
