//! The timers of one operation, kept in order: the driver sleeps until the first of them (V24).

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::operation::event::Timer;

/// Set timers by the moment at which they fire.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    /// The number keeps timers of one moment in the order in which they were set.
    order: BTreeMap<(Instant, u64), Timer>,
    set: HashMap<Timer, (Instant, u64)>,
    count: u64,
}

impl Alarm {
    /// Sets a timer, replacing an earlier setting of the same one.
    pub(super) fn set(&mut self, timer: Timer, now: Instant, after_ms: u64) {
        self.clear(&timer);
        self.count += 1;
        let key = (now + Duration::from_millis(after_ms), self.count);
        self.order.insert(key, timer.clone());
        self.set.insert(timer, key);
    }

    /// Forgets a timer, if it is set.
    pub(super) fn clear(&mut self, timer: &Timer) {
        if let Some(key) = self.set.remove(timer) {
            self.order.remove(&key);
        }
    }

    /// When the first timer fires.
    pub(super) fn next(&self) -> Option<Instant> {
        self.order.keys().next().map(|&(at, _)| at)
    }

    /// Takes the first timer whose moment has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<Timer> {
        let first = self.order.first_entry()?;
        if first.key().0 > now {
            return None;
        }
        let timer = first.remove();
        self.set.remove(&timer);
        Some(timer)
    }

    /// Milliseconds until a timer fires; `None` where it isn't set.
    pub(super) fn remaining_ms(&self, timer: &Timer, now: Instant) -> Option<u64> {
        self.set
            .get(timer)
            .map(|&(at, _)| at.saturating_duration_since(now).as_millis() as u64)
    }

    /// Every set timer with the milliseconds until it fires, the first to fire first.
    pub(super) fn all(&self, now: Instant) -> impl Iterator<Item = (&Timer, u64)> {
        self.order.iter().map(move |(&(at, _), timer)| {
            let left = at.saturating_duration_since(now);
            (timer, left.as_millis() as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn timers_fire_in_order_and_only_when_their_moment_has_come() {
        let mut alarm = Alarm::default();
        let now = Instant::now();
        alarm.set(Timer::Deadline, now, 500);
        alarm.set(Timer::Grace, now, 200);
        assert_eq!(alarm.next(), Some(now + Duration::from_millis(200)));
        assert_eq!(alarm.due(now), None);
        let later = now + Duration::from_millis(500);
        assert_eq!(alarm.due(later), Some(Timer::Grace));
        assert_eq!(alarm.due(later), Some(Timer::Deadline));
        assert_eq!(alarm.due(later), None);
    }

    #[tokio::test(start_paused = true)]
    async fn setting_a_timer_again_replaces_it() {
        let mut alarm = Alarm::default();
        let now = Instant::now();
        alarm.set(Timer::Deadline, now, 10);
        alarm.set(Timer::Deadline, now, 900);
        assert_eq!(alarm.due(now + Duration::from_millis(800)), None);
        assert_eq!(alarm.remaining_ms(&Timer::Deadline, now), Some(900));
        alarm.clear(&Timer::Deadline);
        assert_eq!(alarm.next(), None);
        assert_eq!(alarm.all(now).count(), 0);
    }
}
