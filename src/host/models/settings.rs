//! Where each provider lives and which key it takes, as plain values.
//!
//! Nothing here reads the environment or a file: whoever does hands the values over. Keys are
//! secrets and addresses can't hold any, so that printing this is always safe (M4).

use std::fmt;

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use crate::host::models::provider::Provider;

/// Keys and addresses of all providers. An empty key counts as none.
#[derive(Debug, Clone, Default)]
pub struct ProviderSettings {
    /// `OPENAI_API_KEY`.
    pub openai_key: Option<SecretString>,
    /// `OPENAI_BASE_URL`, with its `/v1`.
    pub openai_base_url: Option<BaseUrl>,
    /// `ANTHROPIC_API_KEY`.
    pub anthropic_key: Option<SecretString>,
    /// `ANTHROPIC_BASE_URL`, with or without its `/v1`.
    pub anthropic_base_url: Option<BaseUrl>,
    /// `GEMINI_API_KEY`.
    pub gemini_key: Option<SecretString>,
    /// Another address of the Gemini API, with or without its version.
    pub gemini_base_url: Option<BaseUrl>,
    /// `OLLAMA_HOST`.
    pub ollama_host: Option<BaseUrl>,
}

/// A provider was chosen that has no key (T4): an error, never a fallback.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider} needs a key: set {variable}")]
pub struct MissingKey {
    /// Which provider.
    pub provider: Provider,
    /// What to set.
    pub variable: &'static str,
}

impl ProviderSettings {
    /// The provider's key, if it has one that isn't blank.
    pub fn key(&self, provider: Provider) -> Option<&SecretString> {
        let key = match provider {
            Provider::OpenAi => self.openai_key.as_ref(),
            Provider::Anthropic => self.anthropic_key.as_ref(),
            Provider::Gemini => self.gemini_key.as_ref(),
            Provider::Ollama | Provider::Offline => None,
        };
        key.filter(|key| !key.expose_secret().trim().is_empty())
    }

    /// The provider's address; `None` for the one that asks nobody.
    pub fn base_url(&self, provider: Provider) -> Option<BaseUrl> {
        let (set, usual) = match provider {
            Provider::OpenAi => (&self.openai_base_url, "https://api.openai.com/v1"),
            Provider::Anthropic => (&self.anthropic_base_url, "https://api.anthropic.com"),
            Provider::Gemini => (
                &self.gemini_base_url,
                "https://generativelanguage.googleapis.com",
            ),
            Provider::Ollama => (&self.ollama_host, "http://127.0.0.1:11434"),
            Provider::Offline => return None,
        };
        Some(set.clone().unwrap_or_else(|| {
            BaseUrl::read("default address", usual).expect("BUG: a built-in address is no URL")
        }))
    }

    /// Whether a request to the provider could go out at all. An OpenAI-compatible server with an
    /// address of its own may go without a key (C5).
    pub fn require_key(&self, provider: Provider) -> Result<(), MissingKey> {
        let keyless = provider == Provider::OpenAi && self.openai_base_url.is_some();
        match provider.key_variable() {
            Some(variable) if self.key(provider).is_none() && !keyless => {
                Err(MissingKey { provider, variable })
            }
            _ => Ok(()),
        }
    }
}

/// An address that isn't usable. Says which setting, never its value: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadBaseUrl {
    /// No URL, or none of `http` and `https`.
    #[error("{setting} is no http or https address")]
    NotAnAddress {
        /// Which setting.
        setting: &'static str,
    },
    /// A user name or password stands in it.
    #[error("{setting} must not hold a user name or password")]
    HoldsCredentials {
        /// Which setting.
        setting: &'static str,
    },
}

/// The address of a provider: `http` or `https`, with a host, without credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Reads the value of a setting.
    pub fn read(setting: &'static str, text: &str) -> Result<Self, BadBaseUrl> {
        let mut url = Url::parse(text.trim()).map_err(|_| BadBaseUrl::NotAnAddress { setting })?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(BadBaseUrl::NotAnAddress { setting });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadBaseUrl::HoldsCredentials { setting });
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// Reads `OLLAMA_HOST`, which may be a bare host or host and port as the server takes it.
    pub fn read_ollama_host(text: &str) -> Result<Self, BadBaseUrl> {
        const SETTING: &str = "OLLAMA_HOST";
        let text = text.trim();
        if text.contains("://") {
            return Self::read(SETTING, text);
        }
        // A port alone is one of this machine.
        let host = if text.starts_with(':') {
            "127.0.0.1"
        } else {
            ""
        };
        let mut read = Self::read(SETTING, &format!("http://{host}{text}"))?;
        let url = &mut read.0;
        let bad = BadBaseUrl::NotAnAddress { setting: SETTING };
        // A written-out port 80 is dropped by the parser as the scheme's own, so look at the text.
        if url.port().is_none() && !text.trim_end_matches('/').ends_with(":80") {
            url.set_port(Some(11434)).map_err(|()| bad.clone())?;
        }
        // The server listens there, but one can't everywhere connect to it.
        if url.host_str() == Some("0.0.0.0") {
            url.set_host(Some("127.0.0.1")).map_err(|_| bad)?;
        }
        Ok(read)
    }

    /// Host and port, which is all of a provider's address that is shown (M4).
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Whether the address is the host, or a host inside that domain.
    pub(crate) fn is_at(&self, domain: &str) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        host == domain
            || host
                .strip_suffix(domain)
                .is_some_and(|before| before.ends_with('.'))
    }

    /// The address with these segments after its path, and its query kept.
    pub(crate) fn join<'a>(&self, segments: impl IntoIterator<Item = &'a str>) -> Url {
        let mut url = self.0.clone();
        url.path_segments_mut()
            .expect("BUG: an http address without a path")
            .pop_if_empty()
            .extend(segments);
        url
    }

    /// As [`BaseUrl::join`], with the API's version first unless the path ends with it already.
    pub(crate) fn join_version<'a>(
        &self,
        version: &'a str,
        segments: impl IntoIterator<Item = &'a str>,
    ) -> Url {
        let written = self
            .0
            .path_segments()
            .and_then(|mut path| path.rfind(|segment| !segment.is_empty()))
            == Some(version);
        let version = if written { None } else { Some(version) };
        self.join(version.into_iter().chain(segments))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BaseUrl({})", self.host())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> BaseUrl {
        BaseUrl::read("X", text).expect("address")
    }

    #[test]
    fn joining_keeps_the_path_and_the_query() {
        let url = at("https://gateway.example/openai/v1/?api-version=7").join(["chat", "x y"]);
        assert_eq!(
            url.as_str(),
            "https://gateway.example/openai/v1/chat/x%20y?api-version=7"
        );
    }

    #[test]
    fn a_version_is_not_doubled() {
        for base in ["http://h", "http://h/", "http://h/v1", "http://h/v1/"] {
            assert_eq!(
                at(base).join_version("v1", ["messages"]).as_str(),
                "http://h/v1/messages"
            );
        }
    }

    #[test]
    fn ollama_hosts_are_read_as_its_server_reads_them() {
        for (text, host) in [
            ("127.0.0.1:11434", "127.0.0.1:11434"),
            ("0.0.0.0", "127.0.0.1:11434"),
            (":1", "127.0.0.1:1"),
            ("box", "box:11434"),
            ("box:80", "box"),
            ("http://box", "box"),
            ("https://box:1", "box:1"),
            ("[::1]:5", "[::1]:5"),
        ] {
            assert_eq!(
                BaseUrl::read_ollama_host(text).map(|url| url.host()),
                Ok(host.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn credentials_in_an_address_are_refused_without_being_repeated() {
        let error = BaseUrl::read("OPENAI_BASE_URL", "http://me:hush@h/v1").expect_err("refused");
        assert!(!error.to_string().contains("hush"));
        assert!(!format!("{error:?}").contains("hush"));
    }

    #[test]
    fn other_schemes_are_refused() {
        for text in ["ftp://h", "file:///x", "localhost:11434", "", "http://"] {
            assert!(BaseUrl::read("X", text).is_err(), "{text}");
        }
    }

    #[test]
    fn printing_settings_shows_no_key_and_no_query() {
        let settings = ProviderSettings {
            openai_key: Some("sk-hush".into()),
            openai_base_url: Some(at("http://h/v1?token=hush")),
            ..ProviderSettings::default()
        };
        assert!(!format!("{settings:?}").contains("hush"));
    }

    #[test]
    fn a_blank_key_is_none_and_a_base_url_makes_it_optional() {
        // T4, C5
        let mut settings = ProviderSettings {
            openai_key: Some(" \n".into()),
            ..ProviderSettings::default()
        };
        assert_eq!(
            settings.require_key(Provider::OpenAi),
            Err(MissingKey {
                provider: Provider::OpenAi,
                variable: "OPENAI_API_KEY"
            })
        );
        settings.openai_base_url = Some(at("http://h/v1"));
        assert_eq!(settings.require_key(Provider::OpenAi), Ok(()));
    }

    #[test]
    fn a_domain_is_not_a_suffix_of_a_word() {
        assert!(at("https://api.openai.com").is_at("openai.com"));
        assert!(at("https://openai.com").is_at("openai.com"));
        assert!(!at("https://notopenai.com").is_at("openai.com"));
    }
}
