//! How a step ends, row by row (G3).

use super::*;

const LINE: &str = "a -> b -> done\n a = tools: [look, act]";
const GATE: &str = "s -> a -pass-> done\n a -fail-> lost\n a = tools: [look, act], criteria: [good]\n s = type: tool, tool: look";

fn not_taken() -> ModelOutcome {
    ModelOutcome::NotTaken {
        reason: "402 pay first".into(),
    }
}

fn no_answer() -> ModelOutcome {
    ModelOutcome::NoAnswer {
        reason: "connection reset".into(),
    }
}

fn finished(finish: Finish) -> ModelOutcome {
    let whole = json!({ "verdict": "pass", "reasoning": "r", "next_steps": [{ "target_step": "b", "handoff": { "x": 1 } }] });
    match answered(vec![route(whole)]) {
        ModelOutcome::Answered(answer) => {
            ModelOutcome::Answered(crate::engine::ports::ModelAnswer { finish, ..answer })
        }
        other => other,
    }
}

#[test]
fn an_agents_fail_fails_the_routine_at_once() {
    story(LINE)
        .start()
        .answer("a", fail())
        .expect_settled("a", "fail: verdict_fail")
        .expect_failed("verdict_fail");
}

#[test]
fn a_gates_fail_follows_its_way_or_fails_the_routine() {
    let mut it = story("a -> g -pass-> done\n g -fail-> b -> done").start();
    it.answer("a", pass())
        .answer("g", fail())
        .expect_settled("g", "fail")
        .expect_running(["b"]);
    let mut it = story("a -> g -pass-> done").start();
    it.answer("a", pass()).answer("g", fail());
    it.expect_settled("g", "fail: gate_failed")
        .expect_failed("gate_failed");
    assert_eq!(it.outcome().step.as_deref(), Some("g"));
}

#[test]
fn a_tool_step_that_failed_fails_the_routine() {
    // V15, O14b: an object with success false is a failure, with or without error.
    let failing = [
        (failed("no disk"), "failed", "no disk"),
        (
            done(json!({ "success": false, "error": "bad" })),
            "failed",
            "bad",
        ),
        (
            done(json!({ "success": false, "exit": 3 })),
            "failed",
            "it ended with exit code 3",
        ),
        (
            done(json!({ "success": false, "exit": null, "signal": 9 })),
            "failed",
            "it was ended by signal 9",
        ),
        (
            done(json!({ "success": false })),
            "failed",
            "it says `success: false`",
        ),
        (
            ToolOutcome::TimedOut,
            "timeout",
            "it gave no result within its time limit",
        ),
        (
            ToolOutcome::OutputLimit(json!("…")),
            "output_limit",
            "it wrote more than is kept and was ended",
        ),
        (unknown("gone"), "unknown", "gone"),
    ];
    for (outcome, word, text) in failing {
        let mut it = story("a -> done\n a = type: tool, tool: look").start();
        it.tool("a", outcome)
            .expect_settled("a", "fail: tool_failed")
            .expect_failed("tool_failed");
        assert_eq!(it.outcome().detail, json!({ "tool": "look", "text": text }));
        assert_eq!(
            it.events_of(&["a called"]),
            [format!("a called look: {word}")]
        );
    }
}

#[test]
fn a_side_effecting_tool_step_that_nobody_can_tell_of_is_uncertain() {
    for (tool, outcome, code) in [
        ("act", ToolOutcome::TimedOut, "timeout"),
        (
            "act",
            ToolOutcome::OutputLimit(json!("…")),
            "effect_unknown",
        ),
        ("bare", unknown("gone"), "effect_unknown"),
        ("commit", ToolOutcome::TimedOut, "timeout"),
    ] {
        let mut it = story(&format!("a -> done\n a = type: tool, tool: {tool}")).start();
        it.tool("a", outcome)
            .expect_settled("a", &format!("uncertain: {code}"));
        it.expect_paused(Uncertain, [("a", "uncertain")]);
        assert_eq!(it.dispatched.len(), 1);
    }
}

#[test]
fn a_side_effecting_tool_step_that_says_it_failed_fails() {
    let mut it = story("a -> done\n a = type: tool, tool: act").start();
    it.tool("a", failed("no")).expect_failed("tool_failed");
}

#[test]
fn a_template_without_value_at_run_time_fails_the_routine() {
    // V21: the second pre step never ran.
    let mut it = story(
        "@ pre_steps:
         @   - { name: one, tool: look, on_error: skip_remaining }
         @   - { name: two, tool: look }
         a -> done
         a = instructions: 'Use {{step.two}}'",
    )
    .start();
    it.tool("one", failed("no"))
        .expect_failed("template_failed");
    assert_eq!(it.outcome().step.as_deref(), Some("a"));
    assert_eq!(it.submissions("a"), 0);
}

#[test]
fn a_request_that_was_not_taken_fails_a_run_without_effects() {
    let mut it = story(LINE).start();
    it.reply("a", not_taken())
        .expect_failed("model_refused_request");
    assert_eq!(it.outcome().detail, json!({ "text": "402 pay first" }));
    // A tool that only reads changes nothing about that.
    let mut it = story(LINE).start();
    it.calls("a", [tool("look", json!({}))])
        .tool("a", done(json!("seen")));
    it.reply("a", not_taken())
        .expect_failed("model_refused_request");
}

#[test]
fn a_request_that_was_not_taken_after_an_effect_is_uncertain() {
    // B9: the effect happened once, and nothing repeats it.
    let mut it = story(LINE).start();
    it.calls("a", [tool("act", json!({}))])
        .tool("a", done(json!({ "paid": true })));
    it.reply("a", not_taken())
        .expect_settled("a", "uncertain: effect_unknown");
    it.expect_paused(Uncertain, [("a", "uncertain")])
        .resume()
        .resume();
    assert_eq!((it.dispatched.len(), it.model_calls("a")), (1, 2));
}

#[test]
fn whatever_has_no_readable_answer_is_uncertain_for_agents_and_gates() {
    // B19, B20
    let cases = [
        (no_answer(), "no_answer"),
        (
            ModelOutcome::Unreadable {
                reason: "<html>".into(),
            },
            "unreadable_answer",
        ),
        (finished(Finish::CutOff), "cut_off"),
        (
            finished(Finish::Refused {
                reason: "policy".into(),
            }),
            "refusal",
        ),
    ];
    for graph in [LINE, GATE] {
        for (outcome, code) in cases.clone() {
            let mut it = story(graph).start();
            if graph == GATE {
                it.tool("s", done(json!(1)));
            }
            it.reply("a", outcome)
                .expect_settled("a", &format!("uncertain: {code}"));
            it.expect_paused(Uncertain, [("a", "uncertain")])
                .expect_running([]);
            assert_eq!(it.model_calls("a"), 1, "at once, without a correction");
        }
    }
}

#[test]
fn a_cut_answer_is_never_acted_on() {
    // M3, B20: its JSON happens to be complete.
    let mut it = story(LINE).start();
    match answered(vec![tool("act", json!({ "path": "a" }))]) {
        ModelOutcome::Answered(mut answer) => {
            answer.finish = Finish::CutOff;
            it.reply("a", ModelOutcome::Answered(answer));
        }
        other => panic!("{other:?}"),
    }
    it.expect_settled("a", "uncertain: cut_off");
    assert!(it.dispatched.is_empty());
}

#[test]
fn a_side_effecting_call_that_nobody_can_tell_of_makes_the_run_uncertain() {
    for outcome in [
        ToolOutcome::TimedOut,
        ToolOutcome::OutputLimit(json!("…")),
        unknown("gone"),
    ] {
        let mut it = story(LINE).start();
        it.calls("a", [tool("act", json!({}))]).tool("a", outcome);
        it.expect_settled("a", "uncertain: effect_unknown");
        assert_eq!((it.dispatched.len(), it.model_calls("a")), (1, 1));
    }
}

#[test]
fn a_call_that_only_reads_gives_its_failure_to_the_model() {
    // V15: for an agent every result is a result.
    for (outcome, told) in [
        (ToolOutcome::TimedOut, "timeout"),
        (failed("no such file"), "no such file"),
        (done(json!({ "success": false, "error": "bad" })), "bad"),
    ] {
        let mut it = story(LINE).start();
        it.calls("a", [tool("look", json!({}))]).tool("a", outcome);
        let request = it.latest_request("a", 1);
        assert!(request.last().contains(told), "{}", request.last());
        it.answer("a", pass()).expect_running(["b"]);
    }
}

#[test]
fn a_step_that_passes_its_time_limit_is_uncertain() {
    // V24, B8: its late answer is a source and no answer.
    let mut it = story("a -> b -> done\n a = timeout_ms: 50").start();
    it.passes(49).expect_running(["a"]).passes(1);
    it.expect_settled("a", "uncertain: timeout");
    assert_eq!(it.stopped, ["a"]);
    it.answer("a", pass());
    assert_eq!(it.late.len(), 2);
    it.expect_paused(Uncertain, [("a", "uncertain")]);
}

#[test]
fn a_tool_that_settles_after_its_step_timed_out_is_a_late_source() {
    let mut it = story("a -> done\n a = timeout_ms: 50, tools: [act]").start();
    it.calls("a", [tool("act", json!({}))])
        .passes(50)
        .expect_settled("a", "uncertain: timeout");
    it.tool("a", done(json!({ "done": 1 })));
    assert_eq!(
        it.late.last().expect("a late source").content,
        r#"{"done":1}"#
    );
    it.expect_paused(Uncertain, [("a", "uncertain")]);
}
