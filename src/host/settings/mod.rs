//! What the person chose (C5): flags win over the environment, the environment over the file, the
//! file over the platform's folders and our defaults.
//!
//! The environment comes in as a function, so that nothing here reads the process's own. Keys stay
//! in memory and are never printed (M4). Whether a chosen model exists, or has its key, is for the
//! models to say.

mod data_folder;
mod file;
mod providers;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::engine::limits;
use crate::engine::routine::definition::AgentDefinition;
use crate::host::models::settings::{BadBaseUrl, ProviderSettings};
use crate::host::permission::{Permissions, Policy};
use crate::host::settings::file::SettingsFile;

pub use data_folder::{DataFolder, DataFolderError};

/// Looks a variable up; `None` where it isn't set.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    /// `--model provider/model`.
    pub model: Option<String>,
    /// `--allow TOOL`, each.
    pub allow: Vec<String>,
}

/// The folders that the platform gives us; `None` without a home.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlatformFolders {
    /// Where the configuration file is by default.
    pub config: Option<PathBuf>,
    /// Where data is kept by default.
    pub data: Option<PathBuf>,
}

impl PlatformFolders {
    /// The folders of this machine's user.
    pub fn of_this_user() -> Self {
        let folders = directories::ProjectDirs::from("", "", "amos-tui");
        Self {
            config: folders
                .as_ref()
                .map(|folders| folders.config_dir().to_owned()),
            data: folders.map(|folders| folders.data_dir().to_owned()),
        }
    }
}

/// Everything that was chosen.
#[derive(Debug)]
pub struct Settings {
    /// The model, where one was chosen (T4).
    pub model: Option<ChosenModel>,
    /// Keys and addresses of the providers.
    pub providers: ProviderSettings,
    /// What may be called without asking (M6).
    pub permissions: Permissions,
    /// Agents that routine files may name (G17).
    pub agents: BTreeMap<String, AgentDefinition>,
    /// Bounds of the runner.
    pub limits: ChosenLimits,
    /// Where data is kept. Not made or looked at yet.
    pub data_folder: PathBuf,
    /// The configuration file, whether or not it exists; `None` without a home.
    pub config_file: Option<PathBuf>,
    /// Whether colours may be used.
    pub colour: Colour,
}

/// A model and who chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenModel {
    /// As it was written: `provider/model` or `offline`.
    pub name: String,
    /// Who chose it.
    pub by: ChosenBy,
}

/// Where a setting came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChosenBy {
    /// The command line.
    Flag,
    /// The environment.
    Environment,
    /// The configuration file.
    File,
}

/// Bounds of the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenLimits {
    /// The largest observation, in bytes (V26).
    pub max_observation_bytes: usize,
    /// The most operations at a time (V27).
    pub max_active_operations: usize,
}

impl Default for ChosenLimits {
    fn default() -> Self {
        Self {
            max_observation_bytes: limits::OBSERVATION_BYTES,
            max_active_operations: limits::ACTIVE_OPERATIONS,
        }
    }
}

/// Whether colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// As the terminal can.
    Allowed,
    /// `NO_COLOR` is set.
    Off,
}

/// Why the settings can't be used. All of them are bad usage (C2).
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// There is no home folder and nothing in its place.
    #[error("no home folder was found to keep data in")]
    NoHome,
    /// A variable is no text.
    #[error("the environment variable {0} is not valid UTF-8")]
    NotText(&'static str),
    /// A provider's address is none.
    #[error(transparent)]
    Address(#[from] BadBaseUrl),
    /// The configuration file is there and can't be read.
    #[error("can't read the configuration {path}: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The configuration file can't be understood.
    #[error("{path}: {reason}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What and where.
        reason: String,
    },
}

impl Settings {
    /// Brings together what was chosen.
    pub fn load(
        flags: &Flags,
        environment: Environment<'_>,
        folders: &PlatformFolders,
    ) -> Result<Self, SettingsError> {
        let config_file = config_file(environment, folders);
        let file = match &config_file {
            Some(path) => read(path)?,
            None => SettingsFile::default(),
        };
        let data_folder = match set(environment, "AMOS_DATA_DIR") {
            Some(path) => PathBuf::from(path),
            None => folders.data.clone().ok_or(SettingsError::NoHome)?,
        };
        let chosen = |name: String, by| ChosenModel { name, by };
        let model = match (&flags.model, text(environment, "AMOS_MODEL")?, file.model) {
            (Some(name), _, _) => Some(chosen(name.clone(), ChosenBy::Flag)),
            (None, Some(name), _) => Some(chosen(name, ChosenBy::Environment)),
            (None, None, Some(name)) => Some(chosen(name, ChosenBy::File)),
            (None, None, None) => None,
        };
        let allowed = flags.allow.iter().map(String::as_str);
        let colour = match set(environment, "NO_COLOR") {
            Some(_) => Colour::Off,
            None => Colour::Allowed,
        };
        Ok(Self {
            model,
            providers: providers::read(environment)?,
            permissions: Permissions::of(file.permissions).allowing(allowed),
            agents: file.agents,
            limits: file.limits,
            data_folder,
            config_file,
            colour,
        })
    }
}

/// The agents of the configuration alone: what validating a file needs, with or without a home.
pub fn configured_agents(
    environment: Environment<'_>,
    folders: &PlatformFolders,
) -> Result<BTreeMap<String, AgentDefinition>, SettingsError> {
    match config_file(environment, folders) {
        Some(path) => Ok(read(&path)?.agents),
        None => Ok(BTreeMap::new()),
    }
}

fn config_file(environment: Environment<'_>, folders: &PlatformFolders) -> Option<PathBuf> {
    match set(environment, "AMOS_CONFIG") {
        Some(path) => Some(PathBuf::from(path)),
        None => Some(folders.config.as_deref()?.join("config.toml")),
    }
}

/// A variable; an empty one counts as not set.
fn set(environment: Environment<'_>, name: &str) -> Option<OsString> {
    environment(name).filter(|value| !value.is_empty())
}

/// A variable that has to be text.
fn text(environment: Environment<'_>, name: &'static str) -> Result<Option<String>, SettingsError> {
    set(environment, name)
        .map(|value| {
            value
                .into_string()
                .map_err(|_| SettingsError::NotText(name))
        })
        .transpose()
}

/// Reads a configuration file; a missing one means defaults, also where it was named.
fn read(path: &Path) -> Result<SettingsFile, SettingsError> {
    let unreadable = |reason: String| SettingsError::Unreadable {
        path: path.to_owned(),
        reason,
    };
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(SettingsFile::default());
        }
        Err(error) => return Err(unreadable(error.to_string())),
        // Looked at first: reading a pipe could wait for ever.
        Ok(metadata) if !metadata.is_file() => {
            return Err(unreadable("it is no regular file".to_owned()));
        }
        Ok(metadata) if metadata.len() > limits::FILE_BYTES => {
            return Err(unreadable(format!(
                "it has more than {} bytes",
                limits::FILE_BYTES
            )));
        }
        Ok(_) => {}
    }
    let content = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    SettingsFile::parse(&content).map_err(|reason| SettingsError::Wrong {
        path: path.to_owned(),
        reason,
    })
}

/// The policies as the file names them.
type Policies = BTreeMap<String, Policy>;

#[cfg(test)]
mod tests;
