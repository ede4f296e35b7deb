//! Looks by meaning: what a status, a border or a hint looks like, in one place.
//!
//! Colour is never the only carrier (design decision 12): each state has a marker, a word and a
//! style, given together by [`Theme::badge`]. Colours are the 16 named ones, so that the user's palette
//! decides how they look. Without colour every foreground and background is `Reset`, because an
//! empty colour would erase reverse video.
//!
//! Views draw in Unicode; where the terminal can't show it, [`Theme::flatten`] replaces our own glyphs
//! in the finished buffer, so no view has to know.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use crate::engine::operation::view::{EdgeStatus, MemberStatus, OperationState, StepStatus};
use crate::engine::verify::Held;
use crate::tui::graph::live::LiveNode;

/// What marks the selected row, with and without colour.
pub const SELECTED: &str = ">";

/// Whether colours are used (`NO_COLOR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// The 16 named ones.
    Named,
    /// None.
    Off,
}

/// Which glyphs the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// Box drawing, arrows, geometric shapes.
    Unicode,
    /// ASCII only.
    Ascii,
}

impl Glyphs {
    /// What a locale can show: the first of `LC_ALL`, `LC_CTYPE`, `LANG` that is set and not empty.
    /// Without any the terminal is taken for a modern one.
    pub fn of_locale(locale: Option<&str>) -> Self {
        let Some(locale) = locale else {
            return Self::Unicode;
        };
        let locale = locale.to_ascii_lowercase();
        match locale.contains("utf-8") || locale.contains("utf8") {
            true => Self::Unicode,
            false => Self::Ascii,
        }
    }
}

/// What a piece of the screen means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Text,
    /// Text of second rank: hints, ages, ids.
    Dim,
    /// A title.
    Title,
    /// A line around something.
    Border,
    /// A line around what has the focus.
    FocusedBorder,
    /// The selected row or node.
    Selected,
    /// A key that can be pressed.
    Key,
    /// Something went wrong.
    Error,
    /// Somebody has to look.
    Attention,
    /// It went well.
    Success,
    /// Found by a search.
    Match,
    /// The draft of the command line.
    Input,
}

/// A state as it is shown: never by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Badge {
    /// One cell.
    pub marker: &'static str,
    /// The engine's word.
    pub word: &'static str,
    /// How both look.
    pub style: Style,
}

/// Anything that has a marker, a word and a style.
pub trait Shown: Copy {
    /// Its look before colours are taken away: marker in Unicode, in ASCII, word, tone.
    fn look(self) -> Look;
}

/// The parts of a [`Badge`] before a theme is applied.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    unicode: &'static str,
    ascii: &'static str,
    word: &'static str,
    tone: Tone,
}

/// The tones that states share.
#[derive(Debug, Clone, Copy)]
enum Tone {
    Quiet,
    Plain,
    Active,
    Waits,
    Stops,
    Doubt,
    Good,
    Fine,
    Bad,
}

/// Colours and glyphs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Whether colours are used.
    pub colours: Colours,
    /// Which glyphs are used.
    pub glyphs: Glyphs,
}

impl Default for Theme {
    fn default() -> Self {
        Self {
            colours: Colours::Named,
            glyphs: Glyphs::Unicode,
        }
    }
}

impl Theme {
    /// Marker, word and style of a state.
    pub fn badge(self, state: impl Shown) -> Badge {
        let look = state.look();
        Badge {
            marker: match self.glyphs {
                Glyphs::Unicode => look.unicode,
                Glyphs::Ascii => look.ascii,
            },
            word: look.word,
            style: self.allowed(look.tone.style()),
        }
    }

    /// The style of a meaning.
    pub fn style(self, role: Role) -> Style {
        let plain = plain();
        self.allowed(match role {
            Role::Text => plain,
            Role::Dim => plain.add_modifier(Modifier::DIM),
            Role::Title => plain.add_modifier(Modifier::BOLD),
            Role::Border => plain.fg(Color::DarkGray),
            Role::FocusedBorder => plain.fg(Color::Cyan),
            Role::Selected => plain.add_modifier(Modifier::REVERSED),
            Role::Key => plain.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            Role::Error => plain.fg(Color::Red).add_modifier(Modifier::BOLD),
            Role::Attention => plain.fg(Color::Yellow).add_modifier(Modifier::BOLD),
            Role::Success => plain.fg(Color::Green),
            Role::Match => plain.add_modifier(Modifier::UNDERLINED),
            Role::Input => plain,
        })
    }

    fn allowed(self, style: Style) -> Style {
        match self.colours {
            Colours::Named => style,
            Colours::Off => style
                .fg(Color::Reset)
                .bg(Color::Reset)
                .underline_color(Color::Reset),
        }
    }

    /// Replaces our own glyphs by ASCII ones where the theme says so. Text of others stays as it is.
    pub fn flatten(self, buffer: &mut Buffer) {
        if self.glyphs == Glyphs::Unicode {
            return;
        }
        for cell in &mut buffer.content {
            if let Some(ascii) = in_ascii(cell.symbol()) {
                cell.set_symbol(ascii);
            }
        }
    }
}

/// The terminal's own colours, with modifiers left as they are: drawn over a selected row it stays reversed.
fn plain() -> Style {
    Style::new().fg(Color::Reset).bg(Color::Reset)
}

impl Tone {
    fn style(self) -> Style {
        let plain = plain();
        match self {
            Self::Quiet => plain.add_modifier(Modifier::DIM),
            Self::Plain => plain,
            Self::Active => plain.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            Self::Waits => plain.fg(Color::Yellow),
            Self::Stops => plain.fg(Color::Yellow).add_modifier(Modifier::BOLD),
            Self::Doubt => plain.fg(Color::Magenta).add_modifier(Modifier::BOLD),
            Self::Good => plain.fg(Color::Green),
            Self::Fine => plain.fg(Color::Blue),
            Self::Bad => plain.fg(Color::Red).add_modifier(Modifier::BOLD),
        }
    }
}

impl Shown for StepStatus {
    fn look(self) -> Look {
        let (unicode, ascii, tone) = match self {
            Self::Idle => ("·", ".", Tone::Quiet),
            Self::Ready => ("○", "o", Tone::Plain),
            Self::Running => ("●", "*", Tone::Active),
            Self::Verifying => ("◐", "%", Tone::Active),
            Self::Waiting => ("◷", "~", Tone::Waits),
            Self::Blocked => ("■", "#", Tone::Stops),
            Self::Uncertain => ("?", "?", Tone::Doubt),
            Self::Verified => ("✓", "+", Tone::Good),
            Self::Passed => ("◇", "=", Tone::Fine),
            Self::Failed => ("✗", "x", Tone::Bad),
            Self::Skipped => ("↷", "-", Tone::Quiet),
            Self::Stopping => ("▣", "!", Tone::Plain),
            Self::Stopped => ("□", "_", Tone::Quiet),
        };
        Look {
            unicode,
            ascii,
            word: self.label(),
            tone,
        }
    }
}

/// A step whose latest lap counts no more has a look of its own (G7).
impl Shown for LiveNode {
    fn look(self) -> Look {
        match self.is_invalidated() {
            true => Look {
                unicode: "↻",
                ascii: "<",
                word: "invalidated",
                tone: Tone::Quiet,
            },
            false => self.status.look(),
        }
    }
}

impl Shown for MemberStatus {
    fn look(self) -> Look {
        let like = match self {
            Self::Waiting => StepStatus::Idle,
            Self::Asked => StepStatus::Running,
            Self::Answered | Self::VotedPass => StepStatus::Verified,
            Self::VotedFail | Self::Failed => StepStatus::Failed,
            Self::Refused => StepStatus::Blocked,
        };
        Look {
            word: self.label(),
            ..like.look()
        }
    }
}

impl Shown for EdgeStatus {
    fn look(self) -> Look {
        let (unicode, ascii, word, tone) = match self {
            Self::Pending => ("▷", ".", "pending", Tone::Quiet),
            Self::Activated => ("▶", ">", "activated", Tone::Good),
            Self::Dead => ("×", "x", "dead", Tone::Quiet),
        };
        Look {
            unicode,
            ascii,
            word,
            tone,
        }
    }
}

impl Shown for Held {
    fn look(self) -> Look {
        match self {
            Self::Waiting => StepStatus::Waiting,
            Self::Blocked => StepStatus::Blocked,
            Self::Uncertain => StepStatus::Uncertain,
        }
        .look()
    }
}

impl Shown for OperationState {
    fn look(self) -> Look {
        let (unicode, ascii, tone) = match self {
            Self::New => ("·", ".", Tone::Quiet),
            Self::Running => ("●", "*", Tone::Active),
            Self::Paused(held) => return held.look(),
            Self::Settling => ("▣", "!", Tone::Plain),
            Self::Succeeded => ("✓", "+", Tone::Good),
            Self::Failed => ("✗", "x", Tone::Bad),
            Self::Cancelled => ("□", "_", Tone::Quiet),
            Self::Ended => ("◌", "0", Tone::Quiet),
        };
        Look {
            unicode,
            ascii,
            word: self.label(),
            tone,
        }
    }
}

/// The ASCII stand-in of a glyph that our own drawing uses.
fn in_ascii(symbol: &str) -> Option<&'static str> {
    let mut chars = symbol.chars();
    let (char, None) = (chars.next()?, chars.next()) else {
        return None;
    };
    Some(match char {
        // An activated edge is heavy: without colours nothing else tells it from a pending one.
        '━' | '┅' => "=",
        '┃' | '┇' => "!",
        '─' | '┈' | '═' | '╌' => "-",
        '│' | '┊' | '║' | '╎' => "|",
        '\u{250c}'..='\u{254b}' | '\u{2550}'..='\u{2570}' => "+",
        '▼' => "V",
        '▲' => "A",
        '▽' | '↓' => "v",
        '△' | '↑' => "^",
        '▶' | '▷' | '→' => ">",
        '◀' | '◁' | '←' => "<",
        '↺' => "@",
        '×' => "x",
        '…' => "~",
        '█' | '▐' | '▌' => "#",
        '░' => ".",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ratatui::layout::Rect;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    const STEPS: [StepStatus; 13] = [
        StepStatus::Idle,
        StepStatus::Ready,
        StepStatus::Running,
        StepStatus::Verifying,
        StepStatus::Waiting,
        StepStatus::Blocked,
        StepStatus::Uncertain,
        StepStatus::Verified,
        StepStatus::Passed,
        StepStatus::Failed,
        StepStatus::Skipped,
        StepStatus::Stopping,
        StepStatus::Stopped,
    ];

    fn theme(colours: Colours, glyphs: Glyphs) -> Theme {
        Theme { colours, glyphs }
    }

    #[test]
    fn each_status_is_told_apart_without_colour() {
        for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
            let badges = STEPS.map(|step| theme(Colours::Off, glyphs).badge(step));
            let markers: BTreeSet<_> = badges.iter().map(|badge| badge.marker).collect();
            let words: BTreeSet<_> = badges.iter().map(|badge| badge.word).collect();
            assert_eq!(markers.len(), STEPS.len());
            assert_eq!(words.len(), STEPS.len());
            for badge in badges {
                assert_eq!(badge.marker.width(), 1);
                assert!(glyphs == Glyphs::Unicode || badge.marker.is_ascii());
            }
        }
    }

    #[test]
    fn without_colour_everything_is_reset() {
        let theme = theme(Colours::Off, Glyphs::Unicode);
        let mut styles: Vec<Style> = STEPS.iter().map(|step| theme.badge(*step).style).collect();
        styles.extend(
            [
                Role::Border,
                Role::Error,
                Role::Key,
                Role::Selected,
                Role::Attention,
            ]
            .map(|role| theme.style(role)),
        );
        for style in styles {
            assert_eq!(style.fg, Some(Color::Reset));
            assert_eq!(style.bg, Some(Color::Reset));
        }
        assert!(
            theme
                .style(Role::Selected)
                .add_modifier
                .contains(Modifier::REVERSED)
        );
    }

    #[test]
    fn a_pause_looks_like_its_worst_wait() {
        let theme = Theme::default();
        let paused = theme.badge(OperationState::Paused(Held::Blocked));
        assert_eq!(paused, theme.badge(StepStatus::Blocked));
        assert_eq!(paused.word, "blocked");
    }

    #[test]
    fn flattening_replaces_our_glyphs_and_leaves_text() {
        let mut buffer = Buffer::with_lines(["╭─┃▼…漢é"]);
        theme(Colours::Off, Glyphs::Ascii).flatten(&mut buffer);
        assert_eq!(buffer, Buffer::with_lines(["+-!V~漢é"]));
        assert_eq!(buffer.area, Rect::new(0, 0, 8, 1));
    }

    #[test]
    fn a_locale_without_utf8_gets_ascii() {
        assert_eq!(Glyphs::of_locale(Some("de_DE.UTF-8")), Glyphs::Unicode);
        assert_eq!(Glyphs::of_locale(Some("C")), Glyphs::Ascii);
        assert_eq!(Glyphs::of_locale(None), Glyphs::Unicode);
    }
}
