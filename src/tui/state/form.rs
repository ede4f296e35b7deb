//! A question with its answers: text to read, choices, text to write, and two buttons.
//!
//! The dismissing button comes first and has the focus each time a form opens. Nothing is chosen until
//! somebody chooses it.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::tui::input::field::{Field, Taken};
use crate::tui::text::Inert;
use crate::tui::theme::Role;

/// Rows that PageUp and PageDown move by.
const PAGE: usize = 5;

/// A form.
#[derive(Debug, Clone)]
pub struct Form {
    /// What stands in it, from top to bottom.
    pub items: Vec<Item>,
    /// What has the focus.
    pub focus: Focus,
    /// Why it can't be accepted as it is.
    pub problem: Option<Inert>,
    /// What is visible while a button has the focus.
    pub scroll: Scroll,
    /// The words on the buttons.
    pub buttons: Buttons,
}

/// What is visible of a form. The dismissing button shows its beginning, the accepting one its end:
/// nobody gets from one to the other without seeing both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scroll {
    /// So many rows from the top are hidden.
    FromTop(usize),
    /// So many rows from the end are hidden.
    FromEnd(usize),
}

impl Scroll {
    /// The first visible of `rows` rows in a place of `height` rows.
    pub fn first(self, rows: usize, height: usize) -> usize {
        let last = rows.saturating_sub(height);
        match self {
            Self::FromTop(hidden) => hidden.min(last),
            Self::FromEnd(hidden) => last.saturating_sub(hidden),
        }
    }

    fn down(self, rows: usize) -> Self {
        match self {
            Self::FromTop(hidden) => Self::FromTop(hidden + rows),
            Self::FromEnd(hidden) => Self::FromEnd(hidden.saturating_sub(rows)),
        }
    }

    fn up(self, rows: usize) -> Self {
        match self {
            Self::FromTop(hidden) => Self::FromTop(hidden.saturating_sub(rows)),
            Self::FromEnd(hidden) => Self::FromEnd(hidden + rows),
        }
    }
}

/// The words on the buttons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buttons {
    /// Leaves everything as it is.
    pub dismiss: &'static str,
    /// Does it.
    pub accept: &'static str,
}

/// What has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// The button that leaves everything as it is.
    Dismiss,
    /// An item.
    Item(usize),
    /// The button that does it.
    Accept,
}

/// Something in a form.
#[derive(Debug, Clone)]
pub struct Item {
    /// It is there only while each of these choices is one of these options.
    pub when: Vec<(usize, Vec<usize>)>,
    /// What it is.
    pub body: Body,
}

/// What an item is.
#[derive(Debug, Clone)]
pub enum Body {
    /// Something to read.
    Says(Role, Inert),
    /// One of several.
    Choice {
        /// What is chosen.
        label: &'static str,
        /// The options.
        options: Vec<&'static str>,
        /// Which one is chosen; none at first.
        chosen: Option<usize>,
    },
    /// A text to write.
    Text {
        /// What it is.
        label: Inert,
        /// What is written.
        field: Box<Field>,
    },
}

/// What came of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// Nothing that matters outside.
    Nothing,
    /// Leave everything as it is.
    Dismissed,
    /// Do it.
    Accepted,
}

impl Form {
    /// A form with nothing in it.
    pub fn of(dismiss: &'static str, accept: &'static str) -> Self {
        Self {
            items: Vec::new(),
            focus: Focus::Dismiss,
            problem: None,
            scroll: Scroll::FromTop(0),
            buttons: Buttons { dismiss, accept },
        }
    }

    /// Adds something to read.
    pub fn say(&mut self, role: Role, text: &str) -> &mut Self {
        self.say_when(Vec::new(), role, text)
    }

    /// Adds something to read that is there only sometimes.
    pub fn say_when(
        &mut self,
        when: Vec<(usize, Vec<usize>)>,
        role: Role,
        text: &str,
    ) -> &mut Self {
        let body = Body::Says(role, Inert::text(text));
        self.items.push(Item { when, body });
        self
    }

    /// Adds a choice and gives its place.
    pub fn choice(
        &mut self,
        when: Vec<(usize, Vec<usize>)>,
        label: &'static str,
        options: Vec<&'static str>,
    ) -> usize {
        self.items.push(Item {
            when,
            body: Body::Choice {
                label,
                options,
                chosen: None,
            },
        });
        self.items.len() - 1
    }

    /// Adds a text to write and gives its place. What fills it is made inert.
    pub fn text(&mut self, when: Vec<(usize, Vec<usize>)>, label: &str, filled: &str) -> usize {
        self.items.push(Item {
            when,
            body: Body::Text {
                label: Inert::one_line(label),
                field: Box::new(Field::holding(filled)),
            },
        });
        self.items.len() - 1
    }

    /// Whether an item is there now.
    pub fn is_there(&self, item: usize) -> bool {
        self.items.get(item).is_some_and(|item| {
            item.when.iter().all(|(choice, options)| {
                self.is_there(*choice)
                    && self.chosen(*choice).is_some_and(|at| options.contains(&at))
            })
        })
    }

    /// Which option of a choice is chosen.
    pub fn chosen(&self, item: usize) -> Option<usize> {
        match &self.items.get(item)?.body {
            Body::Choice { chosen, .. } => *chosen,
            Body::Says(..) | Body::Text { .. } => None,
        }
    }

    /// What is written in a text.
    pub fn written(&self, item: usize) -> String {
        match self.items.get(item).map(|item| &item.body) {
            Some(Body::Text { field, .. }) => field.text(),
            Some(Body::Says(..) | Body::Choice { .. }) | None => String::new(),
        }
    }

    /// Says why it can't be accepted, and puts the focus where that can be changed.
    pub fn refuse(&mut self, item: usize, problem: &str) {
        self.focus = Focus::Item(item);
        self.problem = Some(Inert::one_line(problem));
    }

    fn stops(&self) -> Vec<Focus> {
        let items = (0..self.items.len()).filter(|&item| {
            self.is_there(item)
                && match self.items[item].body {
                    Body::Choice { .. } | Body::Text { .. } => true,
                    Body::Says(..) => false,
                }
        });
        let mut stops = vec![Focus::Dismiss];
        stops.extend(items.map(Focus::Item));
        stops.push(Focus::Accept);
        stops
    }

    fn step(&mut self, by: Step) {
        let stops = self.stops();
        let at = stops
            .iter()
            .position(|stop| *stop == self.focus)
            .unwrap_or(0);
        self.focus_on(match by {
            Step::Next => stops[(at + 1) % stops.len()],
            Step::Previous => stops[(at + stops.len() - 1) % stops.len()],
        });
    }

    fn focus_on(&mut self, focus: Focus) {
        self.focus = focus;
        match focus {
            Focus::Dismiss => self.scroll = Scroll::FromTop(0),
            Focus::Accept => self.scroll = Scroll::FromEnd(0),
            Focus::Item(_) => {}
        }
    }

    fn field(&mut self) -> Option<&mut Field> {
        let Focus::Item(item) = self.focus else {
            return None;
        };
        match &mut self.items.get_mut(item)?.body {
            Body::Text { field, .. } => Some(field),
            Body::Says(..) | Body::Choice { .. } => None,
        }
    }

    /// A paste arrived: it goes into a text, and nowhere else.
    pub fn paste(&mut self, text: &str) {
        if let Some(field) = self.field() {
            field.insert(text);
        }
    }

    /// A key arrived.
    pub fn key(&mut self, key: KeyEvent) -> Answered {
        if key.kind == KeyEventKind::Release {
            return Answered::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if let Some(field) = self.field()
            && field.key(key) == Taken::Yes
        {
            self.problem = None;
            return Answered::Nothing;
        }
        // A key that is held down may write, but decide nothing.
        if key.kind == KeyEventKind::Repeat {
            return Answered::Nothing;
        }
        match (key.code, self.focus) {
            (KeyCode::Esc, _) => return Answered::Dismissed,
            (KeyCode::Char('c'), _) if control => return Answered::Dismissed,
            (KeyCode::Tab | KeyCode::Down, _) => self.step(Step::Next),
            (KeyCode::BackTab | KeyCode::Up, _) => self.step(Step::Previous),
            (KeyCode::PageDown, _) => self.scroll = self.scroll.down(PAGE),
            (KeyCode::PageUp, _) => self.scroll = self.scroll.up(PAGE),
            (KeyCode::Enter, Focus::Dismiss) => return Answered::Dismissed,
            (KeyCode::Enter, Focus::Accept) => return Answered::Accepted,
            (KeyCode::Enter, Focus::Item(_)) => self.step(Step::Next),
            (KeyCode::Left, Focus::Accept) => self.focus_on(Focus::Dismiss),
            (KeyCode::Right, Focus::Dismiss) => self.focus_on(Focus::Accept),
            (KeyCode::Right | KeyCode::Char(' '), Focus::Item(item)) => {
                self.choose(item, Step::Next);
            }
            (KeyCode::Left, Focus::Item(item)) => self.choose(item, Step::Previous),
            _ => {}
        }
        Answered::Nothing
    }

    fn choose(&mut self, item: usize, step: Step) {
        if let Some(Item {
            body: Body::Choice {
                options, chosen, ..
            },
            ..
        }) = self.items.get_mut(item)
        {
            let last = options.len().saturating_sub(1);
            *chosen = Some(match (*chosen, step) {
                (None, Step::Next) => 0,
                (None, Step::Previous) => last,
                (Some(at), Step::Next) => (at + 1) % options.len(),
                (Some(at), Step::Previous) => at.checked_sub(1).unwrap_or(last),
            });
            self.problem = None;
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Next,
    Previous,
}
