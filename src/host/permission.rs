//! What a person must be asked before a tool is called (M6).
//!
//! Memory and synthetic tools are always allowed: they touch nothing outside the operation. Reads
//! are allowed unless the settings say otherwise, since the workspace bounds them anyway. The rest
//! asks. Whether a path lies inside is the workspace's to say, how a person is asked the front end's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::ports::Permission;

/// What happens when a tool is to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// It is called.
    Allow,
    /// A person is asked.
    Ask,
    /// It isn't called.
    Deny,
}

/// The policies of one host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permissions {
    chosen: BTreeMap<String, Policy>,
}

/// Whether nobody can forbid or question a tool.
pub fn is_always_allowed(tool: &str) -> bool {
    tool.starts_with("memory_") || tool.starts_with("synthetic_")
}

impl Permissions {
    /// Takes the settings' policies, by tool.
    pub fn of(chosen: BTreeMap<String, Policy>) -> Self {
        Self { chosen }
    }

    /// Allows these tools, whatever the settings say: `--allow TOOL`.
    pub fn allowing<'a>(mut self, tools: impl IntoIterator<Item = &'a str>) -> Self {
        for tool in tools {
            self.chosen.insert(tool.to_owned(), Policy::Allow);
        }
        self
    }

    /// The policy of a tool.
    pub fn policy(&self, tool: &str) -> Policy {
        if is_always_allowed(tool) {
            return Policy::Allow;
        }
        match self.chosen.get(tool) {
            Some(policy) => *policy,
            None if matches!(tool, "read_file" | "list_dir" | "search_text") => Policy::Allow,
            None => Policy::Ask,
        }
    }

    /// The policy as the engine is told it.
    pub fn permission(&self, tool: &str) -> Permission {
        match self.policy(tool) {
            Policy::Allow => Permission::Allow,
            Policy::Ask => Permission::Ask {
                reason: format!("allow this call, or start with --allow {tool}"),
            },
            Policy::Deny => Permission::Deny {
                reason: format!("the settings deny {tool}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(chosen: &[(&str, Policy)]) -> Permissions {
        let chosen = chosen
            .iter()
            .map(|(tool, policy)| ((*tool).to_owned(), *policy));
        Permissions::of(chosen.collect())
    }

    // M6
    #[test]
    fn reads_memory_and_synthetic_tools_are_allowed_and_the_rest_asks() {
        let permissions = permissions(&[]);
        for tool in [
            "read_file",
            "list_dir",
            "search_text",
            "memory_set",
            "synthetic_submit",
        ] {
            assert_eq!(permissions.permission(tool), Permission::Allow, "{tool}");
        }
        for tool in ["write_file", "run_command", "http_request", "server.tool"] {
            assert_eq!(permissions.policy(tool), Policy::Ask, "{tool}");
        }
    }

    // M6
    #[test]
    fn settings_choose_and_the_flag_allows() {
        let chosen = permissions(&[
            ("write_file", Policy::Allow),
            ("run_command", Policy::Deny),
            ("read_file", Policy::Ask),
            ("memory_set", Policy::Deny),
        ]);
        assert_eq!(chosen.policy("write_file"), Policy::Allow);
        assert_eq!(chosen.policy("run_command"), Policy::Deny);
        assert_eq!(chosen.policy("read_file"), Policy::Ask);
        assert_eq!(chosen.policy("memory_set"), Policy::Allow);
        let chosen = chosen.allowing(["run_command"]);
        assert_eq!(chosen.policy("run_command"), Policy::Allow);
    }
}
