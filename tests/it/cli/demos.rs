//! The files that ship run, and what is printed about files says what they are.

use insta::assert_snapshot;
use serde_json::Value;

use crate::cli::program::{Place, demo};

const DEMOS: [&str; 7] = [
    "checks-and-operator",
    "fan-out-join",
    "gated-rework",
    "linear",
    "map-fold-until",
    "review-council",
    "verified-submission",
];

// G13
#[test]
fn every_demo_is_valid() {
    let files = DEMOS.map(demo);
    let mut arguments = vec!["validate", "--format", "json"];
    arguments.extend(files.iter().map(String::as_str));
    let ended = Place::new().amos(&arguments).expect(0);
    let reports = ended.events();
    assert_eq!(reports.len(), DEMOS.len());
    for (report, file) in reports.iter().zip(&files) {
        assert_eq!(
            [&report["file"], &report["valid"]],
            [&Value::from(file.as_str()), &true.into()]
        );
    }
    assert_eq!(ended.stderr, "");
}

// G13, M1
#[test]
fn demos_without_a_person_run_offline_to_their_end() {
    for name in [
        "linear",
        "gated-rework",
        "fan-out-join",
        "review-council",
        "map-fold-until",
    ] {
        let ended = Place::new().run(&demo(name), &[]).expect(0);
        assert_eq!(ended.settled()["status"], "succeeded", "{name}");
        assert_eq!(ended.of("operation.started")[0]["model"], "offline/offline");
    }
}

// G11
#[test]
fn a_council_of_each_strategy_runs_offline_to_its_end() {
    let file = std::fs::read_to_string(demo("review-council")).expect("the demo");
    let runs = [
        ("vote", 4),
        ("broadcast", 4),
        ("round_robin", 4),
        ("decompose", 5),
        ("dynamic", 1),
    ];
    // With tools besides, nothing is forced that ends a run.
    let tools = ["", "tools: [read_file]\n    "];
    for ((strategy, calls), tools) in runs.into_iter().flat_map(|run| tools.map(|it| (run, it))) {
        let text = file
            .replace("strategy: vote", &format!("strategy: {strategy}"))
            .replace("council: reviewers", &format!("{tools}council: reviewers"));
        let place = Place::new();
        let path = place.workspace().join("council.yaml");
        std::fs::write(&path, text).expect("written");
        let ended = place.run(&path.to_string_lossy(), &[]).expect(0);
        let count = |kind| {
            let events = ended.of(kind);
            events.iter().filter(|it| it["step"] == "review").count()
        };
        assert_eq!(count("model.called"), calls, "{strategy}");
        assert_eq!(count("step.submitted"), 1, "{strategy}");
    }
}

// M6, T4
#[test]
fn a_demo_that_runs_commands_asks_first_and_says_how_to_allow_them() {
    let place = Place::new();
    let ended = place.run(&demo("checks-and-operator"), &[]).expect(3);
    let wait = &ended.paused()["waits"][0];
    assert_eq!(
        [&wait["step"], &wait["kind"], &wait["state"]],
        ["stamp", "permission", "blocked"]
    );
    let reason = wait["reason"].as_str().expect("a reason");
    assert_eq!(
        reason,
        "`run_command` needs permission: allow this call, or start with --allow run_command"
    );
    let left = std::fs::read_dir(place.workspace())
        .expect("a folder")
        .count();
    assert_eq!(left, 0, "nothing was written");
}

#[test]
fn graphs_are_drawn_as_text() {
    let drawn = |name: &str| {
        let ended = Place::new().amos(&["graph", &demo(name)]).expect(0);
        assert_eq!(ended.stderr, "");
        ended.stdout
    };
    assert_snapshot!(drawn("linear"), @r"
    * outline [agent by planner]
        -> write
      write [agent by author]
        -> polish
      polish [agent by author]
        -> done
      done [terminal]
    ");
    assert_snapshot!(drawn("gated-rework"), @r"
    * draft [agent by writer]
        -> review
      review [gate by reviewer]
        -> on_pass published
        <- on_fail draft (retry, at most 2 times)
      published [terminal]
    ");
    assert_snapshot!(drawn("fan-out-join"), @r"
    * split [agent by lead]
        -> costs
        -> risks
        -> wishes
      costs [agent by cost]
        -> together
      risks [agent by risk]
        -> together
      wishes [agent by users]
        -> together
      together [agent by lead]
        -> done
      done [terminal]
    ");
    assert_snapshot!(drawn("checks-and-operator"), @r"
    * draft [agent by default]
        -> tools
      tools [gate by a check]
        -> on_pass stamp
        -> on_fail unfit
      stamp [tool by run_command]
        -> release
      release [gate by the operator]
        -> on_pass done
        -> on_fail rejected
      done [terminal]
      unfit [terminal_fail]
      rejected [terminal_fail]
    ");
    assert_snapshot!(drawn("verified-submission"), @r#"
    * draft [agent by default]  "Draft the note"
        -> done
      done [terminal]
    "#);
}

// C1, routine-format.md
#[test]
fn the_schema_validates_what_the_reader_takes_and_refuses_what_it_refuses() {
    let ended = Place::new().amos(&["schema"]).expect(0);
    let schema: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let read = |path: String| -> Value {
        let text = std::fs::read_to_string(path).expect("a file");
        serde_saphyr::from_str(&text).expect("YAML")
    };
    let fixture = |name: &str| format!("{}/tests/fixtures/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let files = DEMOS.map(demo).into_iter();
    for path in files.chain(["every-field", "verified-release"].map(fixture)) {
        let errors: Vec<String> = schema
            .iter_errors(&read(path.clone()))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{path}: {errors:?}");
    }
    let mut wrong = read(demo("linear"));
    wrong["entry_stepz"] = Value::Null;
    assert!(!schema.is_valid(&wrong));
}
