//! Routines without error, of every construct, by chance.

use serde_json::{Map, Value, json};

use crate::engine::routine::tests::agreement::dice::Dice;

const TOOLS: [&str; 3] = ["read_file", "memory_get", "run_command"];

/// A whole file.
pub(super) fn routine(dice: &mut Dice) -> Value {
    let around = Around::outermost(dice);
    let mut root = body(dice, &around, "s");
    let map = root.as_object_mut().expect("a map");
    map.insert("routine".into(), json!("made-up"));
    map.insert(
        "parameters".into(),
        json!([{"name": "p", "required": true}, {"name": "q", "default": 1}]),
    );
    map.insert("agents".into(), json!({
        "ann": {"role": "expert", "instructions": "You are {{param.p}}.", "tools": ["read_file"]},
        "bob": {"model": "ollama/x", "max_output_tokens": 9},
    }));
    let strategy = *dice.of(&["broadcast", "round_robin", "decompose", "vote", "dynamic"]);
    let mut board = json!({"leader": "ann", "members": ["bob", "default"], "strategy": strategy});
    if strategy == "dynamic" {
        board["max_calls"] = json!(3);
    }
    map.insert("councils".into(), json!({"board": board}));
    let mut maybe = |name: &str, value: Value| {
        if dice.once_in(3) {
            map.insert(name.into(), value);
        }
    };
    maybe("name", json!("Made up"));
    maybe("description", json!("By chance"));
    maybe("version", json!("1"));
    maybe("instructions", json!("For {{param.q}}."));
    maybe("required_tools", json!(TOOLS));
    maybe("required_plugins", json!(["memory"]));
    maybe("deadline_ms", json!(0));
    maybe("post_steps_trigger", json!("always"));
    if dice.once_in(2) {
        map.insert(
            "verify".into(),
            json!([
                {"check": "command", "run": ["true", "{{result.s0}}"], "covers": ["made"]},
                {"check": "manual", "prompt": "Is it?", "covers": ["seen"]},
            ]),
        );
        if dice.once_in(2) {
            map.insert(
                "assurance".into(),
                json!({
                    "required_methods": ["deterministic_oracle", "operator_attestation"],
                    "required_coverage": ["made", "seen"],
                    "require_independent": true,
                }),
            );
        }
    }
    root
}

/// What the place of a body gives its templates, and how deep it lies.
#[derive(Clone)]
struct Around {
    names: Vec<String>,
    level: usize,
}

impl Around {
    fn outermost(dice: &mut Dice) -> Self {
        let names = ["param.p", "param.q"].map(str::to_owned);
        let level = 1 + dice.below(2);
        Self {
            names: names.into(),
            level,
        }
    }

    fn text(&self, dice: &mut Dice) -> Value {
        match dice.below(3) {
            0 => json!("Do it."),
            1 => json!(format!("Do {{{{{}}}}} well.", dice.of(&self.names))),
            _ => json!(format!("{{{{{{{{ and {{{{ {} }}}}", dice.of(&self.names))),
        }
    }
}

/// Steps in a line, with ways back, ways out and branches.
fn body(dice: &mut Dice, around: &Around, prefix: &str) -> Value {
    let mut around = around.clone();
    let mut map = Map::new();
    if dice.once_in(3) {
        let args = json!({"path": around.text(dice)});
        map.insert("pre_steps".into(), json!([
            {"name": format!("{prefix}-pre"), "tool": "read_file", "args": args, "result_key": "k"},
        ]));
        around.names.push(format!("step.{prefix}-pre"));
    }
    let count = 1 + dice.below(4);
    let slugs: Vec<String> = (0..count).map(|n| format!("{prefix}{n}")).collect();
    let mut steps = Vec::new();
    let mut edges = Vec::new();
    let mut loses = false;
    for (n, slug) in slugs.iter().enumerate() {
        let next = slugs
            .get(n + 1)
            .cloned()
            .unwrap_or_else(|| format!("{prefix}done"));
        let step = step(dice, &around, slug, &slugs[..n]);
        let is_gate = step["type"] == "gate";
        let mut on = edge(dice, slug, &next);
        if is_gate {
            on["condition"] = json!("on_pass");
            if n > 0 && dice.once_in(2) {
                let mut back = edge(dice, slug, dice_of(n, &slugs));
                back["condition"] = json!("on_fail");
                back["max_attempts"] = json!(2);
                edges.push(back);
            } else if dice.once_in(2) {
                loses = true;
                let mut out = edge(dice, slug, &format!("{prefix}lost"));
                out["condition"] = json!("on_fail");
                edges.push(out);
            }
        } else if dice.once_in(3) {
            on["condition"] = json!(*dice.of(&["always", "on_pass"]));
        }
        edges.push(on);
        if n + 2 < count && !is_gate && dice.once_in(4) {
            edges.push(edge(dice, slug, &slugs[n + 2]));
        }
        steps.push(step);
        around.names.push(format!("result.{slug}"));
    }
    steps.push(
        json!({"slug": format!("{prefix}done"), "type": "terminal", "reason": around.text(dice)}),
    );
    if loses {
        steps.push(json!({"slug": format!("{prefix}lost"), "type": "terminal_fail"}));
    }
    map.insert("steps".into(), json!(steps));
    map.insert("edges".into(), json!(edges));
    map.insert("entry_steps".into(), json!([slugs[0]]));
    if dice.once_in(4) {
        map.insert("post_steps".into(), json!([
            {"name": format!("{prefix}-post"), "tool": "run_command", "args": {"argv": [around.text(dice)]}, "on_error": "fail", "timeout_ms": 5},
        ]));
    }
    Value::Object(map)
}

fn dice_of(n: usize, slugs: &[String]) -> &str {
    &slugs[n / 2]
}

fn edge(dice: &mut Dice, from: &str, to: &str) -> Value {
    let mut edge = json!({"from": from, "to": to});
    match dice.below(4) {
        0 => edge["purpose"] = json!("Go on"),
        1 => edge["handoff_instructions"] = json!("Give it."),
        2 => {
            edge["handoff_schema"] =
                json!({"type": "object", "properties": {"x": {"type": "string"}}})
        }
        _ => {}
    }
    edge
}

fn step(dice: &mut Dice, around: &Around, slug: &str, before: &[String]) -> Value {
    let mut step = json!({"slug": slug});
    let kinds = [
        "agent", "agent", "gate", "gate", "gate", "council", "tool", "map", "fold", "until",
    ];
    let kind = match *dice.of(&kinds) {
        "map" | "fold" | "until" if around.level > 2 => "agent",
        kind => kind,
    };
    step["type"] = json!(kind);
    if dice.once_in(3) {
        step["name"] = json!(format!("The {slug}"));
    }
    if kind != "gate" && dice.once_in(3) {
        let operator = *dice.of(&["exists", "equals", "less_than"]);
        step["condition"] = json!({"memory_key": "k", "operator": operator, "on_false": "skip"});
        if operator != "exists" {
            step["condition"]["value"] = json!(4);
        }
        if dice.once_in(2) {
            step["omission"] = json!("refused");
        }
    }
    match kind {
        "agent" => {
            step["agent"] = json!(*dice.of(&["ann", "bob", "default"]));
            work(dice, around, &mut step);
        }
        "council" => {
            step["council"] = json!("board");
            work(dice, around, &mut step);
        }
        "gate" => match dice.below(3) {
            0 => {
                step["agent"] = json!("bob");
                work(dice, around, &mut step);
            }
            1 => {
                step["operator"] = json!(true);
                step["instructions"] = around.text(dice);
            }
            _ => step["checks"] = json!([check(dice, around)]),
        },
        "tool" => {
            step["tool"] = json!(*dice.of(&TOOLS));
            step["args"] = json!({"path": around.text(dice), "more": [around.text(dice)]});
        }
        _ => repetition(dice, around, &mut step, before),
    }
    if dice.once_in(4) {
        step["verify"] = json!([check(dice, around)]);
    }
    step
}

fn work(dice: &mut Dice, around: &Around, step: &mut Value) {
    let fields = [
        ("instructions", around.text(dice)),
        ("criteria", json!([around.text(dice)])),
        ("expected_output", around.text(dice)),
        ("tools", json!(["read_file"])),
        ("reflection", json!({"mode": "strict", "min_score": 70})),
        ("corrections", json!(0)),
        ("max_model_calls", json!(3)),
        ("timeout_ms", json!(1000)),
        ("memory", json!(["k"])),
        ("plugins", json!(["memory"])),
    ];
    for (name, value) in fields {
        if dice.once_in(3) {
            step[name] = value;
        }
    }
    if step.get("reflection").is_some() && step.get("criteria").is_none() {
        step["criteria"] = json!(["It is good"]);
    }
}

fn check(dice: &mut Dice, around: &Around) -> Value {
    let text = around.text(dice);
    match dice.below(6) {
        0 => json!({"check": "command", "run": ["test", text], "cwd": "sub", "timeout_ms": 9}),
        1 => {
            json!({"check": "http", "url": "https://{{param.p}}/", "expect": {"status": 204}, "poll_ms": 100})
        }
        2 => {
            json!({"check": "http", "url": "http://x/", "request": "POST", "headers": {"a": text}, "expect": {"path": "a.b", "equals": text}})
        }
        3 => json!({"check": "file", "path": text, "min_bytes": 1}),
        4 => json!({"check": "manual", "prompt": text, "method": "operator_attestation"}),
        _ => json!({"check": "synthetic", "job": text, "of": "artifact", "independent": true}),
    }
}

fn repetition(dice: &mut Dice, around: &Around, step: &mut Value, before: &[String]) {
    let kind = step["type"].as_str().unwrap_or_default().to_owned();
    let mut inner = around.clone();
    inner.level += 1;
    if kind == "until" {
        step["stop_when"] = json!({"memory_key": "ready", "operator": "truthy"});
        step["max_iterations"] = json!(3);
        step["iteration_key"] = json!("turn");
    } else {
        step["source"] = match before.last() {
            Some(earlier) if dice.once_in(2) => json!({"step": earlier, "path": "rows[0].x"}),
            Some(_) | None => json!({"memory_key": "k"}),
        };
        inner
            .names
            .extend(["map.item", "map.index", "map.total"].map(str::to_owned));
        step["iteration_deadline_ms"] = json!(0);
    }
    if kind == "fold" {
        step["initial_value"] = Value::Null;
        step["result_key"] = json!("sum");
        inner.names.push("fold.accumulator".to_owned());
    }
    let prefix = format!("{}-", step["slug"].as_str().unwrap_or_default());
    let mut routine = body(dice, &inner, &prefix);
    if dice.once_in(2) {
        routine = json!({"steps": [
            {"slug": format!("{prefix}a"), "type": "agent", "agent": "ann", "instructions": inner.text(dice)},
            {"slug": format!("{prefix}b"), "type": "agent", "agent": "bob", "instructions": format!("{{{{result.{prefix}a}}}}")},
        ]});
    }
    step["routine"] = routine;
}
