//! Raw sources on disk while an operation needs them (V29): one pack file an operation.
//!
//! A pack is a row of entries: a line of JSON with the source's header, and after it the content,
//! unless the pack holds the same content already. Entries are only ever added, each in one or two
//! plain writes: a killed process leaves a readable prefix, and a fresh process finds everything
//! again. Digests are checked whenever content is read.
//!
//! Nothing here is durable against power loss; what must be goes to the archive.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::engine::digest::Digest;
use crate::engine::evidence::{Source, SourceHeader};
use crate::engine::id::OperationId;
use crate::engine::ports::{SourceStore, StorageError};
use crate::host::storage;

/// Up to this size a source is written together with its header, in bytes.
const TOGETHER: usize = 256 * 1024;

/// Packs in a folder.
#[derive(Debug)]
pub struct PackStore {
    folder: PathBuf,
    packs: Mutex<HashMap<OperationId, Arc<Mutex<Pack>>>>,
}

/// One operation's file and what is known of it.
#[derive(Debug)]
struct Pack {
    path: PathBuf,
    file: File,
    /// Where the next entry begins.
    end: u64,
    contents: HashMap<Digest, Span>,
    headers: Vec<SourceHeader>,
}

/// Where a content stands.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u64,
    bytes: u64,
}

/// The first line of an entry.
#[derive(Debug, Serialize, Deserialize)]
struct Entry<H> {
    content: Content,
    header: H,
}

/// Where an entry's content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    /// After the line.
    Follows,
    /// In an earlier entry with the same digest.
    Earlier,
}

impl PackStore {
    /// Takes a folder, making it where it is missing.
    pub fn open(folder: PathBuf) -> Result<Self, StorageError> {
        storage::make_folder(&folder)?;
        Ok(Self {
            folder,
            packs: Mutex::default(),
        })
    }

    /// The headers of every source that is held for an operation, also by an earlier process.
    pub fn headers(&self, operation: &OperationId) -> Result<Vec<SourceHeader>, StorageError> {
        Ok(match self.existing(operation)? {
            Some(pack) => locked(&pack).headers.clone(),
            None => Vec::new(),
        })
    }

    /// Lets go of an operation's file. It is opened again when it is needed.
    pub fn close(&self, operation: &OperationId) {
        locked(&self.packs).remove(operation);
    }

    /// Gives up an operation's sources: each was acknowledged or released (V28).
    pub fn remove(&self, operation: &OperationId) -> Result<(), StorageError> {
        let path = self.path(operation)?;
        self.close(operation);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(storage::failure("remove", &path, &error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn path(&self, operation: &OperationId) -> Result<PathBuf, StorageError> {
        let name = storage::file_name(operation)?;
        Ok(self.folder.join(format!("{name}.pack")))
    }

    /// The operation's pack, made where it is missing.
    fn pack(&self, operation: &OperationId) -> Result<Arc<Mutex<Pack>>, StorageError> {
        let mut packs = locked(&self.packs);
        if let Some(pack) = packs.get(operation) {
            return Ok(Arc::clone(pack));
        }
        let pack = Arc::new(Mutex::new(Pack::open(self.path(operation)?)?));
        packs.insert(operation.clone(), Arc::clone(&pack));
        Ok(pack)
    }

    /// The operation's pack, if there is one.
    fn existing(&self, operation: &OperationId) -> Result<Option<Arc<Mutex<Pack>>>, StorageError> {
        let held = locked(&self.packs).contains_key(operation);
        if !held && !self.path(operation)?.exists() {
            return Ok(None);
        }
        self.pack(operation).map(Some)
    }
}

impl SourceStore for PackStore {
    fn hold(&self, operation: &OperationId, source: &Source) -> Result<(), StorageError> {
        locked(&*self.pack(operation)?).hold(source)
    }

    fn read(&self, operation: &OperationId, source: &SourceHeader) -> Result<Bytes, StorageError> {
        let absent = || StorageError(format!("source {} is not held here", source.id));
        let pack = self.existing(operation)?.ok_or_else(absent)?;
        locked(&pack).read(&source.sha256)?.ok_or_else(absent)
    }
}

impl Pack {
    /// Opens a pack and finds its entries. What a killed writer left half done is cut off.
    fn open(path: PathBuf) -> Result<Self, StorageError> {
        let opened = storage::private()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = opened.map_err(|error| storage::failure("open", &path, &error))?;
        let mut pack = Self {
            path,
            file,
            end: 0,
            contents: HashMap::new(),
            headers: Vec::new(),
        };
        pack.scan()
            .map_err(|error| storage::failure("read", &pack.path, &error))?;
        Ok(pack)
    }

    fn scan(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut reader = BufReader::new(self.file.try_clone()?);
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            let Ok(entry) = serde_json::from_slice::<Entry<SourceHeader>>(&line) else {
                break;
            };
            let start = self.end + line.len() as u64;
            let end = match entry.content {
                Content::Earlier if line.ends_with(b"\n") => start,
                Content::Earlier => break,
                // The content and the line end after it.
                Content::Follows => start.saturating_add(entry.header.bytes).saturating_add(1),
            };
            if end > length {
                break;
            }
            if entry.content == Content::Follows {
                let bytes = entry.header.bytes;
                self.contents
                    .insert(entry.header.sha256.clone(), Span { start, bytes });
                let skip = i64::try_from(end - start).map_err(io::Error::other)?;
                reader.seek_relative(skip)?;
            }
            self.headers.push(entry.header);
            self.end = end;
        }
        if self.end < length {
            self.file.set_len(self.end)?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        Ok(())
    }

    fn hold(&mut self, source: &Source) -> Result<(), StorageError> {
        if source.header.bytes != source.content.len() as u64 {
            // Nothing after it could be found again.
            let SourceHeader { id, bytes, .. } = &source.header;
            return Err(StorageError(format!(
                "source {id} doesn't have {bytes} bytes"
            )));
        }
        let content = if self.contents.contains_key(&source.header.sha256) {
            Content::Earlier
        } else {
            Content::Follows
        };
        let entry = Entry {
            content,
            header: &source.header,
        };
        let mut line = serde_json::to_vec(&entry)
            .map_err(|error| StorageError(format!("the header of a source: {error}")))?;
        line.push(b'\n');
        let start = self.end + line.len() as u64;
        let bytes = source.content.len() as u64;
        let written = match content {
            Content::Earlier => self.file.write_all(&line),
            Content::Follows => write_with(&mut self.file, line, &source.content),
        };
        if let Err(error) = written {
            // Cut off what was written in part, so that the pack can go on once there is space.
            let _ = self.file.set_len(self.end);
            let _ = self.file.seek(SeekFrom::Start(self.end));
            return Err(storage::failure("write", &self.path, &error));
        }
        match content {
            Content::Earlier => self.end = start,
            Content::Follows => {
                self.contents
                    .insert(source.header.sha256.clone(), Span { start, bytes });
                self.end = start + bytes + 1;
            }
        }
        self.headers.push(source.header.clone());
        Ok(())
    }

    fn read(&self, digest: &Digest) -> Result<Option<Bytes>, StorageError> {
        let Some(span) = self.contents.get(digest) else {
            return Ok(None);
        };
        let size = usize::try_from(span.bytes)
            .map_err(|_| StorageError(format!("{} bytes don't fit in memory", span.bytes)))?;
        let mut content = vec![0; size];
        self.file
            .read_exact_at(&mut content, span.start)
            .map_err(|error| storage::failure("read", &self.path, &error))?;
        if Digest::of(&content) != *digest {
            return Err(damaged(&self.path, digest));
        }
        Ok(Some(content.into()))
    }
}

/// Writes an entry; a large content isn't copied.
fn write_with(file: &mut File, mut line: Vec<u8>, content: &[u8]) -> io::Result<()> {
    if content.len() <= TOGETHER {
        line.extend_from_slice(content);
        line.push(b'\n');
        return file.write_all(&line);
    }
    file.write_all(&line)?;
    file.write_all(content)?;
    file.write_all(b"\n")
}

fn damaged(path: &Path, digest: &Digest) -> StorageError {
    StorageError(format!(
        "{} is damaged: what should be {digest} is something else",
        path.display()
    ))
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::engine::evidence::SourceKind;

    fn operation() -> OperationId {
        OperationId::from("op-1")
    }

    fn source(n: u64, content: impl Into<Bytes>) -> Source {
        let content = content.into();
        Source {
            header: SourceHeader {
                id: operation().source(n),
                kind: SourceKind::ToolResult,
                place: None,
                run: None,
                label: "read_file".to_owned(),
                sha256: Digest::of(&content),
                bytes: content.len() as u64,
            },
            content,
        }
    }

    fn store() -> (tempfile::TempDir, PackStore) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = PackStore::open(folder.path().join("sources")).expect("a store");
        (folder, store)
    }

    fn again(folder: &tempfile::TempDir) -> PackStore {
        PackStore::open(folder.path().join("sources")).expect("a store")
    }

    // V29
    #[test]
    fn sources_come_back_byte_for_byte_also_to_a_fresh_process() {
        let (folder, store) = store();
        let large = vec![b'\n'; TOGETHER + 1];
        let sources = [
            source(1, &b"one"[..]),
            source(2, Bytes::new()),
            source(3, large),
            source(4, &b"\xff{}\n{\"content\":\"follows\"}\n"[..]),
        ];
        for source in &sources {
            store.hold(&operation(), source).expect("held");
        }
        for store in [&store, &again(&folder)] {
            for source in &sources {
                let content = store.read(&operation(), &source.header).expect("read");
                assert_eq!(content, source.content);
            }
            let headers = store.headers(&operation()).expect("headers");
            assert!(
                headers
                    .iter()
                    .eq(sources.iter().map(|source| &source.header))
            );
        }
    }

    #[test]
    fn the_same_content_is_kept_once_under_both_names() {
        let (folder, store) = store();
        let content = Bytes::from(vec![b'x'; 10_000]);
        for n in 1..=3 {
            store
                .hold(&operation(), &source(n, content.clone()))
                .expect("held");
        }
        let size = folder
            .path()
            .join("sources/op-1.pack")
            .metadata()
            .expect("metadata")
            .len();
        assert!(size < 12_000, "{size}");
        let fresh = again(&folder);
        assert_eq!(fresh.headers(&operation()).expect("headers").len(), 3);
        let third = source(3, content.clone());
        assert_eq!(fresh.read(&operation(), &third.header), Ok(content));
    }

    // L10: whatever byte the writer was killed at, everything before is there and writing goes on.
    #[test]
    fn a_pack_cut_at_any_byte_keeps_its_whole_entries() {
        let (folder, store) = store();
        let path = folder.path().join("sources/op-1.pack");
        let mut ends = Vec::new();
        for n in 1..=3 {
            store
                .hold(&operation(), &source(n, format!("content {}", n.min(2))))
                .expect("held");
            ends.push(path.metadata().expect("metadata").len());
        }
        let whole = std::fs::read(&path).expect("content");
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("cut");
            let store = again(&folder);
            let kept = ends.iter().filter(|end| **end <= cut as u64).count();
            assert_eq!(
                store.headers(&operation()).expect("headers").len(),
                kept,
                "{cut}"
            );
            store.hold(&operation(), &source(9, "new")).expect("held");
            let fresh = again(&folder);
            assert_eq!(
                fresh.headers(&operation()).expect("headers").len(),
                kept + 1,
                "{cut}"
            );
            let new = source(9, "new");
            assert_eq!(fresh.read(&operation(), &new.header), Ok(new.content));
        }
    }

    #[test]
    fn damage_is_noticed() {
        let (folder, store) = store();
        let held = source(1, "precious");
        store.hold(&operation(), &held).expect("held");
        let path = folder.path().join("sources/op-1.pack");
        let mut content = std::fs::read(&path).expect("content");
        let last = content.len() - 2;
        content[last] ^= 1;
        std::fs::write(&path, content).expect("written");
        assert!(again(&folder).read(&operation(), &held.header).is_err());
    }

    #[test]
    fn what_is_not_held_is_not_there_and_makes_no_file() {
        let (folder, store) = store();
        let never = source(1, "never");
        assert!(store.read(&operation(), &never.header).is_err());
        assert_eq!(store.headers(&operation()), Ok(Vec::new()));
        assert!(store.hold(&OperationId::from("../op"), &never).is_err());
        assert_eq!(
            std::fs::read_dir(folder.path().join("sources"))
                .expect("entries")
                .count(),
            0
        );
        store.hold(&operation(), &never).expect("held");
        store.remove(&operation()).expect("removed");
        store.remove(&operation()).expect("removed already");
        assert!(store.read(&operation(), &never.header).is_err());
    }

    // Q1: three sources a step, a thousand steps. The bound is wide: this build isn't optimised.
    #[test]
    fn three_thousand_small_sources_are_held_fast() {
        let (_folder, store) = store();
        let sources: Vec<Source> = (0..3000)
            .map(|n| source(n, format!("source {n}")))
            .collect();
        let started = Instant::now();
        for source in &sources {
            store.hold(&operation(), source).expect("held");
        }
        let took = started.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}
