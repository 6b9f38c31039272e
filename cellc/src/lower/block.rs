//! Memory of intermediate values: one block, shared according to liveness.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::kernel::{BodyRef, BufferId, Role};

/// Places every scratch buffer that kernels have as a parameter in the block. Buffers with disjoint
/// lifetimes may overlap. Returns the offsets and the length of the block in elements. First fit,
/// largest buffer first.
pub(super) fn allocate(body: BodyRef<'_>) -> (Vec<(BufferId, usize)>, usize) {
    let line = body.program.aligned_elements();
    let mut lives: BTreeMap<BufferId, (usize, usize)> = BTreeMap::new();
    for (at, group) in body.groups().chain(body.of_steps().chunks(1)).enumerate() {
        for id in group.iter().flat_map(|kernel| &kernel.params).map(|(id, _)| body.whole(*id).0) {
            if body.buffer(id).role == Role::Scratch {
                lives.entry(id).or_insert((at, at)).1 = at;
            }
        }
    }
    let wanted = lives.into_iter().map(|(id, (first, last))| Lifetime {
        id,
        len: body.buffer(id).len,
        first,
        last,
    });
    let mut wanted: Vec<Lifetime> = wanted.collect();
    wanted.sort_by_key(|w| (Reverse(w.len), w.id));
    // the buffers placed so far, in the order of offsets
    let mut placed: Vec<(usize, Lifetime)> = Vec::new();
    for new in wanted {
        let mut at = 0;
        for (start, other) in &placed {
            if at + new.len <= *start {
                break;
            }
            if other.first <= new.last && new.first <= other.last {
                at = at.max((start + other.len).next_multiple_of(line));
            }
        }
        placed.insert(placed.partition_point(|(start, _)| *start <= at), (at, new));
    }
    let len = placed.iter().map(|(at, w)| at + w.len).max().unwrap_or(0).next_multiple_of(line);
    let mut block: Vec<_> = placed.into_iter().map(|(at, w)| (w.id, at)).collect();
    block.sort_unstable();
    (block, len)
}

/// A buffer, and the first and last group of kernels that use the buffer. Concurrent kernels form
/// one group.
#[derive(Clone, Copy)]
struct Lifetime {
    id: BufferId,
    len: usize,
    first: usize,
    last: usize,
}
