//! What was submitted in this session, and the draft that waits while one looks back.

/// Entries that are kept.
const KEPT: usize = 1_000;

/// The submitted texts of a session, oldest first.
#[derive(Debug, Clone, Default)]
pub struct History {
    entries: Vec<String>,
    looking: Option<Looking>,
}

/// Somebody looks back: at an entry, with a draft to return to.
#[derive(Debug, Clone)]
struct Looking {
    at: usize,
    draft: String,
}

impl History {
    /// Keeps a text, unless it is empty or the same as the last one. Looking back ends.
    pub fn keep(&mut self, text: &str) {
        self.looking = None;
        if text.trim().is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return;
        }
        self.entries.push(text.to_owned());
        let surplus = self.entries.len().saturating_sub(KEPT);
        self.entries.drain(..surplus);
    }

    /// The next older text; `draft` is what stands in the editor now, kept when looking back begins.
    pub fn older(&mut self, draft: &str) -> Option<&str> {
        let (at, draft) = match self.looking.take() {
            Some(looking) => (
                looking.at.checked_sub(1).unwrap_or(looking.at),
                looking.draft,
            ),
            None => (self.entries.len().checked_sub(1)?, draft.to_owned()),
        };
        self.looking = Some(Looking { at, draft });
        self.entries.get(at).map(String::as_str)
    }

    /// The next newer text, or the draft after the newest.
    pub fn newer(&mut self) -> Option<String> {
        let mut looking = self.looking.take()?;
        looking.at += 1;
        match self.entries.get(looking.at) {
            Some(entry) => {
                let entry = entry.clone();
                self.looking = Some(looking);
                Some(entry)
            }
            None => Some(looking.draft),
        }
    }

    /// The text in the editor was changed: it is the draft now.
    pub fn edited(&mut self) {
        self.looking = None;
    }
}
