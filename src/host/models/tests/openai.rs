//! What the wire of OpenAI and its compatible servers says, and what it makes of an answer (M1, M3,
//! G4).

use crate::engine::ports::{Finish, TokenUsage};
use crate::host::models::names::ToolNames;
use crate::host::models::openai::{Dialect, body as openai_body};
use crate::host::models::tests::server::Act;

use super::*;

async fn openai(body: &str) -> ModelReply {
    ask(request(Provider::OpenAi), body).await.2
}

#[tokio::test]
async fn openai_is_forced_and_read() {
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "test",
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null, "refusal": null,
            "tool_calls": [{ "id": "call_1", "type": "function", "function": {
                "name": "route_next_steps", "arguments": "{\"verdict\": \"pass\"}",
            } }],
        } }],
        "usage": { "prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19 },
    });
    let (sent, path, reply) = ask(request(Provider::OpenAi), &body.to_string()).await;
    assert_eq!(path, "/v1/chat/completions");
    assert_eq!(sent["model"], "test/model-1");
    assert_eq!(
        sent["tool_choice"],
        json!({ "type": "function", "function": { "name": "route_next_steps" } })
    );
    assert_eq!(sent["tools"][0]["function"]["parameters"], seen_schema());
    assert_eq!(
        sent["messages"],
        json!([
            { "role": "system", "content": "You test." },
            { "role": "user", "content": "Do the step." },
        ])
    );
    assert_eq!(
        answer(&reply),
        &ModelAnswer {
            text: None,
            calls: vec![pass("call_1")],
            finish: Finish::Complete,
            usage: TokenUsage {
                input_tokens: 12,
                output_tokens: 7
            },
        }
    );
}

#[tokio::test]
async fn openai_is_told_a_conversation() {
    let asked = conversation(Provider::OpenAi, ["c1", "c2"]);
    let (sent, _, _) = ask(asked, &passing()).await;
    assert_eq!(
        sent["messages"][2],
        json!({ "role": "assistant", "content": "I look.", "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "git_log", "arguments": "{\"n\":1}" } },
            { "id": "c2", "type": "function", "function": { "name": "git_log", "arguments": "{\"malformed\":\"{\\\"n\\\":\"}" } },
        ] })
    );
    assert_eq!(
        sent["messages"][3],
        json!({ "role": "tool", "tool_call_id": "c1", "content": "a commit" })
    );
    assert_eq!(sent["reasoning_effort"], "low");
    assert_eq!(sent["max_tokens"], 77);
    assert_eq!(sent.get("tool_choice"), None);
}

#[tokio::test]
async fn what_a_compatible_server_says_beside_a_call_goes_back_with_it() {
    let call_with_extra = json!({
        "id": "c1", "type": "function", "extra_content": { "signature": "s" },
        "function": { "name": "git_log", "arguments": "{}" },
    });
    let message = json!({
        "content": null, "reasoning_content": "hm", "reasoning_details": null,
        "tool_calls": [call_with_extra],
    });
    let body = choice(message, "tool_calls");
    let server = Misbehaving::with([says(200, &body), says(200, &body)]).await;
    let models = models_at(&format!("http://{}", server.address));
    let asked = conversation(Provider::OpenAi, ["c1", "c2"]);
    call(&models, asked.clone()).await;
    call(&models, asked).await;
    let second: Value = serde_json::from_slice(&server.arrived()[1].body).expect("json");
    let said = &second["messages"][2];
    assert_eq!(said["reasoning_content"], "hm");
    assert_eq!(said.get("reasoning_details"), None);
    assert_eq!(
        said["tool_calls"][0]["extra_content"],
        json!({ "signature": "s" })
    );
    assert_eq!(said["tool_calls"][1].get("extra_content"), None);
}

#[tokio::test]
async fn an_answer_cut_by_its_limit_is_cut_off_though_its_json_is_complete() {
    // M3
    let cut = passing().replace(
        "\"finish_reason\":\"tool_calls\"",
        "\"finish_reason\":\"length\"",
    );
    let reply = openai(&cut).await;
    assert_eq!(answer(&reply).finish, Finish::CutOff);
    assert_eq!(answer(&reply).calls.len(), 1);
}

#[tokio::test]
async fn refusals_and_content_filters_are_refusals() {
    // M3
    let filtered = openai(&choice(json!({ "content": "" }), "content_filter")).await;
    assert!(matches!(answer(&filtered).finish, Finish::Refused { .. }));
    let refused = Finish::Refused {
        reason: "I won't.".to_owned(),
    };
    for message in [
        json!({ "content": null, "refusal": "I won't." }),
        json!({ "content": [{ "type": "refusal", "refusal": "I won't." }] }),
    ] {
        let reply = openai(&choice(message, "stop")).await;
        assert_eq!(answer(&reply).finish, refused);
    }
}

#[tokio::test]
async fn malformed_arguments_stay_as_they_came() {
    // M3
    let calls = |arguments: Value| {
        let message = json!({ "tool_calls": [{ "id": "c", "function": {
            "name": "route_next_steps", "arguments": arguments,
        } }] });
        choice(message, "tool_calls")
    };
    for text in ["{\"verdict\": ", "", "pass", "{'verdict':'pass'}", "{} {}"] {
        let reply = openai(&calls(text.into())).await;
        let expected = CallArguments::Malformed(text.to_owned());
        assert_eq!(answer(&reply).calls[0].arguments, expected);
    }
    let reply = openai(&calls(json!({ "verdict": "pass" }))).await;
    assert_eq!(answer(&reply).calls, [pass("c")]);
}

#[tokio::test]
async fn every_call_of_an_answer_is_kept_with_an_id_of_its_own() {
    let call = json!({ "id": "same", "function": {
        "name": "route_next_steps", "arguments": "{\"verdict\":\"pass\"}",
    } });
    let nameless = json!({ "function": { "name": "guessed", "arguments": "{}" } });
    let message = json!({ "content": "two", "tool_calls": [call, call, nameless] });
    let reply = openai(&choice(message, "tool_calls")).await;
    let ids: Vec<_> = answer(&reply).calls.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["same", "amos_call_1_1", "amos_call_1_2"]);
    assert_eq!(answer(&reply).calls[2].name, "guessed");
    assert_eq!(answer(&reply).text.as_deref(), Some("two"));
}

#[tokio::test]
async fn text_that_looks_like_a_call_is_text() {
    // G4
    let text = r#"{"name":"route_next_steps","arguments":{"verdict":"pass"}}"#;
    let reply = openai(&choice(json!({ "content": text }), "stop")).await;
    assert_eq!(answer(&reply).calls, []);
    assert_eq!(answer(&reply).text.as_deref(), Some(text));
    assert_eq!(answer(&reply).usage, TokenUsage::default());
}

#[tokio::test]
async fn a_call_without_a_name_is_unreadable() {
    let message = json!({ "tool_calls": [{ "id": "c", "function": { "arguments": "{}" } }] });
    let reply = openai(&choice(message, "tool_calls")).await;
    assert_eq!(word(&reply.outcome), "unreadable");
}

#[tokio::test]
async fn the_newest_openai_models_are_told_not_to_reason_beside_tools() {
    let names = ToolNames::of(&[route_tool()]);
    let effort = |model: &str, dialect| {
        let mut asked = request(Provider::OpenAi);
        asked.model.model = model.to_owned();
        asked.max_output_tokens = Some(5);
        let body = openai_body(&asked, &names, dialect, &|_| None);
        let body: Value = serde_json::from_slice(&body).expect("json");
        (
            body.get("reasoning_effort").cloned(),
            body.get("max_completion_tokens").is_some(),
        )
    };
    let none = Some(Value::from("none"));
    for model in ["gpt-5.4-mini", "gpt-5.5", "gpt-6", "gpt-6-luna"] {
        assert_eq!(effort(model, Dialect::OpenAi), (none.clone(), true));
    }
    for model in ["gpt-5.2", "gpt-5", "gpt-4o", "o3", "gpt-oss-20b"] {
        assert_eq!(effort(model, Dialect::OpenAi), (None, true));
    }
    assert_eq!(effort("gpt-5.5", Dialect::Compatible), (None, false));
}

#[tokio::test]
async fn an_unknown_provider_is_not_asked() {
    let mut asked = request(Provider::OpenAi);
    asked.model.provider = "nobody".to_owned();
    let server = Misbehaving::with([Act::Close]).await;
    let models = models_at(&format!("http://{}", server.address));
    let (reply, announced) = call(&models, asked).await;
    assert_eq!(word(&reply.outcome), "not taken");
    assert!(announced.is_empty());
}
