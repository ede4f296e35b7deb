//! The one loop: signals first, then keys, then frames, then everything else. Nothing in it waits for
//! anything but the next thing that happens.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use tokio::sync::{Notify, mpsc};

use crate::app::mailbox::Mailbox;
use crate::app::number;
use crate::app::perform::Performer;
use crate::cli::Exit;
use crate::cli::trouble::Trouble;
use crate::host::session::Session;
use crate::tui::effect::Effect;
use crate::tui::frame_clock::{FrameClock, next_age_change};
use crate::tui::message::Message;
use crate::tui::signals::{Signal, Signals};
use crate::tui::state::State;
use crate::tui::terminal::{FullScreen, Suspension};
use crate::tui::text::Inert;
use crate::tui::update::update;
use crate::tui::view;
use crate::tui::watchdog::Watchdog;

/// Answers of the session that may wait for the loop; each task sends few.
const RESULTS: usize = 64;

/// The screen and what it shows.
pub(super) struct Loop {
    screen: FullScreen,
    state: State,
    clock: FrameClock,
    mailbox: Arc<Mailbox>,
    hung_up: Arc<Notify>,
    watchdog: Arc<Watchdog>,
}

impl Loop {
    pub(super) fn new(
        screen: FullScreen,
        state: State,
        mailbox: Arc<Mailbox>,
        hung_up: Arc<Notify>,
        watchdog: Arc<Watchdog>,
    ) -> Self {
        Self {
            screen,
            state,
            clock: FrameClock::default(),
            mailbox,
            hung_up,
            watchdog,
        }
    }

    /// Runs until somebody or something ends it.
    pub(super) async fn run(
        &mut self,
        session: Arc<Session>,
        mut signals: Signals,
    ) -> Result<Exit, Trouble> {
        let (sender, mut results) = mpsc::channel(RESULTS);
        let mut performer = Performer::new(session.clone(), self.mailbox.clone(), sender);
        let workspace = session.workspace().root().display().to_string();
        self.state.workspace = Inert::one_line(&workspace);
        self.take(
            Message::ModelSelected(Inert::one_line(&session.model_text())),
            &mut performer,
        )?;
        let mut keys = EventStream::new();
        loop {
            let frame = self.clock.due();
            let tick = self.state.due();
            let ended = tokio::select! {
                biased;
                signal = signals.next() => self.signal(signal)?,
                () = self.hung_up.notified() => Some(Exit::Signal(1)),
                event = keys.next() => match event {
                    Some(Ok(event)) => self.event(event, &mut performer)?,
                    // Nothing can be read any more: the terminal is gone.
                    Some(Err(_)) | None => Some(Exit::Signal(1)),
                },
                () = until(frame) => {
                    self.frame(&mut performer)?;
                    None
                }
                () = until(tick) => self.take(Message::Ticked(Instant::now()), &mut performer)?,
                Some(message) = results.recv() => self.take(message, &mut performer)?,
                () = self.mailbox.filled.notified() => {
                    self.clock.request(Instant::now());
                    None
                }
            };
            if let Some(exit) = ended {
                return Ok(exit);
            }
        }
    }

    fn signal(&mut self, signal: Signal) -> Result<Option<Exit>, Trouble> {
        match signal {
            Signal::Interrupt | Signal::Terminate | Signal::HangUp => {
                return Ok(signal.exit_code().map(number));
            }
            Signal::Stop => self.suspend()?,
            Signal::Continue => {
                // The kernel sends it after a hang-up too, where nothing can be taken any more.
                let _ = self.screen.resume();
                self.clock.request(Instant::now());
            }
        }
        Ok(None)
    }

    fn suspend(&mut self) -> Result<(), Trouble> {
        match self.screen.suspend() {
            Ok(Suspension::Stopping | Suspension::NobodyToContinue) => Ok(()),
            Err(error) => Err(Trouble::caused(error)),
        }
    }

    fn event(&mut self, event: Event, performer: &mut Performer) -> Result<Option<Exit>, Trouble> {
        // What comes with the end of the terminal is nobody's key: a hang-up confirms nothing (T7).
        if self.watchdog.has_hung_up() {
            return Ok(Some(Exit::Signal(1)));
        }
        let now = Instant::now();
        match event {
            Event::Key(key) => self.take(Message::Key(key, now), performer),
            Event::Paste(text) => self.take(Message::Pasted(text, now), performer),
            Event::Resize(columns, rows) => self.take(Message::Resized(columns, rows), performer),
            Event::FocusGained | Event::FocusLost | Event::Mouse(_) => Ok(None),
        }
    }

    /// Takes a message, performs what it leads to, and asks for a frame.
    fn take(
        &mut self,
        message: Message,
        performer: &mut Performer,
    ) -> Result<Option<Exit>, Trouble> {
        let started = match &message {
            Message::Started(_, Ok(operation), _) => Some(operation.clone()),
            _ => None,
        };
        let effects = update(&mut self.state, message);
        // Only now the screen knows the operation whose views are to come.
        if let Some(operation) = started {
            performer.watch(operation);
        }
        self.clock.request(Instant::now());
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(Some(Exit::Succeeded)),
                Effect::Suspend => self.suspend()?,
                Effect::Redraw => {
                    let redrawn = self.screen.redraw();
                    redrawn
                        .context("can't draw on the terminal")
                        .map_err(Trouble::caused)?;
                }
                effect => performer.perform(effect),
            }
        }
        Ok(None)
    }

    /// Takes what waits for the screen, and draws.
    fn frame(&mut self, performer: &mut Performer) -> Result<(), Trouble> {
        for message in self.mailbox.take() {
            self.take(message, performer)?;
        }
        self.take(Message::Ticked(Instant::now()), performer)?;
        self.draw()
    }

    /// Draws a frame, and asks for the one in which an age changes.
    pub(super) fn draw(&mut self) -> Result<(), Trouble> {
        let state = &mut self.state;
        let drawn = self.screen.draw(|frame| {
            let area = frame.area();
            state.size = (area.width, area.height);
            if let Some(cursor) = view::draw(state, area, frame.buffer_mut()) {
                frame.set_cursor_position(cursor);
            }
        });
        drawn
            .context("can't draw on the terminal")
            .map_err(Trouble::caused)?;
        let now = Instant::now();
        self.clock.drawn(now);
        if let Some(change) = next_age_change(self.state.ages(), now) {
            self.clock.request_at(change);
        }
        Ok(())
    }
}

/// Ends at a time; never without one.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
