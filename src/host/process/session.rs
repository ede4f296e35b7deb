//! Ends what is left of a command's session: background jobs of a shell with job control stand in
//! groups of their own, so ending the command's group doesn't reach them.
//!
//! Only Linux tells which processes belong to a session; elsewhere the group is all that is ended. A
//! process that began a session of its own has left for good.

use rustix::process::Pid;
#[cfg(target_os = "linux")]
use rustix::process::Signal;

/// How often the processes are looked through: one may start another while they are ended.
#[cfg(target_os = "linux")]
const ROUNDS: usize = 4;

/// Ends every process of the session that this one led.
#[cfg(target_os = "linux")]
pub(super) fn end(leader: Pid) {
    for _ in 0..ROUNDS {
        let members: Vec<Pid> = processes()
            .filter(|&pid| session_of(pid) == Some(leader))
            .collect();
        if members.is_empty() {
            return;
        }
        for member in members {
            // One that has ended meanwhile is no error.
            let _ = rustix::process::kill_process(member, Signal::KILL);
        }
    }
}

/// Nothing more is known here.
#[cfg(not(target_os = "linux"))]
pub(super) fn end(_leader: Pid) {}

/// Every process that can be seen; none where they can't, or where their numbers are those of another
/// namespace than ours and would hit somebody else.
#[cfg(target_os = "linux")]
fn processes() -> impl Iterator<Item = Pid> {
    let ours = std::fs::read_link("/proc/self");
    let are_ours = ours.is_ok_and(|own| own.as_os_str() == &*std::process::id().to_string());
    let entries = are_ours.then(|| std::fs::read_dir("/proc").ok()).flatten();
    let entries = entries.into_iter().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?))
}

/// The session of a process that still runs; its name may hold anything, so what comes after counts.
#[cfg(target_os = "linux")]
fn session_of(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let after = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = std::str::from_utf8(stat.get(after + 1..)?)
        .ok()?
        .split_whitespace();
    // State, parent, group, session.
    match fields.next()? {
        "Z" | "X" => None,
        _ => Pid::from_raw(fields.nth(2)?.parse().ok()?),
    }
}
