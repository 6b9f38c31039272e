//! The floor of a call: a lower bound for the time of kernels that read weights from memory.
//!
//! The floor is the larger of two times, measured in the same run as the kernels. One time is for
//! streaming the bytes of the weights with vector loads, once per step. The other is for executing
//! the multiply-adds from registers. Each instruction set has its own floor.

use std::hint::black_box;
use std::time::Duration;

use super::turns::{Samples, Turn, timed};
use crate::arch::floor::{Line, Loops};
use crate::arch::{self, loops};
use crate::core::{CoreCell, CoreModel, CoreNode, CoreOp, PlannedProduct, Source, WeightSource};

/// The minimum work of a call.
#[derive(Default)]
pub struct LeastWork {
    parts: Vec<WeightStream>,
    multiply_adds: usize,
}

/// Weights of one layer, read in sequence.
struct WeightStream {
    /// Memory that stands for the weights, in cache lines.
    lines: Vec<Line<f32>>,
    weights: usize,
    passes: usize,
}

/// The loops that measure the floor of one instruction set.
pub struct Floor {
    /// The name of the instruction set.
    pub isa: &'static str,
    loops: Loops,
}

/// The samples of both times of a floor.
pub struct FloorTimes {
    /// The name of the instruction set.
    pub isa: &'static str,
    /// Samples of streaming the weights.
    pub stream: Samples,
    /// Samples of the multiply-adds.
    pub arithmetic: Samples,
}

impl FloorTimes {
    /// The samples of the larger time.
    pub fn samples(&self) -> &Samples {
        if self.is_stream() { &self.stream } else { &self.arithmetic }
    }

    /// True if streaming takes longer than the multiply-adds.
    pub fn is_stream(&self) -> bool {
        self.stream.quantile(0.5) >= self.arithmetic.quantile(0.5)
    }
}

/// The weights of a cell, with biases and peepholes.
fn weights_of_cell(cell: &CoreCell) -> usize {
    let matrices = cell.kind.gates() * cell.hidden_size * (cell.input_size + cell.hidden_size);
    let has_bias = cell.weights.b.iter().any(|b| *b != WeightSource::Zero);
    let bias = if has_bias { cell.kind.bias_parts() * cell.hidden_size } else { 0 };
    let peepholes = if cell.weights.p.is_some() { 3 * cell.hidden_size } else { 0 };
    matrices + bias + peepholes
}

impl LeastWork {
    /// Work of `weights` weights, read in one pass, and `multiply_adds` multiply-adds.
    pub fn new(weights: usize, multiply_adds: usize) -> Self {
        Self { parts: vec![WeightStream::new(weights, 1)], multiply_adds }
    }

    /// The work of a model: each step reads the weights of each layer once, and multiply-adds count
    /// per row of the batch and step.
    pub fn count(model: &CoreModel) -> Self {
        let mut work = Self::default();
        work.nodes(model, &model.nodes, 1);
        work
    }

    fn nodes(&mut self, model: &CoreModel, nodes: &[CoreNode], trips: usize) {
        for node in nodes {
            if let CoreOp::Loop(looped) = &node.op {
                self.nodes(model, &looped.body, trips * looped.trips);
                continue;
            }
            self.multiply_adds += node.op.facts().work.multiply_adds() * trips;
            // constants other than weights are streamed, too
            let constant =
                |source| if let Source::Constant(_) = source { model.len(source) } else { 0 };
            let constants: usize = node.op.reads().into_iter().map(constant).sum();
            let (weights, steps) = match (node.op.planned(), &node.op) {
                (Some(PlannedProduct::Cell(cell)), _) => (weights_of_cell(cell), cell.steps()),
                (Some(PlannedProduct::Dense(dense)), _) => (dense.inputs * dense.outputs, 1),
                // a convolution streams its inputs and outputs; `constants` has its weights
                (None, CoreOp::Convolve(c)) => {
                    (c.batch * c.groups * (c.inputs + c.outputs) * c.wanted, 1)
                }
                (None, _) => (0, 1),
            };
            if weights + constants > 0 {
                self.parts.push(WeightStream::new(weights + constants, steps * trips));
            }
        }
    }

    /// Bytes of all streamed data, in one pass.
    pub fn weight_bytes(&self) -> usize {
        self.parts.iter().map(|part| 4 * part.weights).sum()
    }

    /// Multiply-adds of a call.
    pub fn multiply_adds(&self) -> usize {
        self.multiply_adds
    }
}

impl WeightStream {
    fn new(weights: usize, passes: usize) -> Self {
        // not zeros: the system may map all zero pages to one page
        Self { lines: vec![Line([1.0; 16]); weights.div_ceil(16)], weights, passes }
    }

    fn weights(&self) -> &[f32] {
        // unsafe: the elements of a Vec are contiguous, a line of 16 f32 is 64 bytes and so has no
        // padding, and the lines have at least `weights` f32
        #[allow(unsafe_code, reason = "lines of cache seen as one slice")]
        unsafe {
            std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.weights)
        }
    }
}

impl Floor {
    /// The two measurements of the floor as turns, streaming first.
    pub fn turns<'a>(&'a self, work: &'a LeastWork) -> [Turn<'a>; 2] {
        let stream = |out: &mut Line<u32>| {
            for part in &work.parts {
                for _ in 0..part.passes {
                    (self.loops.stream)(black_box(part.weights()), out);
                }
            }
        };
        let arithmetic =
            |out: &mut Line<u32>| (self.loops.arithmetic)(black_box(work.multiply_adds), out);
        [
            Box::new(move |calls| Ok(self.run(calls, stream))),
            Box::new(move |calls| Ok(self.run(calls, arithmetic))),
        ]
    }

    fn run(&self, calls: usize, call: impl Fn(&mut Line<u32>)) -> Duration {
        let mut out = Line([0; 16]);
        timed(|| {
            for _ in 0..calls {
                call(&mut out);
                black_box(&mut out);
            }
        })
    }
}

/// The floors of the machine's instruction sets, best last.
pub fn floors() -> Vec<Floor> {
    arch::ALL.iter().filter_map(|isa| Some(Floor { isa: isa.name, loops: loops(isa)? })).collect()
}

#[cfg(test)]
mod tests {
    use super::{Line, WeightStream, floors};
    use crate::arch::Isa;
    use crate::arch::floor::CHAINS;

    /// The result contains a bit of each single weight: the stream leaves out no weight.
    #[test]
    fn every_weight_is_streamed() {
        for weights in [3, 16, 127, 128, 129, 18_560, 20_019] {
            let mut part = WeightStream::new(weights, 1);
            part.lines.iter_mut().for_each(|line| line.0.fill(0.0));
            for floor in floors() {
                let seen = |part: &WeightStream| {
                    let mut out = Line([0; 16]);
                    (floor.loops.stream)(part.weights(), &mut out);
                    out.0.iter().fold(0, |a, b| a | b)
                };
                assert_eq!(seen(&part), 0, "{}", floor.isa);
                for i in (0..weights).step_by(97).chain(weights.saturating_sub(40)..weights) {
                    part.lines[i / 16].0[i % 16] = f32::from_bits(1);
                    assert_eq!(seen(&part), 1, "{} {i}", floor.isa);
                    part.lines[i / 16].0[i % 16] = 0.0;
                }
            }
        }
    }

    /// A chain starts at 1 and halves the distance to 2 at every multiply-add: the sum of the bits
    /// reveals the number of multiply-adds.
    #[test]
    fn every_multiply_add_is_executed() {
        let lanes = |isa| Isa::from_name(isa).map_or(1, |isa| isa.lanes);
        for floor in floors() {
            for vectors in [0, 1, CHAINS - 1, CHAINS, CHAINS + 1, 5 * CHAINS / 2] {
                let done = |chain| vectors / CHAINS + usize::from(chain < vectors % CHAINS);
                let chains =
                    (0..CHAINS).map(|chain| (2.0 - 0.5f32.powi(done(chain) as i32)).to_bits());
                let expected = chains.fold(0, u32::wrapping_add);
                let mut out = Line([0; 16]);
                (floor.loops.arithmetic)(vectors * lanes(floor.isa), &mut out);
                assert_eq!(out.0[0], expected, "{} {vectors}", floor.isa);
            }
        }
    }
}
