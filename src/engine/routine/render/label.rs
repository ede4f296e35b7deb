//! Names from files on one line: nothing in them moves a cursor, hides, or turns the text around.

use std::fmt::Write;

/// A name on one line. White space becomes a space; what can't be seen is spelled out.
pub(super) fn one_line(name: &str) -> String {
    let mut line = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\n' | '\t' | '\r' => line.push(' '),
            c if is_hidden(c) => {
                // Writing to a string doesn't fail.
                let _ = write!(line, "\\u{{{:X}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line
}

/// Control characters, those that set the direction of text, and those without a shape.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{AD}'
                | '\u{61C}'
                | '\u{180E}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}
