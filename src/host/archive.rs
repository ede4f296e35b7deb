//! The archive: what is kept for good, named by its content (V29, Q5).
//!
//! Content is streamed in small chunks to a temporary file, synced, moved to its name, and the
//! folder is synced; only then is there a receipt. A kill at any moment leaves data without a
//! receipt, never the other way round. Receipts are durable lines of their own.
//!
//! Which sources are archived, and whether redacted, is decided elsewhere.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::engine::digest::Digest;
use crate::engine::evidence::Receipt;
use crate::engine::id::{OperationId, SourceId};
use crate::engine::ports::StorageError;
use crate::host::storage;

/// Content is copied in pieces of this size, in bytes.
const CHUNK: usize = 64 * 1024;
const SCHEME: &str = "sha256:";
const INCOMING: &str = ".incoming-";
/// A temporary file that nobody wrote to for so long belongs to nobody.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// An archive in a folder.
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    contents: PathBuf,
    /// Lets one receipt be written at a time.
    recording: Mutex<()>,
}

/// A receipt and what it was given for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptLine {
    /// The operation.
    pub operation: OperationId,
    /// The source.
    pub source: SourceId,
    /// Where its content is kept.
    pub receipt: Receipt,
}

/// The recorded receipts as far as they can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Receipts {
    /// The lines, in order.
    pub lines: Vec<ReceiptLine>,
    /// How many lines can't be read: a writer was killed in the middle of them.
    pub torn: usize,
}

impl Archive {
    /// Takes a folder, making it where it is missing.
    pub fn open(folder: PathBuf) -> Result<Self, StorageError> {
        let contents = folder.join("sha256");
        storage::make_folder(&contents)?;
        storage::sync_folder(&folder)?;
        remove_abandoned(&contents);
        Ok(Self {
            folder,
            contents,
            recording: Mutex::default(),
        })
    }

    /// Keeps everything that a reader gives. When this returns, the content outlives a power cut.
    pub fn keep(&self, reader: &mut dyn Read) -> Result<Receipt, StorageError> {
        let incoming = Incoming::open(&self.contents)?;
        let (sha256, bytes) = incoming.fill(reader)?;
        let (folder, path) = self.place(&sha256);
        if !folder.exists() {
            storage::make_folder(&folder)?;
            storage::sync_folder(&self.contents)?;
        }
        incoming.move_to(&path)?;
        storage::sync_folder(&folder)?;
        Ok(Receipt {
            uri: format!("{SCHEME}{sha256}"),
            sha256,
            bytes,
        })
    }

    /// Copies what a receipt stands for. The digest is known only at the end: on an error, what was
    /// written so far must not be used.
    pub fn copy(&self, receipt: &Receipt, writer: &mut dyn Write) -> Result<(), StorageError> {
        if receipt.uri != format!("{SCHEME}{}", receipt.sha256) {
            return Err(StorageError(format!(
                "{} is not in this archive",
                receipt.uri
            )));
        }
        let (_, path) = self.place(&receipt.sha256);
        let failed = |error: io::Error| storage::failure("read", &path, &error);
        let mut file = File::open(&path).map_err(failed)?;
        let (sha256, bytes) = copy_hashing(&mut file, writer).map_err(failed)?;
        if sha256 != receipt.sha256 || bytes != receipt.bytes {
            return Err(StorageError(format!(
                "{} is damaged: it holds {bytes} bytes with the digest {sha256}",
                path.display()
            )));
        }
        Ok(())
    }

    /// Reads what a receipt stands for.
    pub fn read(&self, receipt: &Receipt) -> Result<Vec<u8>, StorageError> {
        let mut content = Vec::new();
        self.copy(receipt, &mut content)?;
        Ok(content)
    }

    /// Records a receipt. When this returns, it outlives a power cut.
    pub fn record(&self, line: &ReceiptLine) -> Result<(), StorageError> {
        let mut text = serde_json::to_vec(line)
            .map_err(|error| StorageError(format!("a receipt: {error}")))?;
        text.push(b'\n');
        let path = self.receipts_path();
        let _recording = self
            .recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_new = !path.exists();
        let mut file = storage::open_lines(&path)?;
        file.write_all(&text)
            .and_then(|()| file.sync_data())
            .map_err(|error| storage::failure("write", &path, &error))?;
        if is_new {
            storage::sync_folder(&self.folder)?;
        }
        Ok(())
    }

    /// Every recorded receipt, of earlier operations too.
    pub fn receipts(&self) -> Result<Receipts, StorageError> {
        let mut receipts = Receipts::default();
        let content = storage::read_if_any(&self.receipts_path())?.unwrap_or_default();
        for line in content.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(line) => receipts.lines.push(line),
                Err(_) if line.is_empty() => {}
                Err(_) => receipts.torn += 1,
            }
        }
        Ok(receipts)
    }

    fn receipts_path(&self) -> PathBuf {
        self.folder.join("receipts.jsonl")
    }

    /// Where content of this digest stands, and its folder.
    fn place(&self, digest: &Digest) -> (PathBuf, PathBuf) {
        let digits = digest.to_string();
        let (first, rest) = digits.split_at(2);
        let folder = self.contents.join(first);
        let path = folder.join(rest);
        (folder, path)
    }
}

/// A file on its way into the archive. Unless it is moved to its place, it goes away again.
#[derive(Debug)]
struct Incoming {
    path: PathBuf,
    file: File,
}

impl Incoming {
    fn open(folder: &Path) -> Result<Self, StorageError> {
        let path = folder.join(format!("{INCOMING}{}", uuid::Uuid::now_v7().simple()));
        let opened = storage::private().write(true).create_new(true).open(&path);
        let file = opened.map_err(|error| storage::failure("make", &path, &error))?;
        Ok(Self { path, file })
    }

    fn fill(&self, reader: &mut dyn Read) -> Result<(Digest, u64), StorageError> {
        let filled = copy_hashing(reader, &mut &self.file)
            .and_then(|filled| self.file.sync_all().map(|()| filled));
        filled.map_err(|error| storage::failure("write", &self.path, &error))
    }

    /// The same content may be there already: then it is replaced by itself.
    fn move_to(self, path: &Path) -> Result<(), StorageError> {
        std::fs::rename(&self.path, path).map_err(|error| storage::failure("write", path, &error))
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // After it was moved there is nothing of this name.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Clears away what killed processes left half written. What can't be cleared does no harm.
fn remove_abandoned(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_incoming = entry.file_name().to_string_lossy().starts_with(INCOMING);
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED));
        if is_incoming && is_old {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Copies in chunks, digesting on the way.
fn copy_hashing(reader: &mut dyn Read, writer: &mut dyn Write) -> io::Result<(Digest, u64)> {
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut bytes = 0;
    loop {
        let read = match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&chunk[..read]);
        writer.write_all(&chunk[..read])?;
        bytes += read as u64;
    }
    Ok((Digest::from_sha256(hash), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> (tempfile::TempDir, Archive) {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = Archive::open(folder.path().join("archive")).expect("an archive");
        (folder, archive)
    }

    fn line(n: u64, receipt: &Receipt) -> ReceiptLine {
        let operation = OperationId::from("op-1");
        ReceiptLine {
            source: operation.source(n),
            operation,
            receipt: receipt.clone(),
        }
    }

    /// Gives its content in pieces, noting the largest that was asked for, then fails if told to.
    struct Pieces {
        left: usize,
        largest: usize,
        fails: Option<io::ErrorKind>,
    }

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.largest = self.largest.max(buffer.len());
            if self.left == 0 {
                return self.fails.map_or(Ok(0), |kind| Err(kind.into()));
            }
            let given = self.left.min(buffer.len()).min(1000);
            buffer[..given].fill(b'x');
            self.left -= given;
            Ok(given)
        }
    }

    // V29
    #[test]
    fn content_comes_back_by_its_receipt_and_is_kept_once() {
        let (folder, archive) = archive();
        let receipt = archive.keep(&mut &b"abc"[..]).expect("kept");
        assert_eq!(receipt, archive.keep(&mut &b"abc"[..]).expect("kept again"));
        assert_eq!(receipt.uri, format!("sha256:{}", Digest::of(b"abc")));
        assert_eq!((&receipt.sha256, receipt.bytes), (&Digest::of(b"abc"), 3));
        let path = folder.path().join(
            "archive/sha256/ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        );
        assert_eq!(std::fs::read(path).expect("content"), b"abc");
        let fresh = Archive::open(folder.path().join("archive")).expect("an archive");
        assert_eq!(fresh.read(&receipt), Ok(b"abc".to_vec()));
    }

    // Q5
    #[test]
    fn content_is_streamed_in_small_chunks() {
        let (_folder, archive) = archive();
        let mut pieces = Pieces {
            left: 3_000_000,
            largest: 0,
            fails: None,
        };
        assert_eq!(archive.keep(&mut pieces).expect("kept").bytes, 3_000_000);
        assert!(pieces.largest <= 64 * 1024);
    }

    // Q5
    #[test]
    fn content_that_breaks_off_leaves_nothing_and_says_why() {
        let (folder, archive) = archive();
        let mut pieces = Pieces {
            left: 100_000,
            largest: 0,
            fails: Some(io::ErrorKind::StorageFull),
        };
        let error = archive.keep(&mut pieces).expect_err("it breaks off");
        assert!(error.to_string().contains("the disk is full"), "{error}");
        let left = std::fs::read_dir(folder.path().join("archive/sha256")).expect("entries");
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn what_a_killed_process_left_is_cleared_away_once_it_is_old() {
        let (folder, archive) = archive();
        let (old, young) = (".incoming-old", ".incoming-young");
        for name in [old, young] {
            let file = File::create(archive.contents.join(name)).expect("a file");
            let age = if name == old {
                ABANDONED * 2
            } else {
                Duration::ZERO
            };
            file.set_modified(std::time::SystemTime::now() - age)
                .expect("a time");
        }
        let archive = Archive::open(folder.path().join("archive")).expect("an archive");
        assert!(!archive.contents.join(old).exists());
        assert!(archive.contents.join(young).exists());
    }

    #[test]
    fn damaged_or_foreign_content_is_never_given_as_right() {
        let (_folder, archive) = archive();
        let receipt = archive.keep(&mut &b"abc"[..]).expect("kept");
        let (_, path) = archive.place(&receipt.sha256);
        std::fs::write(&path, "abd").expect("damaged");
        assert!(
            archive
                .read(&receipt)
                .expect_err("damaged")
                .to_string()
                .contains("damaged")
        );
        std::fs::remove_file(&path).expect("removed");
        assert!(archive.read(&receipt).is_err());
        let foreign = Receipt {
            uri: "s3://bucket/key".to_owned(),
            ..receipt
        };
        assert!(archive.read(&foreign).is_err());
    }

    // T6
    #[test]
    fn receipts_outlive_the_process_and_a_torn_last_line() {
        let (folder, archive) = archive();
        assert_eq!(archive.receipts(), Ok(Receipts::default()));
        let receipt = archive.keep(&mut &b"abc"[..]).expect("kept");
        archive.record(&line(1, &receipt)).expect("recorded");
        let path = folder.path().join("archive/receipts.jsonl");
        let mut content = std::fs::read(&path).expect("content");
        content.extend_from_slice(br#"{"operation":"op"#);
        std::fs::write(&path, content).expect("torn");
        let fresh = Archive::open(folder.path().join("archive")).expect("an archive");
        let receipts = fresh.receipts().expect("receipts");
        assert_eq!(
            (receipts.lines, receipts.torn),
            (vec![line(1, &receipt)], 1)
        );
        fresh.record(&line(2, &receipt)).expect("recorded");
        let receipts = fresh.receipts().expect("receipts");
        assert_eq!(receipts.lines, [line(1, &receipt), line(2, &receipt)]);
    }

    const KILLED: &str = "AMOS_TEST_ARCHIVE";

    /// The process that the next test kills. By itself it does nothing.
    #[test]
    fn archiving_until_killed() {
        let Some(folder) = std::env::var_os(KILLED) else {
            return;
        };
        let archive = Archive::open(folder.into()).expect("an archive");
        for n in 0_u64.. {
            let content = n.to_string().repeat(50_000);
            let receipt = archive.keep(&mut content.as_bytes()).expect("kept");
            archive.record(&line(n, &receipt)).expect("recorded");
        }
    }

    // Q5
    #[test]
    fn a_process_killed_at_any_moment_leaves_no_receipt_without_its_data() {
        let (folder, archive) = archive();
        let mut seen = 0;
        for _ in 0..4 {
            let mut process = std::process::Command::new(std::env::current_exe().expect("a path"))
                .args(["--exact", "host::archive::tests::archiving_until_killed"])
                .env(KILLED, folder.path().join("archive"))
                .stdout(std::process::Stdio::null())
                .spawn()
                .expect("started");
            while archive.receipts().expect("receipts").lines.len() <= seen {
                assert_eq!(
                    process.try_wait().expect("a state"),
                    None,
                    "it works until killed"
                );
                std::thread::yield_now();
            }
            process.kill().expect("killed");
            process.wait().expect("ended");
            let receipts = archive.receipts().expect("receipts");
            for line in &receipts.lines {
                archive.read(&line.receipt).expect("its data");
            }
            seen = receipts.lines.len();
        }
        assert!(seen >= 4);
    }
}
