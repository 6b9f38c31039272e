//! The layout of the rows of weights of a product.

use crate::encoding::WeightFormat;
use crate::kernel::{BlockProduct, Element, Encoding};

/// How rows of packed weights stand in memory. All instruction sets of a file read one layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// The storage of a weight.
    pub format: WeightFormat,
    /// The interleaving of words.
    pub interleave: Interleave,
    /// The blocks of zero weights whose products are left out. `None`: products have all weights.
    pub blocks: Option<ZeroBlocks>,
    /// True if sums of bytes have zero-point corrections: an instruction set multiplies unsigned
    /// bytes of elements, which are stored with an offset.
    pub(super) corrects: bool,
}

/// How products leave out blocks of zero weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroBlocks {
    /// Code without loops leaves out the products of zero blocks. A block has this number of rows,
    /// the lanes of a vector of sums. Packed weights have all blocks.
    Unrolled(usize),
    /// Packed weights have only the blocks that are not zero, each with the index of its inputs.
    Indexed(BlockProduct),
}

/// The order in which words hold the elements of a vector, and weights of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordOrder {
    /// Word k holds element k of each part of the vector, so that a vector of words is made of
    /// whole vectors of elements.
    Parts,
    /// Words hold neighbouring elements, as in blocks of pruned models.
    Neighbours,
}

/// The interleaving of neighbouring words of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interleave {
    /// A row has one word of each column.
    None,
    /// This number of words of a column stand together: the lanes of an instruction that adds
    /// products across lanes.
    Words(usize),
    /// In groups of this number of columns, one per lane, the low halves of all 16-bit pairs stand
    /// before the high halves, for an instruction that multiplies halves by one element.
    Halves(usize),
}

impl RowLayout {
    /// Rows of f32 weights.
    pub const F32: Self = Self {
        format: WeightFormat::F32,
        interleave: Interleave::None,
        blocks: None,
        corrects: false,
    };

    /// Words of one column that stand together.
    pub fn words_together(&self) -> usize {
        match self.interleave {
            Interleave::Words(lanes) => lanes,
            Interleave::None | Interleave::Halves(_) => 1,
        }
    }

    /// The packing of a column of a matrix of `rows` rows.
    pub fn encoding(&self, rows: usize) -> Encoding {
        match (self.word_order(), self.format.encoding(rows)) {
            (WordOrder::Neighbours, Encoding::Int8Quad) => Encoding::Int8Neighbours,
            (WordOrder::Neighbours, Encoding::Int16Pair) => Encoding::Int16Neighbours,
            (_, encoding) => encoding,
        }
    }

    /// The order of the elements of words.
    pub fn word_order(&self) -> WordOrder {
        match self.blocks {
            Some(_) => WordOrder::Neighbours,
            None => WordOrder::Parts,
        }
    }

    /// True if every sum adds a guard, which is NaN if an element of the operand is not finite:
    /// without products of zero weights, the sum would ignore this element.
    pub fn guards_sums(&self) -> bool {
        self.blocks.is_some() && !self.format.has_scales()
    }

    /// The product of a block, if packed weights have an index of their blocks.
    pub fn indexed(&self) -> Option<BlockProduct> {
        match self.blocks {
            Some(ZeroBlocks::Indexed(product)) => Some(product),
            Some(ZeroBlocks::Unrolled(_)) | None => None,
        }
    }

    /// Words or elements of one column of a matrix of `rows` rows.
    pub fn words(&self, rows: usize) -> usize {
        self.format.encoding(rows).len(rows).next_multiple_of(self.words_together())
    }

    /// True if the halves of words are interleaved in panels of `columns` columns of a matrix of
    /// `rows` rows: all vectors must be full.
    pub fn interleaves_halves(&self, rows: usize, columns: usize) -> bool {
        match self.interleave {
            Interleave::Halves(lanes) => {
                lanes > 1 && columns.is_multiple_of(lanes) && self.format.in_word(rows) == 2
            }
            Interleave::None | Interleave::Words(_) => false,
        }
    }

    /// True if the sums over `rows` rows have zero-point corrections; false for 16-bit elements.
    pub fn has_corrections(&self, rows: usize) -> bool {
        self.corrects && WeightFormat::Int8Quad.in_word(rows) == 4
    }

    /// True if all rows of a sum precede those of the next sum in a panel of `columns` columns: for
    /// sums across lanes.
    pub fn separates_sums(&self, columns: usize) -> bool {
        self.words_together() > 1 && columns.is_multiple_of(self.words_together())
    }

    /// Bytes of a stored element.
    pub fn element_bytes(&self) -> usize {
        self.element().size()
    }

    /// The type of a stored element: f32 also for pairs of bf16 and for words of `Int8Quad` and
    /// `Int16`.
    pub fn element(&self) -> Element {
        self.format.encoding(0).element()
    }

    /// True if biases, peepholes, scales and zero-point corrections are in a separate buffer of
    /// f32: if stored elements are not f32.
    pub fn has_separate_biases(&self) -> bool {
        self.element() != Element::F32
    }

    /// The size of packed weights and separate biases.
    pub(super) fn bytes(&self, weights: usize, biases: usize) -> usize {
        weights * self.element_bytes() + biases * 4
    }
}
