//! The folder that tools and checks may touch: paths are resolved here, inside it only (M7).
//!
//! A path is taken in two moves. First every component is resolved, symbolic links included, and the
//! real path must lie inside the root. Then the file is opened component by component from the
//! root's own handle, following no link at all: whatever is swapped between the two moves makes the
//! call fail instead of leading outside.
//!
//! Only regular files are opened, and opening never blocks. A hard link to a file elsewhere can't be
//! told from the file itself and isn't looked for.

mod open;
mod target;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub use target::{Target, Written};

/// A folder and everything below it.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// The root's real path.
    root: Arc<Path>,
    /// Keeps meaning the same folder, whatever happens to its path.
    handle: Arc<File>,
}

/// Why a path can't be used. Nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The path is empty or holds a NUL.
    #[error("{0:?} is not a path")]
    NotAPath(String),
    /// The path leads outside, by itself or through a symbolic link.
    #[error("{0:?} leads outside the workspace")]
    Outside(String),
    /// There is nothing there.
    #[error("{0:?} does not exist")]
    Absent(String),
    /// There is something there already.
    #[error("{0:?} exists already")]
    Exists(String),
    /// What is there is no regular file.
    #[error("{path:?} is {kind}, not a regular file")]
    NotAFile {
        /// The path as it was given.
        path: String,
        /// What it is instead, with its article.
        kind: &'static str,
    },
    /// What is there is no folder.
    #[error("{0:?} is not a folder")]
    NotAFolder(String),
    /// A symbolic link leads to nothing, or appeared while the path was being opened.
    #[error("{0:?} goes through a symbolic link that can't be followed")]
    BadLink(String),
    /// The system refused.
    #[error("{path:?}: {error}")]
    Io {
        /// The path as it was given.
        path: String,
        /// The system's words.
        error: io::Error,
    },
}

/// A path that was resolved to lie inside the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Inside {
    /// Relative to the root, free of links when it was looked at; empty for the root itself.
    components: Vec<OsString>,
    /// How many of the components existed then.
    existing: usize,
}

impl Workspace {
    /// Takes a folder as the root.
    pub fn open(folder: &Path) -> Result<Self, WorkspaceError> {
        let given = folder.display().to_string();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => WorkspaceError::Absent(given.clone()),
            io::ErrorKind::NotADirectory => WorkspaceError::NotAFolder(given.clone()),
            _ => WorkspaceError::Io {
                path: given.clone(),
                error,
            },
        };
        let root = folder.canonicalize().map_err(failed)?;
        let handle = open::root(&root).map_err(failed)?;
        Ok(Self {
            root: root.into(),
            handle: Arc::new(handle),
        })
    }

    /// The root's real path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Says whether a path lies inside, without opening anything. The path need not exist.
    pub fn contains(&self, path: &str) -> Result<(), WorkspaceError> {
        self.resolve(path).map(drop)
    }

    /// Opens a regular file for reading. Never blocks, whatever is there.
    pub fn open_file(&self, path: &str) -> Result<File, WorkspaceError> {
        let inside = self.resolve(path)?;
        if inside.existing < inside.components.len() {
            return Err(WorkspaceError::Absent(path.to_owned()));
        }
        let Some((name, folders)) = inside.components.split_last() else {
            return Err(WorkspaceError::NotAFile {
                path: path.to_owned(),
                kind: "a folder",
            });
        };
        let parent = open::folder(&self.handle, folders).map_err(|error| failed(path, error))?;
        open::file(&parent, name, path)
    }

    /// The real path of a folder inside: where a command runs. What happens to that path afterwards
    /// is not guarded; a command can go where it likes anyway.
    pub fn folder(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let inside = self.resolve(path)?;
        if inside.existing < inside.components.len() {
            return Err(WorkspaceError::Absent(path.to_owned()));
        }
        open::folder(&self.handle, &inside.components).map_err(|error| failed(path, error))?;
        Ok(self.real(&inside.components))
    }

    /// Takes a path to write to. Folders that are missing on the way are made.
    pub fn target(&self, path: &str) -> Result<Target, WorkspaceError> {
        let inside = self.resolve(path)?;
        let Some((name, folders)) = inside.components.split_last() else {
            return Err(WorkspaceError::NotAFile {
                path: path.to_owned(),
                kind: "a folder",
            });
        };
        let parent = open::made_folder(&self.handle, folders, inside.existing)
            .map_err(|error| failed(path, error))?;
        Target::of(parent, name.clone(), path)
    }

    fn real(&self, components: &[OsString]) -> PathBuf {
        self.root.join(components.iter().collect::<PathBuf>())
    }

    /// Resolves every component. What doesn't exist yet must stand below an existing folder inside.
    fn resolve(&self, path: &str) -> Result<Inside, WorkspaceError> {
        if path.is_empty() || path.contains('\0') {
            return Err(WorkspaceError::NotAPath(path.to_owned()));
        }
        let mut ancestor = self.root.join(path);
        let mut missing = Vec::new();
        let real = loop {
            match ancestor.canonicalize() {
                Ok(real) => break real,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if ancestor.symlink_metadata().is_ok() {
                        return Err(WorkspaceError::BadLink(path.to_owned()));
                    }
                    // A `..` after something that doesn't exist names nothing.
                    let Some(name) = ancestor.file_name().map(OsString::from) else {
                        return Err(WorkspaceError::Absent(path.to_owned()));
                    };
                    missing.push(name);
                    ancestor.pop();
                }
                Err(error) => return Err(failed(path, error)),
            }
        };
        let Ok(below) = real.strip_prefix(&self.root) else {
            return Err(WorkspaceError::Outside(path.to_owned()));
        };
        let mut components: Vec<OsString> = below
            .components()
            .map(|component| match component {
                Component::Normal(name) => Ok(name.to_owned()),
                Component::Prefix(_)
                | Component::RootDir
                | Component::CurDir
                | Component::ParentDir => Err(WorkspaceError::Outside(path.to_owned())),
            })
            .collect::<Result<_, _>>()?;
        let existing = components.len();
        components.extend(missing.into_iter().rev());
        Ok(Inside {
            components,
            existing,
        })
    }
}

/// Puts a path to what the system said.
fn failed(path: &str, error: io::Error) -> WorkspaceError {
    let path = path.to_owned();
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return WorkspaceError::BadLink(path);
    }
    match error.kind() {
        io::ErrorKind::NotFound => WorkspaceError::Absent(path),
        io::ErrorKind::AlreadyExists => WorkspaceError::Exists(path),
        io::ErrorKind::NotADirectory => WorkspaceError::NotAFolder(path),
        _ => WorkspaceError::Io { path, error },
    }
}

#[cfg(test)]
mod tests;
