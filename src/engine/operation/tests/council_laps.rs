//! Councils among other steps: turns of shared agents, rework, iterations, conditions (G7, G9, V20, V22).

use super::*;

#[test]
fn a_council_takes_its_leader_and_members_together_or_none() {
    // G9: first ready, first served; the council holds its place in every queue.
    let mut it = story(
        "{x, talk, y} -> done
         x = agent: a
         y = agent: b
         talk : lead broadcast {a, b}",
    )
    .start();
    it.expect_running(["x"]);
    it.answer("x", pass()).expect_running(["talk/a", "talk/b"]);
    // Also who has given its part works for the council until that has ended.
    it.says("talk/b", "b").expect_running(["talk/a"]);
    it.says("talk/a", "a").expect_running(["talk/lead"]);
    it.answer("talk/lead", pass()).expect_running(["y"]);
    it.answer("y", pass()).expect_succeeded();
}

#[test]
fn a_leader_is_taken_from_the_start() {
    let mut it = story(
        "{x, talk, y} -> done
         x = agent: lead
         y = agent: lead
         talk : lead broadcast {a}",
    )
    .start();
    it.expect_running(["x"]);
    it.answer("x", pass()).expect_running(["talk/a"]);
    it.says("talk/a", "a").answer("talk/lead", pass());
    it.expect_running(["y"]);
}

#[test]
fn councils_that_share_agents_take_turns() {
    // Leaders that are members elsewhere, members in any order, and a ring of them.
    let mut it = story(
        "{one, two, three, four} -> done
         one : a broadcast {b, c}
         two : c broadcast {b, a}
         three : b broadcast {d}
         four : d broadcast {e}",
    )
    .start();
    // Who needs nobody who is taken doesn't wait; who waits holds its place.
    it.expect_running(["one/b", "one/c"]);
    it.says("one/c", "c")
        .says("one/b", "b")
        .answer("one/a", pass());
    it.expect_running(["two/b", "two/a"]);
    it.says("two/a", "a")
        .says("two/b", "b")
        .answer("two/c", pass());
    it.expect_running(["three/d"]);
    it.says("three/d", "d").answer("three/b", pass());
    it.expect_running(["four/e"]);
    it.says("four/e", "e").answer("four/d", pass());
    it.expect_succeeded();
}

#[test]
fn councils_without_a_common_agent_work_side_by_side() {
    let mut it = story(
        "{one, two} -> done
         one : l broadcast {a}
         two : m broadcast {b}",
    )
    .start();
    it.expect_running(["one/a", "two/b"]);
}

#[test]
fn a_leader_may_be_a_member_of_its_own_council() {
    let mut it = story("talk -> done\n talk : lead dynamic {lead, a}").start();
    let ask = tool("ask_lead", json!({ "message": "well?" }));
    it.calls("talk/lead", [ask]).says("talk/lead", "well");
    it.answer("talk/lead", pass()).expect_succeeded();
    assert_eq!(it.settled("talk").1["contributions"][0]["said"], "well");
}

#[test]
fn an_uncertain_council_frees_its_agents_when_all_has_settled() {
    // V6, G9
    let mut it = story(
        "{talk, x} -> done
         x = agent: b
         talk : lead broadcast {a, b}
         talk = timeout_ms: 50",
    )
    .start();
    it.says("talk/a", "a").passes(50);
    it.expect_settled("talk", "uncertain: timeout");
    it.says("talk/b", "late");
    it.reconcile([("talk", Answer::Accept(approve()))])
        .expect_running(["x"]);
}

/// Work, a council on it and a gate beside that sends it back.
fn rework(strategy: &str) -> Play {
    let mut it = story(&format!(
        "work -> talk -> done
         work -> g -pass-> done
         g -fail-> work
         talk : lead {strategy} {{a, b}}
         talk = tools: [act]"
    ))
    .start();
    it.answer("work", pass().handoff("talk", json!({ "draft": "old" })));
    it
}

#[test]
fn an_invalidated_council_is_asked_to_stop_and_begins_anew_when_it_has() {
    // G7
    let mut it = rework("broadcast");
    it.says("talk/b", "old view").answer("g", fail());
    assert_eq!(it.stopped, ["talk/a"]);
    it.answer("work", pass().handoff("talk", json!({ "draft": "new" })));
    // Its old member still talks: the new lap waits, with all its agents.
    it.expect_running(["talk/a", "g"]);
    it.says("talk/a", "old too");
    it.expect_running(["g", "talk/a", "talk/b"]);
    it.expect_lap("talk", 2);
    assert_eq!(it.late.len(), 2);
    it.says("talk/a", "new view").says("talk/b", "new too");
    for who in ["talk/a", "talk/b", "talk/lead"] {
        let told = it.request(who, 2).prompt();
        assert!(
            told.contains("new") && !told.contains("old"),
            "{who}: {told}"
        );
    }
    it.answer("talk/lead", pass()).answer("g", pass());
    it.expect_succeeded();
    let (_, data) = it.settled("talk");
    assert_eq!(data["contributions"][0]["said"], "new view");
    assert_eq!(it.submissions("talk"), 2);
}

#[test]
fn an_invalidated_leader_that_waits_for_a_member_forgets_its_calls() {
    // G7, G11: the allowance is the lap's.
    let mut it = story(
        "work -> talk -> done
         work -> g -pass-> done
         g -fail-> work
         talk : lead dynamic {a} | max_calls: 1",
    )
    .start();
    let ask = || tool("ask_a", json!({ "message": "well?" }));
    it.answer("work", pass());
    it.calls("talk/lead", [ask()]).answer("g", fail());
    assert_eq!(it.stopped, ["talk/a"]);
    it.says("talk/a", "old").answer("work", pass());
    it.calls("talk/lead", [ask()]).says("talk/a", "new");
    assert_eq!(it.latest_request("talk/lead", 2).last(), "new");
}

#[test]
fn a_wait_in_an_invalidated_council_disappears() {
    // V5a
    let mut it = story(
        "work -> talk -> done
         work -> g -pass-> done
         g -fail-> work
         talk : lead broadcast {a, b}
         talk = tools: [look]",
    )
    .start();
    it.answer("work", pass());
    it.calls("talk/a", [tool("look", json!({}))])
        .tool("talk/a", pending("d1"))
        .says("talk/b", "b");
    it.answer("g", fail()).expect_running(["work"]);
    it.deliver("d1", done(json!(1)));
    assert_eq!(it.late.len(), 1);
    it.answer("work", pass())
        .expect_running(["talk/a", "talk/b", "g"]);
}

#[test]
fn a_council_is_reworked_by_the_gate_behind_it() {
    let mut it = story(
        "talk -> g -pass-> done
         g -fail-> talk | max_attempts: 1
         talk : lead vote {a}",
    )
    .start();
    let cast = || tool("cast_vote", json!({ "verdict": "pass", "reasoning": "r" }));
    it.calls("talk/a", [cast()]).answer("talk/lead", pass());
    it.answer("g", fail().handoff("talk", json!({ "fix": "this" })));
    it.expect_lap("talk", 2).expect_running(["talk/a"]);
    assert!(
        it.request("talk/a", 2)
            .prompt()
            .contains(r#"{"fix":"this"}"#)
    );
    it.calls("talk/a", [cast()]).answer("talk/lead", pass());
    it.answer("g", pass()).expect_succeeded();
    assert_eq!(it.settled("talk").1["tally"]["pass"], 1);
}

/// A council for each of two files.
const EACH: &str = "
routine: each
agents: { lead: {}, a: {}, b: {}, w: {} }
councils: { c: { leader: lead, members: [a, b], strategy: broadcast } }
parameters: [{ name: files, default: [one, two] }]
entry_steps: [list]
steps:
  - { slug: list, type: agent, agent: w }
  - slug: each
    type: map
    source: { step: list, path: files }
    iteration_deadline_ms: 1000
    routine:
      steps:
        - { slug: talk, type: council, council: c, instructions: 'On {{map.item}}, {{map.index}} of {{map.total}}' }
  - { slug: done, type: terminal }
edges:
  - { from: list, to: each }
  - { from: each, to: done }
";

#[test]
fn a_council_works_in_each_iteration() {
    // V22
    let mut it = story(EACH).start();
    it.answer("list", pass().output(json!({ "files": ["one", "two"] })));
    for (index, file) in ["one", "two"].into_iter().enumerate() {
        it.expect_running(["talk/a", "talk/b"]);
        let told = it.prompts("talk/a")[index];
        assert!(told.contains(&format!("On {file}, {index} of 2")), "{told}");
        it.says("talk/b", "b").says("talk/a", "a");
        it.answer("talk/lead", pass().output(file));
    }
    it.expect_succeeded();
    assert_eq!(it.settled("each").0, &json!(["one", "two"]));
    assert_eq!(it.submissions("talk"), 2);
}

#[test]
fn a_council_in_an_iteration_fails_its_step() {
    let mut it = story(EACH).start();
    it.answer("list", pass().output(json!({ "files": ["one", "two"] })));
    it.says("talk/b", "b").says("talk/a", "a");
    it.answer("talk/lead", fail())
        .expect_failed("iteration_failed");
}

#[test]
fn an_iterations_deadline_stops_the_members() {
    // V24
    let mut it = story(EACH).start();
    it.answer("list", pass().output(json!({ "files": ["one", "two"] })));
    it.says("talk/a", "a").passes(1_000);
    assert_eq!(it.stopped, ["talk/b"]);
    it.says("talk/b", "late").expect_failed("iteration_failed");
    assert_eq!(it.late.len(), 2);
}

#[test]
fn an_uncertain_council_in_an_iteration_is_reconciled_there() {
    let mut it = story(EACH).start();
    it.answer("list", pass().output(json!({ "files": ["one"] })));
    let no_answer = || ModelOutcome::NoAnswer {
        reason: "reset".into(),
    };
    it.reply("talk/a", no_answer()).reply("talk/b", no_answer());
    it.expect_paused(Uncertain, [("talk", "uncertain")]);
    it.reconcile([("talk", Answer::Accept(approve()))])
        .expect_succeeded();
}

#[test]
fn a_councils_condition_is_looked_at_before_anything_is_submitted() {
    // V20
    let skipped = |omission: &str| {
        story(&format!(
            "first -> talk -> next -> done
             talk : lead broadcast {{a}}
             talk = condition: {{ memory_key: k, operator: exists, on_false: skip }}{omission}"
        ))
        .start()
    };
    let mut it = skipped("");
    it.answer("first", pass())
        .expect_settled("talk", "skipped: condition");
    it.expect_running(["next"]);
    assert_eq!(it.submissions("talk"), 0);
    let mut it = skipped(", omission: refused");
    it.answer("first", pass())
        .expect_failed("no_terminal_reached");
}

#[test]
fn a_name_without_value_fails_the_council_before_any_call() {
    // V21
    let mut it = story(
        "x -> talk -> done
         talk : lead vote {a, b}
         @ agents: { x: {}, lead: {}, a: {}, b: { instructions: 'Say {{result.nothing}}' } }",
    )
    .start();
    it.answer("x", pass()).expect_failed("template_failed");
    assert_eq!(it.model_calls("talk/a"), 0);
}
