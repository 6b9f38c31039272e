//! How many instructions code takes on Arm, by `tests/machines/fit.py`; what a weight of fewer bits takes, by `tests/tests/instructions_machines.txt`.

use super::super::{Instructions, Work};

/// A core with an FPU and without vectors.
pub(super) const ONE_LANE: Instructions = Instructions {
    each: &[
        (Work::Step, 41.19),
        (Work::Kernel, 17.84),
        (Work::Kept, 1.03),
        (Work::Loop, 2.92),
        (Work::Iteration, 1.78),
        (Work::Window, 0.85),
        (Work::Branch, 2.9),
        (Work::Load, 0.58),
        (Work::LoadHalf, 1.4),
        (Work::LoadByte, 2.9),
        (Work::LoadBytePairs, 2.05),
        (Work::Splat, 0.68),
        (Work::Length, 2.99),
        (Work::Store, 0.68),
        (Work::Constant, 1.33),
        (Work::MultiplyAdd, 1.16),
        (Work::Add, 0.93),
        (Work::DotPairs, 1.58),
        (Work::Divide, 1.03),
        (Work::Select, 2.21),
        (Work::Flush, 2.97),
        (Work::Bits, 1.3),
        (Work::Call, 4.65),
        (Work::Line, 3.18),
        (Work::Neighbour, 0.47),
        (Work::Element, 2.0),
    ],
    bytes: 3.7,
};

/// AArch64 with NEON.
pub(super) const AARCH64: Instructions = Instructions {
    each: &[
        (Work::Step, 45.47),
        (Work::Kernel, 20.04),
        (Work::Kept, 1.13),
        (Work::Loop, 2.48),
        (Work::Iteration, 2.28),
        (Work::Window, 0.67),
        (Work::Branch, 3.04),
        (Work::Load, 1.35),
        (Work::LoadHalf, 1.5),
        (Work::LoadByte, 2.35),
        (Work::LoadBytePairs, 2.2),
        (Work::Length, 3.01),
        (Work::Store, 0.86),
        (Work::Constant, 1.06),
        (Work::MultiplyAdd, 1.15),
        (Work::Add, 0.64),
        (Work::DotPairs, 1.5),
        (Work::Divide, 1.04),
        (Work::Select, 2.17),
        (Work::Flush, 3.47),
        (Work::Bits, 1.33),
        (Work::Call, 4.35),
        (Work::Line, 3.59),
        (Work::Neighbour, 0.51),
        (Work::Element, 2.0),
    ],
    bytes: 4.0,
};
