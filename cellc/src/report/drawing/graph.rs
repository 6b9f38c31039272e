//! The graph of a picture: kernels, inputs, outputs and tensors kept between steps. Views and
//! constants are no nodes: a view lies on the edge of its input.

use std::collections::BTreeSet;

use crate::report::{Done, InputRole, Kernel, Report, TensorSource};

/// A node. The nodes of a graph stand in topological order.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The content of the node's box.
    pub(super) content: Content,
    /// The edges to this node.
    pub(super) reads: Vec<Read>,
    /// Number of equal parts of the model that the node stands for.
    pub(super) times: usize,
}

/// The start of an edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Read {
    /// The position of the node that is read.
    pub(super) from: usize,
    /// The layers on the edge that need no work.
    pub(super) views: Vec<usize>,
}

/// The content of a box.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// An input, an output, or a kept tensor.
    End(End),
    /// A concatenation in place with several inputs and several readers, by its layer.
    Junction(usize),
    /// Kernels in the order of execution.
    Kernels(Vec<Row>),
    /// A part of the graph that occurs several times.
    Block {
        /// The nodes of one occurrence. Reads are within the block.
        nodes: Vec<Node>,
        /// True if each occurrence reads the previous occurrence.
        chained: bool,
    },
    /// Kernels and ends that are counted only.
    Rest {
        /// The kernels.
        kernels: Vec<usize>,
        /// Number of inputs, outputs and kept tensors.
        ends: usize,
    },
}

/// A line of a box with several kernels.
#[derive(Clone, Debug)]
pub(super) enum Row {
    /// The kernels of one line.
    Kernels {
        /// The kernels of all occurrences, those of the first occurrence first.
        all: Vec<usize>,
        /// Number of kernels of one occurrence.
        own: usize,
    },
    /// A tensor that only this box reads or writes.
    Kept(End),
}

/// An input, an output, or a tensor kept between steps.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// The names of all tensors that the end stands for.
    pub(super) names: Vec<String>,
    /// The role, for example `input`.
    pub(super) role: &'static str,
    /// The input that an output becomes at the next step.
    pub(super) next: Option<String>,
    /// Element type and shape. Empty for the next state of a variable.
    pub(super) tensor: String,
    /// True for a tensor kept between steps.
    pub(super) kept: bool,
}

impl Node {
    /// A node for a single part of the model.
    pub(super) fn new(content: Content, reads: Vec<Read>) -> Self {
        Self { content, reads, times: 1 }
    }

    /// All kernels of the node.
    pub(super) fn kernels(&self) -> Vec<usize> {
        match &self.content {
            Content::End(_) | Content::Junction(_) => Vec::new(),
            Content::Kernels(rows) => rows.iter().flat_map(Row::kernels).copied().collect(),
            Content::Block { nodes, .. } => nodes.iter().flat_map(Node::kernels).collect(),
            Content::Rest { kernels, .. } => kernels.clone(),
        }
    }

    /// Number of inputs, outputs and kept tensors of the node.
    pub(super) fn ends(&self) -> usize {
        match &self.content {
            Content::End(end) => end.names.len(),
            Content::Junction(_) => 0,
            Content::Kernels(rows) => rows.iter().map(Row::ends).sum(),
            Content::Block { nodes, .. } => nodes.iter().map(Node::ends).sum(),
            Content::Rest { ends, .. } => *ends,
        }
    }

    /// The part of the time of a step, 0 to 1.
    pub(super) fn share(&self, report: &Report) -> f64 {
        self.kernels().iter().map(|&k| report.kernels[k].share).sum()
    }

    /// True for an input or an output of the caller.
    pub(super) fn is_data(&self) -> bool {
        matches!(&self.content, Content::End(end) if !end.kept)
    }
}

impl End {
    fn new(name: &str, role: &'static str, tensor: String, kept: bool) -> Self {
        Self { names: vec![name.to_owned()], role, next: None, tensor, kept }
    }
}

impl Row {
    /// A line for the kernels of one occurrence.
    pub(super) fn from_kernels(kernels: Vec<usize>) -> Self {
        Self::Kernels { own: kernels.len(), all: kernels }
    }

    pub(super) fn kernels(&self) -> &[usize] {
        match self {
            Row::Kernels { all, .. } => all,
            Row::Kept(_) => &[],
        }
    }

    fn ends(&self) -> usize {
        match self {
            Row::Kernels { .. } => 0,
            Row::Kept(end) => end.names.len(),
        }
    }
}

/// The edges of a graph: from, to.
pub(super) fn edges(nodes: &[Node]) -> Vec<(usize, usize)> {
    let edges_to = |(to, node): (usize, &Node)| -> Vec<(usize, usize)> {
        node.reads.iter().map(|read| (read.from, to)).collect()
    };
    nodes.iter().enumerate().flat_map(edges_to).collect()
}

/// By node: the positions of its readers, each once.
pub(super) fn readers(nodes: &[Node]) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        let sources: BTreeSet<usize> = node.reads.iter().map(|read| read.from).collect();
        for from in sources {
            readers[from].push(i);
        }
    }
    readers
}

/// Replaces each group of nodes by one node. A group is a list of positions and the new node, which
/// takes over the edges from nodes outside of the group. `groups` are disjoint, and no path leads
/// out of a group and back into it.
pub(super) fn replaced(nodes: Vec<Node>, groups: Vec<(Vec<usize>, Node)>) -> Vec<Node> {
    let mut group_of = vec![None; nodes.len()];
    for (g, (members, _)) in groups.iter().enumerate() {
        for &i in members {
            group_of[i] = Some(g);
        }
    }
    let mut position = vec![0; nodes.len()];
    let mut count = 0;
    let is_last = |i: usize| group_of[i].is_none_or(|g: usize| groups[g].0.last() == Some(&i));
    for (i, next) in position.iter_mut().enumerate() {
        if is_last(i) {
            *next = count;
            count += 1;
        }
    }
    for (members, _) in &groups {
        let last = *members.last().expect("a group has members");
        for &i in members {
            position[i] = position[last];
        }
    }
    let mut reads = vec![Vec::new(); count];
    let mut contents: Vec<Option<Node>> = vec![None; count];
    for (i, node) in nodes.into_iter().enumerate() {
        let at = position[i];
        let outer = node.reads.iter().filter(|read| position[read.from] != at);
        let outer = outer.map(|read| Read { from: position[read.from], ..read.clone() });
        reads[at].extend(outer);
        if group_of[i].is_none() {
            contents[at] = Some(node);
        }
    }
    for (members, node) in groups {
        contents[position[members[0]]] = Some(node);
    }
    let nodes = contents.into_iter().map(|node| node.expect("every position has a node"));
    let nodes = nodes.zip(reads).map(|(node, mut reads)| {
        reads.sort();
        reads.dedup_by_key(|read| read.from);
        Node { reads, ..node }
    });
    sorted(nodes.collect())
}

/// The nodes in topological order, in their given order as far as possible.
fn sorted(nodes: Vec<Node>) -> Vec<Node> {
    let readers = readers(&nodes);
    let mut missing: Vec<usize> = nodes.iter().map(|node| node.reads.len()).collect();
    let mut ready: BTreeSet<usize> = (0..nodes.len()).filter(|&i| missing[i] == 0).collect();
    let mut order = Vec::new();
    let mut position = vec![0; nodes.len()];
    while let Some(i) = ready.pop_first() {
        position[i] = order.len();
        order.push(i);
        for &reader in &readers[i] {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.insert(reader);
            }
        }
    }
    assert_eq!(order.len(), nodes.len(), "a graph has no cycle");
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    let node = |i: usize| {
        let mut node = nodes[i].take().expect("each node has one position");
        for read in &mut node.reads {
            read.from = position[read.from];
        }
        node
    };
    order.into_iter().map(node).collect()
}

/// The graph of a report.
pub(super) fn graph(report: &Report) -> Vec<Node> {
    let mut boxes = Boxes {
        report,
        contents: Vec::new(),
        edges: Vec::new(),
        inputs: Vec::new(),
        variables: Vec::new(),
        layers: vec![usize::MAX; report.layers.len()],
    };
    boxes.sources();
    boxes.operations();
    boxes.sinks();
    boxes.nodes()
}

/// The content of a box before views become edges.
enum Placement {
    Shown(Content),
    /// A layer without work.
    Free(usize),
}

/// Boxes and the edges between them, each edge from an earlier box to a later one.
struct Boxes<'a> {
    report: &'a Report,
    contents: Vec<Placement>,
    edges: Vec<(usize, usize)>,
    /// Box of each input.
    inputs: Vec<usize>,
    /// Box of each variable before the step.
    variables: Vec<usize>,
    /// Box of each layer.
    layers: Vec<usize>,
}

impl Boxes<'_> {
    fn add(&mut self, content: Placement) -> usize {
        self.contents.push(content);
        self.contents.len() - 1
    }

    fn end(&mut self, end: End) -> usize {
        self.add(Placement::Shown(Content::End(end)))
    }

    fn sources(&mut self) {
        for input in &self.report.inputs {
            let (kept, role) = match input.role {
                InputRole::Data => (false, "input"),
                InputRole::State => (true, "state"),
                InputRole::Lengths => (false, "lengths"),
                InputRole::Weights => (false, "weights, packed once"),
            };
            let tensor = format!("{} {:?}", input.element, input.shape);
            let at = self.end(End::new(&input.name, role, tensor, kept));
            self.inputs.push(at);
        }
        for variable in &self.report.variables {
            let tensor = format!("f32 {:?}", variable.shape);
            let at = self.end(End::new(&variable.name, "variable", tensor, true));
            self.variables.push(at);
        }
    }

    /// Adds a box for each kernel with layers, and for each layer without work outside of loops.
    fn operations(&mut self) {
        let report = self.report;
        let top = |mut i: usize| {
            while let Some(around) = report.layers[i].within {
                i = around;
            }
            i
        };
        // a kernel is placed at its last layer
        let mut at: Vec<(usize, Option<usize>)> = Vec::new();
        for (k, kernel) in report.kernels.iter().enumerate() {
            at.extend(kernel.layers.iter().map(|&i| top(i)).max().map(|last| (last, Some(k))));
        }
        for (i, layer) in report.layers.iter().enumerate() {
            if layer.kernel.is_none() && layer.within.is_none() {
                at.push((i, None));
            }
        }
        at.sort_by_key(|(i, _)| *i);
        for (last, kernel) in at {
            let at = self.add(match kernel {
                Some(k) => Placement::Shown(Content::Kernels(vec![Row::from_kernels(vec![k])])),
                None => Placement::Free(last),
            });
            for i in 0..report.layers.len() {
                let is_here = match kernel {
                    Some(k) => report.layers[top(i)].kernel == Some(k),
                    None => i == last,
                };
                if is_here {
                    self.layers[i] = at;
                }
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
        for k in (0..copies.len()).filter(|&k| report.kernels[k].layers.is_empty()) {
            copies[k] = Some(
                self.add(Placement::Shown(Content::Kernels(vec![Row::from_kernels(vec![k])]))),
            );
        }
        let copier = |writes: &dyn Fn(&Kernel) -> bool| {
            report.kernels.iter().rposition(writes).and_then(|k| copies[k])
        };
        for (i, output) in report.outputs.iter().enumerate() {
            let next = output.state.map(|input| report.inputs[input].name.clone());
            let tensor = format!("{} {:?}", output.element, output.shape);
            let end = End::new(&output.name, "output", tensor, next.is_some());
            let at = self.end(End { next, ..end });
            self.sink(output.from, copier(&|kernel| kernel.writes_outputs.contains(&i)), at);
        }
        for (i, variable) in report.variables.iter().enumerate() {
            let Some(next) = variable.next else { continue };
            let end = End::new(&variable.name, "at the next step", String::new(), true);
            let at = self.end(end);
            self.sink(next, copier(&|kernel| kernel.writes_variables.contains(&i)), at);
        }
    }

    fn sink(&mut self, from: TensorSource, copier: Option<usize>, to: usize) {
        match copier {
            Some(copier) => {
                self.edge(from, copier);
                self.edges.push((copier, to));
            }
            None => self.edge(from, to),
        }
    }

    fn edge(&mut self, from: TensorSource, to: usize) {
        let from = match from {
            TensorSource::Input(i) => self.inputs[i],
            TensorSource::Variable(i) => self.variables[i],
            TensorSource::Layer(i) => self.layers[i],
            TensorSource::Constant(_) => return,
        };
        if from != to {
            self.edges.push((from, to));
        }
    }

    /// Turns the boxes into nodes, with each source in front of its first reader and each sink
    /// behind the last node that it reads. Layers without work become views on edges; a
    /// concatenation between several inputs and several readers becomes a junction.
    fn nodes(mut self) -> Vec<Node> {
        self.edges.sort_unstable();
        self.edges.dedup();
        let mut reads: Vec<Vec<Read>> = vec![Vec::new(); self.contents.len()];
        let mut outs = vec![0; self.contents.len()];
        for &(from, to) in &self.edges {
            reads[to].push(Read { from, views: Vec::new() });
            outs[from] += 1;
        }
        let folds: Vec<bool> = (0..self.contents.len())
            .map(|i| {
                let is_free = matches!(self.contents[i], Placement::Free(_));
                is_free && (reads[i].len() < 2 || outs[i] < 2)
            })
            .collect();
        for i in 0..reads.len() {
            let mut through = Vec::new();
            for read in std::mem::take(&mut reads[i]) {
                match self.contents[read.from] {
                    Placement::Free(layer) if folds[read.from] => {
                        through.extend(reads[read.from].iter().map(|before| Read {
                            from: before.from,
                            views: [&before.views[..], &[layer], &read.views].concat(),
                        }));
                    }
                    _ => through.push(read),
                }
            }
            through.sort();
            through.dedup_by_key(|read| read.from);
            reads[i] = through;
        }
        let mut places: Vec<(usize, usize)> = (0..reads.len()).map(|i| (i, 1)).collect();
        let sources = self.inputs.len() + self.variables.len();
        let sinks = self
            .contents
            .iter()
            .rposition(|content| !matches!(content, Placement::Shown(Content::End(_))));
        let sinks = sinks.map_or(sources, |last| last + 1);
        for (source, placement) in places.iter_mut().enumerate().take(sources) {
            let reader = |i: &usize| !folds[*i] && reads[*i].iter().any(|read| read.from == source);
            *placement = ((sources..sinks).find(reader).unwrap_or(sinks), 0);
        }
        for sink in sinks..reads.len() {
            let last = reads[sink].iter().map(|read| places[read.from].0).max();
            places[sink] = (last.unwrap_or(sinks), 2);
        }
        let mut order: Vec<usize> = (0..reads.len()).filter(|&i| !folds[i]).collect();
        order.sort_by_key(|&i| (places[i], i));
        let mut position = vec![usize::MAX; reads.len()];
        for (at, &i) in order.iter().enumerate() {
            position[i] = at;
        }
        let mut contents: Vec<Option<Placement>> = self.contents.into_iter().map(Some).collect();
        let node = |i: usize| {
            let content = match contents[i].take().expect("each box becomes one node") {
                Placement::Shown(content) => content,
                Placement::Free(layer) => {
                    debug_assert!(self.report.layers[layer].done != Done::Computed);
                    Content::Junction(layer)
                }
            };
            let reads = reads[i].iter();
            let reads = reads.map(|read| Read { from: position[read.from], ..read.clone() });
            Node::new(content, reads.collect())
        };
        order.iter().copied().map(node).collect()
    }
}
