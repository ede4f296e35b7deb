//! The wall clock of this machine.

use jiff::Timestamp;

use crate::engine::ports::Clock;

/// Reads the system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> String {
        Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
            .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_is_written_with_milliseconds_in_utc() {
        let now = SystemClock.now();
        assert_eq!(now.len(), "2026-11-30T12:00:00.000Z".len(), "{now}");
        assert!(now.ends_with('Z'));
        now.parse::<Timestamp>().expect("RFC 3339");
    }
}
