//! Which model is used when nobody, or somebody, chose one (T4).
//!
//! Only the model of an operation is chosen here; agents may name their own (L4, `catalog`).

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::engine::ports::ResolvedModel;
use crate::host::models::HostModels;
use crate::host::models::catalog::{ModelPolicy, exact};
use crate::host::models::provider::{ModelNameError, Provider, parse_model};
use crate::host::models::settings::{MissingKey, ProviderSettings};

/// How long a local Ollama has to answer before it counts as absent.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The selected model and how it came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The model.
    pub model: ResolvedModel,
    /// Why this one.
    pub origin: Origin,
}

/// Why a model was selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A person named it, by flag, environment or file.
    Chosen,
    /// The key of its provider is set.
    KeyIsSet,
    /// A local Ollama answered.
    OllamaAnswered,
    /// Nothing else is there.
    NothingElse,
}

/// Why the chosen model can't be used. Never a reason to take another one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// The text names no model.
    #[error(transparent)]
    Name(#[from] ModelNameError),
    /// Its provider has no key.
    #[error(transparent)]
    Key(#[from] MissingKey),
}

/// Says which models a local Ollama has.
pub trait LocalModels: Send + Sync {
    /// Their names; `None` where none answers.
    fn names(&self) -> BoxFuture<'_, Option<Vec<String>>>;
}

impl LocalModels for HostModels {
    fn names(&self) -> BoxFuture<'_, Option<Vec<String>>> {
        self.ollama_models(PROBE_TIMEOUT).boxed()
    }
}

/// The chosen model; else the default of the first provider whose key is set; else a model of a
/// local Ollama; else the offline one.
pub async fn select(
    chosen: Option<&str>,
    settings: &ProviderSettings,
    policy: &ModelPolicy,
    local: &dyn LocalModels,
) -> Result<Selection, SelectionError> {
    if let Some(text) = chosen {
        let model = usable(text, settings)?;
        let origin = Origin::Chosen;
        return Ok(Selection { model, origin });
    }
    let with_key = Provider::ALL
        .into_iter()
        .find(|provider| settings.key(*provider).is_some());
    if let Some(provider) = with_key {
        return Ok(Selection {
            model: policy.default_model(provider),
            origin: Origin::KeyIsSet,
        });
    }
    let names = local.names().await.unwrap_or_default();
    Ok(match of_ollama(&names, policy) {
        Some(model) => Selection {
            model,
            origin: Origin::OllamaAnswered,
        },
        None => Selection {
            model: policy.default_model(Provider::Offline),
            origin: Origin::NothingElse,
        },
    })
}

/// A model that was named, with what its provider needs. Also for agents that name their own.
pub fn usable(text: &str, settings: &ProviderSettings) -> Result<ResolvedModel, SelectionError> {
    let (provider, _) = parse_model(text)?;
    settings.require_key(provider)?;
    Ok(exact(text)?)
}

/// The table's model if it is installed, else the first one that is.
fn of_ollama(names: &[String], policy: &ModelPolicy) -> Option<ResolvedModel> {
    let wanted = policy.default_model(Provider::Ollama);
    let is_wanted =
        |name: &&String| **name == wanted.model || **name == format!("{}:latest", wanted.model);
    match names.iter().find(is_wanted) {
        Some(_) => Some(wanted),
        None => names.first().map(|name| ResolvedModel {
            model: name.clone(),
            policy_version: None,
            ..wanted.clone()
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::host::models::settings::BaseUrl;

    use super::*;

    /// A machine with these models; `None` has no Ollama.
    struct Machine(Option<Vec<&'static str>>);

    impl LocalModels for Machine {
        fn names(&self) -> BoxFuture<'_, Option<Vec<String>>> {
            let names = self.0.as_ref();
            let names = names.map(|names| names.iter().map(|n| (*n).to_owned()).collect());
            std::future::ready(names).boxed()
        }
    }

    fn selected(
        chosen: Option<&str>,
        settings: &ProviderSettings,
        machine: Machine,
    ) -> Result<(String, Origin), SelectionError> {
        select(chosen, settings, ModelPolicy::shipped(), &machine)
            .now_or_never()
            .expect("nothing to wait for")
            .map(|selection| (selection.model.to_string(), selection.origin))
    }

    fn keys() -> ProviderSettings {
        ProviderSettings {
            openai_key: Some("one".into()),
            anthropic_key: Some("two".into()),
            gemini_key: Some("three".into()),
            ..ProviderSettings::default()
        }
    }

    #[test]
    fn keys_are_looked_at_in_order_and_blank_ones_are_none() {
        // T4
        let mut settings = keys();
        let mut seen = Vec::new();
        for blank in [
            |_: &mut ProviderSettings| {},
            |s: &mut ProviderSettings| s.openai_key = Some("".into()),
            |s: &mut ProviderSettings| s.anthropic_key = None,
        ] {
            blank(&mut settings);
            let machine = Machine(Some(vec!["llama3.2"]));
            seen.push(selected(None, &settings, machine).expect("selected"));
        }
        let policy = ModelPolicy::shipped();
        let expected = [Provider::OpenAi, Provider::Anthropic, Provider::Gemini]
            .map(|p| (policy.default_model(p).to_string(), Origin::KeyIsSet));
        assert_eq!(seen, expected);
    }

    #[test]
    fn without_a_key_a_local_ollama_is_used_and_else_the_offline_model() {
        // T4
        let none = ProviderSettings::default();
        let with = |names| selected(None, &none, Machine(names)).expect("selected");
        let ollama = |name: &str| (format!("ollama/{name}"), Origin::OllamaAnswered);
        assert_eq!(with(Some(vec!["a", "llama3.2:latest"])), ollama("llama3.2"));
        assert_eq!(with(Some(vec!["qwen3:4b", "b"])), ollama("qwen3:4b"));
        let offline = ("offline/offline".to_owned(), Origin::NothingElse);
        assert_eq!(with(Some(vec![])), offline);
        assert_eq!(with(None), offline);
    }

    #[test]
    fn an_address_alone_does_not_select_a_provider_but_makes_it_usable() {
        // T4, C5
        let settings = ProviderSettings {
            openai_base_url: Some(BaseUrl::read("X", "http://h/v1").expect("address")),
            ..ProviderSettings::default()
        };
        let offline = selected(None, &settings, Machine(None)).expect("selected");
        assert_eq!(offline.1, Origin::NothingElse);
        assert_eq!(
            selected(Some("openai/a/b"), &settings, Machine(None)),
            Ok(("openai/a/b".to_owned(), Origin::Chosen))
        );
    }

    #[test]
    fn a_chosen_provider_without_its_key_is_an_error_even_where_others_have_one() {
        // T4
        let mut settings = keys();
        settings.anthropic_key = None;
        let error = selected(Some("anthropic/x"), &settings, Machine(None)).expect_err("no key");
        assert_eq!(
            error.to_string(),
            "anthropic needs a key: set ANTHROPIC_API_KEY"
        );
    }

    #[test]
    fn a_chosen_model_wins_over_keys() {
        assert_eq!(
            selected(Some("offline"), &keys(), Machine(None)),
            Ok(("offline/offline".to_owned(), Origin::Chosen))
        );
        assert!(selected(Some("nobody/x"), &keys(), Machine(None)).is_err());
    }
}
