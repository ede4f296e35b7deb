//! What a person is told at the command line: troubles in three parts, and short good news.

use crate::tui::text::Inert;

/// An error as a person sees it: what, why, and the next thing to type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What didn't happen.
    pub what: Inert,
    /// Why.
    pub why: Inert,
    /// What to type or press next.
    pub next: Inert,
}

impl Trouble {
    /// An error in its three parts. A why may have several lines.
    pub fn of(what: &str, why: &str, next: &str) -> Self {
        Self {
            what: Inert::one_line(what),
            why: Inert::text(why),
            next: Inert::one_line(next),
        }
    }
}

/// What stands above the command line until the next command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Something went wrong.
    Trouble(Trouble),
    /// Something went as it should.
    Said(Inert),
}
