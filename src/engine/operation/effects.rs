//! The account of what may have been done outside (L5).
//!
//! It never claims to know whether an external action happened (V31): a dispatched call counts from
//! its dispatch on, whatever came of it.

use std::collections::BTreeMap;

use crate::engine::capability::{Capability, Commitment, EffectClass, Reversibility};
use crate::engine::evidence::Place;

/// What was dispatched so far.
#[derive(Debug, Clone, Default)]
pub(super) struct EffectAccount {
    class: EffectClass,
    required: BTreeMap<(String, String), String>,
}

impl EffectAccount {
    /// A call is about to be dispatched.
    pub(super) fn dispatched(&mut self, tool: &Capability, place: &Place) {
        if tool.side_effects().any() {
            self.class = self.class.max(EffectClass::AfterPartialEffects);
            self.required.insert(
                (place.step.clone(), tool.name.clone()),
                requirement(tool, place),
            );
        }
    }

    /// A dispatched call has settled.
    pub(super) fn settled(&mut self, tool: &Capability) {
        match tool.commitment() {
            Commitment::Commits => self.class = self.class.max(EffectClass::AfterCommitment),
            Commitment::None | Commitment::Unknown => {}
        }
    }

    /// The worst so far.
    pub(super) fn class(&self) -> EffectClass {
        self.class
    }

    /// What somebody now has to verify or take back, for people.
    pub(super) fn required(&self) -> Vec<String> {
        self.required.values().cloned().collect()
    }
}

fn requirement(tool: &Capability, place: &Place) -> String {
    let Place { step, lap, .. } = place;
    let name = &tool.name;
    let (reversibility, hints) = match &tool.contract {
        Some(contract) => (
            contract.reversibility,
            contract.verification_hints.as_slice(),
        ),
        None => (Reversibility::Unknown, [].as_slice()),
    };
    let mut text = format!("verify what `{name}` did in step `{step}` (lap {lap})");
    if let Some(hint) = hints.first() {
        text.push_str(": ");
        text.push_str(hint);
    }
    text.push_str(match reversibility {
        Reversibility::Reversible => "; take it back if it should not stay",
        Reversibility::Irreversible => "; it can't be taken back",
        Reversibility::Unknown => "; whether it can be taken back is not known",
    });
    text
}
