//! What goes to stdout: C3 field by field.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cli::program::{Ended, Place, demo};
use crate::cli::provider::{Provider, pass_to, route};

/// The fields of an event besides `seq`, `at`, `type` and `operation`.
fn fields(r#type: &str) -> &'static str {
    match r#type {
        "operation.started" => "routine model",
        "step.started" => "execution step lap kind agent",
        "step.submitted" => "execution step lap",
        "model.called" => "execution step lap run turn try model",
        "tool.called" => "execution step lap tool outcome",
        "step.settled" => "execution step lap verdict reason output data",
        "edge.activated" => "execution step lap edge condition attempt",
        "verify.decided" => "execution step lap phase decision basis reason",
        "operation.paused" => "state reason waits",
        "operation.resumed" => "generation",
        "source.recorded" => "execution step lap source bytes",
        "source.acknowledged" => "source receipt",
        "operation.settled" => "status reason detail step outputs fulfillment effects usage",
        other => panic!("no event of C3: {other}"),
    }
}

fn names(value: &Value) -> BTreeSet<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

/// Fails unless every event has the fields of C3 and no other, numbered without gaps.
fn assert_contract(ended: &Ended) {
    let events = ended.events();
    let operation = events[0]["operation"].as_str().expect("an id");
    for (n, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], n + 1, "{event}");
        assert_eq!(event["operation"], operation, "{event}");
        let at = event["at"].as_str().expect("a time");
        at.parse::<Timestamp>().expect("RFC 3339");
        let r#type = event["type"].as_str().expect("a type");
        let expected: BTreeSet<&str> = "seq at type operation"
            .split(' ')
            .chain(fields(r#type).split(' '))
            .collect();
        assert_eq!(names(event), expected, "{event}");
        for wait in event["waits"].as_array().into_iter().flatten() {
            let expected = "execution step lap phase kind state reason".split(' ');
            assert_eq!(names(wait), expected.collect(), "{event}");
        }
    }
    assert_eq!(events[0]["type"], "operation.started");
}

// C1, C2, C3, G10
#[test]
fn the_demo_ends_paused_and_its_last_line_says_so() {
    let ended = Place::new()
        .run(&demo("verified-submission"), &[])
        .expect(3);
    assert_contract(&ended);
    let paused = ended.paused();
    assert_eq!(paused["state"], "waiting");
    let wait = &paused["waits"][0];
    assert_eq!(
        [
            &wait["step"],
            &wait["lap"],
            &wait["phase"],
            &wait["kind"],
            &wait["state"]
        ],
        [
            &json!("draft"),
            &json!(1),
            &json!("step"),
            &json!("check"),
            &json!("waiting")
        ]
    );
    assert!(ended.of("operation.settled").is_empty());
    ended.says("--on-wait poll").says("model: offline");
}

// T3, V6
#[test]
fn polling_the_demo_submits_once_and_asks_the_model_once() {
    let ended = Place::new()
        .run(&demo("verified-submission"), &["--on-wait", "poll"])
        .expect(0);
    assert_contract(&ended);
    assert_eq!(ended.of("step.submitted").len(), 1);
    assert_eq!(ended.of("model.called").len(), 1);
    assert_eq!(ended.of("operation.paused").len(), 1);
    assert_eq!(ended.of("operation.resumed")[0]["generation"], 1);
    let settled = ended.settled();
    assert_eq!(settled["status"], "succeeded");
    assert_eq!(
        [&settled["reason"], &settled["step"], &settled["effects"]],
        [&Value::Null; 3]
    );
    assert_eq!(settled["usage"]["model_calls"], 1);
    assert_eq!(settled["usage"]["tool_calls"], 3);
    assert!(settled["outputs"]["done"].is_string());
}

// C3: what comes of pre and post steps, edges, verdicts, laps.
#[test]
fn events_tell_the_whole_story_in_order() {
    let provider = Provider::answering(|seen, number| {
        if seen.is_for("draft") {
            pass_to("review", &format!("draft {number}"))
        } else if number == 2 {
            route("fail", "no", &[("draft", json!({"change": "it"}))])
        } else {
            pass_to("done", "good")
        }
    });
    let place = provider.place();
    let ended = provider
        .run(&place, crate::cli::gates::REWORK, &[])
        .expect(0);
    assert_contract(&ended);
    let edges: Vec<[Value; 4]> = ended
        .of("edge.activated")
        .into_iter()
        .map(|it| [&it["edge"], &it["condition"], &it["attempt"], &it["lap"]].map(Value::clone))
        .collect();
    assert_eq!(
        json!(edges),
        json!([
            ["draft->review", "always", null, 1],
            ["review->draft", "on_fail", 1, 1],
            ["draft->review", "always", null, 2],
            ["review->done", "on_pass", null, 2],
        ])
    );
    let verdicts: Vec<[Value; 3]> = ended
        .of("step.settled")
        .into_iter()
        .map(|it| [&it["step"], &it["lap"], &it["verdict"]].map(Value::clone))
        .collect();
    assert_eq!(
        json!(verdicts),
        json!([
            ["draft", 1, "pass"],
            ["review", 1, "fail"],
            ["draft", 2, "pass"],
            ["review", 2, "pass"],
            ["done", 1, "pass"],
        ])
    );
    // A verdict is told before its verification.
    let events = ended.events();
    let position = |r#type: &str| {
        events
            .iter()
            .position(|event| event["type"] == r#type && event["step"] == "draft")
            .expect("an event")
    };
    assert!(position("step.started") < position("step.submitted"));
    assert!(position("step.submitted") < position("model.called"));
    assert!(position("model.called") < position("step.settled"));
    assert!(position("step.settled") < position("verify.decided"));
    // Terminals send only their verdict.
    let done = events.iter().filter(|event| event["step"] == "done");
    assert_eq!(done.count(), 1);
    let usage = json!({"model_calls": 4, "tool_calls": 0, "input_tokens": 28, "output_tokens": 12});
    assert_eq!(ended.settled()["usage"], usage);
}

// C3: pre and post steps send `tool.called` alone.
#[test]
fn pre_and_post_steps_are_told_as_tool_calls_of_lap_one() {
    let ended = Place::new()
        .run(&demo("verified-submission"), &["--on-wait", "poll"])
        .expect(0);
    for (step, tool) in [
        ("reserve", "synthetic_reserve"),
        ("submit", "synthetic_submit"),
        ("artifact", "synthetic_artifact"),
    ] {
        let told: Vec<Value> = ended
            .events()
            .into_iter()
            .filter(|event| event["step"] == step && event["type"] != "source.recorded")
            .collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["type"], "tool.called");
        assert_eq!(
            [&told[0]["tool"], &told[0]["outcome"], &told[0]["lap"]],
            [&json!(tool), &json!("ok"), &json!(1)]
        );
    }
}

// C3, T8
#[test]
fn text_for_people_is_inert_and_holds_no_json() {
    let provider = Provider::answering(|_, _| {
        route(
            "pass",
            "red \u{1b}[31m and \u{202e}back",
            &[("done", json!({"a": 1}))],
        )
    });
    let place = provider.place();
    let file = place.file("routine.yaml", crate::cli::gates::ONE);
    let ended = place.amos(&["run", &file, "--model", "openai/m"]).expect(0);
    assert!(ended.stdout.starts_with("started"), "{}", ended.stdout);
    assert!(ended.stdout.contains("red"), "{}", ended.stdout);
    let outlaws = |text: &str| {
        text.chars()
            .any(|c| (c.is_control() && c != '\n') || c == '\u{202e}')
    };
    assert!(
        !outlaws(&ended.stdout) && !outlaws(&ended.stderr),
        "{ended:?}"
    );
    ended.says("model: openai/m");
    let output = "red \u{1b}[31m and \u{202e}back \u{9b}2J \u{7f}";
    let provider =
        Provider::answering(move |_, _| route("pass", output, &[("done", json!({"a": 1}))]));
    let ended = provider
        .run(&provider.place(), crate::cli::gates::ONE, &[])
        .expect(0);
    assert!(!outlaws(&ended.stdout), "{}", ended.stdout);
    assert_eq!(
        ended.settled()["outputs"]["done"],
        output,
        "programs read the same"
    );
}
