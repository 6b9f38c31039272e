//! Fusion of pointwise operations into the kernel of their operand, in registers.
//!
//! A chain starts at a computing operation and continues through pointwise operations, as long as
//! each intermediate value has one reader and other operands lie along the rows and columns of the
//! first result. The new state of a recurrent cell may start a chain and have further readers, as
//! the state is also stored. A chain has at most [`MOST_LINKS`] operations and then goes through
//! memory, so that no generated function grows with the depth of the model. All operations of a
//! chain are on equal sides of conditions.

use std::collections::{BTreeMap, BTreeSet};

use super::Branches;
use crate::core::{CoreModel, CoreNode, CoreOp, KernelForm, Pointwise, Source};

/// The most pointwise operations of a chain.
pub(super) const MOST_LINKS: usize = 64;

/// The pointwise operations fused into the producer of their operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fusion {
    chains: Vec<Chain>,
    /// The index of a chain, by the value of its first operation.
    starting: BTreeMap<usize, usize>,
    /// The index of a chain, by the value that the chain stores.
    ending: BTreeMap<usize, usize>,
    /// The values of all pointwise operations in chains.
    linked: BTreeSet<usize>,
    /// Values that exist only in registers.
    inner: BTreeSet<usize>,
}

/// An operation and the pointwise operations fused into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The value of the first operation.
    pub root: usize,
    /// The values of the pointwise operations, in order.
    pub links: Vec<usize>,
    /// The values between links: the root, all links except the last, and views between links. If a
    /// reduction computes the chain, the root and all links.
    pub handed_on: Vec<usize>,
    /// The value of the reduction that reads the last value, if the reduction's kernel computes the
    /// chain. `None`: the last value is stored.
    pub reduced: Option<usize>,
    /// True if the chain runs at the position of the first operation, a cell with possibly further
    /// readers. Otherwise the chain runs at the position of the reduction or of the last link,
    /// which may read values computed in between.
    pub early: bool,
}

impl Chain {
    /// The value of the operation at which the chain runs.
    pub fn done_at(&self) -> usize {
        match self.reduced {
            _ if self.early => self.root,
            Some(reduced) => reduced,
            None => self.last(),
        }
    }

    /// The value of the last pointwise operation.
    fn last(&self) -> usize {
        self.links.last().copied().unwrap_or(self.root)
    }

    /// True if the chain has the operation of a value.
    pub fn contains(&self, value: usize) -> bool {
        self.root == value || self.links.contains(&value) || self.reduced == Some(value)
    }
}

/// The broadcast of an operand of a pointwise operation along a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// One element for each element of the matrix.
    Both,
    /// One element per column, for all rows.
    Columns,
    /// One element per row, for all columns.
    Rows,
    /// One element for the whole matrix.
    Nothing,
}

/// The broadcast of an operand along a result of shape `out` with rows of `columns` elements.
/// `None`: any other broadcast.
pub fn along(out: &[usize], operand: &[usize], columns: usize) -> Option<Along> {
    let elements: usize = out.iter().product();
    let operand_len: usize = operand.iter().product();
    if operand_len == 1 {
        return Some(Along::Nothing);
    }
    let trimmed = &operand[operand.len().saturating_sub(out.len())..];
    let sizes: Vec<usize> =
        std::iter::repeat_n(1, out.len() - trimmed.len()).chain(trimmed.iter().copied()).collect();
    if operand_len == elements {
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
    /// The chains of a model. No chain starts at the first values in `halved`: of cells that two
    /// threads share, and of padded cells.
    pub fn new(model: &CoreModel, halved: &BTreeSet<usize>, branches: &Branches) -> Self {
        let mut readers = Readers::default();
        for result in &model.results {
            readers.read(result.source, None);
        }
        for next in model.variables.iter().filter_map(|v| v.next) {
            readers.read(next, None);
        }
        readers.scope(&model.nodes);
        let mut fusion = Self::default();
        fusion.scope(model, &model.nodes, &readers, (halved, branches));
        fusion
    }

    /// The chains.
    pub fn chains(&self) -> &[Chain] {
        &self.chains
    }

    /// True if the operation of a value is fused into another operation.
    fn is_linked(&self, value: usize) -> bool {
        self.linked.contains(&value)
    }

    /// True if a value exists only in registers.
    pub fn is_inner(&self, value: usize) -> bool {
        self.inner.contains(&value)
    }

    /// The chain with this value at its end.
    pub fn ending(&self, stored: usize) -> Option<&Chain> {
        self.ending.get(&stored).map(|&at| &self.chains[at])
    }

    /// The chain that starts at the operation of this value.
    pub fn starting(&self, root: usize) -> Option<&Chain> {
        self.starting.get(&root).map(|&at| &self.chains[at])
    }

    /// The pointwise operations fused into the operation of this value.
    pub fn links(&self, root: usize) -> &[usize] {
        self.starting(root).map_or(&[], |c| &c.links)
    }

    fn scope(
        &mut self,
        model: &CoreModel,
        nodes: &[CoreNode],
        readers: &Readers,
        (halved, branches): (&BTreeSet<usize>, &Branches),
    ) {
        let scope = GraphScope::new(model, nodes, readers, branches);
        for (position, node) in nodes.iter().enumerate() {
            if let CoreOp::Loop(body) = &node.op {
                self.scope(model, &body.body, readers, (halved, branches));
                continue;
            }
            let facts = node.op.facts();
            let root = facts.outputs[0];
            let chain = match facts.kernel {
                KernelForm::NewState(_) if halved.contains(&root) => continue,
                KernelForm::NewState(columns) => self.of_state(&scope, position, root, columns),
                KernelForm::Rows(columns) => {
                    self.follow(&scope, root, scope.only_reader(root), Some(columns), |_, _| true)
                }
                KernelForm::Elements if self.is_linked(root) || branches.is_join(root) => continue,
                KernelForm::Elements => {
                    let chain =
                        self.follow(&scope, root, scope.only_reader(root), None, |_, _| true);
                    scope.reduced(chain)
                }
                KernelForm::Alone | KernelForm::Viewed | KernelForm::Joined | KernelForm::Body => {
                    continue;
                }
            };
            if !chain.links.is_empty() || chain.reduced.is_some() {
                let stored = |value: &&usize| **value == root && scope.only_reader(root).is_none();
                self.inner.extend(chain.handed_on.iter().filter(|value| !stored(value)));
                self.starting.insert(chain.root, self.chains.len());
                self.ending.insert(chain.reduced.unwrap_or(chain.last()), self.chains.len());
                self.linked.extend(&chain.links);
                self.chains.push(chain);
            }
        }
    }

    /// The chain from a new state, which is stored and may have further readers. Other operands of
    /// the links are computed before the operation of the state, at this position.
    fn of_state(
        &self,
        scope: &GraphScope<'_>,
        position: usize,
        root: usize,
        columns: usize,
    ) -> Chain {
        let known = |link: &Pointwise, at| {
            link.inputs
                .iter()
                .all(|&input| input == Source::Value(at) || scope.is_before(input, position))
        };
        let starts = scope.readers.all(root).filter_map(|reader| scope.node(reader));
        let mut chains =
            starts.map(|first| self.follow(scope, root, Some(first), Some(columns), known));
        let chain = chains.find(|chain| !chain.links.is_empty());
        chain.map(|chain| Chain { early: true, ..chain }).unwrap_or_default()
    }

    /// The chain from `root`, continued by its reader `reader`.
    fn follow<'m>(
        &self,
        scope: &GraphScope<'m>,
        root: usize,
        mut reader: Option<&'m CoreNode>,
        columns: Option<usize>,
        takes: impl Fn(&Pointwise, usize) -> bool,
    ) -> Chain {
        let mut chain = Chain { root, ..Chain::default() };
        let mut between = vec![root];
        let mut at = root;
        while let Some(node) = reader {
            match &node.op {
                CoreOp::View(view) if columns.is_some() && view.only_reshapes(scope.model) => {
                    at = view.out;
                    between.push(at);
                }
                CoreOp::Pointwise(pointwise)
                    if chain.links.len() < MOST_LINKS
                        && fits(scope.model, pointwise, at, columns)
                        && takes(pointwise, at)
                        && !self.is_linked(pointwise.out)
                        && !scope.branches.is_join(pointwise.out)
                        && scope.branches.sides(pointwise.out) == scope.branches.sides(root) =>
                {
                    at = pointwise.out;
                    chain.links.push(at);
                    // the values since the previous link are handed on to this link
                    chain.handed_on.append(&mut between);
                    between.push(at);
                }
                _ => break,
            }
            reader = scope.only_reader(at);
        }
        chain
    }
}

/// The operations of the model, or of one loop's body.
struct GraphScope<'m> {
    model: &'m CoreModel,
    nodes: &'m [CoreNode],
    readers: &'m Readers,
    branches: &'m Branches,
    /// By value: the position of its operation.
    positions: BTreeMap<usize, usize>,
}

impl<'m> GraphScope<'m> {
    fn new(
        model: &'m CoreModel,
        nodes: &'m [CoreNode],
        readers: &'m Readers,
        branches: &'m Branches,
    ) -> Self {
        let numbered = nodes.iter().enumerate();
        let positions = numbered
            .flat_map(|(at, node)| node.op.outputs().into_iter().map(move |v| (v, at)))
            .collect();
        Self { model, nodes, readers, branches, positions }
    }

    /// The operation of a value, if in this scope.
    fn node(&self, value: usize) -> Option<&'m CoreNode> {
        self.positions.get(&value).map(|&at| &self.nodes[at])
    }

    /// The chain, extended by the reduction that reads its last value if the reduction can compute
    /// the chain while it reads. Conditions: rows are contiguous and have several elements, every
    /// operand has either all elements of a row or one number for each row, and the reduction is on
    /// the sides of the chain.
    fn reduced(&self, chain: Chain) -> Chain {
        let last = chain.last();
        let Some(CoreOp::Reduce(reduce)) = self.only_reader(last).map(|node| &node.op) else {
            return chain;
        };
        let shape = self.model.shape(reduce.input);
        let [_, size, inner] = reduce.extents(shape);
        let sides = |value| self.branches.sides(value);
        let nodes = [&[chain.root], &chain.links[..]].concat();
        let fits = |value: &usize| {
            let Some(CoreOp::Pointwise(pointwise)) = self.node(*value).map(|node| &node.op) else {
                return false;
            };
            let fits = |&input: &Source| {
                let operand = self.model.shape(input);
                let missing = shape.len().saturating_sub(operand.len());
                let along = |axis: usize| if axis < missing { 1 } else { operand[axis - missing] };
                let axes = || reduce.first..shape.len();
                axes().all(|axis| along(axis) == shape[axis]) || axes().all(|axis| along(axis) == 1)
            };
            pointwise.inputs.iter().all(fits)
        };
        let is_computed = inner == 1
            && size > 1
            && sides(reduce.out) == sides(chain.root)
            && nodes.iter().all(fits);
        if !is_computed {
            return chain;
        }
        Chain { reduced: Some(reduce.out), handed_on: nodes, ..chain }
    }

    /// The only reader of a value.
    fn only_reader(&self, value: usize) -> Option<&'m CoreNode> {
        self.readers.only(value).and_then(|reader| self.node(reader))
    }

    /// True if a tensor is known before the operation at a position.
    fn is_before(&self, source: Source, position: usize) -> bool {
        match source {
            Source::Value(value) => self.positions.get(&value).is_none_or(|&at| at < position),
            _ => true,
        }
    }
}

/// True if a pointwise operation can be fused into the operation of `value`.
fn fits(model: &CoreModel, pointwise: &Pointwise, value: usize, columns: Option<usize>) -> bool {
    let out = &model.values[pointwise.out].shape;
    let same = model.values[value].shape.iter().product::<usize>() == out.iter().product::<usize>();
    match columns {
        None => model.values[value].shape == *out,
        Some(columns) => {
            let operands = pointwise.inputs.iter().filter(|s| **s != Source::Value(value));
            same && operands.into_iter().all(|&s| along(out, model.shape(s), columns).is_some())
        }
    }
}

/// By value: the first values of the operations that read the value; `None` for a reader outside
/// the scope.
#[derive(Default)]
struct Readers(BTreeMap<usize, BTreeSet<Option<usize>>>);

impl Readers {
    fn read(&mut self, source: Source, reader: Option<usize>) {
        if let Source::Value(value) = source {
            self.0.entry(value).or_default().insert(reader);
        }
    }

    fn scope(&mut self, nodes: &[CoreNode]) {
        for node in nodes {
            let CoreOp::Loop(body) = &node.op else {
                for source in node.op.reads() {
                    self.read(source, Some(node.op.outputs()[0]));
                }
                continue;
            };
            let slices = body.slices.iter().map(|s| s.whole);
            let carried = body.carried.iter().flat_map(|c| [c.initial, c.next]);
            for source in slices.chain(carried).chain(body.results.iter().map(|r| r.value)) {
                self.read(source, None);
            }
            self.scope(&body.body);
        }
    }

    /// The operations that read a value, by their first values.
    fn all(&self, value: usize) -> impl Iterator<Item = usize> {
        self.0.get(&value).into_iter().flatten().copied().flatten()
    }

    /// The only reader of a value, if it has exactly one.
    fn only(&self, value: usize) -> Option<usize> {
        let mut readers = self.0.get(&value)?.iter();
        match (readers.next(), readers.next()) {
            (Some(reader), None) => *reader,
            _ => None,
        }
    }
}
