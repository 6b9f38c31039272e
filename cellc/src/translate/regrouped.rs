//! Weights whose gates the graph reorders before a cell reads them, as converters do for run-time
//! W, R and B. `pack` then reads the original tensor, by a layout with the position of each gate.

use std::collections::HashMap;

use super::refusal::{Refusal, Rule};
use crate::core::{
    Combiner, CoreBuilder, CoreModel, CoreNode, CoreOp, PointwiseFunction, Source, WeightSource,
    WeightSources, broadcast_strides,
};
use crate::model::{BiasPart, Binary, Direction, Tensor, WeightLayout};
use crate::rules::cell::{CellPort, CellSizes, Recurrent};

/// The supported weights, for messages.
const VALID: &str = "a constant, an input of the model, or all gates of one in another order \
    (Split, Slice, Concat, Reshape, Transpose); of B also sums of two parts (Add)";

/// The weights of a cell as sources of any kind.
pub(super) struct CellSources {
    pub(super) w: Source,
    pub(super) r: Source,
    /// The tensors of B. `None` for a tensor that is left out.
    pub(super) b: Vec<Option<Source>>,
    pub(super) p: Option<Source>,
}

/// The weights of a recurrent operation.
pub(super) enum CellWeights {
    /// Constants and inputs, with the layout of their gates.
    Given(WeightSources),
    /// Tensors that the model computes.
    Computed,
}

/// One element of an input or a constant, by its place in C order.
type Element = (Source, usize);

/// An element of weights: an element of an input or a constant, or the sum of two of these
/// elements.
#[derive(Clone, Copy, PartialEq)]
struct Sum(Element, Option<Element>);

impl Sum {
    /// The sum of the elements that are `by` places later in each tensor.
    fn moved(self, by: usize) -> Self {
        let moved = |(source, element): Element| (source, element + by);
        Self(moved(self.0), self.1.map(moved))
    }

    fn elements(self) -> impl Iterator<Item = Element> {
        std::iter::once(self.0).chain(self.1)
    }
}

/// By part of a tensor: the parts of other tensors that are added.
type SummedParts = Vec<Vec<(Source, usize)>>;

/// An input or a constant whose parts a graph reorders.
struct Reordering {
    root: Source,
    /// By part of the result, the part of the root.
    order: Vec<usize>,
}

/// The operations of a graph, by computed value.
struct Views<'v> {
    core: &'v CoreModel,
    by_value: HashMap<usize, &'v CoreNode>,
}

impl<'v> Views<'v> {
    fn new(core: &'v CoreModel, nodes: &'v [CoreNode]) -> Self {
        let by_value =
            nodes.iter().flat_map(|node| node.op.outputs().into_iter().map(move |out| (out, node)));
        Self { core, by_value: by_value.collect() }
    }

    /// The one or two elements of inputs and constants from which an element of a tensor is
    /// computed.
    ///
    /// # Errors
    /// The name of an operation other than moves of elements and sums of two elements.
    fn element(&self, source: Source, index: usize) -> Result<Sum, String> {
        let value = match source {
            Source::Parameter(_) | Source::Constant(_) => return Ok(Sum((source, index), None)),
            Source::Variable(_) => return Err("a variable".to_owned()),
            Source::Value(value) => value,
        };
        let node = self.by_value.get(&value).ok_or("a loop")?;
        let shape = &self.core.values[value].shape;
        let refused = || format!("{:?} ({})", node.name, node.kind);
        let sum = |one: Element, other: Element| {
            let (one, other) = (self.element(one.0, one.1)?, self.element(other.0, other.1)?);
            match (one.1, other.1) {
                (None, None) => Ok(Sum(one.0, Some(other.0))),
                _ => Err(refused()),
            }
        };
        match &node.op {
            CoreOp::View(view) => {
                let along = coordinates(shape, index).zip(view.strides.iter().rev());
                let steps: isize = along.map(|(at, stride)| at.cast_signed() * stride).sum();
                self.element(view.input, view.offset.wrapping_add_signed(steps))
            }
            CoreOp::Concat(concat) => {
                let inner: usize = shape[concat.axis + 1..].iter().product();
                let (outer, mut at) =
                    (index / (inner * shape[concat.axis]), index / inner % shape[concat.axis]);
                for &input in &concat.inputs {
                    let size = self.core.shape(input)[concat.axis];
                    if at < size {
                        return self.element(input, (outer * size + at) * inner + index % inner);
                    }
                    at -= size;
                }
                Err(refused())
            }
            CoreOp::Pointwise(pointwise)
                if pointwise.function == PointwiseFunction::Binary(Binary::Add)
                    && pointwise.inputs.len() == 2 =>
            {
                let place_in = |input: Source| {
                    let strides = broadcast_strides(self.core.shape(input), shape);
                    coordinates(shape, index)
                        .zip(strides.iter().rev())
                        .map(|(at, stride)| at * stride)
                        .sum()
                };
                let [one, other] = [pointwise.inputs[0], pointwise.inputs[1]]
                    .map(|input| (input, place_in(input)));
                sum(one, other)
            }
            CoreOp::Reduce(reduce) if reduce.combiner == Combiner::Add => {
                let [_, size, inner] = reduce.extents(self.core.shape(reduce.input));
                let first = index / inner * size * inner + index % inner;
                match size {
                    1 => self.element(reduce.input, first),
                    2 => sum((reduce.input, first), (reduce.input, first + inner)),
                    _ => Err(refused()),
                }
            }
            _ => Err(refused()),
        }
    }

    /// The parts of a tensor of `sets` directions, each part `count` adjacent elements. By part of
    /// the first set: the parts of inputs and constants that are added. Every further set must
    /// consist of the same parts of the next set of each tensor.
    ///
    /// # Errors
    /// The operation, or the order of elements, that breaks up a part.
    fn parts(&self, source: Source, [sets, count]: [usize; 2]) -> Result<SummedParts, String> {
        let parts = self.core.len(source) / (sets * count);
        let mut found = Vec::new();
        for part in 0..parts {
            let of_first = self.element(source, part * count)?;
            for set in 0..sets {
                let first = self.element(source, (set * parts + part) * count)?;
                let mut pairs = of_first.elements().zip(first.elements());
                let is_same_part = pairs.all(|((tensor, at), (other, other_at))| {
                    let len = self.core.len(tensor);
                    let set_len = len / sets;
                    tensor == other
                        && len.is_multiple_of(sets * count)
                        && other_at == set * set_len + at
                        && at < set_len
                });
                let aligned = first.elements().all(|(_, at)| at.is_multiple_of(count));
                if !is_same_part || !aligned || of_first.1.is_some() != first.1.is_some() {
                    return Err(NO_WHOLE_GATES.to_owned());
                }
                for k in 1..count {
                    if self.element(source, (set * parts + part) * count + k)? != first.moved(k) {
                        return Err(NO_WHOLE_GATES.to_owned());
                    }
                }
            }
            found.push(of_first.elements().map(|(tensor, at)| (tensor, at / count)).collect());
        }
        Ok(found)
    }

    /// The tensor whose parts a graph reorders, and the order of these parts in the result.
    ///
    /// # Errors
    /// The errors of [`Self::parts`], and parts that are sums or belong to several tensors.
    fn order(&self, source: Source, sizes: [usize; 2]) -> Result<Reordering, String> {
        let parts = self.parts(source, sizes)?;
        let (root, _) = parts[0][0];
        let mut order = Vec::new();
        for part in &parts {
            match part[..] {
                [(tensor, at)] if tensor == root && !order.contains(&at) => order.push(at),
                _ => return Err(NO_WHOLE_GATES.to_owned()),
            }
        }
        let same_len = self.core.len(root) == self.core.len(source);
        if same_len { Ok(Reordering { root, order }) } else { Err(NO_WHOLE_GATES.to_owned()) }
    }
}

/// The text of messages about a tensor whose elements are reordered within gates or across tensors.
const NO_WHOLE_GATES: &str =
    "operations that leave no gate whole, or take gates of several tensors";

/// The indices of an element along the axes, the last axis first.
fn coordinates(shape: &[usize], index: usize) -> impl Iterator<Item = usize> {
    let mut quotient = index;
    shape.iter().rev().map(move |&size| {
        let at = quotient % size;
        quotient /= size;
        at
    })
}

/// The weights of a cell: constants and inputs with the layout of their gates, or `Computed` if the
/// graph does more than reorder gates. Refuses computed weights of a cell without variants.
pub(super) fn regrouped(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    given: &CellSources,
    sizes: CellSizes,
) -> Rule<CellWeights> {
    match sources(core, recurrent, given, sizes) {
        Ok(weights) => Ok(CellWeights::Given(weights)),
        Err(_) if recurrent.cell.kind.family().has_variants() => Ok(CellWeights::Computed),
        Err(found) => {
            let help = "connect a constant or an input, the gates of W and R in one order; or \
                write the cell with MatMul, Add and Mul";
            Err(Refusal::new(found, VALID, help))
        }
    }
}

/// The constants and inputs from which the weights of a cell are reordered, with the layout of
/// their gates.
///
/// # Errors
/// The operation that computes weights.
fn sources(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    given: &CellSources,
    sizes: CellSizes,
) -> Result<WeightSources, String> {
    let (cell, hidden) = (recurrent.cell, recurrent.cell.hidden_size);
    let sets = recurrent.direction.map_or(1, Direction::count);
    let name = |role: CellPort| role.name(recurrent.direction.is_some());
    let computed =
        |role| move |by: String| format!("{} is computed at run time, by {by}", name(role));
    let views = Views::new(&core.model, &core.nodes);
    let w = views.order(given.w, [sets, hidden * sizes.input]).map_err(computed(CellPort::W))?;
    let r = views.order(given.r, [sets, hidden * hidden]).map_err(computed(CellPort::R))?;
    for root in [w.root, r.root] {
        weight_source(core, root)?;
    }
    let mut layout = cell.layout.clone();
    let of_b = |b: &Option<Source>| b.map(|b| views.parts(b, [sets, hidden])).transpose();
    let of_b: Vec<_> =
        given.b.iter().map(of_b).collect::<Result<_, _>>().map_err(computed(CellPort::B(0)))?;
    let Biases { sums, tensors: b } = biases(&layout, &of_b).map_err(computed(CellPort::B(0)))?;
    layout.biases = sums;
    for (tensor, parts) in b.iter().zip(layout.bias_tensors()) {
        // if the cell reads no last parts of a tensor, the layout counts fewer parts for each set
        // of weights than the tensor has
        if sets > 1 && core.model.len(*tensor) != sets * parts * hidden {
            return Err(computed(CellPort::B(0))(NO_WHOLE_GATES.to_owned()));
        }
    }
    let p = given
        .p
        .map(|p| views.order(p, [sets, hidden]))
        .transpose()
        .map_err(computed(CellPort::P))?;
    if let Some(p) = &p {
        layout.peepholes = layout.peepholes.map(|at| p.order[at]);
    }
    let [of_w, of_r] = match (w.order == r.order, w.root, r.root) {
        (true, ..) => [w.root, r.root],
        (_, Source::Constant(constant), _) => {
            [in_order(core, constant, [&w.order, &r.order], sets), r.root]
        }
        (_, _, Source::Constant(constant)) => {
            [w.root, in_order(core, constant, [&r.order, &w.order], sets)]
        }
        _ => return Err("W and R hold their gates in two orders".to_owned()),
    };
    let order = if matches!(of_w, Source::Parameter(_)) { w.order } else { r.order };
    layout.gates.iter_mut().for_each(|gate| *gate = order[*gate]);
    let weight = |source: Source| weight_source(core, source);
    let b = b.into_iter().map(weight).collect::<Result<_, _>>()?;
    let p = p.map(|p| weight(p.root)).transpose()?;
    Ok(WeightSources { w: weight(of_w)?, r: weight(of_r)?, b, p, set: 0, layout })
}

/// The weights in an input or a constant.
///
/// # Errors
/// An input that other operations read, too.
fn weight_source(core: &CoreBuilder, source: Source) -> Result<WeightSource, String> {
    match source {
        Source::Constant(i) => Ok(WeightSource::Constant(i)),
        Source::Parameter(i) if core.model.parameters[i].weight => Ok(WeightSource::Parameter(i)),
        Source::Parameter(i) => {
            let name = &core.model.parameters[i].names[0];
            Err(format!("the input {name:?} gives weights of cells, and something else reads it"))
        }
        Source::Variable(_) | Source::Value(_) => {
            unreachable!("views end at inputs and constants")
        }
    }
}

/// A constant reordered for a cell: the parts at the positions `from` move to the positions `to`.
fn in_order(
    core: &mut CoreBuilder,
    constant: usize,
    [from, to]: [&[usize]; 2],
    sets: usize,
) -> Source {
    let tensor = core.model.constants[constant].clone();
    let count = tensor.len() / (sets * from.len());
    let mut numbers = vec![0.0; tensor.len()];
    for set in 0..sets {
        for (&at, &target) in from.iter().zip(to) {
            let [at, target] = [at, target].map(|part| (set * from.len() + part) * count);
            (0..count).for_each(|k| numbers[target + k] = tensor.get_f32(at + k));
        }
    }
    let tensor = Tensor::from_f32(tensor.shape().to_vec(), &numbers);
    Source::Constant(core.intern(&tensor.expect("translate: as many elements as before")))
}

/// The biases of a cell.
struct Biases {
    /// By part of B: the terms that are added.
    sums: Vec<Vec<BiasPart>>,
    /// The tensors that contain the terms.
    tensors: Vec<Source>,
}

/// The biases of a cell. `of_b`: the parts of each tensor of B, `None` for a missing tensor.
fn biases(layout: &WeightLayout, of_b: &[Option<SummedParts>]) -> Result<Biases, String> {
    let mut tensors: Vec<Source> = Vec::new();
    let mut sums = Vec::new();
    for terms in &layout.biases {
        let mut sum = Vec::new();
        for term in terms {
            // a missing tensor of B is zero
            let Some(parts) = &of_b[term.tensor] else { continue };
            // a term that is a sum would change the order of additions
            if terms.len() > 1 && parts[term.part].len() > 1 {
                return Err("sums of more than two parts".to_owned());
            }
            for &(source, part) in &parts[term.part] {
                let known = tensors.iter().position(|&known| known == source);
                let tensor = known.unwrap_or_else(|| {
                    tensors.push(source);
                    tensors.len() - 1
                });
                sum.push(BiasPart { tensor, part });
            }
        }
        sums.push(sum);
    }
    Ok(Biases { sums, tensors })
}
