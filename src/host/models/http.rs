//! Sends a request to a provider, again only where it provably wasn't taken (M2), and sorts what
//! came of it (G3). Knows statuses and sockets, not the meaning of a body.
//!
//! Connections aren't kept: on one that died while a tool ran, "never taken" and "lost after
//! sending" can't be told apart, and a step would end uncertain for nothing. Redirects are never
//! followed, and the client's own silent re-sends are off, so that each send is announced.

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use secrecy::SecretString;
use tokio::time::{Instant, sleep, timeout_at};

use crate::engine::limits::{RESENDS, RETRY_AFTER_SECONDS};
use crate::engine::ports::{ModelContext, ModelOutcome};
use crate::host::models::provider::Provider;
use crate::host::models::{retry_after, words};

/// Times and sizes of sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendPolicy {
    /// The pause before the second send where the provider names none; doubles each time.
    pub first_pause: Duration,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may take in all. Steps have their own, shorter limits (V24); this one ends
    /// a request whose connection was lost without a word.
    pub answer_timeout: Duration,
    /// How long the body of an error may take: its status has said what matters.
    pub error_body_timeout: Duration,
    /// The largest body that is read, in bytes.
    pub response_bytes: usize,
}

impl Default for SendPolicy {
    fn default() -> Self {
        Self {
            first_pause: Duration::from_millis(500),
            connect_timeout: Duration::from_secs(15),
            answer_timeout: Duration::from_secs(30 * 60),
            error_body_timeout: Duration::from_secs(5),
            response_bytes: 32 * 1024 * 1024,
        }
    }
}

/// One request, ready to go.
pub(crate) struct Post {
    pub(crate) provider: Provider,
    /// What is shown of the address (M4).
    pub(crate) host: String,
    pub(crate) url: Url,
    /// Holds the authorization, marked as sensitive.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The key, to keep it out of what comes back.
    pub(crate) secret: Option<SecretString>,
}

/// What came of sending.
pub(crate) enum Delivery {
    /// A whole body under a 2xx status.
    Body(Bytes),
    /// Anything else.
    Ended {
        outcome: ModelOutcome,
        /// The body as far as it came.
        response: Bytes,
    },
}

/// What came of one send.
enum Attempt {
    Answered,
    Ended(ModelOutcome),
    /// Provably not taken, and worth another try.
    TryAgain {
        reason: String,
        wait: Option<Duration>,
    },
}

/// How a body ended.
enum BodyEnd {
    Whole,
    TooLarge,
    Cut(String),
    TimedOut,
}

/// The one place that sends.
pub(crate) struct Sender {
    policy: SendPolicy,
    plain: OnceLock<Result<Client, String>>,
    encrypted: OnceLock<Result<Client, String>>,
}

impl Sender {
    pub(crate) fn of(policy: SendPolicy) -> Self {
        Self {
            policy,
            plain: OnceLock::new(),
            encrypted: OnceLock::new(),
        }
    }

    /// Sends until something final comes of it. Cancelled, it answers `Stopped` at once.
    pub(crate) async fn send(&self, post: &Post, context: &ModelContext) -> Delivery {
        let started = Instant::now();
        let mut received = Vec::new();
        let outcome = match self.client(&post.url) {
            Ok(client) => tokio::select! {
                biased;
                () = context.cancellation.cancelled() => Err(ModelOutcome::Stopped),
                outcome = self.send_again(client, post, context, started, &mut received) => outcome,
            },
            Err(reason) => Err(post.not_taken(&reason)),
        };
        let response = words::mask(received, post.secret.as_ref());
        match outcome {
            Ok(()) => Delivery::Body(response),
            Err(outcome) => Delivery::Ended { outcome, response },
        }
    }

    async fn send_again(
        &self,
        client: &Client,
        post: &Post,
        context: &ModelContext,
        started: Instant,
        received: &mut Vec<u8>,
    ) -> Result<(), ModelOutcome> {
        let mut pause = self.policy.first_pause;
        let mut n = 0;
        loop {
            n += 1;
            context.sending.goes_out(n);
            received.clear();
            let (reason, wait) = match self.attempt(client, post, received).await {
                Attempt::Answered => return Ok(()),
                Attempt::Ended(outcome) => return Err(outcome),
                Attempt::TryAgain { reason, wait } => (reason, wait),
            };
            if n > RESENDS {
                return Err(post.not_taken(&format!("{reason}, {n} times; try again later")));
            }
            let wait = wait.unwrap_or(pause);
            if wait > Duration::from_secs(RETRY_AFTER_SECONDS) {
                return Err(post.not_taken(&format!(
                    "{reason} and asks to wait longer than {RETRY_AFTER_SECONDS} s; try again later"
                )));
            }
            let left = context
                .remaining_ms
                .map(|ms| Duration::from_millis(ms).saturating_sub(started.elapsed()));
            if left.is_some_and(|left| wait >= left) {
                return Err(post.not_taken(&format!(
                    "{reason}, and the deadline comes before another try"
                )));
            }
            sleep(wait).await;
            pause = pause.saturating_mul(2);
        }
    }

    async fn attempt(&self, client: &Client, post: &Post, received: &mut Vec<u8>) -> Attempt {
        let deadline = Instant::now() + self.policy.answer_timeout;
        let request = client
            .post(post.url.clone())
            .headers(post.headers.clone())
            .body(post.body.clone());
        let response = match timeout_at(deadline, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return post.unsent_or_lost(error),
            Err(_) => return Attempt::Ended(post.no_answer("gave no answer in time")),
        };
        let status = response.status();
        if status.is_success() {
            return match read(response, self.policy.response_bytes, deadline, received).await {
                BodyEnd::Whole => Attempt::Answered,
                BodyEnd::TooLarge => Attempt::Ended(post.unreadable(&format!(
                    "the answer is larger than {} bytes",
                    self.policy.response_bytes
                ))),
                BodyEnd::Cut(why) => {
                    Attempt::Ended(post.unreadable(&format!("the answer was cut off: {why}")))
                }
                BodyEnd::TimedOut => {
                    Attempt::Ended(post.no_answer("didn't finish its answer in time"))
                }
            };
        }
        let wait = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| retry_after::read(value, Timestamp::now()));
        let deadline = deadline.min(Instant::now() + self.policy.error_body_timeout);
        // However the body ended: the status decides.
        let _ = read(response, self.policy.response_bytes, deadline, received).await;
        post.turned_down(status, wait, received)
    }

    /// The client for that address, made when it is first needed. Only encrypted requests may take a
    /// proxy of the environment: it would read the key of the others (M4).
    fn client(&self, url: &Url) -> Result<&Client, String> {
        let client = if url.scheme() == "https" {
            self.encrypted
                .get_or_init(|| self.build(|builder| builder.https_only(true)))
        } else {
            // Loads no certificates, which it has no use for.
            self.plain
                .get_or_init(|| self.build(|builder| builder.no_proxy().tls_certs_only([])))
        };
        client.as_ref().map_err(Clone::clone)
    }

    fn build(
        &self,
        kind: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
    ) -> Result<Client, String> {
        let builder = Client::builder()
            .user_agent(concat!("amos-tui/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .pool_max_idle_per_host(0)
            .tcp_keepalive(Duration::from_secs(30))
            .connect_timeout(self.policy.connect_timeout);
        kind(builder)
            .build()
            .map_err(|error| format!("no connection can be made here: {}", cause(&error)))
    }

    /// Reads a small document without a body of ours and without a key; `None` if anything at all
    /// is in the way.
    pub(crate) async fn look_up(&self, url: Url, within: Duration) -> Option<Vec<u8>> {
        const LOOKED_UP_BYTES: usize = 1024 * 1024;
        let deadline = Instant::now() + within;
        let request = self.client(&url).ok()?.get(url).send();
        let response = timeout_at(deadline, request).await.ok()?.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let mut received = Vec::new();
        match read(response, LOOKED_UP_BYTES, deadline, &mut received).await {
            BodyEnd::Whole => Some(received),
            BodyEnd::TooLarge | BodyEnd::Cut(_) | BodyEnd::TimedOut => None,
        }
    }
}

impl Post {
    fn who(&self) -> String {
        format!("{} at {}", self.provider, self.host)
    }

    fn not_taken(&self, what: &str) -> ModelOutcome {
        ModelOutcome::NotTaken {
            reason: format!("{}: {what}", self.who()),
        }
    }

    fn no_answer(&self, what: &str) -> ModelOutcome {
        ModelOutcome::NoAnswer {
            reason: format!("{}: {what}", self.who()),
        }
    }

    /// The outcome for an answer that can't be read.
    pub(crate) fn unreadable(&self, what: &str) -> ModelOutcome {
        ModelOutcome::Unreadable {
            reason: format!("{}: {what}", self.who()),
        }
    }

    /// Tells "no connection was made" from "lost after sending". Only the first is provable.
    fn unsent_or_lost(&self, error: reqwest::Error) -> Attempt {
        let why = cause(&error);
        if error.is_builder() {
            Attempt::Ended(self.not_taken(&format!("the request can't be written: {why}")))
        } else if error.is_connect() {
            Attempt::TryAgain {
                reason: format!("can't be reached ({why})"),
                wait: None,
            }
        } else {
            Attempt::Ended(self.no_answer(&format!("the connection was lost ({why})")))
        }
    }

    /// What a status other than 2xx says (G3).
    fn turned_down(&self, status: StatusCode, wait: Option<Duration>, body: &[u8]) -> Attempt {
        let masked = words::mask(body.to_vec(), self.secret.as_ref());
        let message = words::provider_message(&masked);
        let mut said = format!("answered {status}");
        if !message.is_empty() {
            said = format!("{said} ({message})");
        }
        match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                Attempt::TryAgain { reason: said, wait }
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT => {
                Attempt::Ended(self.no_answer(&said))
            }
            status if status.is_client_error() || status.is_redirection() => {
                let advice = self.advice(status);
                Attempt::Ended(self.not_taken(&format!("{said}; {advice}")))
            }
            _ => Attempt::Ended(self.no_answer(&said)),
        }
    }

    fn advice(&self, status: StatusCode) -> String {
        match (status, self.provider.key_variable()) {
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(variable)) => {
                format!("check {variable}")
            }
            (StatusCode::NOT_FOUND, _) => "check the model's name and the address".to_owned(),
            (status, _) if status.is_redirection() => {
                "redirects are not followed, so set the address it leads to".to_owned()
            }
            _ => "check the model and its settings".to_owned(),
        }
    }
}

async fn read(
    mut response: Response,
    most: usize,
    deadline: Instant,
    received: &mut Vec<u8>,
) -> BodyEnd {
    loop {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                let room = most - received.len();
                match chunk.get(..room) {
                    Some(fits) if fits.len() < chunk.len() => {
                        received.extend_from_slice(fits);
                        return BodyEnd::TooLarge;
                    }
                    _ => received.extend_from_slice(&chunk),
                }
            }
            Ok(Ok(None)) => return BodyEnd::Whole,
            Ok(Err(error)) => return BodyEnd::Cut(cause(&error)),
            Err(_) => return BodyEnd::TimedOut,
        }
    }
}

/// The innermost reason of an error. The outer ones repeat the address, which isn't shown.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost = error.source();
    while let Some(source) = innermost.and_then(Error::source) {
        innermost = Some(source);
    }
    match innermost {
        Some(source) => words::line(&source.to_string()),
        None => "no further reason is known".to_owned(),
    }
}
