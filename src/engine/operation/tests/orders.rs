//! The answer never depends on which branch finished first (G8): random graphs in which no failure
//! and no retry edge can meet a running sibling, each played in several orders.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::*;
use crate::engine::operation::outcome::Outcome;
use crate::engine::operation::tests::simulator::chance::Chance;

const GRAPHS: u64 = 150;
const ORDERS: u64 = 4;
const STRATEGIES: [&str; 5] = ["broadcast", "round_robin", "decompose", "vote", "dynamic"];

/// What must be the same in every order.
#[derive(Debug, PartialEq)]
struct Told {
    outcome: Outcome,
    /// What was shown first, by iteration, step and lap; so a step's number of runs too.
    prompts: BTreeMap<(String, String, u32), String>,
    memory: BTreeMap<String, serde_json::Value>,
}

/// Steps that lead on at random: agents, councils and tools, gates with a way for either verdict, maps
/// and folds over chains that may send themselves back, and conditions on what never changes.
fn graph(chance: &mut Chance) -> String {
    let steps = 3 + chance.below(8);
    let mut lines = String::from(
        "@ pre_steps: [{ name: items, tool: memory_set, args: { key: items, value: [1, 2] } }]\n",
    );
    let mut fields = String::new();
    let mut is_gate = vec![false; steps];
    for step in 1..steps {
        for _ in 0..1 + chance.below(2) {
            let from = chance.below(step);
            let arrow = match is_gate[from] {
                true if chance.percent(50) => "-fail->",
                true => "-pass->",
                false => "->",
            };
            let (edge, other) = (format!("s{from} {arrow} s{step}\n"), format!("> s{step}\n"));
            let is_double = |line: &str| {
                line.starts_with(&format!("s{from} ")) && line.ends_with(other.trim_end())
            };
            if !lines.lines().any(is_double) {
                lines.push_str(&edge);
            }
        }
        is_gate[step] = chance.percent(30);
    }
    for (step, gate) in is_gate.iter().enumerate() {
        if *gate {
            let _ = writeln!(lines, "s{step} -pass-> done");
            if !lines.contains(&format!("s{step} -fail->")) {
                let _ = writeln!(lines, "s{step} -fail-> done2");
            }
            continue;
        }
        if !lines
            .lines()
            .any(|line| line.starts_with(&format!("s{step} ")))
        {
            let _ = writeln!(lines, "s{step} -> done");
        }
        let source = "source: { memory_key: items }";
        let chain = format!(
            "routine: {{ entry_steps: [n{step}], steps: [{{ slug: n{step}, type: agent, agent: n{step}, instructions: 'at {{{{map.item}}}}' }}, {{ slug: g{step}, type: gate, agent: g{step} }}, {{ slug: e{step}, type: terminal }}], edges: [{{ from: n{step}, to: g{step} }}, {{ from: g{step}, to: e{step}, condition: on_pass }}, {{ from: g{step}, to: n{step}, condition: on_fail }}] }}"
        );
        let kind = match chance.below(8) {
            6 | 7 => {
                let strategy = chance.word(&STRATEGIES);
                // They share agents with each other and with the agent steps.
                let (leader, members) = match chance.below(4) {
                    0 => ("a0".to_owned(), "{a1, a2}"),
                    1 => ("a1".to_owned(), "{a2, a0}"),
                    2 => ("a2".to_owned(), "{a2}"),
                    _ => (format!("l{step}"), "{a0, a1, a2}"),
                };
                let _ = writeln!(fields, "s{step} : {leader} {strategy} {members}");
                "criteria: [good]".to_owned()
            }
            0 => format!("type: map, {source}, {chain}"),
            1 => format!("type: fold, {source}, initial_value: 0, result_key: r{step}, {chain}"),
            2 => "type: tool, tool: act".to_owned(),
            _ => format!("agent: a{}", chance.below(3)),
        };
        let condition = match chance.below(6) {
            0 => ", condition: { memory_key: none, operator: exists, on_false: skip }",
            1 => {
                ", condition: { memory_key: none, operator: exists, on_false: skip }, omission: refused"
            }
            2 => ", condition: { memory_key: items, operator: exists, on_false: fail }",
            _ => "",
        };
        let _ = writeln!(fields, "s{step} = {kind}{condition}");
    }
    lines + &fields
}

/// The iterations that an execution lies in, from inner to outer.
fn path(it: &Play, execution: &crate::engine::id::ExecutionId) -> String {
    let mut path = String::new();
    let mut next = it.machine.find_execution(execution);
    while let Some(held) = next {
        let iteration = it.machine.executions[held].iteration.as_ref();
        if let Some(iteration) = iteration {
            let _ = write!(path, "{}:", iteration.index);
        }
        next = iteration.map(|iteration| iteration.of.execution);
    }
    path
}

fn play(text: &str, seed: u64, order: u64) -> Told {
    let mut chance = Chance::of(seed * 1_000 + order);
    let mut it = story(text).start();
    let mut prompts = BTreeMap::new();
    while it.settled.is_none() {
        for asked in &it.asked {
            let place = &asked.place;
            let request = it.latest_request(&asked.seat, place.lap.0);
            // A leader has two runs where it gives parts.
            let ends = request.tools.last().map_or("words", |tool| &tool.name);
            let who = format!("{} by {ends}", asked.seat);
            let key = (path(&it, &place.execution), who, place.lap.0);
            let prompt = request.prompt().to_owned();
            prompts.entry(key).or_insert(prompt);
        }
        let open = it.asked.len() + it.called.len();
        assert!(open > 0, "it hangs: {:?}", it.events());
        let at = chance.below(open);
        match it.asked.get(at) {
            Some(asked) => {
                let (step, lap) = (asked.place.step.clone(), asked.place.lap.0);
                let seat = asked.seat.clone();
                let place = path(&it, &asked.place.execution);
                if seat != step && sits(&mut it, &seat, lap) {
                    continue;
                }
                // What is said hangs on the place alone; a chain's gate sends it back once.
                let is_chain = step.starts_with('g');
                let fails = match is_chain {
                    true => lap == 1 && (seed + place.len() as u64).is_multiple_of(2),
                    false => {
                        (seed + step.len() as u64 + u64::from(step.as_bytes()[1])).is_multiple_of(2)
                    }
                };
                let is_gate = is_chain || text.contains(&format!("{step} -pass->"));
                let said = format!("{place}{step}@{lap}");
                let verdict = if is_gate && fails { fail() } else { pass() };
                it.answer(&seat, verdict.output(said));
            }
            None => {
                let step = it.called[at - it.asked.len()].seat.clone();
                it.tool(&step, done(json!({ "by": step })));
            }
        }
    }
    Told {
        outcome: it.outcome().clone(),
        prompts,
        memory: (0..12)
            .map(|step| format!("r{step}"))
            .filter_map(|key| Some((key.clone(), it.memory(&key)?.clone())))
            .collect(),
    }
}

/// Somebody at a council says what hangs on the seat alone; false where a verdict is left to say.
fn sits(it: &mut Play, seat: &str, lap: u32) -> bool {
    let request = it.latest_request(seat, lap);
    let members = |name: &str| {
        let tool = request.tools.iter().find(|tool| tool.name == name);
        let required = tool.map(|tool| &tool.schema["properties"]["parts"]["required"]);
        let members = required.and_then(serde_json::Value::as_array);
        members.map(|members| {
            let part = |it: &serde_json::Value| {
                let name = it.as_str().unwrap_or_default();
                (name.to_owned(), json!(format!("the part of {name}")))
            };
            members.iter().map(part).collect::<serde_json::Map<_, _>>()
        })
    };
    let is_offered = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    let ask = request
        .tools
        .iter()
        .find(|tool| tool.name.starts_with("ask_"));
    if let Some(parts) = members("assign_parts") {
        it.calls(seat, [tool("assign_parts", json!({ "parts": parts }))]);
    } else if is_offered("cast_vote") {
        let vote = json!({ "verdict": "pass", "reasoning": format!("so says {seat}") });
        it.calls(seat, [tool("cast_vote", vote)]);
    } else if !is_offered("route_next_steps") {
        it.says(seat, &format!("{seat} says so"));
    } else if let (Some(ask), 1) = (ask, request.messages.len()) {
        let name = ask.name.clone();
        it.calls(
            seat,
            [tool(&name, json!({ "message": "what do you say?" }))],
        );
    } else {
        return false;
    }
    true
}

#[test]
fn no_order_of_finishing_changes_what_comes_out() {
    let (mut succeeded, mut iterated, mut sat) = (0, 0, 0);
    for seed in 0..GRAPHS {
        let text = graph(&mut Chance::of(seed));
        let first = play(&text, seed, 0);
        for order in 1..ORDERS {
            let other = play(&text, seed, order);
            assert_eq!(first, other, "seed {seed}, order {order}\n{text}");
        }
        succeeded += usize::from(first.outcome.reason.is_none());
        iterated += usize::from(first.prompts.keys().any(|(path, ..)| !path.is_empty()));
        sat += usize::from(first.prompts.keys().any(|(_, who, _)| who.contains('/')));
    }
    assert!(
        [succeeded * 2, iterated * 4, sat * 4]
            .iter()
            .all(|count| *count > GRAPHS as usize),
        "{succeeded} succeeded, {iterated} iterated and {sat} had councils, of {GRAPHS}"
    );
}
