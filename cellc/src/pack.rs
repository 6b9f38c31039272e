//! Permutes weights into the order in which the kernel reads them.

use std::sync::Arc;

use crate::kernel::{BufferId, Move, Program, Role};
use crate::model::{Tensor, ValidModel};

/// Every part starts at a multiple of this many bytes: a cache line, a 512-bit vector.
const ALIGNMENT: usize = 64;

/// All constants of a generated file as one block of little-endian f32.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// Where each buffer stands in the block: its first element.
    pub parts: Vec<(BufferId, usize)>,
    /// By variable of the model: where in the block its initial value stands; `None` where that is zero.
    pub initial: Vec<Option<usize>>,
    /// The block.
    pub bytes: Arc<Vec<u8>>,
    /// Where weights are Parameters: the block that is filled at run time, by buffer and first element. Else empty.
    pub run_time: Vec<(BufferId, usize)>,
    /// Elements of the block that is filled at run time.
    pub run_time_len: usize,
}

impl Packed {
    /// Whether all weights are known when compiling.
    pub fn is_baked(&self) -> bool {
        self.run_time.is_empty()
    }

    /// Where a buffer of weights stands in the block that is filled at run time.
    pub fn run_time_at(&self, buffer: BufferId) -> Option<usize> {
        self.run_time.iter().find(|(b, _)| *b == buffer).map(|(_, at)| *at)
    }

    /// Where a buffer stands in the baked block.
    pub fn baked_at(&self, buffer: BufferId) -> Option<usize> {
        self.parts.iter().find(|(b, _)| *b == buffer).map(|(_, at)| *at)
    }

    /// The contents of a buffer of the baked block.
    pub fn values(&self, program: &Program, buffer: BufferId) -> Option<Vec<f32>> {
        let at = self.baked_at(buffer)?;
        let bytes = &self.bytes[at * 4..(at + program.buffer(buffer).len) * 4];
        Some(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }
}

/// Packs the constants of a model for a program. Every instruction set's program has the same moves, between the same
/// buffers.
pub fn pack(model: &ValidModel, program: &Program) -> Packed {
    let role = |id: &BufferId| program.buffer(*id).role;
    let run_time = program.packing.iter().any(|m| matches!(role(&m.from), Role::Parameter(_)));
    let weights: Vec<_> = (0..program.buffers.len()).map(BufferId).filter(|b| role(b) == Role::Weights).collect();
    let mut wanted: Vec<BufferId> = Vec::new();
    if !run_time {
        wanted.extend(&weights);
    }
    // constants that kernels read as they are, or that packing at run time reads
    for id in (0..program.buffers.len()).map(BufferId).filter(|b| matches!(role(b), Role::Constant(_))) {
        let read = program.kernels.iter().any(|k| k.params.contains(&(id, false)));
        if read || run_time && program.packing.iter().any(|m| m.from == id) {
            wanted.push(id);
        }
    }
    let (parts, mut len) = place(program, &wanted);
    // initial values, where no kernel reads the same constant as it is
    let mut alone: Vec<(usize, usize)> = Vec::new();
    let mut initial = Vec::new();
    for variable in &model.variables {
        let constant = variable.initial.filter(|i| !is_zero(&model.constants[*i]));
        initial.push(constant.map(|i| {
            let read = parts.iter().find(|(id, _)| role(id) == Role::Constant(i)).map(|(_, at)| *at);
            let known = read.or_else(|| alone.iter().find(|(other, _)| *other == i).map(|(_, at)| *at));
            known.unwrap_or_else(|| {
                let at = len;
                alone.push((i, at));
                len = (at + model.constants[i].len()).next_multiple_of(ALIGNMENT / 4);
                at
            })
        }));
    }
    let mut bytes = vec![0; len * 4];
    let as_it_is = |tensor: &Tensor, to: &mut [u8]| {
        for (k, to) in to.chunks_exact_mut(4).take(tensor.len()).enumerate() {
            to.copy_from_slice(&tensor.get_f32(k).to_le_bytes());
        }
    };
    for (i, at) in alone {
        as_it_is(&model.constants[i], &mut bytes[at * 4..]);
    }
    for (id, at) in &parts {
        let part = &mut bytes[at * 4..];
        match role(id) {
            Role::Constant(i) => as_it_is(&model.constants[i], part),
            _ => {
                let mut values = vec![0.0; program.buffer(*id).len];
                for m in program.packing.iter().filter(|m| m.to == *id) {
                    let Role::Constant(i) = role(&m.from) else { unreachable!("pack: baked weights are constants") };
                    run(m, &mut values, |from| model.constants[i].get_f32(from));
                }
                for (value, to) in values.iter().zip(part.chunks_exact_mut(4)) {
                    to.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    }
    let (run_time, run_time_len) = if run_time { place(program, &weights) } else { (Vec::new(), 0) };
    Packed { parts, initial, bytes: Arc::new(bytes), run_time, run_time_len }
}

/// Whether all of its bits are 0: what memory is set to where nothing is said.
fn is_zero(tensor: &Tensor) -> bool {
    (0..tensor.len()).all(|k| tensor.get_f32(k).to_bits() == 0)
}

/// Makes a move: `from` gives the elements of the buffer that it reads.
pub fn run(m: &Move, to: &mut [f32], from: impl Fn(usize) -> f32) {
    elements(m, |at, read| match m.add {
        true => to[at] += from(read),
        false => to[at] = from(read),
    });
}

/// Calls `each(to, from)` for every element that a move reads.
pub fn elements(m: &Move, mut each: impl FnMut(usize, usize)) {
    fn turn(m: &Move, depth: usize, to: usize, from: usize, each: &mut impl FnMut(usize, usize)) {
        match m.dims.get(depth) {
            None => each(to, from),
            Some(dim) => {
                for i in 0..dim.extent {
                    turn(m, depth + 1, to + i * dim.to_stride, from + i * dim.from_stride, each);
                }
            }
        }
    }
    turn(m, 0, m.to_offset, m.from_offset, &mut each);
}

fn place(program: &Program, buffers: &[BufferId]) -> (Vec<(BufferId, usize)>, usize) {
    let mut at = 0usize;
    let mut parts = Vec::new();
    for id in buffers {
        parts.push((*id, at));
        at = (at + program.buffer(*id).len).next_multiple_of(ALIGNMENT / 4);
    }
    (parts, at)
}
