//! Layers that compute one step per call and lose their states at the end of the call.

use std::collections::{HashMap, HashSet};

use super::{Recurrence, Recurrences};
use crate::core::{
    CoreCell, CoreModel, CoreNode, CoreOp, Dense, PointwiseFunction, RecurrentSteps, Source,
    WeightSource,
};
use crate::model::{Activation, Binary, ElementType, MathFunction};
use crate::stream::dependence::{Change, Dependence};

/// The initial value of a state that is lost at the end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialValue {
    /// A value that is equal in every call. `as_it_is`: true for a constant of the model, false for
    /// a value computed from constants and for carried values of loops. A model of an open number
    /// of steps keeps the state only if `as_it_is` is true.
    Constant { as_it_is: bool },
    /// The variable with this index, which does not depend on the outputs of the cell. `None`: a
    /// value computed from variables that do not depend on the outputs of the cell.
    Variables(Option<usize>),
    /// A constant in a cell that consists of separate operations: the recurrent matrix multiplies
    /// the constant.
    InParts,
}

/// The nearest cells in front of a tensor: the tensor depends on the cell, and no other cell lies
/// between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nearest {
    None,
    /// One cell, by its place.
    Cell(usize),
    Several,
}

impl Nearest {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, any) | (any, Self::None) => any,
            (a, b) if a == b => a,
            _ => Self::Several,
        }
    }
}

/// The content of a constant: type, shape, bytes, and the index of the first bit in the first byte.
type ConstantContent<'m> = (ElementType, &'m [usize], &'m [u8], usize);

/// Identities of weights: weights of equal content have equal identities.
pub(crate) struct WeightContents<'m> {
    model: &'m CoreModel,
    /// By content: the first constant found with this content.
    first: HashMap<ConstantContent<'m>, usize>,
}

impl<'m> WeightContents<'m> {
    pub(crate) fn new(model: &'m CoreModel) -> Self {
        Self { model, first: HashMap::new() }
    }

    /// The identity of a weight: for a run-time weight the parameter, for a constant the first
    /// constant of equal content, for zero weights the largest number.
    pub(crate) fn number(&mut self, weight: WeightSource) -> (Option<Source>, usize) {
        match weight {
            WeightSource::Constant(constant) => {
                let tensor = &self.model.constants[constant];
                // elements of four bits may begin in the middle of a byte
                let holds =
                    (tensor.element(), tensor.shape(), tensor.bytes(), tensor.address().1 % 8);
                (None, *self.first.entry(holds).or_insert(constant))
            }
            WeightSource::Parameter(parameter) => (Some(Source::Parameter(parameter)), 0),
            WeightSource::Zero => (None, usize::MAX),
        }
    }
}

impl Recurrences<'_> {
    /// The recurrences that another recurrence of equal weights continues, as in unrolled steps:
    /// the initial state of the other recurrence is computed from the outputs of the cell. By
    /// index.
    pub(crate) fn continued(&self, model: &CoreModel, dependence: &Dependence) -> HashSet<usize> {
        let nearest = self.nearest(model, dependence);
        let begins_at = |recurrence: &Recurrence| {
            let (cell, letter) = recurrence.cell?;
            match if letter == 'h' { Some(cell.h) } else { cell.c } {
                Some(Source::Value(value)) => {
                    Some(nearest[value]).filter(|nearest| *nearest != Nearest::None)
                }
                _ => None,
            }
        };
        if self.all.iter().all(|recurrence| begins_at(recurrence).is_none()) {
            return HashSet::new();
        }
        let mut contents = WeightContents::new(model);
        let mut weights = |recurrence: &Recurrence| {
            let (cell, letter) = recurrence.cell?;
            Some((
                contents.number(cell.weights.w),
                contents.number(cell.weights.r),
                cell.weights.set,
                letter,
            ))
        };
        let weights: Vec<_> = self.all.iter().map(&mut weights).collect();
        let mut of_weights: HashMap<_, Vec<usize>> = HashMap::new();
        let mut of_place: HashMap<(usize, char), usize> = HashMap::new();
        for (index, recurrence) in self.all.iter().enumerate() {
            let Some((_, letter)) = recurrence.cell else { continue };
            of_weights.entry(weights[index]).or_default().push(index);
            of_place.insert((recurrence.layer, letter), index);
        }
        let mut continued = HashSet::new();
        for (index, recurrence) in self.all.iter().enumerate() {
            let (Some(nearest), Some((_, letter))) = (begins_at(recurrence), recurrence.cell)
            else {
                continue;
            };
            match nearest {
                Nearest::Cell(layer) => {
                    let before = of_place.get(&(layer, letter)).copied();
                    continued
                        .extend(before.filter(|&before| {
                            before != index && weights[before] == weights[index]
                        }));
                }
                // with several nearest cells, any recurrence of equal weights may be the continued
                // recurrence, so all count
                _ => continued.extend(of_weights.remove(&weights[index]).unwrap_or_default()),
            }
        }
        continued
    }

    /// By value: the nearest cells in front of the value.
    fn nearest(&self, model: &CoreModel, dependence: &Dependence) -> Vec<Nearest> {
        let mut nearest = vec![Nearest::None; model.values.len()];
        for recurrence in &self.all {
            let Some((cell, _)) = recurrence.cell else { continue };
            for value in [cell.out.y, cell.out.h, cell.out.c].into_iter().flatten() {
                nearest[value] = Nearest::Cell(recurrence.layer);
            }
        }
        for value in 0..nearest.len() {
            if nearest[value] != Nearest::None {
                continue;
            }
            // Operations read values of smaller numbers, whose nearest cells are already known.
            // Only carried values depend on larger numbers, their next values, which do not count.
            let before = dependence.reads(value).iter().filter_map(|source| match *source {
                Source::Value(read) if read < value => Some(nearest[read]),
                _ => None,
            });
            nearest[value] = before.fold(Nearest::None, Nearest::and);
        }
        nearest
    }
}

/// The places of the recurrent operations in loops of several iterations.
pub(crate) fn repeated_cells(model: &CoreModel) -> HashSet<usize> {
    let mut repeated = HashSet::new();
    let bodies = model.all_nodes().into_iter().filter_map(|node| match &node.op {
        CoreOp::Loop(body) if body.trips > 1 => Some(&body.body),
        _ => None,
    });
    let mut open: Vec<&Vec<CoreNode>> = bodies.collect();
    while let Some(nodes) = open.pop() {
        for node in nodes {
            match &node.op {
                CoreOp::Loop(body) if body.trips == 1 => open.push(&body.body),
                op => repeated.extend(op.facts().recurrence().map(RecurrentSteps::place)),
            }
        }
    }
    repeated
}

/// How one operation continues the path from a matrix product to the activation of a gate.
enum GatePath {
    /// The path continues at this value.
    Continues(usize),
    Sigmoid(usize),
    Tanh(usize),
    Ends,
}

/// `is_constant`: true if the operand is constant. An activation of a constant is no gate.
fn gate_path(reader: &CoreOp, is_constant: bool) -> GatePath {
    use Binary::{Add, Multiply, Subtract};
    let pointwise = match reader {
        CoreOp::View(view) => return GatePath::Continues(view.out),
        CoreOp::Pointwise(pointwise) => pointwise,
        _ => return GatePath::Ends,
    };
    match pointwise.function {
        PointwiseFunction::Math(_) if is_constant => GatePath::Ends,
        PointwiseFunction::Math(MathFunction::Activation(Activation::Sigmoid)) => {
            GatePath::Sigmoid(pointwise.out)
        }
        PointwiseFunction::Math(MathFunction::Activation(Activation::Tanh)) => {
            GatePath::Tanh(pointwise.out)
        }
        PointwiseFunction::Binary(Add | Subtract | Multiply) => GatePath::Continues(pointwise.out),
        _ => GatePath::Ends,
    }
}

/// The search for recurrent cells that consist of separate operations.
struct PartsSearch<'m> {
    model: &'m CoreModel,
    dependence: &'m Dependence<'m>,
    /// By value: the operations that read the value.
    readers: Vec<Vec<&'m CoreOp>>,
}

/// The dense layers outside of loops.
fn products(model: &CoreModel) -> impl Iterator<Item = &Dense> {
    model
        .nodes
        .iter()
        .filter_map(|node| if let CoreOp::Dense(dense) = &node.op { Some(dense) } else { None })
}

impl<'m> PartsSearch<'m> {
    fn new(model: &'m CoreModel, dependence: &'m Dependence<'m>) -> Self {
        let mut readers: Vec<Vec<&CoreOp>> = vec![Vec::new(); model.values.len()];
        for node in &model.nodes {
            for source in node.op.reads() {
                if let Source::Value(value) = source {
                    readers[value].push(&node.op);
                }
            }
        }
        Self { model, dependence, readers }
    }

    fn is_constant(&self, source: Source) -> bool {
        self.dependence.change(source) <= Change::Never
    }

    /// The results of the Sigmoids and of the Tanhs that a product reaches through views, sums and
    /// element-wise products.
    fn gates_of(&self, product: usize) -> [Vec<usize>; 2] {
        let [mut sigmoids, mut tanhs] = [Vec::new(), Vec::new()];
        let (mut open, mut seen) = (vec![product], HashSet::from([product]));
        while let Some(value) = open.pop() {
            for reader in &self.readers[value] {
                match gate_path(reader, self.is_constant(Source::Value(value))) {
                    GatePath::Continues(next) if seen.insert(next) => open.push(next),
                    GatePath::Sigmoid(out) => sigmoids.push(out),
                    GatePath::Tanh(out) => tanhs.push(out),
                    GatePath::Continues(_) | GatePath::Ends => {}
                }
            }
        }
        [sigmoids, tanhs]
    }

    /// True if two tensors are one tensor, both zero, or constants of equal bytes.
    fn is_same(&self, a: Source, b: Source) -> bool {
        let zero = |source| self.dependence.change(source) == Change::Zero;
        let bytes = |source: Source| match source {
            Source::Constant(constant) => Some(self.model.constants[constant].bytes()),
            Source::Value(_) | Source::Parameter(_) | Source::Variable(_) => None,
        };
        a == b || zero(a) && zero(b) || bytes(a).is_some() && bytes(a) == bytes(b)
    }

    /// True if an operation multiplies or subtracts the constant state of a cell element by
    /// element.
    fn blends(&self, op: &CoreOp, (state, form): (&Dense, CellForm)) -> bool {
        use Binary::{Multiply, Subtract};
        let CoreOp::Pointwise(pointwise) = op else { return false };
        let size = state.rows * state.inputs;
        let is_state = |&source: &Source| {
            self.model.len(source) == size
                && self.model.len(Source::Value(pointwise.out)) == size
                && self.is_constant(source)
                && (form == CellForm::Lstm || self.is_same(source, state.x))
        };
        matches!(pointwise.function, PointwiseFunction::Binary(Multiply | Subtract))
            && pointwise.inputs.iter().any(is_state)
    }

    /// True if [`Self::blends`] holds for an operation that reads a gate or a view of the gate.
    fn meets_state(&self, gate: usize, cell: (&Dense, CellForm)) -> bool {
        let parts = self.readers[gate]
            .iter()
            .filter_map(|op| if let CoreOp::View(view) = op { Some(view.out) } else { None });
        let mut all = std::iter::once(gate).chain(parts);
        all.any(|value| self.readers[value].iter().any(|op| self.blends(op, cell)))
    }

    /// True if a product of a constant state belongs to a cell.
    fn is_of_cell(&self, product: &Dense, form: CellForm) -> bool {
        let [sigmoids, tanhs] = self.gates_of(product.out);
        if sigmoids.is_empty() || tanhs.is_empty() {
            return false;
        }
        let meets = |gates: &[usize]| gates.iter().any(|&g| self.meets_state(g, (product, form)));
        match form {
            CellForm::Lstm => meets(&sigmoids),
            CellForm::Gru => meets(&sigmoids) || meets(&tanhs),
        }
    }
}

/// The cell of a recurrent matrix, by the number of gates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellForm {
    /// `[H, 3 H]`. The constant state is h.
    Gru,
    /// `[H, 4 H]`. The constant state may be c instead of h.
    Lstm,
}

impl CellForm {
    fn new(product: &Dense) -> Option<Self> {
        match product.outputs {
            _ if product.inputs < 2 => None,
            outputs if outputs == 3 * product.inputs => Some(Self::Gru),
            outputs if outputs == 4 * product.inputs => Some(Self::Lstm),
            _ => None,
        }
    }
}

/// Finds cells that consist of separate operations and start from a constant state, as in PyTorch's
/// exports of `GRUCell` and `LSTMCell`. Returns the products of the initial state with the
/// recurrent matrix, `[H, 3 H]` or `[H, 4 H]`.
///
/// A product must reach a Sigmoid and a Tanh, after operations with tensors that are not constant.
/// An element-wise product or difference of one of the activations (for an LSTM: a Sigmoid) must
/// then read a constant state. Each sign alone also occurs in other models.
pub(crate) fn cells_in_parts(
    model: &CoreModel,
    dependence: &Dependence,
    needed: &[bool],
) -> Vec<usize> {
    let is_constant = |source: Source| dependence.change(source) <= Change::Never;
    let starts = |dense: &&Dense| needed[dense.out] && is_constant(dense.x);
    let candidates: Vec<_> = products(model)
        .filter(starts)
        .filter_map(|dense| Some((dense, CellForm::new(dense)?)))
        .collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut contents = WeightContents::new(model);
    // weights that also multiply a computed state are unrolled steps, which keep the state
    let goes_on: HashSet<_> = products(model)
        .filter(|dense| !is_constant(dense.x))
        .map(|dense| contents.number(dense.w))
        .collect();
    let search = PartsSearch::new(model, dependence);
    let is_cell = |&(dense, form): &(&Dense, CellForm)| {
        !goes_on.contains(&contents.number(dense.w)) && search.is_of_cell(dense, form)
    };
    candidates.into_iter().filter(is_cell).map(|(dense, _)| dense.out).collect()
}

/// The initial value of a state that is lost at the end of a call. `None` if every element comes
/// from inputs, or from variables that depend on the cell's outputs, or if the search for the
/// origins stopped.
pub(crate) fn lost(
    recurrence: &Recurrence,
    cell: &CoreCell,
    initial: Source,
    dependence: &Dependence,
) -> Option<InitialValue> {
    let mut sources: Vec<Source> =
        recurrence.initial.iter().flatten().map(|&(source, _)| source).collect();
    sources.dedup();
    let mut lost = None;
    for source in sources {
        match dependence.change(source) {
            Change::Inputs => {}
            Change::Zero | Change::Never => {
                return Some(InitialValue::Constant {
                    as_it_is: matches!(initial, Source::Constant(_)),
                });
            }
            Change::Variables => {
                let mut last = [cell.out.y, cell.out.h, cell.out.c].into_iter().flatten();
                if !last.any(|value| dependence.mutual(source, Source::Value(value))) {
                    lost = Some(InitialValue::Variables(match source {
                        Source::Variable(variable) => Some(variable),
                        _ => None,
                    }));
                }
            }
        }
    }
    lost
}
