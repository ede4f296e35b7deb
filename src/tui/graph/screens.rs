//! Graphs and lists as text.

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use crate::engine::operation::view::{EdgeStatus, StepStatus};
use crate::engine::routine::definition::EdgeCondition;
use crate::engine::routine::{Known, load};
use crate::tui::graph::layered::Layered;
use crate::tui::graph::layout::{Arrange, Arranged, Flow, Heading};
use crate::tui::graph::list::{ListRows, ListWidget};
use crate::tui::graph::live::{LiveEdge, LiveGraph, LiveNode};
use crate::tui::graph::paint::GraphWidget;
use crate::tui::graph::samples;
use crate::tui::graph::select::{neighbour, next, previous, scroll_to};
use crate::tui::graph::shape::{EdgeShape, EdgeWay, GraphShape};
use crate::tui::theme::{Colours, Glyphs, Theme};

fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width).max(1));
    let mut text = String::new();
    for row in rows {
        let mut skip = 0;
        let mut line = String::new();
        for cell in row {
            if skip == 0 {
                line.push_str(cell.symbol());
                skip = crate::tui::text::width(cell.symbol());
            }
            skip = skip.saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn drawn(shape: &GraphShape, live: &LiveGraph, selected: usize, (w, h): (u16, u16)) -> String {
    let arranged = Arranged::of(shape, &Layered);
    let layout = arranged
        .best_for(w, h)
        .expect("the samples aren't too large");
    let mut buffer = Buffer::empty(Rect::new(0, 0, w, h));
    GraphWidget {
        shape,
        layout,
        live,
        theme: Theme::default(),
        selected: Some(selected),
        offset: scroll_to(layout, Some(selected), (w, h), (0, 0)),
    }
    .render(buffer.area, &mut buffer);
    text(&buffer)
}

fn listed(shape: &GraphShape, live: &LiveGraph, selected: usize, size: (u16, u16)) -> String {
    listed_in(Theme::default(), shape, live, selected, size)
}

fn listed_in(
    theme: Theme,
    shape: &GraphShape,
    live: &LiveGraph,
    selected: usize,
    (w, h): (u16, u16),
) -> String {
    let rows = ListRows::of(shape);
    let mut buffer = Buffer::empty(Rect::new(0, 0, w, h));
    ListWidget {
        shape,
        rows: &rows,
        live,
        theme,
        selected: Some(selected),
        offset: rows.scroll_to(Some(selected), h, 0),
    }
    .render(buffer.area, &mut buffer);
    text(&buffer)
}

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 12)];

fn screens(
    draw: fn(&GraphShape, &LiveGraph, usize, (u16, u16)) -> String,
    shape: &GraphShape,
    live: &LiveGraph,
    selected: usize,
) -> String {
    let screen = |size: (u16, u16)| {
        format!(
            "{}x{}\n{}\n",
            size.0,
            size.1,
            draw(shape, live, selected, size)
        )
    };
    SIZES.map(screen).concat()
}

macro_rules! looks {
    ($($test:ident: $name:literal, $shape:expr, $done:expr;)*) => {$(
        #[test]
        fn $test() {
            let shape = $shape;
            let live = samples::under_way(&shape, $done);
            insta::assert_snapshot!(concat!("graph-", $name), screens(drawn, &shape, &live, $done));
            insta::assert_snapshot!(concat!("list-", $name), screens(listed, &shape, &live, $done));
        }
    )*};
}

looks! {
    a_line_runs_straight: "line", samples::line(), 2;
    a_gate_sends_work_back_at_its_side: "gated", samples::gated(), 1;
    branches_spread_and_join: "fan", samples::fan(), 3;
    loops_nest: "loops", samples::loops(), 3;
    a_dozen_steps_scroll_to_the_selected_one: "twelve", samples::twelve(), 7;
    a_thousand_steps_show_a_window: "thousand", samples::thousand(), 500;
}

#[test]
fn the_demos_are_drawn_from_their_files() {
    let demos = [
        include_bytes!("../../../demo-routines/linear.yaml").as_slice(),
        include_bytes!("../../../demo-routines/gated-rework.yaml").as_slice(),
        include_bytes!("../../../demo-routines/fan-out-join.yaml").as_slice(),
    ];
    let draw = |file: &&[u8]| {
        let loaded = load(file, &Known::default());
        let routine = loaded.routine.expect("a demo keeps the rules");
        let shape = GraphShape::from(&routine.graph);
        drawn(&shape, &LiveGraph::idle(&shape), 0, (80, 30))
    };
    let all: Vec<String> = demos.iter().map(draw).collect();
    insta::assert_snapshot!("graph-demos", all.join("\n"));
}

#[test]
fn every_state_shows_in_text_alone() {
    let shape = samples::loops();
    let mut live = samples::under_way(&shape, 4);
    let states = [
        (StepStatus::Verified, 2),
        (StepStatus::Passed, 12),
        (StepStatus::Uncertain, 1),
        (StepStatus::Skipped, 0),
        (StepStatus::Failed, 3),
        (StepStatus::Stopped, 1),
        (StepStatus::Blocked, 1),
    ];
    for (node, (status, lap)) in live.nodes.iter_mut().zip(states) {
        *node = LiveNode {
            status,
            lap,
            count: None,
        };
    }
    live.edges[2] = LiveEdge {
        status: EdgeStatus::Activated,
        taken: 1,
    };
    live.edges[6].status = EdgeStatus::Dead;
    live.edges[7].status = EdgeStatus::Activated;
    insta::assert_snapshot!("graph-states", drawn(&shape, &live, 4, (80, 40)));
    insta::assert_snapshot!("list-states", listed(&shape, &live, 4, (80, 10)));
}

/// Row 25: in ASCII and without colour an edge that activated is told from one that may.
#[test]
fn edges_are_told_apart_in_plain_ascii() {
    let shape = samples::gated();
    let theme = Theme {
        colours: Colours::Off,
        glyphs: Glyphs::Ascii,
    };
    let screens = [EdgeStatus::Pending, EdgeStatus::Activated, EdgeStatus::Dead].map(|status| {
        let mut live = LiveGraph::idle(&shape);
        for edge in &mut live.edges {
            edge.status = status;
        }
        let boxes = drawn(&shape, &live, 0, (40, 24));
        let list = listed_in(theme, &shape, &live, 0, (40, 12));
        [boxes, list].map(|screen| {
            let lines: Vec<&str> = screen.lines().collect();
            let mut buffer = Buffer::with_lines(lines);
            theme.flatten(&mut buffer);
            text(&buffer)
        })
    });
    let [pending, activated, dead] = screens;
    for (one, other) in [
        (&pending, &activated),
        (&activated, &dead),
        (&pending, &dead),
    ] {
        assert_ne!(one[0], other[0]);
        assert_ne!(one[1], other[1]);
    }
}

/// Row 25 and M2: without colour nothing but the marker and reverse video is written.
#[test]
fn without_colour_no_colour_is_written_and_the_selection_shows() {
    let shape = samples::gated();
    let live = samples::under_way(&shape, 1);
    let layout = Layered.arrange(&shape, Flow::Down).expect("small");
    let area = Rect::new(0, 0, 40, 24);
    let options = ratatui::TerminalOptions {
        viewport: ratatui::Viewport::Fixed(area),
    };
    let mut bytes = Vec::new();
    let backend = ratatui::backend::CrosstermBackend::new(&mut bytes);
    let mut terminal = ratatui::Terminal::with_options(backend, options).expect("asks nothing");
    let widget = GraphWidget {
        shape: &shape,
        layout: &layout,
        live: &live,
        theme: Theme {
            colours: Colours::Off,
            glyphs: Glyphs::Unicode,
        },
        selected: Some(1),
        offset: (0, 0),
    };
    let drawn = terminal.draw(|frame| frame.render_widget(widget, area));
    drawn.expect("writing to memory works");
    drop(terminal);
    let written = String::from_utf8(bytes).expect("text");
    assert!(
        !written.contains("\u{1b}[38") && !written.contains("\u{1b}[48"),
        "{written:?}"
    );
    assert!(written.contains("\u{1b}[7m check"), "{written:?}");
    assert!(written.contains('>'));
}

/// Any graph that the rules could let through: onward edges lead up the numbers, retry edges down.
fn any_shape() -> impl Strategy<Value = GraphShape> {
    let edge = |steps: usize| (0..steps, 0..steps, any::<bool>());
    (2..14usize)
        .prop_flat_map(move |steps| {
            let names = proptest::collection::vec("[a-z漢字é \u{202e}\u{1b}]{0,40}", steps);
            (names, proptest::collection::vec(edge(steps), 0..30))
        })
        .prop_map(|(names, ends)| {
            let edges = ends.into_iter().filter(|(from, to, _)| from != to);
            let kinds = ["agent", "map", "until", "council"].into_iter().cycle();
            let nodes = names.iter().zip(kinds);
            GraphShape::of(
                nodes
                    .map(|(name, kind)| samples::node(name, kind))
                    .collect(),
                edges
                    .map(|(a, b, always)| EdgeShape {
                        from: a,
                        to: b,
                        condition: match always {
                            true => EdgeCondition::Always,
                            false => EdgeCondition::OnFail,
                        },
                        way: match a < b {
                            true => EdgeWay::Onward,
                            false => EdgeWay::Back { max_attempts: 3 },
                        },
                    })
                    .collect(),
            )
        })
}

proptest! {
    #[test]
    fn any_graph_is_laid_out_whole_and_drawn_at_any_size(
        shape in any_shape(),
        (w, h) in (0u16..=12, 0u16..=6),
        offset in (0usize..300, 0usize..100),
    ) {
        let live = samples::under_way(&shape, 1);
        for flow in [Flow::Down, Flow::Right] {
            let layout = Layered.arrange(&shape, flow).expect("small graphs aren't too large");
            for (node, area) in layout.nodes.iter().enumerate() {
                prop_assert!(area.x + area.width <= layout.width && area.width > 0);
                prop_assert!(area.y + area.height <= layout.height);
                for other in &layout.nodes[..node] {
                    let beside = area.x >= other.x + other.width || other.x >= area.x + area.width;
                    let above = area.y >= other.y + other.height || other.y >= area.y + area.height;
                    prop_assert!(beside || above, "boxes overlap");
                }
            }
            // Onward edges lead on: the layers follow our rule of which edges go back.
            for edge in shape.edges.iter().filter(|edge| !edge.is_back()) {
                let (from, to) = (layout.nodes[edge.from], layout.nodes[edge.to]);
                let on = match flow {
                    Flow::Down => from.y < to.y,
                    Flow::Right => from.x < to.x,
                };
                prop_assert!(on, "an onward edge leads back");
            }
            let mut buffer = Buffer::empty(Rect::new(0, 0, w, h));
            let widget = GraphWidget {
                shape: &shape,
                layout: &layout,
                live: &live,
                theme: Theme::default(),
                selected: Some(0),
                offset,
            };
            widget.render(Rect::new(0, 0, w.saturating_add(3), h), &mut buffer);
        }
        listed(&shape, &live, 1, (w, h));
    }
}

#[test]
fn keys_move_to_what_lies_in_their_direction() {
    let shape = samples::fan();
    let layout = Layered.arrange(&shape, Flow::Down).expect("small");
    assert_eq!(neighbour(&layout, 0, Heading::Down), Some(2));
    assert_eq!(neighbour(&layout, 2, Heading::Left), Some(1));
    assert_eq!(neighbour(&layout, 2, Heading::Right), Some(3));
    assert_eq!(neighbour(&layout, 4, Heading::Up), Some(2));
    assert_eq!(neighbour(&layout, 0, Heading::Up), None);
    let order = shape.topological();
    assert_eq!(next(&order, Some(0)), Some(1));
    assert_eq!(next(&order, Some(5)), Some(5));
    assert_eq!(previous(&order, Some(0)), Some(0));
    assert_eq!(next(&order, None), Some(0));
    assert_eq!(next(&[], None), None);
}

#[test]
fn scrolling_shows_the_chosen_step_and_never_leaves_the_picture() {
    let shape = samples::twelve();
    let layout = Layered.arrange(&shape, Flow::Down).expect("small");
    for node in 0..shape.nodes.len() {
        for size in [(80, 24), (40, 12), (25, 5), (1, 1)] {
            let (x, y) = scroll_to(&layout, Some(node), size, (30, 30));
            let area = layout.nodes[node];
            if usize::from(size.0) > area.width && usize::from(size.1) > area.height {
                assert!(x <= area.x && area.x + area.width <= x + usize::from(size.0));
                assert!(y <= area.y && area.y + area.height <= y + usize::from(size.1));
            }
            assert!(x <= layout.width && y <= layout.height);
        }
    }
    assert_eq!(scroll_to(&layout, None, (400, 400), (30, 30)), (0, 0));
}

#[test]
fn a_picture_without_end_is_refused_before_it_is_made() {
    let mut shape = samples::thousand();
    // A line with a jump from everywhere to everywhere.
    shape.edges = (0..999)
        .flat_map(|from| [(from, from + 1), (from, (from * 7919) % 1_000)])
        .filter(|(from, to)| from < to)
        .map(|(from, to)| EdgeShape {
            from,
            to,
            condition: EdgeCondition::Always,
            way: EdgeWay::Onward,
        })
        .collect();
    let arranged = Arranged::of(&shape, &Layered);
    assert!(arranged.best_for(120, 40).is_err());
    // The list still shows it.
    let live = LiveGraph::idle(&shape);
    assert!(listed(&shape, &live, 999, (80, 24)).contains("> · step 19.49"));
}

/// Q3: a frame of a thousand steps under 8 ms. Measured without optimisation, which is far slower.
#[test]
fn a_frame_costs_what_is_visible() {
    let shape = samples::thousand();
    let live = samples::under_way(&shape, 500);
    let arranged = Arranged::of(&shape, &Layered);
    let layout = arranged.best_for(120, 40).expect("fits");
    let mut buffer = Buffer::empty(Rect::new(0, 0, 120, 40));
    let frame = |buffer: &mut Buffer, node| {
        let started = std::time::Instant::now();
        buffer.reset();
        GraphWidget {
            shape: &shape,
            layout,
            live: &live,
            theme: Theme::default(),
            selected: Some(node),
            offset: scroll_to(layout, Some(node), (120, 40), (0, 0)),
        }
        .render(buffer.area, buffer);
        started.elapsed()
    };
    let best = (0..1_000)
        .step_by(100)
        .map(|node| frame(&mut buffer, node))
        .min();
    let best = best.expect("ten frames were drawn");
    assert!(best.as_millis() < 40, "{best:?}");
}
