//! Dot products of integers: what one instruction multiplies and adds.

use crate::kernel::LaneOp;

/// A dot product of an instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    /// Two 16-bit products per lane are added to the lane (`VPDPWSSD`).
    Pairs,
    /// Four byte products per lane are added to the lane. Elements are unsigned (`VPDPBUSD`), so a
    /// constant packed with the weights corrects each sum.
    UnsignedQuads,
    /// Every lane of weights is multiplied by one lane of elements (`SMLAL` and `SDOT` by element).
    ByLane(ByLane),
    /// Products of all lanes are added to one sum: lanes are neighbours in a weight row, not
    /// columns (`VMLADAVA`).
    Across,
    /// Scalar bodies: 8-bit weights are widened and multiplied by 16-bit activations, two per
    /// instruction (`SMLAD`).
    WidenedPairs,
    /// Products of a tile of elements, with up to `rows` rows of `TILE_WORDS` words, and a tile of
    /// weights, with `TILE_WORDS` columns. Each word holds four bytes (`TDPBSSD`).
    Tiles {
        /// The largest number of element rows.
        rows: usize,
    },
}

impl Dot {
    /// The number of integers of a weight word that the dot product multiplies.
    pub fn in_word(&self) -> usize {
        match self {
            Self::Pairs | Self::WidenedPairs => 2,
            Self::UnsignedQuads | Self::Across | Self::Tiles { .. } => 4,
            Self::ByLane(by_lane) => by_lane.in_word,
        }
    }
}

/// A dot product of the weight word in each lane with the element word in one lane, added to a sum
/// per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByLane {
    /// Integers per word: 2 for [`DotPairsByLane`](LaneOp::DotPairsByLane), 4 for
    /// [`DotQuadsByLane`](LaneOp::DotQuadsByLane).
    pub in_word: usize,
    /// C: `{0}` stands for the weights, `{1}` for the elements, `{2}` for the sums, `{3}` for the
    /// lane, `{4}` and `{5}` for the indices of the lane's 16-bit halves.
    pub c: &'static str,
    /// Rust: a function of weights, elements and sums. The lane, or the indices of the lane's
    /// halves, are const parameters.
    pub rust: &'static str,
}

impl ByLane {
    /// The spelling of `operation` among dot products. `None` if no instruction computes the
    /// operation.
    pub fn find(dots: &'static [Dot], operation: LaneOp) -> Option<&'static Self> {
        let in_word = match operation {
            LaneOp::DotPairsByLane(_) => 2,
            LaneOp::DotQuadsByLane(_) => 4,
            _ => return None,
        };
        dots.iter().find_map(|dot| match dot {
            Dot::ByLane(by_lane) if by_lane.in_word == in_word => Some(by_lane),
            _ => None,
        })
    }
}
