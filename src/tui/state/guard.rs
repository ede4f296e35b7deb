//! Keeps keys away from a question that they weren't meant for (design decision 9).
//!
//! | key | what happens |
//! |---|---|
//! | of the burst in which the question appeared: typed ahead, or pasted | swallowed |
//! | Enter within any burst: nobody types like that | swallowed |
//! | the one before the question again, and again: it is held down | swallowed until it is let go |
//! | the one before the question again, once | counts, a moment later |
//! | any other one | counts |

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};

/// Keys that are closer together than this belong to one burst.
const BURST: Duration = Duration::from_millis(10);
/// A key that is held down begins to repeat within this time.
const FIRST_REPEAT: Duration = Duration::from_millis(700);
/// A key that repeats comes again within this time.
const NEXT_REPEAT: Duration = Duration::from_millis(90);

/// What to make of a key while there is a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// It is an answer.
    Counts,
    /// It is none.
    Swallowed,
    /// It may be one: [`Guard::settle`] says so by [`Guard::due`].
    Deferred,
}

/// Watches keys for those that were pressed before there was a question.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    last: Option<(KeyCode, Instant)>,
    before: Option<Before>,
    deferred: Option<(KeyEvent, Instant)>,
}

/// What was pressed before the question appeared.
#[derive(Debug, Clone, Copy)]
struct Before {
    key: Option<KeyCode>,
    until: Instant,
}

impl Guard {
    /// A question appeared.
    pub fn appeared(&mut self, now: Instant) {
        self.deferred = None;
        self.before = Some(Before {
            key: self.last.map(|(key, _)| key),
            until: now + FIRST_REPEAT,
        });
    }

    /// What to make of a key. Every key has to be told, also where there is no question.
    pub fn judge(&mut self, key: KeyEvent, now: Instant) -> Judged {
        let last = self.last.replace((key.code, now));
        let since = last.map(|(_, at)| now.saturating_duration_since(at));
        let within_burst = since.is_some_and(|since| since < BURST);
        let Some(before) = self.before else {
            return match within_burst && key.code == KeyCode::Enter {
                true => Judged::Swallowed,
                false => Judged::Counts,
            };
        };
        if within_burst {
            self.deferred = None;
            return Judged::Swallowed;
        }
        if before.key == Some(key.code) && now < before.until {
            let is_repeating = since.is_some_and(|since| since < NEXT_REPEAT);
            self.before = Some(Before {
                until: before.until.max(now + NEXT_REPEAT),
                ..before
            });
            if is_repeating {
                self.deferred = None;
                return Judged::Swallowed;
            }
            self.deferred = Some((key, now));
            return Judged::Deferred;
        }
        self.before = None;
        Judged::Counts
    }

    /// When [`Self::settle`] has to be asked.
    pub fn due(&self) -> Option<Instant> {
        self.deferred.map(|(_, at)| at + NEXT_REPEAT)
    }

    /// A key that was deferred and came only once: it counts now.
    pub fn settle(&mut self, now: Instant) -> Option<KeyEvent> {
        if self.due()? > now {
            return None;
        }
        self.before = None;
        self.deferred.take().map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn key(code: KeyCode) -> KeyEvent {
        code.into()
    }

    /// Row 22: a key held across a view change does nothing.
    #[test]
    fn a_held_key_is_swallowed_until_it_is_let_go() {
        for first in [250, 500, 660] {
            let start = Instant::now();
            let mut guard = Guard::default();
            guard.judge(key(KeyCode::Enter), start);
            guard.appeared(start);
            for repeat in 0..100 {
                let now = start + ms(first + repeat * 30);
                let judged = guard.judge(key(KeyCode::Enter), now);
                assert_ne!(judged, Judged::Counts);
                assert_eq!(guard.settle(now + ms(29)), None);
            }
            assert_eq!(guard.due(), None);
            let later = start + ms(first + 99 * 30 + 200);
            assert_eq!(guard.judge(key(KeyCode::Enter), later), Judged::Counts);
        }
    }

    #[test]
    fn the_same_key_pressed_once_more_counts_after_a_moment() {
        let start = Instant::now();
        let mut guard = Guard::default();
        guard.judge(key(KeyCode::Enter), start);
        guard.appeared(start);
        let again = start + ms(300);
        assert_eq!(guard.judge(key(KeyCode::Enter), again), Judged::Deferred);
        let due = guard.due().expect("deferred");
        assert_eq!(guard.settle(due), Some(key(KeyCode::Enter)));
        assert_eq!(guard.settle(due), None);
    }

    #[test]
    fn another_key_counts_at_once_and_arms() {
        let start = Instant::now();
        let mut guard = Guard::default();
        guard.judge(key(KeyCode::Enter), start);
        guard.appeared(start);
        let counts = |guard: &mut Guard, code, after| {
            guard.judge(key(code), start + ms(after)) == Judged::Counts
        };
        assert!(counts(&mut guard, KeyCode::Tab, 50));
        assert!(counts(&mut guard, KeyCode::Enter, 100));
    }

    /// Row 16: nothing of the burst in which a question appeared answers it.
    #[test]
    fn what_was_typed_ahead_is_swallowed() {
        let start = Instant::now();
        let mut guard = Guard::default();
        guard.judge(key(KeyCode::Char('y')), start);
        guard.appeared(start + ms(1));
        for (after, code) in [(2, KeyCode::Tab), (4, KeyCode::Tab), (6, KeyCode::Enter)] {
            let judged = guard.judge(key(code), start + ms(after));
            assert_eq!(judged, Judged::Swallowed);
        }
    }

    /// Row 16: a pasted Tab and Enter don't confirm, whenever they come.
    #[test]
    fn an_enter_within_a_burst_decides_nothing() {
        let start = Instant::now();
        let mut guard = Guard::default();
        guard.appeared(start);
        assert_eq!(
            guard.judge(key(KeyCode::Tab), start + ms(900)),
            Judged::Counts
        );
        assert_eq!(
            guard.judge(key(KeyCode::Enter), start + ms(902)),
            Judged::Swallowed
        );
        assert_eq!(
            guard.judge(key(KeyCode::Enter), start + ms(1_000)),
            Judged::Counts
        );
    }
}
