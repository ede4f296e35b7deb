//! `file` checks: a file is there and is what it should be. Large files are streamed.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::engine::digest::Digest;
use crate::engine::verify::Finding;
use crate::host::checks::{blocked, uncertain, waiting};
use crate::host::workspace::{Workspace, WorkspaceError};

/// A file is read in pieces of this size, in bytes.
const CHUNK: usize = 64 * 1024;

/// What a file should be.
pub(super) struct Wanted {
    pub(super) path: String,
    pub(super) sha256: Option<String>,
    pub(super) contains: Option<String>,
    pub(super) min_bytes: Option<u64>,
}

/// What a file is.
struct Found {
    bytes: u64,
    sha256: Digest,
    contains: bool,
}

pub(super) fn find(workspace: &Workspace, wanted: &Wanted, stop: &CancellationToken) -> Finding {
    let file = match workspace.open_file(&wanted.path) {
        Ok(file) => file,
        Err(WorkspaceError::Absent(_)) => return waiting("it isn't there yet"),
        Err(error @ WorkspaceError::NotAFile { .. }) => return blocked(error.to_string()),
        Err(error) => return uncertain(error.to_string()),
    };
    let needs_content = wanted.sha256.is_some() || wanted.contains.is_some();
    let found = if needs_content {
        let needle = wanted.contains.as_deref().unwrap_or_default();
        read(file, needle.as_bytes(), stop)
    } else {
        file.metadata().map(|metadata| Found {
            bytes: metadata.len(),
            sha256: Digest::of(b""),
            contains: true,
        })
    };
    match found {
        Ok(found) => judge(wanted, &found),
        Err(error) => uncertain(format!("it can't be read: {error}")),
    }
}

fn judge(wanted: &Wanted, found: &Found) -> Finding {
    let mut wrong = Vec::new();
    if let Some(least) = wanted.min_bytes
        && found.bytes < least
    {
        wrong.push(format!(
            "it has {} bytes, not at least {least}",
            found.bytes
        ));
    }
    if let Some(sha256) = &wanted.sha256
        && !found.sha256.to_string().eq_ignore_ascii_case(sha256)
    {
        wrong.push(format!("its sha256 is {}", found.sha256));
    }
    if let Some(text) = &wanted.contains
        && !found.contains
    {
        wrong.push(format!("it doesn't contain {text:?}"));
    }
    if wrong.is_empty() {
        Finding::Verified
    } else {
        blocked(wrong.join(", "))
    }
}

/// Reads to the end, looking for a text on the way.
fn read(mut file: impl Read, needle: &[u8], stop: &CancellationToken) -> io::Result<Found> {
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut contains = needle.is_empty();
    // The last piece's end stands before the next piece, so that nothing is missed between them.
    let mut window = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        if stop.is_cancelled() {
            return Err(io::Error::other("the look is over"));
        }
        let read = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => &chunk[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(read);
        bytes += read.len() as u64;
        if !contains {
            window.extend_from_slice(read);
            contains = window.windows(needle.len()).any(|part| part == needle);
            let kept = window.len().min(needle.len() - 1);
            window.drain(..window.len() - kept);
        }
    }
    Ok(Found {
        bytes,
        sha256: Digest::from_sha256(hash),
        contains,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (given, rest) = self.0.split_at(self.0.len().min(self.1));
            buffer[..given.len()].copy_from_slice(given);
            self.0 = rest;
            Ok(given.len())
        }
    }

    #[test]
    fn a_text_is_found_wherever_the_pieces_end() {
        for size in 1..8 {
            let found = |needle: &str| {
                let stop = CancellationToken::new();
                read(Drip(b"aabaabaac", size), needle.as_bytes(), &stop).expect("read")
            };
            assert!(found("aabaac").contains, "{size}");
            assert!(found("").contains);
            assert!(!found("aabb").contains);
            assert!(!found("aabaabaacc").contains);
            assert_eq!(found("x").bytes, 9);
            assert_eq!(found("x").sha256, Digest::of(b"aabaabaac"));
        }
    }

    #[test]
    fn reading_stops_when_nobody_waits_for_it() {
        let stop = CancellationToken::new();
        stop.cancel();
        assert!(read(io::repeat(0), b"x", &stop).is_err());
    }
}
