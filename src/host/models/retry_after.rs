//! Reads `Retry-After`, in seconds or as a date (M2).

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// How long the header asks to wait; `None` where it can't be read. A date in the past is no wait.
pub(crate) fn read(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    seconds(value).or_else(|| date(value, now))
}

fn seconds(value: &str) -> Option<Duration> {
    // Whole seconds are the standard; some servers write a fraction. Signs, exponents and words
    // such as `inf`, which the number parser takes, are none.
    let plain = value.chars().all(|c| c.is_ascii_digit() || c == '.');
    let seconds: f64 = value.parse().ok().filter(|_| plain)?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn date(value: &str, now: Timestamp) -> Option<Duration> {
    let at = DateTimeParser::new().parse_timestamp(value).ok()?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_noon(value: &str) -> Option<Duration> {
        read(value, "1994-11-06T08:49:30Z".parse().expect("timestamp"))
    }

    #[test]
    fn seconds_and_dates_are_read() {
        assert_eq!(at_noon("7"), Some(Duration::from_secs(7)));
        assert_eq!(at_noon(" 0 "), Some(Duration::ZERO));
        assert_eq!(at_noon("1.5"), Some(Duration::from_millis(1500)));
        assert_eq!(
            at_noon("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(Duration::from_secs(7))
        );
    }

    #[test]
    fn a_date_in_the_past_is_no_wait() {
        assert_eq!(
            at_noon("Sun, 06 Nov 1994 08:00:00 GMT"),
            Some(Duration::ZERO)
        );
    }

    #[test]
    fn a_number_of_any_size_is_a_long_wait_not_an_error() {
        assert_eq!(at_noon(&"9".repeat(400)), Some(Duration::MAX));
    }

    #[test]
    fn anything_else_is_unreadable() {
        for value in ["", "soon", "-1", "inf", "NaN", "1e3", "1.2.3", "."] {
            assert_eq!(at_noon(value), None, "{value}");
        }
    }
}
