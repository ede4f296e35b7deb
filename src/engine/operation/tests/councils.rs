//! Councils: how leader and members work together, strategy by strategy (G11).

use super::*;
use crate::engine::evidence::SourceKind;

/// A council of two that ends the routine.
fn council(strategy: &str) -> Play {
    story(&format!("talk -> done\n talk : lead {strategy} {{a, b}}")).start()
}

/// What the step's data says that each member gave.
fn gave(it: &Play) -> Vec<(String, String)> {
    let (_, data) = it.settled("talk");
    let contributions = data["contributions"].as_array().expect("contributions");
    contributions
        .iter()
        .map(|held| {
            let given = ["said", "vote", "failed"].map(|key| held[key].as_str());
            let given = given.into_iter().flatten().next().expect("something");
            let member = held["member"].as_str().expect("a member");
            (member.to_owned(), given.to_owned())
        })
        .collect()
}

fn given<const N: usize>(all: [(&str, &str); N]) -> Vec<(String, String)> {
    all.map(|(member, given)| (member.to_owned(), given.to_owned()))
        .to_vec()
}

fn parts(parts: serde_json::Value) -> crate::engine::ports::ToolCall {
    tool("assign_parts", json!({ "parts": parts }))
}

fn ask(member: &str, message: &str) -> crate::engine::ports::ToolCall {
    tool(&format!("ask_{member}"), json!({ "message": message }))
}

#[test]
fn a_broadcast_has_all_members_work_side_by_side_and_its_leader_end_the_step() {
    let mut it = story(
        "talk -> next -> done
         talk : lead broadcast {a, b}
         talk = instructions: Review it.",
    )
    .start();
    it.expect_running(["talk/a", "talk/b"]);
    let asked = it.request("talk/a", 1);
    assert!(asked.prompt().contains("Review it."));
    assert!(asked.offers().is_empty(), "{:?}", asked.offers());
    it.says("talk/b", "b's view").expect_running(["talk/a"]);
    it.says("talk/a", "a's view").expect_running(["talk/lead"]);
    let ending = it.request("talk/lead", 1);
    assert_eq!(ending.offers(), ["route_next_steps"]);
    assert_eq!(
        ending.tool_choice,
        ToolChoice::Forced("route_next_steps".into())
    );
    let told = ending.prompt();
    assert!(told.contains("Review it."));
    // By chair, whoever was first.
    let (first, second) = (told.find("a's view"), told.find("b's view"));
    assert!(first.is_some() && first < second, "{told}");
    it.answer("talk/lead", pass().output("both views"))
        .expect_running(["next"]);
    assert_eq!(gave(&it), given([("a", "a's view"), ("b", "b's view")]));
    assert_eq!(it.settled("talk").0, "both views");
    it.answer("next", pass()).expect_succeeded();
}

#[test]
fn a_council_is_one_step_one_lap_and_one_submission() {
    // V25, C3
    let mut it = council("broadcast");
    it.says("talk/a", "x")
        .says("talk/b", "y")
        .answer("talk/lead", pass());
    let lines = [
        "talk started lap 1",
        "talk submitted",
        "talk asked its model, call 1",
        "talk asked its model, call 1",
        "talk asked its model, call 1",
        "talk settled pass",
        "talk verified",
        "talk->done",
    ];
    assert_eq!(it.events_of(&["talk"]), lines);
    let named = it.published.iter().find_map(|event| match event {
        PublicEvent::StepStarted { kind, agent, .. } => Some((*kind, agent.clone())),
        _ => None,
    });
    assert_eq!(named, Some(("council", Some("talk".into()))));
    assert_eq!(it.outcome().usage.model_calls, 3);
    assert_eq!(it.outcome().usage.tool_calls, 0);
    assert_eq!(it.outcome().usage.input_tokens, 30);
}

#[test]
fn every_contribution_is_a_run_of_its_own_with_its_own_sources() {
    let mut it = story(
        "talk -> done
         talk : lead broadcast {a, b}
         talk = tools: [look]
         @ agents: { lead: {}, a: { instructions: I am a. , tools: [look] }, b: { instructions: I am b. } }",
    )
    .start();
    assert_eq!(it.request("talk/a", 1).system, "I am a.");
    assert_eq!(it.request("talk/b", 1).system, "I am b.");
    let [of_a, of_b] = [0, 1].map(|at| it.asked[at].run.to_string());
    it.calls("talk/a", [tool("look", json!({ "at": 1 }))])
        .tool("talk/a", done(json!("seen")))
        .says("talk/b", "b")
        .says("talk/a", "a");
    it.answer("talk/lead", pass()).expect_succeeded();
    let runs: std::collections::BTreeSet<_> = it
        .published
        .iter()
        .filter_map(|event| match event {
            PublicEvent::ModelCalled { run, .. } => Some(run.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(runs.len(), 3);
    let (_, data) = it.settled("talk");
    let run = |member: usize| data["contributions"][member]["run"].as_str();
    let of = |member| run(member).expect("a run");
    assert_eq!([of(0), of(1)], [of_a, of_b]);
    let kinds = |run: &str| -> Vec<SourceKind> {
        let held = it.machine.sources().iter();
        let of_run =
            held.filter(|source| source.run.as_ref().is_some_and(|it| it.to_string() == run));
        of_run.map(|source| source.kind).collect()
    };
    use SourceKind::{ModelRequest, ModelResponse, StepBody, ToolArguments, ToolResult};
    assert_eq!(
        kinds(of(0)),
        [
            ModelRequest,
            ModelResponse,
            ToolArguments,
            ToolResult,
            ModelRequest,
            ModelResponse
        ]
    );
    assert_eq!(kinds(of(1)), [ModelRequest, ModelResponse]);
    // The verdict is the leader's.
    let leaders = runs
        .iter()
        .find(|run| ![of(0), of(1)].contains(&run.as_str()));
    assert_eq!(
        kinds(leaders.expect("a third run")),
        [ModelRequest, ModelResponse, StepBody]
    );
    // A verifier sees what any of them did (V13).
    let seen = it.seen("talk").observation.json();
    assert_eq!(seen["tools"][0]["tool"], "look");
    assert_eq!(seen["sources"].as_array().map(Vec::len), Some(11));
}

#[test]
fn a_round_robin_goes_in_turn_and_each_sees_what_came_before() {
    let mut it = story("talk -> done\n talk : lead round_robin {a, b, c}").start();
    it.expect_running(["talk/a"]);
    it.says("talk/a", "first words").expect_running(["talk/b"]);
    it.says("talk/b", "second words").expect_running(["talk/c"]);
    let seen = |it: &Play, who: &str| {
        let told = it.request(who, 1).prompt();
        ["first words", "second words", "third words"].map(|words| told.contains(words))
    };
    assert_eq!(seen(&it, "talk/a"), [false, false, false]);
    assert_eq!(seen(&it, "talk/b"), [true, false, false]);
    assert_eq!(seen(&it, "talk/c"), [true, true, false]);
    it.says("talk/c", "third words");
    assert_eq!(seen(&it, "talk/lead"), [true, true, true]);
    it.answer("talk/lead", pass()).expect_succeeded();
}

#[test]
fn members_of_a_broadcast_see_nothing_of_each_other() {
    // G18
    let mut it = council("broadcast");
    it.says("talk/a", "").says("talk/b", "b's view");
    assert!(!it.latest_request("talk/a", 1).last().contains("b's view"));
}

#[test]
fn a_decomposing_leader_gives_each_member_its_part() {
    let mut it = council("decompose");
    it.expect_running(["talk/lead"]);
    let asked = it.request("talk/lead", 1);
    assert_eq!(asked.offers(), ["assign_parts"]);
    assert_eq!(asked.tool_choice, ToolChoice::Forced("assign_parts".into()));
    let wanted = &asked.schema_of("assign_parts")["properties"]["parts"];
    assert_eq!(wanted["required"], json!(["a", "b"]));
    let given_parts = parts(json!({ "a": "the roof", "b": "the floor" }));
    it.calls("talk/lead", [given_parts])
        .expect_running(["talk/a", "talk/b"]);
    let part = |who: &str| {
        let told = it.request(who, 1).prompt();
        ["the roof", "the floor"].map(|part| told.contains(part))
    };
    assert_eq!(part("talk/a"), [true, false]);
    assert_eq!(part("talk/b"), [false, true]);
    it.says("talk/a", "the roof leaks")
        .says("talk/b", "the floor is wet");
    // A fresh run: it is told which parts it gave (G18).
    let told = it.latest_request("talk/lead", 1).prompt();
    for words in [
        "the roof",
        "the roof leaks",
        "the floor",
        "the floor is wet",
    ] {
        assert!(told.contains(words), "{told}");
    }
    it.answer("talk/lead", pass()).expect_succeeded();
    let (_, data) = it.settled("talk");
    assert_eq!(data["contributions"][1]["asked"], "the floor");
}

#[test]
fn parts_that_do_not_fit_the_members_are_corrected() {
    let mut it = council("decompose");
    it.calls("talk/lead", [parts(json!({ "a": " ", "c": "x" }))]);
    let told = it.latest_request("talk/lead", 1).last().to_owned();
    for words in ["`a` needs a part", "`b` needs a part", "no member `c`"] {
        assert!(told.contains(words), "{told}");
    }
    it.says("talk/lead", "a does the roof");
    it.calls("talk/lead", [parts(json!(null))]);
    it.expect_settled("talk", "uncertain: no_verdict");
    it.expect_paused(Uncertain, [("talk", "uncertain")]);
    assert_eq!(it.model_calls("talk/lead"), 3);
    assert_eq!(it.model_calls("talk/a"), 0);
}

#[test]
fn a_dynamic_leader_calls_its_members_as_tools() {
    let mut it = council("dynamic");
    it.expect_running(["talk/lead"]);
    let asked = it.request("talk/lead", 1);
    assert_eq!(asked.offers(), ["ask_a", "ask_b", "route_next_steps"]);
    assert_eq!(asked.tool_choice, ToolChoice::Auto);
    it.calls("talk/lead", [ask("b", "is it wet?"), ask("a", "and dry?")])
        .expect_running(["talk/b"]);
    assert!(it.request("talk/b", 1).prompt().contains("is it wet?"));
    it.says("talk/b", "very wet").expect_running(["talk/a"]);
    it.says("talk/a", "not dry").expect_running(["talk/lead"]);
    let messages = &it.latest_request("talk/lead", 1).messages;
    let told: Vec<_> = messages
        .iter()
        .map(|message| format!("{message:?}"))
        .collect();
    assert!(
        told[2].contains("very wet") && told[2].contains("ask_b"),
        "{told:?}"
    );
    assert!(
        told[3].contains("not dry") && told[3].contains("ask_a"),
        "{told:?}"
    );
    // The same member again is another run.
    it.calls("talk/lead", [ask("b", "still?")])
        .says("talk/b", "still wet")
        .answer("talk/lead", pass())
        .expect_succeeded();
    assert_eq!(
        gave(&it),
        given([("b", "very wet"), ("a", "not dry"), ("b", "still wet")])
    );
    assert_eq!(it.settled("talk").1["contributions"][2]["asked"], "still?");
    assert_eq!(it.model_calls("talk/lead"), 3);
}

#[test]
fn a_call_of_a_member_is_told_counted_and_kept_like_any_call() {
    // C3, L5, V13
    let mut it = council("dynamic");
    it.calls("talk/lead", [ask("a", "well?")]);
    assert_eq!(it.events_of(&["talk called"]), [""; 0]);
    it.says("talk/a", "well");
    it.calls("talk/lead", [ask("b", "")]);
    it.calls("talk/lead", [ask("b", "well?")]).reply(
        "talk/b",
        ModelOutcome::NoAnswer {
            reason: "reset".into(),
        },
    );
    assert_eq!(
        it.events_of(&["talk called"]),
        [
            "talk called ask_a: ok",
            "talk called ask_b: failed",
            "talk called ask_b: failed"
        ]
    );
    it.answer("talk/lead", pass()).expect_succeeded();
    assert_eq!(it.outcome().usage.tool_calls, 3);
    let seen = &it.seen("talk").observation.json()["tools"];
    assert_eq!(seen[0]["tool"], "ask_a");
    assert_eq!(seen[0]["result"], "well");
}

#[test]
fn members_can_be_called_eight_times_and_then_no_more() {
    let mut it = council("dynamic");
    for _ in 0..8 {
        it.calls("talk/lead", [ask("a", "more?")])
            .says("talk/a", "more");
    }
    let denied = [ask("a", "more?"), ask("b", "you?")];
    it.calls("talk/lead", denied).expect_running(["talk/lead"]);
    assert!(it.latest_request("talk/lead", 1).last().contains("used up"));
    assert_eq!(
        it.events_of(&["talk called"])[8..],
        ["talk called ask_a: denied", "talk called ask_b: denied"]
    );
    assert_eq!(it.model_calls("talk/a"), 8);
    it.answer("talk/lead", pass()).expect_succeeded();
}

#[test]
fn max_calls_says_how_often_members_can_be_called() {
    let mut it = story("talk -> done\n talk : lead dynamic {a} | max_calls: 1").start();
    assert!(it.request("talk/lead", 1).prompt().contains("1 times"));
    it.calls("talk/lead", [ask("a", "one?"), ask("a", "two?")])
        .says("talk/a", "one")
        .expect_running(["talk/lead"]);
    assert!(it.latest_request("talk/lead", 1).last().contains("used up"));
    assert_eq!(it.model_calls("talk/a"), 1);
}

#[test]
fn a_leader_that_asks_nobody_may_end_the_step() {
    let mut it = council("dynamic");
    it.answer("talk/lead", pass()).expect_succeeded();
    assert_eq!(gave(&it), given([]));
}

#[test]
fn a_verdict_beside_a_question_is_corrected_and_the_question_is_asked() {
    // G4: the verdict would come before the answer.
    let mut it = council("dynamic");
    let verdict = route(json!({
        "verdict": "pass", "reasoning": "sure", "output": null,
        "next_steps": [{ "target_step": "done", "handoff": { "x": 1 } }],
    }));
    it.calls("talk/lead", [ask("a", "well?"), verdict])
        .expect_running(["talk/a"]);
    it.says("talk/a", "well").expect_running(["talk/lead"]);
    assert!(
        it.latest_request("talk/lead", 1)
            .last()
            .contains("look at them first")
    );
    it.answer("talk/lead", pass()).expect_succeeded();
}

#[test]
fn only_a_dynamic_leader_reaches_members_and_only_its_own() {
    // V17
    for strategy in ["broadcast", "round_robin"] {
        let mut it = story(&format!("talk -> done\n talk : lead {strategy} {{a}}")).start();
        it.says("talk/a", "x").calls("talk/lead", [ask("a", "y")]);
        assert_eq!(
            it.events_of(&["talk called"]),
            ["talk called ask_a: denied"]
        );
    }
    let mut it = story(
        "{talk, other} -> done
         talk : lead dynamic {a}
         other : chief dynamic {b}",
    )
    .start();
    it.calls("talk/lead", [ask("b", "y")])
        .expect_running(["other/chief", "talk/lead"]);
    assert_eq!(
        it.events_of(&["talk called"]),
        ["talk called ask_b: denied"]
    );
}

#[test]
fn texts_of_any_script_pass_through_whole() {
    // P9: a council must not cut what members say, least of all inside a character.
    let long = "ü".repeat(150) + "👩‍👩‍👧" + &"x".repeat(50_000);
    for strategy in ["broadcast", "round_robin", "dynamic"] {
        let mut it = story(&format!("talk -> done\n talk : lead {strategy} {{a}}")).start();
        if strategy == "dynamic" {
            it.calls("talk/lead", [ask("a", &long)]);
            assert!(it.request("talk/a", 1).prompt().contains(&long));
        }
        it.says("talk/a", &long);
        assert!(it.latest_request("talk/lead", 1).last().contains(&long));
        it.answer("talk/lead", pass()).expect_succeeded();
        assert_eq!(gave(&it), given([("a", &long)]));
    }
}

#[test]
fn a_council_is_shown_what_any_step_is_shown() {
    // G18, G5
    let mut it = story(
        "first -> talk -> done | purpose: Publish, handoff_instructions: Give the text.
         talk : lead broadcast {a}
         talk = instructions: Judge it., criteria: [It is short], expected_output: A word., memory: [k]
         @ parameters: [{ name: tone, default: dry }]",
    )
    .start();
    it.answer("first", pass().handoff("talk", json!({ "text": "abc" })));
    for who in ["talk/a", "talk/lead"] {
        let told = it.request(who, 1).prompt();
        for words in [
            "Judge it.",
            "It is short",
            "A word.",
            r#"tone: "dry""#,
            r#"{"text":"abc"}"#,
        ] {
            assert!(told.contains(words), "{who}: {told}");
        }
        // Only the leader ends the step.
        assert_eq!(told.contains("Give the text."), who == "talk/lead");
        if who == "talk/a" {
            it.says("talk/a", "well");
        }
    }
}
