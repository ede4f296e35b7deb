//! Evidence in the hands of a front end: looked at, archived, acknowledged (T6, V29).
//!
//! Content is copied within an allowance or not at all; nothing is cut.

use bytes::Bytes;

use crate::engine::evidence::Receipt;
use crate::engine::id::{OperationId, SourceId};
use crate::engine::ports::{ReadSourceError, StorageError};
use crate::engine::runner::{Account, AcknowledgeError, ModelUsage};
use crate::host::archive::ReceiptLine;
use crate::host::session::{Inspected, Session, SourceRow};

/// The largest list of sources that is read.
const INDEX_BYTES: u64 = 64 * 1024 * 1024;

/// A source couldn't be kept. Nothing was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeepError {
    /// It couldn't be read.
    #[error(transparent)]
    Read(#[from] ReadSourceError),
    /// The archive couldn't take it.
    #[error(transparent)]
    Archive(#[from] StorageError),
}

/// A source couldn't be acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// The runner said no.
    #[error(transparent)]
    Refused(#[from] AcknowledgeError),
    /// The receipt was taken, but couldn't be recorded for later.
    #[error(transparent)]
    Record(#[from] StorageError),
}

impl Session {
    /// Looks an operation up, without a model call. `None` where it isn't held any more.
    pub async fn inspect(&self, operation: &OperationId) -> Option<Inspected> {
        let inspection = self.runner.inspect(operation).await?;
        let timers = inspection.deadlines.into_iter();
        Some(Inspected {
            timers: timers
                .map(|timer| (timer.timer, timer.remaining_ms))
                .collect(),
            in_flight: inspection.in_flight,
            sources: inspection.sources.len() + inspection.omitted_sources,
            unacknowledged: inspection.unacknowledged,
            source_index: inspection.source_index.to_string(),
            usage: inspection.usage.map(|account| usage(&account)),
        })
    }

    /// All sources of an operation, from old to new.
    pub async fn sources(
        &self,
        operation: &OperationId,
    ) -> Result<Vec<SourceRow>, ReadSourceError> {
        let index = operation.source_index();
        let lines = self
            .runner
            .read_source(operation, &index, INDEX_BYTES)
            .await?;
        lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| {
                serde_json::from_slice(line)
                    .map_err(|error| StorageError(format!("the source index: {error}")).into())
            })
            .collect()
    }

    /// Copies a source of at most `allowance` bytes.
    pub async fn preview(
        &self,
        operation: &OperationId,
        source: &SourceId,
        allowance: u64,
    ) -> Result<Bytes, ReadSourceError> {
        self.runner.read_source(operation, source, allowance).await
    }

    /// Keeps a source exactly as it is. The receipt is not given to the operation yet.
    pub async fn archive_exact(
        &self,
        operation: &OperationId,
        source: &SourceId,
    ) -> Result<Receipt, KeepError> {
        let content = self.runner.read_source(operation, source, u64::MAX).await?;
        let archive = self.archive.clone();
        let kept = tokio::task::spawn_blocking(move || archive.keep(&mut &content[..]));
        match kept.await {
            Ok(kept) => Ok(kept?),
            Err(error) => Err(StorageError(format!("the archive panicked: {error}")).into()),
        }
    }

    /// Gives the operation the archive's receipt for a source, and records it for later.
    pub async fn acknowledge(
        &self,
        operation: &OperationId,
        source: &SourceId,
        receipt: Receipt,
    ) -> Result<(), ReceiptError> {
        self.runner
            .acknowledge_source(operation, source, receipt.clone())
            .await?;
        let line = ReceiptLine {
            operation: operation.clone(),
            source: source.clone(),
            receipt,
        };
        let archive = self.archive.clone();
        let recorded = tokio::task::spawn_blocking(move || archive.record(&line));
        match recorded.await {
            Ok(recorded) => Ok(recorded?),
            Err(error) => Err(StorageError(format!("the archive panicked: {error}")).into()),
        }
    }
}

fn usage(account: &Account) -> Vec<String> {
    let line = |name: &str, usage: &ModelUsage| {
        let tokens = usage.tokens;
        format!(
            "{name}: {} calls, {} tokens in, {} out",
            usage.calls, tokens.input_tokens, tokens.output_tokens
        )
    };
    let models = account.models.iter();
    let mut lines: Vec<String> = models.map(|(name, usage)| line(name, usage)).collect();
    if account.helpers != ModelUsage::default() {
        lines.push(line("helpers", &account.helpers));
    }
    lines
}
