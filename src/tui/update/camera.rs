//! What of a graph is in view, after anything changed: it moves only as far as it has to for the chosen
//! step to be seen, and so never while somebody else's step runs out of view.

use crate::tui::graph::select;
use crate::tui::state::State;
use crate::tui::view;

/// Brings the chosen step into view, if it isn't.
pub(super) fn settle(state: &mut State) {
    let place = view::graph_place(state);
    if place.is_empty() {
        return;
    }
    let Some(operation) = state.operations.chosen_mut() else {
        return;
    };
    let chosen = Some(operation.step);
    let picture = operation.picture().clone();
    let camera = &mut operation.camera;
    match picture.boxes(place) {
        Some(layout) => {
            let size = (place.width, place.height);
            camera.boxes = select::scroll_to(layout, chosen, size, camera.boxes);
        }
        None => camera.row = picture.rows.scroll_to(chosen, place.height, camera.row),
    }
}
