//! The construction of a core model, operation by operation. The builder adds values, constants and
//! operations, and computes views of constants at once; the rules of [`crate::translate`] compute
//! other operations on constants with [`fold`]. The builder knows neither nodes of models nor
//! diagnostics: the rules of [`crate::translate`] say what to build, and word a refusal.

use std::collections::{BTreeMap, BTreeSet};

use super::build_error::{BuildError, Built};
use super::folded::Folded;
use super::{
    CoreModel, CoreNode, CoreOp, CoreValue, ElementsBefore, Front, Geometry, History, Known,
    LayerPlace, Lookback, ShortOf, Source, ValueFacts, View, element_count, fold,
};
use crate::model::limits::{MOST_DIMS, MOST_ELEMENTS, MOST_FOLDED_ALONE, MOST_OPERATIONS};
use crate::model::{ElementType, LedgerEntry, Tensor};

/// The layer of the model to which the next operations belong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    /// The name in the model.
    pub(crate) name: String,
    /// The operator's name in the model's format.
    pub(crate) kind: String,
    /// The attributes with their meanings.
    pub(crate) ledger: Vec<LedgerEntry>,
    /// The place of the node in the model.
    pub(crate) path: LayerPlace,
    /// False inside the body of a loop or a branch.
    pub(crate) is_outermost: bool,
    /// The number of elements of the layer's constant operands.
    pub(crate) most_given: usize,
    /// True if the layer reads run-time integers, and every use of its first output ends in a
    /// conversion to floating point after moves, additions and subtractions alone.
    pub(crate) becomes_float: bool,
    /// True if the layer's matrices are stored in fewer bits than f32.
    pub(crate) is_quantised: bool,
}

/// The identity of a constant: bytes, element type, shape.
type ConstantKey = (*const u8, usize, ElementType, Vec<usize>);

/// The indices of constants in [`CoreModel::constants`].
#[derive(Default)]
struct Interned {
    /// By identity.
    places: BTreeMap<ConstantKey, usize>,
    /// Constants of one element that the builder has created, by the bits of the element.
    scalars: BTreeMap<u32, Tensor>,
}

/// A state of a builder.
pub(crate) struct Checkpoint {
    /// The number of values.
    pub(crate) values: usize,
    constants: usize,
    nodes: usize,
    in_f32: usize,
    powers: BTreeSet<LayerPlace>,
    lookbacks: usize,
    short_of: Option<ShortOf>,
    /// By parameter: its length and its rows.
    limits_of_parameters: Vec<(Option<usize>, Option<usize>)>,
}

/// A core model under construction.
pub(crate) struct CoreBuilder {
    /// The model so far, without the operations of the current graph.
    pub(crate) model: CoreModel,
    /// The operations of the current graph: the model, or the body of a loop or a branch.
    pub(crate) nodes: Vec<CoreNode>,
    pub(crate) layer: Layer,
    pub(crate) facts: ValueFacts,
    pub(crate) folded: Folded,
    interned: Interned,
    /// The number of operations, bodies and failed attempts included.
    operations: usize,
    /// Upper limit for elements of a computed value.
    most_elements: usize,
    /// True for the model of one step of an open number of steps. Its products must have the bits
    /// that a model of all steps computes.
    pub(crate) is_one_step: bool,
    /// The elements that operations read in front of their axes.
    pub(crate) history: History,
    /// The values of layers since the last call of [`Self::take_layer_values`].
    layer_values: Vec<usize>,
}

impl CoreBuilder {
    /// A builder that appends to a model without operations. `most_elements`: the upper limit for
    /// elements of a computed value. `is_one_step`: [`Self::is_one_step`].
    pub(crate) fn new(model: CoreModel, most_elements: usize, is_one_step: bool) -> Self {
        Self {
            model,
            nodes: Vec::new(),
            layer: Layer::default(),
            facts: ValueFacts::default(),
            folded: Folded::default(),
            interned: Interned::default(),
            operations: 0,
            most_elements,
            is_one_step,
            history: History::default(),
            layer_values: Vec::new(),
        }
    }

    /// The model with the operations of its graph.
    pub(crate) fn finish(mut self) -> CoreModel {
        self.model.nodes = self.nodes;
        self.model
    }

    /// The state of the builder, for [`Self::roll_back`].
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let parameters = &self.model.parameters;
        Checkpoint {
            values: self.model.values.len(),
            constants: self.model.constants.len(),
            nodes: self.nodes.len(),
            in_f32: self.model.in_f32.len(),
            powers: self.model.powers.clone(),
            lookbacks: self.history.lookbacks.len(),
            short_of: self.history.short_of,
            limits_of_parameters: parameters.iter().map(|p| (p.length, p.rows)).collect(),
        }
    }

    /// Forgets the values, constants, operations and notes since a checkpoint. The work spent on
    /// constants and the number of operations still count for the limits.
    pub(crate) fn roll_back(&mut self, to: Checkpoint) {
        self.model.values.truncate(to.values);
        self.facts.truncate(to.values);
        self.model.constants.truncate(to.constants);
        self.interned.places.retain(|_, &mut start| start < to.constants);
        self.nodes.truncate(to.nodes);
        self.layer_values.clear();
        self.history.lookbacks.truncate(to.lookbacks);
        self.history.short_of = to.short_of;
        self.model.in_f32.truncate(to.in_f32);
        self.model.powers = to.powers;
        for (parameter, limits) in self.model.parameters.iter_mut().zip(to.limits_of_parameters) {
            (parameter.length, parameter.rows) = limits;
        }
    }

    /// Adds a value that an operation computes.
    pub(crate) fn value(&mut self, shape: Vec<usize>) -> usize {
        self.model.values.push(CoreValue { shape });
        self.model.values.len() - 1
    }

    /// The values of the operations since the last call that checks of states name by their layers:
    /// [`CoreOp::layer_values`].
    pub(crate) fn take_layer_values(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.layer_values)
    }

    /// Notes the elements that the current layer reads in front of the axes of a computed tensor.
    /// Only the first note of a layer counts, and no note of a layer in a body.
    pub(crate) fn note_lookback(&mut self, x: &Known, before: ElementsBefore, fronts: Vec<Front>) {
        let node = self.layer.path.outer;
        let is_known = self.history.lookbacks.iter().any(|other| other.node == node);
        let is_computed = x.tensor().is_none_or(Tensor::is_empty);
        if self.layer.is_outermost && is_computed && !fronts.is_empty() && !is_known {
            self.history.lookbacks.push(Lookback { node, before, fronts });
        }
    }

    /// Notes that an axis of the current layer is shorter than its windows. Only the first such
    /// layer outside of bodies counts.
    pub(crate) fn note_short(&mut self, short: ShortOf) {
        if self.layer.is_outermost {
            self.history.short_of.get_or_insert(short);
        }
    }

    /// Adds an operation of the current layer.
    pub(crate) fn emit(&mut self, op: CoreOp) {
        self.emit_noted(op, self.layer.ledger.clone());
    }

    /// Adds an operation of the current layer, with interpretations of attributes of its own.
    pub(crate) fn emit_noted(&mut self, op: CoreOp, ledger: Vec<LedgerEntry>) {
        let Layer { name, kind, path, .. } = &self.layer;
        let kind = match &op {
            CoreOp::Cell(cell) if cell.sequence.is_some() => cell.kind.sequence_name(),
            CoreOp::Cell(cell) => cell.kind.op_name(),
            _ => kind,
        };
        self.operations += 1;
        self.layer_values.extend(op.layer_values());
        let (name, kind) = (name.clone(), kind.to_owned());
        self.nodes.push(CoreNode { name, kind, op, ledger, layer: *path });
    }

    /// Builds a body: the result of `add`, and the operations that `add` emits, which the current
    /// graph does not get.
    pub(crate) fn body<T>(&mut self, add: impl FnOnce(&mut Self) -> T) -> (T, Vec<CoreNode>) {
        let outside = self.swap_nodes(Vec::new());
        let result = add(self);
        (result, self.swap_nodes(outside))
    }

    /// Replaces the list of operations, and returns the previous list.
    pub(crate) fn swap_nodes(&mut self, nodes: Vec<CoreNode>) -> Vec<CoreNode> {
        std::mem::replace(&mut self.nodes, nodes)
    }

    /// The index of a constant in [`CoreModel::constants`]. A new constant is added.
    pub(crate) fn intern(&mut self, tensor: &Tensor) -> usize {
        let constants = &mut self.model.constants;
        let (bytes, start) = tensor.address();
        *self
            .interned
            .places
            .entry((bytes, start, tensor.element(), tensor.shape().to_vec()))
            .or_insert_with(|| {
                constants.push(tensor.clone());
                constants.len() - 1
            })
    }

    /// A constant of one element.
    pub(crate) fn scalar(&mut self, value: f32) -> Source {
        let tensor = self.interned.scalars.entry(value.to_bits()).or_insert_with(|| {
            Tensor::from_f32(Vec::new(), &[value]).expect("core: a scalar has one element")
        });
        let tensor = tensor.clone();
        Source::Constant(self.intern(&tensor))
    }

    /// The source of a tensor. Adds a constant to the model's constants.
    pub(crate) fn source(&mut self, known: &Known) -> Built<Source> {
        match known {
            Known::Source(source, _) => Ok(*source),
            Known::Constant(tensor, _) => Ok(Source::Constant(self.intern(tensor))),
            Known::Iteration(..) => Err(BuildError::Iteration),
        }
    }

    /// The shape of a tensor.
    pub(crate) fn shape_of(&self, known: &Known) -> Vec<usize> {
        match known {
            Known::Constant(tensor, _) => tensor.shape().to_vec(),
            Known::Source(source, _) => self.model.shape(*source).to_vec(),
            Known::Iteration(shape, _) => shape.clone(),
        }
    }

    /// Refuses the shape of a computed value: a shape without elements, above the limits of rank
    /// and elements, or after more operations than the limit.
    pub(crate) fn computable(&self, shape: &[usize]) -> Built<()> {
        self.computable_up_to(shape, self.most_elements)
    }

    /// As [`Self::computable`], with `most` as the limit of elements.
    fn computable_up_to(&self, shape: &[usize], most: usize) -> Built<()> {
        if self.operations >= MOST_OPERATIONS {
            return Err(BuildError::Operations);
        }
        if shape.contains(&0) {
            return Err(BuildError::NoElements(shape.to_vec()));
        }
        if shape.len() > MOST_DIMS {
            return Err(BuildError::Dims(shape.len()));
        }
        if element_count(shape).is_none_or(|n| n > most) {
            return Err(BuildError::Elements { shape: shape.to_vec(), most });
        }
        Ok(())
    }

    /// The upper limit for elements of an operation on constants: the number of elements of the
    /// layer's constant operands, from [`MOST_FOLDED_ALONE`] to [`MOST_ELEMENTS`].
    fn most_folded(&self) -> usize {
        self.layer.most_given.clamp(MOST_FOLDED_ALONE, MOST_ELEMENTS)
    }

    /// Refuses a shape as [`Self::computable`] does, with the limit of elements for operations on
    /// constants. Counts nothing.
    pub(crate) fn fits_constant(&self, shape: &[usize]) -> Built<()> {
        self.computable_up_to(shape, self.most_folded())
    }

    /// Counts the result of an operation on constants. Refuses a shape above the limits, and floats
    /// without elements; integers may have no elements.
    pub(crate) fn foldable(&mut self, shape: &[usize], element: ElementType) -> Built<()> {
        let none = !element.is_float() && shape.contains(&0);
        let sizes: Vec<usize> =
            shape.iter().map(|&size| if none { size.max(1) } else { size }).collect();
        self.fits_constant(&sizes)?;
        self.folds(shape.iter().product(), element)
    }

    /// Counts the elements of a result of an operation on constants. Refuses more than the limits.
    pub(crate) fn folds(&mut self, count: usize, element: ElementType) -> Built<()> {
        self.folded.result(count, element)
    }

    /// Counts the work of an operation on constants. Refuses more than the limit.
    pub(crate) fn folding(&mut self, elements: usize) -> Built<()> {
        self.folded.work(elements)
    }

    /// Refuses an operation with several passes over constants before the first pass. Each pass
    /// counts again, by [`Self::folding`].
    pub(crate) fn affords(&self, elements: usize) -> Built<()> {
        self.folded.affords(elements)
    }

    /// A tensor without elements: `shape` has a size of 0.
    pub(crate) fn empty(&self, element: ElementType, shape: Vec<usize>) -> Built<Known> {
        let sizes: Vec<usize> = shape.iter().map(|&size| size.max(1)).collect();
        self.computable_up_to(&sizes, MOST_ELEMENTS)?;
        let tensor = match element.is_float() {
            true => Tensor::from_f32(shape, &[]),
            false => Tensor::from_i64(shape, &[]),
        };
        Ok(Known::Constant(tensor.expect("core: a size is 0"), element))
    }

    /// A tensor whose elements are elements of another tensor.
    pub(crate) fn view(&mut self, input: &Known, geometry: Geometry) -> Built<Known> {
        let same = self.shape_of(input) == geometry.shape
            && geometry.offset == 0
            && geometry.is_contiguous();
        match input {
            _ if same => Ok(input.clone()),
            Known::Constant(..) | Known::Source(..) if geometry.shape.contains(&0) => {
                self.empty(input.element(), geometry.shape)
            }
            Known::Constant(tensor, element) => {
                Ok(Known::Constant(self.view_constant(tensor, &geometry)?, *element))
            }
            Known::Source(source, element) => {
                self.computable(&geometry.shape)?;
                let in_order = geometry.offset == 0 && geometry.is_contiguous();
                let Geometry { offset, strides, shape } = geometry;
                let out = self.value(shape);
                self.emit(CoreOp::View(View { input: *source, offset, strides, out }));
                let view = Known::Source(Source::Value(out), *element);
                self.facts.set_range(&view, self.facts.range_of(input));
                if let Source::Value(value) = source
                    && let Some(&(parameter, has_all_elements)) = self.facts.parameter_of.get(value)
                {
                    let equal_len = self.model.len(*source) == self.model.len(Source::Value(out));
                    self.facts
                        .parameter_of
                        .insert(out, (parameter, has_all_elements && in_order && equal_len));
                }
                Ok(view)
            }
            Known::Iteration(..) => Err(BuildError::Iteration),
        }
    }

    fn view_constant(&mut self, tensor: &Tensor, geometry: &Geometry) -> Built<Tensor> {
        if geometry.is_contiguous() {
            if tensor.element().is_float() {
                self.fits_constant(&geometry.shape)?;
            }
            let part = tensor.part(geometry.offset, geometry.shape.clone());
            return Ok(part.expect("core: a view stays inside of its tensor"));
        }
        self.foldable(&geometry.shape, tensor.element())?;
        Ok(fold::strided(tensor, geometry))
    }
}
