//! Opening below a folder's handle, one component at a time, following no symbolic link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::host::workspace::{WorkspaceError, failed};

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Flags that keep an open from blocking, following a link or taking a terminal.
pub(super) const GUARDED: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens the root by its real path.
pub(super) fn root(path: &Path) -> io::Result<File> {
    Ok(rustix::fs::open(path, FOLDER, Mode::empty())?.into())
}

/// Walks down existing folders.
pub(super) fn folder(root: &File, names: &[OsString]) -> io::Result<File> {
    let mut folder = root.try_clone()?;
    for name in names {
        folder = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?.into();
    }
    Ok(folder)
}

/// Walks down folders and makes those after the first `existing` that are missing.
pub(super) fn made_folder(root: &File, names: &[OsString], existing: usize) -> io::Result<File> {
    let mut folder = self::folder(root, &names[..existing.min(names.len())])?;
    for name in names.iter().skip(existing) {
        match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?.into();
    }
    Ok(folder)
}

/// Opens a regular file for reading.
pub(super) fn file(parent: &File, name: &OsStr, path: &str) -> Result<File, WorkspaceError> {
    // Looked at before it is opened, since opening a device may already do something.
    let found = existing(parent, name, path)?;
    if found.is_none() {
        return Err(WorkspaceError::Absent(path.to_owned()));
    }
    let opened = rustix::fs::openat(parent, name, OFlags::RDONLY | GUARDED, Mode::empty())
        .map_err(|error| failed(path, error.into()))?;
    regular(opened.into(), path)
}

/// Makes sure that what was opened is a regular file.
pub(super) fn regular(file: File, path: &str) -> Result<File, WorkspaceError> {
    let stat = rustix::fs::fstat(&file).map_err(|error| failed(path, error.into()))?;
    only_a_file(FileType::from_raw_mode(stat.st_mode), path)?;
    Ok(file)
}

/// The permission bits of the regular file of this name, if there is one.
pub(super) fn existing(
    parent: &File,
    name: &OsStr,
    path: &str,
) -> Result<Option<Mode>, WorkspaceError> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => {
            only_a_file(FileType::from_raw_mode(stat.st_mode), path)?;
            Ok(Some(Mode::from_raw_mode(stat.st_mode & 0o7777)))
        }
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(failed(path, error.into())),
    }
}

fn only_a_file(kind: FileType, path: &str) -> Result<(), WorkspaceError> {
    let kind = match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => return Err(WorkspaceError::BadLink(path.to_owned())),
        FileType::Directory => "a folder",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    };
    Err(WorkspaceError::NotAFile {
        path: path.to_owned(),
        kind,
    })
}
