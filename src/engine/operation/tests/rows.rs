//! What other engines were seen to do wrong, where no other story tells it.
//!
//! The ids name those observations: H for graphs that pause, O for task lists.

use super::*;

const REVIEWED: &str = "a -> j -> g
     b -> c -> c2 -> j
     g = operator: true
     g -pass-> done
     g -fail-> a | max_attempts: 2";

#[test]
fn a_graph_that_pauses_is_scheduled_like_any_other() {
    // H1, H2: entries side by side, and the join runs once with all that came in.
    for text in [
        REVIEWED.to_owned(),
        REVIEWED.replacen(
            "a -> j -> g\n     b -> c -> c2 -> j",
            "b -> c -> c2 -> j\n     a -> j -> g",
            1,
        ),
    ] {
        let mut it = story(&text).start();
        assert_eq!(it.running().len(), 2);
        it.answer("a", pass());
        for step in ["b", "c", "c2"] {
            assert_eq!(it.submissions("j"), 0);
            it.answer(step, pass());
        }
        let prompt = it.request("j", 1).prompt();
        assert!(prompt.contains("by `a`") && prompt.contains("by `c2`"));
        it.answer("j", pass());
        assert_eq!(it.submissions("j"), 1);
    }
}

#[test]
fn an_agents_fail_fails_a_graph_that_pauses_too() {
    // H3, H3b: as in any other graph, also where each branch has a terminal of its own.
    let mut it = story("a -> done\n b -> g\n g = operator: true\n g -pass-> done2").start();
    it.answer("b", pass()).answer("a", fail());
    it.expect_failed("verdict_fail");
    assert_eq!(it.outcome().step.as_deref(), Some("a"));
}

#[test]
fn a_persons_verdict_is_checked_bound_to_its_round_and_spent_once() {
    // H4, H5, H8, H9
    let mut it = story("a -> g\n g = operator: true\n g -pass-> done\n g -fail-> a").start();
    it.answer("a", pass());
    let silent = OperatorVerdict {
        reasoning: " ".into(),
        ..approve()
    };
    assert_eq!(
        it.refused("g", Answer::Decide(silent), Admission::Resume),
        BadAnswer::NoReasoning
    );
    let astray = OperatorVerdict {
        handoffs: [("nowhere".to_owned(), json!({ "x": 1 }))].into(),
        ..approve()
    };
    assert!(matches!(
        it.refused("g", Answer::Decide(astray), Admission::Resume),
        BadAnswer::Handoff { .. }
    ));
    let first = it.wait("g").key;
    let generation = it.machine.generation().next();
    it.resume_with([("g", Answer::Decide(reject()))]);
    let again = Event::ResumeAdmitted {
        generation,
        answers: vec![(first.clone(), Answer::Decide(approve()))],
    };
    it.machine
        .apply(it.now, again.clone())
        .expect_err("the same admission again");
    it.answer("a", pass())
        .expect_paused(Waiting, [("g", "operator_gate")]);
    it.machine
        .apply(it.now, again)
        .expect_err("an admission of the first round");
    let stale = [(first, Answer::Decide(approve()))];
    assert!(matches!(
        it.machine.check_answers(&stale, Admission::Resume),
        Err(BadAnswer::NoSuchWait(_))
    ));
    it.resume_with([("g", Answer::Decide(approve()))])
        .expect_succeeded();
}

#[test]
fn rework_asked_for_by_a_person_is_bounded() {
    // H10
    let mut it = story(REVIEWED).start();
    for step in ["b", "c", "c2"] {
        it.answer(step, pass());
    }
    for _ in 0..3 {
        it.answer("a", pass()).answer("j", pass());
        it.resume_with([("g", Answer::Decide(reject()))]);
    }
    it.expect_failed("retry_exhausted");
}

#[test]
fn post_steps_that_always_run_do_so_after_a_failed_pre_step() {
    // O13, O14: and what failed among them stays to be seen.
    let mut it = story(
        "@ post_steps_trigger: always
         @ pre_steps: [{ name: p, tool: look }]
         @ post_steps: [{ name: q, tool: act }, { name: r, tool: look, result_key: seen }]
         a -> done",
    )
    .start();
    it.tool("p", failed("no")).tool("q", failed("neither"));
    it.tool("r", done(json!(1)))
        .expect_failed("pre_step_failed");
    assert_eq!(it.events_of(&["q called"]), ["q called act: failed"]);
    assert_eq!(it.memory("seen"), Some(&json!(1)));
}

#[test]
fn a_slug_that_looks_like_somebodys_id_is_a_slug() {
    // O6
    let mut it = story("task-1 -> plan-2 -> done").start();
    it.answer("task-1", pass())
        .answer("plan-2", pass())
        .expect_succeeded();
}

#[test]
fn one_failed_step_ends_what_depends_on_it_by_name() {
    // O19: never stalled, never pending for good.
    let mut it = story("a -> b -> done\n c -> done").start();
    it.answer("a", fail()).answer("c", pass());
    it.expect_failed("verdict_fail");
    assert_eq!(
        (it.outcome().step.as_deref(), it.submissions("b")),
        (Some("a"), 0)
    );
}

#[test]
fn a_transient_error_after_an_effect_repeats_nothing() {
    // O20, B9
    let mut it = story("a -> done\n a = tools: [commit]").start();
    it.calls("a", [tool("commit", json!({}))])
        .tool("a", done(json!("paid")))
        .reply(
            "a",
            ModelOutcome::NotTaken {
                reason: "overloaded".into(),
            },
        )
        .expect_paused(Uncertain, [("a", "uncertain")])
        .resume()
        .expect_paused(Uncertain, [("a", "uncertain")]);
    assert_eq!((it.dispatched.len(), it.submissions("a")), (1, 1));
}

#[test]
fn falsy_outputs_are_outputs() {
    // 3.6: what follows may name them.
    for (output, said) in [
        (json!(""), "<>"),
        (json!(0), "<0>"),
        (json!(false), "<false>"),
        (json!(null), "<>"),
    ] {
        let mut it = story("a -> b -> done\n b = instructions: '<{{result.a}}>'").start();
        it.answer("a", pass().output(output));
        assert!(it.request("b", 1).prompt().contains(said), "{said}");
    }
}

#[test]
fn a_refusal_in_prose_completes_nothing() {
    // O24: not as a step's answer, not as a gate's, and not beside a call that is none.
    for text in [
        "a -> done",
        "s -> a -pass-> done\n a -fail-> lost\n s = type: tool, tool: look",
    ] {
        let mut it = story(text).start();
        if text.starts_with('s') {
            it.tool("s", done(json!(1)));
        }
        for _ in 0..3 {
            it.says("a", "I'm sorry, but I can't help with that.");
        }
        it.expect_settled("a", "uncertain: no_verdict")
            .expect_paused(Uncertain, [("a", "uncertain")]);
        assert_eq!(it.events_of(&["a->", "a verified", "done"]), [""; 0]);
    }
}

#[test]
fn what_is_done_is_told_step_by_step_and_never_as_a_share() {
    // O21: no number that could be multiplied once too often.
    let mut it = story("a -> b -> c -> done").start();
    it.answer("a", pass()).answer("b", pass());
    let view = serde_json::to_value(it.machine.view()).expect("JSON");
    let text = view.to_string();
    for word in ["progress", "percent", "%"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    let steps = view["executions"][0]["steps"].as_array().expect("steps");
    let states: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["status"].as_str())
        .collect();
    assert_eq!(states, ["passed", "passed", "running", "idle"]);
}

#[test]
fn a_cleanup_that_failed_is_done_later_and_touches_nothing_but_itself() {
    // V18
    let mut it = story("a -> done\n a = tools: [act]").start();
    it.calls("a", [tool("act", json!({}))])
        .tool("a", done(json!(1)))
        .answer("a", pass())
        .expect_succeeded();
    let told = it.published.len();
    let failed = Event::CleanupFailed {
        reason: "the disk is full".into(),
    };
    for event in [failed.clone(), failed, Event::CleanupDone] {
        let commands = it.machine.apply(it.now, event).expect("legal");
        assert!(commands.is_empty(), "{commands:?}");
    }
    assert_eq!((it.published.len(), it.dispatched.len()), (told, 1));
    it.expect_succeeded();
}
