//! Repetitions in repetitions: where they wait, what they restart, what they give back (V18, V22, V24).

use super::*;

/// A map over two items, in it a fold over them, in it an until, in it a verified agent step. Each
/// level has a pre step of its own.
const THREE: &str = r#"
routine: three
agents: { n: {} }
pre_steps:
  - { name: items, tool: memory_set, args: { key: items, value: [a, b] } }
  - { name: i, tool: memory_set, args: { key: i, value: mine } }
entry_steps: [m]
steps:
  - slug: m
    type: map
    source: { memory_key: items }
    iteration_deadline_ms: 1000
    routine:
      pre_steps: [{ name: p1, tool: look, args: { at: "{{map.item}}" } }]
      steps:
        - slug: f
          type: fold
          source: { memory_key: items }
          initial_value: ""
          result_key: r
          routine:
            pre_steps: [{ name: p2, tool: look, args: { at: "{{map.item}}" } }]
            steps:
              - slug: u
                type: until
                iteration_key: i
                max_iterations: 2
                stop_when: { memory_key: i, operator: equals, value: 1 }
                routine:
                  pre_steps: [{ name: p3, tool: act, args: { at: "{{map.index}} {{fold.accumulator}}" } }]
                  steps: [{ slug: n, type: agent, agent: n, verify: [{ check: command, run: [x] }] }]
  - { slug: done, type: terminal }
edges: [{ from: m, to: done }]
"#;

/// Lets everything up to the next question to the model happen.
fn up_to_model(it: &mut Play) {
    while let Some(step @ ("p1" | "p2" | "p3")) = it.running().first().copied() {
        let step = step.to_owned();
        it.tool(&step, done(json!(1)));
    }
}

#[test]
fn a_judgement_three_levels_deep_is_taken_up_at_that_very_place_each_time() {
    // V6, V22: two items by two items by two rounds, each of which waits.
    let mut it = story(THREE).verified_by_hand(&["n"]).start();
    let mut places = Vec::new();
    for round in 0..8 {
        up_to_model(&mut it);
        it.answer("n", pass().output(format!("o{round}")));
        for _ in 0..2 {
            it.verify("n", waiting("not yet"))
                .expect_paused(Waiting, [("n", "check")]);
            places.push(it.wait("n").key.execution.to_string());
            it.resume();
        }
        it.verify("n", verified());
    }
    it.expect_succeeded();
    assert_eq!(it.model_calls("n"), 8);
    let calls = |tool: &str| {
        it.dispatched
            .iter()
            .filter(|(held, _)| held == tool)
            .count()
    };
    assert_eq!((calls("look"), calls("act")), (2 + 4, 8), "each once");
    places.dedup();
    assert_eq!(places.len(), 8, "{places:?}");
    assert_eq!(it.settled("m").0, &json!(["o3", "o7"]));
    assert_eq!(it.memory("i"), Some(&json!("mine")), "V18");
    assert_eq!(it.memory("r"), Some(&json!("o7")), "ordinary memory stays");
    assert!(!it.machine.memory.is_lent());
    let accumulators: Vec<&str> = it
        .dispatched
        .iter()
        .filter(|(tool, _)| tool == "act")
        .map(|(_, args)| args["at"].as_str().expect("text"))
        .collect();
    let expected = ["0 ", "0 ", "1 o1", "1 o1", "0 ", "0 ", "1 o5", "1 o5"];
    assert_eq!(accumulators, expected, "the nearest names");
}

#[test]
fn an_outer_iterations_deadline_passes_while_something_deep_inside_waits() {
    // V24: what is in flight is stopped, what comes later is a late source.
    let mut it = story(THREE).verified_by_hand(&["n"]).start();
    up_to_model(&mut it);
    it.answer("n", pass()).verify("n", waiting("not yet"));
    it.expect_paused(Waiting, [("n", "check")]).passes(1_000);
    it.expect_failed("iteration_failed");
    assert_eq!(it.outcome().detail["reason"], "deadline");
    assert_eq!(it.outcome().step.as_deref(), Some("m"));
    assert_eq!(
        (it.continuation, it.memory("i")),
        (None, Some(&json!("mine")))
    );
    assert!(it.timers.is_empty(), "{:?}", it.timers);
    // The same while a tool works.
    let mut it = story(THREE).start();
    it.tool("p1", done(json!(1))).tool("p2", done(json!(1)));
    it.passes(1_000);
    assert_eq!(it.stopped, ["p3"]);
    it.passes(2_000).expect_failed("iteration_failed");
    let late = it.late.len();
    it.tool("p3", done(json!("it happened")));
    assert_eq!(it.late.len(), late + 1);
    assert_eq!(it.effects(), EffectClass::AfterPartialEffects);
    assert_eq!(it.memory("i"), Some(&json!("mine")));
}

#[test]
fn cancelling_while_something_deep_inside_waits_gives_everything_back() {
    // V18, V31
    let mut it = story(THREE).verified_by_hand(&["n"]).start();
    up_to_model(&mut it);
    it.answer("n", pass()).verify("n", blocked("no")).cancel();
    it.expect_cancelled();
    assert_eq!(it.memory("i"), Some(&json!("mine")));
    assert!(it.timers.is_empty() && !it.machine.memory.is_lent());
}

/// A map in a loop beside the gate that may start it anew.
const LOOP: &str = "a -> each -> done
     a -> g
     g -pass-> done2
     g -fail-> a
     each = type: map, source: { step: a }, routine: { steps: [{ slug: n, type: agent, agent: n, instructions: 'at {{map.item}}.', verify: [{ check: command, run: [x] }] }] }";

#[test]
fn a_wait_inside_a_map_that_is_started_anew_disappears_and_the_first_item_comes_first() {
    // V5a, V22, G7
    let items = || pass().output(json!(["x", "y"]));
    let mut it = story(LOOP).verified_by_hand(&["n"]).start();
    it.answer("a", items())
        .answer("n", pass())
        .verify("n", verified());
    it.answer("n", pass()).verify("n", waiting("not yet"));
    it.expect_running(["g"]);
    assert_eq!(it.machine.waits().len(), 1);
    it.answer("g", fail());
    assert_eq!(it.machine.waits(), []);
    it.answer("a", items()).answer("g", pass());
    assert!(it.prompts("n")[2].contains("at x."));
    it.answer("n", pass().output(1)).verify("n", verified());
    assert!(it.prompts("n")[3].contains("at y."));
    it.answer("n", pass().output(2))
        .verify("n", verified())
        .expect_succeeded();
    assert_eq!(it.settled("each").0, &json!([1, 2]));
}

#[test]
fn a_fold_and_an_until_keep_what_came_before_a_failure_too() {
    // V22
    let mut it = story(
        "@ pre_steps: [{ name: items, tool: memory_set, args: { key: items, value: [1, 2, 3] } }]
         f -> done
         f = type: fold, source: { memory_key: items }, initial_value: none, result_key: r, routine: { steps: [{ slug: n, type: agent, agent: n }] }",
    )
    .start();
    it.answer("n", pass().output("one")).answer("n", fail());
    it.expect_failed("iteration_failed");
    assert_eq!((it.settled("f").0, it.memory("r")), (&json!("one"), None));
    let mut it = story(
        "u -> done
         u = type: until, max_iterations: 3, stop_when: { memory_key: no, operator: exists }, result_key: r, routine: { steps: [{ slug: n, type: agent, agent: n }] }",
    )
    .start();
    it.answer("n", pass().output("one")).answer("n", fail());
    it.expect_failed("iteration_failed");
    assert_eq!((it.settled("u").0, it.memory("r")), (&json!("one"), None));
    assert_eq!(it.outcome().detail["iteration"], 1);
}

#[test]
fn whatever_is_done_to_an_untils_slot_meanwhile_it_holds_what_it_held() {
    // V18: written over, deleted, or the key of the result too.
    for (call, before) in [
        (json!({ "key": "i", "value": "scribble" }), Some("mine")),
        (json!({ "key": "i" }), Some("mine")),
        (json!({ "key": "i", "value": "scribble" }), None),
    ] {
        let pre = match before {
            Some(value) => format!(
                "@ pre_steps: [{{ name: p, tool: memory_set, args: {{ key: i, value: {value} }} }}]\n"
            ),
            None => String::new(),
        };
        let mut it = story(&format!(
            "{pre} u -> done
             u = type: until, iteration_key: i, stop_when: {{ memory_key: ok, operator: exists }}, routine: {{ steps: [{{ slug: n, type: agent, agent: n, tools: [memory_set, memory_delete] }}] }}"
        ))
        .start();
        let name = match call.get("value") {
            Some(_) => "memory_set",
            None => "memory_delete",
        };
        it.calls("n", [tool(name, call)])
            .calls(
                "n",
                [tool("memory_set", json!({ "key": "ok", "value": 1 }))],
            )
            .answer("n", pass())
            .expect_succeeded();
        let expected = before.map(|value| json!(value));
        assert_eq!(it.memory("i"), expected.as_ref());
    }
    let mut it = story(
        "u -> done
         u = type: until, iteration_key: k, result_key: k, stop_when: { memory_key: k, operator: exists }, routine: { steps: [{ slug: n, type: agent, agent: n }] }",
    )
    .start();
    it.answer("n", pass().output("result")).expect_succeeded();
    assert_eq!(it.memory("k"), Some(&json!("result")));
}

#[test]
fn an_iterations_deadline_ends_whatever_it_finds_and_what_comes_later_changes_nothing() {
    // V24, V30: everything that an iteration can be in the middle of.
    let step = |fields: &str| format!("steps: [{{ slug: n, {fields} }}]");
    let agent = "type: agent, agent: n, tools: [act]";
    let checked = ", verify: [{ check: command, run: [x] }]";
    type Act = fn(&mut Play);
    let table: [(&str, String, Act, Act); 12] = [
        (
            "model",
            step(agent),
            |_| {},
            |it| {
                it.answer("n", pass());
            },
        ),
        (
            "tool of a model",
            step(agent),
            |it| {
                it.calls("n", [tool("act", json!({}))]);
            },
            |it| {
                it.tool("n", done(json!(1)));
            },
        ),
        (
            "delivery to a model",
            step(agent),
            |it| {
                it.calls("n", [tool("act", json!({}))])
                    .tool("n", pending("d"));
            },
            |it| {
                it.deliver("d", done(json!(1)));
            },
        ),
        (
            "verification",
            step(&format!("{agent}{checked}")),
            |it| {
                it.answer("n", pass());
            },
            |it| {
                it.verify("n", verified());
            },
        ),
        (
            "tool step",
            step("type: tool, tool: commit"),
            |_| {},
            |it| {
                it.tool("n", done(json!(1)));
            },
        ),
        (
            "permission",
            step("type: tool, tool: bare"),
            |_| {},
            |it| {
                it.permission("n", Permission::Allow);
            },
        ),
        (
            "checks gate",
            step("type: gate, checks: [{ check: command, run: [x] }]"),
            |_| {},
            |it| {
                it.verify("n", verified());
            },
        ),
        (
            "operator gate",
            step("type: gate, operator: true"),
            |_| {},
            |_| {},
        ),
        (
            "condition",
            step(&format!(
                "{agent}, condition: {{ memory_key: k, operator: exists, on_false: wait }}"
            )),
            |_| {},
            |_| {},
        ),
        (
            "pre step",
            format!("pre_steps: [{{ name: p, tool: act }}], {}", step(agent)),
            |_| {},
            |it| {
                it.tool("p", done(json!(1)));
            },
        ),
        (
            "delivery to a post step",
            format!(
                "post_steps: [{{ name: q, tool: act }}], {}",
                "steps: [{ slug: m, type: tool, tool: memory_list }]"
            ),
            |it| {
                it.tool("q", pending("d"));
            },
            |it| {
                it.deliver("d", done(json!(1)));
            },
        ),
        (
            "final verification",
            format!(
                "verify: [{{ check: command, run: [x] }}], {}",
                "steps: [{ slug: m, type: tool, tool: memory_list }]"
            ),
            |_| {},
            |it| {
                it.verify("final", verified());
            },
        ),
    ];
    for (what, routine, begin, come) in table {
        let mut it = story(&format!(
            "@ pre_steps: [{{ name: items, tool: memory_set, args: {{ key: items, value: [1, 2] }} }}]
             each -> done
             each = type: map, source: {{ memory_key: items }}, iteration_deadline_ms: 500, routine: {{ {routine} }}"
        ))
        .verified_by_hand(&["n", "final", "bare"])
        .start();
        begin(&mut it);
        assert!(it.settled.is_none(), "{what}: {:?}", it.events());
        it.passes(500).passes(2_000);
        it.expect_failed("iteration_failed");
        assert_eq!(it.outcome().detail["reason"], "deadline", "{what}");
        assert_eq!(it.outcome().step.as_deref(), Some("each"), "{what}");
        let (told, begun) = (it.published.len(), it.dispatched.len());
        come(&mut it);
        assert_eq!(
            (it.published.len(), it.dispatched.len()),
            (told, begun),
            "{what}"
        );
        assert!(it.timers.is_empty(), "{what}: {:?}", it.timers);
        assert_eq!(it.continuation, None, "{what}");
        let begun = it.events_of(&["n started"]).len();
        assert!(begun <= 1, "{what}: no second iteration");
    }
}
