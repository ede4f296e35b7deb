//! The models of all providers, behind the engine's [`Models`] port.
//!
//! | file | what it knows |
//! |---|---|
//! | `provider`, `settings` | who there is, where, with which key |
//! | `catalog`, `selection` | which model an agent gets, and which one when nobody chose (L4, T4) |
//! | `http` | sending, sending again, and what a status means (M2, G3) |
//! | `openai`, `anthropic`, `gemini`, `ollama` | one wire each: a request as bytes, bytes as an answer |
//! | `offline`, `sample` | the built-in model |
//! | `wire`, `names`, `echo`, `words`, `retry_after` | what these share |
//!
//! Keys are in headers only, never in a URL, a body, a reason or a record (M4).

mod anthropic;
pub mod catalog;
mod echo;
mod gemini;
mod http;
mod names;
mod offline;
mod ollama;
mod openai;
pub mod provider;
mod retry_after;
mod sample;
pub mod selection;
pub mod settings;
mod wire;
mod words;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use crate::engine::ports::{
    ModelContext, ModelOutcome, ModelReply, ModelRequest, Models, ResolvedModel,
};
use crate::host::models::echo::Echoes;
use crate::host::models::http::{Delivery, Post, Sender};
use crate::host::models::names::ToolNames;
use crate::host::models::openai::Dialect;
use crate::host::models::provider::Provider;
use crate::host::models::settings::{BaseUrl, MissingKey, ProviderSettings};
use crate::host::models::wire::Asked;

pub use crate::host::models::http::SendPolicy;

/// All providers' models. Cloning is cheap; clones share connections.
#[derive(Clone)]
pub struct HostModels {
    inner: Arc<Inner>,
}

struct Inner {
    settings: ProviderSettings,
    sender: Sender,
    echoes: Echoes,
}

impl HostModels {
    /// The models that these settings reach.
    pub fn of(settings: ProviderSettings) -> Self {
        Self::with_policy(settings, SendPolicy::default())
    }

    /// As [`HostModels::of`], with other times and sizes.
    pub fn with_policy(settings: ProviderSettings, policy: SendPolicy) -> Self {
        Self {
            inner: Arc::new(Inner {
                settings,
                sender: Sender::of(policy),
                echoes: Echoes::default(),
            }),
        }
    }

    /// The settings, keys hidden.
    pub fn settings(&self) -> &ProviderSettings {
        &self.inner.settings
    }

    /// What is shown of a model: provider, model and host, nothing else of the address (M4).
    pub fn describe(&self, model: &ResolvedModel) -> String {
        let provider = Provider::from_name(&model.provider);
        match provider.and_then(|provider| self.inner.settings.base_url(provider)) {
            Some(base) => format!("{model} at {}", base.host()),
            None if provider == Some(Provider::Offline) => "offline (asks no provider)".to_owned(),
            None => model.to_string(),
        }
    }

    /// The models that a local Ollama has, if one answers within that time (T4).
    pub async fn ollama_models(&self, within: Duration) -> Option<Vec<String>> {
        let base = self.inner.settings.base_url(Provider::Ollama)?;
        let body = self
            .inner
            .sender
            .look_up(ollama::tags(&base), within)
            .await?;
        ollama::read_tags(&body)
    }
}

impl Models for HostModels {
    fn call(&self, request: ModelRequest, context: ModelContext) -> BoxFuture<'static, ModelReply> {
        let inner = Arc::clone(&self.inner);
        async move {
            match Provider::from_name(&request.model.provider) {
                Some(Provider::Offline) => offline::answer(&request, &context),
                Some(provider) => inner.ask(provider, &request, &context).await,
                None => ModelReply {
                    outcome: ModelOutcome::NotTaken {
                        reason: format!("there is no model provider {:?}", request.model.provider),
                    },
                    request: Bytes::new(),
                    response: Bytes::new(),
                },
            }
        }
        .boxed()
    }
}

impl Inner {
    async fn ask(
        &self,
        provider: Provider,
        request: &ModelRequest,
        context: &ModelContext,
    ) -> ModelReply {
        let names = ToolNames::of(&request.tools);
        let base = self
            .settings
            .base_url(provider)
            .expect("BUG: the offline model was sent to a wire");
        let body = self.body(provider, request, &names, &base, context);
        let reply = |outcome, response| ModelReply {
            outcome,
            request: body.clone(),
            response,
        };
        let headers = match self.headers(provider) {
            Ok(headers) => headers,
            Err(error) => {
                let reason = error.to_string();
                return reply(ModelOutcome::NotTaken { reason }, Bytes::new());
            }
        };
        let post = Post {
            provider,
            host: base.host(),
            url: address(provider, &base, &request.model.model),
            headers,
            body: body.clone(),
            secret: self.settings.key(provider).cloned(),
        };
        let response = match self.sender.send(&post, context).await {
            Delivery::Body(response) => response,
            Delivery::Ended { outcome, response } => return reply(outcome, response),
        };
        let asked = Asked {
            names: &names,
            messages: request.messages.len(),
        };
        let read = match provider {
            Provider::Anthropic => anthropic::read(&response, &asked),
            Provider::Gemini => gemini::read(&response, &asked),
            Provider::Ollama => ollama::read(&response, &asked),
            Provider::OpenAi | Provider::Offline => openai::read(&response, &asked),
        };
        match read {
            Ok(reading) => {
                for (call, value) in reading.echoes {
                    self.echoes.keep(&context.run, call, value);
                }
                reply(ModelOutcome::Answered(reading.answer), response)
            }
            Err(error) => reply(post.unreadable(&error.to_string()), response),
        }
    }

    fn body(
        &self,
        provider: Provider,
        request: &ModelRequest,
        names: &ToolNames,
        base: &BaseUrl,
        context: &ModelContext,
    ) -> Bytes {
        let echo = |call: &str| self.echoes.of(&context.run, call);
        match provider {
            Provider::Anthropic => anthropic::body(request, names, &echo),
            Provider::Gemini => gemini::body(request, names, &echo),
            Provider::Ollama => ollama::body(request, names),
            Provider::OpenAi | Provider::Offline => {
                let dialect = if base.is_at("openai.com") {
                    Dialect::OpenAi
                } else {
                    Dialect::Compatible
                };
                openai::body(request, names, dialect, &echo)
            }
        }
    }

    fn headers(&self, provider: Provider) -> Result<HeaderMap, UnusableKey> {
        self.settings.require_key(provider)?;
        let json = HeaderValue::from_static("application/json");
        let mut headers = HeaderMap::from_iter([(ACCEPT, json.clone()), (CONTENT_TYPE, json)]);
        if provider == Provider::Anthropic {
            headers.insert(
                HeaderName::from_static("anthropic-version"),
                HeaderValue::from_static(anthropic::VERSION),
            );
        }
        if let Some(key) = self.settings.key(provider) {
            let (name, prefix) = match provider {
                Provider::Anthropic => (HeaderName::from_static("x-api-key"), ""),
                Provider::Gemini => (HeaderName::from_static("x-goog-api-key"), ""),
                Provider::OpenAi | Provider::Ollama | Provider::Offline => {
                    (AUTHORIZATION, "Bearer ")
                }
            };
            headers.insert(name, secret_header(provider, prefix, key)?);
        }
        Ok(headers)
    }
}

/// A key that can't authorize anything. Never says what it is.
#[derive(Debug, thiserror::Error)]
enum UnusableKey {
    #[error(transparent)]
    Missing(#[from] MissingKey),
    #[error("the key of {0} holds characters that no key has; set it again")]
    Unwritable(Provider),
}

fn secret_header(
    provider: Provider,
    prefix: &str,
    key: &SecretString,
) -> Result<HeaderValue, UnusableKey> {
    let text = format!("{prefix}{}", key.expose_secret().trim());
    let mut value = HeaderValue::from_str(&text).map_err(|_| UnusableKey::Unwritable(provider))?;
    value.set_sensitive(true);
    Ok(value)
}

fn address(provider: Provider, base: &BaseUrl, model: &str) -> reqwest::Url {
    match provider {
        Provider::OpenAi | Provider::Offline => base.join(["chat", "completions"]),
        Provider::Anthropic => base.join_version("v1", ["messages"]),
        Provider::Gemini => gemini::address(base, model),
        Provider::Ollama => base.join(["api", "chat"]),
    }
}
