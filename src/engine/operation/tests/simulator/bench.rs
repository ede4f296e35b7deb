//! What a council may do, by its strategy (G11), and an independent count of its votes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::engine::operation::outcome::Verdict as Said;
use crate::engine::operation::tests::simulator::invariants::{Verdict, ensure};
use crate::engine::operation::tests::simulator::replies::Role;
use crate::engine::operation::tests::simulator::runs::{End, LapKey, Run, Runs};
use crate::engine::operation::tests::simulator::world::{Bench, Strategy};

/// A run of a council is called for the first time; its message repeats these numbers.
pub(super) fn opens(
    runs: &mut Runs,
    bench: &Bench,
    lap: &LapKey,
    agent: &str,
    role: &Role,
    told: &[u64],
) -> Verdict {
    let wrong = |why: &str| Err(format!("`{agent}` as {role:?} in {lap:?}: {why}"));
    let is_vote = bench.strategy == Strategy::Vote;
    let asks = match bench.strategy {
        Strategy::Dynamic => bench.members.as_slice(),
        Strategy::Broadcast | Strategy::RoundRobin | Strategy::Decompose | Strategy::Vote => &[],
    };
    match role {
        Role::Assign { .. } | Role::Route { .. } if agent != bench.leader => {
            return wrong("it doesn't lead");
        }
        Role::Say | Role::Vote if !bench.members.contains(&agent) => {
            return wrong("it is no member");
        }
        Role::Vote if !is_vote => return wrong("nobody votes"),
        Role::Say if is_vote => return wrong("it has to vote"),
        Role::Route { asks: may, .. } if may != asks => return wrong("it may ask others"),
        Role::Assign { members } if *members != bench.members => return wrong("others sit there"),
        Role::Assign { .. } | Role::Route { .. } | Role::Say | Role::Vote => {}
    }
    let so_far: Vec<&Run> = runs.of(lap).collect();
    let members: Vec<&str> = so_far
        .iter()
        .filter(|run| !run.leads())
        .map(|run| run.agent.as_str())
        .collect();
    let leads = so_far
        .iter()
        .any(|run| matches!(run.role, Role::Route { .. }));
    let assigned = so_far.iter().find_map(|run| match run.end {
        Some(End::Assigned(number)) => Some(number),
        Some(End::Said(_) | End::Voted(..) | End::Routed(..)) | None => None,
    });
    let gave: Vec<u64> = so_far.iter().filter_map(|run| run.gave()).collect();
    let mut expected: BTreeSet<u64> = BTreeSet::new();
    let may = match (role, bench.strategy) {
        (Role::Assign { .. }, strategy) => strategy == Strategy::Decompose && so_far.is_empty(),
        (Role::Route { .. }, Strategy::Dynamic) => so_far.is_empty(),
        (Role::Route { must, .. }, strategy) => {
            expected.extend(&gave);
            let everybody: BTreeSet<&str> = bench.members.iter().copied().collect();
            let came: BTreeSet<&str> = members.iter().copied().collect();
            let must_be = (strategy == Strategy::Vote).then(|| counted(runs, bench, lap));
            // A leader alone is no council.
            everybody == came && !gave.is_empty() && !leads && *must == must_be
        }
        (Role::Say, Strategy::Dynamic) => {
            let is_asked = leads && members.len() < bench.max_calls;
            // The leader's own question, asked once.
            is_asked && told.len() == 1 && !so_far.iter().any(|run| run.is_asked)
        }
        (Role::Say | Role::Vote, strategy) => {
            let is_next = match strategy {
                Strategy::RoundRobin => {
                    expected.extend(&gave);
                    bench.members.get(members.len()) == Some(&agent)
                }
                Strategy::Broadcast | Strategy::Decompose | Strategy::Vote | Strategy::Dynamic => {
                    !members.contains(&agent)
                }
            };
            let is_sent = match strategy {
                // Its own part, and nobody else's.
                Strategy::Decompose => told.len() == 1 && assigned == told.first().copied(),
                Strategy::Broadcast | Strategy::RoundRobin | Strategy::Vote | Strategy::Dynamic => {
                    true
                }
            };
            is_next && is_sent && !leads
        }
    };
    if !may {
        return wrong(&format!("after {so_far:?}"));
    }
    let is_own_word =
        *role == Role::Say && matches!(bench.strategy, Strategy::Decompose | Strategy::Dynamic);
    // A leader may be reminded of the parts that it gave.
    let is_reminded =
        |number: &&u64| matches!(role, Role::Route { .. }) && assigned == Some(**number);
    let told: BTreeSet<u64> = told.iter().filter(|it| !is_reminded(it)).copied().collect();
    if !is_own_word && told != expected {
        return wrong(&format!("it is told {told:?}, not {expected:?}"));
    }
    // Whoever comes after the others have ended ends them.
    let ends_members = match (role, bench.strategy) {
        (Role::Route { .. } | Role::Assign { .. }, _) => true,
        (Role::Say | Role::Vote, Strategy::RoundRobin | Strategy::Dynamic) => true,
        (Role::Say | Role::Vote, Strategy::Broadcast | Strategy::Decompose | Strategy::Vote) => {
            false
        }
    };
    match ends_members {
        true => end_members(runs, lap),
        false => Ok(()),
    }
}

/// A run of a council goes on: a leader whose members have answered.
pub(super) fn goes_on(runs: &mut Runs, bench: &Bench, lap: &LapKey, role: &Role) -> Verdict {
    match (role, bench.strategy) {
        (Role::Route { .. }, Strategy::Dynamic) => end_members(runs, lap),
        _ => Ok(()),
    }
}

/// No member says anything from here on; nobody of them may be at work.
fn end_members(runs: &mut Runs, lap: &LapKey) -> Verdict {
    let ids = runs.laps.get(lap).cloned().unwrap_or_default();
    for id in ids {
        let run = runs.runs.get_mut(&id).expect("laps name known runs");
        if !run.leads() {
            ensure(!run.is_asked, || format!("{run:?} is still at work"))?;
            run.is_over = true;
        }
    }
    Ok(())
}

/// The votes of a lap's members, counted anew: pass needs more than half of all members.
fn counted(runs: &Runs, bench: &Bench, lap: &LapKey) -> Said {
    match votes(runs, lap, Said::Pass) * 2 > bench.members.len() {
        true => Said::Pass,
        false => Said::Fail,
    }
}

fn votes(runs: &Runs, lap: &LapKey, wanted: Said) -> usize {
    let voted = |run: &&Run| matches!(run.end, Some(End::Voted(verdict, _)) if verdict == wanted);
    runs.of(lap).filter(voted).count()
}

/// A council's verdict is known.
pub(super) fn settles(
    runs: &Runs,
    bench: &Bench,
    lap: &LapKey,
    said: Said,
    data: &Value,
) -> Verdict {
    if bench.strategy == Strategy::Vote {
        let counted = counted(runs, bench, lap);
        ensure(said == counted, || {
            format!("{lap:?} is {said:?}, the vote {counted:?}")
        })?;
        let tally = serde_json::json!({
            "members": bench.members.len(),
            "pass": votes(runs, lap, Said::Pass),
            "fail": votes(runs, lap, Said::Fail),
        });
        ensure(data["tally"] == tally, || {
            format!("{} is told of {tally}", data["tally"])
        })?;
    }
    let members: Vec<&Run> = runs.of(lap).filter(|run| !run.leads()).collect();
    let came: BTreeSet<&str> = members.iter().map(|run| run.agent.as_str()).collect();
    let gave = members.iter().any(|run| run.gave().is_some());
    ensure(gave || came.len() < bench.members.len(), || {
        format!("{lap:?} is {said:?}, and no member gave anything")
    })?;
    let told = data["contributions"].as_array().map_or(0, Vec::len);
    ensure(told == members.len(), || {
        format!("{told} contributions of {} runs in {lap:?}", members.len())
    })
}

/// Every contribution that is told is what a run of this lap gave, each once.
pub(super) fn account(runs: &Runs, lap: &LapKey, data: &Value) -> Verdict {
    let ids = runs.laps.get(lap).cloned().unwrap_or_default();
    let of_lap: BTreeMap<String, &Run> = ids
        .iter()
        .map(|id| (id.to_string(), &runs.runs[id]))
        .collect();
    let mut seen = BTreeSet::new();
    for told in data["contributions"].as_array().into_iter().flatten() {
        let run = told["run"].as_str().and_then(|id| of_lap.get(id));
        let run = run.ok_or_else(|| format!("{told} is of no run of {lap:?}"))?;
        let text = |field: &str| told[field].as_str().map(str::to_owned);
        let word = |number: &u64| Some(format!("said-{number}"));
        let is_told = match &run.end {
            Some(End::Said(number)) => text("said") == word(number),
            Some(End::Voted(verdict, number)) => {
                let vote = text("vote");
                vote.as_deref() == Some(verdict.label()) && text("reasoning") == word(number)
            }
            Some(End::Assigned(_) | End::Routed(..)) => false,
            None => text("failed").is_some(),
        };
        let is_of = told["member"] == run.agent && !run.leads();
        ensure(is_told && is_of, || format!("{told} is told of {run:?}"))?;
        ensure(seen.insert(told["run"].to_string()), || {
            format!("{told} is told twice")
        })?;
    }
    Ok(())
}
