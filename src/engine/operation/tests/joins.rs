//! Joins: decided by what can still arrive, never by who came first (G8).

use super::*;

/// Answers whoever runs, those named first going first; steps not named pass.
fn play(text: &str, order: &[&str], failing: &[&str]) -> Play {
    let mut it = story(text).start();
    while let Some(step) = next(&it, order) {
        let verdict = if failing.contains(&step.as_str()) {
            fail()
        } else {
            pass()
        };
        it.answer(&step, verdict.output(format!("{step} did it")));
    }
    it
}

fn next(it: &Play, order: &[&str]) -> Option<String> {
    let running = it.running();
    let first = order.iter().find(|step| running.contains(*step));
    first.or(running.first()).map(|step| (*step).to_owned())
}

fn permutations(names: &[&'static str]) -> Vec<Vec<&'static str>> {
    if names.len() < 2 {
        return vec![names.to_vec()];
    }
    (0..names.len())
        .flat_map(|at| {
            let mut rest = names.to_vec();
            let first = rest.remove(at);
            permutations(&rest).into_iter().map(move |mut order| {
                order.insert(0, first);
                order
            })
        })
        .collect()
}

/// Plays every order of arrival and says what always came of it.
fn whatever_the_order(text: &str, names: &[&'static str], failing: &[&str]) -> Play {
    let mut orders = permutations(names).into_iter();
    let first = play(text, &orders.next().expect("an order"), failing);
    for order in orders {
        let other = play(text, &order, failing);
        assert_eq!(other.transcript(), first.transcript(), "{order:?}");
    }
    first
}

fn blocks(it: &Play, step: &str) -> Vec<String> {
    let prompt = it.request(step, 1).prompt();
    let titles = prompt.split("## Handed over by `").skip(1);
    titles
        .map(|rest| rest.split('`').next().unwrap_or_default().to_owned())
        .collect()
}

const DIAMOND: &str = "g -pass-> p -> j -> done\n g -fail-> f -> j";

#[test]
fn the_two_ways_of_a_gate_meet_again_whichever_was_taken() {
    // P1, B12
    for (failing, taken, dead) in [(vec![], "p", "f"), (vec!["g"], "f", "p")] {
        let mut it = play(DIAMOND, &[], &failing);
        it.expect_succeeded()
            .expect_lap("j", 1)
            .expect_settled(dead, "skipped: not_activated");
        assert_eq!(blocks(&it, "j"), [taken]);
        assert_eq!(it.submissions(dead), 0);
    }
}

#[test]
fn a_branch_that_can_no_longer_activate_does_not_hold_a_join() {
    // P2: whether g fails before or after a is done.
    let graph = "a -> j -> done\n g -pass-> j\n g -fail-> n -> done2";
    let mut it = whatever_the_order(graph, &["a", "g", "j", "n"], &["g"]);
    it.expect_succeeded().expect_lap("j", 1).expect_lap("n", 1);
    assert_eq!(blocks(&it, "j"), ["a"]);
}

#[test]
fn a_join_waits_for_a_gate_that_may_still_activate_it() {
    // P15, P2
    let mut it = story("a -> j -> done\n g -fail-> j\n g -pass-> done").start();
    it.answer("a", pass())
        .expect_running(["g"])
        .answer("g", fail())
        .expect_running(["j"]);
    assert_eq!(blocks(&it, "j"), ["a", "g"]);
}

#[test]
fn an_entry_that_runs_already_can_not_be_activated_once_more() {
    // P15: the activation isn't dropped; such a graph is refused, and a loop makes its target anew.
    let text = crate::engine::operation::tests::sketch::yaml_of(
        "a -> g -pass-> done\n g -fail-> x\n x -> done2",
    );
    let entries = text.replace("entry_steps: [a]", "entry_steps: [a, x]");
    assert_ne!(entries, text);
    let loaded = crate::engine::routine::load(entries.as_bytes(), &Default::default());
    let codes: Vec<_> = loaded.issues.iter().map(|it| it.code.label()).collect();
    assert!(codes.contains(&"entry-has-incoming"), "{codes:?}");
    let mut it = story("x -> {g, y}\n y -> done2\n g -pass-> done\n g -fail-> x").start();
    it.answer("x", pass()).expect_running(["g", "y"]);
    it.answer("g", fail());
    it.expect_running(["y", "x"]).expect_lap("x", 2);
    it.answer("x", pass());
    assert_eq!(it.lap("y"), 1, "its old run settles first");
    it.answer("g", pass());
    assert_eq!(it.stopped, ["y"]);
}

#[test]
fn a_join_of_three_runs_though_two_of_its_branches_died() {
    // B12
    let graph = "s -> {g, h, c}
        g -pass-> {x, j}
        g -fail-> done
        h -pass-> {y, j}
        h -fail-> done
        {x, y} -> done
        c -> j -> done";
    let mut it = whatever_the_order(graph, &["g", "h", "c"], &["g", "h"]);
    it.expect_succeeded().expect_lap("j", 1);
    assert_eq!(blocks(&it, "j"), ["c"]);
}

#[test]
fn branches_of_different_length_meet_once() {
    // B13
    let graph = "s -> {a, b1}\n b1 -> b2 -> b3\n {a, b3} -> j -> done";
    let mut it = whatever_the_order(graph, &["a", "b1", "b2", "b3"], &[]);
    it.expect_succeeded().expect_lap("j", 1);
    assert_eq!(blocks(&it, "j"), ["a", "b3"], "in the order of the file");
}

#[test]
fn a_join_that_nothing_activated_is_skipped_and_so_is_everything_behind_it() {
    // G8: a chain of skips ends in a join that another branch holds up.
    let graph = "g -pass-> a -> b -> c -> j -> done\n g -fail-> d -> j";
    let mut it = play(graph, &[], &["g"]);
    it.expect_succeeded();
    for skipped in ["a", "b", "c"] {
        it.expect_settled(skipped, "skipped: not_activated")
            .expect_lap(skipped, 1);
    }
    assert_eq!(blocks(&it, "j"), ["d"]);
}

#[test]
fn a_skipped_join_does_not_end_a_routine_that_reached_another_terminal() {
    let graph = "g -pass-> {a, b} -> j -> done\n g -fail-> c -> done2";
    let mut it = whatever_the_order(graph, &["g", "c"], &["g"]);
    it.expect_succeeded()
        .expect_settled("j", "skipped: not_activated");
    assert_eq!(json!(it.outcome().outputs), json!({ "done2": "c did it" }));
}

#[test]
fn four_branches_give_the_same_answer_in_every_order() {
    let graph = "s -> {a, b, g, h}
        g -pass-> {p, j}
        g -fail-> q
        h -pass-> j
        h -fail-> k
        {p, q} -> k
        {a, b} -> j
        {j, k} -> e -> done";
    for failing in [vec![], vec!["g"], vec!["h"], vec!["g", "h"]] {
        let mut it = whatever_the_order(graph, &["a", "b", "g", "h"], &failing);
        it.expect_succeeded()
            .expect_lap("j", 1)
            .expect_lap("k", 1)
            .expect_lap("e", 1);
    }
}

#[test]
fn a_join_waits_for_verification_not_only_for_verdicts() {
    // V3, G8
    let mut it = story("{a, b} -> j -> done")
        .verified_by_hand(&["a"])
        .start();
    it.answer("a", pass())
        .answer("b", pass())
        .expect_running(["a"]);
    it.verify("a", verified()).expect_running(["j"]);
}

#[test]
fn a_loop_whose_branches_meet_gives_the_same_answer_in_every_order() {
    // G7, G8, P6
    let graph = "a -> {b, c1, d}
        c1 -> c2
        {b, c2, d} -> j -> g -pass-> done
        g -fail-> a";
    let rework = |order: &[&str]| {
        let mut it = story(graph).start();
        while let Some(step) = next(&it, order) {
            let is_first_look = step == "g" && it.lap("g") == 1;
            it.answer(&step, if is_first_look { fail() } else { pass() });
        }
        it
    };
    let first = rework(&[]);
    for order in permutations(&["b", "c1", "c2", "d"]) {
        let mut other = rework(&order);
        other.expect_succeeded().expect_lap("j", 2);
        assert_eq!(other.transcript(), first.transcript(), "{order:?}");
    }
}
