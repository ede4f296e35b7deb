//! The terminal is always given back as it was (T7).

use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::world::{ROLE, World, screen};

/// What has to be switched off, whatever ended the program.
const OFF: [&str; 9] = [
    "\x1b[?2026l",
    "\x1b[?1000l",
    "\x1b[?1002l",
    "\x1b[?1003l",
    "\x1b[?1006l",
    "\x1b[?2004l",
    "\x1b[?1004l",
    "\x1b[<u",
    "\x1b[?25h",
];
pub(crate) const ENTERED: &str = "\x1b[?1049h";
pub(crate) const LEFT: &str = "\x1b[?1049l";

pub(crate) fn assert_given_back(world: &World, written: &str) {
    let (_, end) = written
        .rsplit_once(ENTERED)
        .expect("full screen was entered");
    for off in OFF {
        assert!(end.contains(off), "{off:?} is missing in {end:?}");
    }
    let (_, after) = end.rsplit_once(LEFT).expect("the alternate screen is left");
    assert!(
        !after.contains("\x1b[?2026h"),
        "half a frame on the shell: {after:?}"
    );
    world.assert_settings_as_before();
}

fn ready(role: &str) -> World {
    let world = World::child(role);
    world.wait_for_screen("frame 1 of 80x24");
    world
}

#[test]
fn quitting_gives_the_terminal_back() {
    let mut world = ready("any");
    world.press("q");
    let (code, written) = world.end();
    assert_eq!(code, 0);
    assert_given_back(&world, &written);
}

#[test]
fn a_panic_while_drawing_gives_the_terminal_back_and_then_reports() {
    let mut world = ready("any");
    world.press("p");
    let (code, written) = world.end();
    assert_ne!(code, 0);
    assert_given_back(&world, &written);
    let (_, after) = written.rsplit_once(LEFT).expect("left");
    assert!(after.contains("a panic while drawing"), "{after:?}");
    assert!(after.contains("hint: the log says more"));
}

#[test]
fn a_panic_in_a_task_leaves_the_screen_alone() {
    let mut world = ready("any");
    world.press("t");
    world.press("x");
    world.press("q");
    let (code, written) = world.end();
    assert_eq!(code, 0);
    assert!(!written.contains("a panic in a task"), "{written:?}");
    assert_given_back(&world, &written);
}

#[test]
fn signals_give_the_terminal_back_and_end_within_two_seconds() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let world = ready("any");
        world.signal(signal);
        assert_eq!(world.exit_within(Duration::from_secs(2)), code);
        let written = world.wait_for(LEFT, |written| written.contains(LEFT));
        assert_given_back(&world, &written);
    }
}

#[test]
fn a_closed_terminal_ends_the_program() {
    let mut world = ready("any");
    world.close("x");
    assert_eq!(world.exit_within(Duration::from_secs(2)), 129);
}

/// M1: crossterm spins on a dead terminal, and here the hang-up signal is ignored besides.
#[test]
fn a_closed_terminal_ends_even_a_program_that_ignores_it() {
    let mut world = ready("deaf");
    world.close("x");
    assert_eq!(world.exit_within(Duration::from_secs(3)), 129);
}

#[test]
fn suspending_hands_the_terminal_to_the_shell_and_takes_it_again() {
    for key in ["\x1a", "s"] {
        let mut world = World::shell(
            "any",
            "$CHILD; stty -a; echo in the shell; read go; fg; echo bye",
        );
        world.wait_for_screen("frame 1 of 80x24");
        world.press(key);
        let written = world.wait_for("shell", |written| written.contains("in the shell"));
        let (_, stopped) = written
            .rsplit_once(LEFT)
            .expect("the alternate screen is left");
        assert!(
            stopped.contains(" icanon") && stopped.contains(" echo "),
            "{stopped:?}"
        );
        world.resize(70, 20);
        world.press("\n");
        world.wait_for("a whole frame of the new size", |written| {
            let (_, again) = written.rsplit_once("in the shell").expect("seen before");
            again.contains(ENTERED) && screen(written).contains("of 70x20")
        });
        world.press("q");
        let (_, written) = world.end();
        assert!(written.contains("bye"));
        assert_given_back(&world, &written);
    }
}

/// A session leader has no shell that could continue it.
#[test]
fn without_a_shell_suspending_does_nothing() {
    let mut world = ready("any");
    world.press("\x1a");
    world.press("q");
    let (code, written) = world.end();
    assert_eq!(code, 0);
    assert_given_back(&world, &written);
}

/// In a container the session was made outside, so its id is 0 there.
#[test]
fn in_a_container_suspending_does_nothing_without_a_shell() {
    let inside = "unshare --user --map-root-user --pid --fork";
    let script =
        format!("{inside} true || exec echo no namespaces; {inside} sh -c '$CHILD; echo code $?'");
    let mut world = World::shell("any", &script);
    let started = world.try_for(|written| {
        screen(written).contains("frame 1 of") || written.contains("no namespaces")
    });
    if started.contains("no namespaces") {
        return;
    }
    world.press("\x1a");
    world.press("q");
    let (_, written) = world.end();
    assert!(written.contains("code 0"), "{written:?}");
    assert_given_back(&world, &written);
}

#[test]
fn without_a_terminal_there_is_one_plain_line() {
    let child = |term: &str| {
        let mut command = Command::new(std::env::current_exe().expect("a path"));
        command.args(["--exact", "child::child", "--nocapture", "--quiet"]);
        command
            .env(ROLE, "any")
            .env("TERM", term)
            .stdin(Stdio::null());
        command.output().expect("the child runs")
    };
    let output = child("xterm");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("standard input is not a terminal"),
        "{error}"
    );
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
}

#[test]
fn a_dumb_terminal_is_told_so() {
    let mut world = World::shell("any", "TERM=dumb $CHILD; echo code $?");
    let (_, written) = world.end();
    assert!(
        written.contains("TERM=dumb") && written.contains("code 2"),
        "{written:?}"
    );
    assert!(!written.contains('\x1b'), "{written:?}");
}

/// Row 23: one changed cell costs a few bytes and never clears the screen.
#[test]
fn a_small_change_writes_little() {
    let mut world = ready("any");
    let before = world.wait_for("anything", |_| true).len();
    world.press("x");
    let after = world.wait_for("the second frame", |written| {
        screen(written).contains("frame 2")
    });
    let frame = &after[before..];
    assert!(frame.len() < 200 && !frame.contains("\x1b[2J"), "{frame:?}");
    world.press("q");
    world.end();
}

/// Row 12: sizes that no layout was made for.
#[test]
fn any_size_is_survived() {
    let mut world = ready("any");
    for (columns, rows) in [
        (0, 0),
        (1, 1),
        (3, 2),
        (200, 50),
        (0, 10),
        (80, 1),
        (1, 200),
    ] {
        world.resize(columns, rows);
        world.press("x");
    }
    world.resize(60, 10);
    world.wait_for("the last size", |written| {
        screen(written).contains("of 60x10")
    });
    world.press("q");
    let (code, written) = world.end();
    assert_eq!(code, 0);
    assert_given_back(&world, &written);
}
