//! Opening a session for whoever drives it: the settings, the workspace, and what a person can do
//! when one of them can't be used (C2).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::trouble::Trouble;
use crate::engine::runner::Progress;
use crate::host::session::{OpenError, Session};
use crate::host::settings::{Flags, PlatformFolders, Settings, SettingsError};
use crate::host::workspace::Workspace;

/// What helps where a model can't be used.
pub(crate) const MODEL_HINT: &str =
    "name a model as provider/model with --model or AMOS_MODEL; --model offline needs no key";

/// A session that is about to be opened.
pub(crate) struct Opening {
    /// Everything that was chosen.
    pub(crate) settings: Settings,
    workspace: Workspace,
}

impl Opening {
    /// Brings together what was chosen; does nothing yet. Without a folder the current one is meant.
    pub(crate) fn prepare(flags: &Flags, workspace: Option<&Path>) -> Result<Self, Trouble> {
        let environment = |name: &str| std::env::var_os(name);
        let settings = Settings::load(flags, &environment, &PlatformFolders::of_this_user())
            .map_err(no_settings)?;
        let folder = match workspace {
            Some(folder) => folder.to_owned(),
            None => current_folder()?,
        };
        let workspace = Workspace::open(&folder).map_err(|error| {
            Trouble::caused(error).hint("name an existing folder with --workspace")
        })?;
        Ok(Self {
            settings,
            workspace,
        })
    }

    /// Opens the session. May ask a local Ollama whether it is there (T4).
    pub(crate) async fn open(self, progress: Arc<dyn Progress>) -> Result<Session, Trouble> {
        let data_folder = self.settings.data_folder.clone();
        let opened = Session::open(self.settings, self.workspace, progress).await;
        opened.map_err(|error| {
            let hint = match &error {
                OpenError::Model(_) => MODEL_HINT.to_owned(),
                OpenError::DataFolder(_) | OpenError::Storage(_) => format!(
                    "set AMOS_DATA_DIR to a folder that can be written to; now it is {}",
                    data_folder.display()
                ),
                OpenError::Limit(_) => "see [limits] in the configuration".to_owned(),
            };
            Trouble::caused(error).hint(hint)
        })
    }
}

/// What helps where the settings can't be used.
pub(crate) fn no_settings(error: SettingsError) -> Trouble {
    let hint = match &error {
        SettingsError::NoHome => "name a folder that can be written to with AMOS_DATA_DIR",
        SettingsError::NotText(_) => "set the variable again, as UTF-8, or unset it",
        SettingsError::Address(_) => "set an address as http://127.0.0.1:8080/v1, or unset it",
        SettingsError::Unreadable { .. } | SettingsError::Wrong { .. } => {
            "mend the configuration, or name another with AMOS_CONFIG"
        }
    };
    Trouble::caused(error).hint(hint)
}

fn current_folder() -> Result<PathBuf, Trouble> {
    std::env::current_dir().map_err(|error| {
        Trouble::caused(error).hint("the current folder is gone? name one with --workspace")
    })
}
