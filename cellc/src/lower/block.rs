//! Which intermediate values share a place: one block by liveness.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::kernel::{BufferId, Program, Role};

/// Every value starts at a multiple of this many f32: a cache line.
const LINE: usize = 16;

impl Program {
    /// Gives every scratch buffer that kernels are handed a place in the block; those that are never wanted at the same
    /// time may get the same one. First fit, the largest first.
    pub(super) fn allocate_block(&mut self) {
        let mut lives: BTreeMap<BufferId, (usize, usize)> = BTreeMap::new();
        for (at, group) in self.groups().enumerate() {
            for id in group.iter().flat_map(|kernel| &kernel.params).map(|(id, _)| self.whole(*id).0) {
                if self.buffers[id.0].role == Role::Scratch {
                    lives.entry(id).or_insert((at, at)).1 = at;
                }
            }
        }
        let wanted =
            lives.into_iter().map(|(id, (first, last))| Wanted { id, len: self.buffers[id.0].len, first, last });
        let mut wanted: Vec<Wanted> = wanted.collect();
        wanted.sort_by_key(|w| (Reverse(w.len), w.id));
        // in the order of their places
        let mut placed: Vec<(usize, Wanted)> = Vec::new();
        for new in wanted {
            let mut at = 0;
            for (start, other) in &placed {
                if at + new.len <= *start {
                    break;
                }
                if other.first <= new.last && new.first <= other.last {
                    at = at.max((start + other.len).next_multiple_of(LINE));
                }
            }
            placed.insert(placed.partition_point(|(start, _)| *start <= at), (at, new));
        }
        self.block_len = placed.iter().map(|(at, w)| at + w.len).max().unwrap_or(0).next_multiple_of(LINE);
        self.block = placed.into_iter().map(|(at, w)| (w.id, at)).collect();
        self.block.sort_unstable();
    }
}

/// A buffer, and the first and the last kernel that it is handed to; two at the same time count as one.
#[derive(Clone, Copy)]
struct Wanted {
    id: BufferId,
    len: usize,
    first: usize,
    last: usize,
}
