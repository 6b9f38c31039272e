//! The floor of a call: what no kernel that reads its weights from memory can go below.
//!
//! It is the larger of two times, taken in the same run as the kernels: streaming exactly the bytes of the weights with vector loads, once for
//! every step, and executing exactly the multiply-adds from registers. Each instruction set has its own.

use std::hint::black_box;
use std::time::Duration;

use super::turns::{Samples, Turn, timed};
use crate::arch;
use crate::model::{Source, ValidModel, ValidNode, ValidOp, WeightSource};

/// What a call has to do at least.
#[derive(Default)]
pub struct Work {
    parts: Vec<Part>,
    multiply_adds: usize,
}

/// Weights that are read together.
struct Part {
    /// Nobody else's, in cache lines.
    lines: Vec<Line<f32>>,
    weights: usize,
    passes: usize,
}

/// The loops of one instruction set. What they write depends on all that they did, or it could be left out.
pub struct Floor {
    /// The name of the instruction set.
    pub isa: &'static str,
    /// Loads every element once; writes the bits that any of them has.
    stream: fn(&[f32], &mut Line<u32>),
    /// Multiplies and adds, a whole vector at a time; writes the sum of the chains' bits.
    arithmetic: fn(usize, &mut Line<u32>),
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

/// A line of cache, and the widest vector.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line<T>([T; 16]);

impl Work {
    /// So many weights, all read in one pass, and so many multiply-adds.
    pub(super) fn new(weights: usize, multiply_adds: usize) -> Self {
        Self { parts: vec![Part::new(weights, 1)], multiply_adds }
    }

    /// What the model does in a call: weights of a layer are read at every step, multiply-adds are done for every row and step.
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
                    let steps = cell.sequence.as_ref().map_or(1, |sequence| sequence.steps);
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
                _ => (0, trips),
            };
            if weights + constants > 0 {
                self.parts.push(Part::new(weights + constants, passes));
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

impl Part {
    fn new(weights: usize, passes: usize) -> Self {
        // any values will do but zeros, whose pages may all be one
        Self { lines: vec![Line([1.0; 16]); weights.div_ceil(16)], weights, passes }
    }

    fn weights(&self) -> &[f32] {
        // unsafe: the elements of a Vec are contiguous, a line of 16 f32 is 64 bytes and so has no padding, and `weights` f32 are inside them
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
                    (self.stream)(black_box(part.weights()), out);
                }
            }
        };
        let arithmetic = |out: &mut Line<u32>| (self.arithmetic)(black_box(work.multiply_adds), out);
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

/// The floors of the instruction sets that this machine has, the widest vectors last.
pub fn floors() -> Vec<Floor> {
    arch::ALL.iter().filter_map(|isa| floor(isa.name)).collect()
}

#[cfg(target_arch = "x86_64")]
fn floor(isa: &str) -> Option<Floor> {
    match isa {
        "generic" => Some(sse2::FLOOR),
        "avx2" if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") => Some(avx2::FLOOR),
        "avx512" if is_x86_feature_detected!("avx512f") => Some(avx512::FLOOR),
        _ => None,
    }
}

/// Elsewhere the compiler chooses the vectors of a plain loop.
#[cfg(not(target_arch = "x86_64"))]
fn floor(isa: &str) -> Option<Floor> {
    (isa == "generic").then_some(Floor {
        isa: "generic",
        stream: |weights, out| {
            let (turns, rest) = weights.as_chunks::<16>();
            let rest = rest.iter().fold(0, |all, w| all | w.to_bits());
            let mut all = [rest; 16];
            for turn in turns {
                for (all, w) in all.iter_mut().zip(turn) {
                    *all |= w.to_bits();
                }
            }
            out.0 = all;
        },
        arithmetic: |multiply_adds, out| {
            let mut lanes = [1.0f32; 16 * CHAINS];
            for _ in 0..multiply_adds / lanes.len() {
                for lane in &mut lanes {
                    *lane = *lane * 0.5 + 1.0;
                }
            }
            for lane in lanes.iter_mut().take(multiply_adds % (16 * CHAINS)) {
                *lane = *lane * 0.5 + 1.0;
            }
            out.0 = [0; 16];
            for chain in lanes.as_chunks::<16>().0 {
                for (out, lane) in out.0.iter_mut().zip(chain) {
                    *out = out.wrapping_add(lane.to_bits());
                }
            }
        },
    })
}

/// Chains of multiply-adds, all in registers: enough to hide the latency of a multiplication and an addition, of which most cores begin
/// two of each a cycle.
const CHAINS: usize = 14;

/// The loops in intrinsics: the vectors are fixed, whatever the compiler would choose.
#[cfg(target_arch = "x86_64")]
macro_rules! loops {
    (
        $module:ident, $isa:literal, $features:literal, lanes $lanes:literal,
        integers $ints:ident, $zero:ident, $load:ident, $store:ident, $or:ident, $add:ident,
        floats $floats:ident, $splat:ident, $mul_add:expr,
    ) => {
        #[allow(unsafe_code, reason = "vectors at pointers, and functions of an instruction set")]
        mod $module {
            use std::arch::x86_64::*;
            use std::hint::black_box;
            use std::mem::transmute;

            use super::{CHAINS, Floor, Line};

            // unsafe: only `floor` hands this out, where the machine has the features
            pub(super) const FLOOR: Floor = Floor {
                isa: $isa,
                stream: |weights, out| unsafe { stream(weights, out) },
                arithmetic: |multiply_adds, out| unsafe { arithmetic(multiply_adds, out) },
            };

            #[target_feature(enable = $features)]
            fn stream(weights: &[f32], out: &mut Line<u32>) {
                let mut all = [$zero(); 8];
                let (turns, rest) = weights.as_chunks::<{ 8 * $lanes }>();
                for turn in turns {
                    for (i, all) in all.iter_mut().enumerate() {
                        // unsafe: a turn is eight vectors long
                        *all = $or(*all, unsafe { $load(turn.as_ptr().add(i * $lanes).cast()) });
                    }
                }
                let (vectors, rest) = rest.as_chunks::<$lanes>();
                for vector in vectors {
                    // unsafe: the chunk is one vector long
                    all[0] = $or(all[0], unsafe { $load(vector.as_ptr().cast()) });
                }
                let [a, b, c, d, e, f, g, h] = all;
                let all = $or($or($or(a, b), $or(c, d)), $or($or(e, f), $or(g, h)));
                // unsafe: a line is as long as the widest vector
                unsafe { $store(out.0.as_mut_ptr().cast(), all) };
                let mut last = 0;
                for w in rest {
                    last |= w.to_bits();
                }
                out.0[0] |= last;
            }

            #[target_feature(enable = $features)]
            fn arithmetic(multiply_adds: usize, out: &mut Line<u32>) {
                let (half, one) = ($splat(black_box(0.5)), $splat(black_box(1.0)));
                let mut chains = [one; CHAINS];
                let vectors = multiply_adds.div_ceil($lanes);
                for _ in 0..vectors / CHAINS {
                    for chain in &mut chains {
                        *chain = $mul_add(*chain, half, one);
                    }
                }
                // of constant length, as an index that is not constant would keep the chains in memory
                for (i, chain) in chains.iter_mut().enumerate() {
                    if i < vectors % CHAINS {
                        *chain = $mul_add(*chain, half, one);
                    }
                }
                // no closures here: they would be functions without the features
                let mut all = $zero();
                for chain in chains {
                    // unsafe: both are as many bits, and any bits will do
                    all = $add(all, unsafe { transmute::<$floats, $ints>(chain) });
                }
                // unsafe: a line is as long as the widest vector
                unsafe { $store(out.0.as_mut_ptr().cast(), all) };
            }
        }
    };
}

// the baseline has no fused multiply-add: an addition and a multiplication are what its kernels execute
#[cfg(target_arch = "x86_64")]
loops!(
    sse2, "generic", "sse2", lanes 4,
    integers __m128i, _mm_setzero_si128, _mm_load_si128, _mm_store_si128, _mm_or_si128, _mm_add_epi32,
    floats __m128, _mm_set1_ps, |a, b, c| _mm_add_ps(_mm_mul_ps(a, b), c),
);
#[cfg(target_arch = "x86_64")]
loops!(
    avx2, "avx2", "avx2,fma", lanes 8,
    integers __m256i, _mm256_setzero_si256, _mm256_load_si256, _mm256_store_si256, _mm256_or_si256, _mm256_add_epi32,
    floats __m256, _mm256_set1_ps, _mm256_fmadd_ps,
);
#[cfg(target_arch = "x86_64")]
loops!(
    avx512, "avx512", "avx512f", lanes 16,
    integers __m512i, _mm512_setzero_si512, _mm512_load_si512, _mm512_store_si512, _mm512_or_si512, _mm512_add_epi32,
    floats __m512, _mm512_set1_ps, _mm512_fmadd_ps,
);

#[cfg(test)]
mod tests {
    use super::{CHAINS, Line, Part, floors};
    use crate::arch::Isa;

    /// A bit that only one weight has is seen, wherever that weight is: nothing is left out of the stream.
    #[test]
    fn every_weight_is_streamed() {
        for weights in [3, 16, 127, 128, 129, 18_560, 20_019] {
            let mut part = Part::new(weights, 1);
            part.lines.iter_mut().for_each(|line| line.0.fill(0.0));
            for floor in floors() {
                let seen = |part: &Part| {
                    let mut out = Line([0; 16]);
                    (floor.stream)(part.weights(), &mut out);
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

    /// A chain starts at 1 and halves the distance to 2 at every multiply-add: the sum of their bits tells how many there were.
    #[test]
    fn every_multiply_add_is_executed() {
        let lanes = |isa| Isa::from_name(isa).map_or(1, |isa| isa.lanes);
        for floor in floors() {
            for vectors in [0, 1, CHAINS - 1, CHAINS, CHAINS + 1, 5 * CHAINS / 2] {
                let done = |chain| vectors / CHAINS + usize::from(chain < vectors % CHAINS);
                let chains = (0..CHAINS).map(|chain| (2.0 - 0.5f32.powi(done(chain) as i32)).to_bits());
                let expected = chains.fold(0, u32::wrapping_add);
                let mut out = Line([0; 16]);
                (floor.arithmetic)(vectors * lanes(floor.isa), &mut out);
                assert_eq!(out.0[0], expected, "{} {vectors}", floor.isa);
            }
        }
    }
}
