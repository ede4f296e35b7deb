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
fn names_are_still_readable() {
    let mermaid = named("Say \"no\" & go").to_mermaid();
    assert!(mermaid.contains("[\"Say #34;no#34; #38; go<br/>draft<br/>agent by "));
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
