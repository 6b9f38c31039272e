//! Which pointwise work is done where its operand is computed, in registers.
//!
//! A chain starts at an operation that computes and goes on through pointwise operations, as long as nothing else reads what
//! is handed on, and the other operands lie along the rows and columns of the first operation's result.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Pointwise, Source, ValidModel, ValidNode, ValidOp, View};

/// Pointwise operations that are fused into what produces their operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fusion {
    chains: Vec<Chain>,
    /// Values that are handed on in registers.
    inner: BTreeSet<usize>,
}

/// An operation and the pointwise ones that go with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The value of the first operation.
    pub root: usize,
    /// The values of the pointwise operations, in order; the last is the one that is stored.
    pub links: Vec<usize>,
}

/// How an operand of a pointwise operation lies along the rows of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// An element for each element.
    Both,
    /// An element for each column, the same for all rows.
    Columns,
    /// An element for each row, the same for all columns.
    Rows,
    /// One element.
    Nothing,
}

/// How an operand of that shape lies along a result of shape `out` whose rows have `columns` elements. `None`: some other way.
pub fn along(out: &[usize], operand: &[usize], columns: usize) -> Option<Along> {
    let elements: usize = out.iter().product();
    let own: usize = operand.iter().product();
    if own == 1 {
        return Some(Along::Nothing);
    }
    let trimmed = &operand[operand.len().saturating_sub(out.len())..];
    let sizes: Vec<usize> = std::iter::repeat_n(1, out.len() - trimmed.len()).chain(trimmed.iter().copied()).collect();
    if own == elements {
        return Some(Along::Both);
    }
    let (last, outer) = (*out.last()?, &out[..out.len() - 1]);
    let (own_last, own_outer) = (*sizes.last()?, &sizes[..sizes.len() - 1]);
    if last != columns {
        return None;
    }
    if own_last == columns && own_outer.iter().all(|&n| n == 1) {
        Some(Along::Columns)
    } else if own_last == 1 && own_outer == outer {
        Some(Along::Rows)
    } else {
        None
    }
}

impl Fusion {
    /// The chains of a model.
    pub fn new(model: &ValidModel) -> Self {
        let mut readers = Readers::default();
        for result in &model.results {
            readers.read(result.source, None);
        }
        for next in model.variables.iter().filter_map(|v| v.next) {
            readers.read(next, None);
        }
        readers.level(&model.nodes);
        let mut fusion = Self::default();
        fusion.level(model, &model.nodes, &readers);
        fusion
    }

    /// The chains.
    pub fn chains(&self) -> &[Chain] {
        &self.chains
    }

    /// Whether the operation of a value is fused into another.
    fn is_linked(&self, value: usize) -> bool {
        self.chains.iter().any(|c| c.links.contains(&value))
    }

    /// Whether a value is only handed on in registers.
    pub fn is_inner(&self, value: usize) -> bool {
        self.inner.contains(&value)
    }

    /// For a value that a chain stores: the value of its first operation.
    pub fn root(&self, stored: usize) -> Option<usize> {
        self.chains.iter().find(|c| c.links.last() == Some(&stored)).map(|c| c.root)
    }

    /// The pointwise operations that are fused into the operation of that value.
    pub fn links(&self, root: usize) -> &[usize] {
        self.chains.iter().find(|c| c.root == root).map_or(&[], |c| &c.links)
    }

    fn level(&mut self, model: &ValidModel, nodes: &[ValidNode], readers: &Readers) {
        let by_value: BTreeMap<usize, &ValidNode> =
            nodes.iter().flat_map(|node| node.op.outputs().into_iter().map(move |v| (v, node))).collect();
        for node in nodes {
            let columns = match &node.op {
                ValidOp::Loop(body) => {
                    self.level(model, &body.body, readers);
                    continue;
                }
                ValidOp::Dense(dense) => Some(dense.outputs),
                ValidOp::MatMul(matmul) => Some(matmul.columns),
                ValidOp::Pointwise(_) => None,
                _ => continue,
            };
            let root = node.op.outputs()[0];
            if self.is_linked(root) {
                continue;
            }
            let mut links = Vec::new();
            let mut inner = vec![root];
            let mut at = root;
            while let Some(reader) = readers.only(at).and_then(|value| by_value.get(&value)) {
                match &reader.op {
                    ValidOp::View(view) if columns.is_some() && is_whole(model, view) => {
                        at = view.out;
                        inner.push(at);
                    }
                    ValidOp::Pointwise(pointwise)
                        if fits(model, pointwise, at, columns) && !self.is_linked(pointwise.out) =>
                    {
                        at = pointwise.out;
                        links.push(at);
                        // what lies between this link and the one before is handed on
                        self.inner.extend(inner.drain(..));
                        inner.push(at);
                    }
                    _ => break,
                }
            }
            if !links.is_empty() {
                self.chains.push(Chain { root, links });
            }
        }
    }
}

/// Whether a pointwise operation can go where `value` is computed.
fn fits(model: &ValidModel, pointwise: &Pointwise, value: usize, columns: Option<usize>) -> bool {
    let out = &model.values[pointwise.out].shape;
    let same = model.values[value].shape.iter().product::<usize>() == out.iter().product::<usize>();
    match columns {
        None => model.values[value].shape == *out,
        Some(columns) => {
            let others = pointwise.inputs.iter().filter(|s| **s != Source::Value(value));
            same && others.into_iter().all(|&s| along(out, model.shape(s), columns).is_some())
        }
    }
}

/// Whether a view is all of its input in its order.
fn is_whole(model: &ValidModel, view: &View) -> bool {
    let shape = &model.values[view.out].shape;
    let mut stride = 1;
    let mut in_order = true;
    for (&size, &given) in shape.iter().zip(&view.strides).rev() {
        in_order &= size == 1 || given == stride;
        stride *= size as isize;
    }
    in_order && view.offset == 0 && model.len(view.input) == stride as usize
}

/// By value: what reads it, as the first value of the reader; `None` for what is not a node of the same level.
#[derive(Default)]
struct Readers(BTreeMap<usize, BTreeSet<Option<usize>>>);

impl Readers {
    fn read(&mut self, source: Source, reader: Option<usize>) {
        if let Source::Value(value) = source {
            self.0.entry(value).or_default().insert(reader);
        }
    }

    fn level(&mut self, nodes: &[ValidNode]) {
        for node in nodes {
            let ValidOp::Loop(body) = &node.op else {
                for source in node.op.reads() {
                    self.read(source, Some(node.op.outputs()[0]));
                }
                continue;
            };
            let slices = body.slices.iter().map(|s| s.of);
            let carried = body.carried.iter().flat_map(|c| [c.initial, c.next]);
            for source in slices.chain(carried).chain(body.results.iter().map(|r| r.of)) {
                self.read(source, None);
            }
            self.level(&body.body);
        }
    }

    /// The one reader of a value, if there is one.
    fn only(&self, value: usize) -> Option<usize> {
        let mut readers = self.0.get(&value)?.iter();
        match (readers.next(), readers.next()) {
            (Some(reader), None) => *reader,
            _ => None,
        }
    }
}
