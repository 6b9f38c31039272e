//! The report as a picture: the graph as compiled.
//!
//! A box is a kernel with its layers. Views and constants are no boxes. Repeated parts are drawn
//! once. A graph that is too large for one box per kernel has a line per kernel; a graph that is
//! still too large has boxes that count kernels.

mod boxes;
mod graph;
mod layout;
mod merge;
mod page;
mod repeats;
mod svg;

use std::fmt::Write;

use crate::report::Report;
use crate::report::words::{folded, grouped, visible, wrap};
use boxes::{Detail, LINE, Text, text};
use graph::{Content, Node};
pub use page::page;
use svg::{Canvas, Pen, escape};

/// Space around the picture.
const MARGIN: f64 = 24.0;
/// Minimum width of the picture, for the text outside of the graph.
const NARROWEST: f64 = 720.0;
/// Characters per line of the text below the graph, at most.
const FOOT: usize = 140;
/// Width of a character of the text below the graph.
const SMALL: f64 = 6.7;
/// Maximum width and height of a picture, in pixels.
pub const LARGEST: (f64, f64) = (4000.0, 8000.0);
/// Maximum width and height of a graph with one box per kernel.
const READABLE: (f64, f64) = (1800.0, 3000.0);
/// Shares of the time below which kernels are counted only, tried in this order. Last of all, a
/// picture is one box.
const SHARES: [f64; 9] = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

/// A picture as SVG.
pub struct Picture {
    /// The file.
    pub svg: String,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// True if every occurrence of every kernel is drawn.
    is_complete: bool,
}

/// The graph of a report as a picture of at most [`LARGEST`].
pub fn picture(report: &Report) -> Picture {
    let fits =
        |picture: &Picture, most: (f64, f64)| picture.width <= most.0 && picture.height <= most.1;
    let graph = graph::graph(report);
    let full = repeats::fold(graph.clone(), report);
    if can_be_drawn(&full, READABLE.1) {
        let full = drawn(&full, Detail::Full, report).framed(report);
        if fits(&full, READABLE) {
            return full;
        }
    }
    let compact = repeats::fold(merge::compact(graph, report), report);
    let lines = merge::chains(compact.clone());
    if can_be_drawn(&lines, LARGEST.1) {
        let lines = drawn(&lines, Detail::Lines, report).framed(report);
        if fits(&lines, LARGEST) {
            return lines;
        }
    }
    for share in SHARES {
        let nodes = merge::chains(merge::summarised(compact.clone(), report, share));
        if can_be_drawn(&nodes, LARGEST.1) {
            let counted = drawn(&nodes, Detail::Lines, report).framed(report);
            if fits(&counted, LARGEST) {
                return counted;
            }
        }
    }
    let one = merge::summarised(compact, report, f64::INFINITY);
    drawn(&one, Detail::Lines, report).framed(report)
}

/// True if the ranks fit into this height and the edges are few enough for a layout.
fn can_be_drawn(nodes: &[Node], height: f64) -> bool {
    let ranks = layout::ranks(nodes.len(), &graph::edges(nodes));
    let most = ranks.iter().max().map_or(0, |most| most + 1);
    most as f64 * layout::RANK_GAP <= height && are_few(nodes)
}

/// True if a layout of the graph takes seconds at most.
fn are_few(nodes: &[Node]) -> bool {
    const MOST: usize = 20_000;
    let edges = graph::edges(nodes);
    let ranks = layout::ranks(nodes.len(), &edges);
    edges.iter().map(|&(from, to)| ranks[to] - ranks[from]).sum::<usize>() <= MOST
}

/// The graph of a report with a line for every kernel, of any size. `None`: too many edges.
fn complete(report: &Report) -> Option<Picture> {
    let nodes = merge::chains(merge::compact(graph::graph(report), report));
    are_few(&nodes).then(|| drawn(&nodes, Detail::Lines, report).framed(report))
}

/// A drawn graph, without the text above and below.
struct DrawnGraph {
    canvas: Canvas,
    detail: Detail,
    /// True if a block is drawn once for several occurrences.
    has_blocks: bool,
    /// The kernels that are counted only.
    counted: Vec<usize>,
    /// Inputs, outputs and kept tensors that are counted only.
    counted_ends: usize,
}

fn drawn(nodes: &[Node], detail: Detail, report: &Report) -> DrawnGraph {
    let mut largest = 0.0f64;
    let mut drawn = DrawnGraph {
        canvas: Canvas { width: 0.0, height: 0.0, elements: String::new() },
        detail,
        has_blocks: false,
        counted: Vec::new(),
        counted_ends: 0,
    };
    let mut open: Vec<&Node> = nodes.iter().collect();
    while let Some(node) = open.pop() {
        drawn.has_blocks |= node.times > 1;
        let share = |kernels: &[usize]| kernels.iter().map(|&k| report.kernels[k].share).sum();
        match &node.content {
            Content::Kernels(rows) => {
                largest = rows.iter().map(|row| share(row.kernels())).fold(largest, f64::max);
            }
            Content::Block { nodes, .. } => open.extend(nodes),
            Content::Rest { kernels, ends } => {
                drawn.counted.extend(kernels);
                drawn.counted_ends += ends;
            }
            Content::End(_) | Content::Junction(_) => {}
        }
    }
    drawn.canvas = Pen { report, detail, largest }.draw(nodes);
    drawn
}

impl DrawnGraph {
    /// The graph with the text above and below it.
    fn framed(&self, report: &Report) -> Picture {
        let canvas = &self.canvas;
        let width = (canvas.width.max(NARROWEST) + 2.0 * MARGIN).round();
        let columns = FOOT.min(((width - 2.0 * MARGIN) / SMALL) as usize);
        let (head, foot) = (head(report), self.foot(report, columns));
        let left = (width - canvas.width) / 2.0;
        let top = MARGIN + head.len() as f64 * LINE + MARGIN;
        let below = top + canvas.height + MARGIN;
        let height = (below + foot.len() as f64 * LINE + MARGIN).round();
        let mut svg = String::new();
        // writing to a string cannot fail
        _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
             <title>{}</title>\n<style>{}</style>\n<rect class=\"page\" width=\"100%\" \
             height=\"100%\"/>",
            escape(&visible(&report.model)),
            svg::STYLE,
        );
        svg::lines(&mut svg, MARGIN, MARGIN, &head);
        _ = writeln!(svg, "<g transform=\"translate({left:.1} {top:.1})\">");
        svg.push_str(&canvas.elements);
        svg.push_str("</g>\n");
        svg::lines(&mut svg, MARGIN, below, &foot);
        svg.push_str("</svg>\n");
        let is_complete = !self.has_blocks && self.counted.is_empty();
        Picture { svg, width, height, is_complete }
    }

    fn foot(&self, report: &Report, columns: usize) -> Vec<Text> {
        let mut lines = vec![match self.detail {
            Detail::Full => {
                "A box is a kernel: its layers, + what is fused into them in registers; \
                             colour and bar are its share of the estimated time."
                    .to_owned()
            }
            Detail::Lines => "A line is the kernels of a layer, + what is fused into them in \
                              registers; the bar is their share of the estimated time, relative to \
                              the largest. Green: kept between steps."
                .to_owned(),
        }];
        if self.has_blocks {
            lines.push(
                "× n: equal parts of the model, drawn once; time and bytes are those of all parts."
                    .to_owned(),
            );
        }
        if !self.counted.is_empty() || self.counted_ends > 0 {
            let share: f64 = self.counted.iter().map(|&k| report.kernels[k].share).sum();
            let ends = match self.counted_ends {
                0 => String::new(),
                n => format!(" and {n} inputs and outputs"),
            };
            lines.push(format!(
                "Left out: {} of {} kernels, with {:.1} % of the time{ends}, in boxes with broken \
                 edges; --html FILE shows all.",
                self.counted.len(),
                report.kernels.len(),
                share * 100.0
            ));
        }
        lines.push(format!(
            "Folded when compiling, or without effect: {}.",
            folded(report, columns - 42)
        ));
        lines.push(format!("Time: {}.", report.formula));
        lines.iter().flat_map(|line| wrap(line, columns)).map(|line| text("small", line)).collect()
    }
}

fn head(report: &Report) -> Vec<Text> {
    let totals = &report.totals;
    let profile = if report.fused_multiply_add { "fused" } else { "unfused" };
    vec![
        text(
            "title",
            format!(
                "{} on {}: {} lanes, {profile} multiply-add",
                visible(&report.model),
                report.isa,
                report.lanes
            ),
        ),
        text(
            "small",
            format!(
                "{} multiply-adds a step, {} bytes of weights, {} of state, {} of intermediate \
                 values",
                grouped(totals.multiply_adds),
                grouped(totals.weight_bytes),
                grouped(totals.state_bytes),
                grouped(totals.block_bytes)
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        Done, Folded, Kernel, LayerReport, Output, TensorSource, Totals, Variable,
    };
    use quick_xml::Reader;
    use quick_xml::events::Event;

    /// The number of elements of a picture. Asserts that every element is closed.
    fn elements(svg: &str) -> usize {
        let mut reader = Reader::from_str(svg);
        let (mut depth, mut count) = (0, 0);
        loop {
            match reader.read_event().expect("well-formed") {
                Event::Start(_) => (depth, count) = (depth + 1, count + 1),
                Event::Empty(_) => count += 1,
                Event::End(_) => depth -= 1,
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(depth, 0, "every element ends");
        count
    }

    fn layer(name: &str, inputs: Vec<TensorSource>, done: Done) -> LayerReport {
        LayerReport {
            name: name.to_owned(),
            kind: "Layer".to_owned(),
            within: None,
            runs: 1,
            inputs,
            shapes: vec![vec![1, 2]],
            multiply_adds: 0,
            weight_bytes: 0,
            done,
            kernel: None,
            operation: name.to_owned(),
            attributes: vec![name.to_owned()],
            parts_copied: None,
        }
    }

    /// A report on layers with one output, the last layer. Each computed layer has a kernel.
    fn report(name: &str, mut layers: Vec<LayerReport>) -> Report {
        let computed: Vec<usize> =
            (0..layers.len()).filter(|&i| layers[i].done == Done::Computed).collect();
        let mut kernels = Vec::new();
        for (k, &i) in computed.iter().enumerate() {
            layers[i].kernel = Some(k);
            kernels.push(Kernel {
                name: format!("kernel{k}"),
                note: String::new(),
                layers: vec![i],
                writes_outputs: Vec::new(),
                writes_variables: Vec::new(),
                plan: Vec::new(),
                multiply_adds: 3,
                weight_bytes: 0,
                weight_bytes_read: 0,
                operations: 1,
                cycles: 1.0,
                share: 1.0 / computed.len() as f64,
            });
        }
        let from = TensorSource::Layer(layers.len() - 1);
        let output =
            Output { name: name.to_owned(), element: "f32", shape: vec![1, 2], from, state: None };
        Report {
            model: name.to_owned(),
            isa: "generic",
            lanes: 4,
            fused_multiply_add: false,
            inputs: Vec::new(),
            outputs: vec![output],
            variables: vec![Variable {
                name: name.to_owned(),
                shape: vec![1, 2],
                next: Some(TensorSource::Layer(0)),
            }],
            layers,
            kernels,
            folded: vec![Folded { kind: name.to_owned(), count: 1, names: vec![name.to_owned()] }],
            totals: Totals::default(),
            on_target: None,
            precisions: None,
            in_f32: Vec::new(),
            in_own_integers: Vec::new(),
            formula: String::new(),
        }
    }

    fn with_a_view(name: &str) -> Report {
        report(name, vec![layer(name, vec![TensorSource::Variable(0)], Done::View)])
    }

    /// Sixteen blocks of three computed layers and a view, each with a residual edge.
    fn blocks() -> Report {
        let mut layers = vec![layer("first", vec![TensorSource::Variable(0)], Done::Computed)];
        for i in 0..16 {
            let x = TensorSource::Layer(layers.len() - 1);
            let at = layers.len();
            layers.push(layer(&format!("a{i}"), vec![x], Done::Computed));
            layers.push(layer(&format!("v{i}"), vec![TensorSource::Layer(at)], Done::View));
            layers.push(layer(&format!("b{i}"), vec![TensorSource::Layer(at + 1)], Done::Computed));
            layers.push(layer(
                &format!("c{i}"),
                vec![TensorSource::Layer(at + 2), x],
                Done::Computed,
            ));
        }
        report("blocks", layers)
    }

    #[test]
    fn repeated_blocks_are_drawn_once() {
        let report = blocks();
        let picture = picture(&report);
        assert_eq!(picture.svg.matches("× 16, one after another").count(), 1);
        // the first layer, and three of a block
        assert_eq!(picture.svg.matches(">kernel").count(), 4, "{}", picture.svg);
        assert!(!picture.svg.contains(">Layer v0"), "a view is no box");
        assert!(picture.svg.contains(" data-layers=\"2\""), "it is on its edge");
        assert!(!picture.is_complete);
        insta::assert_snapshot!(picture.svg);
    }

    #[test]
    fn a_page_has_every_kernel() {
        let page = page(&blocks());
        let drawn = |k: usize| page.contains(&format!(" data-kernels=\"{k}\""));
        assert!((0..49).all(drawn));
    }

    /// A graph of 1,500 kernels that each read two earlier ones.
    #[test]
    fn no_graph_is_larger_than_a_picture() {
        let mut random = 1usize;
        let mut earlier = |i: usize| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            TensorSource::Layer((random >> 33) % i)
        };
        let mut layers = vec![layer("0", vec![TensorSource::Variable(0)], Done::Computed)];
        for i in 1..1500 {
            let name = format!("a layer with a long name, {i}");
            layers.push(layer(&name, vec![earlier(i), earlier(i)], Done::Computed));
        }
        let picture = picture(&report("random", layers));
        let Picture { width, height, .. } = picture;
        assert!(width <= LARGEST.0 && height <= LARGEST.1, "{width} x {height}");
        assert!(picture.svg.contains("Left out: "), "{}", picture.svg);
    }

    #[test]
    fn no_name_breaks_out() {
        let nasty = "</text><script>&\"'\u{0}\u{ffff}\u{202e}\n]]>";
        let (svg, plain) = (picture(&with_a_view(nasty)).svg, picture(&with_a_view("plain")).svg);
        let (all, plain) = (elements(&svg), elements(&plain));
        // more text may need more lines
        assert!(all - plain < 5, "{svg}");
        assert!(
            !svg.contains("<script") && !svg.contains(['\u{0}', '\u{ffff}', '\u{202e}']),
            "{svg}"
        );
        let page = page(&with_a_view(nasty));
        assert_eq!(page.matches("<script").count(), 2, "{page}");
    }
}
