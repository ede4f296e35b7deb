//! What happens at a wait: exit, poll, or ask (C1).

use std::time::Duration;

use crate::cli::exit::Exit;
use crate::cli::output::tell;
use crate::cli::run::prompt::{self, Said};
use crate::cli::run::{OnWait, exit_of};
use crate::engine::id::Generation;
use crate::engine::operation::wait::{Answer, Question, Wait, WaitKey};
use crate::engine::runner::Refusal;
use crate::engine::verify::Held;
use crate::host::session::{ConfirmRefused, Live, Rest, Session};

/// What comes after a rest.
pub(super) enum Next {
    /// The operation went on and came to rest again.
    Rest(Box<Rest>),
    /// That was all.
    Exit(Exit),
}

/// Decides what comes after a rest, and does it. The caller looks out for the operation's end
/// meanwhile: a deadline or a reader that went away may bring it.
pub(super) async fn at(on_wait: OnWait, session: &Session, live: &mut Live, rest: &Rest) -> Next {
    let (state, waits, generation) = match rest {
        Rest::Settled(outcome) => return Next::Exit(exit_of(outcome)),
        Rest::Ended => return Next::Exit(Exit::Cancelled),
        Rest::Paused {
            state,
            waits,
            generation,
            ..
        } => (*state, waits, *generation),
    };
    match on_wait {
        OnWait::Exit => {
            tell(&hint(state, waits));
            Next::Exit(Exit::Paused)
        }
        OnWait::Poll => match pause(state, waits) {
            Some(pause) => {
                tokio::time::sleep(pause).await;
                next(confirm(session, live, generation, Vec::new()).await)
            }
            None => {
                tell(&hint(state, waits));
                Next::Exit(Exit::Paused)
            }
        },
        OnWait::Prompt => loop {
            let said = prompt::ask(waits.clone()).await;
            return match said {
                Said::Answers(answers) => match confirm(session, live, generation, answers).await {
                    // Nothing changed, so the person can say it again.
                    Err(ConfirmRefused::Refused(why @ Refusal::BadAnswer(_))) => {
                        tell(&format!("error: {why}"));
                        continue;
                    }
                    confirmed => next(confirmed),
                },
                Said::Later => {
                    tell("hint: nothing was confirmed; run again with --on-wait prompt to answer");
                    Next::Exit(Exit::Paused)
                }
                Said::Cancel => match session.cancel(live.operation()).await {
                    Some(rest) => Next::Rest(Box::new(rest)),
                    None => Next::Exit(Exit::Cancelled),
                },
            };
        },
    }
}

/// What helps with these waits. Another run starts anew: nothing resumes from what this one left.
fn hint(state: Held, waits: &[Wait]) -> String {
    let mut tools: Vec<&str> = waits
        .iter()
        .filter_map(|wait| match &wait.question {
            Question::Permission { tool, .. } => Some(tool.as_str()),
            Question::Recheck
            | Question::Manual { .. }
            | Question::OperatorGate { .. }
            | Question::Uncertain { .. } => None,
        })
        .collect();
    tools.sort_unstable();
    tools.dedup();
    if !tools.is_empty() {
        let allow: Vec<String> = tools.iter().map(|tool| format!("--allow {tool}")).collect();
        return format!(
            "hint: start it again with {} if these calls may be made, or with --on-wait prompt to be asked",
            allow.join(" ")
        );
    }
    match pause(state, waits) {
        Some(_) => "hint: it waits; start it again with --on-wait poll to look again until it is there, or with --on-wait prompt to answer".into(),
        None => "hint: only a person can end this wait; start it again with --on-wait prompt to answer".into(),
    }
}

/// How long to wait before looking again makes sense: the smallest pause of the checks that say
/// waiting, while nothing is worse than that.
fn pause(state: Held, waits: &[Wait]) -> Option<Duration> {
    match state {
        Held::Waiting => waits
            .iter()
            .filter_map(|wait| wait.poll_ms)
            .min()
            .map(Duration::from_millis),
        Held::Blocked | Held::Uncertain => None,
    }
}

/// Goes on with these answers, to the next rest. Where the operation has ended meanwhile it never
/// answers: the end is on its way to whoever waits for it besides.
async fn confirm(
    session: &Session,
    live: &mut Live,
    generation: Generation,
    answers: Vec<(WaitKey, Answer)>,
) -> Result<Rest, ConfirmRefused> {
    match session.confirm(live, generation, answers).await {
        Err(ConfirmRefused::Refused(Refusal::Ended { .. } | Refusal::AlreadyCancelled)) => {
            std::future::pending().await
        }
        confirmed => confirmed,
    }
}

fn next(confirmed: Result<Rest, ConfirmRefused>) -> Next {
    match confirmed {
        Ok(rest) => Next::Rest(Box::new(rest)),
        Err(refused) => {
            tell(&format!("error: {refused}"));
            Next::Exit(Exit::Paused)
        }
    }
}
