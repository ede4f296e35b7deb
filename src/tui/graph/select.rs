//! Moving the selection over a graph by keys, and the viewport after it.

use crate::tui::graph::layout::{Area, Heading, Layout};

/// The nearest node in a direction, seen from a node; `None` where there is none.
///
/// What lies straight ahead wins over what is nearer but aside. Columns count half: a cell is about
/// twice as high as it is wide.
pub fn neighbour(layout: &Layout, from: usize, heading: Heading) -> Option<usize> {
    let here = *layout.nodes.get(from)?;
    let distance = |there: &Area| -> Option<i64> {
        let dx = there.middle_x() as i64 - here.middle_x() as i64;
        let dy = (there.middle_y() as i64 - here.middle_y() as i64) * 2;
        let (ahead, aside) = match heading {
            Heading::Up => (-dy, dx),
            Heading::Down => (dy, dx),
            Heading::Left => (-dx, dy),
            Heading::Right => (dx, dy),
        };
        (ahead > 0).then_some(ahead + 2 * aside.abs())
    };
    layout
        .nodes
        .iter()
        .enumerate()
        .filter(|&(node, _)| node != from)
        .filter_map(|(node, area)| Some((distance(area)?, node)))
        .min()
        .map(|(_, node)| node)
}

/// The node after a node in an order, or the first one; stays at the end.
pub fn next(order: &[usize], from: Option<usize>) -> Option<usize> {
    step(order, from, |at| (at + 1).min(order.len() - 1))
}

/// The node before a node in an order, or the first one; stays at the beginning.
pub fn previous(order: &[usize], from: Option<usize>) -> Option<usize> {
    step(order, from, |at| at.saturating_sub(1))
}

fn step(order: &[usize], from: Option<usize>, to: impl Fn(usize) -> usize) -> Option<usize> {
    let at = from.and_then(|from| order.iter().position(|&node| node == from));
    match at {
        Some(at) => order.get(to(at)).copied(),
        None => order.first().copied(),
    }
}

/// The offset nearest to `offset` at which a node is visible in a viewport of the given columns and
/// rows, and nothing beyond the picture is shown where that can be helped.
pub fn scroll_to(
    layout: &Layout,
    node: Option<usize>,
    (columns, rows): (u16, u16),
    offset: (usize, usize),
) -> (usize, usize) {
    let area = node.and_then(|node| layout.nodes.get(node));
    let one = |start: usize, length: usize, room: usize, whole: usize, offset: usize| {
        let last = whole.saturating_sub(room);
        let shown = match area {
            // A cell of margin shows that there is more.
            Some(_) => offset
                .max((start + length + 1).saturating_sub(room))
                .min(start.saturating_sub(1)),
            None => offset,
        };
        shown.min(last)
    };
    let area = area.copied().unwrap_or(Area {
        x: 0,
        y: 0,
        width: 0,
        height: 0,
    });
    (
        one(area.x, area.width, columns.into(), layout.width, offset.0),
        one(area.y, area.height, rows.into(), layout.height, offset.1),
    )
}
