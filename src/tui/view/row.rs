//! Rows of styled text, cut to their place: the only way in which text of others reaches a cell here.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use crate::tui::text::{Inert, Line, width};
use crate::tui::theme::{Role, SELECTED, Theme};

/// A row of styled pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pieces: Vec<(String, Style)>,
}

impl Row {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A piece of our own.
    pub(super) fn ours(mut self, text: &'static str, style: Style) -> Self {
        self.pieces.push((text.to_owned(), style));
        self
    }

    /// A line that was cleaned.
    pub(super) fn line(mut self, line: Line<'_>, style: Style) -> Self {
        self.pieces.push((line.as_str().to_owned(), style));
        self
    }

    /// The first line of a text that was cleaned.
    pub(super) fn inert(self, text: &Inert, style: Style) -> Self {
        self.line(text.first_line(), style)
    }

    /// A text of others, cleaned here.
    pub(super) fn text(self, text: &str, style: Style) -> Self {
        self.inert(&Inert::one_line(text), style)
    }

    /// A text of others in exactly so many cells.
    pub(super) fn column(mut self, text: &str, cells: usize, style: Style) -> Self {
        let text = Inert::one_line(text);
        self.pieces.push((text.first_line().pad(cells), style));
        self
    }

    /// The row with a piece of our own before it.
    pub(super) fn after(mut self, text: &'static str, style: Style) -> Self {
        self.pieces.insert(0, (text.to_owned(), style));
        self
    }

    /// Both rows, one after the other.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// The row without what stands behind so many cells.
    pub(super) fn cut(mut self, cells: usize) -> Self {
        let mut left = cells;
        for (text, _) in &mut self.pieces {
            let whole = Inert::one_line(text);
            let taken = width(text).min(left);
            if taken < width(text) {
                let shorter = whole.first_line().wrap(taken).next();
                *text = shorter.map_or("", Line::as_str).to_owned();
            }
            left -= taken;
        }
        self
    }

    /// Cells that it takes.
    pub(super) fn width(&self) -> usize {
        self.pieces.iter().map(|(text, _)| width(text)).sum()
    }

    /// The row with every piece in another style.
    pub(super) fn restyled(mut self, restyle: impl Fn(Style) -> Style) -> Self {
        for (_, style) in &mut self.pieces {
            *style = restyle(*style);
        }
        self
    }

    /// Draws it into the first row of a place.
    pub(super) fn draw(&self, place: Rect, buffer: &mut Buffer) {
        let place = place.intersection(buffer.area);
        if place.is_empty() {
            return;
        }
        let mut x = place.x;
        for (text, style) in &self.pieces {
            let room = usize::from(place.right().saturating_sub(x));
            if room == 0 {
                return;
            }
            // Every piece was cleaned, so cleaning it again changes nothing.
            let text = Inert::one_line(text);
            let cut = text.first_line().truncate(room).into_owned();
            (x, _) = buffer.set_stringn(x, place.y, &cut, room, *style);
        }
    }
}

/// Draws rows from the top of a place.
pub(super) fn lines(place: Rect, buffer: &mut Buffer, rows: &[Row]) {
    let place = place.intersection(buffer.area);
    for (y, row) in (place.y..place.bottom()).zip(rows) {
        row.draw(
            Rect {
                y,
                height: 1,
                ..place
            },
            buffer,
        );
    }
}

/// A text as rows of a width.
pub(super) fn wrapped(text: &Inert, cells: usize, style: Style) -> Vec<Row> {
    text.lines()
        .flat_map(|line| line.wrap(cells))
        .map(|line| Row::new().line(line, style))
        .collect()
}

/// The first row of a list that shows the chosen one among `height` rows.
pub(super) fn first_visible(chosen: usize, height: usize) -> usize {
    (chosen + 1).saturating_sub(height.max(1))
}

/// A row of a list: the chosen one has a marker, and is reversed while its list has the keys.
pub(super) fn chosen(theme: Theme, row: Row, is_chosen: IsChosen) -> Row {
    let plain = theme.style(Role::Text);
    let marker = match is_chosen {
        IsChosen::Yes | IsChosen::WithKeys => SELECTED,
        IsChosen::No => " ",
    };
    let mut marked = Row::new().ours(marker, plain).ours(" ", plain);
    marked.pieces.extend(row.pieces);
    match is_chosen {
        IsChosen::WithKeys => {
            marked.restyled(|style| style.add_modifier(ratatui::style::Modifier::REVERSED))
        }
        IsChosen::Yes | IsChosen::No => marked,
    }
}

/// Whether a row is the chosen one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IsChosen {
    /// It isn't.
    No,
    /// It is.
    Yes,
    /// It is, and its list has the keys.
    WithKeys,
}

impl IsChosen {
    pub(super) fn of(row: usize, chosen: Option<usize>, has_keys: HasKeys) -> Self {
        match (chosen == Some(row), has_keys) {
            (false, _) => Self::No,
            (true, HasKeys::No) => Self::Yes,
            (true, HasKeys::Yes) => Self::WithKeys,
        }
    }
}

/// Whether a pane has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasKeys {
    /// It hasn't.
    No,
    /// It has.
    Yes,
}

impl HasKeys {
    pub(super) fn when(it_has: bool) -> Self {
        match it_has {
            true => Self::Yes,
            false => Self::No,
        }
    }
}

/// A frame with a title around a place; gives what is inside.
pub(super) fn frame(
    theme: Theme,
    title: &str,
    has_keys: HasKeys,
    place: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let (border, marker) = match has_keys {
        HasKeys::No => (Role::Border, ""),
        HasKeys::Yes => (Role::FocusedBorder, "> "),
    };
    let room = usize::from(place.width.saturating_sub(4));
    let title = Inert::one_line(&format!("{marker}{title}"));
    let title = format!(" {} ", title.first_line().truncate(room));
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.style(border))
        .title(Span::styled(title, theme.style(Role::Title)));
    let inside = block.inner(place);
    let place = place.intersection(buffer.area);
    block.render(place, buffer);
    inside.intersection(buffer.area)
}

/// Empties a place for something that lies over the screen.
pub(super) fn clear(place: Rect, buffer: &mut Buffer) {
    let place = place.intersection(buffer.area);
    // A wide character that is cut by the left edge would leave half of itself.
    for y in place.y..place.bottom() {
        if let Some(x) = place.x.checked_sub(1)
            && let Some(cell) = buffer.cell_mut((x, y))
            && width(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
    }
    Clear.render(place, buffer);
}

/// A place of so many columns and rows in the middle of another.
pub(super) fn centred(area: Rect, columns: u16, rows: u16) -> Rect {
    let columns = columns.min(area.width);
    let rows = rows.min(area.height);
    Rect {
        x: area.x + (area.width - columns) / 2,
        y: area.y + (area.height - rows) / 2,
        width: columns,
        height: rows,
    }
}
