//! Retry edges: budgets, laps, what is made anew and what stays (G6, G7).

use super::*;

const REVIEW: &str = "draft -> check -pass-> done\n check -fail-> draft";

#[test]
fn a_rework_shows_its_step_the_gate_and_nothing_older() {
    // P7, G7, P22: an entry may be a retry edge's target.
    let mut it = story(REVIEW).start();
    it.answer("draft", pass())
        .answer("check", fail())
        .answer("draft", pass())
        .answer("check", fail())
        .answer("draft", pass())
        .answer("check", pass())
        .expect_succeeded()
        .expect_lap("draft", 3)
        .expect_lap("check", 3);
    let prompt = it.request("draft", 3).prompt();
    assert!(prompt.contains(r#"{"from":"check","lap":2}"#), "{prompt}");
    assert!(!prompt.contains(r#"{"from":"check","lap":1}"#), "{prompt}");
    let prompt = it.request("check", 3).prompt();
    assert!(prompt.contains(r#"{"from":"draft","lap":3}"#), "{prompt}");
    assert!(
        !prompt.contains(r#""lap":1"#) && !prompt.contains(r#""lap":2"#),
        "{prompt}"
    );
}

#[test]
fn every_lap_is_a_fresh_conversation_of_its_own_run() {
    // G17
    let mut it = story(REVIEW).start();
    it.says("draft", "hm")
        .answer("draft", pass())
        .answer("check", fail());
    assert_eq!(it.latest_request("draft", 1).messages.len(), 3);
    assert_eq!(it.request("draft", 2).messages.len(), 1);
    it.answer("draft", pass()).answer("check", pass());
    let runs: Vec<_> = it
        .sources
        .iter()
        .filter_map(|source| source.header.run.clone())
        .collect();
    let distinct: std::collections::BTreeSet<_> = runs.iter().collect();
    assert_eq!(distinct.len(), 4, "one run a lap: {runs:?}");
}

#[test]
fn a_loop_with_a_fan_out_runs_every_step_once_more() {
    // P6, B13
    let mut it = story(
        "a -> {b, c1}
         c1 -> c2
         {b, c2} -> j -> g -pass-> done
         g -fail-> a",
    )
    .start();
    for lap in 1..=2 {
        it.answer("a", pass())
            .answer("b", pass())
            .answer("c1", pass())
            .answer("c2", pass())
            .answer("j", pass());
        let prompt = it.request("j", lap).prompt();
        assert_eq!(prompt.matches("## Handed over").count(), 2, "{prompt}");
        for from in ["b", "c2"] {
            assert!(
                prompt.contains(&format!(r#"{{"from":"{from}","lap":{lap}}}"#)),
                "{prompt}"
            );
        }
        it.answer("g", if lap == 1 { fail() } else { pass() });
    }
    it.expect_succeeded();
    for step in ["a", "b", "c1", "c2", "j", "g"] {
        it.expect_lap(step, 2);
        assert_eq!(it.submissions(step), 2, "{step}");
    }
}

#[test]
fn what_comes_from_outside_the_loop_stays_current() {
    // G7: x hands over once and is never asked again.
    let mut it = story(
        "x -> j
         a -> j -> g -pass-> done
         g -fail-> a",
    )
    .start();
    it.answer("x", pass())
        .answer("a", pass())
        .answer("j", pass())
        .answer("g", fail());
    it.expect_running(["a"])
        .answer("a", pass())
        .expect_running(["j"]);
    let prompt = it.request("j", 2).prompt();
    assert!(prompt.contains(r#"{"from":"x","lap":1}"#), "{prompt}");
    assert!(prompt.contains(r#"{"from":"a","lap":2}"#), "{prompt}");
    assert_eq!(prompt.matches("## Handed over").count(), 2, "{prompt}");
    it.answer("j", pass())
        .answer("g", pass())
        .expect_succeeded()
        .expect_lap("x", 1);
}

#[test]
fn a_loop_target_inside_keeps_its_forward_handoff_beside_the_gates() {
    // G7: draft's own handoff from plan is still its latest.
    let mut it = story("plan -> draft -> check -pass-> done\n check -fail-> draft").start();
    it.answer("plan", pass())
        .answer("draft", pass())
        .answer("check", fail());
    let prompt = it.request("draft", 2).prompt();
    let at = |text: &str| {
        prompt
            .find(text)
            .unwrap_or_else(|| panic!("no {text} in {prompt}"))
    };
    assert!(at(r#"{"from":"plan","lap":1}"#) < at(r#"{"from":"check","lap":1}"#));
}

#[test]
fn what_still_runs_in_a_loop_is_stopped_and_starts_again_only_when_it_has_settled() {
    // G7, B8
    let mut it = story(
        "a -> {g, s}
         s -> done
         g -pass-> done
         g -fail-> a",
    )
    .start();
    it.answer("a", pass())
        .expect_running(["g", "s"])
        .answer("g", fail());
    assert_eq!(it.stopped, ["s"]);
    it.expect_running(["s", "a"]).answer("a", pass());
    it.expect_running(["s", "g"]);
    assert_eq!(it.submissions("s"), 1, "its old run still occupies it");
    let kept = it.late.len();
    it.answer("s", pass());
    assert_eq!(
        it.late.len(),
        kept + 2,
        "its late request and response are sources"
    );
    it.expect_running(["g", "s"]).expect_lap("s", 2);
    let prompt = it.request("s", 2).prompt();
    assert!(prompt.contains(r#"{"from":"a","lap":2}"#), "{prompt}");
    it.answer("g", pass())
        .answer("s", pass())
        .expect_succeeded();
}

#[test]
fn a_stopped_tool_call_that_settles_late_is_a_source_and_not_an_answer() {
    let mut it = story(
        "a -> {g, s}
         s -> done
         s = type: tool, tool: act
         g -pass-> done
         g -fail-> a",
    )
    .start();
    it.answer("a", pass())
        .answer("g", fail())
        .answer("a", pass());
    it.tool("s", done(json!({ "n": 1 })));
    assert_eq!(it.late.last().expect("a late source").content, r#"{"n":1}"#);
    it.expect_lap("s", 2)
        .tool("s", done(json!({ "n": 2 })))
        .answer("g", pass());
    it.expect_succeeded();
    assert_eq!(it.dispatched.len(), 2);
}

#[test]
fn a_queued_step_of_a_loop_is_taken_out_of_the_queue() {
    let mut it = story(
        "a -> {g, s, t}
         {s, t} -> done
         s = agent: one
         t = agent: one
         g -pass-> done
         g -fail-> a",
    )
    .start();
    it.answer("a", pass())
        .expect_running(["g", "s"])
        .answer("g", fail());
    it.answer("s", pass())
        .expect_running(["a"])
        .answer("a", pass())
        .expect_running(["g", "s"]);
    it.answer("s", pass())
        .expect_running(["g", "t"])
        .expect_lap("t", 1);
    it.answer("g", pass())
        .answer("t", pass())
        .expect_succeeded()
        .expect_lap("s", 2);
}

#[test]
fn a_wait_in_an_invalidated_lap_disappears() {
    // V5a
    let mut it = story(
        "a -> {g, s}
         s -> done
         g -pass-> done
         g -fail-> a",
    )
    .verified_by_hand(&["s"])
    .start();
    it.answer("a", pass())
        .answer("s", pass())
        .verify("s", waiting("not yet"));
    it.expect_running(["g"])
        .answer("g", fail())
        .answer("a", pass())
        .answer("g", pass());
    assert!(it.machine.waits().is_empty());
    it.answer("s", pass())
        .verify("s", verified())
        .expect_succeeded()
        .expect_lap("s", 2);
}

#[test]
fn a_verification_of_an_invalidated_lap_verifies_nothing() {
    let mut it = story(
        "a -> {g, s}
         s -> done
         g -pass-> done
         g -fail-> a",
    )
    .verified_by_hand(&["s"])
    .start();
    it.answer("a", pass())
        .answer("s", pass())
        .answer("g", fail())
        .answer("a", pass());
    it.verify("s", verified())
        .expect_lap("s", 2)
        .expect_running(["g", "s"]);
    it.answer("s", pass())
        .verify("s", verified())
        .answer("g", pass())
        .expect_succeeded();
}

#[test]
fn a_terminal_inside_a_loop_is_reached_again() {
    let mut it = story(
        "a -> {g, done}
         g -pass-> done2
         g -fail-> a",
    )
    .start();
    it.answer("a", pass().output(1)).answer("g", fail());
    it.answer("a", pass().output(2))
        .answer("g", pass())
        .expect_succeeded();
    it.expect_lap("done", 2);
    assert_eq!(it.outcome().outputs["done"], 2);
}

#[test]
fn a_retry_edge_is_taken_at_most_as_often_as_it_says() {
    // G6, exactly
    for max in 1..=3 {
        let mut it = story(&format!("{REVIEW} | max_attempts: {max}")).start();
        for _ in 0..max {
            it.answer("draft", pass()).answer("check", fail());
        }
        it.answer("draft", pass())
            .answer("check", fail())
            .expect_failed("retry_exhausted");
        assert_eq!(
            it.outcome().detail,
            json!({
                "reason": "retry_exhausted",
                "gate": "check",
                "edge": "check->draft",
                "max_attempts": max,
                "attempts": max,
            })
        );
        assert_eq!(it.outcome().step.as_deref(), Some("check"));
        it.expect_lap("draft", max + 1);
        assert_eq!(it.events_of(&["check->draft"]).len(), max as usize);
        it.expect_settled("check", "fail");
    }
}

#[test]
fn a_retry_edge_has_three_attempts_unless_it_says_otherwise() {
    let mut it = story(REVIEW).start();
    for attempt in 1..=3 {
        it.answer("draft", pass()).answer("check", fail());
        let taken = it.events_of(&["check->draft"]);
        assert_eq!(
            taken.last().expect("taken"),
            &format!("check->draft, attempt {attempt}")
        );
    }
    it.answer("draft", pass())
        .answer("check", fail())
        .expect_failed("retry_exhausted");
}

const NESTED: &str = "
    a -> b -> inner -pass-> outer -pass-> done
    inner -fail-> b | max_attempts: 1
    outer -fail-> a | max_attempts: 2";

#[test]
fn taking_an_outer_loop_gives_the_inner_one_a_new_budget() {
    // G6
    let mut it = story(NESTED).start();
    for _ in 0..2 {
        it.answer("a", pass())
            .answer("b", pass())
            .answer("inner", fail());
        it.answer("b", pass())
            .answer("inner", pass())
            .answer("outer", fail());
    }
    it.answer("a", pass())
        .answer("b", pass())
        .answer("inner", fail());
    it.answer("b", pass())
        .answer("inner", fail())
        .expect_failed("retry_exhausted");
    assert_eq!(it.outcome().detail["edge"], "inner->b");
    assert_eq!(it.outcome().detail["attempts"], 1);
}

#[test]
fn taking_an_inner_loop_never_renews_the_outer_one() {
    // G6
    let mut it = story(NESTED).start();
    it.answer("a", pass());
    for _ in 0..2 {
        it.answer("b", pass())
            .answer("inner", pass())
            .answer("outer", fail())
            .answer("a", pass());
    }
    it.answer("b", pass()).answer("inner", fail());
    it.answer("b", pass())
        .answer("inner", pass())
        .answer("outer", fail());
    it.expect_failed("retry_exhausted");
    assert_eq!(it.outcome().detail["edge"], "outer->a");
}

#[test]
fn loops_side_by_side_keep_their_budgets() {
    // G6: neither body lies inside the other.
    let mut it = story(
        "a -> g -pass-> b -> h -pass-> done
         g -fail-> a | max_attempts: 1
         h -fail-> b | max_attempts: 1",
    )
    .start();
    it.answer("a", pass())
        .answer("g", fail())
        .answer("a", pass())
        .answer("g", pass());
    it.answer("b", pass())
        .answer("h", fail())
        .answer("b", pass())
        .answer("h", fail());
    it.expect_failed("retry_exhausted");
    assert_eq!(it.outcome().detail["edge"], "h->b");
}

const RELEASE: &str = "
    draft -> release -pass-> done
    release -fail-> lost
    release -fail-> draft
    release = operator: true, criteria: [good]";

#[test]
fn a_person_who_fails_says_whether_to_reject_or_to_rework() {
    // G6: an operator gate may have both kinds of on_fail edge.
    let decide = |direction| {
        Answer::Decide(OperatorVerdict {
            direction: Some(direction),
            ..reject()
        })
    };
    let mut it = story(RELEASE).start();
    it.answer("draft", pass())
        .expect_paused(Waiting, [("release", "operator_gate")]);
    let undecided = it.refused("release", Answer::Decide(reject()), Admission::Resume);
    assert_eq!(undecided, BadAnswer::NoWay);
    it.resume_with([("release", decide(Direction::Back))])
        .expect_running(["draft"])
        .expect_lap("draft", 2)
        .answer("draft", pass())
        .resume_with([("release", decide(Direction::Onward))])
        .expect_failed("terminal_fail");
    assert_eq!(
        it.events_of(&["release->"]),
        ["release->draft, attempt 1", "release->lost"]
    );
}

#[test]
fn a_gate_with_two_retry_edges_takes_both() {
    let mut it = story("{a, b} -> j -> g -pass-> done\n g -fail-> {a, b}").start();
    it.answer("a", pass())
        .answer("b", pass())
        .answer("j", pass())
        .answer("g", fail());
    it.expect_running(["a", "b"])
        .answer("b", pass())
        .expect_running(["a"])
        .answer("a", pass());
    it.answer("j", pass())
        .answer("g", pass())
        .expect_succeeded()
        .expect_lap("j", 2);
}

#[test]
fn two_gates_that_send_the_same_step_back_do_so_one_after_the_other() {
    // G7: the second gate's lap is invalidated by the first one's fail.
    let mut it = story(
        "a -> {g, h}
         {g, h} -pass-> done
         {g, h} -fail-> a",
    )
    .start();
    it.answer("a", pass()).answer("g", fail());
    assert_eq!(it.stopped, ["h"]);
    it.answer("h", fail())
        .expect_running(["a"])
        .expect_lap("a", 2);
    let prompt = it.request("a", 2).prompt();
    assert!(
        prompt.contains("`g`") && !prompt.contains("`h`,"),
        "{prompt}"
    );
    assert_eq!(prompt.matches("## Handed over").count(), 1, "{prompt}");
    it.answer("a", pass())
        .answer("g", pass())
        .answer("h", pass())
        .expect_succeeded();
}
