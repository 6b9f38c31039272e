//! Permutes weights into the order in which the kernel reads them.

use std::sync::Arc;

use crate::model::half::F16;

use crate::encoding::encode;
use crate::kernel::{BufferId, Copied, CopiedDim, Element, Encoding, Program, Role};
use crate::model::{Tensor, ValidModel};

/// All constants of a generated file as one block of little-endian numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// Where each buffer stands in the block: its first byte over 4.
    pub parts: Vec<(BufferId, usize)>,
    /// By variable of the model: where in the block its initial value stands; `None` where that is zero.
    pub initial: Vec<Option<usize>>,
    /// The block.
    pub bytes: Arc<Vec<u8>>,
    /// Where weights are Parameters: the blocks that are filled at run time, by buffer and first element in that of its elements. Else empty.
    pub run_time: Vec<(BufferId, usize)>,
    /// Elements of the block of f32 that is filled at run time.
    pub run_time_len: usize,
    /// Elements of the block of [`Element::I8Pair`] that is filled at run time.
    pub run_time_pairs: usize,
}

impl Packed {
    /// Whether all weights are known when compiling.
    pub fn is_baked(&self) -> bool {
        self.run_time.is_empty()
    }

    /// Bytes of what is filled at run time.
    pub fn run_time_bytes(&self) -> usize {
        4 * self.run_time_len + 2 * self.run_time_pairs
    }

    /// Where a buffer of weights stands in the block of its elements that is filled at run time.
    pub fn run_time_at(&self, buffer: BufferId) -> Option<usize> {
        self.run_time.iter().find(|(b, _)| *b == buffer).map(|(_, at)| *at)
    }

    /// Where a buffer stands in the baked block.
    pub fn baked_at(&self, buffer: BufferId) -> Option<usize> {
        self.parts.iter().find(|(b, _)| *b == buffer).map(|(_, at)| *at)
    }

    /// The contents of a buffer of the baked block.
    #[cfg(test)]
    pub(crate) fn values(&self, program: &Program, buffer: BufferId) -> Option<Vec<f32>> {
        let at = self.baked_at(buffer)?;
        let buffer = program.buffer(buffer);
        let (element, bytes) = (buffer.element, &self.bytes[at * 4..][..buffer.bytes()]);
        let value = |b: &[u8]| match element {
            Element::F16 => F16::from_le_bytes([b[0], b[1]]).to_f32(),
            Element::I8 => f32::from(b[0].cast_signed()),
            Element::I8Pair => {
                let [low, high] = [b[0], b[1]].map(|byte| u32::from(i16::from(byte.cast_signed()).cast_unsigned()));
                f32::from_bits(low | high << 16)
            }
            _ => f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        };
        Some(bytes.chunks_exact(element.size()).map(value).collect())
    }
}

/// Packs the constants of a model for a program.
pub fn pack(model: &ValidModel, program: &Program) -> Packed {
    let role = |id: &BufferId| program.buffer(*id).role;
    let run_time = program.packing.params.iter().any(|(id, _)| matches!(role(id), Role::Parameter(_)));
    let weights: Vec<_> = (0..program.buffers.len()).map(BufferId).filter(|b| role(b) == Role::Weights).collect();
    let mut wanted: Vec<BufferId> = Vec::new();
    if !run_time {
        wanted.extend(&weights);
    }
    // constants that kernels read as they are, or that packing at run time reads
    for id in (0..program.buffers.len()).map(BufferId).filter(|b| matches!(role(b), Role::Constant(_))) {
        let read = program.bodies.iter().flat_map(|body| &body.kernels).any(|k| k.params.contains(&(id, false)));
        if read || run_time && program.packing.params.contains(&(id, false)) {
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
                len = (at + model.constants[i].len()).next_multiple_of(program.aligned_elements());
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
                for (copied, from, _) in program.packing.copies().filter(|(.., to)| to == id) {
                    let Role::Constant(i) = role(&from) else { unreachable!("pack: baked weights are constants") };
                    let tensor = &model.constants[i];
                    let put = |to, value| store(copied.encoding.element(), part, to, value, copied.add);
                    run(copied, |from| tensor.get_f32(from), put);
                }
            }
        }
    }
    let (mut run_time_parts, mut run_time_len, mut run_time_pairs) = (Vec::new(), 0, 0);
    if run_time {
        let (pairs, rest): (Vec<_>, Vec<_>) =
            weights.iter().partition(|id| program.buffer(**id).element == Element::I8Pair);
        (run_time_parts, run_time_len) = place(program, &rest);
        let (parts, len) = place(program, &pairs);
        run_time_pairs = 2 * len;
        run_time_parts.extend(parts.into_iter().map(|(id, at)| (id, 2 * at)));
    }
    Packed { parts, initial, bytes: Arc::new(bytes), run_time: run_time_parts, run_time_len, run_time_pairs }
}

/// Whether all of its bits are 0: what memory is set to where nothing is said.
fn is_zero(tensor: &Tensor) -> bool {
    (0..tensor.len()).all(|k| tensor.get_f32(k).to_bits() == 0)
}

/// Packs what memory holds into its weights, as what kernels load there.
#[cfg(any(test, feature = "builder"))]
pub fn pack_memory(program: &Program, memory: &mut [Vec<f32>]) {
    for (copied, from, to) in program.packing.copies() {
        let source = std::mem::take(&mut memory[from.0]);
        fill(copied, |at| source[at], &mut memory[to.0]);
        memory[from.0] = source;
    }
}

/// Makes a copy, as what kernels load there: `get` gives the elements of the tensor that it comes from.
#[cfg(any(test, feature = "builder"))]
pub fn fill(copied: &Copied, get: impl Fn(usize) -> f32, to: &mut [f32]) {
    run(copied, get, |at, value| if copied.add { to[at] += value } else { to[at] = value });
}

/// Calls `put` for every element of weights that a copy fills, with what it puts or adds there.
fn run(copied: &Copied, get: impl Fn(usize) -> f32, mut put: impl FnMut(usize, f32)) {
    let (line, outer) = match copied.dims.split_last() {
        Some(split) if copied.encoding != Encoding::F32 => split,
        _ => return elements(copied, |to, from| put(to, get(from))),
    };
    let lines = Copied { dims: outer.to_vec(), ..copied.clone() };
    let mut apart = Vec::new();
    elements(&lines, |to, from| {
        let read = |k: usize| get(from.wrapping_add_signed(k.cast_signed() * line.from_stride));
        let line_values: Vec<f32> = (0..line.extent).map(read).collect();
        for (k, value) in encode(copied.encoding, &line_values, copied.words).into_iter().enumerate() {
            let at = to + k / copied.abreast * line.to_stride + k % copied.abreast;
            if copied.apart { apart.push((at, value.to_bits())) } else { put(at, value) }
        }
    });
    apart.sort_unstable_by_key(|(at, _)| *at);
    for four in apart.chunks_exact(4) {
        let halves = |shift: u32| four.iter().map(move |(_, word)| word >> shift & 0xffff);
        let halves: Vec<u32> = halves(0).chain(halves(16)).collect();
        for ((at, _), pair) in four.iter().zip(halves.chunks_exact(2)) {
            put(*at, f32::from_bits(pair[0] | pair[1] << 16));
        }
    }
}

/// Writes a value that an element of that kind holds, or adds it to the f32 that stands there.
fn store(element: Element, part: &mut [u8], at: usize, value: f32, add: bool) {
    let to = &mut part[at * element.size()..][..element.size()];
    match element {
        Element::F16 => to.copy_from_slice(&F16::from_f32(value).to_le_bytes()),
        Element::I8 => to.copy_from_slice(&(value as i8).to_le_bytes()),
        // the halves are 16 bits of which the upper ones are the sign
        Element::I8Pair => to.copy_from_slice(&[value.to_bits() as u8, (value.to_bits() >> 16) as u8]),
        _ => {
            let before = to.first_chunk().filter(|_| add).map(|bytes| f32::from_le_bytes(*bytes));
            to.copy_from_slice(&before.map_or(value, |before| before + value).to_le_bytes());
        }
    }
}

/// Calls `each(to, from)` for every element that a copy reads.
pub fn elements(copied: &Copied, mut each: impl FnMut(usize, usize)) {
    fn turn(dims: &[CopiedDim], to: usize, from: usize, each: &mut impl FnMut(usize, usize)) {
        match dims {
            [] => each(to, from),
            [dim, rest @ ..] => {
                let mut from = from;
                for i in 0..dim.extent {
                    turn(rest, to + i * dim.to_stride, from, each);
                    from = from.wrapping_add_signed(dim.from_stride);
                }
            }
        }
    }
    turn(&copied.dims, copied.to.offset, copied.from.offset, &mut each);
}

fn place(program: &Program, buffers: &[BufferId]) -> (Vec<(BufferId, usize)>, usize) {
    let mut at = 0usize;
    let mut parts = Vec::new();
    for id in buffers {
        parts.push((*id, at));
        let buffer = program.buffer(*id);
        at = (at + buffer.bytes().div_ceil(4)).next_multiple_of(program.aligned_elements());
    }
    (parts, at)
}
