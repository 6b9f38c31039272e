//! Which intermediate values share a place: one block by liveness.

use crate::kernel::{BufferId, Program, Role};

/// Every value starts at a multiple of this many f32: a cache line.
const LINE: usize = 16;

impl Program {
    /// Gives every scratch buffer that kernels are handed a place in the block; those that are never wanted at the same
    /// time may get the same one. First fit, the largest first.
    pub(super) fn allocate_block(&mut self) {
        let mut wanted: Vec<Wanted> = Vec::new();
        for (at, group) in self.groups().enumerate() {
            for id in group.iter().flat_map(|kernel| &kernel.params).map(|(id, _)| self.whole(*id).0) {
                if self.buffers[id.0].role != Role::Scratch {
                    continue;
                }
                match wanted.iter_mut().find(|w| w.id == id) {
                    Some(known) => known.last = at,
                    None => wanted.push(Wanted { id, len: self.buffers[id.0].len, first: at, last: at }),
                }
            }
        }
        wanted.sort_by_key(|w| (std::cmp::Reverse(w.len), w.id));
        let mut placed: Vec<(Wanted, usize)> = Vec::new();
        for new in wanted {
            let mut taken: Vec<(usize, usize)> = placed
                .iter()
                .filter(|(other, _)| other.first <= new.last && new.first <= other.last)
                .map(|(other, at)| (*at, at + other.len))
                .collect();
            taken.sort_unstable();
            let mut at = 0;
            for (start, end) in taken {
                if at + new.len <= start {
                    break;
                }
                at = at.max(end.next_multiple_of(LINE));
            }
            placed.push((new, at));
        }
        self.block_len = placed.iter().map(|(w, at)| at + w.len).max().unwrap_or(0).next_multiple_of(LINE);
        placed.sort_by_key(|(w, _)| w.id);
        self.block = placed.into_iter().map(|(w, at)| (w.id, at)).collect();
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
