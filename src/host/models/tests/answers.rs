//! What each wire says, and what it makes of an answer (M1, M3, G4). The bodies are shaped as the
//! providers document them.

use crate::engine::ports::{CallArguments, Finish, TokenUsage, ToolCall};
use crate::engine::routine::definition::ReasoningEffort;
use crate::host::models::names::ToolNames;
use crate::host::models::openai::{Dialect, body as openai_body};
use crate::host::models::tests::server::{Act, Misbehaving, says};

use super::*;

/// Sends one request to a server with one answer.
async fn ask(asked: ModelRequest, body: &str) -> (Value, String, ModelReply) {
    let server = Misbehaving::with([says(200, body)]).await;
    let models = models_at(&format!("http://{}", server.address));
    let (reply, announced) = call(&models, asked).await;
    assert_eq!(announced, [1]);
    assert_eq!(&reply.response[..], body.as_bytes());
    let arrived = server.arrived().remove(0);
    assert_eq!(arrived.body, reply.request);
    let sent = serde_json::from_slice(&arrived.body).expect("json");
    (sent, arrived.path().to_owned(), reply)
}

async fn openai(body: &str) -> ModelReply {
    ask(request(Provider::OpenAi), body).await.2
}

fn pass(id: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "route_next_steps".to_owned(),
        arguments: CallArguments::Json(json!({ "verdict": "pass" })),
    }
}

/// The schema of `route_next_steps` as a provider sees it.
fn seen_schema() -> Value {
    let text = route_tool().schema.to_string();
    let text = text
        .replace(r#","x-on":"pass""#, "")
        .replace(r#","x-on":"fail""#, "");
    assert!(!text.contains("x-on"));
    serde_json::from_str(&text).expect("json")
}

/// A conversation with a call of a dotted tool, a broken call, and what came of them.
fn conversation(provider: Provider, ids: [&str; 2]) -> ModelRequest {
    let tool = OfferedTool {
        name: "git.log".to_owned(),
        description: "Reads the log.".to_owned(),
        schema: json!({ "type": "object" }),
    };
    let broken = ToolCall {
        id: ids[1].to_owned(),
        name: "git.log".to_owned(),
        arguments: CallArguments::Malformed("{\"n\":".to_owned()),
    };
    let result = |id: &str, content: &str| Message::ToolResult {
        call: id.to_owned(),
        tool: "git.log".to_owned(),
        content: content.to_owned(),
    };
    let messages = [
        Message::User("Do the step.".to_owned()),
        Message::Assistant {
            text: Some("I look.".to_owned()),
            calls: vec![
                ToolCall {
                    id: ids[0].to_owned(),
                    name: "git.log".to_owned(),
                    arguments: CallArguments::Json(json!({ "n": 1 })),
                },
                broken,
            ],
        },
        result(ids[0], "a commit"),
        result(ids[1], "no JSON"),
        Message::User("Go on.".to_owned()),
    ];
    ModelRequest {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([tool, route_tool()]),
        tool_choice: ToolChoice::Auto,
        reasoning_effort: Some(ReasoningEffort::Low),
        max_output_tokens: Some(77),
        ..request(provider)
    }
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
async fn anthropic_is_forced_and_read_and_gets_its_thinking_back() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            { "type": "thinking", "thinking": "hm", "signature": "sig" },
            { "type": "text", "text": "Done." },
            { "type": "tool_use", "id": "toolu_1", "name": "git_log", "input": { "verdict": "pass" } },
        ],
        "usage": { "input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 5 },
    });
    let server =
        Misbehaving::with([says(200, &body.to_string()), says(200, &body.to_string())]).await;
    let models = models_at(&format!("http://{}", server.address));
    let mut asked = conversation(Provider::Anthropic, ["toolu_1", "toolu_2"]);
    asked.tool_choice = ToolChoice::Forced("git.log".to_owned());
    let (reply, _) = call(&models, asked.clone()).await;
    let usage = TokenUsage {
        input_tokens: 43,
        output_tokens: 5,
    };
    assert_eq!(answer(&reply).usage, usage);
    assert_eq!(answer(&reply).calls[0].name, "git.log");
    assert_eq!(answer(&reply).text.as_deref(), Some("Done."));

    call(&models, asked).await;
    let arrived = server.arrived();
    assert_eq!(arrived[0].path(), "/v1/messages");
    assert_eq!(arrived[0].header("anthropic-version"), Some("2023-06-01"));
    let first: Value = serde_json::from_slice(&arrived[0].body).expect("json");
    let second: Value = serde_json::from_slice(&arrived[1].body).expect("json");
    assert_eq!(
        first["tool_choice"],
        json!({ "type": "tool", "name": "git_log" })
    );
    assert_eq!(first["system"], "You test.");
    assert_eq!(first["max_tokens"], 77);
    assert_eq!(first["output_config"], json!({ "effort": "low" }));
    assert_eq!(
        first["messages"],
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "Do the step." }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "toolu_1", "name": "git_log", "input": { "n": 1 } },
                { "type": "tool_use", "id": "toolu_2", "name": "git_log", "input": { "malformed": "{\"n\":" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": "a commit" },
                { "type": "tool_result", "tool_use_id": "toolu_2", "content": "no JSON" },
                { "type": "text", "text": "Go on." },
            ] },
        ])
    );
    assert_eq!(second["messages"][1]["content"][0], body["content"][0]);
}

#[tokio::test]
async fn anthropic_endings_are_told_apart() {
    // M3, V10
    let ended = async |reason: &str| {
        let body = json!({ "content": [{ "type": "text", "text": "x" }], "stop_reason": reason });
        ask(request(Provider::Anthropic), &body.to_string()).await.2
    };
    for reason in ["max_tokens", "model_context_window_exceeded"] {
        assert_eq!(answer(&ended(reason).await).finish, Finish::CutOff);
    }
    let refused = ended("refusal").await;
    assert!(matches!(answer(&refused).finish, Finish::Refused { .. }));
    assert_eq!(word(&ended("pause_turn").await.outcome), "unreadable");
    assert_eq!(answer(&ended("end_turn").await).finish, Finish::Complete);
}

#[tokio::test]
async fn an_anthropic_limit_is_always_sent_and_some_models_are_never_forced() {
    let body = r#"{"content":[],"stop_reason":"end_turn"}"#;
    let (sent, _, _) = ask(request(Provider::Anthropic), body).await;
    assert_eq!(sent["max_tokens"], 16_384);
    let mut asked = request(Provider::Anthropic);
    asked.model.model = "claude-opus-5-5".to_owned();
    let (sent, _, _) = ask(asked, body).await;
    assert_eq!(sent.get("tool_choice"), None);
}

#[tokio::test]
async fn gemini_is_forced_and_read_and_gets_its_signature_back() {
    let body = json!({
        "candidates": [{ "finishReason": "STOP", "content": { "role": "model", "parts": [
            { "text": "hm", "thought": true },
            { "text": "Done." },
            { "functionCall": { "name": "git_log", "args": { "verdict": "pass" } }, "thoughtSignature": "c2ln" },
        ] } }],
        "usageMetadata": { "promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 2 },
    });
    let server =
        Misbehaving::with([says(200, &body.to_string()), says(200, &body.to_string())]).await;
    let models = models_at(&format!("http://{}", server.address));
    // The first answer to a conversation of five entries: the id that the adapter makes up.
    let mut asked = conversation(Provider::Gemini, ["amos_call_5_0", "given"]);
    asked.model.model = "gemini-3-pro".to_owned();
    asked.tool_choice = ToolChoice::Forced("git.log".to_owned());
    let (reply, _) = call(&models, asked.clone()).await;
    let answer = answer(&reply);
    assert_eq!(answer.text.as_deref(), Some("Done."));
    assert_eq!(answer.calls[0].id, "amos_call_5_0");
    assert_eq!(answer.calls[0].name, "git.log");
    let usage = TokenUsage {
        input_tokens: 9,
        output_tokens: 6,
    };
    assert_eq!(answer.usage, usage);

    call(&models, asked).await;
    let arrived = server.arrived();
    assert_eq!(
        arrived[0].path(),
        "/v1beta/models/gemini-3-pro:generateContent"
    );
    let first: Value = serde_json::from_slice(&arrived[0].body).expect("json");
    let second: Value = serde_json::from_slice(&arrived[1].body).expect("json");
    assert_eq!(
        first["toolConfig"],
        json!({ "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": ["git_log"] } })
    );
    assert_eq!(
        first["generationConfig"],
        json!({ "maxOutputTokens": 77, "thinkingConfig": { "thinkingLevel": "low" } })
    );
    assert_eq!(
        first["systemInstruction"],
        json!({ "parts": [{ "text": "You test." }] })
    );
    assert_eq!(
        first["contents"],
        json!([
            { "role": "user", "parts": [{ "text": "Do the step." }] },
            { "role": "model", "parts": [
                { "text": "I look." },
                { "functionCall": { "name": "git_log", "args": { "n": 1 } } },
                { "functionCall": { "id": "given", "name": "git_log", "args": { "malformed": "{\"n\":" } } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "name": "git_log", "response": { "result": "a commit" } } },
                { "functionResponse": { "id": "given", "name": "git_log", "response": { "result": "no JSON" } } },
                { "text": "Go on." },
            ] },
        ])
    );
    assert_eq!(
        second["contents"][1]["parts"][1]["thoughtSignature"],
        "c2ln"
    );
}

#[tokio::test]
async fn gemini_endings_are_told_apart() {
    // M3
    let ended = async |candidate: Value| {
        let body = json!({ "candidates": [candidate] });
        ask(request(Provider::Gemini), &body.to_string()).await.2
    };
    let parts = json!({ "parts": [{ "text": "x" }] });
    let cut = ended(json!({ "finishReason": "MAX_TOKENS", "content": parts })).await;
    assert_eq!(answer(&cut).finish, Finish::CutOff);
    for reason in ["SAFETY", "RECITATION", "PROHIBITED_CONTENT"] {
        let refused = ended(json!({ "finishReason": reason })).await;
        assert!(matches!(answer(&refused).finish, Finish::Refused { .. }));
    }
    let malformed = ended(json!({ "finishReason": "MALFORMED_FUNCTION_CALL" })).await;
    assert_eq!(answer(&malformed).calls, []);
    assert_eq!(answer(&malformed).finish, Finish::Complete);
    let other = ended(json!({ "finishReason": "OTHER" })).await;
    assert_eq!(word(&other.outcome), "unreadable");
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#;
    let (_, _, reply) = ask(request(Provider::Gemini), blocked).await;
    assert!(matches!(answer(&reply).finish, Finish::Refused { .. }));
}

#[tokio::test]
async fn ollama_is_bound_by_the_schema_and_its_answer_is_the_call() {
    // G4
    let body = json!({
        "model": "test", "done": true, "done_reason": "stop",
        "message": { "role": "assistant", "content": "{\"verdict\":\"pass\"}" },
        "prompt_eval_count": 21, "eval_count": 8,
    });
    let (sent, path, reply) = ask(request(Provider::Ollama), &body.to_string()).await;
    assert_eq!(path, "/api/chat");
    assert_eq!(sent["format"], seen_schema());
    assert_eq!(sent.get("tools"), None);
    assert_eq!(sent["stream"], false);
    let system = sent["messages"][0]["content"].as_str().expect("text");
    assert!(system.starts_with("You test.\n\n"));
    assert!(system.contains("route_next_steps"));
    assert_eq!(
        answer(&reply),
        &ModelAnswer {
            text: None,
            calls: vec![pass("amos_call_1_0")],
            finish: Finish::Complete,
            usage: TokenUsage {
                input_tokens: 21,
                output_tokens: 8
            },
        }
    );
}

#[tokio::test]
async fn ollama_endings_are_told_apart() {
    // M3
    let ended = async |mut body: Value, content: &str| {
        body["message"] = json!({ "role": "assistant", "content": content });
        ask(request(Provider::Ollama), &body.to_string()).await.2
    };
    let cut = ended(json!({ "done": true, "done_reason": "length" }), "{}").await;
    assert_eq!(answer(&cut).finish, Finish::CutOff);
    let malformed = ended(json!({ "done": true }), "{\"verdict\":").await;
    let expected = CallArguments::Malformed("{\"verdict\":".to_owned());
    assert_eq!(answer(&malformed).calls[0].arguments, expected);
    let silent = ended(json!({ "done": true }), "").await;
    assert_eq!(answer(&silent).calls, []);
    let unfinished = ended(json!({ "done": false }), "{}").await;
    assert_eq!(word(&unfinished.outcome), "unreadable");
}

#[tokio::test]
async fn ollama_is_offered_tools_where_none_is_forced() {
    let body = json!({ "done": true, "message": { "content": "{\"verdict\":\"pass\"}", "tool_calls": [
        { "function": { "name": "git_log", "arguments": { "n": 2 } } },
    ] } });
    let asked = conversation(Provider::Ollama, ["a", "b"]);
    let (sent, _, reply) = ask(asked, &body.to_string()).await;
    assert_eq!(sent["tools"][0]["function"]["name"], "git_log");
    assert_eq!(sent.get("format"), None);
    assert_eq!(sent["options"], json!({ "num_predict": 77 }));
    assert_eq!(
        sent["messages"][3],
        json!({ "role": "tool", "tool_name": "git_log", "content": "a commit" })
    );
    assert_eq!(answer(&reply).calls[0].name, "git.log");
    assert!(answer(&reply).text.is_some());
}

#[tokio::test]
async fn ollama_is_told_a_conversation_in_words_where_a_tool_is_forced() {
    let mut asked = conversation(Provider::Ollama, ["a", "b"]);
    asked.tool_choice = ToolChoice::Forced("route_next_steps".to_owned());
    let (sent, _, _) = ask(asked, r#"{"done":true,"message":{"content":"{}"}}"#).await;
    assert_eq!(
        sent["messages"][2],
        json!({ "role": "assistant", "content": "I look.\n{\"n\":1}\n{\"n\":" })
    );
    assert_eq!(
        sent["messages"][3],
        json!({ "role": "user", "content": "Result of `git.log`:\na commit" })
    );
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
