//! Map, fold and until: what they go through, what they give, and where they wait (V22).

use super::*;

/// `items` in memory, then a step `each` over it whose nested routine has these steps.
fn each(kind: &str, items: &str, steps: &str) -> String {
    format!(
        "@ pre_steps: [{{ name: items, tool: memory_set, args: {{ key: items, value: {items} }} }}]
         each -> done
         each = type: {kind}, routine: {{ steps: [{steps}] }}"
    )
}

const MAP: &str = "map, source: { memory_key: items }";
const AGENT: &str = "{ slug: n, type: agent, agent: n, instructions: '{{map.index}}/{{map.total}} is {{map.item}}.' }";

#[test]
fn a_map_does_its_items_one_after_another_and_gives_the_array_of_their_outputs() {
    let text = each(&format!("{MAP}, result_key: r"), "[a, [1], null]", AGENT);
    let mut it = story(&text).start();
    for at in 0..3 {
        it.expect_running(["n"]).answer("n", pass().output(at));
    }
    it.expect_succeeded();
    let prompts = it.prompts("n");
    for (prompt, said) in prompts.iter().zip(["0/3 is a.", "1/3 is [1].", "2/3 is ."]) {
        assert!(prompt.contains(said), "{prompt}");
    }
    let (output, data) = it.settled("each");
    assert_eq!(output, &json!([0, 1, 2]));
    assert_eq!((&data["covered"], &data["total"]), (&json!(3), &json!(3)));
    assert_eq!(it.memory("r"), Some(&json!([0, 1, 2])));
    assert_eq!(it.outcome().outputs["done"], json!([0, 1, 2]));
    assert_eq!(
        it.submissions("n"),
        3,
        "each iteration is its own execution"
    );
}

#[test]
fn a_fold_carries_what_each_iteration_gave() {
    let kind = "fold, source: { memory_key: items }, initial_value: start, result_key: r";
    let steps =
        "{ slug: n, type: agent, agent: n, instructions: '<{{fold.accumulator}}+{{map.item}}>' }";
    let mut it = story(&each(kind, "[a, b]", steps)).start();
    assert!(it.request("n", 1).prompt().contains("<start+a>"));
    it.answer("n", pass().output("one"));
    assert!(it.prompts("n")[1].contains("<one+b>"));
    it.answer("n", pass().output("two")).expect_succeeded();
    let (output, data) = it.settled("each");
    assert_eq!(output, "two");
    assert_eq!((&data["covered"], &data["total"]), (&json!(2), &json!(2)));
    assert_eq!(it.memory("r"), Some(&json!("two")));
}

#[test]
fn what_comes_after_gets_output_and_data() {
    // G5
    let text = each(MAP, "[a]", AGENT).replace("each -> done", "each -> next -> done");
    let mut it = story(&text).start();
    it.answer("n", pass().output(7));
    let prompt = it.request("next", 1).prompt();
    assert!(
        prompt.contains(r#"{"data":{"covered":1,"total":1},"output":[7]}"#),
        "{prompt}"
    );
}

#[test]
fn an_until_looks_at_its_condition_after_each_iteration() {
    let steps = "{ slug: n, type: agent, agent: n, tools: [memory_set] }";
    let kind =
        "until, max_iterations: 5, stop_when: { memory_key: ok, operator: truthy }, result_key: r";
    let mut it = story(&each(kind, "[]", steps)).start();
    it.answer("n", pass().output("first"))
        .expect_running(["n"])
        .calls(
            "n",
            [tool("memory_set", json!({ "key": "ok", "value": true }))],
        )
        .answer("n", pass().output("second"))
        .expect_succeeded();
    let (output, data) = it.settled("each");
    assert_eq!(output, "second");
    assert_eq!(data["iterations"], 2);
    assert_eq!(it.memory("r"), Some(&json!("second")));
}

#[test]
fn an_until_runs_at_least_once_though_its_condition_holds_already() {
    let kind = "until, stop_when: { memory_key: items, operator: exists }";
    let mut it = story(&each(kind, "[]", "{ slug: n, type: agent, agent: n }")).start();
    it.answer("n", pass()).expect_succeeded();
}

#[test]
fn an_until_that_never_gets_there_says_so() {
    // O11: a reason of its own, not a cancellation. The default is one iteration.
    for (max, count) in [("", 1), (", max_iterations: 3", 3)] {
        let kind = format!("until, stop_when: {{ memory_key: no, operator: exists }}{max}");
        let mut it = story(&each(&kind, "[]", "{ slug: n, type: agent, agent: n }")).start();
        for at in 0..count {
            it.answer("n", pass().output(at));
        }
        it.expect_failed("max_iterations_exceeded");
        assert_eq!(it.outcome().detail, json!({ "max_iterations": count }));
        assert_eq!(it.settled("each").0, count - 1, "what came before is kept");
    }
}

#[test]
fn nothing_to_go_through_is_a_success_with_nothing_done() {
    // B10, O17
    let mut map = story(&each(MAP, "[]", AGENT)).start();
    map.expect_succeeded();
    assert_eq!(map.settled("each").0, &json!([]));
    assert_eq!(map.settled("each").1["total"], 0);
    assert_eq!(map.model_calls("n"), 0);
    let kind = "fold, source: { memory_key: items }, initial_value: { x: 1 }, result_key: r";
    let mut fold = story(&each(kind, "[]", AGENT)).start();
    fold.expect_succeeded();
    assert_eq!(fold.memory("r"), Some(&json!({ "x": 1 })));
}

#[test]
fn what_is_not_there_is_not_empty() {
    // B10, O25: a missing key, a missing path, and something that is no array at all. No model is
    // asked to find items in it.
    for (source, items) in [
        ("{ memory_key: none }", "[]"),
        ("{ memory_key: items, path: deep.er }", "{ deep: {} }"),
        ("{ memory_key: items }", "{ rows: [1] }"),
        ("{ memory_key: items }", "null"),
        ("{ memory_key: items }", "5"),
        ("{ memory_key: items }", "''"),
        ("{ memory_key: items }", "'no json'"),
    ] {
        let kind = format!("map, source: {source}");
        let mut it = story(&each(&kind, items, AGENT)).start();
        it.expect_settled("each", "fail: iteration_failed")
            .expect_failed("iteration_failed");
        assert_eq!(it.model_calls("n"), 0, "{source} {items}");
    }
}

#[test]
fn items_are_found_in_text_in_objects_and_behind_paths() {
    // O4: templates in sources have values.
    for (source, items) in [
        ("{ memory_key: items }", "'[1, 2]'"),
        ("{ memory_key: items }", "{ results: [1, 2], rows: [9] }"),
        (
            "{ memory_key: items }",
            "{ data: none, items: [1, 2], list: [9] }",
        ),
        (
            "{ memory_key: items, path: 'a[1].b' }",
            "{ a: [0, { b: [1, 2] }] }",
        ),
        (
            "{ memory_key: items, path: a.b }",
            "'{\"a\": \"{\\\"b\\\": [1, 2]}\"}'",
        ),
        (
            "{ memory_key: items, path: '{{param.where}}' }",
            "{ here: [1, 2] }",
        ),
        ("{ memory_key: '{{param.key}}' }", "[1, 2]"),
    ] {
        let kind = format!("map, source: {source}");
        let text = format!(
            "@ parameters: [{{ name: where, default: here }}, {{ name: key, default: items }}]\n{}",
            each(
                &kind,
                items,
                "{ slug: n, type: tool, tool: memory_set, args: { key: got, value: '{{map.item}}' } }"
            )
        );
        let mut it = story(&text).start();
        it.expect_succeeded();
        assert_eq!(it.settled("each").1["total"], 2, "{source} {items}");
        assert_eq!(it.memory("got"), Some(&json!("2")));
    }
}

#[test]
fn a_steps_output_is_a_source() {
    let mut it = story(
        "a -> each -> done
         each = type: map, source: { step: a, path: files }, routine: { steps: [{ slug: n, type: agent, agent: n, instructions: '<{{map.item}}>' }] }",
    )
    .start();
    it.answer("a", pass().output(json!({ "files": ["x"] })));
    assert!(it.request("n", 1).prompt().contains("<x>"));
    it.answer("n", pass()).expect_succeeded();
}

#[test]
fn a_skipped_steps_output_is_no_source() {
    let mut it = story(
        "a -> each -> done
         a = condition: { memory_key: k, operator: exists, on_false: skip }
         each = type: map, source: { step: a }, routine: { steps: [{ slug: n, type: agent, agent: n }] }",
    )
    .start();
    it.expect_failed("iteration_failed");
}

fn numbers(count: usize) -> String {
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(", "))
}

const REMEMBER: &str =
    "{ slug: n, type: tool, tool: memory_set, args: { key: got, value: '{{map.index}}' } }";

#[test]
fn more_than_a_thousand_items_fail_before_the_first() {
    // B11, O8: never cut in silence.
    let mut it = story(&each(MAP, &numbers(1_001), REMEMBER)).start();
    it.expect_failed("source_too_large");
    assert_eq!(
        it.outcome().detail,
        json!({ "total": 1_001, "limit": 1_000 })
    );
    assert_eq!(it.memory("got"), None);
    let mut all = story(&each(MAP, &numbers(1_000), REMEMBER)).start();
    all.expect_succeeded();
    assert_eq!(all.memory("got"), Some(&json!("999")));
}

#[test]
fn max_iterations_chooses_a_bounded_part_and_the_data_says_so() {
    // B11, V22
    for (max, covered) in [(10, 10), (1_000, 1_000)] {
        let kind = format!("{MAP}, max_iterations: {max}");
        let mut it = story(&each(&kind, &numbers(1_001), REMEMBER)).start();
        it.expect_succeeded();
        let data = it.settled("each").1;
        assert_eq!(
            (&data["covered"], &data["total"]),
            (&json!(covered), &json!(1_001))
        );
        assert_eq!(it.memory("got"), Some(&json!((covered - 1).to_string())));
    }
    // V21: the total is the whole source's length, also of the bounded part.
    let of_total = REMEMBER.replace("{{map.index}}", "{{map.index}} of {{map.total}}");
    for kind in ["map", "fold"] {
        let more = match kind {
            "fold" => ", initial_value: 0, result_key: r",
            _ => "",
        };
        let kind = format!("{kind}, source: {{ memory_key: items }}, max_iterations: 2{more}");
        let mut it = story(&each(&kind, &numbers(1_001), &of_total)).start();
        it.expect_succeeded();
        assert_eq!(it.memory("got"), Some(&json!("1 of 1001")));
        let data = it.settled("each").1;
        assert_eq!(
            (&data["covered"], &data["total"]),
            (&json!(2), &json!(1_001))
        );
    }
    let short = format!("{MAP}, max_iterations: 10");
    let mut it = story(&each(&short, "[1]", REMEMBER)).start();
    it.expect_succeeded();
    assert_eq!(it.settled("each").1["covered"], 1);
}

#[test]
fn a_large_source_is_as_readable_as_a_small_one() {
    // B11, O9: 30 KB.
    let long = format!("[{}, b]", "x".repeat(30_000));
    let mut it = story(&each(MAP, &long, REMEMBER)).start();
    it.expect_succeeded();
    assert_eq!(it.settled("each").1["total"], 2);
    // What a pre step gave, by its memory key, and what a step gave, by its slug.
    let items = json!(["x".repeat(30_000), "b"]);
    let mut it = story(
        "@ pre_steps: [{ name: p, tool: look, result_key: items }]
         each -> t -> again -> done
         each = type: map, source: { memory_key: items }, routine: { steps: [{ slug: n, type: tool, tool: memory_list }] }
         t = type: tool, tool: look
         again = type: map, source: { step: t }, routine: { steps: [{ slug: n, type: tool, tool: memory_list }] }",
    )
    .start();
    it.tool("p", done(items.clone()))
        .tool("t", done(items))
        .expect_succeeded();
    for step in ["each", "again"] {
        assert_eq!(it.settled(step).1["total"], 2);
    }
}

#[test]
fn a_failed_iteration_fails_the_step_and_what_came_before_is_kept() {
    // V22
    let mut it = story(&each(MAP, "[a, b, c]", AGENT)).start();
    it.answer("n", pass().output("one")).answer("n", fail());
    it.expect_settled("each", "fail: iteration_failed")
        .expect_failed("iteration_failed");
    assert_eq!(it.settled("each").0, &json!(["one"]));
    assert_eq!(it.outcome().step.as_deref(), Some("each"));
    assert_eq!(
        it.outcome().detail,
        json!({ "iteration": 1, "step": "n", "reason": "verdict_fail", "cause": { "text": "it is a fail" } })
    );
    assert_eq!(it.submissions("n"), 2, "the third never begins");
}

#[test]
fn an_iteration_that_reaches_no_terminal_or_a_failing_one_fails() {
    let body = |end: &str| {
        format!(
            "entry_steps: [n], steps: [{{ slug: n, type: gate, agent: n }}, {{ slug: d, type: terminal }}, {{ slug: e, type: {end} }}], edges: [{{ from: n, to: d, condition: on_pass }}, {{ from: n, to: e, condition: on_fail }}]"
        )
    };
    let text = each(MAP, "[a]", "X").replace(
        "steps: [X]",
        &body("terminal_fail, reason: 'no {{map.item}}'"),
    );
    let mut it = story(&text).start();
    it.answer("n", fail()).expect_failed("iteration_failed");
    assert_eq!(it.outcome().detail["reason"], "terminal_fail");
    assert_eq!(it.outcome().detail["cause"], json!({ "text": "no a" }));
    let text = each(MAP, "[a]", "X").replace("steps: [X]", &body("terminal"));
    let mut it = story(&text).start();
    it.answer("n", fail().output(3)).expect_succeeded();
    assert_eq!(it.settled("each").0, &json!([3]));
}

#[test]
fn an_outer_item_is_there_again_after_an_inner_map() {
    // O5b: and the inner one sees its own.
    let mut it = story(
        "@ pre_steps: [{ name: items, tool: memory_set, args: { key: items, value: [[1, 2], [3]] } }]
         out -> done
         out = type: map, source: { memory_key: items }, routine: { pre_steps: [{ name: keep, tool: memory_set, args: { key: row, value: '{{map.item}}' } }], steps: [{ slug: in, type: map, source: { memory_key: row }, routine: { steps: [{ slug: n, type: agent, agent: n, instructions: 'in {{map.item}} {{map.index}}/{{map.total}}' }] } }, { slug: after, type: agent, agent: n, instructions: 'out {{map.item}} {{map.index}}/{{map.total}}' }] }",
    )
    .start();
    it.answer("n", pass().output(1))
        .answer("n", pass().output(2));
    assert!(it.request("after", 1).prompt().contains("out [1,2] 0/2"));
    it.answer("after", pass().output("x"))
        .answer("n", pass().output(3));
    it.answer("after", pass().output("y")).expect_succeeded();
    let inner: Vec<bool> = it
        .prompts("n")
        .iter()
        .zip(["in 1 0/2", "in 2 1/2", "in 3 0/1"])
        .map(|(prompt, said)| prompt.contains(said))
        .collect();
    assert_eq!(inner, [true; 3]);
    assert!(it.prompts("after")[1].contains("out [3] 1/2"));
    assert_eq!(it.settled("out").0, &json!(["x", "y"]));
}

#[test]
fn an_inner_routines_end_leaves_outer_results_alone() {
    // O5: pre step results of the routine around are there in every iteration.
    let text = each(
        MAP,
        "[a, b, c]",
        "{ slug: n, type: agent, agent: n, instructions: '{{step.items}} {{step.own}}' }",
    )
    .replace(
        "routine: { steps",
        "routine: { pre_steps: [{ name: own, tool: memory_list }], steps",
    );
    let mut it = story(&text).start();
    for _ in 0..3 {
        it.answer("n", pass());
    }
    it.expect_succeeded();
    for prompt in it.prompts("n") {
        assert!(
            prompt.contains(r#"{"key":"items"} {"keys":["items"]}"#),
            "{prompt}"
        );
    }
}

fn until(key: &str, agent: &str) -> String {
    format!(
        "type: until, max_iterations: 2, iteration_key: {key}, stop_when: {{ memory_key: {key}, operator: greater_than, value: 0 }}, routine: {{ steps: [{{ slug: {agent}, type: agent, agent: {agent}, memory: [{key}] }}] }}"
    )
}

#[test]
fn an_untils_slot_is_what_it_was_before() {
    // V18
    for (before, text) in [
        (
            Some(json!("mine")),
            "@ pre_steps: [{ name: p, tool: memory_set, args: { key: i, value: mine } }]\n",
        ),
        (None, ""),
    ] {
        let mut it = story(&format!("{text} u -> done\n u = {}", until("i", "n"))).start();
        assert_eq!(it.memory("i"), Some(&json!(0)));
        it.answer("n", pass());
        assert_eq!(it.memory("i"), Some(&json!(1)));
        it.answer("n", pass()).expect_succeeded();
        assert_eq!(it.memory("i"), before.as_ref());
    }
}

#[test]
fn untils_side_by_side_leave_nothing_in_a_slot_that_both_use() {
    // V18: whichever ends first.
    for first in ["n", "m"] {
        let text = format!(
            "u -> done\n v -> done\n u = {}\n v = {}",
            until("i", "n"),
            until("i", "m")
        );
        let mut it = story(&text).start();
        let second = if first == "n" { "m" } else { "n" };
        for step in [first, first, second, second] {
            if it.running().contains(&step) {
                it.answer(step, pass());
            }
        }
        while let Some(step) = it.running().first().map(|step| step.to_string()) {
            it.answer(&step, pass());
        }
        it.expect_succeeded();
        assert_eq!(it.memory("i"), None, "{first} first");
    }
}

#[test]
fn a_slot_is_restored_before_the_post_steps_of_a_routine_that_failed() {
    // V18, V23: by the failure of the iteration, of a sibling, or by a deadline.
    for how in ["iteration", "sibling", "deadline"] {
        let mut it = story(&format!(
            "@ post_steps_trigger: always
             @ deadline_ms: 500
             @ post_steps: [{{ name: p, tool: memory_list, result_key: keys }}]
             u -> done
             s -> done
             u = {}",
            until("i", "n")
        ))
        .start();
        match how {
            "iteration" => it.answer("n", fail()).answer("s", pass()),
            "sibling" => it.answer("s", fail()).answer("n", pass()),
            _ => it.passes(500).passes(2_000),
        };
        assert!(it.settled.is_some(), "{how}");
        assert_eq!(it.memory("keys"), Some(&json!({ "keys": [] })), "{how}");
    }
}

#[test]
fn slots_in_slots_are_restored_when_a_loop_starts_them_anew() {
    // V18, G7: the inner until saved what the outer one wrote.
    let inner = until("i", "n");
    let mut it = story(&format!(
        "a -> u -> done
         a -> g
         g -pass-> done2
         g -fail-> a
         u = type: until, max_iterations: 2, iteration_key: i, stop_when: {{ memory_key: never, operator: exists }}, routine: {{ steps: [{{ slug: w, {inner} }}] }}"
    ))
    .start();
    it.answer("a", pass());
    assert_eq!(it.memory("i"), Some(&json!(0)));
    it.answer("g", fail());
    assert_eq!(it.memory("i"), None);
}
