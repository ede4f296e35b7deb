//! Duplicates, strays and coincidences: what comes twice, too late, or at the same time.

use super::*;
use crate::engine::evidence::Receipt;
use crate::engine::operation::Operation;
use crate::engine::operation::event::Timer;
use crate::engine::ports::ModelReply;

fn reply(request: u64) -> Event {
    let text = bytes::Bytes::from_static(b"again");
    Event::ModelReplied {
        request: crate::engine::id::RequestId(request),
        reply: Box::new(ModelReply {
            outcome: answered(Vec::new()),
            request: text.clone(),
            response: text,
        }),
    }
}

#[test]
fn a_reply_that_comes_twice_counts_once() {
    let mut it = story("a -> b -> done").start();
    it.answer("a", pass()).tell(reply(1)).expect_running(["b"]);
    assert_eq!(it.late.len(), 2);
    it.answer("b", pass()).expect_succeeded();
}

#[test]
fn a_tool_reply_that_comes_twice_counts_once() {
    let mut it = story("a -> b -> done\n a = type: tool, tool: act").start();
    it.tool("a", done(json!(1)));
    // Its permission was request 1, the call 2.
    let request = crate::engine::id::RequestId(2);
    it.tell(Event::ToolReplied {
        request,
        outcome: done(json!(2)),
    })
    .expect_running(["b"]);
    assert_eq!(it.late.len(), 1);
    assert!(it.request("b", 1).prompt().contains(r#"{"result":1}"#));
}

#[test]
fn a_timer_of_an_earlier_lap_or_of_nothing_does_nothing() {
    let mut it = story("a -> g -pass-> done\n g -fail-> a\n a = timeout_ms: 50").start();
    let timer = |lap| Timer::Step {
        execution: "op.x1".into(),
        step: "a".into(),
        lap: crate::engine::id::Lap(lap),
    };
    it.answer("a", pass())
        .answer("g", fail())
        .expect_lap("a", 2);
    it.tell(Event::TimerFired(timer(1)))
        .tell(Event::TimerFired(timer(3)))
        .tell(Event::TimerFired(Timer::Grace));
    it.expect_running(["a"])
        .passes(50)
        .expect_settled("a", "uncertain: timeout");
}

#[test]
fn an_answer_in_time_clears_the_time_limit() {
    let mut it = story("a -> b -> done\n a = timeout_ms: 50").start();
    it.passes(49)
        .answer("a", pass())
        .passes(1_000)
        .expect_running(["b"]);
}

#[test]
fn a_receipt_is_never_replaced() {
    // V29, V30
    let mut it = story("a -> b -> done").start();
    it.answer("a", pass()).acknowledge_everything();
    let source = it.machine.sources()[0].id.clone();
    let first = it.machine.receipt(&source).cloned().expect("a receipt");
    let receipt = Receipt {
        uri: "elsewhere".into(),
        ..first.clone()
    };
    it.tell(Event::SourceAcknowledged {
        source: source.clone(),
        receipt,
    });
    assert_eq!(it.machine.receipt(&source), Some(&first));
    assert_eq!(it.submissions("b"), 1, "acknowledging moves nothing");
}

#[test]
fn nothing_but_a_start_is_legal_before_the_start() {
    let mut machine = Operation::new(story("a -> done").start().machine.plan().clone());
    for event in [
        Event::LeasesTaken,
        Event::CancelRequested,
        Event::CloseRequested,
        Event::CleanupDone,
        reply(1),
    ] {
        assert!(machine.apply(0, event).is_err());
    }
    assert_eq!(machine.state(), OperationState::New);
    assert!(machine.apply(0, Event::Started).is_ok());
    assert!(machine.apply(0, Event::Started).is_err());
}

#[test]
fn leases_that_come_after_a_cancel_start_nothing() {
    let mut machine = Operation::new(story("a -> done").start().machine.plan().clone());
    machine.apply(0, Event::Started).expect("legal");
    machine.apply(0, Event::CancelRequested).expect("legal");
    assert_eq!(machine.apply(0, Event::LeasesTaken), Ok(Vec::new()));
    assert_eq!(machine.state(), OperationState::Cancelled);
}

#[test]
fn a_borrowed_agent_is_leased_before_anything_begins() {
    // V16
    use crate::engine::operation::event::Command;
    let mut machine = Operation::new(
        story("a -> done\n a = agent: default")
            .start()
            .machine
            .plan()
            .clone(),
    );
    let commands = machine.apply(0, Event::Started).expect("legal");
    assert!(
        commands.contains(&Command::TakeLeases(vec!["default".into()])),
        "{commands:?}"
    );
    assert!(
        !commands
            .iter()
            .any(|command| matches!(command, Command::CallModel { .. }))
    );
}

#[test]
fn an_uncertain_step_whose_lap_is_invalidated_stops_nobody_any_more() {
    // V5a, G7: g was in flight when s became uncertain.
    let mut it =
        story("a -> {g, s}\n s -> done\n g -pass-> done\n g -fail-> a\n s = corrections: 0")
            .start();
    it.answer("a", pass())
        .says("s", "hm")
        .expect_settled("s", "uncertain: no_verdict");
    it.answer("g", fail())
        .expect_running(["a"])
        .expect_lap("a", 2);
    assert!(it.machine.waits().is_empty());
    it.answer("a", pass())
        .answer("s", pass())
        .answer("g", pass())
        .expect_succeeded();
}

#[test]
fn a_retry_handoff_inside_an_invalidated_loop_is_never_shown() {
    // G7: b was sent back by h, then a by g.
    let mut it = story(
        "a -> {b, g}
         b -> h
         h -pass-> done
         h -fail-> b
         g -pass-> done
         g -fail-> a",
    )
    .start();
    it.answer("a", pass())
        .answer("b", pass())
        .answer("h", fail())
        .expect_lap("b", 2);
    it.answer("g", fail())
        .answer("b", pass())
        .answer("a", pass())
        .expect_lap("b", 3);
    let prompt = it.request("b", 3).prompt();
    assert!(
        prompt.contains(r#"{"from":"a","lap":2}"#) && !prompt.contains("`h`,"),
        "{prompt}"
    );
    assert_eq!(prompt.matches("## Handed over").count(), 1, "{prompt}");
}

#[test]
fn an_operator_gate_of_an_invalidated_lap_is_not_asked_any_more() {
    let mut it = story(
        "a -> {g, o}
         o -pass-> done
         g -pass-> done
         g -fail-> a
         o = operator: true, criteria: [x]",
    )
    .start();
    it.answer("a", pass())
        .answer("g", fail())
        .expect_running(["a"]);
    assert!(it.machine.waits().is_empty());
    it.answer("a", pass())
        .answer("g", pass())
        .expect_paused(Waiting, [("o", "operator_gate")]);
    assert_eq!(it.wait("o").key.lap, Some(crate::engine::id::Lap(2)));
}

#[test]
fn a_delivery_for_an_invalidated_lap_is_a_late_source() {
    // V11, G7
    let mut it = story(
        "a -> {g, s}
         s -> done
         g -pass-> done
         g -fail-> a
         s = type: tool, tool: act",
    )
    .start();
    it.answer("a", pass())
        .tool("s", pending("d1"))
        .answer("g", fail())
        .deliver("d1", done(json!("old")));
    assert_eq!(it.late.last().expect("a late source").content, r#""old""#);
    it.answer("a", pass())
        .tool("s", done(json!("new")))
        .answer("g", pass())
        .expect_succeeded();
}

#[test]
fn an_allowed_call_waits_for_what_is_uncertain_and_is_made_once() {
    // V5a, V6
    let mut it = story("a -> done\n b -> done\n a = tools: [act]\n b = corrections: 0")
        .permitted_by_hand(&["act"])
        .start();
    it.calls("a", [tool("act", json!({}))]).permission(
        "a",
        Permission::Ask {
            reason: "it acts".into(),
        },
    );
    it.says("b", "hm")
        .resume_with([("a", allow())])
        .expect_paused(Uncertain, [("b", "uncertain")]);
    assert!(it.dispatched.is_empty());
    it.resume().expect_paused(Uncertain, [("b", "uncertain")]);
    it.reconcile([("b", Answer::Accept(approve()))])
        .expect_running(["a"]);
    it.tool("a", done(json!(1)))
        .answer("a", pass())
        .expect_succeeded();
    assert_eq!(it.dispatched.len(), 1);
}

#[test]
fn a_failure_while_another_step_waits_is_a_failure() {
    let mut it = story("a -> done\n b -> done")
        .verified_by_hand(&["a"])
        .start();
    it.answer("a", pass())
        .verify("a", waiting("later"))
        .answer("b", fail())
        .expect_failed("verdict_fail");
    assert_eq!((it.issued, it.outcome().step.as_deref()), (0, Some("b")));
}

#[test]
fn a_delivery_that_comes_while_new_calls_are_stopped_is_not_lost() {
    let mut it = story("a -> done\n b -> done\n c -> done\n a = tools: [act]")
        .verified_by_hand(&["b"])
        .start();
    it.calls("a", [tool("act", json!({}))])
        .tool("a", pending("d1"));
    it.answer("b", pass())
        .verify("b", blocked("no"))
        .deliver("d1", done(json!("here")));
    it.expect_running(["c"]).answer("c", pass());
    it.resume().verify("b", verified()).expect_running(["a"]);
    assert_eq!(it.latest_request("a", 1).last(), "here");
    it.answer("a", pass()).expect_succeeded();
}

#[test]
fn a_waiting_branch_and_a_finished_one_meet_after_the_resume() {
    let mut it = story("{a, b} -> j -> done")
        .verified_by_hand(&["a"])
        .start();
    it.answer("a", pass())
        .verify("a", waiting("later"))
        .answer("b", pass());
    it.expect_paused(Waiting, [("a", "check")])
        .resume()
        .verify("a", verified())
        .expect_running(["j"]);
    assert_eq!(
        it.request("j", 1)
            .prompt()
            .matches("## Handed over")
            .count(),
        2
    );
}

#[test]
fn corrections_count_as_model_calls() {
    // M3a
    let mut it = story("a -> done\n a = corrections: 9, max_model_calls: 2").start();
    it.says("a", "one")
        .says("a", "two")
        .expect_settled("a", "uncertain: max_model_calls");
    assert_eq!(it.model_calls("a"), 2);
}

#[test]
fn a_gate_without_a_valid_verdict_is_uncertain_and_never_follows_its_fail() {
    // G3
    let mut it = story("a -> g -pass-> done\n g -fail-> a").start();
    it.answer("a", pass())
        .says("g", "one")
        .says("g", "two")
        .says("g", "fail");
    it.expect_settled("g", "uncertain: no_verdict")
        .expect_paused(Uncertain, [("g", "uncertain")]);
    assert!(it.events_of(&["g->"]).is_empty());
}

#[test]
fn a_deadline_that_passes_before_the_leases_are_there_starts_nothing() {
    // V24
    let planned = story("@ deadline_ms: 100\n a -> done").start();
    let mut machine = Operation::new(planned.machine.plan().clone());
    machine.apply(0, Event::Started).expect("legal");
    machine
        .apply(100, Event::TimerFired(Timer::Deadline))
        .expect("legal");
    assert_eq!(machine.state(), OperationState::Failed);
    assert_eq!(machine.apply(101, Event::LeasesTaken), Ok(Vec::new()));
}

#[test]
fn a_person_may_answer_several_waits_with_one_admission() {
    // T5, V5a
    let mut it = story(
        "a -> {o, c}
         c -> done
         o -pass-> done
         o = operator: true, criteria: [x]
         c = type: tool, tool: act",
    )
    .permitted_by_hand(&["act"])
    .start();
    it.answer("a", pass()).permission(
        "c",
        Permission::Ask {
            reason: "it acts".into(),
        },
    );
    it.expect_paused(Blocked, [("o", "operator_gate"), ("c", "permission")]);
    it.resume_with([("o", Answer::Decide(approve())), ("c", allow())]);
    it.tool("c", done(json!(1))).expect_succeeded();
    assert_eq!((it.issued, it.dispatched.len()), (1, 1));
}
