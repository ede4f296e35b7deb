//! Councils that vote: the engine counts, the leader explains (G11).

use super::*;
use crate::engine::ports::ToolCall;

/// A council of so many members that votes.
fn council(members: usize) -> Play {
    let names = ["a", "b", "c", "d", "e"][..members].join(", ");
    story(&format!("talk -> done\n talk : lead vote {{{names}}}")).start()
}

fn cast(verdict: &str) -> ToolCall {
    let reasoning = format!("I say {verdict}");
    tool(
        "cast_vote",
        json!({ "verdict": verdict, "reasoning": reasoning }),
    )
}

/// The members vote in turn, `p` for pass, `f` for fail, `-` for one whose request has no answer.
fn vote(it: &mut Play, votes: &str) {
    for (member, vote) in ["a", "b", "c", "d", "e"].iter().zip(votes.chars()) {
        let seat = format!("talk/{member}");
        match vote {
            'p' => it.calls(&seat, [cast("pass")]),
            'f' => it.calls(&seat, [cast("fail")]),
            _ => it.reply(&seat, no_answer()),
        };
    }
}

fn no_answer() -> ModelOutcome {
    ModelOutcome::NoAnswer {
        reason: "reset".into(),
    }
}

#[test]
fn members_vote_side_by_side_by_a_tool() {
    let mut it = council(2);
    it.expect_running(["talk/a", "talk/b"]);
    let asked = it.request("talk/a", 1);
    assert_eq!(asked.offers(), ["cast_vote"]);
    assert_eq!(asked.tool_choice, ToolChoice::Forced("cast_vote".into()));
    let wanted = &asked.schema_of("cast_vote")["properties"]["verdict"]["enum"];
    assert_eq!(*wanted, json!(["pass", "fail"]));
    vote(&mut it, "pp");
    it.expect_running(["talk/lead"]);
    let told = it.request("talk/lead", 1).prompt();
    for words in [
        "### a",
        "voted pass: I say pass",
        "2 voted pass and 0 voted fail",
    ] {
        assert!(told.contains(words), "{told}");
    }
    it.answer("talk/lead", pass()).expect_succeeded();
    let (_, data) = it.settled("talk");
    assert_eq!(data["tally"], json!({ "members": 2, "pass": 2, "fail": 0 }));
    assert_eq!(data["contributions"][0]["vote"], "pass");
    assert_eq!(data["contributions"][0]["reasoning"], "I say pass");
}

#[test]
fn pass_needs_more_than_half_of_all_members_and_no_leader_overrules_the_count() {
    // P8: votes that nobody reads, and a leader whose word counts instead.
    for (votes, passes) in [
        ("p", true),
        ("f", false),
        ("pp", true),
        ("pf", false),
        ("p-", false),
        ("ppf", true),
        ("pff", false),
        // Who gives no vote is a member all the same.
        ("pp-", true),
        ("p--", false),
        ("p-f", false),
        ("f--", false),
        ("ppff", false),
        ("pp--", false),
        ("ppp-", true),
        ("pppff", true),
        ("ppff-", false),
        ("ppp--", true),
    ] {
        let (counted, other) = match passes {
            true => (pass(), fail()),
            false => (fail(), pass()),
        };
        let mut it = council(votes.len());
        vote(&mut it, votes);
        // A leader that says otherwise is corrected …
        it.answer("talk/lead", other.clone());
        let told = it.latest_request("talk/lead", 1).last();
        assert!(told.contains("the members' vote is"), "{votes}: {told}");
        it.answer("talk/lead", counted);
        match passes {
            true => it.expect_succeeded(),
            // … and a council's fail fails the routine at once (G3).
            false => it.expect_failed("verdict_fail"),
        };
        // … and never has its way.
        let mut it = council(votes.len());
        vote(&mut it, votes);
        for _ in 0..3 {
            it.answer("talk/lead", other.clone());
        }
        it.expect_settled("talk", "uncertain: no_verdict");
        it.expect_paused(Uncertain, [("talk", "uncertain")]);
        assert_eq!(it.lap("done"), 0, "{votes}");
    }
}

#[test]
fn the_order_of_the_votes_changes_nothing() {
    let told = |order: [&str; 3]| {
        let mut it = council(3);
        for member in order {
            let verdict = if member == "b" { "fail" } else { "pass" };
            it.calls(&format!("talk/{member}"), [cast(verdict)]);
        }
        let prompt = it.request("talk/lead", 1).prompt().to_owned();
        it.answer("talk/lead", pass());
        let seen = it.seen("talk").observation.json()["tools"].clone();
        let (_, data) = it.settled("talk");
        (prompt, data["tally"].clone(), seen)
    };
    let first = told(["a", "b", "c"]);
    for order in [["c", "b", "a"], ["b", "a", "c"], ["c", "a", "b"]] {
        assert_eq!(told(order), first);
    }
}

#[test]
fn a_malformed_vote_is_corrected_and_counts_once() {
    // G4
    let mut it = council(2);
    it.calls("talk/a", [malformed("cast_vote", "{")]);
    assert!(
        it.latest_request("talk/a", 1)
            .last()
            .contains("not valid JSON")
    );
    it.calls("talk/a", [tool("cast_vote", json!({ "verdict": "maybe" }))]);
    let told = it.latest_request("talk/a", 1).last();
    for words in ["`verdict` must be", "`reasoning` must be", "`cast_vote`"] {
        assert!(told.contains(words), "{told}");
    }
    it.calls("talk/a", [cast("pass")]);
    assert_eq!(it.model_calls("talk/a"), 3);
    it.calls("talk/b", [cast("pass")])
        .answer("talk/lead", pass())
        .expect_succeeded();
    assert_eq!(it.settled("talk").1["tally"]["pass"], 2);
}

#[test]
fn a_vote_in_words_is_none() {
    // G4: only typed tool calls count.
    let mut it = council(3);
    for _ in 0..3 {
        it.says("talk/a", r#"{"verdict": "pass", "reasoning": "good"}"#);
    }
    it.calls("talk/b", [cast("pass")])
        .calls("talk/c", [cast("fail")])
        .answer("talk/lead", fail())
        .expect_failed("verdict_fail");
    let (_, data) = it.settled("talk");
    assert_eq!(data["tally"], json!({ "members": 3, "pass": 1, "fail": 1 }));
    assert_eq!(data["contributions"][0]["failed"], "no_verdict");
}

#[test]
fn two_votes_in_one_answer_are_corrected() {
    let mut it = council(1);
    it.calls("talk/a", [cast("pass"), cast("pass")])
        .expect_running(["talk/a"]);
    it.calls("talk/a", [cast("fail")])
        .answer("talk/lead", fail())
        .expect_failed("verdict_fail");
    assert_eq!(it.settled("talk").1["tally"]["pass"], 0);
}

#[test]
fn a_member_with_tools_looks_first_and_votes_then() {
    // V17
    let mut it = story(
        "talk -> done
         talk : lead vote {a}
         talk = tools: [look]",
    )
    .start();
    let asked = it.request("talk/a", 1);
    assert_eq!(asked.offers(), ["look", "cast_vote"]);
    assert_eq!(asked.tool_choice, ToolChoice::Auto);
    it.calls("talk/a", [tool("look", json!({})), cast("pass")])
        .tool("talk/a", done(json!("dirty")));
    // The vote came before the result was known.
    assert!(
        it.latest_request("talk/a", 1)
            .last()
            .contains("look at them first")
    );
    it.calls("talk/a", [cast("fail")])
        .answer("talk/lead", fail())
        .expect_failed("verdict_fail");
}

#[test]
fn an_operator_decides_where_the_leader_gave_no_verdict() {
    // V10a: the votes stay on record beside what the operator says.
    let mut it = council(1);
    vote(&mut it, "f");
    for _ in 0..3 {
        it.says("talk/lead", "hm");
    }
    let accept = Answer::Accept(approve());
    it.reconcile([("talk", accept)]).expect_succeeded();
    let (_, data) = it.settled("talk");
    assert_eq!(data["by"], "operator");
    assert_eq!(data["tally"], json!({ "members": 1, "pass": 0, "fail": 1 }));
}
