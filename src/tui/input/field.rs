//! A text of several lines in a form: reasons, JSON, inputs.
//!
//! | key | does |
//! |---|---|
//! | Alt-Enter | a line break |
//! | Up, Down | another line; from the first or last one they are the form's |
//! | Ctrl-Left, Ctrl-Right, Alt-B, Alt-F | by words |
//! | Ctrl-A E B F H, W U K Y | as in a shell |
//! | Ctrl-_, Ctrl-R | undo, redo |
//!
//! [`TextArea`] edits, by `char`; its own keys are not used, since a form decides what Enter and Tab
//! mean, and a field writes control characters under no key. It is drawn as the prompt is: the cleaned
//! text, and the terminal's cursor where the text's is.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use tui_textarea::{CursorMove, TextArea};

use crate::tui::input::editor;
use crate::tui::text::{Inert, TAB_STOP};

/// A text to write.
#[derive(Debug, Clone)]
pub struct Field(TextArea<'static>);

/// Whose key it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The field's.
    Yes,
    /// The form's.
    No,
}

impl Field {
    /// A field that holds a text from outside, made inert, with the cursor at its end and nothing to undo.
    pub fn holding(foreign: &str) -> Self {
        let inert = Inert::text(foreign);
        let mut area: TextArea<'static> = inert.as_str().split('\n').collect();
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        Self(area)
    }

    /// The text, lines joined by line feeds.
    pub fn text(&self) -> String {
        self.0.lines().join("\n")
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many lines there are, at least one.
    pub fn rows(&self) -> usize {
        self.0.lines().len()
    }

    /// Inserts a text at the cursor as one change. CRLF and CR become line breaks, tabs spaces; other
    /// control characters stay outside.
    pub fn insert(&mut self, text: &str) {
        let text = text
            .replace("\r\n", "\n")
            .replace('\r', "\n")
            .replace('\t', &" ".repeat(TAB_STOP));
        self.0
            .insert_str(text.replace(|char: char| char != '\n' && char.is_control(), ""));
    }

    /// A key arrived.
    pub fn key(&mut self, key: KeyEvent) -> Taken {
        let area = &mut self.0;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let row = area.cursor().0;
        match (key.code, control) {
            // AltGr arrives as both and writes.
            (KeyCode::Char(char), _) if control == alt => {
                self.insert(char.encode_utf8(&mut [0; 4]));
            }
            (KeyCode::Enter, _) if alt => area.insert_newline(),
            (KeyCode::Up, _) if row > 0 => area.move_cursor(CursorMove::Up),
            (KeyCode::Down, _) if row + 1 < area.lines().len() => {
                area.move_cursor(CursorMove::Down);
            }
            (KeyCode::Left, true) | (KeyCode::Char('b'), false) => {
                area.move_cursor(CursorMove::WordBack);
            }
            (KeyCode::Right, true) | (KeyCode::Char('f'), false) => {
                area.move_cursor(CursorMove::WordForward);
            }
            (KeyCode::Left, false) | (KeyCode::Char('b'), true) => {
                area.move_cursor(CursorMove::Back);
            }
            (KeyCode::Right, false) | (KeyCode::Char('f'), true) => {
                area.move_cursor(CursorMove::Forward);
            }
            (KeyCode::Home, _) | (KeyCode::Char('a'), true) => area.move_cursor(CursorMove::Head),
            (KeyCode::End, _) | (KeyCode::Char('e'), true) => area.move_cursor(CursorMove::End),
            (KeyCode::Backspace, true) | (KeyCode::Char('w'), true) => drop(area.delete_word()),
            (KeyCode::Backspace, false) | (KeyCode::Char('h'), true) => drop(area.delete_char()),
            (KeyCode::Delete, _) => drop(area.delete_next_char()),
            (KeyCode::Char('u'), true) => drop(area.delete_line_by_head()),
            (KeyCode::Char('k'), true) => drop(area.delete_line_by_end()),
            (KeyCode::Char('y'), true) => drop(area.paste()),
            (KeyCode::Char('_' | '7'), true) => drop(area.undo()),
            (KeyCode::Char('r'), true) => drop(area.redo()),
            _ => return Taken::No,
        }
        Taken::Yes
    }

    /// Draws the text and gives the cell of the cursor, as [`editor::draw`] does.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer, style: Style) -> Option<Position> {
        let lines = self.0.lines();
        let cursor = self.0.cursor();
        let line = &lines[cursor.0];
        let byte = line
            .char_indices()
            .nth(cursor.1)
            .map_or(line.len(), |(at, _)| at);
        let lines = lines.iter().map(String::as_str);
        editor::draw(lines, (cursor.0, byte), area, buffer, style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(field: &mut Field, code: KeyCode, modifiers: KeyModifiers) -> Taken {
        field.key(KeyEvent::new(code, modifiers))
    }

    fn types(field: &mut Field, text: &str) {
        for char in text.chars() {
            press(field, KeyCode::Char(char), KeyModifiers::NONE);
        }
    }

    #[test]
    fn json_is_written_over_several_lines_and_read_back() {
        let mut field = Field::holding("");
        types(&mut field, "{");
        for text in ["\"say\": \"héllo 世界\",", "\"n\": 1", "}"] {
            press(&mut field, KeyCode::Enter, KeyModifiers::ALT);
            types(&mut field, text);
        }
        assert_eq!(field.rows(), 4);
        let value: serde_json::Value = serde_json::from_str(&field.text()).expect("JSON");
        assert_eq!(value, serde_json::json!({"say": "héllo 世界", "n": 1}));
        assert_eq!(Field::holding(&field.text()).text(), field.text());
    }

    #[test]
    fn a_change_is_taken_back_and_made_again_but_not_what_filled_the_field() {
        let mut field = Field::holding("filled");
        field.insert(" one\r\ntwo");
        press(&mut field, KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(field.text(), "filled one\n");
        for text in ["filled one\ntwo", "filled", "filled"] {
            press(&mut field, KeyCode::Char('_'), KeyModifiers::CONTROL);
            assert_eq!(field.text(), text);
        }
        press(&mut field, KeyCode::Char('r'), KeyModifiers::CONTROL);
        assert_eq!(field.text(), "filled one\ntwo");
    }

    #[test]
    fn the_cursor_stands_behind_wide_characters_also_where_they_are_scrolled() {
        let drawn = |field: &Field, columns| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, columns, 2));
            let cursor = field.draw(buffer.area, &mut buffer, Style::new());
            cursor.map(|cursor| (cursor.x, cursor.y))
        };
        let mut field = Field::holding("a\n世界e\u{301}b");
        assert_eq!(drawn(&field, 10), Some((6, 1)));
        assert_eq!(drawn(&field, 4), Some((3, 1)));
        press(&mut field, KeyCode::Home, KeyModifiers::NONE);
        press(&mut field, KeyCode::Right, KeyModifiers::NONE);
        assert_eq!(drawn(&field, 10), Some((2, 1)));
        press(&mut field, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(drawn(&field, 10), Some((1, 0)));
    }

    #[test]
    fn the_form_gets_the_arrows_at_the_edges_and_every_plain_enter() {
        let mut field = Field::holding("one\ntwo");
        let mut plain = |code| press(&mut field, code, KeyModifiers::NONE);
        assert_eq!(plain(KeyCode::Down), Taken::No);
        assert_eq!(plain(KeyCode::Up), Taken::Yes);
        assert_eq!(plain(KeyCode::Up), Taken::No);
        assert_eq!(plain(KeyCode::Down), Taken::Yes);
        assert_eq!(plain(KeyCode::Enter), Taken::No);
        assert_eq!(plain(KeyCode::Tab), Taken::No);
        assert_eq!(field.text(), "one\ntwo");
    }

    /// T8: neither what fills a field nor what is pasted or typed brings control characters in.
    #[test]
    fn control_characters_stay_outside() {
        let mut field = Field::holding("a\u{1b}[31mb\u{202e}");
        assert_eq!(field.text(), "ab\\u{202E}");
        field.insert("\u{1b}\u{9b}c\u{7}\td");
        types(&mut field, "\u{7f}\u{1}");
        assert!(!field.text().contains(char::is_control));
        assert_eq!(field.text(), "ab\\u{202E}c        d");
    }
}
