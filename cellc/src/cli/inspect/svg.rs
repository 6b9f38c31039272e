//! The report as a picture: the graph as compiled.
//!
//! A box is a kernel with its layers. A box with a dashed edge is a layer without cost. Coordinates
//! have one decimal. Fonts influence only the fit of texts in their boxes.

use std::fmt::Write;

use crate::report::{Done, InputRole, Kernel, Layer, Operand, Report};

use super::layout::{Graph, Layout};
use super::{cut, folded, grouped, shapes, visible};

/// Height of a line of text.
const LINE: f64 = 17.0;
/// Width of a character of the largest font, if the viewer's machine has a monospaced font.
const CHARACTER: f64 = 7.3;
/// Space between the edge of a box and its text.
const PADDING: f64 = 10.0;
/// Space around the picture.
const MARGIN: f64 = 24.0;
/// Minimum width of the picture, for the text outside of the graph.
const NARROWEST: f64 = 720.0;
/// Characters per line of the text below the graph.
const FOOT: usize = 96;
/// Maximum number of characters of a layer's name.
const NAME: usize = 28;
/// Maximum number of characters in a line of a plan.
const PLAN: usize = 52;

const STYLE: &str = "\
text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2933; \
white-space: pre }
.name { font-weight: bold }
.title { font-weight: bold; font-size: 15px }
.small { font-size: 11px; fill: #5b6773 }
.page { fill: #fbfbfa }
.box { fill: #ffffff; stroke: #8a96a3; stroke-width: 1.2 }
.end { fill: #e6eef5; stroke: #6f8ba6; stroke-width: 1.2 }
.kept { fill: #e7f1e8; stroke: #6f9a76; stroke-width: 1.2 }
.free { fill: none; stroke: #8a96a3; stroke-width: 1.2; stroke-dasharray: 5 4 }
.heat { fill: #d9622b }
.track { fill: #8a96a3; fill-opacity: 0.25 }
.body { stroke: #8a96a3; stroke-width: 1.5; fill: none }
.edge { stroke: #8a96a3; stroke-width: 1.3; fill: none }
.tip { fill: #8a96a3 }
@media (prefers-color-scheme: dark) {
text { fill: #e4e7eb } .small { fill: #a3adb8 } .page { fill: #1b1f24 }
.box { fill: #262c33; stroke: #77828e } .end { fill: #25333f; stroke: #6f8ba6 }
.kept { fill: #26352a; stroke: #6f9a76 } .free { stroke: #77828e }
}
";

/// The appearance of a box.
#[derive(Clone, Copy, PartialEq)]
enum Look {
    /// An input or an output.
    End,
    /// A tensor kept between steps.
    Kept,
    /// A kernel, with its share of the time.
    Kernel(f64),
    /// A layer without cost.
    Free,
}

/// A line of text in a box.
struct Text {
    class: &'static str,
    text: String,
    /// Number of loops around the layer.
    depth: usize,
}

/// A box.
struct Shape {
    look: Look,
    lines: Vec<Text>,
}

/// The boxes and the edges between them, each edge from an earlier box to a later one.
struct Picture<'a> {
    report: &'a Report,
    shapes: Vec<Shape>,
    edges: Vec<(usize, usize)>,
    /// The boxes of inputs, and of variables before the step.
    inputs: Vec<usize>,
    variables: Vec<usize>,
    /// Box of each layer.
    layers: Vec<usize>,
}

/// The whole picture, as a file.
pub(super) fn picture(report: &Report) -> String {
    let mut picture = Picture {
        report,
        shapes: Vec::new(),
        edges: Vec::new(),
        inputs: Vec::new(),
        variables: Vec::new(),
        layers: Vec::new(),
    };
    picture.sources();
    picture.operations();
    picture.sinks();
    picture.edges.sort_unstable();
    picture.edges.dedup();
    picture.draw()
}

impl<'a> Picture<'a> {
    fn add(&mut self, look: Look, lines: Vec<Text>) -> usize {
        self.shapes.push(Shape { look, lines });
        self.shapes.len() - 1
    }

    fn sources(&mut self) {
        let report = self.report;
        for input in &report.inputs {
            let (look, role) = match input.role {
                InputRole::Data => (Look::End, "input"),
                InputRole::State => (Look::Kept, "state"),
                InputRole::Lengths => (Look::End, "lengths"),
                InputRole::Weights => (Look::End, "weights, packed once"),
            };
            let lines = end(&input.name, &format!("{role}, {} {:?}", input.element, input.shape));
            let at = self.add(look, lines);
            self.inputs.push(at);
        }
        for variable in &report.variables {
            let at = self.add(
                Look::Kept,
                end(&variable.name, &format!("variable, f32 {:?}", variable.shape)),
            );
            self.variables.push(at);
        }
    }

    /// Adds a box for each kernel with layers, and for each layer without cost outside of loops.
    fn operations(&mut self) {
        let report = self.report;
        let top = |mut i: usize| {
            while let Some(around) = report.layers[i].within {
                i = around;
            }
            i
        };
        // a kernel is placed at its last layer
        let mut at: Vec<(usize, Option<&'a Kernel>)> = Vec::new();
        for kernel in report.kernels.iter().filter(|kernel| !kernel.layers.is_empty()) {
            at.extend(kernel.layers.iter().map(|&i| top(i)).max().map(|last| (last, Some(kernel))));
        }
        let free = |(_, layer): &(usize, &Layer)| layer.kernel.is_none() && layer.within.is_none();
        at.extend(report.layers.iter().enumerate().filter(free).map(|(i, _)| (i, None)));
        at.sort_by_key(|(i, _)| *i);
        self.layers = vec![usize::MAX; report.layers.len()];
        for (first, kernel) in at {
            let (look, lines) = match kernel {
                Some(kernel) => (Look::Kernel(kernel.share), self.kernel(kernel)),
                None => (Look::Free, self.free(first)),
            };
            let at = self.add(look, lines);
            let own = |i: &usize| match kernel {
                Some(kernel) => report.layers[top(*i)]
                    .kernel
                    .is_some_and(|k| std::ptr::eq(&report.kernels[k], kernel)),
                None => *i == first,
            };
            for i in (0..report.layers.len()).filter(own) {
                self.layers[i] = at;
            }
        }
        for (i, layer) in report.layers.iter().enumerate() {
            for operand in &layer.inputs {
                self.edge(*operand, self.layers[i]);
            }
        }
    }

    /// Adds boxes for outputs and for variables after the step, and for kernels that only copy.
    fn sinks(&mut self) {
        let report = self.report;
        let mut copies = vec![None; report.kernels.len()];
        for (k, kernel) in
            report.kernels.iter().enumerate().filter(|(_, kernel)| kernel.layers.is_empty())
        {
            let lines = self.kernel(kernel);
            copies[k] = Some(self.add(Look::Kernel(kernel.share), lines));
        }
        let copier = |writes: &dyn Fn(&Kernel) -> bool| {
            report.kernels.iter().rposition(writes).and_then(|k| copies[k])
        };
        for (i, output) in report.outputs.iter().enumerate() {
            let what = match output.state {
                Some(input) => format!("output, next {}", visible(&report.inputs[input].name)),
                None => "output".to_owned(),
            };
            let lines =
                end(&output.name, &format!("{what}, {} {:?}", output.element, output.shape));
            let at = self.add(if output.state.is_some() { Look::Kept } else { Look::End }, lines);
            self.sink(output.from, copier(&|kernel| kernel.writes_outputs.contains(&i)), at);
        }
        for (i, variable) in report.variables.iter().enumerate() {
            let Some(next) = variable.next else { continue };
            let at = self.add(Look::Kept, end(&variable.name, "at the next step"));
            self.sink(next, copier(&|kernel| kernel.writes_variables.contains(&i)), at);
        }
    }

    fn sink(&mut self, from: Operand, copier: Option<usize>, to: usize) {
        match copier {
            Some(copier) => {
                self.edge(from, copier);
                self.edges.push((copier, to));
            }
            None => self.edge(from, to),
        }
    }

    fn edge(&mut self, from: Operand, to: usize) {
        let from = match from {
            Operand::Input(i) => self.inputs[i],
            Operand::Variable(i) => self.variables[i],
            Operand::Layer(i) => self.layers[i],
            Operand::Constant(_) => return,
        };
        if from != to {
            self.edges.push((from, to));
        }
    }

    fn kernel(&self, kernel: &Kernel) -> Vec<Text> {
        let report = self.report;
        let mut lines =
            vec![text("name", format!("{}: {:.1} %", kernel.name, kernel.share * 100.0))];
        if kernel.layers.is_empty() {
            lines.push(text("small", kernel.note.clone()));
        }
        let depth = |i: usize| {
            std::iter::successors(report.layers[i].within, |&i| report.layers[i].within).count()
        };
        // layers of a loop's body without cost have no kernel: they are listed in the loop's box
        let within = |i: usize| {
            std::iter::successors(Some(i), |&i| report.layers[i].within)
                .any(|i| kernel.layers.contains(&i))
        };
        for (i, layer) in report.layers.iter().enumerate().filter(|(i, _)| within(*i)) {
            let what = format!("{} {}", visible(&layer.kind), cut(&layer.name, NAME));
            let out = shapes(&layer.shapes);
            let line = match layer.done {
                Done::Computed => format!("{what} {out}"),
                Done::Fused => format!("+ {what}"),
                Done::Copied => what,
                Done::View => format!("{what} {out}: view, no work"),
                Done::InPlace => format!("{what} {out}: in place, no work"),
            };
            let class = if matches!(layer.done, Done::View | Done::InPlace) { "small" } else { "" };
            lines.push(Text { class, text: line, depth: depth(i) });
            if layer.done == Done::Copied {
                let copied = match layer.parts_copied {
                    Some(parts) => format!("{out}: {parts} of {} parts copied", layer.inputs.len()),
                    None => format!("{out}: copied"),
                };
                lines.push(Text { class: "small", text: copied, depth: depth(i) });
            }
        }
        let mut counts = Vec::new();
        if kernel.multiply_adds > 0 {
            counts.push(format!("{} multiply-adds", grouped(kernel.multiply_adds)));
        }
        if kernel.weight_bytes > 0 {
            counts.push(format!("{} bytes of weights", grouped(kernel.weight_bytes)));
        }
        if !counts.is_empty() {
            lines.push(text("small", counts.join(", ")));
        }
        lines.extend(
            kernel.plan.iter().flat_map(|plan| wrap(plan, PLAN)).map(|line| text("small", line)),
        );
        lines
    }

    fn free(&self, i: usize) -> Vec<Text> {
        let layer = &self.report.layers[i];
        let what = if layer.done == Done::InPlace { "in place" } else { "view" };
        vec![
            text("", format!("{} {}", visible(&layer.kind), cut(&layer.name, NAME))),
            text("small", format!("{}: {what}, no work", shapes(&layer.shapes))),
        ]
    }

    fn draw(&self) -> String {
        let report = self.report;
        let sizes: Vec<_> = self.shapes.iter().map(Shape::size).collect();
        let graph = Graph { sizes, edges: self.edges.clone() };
        let layout = graph.layout();
        let (head, foot) = (head(report), foot(report));
        let width = layout.width.max(NARROWEST) + 2.0 * MARGIN;
        let left = (width - layout.width) / 2.0;
        let top = MARGIN + head.len() as f64 * LINE + MARGIN;
        let below = top + layout.height + MARGIN;
        let height = below + foot.len() as f64 * LINE + MARGIN;
        let mut svg = String::new();
        // writing to a string cannot fail
        _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n<rect class=\"page\" width=\"100%\" \
             height=\"100%\"/>",
            escape(&visible(&report.model)),
        );
        lines(&mut svg, MARGIN, MARGIN, &head);
        for path in &layout.paths {
            let path: Vec<_> = path.iter().map(|(x, y)| (x + left, y + top)).collect();
            edge(&mut svg, &path);
        }
        let most = report.kernels.iter().map(|kernel| kernel.share).fold(0.0, f64::max);
        self.boxes(&mut svg, &graph, &layout, (left, top), most);
        lines(&mut svg, MARGIN, below, &foot);
        svg.push_str("</svg>\n");
        svg
    }

    fn boxes(
        &self,
        svg: &mut String,
        graph: &Graph,
        layout: &Layout,
        (left, top): (f64, f64),
        most: f64,
    ) {
        for ((shape, (width, height)), (x, y)) in
            self.shapes.iter().zip(&graph.sizes).zip(&layout.boxes)
        {
            let (x, y) = (x + left, y + top);
            let (class, radius) = match shape.look {
                Look::End => ("end", 14.0),
                Look::Kept => ("kept", 14.0),
                Look::Kernel(_) => ("box", 5.0),
                Look::Free => ("free", 12.0),
            };
            svg.push_str("<g>\n");
            rect(svg, class, (x, y, *width, *height), radius, "");
            if let Look::Kernel(share) = shape.look {
                let heat = if most > 0.0 { share / most } else { 0.0 };
                rect(
                    svg,
                    "heat",
                    (x, y, *width, *height),
                    radius,
                    &format!(" fill-opacity=\"{:.2}\"", 0.5 * heat),
                );
                let (bar, at) = (width - 2.0 * PADDING, y + PADDING + LINE);
                rect(svg, "track", (x + PADDING, at, bar, 4.0), 2.0, "");
                rect(svg, "heat", (x + PADDING, at, bar * share, 4.0), 2.0, "");
            }
            let mut at = y + PADDING;
            for (i, line) in shape.lines.iter().enumerate() {
                if line.depth > 0 {
                    let bar = x + PADDING + (line.depth as f64 - 0.5) * 2.0 * CHARACTER;
                    _ = writeln!(svg, "<path class=\"body\" d=\"M{bar:.1} {at:.1}v{LINE:.1}\"/>");
                }
                let x = x + PADDING + line.depth as f64 * 2.0 * CHARACTER;
                write_line(svg, x, at, line);
                at += LINE;
                if i == 0 && matches!(shape.look, Look::Kernel(_)) {
                    // the bar
                    at += 8.0;
                }
            }
            svg.push_str("</g>\n");
        }
    }
}

impl Shape {
    fn size(&self) -> (f64, f64) {
        let length = |line: &Text| line.text.chars().count() + 2 * line.depth;
        let longest = self.lines.iter().map(length).max().unwrap_or(0);
        let bar = if matches!(self.look, Look::Kernel(_)) { 8.0 } else { 0.0 };
        (
            longest as f64 * CHARACTER + 2.0 * PADDING,
            self.lines.len() as f64 * LINE + bar + 2.0 * PADDING,
        )
    }
}

fn text(class: &'static str, text: String) -> Text {
    Text { class, text, depth: 0 }
}

fn end(name: &str, what: &str) -> Vec<Text> {
    vec![text("name", visible(name)), text("small", what.to_owned())]
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

fn foot(report: &Report) -> Vec<Text> {
    let mut all = vec![
        "A box is a kernel: its layers, + what is fused into them in registers; colour and bar are \
         its share of the estimated time. Broken edges: no work at all."
            .to_owned(),
    ];
    all.push(format!("Folded when compiling, or without effect: {}.", folded(report, 3)));
    all.push(format!("Time: {}.", report.formula));
    all.iter().flat_map(|line| wrap(line, FOOT)).map(|line| text("small", line)).collect()
}

fn lines(svg: &mut String, x: f64, y: f64, lines: &[Text]) {
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

/// A smooth curve with vertical ends, and its arrowhead.
fn edge(svg: &mut String, path: &[(f64, f64)]) {
    let Some(&(x, y)) = path.first() else { return };
    let mut d = format!("M{x:.1} {y:.1}");
    for pair in path.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let bend = (y1 - y0) / 2.0;
        _ = write!(d, "C{x0:.1} {:.1} {x1:.1} {:.1} {x1:.1} {y1:.1}", y0 + bend, y1 - bend);
    }
    let (x, y) = path[path.len() - 1];
    _ = writeln!(svg, "<path class=\"edge\" d=\"{d}\"/>");
    _ = writeln!(svg, "<path class=\"tip\" d=\"M{x:.1} {y:.1}l-4 -8h8z\"/>");
}

/// Breaks a text at spaces into lines of at most `most` characters.
fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let last = lines.last_mut().expect("there is a line");
        if !last.is_empty() && last.chars().count() + word.trim_end().chars().count() > most {
            lines.push(word.to_owned());
        } else {
            last.push_str(word);
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Escapes a text for XML. Characters that are invalid in XML were made visible before.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Folded, Output, Totals, Variable};
    use quick_xml::Reader;
    use quick_xml::events::Event;

    /// The elements of a picture, each end in its place.
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

    fn report(name: &str) -> Report {
        let layer = Layer {
            name: name.to_owned(),
            kind: name.to_owned(),
            within: None,
            runs: 1,
            inputs: vec![Operand::Variable(0)],
            shapes: vec![vec![1, 2]],
            multiply_adds: 0,
            weight_bytes: 0,
            done: Done::View,
            kernel: None,
            parts_copied: None,
        };
        let from = Operand::Layer(0);
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
                next: Some(Operand::Layer(0)),
            }],
            layers: vec![layer],
            kernels: Vec::new(),
            folded: vec![Folded { kind: name.to_owned(), count: 1, names: vec![name.to_owned()] }],
            totals: Totals::default(),
            on_target: None,
            precisions: None,
            in_f32: Vec::new(),
            in_own_integers: Vec::new(),
            formula: String::new(),
        }
    }

    #[test]
    fn no_name_breaks_out() {
        let nasty = "</text><script>&\"'\u{0}\u{ffff}\u{202e}\n]]>";
        let (svg, plain) = (picture(&report(nasty)), picture(&report("plain")));
        let (all, plain) = (elements(&svg), elements(&plain));
        // more text may need more lines
        assert!(all - plain < 5, "{svg}");
        assert!(
            !svg.contains("<script") && !svg.contains(['\u{0}', '\u{ffff}', '\u{202e}']),
            "{svg}"
        );
    }
}
