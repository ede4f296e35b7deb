//! What a verifier is shown, and what it may answer (V2).

mod decision;
mod observation;

pub use decision::{Attestation, AttestationVerdict, CheckResult, Decision, Finding, Held};
pub use observation::{Observation, ObservationPhase, Oversized};
