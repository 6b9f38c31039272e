//! Packing: copies of weights from the model's order to the order of kernels.

use std::collections::btree_map::Entry;

use super::memory::{Memory, PackedWeights, Recipe};
use crate::core::{Convolve, CoreCell, CoreModel, CoreOp, Pairs, WeightSources};
use crate::encoding::WeightFormat;
use crate::kernel::{Base, BufferId, Copied, CopiedDim, Encoding, Place, Role, Stmt};
use crate::model::BiasPart;
use crate::plan::{self, Blocks, Phase, Plan, PresentBlocks, Product, ProductPlan};

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
    Copied { to, blocks: Some(present.places(nth, sums, columns)), apart: false, ..rows }
}

/// The numbers of buffers and of packing copies at one moment of lowering.
struct Mark {
    buffers: usize,
    copies: usize,
}

impl Memory {
    /// Packs the weights of a cell or a dense layer into the order of [`crate::plan::Panels`].
    pub(super) fn pack(
        &mut self,
        model: &CoreModel,
        op: &CoreOp,
        plan: &ProductPlan,
    ) -> PackedWeights {
        // W, R, B and P, the index of their set, elements of W between inputs, and true if units
        // are outermost
        let (w, r, b, p, set, input_stride, transposed) = match op {
            CoreOp::Cell(cell) => {
                let p = cell.weights.p.and_then(|p| self.weight(model, p));
                let (w, r) =
                    (self.weight(model, cell.weights.w), self.weight(model, cell.weights.r));
                let b: Vec<_> = cell.weights.b.iter().map(|b| self.weight(model, *b)).collect();
                (w, r, b, p, cell.weights.set, 1, true)
            }
            CoreOp::Dense(dense) => {
                let stride = if dense.transposed { 1 } else { dense.outputs };
                (self.weight(model, dense.w), None, Vec::new(), None, 0, stride, dense.transposed)
            }
            _ => unreachable!("lower: only products have weights"),
        };
        let index = Some(plan.index()).filter(|index| !index.is_empty());
        let index = index.map(|index| self.add_index(index));
        let before = self.mark();
        let weights = PackedWeights { index, ..self.weights_of(op, plan) };
        let PackedWeights { rows, biases, .. } = weights;
        let biases = biases.unwrap_or(rows);
        let Product { sums, units, .. } = &plan.product;
        let (gates, bias_parts, parts) = match op {
            CoreOp::Cell(CoreCell { weights: WeightSources { layout, .. }, .. }) => {
                (&layout.gates[..], &layout.biases[..], layout.bias_tensors())
            }
            _ => (&[0][..], &[][..], Vec::new()),
        };
        let peepholes = match op {
            CoreOp::Cell(cell) => cell.weights.layout.peepholes,
            _ => [0; 3],
        };
        let dim = |extent, from_stride: usize, to_stride| CopiedDim {
            extent,
            from_stride: from_stride.cast_signed(),
            to_stride,
        };
        for panels in &plan.panels {
            let (count, columns, first) = (panels.count, panels.columns, panels.first);
            let panel_units = panels.units;
            for (i, sum) in sums.iter().enumerate() {
                let terms = sum.bias.map_or(&[][..], |bias| &bias_parts[bias]);
                let terms = terms.iter().filter_map(|term| Some((b[term.tensor]?, term)));
                for (nth, (from, BiasPart { tensor, part })) in terms.enumerate() {
                    let Blocks { offset, stride } = panels.biases(sum.is_late());
                    let from = Place::from(from).at((set * parts[*tensor] + part) * units + first);
                    let to = Place::from(biases).at(offset + plan.product.bias_row(i) * columns);
                    let dims = vec![dim(count, columns, stride), dim(panel_units, 1, 1)];
                    self.copy(Copied { add: nth > 0, ..Copied::new(from, to, dims) });
                }
                if let (Some(from), Some(part)) = (p, sum.peephole) {
                    let Blocks { offset, stride } = panels.early_biases;
                    let from = Place::from(from).at((set * 3 + peepholes[part]) * units + first);
                    let to =
                        Place::from(biases).at(offset + plan.product.peephole_row(i) * columns);
                    self.copy(Copied::new(
                        from,
                        to,
                        vec![dim(count, columns, stride), dim(panel_units, 1, 1)],
                    ));
                }
            }
            for phase in Phase::ALL {
                let inner = plan.product.phase_rows(phase);
                let encoding = plan.product.layout.encoding(inner);
                let taking_part: Vec<_> = sums
                    .iter()
                    .enumerate()
                    .filter_map(|(s, sum)| Some((s, sum.gate(phase)?)))
                    .collect();
                let late = phase == Phase::ResetHidden;
                let (from, start) = match phase {
                    Phase::Input => (w, panels.input),
                    Phase::Hidden => (r, panels.hidden),
                    Phase::ResetHidden => (r, panels.late_rows),
                };
                let blocks = panels.blocks(late);
                let Some(from) = from else { continue };
                // elements between units, and between weights for neighbouring elements of the
                // operand
                let (unit, element) = if transposed { (inner, 1) } else { (1, input_stride) };
                for (i, (sum, gate)) in taking_part.iter().enumerate() {
                    let from = Place::from(from)
                        .at((set * gates.len() + gates[*gate]) * units * inner + first * unit);
                    let line = |to, stride, between, encoding, abreast| {
                        let outer =
                            [dim(count, columns * unit, stride), dim(panel_units, unit, abreast)];
                        let dims = outer.into_iter().chain([dim(inner, element, between)]);
                        Copied { encoding, abreast, ..Copied::new(from, to, dims.collect()) }
                    };
                    let abreast = plan.product.layout.words_together();
                    let (first, between) = plan.product.row_of(phase, columns, i);
                    let at = Place::from(rows).at(blocks.offset + start + first);
                    let apart = plan.product.layout.interleaves_halves(inner, columns);
                    let rows_of =
                        Copied { apart, ..line(at, blocks.stride, between, encoding, abreast) };
                    let present = panels.present.iter().find(|present| present.phase == phase);
                    let sums = (i, taking_part.len(), columns);
                    self.copy(match present {
                        Some(present) => blocks_of(rows_of, present, sums),
                        None => rows_of,
                    });
                    let scale = scales(plan.product.layout.format)
                        .map(|scale| (scale, plan.product.scale_row(*sum, phase)));
                    let has_start = plan.product.has_corrections(phase);
                    let start = has_start
                        .then(|| (Encoding::Int8Start, plan.product.correction_row(*sum, phase)));
                    for (of_line, row) in scale.into_iter().chain(start) {
                        let Blocks { offset, stride } = panels.biases(late);
                        let at = Place::from(biases).at(offset + row * columns);
                        self.copy(line(at, stride, 0, of_line, 1));
                    }
                }
            }
        }
        self.packed_once(before, weights)
    }

    /// Buffers for the packed weights of a cell or a dense layer.
    fn weights_of(&mut self, op: &CoreOp, plan: &ProductPlan) -> PackedWeights {
        let element = plan.product.layout.element();
        let label = self.labels.operation(op.first_value()).to_owned();
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
        let dim = |extent, from: usize, to| CopiedDim {
            extent,
            from_stride: from.cast_signed(),
            to_stride: to,
        };
        let mut at = 0;
        for (turns, count) in plan::equal_parts(
            convolution.outputs,
            plan::window_channels(convolution.outputs, plan.arch),
        ) {
            let dims = vec![
                dim(convolution.groups, convolution.outputs * terms, convolution.outputs * words),
                dim(turns, count * terms, count * words),
                dim(count, terms, 1),
                dim(terms, 1, count),
            ];
            let copied = Copied::new(
                Place::from(from).at(at * terms),
                Place::from(rows).at(at * words),
                dims,
            );
            self.copy(Copied { encoding, words: format.map(|_| words), ..copied });
            at += turns * count;
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
