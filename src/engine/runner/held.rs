//! Held evidence: copying sources, taking the archive's receipts, and letting go (V28 to V30).
//!
//! For hosts alone: no model, tool or MCP client can reach these.

use bytes::Bytes;

use crate::engine::evidence::{Receipt, SourceHeader};
use crate::engine::id::{OperationId, SourceId};
use crate::engine::operation::event::Event;
use crate::engine::ports::{ReadSourceError, StorageError};
use crate::engine::runner::RoutineRunner;
use crate::engine::runner::actor::Actor;
use crate::engine::runner::arrival::Keeping;

/// A receipt wasn't taken. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcknowledgeError {
    /// There is no such operation, or it has retired.
    #[error("no operation {0} is held here")]
    UnknownOperation(OperationId),
    /// The operation has no such source.
    #[error("the operation has no source {0}")]
    UnknownSource(SourceId),
    /// The source has a receipt already, and receipts never change.
    #[error("source {source_id} is acknowledged as {}", held.uri)]
    OtherReceipt {
        /// Which.
        source_id: SourceId,
        /// The receipt that it has.
        held: Box<Receipt>,
    },
}

/// What is to be read.
enum Found {
    Source(SourceHeader),
    Index(Bytes),
    Nothing,
}

impl RoutineRunner {
    /// Copies a source of at most `max_bytes`; a larger one is refused with its true size, never
    /// cut. The source index ([`OperationId::source_index`]) is JSON lines, one a source, with its
    /// receipt where it has one.
    pub async fn read_source(
        &self,
        operation: &OperationId,
        source: &SourceId,
        max_bytes: u64,
    ) -> Result<Bytes, ReadSourceError> {
        let wanted = source.clone();
        let found = self
            .look(operation, move |actor| actor.find(&wanted))
            .await
            .ok_or_else(|| ReadSourceError::UnknownOperation(operation.clone()))?;
        let bytes = match &found {
            Found::Source(header) => header.bytes,
            Found::Index(lines) => lines.len() as u64,
            Found::Nothing => return Err(ReadSourceError::UnknownSource(source.clone())),
        };
        if bytes > max_bytes {
            return Err(ReadSourceError::TooLarge {
                source_id: source.clone(),
                bytes,
                allowed: max_bytes,
            });
        }
        match found {
            Found::Source(header) => self.read_held(operation.clone(), header).await,
            Found::Index(lines) => Ok(lines),
            Found::Nothing => Err(ReadSourceError::UnknownSource(source.clone())),
        }
    }

    async fn read_held(
        &self,
        operation: OperationId,
        header: SourceHeader,
    ) -> Result<Bytes, ReadSourceError> {
        let store = self.inner.ports.sources.clone();
        // A store may take its time; it takes a thread of its own for that.
        let read = tokio::task::spawn_blocking(move || store.read(&operation, &header));
        match read.await {
            Ok(read) => Ok(read?),
            Err(error) => Err(StorageError(format!("the store panicked: {error}")).into()),
        }
    }

    /// Takes the archive's reference for a source. The same again is fine, another one is refused.
    pub async fn acknowledge_source(
        &self,
        operation: &OperationId,
        source: &SourceId,
        receipt: Receipt,
    ) -> Result<(), AcknowledgeError> {
        let source = source.clone();
        self.ask(operation, move |actor| actor.acknowledge(source, receipt))
            .await
            .unwrap_or_else(|| Err(AcknowledgeError::UnknownOperation(operation.clone())))
    }

    /// The host needs none of the operation's unacknowledged sources: once it has ended, it may
    /// retire, and what still arrives is lost. False where no such operation is held.
    pub async fn release_sources(&self, operation: &OperationId) -> bool {
        self.ask(operation, |actor| actor.keeping = Keeping::Nothing)
            .await
            .is_some()
    }
}

impl Actor {
    fn find(&self, source: &SourceId) -> Found {
        if *source == self.id.source_index() {
            return Found::Index(self.source_index());
        }
        match self.header(source) {
            Some(header) => Found::Source(header.clone()),
            None => Found::Nothing,
        }
    }

    fn header(&self, source: &SourceId) -> Option<&SourceHeader> {
        let position = *self.positions.get(source)?;
        self.operation.sources().get(position)
    }

    fn source_index(&self) -> Bytes {
        let mut lines = Vec::new();
        for header in self.operation.sources() {
            serde_json::to_writer(&mut lines, &self.inspected(header))
                .expect("BUG: our own types are JSON, and memory takes them");
            lines.push(b'\n');
        }
        lines.into()
    }

    fn acknowledge(&mut self, source: SourceId, receipt: Receipt) -> Result<(), AcknowledgeError> {
        if self.header(&source).is_none() {
            return Err(AcknowledgeError::UnknownSource(source));
        }
        match self.operation.receipt(&source) {
            Some(held) if *held == receipt => Ok(()),
            Some(held) => Err(AcknowledgeError::OtherReceipt {
                source_id: source,
                held: Box::new(held.clone()),
            }),
            None => {
                self.unacknowledged = self.unacknowledged.saturating_sub(1);
                self.apply(Event::SourceAcknowledged { source, receipt });
                Ok(())
            }
        }
    }
}
