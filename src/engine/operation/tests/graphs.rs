//! Branches, terminals and turns: the graph without loops (G9, G10).

use super::*;

#[test]
fn a_short_branch_never_waits_for_a_long_one() {
    // P5, B14: b still runs while a, a2 and a3 come and go.
    let mut it = story("a -> a2 -> a3 -> done\n b -> done2").start();
    it.expect_running(["a", "b"])
        .answer("a", pass())
        .expect_running(["b", "a2"])
        .answer("a2", pass())
        .expect_running(["b", "a3"])
        .answer("a3", pass())
        .expect_settled("done", "pass")
        .expect_running(["b"])
        .answer("b", pass())
        .expect_succeeded();
}

#[test]
fn a_terminal_does_not_save_a_routine_whose_other_branch_fails() {
    // P3b: the agent that fails kills the routine, whoever was at the end already.
    let mut it = story("a -> done\n b -> c -> done2").start();
    it.answer("a", pass())
        .expect_settled("done", "pass")
        .answer("b", pass())
        .answer("c", fail())
        .expect_failed("verdict_fail");
    assert_eq!(it.outcome().step.as_deref(), Some("c"));
}

#[test]
fn the_first_terminal_does_not_end_what_still_runs() {
    // P4
    let mut it = story("a -> done\n b -> c -> d -> lost").start();
    it.answer("a", pass().output("from a"))
        .answer("b", pass().output("from b"))
        .answer("c", pass())
        .expect_running(["d"])
        .answer("d", pass().output("from d"))
        .expect_failed("terminal_fail");
    let outcome = it.outcome();
    assert_eq!(outcome.step.as_deref(), Some("lost"));
    assert_eq!(
        outcome.outputs["done"], "from a",
        "a terminal's output is its predecessor's"
    );
    assert_eq!(outcome.outputs["lost"], "from d");
}

#[test]
fn a_terminal_fail_ends_the_routine_at_once_with_its_text() {
    // G10, C3
    let mut it = story(
        "@ parameters: [{ name: who, default: nobody }]
         a -> lost
         b -> done
         lost = reason: '{{param.who}} liked it'",
    )
    .start();
    it.answer("a", pass().output(1));
    assert_eq!(it.stopped, ["b"]);
    assert_eq!(it.state(), OperationState::Settling);
    it.answer("b", pass()).expect_failed("terminal_fail");
    assert_eq!(it.outcome().detail, json!({ "text": "nobody liked it" }));
}

#[test]
fn several_terminals_all_count_and_all_give_their_output() {
    let mut it = story("a -> done\n b -> done2").start();
    it.answer("a", pass().output(1))
        .answer("b", pass().output(2))
        .expect_succeeded();
    assert_eq!(
        json!(it.outcome().outputs),
        json!({ "done": 1, "done2": 2 })
    );
}

#[test]
fn a_terminal_that_several_steps_activated_gives_an_object_by_slug() {
    // C3
    let mut it = story("{a, b} -> done").start();
    it.answer("b", pass().output(2))
        .answer("a", pass().output(1))
        .expect_succeeded();
    assert_eq!(
        json!(it.outcome().outputs),
        json!({ "done": { "a": 1, "b": 2 } })
    );
}

#[test]
fn the_first_failure_is_the_reason() {
    // P14, G10: what b says afterwards changes nothing.
    let mut it = story("a -> done\n b -> done").start();
    it.answer("a", fail());
    assert_eq!(it.stopped, ["b"]);
    it.answer("b", fail()).expect_failed("verdict_fail");
    assert_eq!(it.outcome().step.as_deref(), Some("a"));
    assert_eq!(it.outcome().detail, json!({ "text": "it is a fail" }));
}

#[test]
fn nothing_new_starts_after_a_failure() {
    let mut it = story("a -> done\n b -> c -> done\n d = agent: b\n d -> done").start();
    it.expect_running(["a", "b"])
        .answer("a", fail())
        .answer("b", pass())
        .expect_running([])
        .expect_failed("verdict_fail");
    assert_eq!((it.submissions("c"), it.submissions("d")), (0, 0));
}

#[test]
fn steps_of_one_agent_take_turns_in_the_order_in_which_they_were_ready() {
    // G9: d gets ready before b and c do.
    let mut it = story(
        "a -> {b, c} -> done
         e -> d -> done
         b = agent: one
         c = agent: one
         d = agent: one",
    )
    .start();
    it.answer("e", pass())
        .expect_running(["a", "d"])
        .answer("a", pass())
        .expect_running(["d"])
        .answer("d", pass())
        .expect_running(["b"])
        .answer("b", pass())
        .expect_running(["c"])
        .answer("c", pass())
        .expect_succeeded();
}

#[test]
fn different_agents_work_side_by_side() {
    // G9: all activated edges fire, in file order.
    let mut it = story("a -> {b, c, d} -> done").start();
    it.answer("a", pass()).expect_running(["b", "c", "d"]);
    for step in ["b", "c", "d"] {
        let prompt = it.request(step, 1).prompt();
        assert!(prompt.contains("## Handed over by `a`"), "{prompt}");
    }
}

#[test]
fn a_step_that_is_verified_has_freed_its_agent() {
    // V6: its response is retained.
    let mut it = story("a -> done\n b = agent: a\n b -> done")
        .verified_by_hand(&["a"])
        .start();
    it.expect_running(["a"])
        .answer("a", pass())
        .expect_running(["a", "b"])
        .answer("b", pass())
        .verify("a", verified())
        .expect_succeeded();
}

#[test]
fn a_gate_judges_its_predecessors_and_nobody_else() {
    // P17: x finished last, but it doesn't lead to g.
    let mut it = story("a -> g -pass-> done\n x -> y -> done").start();
    it.answer("a", pass())
        .answer("x", pass())
        .answer("y", pass());
    let prompt = it.request("g", 1).prompt();
    assert!(
        prompt.contains("`a`") && !prompt.contains("`x`") && !prompt.contains("`y`"),
        "{prompt}"
    );
}

#[test]
fn a_run_tells_its_story_in_order() {
    // C3: settled before decided, one submission, settled last.
    let mut it = story("a -> g -pass-> done\n g -fail-> lost").start();
    it.answer("a", pass()).answer("g", pass());
    assert_eq!(
        it.events(),
        [
            "started",
            "a started lap 1",
            "a submitted",
            "a asked its model, call 1",
            "a settled pass",
            "a verified",
            "a->g",
            "g started lap 1",
            "g submitted",
            "g asked its model, call 1",
            "g settled pass",
            "g verified",
            "g->done",
            "lost settled skipped: not_activated",
            "done settled pass",
            "final verified",
            "settled succeeded",
        ]
    );
}

#[test]
fn two_edges_of_one_pair_that_overlap_never_get_this_far() {
    // P13
    let overlapping = "
        routine: r
        agents: { w: {} }
        entry_steps: [a]
        steps: [{ slug: a, type: agent, agent: w }, { slug: done, type: terminal }]
        edges: [{ from: a, to: done }, { from: a, to: done, condition: on_pass }]";
    let loaded = crate::engine::routine::load(overlapping.as_bytes(), &Default::default());
    let codes: Vec<_> = loaded
        .issues
        .iter()
        .map(|issue| issue.code.label())
        .collect();
    assert!(codes.contains(&"duplicate-edge"), "{codes:?}");
}

#[test]
fn one_execution_never_runs_more_than_ten_thousand_steps() {
    // G6, P20: 5,000 rounds of two steps, and one step more.
    let mut it = story("a -> g -pass-> done\n g -fail-> a | max_attempts: 100000").start();
    for _ in 0..5_000 {
        it.answer("a", pass()).answer("g", fail());
    }
    it.expect_failed("step_limit");
    assert_eq!(it.submissions("a") + it.submissions("g"), 10_000);
}
