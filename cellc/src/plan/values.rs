//! Vector registers per value of a kernel.

use super::product::Product;
use crate::arch::{Isa, PlannedIsa};
use crate::request::Language;

/// Vector registers per value of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One: dot products of integers are operations of registers.
    Registers,
    /// All columns of a pass, in a struct in generated C.
    Joined,
    /// All columns of a pass, and passes of equal size are a loop. One lane is a number.
    Passes,
    /// All columns of a pass on every instruction set, including scalar ones, as the bodies of a C
    /// file share the text of their kernels.
    OneText,
}

impl Values {
    /// The registers per value in a language. In C, all bodies share one text of the kernels if an
    /// instruction set with vectors, except the first, joins registers.
    pub fn new(language: Language, isas: &[PlannedIsa]) -> Self {
        let mut vector_isas =
            isas.iter().map(|planned| planned.isa).filter(|isa| isa.lanes > 1).skip(1);
        match language {
            Language::Rust => Self::Passes,
            Language::C if vector_isas.any(|isa| isa.code.joins) => Self::OneText,
            Language::C => Self::Joined,
        }
    }

    /// True if passes of equal size form a loop.
    pub(super) fn has_loops(self) -> bool {
        matches!(self, Self::Passes | Self::OneText)
    }

    /// The registers per value in a product. Integer dot products use single registers.
    pub fn of_product(self, product: &Product) -> Self {
        if product.layout.format.is_of_integers() { Self::Registers } else { self }
    }

    /// True if a value covers several registers on an instruction set. In generated Rust, one lane
    /// is a plain number.
    pub(super) fn joins(self, isa: &Isa) -> bool {
        match self {
            Self::Registers => false,
            Self::Joined => isa.code.joins,
            Self::Passes => isa.lanes > 1,
            Self::OneText => true,
        }
    }

    /// The values of a pass, as (column, lanes). On instruction sets with joined registers,
    /// neighbouring vectors form one value.
    pub fn of_pass(self, vectors: &[(usize, usize)], isa: &Isa) -> Vec<(usize, usize)> {
        match self.joins(isa) {
            false => vectors.to_vec(),
            true => {
                vectors.iter().fold(Vec::new(), |mut all: Vec<(usize, usize)>, &(at, lanes)| {
                    match all.last_mut() {
                        Some((first, joined)) if *first + *joined == at => *joined += lanes,
                        _ => all.push((at, lanes)),
                    }
                    all
                })
            }
        }
    }
}
