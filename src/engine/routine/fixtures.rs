//! Files that tests share: the format's own example, a smallest valid one, and the smallest breakage
//! for each code.

use crate::engine::routine::Known;
use crate::engine::routine::issue::Code;

/// The example of the format's description, verbatim.
pub(in crate::engine::routine) const FORMAT: &str =
    include_str!("../../../tests/fixtures/verified-release.yaml");

/// What the example leaves out, so that together they hold every field.
pub(in crate::engine::routine) const EVERY_FIELD: &str =
    include_str!("../../../tests/fixtures/every-field.yaml");

/// A routine without error and without warning, one construct a line.
pub(in crate::engine::routine) const PLAIN: &str = "\
routine: plain
agents: {a: {}, b: {}}
councils: {c: {leader: a, members: [b], strategy: vote}}
entry_steps: [work]
steps:
  - {slug: work, type: agent, agent: a, instructions: Work.}
  - {slug: look, type: gate, agent: b, criteria: [It is right]}
  - {slug: done, type: terminal}
  - {slug: lost, type: terminal_fail}
edges:
  - {from: work, to: look, purpose: Look.}
  - {from: look, to: done, condition: on_pass, purpose: End.}
  - {from: look, to: lost, condition: on_fail, purpose: End.}
verify: [{check: manual, prompt: Right?, covers: [it]}]
";

/// The line of [`PLAIN`] with the steps `work` and `look`.
const WORK: &str = "  - {slug: work, type: agent, agent: a, instructions: Work.}\n";
const LOOK: &str = "  - {slug: look, type: gate, agent: b, criteria: [It is right]}\n";
const STEPS: &str = "\
steps:
  - {slug: work, type: agent, agent: a, instructions: Work.}
  - {slug: look, type: gate, agent: b, criteria: [It is right]}
  - {slug: done, type: terminal}
  - {slug: lost, type: terminal_fail}
";
const LOST: &str = "  - {slug: lost, type: terminal_fail}\n";
const TO_LOOK: &str = "  - {from: work, to: look, purpose: Look.}\n";
const TO_DONE: &str = "  - {from: look, to: done, condition: on_pass, purpose: End.}\n";
const TO_LOST: &str = "  - {from: look, to: lost, condition: on_fail, purpose: End.}\n";
const VERIFY: &str = "verify: [{check: manual, prompt: Right?, covers: [it]}]\n";
const ENTRY: &str = "entry_steps: [work]\n";

/// [`PLAIN`] with one thing wrong.
pub(in crate::engine::routine) struct Broken {
    pub(in crate::engine::routine) code: Code,
    old: &'static str,
    new: &'static str,
    /// The place that the issue must name.
    pub(in crate::engine::routine) line: u32,
    pub(in crate::engine::routine) column: u32,
    pub(in crate::engine::routine) step: Option<&'static str>,
    pub(in crate::engine::routine) edge: Option<&'static str>,
    /// Whether the JSON Schema refuses it too.
    pub(in crate::engine::routine) by_shape: bool,
}

impl Broken {
    /// The whole file.
    pub(in crate::engine::routine) fn file(&self) -> String {
        assert!(PLAIN.contains(self.old), "{}", self.code.label());
        PLAIN.replacen(self.old, self.new, 1)
    }
}

const fn broken(
    code: Code,
    (old, new): (&'static str, &'static str),
    (line, column): (u32, u32),
) -> Broken {
    Broken {
        code,
        old,
        new,
        line,
        column,
        step: None,
        edge: None,
        by_shape: false,
    }
}

impl Broken {
    const fn step(mut self, slug: &'static str) -> Self {
        self.step = Some(slug);
        self
    }

    const fn edge(mut self, label: &'static str) -> Self {
        self.edge = Some(label);
        self
    }

    const fn by_shape(mut self) -> Self {
        self.by_shape = true;
        self
    }
}

/// At least one file for each code.
pub(in crate::engine::routine) const BROKEN: &[Broken] = &[
    broken(Code::Parse, ("routine: plain", "routine: [plain"), (2, 7)),
    broken(Code::UnknownField, ("purpose: Look", "purpos: Look"), (11, 28)).edge("work->look").by_shape(),
    broken(Code::MissingField, ("routine: plain\n", ""), (1, 1)).by_shape(),
    broken(Code::MissingField, ("slug: work, ", ""), (6, 5)).by_shape(),
    broken(Code::MissingField, (ENTRY, ""), (1, 1)).by_shape(),
    broken(Code::MissingField, ("manual, prompt: Right?", "command"), (14, 10)).by_shape(),
    broken(Code::BadValue, ("type: agent", "type: robot"), (6, 24)).step("work").by_shape(),
    broken(Code::BadValue, ("members: [b]", "members: [b, b]"), (3, 40)),
    broken(Code::BadValue, ("instructions: Work.", "max_model_calls: 0"), (6, 58)).step("work").by_shape(),
    broken(Code::BadValue, ("routine: plain", "routine: plain\nversion: 1.0"), (2, 10)).by_shape(),
    broken(Code::EmptyGraph, (STEPS, "steps: []\n"), (5, 8)),
    broken(Code::NoEntry, ("[work]", "[]"), (4, 14)),
    broken(Code::UnknownEntry, ("[work]", "[work, wrok]"), (4, 21)).step("wrok"),
    broken(Code::DuplicateEntry, ("[work]", "[work, work]"), (4, 21)).step("work"),
    broken(Code::EntryHasIncoming, ("[work]", "[work, look]"), (4, 21)).step("look").edge("work->look"),
    broken(Code::DuplicateStep, (LOST, "  - {slug: lost, type: terminal_fail}\n  - {slug: done, type: terminal}\n"), (10, 12)).step("done"),
    broken(Code::BadSlug, ("routine: plain", "routine: Plain"), (1, 10)).by_shape(),
    broken(Code::BadSlug, ("slug: lost", "slug: 'lo st'"), (9, 12)).step("lo st").by_shape(),
    broken(Code::UnknownStep, (TO_LOST, "  - {from: look, to: lots, condition: on_fail, purpose: End.}\n"), (13, 22)).edge("look->lots"),
    broken(Code::SelfEdge, (TO_LOOK, "  - {from: work, to: look, purpose: Look.}\n  - {from: work, to: work, purpose: Look.}\n"), (12, 5)).step("work").edge("work->work"),
    broken(Code::DuplicateEdge, (TO_LOOK, "  - {from: work, to: look, purpose: Look.}\n  - {from: work, to: look, condition: on_pass, purpose: P13.}\n"), (12, 5)).edge("work->look"),
    broken(Code::GateAlwaysEdge, ("condition: on_pass", "condition: always"), (12, 39)).step("look").edge("look->done"),
    broken(Code::GateAlwaysEdge, ("condition: on_pass, ", ""), (12, 5)).step("look").edge("look->done"),
    broken(Code::OnFailFromNonGate, (TO_LOOK, "  - {from: work, to: look, purpose: Look.}\n  - {from: work, to: lost, condition: on_fail, purpose: No.}\n"), (12, 39)).step("work").edge("work->lost"),
    broken(Code::MissingOutgoing, (LOOK, "  - {slug: look, type: gate, agent: b, criteria: [It is right]}\n  - {slug: more, type: agent, agent: a}\n"), (8, 5)).step("more"),
    broken(Code::MissingOutgoing, (TO_DONE, ""), (7, 5)).step("look"),
    broken(Code::TerminalHasOutgoing, (TO_LOST, "  - {from: look, to: lost, condition: on_fail, purpose: End.}\n  - {from: lost, to: done}\n"), (14, 5)).step("lost").edge("lost->done"),
    broken(Code::NoTerminal, ("  - {slug: done, type: terminal}\n  - {slug: lost, type: terminal_fail}\n", "  - {slug: done, type: agent, agent: a}\n  - {slug: lost, type: agent, agent: a}\n"), (6, 3)),
    broken(Code::UnreachableStep, (TO_LOST, ""), (9, 5)).step("lost"),
    broken(Code::Cycle, (TO_LOST, "  - {from: look, to: lost, condition: on_fail, purpose: End.}\n  - {from: look, to: work, condition: on_pass, purpose: Back.}\n"), (14, 5)).step("work").edge("look->work"),
    broken(Code::MixedOnFail, (TO_LOST, "  - {from: look, to: lost, condition: on_fail, purpose: End.}\n  - {from: look, to: work, condition: on_fail, purpose: Back.}\n"), (7, 5)).step("look"),
    broken(Code::MissingAgent, ("type: agent, agent: a,", "type: agent,"), (6, 5)).step("work").by_shape(),
    broken(Code::MissingAgent, ("type: gate, agent: b,", "type: gate, operator: false,"), (7, 5)).step("look"),
    broken(Code::GateOwner, ("type: gate, agent: b,", "type: gate, agent: b, operator: true,"), (7, 5)).step("look"),
    broken(Code::MissingCouncil, ("type: agent, agent: a,", "type: council,"), (6, 5)).step("work").by_shape(),
    broken(Code::UnknownAgent, ("type: agent, agent: a", "type: agent, agent: z"), (6, 38)).step("work"),
    broken(Code::UnknownAgent, ("leader: a", "leader: z"), (3, 24)),
    broken(Code::UnknownCouncil, ("type: agent, agent: a", "type: council, council: z"), (6, 42)).step("work"),
    broken(Code::UnknownTool, ("instructions: Work.", "tools: [reed_file]"), (6, 49)).step("work"),
    broken(Code::UnknownTool, (ENTRY, "entry_steps: [work]\npre_steps: [{name: p, tool: magic}]\n"), (5, 29)).step("p"),
    broken(Code::UnknownPlugin, ("instructions: Work.", "plugins: [magic]"), (6, 51)).step("work").by_shape(),
    broken(Code::BadHandoffSchema, ("purpose: Look.", "handoff_schema: {type: odd}"), (11, 44)).edge("work->look"),
    broken(Code::BadHandoffSchema, ("purpose: Look.", "handoff_schema: {properties: {x: {type: odd}}}"), (11, 44)).edge("work->look"),
    broken(Code::BadMaxAttempts, ("condition: on_fail, purpose: End.", "condition: on_fail, max_attempts: 2"), (13, 62)).edge("look->lost"),
    broken(Code::BadMaxAttempts, ("to: lost, condition: on_fail, purpose: End.", "to: work, condition: on_fail, max_attempts: 0"), (13, 62)).edge("look->work").by_shape(),
    broken(Code::BadCondition, ("instructions: Work.", "condition: {memory_key: k, operator: like, on_false: skip}"), (6, 78)).step("work").by_shape(),
    broken(Code::BadCondition, ("instructions: Work.", "condition: {memory_key: k, operator: less_than, value: x, on_false: skip}"), (6, 52)).step("work"),
    broken(Code::BadCondition, ("criteria: [It is right]", "condition: {memory_key: k, operator: exists, on_false: skip}"), (7, 40)).step("look").by_shape(),
    broken(Code::BadCondition, ("condition: on_fail", "condition: on_doubt"), (13, 39)).edge("look->lost").by_shape(),
    broken(Code::BadTemplate, ("instructions: Work.", "instructions: 'Work on {{param.x}}'"), (6, 55)).step("work"),
    broken(Code::BadTemplate, ("instructions: Work.", "instructions: 'Work on {{this'"), (6, 55)).step("work"),
    broken(Code::BadTemplate, ("instructions: Work.", "instructions: '{{result.look}}'"), (6, 55)).step("work"),
    broken(Code::BadTemplate, ("instructions: Work.", "instructions: '{{map.item}}'"), (6, 55)).step("work"),
    broken(Code::BadTimer, ("instructions: Work.", "timeout_ms: 0"), (6, 53)).step("work").by_shape(),
    broken(Code::BadTimer, ("covers: [it]", "poll_ms: 99"), (14, 51)).by_shape(),
    broken(Code::BadTimer, ("routine: plain", "routine: plain\ndeadline_ms: 2147483648"), (2, 14)).by_shape(),
    broken(Code::BadSource, (WORK, "  - {slug: work, type: map, source: {}, routine: {steps: [{slug: s, type: agent, agent: a}]}}\n"), (6, 37)).step("work"),
    broken(Code::BadSource, (WORK, "  - {slug: work, type: map, source: {step: look}, routine: {steps: [{slug: s, type: agent, agent: a}]}}\n"), (6, 44)).step("work"),
    broken(Code::UnknownStep, (WORK, "  - {slug: work, type: map, source: {step: loook}, routine: {steps: [{slug: s, type: agent, agent: a}]}}\n"), (6, 44)).step("work"),
    broken(Code::BadMaxIterations, (WORK, "  - {slug: work, type: map, source: {memory_key: k}, max_iterations: 1001, routine: {steps: [{slug: s, type: agent, agent: a}]}}\n"), (6, 70)).step("work").by_shape(),
    broken(Code::MissingResultKey, (WORK, "  - {slug: work, type: fold, source: {memory_key: k}, initial_value: 0, routine: {steps: [{slug: s, type: agent, agent: a}]}}\n"), (6, 5)).step("work").by_shape(),
    broken(Code::BadCheck, ("check: manual, prompt: Right?", "check: command, run: []"), (14, 32)),
    broken(Code::BadCheck, ("check: manual", "check: manuel"), (14, 18)).by_shape(),
    broken(Code::BadCheck, ("check: manual, prompt: Right?", "check: output, matches: '('"), (14, 35)),
    broken(Code::BadAssurance, (VERIFY, "verify: [{check: manual, prompt: Right?, covers: [it]}]\nassurance: {required_coverage: [that]}\n"), (15, 33)),
    broken(Code::BadAssurance, (VERIFY, "verify: [{check: manual, prompt: Right?, covers: [it]}]\nassurance: {required_methods: [council_review]}\n"), (15, 32)),
    broken(Code::BadAssurance, (VERIFY, "verify: [{check: manual, prompt: Right?, covers: [it]}]\nassurance: {required_methods: [magic]}\n"), (15, 32)).by_shape(),
    broken(Code::GateWithoutCriteria, (", criteria: [It is right]", ""), (7, 5)).step("look"),
    broken(Code::EdgeWithoutHandoff, (", purpose: Look.", ""), (11, 5)).edge("work->look"),
    broken(Code::NoVerification, (VERIFY, ""), (1, 1)),
    broken(Code::NoSuccessTerminal, ("{slug: done, type: terminal}", "{slug: done, type: terminal_fail}"), (6, 3)),
    broken(Code::NoFailureTerminal, ("{slug: lost, type: terminal_fail}", "{slug: lost, type: terminal}"), (6, 3)),
];

/// What the host knows besides the files.
pub(in crate::engine::routine) fn known() -> Known {
    let tools = [
        "read_file",
        "list_dir",
        "search_text",
        "write_file",
        "run_command",
        "http_request",
        "memory_set",
        "memory_get",
        "memory_list",
        "memory_delete",
        "synthetic_reserve",
        "synthetic_submit",
        "synthetic_artifact",
    ];
    Known {
        tools: tools.into_iter().map(str::to_owned).collect(),
        ..Known::default()
    }
}

/// A line of agents to a terminal.
pub(in crate::engine::routine) fn line(steps: usize) -> String {
    let mut text = String::from("routine: line\nentry_steps: [s0]\nsteps:\n");
    for n in 0..steps {
        text.push_str(&format!(
            "  - slug: s{n}\n    type: agent\n    agent: default\n    instructions: Do number {n}.\n"
        ));
    }
    text.push_str("  - {slug: done, type: terminal}\nedges:\n");
    for n in 1..steps {
        text.push_str(&format!(
            "  - {{from: s{}, to: s{n}, purpose: Go on.}}\n",
            n - 1
        ));
    }
    text.push_str(&format!(
        "  - {{from: s{}, to: done, purpose: End.}}\n",
        steps - 1
    ));
    text
}

/// Routines that lie in each other, the outermost counted.
pub(in crate::engine::routine) fn nested(levels: usize) -> String {
    let mut inner = String::from("{steps: [{slug: s, type: agent, agent: default}]}");
    for _ in 2..levels {
        inner = format!(
            "{{steps: [{{slug: s, type: until, stop_when: {{memory_key: k, operator: exists}}, routine: {inner}}}]}}"
        );
    }
    format!(
        "routine: deep\nentry_steps: [s]\nsteps:\n  - {{slug: s, type: until, stop_when: {{memory_key: k, operator: exists}}, routine: {inner}}}\n  - {{slug: done, type: terminal}}\nedges: [{{from: s, to: done}}]\n"
    )
}
