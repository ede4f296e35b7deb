//! The providers that this application knows, and how a model is written: `provider/model` (M1).
//!
//! Where a provider lives and which key it takes is in [`crate::host::models::settings`].

use std::fmt;

use serde::{Deserialize, Serialize};

/// A provider of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// OpenAI and every OpenAI-compatible server.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// A local Ollama.
    Ollama,
    /// The built-in model that asks nobody.
    Offline,
}

impl Provider {
    /// All of them, in the order of T4.
    pub const ALL: [Self; 5] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Offline,
    ];

    /// The word that stands before the slash.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Offline => "offline",
        }
    }

    /// The provider of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.name() == name)
    }

    /// The environment variable that holds its key, where it takes one (C5).
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama | Self::Offline => None,
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelNameError {
    /// The word before the slash is no provider.
    #[error(
        "there is no model provider {provider:?}; write provider/model with one of {}",
        known_names()
    )]
    UnknownProvider {
        /// The word.
        provider: String,
    },
    /// Nothing stands after the slash, or there is none.
    #[error("{provider} needs a model: write {provider}/model")]
    MissingModel {
        /// The provider that was named.
        provider: Provider,
    },
}

/// Reads `provider/model`; the model part may hold slashes. `offline` alone is a model too (M1).
pub fn parse_model(text: &str) -> Result<(Provider, String), ModelNameError> {
    let (name, model) = match text.trim().split_once('/') {
        Some((name, model)) => (name, model),
        None => (text.trim(), ""),
    };
    let provider = Provider::from_name(name).ok_or_else(|| ModelNameError::UnknownProvider {
        provider: name.to_owned(),
    })?;
    match (provider, model) {
        (Provider::Offline, "") => Ok((provider, Provider::Offline.name().to_owned())),
        (_, "") => Err(ModelNameError::MissingModel { provider }),
        (_, model) => Ok((provider, model.to_owned())),
    }
}

fn known_names() -> String {
    Provider::ALL.map(Provider::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_part_may_hold_slashes() {
        assert_eq!(
            parse_model("openai/meta-llama/Llama-3.3-70B"),
            Ok((Provider::OpenAi, "meta-llama/Llama-3.3-70B".to_owned()))
        );
    }

    #[test]
    fn offline_needs_no_slash() {
        assert_eq!(
            parse_model("offline"),
            Ok((Provider::Offline, "offline".to_owned()))
        );
    }

    #[test]
    fn an_unknown_provider_is_told_the_known_ones() {
        let error = parse_model("mistral/large").expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "there is no model provider \"mistral\"; write provider/model with one of openai, \
             anthropic, gemini, ollama, offline"
        );
    }

    #[test]
    fn a_provider_without_a_model_is_refused() {
        for text in ["openai", "openai/"] {
            assert_eq!(
                parse_model(text),
                Err(ModelNameError::MissingModel {
                    provider: Provider::OpenAi
                })
            );
        }
    }
}
