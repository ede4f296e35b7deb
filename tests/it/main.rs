//! Stories of the library, told through its public interface alone.

mod architecture;
mod cli;
mod runner_evidence;
mod runner_failures;
mod runner_resume;
mod runner_start;
mod world;
