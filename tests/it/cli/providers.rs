//! What goes over the wire, what comes back, and what each answer means (G3, M1 to M4).

use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::gates::ONE;
use crate::cli::program::Ended;
use crate::cli::provider::{Provider, Reply, answer, calls, pass_to, route, status};

/// Runs one step against a server that always answers this.
fn against(reply: Reply) -> (Ended, usize) {
    let provider = Provider::answering(move |_, _| reply.clone());
    let place = provider.place();
    let ended = provider.run(&place, ONE, &[]);
    (ended, provider.seen().len())
}

/// Fails unless the step is uncertain for this reason, after one request.
#[track_caller]
fn assert_uncertain(reply: Reply, reason: &str) {
    let (ended, requests) = against(reply);
    let ended = ended.expect(3);
    assert_eq!(requests, 1);
    let paused = ended.paused();
    assert_eq!(paused["state"], "uncertain");
    let wait = &paused["waits"][0];
    assert_eq!([&wait["kind"], &wait["state"]], ["uncertain", "uncertain"]);
    let settled = &ended.of_step("step.settled", "draft")[0];
    assert_eq!(
        [&settled["verdict"], &settled["reason"]],
        ["uncertain", reason]
    );
    assert_eq!(ended.of("model.called").len(), 1);
}

/// Fails unless the routine failed because the provider didn't take the request.
#[track_caller]
fn assert_refused(reply: Reply, says: &str) {
    let (ended, requests) = against(reply);
    let settled = ended.expect(1).settled();
    assert_eq!(requests, 1);
    assert_eq!(
        [&settled["status"], &settled["reason"]],
        ["failed", "model_refused_request"]
    );
    assert_eq!(settled["step"], "draft");
    assert_eq!(settled["effects"], "before_effects");
    let text = settled["detail"]["text"].as_str().expect("a text");
    assert!(text.contains(says), "{text}");
}

// G4, G18, M1
#[test]
fn a_request_forces_the_one_tool_and_holds_only_the_step() {
    let provider = Provider::answering(|_, _| pass_to("done", "x"));
    let place = provider.place();
    let ended = provider.run(&place, ONE, &[]).expect(0);
    assert_eq!(
        ended.of("operation.started")[0]["model"],
        "openai/some/model"
    );
    let seen = &provider.seen()[0];
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.body["model"], "some/model");
    assert_eq!(
        seen.body["tool_choice"],
        json!({"type": "function", "function": {"name": "route_next_steps"}})
    );
    assert_eq!(seen.tools(), ["route_next_steps"]);
    let parameters = &seen.body["tools"][0]["function"]["parameters"];
    let next = &parameters["properties"]["next_steps"];
    assert_eq!(next["type"], "array");
    assert_eq!(next["items"]["properties"]["target_step"]["const"], "done");
    assert!(next["items"]["properties"]["handoff"].is_object());
    assert_eq!(seen.body["messages"].as_array().map(Vec::len), Some(1));
    assert!(seen.prompt().contains("Write."));
    // C5: without a key there is no authorization header.
    assert!(
        !seen.headers.contains_key("authorization"),
        "{:?}",
        seen.headers
    );
}

// G4: several targets are told apart by `oneOf`, retry edges included.
#[test]
fn a_gate_is_offered_all_of_its_targets_each_with_its_schema() {
    let provider = Provider::answering(|seen, _| {
        if seen.is_for("draft") {
            pass_to("review", "x")
        } else {
            pass_to("done", "x")
        }
    });
    let place = provider.place();
    provider
        .run(&place, crate::cli::gates::REWORK, &[])
        .expect(0);
    let seen = &provider.seen()[1];
    let items =
        &seen.body["tools"][0]["function"]["parameters"]["properties"]["next_steps"]["items"];
    let mut targets: Vec<&str> = items["oneOf"]
        .as_array()
        .expect("several")
        .iter()
        .filter_map(|it| it["properties"]["target_step"]["const"].as_str())
        .collect();
    targets.sort_unstable();
    assert_eq!(targets, ["done", "draft"]);
}

// G4: a tool choice isn't forced where other tools are offered, and the tool is never filtered.
#[test]
fn with_other_tools_the_choice_is_free() {
    let provider = Provider::answering(|_, _| pass_to("done", "x"));
    let place = provider.place();
    let text = ONE.replace("instructions: Write.", "tools: [read_file]");
    provider.run(&place, &text, &[]).expect(0);
    let seen = &provider.seen()[0];
    let mut tools = seen.tools();
    tools.sort_unstable();
    assert_eq!(tools, ["read_file", "route_next_steps"]);
    assert!(seen.body["tool_choice"].is_null() || seen.body["tool_choice"] == "auto");
}

// M4
#[test]
fn a_key_goes_to_its_provider_and_nowhere_else() {
    const KEY: &str = "sk-very-secret-0123456789";
    let provider = Provider::answering(|_, number| match number {
        // A provider that repeats the key doesn't get it into our records.
        1 => Reply::Whole(
            429,
            vec![("retry-after", "0".into())],
            format!("bad key {KEY}"),
        ),
        2 => calls(&[("read_file", json!({"path": KEY}))]),
        3 => calls(&[(
            "run_command",
            json!({"argv": ["sh", "-c", "env | tee env-of-tool"]}),
        )]),
        _ => pass_to("done", KEY),
    });
    let place = provider.place().with("OPENAI_API_KEY", KEY);
    let text = ONE.replace(
        "instructions: Write.",
        "tools: [read_file, run_command], verify: [{ check: command, run: [sh, -c, \"env > env-of-check\"] }]",
    );
    for format in ["json", "text"] {
        let further = ["--allow", "run_command", "--format", format];
        let file = place.file("routine.yaml", &text);
        let mut arguments = vec!["run", &file, "--model", "openai/m"];
        arguments.extend(further);
        let ended = place.amos(&arguments);
        assert!(!ended.stdout.contains(KEY), "{}", ended.stdout);
        assert!(!ended.stderr.contains(KEY), "{}", ended.stderr);
    }
    for seen in provider.seen() {
        assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}"));
        let sent = seen.body.to_string();
        assert!(!sent.contains(KEY), "{sent}");
    }
    // Commands of tools and checks don't get it either.
    for file in ["env-of-tool", "env-of-check"] {
        let environment = std::fs::read_to_string(place.workspace().join(file)).expect("written");
        assert!(
            environment.contains("PATH=") && !environment.contains("API_KEY"),
            "{environment}"
        );
    }
    let kept = place.kept();
    assert!(!kept.is_empty());
    let found = kept
        .windows(KEY.len())
        .filter(|part| *part == KEY.as_bytes())
        .count();
    assert_eq!(found, 0, "the key is on disk");
}

// M2, P16
#[test]
fn a_busy_provider_is_asked_again_and_each_send_is_told() {
    let provider = Provider::answering(|_, number| match number {
        1 => Reply::Whole(429, vec![("retry-after", "1".into())], String::new()),
        _ => pass_to("done", "x"),
    });
    let place = provider.place();
    let ended = provider.run(&place, ONE, &[]).expect(0);
    let called = ended.of("model.called");
    let tries: Vec<_> = called
        .iter()
        .map(|it| [it["turn"].clone(), it["try"].clone()])
        .collect();
    assert_eq!(json!(tries), json!([[1, 1], [1, 2]]));
    assert_eq!(called[0]["run"], called[1]["run"]);
    assert_eq!(ended.of("step.submitted").len(), 1);
    let seen = provider.seen();
    let pause = seen[1].at - seen[0].at;
    assert!(pause >= Duration::from_millis(950), "{pause:?}");
    assert_eq!(seen[0].body, seen[1].body);
    assert_eq!(ended.settled()["usage"]["model_calls"], 2);
}

// M2: at most 3 times more.
#[test]
fn a_provider_that_stays_busy_fails_the_routine_after_four_sends() {
    let busy = Reply::Whole(503, vec![("retry-after", "0".into())], "{}".into());
    let (ended, requests) = against(busy);
    let ended = ended.expect(1);
    assert_eq!(requests, 4);
    let tries: Vec<_> = ended
        .of("model.called")
        .iter()
        .map(|it| it["try"].clone())
        .collect();
    assert_eq!(json!(tries), json!([1, 2, 3, 4]));
    assert_eq!(ended.settled()["reason"], "model_refused_request");
}

// M2
#[test]
fn a_pause_of_more_than_a_minute_fails_now() {
    for after in ["61", "Fri, 31 Dec 2100 23:59:59 GMT"] {
        assert_refused(
            Reply::Whole(429, vec![("retry-after", after.into())], String::new()),
            "60",
        );
    }
}

// M2: not past a deadline either.
#[test]
fn a_pause_past_the_deadline_fails_now() {
    let provider = Provider::answering(|_, _| {
        Reply::Whole(429, vec![("retry-after", "30".into())], String::new())
    });
    let place = provider.place();
    let text = ONE.replace("entry_steps", "deadline_ms: 10000\nentry_steps");
    let settled = provider.run(&place, &text, &[]).expect(1).settled();
    assert_eq!(settled["reason"], "model_refused_request");
    assert_eq!(provider.seen().len(), 1);
}

// G3
#[test]
fn a_refused_request_fails_with_the_provider_s_words() {
    for (code, says) in [
        (400, "not today"),
        (401, "OPENAI_API_KEY"),
        (403, "OPENAI_API_KEY"),
        (404, "name"),
        (422, "not today"),
    ] {
        assert_refused(status(code), says);
    }
}

// G3
#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = Provider::answering(|_, _| pass_to("done", "x"));
    let to = elsewhere.place();
    drop(to);
    let location = vec![(
        "location",
        "http://127.0.0.1:1/v1/chat/completions".to_owned(),
    )];
    for code in [301, 302, 307, 308] {
        assert_refused(
            Reply::Whole(code, location.clone(), String::new()),
            "redirect",
        );
    }
    assert_eq!(elsewhere.seen().len(), 0);
}

// G3, M2: no connection made.
#[test]
fn a_provider_that_cannot_be_reached_fails_the_routine() {
    let place = crate::cli::program::Place::new().with("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    let file = place.file(
        "one.yaml",
        ONE.replace("entry_steps", "deadline_ms: 800\nentry_steps"),
    );
    let ended = place.run(&file, &["--model", "openai/m"]).expect(1);
    let settled = ended.settled();
    assert_eq!(settled["reason"], "model_refused_request");
    assert!(
        settled["detail"]["text"]
            .as_str()
            .expect("a text")
            .contains("127.0.0.1:1")
    );
}

// G3
#[test]
fn an_answer_that_never_came_is_uncertain_and_not_sent_again() {
    for code in [408, 409, 500, 502, 504] {
        assert_uncertain(status(code), "no_answer");
    }
}

// G3
#[test]
fn an_answer_that_cannot_be_read_is_uncertain() {
    for body in ["<html>busy</html>", "", "{}", "{\"choices\":[]}", "[1,2"] {
        assert_uncertain(
            Reply::Whole(200, Vec::new(), body.into()),
            "unreadable_answer",
        );
    }
    assert_uncertain(Reply::CutOff, "unreadable_answer");
}

// M3: also where its JSON happens to be complete.
#[test]
fn an_answer_cut_by_its_limit_is_never_acted_on() {
    let Reply::Whole(_, _, body) = pass_to("done", "x") else {
        unreachable!("a whole reply")
    };
    let mut body: Value = serde_json::from_str(&body).expect("JSON");
    body["choices"][0]["finish_reason"] = "length".into();
    assert_uncertain(Reply::Whole(200, Vec::new(), body.to_string()), "cut_off");
}

// M3
#[test]
fn a_refusal_is_uncertain_at_once() {
    let refusing = json!({"role": "assistant", "content": null, "refusal": "I would rather not"});
    assert_uncertain(answer(refusing, "stop"), "refusal");
    let filtered = json!({"role": "assistant", "content": ""});
    assert_uncertain(answer(filtered, "content_filter"), "refusal");
}

// M3: malformed arguments are corrected, never guessed.
#[test]
fn malformed_arguments_are_corrected_and_not_guessed() {
    let provider = Provider::answering(|_, number| match number {
        1 => answer(
            json!({"role": "assistant", "content": null, "tool_calls": [{
                "id": "a", "type": "function",
                "function": {"name": "route_next_steps", "arguments": "{\"verdict\": \"pass\", "},
            }]}),
            "tool_calls",
        ),
        _ => pass_to("done", "x"),
    });
    let place = provider.place();
    let ended = provider.run(&place, ONE, &[]).expect(0);
    assert_eq!(ended.of("model.called").len(), 2);
}

// G3, V24: a step's time limit.
#[test]
fn a_step_that_passes_its_time_limit_is_uncertain() {
    let provider = Provider::answering(|_, _| Reply::Silence);
    let place = provider.place();
    let text = ONE.replace("instructions: Write.", "timeout_ms: 150");
    let ended = provider.run(&place, &text, &[]).expect(3);
    assert_eq!(
        ended.of_step("step.settled", "draft")[0]["reason"],
        "timeout"
    );
}

// V24: in any state.
#[test]
fn a_deadline_ends_a_request_that_hangs() {
    let provider = Provider::answering(|_, _| Reply::Silence);
    let place = provider.place();
    let text = ONE.replace("entry_steps", "deadline_ms: 150\nentry_steps");
    let settled = provider.run(&place, &text, &[]).expect(1).settled();
    assert_eq!(
        [&settled["reason"], &settled["effects"]],
        ["deadline", "before_effects"]
    );
}

// G5, routine-format.md: inputs reach the model by name.
#[test]
fn inputs_reach_the_model_as_text_and_as_json() {
    let provider = Provider::answering(|_, _| route("pass", "x", &[("done", json!({"a": 1}))]));
    let place = provider.place();
    let text = ONE
        .replace(
            "entry_steps",
            "parameters: [{ name: a }, { name: b }, { name: c }]\nentry_steps",
        )
        .replace(
            "instructions: Write.",
            "instructions: \"A {{param.a}} B {{param.b}} C {{param.c}} {{{{x}}\"",
        );
    let further = ["-i", "a={{param.b}}=1", "-i", "b:=[1,{\"k\":null}]"];
    provider.run(&place, &text, &further).expect(0);
    // V21: one pass; null is nothing.
    let seen = provider.seen();
    assert!(
        seen[0]
            .prompt()
            .contains("A {{param.b}}=1 B [1,{\"k\":null}] C  {{x}}"),
        "{}",
        seen[0].prompt()
    );
}
