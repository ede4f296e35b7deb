//! The layout by layers, worked out by `ascii-dag`; the only file that names that crate.
//!
//! It places boxes that we draw ourselves and routes the lines between them. Retry edges are handed
//! over turned around, so that the graph is acyclic and the layers follow our own rule of which
//! edges go back (G6), not the crate's; their arrows are put at the other end and their lines dashed.

use ascii_dag::render::engine::{
    ArmWeight, CellKind, CellMarker, ComposeBudget, EdgeStyle, EdgeStyleCtx, HitResult, LineWeight,
    MarkerDirection, MarkerShape, SceneComposer, ScenePlanner,
};
use ascii_dag::{CustomNode, Direction, Graph, LayoutConfig, PlanOptions, PortSide};

use crate::tui::graph::layout::{
    Area, Arms, Arrange, Dashed, Flow, Heading, Ink, Layout, MAX_CELLS, Spot, Stroke, TooLarge,
};
use crate::tui::graph::shape::{GraphShape, Laps, NodeShape};

/// The widest box. Longer names are cut.
const WIDEST: usize = 31;
/// The narrowest box: the longest word of a status fits into its lower border.
const NARROWEST: usize = 15;
/// How far widths may differ to be made alike.
const ALIKE: usize = 8;
/// Rows of a box: border with the kind, the name, border with the word of the status.
const BOX_ROWS: usize = 3;
/// What a box holds beside the name: borders, spaces and the marker.
const BESIDE_NAME: usize = 6;
/// What a box holds beside the kind where something is counted: corners, spaces, a line between.
const BESIDE_KIND: usize = 7;
/// The narrowest box of a step that can be invalidated: that word is the longest.
const NARROWEST_OF_LOOPS: usize = 17;

/// Lays out by layers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layered;

impl Arrange for Layered {
    fn arrange(&self, shape: &GraphShape, flow: Flow) -> Result<Layout, TooLarge> {
        let labels: Vec<Option<String>> = shape
            .edges
            .iter()
            .map(|edge| edge.longest_label())
            .collect();
        let mut graph = Graph::new();
        graph.set_direction(match flow {
            Flow::Down => Direction::TopDown,
            Flow::Right => Direction::LeftRight,
        });
        for (node, width) in box_widths(shape).into_iter().enumerate() {
            graph.add_node(
                node,
                CustomNode {
                    label: "",
                    width,
                    height: BOX_ROWS,
                    painter: None,
                    payload: "",
                },
            );
        }
        for (edge, label) in shape.edges.iter().zip(&labels) {
            if edge.is_back() {
                let side = match flow {
                    Flow::Down => PortSide::East,
                    Flow::Right => PortSide::South,
                };
                graph
                    .add_edge(edge.to, edge.from, label.as_deref())
                    .from_port(side)
                    .to_port(side);
            } else {
                graph.add_edge(edge.from, edge.to, label.as_deref());
            }
        }
        let layout = graph.compute_layout_with_config(&config(flow, &labels));
        compose(shape, flow, &layout)
    }
}

fn config(flow: Flow, labels: &[Option<String>]) -> LayoutConfig<'static> {
    let longest = labels.iter().flatten().map(String::len).max();
    LayoutConfig {
        direction: match flow {
            Flow::Down => Direction::TopDown,
            Flow::Right => Direction::LeftRight,
        },
        node_spacing: match flow {
            Flow::Down => 3,
            Flow::Right => 1,
        },
        // Between columns a label needs its own width and the ends of its line.
        level_spacing: match (flow, longest) {
            (Flow::Right, Some(longest)) => longest + 4,
            (Flow::Right, None) | (Flow::Down, _) => 0,
        },
        ..LayoutConfig::standard()
    }
}

/// Widths by name; all alike where that costs little, because then lines meet in one point. What is
/// counted widens its own box alone.
fn box_widths(shape: &GraphShape) -> Vec<usize> {
    let by_name = |step: &NodeShape| {
        let (lap, narrowest) = match step.laps {
            Laps::One => (0, NARROWEST),
            Laps::Several => (1 + step.laps.reserved(), NARROWEST_OF_LOOPS),
        };
        (step.name.first_line().width() + BESIDE_NAME + lap).max(narrowest)
    };
    let by_count = |step: &NodeShape| match step.counts.reserved() {
        0 => 0,
        cells => step.kind.len() + BESIDE_KIND + cells,
    };
    // Odd widths have a middle cell, so that lines between boxes run straight.
    let odd = |width: usize| width.min(WIDEST) | 1;
    let widths: Vec<usize> = shape.nodes.iter().map(|step| odd(by_name(step))).collect();
    let widest = widths.iter().copied().max().unwrap_or(NARROWEST);
    let narrowest = widths.iter().copied().min().unwrap_or(NARROWEST);
    let are_alike = widest - narrowest <= ALIKE;
    let steps = shape.nodes.iter().zip(widths);
    steps
        .map(|(step, width)| match are_alike {
            true => widest.max(odd(by_count(step))),
            false => width.max(odd(by_count(step))),
        })
        .collect()
}

/// Retry edges alone have labels that begin so; the style function may not capture anything.
fn edge_style(context: EdgeStyleCtx<'_>) -> EdgeStyle {
    let back = context
        .label
        .is_some_and(|label| label.starts_with("retry"));
    let mut style = EdgeStyle::default();
    if back {
        style.weight = Some(LineWeight::Dashed);
        style.marker_start = MarkerShape::Arrow;
        style.marker_end = MarkerShape::None;
    }
    style
}

fn compose(
    shape: &GraphShape,
    flow: Flow,
    layout: &ascii_dag::LayoutIR<'_>,
) -> Result<Layout, TooLarge> {
    let options = PlanOptions::new().with_edge_style_fn(edge_style);
    let mut planner = ScenePlanner::new();
    let too_large = |width, height| TooLarge { width, height };
    let scene = planner
        .plan(layout, &options)
        .quiet()
        .map_err(|_| too_large(layout.width(), layout.height()))?;
    let (width, height) = (scene.width(), scene.height());
    if width.saturating_mul(height) > MAX_CELLS {
        return Err(too_large(width, height));
    }
    let mut strokes: Vec<Vec<Stroke>> = vec![Vec::new(); height];
    let mut labels: Vec<Option<Spot>> = vec![None; shape.edges.len()];
    // Positions in the layout's list of edges, back to ours.
    let ours: Vec<usize> = layout.edges().iter().map(|edge| edge.edge_index).collect();
    let mut composer = SceneComposer::new(scene.composition_requirements(&ComposeBudget::new()));
    composer
        .visit_cells(&scene, |x, y, cell| {
            let HitResult::Edge(edge) = cell.owner else {
                return;
            };
            let Some(&edge) = ours.get(edge) else {
                return;
            };
            match cell.kind {
                CellKind::Text { .. } => {
                    let spot = labels[edge].get_or_insert(Spot { x, y, width: 0 });
                    spot.width += 1;
                }
                kind => strokes[y].extend(ink(kind).map(|ink| Stroke {
                    x: x as u32,
                    edge: edge as u32,
                    ink,
                })),
            }
        })
        .map_err(|_| too_large(width, height))?;
    let mut nodes = vec![
        Area {
            x: 0,
            y: 0,
            width: 0,
            height: 0
        };
        shape.nodes.len()
    ];
    for node in layout.nodes() {
        if let Some(area) = nodes.get_mut(node.id) {
            *area = Area {
                x: node.x,
                y: node.y,
                width: node.width,
                height: node.height,
            };
        }
    }
    Ok(Layout::of(flow, (width, height), nodes, labels, strokes))
}

fn ink(kind: CellKind) -> Option<Ink> {
    match kind {
        CellKind::Stroke { arms } => {
            let bits = [
                (arms.up, Arms::UP),
                (arms.down, Arms::DOWN),
                (arms.left, Arms::LEFT),
                (arms.right, Arms::RIGHT),
            ];
            let there = bits.iter().filter(|(weight, _)| *weight != ArmWeight::None);
            let dashed = there
                .clone()
                .all(|(weight, _)| *weight == ArmWeight::Dashed);
            Some(Ink::Line {
                arms: Arms(there.fold(0, |arms, (_, bit)| arms | bit)),
                dashed: if dashed { Dashed::Yes } else { Dashed::No },
            })
        }
        CellKind::Marker {
            marker: CellMarker::Arrow { direction, .. },
        } => Some(Ink::Head(match direction {
            MarkerDirection::Up => Heading::Up,
            MarkerDirection::Down => Heading::Down,
            MarkerDirection::Left => Heading::Left,
            MarkerDirection::Right => Heading::Right,
        })),
        _ => None,
    }
}
