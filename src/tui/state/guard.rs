//! Keeps keys away from a question that they weren't meant for (design decision 9).
//!
//! | key | what happens |
//! |---|---|
//! | the one that was held while the question appeared | swallowed until it is let go |
//! | of the burst in which the question appeared: typed ahead, or pasted | swallowed |
//! | pressed after that | arms the question, and counts |

use std::time::{Duration, Instant};

use crossterm::event::KeyCode;

/// Keys that are closer together than this belong to one burst.
const BURST: Duration = Duration::from_millis(10);
/// A key that is held down begins to repeat within this time.
const FIRST_REPEAT: Duration = Duration::from_millis(500);
/// A key that repeats comes again within this time.
const NEXT_REPEAT: Duration = Duration::from_millis(150);

/// Watches keys for those that were pressed before there was a question.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    last: Option<(KeyCode, Instant)>,
    held: Option<Held>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    /// The key before the question appeared, if there was one.
    key: Option<KeyCode>,
    until: Instant,
}

impl Guard {
    /// A question appeared.
    pub fn appeared(&mut self, now: Instant) {
        self.held = Some(Held {
            key: self.last.map(|(key, _)| key),
            until: now + FIRST_REPEAT,
        });
    }

    /// Whether a key counts. Every key has to be told, also where there is no question.
    pub fn counts(&mut self, key: KeyCode, now: Instant) -> bool {
        let before = self.last.replace((key, now));
        let Some(held) = self.held else {
            return true;
        };
        let within_burst = before.is_some_and(|(_, at)| now.saturating_duration_since(at) < BURST);
        if within_burst {
            return false;
        }
        if held.key == Some(key) && now < held.until {
            self.held = Some(Held {
                until: held.until.max(now + NEXT_REPEAT),
                ..held
            });
            return false;
        }
        self.held = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Row 22: a key held across a view change does nothing.
    #[test]
    fn a_held_key_is_swallowed_until_it_is_let_go() {
        let start = Instant::now();
        let mut guard = Guard::default();
        assert!(guard.counts(KeyCode::Enter, start));
        guard.appeared(start);
        for repeat in 0..100 {
            assert!(!guard.counts(KeyCode::Enter, start + ms(400 + repeat * 30)));
        }
        assert!(guard.counts(KeyCode::Enter, start + ms(400 + 99 * 30 + 200)));
    }

    #[test]
    fn another_key_counts_at_once_and_arms() {
        let start = Instant::now();
        let mut guard = Guard::default();
        guard.counts(KeyCode::Enter, start);
        guard.appeared(start);
        assert!(guard.counts(KeyCode::Tab, start + ms(50)));
        assert!(guard.counts(KeyCode::Enter, start + ms(100)));
    }

    /// Row 16: nothing of the burst in which a question appeared answers it.
    #[test]
    fn what_was_typed_ahead_is_swallowed() {
        let start = Instant::now();
        let mut guard = Guard::default();
        guard.counts(KeyCode::Char('y'), start);
        guard.appeared(start + ms(1));
        for (after, key) in [(2, KeyCode::Tab), (4, KeyCode::Tab), (6, KeyCode::Enter)] {
            assert!(!guard.counts(key, start + ms(after)));
        }
        assert!(guard.counts(KeyCode::Enter, start + ms(700)));
    }
}
