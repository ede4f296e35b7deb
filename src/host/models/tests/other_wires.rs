//! What the wires of Anthropic, Gemini and Ollama say, and what they make of an answer (M1, M3, G4).

use crate::engine::ports::{Finish, TokenUsage};
use crate::host::models::names::ToolNames;
use crate::host::models::openai as wire_openai;
use crate::host::models::wire::{Asked, Reading, Unreadable};
use crate::host::models::{anthropic, gemini, ollama};

use super::*;

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
async fn ollama_is_offered_the_tool_that_it_cannot_be_forced_to_call() {
    // G4
    let body = json!({
        "model": "test", "done": true, "done_reason": "stop",
        "message": { "role": "assistant", "content": "", "tool_calls": [
            { "function": { "name": "route_next_steps", "arguments": { "verdict": "pass" } } },
        ] },
        "prompt_eval_count": 21, "eval_count": 8,
    });
    let (sent, path, reply) = ask(request(Provider::Ollama), &body.to_string()).await;
    assert_eq!(path, "/api/chat");
    let offered = &sent["tools"][0]["function"];
    assert_eq!(offered["name"], "route_next_steps");
    assert_eq!(offered["parameters"], seen_schema());
    assert_eq!(sent["stream"], false);
    assert_eq!(sent["messages"][0]["content"], "You test.");
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
async fn text_of_ollama_that_looks_like_a_call_is_text() {
    // G4
    let text = r#"{"verdict":"pass","reasoning":"r","next_steps":[]}"#;
    let body = json!({ "done": true, "message": { "role": "assistant", "content": text } });
    let (_, _, reply) = ask(request(Provider::Ollama), &body.to_string()).await;
    assert_eq!(answer(&reply).calls, []);
    assert_eq!(answer(&reply).text.as_deref(), Some(text));
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

/// Every body that differs from this one in one place.
fn broken_in_one_place(body: &Value) -> Vec<Value> {
    let junk = [
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!({}),
        json!([7]),
    ];
    let mut broken: Vec<Value> = junk.to_vec();
    match body {
        Value::Object(fields) => {
            for (name, value) in fields {
                for other in broken_in_one_place(value) {
                    let mut body = body.clone();
                    body[name] = other;
                    broken.push(body);
                }
            }
        }
        Value::Array(items) => {
            for (n, value) in items.iter().enumerate() {
                for other in broken_in_one_place(value) {
                    let mut body = body.clone();
                    body[n] = other;
                    broken.push(body);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    broken
}

#[test]
fn no_broken_body_brings_a_reader_down_or_names_a_tool_that_it_does_not_name() {
    // M3
    let names = ToolNames::of(&[route_tool()]);
    let asked = Asked {
        names: &names,
        messages: 1,
    };
    let call = json!({ "name": "route_next_steps", "arguments": {}, "args": {}, "input": {} });
    let mut anthropic_call = call.clone();
    anthropic_call["type"] = "tool_use".into();
    type Reader = fn(&[u8], &Asked<'_>) -> Result<Reading, Unreadable>;
    let wires: [(Reader, Value); 4] = [
        (
            wire_openai::read,
            json!({ "usage": { "prompt_tokens": 1 }, "choices": [{ "finish_reason": "stop", "message": {
                "content": [{ "text": "x" }], "refusal": null, "reasoning_content": "r",
                "tool_calls": [{ "id": "c", "function": call }],
            } }] }),
        ),
        (
            anthropic::read,
            json!({ "stop_reason": "tool_use", "usage": { "input_tokens": 1 }, "content": [
                { "type": "thinking" }, { "type": "text", "text": "x" }, anthropic_call,
            ] }),
        ),
        (
            gemini::read,
            json!({ "candidates": [{ "finishReason": "STOP", "content": { "parts": [
                { "text": "x" }, { "functionCall": call, "thoughtSignature": "s" },
            ] } }], "usageMetadata": {}, "promptFeedback": { "blockReason": "x" } }),
        ),
        (
            ollama::read,
            json!({ "done": true, "done_reason": "stop", "eval_count": 1, "message": {
                "content": "x", "tool_calls": [{ "function": call }],
            } }),
        ),
    ];
    for (read, body) in wires {
        let whole = read(body.to_string().as_bytes(), &asked).expect("readable");
        assert_eq!(whole.answer.calls.len(), 1);
        for body in broken_in_one_place(&body) {
            if let Ok(reading) = read(body.to_string().as_bytes(), &asked) {
                for call in reading.answer.calls {
                    assert!(body.to_string().contains(&call.name), "{body}");
                }
            }
        }
    }
}
