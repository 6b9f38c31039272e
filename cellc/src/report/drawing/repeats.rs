//! Parts of a graph that occur several times, one after another in the order of execution.

use std::collections::BTreeMap;

use super::graph::{Content, End, Node, Read, Row, replaced};
use crate::report::{Done, Report};

/// Minimum number of nodes that a block has to save.
const WORTHWHILE: usize = 3;

/// Equal consecutive parts of a list of nodes.
#[derive(Clone, Copy)]
struct Repeat {
    /// The position of the first node.
    start: usize,
    /// Nodes per part.
    len: usize,
    /// Number of parts.
    times: usize,
}

/// Draws repeated parts once: each becomes a block, or a node with a number of times.
pub(super) fn fold(mut nodes: Vec<Node>, report: &Report) -> Vec<Node> {
    while let Some(repeat) = best(&nodes, report) {
        nodes = collapsed(nodes, repeat);
    }
    nodes
}

/// The repeat that saves the most nodes. `None` if no repeat saves [`WORTHWHILE`] nodes.
fn best(nodes: &[Node], report: &Report) -> Option<Repeat> {
    let mut numbers = BTreeMap::new();
    let labels: Vec<usize> = nodes
        .iter()
        .map(|node| {
            let next = numbers.len();
            *numbers.entry(label(node, report)).or_insert(next)
        })
        .collect();
    let mut best: Option<(usize, Repeat)> = None;
    for len in 1..=nodes.len() / 2 {
        let mut start = 0;
        while start + 2 * len <= nodes.len() {
            // labels that equal the labels `len` nodes later
            let equal = (start..nodes.len() - len).take_while(|&i| labels[i] == labels[i + len]);
            let equal = equal.count();
            for first in start..=(start + equal).saturating_sub(len).min(start + len) {
                let most = (start + equal - first) / len + 1;
                let least = best.map_or(WORTHWHILE, |(saved, _)| saved + 1);
                if (most - 1) * len < least {
                    break;
                }
                let times = equal_parts(nodes, first, len, most);
                let saved = (times - 1) * len;
                if saved >= least {
                    best = Some((saved, Repeat { start: first, len, times }));
                }
            }
            start += equal + 1;
        }
    }
    best.map(|(_, repeat)| repeat)
}

/// A label for a node, equal for nodes that differ only in the names of layers and tensors.
fn label(node: &Node, report: &Report) -> String {
    let content = match &node.content {
        Content::End(end) => end_label(end),
        Content::Junction(layer) => format!("{:?}", report.layers[*layer].shapes),
        Content::Kernels(rows) => {
            rows.iter().map(|row| row_label(row, report)).collect::<Vec<_>>().join(";")
        }
        Content::Block { nodes, chained } => {
            let inner: Vec<_> = nodes.iter().map(|node| label(node, report)).collect();
            format!("{chained}{{{}}}", inner.join("|"))
        }
        Content::Rest { kernels, ends } => format!("{kernels:?}{ends}"),
    };
    format!("{} x {content}", node.times)
}

fn end_label(end: &End) -> String {
    format!("{} {} {}", end.role, end.tensor, end.next.is_some())
}

fn row_label(row: &Row, report: &Report) -> String {
    match row {
        Row::Kept(end) => end_label(end),
        Row::Kernels { all, own: count } => {
            let kernels = &all[..*count];
            let layers = kernels.iter().flat_map(|&k| &report.kernels[k].layers).map(|&i| {
                let layer = &report.layers[i];
                let done = match layer.done {
                    Done::Copied => format!("copied {:?}", layer.parts_copied),
                    done => format!("{done:?}"),
                };
                format!("{} {:?} {} {done}", layer.kind, layer.shapes, layer.multiply_adds)
            });
            let layers: Vec<_> = layers.collect();
            let plans: Vec<_> = kernels.iter().map(|&k| &report.kernels[k].plan).collect();
            format!("{} of {layers:?} {plans:?}", all.len())
        }
    }
}

/// The number of parts from `start` on whose edges are equal, at most `most`.
fn equal_parts(nodes: &[Node], start: usize, len: usize, most: usize) -> usize {
    let is_equal = |part: &usize| {
        let (at, second) = (start + part * len, start + len);
        (0..len).all(|i| {
            let (node, first) = (&nodes[at + i], &nodes[start + i]);
            let is_inner = from(&node.reads, at, at + len).eq(from(&first.reads, start, second));
            // edges from the previous part equal those from the first part to the second
            let of_second = &nodes[second + i].reads;
            let is_linked = from(&node.reads, at - len, at).eq(from(of_second, start, second));
            is_inner && is_linked && node.reads.len() == first.reads.len()
        })
    };
    (1..most).take_while(is_equal).count() + 1
}

/// The edges from nodes between `start` and `end`, by their distances from `start`.
fn from(reads: &[Read], start: usize, end: usize) -> impl Iterator<Item = usize> {
    reads
        .iter()
        .map(|read| read.from)
        .filter(move |i| (start..end).contains(i))
        .map(move |i| i - start)
}

/// Replaces all parts of a repeat by one node.
fn collapsed(nodes: Vec<Node>, Repeat { start, len, times }: Repeat) -> Vec<Node> {
    let end = start + len * times;
    let mut part: Vec<Node> = nodes[start..start + len].to_vec();
    for node in &mut part {
        node.reads.retain(|read| read.from >= start);
        for read in &mut node.reads {
            read.from -= start;
        }
    }
    for copy in 1..times {
        for (node, other) in part.iter_mut().zip(&nodes[start + copy * len..]) {
            absorb(node, other);
        }
    }
    let second = start + len..start + 2 * len;
    let reads_first =
        |node: &Node| node.reads.iter().any(|r| r.from >= start && r.from < start + len);
    let chained = nodes[second].iter().any(reads_first);
    let single = len == 1 && !matches!(part[0].content, Content::Block { .. });
    let node = match single {
        true => {
            let node = part.remove(0);
            Node { times: node.times * times, reads: Vec::new(), ..node }
        }
        false => Node { times, ..Node::new(Content::Block { nodes: part, chained }, Vec::new()) },
    };
    replaced(nodes, vec![((start..end).collect(), node)])
}

/// Adds the kernels and names of an equal node.
fn absorb(node: &mut Node, other: &Node) {
    match (&mut node.content, &other.content) {
        (Content::End(end), Content::End(other)) => end.names.extend(other.names.iter().cloned()),
        (Content::Kernels(rows), Content::Kernels(others)) => {
            for (row, other) in rows.iter_mut().zip(others) {
                match (row, other) {
                    (Row::Kernels { all, .. }, Row::Kernels { all: others, .. }) => {
                        all.extend(others);
                    }
                    (Row::Kept(end), Row::Kept(other)) => {
                        end.names.extend(other.names.iter().cloned());
                    }
                    _ => {}
                }
            }
        }
        (Content::Block { nodes, .. }, Content::Block { nodes: others, .. }) => {
            for (node, other) in nodes.iter_mut().zip(others) {
                absorb(node, other);
            }
        }
        (Content::Rest { kernels, ends }, Content::Rest { kernels: others, ends: more }) => {
            kernels.extend(others);
            *ends += more;
        }
        _ => {}
    }
}
