//! The loops of a floor, what no kernel can go below: for each instruction set that this machine
//! has.

/// A line of cache, and the widest vector.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Line<T>(pub(crate) [T; 16]);

/// The loops of one instruction set. What they write depends on all that they did, or it could be
/// left out.
pub(crate) struct Loops {
    /// Loads every element once; writes the bits that any of them has.
    pub(crate) stream: fn(&[f32], &mut Line<u32>),
    /// Multiplies and adds, a whole vector at a time; writes the sum of the chains' bits.
    pub(crate) arithmetic: fn(usize, &mut Line<u32>),
}

/// Chains of multiply-adds, all in registers: enough to hide the latency of a multiplication and an
/// addition, of which most cores begin two of each a cycle.
pub(crate) const CHAINS: usize = 14;

/// The compiler chooses the vectors of a plain loop.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const PLAIN: Loops = Loops {
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
};
