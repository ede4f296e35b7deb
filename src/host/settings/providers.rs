//! Keys and addresses of the providers, taken from the environment (C5).

use secrecy::SecretString;

use crate::host::models::settings::{BaseUrl, ProviderSettings};
use crate::host::settings::{Environment, SettingsError, text};

/// Takes the providers' variables. A key that is blank counts as not set.
pub(super) fn read(environment: Environment<'_>) -> Result<ProviderSettings, SettingsError> {
    let key = |name| -> Result<Option<SecretString>, SettingsError> {
        Ok(text(environment, name)?.map(SecretString::from))
    };
    let address = |name| -> Result<Option<BaseUrl>, SettingsError> {
        match text(environment, name)? {
            None => Ok(None),
            Some(address) => Ok(Some(BaseUrl::read(name, &address)?)),
        }
    };
    Ok(ProviderSettings {
        openai_key: key("OPENAI_API_KEY")?,
        openai_base_url: address("OPENAI_BASE_URL")?,
        anthropic_key: key("ANTHROPIC_API_KEY")?,
        anthropic_base_url: address("ANTHROPIC_BASE_URL")?,
        gemini_key: key("GEMINI_API_KEY")?,
        gemini_base_url: None,
        ollama_host: match text(environment, "OLLAMA_HOST")? {
            None => None,
            Some(host) => Some(BaseUrl::read_ollama_host(&host)?),
        },
    })
}
