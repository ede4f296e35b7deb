//! The machine, played by hand and by chance.
//!
//! By hand: `story` plans, `play` is the world, `acts` what it does, `expect` what must be so, `words`
//! what it is told in, `sketch` how routines are written down. The stories are in the other files, by
//! topic. By chance: `simulator`. `legality` walks every event in every phase.

mod acts;
mod ballots;
mod conditions;
mod cost;
mod council_ends;
mod council_failures;
mod council_laps;
mod council_pauses;
mod councils;
mod endings;
mod expect;
mod gates;
mod graphs;
mod iterations;
mod joins;
mod legality;
mod nested;
mod observe;
mod orders;
mod outcomes;
mod play;
mod prompts;
mod races;
mod reconcile;
mod repeats;
mod rework;
mod rows;
mod series;
mod simulator;
mod simulator_finds;
mod sketch;
mod story;
mod verdicts;
mod waits;
mod words;

use serde_json::json;

use crate::engine::capability::EffectClass;
use crate::engine::operation::Admission;
use crate::engine::operation::event::{Event, VerifierFailure};
use crate::engine::operation::published::PublicEvent;
use crate::engine::operation::tests::play::Play;
use crate::engine::operation::tests::story::story;
use crate::engine::operation::tests::words::{
    Seen, allow, answered, approve, blocked, deny, done, fail, fail_it, failed, malformed,
    not_asked_yet, pass, pending, reject, route, tool, uncertain, unknown, verified, waiting,
};
use crate::engine::operation::view::OperationState;
use crate::engine::operation::wait::{Answer, BadAnswer, Direction, OperatorVerdict};
use crate::engine::ports::{Finish, ModelOutcome, Permission, ToolChoice, ToolOutcome};
use crate::engine::verify::Decision;
use crate::engine::verify::Held::{Blocked, Uncertain, Waiting};
