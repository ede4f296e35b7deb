//! The operations' accounts on disk: a file of JSON lines for each (L10, V33).
//!
//! A call is one `write` to the system, all of it or nothing, so a killed process loses nothing that was appended; power
//! loss may cost the last moments. The account is read by people and tools. Nothing resumes from it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::engine::id::OperationId;
use crate::engine::ports::{LogLine, RunLog, StorageError};
use crate::host::storage;

/// Accounts in a folder, one file an operation.
#[derive(Debug)]
pub struct FileRunLog {
    folder: PathBuf,
    files: Mutex<HashMap<OperationId, File>>,
}

/// An account as far as it can be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// The lines, in order.
    pub lines: Vec<LogLine>,
    /// How many lines can't be read: a writer was killed in the middle of them.
    pub torn: usize,
}

impl FileRunLog {
    /// Takes a folder, making it where it is missing.
    pub fn open(folder: PathBuf) -> Result<Self, StorageError> {
        storage::make_folder(&folder)?;
        Ok(Self {
            folder,
            files: Mutex::default(),
        })
    }

    /// Lets go of an operation's file. Appending opens it again.
    pub fn close(&self, operation: &OperationId) {
        self.files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(operation);
    }

    /// Reads an operation's account, also of another process; `None` where there is none.
    pub fn read(&self, operation: &OperationId) -> Result<Option<Account>, StorageError> {
        let Some(content) = storage::read_if_any(&self.path(operation)?)? else {
            return Ok(None);
        };
        let mut account = Account {
            lines: Vec::new(),
            torn: 0,
        };
        for line in content.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(line) => account.lines.push(line),
                Err(_) if line.is_empty() => {}
                Err(_) => account.torn += 1,
            }
        }
        Ok(Some(account))
    }

    fn path(&self, operation: &OperationId) -> Result<PathBuf, StorageError> {
        let name = storage::file_name(operation)?;
        Ok(self.folder.join(format!("{name}.jsonl")))
    }
}

impl RunLog for FileRunLog {
    fn append(&self, operation: &OperationId, lines: &[LogLine]) -> Result<(), StorageError> {
        let path = self.path(operation)?;
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line)
                .map_err(|error| StorageError(format!("a line of the account: {error}")))?;
            text.push(b'\n');
        }
        // Held while writing, so that lines of one operation keep their order.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match files.get_mut(operation) {
            Some(file) => file,
            None => files
                .entry(operation.clone())
                .or_insert(storage::open_lines(&path)?),
        };
        let before = file.metadata().map(|metadata| metadata.len());
        let written = file.write_all(&text);
        if written.is_err() {
            // All of a call or nothing: what it tells of isn't done, or ends in another way.
            if let Ok(before) = before {
                let _ = file.set_len(before);
            }
            // Opened anew, so that what is written in part all the same is closed before anything follows.
            files.remove(operation);
        }
        written.map_err(|error| storage::failure("write", &path, &error))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::ports::LogKind;

    fn line(name: &str) -> LogLine {
        LogLine {
            at: "2026-11-30T12:00:00.000Z".to_owned(),
            kind: LogKind::Intent,
            name: name.to_owned(),
            request: Some(1),
            detail: json!({"text": "two\nlines"}),
        }
    }

    fn log() -> (tempfile::TempDir, FileRunLog, OperationId) {
        let folder = tempfile::tempdir().expect("a folder");
        let log = FileRunLog::open(folder.path().join("runs")).expect("a log");
        (folder, log, OperationId::from("op-1"))
    }

    // L10
    #[test]
    fn lines_are_read_back_in_order_by_another_process() {
        let (folder, log, operation) = log();
        log.append(&operation, &[line("a"), line("b")])
            .expect("appended");
        log.append(&operation, &[line("c")]).expect("appended");
        let other = FileRunLog::open(folder.path().join("runs")).expect("a log");
        let account = other.read(&operation).expect("read").expect("an account");
        assert_eq!(account.lines, [line("a"), line("b"), line("c")]);
        assert_eq!(account.torn, 0);
    }

    #[test]
    fn an_operation_without_an_account_has_none() {
        let (_folder, log, operation) = log();
        assert_eq!(log.read(&operation), Ok(None));
        let elsewhere = OperationId::from("../elsewhere");
        assert!(log.append(&elsewhere, &[line("a")]).is_err());
        assert!(log.read(&elsewhere).is_err());
    }

    // L10
    #[test]
    fn a_torn_line_hides_nothing_before_or_after_it() {
        let (folder, log, operation) = log();
        log.append(&operation, &[line("a")]).expect("appended");
        log.close(&operation);
        let path = folder.path().join("runs/op-1.jsonl");
        let mut content = std::fs::read(&path).expect("content");
        content.extend_from_slice(br#"{"at":"20"#);
        std::fs::write(&path, content).expect("torn");
        let account = log.read(&operation).expect("read").expect("an account");
        assert_eq!((account.lines.len(), account.torn), (1, 1));
        log.append(&operation, &[line("b")]).expect("appended");
        let account = log.read(&operation).expect("read").expect("an account");
        assert_eq!(account.lines, [line("a"), line("b")]);
    }
}
