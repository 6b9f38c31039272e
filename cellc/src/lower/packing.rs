//! How weights get from the model's order into the order in which kernels read them.

use super::memory::{Memory, PackedWeights};
use crate::kernel::{Encoding, Move, MoveDim, Role};
use crate::model::{BiasPart, ValidCell, ValidModel, ValidOp};
use crate::options::WeightFormat;
use crate::plan::{Blocks, Phase, Product, ProductPlan};

impl Memory {
    /// How the weights of a cell or a dense layer get from the model's order into the order of [`crate::plan::Panels`].
    pub(super) fn pack(&mut self, model: &ValidModel, op: &ValidOp, plan: &ProductPlan) -> PackedWeights {
        // W, R, B, P, and which of the sets of W, R, B is meant
        let (w, r, b, p, set, input_stride, transposed) = match op {
            ValidOp::Cell(cell) => {
                let p = cell.p.and_then(|p| self.weight(model, p));
                let (w, r) = (self.weight(model, cell.w), self.weight(model, cell.r));
                let b: Vec<_> = cell.b.iter().map(|b| self.weight(model, *b)).collect();
                (w, r, b, p, cell.weight_set, 1, true)
            }
            ValidOp::Dense(dense) => {
                let stride = if dense.transposed { 1 } else { dense.outputs };
                (self.weight(model, dense.w), None, Vec::new(), None, 0, stride, dense.transposed)
            }
            _ => unreachable!("lower: only products have weights"),
        };
        let index = self.weights.len();
        let encoding = plan.format.encoding();
        let rows = self.typed(format!("weights{index}"), Role::Weights, encoding.element(), plan.weights);
        let biases = (plan.biases > 0).then(|| self.buffer(format!("biases{index}"), Role::Weights, plan.biases));
        let weights = PackedWeights { rows, biases };
        let biases = biases.unwrap_or(rows);
        let Product { sums, units, .. } = &plan.product;
        let (gates, bias_parts, parts) = match op {
            ValidOp::Cell(ValidCell { layout, .. }) => (&layout.gates[..], &layout.biases[..], layout.bias_tensors()),
            _ => (&[0][..], &[][..], Vec::new()),
        };
        let dim = |extent, from_stride, to_stride| MoveDim { extent, from_stride, to_stride };
        for panels in &plan.panels {
            let (count, columns, first) = (panels.count, panels.columns, panels.first);
            for (i, sum) in sums.iter().enumerate() {
                let terms = sum.bias.map_or(&[][..], |bias| &bias_parts[bias]);
                let terms = terms.iter().filter_map(|term| Some((b[term.tensor]?, term)));
                for (nth, (from, BiasPart { tensor, part })) in terms.enumerate() {
                    let Blocks { offset, stride } = panels.biases(sum.is_late());
                    self.program.packing.push(Move {
                        from,
                        from_offset: (set * parts[*tensor] + part) * units + first,
                        to: biases,
                        to_offset: offset + plan.product.bias_row(i) * columns,
                        dims: vec![dim(count, columns, stride), dim(columns, 1, 1)],
                        add: nth > 0,
                        encoding: Encoding::F32,
                    });
                }
                if let (Some(from), Some(part)) = (p, sum.peephole) {
                    self.program.packing.push(Move {
                        from,
                        from_offset: part * units + first,
                        to: biases,
                        to_offset: panels.early_biases.offset + plan.product.peephole_row(i) * columns,
                        dims: vec![dim(count, columns, panels.early_biases.stride), dim(columns, 1, 1)],
                        add: false,
                        encoding: Encoding::F32,
                    });
                }
            }
            for phase in Phase::ALL {
                let inner = plan.product.phase_rows(phase);
                let taking_part: Vec<_> =
                    sums.iter().enumerate().filter_map(|(s, sum)| Some((s, sum.gate(phase)?))).collect();
                let late = phase == Phase::ResetHidden;
                let (from, start) = match phase {
                    Phase::Input => (w, panels.input),
                    Phase::Hidden => (r, panels.hidden),
                    Phase::ResetHidden => (r, panels.late_rows),
                };
                let blocks = panels.blocks(late);
                let Some(from) = from else { continue };
                // elements between units, and between what multiplies neighbouring elements of the operand
                let (unit, element) = if transposed { (inner, 1) } else { (1, input_stride) };
                for (i, (sum, gate)) in taking_part.iter().enumerate() {
                    let line = |to, to_offset, stride, between, encoding| Move {
                        from,
                        from_offset: (set * gates.len() + gates[*gate]) * units * inner + first * unit,
                        to,
                        to_offset,
                        dims: vec![
                            dim(count, columns * unit, stride),
                            dim(columns, unit, 1),
                            dim(inner, element, between),
                        ],
                        add: false,
                        encoding,
                    };
                    let between = taking_part.len() * columns;
                    let at = blocks.offset + start + i * columns;
                    self.program.packing.push(line(rows, at, blocks.stride, between, encoding));
                    if plan.format == WeightFormat::Int8 {
                        let Blocks { offset, stride } = panels.biases(late);
                        let at = offset + plan.product.scale_row(*sum, phase) * columns;
                        self.program.packing.push(line(biases, at, stride, 0, Encoding::Int8Scale));
                    }
                }
            }
        }
        weights
    }
}
