//! Evidence as it comes up: named, described, and held by whoever holds it (V13, V29, V30).

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::engine::digest::Digest;
use crate::engine::evidence::{Place, Receipt, Source, SourceHeader, SourceKind};
use crate::engine::id::{RunId, SourceId};
use crate::engine::operation::event::Command;
use crate::engine::operation::published::{At, PublicEvent};
use crate::engine::operation::{Operation, Phase, at};

impl Operation {
    /// Names and describes a source and has it held. Late where nobody waits any more (V30).
    pub(super) fn record(
        &mut self,
        kind: SourceKind,
        place: Option<Place>,
        run: Option<RunId>,
        label: &str,
        content: Bytes,
    ) -> SourceHeader {
        self.counters.sources += 1;
        let header = SourceHeader {
            id: self.plan.operation.source(self.counters.sources),
            kind,
            place,
            run,
            label: label.to_owned(),
            sha256: Digest::of(&content),
            bytes: content.len() as u64,
        };
        self.sources.push(header.clone());
        let source = Source {
            header: header.clone(),
            content,
        };
        let over = matches!(self.phase, Phase::Settled | Phase::Ended);
        match (kind, over) {
            (SourceKind::Late, _) | (_, true) => self.out.push(Command::RecordLateSource(source)),
            (_, false) => self.out.push(Command::RecordSource(source)),
        }
        // `operation.settled` is the last event (G10).
        if !over {
            let at = match &header.place {
                Some(place) => at(place),
                None => At {
                    execution: self.executions[0].id.clone(),
                    step: None,
                    lap: None,
                },
            };
            self.publish(PublicEvent::SourceRecorded {
                at,
                source: header.id.clone(),
                bytes: header.bytes,
            });
        }
        header
    }

    /// Keeps what arrived after nobody waited for it any more.
    pub(super) fn record_late(
        &mut self,
        from: Option<Place>,
        label: &str,
        content: impl Into<Bytes>,
    ) {
        let content = content.into();
        if !content.is_empty() {
            self.record(SourceKind::Late, from, None, label, content);
        }
    }

    pub(super) fn acknowledged(&mut self, source: SourceId, receipt: Receipt) {
        // Receipts are immutable: the first one stays (V29).
        if self.receipts.contains_key(&source) || !self.sources.iter().any(|held| held.id == source)
        {
            return;
        }
        self.receipts.insert(source.clone(), receipt.clone());
        if !matches!(self.phase, Phase::Settled | Phase::Ended) {
            self.publish(PublicEvent::SourceAcknowledged { source, receipt });
        }
    }

    /// Sources without a receipt among these.
    pub(super) fn unacknowledged(&self, sources: &[SourceId]) -> BTreeSet<SourceId> {
        sources
            .iter()
            .filter(|source| !self.receipts.contains_key(*source))
            .cloned()
            .collect()
    }
}
