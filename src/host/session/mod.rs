//! The application core that both front ends drive: it owns the runner, the agents, the checks, the
//! permissions and the evidence, and runs routines through [`RoutineRunner`] and nothing else (V1).
//!
//! | file | idea |
//! |---|---|
//! | `mod` | what is opened once: folders, models, runner |
//! | `prepare` | from a file's bytes to something that can start |
//! | `live` | one operation in the hands of a front end |
//! | `sources` | evidence in the hands of a front end |
//! | `chat` | the chat agent, outside of operations |
//! | `types`, `wording`, `demos` | plain values, events in words, the demos that ship |
//!
//! It shows nothing and asks nobody: a front end hears events through `Progress`, and answers waits
//! with what a person said.

mod chat;
pub mod demos;
mod live;
mod prepare;
mod sources;
pub mod types;
pub mod wording;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use crate::engine::id::OperationId;
use crate::engine::ports::{Models, ResolvedModel};
use crate::engine::routine::Known;
use crate::engine::routine::definition::AgentDefinition;
use crate::engine::runner::{
    AgentLeases, BadLimit, LeaseRefused, Ports, Progress, RoutineRunner, RunnerLimits,
};
use crate::host::archive::Archive;
use crate::host::checks::CheckVerifier;
use crate::host::clock::SystemClock;
use crate::host::evidence_store::PackStore;
use crate::host::ids::UuidIds;
use crate::host::models::HostModels;
use crate::host::models::catalog::ModelPolicy;
use crate::host::models::selection::{self, Origin, Selection, SelectionError};
use crate::host::run_log::FileRunLog;
use crate::host::settings::{DataFolder, DataFolderError, Settings};
use crate::host::synthetic::SyntheticJobs;
use crate::host::tools::{HostTools, KNOWN_TOOLS};
use crate::host::workspace::Workspace;

pub use chat::ChatRefused;
pub use live::{ConfirmRefused, Live};
pub use prepare::{NotPrepared, Prepared, Problems, ReadError, read_routine};
pub use sources::{KeepError, ReceiptError};
pub use types::{Inspected, Rest, SourceRow};

/// The name of the chat agent, which every routine may borrow (G17).
pub const CHAT_AGENT: &str = "default";

/// Everything that is opened once and used by every operation.
pub struct Session {
    runner: RoutineRunner,
    models: Arc<HostModels>,
    policy: &'static ModelPolicy,
    selection: RwLock<Selection>,
    chat: chat::Conversation,
    agents: BTreeMap<String, AgentDefinition>,
    archive: Arc<Archive>,
    sources: Arc<PackStore>,
    log: Arc<FileRunLog>,
    synthetic: Arc<SyntheticJobs>,
    workspace: Workspace,
}

/// Why a session couldn't be opened. All of them are bad usage (C2).
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The data folder can't be used.
    #[error(transparent)]
    DataFolder(#[from] DataFolderError),
    /// Something in the data folder can't be used.
    #[error(transparent)]
    Storage(#[from] crate::engine::ports::StorageError),
    /// The chosen model can't be used.
    #[error(transparent)]
    Model(#[from] SelectionError),
    /// A bound is out of bounds.
    #[error(transparent)]
    Limit(#[from] BadLimit),
}

/// Why another model can't be selected. The old one stays.
#[derive(Debug, thiserror::Error)]
pub enum ChooseModelError {
    /// The chat agent is somebody's.
    #[error(transparent)]
    Lease(#[from] LeaseRefused),
    /// The model can't be used.
    #[error(transparent)]
    Model(#[from] SelectionError),
}

impl Session {
    /// Opens the folders, selects the model (T4) and builds the runner.
    pub async fn open(
        settings: Settings,
        workspace: Workspace,
        progress: Arc<dyn Progress>,
    ) -> Result<Self, OpenError> {
        let folder = DataFolder::open(&settings.data_folder)?;
        let models = Arc::new(HostModels::of(settings.providers));
        let policy = ModelPolicy::shipped();
        let chosen = settings.model.as_ref().map(|model| model.name.as_str());
        let selection = selection::select(chosen, models.settings(), policy, &*models).await?;
        let sources = Arc::new(PackStore::open(folder.sources())?);
        let log = Arc::new(FileRunLog::open(folder.runs())?);
        let archive = Arc::new(Archive::open(folder.archive())?);
        let synthetic = Arc::new(SyntheticJobs::default());
        let tools = HostTools::of(workspace.clone(), settings.permissions, synthetic.clone());
        let verifier = CheckVerifier::of(workspace.clone(), synthetic.clone());
        let ports = Ports {
            models: models.clone() as Arc<dyn Models>,
            tools: Arc::new(tools),
            verifier: Arc::new(verifier),
            sources: sources.clone(),
            log: log.clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(UuidIds),
            progress,
        };
        let limits = RunnerLimits {
            max_observation_bytes: settings.limits.max_observation_bytes,
            max_active_operations: settings.limits.max_active_operations,
        };
        Ok(Self {
            runner: RoutineRunner::new(ports, limits, AgentLeases::new())?,
            models,
            policy,
            selection: RwLock::new(selection),
            chat: chat::Conversation::default(),
            agents: settings.agents,
            archive,
            sources,
            log,
            synthetic,
            workspace,
        })
    }

    /// What routine files may name besides what they define.
    pub fn known(&self) -> Known {
        known(self.agents.keys())
    }

    /// The selected model.
    pub fn model(&self) -> ResolvedModel {
        self.selection().model
    }

    /// The selected model for people: provider, model and host, and why it was selected (T4, M4).
    pub fn model_text(&self) -> String {
        let selection = self.selection();
        let why = match selection.origin {
            Origin::Chosen => "chosen",
            Origin::KeyIsSet => "its key is set",
            Origin::OllamaAnswered => "a local Ollama answered",
            // One reason is enough: this is why no provider is asked.
            Origin::NothingElse => {
                return "offline: no key is set and no local Ollama answers".to_owned();
            }
        };
        format!("{}, {why}", self.models.describe(&selection.model))
    }

    /// Selects another model for what starts from now on. It is the chat agent's too, which can't be
    /// changed while an operation has it (V16).
    pub fn choose_model(&self, name: &str) -> Result<(), ChooseModelError> {
        let _unchanged = self.runner.leases().try_use(CHAT_AGENT)?;
        let model = selection::usable(name, self.models.settings())?;
        let origin = Origin::Chosen;
        *self
            .selection
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Selection { model, origin };
        Ok(())
    }

    fn selection(&self) -> Selection {
        let held = self.selection.read();
        held.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The runner, for what the session adds nothing to.
    pub fn runner(&self) -> &RoutineRunner {
        &self.runner
    }

    /// The folder that tools and checks work in.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Where evidence is archived.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Closes the runner: continuations are revoked, running work is asked to stop (V30).
    pub async fn close(&self) {
        for operation in self.runner.close().await {
            self.forget(&operation);
        }
    }

    /// Lets go of what an operation that ended kept open here. Its files stay.
    fn forget(&self, operation: &OperationId) {
        self.synthetic.forget(operation);
        self.sources.close(operation);
        self.log.close(operation);
    }
}

/// What routine files may name besides what they define, given the configuration's agents.
pub fn known<'a>(agents: impl Iterator<Item = &'a String>) -> Known {
    Known {
        agents: agents.cloned().collect(),
        councils: BTreeSet::new(),
        tools: KNOWN_TOOLS.iter().map(|tool| (*tool).to_owned()).collect(),
    }
}
