//! The source of an operation's choices.

use std::fmt::{Debug, Write};
use std::slice::Iter;

/// The sizes of tensors: some that instruction sets tile evenly, some that leave a remainder.
pub(super) const SIZES: [usize; 12] = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17];
/// The maximum number of elements of a tensor other than a weight.
pub(super) const MOST_ELEMENTS: usize = 400;

/// The numbers that decide the choices of an operation, followed by zeros: 0 is the simplest
/// choice.
pub(super) struct Choices<'a> {
    numbers: Iter<'a, u8>,
    chosen: String,
}

impl<'a> Choices<'a> {
    pub(super) fn new(numbers: &'a [u8]) -> Self {
        Self { numbers: numbers.iter(), chosen: String::new() }
    }

    /// The choices so far, as text.
    pub(super) fn chosen(self) -> String {
        self.chosen
    }

    /// Adds a text to the choices.
    pub(super) fn note(&mut self, text: &str) {
        self.chosen += text;
    }

    /// A number below n, without a name.
    pub(super) fn index(&mut self, n: usize) -> usize {
        self.numbers.next().map_or(0, |number| usize::from(*number)) % n
    }

    /// A number below n, with a name.
    pub(super) fn below(&mut self, name: &str, n: usize) -> usize {
        let number = self.index(n);
        let _ = write!(self.chosen, " {name}={number}");
        number
    }

    /// True in one of n cases. False for the simplest recipe.
    pub(super) fn one_in(&mut self, name: &str, n: usize) -> bool {
        let so = self.index(n) == n - 1;
        if so {
            let _ = write!(self.chosen, " {name}");
        }
        so
    }

    /// An element of `of`.
    pub(super) fn pick<T: Copy + Debug>(&mut self, name: &str, of: &[T]) -> T {
        let value = of[self.index(of.len())];
        let _ = write!(self.chosen, " {name}={value:?}");
        value
    }

    /// A shape with this rank, of at most [`MOST_ELEMENTS`] elements.
    pub(super) fn shape(&mut self, name: &str, rank: usize) -> Vec<usize> {
        let mut shape: Vec<usize> = (0..rank).map(|_| SIZES[self.index(SIZES.len())]).collect();
        while shape.iter().product::<usize>() > MOST_ELEMENTS {
            let largest = shape.iter_mut().max().expect("a dimension");
            *largest /= 2;
        }
        let _ = write!(self.chosen, " {name}={shape:?}");
        shape
    }
}
