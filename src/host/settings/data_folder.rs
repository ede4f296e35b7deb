//! The folder where everything is kept: private to this user, made where it is missing.

use std::path::{Path, PathBuf};

use crate::engine::ports::StorageError;
use crate::host::storage;

/// A data folder that can be written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFolder {
    path: PathBuf,
}

/// The data folder can't be used; that is bad usage (C2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the data folder can't be used: {0}")]
pub struct DataFolderError(StorageError);

impl DataFolder {
    /// Makes the folder where it is missing, and sure that it can be written to.
    pub fn open(path: &Path) -> Result<Self, DataFolderError> {
        storage::make_folder(path).map_err(DataFolderError)?;
        let probe = path.join(format!(".probe-{}", uuid::Uuid::now_v7().simple()));
        let opened = storage::private().write(true).create_new(true).open(&probe);
        opened
            .and_then(|_| std::fs::remove_file(&probe))
            .map_err(|error| DataFolderError(storage::failure("write to", path, &error)))?;
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where sources are held while an operation needs them.
    pub fn sources(&self) -> PathBuf {
        self.path.join("sources")
    }

    /// Where sources are kept for good.
    pub fn archive(&self) -> PathBuf {
        self.path.join("archive")
    }

    /// Where the accounts of operations are.
    pub fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_missing_folder_is_made_for_this_user_alone() {
        let outer = tempfile::tempdir().expect("a folder");
        let path = outer.path().join("a/data");
        let folder = DataFolder::open(&path).expect("opened");
        assert_eq!(folder, DataFolder::open(&path).expect("opened again"));
        let mode = path.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(&path).expect("entries").count(), 0);
    }

    // C2; the last folder can't be written to even by a user who may write anywhere.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_cannot_be_used_says_which() {
        let outer = tempfile::tempdir().expect("a folder");
        std::fs::write(outer.path().join("file"), "").expect("a file");
        for path in [
            outer.path().join("file"),
            outer.path().join("file/below"),
            "/proc/x".into(),
        ] {
            let error = DataFolder::open(&path).expect_err("unusable").to_string();
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
        let error = DataFolder::open(Path::new("/proc"))
            .expect_err("unusable")
            .to_string();
        assert!(error.contains("write to"), "{error}");
    }
}
