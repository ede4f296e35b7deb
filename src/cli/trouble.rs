//! What a person sees of an error: what, why, and the next thing to type.

use crate::cli::exit::Exit;
use crate::cli::output::tell;

/// An error on its way to a person.
#[derive(Debug)]
pub(crate) struct Trouble {
    exit: Exit,
    what: String,
    hint: Option<String>,
}

impl Trouble {
    /// Bad usage.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            what: what.into(),
            hint: None,
        }
    }

    /// Bad usage, with everything that led to it.
    pub(crate) fn caused(error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        let mut what = String::new();
        for cause in error.chain() {
            let text = cause.to_string();
            // Transparent errors repeat their source.
            if what.ends_with(&text) {
                continue;
            }
            if !what.is_empty() {
                what.push_str(": ");
            }
            what.push_str(&text);
        }
        Self::usage(what)
    }

    /// Says what to type next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Tells the person.
    pub(crate) fn report(self) -> Exit {
        tell(&format!("error: {}", self.what));
        if let Some(hint) = self.hint {
            tell(&format!("hint: {hint}"));
        }
        self.exit
    }
}
