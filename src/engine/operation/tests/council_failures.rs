//! Councils whose members or leader fail: what is recorded, and what becomes of the step (G3, G11).

use super::*;
use crate::engine::ports::ToolCall;

/// A council of two that ends the routine; all may look and act.
fn council(strategy: &str) -> Play {
    story(&format!(
        "talk -> done
         talk : lead {strategy} {{a, b}}
         talk = tools: [look, act]"
    ))
    .start()
}

fn ask(member: &str) -> ToolCall {
    tool(&format!("ask_{member}"), json!({ "message": "well?" }))
}

fn act() -> ToolCall {
    tool("act", json!({}))
}

fn no_answer() -> ModelOutcome {
    ModelOutcome::NoAnswer {
        reason: "reset".into(),
    }
}

fn not_taken() -> ModelOutcome {
    ModelOutcome::NotTaken {
        reason: "401".into(),
    }
}

/// An answer that ended like this, with a text that must never count.
fn ended(finish: Finish) -> ModelOutcome {
    let mut outcome = answered(Vec::new());
    if let ModelOutcome::Answered(answer) = &mut outcome {
        answer.text = Some("half an answer".into());
        answer.finish = finish;
    }
    outcome
}

/// Every way in which one answer ends a run without a contribution, with the word for it.
fn failures() -> Vec<(ModelOutcome, &'static str)> {
    let refused = Finish::Refused {
        reason: "policy".into(),
    };
    let unreadable = ModelOutcome::Unreadable {
        reason: "no JSON".into(),
    };
    vec![
        (no_answer(), "no_answer"),
        (not_taken(), "model_refused_request"),
        (unreadable, "unreadable_answer"),
        (ended(Finish::CutOff), "cut_off"),
        (ended(refused), "refusal"),
        (ModelOutcome::Stopped, "no_answer"),
    ]
}

#[test]
fn a_member_that_fails_is_recorded_and_the_leader_is_told() {
    for strategy in ["broadcast", "round_robin"] {
        for (failure, code) in failures() {
            let mut it = council(strategy);
            it.reply("talk/a", failure).says("talk/b", "b's view");
            it.expect_running(["talk/lead"]);
            let told = it.request("talk/lead", 1).prompt();
            assert!(told.contains("gave nothing that counts"), "{code}: {told}");
            assert!(!told.contains("half an answer"), "{code}: {told}");
            assert!(told.contains("b's view"));
            it.answer("talk/lead", pass()).expect_succeeded();
            let (_, data) = it.settled("talk");
            assert_eq!(data["contributions"][0]["failed"], code, "{strategy}");
            assert_eq!(data["contributions"][0]["said"], json!(null));
        }
    }
}

#[test]
fn a_member_that_fails_when_it_is_asked_is_told_to_the_leader_as_the_answer() {
    for (failure, code) in failures() {
        let mut it = council("dynamic");
        it.calls("talk/lead", [ask("a")]).reply("talk/a", failure);
        assert!(it.latest_request("talk/lead", 1).last().contains("error"));
        // Another try is another run.
        it.calls("talk/lead", [ask("a")])
            .says("talk/a", "now")
            .answer("talk/lead", pass())
            .expect_succeeded();
        let (_, data) = it.settled("talk");
        assert_eq!(data["contributions"][0]["failed"], code);
        assert_eq!(data["contributions"][1]["said"], "now");
    }
}

#[test]
fn a_council_in_which_all_fail_is_uncertain() {
    // P8: member errors make `done: false`, and the next step runs all the same.
    for strategy in ["broadcast", "round_robin", "vote"] {
        for (failure, code) in failures() {
            let mut it = council(strategy);
            it.reply("talk/a", failure).reply("talk/b", no_answer());
            let code = match code {
                "model_refused_request" => "no_answer",
                other => other,
            };
            it.expect_settled("talk", &format!("uncertain: {code}"));
            it.expect_paused(Uncertain, [("talk", "uncertain")]);
            assert_eq!(it.model_calls("talk/lead"), 0);
            assert_eq!(it.lap("done"), 0);
            let (_, data) = it.settled("talk");
            assert_eq!(data["contributions"].as_array().map(Vec::len), Some(2));
        }
    }
}

#[test]
fn a_decomposed_council_in_which_all_fail_is_uncertain() {
    let mut it = council("decompose");
    let parts = json!({ "parts": { "a": "x", "b": "y" } });
    it.calls("talk/lead", [tool("assign_parts", parts)])
        .reply("talk/b", no_answer())
        .reply("talk/a", no_answer());
    it.expect_settled("talk", "uncertain: no_answer");
    assert_eq!(it.model_calls("talk/lead"), 1);
}

#[test]
fn a_leader_can_not_judge_where_every_member_was_asked_and_none_gave_anything() {
    // P8: a dynamic council that always passes. Not even a fail is known here.
    for verdict in [pass(), fail()] {
        let mut it = council("dynamic");
        it.calls("talk/lead", [ask("a"), ask("b")])
            .reply("talk/a", no_answer())
            .reply("talk/b", not_taken())
            .answer("talk/lead", verdict);
        it.expect_settled("talk", "uncertain: no_answer");
        it.expect_paused(Uncertain, [("talk", "uncertain")]);
    }
}

#[test]
fn a_failed_council_never_takes_a_gates_way_back() {
    // G3: uncertain is no fail; the gate behind it isn't reached.
    let mut it = story(
        "work -> talk -> g -pass-> done
         g -fail-> work
         talk : lead broadcast {a}",
    )
    .start();
    it.answer("work", pass()).reply("talk/a", no_answer());
    it.expect_settled("talk", "uncertain: no_answer");
    it.expect_lap("work", 1).expect_lap("g", 0);
}

#[test]
fn a_members_corrections_are_its_own() {
    // G4: a member that says nothing is told so, twice.
    let mut it = council("broadcast");
    it.says("talk/a", " ")
        .says("talk/a", "")
        .says("talk/a", "\n");
    it.says("talk/b", "").says("talk/b", "b's view");
    assert_eq!(it.model_calls("talk/a"), 3);
    it.says("talk/lead", "")
        .answer("talk/lead", pass())
        .expect_succeeded();
    let (_, data) = it.settled("talk");
    assert_eq!(data["contributions"][0]["failed"], "no_verdict");
    assert_eq!(data["contributions"][1]["said"], "b's view");
}

#[test]
fn max_model_calls_are_counted_for_each_run() {
    // M3a
    let mut it = story(
        "talk -> done
         talk : lead broadcast {a, b}
         talk = tools: [look], max_model_calls: 2",
    )
    .start();
    for _ in 0..2 {
        it.calls("talk/a", [tool("look", json!({}))])
            .tool("talk/a", done(json!(1)));
    }
    it.says("talk/b", "");
    it.says("talk/b", "b's view");
    let (asked, lead) = (it.model_calls("talk/a"), it.running() == ["talk/lead"]);
    assert_eq!((asked, lead), (2, true));
    it.says("talk/lead", "").answer("talk/lead", pass());
    it.expect_succeeded();
    let (_, data) = it.settled("talk");
    assert_eq!(data["contributions"][0]["failed"], "max_model_calls");
}

#[test]
fn a_member_that_ends_without_another_word_from_outside_lets_its_leader_go_on() {
    // M3a: its only call is denied, and it may not ask its model again.
    let mut it = story(
        "talk -> done
         talk : lead dynamic {a}
         talk = max_model_calls: 1",
    )
    .start();
    it.calls("talk/lead", [ask("a")]);
    it.calls("talk/a", [tool("ghost", json!({}))]);
    it.expect_settled("talk", "uncertain: max_model_calls");
    it.expect_paused(Uncertain, [("talk", "uncertain")]);
}

#[test]
fn a_leaders_fail_fails_the_routine_at_once() {
    // G3
    let mut it = story(
        "{talk, other} -> done
         talk : lead broadcast {a}",
    )
    .start();
    it.says("talk/a", "no good")
        .answer("talk/lead", fail())
        .answer("other", pass());
    it.expect_failed("verdict_fail");
    assert_eq!(it.stopped, ["other"]);
    assert_eq!(it.outcome().step.as_deref(), Some("talk"));
    let (_, data) = it.settled("talk");
    assert_eq!(data["contributions"][0]["said"], "no good");
}

#[test]
fn a_leaders_wrong_answers_are_corrected_and_then_uncertain() {
    // G4: missing, malformed, a wrong target; then nobody can tell.
    let mut it = council("broadcast");
    it.says("talk/a", "x").says("talk/b", "y");
    it.says("talk/lead", "all good");
    it.calls("talk/lead", [malformed("route_next_steps", "{")]);
    let elsewhere = json!({ "verdict": "pass", "reasoning": "r", "output": 1,
        "next_steps": [{ "target_step": "talk", "handoff": { "x": 1 } }] });
    it.calls("talk/lead", [route(elsewhere)]);
    it.expect_settled("talk", "uncertain: no_verdict");
    it.expect_paused(Uncertain, [("talk", "uncertain")]);
    assert_eq!(it.model_calls("talk/lead"), 3);
    // What the members gave is kept.
    assert_eq!(it.settled("talk").1["contributions"][1]["said"], "y");
}

#[test]
fn a_leader_that_fails_makes_the_step_uncertain_at_once() {
    // M3: a refusal and a cut answer are never corrected.
    for (failure, code) in failures() {
        if code == "model_refused_request" {
            continue;
        }
        for strategy in ["broadcast", "decompose", "dynamic"] {
            let mut it = council(strategy);
            if strategy == "broadcast" {
                it.says("talk/a", "x").says("talk/b", "y");
            }
            it.reply("talk/lead", failure.clone());
            it.expect_settled("talk", &format!("uncertain: {code}"));
            assert_eq!(it.model_calls("talk/lead"), 1);
        }
    }
}

#[test]
fn a_provider_that_refuses_the_leaders_request_fails_the_routine() {
    // G3: nothing was done in this run.
    for strategy in ["broadcast", "decompose", "dynamic"] {
        let mut it = council(strategy);
        if strategy == "broadcast" {
            it.says("talk/a", "x").says("talk/b", "y");
        }
        it.reply("talk/lead", not_taken())
            .expect_failed("model_refused_request");
        assert_eq!(it.effects(), EffectClass::BeforeEffects);
    }
}

#[test]
fn what_members_did_stays_in_the_account_of_a_refused_leader() {
    // G3, L5: this run did nothing; the effects are told all the same.
    let mut it = council("broadcast");
    it.calls("talk/a", [act()])
        .tool("talk/a", done(json!(1)))
        .says("talk/a", "acted")
        .says("talk/b", "b");
    it.reply("talk/lead", not_taken())
        .expect_failed("model_refused_request");
    assert_eq!(it.effects(), EffectClass::AfterPartialEffects);
}

#[test]
fn a_refused_request_of_a_leader_that_has_acted_is_uncertain() {
    // G3
    let mut it = council("dynamic");
    it.calls("talk/lead", [act()])
        .tool("talk/lead", done(json!(1)))
        .reply("talk/lead", not_taken());
    it.expect_settled("talk", "uncertain: effect_unknown");
}

#[test]
fn a_member_that_fails_after_it_acted_makes_the_step_uncertain() {
    // G3: any error after a side-effecting tool; nobody knows how far its work got.
    for strategy in ["broadcast", "round_robin", "dynamic"] {
        for (failure, code) in failures() {
            let mut it = council(strategy);
            if strategy == "dynamic" {
                it.calls("talk/lead", [ask("a")]);
            }
            it.calls("talk/a", [act()])
                .tool("talk/a", done(json!(1)))
                .reply("talk/a", failure);
            let code = match code {
                "model_refused_request" => "effect_unknown",
                other => other,
            };
            it.expect_settled("talk", &format!("uncertain: {code}"));
            if strategy == "broadcast" {
                // Its sibling was asked to stop; what it still says is late.
                assert_eq!(it.stopped, ["talk/b"]);
                it.says("talk/b", "too late");
                assert_eq!(it.late.len(), 2);
            }
            it.expect_paused(Uncertain, [("talk", "uncertain")]);
            let (_, data) = it.settled("talk");
            assert_eq!(data["contributions"][0]["failed"], code);
        }
    }
}

#[test]
fn a_member_that_only_looked_fails_alone() {
    let mut it = council("broadcast");
    it.calls("talk/a", [tool("look", json!({}))])
        .tool("talk/a", ToolOutcome::TimedOut)
        .reply("talk/a", not_taken())
        .says("talk/b", "fine")
        .answer("talk/lead", pass())
        .expect_succeeded();
}

#[test]
fn an_unknown_effect_of_a_member_makes_the_step_uncertain() {
    for outcome in [
        ToolOutcome::TimedOut,
        unknown("killed"),
        ToolOutcome::OutputLimit(json!("…")),
    ] {
        let mut it = council("round_robin");
        it.calls("talk/a", [act()]).tool("talk/a", outcome);
        it.expect_settled("talk", "uncertain: effect_unknown");
        it.expect_paused(Uncertain, [("talk", "uncertain")]);
        assert_eq!(it.model_calls("talk/b"), 0);
    }
}

#[test]
fn a_members_tools_are_its_agents_and_the_steps_and_the_routines() {
    // V17
    let mut it = story(
        "talk -> done
         talk : lead vote {a, b, c}
         talk = tools: [look, act, commit]
         @ required_tools: [look, act]
         @ agents: { lead: {}, a: { tools: [look, bare, commit] }, b: {}, c: { tools: [] } }",
    )
    .start();
    assert_eq!(it.request("talk/a", 1).offers(), ["look", "cast_vote"]);
    assert_eq!(
        it.request("talk/b", 1).offers(),
        ["act", "look", "cast_vote"]
    );
    assert_eq!(it.request("talk/c", 1).offers(), ["cast_vote"]);
    // Guessed names are denied at dispatch, told and recorded.
    it.calls("talk/a", [act()]);
    it.calls("talk/c", [route(json!({ "verdict": "pass" }))]);
    assert_eq!(
        it.events_of(&["talk called"]),
        [
            "talk called act: denied",
            "talk called route_next_steps: denied"
        ]
    );
    assert!(it.dispatched.is_empty());
    assert!(
        it.latest_request("talk/a", 1)
            .last()
            .contains("not allowed")
    );
}

#[test]
fn without_tools_of_the_step_each_member_has_its_own() {
    let mut it = story(
        "talk -> done
         talk : lead broadcast {a, b}
         @ agents: { lead: { tools: [look] }, a: { tools: [act] }, b: {} }",
    )
    .start();
    assert_eq!(it.request("talk/a", 1).offers(), ["act"]);
    assert_eq!(it.request("talk/b", 1).offers(), [""; 0]);
    it.says("talk/a", "x").says("talk/b", "y");
    let asked = it.request("talk/lead", 1);
    assert_eq!(asked.offers(), ["look", "route_next_steps"]);
    assert_eq!(asked.tool_choice, ToolChoice::Auto);
}

#[test]
fn members_of_long_or_odd_names_have_tools_with_good_names() {
    let long = "x".repeat(70);
    let names = [
        format!("{long}1"),
        format!("{long}2"),
        "o'brien.1".into(),
        "o_brien_1".into(),
    ];
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let agents: Vec<String> = quoted.iter().map(|name| format!("{name}: {{}}")).collect();
    let mut it = story(&format!(
        "routine: r
agents: {{ lead: {{}}, {} }}
councils: {{ c: {{ leader: lead, strategy: dynamic, members: [{}] }} }}
entry_steps: [talk]
steps:
  - {{ slug: talk, type: council, council: c }}
  - {{ slug: done, type: terminal }}
edges: [ {{ from: talk, to: done }} ]",
        agents.join(", "),
        quoted.join(", ")
    ))
    .start();
    let offered: Vec<String> = it
        .request("talk/lead", 1)
        .offers()
        .iter()
        .map(|&name| name.to_owned())
        .collect();
    let asks = &offered[..4];
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for name in asks {
        assert!(name.len() <= 64 && name.chars().all(plain), "{name}");
    }
    let distinct: std::collections::BTreeSet<_> = asks.iter().collect();
    assert_eq!(distinct.len(), 4, "{asks:?}");
    // A name that fits is never taken away.
    assert_eq!(asks[3], "ask_o_brien_1");
    for (ask, member) in asks.iter().zip(&names) {
        it.calls("talk/lead", [tool(ask, json!({ "message": "well?" }))])
            .says(&format!("talk/{member}"), "well");
    }
    it.answer("talk/lead", pass()).expect_succeeded();
}
