//! What everything on disk has in common: private folders and files, safe names, errors with a next
//! step, and appending whole lines.
//!
//! Folders are made with mode 0700 and files with 0600; what exists already keeps its mode.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::engine::id::OperationId;
use crate::engine::ports::StorageError;

/// Says what could not be done with which file, and why.
pub(crate) fn failure(action: &str, path: &Path, error: &io::Error) -> StorageError {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::StorageFull => StorageError(format!(
            "can't {action} {path}: the disk is full; free some space and try again"
        )),
        io::ErrorKind::QuotaExceeded => StorageError(format!(
            "can't {action} {path}: the disk quota is used up; free some space and try again"
        )),
        _ => StorageError(format!("can't {action} {path}: {error}")),
    }
}

/// Makes a folder and those above it, for this user alone.
pub(crate) fn make_folder(path: &Path) -> Result<(), StorageError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| failure("make the folder", path, &error))
}

/// Options for a file of this user alone.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// An operation's id as a file name. Our ids always are one; an id from elsewhere may not be.
pub(crate) fn file_name(operation: &OperationId) -> Result<&str, StorageError> {
    let name = operation.as_str();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > 128 || name.starts_with('.') || !name.bytes().all(plain) {
        return Err(StorageError(format!(
            "{name:?} can't be the id of an operation here"
        )));
    }
    Ok(name)
}

/// Opens a file of lines to add to. A line that was torn when its writer was killed is closed, so
/// that it stands alone and the next one is whole.
pub(crate) fn open_lines(path: &Path) -> Result<File, StorageError> {
    let open = || -> io::Result<File> {
        let mut file = private().read(true).append(true).create(true).open(path)?;
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(file)
    };
    open().map_err(|error| failure("open", path, &error))
}

/// Reads a file that need not exist.
pub(crate) fn read_if_any(path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
    match std::fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failure("read", path, &error)),
    }
}

/// Makes what happened in a folder outlive a power cut.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StorageError> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| failure("sync the folder", path, &error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_named_as_such() {
        let error = private()
            .write(true)
            .open("/dev/full")
            .and_then(|mut full| full.write_all(b"x"))
            .expect_err("it is always full");
        let text = failure("write", Path::new("/data/x"), &error).to_string();
        assert!(
            text.starts_with("can't write /data/x: the disk is full"),
            "{text}"
        );
    }

    #[test]
    fn folders_and_files_are_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a/b");
        make_folder(&inner).expect("made");
        make_folder(&inner).expect("made already");
        open_lines(&inner.join("lines")).expect("opened");
        let mode = |path: &Path| path.metadata().expect("metadata").permissions().mode() & 0o777;
        assert_eq!(mode(&inner), 0o700);
        assert_eq!(mode(&inner.join("lines")), 0o600);
    }

    #[test]
    fn only_plain_ids_become_file_names() {
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            ".hidden",
            "a b",
            "ü",
            &"x".repeat(129),
        ] {
            assert!(file_name(&OperationId::from(bad)).is_err(), "{bad}");
        }
        assert!(file_name(&OperationId::from("0193-abc_d.1")).is_ok());
    }

    #[test]
    fn a_torn_line_is_closed_before_the_next_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lines");
        std::fs::write(&path, "one\ntor").expect("written");
        open_lines(&path)
            .and_then(|mut file| {
                file.write_all(b"two\n")
                    .map_err(|error| failure("write", &path, &error))
            })
            .expect("appended");
        assert_eq!(
            read_if_any(&path).expect("read"),
            Some(b"one\ntor\ntwo\n".to_vec())
        );
    }
}
