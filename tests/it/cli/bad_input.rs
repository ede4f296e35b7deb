//! Files and arguments that can't be used: one message, the next thing to do, the right code.

use std::fmt::Write as _;

use serde_json::json;

use crate::cli::gates::ONE;
use crate::cli::program::{Ended, Place, demo};

const MIB: usize = 1024 * 1024;

/// What `validate` and `run` make of content that doesn't parse: 1, and C4's line.
fn assert_not_parsed(place: &Place, file: &str) -> Ended {
    let checked = place
        .amos(&["validate", file, "--format", "json"])
        .expect(1);
    let run = place.run(file, &[]).expect(1);
    // C2: no event.
    assert_eq!(checked.stdout, run.stdout);
    let report = &run.events()[0];
    assert_eq!(run.events().len(), 1);
    assert_eq!(
        [&report["file"], &report["valid"]],
        [&json!(file), &json!(false)]
    );
    let issue = &report["issues"][0];
    assert_eq!([&issue["code"], &issue["severity"]], ["parse", "error"]);
    assert!(
        issue["line"].is_u64() && issue["column"].is_u64(),
        "{issue}"
    );
    assert!(!place.data().join("runs").exists() || is_empty(&place.data().join("runs")));
    run
}

fn is_empty(folder: &std::path::Path) -> bool {
    std::fs::read_dir(folder)
        .expect("a folder")
        .next()
        .is_none()
}

// C2, C4
#[test]
fn content_that_does_not_parse_is_one_and_a_report() {
    for content in [
        &b""[..],
        b"# only a comment\n",
        b"a: [b",
        b"\x00\xff\xfe",
        b"{\"routine\": \"x\",}x",
    ] {
        let place = Place::new();
        let file = place.file("bad.yaml", content);
        assert_not_parsed(&place, &file);
    }
}

// C2
#[test]
fn sixteen_mebibytes_of_brackets_do_not_parse_and_take_nothing_down() {
    let place = Place::new();
    let file = place.file("deep.yaml", "[".repeat(16 * MIB));
    assert_not_parsed(&place, &file);
}

// C2
#[test]
fn a_larger_file_is_not_read() {
    let place = Place::new();
    let file = place.file("huge.yaml", "[".repeat(100 * MIB));
    for ended in [place.amos(&["validate", &file]), place.run(&file, &[])] {
        ended.expect(2).says("16 MiB").says("hint:");
    }
    let file = place.file("edge.yaml", "[".repeat(16 * MIB + 1));
    place.amos(&["validate", &file]).expect(2);
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (one, next) in ('a'..='i').zip('b'..='j') {
        let all = vec![format!("*{one}"); 9].join(", ");
        writeln!(bomb, "{next}: &{next} [{all}]").expect("a text");
    }
    let place = Place::new();
    let file = place.file("bomb.yaml", bomb);
    let ended = assert_not_parsed(&place, &file);
    assert!(ended.stdout.contains("aliases"), "{}", ended.stdout);
}

// C2
#[test]
fn what_is_no_regular_file_is_usage_and_never_waited_for() {
    let place = Place::new();
    let fifo = place.workspace().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo").success());
    for file in ["fifo", ".", "missing.yaml", "/dev/null", "/dev/zero"] {
        for ended in [
            place.amos(&["validate", file]),
            place.amos(&["graph", file]),
            place.run(file, &[]),
        ] {
            let ended = ended.expect(2);
            ended.says(&format!("can't read {file}")).says("hint:");
            assert_eq!(ended.stdout, "");
        }
    }
    assert!(!place.data().exists(), "nothing was made for it");
}

// C2
#[test]
fn of_several_files_an_unreadable_one_weighs_most_wherever_it_stands() {
    let place = Place::new();
    let (good, bad) = (
        place.file("good.yaml", ONE),
        place.file("bad.yaml", "a: [b"),
    );
    place.amos(&["validate", &good, &good]).expect(0);
    place.amos(&["validate", &good, &bad]).expect(1);
    place.amos(&["validate", &bad, &good]).expect(1);
    for files in [["missing", &bad], [&bad, "missing"], ["missing", &good]] {
        let ended = place
            .amos(&["validate", "--format", "json", files[0], files[1]])
            .expect(2);
        // The others are looked at all the same.
        assert_eq!(ended.events().len(), 1);
    }
}

// G12
#[test]
fn a_wrong_word_and_a_wrong_pattern_say_what_to_write_instead() {
    let place = Place::new();
    let checked = ONE.replace(
        "instructions:",
        "verify: [ { check: outptu, matches: x }, { check: output, matches: '((' } ], instructions:",
    );
    assert_ne!(checked, ONE);
    let file = place.file("wrong.yaml", checked);
    let ended = place.amos(&["validate", &file]).expect(1);
    for said in [
        "`outptu` is no check; it is one of command, http, file, output, manual, synthetic; did you mean `output`?",
        "`((` is no regular expression: unclosed group",
    ] {
        assert!(ended.stdout.contains(said), "{}", ended.stdout);
    }
}

// C2
#[test]
fn the_help_of_run_says_what_its_exit_codes_mean() {
    let place = Place::new();
    let ended = place.amos(&["run", "--help"]).expect(0);
    assert!(
        ended.stdout.contains("Exit codes: 0 succeeded"),
        "{}",
        ended.stdout
    );
}

// G12
#[test]
fn an_unknown_field_names_the_nearest_known_one() {
    let place = Place::new();
    let file = place.file("typo.yaml", ONE.replace("entry_steps", "entry_stpes"));
    let ended = place.amos(&["validate", &file]).expect(1);
    assert!(
        ended.stdout.contains("did you mean `entry_steps`?"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("typo.yaml:2:1: error[unknown-field]"),
        "{}",
        ended.stdout
    );
}

// C2: what is unsupported keeps a file from running, and validates.
#[test]
fn what_does_not_run_yet_is_said_before_anything_is_done() {
    let place = Place::new();
    let file = place.file(
        "release.yaml",
        include_str!("../../fixtures/verified-release.yaml"),
    );
    let ended = place.run(&file, &[]).expect(1);
    let report = &ended.events()[0];
    assert_eq!(report["valid"], false);
    let codes: Vec<_> = report["issues"]
        .as_array()
        .expect("issues")
        .iter()
        .map(|it| it["code"].clone())
        .collect();
    assert!(codes.contains(&json!("unsupported")), "{codes:?}");
}

// C2
#[test]
fn bad_usage_is_two_and_says_what_to_type() {
    let place = Place::new();
    let linear = demo("linear");
    let required = place.file(
        "required.yaml",
        ONE.replace(
            "entry_steps",
            "parameters: [{ name: what, required: true }]\nentry_steps",
        ),
    );
    for (arguments, says) in [
        (&["run", &linear, "--nope"][..], "--nope"),
        (&["nope"], "nope"),
        (&["run"], "FILE"),
        (&["validate"], "FILE"),
        (&["run", &linear, "--format", "xml"], "json"),
        (&["run", &linear, "--on-wait", "never"], "poll"),
        (&["run", &linear, "-i", "colour=red"], "inputs are topic"),
        (&["run", &linear, "-i", "topic"], "-i name=text"),
        (&["run", &linear, "-i", "topic:=nope"], "not JSON"),
        (&["run", &linear, "-i", "topic=a", "-i", "topic=b"], "twice"),
        (&["run", &required], "what (required)"),
        (&["run", &linear, "--model", "acme/one"], "acme"),
        (&["run", &linear, "--model", "openai"], "openai/model"),
        (&["run", &linear, "--model", ""], "--model offline"),
        (&["run", &linear, "--allow", "rum_command"], "run_command"),
        (&["run", &linear, "--workspace", "nowhere"], "--workspace"),
        (&["run", &linear, "--workspace", &required], "--workspace"),
        (&["run", &linear, "--on-wait", "prompt"], "needs a terminal"),
    ] {
        let ended = place.amos(arguments).expect(2);
        ended.says(says);
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
}

// T4: never a fallback.
#[test]
fn a_chosen_provider_without_its_key_is_an_error() {
    let linear = demo("linear");
    for (model, variable) in [
        ("openai/gpt-5.5", "OPENAI_API_KEY"),
        ("anthropic/claude", "ANTHROPIC_API_KEY"),
        ("gemini/pro", "GEMINI_API_KEY"),
    ] {
        let place = Place::new();
        let ended = place.run(&linear, &["--model", model]).expect(2);
        ended.says(variable).says("hint:");
        assert_eq!(ended.stdout, "");
        // C5: by the environment and by the file alike, and a blank key is none.
        Place::new()
            .with("AMOS_MODEL", model)
            .with(variable, " ")
            .run(&linear, &[])
            .expect(2);
        let chosen = format!("model = \"{model}\"");
        Place::new().configured(&chosen).run(&linear, &[]).expect(2);
    }
    // An agent's own model counts too.
    let place = Place::new();
    let agent = "agents: { a: { model: openai/x } }\nentry_steps";
    let text = ONE
        .replace("entry_steps", agent)
        .replace("agent: default", "agent: a");
    let file = place.file("agent.yaml", text);
    place.run(&file, &[]).expect(2).says("OPENAI_API_KEY");
}

// C5: flags win over the environment, the environment over the file.
#[test]
fn the_nearest_choice_of_a_model_wins() {
    let linear = demo("linear");
    let place = || Place::new().configured("model = \"openai/file\"");
    let ended = place()
        .with("AMOS_MODEL", "offline")
        .run(&linear, &[])
        .expect(0);
    assert_eq!(ended.of("operation.started")[0]["model"], "offline/offline");
    let place = place().with("AMOS_MODEL", "anthropic/x");
    place.run(&linear, &["--model", "offline"]).expect(0);
    Place::new()
        .with("AMOS_CONFIG", "/nowhere/config.toml")
        .run(&linear, &[])
        .expect(0);
}

#[test]
fn a_configuration_that_cannot_be_understood_says_where() {
    for (toml, says) in [
        ("modle = \"offline\"", "model"),
        ("model = [", "config.toml"),
        ("[permissions]\nrun_command = \"perhaps\"", "config.toml"),
        (
            "[limits]\nmax_active_operations = 0",
            "max_active_operations",
        ),
    ] {
        let place = Place::new().configured(toml);
        place
            .run(&demo("linear"), &[])
            .expect(2)
            .says(says)
            .says("hint: mend the configuration");
        place
            .amos(&["validate", &demo("linear")])
            .expect(2)
            .says("hint: mend the configuration");
    }
    let place = Place::new().with("OLLAMA_HOST", "no host");
    place
        .run(&demo("linear"), &[])
        .expect(2)
        .says("OLLAMA_HOST is no http or https address")
        .says("hint: set an address");
}

// C2, C3
#[test]
fn a_graph_of_an_invalid_file_is_one_and_says_why_to_people() {
    let place = Place::new();
    let file = place.file("bad.yaml", ONE.replace("to: done", "to: nowhere"));
    let ended = place.amos(&["graph", &file]).expect(1);
    ended.says("error[unknown-step]");
    assert_eq!(ended.stdout, "");
}
