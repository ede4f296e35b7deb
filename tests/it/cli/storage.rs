//! What is kept, and what happens when it can't be.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};

use rustix::process::Signal;
use serde_json::Value;

use crate::cli::gates::ONE;
use crate::cli::program::{Place, Running, demo};
use crate::cli::provider::{Provider, Reply};

// C2: as root no mode keeps anybody out, so a file stands where the folder would be.
#[test]
fn a_data_folder_that_cannot_be_used_is_usage_and_says_which_variable() {
    let place = Place::new();
    std::fs::write(place.root().join("file"), "").expect("written");
    for folder in [
        place.root().join("file").display().to_string(),
        place.root().join("file/below").display().to_string(),
        "/proc/none".into(),
    ] {
        let place = Place::new().with("AMOS_DATA_DIR", folder);
        let ended = place.run(&demo("linear"), &[]).expect(2);
        ended.says("AMOS_DATA_DIR");
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn files_that_stand_in_the_way_inside_the_data_folder_are_named() {
    for name in ["runs", "sources", "archive"] {
        let place = Place::new();
        std::fs::create_dir(place.data()).expect("a folder");
        std::fs::write(place.data().join(name), "").expect("written");
        place
            .run(&demo("linear"), &[])
            .expect(2)
            .says(name)
            .says("AMOS_DATA_DIR");
    }
}

// C5
#[test]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn without_a_home_a_data_folder_has_to_be_named() {
    let place = Place::new();
    let file = place.file("one.yaml", ONE);
    let nobody = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        // A user of whom the system knows no home either.
        command
            .env_remove("HOME")
            .env_remove("AMOS_DATA_DIR")
            .uid(54_321);
        command.current_dir("/");
        command
    };
    let file = place.workspace().join(file).display().to_string();
    for folder in [place.root(), &place.workspace()] {
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder, open).expect("it is ours");
    }
    if !rustix::process::geteuid().is_root() || nobody(&["schema"]).output().is_err() {
        println!("skipped: only root can be somebody without a home");
        return;
    }
    let ended = Running::start(nobody(&["run", &file])).end().expect(2);
    ended.says("no home folder").says("AMOS_DATA_DIR");
    // What keeps nothing needs no home.
    Running::start(nobody(&["validate", &file])).end().expect(0);
    let mut command = nobody(&["run", &file]);
    let data = place.root().join("of-nobody");
    std::fs::create_dir(&data).expect("a folder");
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o777)).expect("it is ours");
    command.env("AMOS_DATA_DIR", &data);
    Running::start(command).end().expect(0);
}

// M4, L10
#[test]
fn what_is_kept_is_private() {
    let place = Place::new();
    place.run(&demo("linear"), &[]).expect(0);
    let mut folders = vec![place.data()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let mode = folder.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let mode = path.metadata().expect("metadata").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
    }
    assert!(files >= 2, "an account and its sources");
}

// C2: a disk that fills during a run fails it. A limit on file sizes does the same to one process.
#[test]
fn a_disk_that_fills_fails_the_run_and_nothing_goes_on() {
    for blocks in [0, 1, 2, 4, 8, 12] {
        let place = Place::new();
        let script = format!("ulimit -f {blocks}; exec \"$AMOS\" run \"$FILE\" --format json");
        let mut command = place.shell(&script);
        command.env("FILE", demo("linear"));
        let ended = Running::start(command).end().expect(1);
        let settled = ended.settled();
        assert_eq!(
            [&settled["status"], &settled["reason"]],
            ["failed", "storage_failed"]
        );
        let text = settled["detail"]["text"].as_str().expect("a text");
        assert!(text.starts_with("can't write"), "{text}");
        // Without an account of its intent no further request goes out.
        let calls = ended.of("model.called").len();
        assert_eq!(settled["usage"]["model_calls"], calls);
        assert!(calls < 3, "{}", ended.stdout);
    }
}

// C2, L10: wherever the disk fills, no success is told that the account doesn't hold, and no line
// is kept in part.
#[test]
fn a_disk_that_fills_at_the_end_leaves_no_success_without_account() {
    let mut seen = BTreeSet::new();
    for blocks in (16..40).step_by(2) {
        let place = Place::new();
        let script = format!("ulimit -f {blocks}; exec \"$AMOS\" run \"$FILE\" --format json");
        let mut command = place.shell(&script);
        command.env("FILE", demo("linear"));
        let settled = Running::start(command).end().settled();
        let operation = settled["operation"].as_str().expect("an id");
        let account = place.data().join(format!("runs/{operation}.jsonl"));
        let account = std::fs::read_to_string(account).expect("an account");
        let kept: Vec<Value> = account
            .lines()
            .map(|line| serde_json::from_str(line).expect("a whole line"))
            .collect();
        let kept = kept.iter().find(|line| line["name"] == "operation.settled");
        let status = settled["status"].as_str().expect("a status");
        match kept {
            Some(kept) => assert_eq!(kept["detail"]["status"], status),
            None => assert_eq!(settled["reason"], "storage_failed"),
        }
        seen.insert(status.to_owned());
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

// L10: a process that was killed leaves its account behind, and in nobody's way.
#[test]
fn a_killed_run_leaves_an_account_and_the_next_one_works() {
    let provider = Provider::answering(|_, _| Reply::Silence);
    let place = provider.place();
    let file = place.file("one.yaml", ONE);
    let arguments = ["run", &file, "--format", "json", "--model", "openai/m"];
    let mut running = Running::start(place.command(&arguments));
    running.wait_for("model.called");
    running.signal(Signal::KILL);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(9));
    let operation = ended.events()[0]["operation"].clone();
    let operation = operation.as_str().expect("an id");
    let account = place.data().join(format!("runs/{operation}.jsonl"));
    let account = std::fs::read_to_string(account).expect("an account");
    // The intent was there before its effect.
    assert!(
        account.contains("operation.started") && account.contains("model.called"),
        "{account}"
    );
    assert!(!account.contains("operation.settled"));
    place.run(&file, &["--model", "offline"]).expect(0);
}

#[test]
fn runs_at_the_same_time_share_a_data_folder() {
    let place = Place::new();
    let linear = demo("linear");
    let arguments = ["run", &linear, "--format", "json"];
    let all: Vec<Running> = (0..8)
        .map(|_| Running::start(place.command(&arguments)))
        .collect();
    let mut operations = BTreeSet::new();
    for running in all {
        let settled = running.end().expect(0).settled();
        operations.insert(settled["operation"].as_str().expect("an id").to_owned());
    }
    assert_eq!(operations.len(), 8);
    for operation in operations {
        let account = place.data().join(format!("runs/{operation}.jsonl"));
        let account = std::fs::read_to_string(account).expect("an account");
        assert!(account.contains("operation.settled") && !account.contains("torn"));
    }
}
