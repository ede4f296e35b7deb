//! A person at the prompt of `run --on-wait prompt` (T5, C1): the real binary in a real terminal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use portable_pty::CommandBuilder;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::world::World;

/// What `--on-wait prompt` asks at the end of each question.
const CHOICES: &str = "[l] later, [c] cancel the operation> ";

/// A run in a terminal, and the person before it.
struct Person {
    world: World,
    folder: TempDir,
    /// How much of what was written the person has read.
    read: usize,
}

impl Person {
    fn runs(file: &str, further: &[&str]) -> Self {
        Self::runs_with(file, further, &[])
    }

    fn runs_with(file: &str, further: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a folder");
        let path = if file.contains('\n') {
            let path = workspace.join("routine.yaml");
            std::fs::write(&path, file).expect("written");
            path
        } else {
            let demos = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("demo-routines");
            demos.join(format!("{file}.yaml"))
        };
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_amos-tui"));
        command.args(["run", "--on-wait", "prompt"]);
        command.args(further);
        command.arg(path);
        command.cwd(workspace);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", folder.path());
        command.env("TERM", "xterm-256color");
        command.env("AMOS_DATA_DIR", folder.path().join("data"));
        command.env("OLLAMA_HOST", "127.0.0.1:1");
        for (name, value) in variables {
            command.env(name, value);
        }
        Self {
            world: World::start(command),
            folder,
            read: 0,
        }
    }

    /// Waits for a text after what was read before, and gives everything up to its end.
    fn reads(&mut self, text: &str) -> String {
        let from = self.read;
        let end = |written: &str| {
            let at = written.get(from..)?.find(text)?;
            Some(from + at + text.len())
        };
        let written = self.world.wait_for(text, |written| end(written).is_some());
        self.read = end(&written).expect("found before");
        written[from..self.read].to_owned()
    }

    /// Waits for a question and answers it.
    fn answers(&mut self, question: &str, line: &str) -> String {
        let asked = self.reads(question);
        self.world.press(&format!("{line}\r"));
        asked
    }

    /// The exit code and what was written since.
    fn ends(mut self) -> (u32, String) {
        let (code, written) = self.world.end();
        assert!(!written.contains("panicked"), "{written}");
        (code, written[self.read..].to_owned())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    /// Whatever is kept of the run: its account.
    fn account(&self) -> String {
        let runs = self.folder.path().join("data/runs");
        let entry = std::fs::read_dir(runs).expect("a folder").next();
        let path = entry.expect("an account").expect("an entry").path();
        std::fs::read_to_string(path).expect("a text")
    }
}

// T8, M7: what a command writes to its terminal would be drawn over ours.
#[test]
fn a_command_has_no_terminal_to_write_to() {
    let file = r#"
routine: intruder
entry_steps: [draw]
steps:
  - { slug: draw, type: tool, tool: run_command, args: { argv: [sh, -c, "printf 'DRA%s\n' WN >/dev/tty"] } }
  - { slug: done, type: terminal }
edges: [{ from: draw, to: done }]
"#;
    let person = Person::runs(file, &["--allow", "run_command"]);
    let (code, written) = person.ends();
    assert_eq!(code, 1, "{written}");
    assert!(!written.contains("DRAWN"), "{written}");
}

// T3, T5: it shows first what is looked at again and what isn't repeated.
#[test]
fn a_person_confirms_the_demo() {
    let mut person = Person::runs("verified-submission", &[]);
    let asked = person.answers(CHOICES, "y");
    assert!(asked.contains("draft is waiting"), "{asked}");
    assert!(
        asked.contains("The check is made again. What was sent and done is not repeated."),
        "{asked}"
    );
    let (code, rest) = person.ends();
    assert_eq!(code, 0, "{rest}");
    assert!(
        rest.contains("draft is verified") && rest.contains("succeeded"),
        "{rest}"
    );
    assert!(rest.contains("used: 1 model calls, 3 tool calls"), "{rest}");
}

// T5: nothing is confirmed by accident.
#[test]
fn an_empty_line_or_another_word_asks_again() {
    let mut person = Person::runs("verified-submission", &[]);
    for line in ["", "", "   ", "q", "yess", "\u{1b}[A"] {
        person.answers(CHOICES, line);
    }
    person.reads(CHOICES);
    assert!(!person.account().contains("operation.resumed"));
    person.world.press("yes\r");
    let (code, _) = person.ends();
    assert_eq!(code, 0);
}

// What was typed before there was a question answers none.
#[test]
fn keys_that_were_typed_ahead_confirm_nothing() {
    let text = "routine: slow
pre_steps: [{ name: pause, tool: run_command, args: { argv: [sleep, \"0.4\"] } }]
entry_steps: [look]
steps:
  - { slug: look, type: gate, checks: [{ check: manual, prompt: Right? }] }
  - { slug: done, type: terminal }
edges: [{ from: look, to: done, condition: on_pass }]
";
    let mut person = Person::runs(text, &["--allow", "run_command"]);
    person.reads("started");
    person.world.press("r\rwhy not\r");
    person.reads(CHOICES);
    person.world.press("l\r");
    let (code, rest) = person.ends();
    assert_eq!(code, 3, "{rest}");
    assert!(rest.contains("nothing was confirmed"), "{rest}");
}

// T5: the end of input leaves it paused.
#[test]
fn the_end_of_input_confirms_nothing() {
    let mut person = Person::runs("verified-submission", &[]);
    person.reads(CHOICES);
    person.world.press("\u{4}");
    let (code, rest) = person.ends();
    assert_eq!(code, 3, "{rest}");
    assert!(
        !rest.contains("resumed") && !rest.contains("settled"),
        "{rest}"
    );
}

// T5, T7: nor does a hang-up.
#[test]
fn a_terminal_that_goes_away_confirms_nothing() {
    let mut person = Person::runs("verified-submission", &[]);
    person.reads(CHOICES);
    person.world.close("\r");
    // The signal of the hang-up, or the end of input, whichever comes first.
    let code = person.world.exit_within(Duration::from_secs(5));
    assert!([129, 3, 4].contains(&code), "{code}");
    assert!(!person.account().contains("operation.resumed"));
}

// C2: Ctrl-C at a question.
#[test]
fn an_interrupt_at_a_question_cancels() {
    let mut person = Person::runs("verified-submission", &[]);
    person.reads(CHOICES);
    person.world.press("\u{3}");
    let (code, rest) = person.ends();
    assert_eq!(code, 130, "{rest}");
    assert!(rest.contains("settled   cancelled"), "{rest}");
    let mut person = Person::runs("verified-submission", &[]);
    person.reads(CHOICES);
    person.world.signal(Signal::TERM);
    assert_eq!(person.ends().0, 143);
}

// T5, L5: cancelling says what may have been done.
#[test]
fn cancelling_shows_the_effects() {
    for word in ["c", "cancel"] {
        let mut person = Person::runs("verified-submission", &[]);
        person.answers(CHOICES, word);
        let (code, rest) = person.ends();
        assert_eq!(code, 4, "{rest}");
        assert!(rest.contains("settled   cancelled"), "{rest}");
        assert!(rest.contains("effects: "), "{rest}");
    }
}

// V24: a deadline ends the question too.
#[test]
fn a_deadline_ends_a_question_that_nobody_answers() {
    let text = "routine: late
deadline_ms: 300
entry_steps: [look]
steps:
  - { slug: look, type: gate, checks: [{ check: manual, prompt: Right? }] }
  - { slug: done, type: terminal }
edges: [{ from: look, to: done, condition: on_pass }]
";
    let mut person = Person::runs(text, &[]);
    person.reads(CHOICES);
    let (code, rest) = person.ends();
    assert_eq!(code, 1, "{rest}");
    assert!(rest.contains("deadline"), "{rest}");
}

// G13, G15, M6, T5: permission, operator gate and manual check, one after another.
#[test]
fn a_person_takes_checks_and_operator_to_its_end() {
    let mut person = Person::runs("checks-and-operator", &[]);
    let asked = person.answers(CHOICES, "a");
    assert!(
        asked.contains("This exact call, once: run_command {\"argv\":[\"date\""),
        "{asked}"
    );
    let asked = person.answers(CHOICES, "p");
    assert!(
        asked.contains("Shall this be written to amos-note.md?"),
        "{asked}"
    );
    assert!(
        asked.contains("- It is friendly") && asked.contains("from stamp: "),
        "{asked}"
    );
    person.answers("why> ", "it is fine");
    let asked = person.reads(CHOICES);
    assert!(asked.contains("write_file {"), "{asked}");
    assert!(!person.file("amos-note.md").exists());
    person.world.press("allow\r");
    let asked = person.answers(CHOICES, "r");
    assert!(asked.contains("Does amos-note.md read well?"), "{asked}");
    assert!(asked.contains("attestation"), "{asked}");
    person.answers("(may be empty)> ", "");
    person.reads("settled   succeeded");
    assert!(person.file("amos-note.md").exists());
    assert_eq!(person.ends().0, 0);
}

// With what is allowed only the person's own questions are left.
#[test]
fn allowed_tools_are_not_asked_about() {
    let allow = [
        "--allow",
        "run_command",
        "--allow",
        "write_file",
        "-i",
        "path=note.md",
    ];
    let mut person = Person::runs("checks-and-operator", &allow);
    person.answers(CHOICES, "pass");
    person.answers("why> ", "it is fine");
    let asked = person.answers(CHOICES, "right");
    assert!(!asked.contains("This exact call"), "{asked}");
    person.answers("(may be empty)> ", "read it");
    assert_eq!(person.ends().0, 0);
}

// G3, G15: an operator's `fail` takes its way.
#[test]
fn an_operator_who_says_no_ends_at_the_failing_terminal() {
    let mut person = Person::runs("checks-and-operator", &["--allow", "run_command"]);
    person.answers(CHOICES, "f");
    // A reasoning is needed.
    person.answers("why> ", "");
    person.answers("why> ", "not friendly");
    person.reads("terminal_fail");
    person.reads("The note was not accepted");
    assert!(!person.file("amos-note.md").exists());
    assert_eq!(person.ends().0, 1);
}

// T5: `manual` not right blocks; it overrides nothing and can be said again.
#[test]
fn not_right_blocks_and_asks_again() {
    let text = "routine: page
entry_steps: [look]
steps:
  - { slug: look, type: tool, tool: memory_set, args: { key: k, value: 1 }, verify: [{ check: manual, prompt: Right? }] }
  - { slug: done, type: terminal }
edges: [{ from: look, to: done }]
";
    let mut person = Person::runs(text, &[]);
    person.answers(CHOICES, "n");
    person.answers("(may be empty)> ", "blurred");
    let asked = person.reads(CHOICES);
    assert!(asked.contains("look is blocked"), "{asked}");
    person.world.press("r\r");
    person.answers("(may be empty)> ", "");
    assert_eq!(person.ends().0, 0);
}

// M6: a denied `tool` step fails the routine.
#[test]
fn a_denied_call_is_not_made() {
    let mut person = Person::runs("checks-and-operator", &[]);
    person.answers(CHOICES, "d");
    person.reads("called run_command: denied");
    person.reads("tool_failed");
    assert_eq!(person.ends().0, 1);
}

/// A server that answers with these messages, one after another, and stays with the last.
fn answering(messages: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for (n, mut stream) in listener.incoming().flatten().enumerate() {
            let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
            let mut length = 0;
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok() && line.trim() != "" {
                if let Some(n) = line.to_lowercase().strip_prefix("content-length:") {
                    length = n.trim().parse().expect("a number");
                }
                line.clear();
            }
            reader.read_exact(&mut vec![0; length]).expect("a body");
            let message = messages[n.min(messages.len() - 1)];
            let body = format!(r#"{{"choices":[{{"message":{message},"finish_reason":"stop"}}]}}"#);
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close");
            write!(stream, "{head}\r\n\r\n{body}").expect("an answer");
        }
    });
    format!("http://{address}/v1")
}

const REFUSES: &str = r#"{"role":"assistant","refusal":"no"}"#;
const WRITES: &str = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{
    "name":"write_file","arguments":"{\"path\":\"x\",\"text\":\"y\",\"mode\":\"append\"}"}}]}"#;
const ROUTES: &str = r#"{"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{
    "name":"route_next_steps","arguments":"{\"verdict\":\"pass\",\"reasoning\":\"so\",\"output\":1,\"next_steps\":[{\"target_step\":\"done\",\"handoff\":{\"note\":\"n\"}}]}"}}]}"#;

// M6: a model's call is allowed for exactly that call, once; a denied one is told to the model.
#[test]
fn a_person_allows_or_denies_a_model_s_call() {
    let text = ONE.replace("instructions: Write.", "tools: [write_file]");
    for (word, outcome, content) in [("a", "ok", Some("yy")), ("d", "denied", None)] {
        let address = answering(&[WRITES, WRITES, ROUTES]);
        let url = [("OPENAI_BASE_URL", &*address)];
        let mut person = Person::runs_with(&text, &["--model", "openai/m"], &url);
        for _ in 0..2 {
            let asked = person.answers(CHOICES, word);
            assert!(
                asked.contains("This exact call, once: write_file"),
                "{asked}"
            );
            person.reads(&format!("called write_file: {outcome}"));
        }
        person.reads("settled   succeeded");
        let written = std::fs::read_to_string(person.file("x")).ok();
        assert_eq!(written.as_deref(), content);
        assert_eq!(person.ends().0, 0);
    }
}

const ONE: &str = "routine: one
entry_steps: [draft]
steps:
  - { slug: draft, type: agent, agent: default, instructions: Write. }
  - { slug: done, type: terminal }
edges:
  - from: draft
    to: done
    handoff_instructions: Give the note.
    handoff_schema: { type: object, required: [note], properties: { note: { type: string } } }
";

fn uncertain() -> Person {
    let address = answering(&[REFUSES]);
    Person::runs_with(
        ONE,
        &["--model", "openai/m"],
        &[("OPENAI_BASE_URL", &address)],
    )
}

// V10a, T5: accepting supplies what is missing, and nothing is sent again.
#[test]
fn an_uncertain_step_is_accepted_with_what_is_missing() {
    let mut person = uncertain();
    let asked = person.answers(CHOICES, "accept");
    assert!(asked.contains("draft is uncertain"), "{asked}");
    assert!(asked.contains("Nothing is sent or done again."), "{asked}");
    person.answers("as JSON> ", "a note");
    // Asked again: that was no JSON.
    person.answers("as JSON> ", "\"a note\"");
    person.answers(CHOICES, "pass");
    person.answers("why> ", "I wrote it");
    person.reads("Give the note.");
    person.answers("handoff for done, as JSON> ", "{\"note\": \"a note\"}");
    let rest = person.reads("settled   succeeded");
    assert!(!rest.contains("asks openai"), "{rest}");
    let (code, rest) = person.ends();
    assert_eq!(code, 0);
    assert!(rest.contains("used: 1 model calls"), "{rest}");
}

// T5: an answer that doesn't fit changes nothing, and is asked for again.
#[test]
fn a_handoff_that_does_not_fit_is_asked_for_again() {
    let mut person = uncertain();
    for handoff in ["{\"note\": 1}", "{\"note\": \"x\"}"] {
        person.answers(CHOICES, "a");
        person.answers("as JSON> ", "1");
        person.answers(CHOICES, "p");
        person.answers("why> ", "so");
        person.answers("handoff for done, as JSON> ", handoff);
    }
    assert_eq!(person.ends().0, 0);
}

// V10a
#[test]
fn an_uncertain_step_can_be_failed() {
    let mut person = uncertain();
    // Looking again changes nothing of what nobody knows.
    person.answers(CHOICES, "r");
    person.answers(CHOICES, "f");
    person.answers("why> ", "give up");
    person.reads("failed_by_operator");
    assert_eq!(person.ends().0, 1);
}
