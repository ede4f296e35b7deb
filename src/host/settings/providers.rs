//! Keys and addresses of the providers (C5).

use std::fmt;

use secrecy::SecretString;

use crate::host::settings::{Environment, SettingsError, text};

/// What is known of all providers.
#[derive(Debug, Default)]
pub struct Providers {
    /// OpenAI, or a server that speaks its language.
    pub openai: KeyedProvider,
    /// Anthropic.
    pub anthropic: KeyedProvider,
    /// Gemini; it has no address of its own to set.
    pub gemini: KeyedProvider,
    /// `OLLAMA_HOST`, as it was written.
    pub ollama_host: Option<String>,
}

/// What is known of a provider that takes a key.
#[derive(Default)]
pub struct KeyedProvider {
    /// The key, which lives in memory only (M4).
    pub key: Option<SecretString>,
    /// The address, where it isn't the provider's own.
    pub base_url: Option<String>,
}

/// Shows neither the key nor the address, which may hold a password.
impl fmt::Debug for KeyedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |set| if set { "set" } else { "not set" };
        f.debug_struct("KeyedProvider")
            .field("key", &word(self.key.is_some()))
            .field("base_url", &word(self.base_url.is_some()))
            .finish()
    }
}

impl Providers {
    /// Takes the providers' variables.
    pub fn of(environment: Environment<'_>) -> Result<Self, SettingsError> {
        let key = |name| Ok(text(environment, name)?.map(SecretString::from));
        Ok(Self {
            openai: KeyedProvider {
                key: key("OPENAI_API_KEY")?,
                base_url: text(environment, "OPENAI_BASE_URL")?,
            },
            anthropic: KeyedProvider {
                key: key("ANTHROPIC_API_KEY")?,
                base_url: text(environment, "ANTHROPIC_BASE_URL")?,
            },
            gemini: KeyedProvider {
                key: key("GEMINI_API_KEY")?,
                base_url: None,
            },
            ollama_host: text(environment, "OLLAMA_HOST")?,
        })
    }
}
