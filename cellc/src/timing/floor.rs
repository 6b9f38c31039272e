//! The floor of a call: what no kernel that reads its weights from memory can go below.
//!
//! It is the larger of two times, taken in the same run as the kernels: streaming exactly the bytes
//! of the weights with vector loads, once for every step, and executing exactly the multiply-adds
//! from registers. Each instruction set has its own.

use std::hint::black_box;
use std::time::Duration;

use super::turns::{Samples, Turn, timed};
use crate::arch::floor::{Line, Loops};
use crate::arch::{self, loops};
use crate::model::{Source, ValidModel, ValidNode, ValidOp, WeightSource};

/// What a call has to do at least.
#[derive(Default)]
pub struct Work {
    parts: Vec<WeightStream>,
    multiply_adds: usize,
}

/// Weights that are read together.
struct WeightStream {
    /// Nobody else's, in cache lines.
    lines: Vec<Line<f32>>,
    weights: usize,
    passes: usize,
}

/// The loops of one instruction set.
pub struct Floor {
    /// The name of the instruction set.
    pub isa: &'static str,
    loops: Loops,
}

/// One half of a floor and the other, in samples.
pub struct FloorTimes {
    /// The name of the instruction set.
    pub isa: &'static str,
    /// Of streaming the weights.
    pub stream: Samples,
    /// Of the multiply-adds.
    pub arithmetic: Samples,
}

impl FloorTimes {
    /// The larger half.
    pub fn samples(&self) -> &Samples {
        if self.is_stream() { &self.stream } else { &self.arithmetic }
    }

    /// Whether streaming is the larger half.
    pub fn is_stream(&self) -> bool {
        self.stream.quantile(0.5) >= self.arithmetic.quantile(0.5)
    }
}

impl Work {
    #[cfg(feature = "internals")]
    /// So many weights, all read in one pass, and so many multiply-adds.
    pub fn new(weights: usize, multiply_adds: usize) -> Self {
        Self { parts: vec![WeightStream::new(weights, 1)], multiply_adds }
    }

    /// What the model does in a call: weights of a layer are read at every step, multiply-adds are
    /// done for every row and step.
    pub fn of(model: &ValidModel) -> Self {
        let mut work = Self::default();
        work.nodes(model, &model.nodes, 1);
        work
    }

    fn nodes(&mut self, model: &ValidModel, nodes: &[ValidNode], trips: usize) {
        for node in nodes {
            if let ValidOp::Loop(looped) = &node.op {
                self.nodes(model, &looped.body, trips * looped.trips);
                continue;
            }
            // constants that are no weights are read too
            let constant = |source| if let Source::Constant(_) = source { model.len(source) } else { 0 };
            let constants: usize = node.op.reads().into_iter().map(constant).sum();
            let (weights, passes) = match &node.op {
                ValidOp::Cell(cell) => {
                    let steps = cell.steps();
                    let matrices = cell.kind.gates() * cell.hidden_size * (cell.input_size + cell.hidden_size);
                    let bias = if cell.b.iter().all(|b| *b == WeightSource::Zero) {
                        0
                    } else {
                        cell.kind.bias_parts() * cell.hidden_size
                    };
                    let peepholes = if cell.p.is_some() { 3 * cell.hidden_size } else { 0 };
                    self.multiply_adds += cell.batch * steps * trips * matrices;
                    (matrices + bias + peepholes, steps * trips)
                }
                ValidOp::Dense(dense) => {
                    self.multiply_adds += dense.rows * dense.inputs * dense.outputs * trips;
                    (dense.inputs * dense.outputs, trips)
                }
                ValidOp::MatMul(m) => {
                    self.multiply_adds += m.batch * m.rows * m.inner * m.columns * trips;
                    (0, trips)
                }
                ValidOp::Convolve(c) => {
                    self.multiply_adds += c.multiply_adds() * trips;
                    // what it convolves is as much to read as its weights are, or more, and what it
                    // makes is to be written
                    (c.batch * c.groups * (c.inputs + c.outputs) * c.wanted, trips)
                }
                _ => (0, trips),
            };
            if weights + constants > 0 {
                self.parts.push(WeightStream::new(weights + constants, passes));
            }
        }
    }

    /// Bytes of all weights.
    pub fn weight_bytes(&self) -> usize {
        self.parts.iter().map(|part| 4 * part.weights).sum()
    }

    /// Of a call.
    pub fn multiply_adds(&self) -> usize {
        self.multiply_adds
    }
}

impl WeightStream {
    fn new(weights: usize, passes: usize) -> Self {
        // any values will do but zeros, whose pages may all be one
        Self { lines: vec![Line([1.0; 16]); weights.div_ceil(16)], weights, passes }
    }

    fn weights(&self) -> &[f32] {
        // unsafe: the elements of a Vec are contiguous, a line of 16 f32 is 64 bytes and so has no
        // padding, and `weights` f32 are inside them
        #[allow(unsafe_code, reason = "lines of cache seen as one slice")]
        unsafe {
            std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.weights)
        }
    }
}

impl Floor {
    /// Its two halves, streaming first.
    pub fn turns<'a>(&'a self, work: &'a Work) -> [Turn<'a>; 2] {
        let stream = |out: &mut Line<u32>| {
            for part in &work.parts {
                for _ in 0..part.passes {
                    (self.loops.stream)(black_box(part.weights()), out);
                }
            }
        };
        let arithmetic = |out: &mut Line<u32>| (self.loops.arithmetic)(black_box(work.multiply_adds), out);
        [Box::new(move |calls| Ok(self.run(calls, stream))), Box::new(move |calls| Ok(self.run(calls, arithmetic)))]
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

/// The floors of the instruction sets that this machine has, the best last.
pub fn floors() -> Vec<Floor> {
    arch::ALL.iter().filter_map(|isa| Some(Floor { isa: isa.name, loops: loops(isa)? })).collect()
}

#[cfg(test)]
mod tests {
    use super::{Line, WeightStream, floors};
    use crate::arch::Isa;
    use crate::arch::floor::CHAINS;

    /// A bit that only one weight has is seen, wherever that weight is: nothing is left out of the
    /// stream.
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

    /// A chain starts at 1 and halves the distance to 2 at every multiply-add: the sum of their
    /// bits tells how many there were.
    #[test]
    fn every_multiply_add_is_executed() {
        let lanes = |isa| Isa::from_name(isa).map_or(1, |isa| isa.lanes);
        for floor in floors() {
            for vectors in [0, 1, CHAINS - 1, CHAINS, CHAINS + 1, 5 * CHAINS / 2] {
                let done = |chain| vectors / CHAINS + usize::from(chain < vectors % CHAINS);
                let chains = (0..CHAINS).map(|chain| (2.0 - 0.5f32.powi(done(chain) as i32)).to_bits());
                let expected = chains.fold(0, u32::wrapping_add);
                let mut out = Line([0; 16]);
                (floor.loops.arithmetic)(vectors * lanes(floor.isa), &mut out);
                assert_eq!(out.0[0], expected, "{} {vectors}", floor.isa);
            }
        }
    }
}
