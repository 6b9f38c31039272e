//! Flushing of denormals (magnitudes below 2^-100) to 0: on inputs, kept states and outputs of
//! a step.
//!
//! The flushed values depend on the model alone, so plans cannot change results. Four rules hold:
//!
//! * The operations that read a float Parameter flush its elements, except weights of cells. One
//!   exception: a small state in the struct is flushed before any kernel runs, if an operation
//!   would otherwise copy the state to flush it, or reads its elements several times. Operations
//!   that copy elements or compute element by element flush without an extra pass over memory.
//! * The operation that computes a value for a variable, for a carried value of a loop or for a
//!   Result flushes the value. If the operation only moves elements, the operations that compute
//!   its operands flush. All readers see the flushed value.
//! * A cell flushes its new states in every step, a linear attention its new state and y. A running
//!   sum flushes each sum.
//! * Weights and constants stay unchanged.

use std::collections::{BTreeMap, BTreeSet};

use super::{CoreLoop, CoreModel, CoreNode, CoreOp, Source, Treatment};

/// The knowledge about denormals in a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorDenormals {
    /// Elements of an input or a state, unchanged: the reading operation flushes the elements.
    Given,
    /// The tensor may hold denormals, and operations compute with denormals.
    Kept,
    /// No operation has to flush the tensor: the tensor holds no denormals or only weights of
    /// cells, or the option to keep denormals is set.
    Flushed,
}

/// The knowledge about denormals in the tensors of a model, and the operations that flush.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Denormals {
    /// `None` if the option to keep denormals is set.
    known: Option<FlushedTensors>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FlushedTensors {
    parameters: Vec<TensorDenormals>,
    /// Parameters flushed before any kernel runs.
    before: BTreeSet<usize>,
    constants: Vec<TensorDenormals>,
    /// By computed value.
    values: BTreeMap<usize, TensorDenormals>,
    /// Computed values that their operation flushes.
    at: BTreeSet<usize>,
}

impl Denormals {
    /// The flushed tensors of `model`, for magnitudes below `limit`. `None`: nothing is flushed.
    ///
    /// States of at most `most_before` elements are flushed before any kernel runs, if an operation
    /// would otherwise copy the state to flush it, or reads its elements several times.
    pub fn new(model: &CoreModel, limit: Option<f32>, most_before: usize) -> Self {
        let Some(limit) = limit else { return Self::default() };
        let read =
            |i: &usize| model.parameters[*i].element.is_float() && !model.parameters[*i].weight;
        let states = model.states.iter().map(|state| state.parameter).filter(read);
        let copied = copied(model);
        let is_before =
            |i: &usize| copied.contains(i) && model.len(Source::Parameter(*i)) <= most_before;
        let before: BTreeSet<_> = states.filter(is_before).collect();
        let parameter = |i: usize| match read(&i) && !before.contains(&i) {
            true => TensorDenormals::Given,
            false => TensorDenormals::Flushed,
        };
        let constant = |tensor: &crate::model::Tensor| {
            let is_small = |v: f32| v != 0.0 && v.abs() < limit;
            match tensor.element().is_float()
                && (0..tensor.len()).any(|i| is_small(tensor.get_f32(i)))
            {
                true => TensorDenormals::Kept,
                false => TensorDenormals::Flushed,
            }
        };
        let mut known = FlushedTensors {
            parameters: (0..model.parameters.len()).map(parameter).collect(),
            before,
            constants: model.constants.iter().map(constant).collect(),
            ..FlushedTensors::default()
        };
        let results = model.results.iter().map(|result| result.source);
        let mut wanted: BTreeSet<usize> = results
            .chain(model.variables.iter().filter_map(|v| v.next))
            .filter_map(value)
            .collect();
        known.places(&model.nodes, &mut wanted);
        known.level(&model.nodes);
        Self { known: Some(known) }
    }

    /// The knowledge about denormals in a tensor.
    pub fn tensor(&self, source: Source) -> TensorDenormals {
        self.known.as_ref().map_or(TensorDenormals::Flushed, |known| known.tensor(source))
    }

    /// The parameters flushed before any kernel runs.
    pub fn before(&self) -> impl Iterator<Item = usize> {
        self.known.iter().flat_map(|known| known.before.iter().copied())
    }

    /// True if a tensor is flushed on load or before any kernel runs.
    pub fn is_input(&self, source: Source) -> bool {
        self.tensor(source) == TensorDenormals::Given
            || self.before().any(|i| source == Source::Parameter(i))
    }

    /// True if the operation with this output flushes the output.
    pub fn is_flushed_at(&self, value: usize) -> bool {
        self.known.as_ref().is_some_and(|known| known.at.contains(&value))
    }
}

impl FlushedTensors {
    /// Finds the operations that must flush the `wanted` values. An operation that moves elements
    /// does not flush: the operations that compute its operands flush instead.
    fn places(&mut self, nodes: &[CoreNode], wanted: &mut BTreeSet<usize>) {
        for node in nodes.iter().rev() {
            if let CoreOp::Loop(body) = &node.op {
                self.places_in_loop(body, wanted);
                continue;
            }
            match node.op.facts().denormals {
                Treatment::EveryStep => {}
                Treatment::Moves | Treatment::Copies => {
                    if wanted.contains(&node.op.first_value()) {
                        wanted.extend(node.op.reads().into_iter().filter_map(value));
                    }
                }
                Treatment::EachSum => _ = self.at.insert(node.op.first_value()),
                Treatment::Computes | Treatment::Streams => {
                    self.at.extend(node.op.outputs().into_iter().filter(|out| wanted.contains(out)))
                }
            }
        }
    }

    /// [`Self::places`] for a loop: the next carried values and the values of wanted results must
    /// be flushed in the body, and the tensors of wanted slices before the loop. Initial carried
    /// values are flushed when the loop copies them.
    fn places_in_loop(&mut self, body: &CoreLoop, wanted: &mut BTreeSet<usize>) {
        let results = body.results.iter().filter(|r| wanted.contains(&r.out)).map(|r| r.value);
        let taken: Vec<_> =
            results.chain(body.carried.iter().map(|c| c.next)).filter_map(value).collect();
        wanted.extend(taken);
        self.places(&body.body, wanted);
        let slices = body.slices.iter().filter(|slice| wanted.contains(&slice.piece));
        let taken: Vec<_> = slices.map(|slice| slice.whole).filter_map(value).collect();
        wanted.extend(taken);
    }

    /// Finds which computed values may hold denormals.
    fn level(&mut self, nodes: &[CoreNode]) {
        for node in nodes {
            if let CoreOp::Loop(body) = &node.op {
                self.level_of_loop(body);
                continue;
            }
            let small = |this: &Self, out: &usize| match node.op.facts().denormals {
                Treatment::Moves => this.tensor(node.op.reads()[0]),
                Treatment::Copies => {
                    copied_level(node.op.reads().into_iter().map(|input| this.tensor(input)))
                }
                Treatment::EveryStep => TensorDenormals::Flushed,
                Treatment::EachSum | Treatment::Computes | Treatment::Streams => {
                    if this.at.contains(out) {
                        TensorDenormals::Flushed
                    } else {
                        TensorDenormals::Kept
                    }
                }
            };
            for out in node.op.outputs() {
                let small = small(self, &out);
                self.values.insert(out, small);
            }
        }
    }

    fn level_of_loop(&mut self, body: &CoreLoop) {
        for slice in &body.slices {
            self.values.insert(slice.piece, self.tensor(slice.whole));
        }
        self.values.extend(body.carried.iter().map(|c| (c.value, TensorDenormals::Flushed)));
        self.level(&body.body);
        for result in &body.results {
            let copied = copied_level([self.tensor(result.value)]);
            self.values.insert(result.out, copied);
        }
    }

    fn tensor(&self, source: Source) -> TensorDenormals {
        match source {
            Source::Parameter(i) => self.parameters[i],
            // the previous step flushed the variable, but the caller may have set the variable
            // since
            Source::Variable(_) => TensorDenormals::Kept,
            Source::Constant(i) => self.constants[i],
            Source::Value(value) => self.values[&value],
        }
    }
}

/// The knowledge about denormals in a copy of several tensors. The copy flushes inputs and states.
fn copied_level(inputs: impl IntoIterator<Item = TensorDenormals>) -> TensorDenormals {
    let kept = inputs.into_iter().any(|input| input == TensorDenormals::Kept);
    if kept { TensorDenormals::Kept } else { TensorDenormals::Flushed }
}

/// The parameters that an operation would copy in order to flush them, or whose elements an
/// operation reads several times: flushing before the operation saves work. Integer parameters are
/// not left out.
fn copied(model: &CoreModel) -> BTreeSet<usize> {
    // by value of a view: the parameter whose elements the view shows
    let mut shown = BTreeMap::new();
    let mut copied = BTreeSet::new();
    for node in model.all_nodes() {
        let parameter = |source: Source| match source {
            Source::Parameter(i) => Some(i),
            Source::Value(value) => shown.get(&value).copied(),
            _ => None,
        };
        let read = node.op.reads().into_iter();
        match node.op.facts().denormals {
            Treatment::Moves => {
                let (input, out) = (node.op.reads()[0], node.op.first_value());
                let seen = parameter(input);
                match model.len(Source::Value(out)) <= model.len(input) {
                    true => shown.extend(seen.map(|i| (out, i))),
                    false => copied.extend(seen),
                }
            }
            Treatment::Copies => {}
            Treatment::Streams => {
                let len = model.len(Source::Value(node.op.first_value()));
                copied
                    .extend(read.filter(|source| model.len(*source) != len).filter_map(parameter));
            }
            Treatment::EveryStep | Treatment::EachSum | Treatment::Computes => {
                copied.extend(read.filter_map(parameter))
            }
        }
    }
    copied
}

fn value(source: Source) -> Option<usize> {
    match source {
        Source::Value(value) => Some(value),
        _ => None,
    }
}
