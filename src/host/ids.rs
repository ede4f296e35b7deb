//! Ids that no other operation has, on this machine or another.

use uuid::Uuid;

use crate::engine::id::OperationId;
use crate::engine::ports::Ids;

/// Makes UUIDs of version 7: they sort by the time they were made.
#[derive(Debug, Clone, Copy, Default)]
pub struct UuidIds;

impl Ids for UuidIds {
    fn operation(&self) -> OperationId {
        Uuid::now_v7().to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_sort_by_their_making() {
        let ids: Vec<OperationId> = (0..1000).map(|_| UuidIds.operation()).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
    }
}
