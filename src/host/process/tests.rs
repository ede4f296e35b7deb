//! Real commands, ended in every way there is.

use super::*;

fn command(argv: &[&str]) -> Command {
    Command {
        argv: argv.iter().map(|text| (*text).to_owned()).collect(),
        cwd: std::env::temp_dir(),
        stdin: Bytes::new(),
        env: BTreeMap::new(),
        time_limit: Duration::from_secs(20),
    }
}

async fn ended(command: Command) -> Ended {
    run(command, &CancellationToken::new())
        .await
        .expect("started")
}

/// Whether a process still runs; one that ended and wasn't reaped by its parent doesn't.
fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

async fn gone(pid: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    while runs(pid) {
        assert!(Instant::now() < until, "process {pid} lives on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_command_gives_its_code_and_both_outputs() {
    let ended = ended(command(&["sh", "-c", "echo out; echo err >&2; exit 3"])).await;
    assert_eq!(ended.end, End::Exited(3));
    assert_eq!(
        (&ended.stdout[..], &ended.stderr[..]),
        (&b"out\n"[..], &b"err\n"[..])
    );
}

// M7: a terminal that a command could write to would be the one that shows the screen.
#[tokio::test]
async fn a_command_leads_a_session_and_a_group_of_its_own() {
    let (child, _group) = start(&command(&["sleep", "60"])).expect("started");
    let id = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .expect("an id");
    let leads = Some(nix::unistd::Pid::from_raw(id));
    assert_eq!(nix::unistd::getsid(leads).ok(), leads);
    assert_eq!(nix::unistd::getpgid(leads).ok(), leads);
}

#[tokio::test]
async fn no_shell_reads_the_arguments() {
    let ended = ended(command(&["echo", "$HOME; *"])).await;
    assert_eq!(ended.stdout, b"$HOME; *\n");
}

#[tokio::test]
async fn input_environment_and_folder_arrive() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut given = command(&["sh", "-c", "cat; echo $WORD; pwd -P"]);
    given.stdin = Bytes::from_static(b"in ");
    given.env.insert("WORD".into(), "word".into());
    given.cwd = folder.path().canonicalize().expect("a path");
    let expected = format!("in word\n{}\n", given.cwd.display());
    assert_eq!(
        String::from_utf8_lossy(&ended(given).await.stdout),
        expected
    );
}

#[tokio::test]
async fn input_that_nobody_reads_is_no_error() {
    let mut given = command(&["true"]);
    given.stdin = Bytes::from(vec![b'x'; 4 * 1024 * 1024]);
    assert_eq!(ended(given).await.end, End::Exited(0));
}

#[tokio::test]
async fn output_that_is_no_utf8_comes_as_it_is() {
    let ended = ended(command(&["printf", r"\377\000a"])).await;
    assert_eq!(ended.stdout, [0xff, 0, b'a']);
}

// M7
#[tokio::test]
async fn what_a_command_left_in_the_background_ends_with_it() {
    let started = Instant::now();
    let ended = ended(command(&["sh", "-c", "sleep 100 & echo $!"])).await;
    assert_eq!(ended.end, End::Exited(0));
    assert!(started.elapsed() < Duration::from_secs(5));
    gone(&String::from_utf8_lossy(&ended.stdout)).await;
}

// M7
#[tokio::test]
async fn a_process_that_left_the_group_cannot_make_us_wait() {
    let started = Instant::now();
    let ended = ended(command(&["sh", "-c", "setsid sleep 7 & echo hi"])).await;
    assert_eq!(
        (ended.end, &ended.stdout[..]),
        (End::Exited(0), &b"hi\n"[..])
    );
    assert!(started.elapsed() < Duration::from_secs(5));
}

// M7
#[tokio::test]
async fn a_command_that_ignores_the_request_to_end_is_killed_with_its_group() {
    let mut given = command(&[
        "sh",
        "-c",
        "trap '' TERM; sleep 100 & echo $!; while :; do sleep 1; done",
    ]);
    given.time_limit = Duration::from_millis(200);
    let started = Instant::now();
    let ended = ended(given).await;
    assert_eq!(ended.end, End::TimedOut);
    assert!(started.elapsed() < Duration::from_secs(5));
    gone(&String::from_utf8_lossy(&ended.stdout)).await;
}

#[tokio::test]
async fn a_command_may_tidy_up_when_its_time_is_over() {
    let mut given = command(&[
        "sh",
        "-c",
        "trap 'echo tidy; exit 0' TERM; sleep 100 & wait",
    ]);
    given.time_limit = Duration::from_millis(200);
    let ended = ended(given).await;
    assert_eq!(
        (ended.end, &ended.stdout[..]),
        (End::TimedOut, &b"tidy\n"[..])
    );
}

#[tokio::test]
async fn a_cancelled_command_ends() {
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let ended = run(command(&["sleep", "100"]), &cancellation)
        .await
        .expect("started");
    assert_eq!(ended.end, End::Cancelled);
}

#[tokio::test]
async fn a_command_that_nobody_waits_for_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut given = command(&["sh", "-c", "echo $$ > pid.part; mv pid.part pid; sleep 100"]);
    given.cwd = folder.path().to_owned();
    let file = folder.path().join("pid");
    let cancellation = CancellationToken::new();
    {
        let mut running = Box::pin(run(given, &cancellation));
        while !file.exists() {
            tokio::select! {
                _ = &mut running => panic!("it ended by itself"),
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
    }
    gone(&std::fs::read_to_string(file).expect("a pid")).await;
}

// M7
#[tokio::test]
async fn too_much_output_ends_the_command_and_what_was_captured_stays() {
    let cancellation = CancellationToken::new();
    let ended = run(command(&["yes"]), &cancellation)
        .await
        .expect("started");
    assert_eq!(ended.end, End::OutputLimit);
    assert_eq!(ended.stdout.len(), limits::COMMAND_OUTPUT_BYTES);
    let given = command(&[
        "sh",
        "-c",
        "head -c 600 /dev/zero >&2; head -c 600 /dev/zero",
    ]);
    let ended = run_within(given, &cancellation, 1000)
        .await
        .expect("started");
    assert_eq!(ended.end, End::OutputLimit);
    assert_eq!(ended.stdout.len() + ended.stderr.len(), 1000);
}

#[tokio::test]
async fn output_as_large_as_allowed_is_fine() {
    let given = command(&["head", "-c", "1000", "/dev/zero"]);
    let ended = run_within(given, &CancellationToken::new(), 1000)
        .await
        .expect("started");
    assert_eq!((ended.end, ended.stdout.len()), (End::Exited(0), 1000));
}

#[tokio::test]
async fn a_signal_is_told_apart_from_a_code() {
    let ended = ended(command(&["sh", "-c", "kill -9 $$"])).await;
    assert_eq!(ended.end, End::Signalled(9));
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    for argv in [&[][..], &["no-such-program-here"], &["/"], &["a\0b"]] {
        assert!(
            run(command(argv), &CancellationToken::new()).await.is_err(),
            "{argv:?}"
        );
    }
}

// M4
#[tokio::test]
async fn keys_of_providers_are_not_inherited() {
    let ended = ended(command(&["env"])).await;
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(WITHHELD_VARIABLES.iter().all(|name| !text.contains(name)));
}
