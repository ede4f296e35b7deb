//! Every number that the requirements fix, each with the id of its requirement.

/// Corrections of a missing, empty or wrong `route_next_steps` call by default (G4).
pub const CORRECTIONS: u32 = 2;
/// How often a retry edge may be taken by default (G5).
pub const MAX_ATTEMPTS: u32 = 3;
/// Steps that one execution may run (G6).
pub const EXECUTION_STEPS: u64 = 10_000;
/// How long a settling operation waits for what is in flight, in milliseconds (G10).
pub const GRACE_MS: u64 = 2_000;
/// Calls that the leader of a `dynamic` council may make by default (G11).
pub const COUNCIL_CALLS: u32 = 8;
/// The score that a strict reflection needs by default (V8).
pub const MIN_SCORE: f64 = 80.0;
/// Levels of nested routines, the outermost being 1 (V19).
pub const NESTED_LEVELS: usize = 32;
/// Steps of one definition; terminals, pre and post steps are not counted (V19).
pub const DEFINITION_STEPS: usize = 1_000;
/// The largest timer, in milliseconds (V19).
pub const MAX_TIMER_MS: u64 = 2_147_483_647;
/// Iterations of a map, fold or until (V22).
pub const ITERATIONS: u64 = 1_000;
/// Time limit of deterministic steps, tool steps and a model's tool calls by default, in milliseconds (V23).
pub const TOOL_TIMEOUT_MS: u64 = 30_000;
/// Time limit of a check by default, in milliseconds (V24).
pub const CHECK_TIMEOUT_MS: u64 = 30_000;
/// Pause between two looks of a check by default, in milliseconds (routine-format.md).
pub const POLL_MS: u64 = 5_000;
/// The shortest pause between two looks of a check, in milliseconds (routine-format.md).
pub const MIN_POLL_MS: u64 = 100;
/// Size of an observation by default, in bytes (V26).
pub const OBSERVATION_BYTES: usize = 1024 * 1024;
/// Bounds of the observation size, in bytes (V26).
pub const OBSERVATION_BYTES_BOUNDS: (usize, usize) = (8 * 1024, 64 * 1024 * 1024);
/// Active operations of one runner by default (V27).
pub const ACTIVE_OPERATIONS: usize = 32;
/// Bounds of the number of active operations (V27).
pub const ACTIVE_OPERATIONS_BOUNDS: (usize, usize) = (1, 1_000);
/// Source headers that an inspection shows (V28).
pub const INSPECTED_SOURCES: usize = 24;
/// References that a routine's tool result carries (V32).
pub const TOOL_REFERENCES: usize = 32;
/// Tool results up to this size stand inline in an observation, in bytes (V13).
pub const INLINE_RESULT_BYTES: usize = 4 * 1024;
/// Model calls of one run by default (M3a).
pub const MODEL_CALLS: u32 = 16;
/// Sends of one model request, the first included, is one more than this (M2).
pub const RESENDS: u32 = 3;
/// The longest `Retry-After` that is honoured, in seconds (M2).
pub const RETRY_AFTER_SECONDS: u64 = 60;
/// Output of a command after which it is ended, in bytes (M7).
pub const COMMAND_OUTPUT_BYTES: usize = 8 * 1024 * 1024;
/// A routine file larger than this is not read, in bytes (C2).
pub const FILE_BYTES: u64 = 16 * 1024 * 1024;
