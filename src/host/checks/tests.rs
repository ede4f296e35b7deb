//! The verifier as the runner sees it: real commands, real files, real time limits.

use std::time::Instant;

use serde_json::{Value, json};

use super::*;
use crate::engine::digest::Digest;
use crate::engine::ports::{Accounting, TokenUsage};
use crate::engine::routine::definition::{HttpExpectation, VerificationMethod};
use crate::engine::verify::ObservationPhase;

struct NoAccount;

impl Accounting for NoAccount {
    fn model_called(&self, _usage: TokenUsage) {}
}

struct World {
    folder: tempfile::TempDir,
    synthetic: Arc<SyntheticJobs>,
    phase: ObservationPhase,
    observed: Value,
    attestations: Vec<Attestation>,
    generation: u64,
    cancellation: CancellationToken,
}

impl World {
    fn open() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            synthetic: Arc::default(),
            phase: ObservationPhase::Step,
            observed: json!({"result": {"output": "draft v1"}}),
            attestations: Vec::new(),
            generation: 0,
            cancellation: CancellationToken::new(),
        }
    }

    fn operation() -> OperationId {
        OperationId::from("op-1")
    }

    fn write(&self, path: &str, content: &str) {
        std::fs::write(self.folder.path().join(path), content).expect("written");
    }

    async fn decide(&self, checks: Vec<Check>) -> Decision {
        let workspace = Workspace::open(self.folder.path()).expect("a workspace");
        let verifier = CheckVerifier::of(workspace, Arc::clone(&self.synthetic));
        let observation = Observation::of(self.phase, self.observed.clone(), 1 << 26);
        let request = VerifyRequest {
            observation: observation.expect("it fits"),
            checks,
            attestations: self.attestations.clone(),
        };
        let context = VerifyContext {
            operation: Self::operation(),
            place: None,
            generation: Generation(self.generation),
            cancellation: self.cancellation.clone(),
            accounting: Arc::new(NoAccount),
        };
        verifier.verify(request, context).await
    }

    async fn find(&self, kind: CheckKind<String, Value>) -> CheckResult {
        let mut decision = self.decide(vec![check(kind)]).await;
        decision.checks.pop().expect("a result")
    }

    /// The word and the reason.
    async fn said(&self, kind: CheckKind<String, Value>) -> (&'static str, String) {
        let finding = self.find(kind).await.finding;
        let reason = match &finding {
            Finding::Verified => String::new(),
            Finding::Held { reason, .. } => reason.clone(),
        };
        (finding.label(), reason)
    }
}

fn check(kind: CheckKind<String, Value>) -> Check {
    Check {
        kind,
        method: Some(VerificationMethod::DeterministicOracle),
        covers: vec!["artifact".to_owned()],
        independent: true,
        poll_ms: 700,
        timeout_ms: 20_000,
    }
}

fn command(argv: &[&str]) -> CheckKind<String, Value> {
    CheckKind::Command {
        run: argv.iter().map(|text| (*text).to_owned()).collect(),
        cwd: None,
    }
}

fn file(path: &str) -> CheckKind<String, Value> {
    CheckKind::File {
        path: path.to_owned(),
        sha256: None,
        contains: None,
        min_bytes: None,
    }
}

fn synthetic(of: SyntheticSubject) -> CheckKind<String, Value> {
    CheckKind::Synthetic {
        job: "build".to_owned(),
        of,
    }
}

fn manual() -> CheckKind<String, Value> {
    CheckKind::Manual {
        prompt: "Right?".to_owned(),
    }
}

fn held(state: &'static str, reason: &str) -> (&'static str, String) {
    (state, reason.to_owned())
}

// V2, C3
#[tokio::test]
async fn without_checks_the_policy_decides_and_nothing_is_recorded() {
    let decision = World::open().decide(Vec::new()).await;
    assert_eq!(decision, Decision::by_policy());
    assert_eq!(decision.basis(), "host_policy");
}

#[tokio::test]
async fn an_exit_code_decides_and_the_last_words_are_the_reason() {
    let world = World::open();
    let sh = |script| command(&["sh", "-c", script]);
    assert_eq!(world.said(sh("exit 0")).await, held("verified", ""));
    assert_eq!(
        world.said(sh("echo queued >&2; exit 75")).await,
        held("waiting", "queued")
    );
    assert_eq!(
        world.said(sh("echo red >&2; exit 1")).await,
        held("blocked", "red")
    );
    assert_eq!(world.said(sh("exit 7")).await, held("blocked", "exit 7"));
    assert_eq!(world.said(sh("kill -9 $$")).await.0, "uncertain");
    assert_eq!(
        world.said(command(&["no-such-program-here"])).await.0,
        "uncertain"
    );
    assert_eq!(world.said(command(&["yes"])).await.0, "uncertain");
}

#[tokio::test]
async fn a_command_reads_the_observation_or_ignores_it() {
    let mut world = World::open();
    world.observed = json!({"result": {"output": "x".repeat(1 << 20)}});
    assert_eq!(world.said(command(&["true"])).await.0, "verified");
    let reads = command(&["sh", "-c", "test $(wc -c) -gt 1000000"]);
    assert_eq!(world.said(reads).await.0, "verified");
}

// M7
#[tokio::test]
async fn a_command_runs_in_its_folder_inside_the_workspace_only() {
    let world = World::open();
    std::fs::create_dir(world.folder.path().join("sub")).expect("a folder");
    world.write("sub/here", "");
    let within = |cwd: &str| CheckKind::Command {
        run: vec!["test".to_owned(), "-f".to_owned(), "here".to_owned()],
        cwd: Some(cwd.to_owned()),
    };
    assert_eq!(world.said(within("sub")).await.0, "verified");
    let (word, reason) = world.said(within("..")).await;
    assert_eq!(word, "uncertain");
    assert!(reason.contains("outside the workspace"), "{reason}");
}

// V24
#[tokio::test]
async fn a_check_that_takes_too_long_is_uncertain() {
    let world = World::open();
    let slow = Check {
        timeout_ms: 100,
        ..check(command(&["sleep", "60"]))
    };
    let decision = world.decide(vec![slow]).await;
    assert_eq!(decision.finding.label(), "uncertain");
    let late = blocking(Duration::from_millis(1), || {
        std::thread::sleep(Duration::from_millis(200));
        Finding::Verified
    });
    assert_eq!(late.await.label(), "uncertain");
}

#[tokio::test]
async fn a_cancelled_look_is_uncertain() {
    let world = World::open();
    world.cancellation.cancel();
    assert_eq!(world.said(command(&["sleep", "60"])).await.0, "uncertain");
}

#[tokio::test]
async fn a_file_is_absent_wrong_or_right() {
    let world = World::open();
    let wanted = |sha256: Option<String>, contains: Option<&str>, min_bytes| CheckKind::File {
        path: "notes.md".to_owned(),
        sha256,
        contains: contains.map(str::to_owned),
        min_bytes,
    };
    assert_eq!(world.said(file("notes.md")).await.0, "waiting");
    world.write("notes.md", "version 2");
    let right = Digest::of(b"version 2").to_string();
    for kind in [
        file("notes.md"),
        wanted(Some(right.clone()), Some("version"), Some(9)),
        wanted(Some(right.to_uppercase()), None, None),
    ] {
        assert_eq!(world.said(kind).await, held("verified", ""));
    }
    assert_eq!(
        world.said(wanted(None, Some("version 3"), Some(10))).await,
        held(
            "blocked",
            "it has 9 bytes, not at least 10, it doesn't contain \"version 3\""
        )
    );
    assert_eq!(
        world
            .said(wanted(Some("00".to_owned()), None, None))
            .await
            .0,
        "blocked"
    );
}

// M7
#[tokio::test]
async fn what_is_no_file_inside_is_never_verified() {
    let world = World::open();
    std::fs::create_dir(world.folder.path().join("sub")).expect("a folder");
    assert_eq!(world.said(file("sub")).await.0, "blocked");
    assert_eq!(world.said(file("/etc/passwd")).await.0, "uncertain");
    assert_eq!(world.said(file("../x")).await.0, "uncertain");
}

// L8
#[tokio::test]
async fn an_output_is_judged_by_its_shape_and_records_no_attempt() {
    let mut world = World::open();
    let output =
        |schema: Option<Value>, contains: Option<&str>, matches: Option<&str>| CheckKind::Output {
            schema,
            contains: contains.map(str::to_owned),
            matches: matches.map(str::to_owned),
        };
    let shape = || {
        output(
            Some(json!({"type": "string"})),
            Some("draft"),
            Some("^draft v[0-9]$"),
        )
    };
    let result = world.find(shape()).await;
    assert_eq!((result.finding, result.method), (Finding::Verified, None));
    world.observed = json!({"result": {"output": {"b": [1], "a": "draft"}}});
    assert_eq!(world.said(shape()).await.0, "blocked");
    let compact = output(None, Some(r#"{"a":"draft","b":[1]}"#), None);
    assert_eq!(world.said(compact).await.0, "verified");
    assert_eq!(
        world.said(output(None, None, Some("("))).await.0,
        "uncertain"
    );
    let remote = output(
        Some(json!({"$ref": "https://example.invalid/s"})),
        None,
        None,
    );
    assert_eq!(world.said(remote).await.0, "uncertain");
    world.phase = ObservationPhase::Final;
    world.observed = json!({"terminals": {"done": "all"}});
    let whole = || output(Some(json!({"const": "all"})), None, None);
    assert_eq!(world.said(whole()).await.0, "verified");
    world.observed = json!({"terminals": {"one": "all", "two": "all"}});
    let both = output(
        Some(json!({"const": {"one": "all", "two": "all"}})),
        None,
        None,
    );
    assert_eq!(world.said(both).await.0, "verified");
    world.phase = ObservationPhase::Step;
    world.observed = json!({"result": null, "predecessors": {"a": {"output": "all"}}});
    assert_eq!(world.said(whole()).await.0, "verified");
    world.observed = json!({"result": {"receipt": {}}, "predecessors": {"a": {"output": "all"}}});
    assert_eq!(world.said(whole()).await.0, "blocked");
    world.observed = json!({});
    assert_eq!(
        world.said(output(None, Some("all"), None)).await.0,
        "blocked"
    );
}

// T5
#[tokio::test]
async fn a_person_is_heard_for_the_check_that_was_asked() {
    let mut world = World::open();
    let result = world.find(manual()).await;
    assert_eq!(result.finding.label(), "waiting");
    assert!(result.manual && result.poll_ms.is_none());
    let attestation = |check, verdict, reasoning: Option<&str>| Attestation {
        check,
        verdict,
        reasoning: reasoning.map(str::to_owned),
    };
    world.attestations = vec![attestation(1, AttestationVerdict::Right, None)];
    assert_eq!(world.said(manual()).await.0, "waiting");
    world.attestations = vec![attestation(
        0,
        AttestationVerdict::NotRight,
        Some("too long"),
    )];
    assert_eq!(
        world.said(manual()).await,
        held("blocked", "said to be not right: too long")
    );
    world
        .attestations
        .push(attestation(0, AttestationVerdict::Right, None));
    assert_eq!(world.said(manual()).await.0, "verified");
}

// T3
#[tokio::test]
async fn a_synthetic_job_is_ready_after_an_admitted_resume_and_its_artifact_once_made() {
    let mut world = World::open();
    let result = world.find(synthetic(SyntheticSubject::Job)).await;
    assert_eq!(
        (result.finding.label(), result.poll_ms),
        ("waiting", Some(700))
    );
    let artifact = || synthetic(SyntheticSubject::Artifact);
    let result = world.find(artifact()).await;
    assert_eq!((result.finding.label(), result.poll_ms), ("blocked", None));
    world.generation = 1;
    assert_eq!(
        world.said(synthetic(SyntheticSubject::Job)).await.0,
        "verified"
    );
    assert_eq!(world.said(artifact()).await.0, "blocked");
    let elsewhere = OperationId::from("op-2");
    world
        .synthetic
        .act(&elsewhere, "build", SyntheticAct::Artifact);
    assert_eq!(world.said(artifact()).await.0, "blocked");
    world
        .synthetic
        .act(&World::operation(), "build", SyntheticAct::Artifact);
    assert_eq!(world.said(artifact()).await.0, "verified");
}

#[tokio::test]
async fn http_checks_say_that_they_are_not_made() {
    let http = CheckKind::Http {
        url: "http://localhost/".to_owned(),
        method: "GET".to_owned(),
        headers: std::collections::BTreeMap::new(),
        expect: HttpExpectation::Success,
    };
    assert_eq!(World::open().said(http).await.0, "uncertain");
}

#[tokio::test]
async fn the_worst_of_several_counts_and_each_that_does_not_hold_is_named() {
    let world = World::open();
    let checks = vec![
        check(command(&["true"])),
        check(file("notes.md")),
        check(command(&["false"])),
        check(manual()),
    ];
    let decision = world.decide(checks).await;
    let Finding::Held { state, reason } = &decision.finding else {
        panic!("{decision:?}");
    };
    assert_eq!(*state, Held::Blocked);
    for part in [
        "file notes.md: ",
        "command false: exit 1",
        "manual Right?: ",
    ] {
        assert!(reason.contains(part), "{reason}");
    }
    assert!(!reason.contains("command true"), "{reason}");
    let indexes: Vec<usize> = decision.checks.iter().map(|check| check.index).collect();
    assert_eq!(indexes, [0, 1, 2, 3]);
    assert_eq!(decision.checks[0].covers, ["artifact"]);
}

#[tokio::test]
async fn several_checks_run_side_by_side() {
    let world = World::open();
    // Each waits for the other's file: one after the other they would never end.
    let meet = |own: &str, other: &str| {
        let script = format!("touch {own}; while ! test -f {other}; do sleep 0.01; done");
        check(command(&["sh", "-c", &script]))
    };
    let started = Instant::now();
    let decision = world.decide(vec![meet("a", "b"), meet("b", "a")]).await;
    assert!(decision.finding.is_verified());
    assert!(started.elapsed() < Duration::from_secs(10));
}
