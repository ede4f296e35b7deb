//! Stores and accounts.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use amos_tui::engine::evidence::{Source, SourceHeader};
use amos_tui::engine::id::{OperationId, SourceId};
use amos_tui::engine::ports::{LogLine, RunLog, SourceStore, StorageError};
use bytes::Bytes;

/// Keeps sources in memory.
#[derive(Default)]
pub(crate) struct MemoryStore(Mutex<HashMap<SourceId, Bytes>>);

impl SourceStore for MemoryStore {
    fn hold(&self, _: &OperationId, source: &Source) -> Result<(), StorageError> {
        let (id, content) = (source.header.id.clone(), source.content.clone());
        let before = self.0.lock().expect("unpoisoned").insert(id, content);
        assert_eq!(before, None, "a source is held once");
        Ok(())
    }

    fn read(&self, _: &OperationId, source: &SourceHeader) -> Result<Bytes, StorageError> {
        let held = self.0.lock().expect("unpoisoned");
        held.get(&source.id)
            .cloned()
            .ok_or_else(|| StorageError("it was never held".into()))
    }
}

/// Holds nothing.
pub(crate) struct ForgetfulStore;

impl SourceStore for ForgetfulStore {
    fn hold(&self, _: &OperationId, _: &Source) -> Result<(), StorageError> {
        Err(StorageError("the disk is full".into()))
    }

    fn read(&self, _: &OperationId, _: &SourceHeader) -> Result<Bytes, StorageError> {
        Err(StorageError("nothing is held".into()))
    }
}

/// Keeps accounts in memory.
#[derive(Default)]
pub(crate) struct MemoryLog(Mutex<Vec<LogLine>>);

impl MemoryLog {
    pub(crate) fn lines(&self) -> Vec<LogLine> {
        self.0.lock().expect("unpoisoned").clone()
    }
}

impl RunLog for MemoryLog {
    fn append(&self, _: &OperationId, lines: &[LogLine]) -> Result<(), StorageError> {
        self.0.lock().expect("unpoisoned").extend_from_slice(lines);
        Ok(())
    }
}

/// Takes so many appends, and then none.
pub(crate) struct FullLog {
    left: AtomicUsize,
    kept: MemoryLog,
}

impl FullLog {
    pub(crate) fn after(appends: usize) -> Self {
        Self {
            left: AtomicUsize::new(appends),
            kept: MemoryLog::default(),
        }
    }

    pub(crate) fn lines(&self) -> Vec<LogLine> {
        self.kept.lines()
    }
}

impl RunLog for FullLog {
    fn append(&self, operation: &OperationId, lines: &[LogLine]) -> Result<(), StorageError> {
        let less = |left: usize| left.checked_sub(1);
        match self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        {
            Ok(_) => self.kept.append(operation, lines),
            Err(_) => Err(StorageError("no space left".into())),
        }
    }
}
