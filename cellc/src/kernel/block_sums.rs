//! Sums over the blocks of weights that are not zero.

use super::{Element, LaneOp, Place, Program};

/// Inputs of every block except [`BlockProduct::Floats`].
pub const BLOCK_INPUTS: usize = 4;

/// The multiplication of a block of weights by the elements of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockProduct {
    /// f32: one input, [`LaneOp::MulAdd`].
    Floats,
    /// f32: four inputs, in order.
    FloatQuads,
    /// Four bytes in each word of weights, times one word of four bytes.
    Quads,
    /// Four bytes in each word of weights, times two words of 16-bit elements: the factors of the
    /// even bytes, then the factors of the odd bytes.
    WidenedQuads,
    /// Two words of two 16-bit weights, times two words of elements.
    Pairs,
}

/// The places of the blocks of a packed matrix that are not zero. A row of blocks packs `rows`
/// lines of a copy together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockPlaces {
    /// Lines of a copy in a block.
    pub rows: usize,
    /// Words of one line in a block.
    pub words: usize,
    /// By row of blocks: the number of blocks before the row, and the inputs of its blocks, counted
    /// in blocks.
    pub block_rows: Vec<(usize, Vec<usize>)>,
}

impl BlockPlaces {
    /// Elements from the destination of a copy to the end of the last block.
    pub fn reach(&self) -> usize {
        let end = |(first, inputs): &(usize, Vec<usize>)| first + inputs.len();
        self.block_rows.iter().map(end).max().unwrap_or(0) * self.rows * self.words
    }

    /// The place of the `word`-th word of the `line`-th line. `None`: the block is zero.
    pub fn weight_index(&self, line: usize, word: usize) -> Option<usize> {
        let (first, inputs) = &self.block_rows[line / self.rows];
        let block = first + inputs.binary_search(&(word / self.words)).ok()?;
        Some((block * self.words + word % self.words) * self.rows + line % self.rows)
    }
}

impl BlockProduct {
    /// Words of weights of one row of a block.
    pub fn weight_words(self) -> usize {
        match self {
            Self::Floats | Self::Quads | Self::WidenedQuads => 1,
            Self::Pairs => 2,
            Self::FloatQuads => 4,
        }
    }

    /// Words of elements of the inputs of a block.
    pub fn element_words(self) -> usize {
        match self {
            Self::Floats | Self::Quads => 1,
            Self::WidenedQuads | Self::Pairs => 2,
            Self::FloatQuads => 4,
        }
    }

    /// Inputs of a block.
    pub fn inputs(self) -> usize {
        if self == Self::Floats { 1 } else { BLOCK_INPUTS }
    }

    /// True for products of f32.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Floats | Self::FloatQuads)
    }

    /// The operations of a row of a block, each with its word of weights and its word of elements.
    pub fn operations(self) -> &'static [(LaneOp, usize, usize)] {
        match self {
            Self::Floats => &[(LaneOp::MulAdd, 0, 0)],
            Self::FloatQuads => &[
                (LaneOp::MulAdd, 0, 0),
                (LaneOp::MulAdd, 1, 1),
                (LaneOp::MulAdd, 2, 2),
                (LaneOp::MulAdd, 3, 3),
            ],
            Self::Quads => &[(LaneOp::DotQuads, 0, 0)],
            Self::WidenedQuads => {
                &[(LaneOp::WidenAndMultiplyEven, 0, 0), (LaneOp::WidenAndMultiplyOdd, 0, 1)]
            }
            Self::Pairs => &[(LaneOp::DotPairs, 0, 0), (LaneOp::DotPairs, 1, 1)],
        }
    }
}

/// Sums of products of a vector and the blocks of a matrix that are not zero.
///
/// A row of blocks makes `rows` sums. The blocks of all rows follow each other at `weights`;
/// `counts` has the number of blocks of each row. A block holds a word of each row, then the next
/// words. `inputs` has one element for each block: the block multiplies the words from [element
/// words](BlockProduct::element_words) times this element on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockSums {
    /// The product of a block.
    pub product: BlockProduct,
    /// The first word of the vector.
    pub elements: Place,
    /// Words of the vector.
    pub words: usize,
    /// The first word of the first block.
    pub weights: Place,
    /// The number of blocks of each row of blocks, in a table.
    pub counts: Place,
    /// The inputs of each block, in a table.
    pub inputs: Place,
    /// The first sum. Sums of integers are the bits of f32.
    pub to: Place,
    /// Rows of blocks.
    pub block_rows: usize,
    /// Rows of a block.
    pub rows: usize,
    /// The number of blocks that are not zero.
    pub present: usize,
}

impl BlockSums {
    /// The places to read, each with the number of elements.
    pub fn read(&self) -> [(Place, usize); 4] {
        [
            (self.elements, self.words),
            (self.weights, self.present * self.block_words()),
            (self.counts, self.block_rows),
            (self.inputs, self.present),
        ]
    }

    /// Words of a block.
    pub fn block_words(&self) -> usize {
        self.rows * self.product.weight_words()
    }

    /// The number of sums.
    pub fn sums(&self) -> usize {
        self.block_rows * self.rows
    }

    /// The statement with its places changed.
    pub fn at(&self, mut place: impl FnMut(Place) -> Place) -> Self {
        let [elements, weights, counts, inputs, to] =
            [self.elements, self.weights, self.counts, self.inputs, self.to].map(&mut place);
        Self { elements, weights, counts, inputs, to, ..self.clone() }
    }

    /// The number of blocks, including those that are zero.
    pub fn all(&self) -> usize {
        self.block_rows * self.words / self.product.element_words()
    }
}

impl Program {
    /// Bytes of the tables of blocks that are not zero.
    pub fn index_bytes(&self) -> usize {
        let tables = self.tables.iter().map(|(id, _)| self.buffer(*id));
        let is_index = |element: Element| matches!(element, Element::U8 | Element::U16);
        tables.filter(|buffer| is_index(buffer.element)).map(|buffer| buffer.bytes()).sum()
    }
}
