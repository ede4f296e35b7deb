//! SHA-256 digests and the canonical JSON they are taken of.
//!
//! `serde_json` keeps object keys sorted here (the `preserve_order` feature stays off), so the
//! compact text of a value is its canonical form.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written as 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// The text is not 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a sha256 digest has 64 lower-case hex digits, not {0:?}")]
pub struct BadDigest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of a value's canonical JSON.
    pub fn of_json(value: &Value) -> Self {
        Self::of(value.to_string().as_bytes())
    }

    /// Takes the result of a hash that was computed while streaming.
    pub fn from_sha256(hash: Sha256) -> Self {
        Self(hash.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = BadDigest;

    fn try_from(text: String) -> Result<Self, BadDigest> {
        let digits = text.as_bytes();
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return Err(BadDigest(text));
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            match (value(pair[0]), value(pair[1])) {
                (Some(high), Some(low)) => *byte = high << 4 | low,
                _ => return Err(BadDigest(text)),
            }
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_survives_being_written_and_read() {
        let digest = Digest::of(b"abc");
        assert_eq!(
            digest.to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(Digest::try_from(digest.to_string()), Ok(digest));
    }

    #[test]
    fn text_that_is_no_digest_is_refused() {
        assert!(Digest::try_from("A".repeat(64)).is_err());
        assert!(Digest::try_from("é".repeat(32)).is_err());
        assert!(Digest::try_from(String::new()).is_err());
    }

    #[test]
    fn equal_objects_have_equal_digests_whatever_the_order_of_their_keys() {
        let one: Value = serde_json::from_str(r#"{"b":1,"a":2}"#).expect("json");
        let two: Value = serde_json::from_str(r#"{"a":2,"b":1}"#).expect("json");
        assert_eq!(Digest::of_json(&one), Digest::of_json(&two));
    }
}
