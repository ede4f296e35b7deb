//! The machine, played by hand and by chance.
//!
//! `story` plays, `words` are what it is told in, `sketch` writes routines down. `simulator` plays
//! random routines in a random world, `legality` walks every event in every phase. The other files
//! hold the stories, by topic.

mod endings;
mod gates;
mod graphs;
mod joins;
mod legality;
mod observe;
mod outcomes;
mod prompts;
mod reconcile;
mod rework;
mod series;
mod simulator;
mod sketch;
mod story;
mod verdicts;
mod waits;
mod words;

use serde_json::json;

use crate::engine::capability::EffectClass;
use crate::engine::operation::Admission;
use crate::engine::operation::event::{Event, VerifierFailure};
use crate::engine::operation::outcome::Verdict::{Fail, Pass};
use crate::engine::operation::tests::story::{Play, answered, story};
use crate::engine::operation::tests::words::{
    Seen, allow, approve, blocked, deny, done, fail, fail_it, failed, malformed, not_asked_yet,
    pass, pending, reject, route, tool, uncertain, unknown, verdict, verified, waiting,
};
use crate::engine::operation::view::OperationState;
use crate::engine::operation::wait::{Answer, BadAnswer, Direction, OperatorVerdict};
use crate::engine::ports::{Finish, ModelOutcome, Permission, ToolChoice, ToolOutcome};
use crate::engine::verify::Held::{Blocked, Uncertain, Waiting};
