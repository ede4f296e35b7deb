//! Moving about: between panes and in lists.

use crate::tui::effect::Effect;
use crate::tui::graph::layout::Heading;
use crate::tui::keymap::{self, Action};
use crate::tui::slash;
use crate::tui::state::notice::{Notice, Trouble};
use crate::tui::state::scene::Turn;
use crate::tui::state::sources::{Allow, Keeping, Preview};
use crate::tui::state::{Pane, Panel, Screen, State};
use crate::tui::update::graph;
use crate::tui::view;

/// Lines that a page has where its height isn't known.
const PAGE: usize = 8;

/// Does what a key asks for.
pub(super) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::NextPane => turn(state, 1),
        Action::PreviousPane => turn(state, -1),
        Action::Command => {
            state.focus(Pane::Prompt);
            state.prompt.set("/");
            return slash::offer(state);
        }
        Action::Leave => leave(state),
        Action::Up => step(state, Heading::Up, 1),
        Action::Down => step(state, Heading::Down, 1),
        Action::Left => step(state, Heading::Left, 1),
        Action::Right => step(state, Heading::Right, 1),
        Action::PageUp => step(state, Heading::Up, PAGE),
        Action::PageDown => step(state, Heading::Down, PAGE),
        Action::Start => step(state, Heading::Up, usize::MAX / 4),
        Action::End => step(state, Heading::Down, usize::MAX / 4),
        Action::Open => return look_closer(state),
        Action::Confirm => return of_chosen(state, slash::confirm),
        Action::Cancel => return of_chosen(state, slash::cancel),
        Action::Earlier => graph::turn(state, Turn::Earlier),
        Action::Later => graph::turn(state, Turn::Later),
        Action::Follow => graph::follow(state),
        Action::Inspect => return of_chosen(state, slash::inspect),
        Action::Sources => return slash::open_sources(state),
        Action::SwapPanel => {
            state.panel = match state.panel {
                Panel::Log => Panel::Chat,
                Panel::Chat => Panel::Log,
            };
        }
        Action::Answer => return answer(state),
        Action::Archive => return archive(state),
        Action::Acknowledge => return acknowledge(state),
        Action::AllowMore => return allow(state, Allow::More),
        Action::AllowLess => return allow(state, Allow::Less),
        Action::Help => return slash::open_help(state),
        Action::Quit => return slash::quit(state),
        Action::AskToQuit => return slash::ask_to_quit(state),
        Action::Redraw => return vec![Effect::Redraw],
        Action::Suspend => return vec![Effect::Suspend],
    }
    Vec::new()
}

fn turn(state: &mut State, by: isize) {
    let panes = keymap::panes(state.screen);
    let at = panes.iter().position(|pane| *pane == state.pane);
    let at = at.unwrap_or(0) as isize + by;
    let at = at.rem_euclid(panes.len() as isize) as usize;
    state.focus(panes[at]);
}

fn leave(state: &mut State) {
    state.notice = None;
    match (state.screen, state.pane) {
        (Screen::Sources, _) => {
            state.screen = Screen::Overview;
            state.shown = Pane::Operations;
            state.pane = Pane::Prompt;
        }
        (Screen::Overview, Pane::Graph) if graph::go_outside(state) => {}
        (Screen::Overview, _) => state.pane = Pane::Prompt,
    }
}

fn of_chosen(
    state: &mut State,
    does: fn(&mut State, &crate::engine::id::OperationId) -> Vec<Effect>,
) -> Vec<Effect> {
    match state
        .operations
        .chosen()
        .map(|operation| operation.id.clone())
    {
        Some(operation) => does(state, &operation),
        None => slash::refuse(
            state,
            Trouble::of(
                "there is no operation",
                "nothing was started yet",
                "type /routine demo",
            ),
        ),
    }
}

/// Opens the question that waits, or else asks about the operation that waits.
fn answer(state: &mut State) -> Vec<Effect> {
    if let Some(modal) = state.postponed.pop_front() {
        state.open(modal);
        return Vec::new();
    }
    slash::run(state, "/routine confirm")
}

fn step(state: &mut State, heading: Heading, by: usize) {
    let signed = isize::try_from(by).unwrap_or(isize::MAX);
    let rows = match heading {
        Heading::Up => -signed,
        Heading::Down => signed,
        Heading::Left | Heading::Right => 0,
    };
    match state.pane {
        // From the command line pages scroll the panel.
        Pane::Prompt | Pane::Panel => scroll_panel(state, rows),
        Pane::Operations => {
            state.operations.choose_by(rows);
            state.details_scroll = 0;
        }
        Pane::Graph => graph::walk(state, heading, by),
        Pane::Waits => {
            if let Some(operation) = state.operations.chosen_mut() {
                operation.choose_wait_by(rows);
            }
        }
        Pane::Details => {
            state.details_scroll = state
                .details_scroll
                .saturating_add_signed(rows)
                .min(1 << 20);
        }
        Pane::Tree => {
            if rows != 0 {
                state.sources.choose_by(rows);
            }
        }
        Pane::Preview => {
            if let Preview::Shown {
                document, scroll, ..
            } = &mut state.sources.preview
            {
                let place = view::preview_place(state.size);
                let (columns, height) = (usize::from(place.width), usize::from(place.height));
                let wanted = scroll.saturating_add_signed(rows);
                *scroll = document.clamp(columns, height, wanted);
            }
        }
    }
}

fn scroll_panel(state: &mut State, rows: isize) {
    let lines = rows.unsigned_abs();
    match (state.panel, rows < 0) {
        (Panel::Log, true) => state.log.older(lines),
        (Panel::Log, false) => state.log.newer(lines),
        (Panel::Chat, true) => state.chat.back = state.chat.back.saturating_add(lines).min(1 << 20),
        (Panel::Chat, false) => state.chat.back = state.chat.back.saturating_sub(lines),
    }
}

fn look_closer(state: &mut State) -> Vec<Effect> {
    match state.pane {
        Pane::Operations => state.focus(Pane::Graph),
        Pane::Graph => graph::look_closer(state),
        Pane::Waits => graph::lead_to_wait(state),
        Pane::Tree => return preview(state),
        Pane::Prompt | Pane::Details | Pane::Panel | Pane::Preview => {}
    }
    Vec::new()
}

fn preview(state: &mut State) -> Vec<Effect> {
    let Some((operation, row)) = state.sources.chosen() else {
        return Vec::new();
    };
    let source = row.header.id.clone();
    let effect = Effect::Preview(operation, source.clone(), state.sources.allowance);
    state.sources.preview = Preview::Reading(source);
    vec![effect]
}

/// More or less may be read; what is looked at is read again with that.
fn allow(state: &mut State, factor: Allow) -> Vec<Effect> {
    state.sources.allow(factor);
    match state.sources.preview {
        Preview::TooLarge { .. } => preview(state),
        Preview::Nothing | Preview::Reading(_) | Preview::Shown { .. } => Vec::new(),
    }
}

fn archive(state: &mut State) -> Vec<Effect> {
    let Some((operation, row)) = state.sources.chosen() else {
        return Vec::new();
    };
    match state.sources.keeping(row) {
        Keeping::Held => vec![Effect::Archive(operation, row.header.id.clone())],
        Keeping::Archived => slash::refuse(
            state,
            Trouble::of(
                "nothing was archived",
                "the archive has this source already",
                "press A to acknowledge it",
            ),
        ),
        Keeping::Acknowledged => slash::refuse(
            state,
            Trouble::of(
                "nothing was archived",
                "this source is archived and acknowledged",
                "choose another one",
            ),
        ),
    }
}

fn acknowledge(state: &mut State) -> Vec<Effect> {
    let Some((operation, row)) = state.sources.chosen() else {
        return Vec::new();
    };
    let source = row.header.id.clone();
    match (state.sources.keeping(row), state.sources.receipt(&source)) {
        (Keeping::Archived, Some(receipt)) => {
            vec![Effect::Acknowledge(operation, source, receipt.clone())]
        }
        (Keeping::Acknowledged, _) => {
            let text = format!("{source} is acknowledged already");
            state.notice = Some(Notice::Said(crate::tui::text::Inert::one_line(&text)));
            Vec::new()
        }
        (Keeping::Held | Keeping::Archived, _) => slash::refuse(
            state,
            Trouble::of(
                "nothing was acknowledged",
                "only what the archive has can be acknowledged",
                "press a to archive it first",
            ),
        ),
    }
}
