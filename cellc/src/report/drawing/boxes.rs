//! The boxes of a picture: size, look and lines of text.

use std::collections::BTreeMap;

use super::graph::{Content, End, Node, Row};
use crate::report::words::{cut, grouped, shapes, visible, wrap};
use crate::report::{Done, Kernel, LayerReport, Report};

/// Height of a line of text.
pub(super) const LINE: f64 = 17.0;
/// Width of a character of the largest font, if the viewer's machine has a monospaced font.
pub(super) const CHARACTER: f64 = 7.3;
/// Space between the edge of a box and its text.
pub(super) const PADDING: f64 = 10.0;
/// Maximum number of characters of a layer's name.
const NAME: usize = 28;
/// Maximum number of characters in a line of a plan.
const PLAN: usize = 52;
/// Maximum number of layers that a box lists.
const LAYERS: usize = 24;
/// Characters for a share, in a line of several kernels.
const SHARE: usize = 9;

/// The amount of text in a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Each kernel with its layers and its plan.
    Full,
    /// A line for each kernel.
    Lines,
}

/// The appearance of a box.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Look {
    /// An input or an output.
    End,
    /// A tensor kept between steps.
    Kept,
    /// A kernel, with its share of the time.
    Kernel(f64),
    /// Several kernels, one in a line.
    Lines,
    /// A concatenation without work.
    Junction,
    /// Kernels that are counted only, with their share of the time.
    Rest(f64),
}

/// A line of text in a box.
pub(super) struct Text {
    pub(super) class: &'static str,
    pub(super) text: String,
    /// Number of loops around the layer.
    pub(super) depth: usize,
    /// Share of the time, in a line of several kernels.
    pub(super) share: Option<f64>,
    /// The kernels and names that a viewer describes while the pointer is on the line.
    pub(super) about: About,
}

/// The part of a report behind a line or a box.
#[derive(Clone, Default, PartialEq)]
pub(super) struct About {
    /// The kernels.
    pub(super) kernels: Vec<usize>,
    /// The names of inputs, outputs and kept tensors.
    pub(super) names: Vec<String>,
}

/// A box that contains no other boxes.
pub(super) struct Shape {
    pub(super) look: Look,
    pub(super) lines: Vec<Text>,
    pub(super) about: About,
    /// Number of occurrences.
    pub(super) times: usize,
}

impl Shape {
    /// The box of a node that is no block.
    pub(super) fn new(node: &Node, report: &Report, detail: Detail) -> Self {
        let about = About { kernels: node.kernels(), names: Vec::new() };
        let mut shape = match &node.content {
            Content::End(end) => Self {
                look: if end.kept { Look::Kept } else { Look::End },
                lines: vec![text("name", names(end)), text("small", role(end))],
                about: About { kernels: Vec::new(), names: end.names.clone() },
                times: 1,
            },
            Content::Junction(layer) => {
                let layer = &report.layers[*layer];
                let lines = vec![text(
                    "small",
                    format!("{} {}", visible(&layer.kind), shapes(&layer.shapes)),
                )];
                Self { look: Look::Junction, lines, about, times: 1 }
            }
            Content::Kernels(rows) => match (&rows[..], detail) {
                ([Row::Kernels { all, own: 1 }], Detail::Full) => Self {
                    look: Look::Kernel(node.share(report)),
                    lines: kernel(all, report),
                    about,
                    times: 1,
                },
                _ => Self {
                    look: Look::Lines,
                    lines: rows.iter().map(|row| line(row, report)).collect(),
                    about: About::default(),
                    times: 1,
                },
            },
            Content::Rest { kernels, ends } => Self {
                look: Look::Rest(node.share(report)),
                lines: rest(kernels, *ends, report),
                about,
                times: 1,
            },
            Content::Block { .. } => unreachable!("a block is a frame"),
        };
        shape.times = node.times;
        if node.times > 1 {
            shape.lines.insert(0, text("times", format!("× {}", node.times)));
        }
        shape
    }

    /// Width and height.
    pub(super) fn size(&self) -> (f64, f64) {
        let length = |line: &Text| {
            let share = if line.share.is_some() { SHARE } else { 0 };
            line.text.chars().count() + 2 * line.depth + share
        };
        let longest = self.lines.iter().map(length).max().unwrap_or(0);
        let bar = if matches!(self.look, Look::Kernel(_) | Look::Rest(_)) { 8.0 } else { 0.0 };
        let padding = if self.look == Look::Junction { PADDING / 2.0 } else { PADDING };
        (
            longest as f64 * CHARACTER + 2.0 * PADDING,
            self.lines.len() as f64 * LINE + bar + 2.0 * padding,
        )
    }
}

pub(super) fn text(class: &'static str, text: String) -> Text {
    Text { class, text, depth: 0, share: None, about: About::default() }
}

/// The names of an end in one line: `x`, or `h0 … h7 (8)`.
fn names(end: &End) -> String {
    match &end.names[..] {
        [name] => visible(name),
        [first, .., last] => {
            let [first, last] = [first, last].map(|name| cut(name, NAME / 2));
            format!("{first} … {last} ({})", end.names.len())
        }
        [] => String::new(),
    }
}

fn role(end: &End) -> String {
    let next = end.next.as_ref().map_or(String::new(), |next| match end.names.len() {
        1 => format!(", next {}", visible(next)),
        _ => ", next state".to_owned(),
    });
    let tensor = if end.tensor.is_empty() { String::new() } else { format!(", {}", end.tensor) };
    format!("{}{next}{tensor}", end.role)
}

/// A kernel with its layers and its plan. `all`: the kernel of each occurrence.
fn kernel(all: &[usize], report: &Report) -> Vec<Text> {
    let kernel = &report.kernels[all[0]];
    let sum =
        |measure: fn(&Kernel) -> u64| all.iter().map(|&k| measure(&report.kernels[k])).sum::<u64>();
    let share: f64 = all.iter().map(|&k| report.kernels[k].share).sum();
    let mut lines = vec![text("name", format!("{}: {:.1} %", kernel.name, share * 100.0))];
    if kernel.layers.is_empty() {
        lines.extend(wrap(&kernel.note, PLAN).into_iter().map(|line| text("small", line)));
    }
    let around = |i: usize| std::iter::successors(Some(i), |&i| report.layers[i].within);
    // layers of a loop's body without cost have no kernel: they are listed in the loop's box
    let within = |i: &usize| around(*i).any(|i| kernel.layers.contains(&i));
    let layers: Vec<usize> = (0..report.layers.len()).filter(within).collect();
    for &i in layers.iter().take(LAYERS) {
        let depth = around(i).count() - 1;
        let of_layer = layer_lines(&report.layers[i]).into_iter();
        lines.extend(of_layer.map(|line| Text { depth, ..line }));
    }
    if layers.len() > LAYERS {
        lines.push(text("small", format!("… and {} other layers", layers.len() - LAYERS)));
    }
    let mut counts = Vec::new();
    let (multiply_adds, bytes) = (sum(|k| k.multiply_adds), sum(|k| k.weight_bytes));
    if multiply_adds > 0 {
        counts.push(format!("{} multiply-adds", grouped(multiply_adds)));
    }
    if bytes > 0 {
        counts.push(format!("{} bytes of weights", grouped(bytes)));
    }
    if !counts.is_empty() {
        lines.push(text("small", counts.join(", ")));
    }
    let plan = kernel.plan.iter().flat_map(|plan| wrap(plan, PLAN));
    lines.extend(plan.map(|line| text("small", line)));
    lines
}

fn layer_lines(layer: &LayerReport) -> Vec<Text> {
    let caption = format!("{} {}", visible(&layer.kind), cut(&layer.name, NAME));
    let out = shapes(&layer.shapes);
    match layer.done {
        Done::Computed => vec![text("", format!("{caption} {out}"))],
        Done::Fused => vec![text("", format!("+ {caption}"))],
        Done::View => vec![text("small", format!("{caption} {out}: view, no work"))],
        Done::InPlace => vec![text("small", format!("{caption} {out}: in place, no work"))],
        Done::Copied => {
            let copied = match layer.parts_copied {
                Some(parts) => format!("{out}: {parts} of {} parts copied", layer.inputs.len()),
                None => format!("{out}: copied"),
            };
            vec![text("", caption), text("small", copied)]
        }
    }
}

/// A line for the kernels of one layer, or for a kept tensor.
fn line(row: &Row, report: &Report) -> Text {
    match row {
        Row::Kept(end) => Text {
            about: About { kernels: Vec::new(), names: end.names.clone() },
            ..text("keeps", format!("{}: {}", names(end), role(end)))
        },
        Row::Kernels { all, own } => {
            let layers: Vec<&LayerReport> = all[..*own]
                .iter()
                .flat_map(|&k| &report.kernels[k].layers)
                .map(|&i| &report.layers[i])
                .collect();
            let caption = match &layers[..] {
                [] => report.kernels[all[0]].name.clone(),
                [first, ..] => named(first, &layers),
            };
            Text {
                share: Some(all.iter().map(|&k| report.kernels[k].share).sum()),
                about: About { kernels: all.clone(), names: Vec::new() },
                ..text("", caption)
            }
        }
    }
}

/// The caption of the layers of a line: `Conv conv1 + PRelu [1, 16]`.
fn named(first: &LayerReport, layers: &[&LayerReport]) -> String {
    let kind = visible(&first.kind);
    let name = cut(&first.name, NAME);
    // exporters often put the type into the name
    let mut caption = match name.to_lowercase().contains(&kind.to_lowercase()) {
        true => name,
        false => format!("{kind} {name}"),
    };
    let mut last = &first.name;
    let mut fused: Vec<String> = Vec::new();
    for layer in layers {
        if layer.name != *last && layer.done != Done::View {
            fused.push(cut(&layer.kind, NAME / 2));
        }
        last = &layer.name;
    }
    const MOST: usize = 3;
    for kind in fused.iter().take(MOST) {
        caption += &format!(" + {kind}");
    }
    if fused.len() > MOST {
        caption += &format!(" + {}", fused.len() - MOST);
    }
    let out = layers.last().map_or(String::new(), |layer| shapes(&layer.shapes));
    format!("{caption} {}", cut(&out, NAME))
}

/// The lines of a box that counts kernels: their share of the time, and their layers by type.
fn rest(kernels: &[usize], ends: usize, report: &Report) -> Vec<Text> {
    const MOST: usize = 6;
    let share: f64 = kernels.iter().map(|&k| report.kernels[k].share).sum();
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let n = kernels.len();
    let mut lines = vec![text("name", format!("{n} kernel{}: {:.1} %", plural(n), share * 100.0))];
    if ends > 0 {
        lines.push(text("small", format!("{ends} input{} or output{0}", plural(ends))));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for &i in kernels.iter().flat_map(|&k| &report.kernels[k].layers) {
        *counts.entry(&report.layers[i].kind).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let shown = counts.iter().take(MOST);
    let shown = shown.map(|(kind, count)| format!("{count} {}", visible(kind)));
    let mut words: Vec<String> = shown.collect();
    if counts.len() > MOST {
        words.push("…".to_owned());
    }
    lines.extend(wrap(&words.join(", "), PLAN).into_iter().map(|line| text("small", line)));
    lines
}
