//! What people are told about a provider: short, without control characters, without the key.
//!
//! The exact bytes stay in the reply; this is only the sentence beside them (M4).

use bytes::Bytes;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// Characters of a provider's own words that are repeated.
const SHOWN_CHARS: usize = 300;
/// Bytes of a body that are looked at for a provider's own words.
const LOOKED_AT_BYTES: usize = 64 * 1024;
/// Keys shorter than this are dummies for local servers; their letters may stand anywhere.
const SECRET_BYTES: usize = 8;

/// One line of text from outside, cleaned and cut at a character.
pub(crate) fn line(text: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !shown.is_empty() {
            shown.push(' ');
            count += 1;
        }
        for c in word.chars().filter(|c| !is_hidden(*c)) {
            if count >= SHOWN_CHARS {
                shown.push('…');
                return shown;
            }
            shown.push(c);
            count += 1;
        }
    }
    shown
}

/// Characters that change how others are shown: bidi controls, zero-width, tags.
fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// What a provider says about an error in this body, as far as it can be found.
pub(crate) fn provider_message(body: &[u8]) -> String {
    let body = body.get(..LOOKED_AT_BYTES).unwrap_or(body);
    match serde_json::from_slice::<Value>(body) {
        Ok(json) => line(error_text(&json).unwrap_or_default()),
        Err(_) => line(&String::from_utf8_lossy(body)),
    }
}

/// The text of an error object, in the forms that providers use.
pub(crate) fn error_text(json: &Value) -> Option<&str> {
    // Gemini's compatibility endpoint wraps its error in a list.
    let json = json.get(0).unwrap_or(json);
    let error = json.get("error");
    [
        error.and_then(|error| error.get("message")),
        error,
        json.get("message"),
        json.get("detail"),
    ]
    .into_iter()
    .flatten()
    .find_map(Value::as_str)
}

/// Overwrites every occurrence of the key, keeping the length: a provider that echoes it must not
/// bring it into the records (M4).
pub(crate) fn mask(bytes: Vec<u8>, secret: Option<&SecretString>) -> Bytes {
    let mut bytes = bytes;
    let key = secret.map(|secret| secret.expose_secret().trim().as_bytes());
    if let Some(key) = key.filter(|key| key.len() >= SECRET_BYTES) {
        let mut at = 0;
        while let Some(window) = bytes.get(at..at + key.len()) {
            if window == key {
                bytes[at..at + key.len()].fill(b'*');
                at += key.len();
            } else {
                at += 1;
            }
        }
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_one_clean_bounded_line() {
        assert_eq!(line(" a\u{1b}[31m\n\tb\u{202e}c  "), "a [31m bc");
        let long = "é".repeat(1000);
        assert_eq!(line(&long).chars().count(), SHOWN_CHARS + 1);
    }

    #[test]
    fn the_providers_own_words_are_found_in_every_form() {
        for body in [
            r#"{"error":{"message":"no"}}"#,
            r#"{"error":"no"}"#,
            r#"{"message":"no"}"#,
            r#"{"detail":"no"}"#,
            r#"[{"error":{"message":"no"}}]"#,
            "no",
        ] {
            assert_eq!(provider_message(body.as_bytes()), "no", "{body}");
        }
        assert_eq!(provider_message(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn an_echoed_key_is_overwritten_in_place() {
        let key = SecretString::from("sk-0123456789");
        let masked = mask(b"bad key sk-0123456789!sk-0123456789".to_vec(), Some(&key));
        assert_eq!(&masked[..], b"bad key *************!*************");
    }

    #[test]
    fn dummy_keys_leave_answers_alone() {
        let key = SecretString::from("ollama");
        assert_eq!(&mask(b"use ollama".to_vec(), Some(&key))[..], b"use ollama");
    }
}
