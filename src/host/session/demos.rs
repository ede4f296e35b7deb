//! The demo routines, built in, so that they run from any folder (T3, G13).

/// A routine that ships with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demo {
    /// Its slug.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Its file.
    pub file: &'static str,
}

macro_rules! demos {
    ($($name:literal: $about:literal,)*) => {
        &[$(Demo {
            name: $name,
            about: $about,
            file: include_str!(concat!("../../../demo-routines/", $name, ".yaml")),
        },)*]
    };
}

/// Every demo; the first one is the default.
pub const DEMOS: &[Demo] = demos! {
    "verified-submission": "submit once, wait, verify, write the artifact",
    "checks-and-operator": "checks, a person and final checks decide",
    "gated-rework": "a gate sends work back, at most twice",
    "fan-out-join": "branches side by side and their join",
    "linear": "one step after the other",
    "review-council": "three reviewers vote, a gate decides",
    "map-fold-until": "the same work for each item, or until it is good",
};

/// A demo by its name.
pub fn find(name: &str) -> Option<&'static Demo> {
    DEMOS.iter().find(|demo| demo.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::routine::load;
    use crate::host::session::known;

    /// G13
    #[test]
    fn each_demo_loads_under_its_own_name() {
        for demo in DEMOS {
            let loaded = load(demo.file.as_bytes(), &known([].iter()));
            let routine = loaded.routine.expect(demo.name);
            assert_eq!(routine.definition.slug, demo.name);
            assert!(routine.unsupported.is_empty());
            assert_eq!(find(demo.name), Some(demo));
        }
    }
}
