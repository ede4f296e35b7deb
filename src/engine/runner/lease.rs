//! Agents that a host lends: one operation at a time, all it needs or none (V16).
//!
//! A lease is only a name in a table. The agents themselves stay with the host, which asks
//! [`AgentLeases::try_use`] before it does anything with one of them on its own account.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::engine::id::OperationId;

/// Who has which lent agent. Cheap to clone; runners of one host share it.
#[derive(Debug, Clone, Default)]
pub struct AgentLeases {
    table: Arc<Mutex<BTreeMap<String, Holder>>>,
}

/// Who has an agent right now. Agents that nobody has don't stand in the table.
#[derive(Debug, PartialEq)]
enum Holder {
    /// One operation, from its start to its cleanup.
    Operation(OperationId),
    /// So many ordinary callers.
    Callers(usize),
}

/// An agent can't be had. Nothing was dispatched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseRefused {
    /// An operation has it, active or paused.
    #[error("agent {agent} is leased to operation {operation}")]
    Leased {
        /// The agent.
        agent: String,
        /// Who has it.
        operation: OperationId,
    },
    /// The host uses it for something of its own.
    #[error("agent {agent} is in use outside of operations")]
    InUse {
        /// The agent.
        agent: String,
    },
}

impl AgentLeases {
    /// A table in which nothing is leased.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leases all of `agents` to an operation, or none of them.
    pub fn take(
        &self,
        operation: &OperationId,
        agents: impl IntoIterator<Item = String>,
    ) -> Result<Lease, LeaseRefused> {
        let agents: Vec<String> = agents.into_iter().collect();
        let mut table = self.table();
        for agent in &agents {
            match table.get(agent) {
                None => {}
                Some(holder) => return Err(holder.refuses(agent)),
            }
        }
        for agent in &agents {
            table.insert(agent.clone(), Holder::Operation(operation.clone()));
        }
        Ok(Lease {
            leases: self.clone(),
            agents,
        })
    }

    /// Lets an ordinary caller use an agent while the answer is held: a run, a stream, a direct or a
    /// maintenance call. Fails, naming the operation, while the agent is leased.
    pub fn try_use(&self, agent: &str) -> Result<Use, LeaseRefused> {
        let mut table = self.table();
        match table.get_mut(agent) {
            None => {
                table.insert(agent.to_owned(), Holder::Callers(1));
            }
            Some(Holder::Callers(callers)) => *callers += 1,
            Some(holder @ Holder::Operation(_)) => return Err(holder.refuses(agent)),
        }
        Ok(Use {
            leases: self.clone(),
            agent: agent.to_owned(),
        })
    }

    /// The operation that has an agent.
    pub fn holder(&self, agent: &str) -> Option<OperationId> {
        match self.table().get(agent) {
            Some(Holder::Operation(operation)) => Some(operation.clone()),
            Some(Holder::Callers(_)) | None => None,
        }
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<String, Holder>> {
        // Nothing panics while the table is locked, so a poisoned one is still whole.
        self.table
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Holder {
    fn refuses(&self, agent: &str) -> LeaseRefused {
        let agent = agent.to_owned();
        match self {
            Self::Operation(operation) => LeaseRefused::Leased {
                agent,
                operation: operation.clone(),
            },
            Self::Callers(_) => LeaseRefused::InUse { agent },
        }
    }
}

/// Agents leased to one operation; dropping it gives them back, exactly once.
#[derive(Debug)]
#[must_use]
pub struct Lease {
    leases: AgentLeases,
    agents: Vec<String>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut table = self.leases.table();
        for agent in &self.agents {
            table.remove(agent);
        }
    }
}

/// An agent in an ordinary caller's hands; dropping it ends the use.
#[derive(Debug)]
#[must_use]
pub struct Use {
    leases: AgentLeases,
    agent: String,
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut table = self.leases.table();
        match table.get_mut(&self.agent) {
            Some(Holder::Callers(callers)) if *callers > 1 => *callers -= 1,
            Some(Holder::Callers(_)) => {
                table.remove(&self.agent);
            }
            Some(Holder::Operation(_)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_lease_takes_all_agents_or_none() {
        let leases = AgentLeases::new();
        let first = leases
            .take(&"op-1".into(), names(&["default"]))
            .expect("free");
        let refused = leases.take(&"op-2".into(), names(&["writer", "default"]));
        assert_eq!(
            refused.expect_err("leased").to_string(),
            "agent default is leased to operation op-1"
        );
        assert_eq!(leases.holder("writer"), None);
        drop(first);
        assert!(
            leases
                .take(&"op-2".into(), names(&["writer", "default"]))
                .is_ok()
        );
    }

    #[test]
    fn an_ordinary_caller_is_refused_by_the_name_of_the_operation() {
        let leases = AgentLeases::new();
        let lease = leases
            .take(&"op-1".into(), names(&["default"]))
            .expect("free");
        assert_eq!(
            leases.try_use("default").expect_err("leased"),
            LeaseRefused::Leased {
                agent: "default".into(),
                operation: "op-1".into(),
            }
        );
        drop(lease);
        assert!(leases.try_use("default").is_ok());
    }

    #[test]
    fn an_operation_waits_for_no_ordinary_caller_and_is_refused() {
        let leases = AgentLeases::new();
        let one = leases.try_use("default").expect("free");
        let two = leases.try_use("default").expect("shared");
        drop(one);
        assert_eq!(
            leases
                .take(&"op-1".into(), names(&["default"]))
                .expect_err("in use"),
            LeaseRefused::InUse {
                agent: "default".into()
            }
        );
        drop(two);
        assert!(leases.take(&"op-1".into(), names(&["default"])).is_ok());
    }
}
