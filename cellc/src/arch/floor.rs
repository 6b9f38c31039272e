//! Loops that measure a floor, the lower bound of a kernel's time, for an instruction set of this
//! machine.

/// 16 elements of 4 bytes, aligned to 64 bytes: as large as an x86 cache line or AVX-512 vector.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Line<T>(pub(crate) [T; 16]);

/// The loops of one instruction set. The written result depends on all loads or operations, so
/// compilers cannot drop any.
pub(crate) struct Loops {
    /// Loads every element once. Writes the bitwise or of all elements.
    pub(crate) stream: fn(&[f32], &mut Line<u32>),
    /// Executes the given number of multiply-adds, in registers; x86 rounds up to whole vectors.
    /// Writes the sum of the bits of all chains.
    pub(crate) arithmetic: fn(usize, &mut Line<u32>),
}

/// Independent chains of multiply-adds in registers. Enough to hide the latency of a multiplication
/// and an addition on cores with two of each per cycle.
pub(crate) const CHAINS: usize = 14;

/// Portable loops for machines other than x86-64. The compiler vectorises the loops.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const PLAIN: Loops = Loops {
    stream: |weights, out| {
        let (chunks, rest) = weights.as_chunks::<16>();
        let rest = rest.iter().fold(0, |all, w| all | w.to_bits());
        let mut combined = [rest; 16];
        for chunk in chunks {
            for (combined, w) in combined.iter_mut().zip(chunk) {
                *combined |= w.to_bits();
            }
        }
        out.0 = combined;
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
