//! However the application ends, the terminal is the shell's again and nothing was confirmed (T7).

use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::app::{App, CTRL_D, F2, PAUSED, SIZES, command};
use crate::terminal::{ENTERED, LEFT, assert_given_back};

/// Waits with the question open and the focus on what confirms.
fn about_to_confirm() -> App {
    let mut app = App::offline(SIZES[0]);
    app.demo();
    app.key(F2);
    app.sees("> [ Cancel ]");
    app.key(crate::app::RIGHT);
    app.sees("> [ Confirm ]");
    app
}

#[test]
fn quitting_gives_the_terminal_back() {
    let mut app = App::offline(SIZES[1]);
    app.key(CTRL_D);
    let (code, written) = app.world.end();
    assert_eq!(code, 0);
    assert_given_back(&app.world, &written);
}

#[test]
fn a_signal_gives_the_terminal_back_and_confirms_nothing() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut app = about_to_confirm();
        app.world.signal(signal);
        assert_eq!(app.world.exit_within(Duration::from_secs(2)), code);
        app.world.join();
        let written = app.world.read(str::to_owned);
        assert_given_back(&app.world, &written);
        app.assert_nothing_was_confirmed();
        assert!(app.accounts().contains("settled"), "{}", app.accounts());
    }
}

// Rows 19 and 20: a window that is closed answers nothing.
#[test]
fn a_closed_terminal_ends_it_and_confirms_nothing() {
    let mut app = about_to_confirm();
    // Asks for a frame, so that there is something to read.
    app.world.close("\x0c");
    assert_eq!(app.world.exit_within(Duration::from_secs(2)), 129);
    app.assert_nothing_was_confirmed();
}

// Row 17
#[test]
fn suspending_hands_the_terminal_to_the_shell_and_takes_it_again() {
    let mut app = App::in_shell("$APP; stty -a; echo in the shell; read go; fg; echo bye");
    app.sees("a message, or / for commands");
    app.demo();
    app.key("\x1a");
    let written = app
        .world
        .wait_for("shell", |written| written.contains("in the shell"));
    let (_, stopped) = written
        .rsplit_once(LEFT)
        .expect("the alternate screen is left");
    assert!(
        stopped.contains(" icanon") && stopped.contains(" echo "),
        "{stopped:?}"
    );
    app.resize(120, 40);
    app.world.press("\n");
    app.world.wait_for("the screen again", |written| {
        let (_, again) = written.rsplit_once("in the shell").expect("seen before");
        again.contains(ENTERED)
    });
    app.sees("╭ Draft the note");
    app.sees(PAUSED);
    app.is_asked("/quit", "> Quit?", "Stay");
    app.accepts("Quit");
    let (_, written) = app.world.end();
    assert!(written.contains("bye"));
    assert_given_back(&app.world, &written);
    app.assert_nothing_was_confirmed();
}

// Row 26
#[test]
fn without_a_terminal_there_is_a_plain_refusal() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("setsid")
        .arg(env!("CARGO_BIN_EXE_amos-tui"))
        .env("AMOS_DATA_DIR", folder.path())
        .env("OLLAMA_HOST", "127.0.0.1:1")
        .env("TERM", "xterm-256color")
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output();
    // Not every system has it; `terminal` tests the same without it.
    let Ok(output) = output else { return };
    assert_eq!(output.status.code(), Some(2));
    assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
    assert!(!output.stderr.is_empty());
}

#[test]
fn a_dumb_terminal_is_told_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dumb = command(folder.path());
    dumb.env("TERM", "dumb");
    let mut world = crate::world::World::start(dumb);
    let (code, written) = world.end();
    assert_eq!(code, 2);
    assert!(
        written.contains("TERM=dumb") && !written.contains('\x1b'),
        "{written:?}"
    );
}
