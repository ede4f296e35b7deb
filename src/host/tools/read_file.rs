//! `read_file`: the content of a file inside the workspace.

use std::io::{self, Read};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine::capability::{
    Acknowledge, Capability, Commitment, Contract, Idempotency, Reversibility, SideEffects,
};
use crate::engine::ports::{ToolContext, ToolOutcome};
use crate::host::tools::{Tool, blocking, parsed};
use crate::host::workspace::Workspace;

/// What is read where a call doesn't say, in bytes.
const READ_BYTES: u64 = 1024 * 1024;
/// The most that a call may ask for, in bytes: what is read is held in memory.
const MAX_READ_BYTES: u64 = 64 * 1024 * 1024;

pub(super) struct ReadFile {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    max_bytes: Option<u64>,
}

impl ReadFile {
    pub(super) fn of(workspace: Workspace) -> Self {
        Self { workspace }
    }
}

impl Tool for ReadFile {
    fn capability(&self) -> Capability {
        Capability {
            name: "read_file".to_owned(),
            description: "Reads a file of the workspace. Gives its text, or base64 where it is no \
                          UTF-8, its whole size in bytes, and whether all of it was read."
                .to_owned(),
            schema: json!({
                "type": "object",
                "required": ["path"],
                "additionalProperties": false,
                "properties": {
                    "path": {
                        "type": "string",
                        "minLength": 1,
                        "description": "Path of the file, relative to the workspace.",
                    },
                    "max_bytes": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_READ_BYTES,
                        "default": READ_BYTES,
                        "description": "Read at most this many bytes.",
                    },
                },
            }),
            contract: Some(Contract {
                authority: Some("read inside the workspace".to_owned()),
                side_effects: SideEffects::None,
                commitment: Commitment::None,
                idempotency: Idempotency::Idempotent,
                reversibility: Reversibility::Reversible,
                concurrency: None,
                verification_hints: Vec::new(),
                acknowledge: Acknowledge::NotRequired,
            }),
        }
    }

    fn call(&self, args: Value, _context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let workspace = self.workspace.clone();
        blocking(move || {
            let Args { path, max_bytes } = parsed(args)?;
            let file = workspace
                .open_file(&path)
                .map_err(|error| error.to_string())?;
            let length = file
                .metadata()
                .map_err(|error| format!("{path:?}: {error}"))?
                .len();
            read(file, length, max_bytes.unwrap_or(READ_BYTES))
                .map_err(|error| format!("{path:?}: {error}"))
        })
    }
}

fn read(mut file: impl Read, length: u64, max_bytes: u64) -> io::Result<Value> {
    let mut content = Vec::new();
    file.by_ref().take(max_bytes).read_to_end(&mut content)?;
    // The end is where reading ends, whatever the length said before.
    let complete = file.read(&mut [0])? == 0;
    let bytes = if complete {
        content.len() as u64
    } else {
        length.max(content.len() as u64 + 1)
    };
    Ok(match text(content, complete) {
        Ok(text) => json!({ "text": text, "bytes": bytes, "complete": complete }),
        Err(content) => {
            json!({ "base64": base64(&content), "bytes": bytes, "complete": complete })
        }
    })
}

/// The content as text, or the content. A character that the limit cut in two is left out.
fn text(content: Vec<u8>, complete: bool) -> Result<String, Vec<u8>> {
    String::from_utf8(content).or_else(|error| {
        let cut = error.utf8_error();
        let whole = cut.valid_up_to();
        let mut content = error.into_bytes();
        if complete || cut.error_len().is_some() || whole == 0 {
            return Err(content);
        }
        content.truncate(whole);
        String::from_utf8(content).map_err(|error| error.into_bytes())
    })
}

/// RFC 4648 with padding.
fn base64(content: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(content.len().div_ceil(3) * 4);
    for group in content.chunks(3) {
        let byte = |n: usize| u32::from(group.get(n).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for n in 0..4 {
            if n > group.len() {
                text.push('=');
            } else {
                let digit = bits >> (18 - 6 * n) & 0x3f;
                text.push(char::from(DIGITS[digit as usize]));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content: &[u8], max_bytes: u64) -> Value {
        read(content, content.len() as u64, max_bytes).expect("read")
    }

    #[test]
    fn a_whole_file_is_complete_and_a_part_says_the_true_size() {
        assert_eq!(
            of(b"abc", 3),
            json!({"text": "abc", "bytes": 3, "complete": true})
        );
        assert_eq!(
            of(b"abc", 2),
            json!({"text": "ab", "bytes": 3, "complete": false})
        );
        assert_eq!(
            of(b"", 1),
            json!({"text": "", "bytes": 0, "complete": true})
        );
    }

    #[test]
    fn a_character_cut_by_the_limit_does_not_turn_text_into_bytes() {
        assert_eq!(
            of("aé".as_bytes(), 2),
            json!({"text": "a", "bytes": 3, "complete": false})
        );
    }

    #[test]
    fn what_is_no_text_comes_as_base64() {
        assert_eq!(
            of(b"\xff\xfe", 9),
            json!({"base64": "//4=", "bytes": 2, "complete": true})
        );
    }

    // RFC 4648, section 10
    #[test]
    fn base64_matches_the_published_examples() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }
}
