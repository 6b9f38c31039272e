//! The right-hand sides of phases: vectors that multiply the weights, or sums computed earlier.

use super::TapPlaces;
use crate::kernel::Place;
use crate::lower::builder::MovingPlace;

/// The right-hand sides of a product's early phases.
#[derive(Clone)]
pub(super) struct Multiplied {
    pub(super) x: Terms,
    pub(super) h: Option<Terms>,
}

/// The right-hand side of one phase: vectors still to be multiplied, or sums computed earlier.
#[derive(Clone)]
pub(super) enum Terms {
    /// Vectors that multiply the weights.
    Vectors(Vectors),
    /// f32 sums computed earlier: the columns of each sum of the phase.
    Sums(Place),
    /// Integer sums computed earlier: the columns of each sum of the phase.
    Integers {
        sums: Place,
        /// The scale of the operand, one element per row.
        scale: Place,
    },
}

impl Terms {
    /// The buffers with a part for each row.
    pub(super) fn rows(&self, words: usize, sums: usize) -> Vec<MovingPlace> {
        match self {
            Self::Vectors(Vectors { elements, scales, .. }) => {
                let scales = scales.map(|scales| MovingPlace::new("scale_row", scales, 1, false));
                let elements = MovingPlace::new("words_row", elements.neighbours(), words, false);
                [elements].into_iter().chain(scales).collect()
            }
            Self::Sums(place) => vec![MovingPlace::new("sums_row", *place, sums, false)],
            Self::Integers { sums: place, scale } => {
                vec![
                    MovingPlace::new("sums_row", *place, sums, false),
                    MovingPlace::new("scale_row", *scale, 1, false),
                ]
            }
        }
    }

    /// The place of sums computed earlier.
    pub(super) fn sums(&self) -> Option<Place> {
        match self {
            Self::Vectors(_) => None,
            Self::Sums(place) | Self::Integers { sums: place, .. } => Some(*place),
        }
    }

    /// A copy with sums computed earlier at another place, such as the place of a panel. Vectors
    /// stay where they are, and `place` is not called.
    pub(super) fn with_sums(&self, place: impl FnOnce() -> Place) -> Self {
        match self {
            Self::Vectors(_) => self.clone(),
            Self::Sums(_) => Self::Sums(place()),
            Self::Integers { scale, .. } => Self::Integers { sums: place(), scale: *scale },
        }
    }

    /// The right-hand side of one row, at the next of `places`.
    pub(super) fn of_row(&self, places: &mut impl Iterator<Item = Place>) -> Self {
        let mut place = || places.next().expect("lower: as many places as rows");
        match self {
            Self::Vectors(Vectors { scales, .. }) => {
                let elements = Elements::Neighbours(place());
                let scales = scales.map(|_| place());
                Self::Vectors(Vectors { scales, ..Vectors::floats(elements, 1) })
            }
            Self::Sums(_) => Self::Sums(place()),
            Self::Integers { .. } => {
                let sums = place();
                Self::Integers { sums, scale: place() }
            }
        }
    }
}

/// The elements of a vector.
#[derive(Clone, Copy)]
pub(super) enum Elements {
    /// Neighbours in memory, from this place on.
    Neighbours(Place),
    /// The taps of a delay line.
    Taps(TapPlaces),
}

impl Elements {
    /// The place of the first element, for neighbours in memory.
    pub(super) fn neighbours(self) -> Place {
        match self {
            Self::Neighbours(first) => first,
            Self::Taps(_) => unreachable!("plan: only single rows of broadcast elements are taps"),
        }
    }
}

/// Vectors that multiply the weights of a phase, one for each row.
#[derive(Clone)]
pub(super) struct Vectors {
    /// The first vector. The vectors of further rows follow.
    pub(super) elements: Elements,
    pub(super) count: usize,
    /// The scales of the vectors, one per row. `None` for f32 operands.
    pub(super) scales: Option<Place>,
    /// -0, or NaN if an element of the only vector is not finite. Every sum adds the guard, as zero
    /// weights multiply nothing. `None`: each element multiplies all weights.
    pub(super) guard: Option<Place>,
}

impl Vectors {
    /// f32 vectors that multiply all weights.
    pub(super) fn floats(elements: Elements, count: usize) -> Self {
        Self { elements, count, scales: None, guard: None }
    }

    /// The elements of each vector, for vectors of `len` elements.
    pub(super) fn rows(&self, len: usize) -> Vec<Elements> {
        let row = |row| match self.elements {
            Elements::Neighbours(first) => Elements::Neighbours(first.at(row * len)),
            taps @ Elements::Taps(_) => taps,
        };
        (0..self.count).map(row).collect()
    }

    /// The scale of one vector.
    pub(super) fn scale(&self, row: usize) -> Option<Place> {
        self.scales.map(|scales| scales.at(row))
    }
}
