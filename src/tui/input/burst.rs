//! Tells pasting from typing where the terminal has no bracketed paste, and the wheel from arrow keys.
//!
//! Keys of one burst arrive within milliseconds of each other; nobody types like that. An Enter within
//! a burst is held for a moment. If more text follows, the burst is a paste of several lines and all its
//! Enters are line breaks: nothing of it is submitted. If nothing follows, a single line was sent in one
//! go, as `tmux send-keys` does, and the Enter counts.
//!
//! Give keys with the time at which they arrived, and read what is ready before drawing.

use std::time::{Duration, Instant};

/// Keys that are closer together than this belong to one burst.
const GAP: Duration = Duration::from_millis(10);
/// How long an Enter within a burst is held.
const HOLD: Duration = Duration::from_millis(25);
/// Characters that make a burst.
const CHARS: u32 = 3;

/// What an Enter means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enter {
    /// Submit.
    Submit,
    /// Not known yet; ask again by [`Burst::due`].
    Held,
    /// A line break within a paste.
    LineBreak,
}

/// Watches the times of keys.
#[derive(Debug, Clone, Default)]
pub struct Burst {
    last: Option<Instant>,
    chars: u32,
    line_breaks: u32,
    held: Option<Instant>,
}

impl Burst {
    /// A printable character arrived. Says so where a held Enter was a line break after all.
    pub fn character(&mut self, now: Instant) -> Option<Enter> {
        let within = self.is_within(now);
        let held = self.held.take();
        if !within && held.is_none() {
            *self = Self::default();
        }
        self.last = Some(now);
        self.chars += 1;
        held.map(|_| {
            self.line_breaks += 1;
            Enter::LineBreak
        })
    }

    /// An Enter arrived.
    pub fn enter(&mut self, now: Instant) -> Enter {
        if self.held.take().is_some() {
            // Two in a row: an empty line within a paste. The first one is the caller's to insert,
            // the second is held in its place.
            self.line_breaks += 1;
            self.last = Some(now);
            self.held = Some(now);
            return Enter::LineBreak;
        }
        if !self.is_within(now) || self.chars < CHARS {
            *self = Self::default();
            return Enter::Submit;
        }
        self.last = Some(now);
        self.held = Some(now);
        Enter::Held
    }

    /// Any other key arrived: no paste.
    pub fn other(&mut self) {
        *self = Self::default();
    }

    /// When [`Self::settle`] has to be asked.
    pub fn due(&self) -> Option<Instant> {
        self.held.map(|held| held + HOLD)
    }

    /// What a held Enter means, if it is time to know.
    pub fn settle(&mut self, now: Instant) -> Option<Enter> {
        if self.due()? > now {
            return None;
        }
        let pasted = self.line_breaks > 0;
        *self = Self::default();
        Some(if pasted {
            Enter::LineBreak
        } else {
            Enter::Submit
        })
    }

    fn is_within(&self, now: Instant) -> bool {
        self.last
            .is_some_and(|last| now.saturating_duration_since(last) <= GAP)
    }
}

/// Tells a turned wheel from arrow keys: terminals send several arrows at once for a notch.
#[derive(Debug, Clone, Default)]
pub struct Wheel {
    last: Option<Instant>,
}

/// What an arrow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrow {
    /// A key.
    Key,
    /// The second or a later arrow of a turned wheel: the first was one too.
    Wheel,
}

impl Wheel {
    /// An arrow arrived.
    pub fn arrow(&mut self, now: Instant) -> Arrow {
        let last = self.last.replace(now);
        match last {
            Some(last) if now.saturating_duration_since(last) <= GAP => Arrow::Wheel,
            Some(_) | None => Arrow::Key,
        }
    }
}
