//! Drawings as text, Mermaid and DOT: what they look like, and that no name breaks out of its quotes.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::engine::routine::{fixtures, load};

#[test]
fn the_fixture_reads_as_an_outline_in_topological_order() {
    let loaded = load(fixtures::FORMAT.as_bytes(), &fixtures::known());
    let routine = loaded.routine.expect("valid");
    let text = Drawing::of(&routine.graph).to_text();
    assert_eq!(
        text,
        "\
* draft [agent by writer]  \"Draft the notes\"
    if git_log is truthy, else skip
    -> check
  check [gate by critic]
    <- on_fail draft (retry, at most 2 times)
    -> on_pass tests
  tests [gate by a check]
    -> on_pass stamp
    -> on_fail rejected
  stamp [tool by run_command]
    -> each_file
  each_file [map]
    each time:
      * note [agent by critic]
          -> done
        done [terminal]
    -> review
  review [council by editors]
    -> release
  release [gate by the operator]
    -> on_pass done
    -> on_fail rejected
  done [terminal]
  rejected [terminal_fail]
"
    );
}

const DEMOS: [(&str, &str); 5] = [
    (
        "linear",
        include_str!("../../../../demo-routines/linear.yaml"),
    ),
    (
        "gated-rework",
        include_str!("../../../../demo-routines/gated-rework.yaml"),
    ),
    (
        "fan-out-join",
        include_str!("../../../../demo-routines/fan-out-join.yaml"),
    ),
    (
        "checks-and-operator",
        include_str!("../../../../demo-routines/checks-and-operator.yaml"),
    ),
    (
        "verified-submission",
        include_str!("../../../../demo-routines/verified-submission.yaml"),
    ),
];

fn drawing(text: &str) -> Drawing {
    let loaded = load(text.as_bytes(), &fixtures::known());
    Drawing::of(&loaded.routine.expect("valid").graph)
}

#[test]
fn every_demo_is_a_mermaid_flowchart_and_a_dot_graph() {
    for (name, text) in DEMOS.into_iter().chain([("format", fixtures::FORMAT)]) {
        let drawing = drawing(text);
        assert_snapshot!(format!("{name}.mermaid"), drawing.to_mermaid());
        assert_snapshot!(format!("{name}.dot"), drawing.to_dot());
    }
}

/// A graph with a nested one and a retry edge, every name of it chosen by somebody else.
fn named(name: &str) -> Drawing {
    let mut drawing = drawing(fixtures::FORMAT);
    fn rename(drawing: &mut Drawing, name: &str) {
        for step in &mut drawing.steps {
            step.name = name.to_owned();
            if let Some(by) = &mut step.by {
                *by = name.to_owned();
            }
            for clause in &mut step.clauses {
                *clause = name.to_owned();
            }
            if let Some(nested) = &mut step.nested {
                rename(nested, name);
            }
        }
    }
    rename(&mut drawing, name);
    drawing
}

/// What stands outside of quotes. Neither form has another way to quote here.
fn outside_quotes(text: &str) -> String {
    text.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

fn stays_inside(name: &str) {
    let (plain, odd) = (named("plain"), named(name));
    for (plain, odd) in [
        (plain.to_mermaid(), odd.to_mermaid()),
        (plain.to_dot(), odd.to_dot()),
    ] {
        assert_eq!(outside_quotes(&plain), outside_quotes(&odd), "{name:?}");
        // Nothing in quotes may end, escape, comment or turn what follows.
        for c in ['\u{1b}', '\u{202e}', '\u{0}', '\r', '`'].into_iter() {
            let allowed = c == '`' && odd.starts_with("digraph");
            assert!(allowed || !odd.contains(c), "{name:?}: {c:?}");
        }
    }
    assert!(!odd_line_breaks(&odd.to_text()), "{name:?}");
}

fn odd_line_breaks(text: &str) -> bool {
    text.lines().count() != named("plain").to_text().lines().count()
}

#[test]
fn the_worst_names_stay_inside_their_quotes() {
    for name in [
        "\"",
        "\\",
        "\\\"",
        "\"]; end",
        "a\"] --> b[\"c",
        "\n  evil -> s0;\n",
        "\r\nend",
        "<script>alert(1)</script>",
        "<b>",
        "#quot;",
        "&quot;",
        "%%{init: {'theme':'dark'}}%%",
        "`# heading`",
        "|\"x\"|",
        "a; b",
        "\\N \\G \\l",
        "証拠を集める \u{202e}\u{1b}[31m\u{0}",
        "",
    ] {
        stays_inside(name);
    }
}

#[test]
fn no_name_is_markdown_an_icon_a_formula_or_a_link() {
    let first = |name: &str| {
        let text = named(name).to_mermaid();
        let line = text.lines().nth(2).expect("a step").to_owned();
        let label = line.split('"').nth(1).expect("a label").to_owned();
        label.split("<br/>").next().expect("a line").to_owned()
    };
    for (name, label) in [
        ("1. Draft", "1#46; Draft"),
        ("12) Draft", "12#41; Draft"),
        ("- Draft", "#45; Draft"),
        ("+ Draft", "#43; Draft"),
        ("1.5 times 2. x", "1#46;5 times 2. x"),
        ("v1. x - y", "v1. x - y"),
        ("__proto__", "#95;#95;proto#95;#95;"),
        ("each_file_2", "each_file_2"),
        ("_x_", "#95;x#95;"),
        ("*bold* ~~gone~~", "#42;bold#42; #126;#126;gone#126;#126;"),
        ("fa:fa-car $$x$$", "fa#58;fa-car #36;#36;x#36;#36;"),
        ("[a](http://b)", "#91;a#93;(http#58;//b)"),
        ("a\\nb", "a#92;nb"),
        ("end", "end"),
        ("証拠 é", "証拠 é"),
    ] {
        assert_eq!(first(name), label, "{name}");
    }
}

#[test]
fn names_are_still_readable() {
    let mermaid = named("Say \"no\" & go").to_mermaid();
    assert!(mermaid.contains("[\"Say #34;no#34; #38; go<br/>draft<br/>agent by "));
    let text = named("Say \"no\" \\ go").to_text();
    assert!(text.contains(r#"  "Say \"no\" \\ go""#), "{text}");
    let dot = named("Say \"no\" & go").to_dot();
    assert!(dot.contains("label=\"Say &#34;no&#34; &#38; go\\ndraft\\nagent by "));
    assert!(named("証拠").to_dot().contains("証拠"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_name_breaks_out_of_its_quotes(name in any::<String>()) {
        stays_inside(&name);
    }

    #[test]
    fn no_name_of_telling_characters_does(name in "[\"\\\\#&<>`%|;{}()\\[\\]\n\r -]{0,24}") {
        stays_inside(&name);
    }
}

/// Slugs that are words of the languages, routines in routines, ways back on two levels.
const WORDS: &str = "
routine: words
entry_steps: [end]
steps:
  - { slug: end, type: agent, agent: default, name: end }
  - slug: subgraph
    type: map
    source: { step: end }
    routine:
      entry_steps: [graph]
      steps:
        - { slug: graph, type: agent, agent: default }
        - { slug: style, type: gate, agent: default, criteria: [x] }
        - slug: click
          type: until
          stop_when: { memory_key: k, operator: exists }
          routine: { steps: [{ slug: node, type: tool, tool: memory_list }, { slug: edge, type: gate, checks: [{ check: manual, prompt: x }] }] }
        - { slug: default, type: terminal }
      edges:
        - { from: graph, to: style }
        - { from: style, to: click, condition: on_pass }
        - { from: style, to: graph, condition: on_fail, max_attempts: 1 }
        - { from: click, to: default }
  - { slug: strict, type: gate, operator: true }
  - { slug: digraph, type: terminal }
  - { slug: class, type: terminal_fail }
edges:
  - { from: end, to: subgraph }
  - { from: subgraph, to: strict }
  - { from: strict, to: digraph, condition: on_pass }
  - { from: strict, to: class, condition: on_fail }
  - { from: strict, to: end, condition: on_fail }
";

/// Steps and edges of a drawing, those of nested ones too.
fn counts(drawing: &Drawing) -> (usize, usize) {
    let mut counts = (0, 0);
    for step in &drawing.steps {
        counts.0 += 1;
        counts.1 += step.edges.len();
        if let Some(nested) = &step.nested {
            let (steps, edges) = self::counts(nested);
            counts = (counts.0 + steps, counts.1 + edges);
        }
    }
    counts
}

#[test]
fn the_three_forms_show_one_model() {
    let drawing = drawing(WORDS);
    assert_eq!(counts(&drawing), (12, 11));
    let (text, mermaid, dot) = (drawing.to_text(), drawing.to_mermaid(), drawing.to_dot());
    let lines = |text: &str, piece: &str| {
        let lines = text.lines().filter(|line| line.contains(piece));
        lines.count()
    };
    // An edge for each entry besides the eleven, in Graphviz one into each nested routine too.
    assert_eq!(lines(&text, "-> ") + lines(&text, "<- "), 11);
    assert_eq!(lines(&mermaid, "-->") + lines(&mermaid, "-.->"), 11 + 3);
    assert_eq!(lines(&dot, " -> "), 11 + 3 + 2);
    // The ways back, with their budgets.
    for (text, back) in [(&text, "<- "), (&mermaid, "-.->"), (&dot, "style=dashed")] {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(back)).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines.iter().any(|line| line.contains("at most once")),
            "{text}"
        );
        assert!(
            lines.iter().any(|line| line.contains("at most 3 times")),
            "{text}"
        );
    }
    // A nested routine is a part of its own, on every level.
    assert_eq!(lines(&text, "each time:"), 2);
    assert_eq!(
        (lines(&mermaid, "subgraph "), lines(&mermaid, "end")),
        (2, 2 + 1)
    );
    assert_eq!(
        mermaid.lines().filter(|line| line.trim() == "end").count(),
        2
    );
    assert_eq!(lines(&dot, "subgraph cluster_"), 2);
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    // Words of the languages stand in labels alone.
    for text in [&mermaid, &dot] {
        let outside = outside_quotes(text);
        for word in ["strict", "click", "class", "default", "node ", "edge"] {
            let own = matches!(word, "node ") && text.starts_with("digraph");
            assert!(own || !outside.contains(word), "{word}: {outside}");
        }
    }
}

#[test]
fn conditions_are_told_in_words() {
    let condition = |condition: &str| {
        let text = format!(
            "routine: r\nentry_steps: [a]\nsteps:\n  - {{ slug: a, type: until, stop_when: {{ memory_key: ready, operator: contains, value: x }}, routine: {{ steps: [{{ slug: n, type: agent, agent: default }}] }}, condition: {{ memory_key: k, {condition} }} }}\n  - {{ slug: done, type: terminal }}\nedges: [{{ from: a, to: done }}]\n"
        );
        drawing(&text)
    };
    for (written, said) in [
        ("operator: exists, on_false: skip", "if k exists, else skip"),
        (
            "operator: not_exists, on_false: fail",
            "if k doesn't exist, else fail",
        ),
        (
            "operator: truthy, value: 5, on_false: wait",
            "if k is truthy, else wait",
        ),
        (
            "operator: equals, value: [1, a], on_false: skip",
            "if k equals [1,\"a\"], else skip",
        ),
        (
            "operator: greater_than, value: 2, on_false: skip",
            "if k is greater than 2, else skip",
        ),
        (
            "operator: less_than, value: 2, on_false: skip",
            "if k is less than 2, else skip",
        ),
    ] {
        let drawing = condition(written);
        let text = drawing.to_text();
        let expected = format!("* a [until]\n    {said}\n    until ready contains \"x\"\n");
        assert!(text.starts_with(&expected), "{text}");
        assert_eq!(drawing.steps[0].clauses.len(), 2);
    }
    let long = format!(
        "operator: equals, value: '{}', on_false: skip",
        "é".repeat(90)
    );
    assert!(condition(&long).to_text().contains("é…, else skip"));
    let mermaid = condition("operator: equals, value: '\"]', on_false: skip").to_mermaid();
    assert!(
        mermaid.contains(r"<br/>if k equals #34;#92;#34;#93;#34;, else skip<br/>until"),
        "{mermaid}"
    );
}
