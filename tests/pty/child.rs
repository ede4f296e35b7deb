//! The program in the terminal: a loop as small as one can be around the pieces that are tested.
//!
//! It isn't a test of its own. The tests start this binary again and make it run only this function;
//! without a role it returns at once.

use std::io::Write as _;
use std::time::Duration;

use amos_tui::tui::signals::{Signal, Signals};
use amos_tui::tui::terminal::{FullScreen, Suspension, Tty};
use amos_tui::tui::watchdog::{GRACE, Watchdog};
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyModifiers};
use futures_util::StreamExt as _;
use ratatui::widgets::Paragraph;

use crate::world::ROLE;

#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let term = std::env::var("TERM").ok();
    let code = match Tty::find(term.as_deref()) {
        Ok(tty) => run(&role, tty),
        Err(none) => {
            let _ = writeln!(std::io::stderr(), "{none}");
            2
        }
    };
    std::process::exit(code.into());
}

fn run(role: &str, tty: Tty) -> u8 {
    let mut screen = FullScreen::enter(tty).expect("a terminal can be taken");
    let restorer = screen.restorer();
    restorer.report_panics("hint: the log says more", |_| {});
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let code = runtime.block_on(live(role, &mut screen));
    drop(screen);
    // A reader that spins on a dead terminal must not hold the end up.
    runtime.shutdown_background();
    code
}

async fn live(role: &str, screen: &mut FullScreen) -> u8 {
    let mut signals = Signals::listen().expect("signals can be caught");
    let (tell, mut hung_up) = tokio::sync::mpsc::unbounded_channel();
    let _watchdog = Watchdog::watch(
        &screen.restorer(),
        GRACE,
        move || {
            let _ = tell.send(());
        },
        || std::process::exit(129),
    )
    .expect("a thread");
    let mut events = EventStream::new();
    let mut drawn = 0;
    let deaf = role == "deaf";
    loop {
        drawn += 1;
        // Of a terminal that is gone the watchdog or a signal will tell.
        let _ = draw(screen, drawn);
        tokio::select! {
            signal = signals.next() => match signal {
                Signal::HangUp if deaf => {}
                Signal::Stop => suspend(screen),
                // Also sent when a terminal hangs up; then there is nothing to come back to.
                Signal::Continue => drop(screen.resume()),
                Signal::Interrupt | Signal::Terminate | Signal::HangUp => {
                    return signal.exit_code().unwrap_or(0);
                }
            },
            Some(()) = hung_up.recv(), if !deaf => return 129,
            event = events.next() => match event {
                Some(Ok(Event::Key(key))) => match act(key, screen).await {
                    Some(code) => return code,
                    None => continue,
                },
                Some(Ok(_)) => {}
                // Deliberately not an end: the watchdog has to do it.
                Some(Err(_)) | None => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

fn draw(screen: &mut FullScreen, drawn: u32) -> std::io::Result<()> {
    screen.draw(|frame| {
        let area = frame.area();
        let text = format!("frame {drawn} of {}x{}", area.width, area.height);
        frame.render_widget(Paragraph::new(text), area);
    })
}

async fn act(key: KeyEvent, screen: &mut FullScreen) -> Option<u8> {
    match (key.code, key.modifiers) {
        (KeyCode::Char('q'), _) => return Some(0),
        (KeyCode::Char('z'), KeyModifiers::CONTROL) => suspend(screen),
        (KeyCode::Char('s'), _) => {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::TSTP).expect("it is us");
        }
        (KeyCode::Char('p'), _) => {
            let _ = screen.draw(|_| panic!("a panic while drawing"));
        }
        (KeyCode::Char('t'), _) => {
            let task = tokio::spawn(async { panic!("a panic in a task") });
            assert!(task.await.is_err());
        }
        _ => {}
    }
    None
}

fn suspend(screen: &mut FullScreen) {
    let suspension = screen.suspend().expect("a group can be stopped");
    if suspension == Suspension::NobodyToContinue {
        screen.redraw().expect("the screen can be cleared");
    }
}
