//! Packing: the constants of a model in the order in which kernels read them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

mod loaded;

use crate::model::half::F16;

use crate::core::CoreModel;
use crate::encoding::encode;
use crate::kernel::{
    BufferId, Copied, CopiedDim, DelayLine, Element, Encoding, FrameOrder, Program, Role,
};
use crate::model::Tensor;
pub use loaded::{Layout, Loaded};

/// The initial value of a variable, in the order of the variable's memory: element `i` is stored
/// element `i / repeat % len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initial {
    /// Offset of the first stored element in the block, in units of 4 bytes.
    pub at: usize,
    /// The number of stored elements.
    pub len: usize,
    /// Number of consecutive elements of the variable for each stored element.
    pub repeat: usize,
}

impl Initial {
    /// Words for the stored part of a variable of `len` elements. Empty if all elements are stored.
    pub(crate) fn part(&self, len: usize) -> &'static str {
        match (self.repeat, self.len) {
            (1, stored) if stored == len => "",
            (1, _) => ", of each frame",
            _ => ", by row",
        }
    }
}

/// Least number of elements of a variable that stores each row of equal elements once. Smaller
/// variables are stored in full; delay lines store equal frames once at any size.
const LEAST_REPEATED: usize = 64;

/// All constants of a generated file as one block of little-endian numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// The offset of each buffer in the block, in units of 4 bytes. Buffers with equal contents
    /// share one offset.
    pub parts: Vec<(BufferId, usize)>,
    /// By variable of the model: its initial value. `None`: zero.
    pub initial: Vec<Option<Initial>>,
    /// The block.
    pub bytes: Arc<Vec<u8>>,
    /// The offset of each buffer in the run-time block of its element type, in elements. Empty if
    /// weights are constants.
    pub run_time: Vec<(BufferId, usize)>,
    /// Elements of the run-time block of f32.
    pub run_time_len: usize,
    /// Elements of the run-time block of [`Element::I8Pair`].
    pub run_time_pairs: usize,
    /// The contents of the run-time block of f32, for a file of weights. `None`: the weights are in
    /// the generated file, or the caller has them.
    pub loaded: Option<Loaded>,
}

impl Packed {
    /// True if all weights are known at compile time.
    pub fn is_baked(&self) -> bool {
        self.run_time.is_empty() && self.loaded.is_none()
    }

    /// Bytes of both run-time blocks.
    pub fn run_time_bytes(&self) -> usize {
        4 * self.run_time_len + 2 * self.run_time_pairs
    }

    /// The offset of a buffer in the run-time block of its element type.
    pub fn run_time_at(&self, buffer: BufferId) -> Option<usize> {
        self.run_time.iter().find(|(b, _)| *b == buffer).map(|(_, at)| *at)
    }

    /// The offset of a buffer in the baked block.
    pub fn baked_at(&self, buffer: BufferId) -> Option<usize> {
        self.parts.iter().find(|(b, _)| *b == buffer).map(|(_, at)| *at)
    }

    /// Bytes of packed weights in the baked block. Shared contents count once.
    pub fn weight_bytes(&self, program: &Program) -> usize {
        let weights = self.parts.iter().filter(|(id, _)| program.buffer(*id).role == Role::Weights);
        // buffers with equal contents share an offset
        let places: BTreeSet<_> =
            weights.map(|(id, at)| (at, program.buffer(*id).bytes())).collect();
        places.into_iter().map(|(_, bytes)| bytes).sum()
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
                let [low, high] = [b[0], b[1]]
                    .map(|byte| u32::from(i16::from(byte.cast_signed()).cast_unsigned()));
                f32::from_bits(low | high << 16)
            }
            _ => f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        };
        Some(bytes.chunks_exact(element.size()).map(value).collect())
    }
}

/// Packs the constants of a model into the generated file of a program.
pub fn pack(model: &CoreModel, program: &Program) -> Packed {
    packed(model, program, Block::new(program))
}

/// Packs the constants of a model for a file of weights. All constants are f32, and no offset
/// depends on a value.
pub(crate) fn pack_for_loading(model: &CoreModel, program: &Program) -> Packed {
    let block = Block { shares: false, ..Block::new(program) };
    let Packed { parts, initial, bytes, .. } = packed(model, program, block);
    let is_f32 = |(id, _): &(BufferId, usize)| program.buffer(*id).element == Element::F32;
    assert!(parts.iter().all(is_f32), "pack: weights that are loaded are f32");
    Packed {
        run_time_len: bytes.len() / 4,
        loaded: (!bytes.is_empty()).then(|| Loaded::new(model, program, (&parts, &initial), bytes)),
        run_time: parts,
        parts: Vec::new(),
        initial,
        bytes: Arc::default(),
        run_time_pairs: 0,
    }
}

fn packed(model: &CoreModel, program: &Program, mut block: Block) -> Packed {
    let role = |id: &BufferId| program.buffer(*id).role;
    let run_time =
        program.packing.params.iter().any(|(id, _)| matches!(role(id), Role::Parameter(_)));
    let weights: Vec<_> =
        (0..program.buffers.len()).map(BufferId).filter(|b| role(b) == Role::Weights).collect();
    let mut wanted: Vec<BufferId> = Vec::new();
    if !run_time {
        wanted.extend(&weights);
    }
    // constants of kernels, and constants of packing at run time
    for id in
        (0..program.buffers.len()).map(BufferId).filter(|b| matches!(role(b), Role::Constant(_)))
    {
        let read = program
            .bodies
            .iter()
            .flat_map(|body| &body.kernels)
            .any(|k| k.params.contains(&(id, false)));
        if read || run_time && program.packing.params.contains(&(id, false)) {
            wanted.push(id);
        }
    }
    let mut copies: BTreeMap<BufferId, Vec<(&Copied, BufferId)>> = BTreeMap::new();
    for (copied, from, to) in program.packing.copies() {
        copies.entry(to).or_default().push((copied, from));
    }
    let parts = wanted.into_iter().map(|id| {
        let at = match role(&id) {
            Role::Constant(i) => block.place_constant(&model.constants[i]),
            _ => block.add(program.buffer(id).bytes(), program.buffer(id).element, |bytes| {
                for (copied, from) in copies.get(&id).into_iter().flatten() {
                    let Role::Constant(i) = role(from) else {
                        unreachable!("pack: baked weights are constants")
                    };
                    let tensor = &model.constants[i];
                    let put =
                        |to, value| store(copied.encoding.element(), bytes, to, value, copied.add);
                    run(copied, |from| tensor.get_f32(from), put);
                }
            }),
        };
        (id, at)
    });
    let parts = parts.collect();
    let initial = model.variables.iter().enumerate().map(|(i, variable)| {
        let tensor = &model.constants[variable.initial?];
        let delay_line = program.delay_lines.get(&i);
        (!is_zero(tensor)).then(|| block.place_initial(tensor, delay_line))
    });
    let initial = initial.collect();
    let (mut run_time_parts, mut run_time_len, mut run_time_pairs) = (Vec::new(), 0, 0);
    if run_time {
        let (pairs, rest): (Vec<_>, Vec<_>) =
            weights.iter().partition(|id| program.buffer(**id).element == Element::I8Pair);
        (run_time_parts, run_time_len) = offsets(program, &rest);
        let (parts, len) = offsets(program, &pairs);
        run_time_pairs = 2 * len;
        run_time_parts.extend(parts.into_iter().map(|(id, at)| (id, 2 * at)));
    }
    let bytes = Arc::new(block.bytes);
    let run_time = run_time_parts;
    Packed { parts, initial, bytes, run_time, run_time_len, run_time_pairs, loaded: None }
}

/// The block under construction.
struct Block {
    bytes: Vec<u8>,
    /// True if equal contents share one place.
    shares: bool,
    /// The alignment of all places, in bytes.
    alignment: usize,
    /// By the hash of contents: start, length in bytes, and element type.
    places: BTreeMap<u64, Vec<(usize, usize, Element)>>,
}

impl Block {
    fn new(program: &Program) -> Self {
        Self {
            bytes: Vec::new(),
            shares: true,
            alignment: 4 * program.aligned_elements(),
            places: BTreeMap::new(),
        }
    }

    /// Adds contents of `len` bytes and returns their offset in units of 4 bytes. `write` fills
    /// zeroed bytes at the end of the block, without a second copy of large weights. If `shares`,
    /// duplicate contents with equal element type are removed again.
    fn add(&mut self, len: usize, element: Element, write: impl FnOnce(&mut [u8])) -> usize {
        let at = self.bytes.len();
        let end = (at + len).next_multiple_of(self.alignment);
        if end > self.bytes.capacity() {
            // growth by doubling would cost as much memory as the weights
            self.bytes.reserve_exact((end - at).max(at / 16));
        }
        self.bytes.resize(end, 0);
        let (before, contents) = self.bytes.split_at_mut(at);
        let contents = &mut contents[..len];
        write(contents);
        if !self.shares {
            return at / 4;
        }
        let mut hasher = DefaultHasher::new();
        contents.hash(&mut hasher);
        let same_hash = self.places.entry(hasher.finish()).or_default();
        let is_equal = |(at, len, kind): &&(usize, usize, Element)| {
            *kind == element && &before[*at..][..*len] == contents
        };
        if let Some(&(earlier, ..)) = same_hash.iter().find(is_equal) {
            self.bytes.truncate(at);
            return earlier / 4;
        }
        same_hash.push((at, len, element));
        at / 4
    }

    /// The place of a constant, as little-endian f32.
    fn place_constant(&mut self, tensor: &Tensor) -> usize {
        self.add(4 * tensor.len(), Element::F32, |bytes| {
            for (k, element) in bytes.chunks_exact_mut(4).enumerate() {
                element.copy_from_slice(&tensor.get_f32(k).to_le_bytes());
            }
        })
    }
}

impl Block {
    /// Places the initial value of a variable: one element for each row of equal elements, and one
    /// frame of a delay line with equal frames.
    fn place_initial(&mut self, tensor: &Tensor, delay_line: Option<&DelayLine>) -> Initial {
        let bits: Vec<u32> = (0..tensor.len()).map(|k| tensor.get_f32(k).to_bits()).collect();
        let (mut stored, mut repeat) = (bits, 1);
        let is_one = |row: &[u32]| row.iter().all(|element| *element == row[0]);
        let row = match delay_line {
            Some(line) => {
                stored = line.in_rows(&stored, 0);
                let is_first = |frame: &[u32]| *frame == stored[..line.frame()];
                if line.order == FrameOrder::Rows && stored.chunks(line.frame()).all(is_first) {
                    stored.truncate(line.frame());
                }
                line.pitch()
            }
            None if stored.len() >= LEAST_REPEATED => {
                tensor.shape().last().copied().unwrap_or(1).max(1)
            }
            None => 1,
        };
        if row > 1 && stored.chunks(row).all(is_one) {
            (stored, repeat) = (stored.into_iter().step_by(row).collect(), row);
        }
        let at = self.add(4 * stored.len(), Element::F32, |bytes| {
            for (to, element) in bytes.chunks_exact_mut(4).zip(&stored) {
                to.copy_from_slice(&element.to_le_bytes());
            }
        });
        Initial { at, len: stored.len(), repeat }
    }
}

/// True if all bits are 0, the default of memory.
fn is_zero(tensor: &Tensor) -> bool {
    (0..tensor.len()).all(|k| tensor.get_f32(k).to_bits() == 0)
}

/// Packs weights from `memory` into `memory`, as kernels load them.
pub fn pack_memory(program: &Program, memory: &mut [Vec<f32>]) {
    for (copied, from, to) in program.packing.copies() {
        let source = std::mem::take(&mut memory[from.0]);
        fill(copied, |at| source[at], &mut memory[to.0]);
        memory[from.0] = source;
    }
}

/// Performs one packing copy: `get` returns elements of the source tensor.
pub fn fill(copied: &Copied, get: impl Fn(usize) -> f32, to: &mut [f32]) {
    run(copied, get, |at, value| if copied.add { to[at] += value } else { to[at] = value });
}

/// Calls `put` with index and value for every element that a copy fills.
fn run(copied: &Copied, get: impl Fn(usize) -> f32, mut put: impl FnMut(usize, f32)) {
    let (line, outer) = match copied.dims.split_last() {
        Some(split) if copied.encoding != Encoding::F32 || copied.blocks.is_some() => split,
        _ => return elements(copied, |to, from| put(to, get(from))),
    };
    let lines = Copied { dims: outer.to_vec(), ..copied.clone() };
    let (mut interleaved, mut lines_before) = (Vec::new(), 0);
    elements(&lines, |to, from| {
        let nth_line = lines_before;
        lines_before += 1;
        let read = |k: usize| get(from.wrapping_add_signed(k.cast_signed() * line.from_stride));
        let line_values: Vec<f32> = (0..line.extent).map(read).collect();
        let encoded = encode(copied.encoding, &line_values, copied.words);
        for (k, value) in encoded.into_iter().enumerate() {
            if let Some(blocks) = &copied.blocks {
                if let Some(at) = blocks.weight_index(nth_line, k) {
                    put(copied.to.offset + at, value);
                }
                continue;
            }
            let at = to + k / copied.abreast * line.to_stride + k % copied.abreast;
            if copied.interleaves_halves {
                interleaved.push((at, value.to_bits()))
            } else {
                put(at, value)
            }
        }
    });
    interleaved.sort_unstable_by_key(|(at, _)| *at);
    for four in interleaved.chunks_exact(4) {
        let halves = |shift: u32| four.iter().map(move |(_, word)| word >> shift & 0xffff);
        let halves: Vec<u32> = halves(0).chain(halves(16)).collect();
        for ((at, _), pair) in four.iter().zip(halves.chunks_exact(2)) {
            put(*at, f32::from_bits(pair[0] | pair[1] << 16));
        }
    }
}

/// Writes element `at` of `part`, an array of type `element`. With `add`, adds to the f32 there.
fn store(element: Element, part: &mut [u8], at: usize, value: f32, add: bool) {
    let to = &mut part[at * element.size()..][..element.size()];
    match element {
        Element::F16 => to.copy_from_slice(&F16::from_f32(value).to_le_bytes()),
        Element::I8 => to.copy_from_slice(&(value as i8).to_le_bytes()),
        // each half has 16 bits, the upper 8 of which repeat the sign
        Element::I8Pair => {
            to.copy_from_slice(&[value.to_bits() as u8, (value.to_bits() >> 16) as u8])
        }
        _ => {
            let before = to.first_chunk().filter(|_| add).map(|bytes| f32::from_le_bytes(*bytes));
            to.copy_from_slice(&before.map_or(value, |before| before + value).to_le_bytes());
        }
    }
}

/// Calls `each(to, from)` for every source element of a copy.
pub fn elements(copied: &Copied, mut each: impl FnMut(usize, usize)) {
    fn visit(dims: &[CopiedDim], to: usize, from: usize, each: &mut impl FnMut(usize, usize)) {
        match dims {
            [] => each(to, from),
            [dim, rest @ ..] => {
                let mut from = from;
                for i in 0..dim.extent {
                    visit(rest, to + i * dim.to_stride, from, each);
                    from = from.wrapping_add_signed(dim.from_stride);
                }
            }
        }
    }
    visit(&copied.dims, copied.to.offset, copied.from.offset, &mut each);
}

fn offsets(program: &Program, buffers: &[BufferId]) -> (Vec<(BufferId, usize)>, usize) {
    let mut at = 0usize;
    let mut parts = Vec::new();
    for id in buffers {
        parts.push((*id, at));
        let buffer = program.buffer(*id);
        at = (at + buffer.bytes().div_ceil(4)).next_multiple_of(program.aligned_elements());
    }
    (parts, at)
}

#[cfg(test)]
mod tests;
