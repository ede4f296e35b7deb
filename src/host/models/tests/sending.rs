//! Which outcome each way of failing has, and how often a request really goes out (G3, M2).

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use tokio::net::TcpListener;

use crate::host::models::tests::server::{Act, says_with};

use super::*;

/// Calls the OpenAI wire of a server with these acts: outcome, sends at the server, reply.
async fn against(acts: impl IntoIterator<Item = Act>) -> (&'static str, usize, ModelReply) {
    let server = Misbehaving::with(acts).await;
    let models = models_at(&format!("http://{}", server.address));
    let (reply, announced) = call(&models, request(Provider::OpenAi)).await;
    let sends = server.arrived();
    for (arrived, n) in sends.iter().zip(1..) {
        assert_eq!(arrived.body, reply.request, "send {n} has other bytes");
    }
    let expected: Vec<u32> = (1..).take(sends.len()).collect();
    assert_eq!(announced, expected, "announced and arrived sends differ");
    (word(&reply.outcome), sends.len(), reply)
}

fn in_a_moment() -> String {
    let mut text = String::new();
    DateTimePrinter::new()
        .print_timestamp_rfc9110(&Timestamp::now(), &mut text)
        .expect("date");
    text
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_and_answers() {
    // M2
    for busy in [
        says_with(429, "retry-after", "0"),
        says_with(429, "Retry-After", &in_a_moment()),
        says(429, "slow down"),
        says_with(503, "retry-after", "0"),
        says(503, ""),
    ] {
        let (outcome, sends, _) = against([busy.clone(), busy, says(200, &passing())]).await;
        assert_eq!((outcome, sends), ("answered", 3));
    }
}

#[tokio::test]
async fn a_provider_that_stays_busy_is_sent_four_requests_and_no_more() {
    // M2, G3
    for status in [429, 503] {
        let busy = || says(status, r#"{"error":{"message":"over quota"}}"#);
        let (outcome, sends, reply) = against([busy(), busy(), busy(), busy(), busy()]).await;
        assert_eq!((outcome, sends), ("not taken", 4));
        assert!(reason(&reply.outcome).contains("over quota"));
        assert_eq!(
            &reply.response[..],
            br#"{"error":{"message":"over quota"}}"#
        );
    }
}

#[tokio::test]
async fn a_long_retry_after_fails_now() {
    // M2
    let later = "Fri, 31 Dec 2100 23:59:59 GMT";
    for value in ["61", "3600", later] {
        let (outcome, sends, _) = against([says_with(429, "retry-after", value)]).await;
        assert_eq!((outcome, sends), ("not taken", 1), "{value}");
    }
}

#[tokio::test]
async fn a_wait_past_the_deadline_fails_now() {
    // M2
    let server = Misbehaving::with([says_with(503, "retry-after", "5")]).await;
    let models = models_at(&format!("http://{}", server.address));
    let (mut context, announced) = context();
    context.remaining_ms = Some(4_000);
    let reply = models.call(request(Provider::OpenAi), context).await;
    assert_eq!(word(&reply.outcome), "not taken");
    assert!(reason(&reply.outcome).contains("deadline"));
    assert_eq!(announced.numbers(), [1]);
}

#[tokio::test]
async fn client_errors_and_redirects_were_not_taken() {
    // G3
    for status in [
        300, 301, 302, 304, 307, 308, 400, 401, 402, 403, 404, 413, 418, 422, 499,
    ] {
        let (outcome, sends, _) = against([says_with(status, "location", "/v1/elsewhere")]).await;
        assert_eq!((outcome, sends), ("not taken", 1), "{status}");
    }
}

#[tokio::test]
async fn what_may_have_been_taken_has_no_answer() {
    // G3
    for status in [408, 409, 500, 501, 502, 504, 529] {
        let (outcome, sends, _) = against([says_with(status, "retry-after", "0")]).await;
        assert_eq!((outcome, sends), ("no answer", 1), "{status}");
    }
    let (outcome, sends, _) = against([Act::Close]).await;
    assert_eq!((outcome, sends), ("no answer", 1), "closed after reading");
    let half_a_head = Act::Raw(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec());
    let (outcome, sends, _) = against([half_a_head]).await;
    assert_eq!((outcome, sends), ("no answer", 1), "closed in the head");
}

#[tokio::test]
async fn a_lost_resend_has_no_answer_though_the_first_was_not_taken() {
    let (outcome, sends, _) = against([says(429, ""), Act::Close]).await;
    assert_eq!((outcome, sends), ("no answer", 2));
}

#[tokio::test]
async fn a_status_counts_even_where_its_body_is_cut() {
    let cut = Act::Raw(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 900\r\n\r\n{\"err".to_vec());
    let (outcome, sends, reply) = against([cut]).await;
    assert_eq!((outcome, sends), ("not taken", 1));
    assert_eq!(&reply.response[..], b"{\"err");
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_unreadable_and_kept() {
    // G3
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"choices\":[".to_vec();
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"cho\r\n".to_vec();
    let huge = format!("{{\"choices\":\"{}\"}}", "x".repeat(70_000));
    for (act, kept) in [
        (Act::Raw(cut), 12),
        (Act::Raw(chunked), 5),
        (says(200, &huge), 64 * 1024),
        (says(200, "<html>welcome</html>"), 20),
        (says(200, ""), 0),
        (says(200, "[]"), 2),
        (says(200, "{}"), 2),
        (says(200, r#"{"choices":[]}"#), 14),
        (says(200, r#"{"choices":[{"message":7}]}"#), 27),
        (says(200, r#"{"error":{"message":"upstream"}}"#), 32),
    ] {
        let (outcome, sends, reply) = against([act.clone()]).await;
        assert_eq!((outcome, sends), ("unreadable", 1), "{act:?}");
        assert_eq!(reply.response.len(), kept, "{act:?}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_tried_four_times_and_was_not_taken() {
    // M2, G3
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let models = models_at(&format!("http://{address}"));
    let (reply, announced) = call(&models, request(Provider::OpenAi)).await;
    assert_eq!(word(&reply.outcome), "not taken");
    assert_eq!(announced, [1, 2, 3, 4]);
    assert!(reason(&reply.outcome).contains(&address.to_string()));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_was_not_taken() {
    // G3
    let models = models_at("http://no-such-host.invalid");
    let (reply, announced) = call(&models, request(Provider::Ollama)).await;
    assert_eq!(word(&reply.outcome), "not taken");
    assert_eq!(announced, [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_failed_handshake_was_not_taken_and_the_request_never_left() {
    // G3: the server reads a TLS greeting, which is no request, and hangs up.
    let server = Misbehaving::with([Act::Close, Act::Close, Act::Close, Act::Close]).await;
    let models = models_at(&format!("https://{}", server.address));
    let (reply, announced) = call(&models, request(Provider::OpenAi)).await;
    assert_eq!(word(&reply.outcome), "not taken", "{reply:?}");
    assert_eq!(announced, [1, 2, 3, 4]);
    assert!(server.arrived().is_empty());
}

#[tokio::test]
async fn cancelling_stops_a_request_that_is_never_answered() {
    for act in [Act::Hang, Act::HangAfter("{\"cho".to_owned())] {
        let server = Misbehaving::with([act]).await;
        let models = models_at(&format!("http://{}", server.address));
        let (context, announced) = context();
        let cancellation = context.cancellation.clone();
        let answer = tokio::spawn(models.call(request(Provider::OpenAi), context));
        while server.arrived().is_empty() {
            tokio::task::yield_now().await;
        }
        cancellation.cancel();
        let reply = answer.await.expect("settled");
        assert_eq!(reply.outcome, ModelOutcome::Stopped);
        assert_eq!(announced.numbers(), [1]);
        assert!(!reply.request.is_empty());
    }
}

#[tokio::test]
async fn cancelling_ends_a_pause_and_a_cancelled_call_sends_nothing() {
    let server = Misbehaving::with([says_with(429, "retry-after", "59")]).await;
    let models = models_at(&format!("http://{}", server.address));
    let (first, announced) = context();
    let cancellation = first.cancellation.clone();
    let answer = tokio::spawn(models.call(request(Provider::OpenAi), first));
    while server.arrived().is_empty() {
        tokio::task::yield_now().await;
    }
    cancellation.cancel();
    assert_eq!(
        answer.await.expect("settled").outcome,
        ModelOutcome::Stopped
    );
    assert_eq!(announced.numbers(), [1]);

    let (second, announced) = context();
    second.cancellation.cancel();
    for provider in [Provider::OpenAi, Provider::Offline] {
        let reply = models.call(request(provider), second.clone()).await;
        assert_eq!(reply.outcome, ModelOutcome::Stopped);
    }
    assert_eq!(announced.numbers(), [0; 0]);
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_is_no_answer() {
    // G3
    for act in [Act::Hang, Act::HangAfter("{".to_owned())] {
        let server = Misbehaving::with([act]).await;
        let base = BaseUrl::read("test", &format!("http://{}", server.address)).expect("address");
        let settings = ProviderSettings {
            openai_base_url: Some(base),
            ..ProviderSettings::default()
        };
        let policy = SendPolicy {
            answer_timeout: Duration::from_millis(100),
            ..quick()
        };
        let models = HostModels::with_policy(settings, policy);
        let (reply, announced) = call(&models, request(Provider::OpenAi)).await;
        assert_eq!(word(&reply.outcome), "no answer");
        assert_eq!(announced, [1]);
    }
}

#[tokio::test]
async fn the_key_goes_in_a_header_and_nowhere_else() {
    // M4; `call` looks at everything that comes back.
    let echo = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    for (provider, header, value) in [
        (Provider::OpenAi, "authorization", format!("Bearer {KEY}")),
        (Provider::Anthropic, "x-api-key", KEY.to_owned()),
        (Provider::Gemini, "x-goog-api-key", KEY.to_owned()),
    ] {
        let server = Misbehaving::with([says(401, &echo)]).await;
        let models = models_at(&format!("http://{}", server.address));
        let (reply, _) = call(&models, request(provider)).await;
        assert_eq!(word(&reply.outcome), "not taken");
        assert!(reason(&reply.outcome).contains("Incorrect API key"));
        assert!(reason(&reply.outcome).contains("API_KEY"), "{reply:?}");
        let arrived = server.arrived().remove(0);
        assert_eq!(arrived.header(header), Some(value.as_str()));
        assert!(!arrived.path().contains(KEY));
    }
}

#[tokio::test]
async fn without_a_key_no_authorization_header_is_sent() {
    // C5
    let server = Misbehaving::with([says(200, &passing())]).await;
    let base = format!("http://{}/v1", server.address);
    let settings = ProviderSettings {
        openai_key: Some("  ".into()),
        openai_base_url: Some(BaseUrl::read("test", &base).expect("address")),
        ..ProviderSettings::default()
    };
    let models = HostModels::with_policy(settings, quick());
    let (reply, _) = call(&models, request(Provider::OpenAi)).await;
    assert_eq!(word(&reply.outcome), "answered");
    let arrived = server.arrived().remove(0);
    assert_eq!(arrived.path(), "/v1/chat/completions");
    assert_eq!(arrived.header("authorization"), None);
    assert_eq!(arrived.header("cookie"), None);
}

#[tokio::test]
async fn a_provider_without_its_key_or_with_an_impossible_one_is_sent_nothing() {
    // T4
    for key in [None, Some("bad\nkey")] {
        let settings = ProviderSettings {
            anthropic_key: key.map(Into::into),
            anthropic_base_url: Some(BaseUrl::read("test", "http://127.0.0.1:1").expect("address")),
            ..ProviderSettings::default()
        };
        let models = HostModels::with_policy(settings, quick());
        let (reply, announced) = call(&models, request(Provider::Anthropic)).await;
        assert_eq!(word(&reply.outcome), "not taken");
        assert!(!reason(&reply.outcome).contains("bad"));
        assert_eq!(announced, [0; 0]);
    }
}

#[tokio::test]
async fn a_providers_words_are_cleaned_and_bounded() {
    // M4, T8
    let body = format!("\u{1b}[2J{}\u{202e}", "é".repeat(5_000));
    let (_, _, reply) = against([says(400, &body)]).await;
    let reason = reason(&reply.outcome);
    assert!(!reason.chars().any(char::is_control));
    assert!(!reason.contains('\u{202e}'));
    assert!(reason.chars().count() < 500);
    assert_eq!(reply.response, body.as_bytes());
}

#[tokio::test]
async fn what_is_shown_of_a_model_is_its_name_and_host() {
    // M4
    let models = models_at("http://127.0.0.1:8080/secret/path?token=hush");
    assert_eq!(
        models.describe(&request(Provider::Ollama).model),
        "ollama/test/model-1 at 127.0.0.1:8080"
    );
    let offline = ResolvedModel {
        provider: "offline".to_owned(),
        ..request(Provider::Offline).model
    };
    assert_eq!(models.describe(&offline), "offline (asks no provider)");
}

#[tokio::test]
async fn a_local_ollama_lists_its_models_and_an_absent_one_none() {
    // T4
    let tags = r#"{"models":[{"name":"qwen3:4b"},{"name":"llama3.2:latest"}]}"#;
    let server = Misbehaving::with([says(200, tags), says(500, tags), says(200, "no")]).await;
    let models = models_at(&format!("http://{}", server.address));
    let within = Duration::from_secs(5);
    let names = models.ollama_models(within).await;
    assert_eq!(
        names,
        Some(vec!["qwen3:4b".to_owned(), "llama3.2:latest".to_owned()])
    );
    assert_eq!(server.arrived()[0].path(), "/api/tags");
    assert_eq!(models.ollama_models(within).await, None);
    assert_eq!(models.ollama_models(within).await, None);
    let hanging = Misbehaving::with([Act::Hang]).await;
    let models = models_at(&format!("http://{}", hanging.address));
    assert_eq!(models.ollama_models(Duration::from_millis(50)).await, None);
}
