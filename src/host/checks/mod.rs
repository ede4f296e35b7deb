//! The host's verifier: makes the checks that a routine file names (V2, routine-format.md, Checks).
//!
//! Checks of one look run side by side, each within its own time limit; the worst counts. Where a
//! file names none, the host's policy asks for nothing. A check never repeats what it judges, and
//! looking twice is harmless unless the author's own command isn't.

mod command;
mod file;
mod name;
mod output;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use tokio_util::sync::CancellationToken;

use crate::engine::id::{Generation, OperationId};
use crate::engine::ports::{Verifier, VerifyContext, VerifyRequest};
use crate::engine::routine::definition::{Check, CheckKind, SyntheticSubject};
use crate::engine::verify::{
    Attestation, AttestationVerdict, CheckResult, Decision, Finding, Held, Observation,
};
use crate::host::synthetic::{SyntheticAct, SyntheticJobs};
use crate::host::workspace::Workspace;

/// Makes checks in one workspace.
#[derive(Debug, Clone)]
pub struct CheckVerifier {
    workspace: Workspace,
    synthetic: Arc<SyntheticJobs>,
}

/// Everything that one look goes by.
struct Look {
    workspace: Workspace,
    synthetic: Arc<SyntheticJobs>,
    observation: Observation,
    attestations: Vec<Attestation>,
    operation: OperationId,
    generation: Generation,
    cancellation: CancellationToken,
}

impl CheckVerifier {
    /// Makes checks in this workspace, seeing the jobs of its synthetic tools.
    pub fn of(workspace: Workspace, synthetic: Arc<SyntheticJobs>) -> Self {
        Self {
            workspace,
            synthetic,
        }
    }
}

impl Verifier for CheckVerifier {
    fn verify(
        &self,
        request: VerifyRequest,
        context: VerifyContext,
    ) -> BoxFuture<'static, Decision> {
        let look = Look {
            workspace: self.workspace.clone(),
            synthetic: Arc::clone(&self.synthetic),
            observation: request.observation,
            attestations: request.attestations,
            operation: context.operation,
            generation: context.generation,
            // Whatever is still going on when the look is over, or dropped, is told to stop.
            cancellation: context.cancellation.child_token(),
        };
        async move {
            if request.checks.is_empty() {
                return Decision::by_policy();
            }
            let _over = look.cancellation.clone().drop_guard();
            let results = request
                .checks
                .iter()
                .enumerate()
                .map(|(index, check)| look.check(index, check));
            Decision::of(join_all(results).await)
        }
        .boxed()
    }
}

impl Look {
    async fn check(&self, index: usize, check: &Check) -> CheckResult {
        let finding = tokio::select! {
            biased;
            finding = self.find(index, check) => finding,
            () = self.cancellation.cancelled() => uncertain("the look was cancelled"),
        };
        let (is_manual, is_output) = match check.kind {
            CheckKind::Manual { .. } => (true, false),
            CheckKind::Output { .. } => (false, true),
            CheckKind::Command { .. }
            | CheckKind::Http { .. }
            | CheckKind::File { .. }
            | CheckKind::Synthetic { .. } => (false, false),
        };
        let waits = matches!(
            &finding,
            Finding::Held {
                state: Held::Waiting,
                ..
            }
        );
        CheckResult {
            index,
            check: check.kind.label().to_owned(),
            name: name::of(&check.kind),
            method: if is_output { None } else { check.method },
            covers: check.covers.clone(),
            independent: check.independent,
            finding,
            manual: is_manual,
            poll_ms: (waits && !is_manual).then_some(check.poll_ms),
        }
    }

    async fn find(&self, index: usize, check: &Check) -> Finding {
        let limit = Duration::from_millis(check.timeout_ms);
        match &check.kind {
            CheckKind::Command { run, cwd } => {
                // Ends its own processes when the time is over.
                command::find(self, run, cwd.as_deref(), limit).await
            }
            CheckKind::File {
                path,
                sha256,
                contains,
                min_bytes,
            } => {
                let wanted = file::Wanted {
                    path: path.clone(),
                    sha256: sha256.clone(),
                    contains: contains.clone(),
                    min_bytes: *min_bytes,
                };
                let stop = self.cancellation.child_token();
                let _over = stop.clone().drop_guard();
                blocking(limit, {
                    let workspace = self.workspace.clone();
                    move || file::find(&workspace, &wanted, &stop)
                })
                .await
            }
            CheckKind::Output {
                schema,
                contains,
                matches,
            } => {
                let wanted = output::Wanted {
                    schema: schema.clone(),
                    contains: contains.clone(),
                    matches: matches.clone(),
                };
                let observation = self.observation.clone();
                blocking(limit, move || output::find(&observation, &wanted)).await
            }
            CheckKind::Manual { prompt } => self.said(index, prompt),
            CheckKind::Synthetic { job, of } => self.synthetic(job, *of),
            CheckKind::Http { .. } => uncertain("http checks are not supported in this version"),
        }
    }

    /// What a person said last of this check.
    fn said(&self, index: usize, prompt: &str) -> Finding {
        let mut attestations = self.attestations.iter().rev();
        let Some(said) = attestations.find(|attestation| attestation.check == index) else {
            return waiting(format!("a person has to say: {prompt}"));
        };
        match (said.verdict, &said.reasoning) {
            (AttestationVerdict::Right, _) => Finding::Verified,
            (AttestationVerdict::NotRight, Some(reasoning)) if !reasoning.is_empty() => {
                blocked(format!("said to be not right: {reasoning}"))
            }
            (AttestationVerdict::NotRight, _) => blocked("said to be not right"),
        }
    }

    fn synthetic(&self, job: &str, subject: SyntheticSubject) -> Finding {
        match subject {
            SyntheticSubject::Job if self.generation >= Generation(1) => Finding::Verified,
            SyntheticSubject::Job => waiting(format!(
                "the synthetic job {job} is ready once its check is confirmed"
            )),
            SyntheticSubject::Artifact => {
                match self
                    .synthetic
                    .count(&self.operation, job, SyntheticAct::Artifact)
                {
                    0 => blocked(format!("no synthetic artifact was made for {job}")),
                    _ => Finding::Verified,
                }
            }
        }
    }
}

/// Does blocking work of a check away from the runtime's own threads, within its time limit.
async fn blocking(limit: Duration, work: impl FnOnce() -> Finding + Send + 'static) -> Finding {
    match tokio::time::timeout(limit, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(finding)) => finding,
        Ok(Err(error)) => uncertain(format!("the check broke off: {error}")),
        Err(_) => timed_out(limit),
    }
}

fn timed_out(limit: Duration) -> Finding {
    uncertain(format!("no answer within {} ms", limit.as_millis()))
}

fn waiting(reason: impl Into<String>) -> Finding {
    held(Held::Waiting, reason)
}

fn blocked(reason: impl Into<String>) -> Finding {
    held(Held::Blocked, reason)
}

fn uncertain(reason: impl Into<String>) -> Finding {
    held(Held::Uncertain, reason)
}

fn held(state: Held, reason: impl Into<String>) -> Finding {
    Finding::Held {
        state,
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests;
