//! Writing a file of the workspace: replace it whole, create it, or add to it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use rustix::fs::{AtFlags, Mode, OFlags};
use sha2::{Digest as _, Sha256};

use crate::engine::digest::Digest;
use crate::host::workspace::{WorkspaceError, failed, open};

/// A file to be written, bound to its folder's handle rather than to a path.
#[derive(Debug)]
pub struct Target {
    parent: File,
    name: OsString,
    path: String,
    /// The permission bits of what is there already.
    existing: Option<Mode>,
}

/// What a file is after it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The whole file's size.
    pub bytes: u64,
    /// The whole file's digest.
    pub sha256: Digest,
}

impl Target {
    pub(super) fn of(parent: File, name: OsString, path: &str) -> Result<Self, WorkspaceError> {
        let existing = open::existing(&parent, &name, path)?;
        Ok(Self {
            parent,
            name,
            path: path.to_owned(),
            existing,
        })
    }

    /// Makes the file hold exactly this. Whoever reads it sees the old content or the new, never a
    /// mixture; the permission bits of an old file stay.
    pub fn replace(self, content: &[u8]) -> Result<Written, WorkspaceError> {
        let temporary = format!(".amos-{}.part", uuid::Uuid::now_v7().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | open::GUARDED;
        let opened =
            rustix::fs::openat(&self.parent, &temporary, flags, Mode::from_raw_mode(0o666))
                .map_err(|error| self.failed(error.into()))?;
        let mut file = File::from(opened);
        let written = (|| {
            if let Some(mode) = self.existing {
                rustix::fs::fchmod(&file, mode)?;
            }
            file.write_all(content)?;
            file.sync_all()?;
            rustix::fs::renameat(&self.parent, &temporary, &self.parent, &self.name)?;
            Ok(())
        })();
        if let Err(error) = written {
            // The first error is the one to tell; a leftover that can't be removed changes nothing.
            let _ = rustix::fs::unlinkat(&self.parent, &temporary, AtFlags::empty());
            return Err(self.failed(error));
        }
        Ok(Written::of(content))
    }

    /// Makes the file, refusing where there is one.
    pub fn create(self, content: &[u8]) -> Result<Written, WorkspaceError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | open::GUARDED;
        let opened =
            rustix::fs::openat(&self.parent, &self.name, flags, Mode::from_raw_mode(0o666))
                .map_err(|error| self.failed(error.into()))?;
        if let Err(error) = File::from(opened).write_all(content) {
            let _ = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty());
            return Err(self.failed(error));
        }
        Ok(Written::of(content))
    }

    /// Adds to the file's end, making it where there is none.
    pub fn append(self, content: &[u8]) -> Result<Written, WorkspaceError> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | open::GUARDED;
        let opened =
            rustix::fs::openat(&self.parent, &self.name, flags, Mode::from_raw_mode(0o666))
                .map_err(|error| self.failed(error.into()))?;
        let mut file = open::regular(opened.into(), &self.path)?;
        let before = file.metadata().map_err(|error| self.failed(error))?.len();
        if let Err(error) = file.write_all(content) {
            // Half an addition is worse than none.
            let _ = file.set_len(before);
            return Err(self.failed(error));
        }
        Written::read(&mut file).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> WorkspaceError {
        failed(&self.path, error)
    }
}

impl Written {
    fn of(content: &[u8]) -> Self {
        Self {
            bytes: content.len() as u64,
            sha256: Digest::of(content),
        }
    }

    fn read(file: &mut File) -> io::Result<Self> {
        file.seek(SeekFrom::Start(0))?;
        let mut hash = Sha256::new();
        let mut chunk = vec![0; 64 * 1024];
        let mut bytes = 0;
        loop {
            let read = file.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            hash.update(&chunk[..read]);
            bytes += read as u64;
        }
        Ok(Self {
            bytes,
            sha256: Digest::from_sha256(hash),
        })
    }
}
