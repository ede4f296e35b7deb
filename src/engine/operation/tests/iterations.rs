//! Waits, stops, deadlines and loops inside iterations (V5a, V6, V22, V24, G7).

use super::*;

const ITEMS: &str =
    "@ pre_steps: [{ name: items, tool: memory_set, args: { key: items, value: [a, b] } }]\n";

/// A map over two items whose nested routine has these fields.
fn map_of(routine: &str) -> String {
    format!(
        "{ITEMS} each -> done
         each = type: map, source: {{ memory_key: items }}, routine: {{ {routine} }}"
    )
}

const CHECKED: &str =
    "steps: [{ slug: n, type: agent, agent: n, verify: [{ check: command, run: [x] }] }]";

#[test]
fn a_judgement_inside_an_iteration_is_looked_at_again_and_nothing_is_sent_again() {
    // V6, B1
    let mut it = story(&map_of(CHECKED)).verified_by_hand(&["n"]).start();
    it.answer("n", pass().output(1));
    for _ in 0..20 {
        it.verify("n", waiting("not yet"))
            .expect_paused(Waiting, [("n", "check")]);
        assert_eq!(it.wait("n").key.execution.to_string(), "op.x2");
        it.resume();
    }
    assert_eq!(it.model_calls("n"), 1);
    it.verify("n", verified())
        .expect_running(["n"])
        .answer("n", pass().output(2))
        .verify("n", verified())
        .expect_succeeded();
    assert_eq!(it.settled("each").0, &json!([1, 2]));
    assert_eq!(it.model_calls("n"), 2);
}

#[test]
fn a_waiting_iteration_holds_the_next_and_lets_branches_outside_go_on() {
    // V5a, V22
    let text = map_of(CHECKED).replace("each -> done", "each -> done\n b -> c -> done");
    let mut it = story(&text).verified_by_hand(&["n"]).start();
    it.answer("n", pass()).verify("n", waiting("not yet"));
    it.expect_running(["b"])
        .answer("b", pass())
        .answer("c", pass())
        .expect_paused(Waiting, [("n", "check")]);
    assert_eq!(it.submissions("n"), 1);
}

#[test]
fn what_is_blocked_inside_an_iteration_stops_siblings_outside() {
    // V5a: and what is blocked outside stops iterations.
    let text = map_of(CHECKED).replace("each -> done", "each -> done\n b -> c -> done");
    let mut it = story(&text).verified_by_hand(&["n"]).start();
    it.answer("n", pass()).verify("n", blocked("broken"));
    it.answer("b", pass())
        .expect_paused(Blocked, [("n", "check")]);
    assert_eq!(it.submissions("c"), 0);
    it.resume()
        .verify("n", verified())
        .expect_running(["c", "n"]);
    let text = format!("{text}\n b = verify: [{{ check: command, run: [x] }}]");
    let mut it = story(&text).verified_by_hand(&["b", "n"]).start();
    it.answer("b", pass()).verify("b", blocked("broken"));
    it.answer("n", pass()).verify("n", verified());
    it.expect_paused(Blocked, [("b", "check")]);
    assert_eq!(it.submissions("n"), 1, "the next iteration asks nothing");
}

/// Maps three levels deep over the same two items, around one agent step.
fn deep(step: &str) -> String {
    let inner = |slug: &str, routine: &str| {
        format!(
            "steps: [{{ slug: {slug}, type: map, source: {{ memory_key: items }}, routine: {{ {routine} }} }}]"
        )
    };
    map_of(&inner(
        "second",
        &inner("third", &format!("steps: [{step}]")),
    ))
}

#[test]
fn a_wait_on_the_fourth_level_resumes_at_that_very_place() {
    let mut it = story(&deep("{ slug: n, type: agent, agent: n, tools: [act] }"))
        .permitted_by_hand(&["act"])
        .start();
    let mut calls = 0;
    for at in 0..8 {
        if at == 5 {
            it.calls("n", [tool("act", json!({ "at": at }))])
                .permission(
                    "n",
                    Permission::Ask {
                        reason: "who".into(),
                    },
                )
                .expect_paused(Blocked, [("n", "permission")]);
            it.resume_with([("n", allow())]);
            it.tool("n", done(json!(1)));
            calls = it
                .dispatched
                .iter()
                .filter(|(tool, _)| tool == "act")
                .count();
        }
        it.answer("n", pass().output(at));
    }
    it.expect_succeeded();
    assert_eq!((calls, it.submissions("n")), (1, 8));
    assert_eq!(
        it.settled("each").0,
        &json!([[[0, 1], [2, 3]], [[4, 5], [6, 7]]])
    );
}

#[test]
fn an_uncertain_step_inside_can_be_accepted_or_failed_by_a_person() {
    // V10a: failed, it is the iteration's failure, with what came before kept.
    let text = map_of("steps: [{ slug: n, type: agent, agent: n }]");
    let mut it = story(&text).start();
    it.answer("n", pass().output(1))
        .reply(
            "n",
            ModelOutcome::NoAnswer {
                reason: "reset".into(),
            },
        )
        .expect_paused(Uncertain, [("n", "uncertain")]);
    it.reconcile([("n", Answer::Accept(approve()))]);
    it.expect_succeeded();
    let mut it = story(&text).start();
    it.answer("n", pass().output(1)).reply(
        "n",
        ModelOutcome::NoAnswer {
            reason: "reset".into(),
        },
    );
    it.reconcile([("n", fail_it())])
        .expect_failed("iteration_failed");
    assert_eq!(it.outcome().detail["reason"], "failed_by_operator");
    assert_eq!(it.outcome().step.as_deref(), Some("each"));
    assert_eq!(it.settled("each").0, &json!([1]));
}

#[test]
fn operator_gates_and_conditions_wait_inside_iterations_too() {
    let mut it = story(&map_of(
        "entry_steps: [g], steps: [{ slug: g, type: gate, operator: true, instructions: 'Is {{map.item}} good?' }, { slug: s, type: tool, tool: memory_set, args: { key: k, value: 1 }, condition: { memory_key: k, operator: not_exists, on_false: wait } }, { slug: d, type: terminal }], edges: [{ from: g, to: s, condition: on_pass }, { from: s, to: d }]",
    ))
    .start();
    it.expect_paused(Waiting, [("g", "operator_gate")]);
    assert_eq!(it.wait("g").reason, "Is a good?");
    it.resume_with([("g", Answer::Decide(approve()))]);
    assert_eq!(it.wait("g").reason, "Is b good?");
    it.resume_with([("g", Answer::Decide(approve()))])
        .expect_paused(Waiting, [("s", "condition")]);
}

#[test]
fn a_map_in_a_loop_starts_at_the_first_item_and_its_calls_settle_first() {
    // G7, V22: late results are sources.
    let mut it = story(&format!(
        "{ITEMS} a -> each -> done
         a -> g
         g -pass-> done2
         g -fail-> a
         each = type: map, source: {{ memory_key: items }}, routine: {{ steps: [{{ slug: n, type: agent, agent: n, instructions: 'at {{{{map.item}}}}.' }}] }}"
    ))
    .start();
    it.answer("a", pass())
        .answer("n", pass().output("old"))
        .expect_running(["g", "n"])
        .answer("g", fail());
    assert_eq!(it.stopped, ["n"]);
    it.expect_running(["n", "a"])
        .answer("a", pass())
        .expect_running(["n", "g"]);
    assert_eq!(it.lap("each"), 1, "not before the old call has settled");
    let old = it.asked.iter().position(|asked| asked.place.step == "n");
    let request = it.asked.remove(old.expect("asked")).request;
    it.done_with(request);
    it.tell(late_reply(request));
    assert_eq!(it.late.len(), 2, "request and response");
    it.expect_lap("each", 2).expect_running(["g", "n"]);
    assert!(it.prompts("n")[2].contains("at a."), "from the first item");
    it.answer("n", pass().output(1))
        .answer("n", pass().output(2))
        .answer("g", pass())
        .expect_succeeded();
    assert_eq!(it.settled("each").0, &json!([1, 2]));
}

fn late_reply(request: crate::engine::id::RequestId) -> Event {
    Event::ModelReplied {
        request,
        reply: Box::new(crate::engine::ports::ModelReply {
            outcome: answered(vec![pass().output("late").call(Default::default())]),
            request: bytes::Bytes::from_static(b"q"),
            response: bytes::Bytes::from_static(b"r"),
        }),
    }
}

#[test]
fn a_settled_map_in_a_loop_is_done_again_with_the_new_source() {
    let mut it = story(
        "a -> each -> g
         g -pass-> done
         g -fail-> a
         each = type: map, source: { step: a }, routine: { steps: [{ slug: n, type: agent, agent: n, instructions: 'at {{map.item}}.' }] }",
    )
    .start();
    it.answer("a", pass().output(json!(["x"])))
        .answer("n", pass())
        .answer("g", fail())
        .answer("a", pass().output(json!(["y", "z"])))
        .answer("n", pass().output(1))
        .answer("n", pass().output(2))
        .answer("g", pass())
        .expect_succeeded();
    assert_eq!(it.settled("each").0, &json!([1, 2]));
    assert!(it.prompts("n")[1].contains("at y."));
}

#[test]
fn a_retry_edge_inside_an_iteration_has_its_own_budget_in_each() {
    let mut it = story(&map_of(
        "entry_steps: [n], steps: [{ slug: n, type: agent, agent: n }, { slug: g, type: gate, agent: g }, { slug: d, type: terminal }], edges: [{ from: n, to: g }, { from: g, to: d, condition: on_pass }, { from: g, to: n, condition: on_fail, max_attempts: 1 }]",
    ))
    .start();
    for _ in 0..2 {
        it.answer("n", pass())
            .answer("g", fail())
            .answer("n", pass())
            .answer("g", pass());
    }
    it.expect_succeeded();
    let mut it = story(&map_of(
        "entry_steps: [n], steps: [{ slug: n, type: agent, agent: n }, { slug: g, type: gate, agent: g }, { slug: d, type: terminal }], edges: [{ from: n, to: g }, { from: g, to: d, condition: on_pass }, { from: g, to: n, condition: on_fail, max_attempts: 1 }]",
    ))
    .start();
    for _ in 0..2 {
        it.answer("n", pass()).answer("g", fail());
    }
    it.expect_failed("iteration_failed");
    assert_eq!(it.outcome().detail["cause"]["edge"], "g->n");
}

fn with_deadline(text: &str) -> String {
    text.replace(
        "items }, routine",
        "items }, iteration_deadline_ms: 500, routine",
    )
}

#[test]
fn an_iteration_that_passes_its_deadline_fails_its_step() {
    // V24, O10: what is in flight is asked to stop, and what comes of it changes nothing.
    let text = map_of("steps: [{ slug: n, type: tool, tool: commit }]");
    let mut it = story(&with_deadline(&text)).start();
    it.passes(400).tool("n", done(json!(1)));
    it.passes(499);
    assert_eq!(it.state(), OperationState::Running, "each has its own");
    it.passes(1);
    assert_eq!(it.state(), OperationState::Settling);
    assert_eq!(it.stopped, ["n"]);
    it.passes(2_000).expect_failed("iteration_failed");
    assert_eq!(it.outcome().detail["reason"], "deadline");
    assert_eq!(it.settled("each").0, &json!([1]));
    assert_eq!(
        it.events_of(&["n called"]).last().map(String::as_str),
        Some("n called commit: unknown")
    );
    assert_eq!(it.effects(), EffectClass::AfterCommitment);
    let before = it.late.len();
    it.tool("n", done(json!(2)));
    assert_eq!(it.late.len(), before + 1);
    assert!(it.timers.is_empty(), "{:?}", it.timers);
}

#[test]
fn an_iterations_deadline_runs_on_while_it_waits() {
    // V24, B6
    let mut it = story(&with_deadline(&map_of(CHECKED)))
        .verified_by_hand(&["n"])
        .start();
    it.answer("n", pass()).verify("n", waiting("not yet"));
    it.passes(300).resume().verify("n", waiting("not yet"));
    it.passes(200).expect_failed("iteration_failed");
    assert_eq!(it.continuation, None, "the continuation is dead");
    assert!(it.timers.is_empty());
}

#[test]
fn an_iteration_in_time_leaves_no_timer_and_none_means_none() {
    let mut it = story(&with_deadline(&map_of(
        "steps: [{ slug: n, type: agent, agent: n }]",
    )))
    .start();
    assert_eq!(it.timers.len(), 1);
    it.answer("n", pass())
        .answer("n", pass())
        .expect_succeeded();
    assert!(it.timers.is_empty());
    let none = with_deadline(&map_of("steps: [{ slug: n, type: agent, agent: n }]"))
        .replace("_ms: 500", "_ms: 0");
    let it = story(&none).start();
    assert!(it.timers.is_empty());
}

#[test]
fn an_outer_iterations_deadline_ends_what_is_inside() {
    let text = format!(
        "{ITEMS} each -> done
         each = type: map, source: {{ memory_key: items }}, iteration_deadline_ms: 500, routine: {{ steps: [{{ slug: u, type: until, iteration_deadline_ms: 300, iteration_key: i, max_iterations: 9, stop_when: {{ memory_key: x, operator: exists }}, routine: {{ steps: [{{ slug: n, type: agent, agent: n }}] }} }}] }}"
    );
    let mut it = story(&text).start();
    it.passes(290).answer("n", pass()).passes(210);
    assert_eq!(it.state(), OperationState::Settling);
    it.answer("n", pass()).expect_failed("iteration_failed");
    assert_eq!(it.outcome().detail["reason"], "deadline");
    assert_eq!(it.memory("i"), None);
    assert!(it.timers.is_empty(), "{:?}", it.timers);
}

#[test]
fn the_operations_deadline_and_a_cancel_end_iterations_like_everything() {
    let text = with_deadline(&map_of("steps: [{ slug: n, type: agent, agent: n }]"));
    let mut it = story(&format!("@ deadline_ms: 100\n{text}")).start();
    it.passes(100).answer("n", pass()).expect_failed("deadline");
    assert!(it.timers.is_empty());
    let mut it = story(&text).start();
    it.cancel().answer("n", pass()).expect_cancelled();
    assert!(it.timers.is_empty());
    let mut it = story(&text).start();
    it.close().answer("n", pass());
    assert!(it.ended && it.timers.is_empty());
}

const AROUND: &str = "pre_steps: [{ name: before, tool: look, args: { of: '{{map.item}}' } }], steps: [{ slug: n, type: agent, agent: n, instructions: 'with {{step.before}}' }], post_steps: [{ name: after, tool: act, args: { got: '{{result.n}}' } }], verify: [{ check: command, run: [test, '{{map.item}}', '{{step.after}}'] }]";

#[test]
fn a_nested_routine_has_pre_steps_post_steps_and_a_final_look_of_its_own() {
    // V3, V13, V23
    let mut it = story(&map_of(AROUND)).verified_by_hand(&["final"]).start();
    it.tool("before", done(json!("fine")));
    assert!(it.prompts("n")[0].contains("with fine"));
    it.answer("n", pass().output("note"))
        .tool("after", done(json!("kept")));
    assert_eq!(
        it.dispatched,
        [
            ("look".to_owned(), json!({ "of": "a" })),
            ("act".to_owned(), json!({ "got": "note" }))
        ]
    );
    let looked = it.seen("final");
    assert!(looked.observation.text().contains("op.x2"));
    assert_eq!(looked.checks.len(), 1);
    it.verify("final", waiting("not yet"))
        .expect_paused(Waiting, [("final", "check")]);
    let key = it.wait("final").key;
    assert_eq!(
        (key.execution.to_string().as_str(), key.step, key.lap),
        ("op.x2", None, None)
    );
    it.resume()
        .verify("final", verified())
        .tool("before", done(json!("again")))
        .answer("n", pass())
        .tool("after", done(json!(0)))
        .verify("final", verified())
        .verify("final", verified())
        .expect_succeeded();
    assert_eq!(
        it.looks("final"),
        4,
        "twice the first, once the second, once the routine's own"
    );
}

#[test]
fn a_nested_pre_step_that_fails_fails_its_iteration() {
    let mut it = story(&map_of(AROUND)).start();
    it.tool("before", failed("no"))
        .expect_failed("iteration_failed");
    assert_eq!(it.outcome().detail["reason"], "pre_step_failed");
    assert_eq!(it.outcome().detail["step"], "before");
}

#[test]
fn a_nested_pre_step_that_waits_for_permission_runs_once_when_it_is_allowed() {
    let mut it = story(&map_of(AROUND)).permitted_by_hand(&["look"]).start();
    it.permission(
        "before",
        Permission::Ask {
            reason: "who".into(),
        },
    )
    .expect_paused(Blocked, [("before", "permission")])
    .resume_with([("before", allow())])
    .tool("before", pending("d"))
    .expect_paused(Waiting, [("before", "delivery")])
    .deliver("d", done(json!("late but there")))
    .resume();
    assert!(it.prompts("n")[0].contains("with late but there"));
}

#[test]
fn post_steps_after_a_failure_are_held_up_by_nothing_inside() {
    // V23: the iteration is blocked at its end, and its deadline passes.
    let text = with_deadline(&map_of(AROUND));
    let mut it = story(&format!(
        "@ post_steps_trigger: always\n@ post_steps: [{{ name: last, tool: act }}]\n{text}"
    ))
    .verified_by_hand(&["final"])
    .start();
    it.tool("before", done(json!(1)))
        .answer("n", pass())
        .tool("after", done(json!(2)))
        .verify("final", blocked("broken"))
        .expect_paused(Blocked, [("final", "check")]);
    it.passes(500).expect_running(["last"]);
    it.tool("last", done(json!(3)))
        .expect_failed("iteration_failed");
}

#[test]
fn steps_of_one_agent_take_turns_over_iterations_too() {
    // G9
    let mut it = story(&format!(
        "{ITEMS} each -> done
         other -> done
         b -> done
         each = type: map, source: {{ memory_key: items }}, routine: {{ steps: [{{ slug: n, type: agent, agent: one }}] }}
         other = type: map, source: {{ memory_key: items }}, routine: {{ steps: [{{ slug: m, type: agent, agent: one }}] }}
         b = agent: one"
    ))
    .start();
    let mut order = Vec::new();
    while let Some(step) = it.running().first().map(|step| (*step).to_owned()) {
        assert_eq!(it.running().len(), 1);
        it.answer(&step, pass());
        order.push(step);
    }
    it.expect_succeeded();
    assert_eq!(order.len(), 5);
}
