//! The popup of completions: which candidates fit what was typed, in which order, which one is chosen.
//!
//! Where candidates come from is not its business.

use std::ops::Range;

use crate::tui::text::Inert;

/// Something that the word before the cursor could become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What is inserted.
    pub text: String,
    /// What stands beside it.
    pub note: Inert,
}

/// How well a candidate fits, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It begins with what was typed.
    Prefix,
    /// It holds what was typed.
    Inside,
    /// It holds the typed characters in their order.
    Scattered,
}

/// How a candidate fits; `None` where it doesn't. Case is ignored.
pub fn fit(typed: &str, candidate: &str) -> Option<Fit> {
    // Compared as folded characters: folding changes lengths, so no offset of one is used in the other.
    let typed: Vec<char> = folded(typed).collect();
    let whole: Vec<char> = folded(candidate).collect();
    if whole.starts_with(&typed) {
        return Some(Fit::Prefix);
    }
    if whole.windows(typed.len()).any(|part| part == typed) {
        return Some(Fit::Inside);
    }
    let mut rest = whole.iter();
    typed
        .iter()
        .all(|char| rest.any(|other| other == char))
        .then_some(Fit::Scattered)
}

fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

/// The open popup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Popup {
    /// What an accepted candidate replaces in the cursor's line, in bytes.
    pub part: Range<usize>,
    candidates: Vec<Candidate>,
    chosen: usize,
}

impl Popup {
    /// The candidates that fit a word, best first, given order among equals; `None` where none does
    /// or the word is the only one already.
    pub fn of(word: &str, part: Range<usize>, candidates: Vec<Candidate>) -> Option<Self> {
        let mut fitting: Vec<(Fit, Candidate)> = candidates
            .into_iter()
            .filter_map(|candidate| Some((fit(word, &candidate.text)?, candidate)))
            .collect();
        fitting.sort_by_key(|(fit, _)| *fit);
        let candidates: Vec<Candidate> = fitting.into_iter().map(|(_, one)| one).collect();
        match candidates.as_slice() {
            [] => None,
            [only] if only.text == word => None,
            _ => Some(Self {
                part,
                candidates,
                chosen: 0,
            }),
        }
    }

    /// The candidates, best first.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Which one is chosen.
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// Chooses the next one, from the last the first.
    pub fn next(&mut self) {
        self.chosen = (self.chosen + 1) % self.candidates.len();
    }

    /// Chooses the previous one, from the first the last.
    pub fn previous(&mut self) {
        self.chosen = (self.chosen + self.candidates.len() - 1) % self.candidates.len();
    }

    /// The chosen one's text.
    pub fn accepted(&self) -> &str {
        &self.candidates[self.chosen].text
    }
}
