//! Frames on demand (design decision 10, Q3, Q4): when the next one is due, if any.
//!
//! Pure: time is given. Nothing is due while nothing changed; what changed quickly is drawn together,
//! at most 60 times a second; and ages on the screen ask for a frame only when their text changes.

use std::time::{Duration, Instant};

/// The shortest time between two frames.
pub const SHORTEST: Duration = Duration::from_micros(1_000_000 / 60);

/// Decides when the next frame is due.
#[derive(Debug, Clone, Default)]
pub struct FrameClock {
    wanted: Option<Instant>,
    drawn: Option<Instant>,
}

impl FrameClock {
    /// Something changed now.
    pub fn request(&mut self, now: Instant) {
        self.request_at(now);
    }

    /// Something will look different at a time, an age for example. The earliest request counts.
    pub fn request_at(&mut self, when: Instant) {
        self.wanted = Some(self.wanted.map_or(when, |wanted| wanted.min(when)));
    }

    /// When the next frame is due; `None` while nothing asks for one.
    pub fn due(&self) -> Option<Instant> {
        let wanted = self.wanted?;
        let earliest = self.drawn.map(|drawn| drawn + SHORTEST);
        Some(earliest.map_or(wanted, |earliest| wanted.max(earliest)))
    }

    /// Whether a frame is due now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    /// A frame was drawn. Every earlier request is fulfilled by it; what it shows that will change by
    /// time alone asks anew.
    pub fn drawn(&mut self, now: Instant) {
        self.drawn = Some(now);
        self.wanted = None;
    }
}

/// An age as it is shown: seconds under a minute, minutes under an hour, then hours and days. An age
/// below zero, which a clock that was set back gives, is shown as zero.
pub fn age(seconds: i64) -> String {
    let seconds = seconds.max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// How long until an age of `elapsed` is shown differently: by the second under a minute, by the minute
/// from there on.
pub fn next_change(elapsed: Duration) -> Duration {
    let unit = match elapsed < Duration::from_secs(60) {
        true => Duration::from_secs(1),
        false => Duration::from_secs(60),
    };
    let past = elapsed.as_nanos() % unit.as_nanos();
    // Less than a minute of nanoseconds fits.
    unit - Duration::from_nanos(past as u64)
}

/// The next instant at which any of some ages is shown differently, given since when each is counted.
/// What lies in the future is zero until it begins, so it changes a second after that.
pub fn next_age_change(since: impl IntoIterator<Item = Instant>, now: Instant) -> Option<Instant> {
    since
        .into_iter()
        .map(|since| match now.checked_duration_since(since) {
            Some(elapsed) => now + next_change(elapsed),
            None => since + Duration::from_secs(1),
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn nothing_changed_nothing_due() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        assert_eq!(clock.due(), None);
        clock.request(start);
        assert!(clock.is_due(start));
        clock.drawn(start);
        assert_eq!(clock.due(), None);
    }

    /// Q3.
    #[test]
    fn ten_thousand_changes_a_second_make_sixty_frames() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        let mut frames = 0;
        for change in 0..10_000u32 {
            let now = start + Duration::from_micros(100) * change;
            clock.request(now);
            if clock.is_due(now) {
                clock.drawn(now);
                frames += 1;
            }
        }
        assert!((55..=60).contains(&frames), "{frames}");
    }

    #[test]
    fn the_earliest_request_counts() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.request_at(start + ms(900));
        clock.request_at(start + ms(100));
        clock.request_at(start + ms(500));
        assert_eq!(clock.due(), Some(start + ms(100)));
    }

    /// Q4: ten minutes of waiting cost sixty-nine frames.
    #[test]
    fn ages_tick_by_the_second_and_then_by_the_minute() {
        assert_eq!(next_change(ms(0)), ms(1_000));
        assert_eq!(next_change(ms(1_250)), ms(750));
        assert_eq!(next_change(ms(59_999)), ms(1));
        assert_eq!(next_change(ms(60_000)), ms(60_000));
        assert_eq!(next_change(ms(150_000)), ms(30_000));
        let mut elapsed = ms(0);
        let mut frames = 0;
        while elapsed < ms(600_000) {
            let change = next_change(elapsed);
            assert_ne!(
                age(elapsed.as_secs() as i64),
                age((elapsed + change).as_secs() as i64)
            );
            elapsed += change;
            frames += 1;
        }
        assert_eq!(frames, 69);
    }

    #[test]
    fn the_soonest_of_several_ages_asks_for_the_frame() {
        let now = Instant::now() + ms(1_000_000);
        let since = [now - ms(150_000), now - ms(2_400), now + ms(5_000)];
        assert_eq!(next_age_change(since, now), Some(now + ms(600)));
        assert_eq!(next_age_change([], now), None);
    }

    /// Row 29.
    #[test]
    fn an_age_below_zero_is_zero() {
        assert_eq!(age(-3_600), "0s");
        assert_eq!(age(59), "59s");
        assert_eq!(age(61), "1m");
        assert_eq!(age(3_660), "1h01m");
        assert_eq!(age(90_000), "1d01h");
    }
}
