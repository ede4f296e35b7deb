//! Positions, the words of YAML 1.2, and files that mean harm.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::engine::routine::file::{Position, RoutineFile, Unparsable};

fn json_of(text: &str) -> serde_json::Value {
    RoutineFile::parse(text.as_bytes())
        .expect("well-formed")
        .root
        .to_json()
        .expect("shallow")
}

fn refused(bytes: &[u8]) -> Unparsable {
    RoutineFile::parse(bytes).expect_err("refused")
}

fn at(line: u32, column: u32) -> Position {
    Position { line, column }
}

#[test]
fn words_mean_what_yaml_1_2_says() {
    let read = json_of(
        "{a: no, b: yes, c: 'true', d: true, e: ~, f: 010, g: 0x1F, h: 1e3, i: .5, j: -7, k: 2001-01-01, l: !!str 5, m: 1.2.3, n: .inf}",
    );
    assert_eq!(
        read,
        json!({
            "a": "no", "b": "yes", "c": "true", "d": true, "e": null, "f": 10, "g": 31, "h": 1000.0,
            "i": 0.5, "j": -7, "k": "2001-01-01", "l": "5", "m": "1.2.3", "n": ".inf"
        })
    );
}

#[test]
fn json_is_read_as_json() {
    let text = "{\r\n\t\"a\": \"\\/ \\ud83d\\ude00 {{x}}\",\n\t\"b\": [1, -0.5E+2, null, false, {}],\n\t\"c\":1\n}";
    let expected: serde_json::Value = serde_json::from_str(text).expect("json");
    assert_eq!(json_of(text), expected);
}

#[test]
fn every_key_and_value_knows_its_place() {
    let file = RoutineFile::parse("a:\n  - x: 1\n    é: {b: 2}\n".as_bytes()).expect("yaml");
    let list = file.root.get("a").expect("a");
    assert_eq!(file.root.at, at(1, 1));
    let item = &list.as_list().expect("list")[0];
    assert_eq!(item.at, at(2, 5));
    let entry = &item.as_map().expect("map")[1];
    assert_eq!((entry.at, entry.value.at), (at(3, 5), at(3, 8)));
    assert_eq!(entry.value.get("b").expect("b").at, at(3, 12));
}

#[test]
fn aliases_are_copied_and_stand_where_they_are_used() {
    let file = RoutineFile::parse(b"a: &x {k: 1}\nb: *x\n").expect("yaml");
    let copy = file.root.get("b").expect("b");
    assert_eq!(copy.to_json(), Some(json!({"k": 1})));
    assert_eq!(copy.at, at(2, 4));
}

#[test]
fn what_is_no_document_is_refused_with_its_place() {
    assert_eq!(refused(b"").at, Position::START);
    assert_eq!(refused(b"# only words\n").at, Position::START);
    assert_eq!(refused(b"a: 1\nb: \xff\n").at, at(2, 4));
    assert_eq!(refused(b"a: 1\r\n\rb: \xff").at, at(3, 4));
    assert_eq!(refused(b"a: 1\n---\nb: 2\n").at.line, 2);
    assert_eq!(refused(b"a: 1\nb: 2\na: 3\n").at, at(3, 1));
    assert_eq!(refused(b"{\"a\": 1,\n \"a\": 2}").at, at(2, 2));
    assert_eq!(refused(b"a: [1, 2\nb: 3\n").at.line, 2);
    assert_eq!(refused(b"a: 1e999").at, at(1, 4));
    assert_eq!(refused(b"a: !odd x").at.line, 1);
    assert!(refused(b"a: {{param.x}}").message.contains("quotes"));
    assert!(refused(b"a: &a [*a]").message.contains("own anchor"));
}

#[test]
fn a_file_that_means_harm_is_refused_quickly() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for n in 1..12 {
        let refs = vec![format!("*a{}", n - 1); 10].join(",");
        bomb.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
    }
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1 << 20),
        vec!["*a"; 100_000].join(",")
    );
    let deep = "[".repeat(16 << 20);
    let dashes = "- ".repeat(8 << 20);
    let maps = "{a: ".repeat(4 << 20);
    for text in [bomb, long, deep, dashes, maps] {
        let start = Instant::now();
        refused(text.as_bytes());
        assert!(start.elapsed() < Duration::from_secs(2));
    }
}
