//! Smaller graphs: several nodes become one box.

use std::collections::BTreeSet;

use super::graph::{Content, Node, Row, readers, replaced};
use crate::report::Report;

/// Joins the kernels of each layer of the model, and puts kept tensors into the boxes of their only
/// neighbours.
pub(super) fn compact(nodes: Vec<Node>, report: &Report) -> Vec<Node> {
    with_kept_tensors(by_layer(nodes, report))
}

/// Joins consecutive kernels that compute the same layer of the model.
fn by_layer(nodes: Vec<Node>, report: &Report) -> Vec<Node> {
    // the name of the layers of a kernel, if all have the same name
    let name = |node: &Node| -> Option<&str> {
        let Content::Kernels(rows) = &node.content else { return None };
        let layers = rows.iter().flat_map(Row::kernels).flat_map(|&k| &report.kernels[k].layers);
        let names: BTreeSet<&str> = layers.map(|&i| &report.layers[i].name[..]).collect();
        names.first().copied().filter(|name| names.len() == 1 && !name.is_empty())
    };
    let mut groups = Vec::new();
    let mut start = 0;
    while start < nodes.len() {
        let first = name(&nodes[start]);
        let mut end = start + 1;
        while first.is_some() && end < nodes.len() && name(&nodes[end]) == first {
            end += 1;
        }
        if end - start > 1 {
            let kernels = nodes[start..end].iter().flat_map(Node::kernels).collect();
            let content = Content::Kernels(vec![Row::from_kernels(kernels)]);
            groups.push(((start..end).collect(), Node::new(content, Vec::new())));
        }
        start = end;
    }
    replaced(nodes, groups)
}

/// Makes a kept tensor with one neighbour a row of its neighbour.
fn with_kept_tensors(nodes: Vec<Node>) -> Vec<Node> {
    let readers = readers(&nodes);
    let is_kernel = |i: usize| matches!(nodes[i].content, Content::Kernels(_));
    let mut before = vec![Vec::new(); nodes.len()];
    let mut behind = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        if !matches!(&node.content, Content::End(end) if end.kept) {
            continue;
        }
        match (&node.reads[..], &readers[i][..]) {
            ([], [reader]) if is_kernel(*reader) => before[*reader].push(i),
            ([read], []) if is_kernel(read.from) => behind[read.from].push(i),
            _ => {}
        }
    }
    let row = |i: &usize| match &nodes[*i].content {
        Content::End(end) => Row::Kept(end.clone()),
        _ => unreachable!("only ends were collected"),
    };
    let groups = (0..nodes.len()).filter(|&i| !before[i].is_empty() || !behind[i].is_empty());
    let groups = groups.map(|i| {
        let Content::Kernels(own) = &nodes[i].content else {
            unreachable!("only kernels have kept tensors")
        };
        let rows = before[i].iter().map(row).chain(own.iter().cloned());
        let rows = rows.chain(behind[i].iter().map(row)).collect();
        let members = [&before[i][..], &[i], &behind[i]].concat();
        (members, Node::new(Content::Kernels(rows), Vec::new()))
    });
    let groups = groups.collect();
    replaced(nodes, groups)
}

/// Joins kernels that follow each other without other edges, in the graph and inside blocks.
pub(super) fn chains(nodes: Vec<Node>) -> Vec<Node> {
    let mut nodes = nodes;
    for node in &mut nodes {
        if let Content::Block { nodes: inner, .. } = &mut node.content {
            *inner = chains(std::mem::take(inner));
        }
    }
    let readers = readers(&nodes);
    let follows = |i: usize| -> Option<usize> {
        let [next] = readers[i][..] else { return None };
        let is_kernel = |node: &Node| matches!(node.content, Content::Kernels(_));
        let fits = is_kernel(&nodes[i]) && is_kernel(&nodes[next]);
        (fits && nodes[next].reads.len() == 1 && nodes[i].times == nodes[next].times)
            .then_some(next)
    };
    let mut has_groups = vec![false; nodes.len()];
    let mut groups = Vec::new();
    for start in 0..nodes.len() {
        if has_groups[start] {
            continue;
        }
        let members: Vec<usize> = std::iter::successors(Some(start), |&i| follows(i)).collect();
        for &i in &members {
            has_groups[i] = true;
        }
        if members.len() > 1 {
            let rows = members.iter().flat_map(|&i| match &nodes[i].content {
                Content::Kernels(rows) => rows.clone(),
                _ => Vec::new(),
            });
            let content = Content::Kernels(rows.collect());
            let node = Node { times: nodes[start].times, ..Node::new(content, Vec::new()) };
            groups.push((members, node));
        }
    }
    replaced(nodes, groups)
}

/// Replaces consecutive nodes with shares below `least` by one box that counts kernels and ends, in
/// the graph and inside blocks. Inputs and outputs stay unless `least` is infinite.
pub(super) fn summarised(mut nodes: Vec<Node>, report: &Report, least: f64) -> Vec<Node> {
    for node in &mut nodes {
        if let Content::Block { nodes: inner, .. } = &mut node.content {
            *inner = summarised(std::mem::take(inner), report, least);
        }
    }
    let is_small =
        |node: &Node| (least.is_infinite() || !node.is_data()) && node.share(report) < least;
    let small: Vec<bool> = nodes.iter().map(is_small).collect();
    let indices: Vec<usize> = (0..nodes.len()).collect();
    let runs = indices.chunk_by(|&a, &b| small[a] && small[b]).filter(|run| run.len() > 1);
    let group = |run: &[usize]| {
        let kernels = run.iter().flat_map(|&i| nodes[i].kernels()).collect();
        let ends = run.iter().map(|&i| nodes[i].ends()).sum();
        (run.to_vec(), Node::new(Content::Rest { kernels, ends }, Vec::new()))
    };
    let groups = runs.map(group).collect();
    replaced(nodes, groups)
}
