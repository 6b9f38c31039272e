//! Where the choices of an operation come from.

use std::fmt::{Debug, Write};
use std::slice::Iter;

/// The sizes of tensors: some that instruction sets tile evenly, some that leave a rest.
pub(super) const SIZES: [usize; 12] = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17];
/// The most elements of a tensor that is not a weight.
pub(super) const MOST_ELEMENTS: usize = 400;

/// The numbers of an operation, one for each choice, and zeros behind: 0 is the simplest choice.
pub(super) struct Choices<'a> {
    numbers: Iter<'a, u8>,
    chosen: String,
}

impl<'a> Choices<'a> {
    pub(super) fn new(numbers: &'a [u8]) -> Self {
        Self { numbers: numbers.iter(), chosen: String::new() }
    }

    /// What was chosen so far.
    pub(super) fn chosen(self) -> String {
        self.chosen
    }

    /// Adds to what was chosen.
    pub(super) fn note(&mut self, text: &str) {
        self.chosen += text;
    }

    /// Less than n, of something that names itself.
    pub(super) fn index(&mut self, n: usize) -> usize {
        self.numbers.next().map_or(0, |number| usize::from(*number)) % n
    }

    /// Less than n.
    pub(super) fn below(&mut self, name: &str, n: usize) -> usize {
        let number = self.index(n);
        let _ = write!(self.chosen, " {name}={number}");
        number
    }

    /// Not so for the simplest recipe.
    pub(super) fn one_in(&mut self, name: &str, n: usize) -> bool {
        let so = self.index(n) == n - 1;
        if so {
            let _ = write!(self.chosen, " {name}");
        }
        so
    }

    /// One of these.
    pub(super) fn pick<T: Copy + Debug>(&mut self, name: &str, of: &[T]) -> T {
        let value = of[self.index(of.len())];
        let _ = write!(self.chosen, " {name}={value:?}");
        value
    }

    /// A shape of so many dimensions, none of them large where there are many.
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
