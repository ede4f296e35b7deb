//! What a model sees, and which tools it is offered (G17, G18, V15, V17, V21).

use super::*;
use crate::engine::ports::Message;

const WHOLE: &str = "
    routine: r
    parameters: [{ name: tone, default: plain }, { name: empty }]
    instructions: 'The house style is {{param.tone}}.'
    agents:
      planner: {}
      writer: { instructions: You write., reasoning_effort: low, max_output_tokens: 900 }
    entry_steps: [plan, facts]
    steps:
      - { slug: plan, type: agent, agent: planner }
      - { slug: facts, type: tool, tool: look, result_key: found }
      - slug: draft
        name: Draft the notes
        type: agent
        agent: writer
        instructions: 'Write from {{result.plan}}.'
        expected_output: Notes in {{param.tone}} words
        criteria: [Short, 'Not {{param.tone}}{{param.empty}}!']
        memory: [found]
      - { slug: done, type: terminal }
    edges:
      - { from: plan, to: draft, purpose: Have it written }
      - { from: facts, to: draft }
      - { from: draft, to: done, purpose: Publish, handoff_instructions: Give the notes }";

#[test]
fn the_first_message_holds_everything_once_and_in_order() {
    // G18
    let mut it = story(WHOLE).start();
    it.tool("facts", done(json!([1, 2])));
    it.answer(
        "plan",
        pass()
            .output("the plan")
            .handoff("draft", json!({ "outline": "o" })),
    );
    let request = it.request("draft", 1);
    assert_eq!(request.system, "You write.\n\nThe house style is plain.");
    assert_eq!(request.messages.len(), 1);
    assert_eq!(
        request.prompt(),
        r#"# Draft the notes

## What to do

Write from the plan.

## Expected output

Notes in plain words

## Criteria

- Short
- Not plain!

## Inputs

- empty: null
- tone: "plain"

## Handed over by `plan`

Purpose: Have it written

{"outline":"o"}

## Handed over by `facts`

{"result":[1,2]}

## Memory

- found: [1,2]

## How to end

End by calling the tool `route_next_steps` once, alone, with `verdict`, `reasoning`, `output` and `next_steps`. Say "pass" if the work is done, "fail" if it can't be done: that ends the routine.
With "pass", `next_steps` has one entry for each of:
- `done` (purpose: Publish): Give the notes
With "fail", `next_steps` is empty.
"#
    );
    assert_eq!(request.max_output_tokens, Some(900));
}

#[test]
fn a_gate_is_told_both_its_ways() {
    let mut it =
        story("a -> g -pass-> done\n g -fail-> a | handoff_instructions: Say what to fix").start();
    it.answer("a", pass());
    let prompt = it.request("g", 1).prompt();
    assert!(
        prompt.contains("Say \"pass\" if the work is good, \"fail\" if it is not."),
        "{prompt}"
    );
    assert!(
        prompt.contains(
            "With \"fail\", `next_steps` has one entry for each of:\n- `a`: Say what to fix"
        ),
        "{prompt}"
    );
}

#[test]
fn nothing_from_other_runs_is_seen_but_handoffs_and_memory() {
    // G17, G18: same agent, and only what is handed over.
    let mut it =
        story("a -> b -> done\n b = agent: a\n a = tools: [look], instructions: Secret one")
            .start();
    it.calls("a", [tool("look", json!({ "secret": 2 }))])
        .tool("a", done(json!("secret three")));
    it.answer(
        "a",
        pass()
            .output("secret four")
            .handoff("b", json!({ "said": "this" })),
    );
    let request = it.request("b", 1);
    assert_eq!(request.messages.len(), 1);
    assert!(
        !request.prompt().to_lowercase().contains("secret"),
        "{}",
        request.prompt()
    );
    assert!(request.prompt().contains(r#"{"said":"this"}"#));
}

#[test]
fn text_from_a_value_is_never_expanded_again() {
    // V21, B16
    let mut it = story(
        "@ parameters: [{ name: x }, { name: secret, default: hidden }]
         a -> b -> done
         a = instructions: 'Use {{param.x}}'
         b = instructions: 'Use {{result.a}}'",
    )
    .input("x", json!("{{param.secret}} }} {{map.index}}"))
    .start();
    assert!(
        it.request("a", 1)
            .prompt()
            .contains("Use {{param.secret}} }} {{map.index}}")
    );
    it.answer("a", pass().output("{{param.secret}}"));
    assert!(
        it.request("b", 1)
            .prompt()
            .contains("Use {{param.secret}}\n")
    );
}

#[test]
fn values_that_are_no_text_are_compact_json() {
    let mut it = story("a -> b -> done\n b = instructions: 'Use {{result.a}}.'").start();
    it.answer(
        "a",
        pass().output(json!({ "n": [1, null], "__proto__": true })),
    );
    assert!(
        it.request("b", 1)
            .prompt()
            .contains(r#"Use {"__proto__":true,"n":[1,null]}."#)
    );
}

#[test]
fn tool_results_follow_as_exact_json() {
    let mut it = story("a -> done\n a = tools: [look]").start();
    it.calls("a", [tool("look", json!({ "path": "x" }))])
        .tool("a", done(json!({ "b": 1, "a": [2.50] })));
    let messages = &it.latest_request("a", 1).messages;
    let Message::Assistant { calls, .. } = &*messages[1] else {
        panic!("{messages:?}")
    };
    assert_eq!(calls[0].name, "look");
    let Message::ToolResult {
        call,
        tool,
        content,
    } = &*messages[2]
    else {
        panic!("{messages:?}")
    };
    assert_eq!(
        (call.as_str(), tool.as_str(), content.as_str()),
        ("call-look", "look", r#"{"a":[2.5],"b":1}"#)
    );
}

/// What is offered for a step's tools, its agent's, and the routine's.
fn offered(step: &str, agent: &str, routine: &str) -> Vec<String> {
    let field = |name: &str, list: &str| match list {
        "-" => String::new(),
        list => format!("{name}: {list}"),
    };
    let it = story(&format!(
        "
        routine: r
        agents: {{ w: {{ {} }} }}
        {}
        entry_steps: [a]
        steps:
          - {{ slug: a, type: agent, agent: w, {} }}
          - {{ slug: done, type: terminal }}
        edges: [{{ from: a, to: done }}]",
        field("tools", agent),
        field("required_tools", routine),
        field("tools", step),
    ))
    .start();
    it.request("a", 1)
        .offers()
        .into_iter()
        .filter(|name| *name != "route_next_steps")
        .map(str::to_owned)
        .collect()
}

#[test]
fn offered_is_what_step_agent_and_routine_all_allow() {
    // V17
    let table = [
        ("-", "-", "-", ""),
        ("[look, act]", "-", "-", "act look"),
        ("-", "[look, act]", "-", "act look"),
        ("[look]", "[look, act]", "-", "look"),
        ("[look, act]", "[act]", "-", "act"),
        ("[look]", "[act]", "-", ""),
        ("[]", "[look]", "-", ""),
        ("[look]", "[]", "-", ""),
        ("[look, act]", "-", "[act, commit]", "act"),
        ("-", "[look, act]", "[look]", "look"),
        ("[look, act]", "[look, act]", "[]", ""),
        ("-", "-", "[look]", ""),
    ];
    for (step, agent, routine, expected) in table {
        assert_eq!(
            offered(step, agent, routine).join(" "),
            expected,
            "{step} {agent} {routine}"
        );
    }
}

#[test]
fn the_memory_plugin_adds_its_tools_within_required_plugins_alone() {
    // V17, routine-format.md
    let all = "memory_delete memory_get memory_list memory_set";
    for (step, top, expected) in [
        ("plugins: [memory]", "version: '1'", all.to_owned()),
        (
            "plugins: [memory]",
            "required_plugins: [memory]",
            all.to_owned(),
        ),
        (
            "plugins: [memory]",
            "required_plugins: [evidence, memory]",
            all.to_owned(),
        ),
        (
            "plugins: [memory]",
            "required_plugins: [evidence]",
            String::new(),
        ),
        ("plugins: [memory]", "required_plugins: []", String::new()),
        (
            "plugins: [memory], tools: [look]",
            "version: '1'",
            format!("look {all}"),
        ),
        (
            "plugins: [memory], tools: [look]",
            "required_tools: []",
            all.to_owned(),
        ),
        (
            "plugins: [], tools: [look]",
            "required_plugins: [memory]",
            "look".to_owned(),
        ),
    ] {
        let it = story(&format!("@ {top}\n a -> done\n a = {step}")).start();
        let offers = it.request("a", 1).offers();
        let ends = |name: &&str| *name == "route_next_steps";
        let offers: Vec<&str> = offers.into_iter().filter(|name| !ends(name)).collect();
        assert_eq!(offers.join(" "), expected, "{step} {top}");
    }
    let mut it = story("a -> b -> done\n a = plugins: [memory]\n b = memory: [k]").start();
    it.calls(
        "a",
        [tool("memory_set", json!({ "key": "k", "value": [1] }))],
    )
    .answer("a", pass());
    assert!(it.request("b", 1).prompt().contains("- k: [1]"));
    assert!(it.request("b", 1).offers().len() == 1, "b has no plugin");
}

#[test]
fn a_guessed_name_is_denied_told_and_recorded() {
    // V17, B18
    for name in ["act", "read_mail", "memory_set"] {
        let mut it = story("a -> done\n a = tools: [look]").start();
        it.calls("a", [tool(name, json!({}))]);
        let told = it.latest_request("a", 1).last();
        assert!(
            told.contains("not among the tools that are offered"),
            "{told}"
        );
        assert_eq!(
            it.events_of(&["a called"]),
            [format!("a called {name}: denied")]
        );
        assert!(it.dispatched.is_empty());
        it.answer("a", pass()).expect_succeeded();
    }
}

#[test]
fn malformed_tool_arguments_are_told_and_never_dispatched() {
    // M3, B18, B20
    let mut it = story("a -> done\n a = tools: [act]").start();
    it.calls("a", [malformed("act", r#"{"path":"a","content":"x"#)]);
    let told = it.latest_request("a", 1).last();
    assert!(told.contains("not valid JSON"), "{told}");
    assert!(it.dispatched.is_empty());
    it.answer("a", pass()).expect_succeeded();
}

#[test]
fn tool_steps_and_pre_steps_are_outside_of_models_scopes() {
    // V17
    let mut it = story(
        "@ required_tools: [look]
         @ pre_steps: [{ name: one, tool: act }]
         a -> done
         a = type: tool, tool: commit",
    )
    .start();
    it.tool("one", done(json!(1)))
        .tool("a", done(json!(2)))
        .expect_succeeded();
}

#[test]
fn for_an_agent_success_false_is_a_result_like_any_other() {
    // V15
    let mut it = story("a -> done\n a = tools: [act]").start();
    it.calls("a", [tool("act", json!({}))])
        .tool("a", done(json!({ "success": false, "exit": 1 })));
    assert_eq!(
        it.latest_request("a", 1).last(),
        r#"{"exit":1,"success":false}"#
    );
    assert_eq!(it.events_of(&["a called"]), ["a called act: ok"]);
    it.answer("a", pass()).expect_succeeded();
}

#[test]
fn several_calls_of_one_answer_are_made_one_after_another() {
    let mut it = story("a -> done\n a = tools: [look, act]").start();
    it.calls("a", [tool("look", json!({})), tool("act", json!({}))]);
    assert_eq!(it.dispatched.len(), 1);
    it.tool("a", done(json!(1)));
    assert_eq!(it.dispatched.len(), 2);
    it.tool("a", done(json!(2)));
    assert_eq!(it.latest_request("a", 1).messages.len(), 4);
}

#[test]
fn routine_memory_is_answered_by_the_machine_itself() {
    let mut it =
        story("a -> b -> done\n a = tools: [memory_set]\n b = tools: [memory_get], memory: [k]")
            .start();
    it.calls(
        "a",
        [tool("memory_set", json!({ "key": "k", "value": [1] }))],
    )
    .answer("a", pass());
    assert!(it.request("b", 1).prompt().contains("- k: [1]"));
    it.calls("b", [tool("memory_get", json!({ "key": "k" }))]);
    assert_eq!(
        it.latest_request("b", 1).last(),
        r#"{"found":true,"value":[1]}"#
    );
    assert!(it.dispatched.is_empty());
    it.answer("b", pass()).expect_succeeded();
    assert_eq!(it.outcome().usage.tool_calls, 2);
}
