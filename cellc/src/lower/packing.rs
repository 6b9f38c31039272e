//! Packing: copies of weights from the model's order to the order of kernels.

use std::collections::btree_map::Entry;

use super::memory::{PackedWeights, ProgramMemory, Recipe};
use crate::core::{Convolve, CoreModel, Pairs, PlannedProduct, WeightSources};
use crate::encoding::WeightFormat;
use crate::kernel::{Base, BufferId, Copied, CopiedDim, Encoding, Place, Role, Stmt};
use crate::model::BiasPart;
use crate::plan::{self, Blocks, Panels, Phase, Plan, PresentBlocks, Product, ProductPlan, Sum};

/// The encoding of the scales of rows. `None` for formats without scales.
fn scales(format: WeightFormat) -> Option<Encoding> {
    match format {
        WeightFormat::Int8 | WeightFormat::Int8Pair | WeightFormat::Int8Quad => {
            Some(Encoding::Int8Scale)
        }
        WeightFormat::Int16 => Some(Encoding::Int16Scale),
        WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Bf16Pair => None,
    }
}

/// `rows`, a copy of the `nth` of `sums` sums in panels of `columns` columns, without blocks of
/// zeros.
fn blocks_of(
    rows: Copied,
    present: &PresentBlocks,
    (nth, sums, columns): (usize, usize, usize),
) -> Copied {
    let to = Place { offset: present.first, ..rows.to };
    Copied {
        to,
        blocks: Some(present.places(nth, sums, columns)),
        interleaves_halves: false,
        ..rows
    }
}

/// A dimension of a copy.
fn dim(extent: usize, from_stride: usize, to_stride: usize) -> CopiedDim {
    CopiedDim { extent, from_stride: from_stride.cast_signed(), to_stride }
}

/// The weights of a product in the model's order.
struct Tensors<'m> {
    /// W, R and P. `None`: all weights are zero, or the product has no such matrix.
    w: Option<BufferId>,
    r: Option<BufferId>,
    p: Option<BufferId>,
    /// The tensors of B. `None`: all elements are zero.
    b: Vec<Option<BufferId>>,
    /// The index of the set of W, R, B and P.
    set: usize,
    /// The position of each gate in W and R.
    gates: &'m [usize],
    /// The terms of each part of B, and the parts of each tensor of B.
    biases: &'m [Vec<BiasPart>],
    parts: Vec<usize>,
    /// The positions of the peepholes in P.
    peepholes: [usize; 3],
    /// The strides of W between units, and between elements of the operand. `None`: W, R and P
    /// have a contiguous row for each unit.
    strides: Option<[usize; 2]>,
}

impl Tensors<'_> {
    /// The strides of a matrix between units, and between elements of the operand. `inner`: the
    /// length of the operand.
    fn strides(&self, inner: usize) -> [usize; 2] {
        self.strides.unwrap_or([inner, 1])
    }
}

/// The weights of a product and the buffers of their copies.
struct Packing<'a> {
    tensors: Tensors<'a>,
    product: &'a Product,
    weights: PackedWeights,
}

impl Packing<'_> {
    /// The buffer of biases, peepholes, scales and zero-point corrections.
    fn biases(&self) -> Place {
        Place::from(self.weights.biases.unwrap_or(self.weights.rows))
    }

    /// A copy of one element for each unit of the panels, into a row of biases.
    fn row(&self, from: Place, panels: &Panels, blocks: Blocks, row: usize) -> Copied {
        let Panels { count, columns, units, .. } = *panels;
        let to = self.biases().at(blocks.offset + row * columns);
        Copied::new(from, to, vec![dim(count, columns, blocks.stride), dim(units, 1, 1)])
    }
}

/// The numbers of buffers and of packing copies at one moment of lowering.
struct Mark {
    buffers: usize,
    copies: usize,
}

impl ProgramMemory {
    /// Packs the weights of a product into the order of [`crate::plan::Panels`].
    pub(super) fn pack(
        &mut self,
        model: &CoreModel,
        (operation, value): (PlannedProduct<'_>, usize),
        plan: &ProductPlan,
    ) -> PackedWeights {
        let tensors = self.tensors(model, operation);
        let index = Some(plan.index()).filter(|index| !index.is_empty());
        let index = index.map(|index| self.add_index(index));
        let before = self.mark();
        let weights = PackedWeights { index, ..self.weights_of(value, plan) };
        let packing = Packing { tensors, product: &plan.product, weights };
        for panels in &plan.panels {
            for (at, sum) in plan.product.sums.iter().enumerate() {
                self.pack_bias(&packing, panels, (at, sum));
                self.pack_peephole(&packing, panels, (at, sum));
            }
            for phase in Phase::ALL {
                self.pack_phase(&packing, panels, phase);
            }
        }
        self.packed_once(before, weights)
    }

    fn tensors<'m>(&mut self, model: &CoreModel, operation: PlannedProduct<'m>) -> Tensors<'m> {
        match operation {
            PlannedProduct::Cell(cell) => {
                let WeightSources { w, r, b, p, set, layout } = &cell.weights;
                let p = p.and_then(|p| self.weight(model, p));
                Tensors {
                    w: self.weight(model, *w),
                    r: self.weight(model, *r),
                    b: b.iter().map(|b| self.weight(model, *b)).collect(),
                    p,
                    set: *set,
                    gates: &layout.gates,
                    biases: &layout.biases,
                    parts: layout.bias_tensors(),
                    peepholes: layout.peepholes,
                    strides: None,
                }
            }
            PlannedProduct::Dense(dense) => Tensors {
                w: self.weight(model, dense.w),
                r: None,
                b: Vec::new(),
                p: None,
                set: 0,
                gates: &[0],
                biases: &[],
                parts: Vec::new(),
                peepholes: [0; 3],
                strides: Some(dense.strides()),
            },
        }
    }

    /// Packs the bias of a sum: the terms of its part of B.
    fn pack_bias(&mut self, packing: &Packing<'_>, panels: &Panels, (at, sum): (usize, &Sum)) {
        let Packing { tensors, product, .. } = packing;
        let terms = sum.bias.map_or(&[][..], |bias| &tensors.biases[bias]);
        let terms = terms.iter().filter_map(|term| Some((tensors.b[term.tensor]?, term)));
        for (nth, (from, BiasPart { tensor, part })) in terms.enumerate() {
            let part = tensors.set * tensors.parts[*tensor] + part;
            let from = Place::from(from).at(part * product.units + panels.first);
            let row = product.bias_row(at);
            let copied = packing.row(from, panels, panels.biases(sum.is_late()), row);
            self.copy(Copied { add: nth > 0, ..copied });
        }
    }

    /// Packs the peephole of a sum.
    fn pack_peephole(&mut self, packing: &Packing<'_>, panels: &Panels, (at, sum): (usize, &Sum)) {
        let Packing { tensors, product, .. } = packing;
        let (Some(from), Some(part)) = (tensors.p, sum.peephole) else { return };
        let part = tensors.set * 3 + tensors.peepholes[part];
        let from = Place::from(from).at(part * product.units + panels.first);
        self.copy(packing.row(from, panels, panels.early_biases, product.peephole_row(at)));
    }

    /// Packs the rows of a phase, with their scales and corrections.
    fn pack_phase(&mut self, packing: &Packing<'_>, panels: &Panels, phase: Phase) {
        let Packing { tensors, product, weights } = packing;
        let (matrix, start) = match phase {
            Phase::Input => (tensors.w, panels.input),
            Phase::Hidden => (tensors.r, panels.hidden),
            Phase::ResetHidden => (tensors.r, panels.late_rows),
        };
        let Some(matrix) = matrix else { return };
        let (count, columns, own) = (panels.count, panels.columns, panels.units);
        let (layout, inner) = (&product.layout, product.phase_rows(phase));
        let late = phase == Phase::ResetHidden;
        let blocks = panels.blocks(late);
        let taking_part: Vec<_> = product
            .sums
            .iter()
            .enumerate()
            .filter_map(|(s, sum)| Some((s, sum.gate(phase)?)))
            .collect();
        let [unit, element] = tensors.strides(inner);
        for (i, &(sum, gate)) in taking_part.iter().enumerate() {
            let gate = tensors.set * tensors.gates.len() + tensors.gates[gate];
            let from = Place::from(matrix).at(gate * product.units * inner + panels.first * unit);
            let line = |to, stride, between, encoding, abreast| {
                let outer = [dim(count, columns * unit, stride), dim(own, unit, abreast)];
                let dims = outer.into_iter().chain([dim(inner, element, between)]);
                Copied { encoding, abreast, ..Copied::new(from, to, dims.collect()) }
            };
            let (first, between) = product.row_of(phase, columns, i);
            let at = Place::from(weights.rows).at(blocks.offset + start + first);
            let (encoding, abreast) = (layout.encoding(inner), layout.words_together());
            let interleaves_halves = layout.interleaves_halves(inner, columns);
            let rows = Copied {
                interleaves_halves,
                ..line(at, blocks.stride, between, encoding, abreast)
            };
            let present = panels.present.iter().find(|present| present.phase == phase);
            self.copy(match present {
                Some(present) => blocks_of(rows, present, (i, taking_part.len(), columns)),
                None => rows,
            });
            let scale = scales(layout.format).map(|scale| (scale, product.scale_row(sum, phase)));
            let has_start = product.has_corrections(phase);
            let start =
                has_start.then(|| (Encoding::Int8Start, product.correction_row(sum, phase)));
            for (of_line, row) in scale.into_iter().chain(start) {
                let Blocks { offset, stride } = panels.biases(late);
                let at = packing.biases().at(offset + row * columns);
                self.copy(line(at, stride, 0, of_line, 1));
            }
        }
    }

    /// Buffers for the packed weights of the product with this first output.
    fn weights_of(&mut self, value: usize, plan: &ProductPlan) -> PackedWeights {
        let element = plan.product.layout.element();
        let label = self.labels.operation(value).to_owned();
        let rows = self.typed(format!("{label}_weights"), Role::Weights, element, plan.weights);
        self.program.buffers[rows.0].layout = plan.layout();
        let biases = (plan.biases > 0)
            .then(|| self.buffer(format!("{label}_biases"), Role::Weights, plan.biases));
        PackedWeights { rows, biases, index: None }
    }

    /// Packs the weights of a convolution, with groups of output channels interleaved.
    pub(super) fn pack_convolution(
        &mut self,
        convolution: &Convolve,
        plan: &Plan,
        from: BufferId,
    ) -> PackedWeights {
        let format = plan
            .windows
            .get(&convolution.out)
            .map(|(arithmetic, _)| arithmetic.stored(WeightFormat::F32));
        let terms = convolution.inputs * convolution.offsets().len();
        let (words, encoding) = match format {
            None => (terms, Encoding::F32),
            Some(WeightFormat::Int16) => (Pairs::new(convolution).count(), Encoding::Int16Pair),
            Some(_) => (Pairs::new(convolution).count(), Encoding::Int8Wide),
        };
        let channels = convolution.groups * convolution.outputs;
        let before = self.mark();
        let label = self.labels.operation(convolution.out).to_owned();
        let rows = self.buffer(format!("{label}_weights"), Role::Weights, channels * words);
        let mut at = 0;
        for (iterations, count) in plan::equal_parts(
            convolution.outputs,
            plan::window_channels(convolution.outputs, plan.arch),
        ) {
            let dims = vec![
                dim(convolution.groups, convolution.outputs * terms, convolution.outputs * words),
                dim(iterations, count * terms, count * words),
                dim(count, terms, 1),
                dim(terms, 1, count),
            ];
            let copied = Copied::new(
                Place::from(from).at(at * terms),
                Place::from(rows).at(at * words),
                dims,
            );
            self.copy(Copied { encoding, words: format.map(|_| words), ..copied });
            at += iterations * count;
        }
        let scale = format.and_then(scales);
        let biases = scale.map(|encoding| {
            let to = self.buffer(format!("{label}_scales"), Role::Weights, channels);
            self.copy(Copied {
                encoding,
                ..Copied::new(from, to, vec![dim(channels, terms, 1), dim(terms, 1, 0)])
            });
            to
        });
        self.packed_once(before, PackedWeights { rows, biases, index: None })
    }

    fn mark(&self) -> Mark {
        Mark { buffers: self.program.buffers.len(), copies: self.program.packing.body.len() }
    }

    /// Returns the packed weights of an earlier operation with equal elements in equal order, if
    /// one exists, and removes the buffers of `weights`, added since `before`. Otherwise returns
    /// `weights`.
    fn packed_once(&mut self, before: Mark, weights: PackedWeights) -> PackedWeights {
        let Mark { buffers, copies } = before;
        let added = &self.program.buffers[buffers..];
        let mut recipe = Recipe {
            buffers: added.iter().map(|buffer| (buffer.element, buffer.len)).collect(),
            copies: self.program.packing.body[copies..].to_vec(),
        };
        for copy in &mut recipe.copies {
            if let Stmt::Copy(Copied { to: Place { base: Base::Buffer(id), .. }, .. }) = copy {
                id.0 -= buffers;
            }
        }
        match self.recipes.entry(recipe) {
            Entry::Vacant(new) => *new.insert(weights),
            Entry::Occupied(known) => {
                self.program.buffers.truncate(buffers);
                self.program.packing.body.truncate(copies);
                *known.get()
            }
        }
    }

    fn copy(&mut self, copied: Copied) {
        self.program.packing.body.push(Stmt::Copy(copied));
    }
}
