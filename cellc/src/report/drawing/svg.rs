//! A graph as SVG. Coordinates have one decimal. Fonts influence only the fit of texts in their
//! boxes.

use std::fmt::Write;

use super::boxes::{About, CHARACTER, Detail, LINE, Look, PADDING, Shape, Text, text};
use super::graph::{Content, Node};
use super::layout::Graph;
use crate::report::Report;

/// Distance between the cards of a box with several occurrences.
const CARD: f64 = 4.0;

pub(super) const STYLE: &str = "\
text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2933; \
white-space: pre }
.name, .times { font-weight: bold }
.title { font-weight: bold; font-size: 15px }
.small, .keeps, .share { font-size: 11px; fill: #5b6773 }
.share { text-anchor: end }
.times { fill: #3d6f99 }
.page { fill: #fbfbfa }
.box { fill: #ffffff; stroke: #8a96a3; stroke-width: 1.2 }
.end { fill: #e6eef5; stroke: #6f8ba6; stroke-width: 1.2 }
.kept { fill: #e7f1e8; stroke: #6f9a76; stroke-width: 1.2 }
.keep { fill: #e7f1e8 }
.rest { fill: #f0f0ee; stroke: #8a96a3; stroke-width: 1.2; stroke-dasharray: 5 4 }
.block { fill: #3d6f99; fill-opacity: 0.06; stroke: #3d6f99; stroke-width: 1.4 }
.heat { fill: #d9622b }
.track { fill: #8a96a3; fill-opacity: 0.25 }
.body { stroke: #8a96a3; stroke-width: 1.5; fill: none }
.edge { stroke: #8a96a3; stroke-width: 1.3; fill: none }
.tip { fill: #8a96a3 }
@media (prefers-color-scheme: dark) {
text { fill: #e4e7eb } .small, .keeps, .share { fill: #a3adb8 } .page { fill: #1b1f24 }
.times { fill: #8fbbe0 } .box { fill: #262c33; stroke: #77828e }
.end { fill: #25333f; stroke: #6f8ba6 } .kept { fill: #26352a; stroke: #6f9a76 }
.keep { fill: #26352a } .rest { fill: #22272d; stroke: #77828e }
}
";

/// Elements with a common origin.
pub(super) struct Canvas {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The text of the elements.
    pub(super) elements: String,
}

/// The data that all parts of a drawing share.
pub(super) struct Pen<'a> {
    pub(super) report: &'a Report,
    pub(super) detail: Detail,
    /// The largest share of the time that one row has: the kernels of a line, or of a box with one
    /// kernel.
    pub(super) largest: f64,
}

/// A drawn node.
enum DrawnBox {
    Shape(Shape),
    /// The frame of a block: its caption and its content.
    Frame(Text, Canvas),
}

impl DrawnBox {
    fn size(&self) -> (f64, f64) {
        match self {
            DrawnBox::Shape(shape) => shape.size(),
            DrawnBox::Frame(caption, canvas) => {
                let caption = caption.text.chars().count() as f64 * CHARACTER;
                let width = canvas.width.max(caption) + 4.0 * PADDING;
                (width, canvas.height + LINE + 5.0 * PADDING)
            }
        }
    }
}

impl Pen<'_> {
    /// Draws a graph.
    pub(super) fn draw(&self, nodes: &[Node]) -> Canvas {
        let drawn: Vec<DrawnBox> = nodes.iter().map(|node| self.node(node)).collect();
        let sizes: Vec<_> = drawn.iter().map(DrawnBox::size).collect();
        let mut edges = Vec::new();
        let mut views = Vec::new();
        for (to, node) in nodes.iter().enumerate() {
            for read in &node.reads {
                edges.push((read.from, to));
                views.push(&read.views[..]);
            }
        }
        let graph = Graph { sizes, edges };
        let layout = graph.layout();
        let mut elements = String::new();
        for (path, views) in layout.paths.iter().zip(views) {
            self.edge(&mut elements, path, views);
        }
        for ((drawn, &size), &origin) in drawn.iter().zip(&graph.sizes).zip(&layout.boxes) {
            match drawn {
                DrawnBox::Shape(shape) => self.shape(&mut elements, shape, origin, size),
                DrawnBox::Frame(caption, canvas) => {
                    frame(&mut elements, (caption, canvas), origin, size);
                }
            }
        }
        Canvas { width: layout.width, height: layout.height, elements }
    }

    fn node(&self, node: &Node) -> DrawnBox {
        let Content::Block { nodes, chained } = &node.content else {
            return DrawnBox::Shape(Shape::new(node, self.report, self.detail));
        };
        let how = if *chained { "one after another" } else { "side by side" };
        let share = node.share(self.report) * 100.0;
        let caption = format!("× {}, {how}: {share:.1} % together", node.times);
        DrawnBox::Frame(text("times", caption), self.draw(nodes))
    }

    fn shape(
        &self,
        svg: &mut String,
        shape: &Shape,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
    ) {
        let (class, radius) = match shape.look {
            Look::End => ("end", 14.0),
            Look::Kept => ("kept", 14.0),
            Look::Kernel(_) | Look::Lines => ("box", 5.0),
            Look::Junction => ("end", 12.0),
            Look::Rest(_) => ("rest", 5.0),
        };
        group(svg, &shape.about);
        if shape.times > 1 {
            for card in [2.0, 1.0] {
                let card_box = (x + card * CARD, y + card * CARD, width, height);
                rect(svg, class, card_box, radius, "");
            }
        }
        rect(svg, class, (x, y, width, height), radius, "");
        let bar = match shape.look {
            Look::Kernel(share) | Look::Rest(share) => Some(share),
            _ => None,
        };
        let after_bar = usize::from(shape.times > 1);
        if let Some(share) = bar {
            if matches!(shape.look, Look::Kernel(_)) {
                let opacity = format!(" fill-opacity=\"{:.2}\"", 0.5 * self.heat(share));
                rect(svg, "heat", (x, y, width, height), radius, &opacity);
            }
            let (bar, at) = (width - 2.0 * PADDING, y + PADDING + (after_bar + 1) as f64 * LINE);
            rect(svg, "track", (x + PADDING, at, bar, 4.0), 2.0, "");
            rect(svg, "heat", (x + PADDING, at, bar * share, 4.0), 2.0, "");
        }
        let padding = if shape.look == Look::Junction { PADDING / 2.0 } else { PADDING };
        let mut at = y + padding;
        for (i, line) in shape.lines.iter().enumerate() {
            if line.depth > 0 {
                let bar = x + PADDING + (line.depth as f64 - 0.5) * 2.0 * CHARACTER;
                _ = writeln!(svg, "<path class=\"body\" d=\"M{bar:.1} {at:.1}v{LINE:.1}\"/>");
            }
            self.line(svg, line, (x, at), width);
            at += LINE;
            if i == after_bar && bar.is_some() {
                at += 8.0;
            }
        }
        svg.push_str("</g>\n");
    }

    /// A line of a box with its upper edge at `y`.
    fn line(&self, svg: &mut String, line: &Text, (x, y): (f64, f64), width: f64) {
        let is_group = line.about != About::default();
        if is_group {
            group(svg, &line.about);
        }
        let inner = (x + PADDING / 2.0, y, width - PADDING, LINE - 1.0);
        if line.class == "keeps" {
            rect(svg, "keep", inner, 3.0, "");
        }
        if let Some(share) = line.share {
            rect(svg, "heat", inner, 3.0, " fill-opacity=\"0.05\"");
            let filled = (inner.0, inner.1, inner.2 * self.heat(share), inner.3);
            rect(svg, "heat", filled, 3.0, " fill-opacity=\"0.35\"");
            let (right, baseline) = (x + width - PADDING, y + 12.5);
            _ = writeln!(
                svg,
                "<text class=\"share\" x=\"{right:.1}\" y=\"{baseline:.1}\">{:.1} %</text>",
                share * 100.0
            );
        }
        write_line(svg, x + PADDING + line.depth as f64 * 2.0 * CHARACTER, y, line);
        if is_group {
            svg.push_str("</g>\n");
        }
    }

    /// A share relative to the largest, 0 to 1.
    fn heat(&self, share: f64) -> f64 {
        if self.largest > 0.0 { (share / self.largest).min(1.0) } else { 0.0 }
    }

    /// A smooth curve with vertical ends, and its arrowhead.
    fn edge(&self, svg: &mut String, path: &[(f64, f64)], views: &[usize]) {
        let Some(&(x, y)) = path.first() else { return };
        let mut d = format!("M{x:.1} {y:.1}");
        for pair in path.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            if (x0 - x1).abs() < 0.05 {
                _ = write!(d, "V{y1:.1}");
                continue;
            }
            let bend = (y1 - y0) / 2.0;
            _ = write!(d, "C{x0:.1} {:.1} {x1:.1} {:.1} {x1:.1} {y1:.1}", y0 + bend, y1 - bend);
        }
        let (x, y) = path[path.len() - 1];
        let data = match views {
            [] => String::new(),
            _ => format!(" data-layers=\"{}\"", numbers(views)),
        };
        _ = writeln!(svg, "<path class=\"edge\" d=\"{d}\"{data}/>");
        _ = writeln!(svg, "<path class=\"tip\" d=\"M{x:.1} {y:.1}l-4 -8h8z\"/>");
    }
}

/// The frame of a block.
fn frame(
    svg: &mut String,
    (caption, canvas): (&Text, &Canvas),
    (x, y): (f64, f64),
    (width, height): (f64, f64),
) {
    svg.push_str("<g>\n");
    for card in [2.0, 1.0, 0.0] {
        let card_box = (x + card * CARD, y + card * CARD, width, height);
        rect(svg, "page", card_box, 10.0, "");
        rect(svg, "block", card_box, 10.0, "");
    }
    write_line(svg, x + 1.5 * PADDING, y + PADDING, caption);
    let left = x + (width - canvas.width) / 2.0;
    let top = y + LINE + 3.0 * PADDING;
    _ = writeln!(svg, "<g transform=\"translate({left:.1} {top:.1})\">");
    svg.push_str(&canvas.elements);
    svg.push_str("</g>\n</g>\n");
}

/// Opens a group, with the kernels or names that the group shows.
fn group(svg: &mut String, about: &About) {
    svg.push_str("<g");
    if !about.kernels.is_empty() {
        _ = write!(svg, " data-kernels=\"{}\"", numbers(&about.kernels));
    }
    if !about.names.is_empty() {
        let names: Vec<_> = about.names.iter().map(|name| super::visible(name)).collect();
        _ = write!(svg, " data-names=\"{}\"", escape(&names.join(", ")));
    }
    svg.push_str(">\n");
}

/// Numbers with spaces between them: `3 4 5`.
fn numbers(all: &[usize]) -> String {
    all.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

/// Lines of text below each other.
pub(super) fn lines(svg: &mut String, x: f64, y: f64, lines: &[Text]) {
    for (i, line) in lines.iter().enumerate() {
        write_line(svg, x, y + i as f64 * LINE, line);
    }
}

/// A line of text with its upper edge at `y`.
fn write_line(svg: &mut String, x: f64, y: f64, line: &Text) {
    let class =
        if line.class.is_empty() { String::new() } else { format!(" class=\"{}\"", line.class) };
    _ = writeln!(
        svg,
        "<text{class} x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
        y + 12.5,
        escape(&line.text)
    );
}

fn rect(
    svg: &mut String,
    class: &str,
    (x, y, width, height): (f64, f64, f64, f64),
    radius: f64,
    more: &str,
) {
    _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\" rx=\"{radius:.0}\"{more}/>"
    );
}

/// Escapes a text for XML. `visible` has escaped the characters that are invalid in XML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
