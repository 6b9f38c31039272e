//! Operands of a product: vectors of elements, quantised if the weights are integers, or sums
//! computed earlier.

use super::{Column, Rows, for_rows};
use crate::kernel::{Place, Stmt};
use crate::numerics::Multiples;
use crate::plan::{Choice, DotWord, Microkernel, Phase};

/// The operands of a product in the form in which kernels multiply weights by operands.
#[derive(Clone)]
pub(super) struct Multiplied {
    pub(super) x: Terms,
    pub(super) h: Option<Terms>,
}

/// The scale with which a vector becomes integers.
#[derive(Clone, Copy)]
pub(in crate::lower) enum Scale {
    /// A dynamic scale: the largest element becomes this whole number.
    Dynamic(u16),
    /// A scale of the model: all elements are multiples of this number.
    Model(f32),
}

impl Scale {
    /// The scale of x and the end of a comment sentence about x. A scale of the model takes
    /// precedence over a dynamic scale with a range of integers. `None`: x stays f32.
    pub(in crate::lower) fn of_x(
        model: Option<Multiples>,
        range: Option<u16>,
    ) -> Option<(Self, String)> {
        Some(match (model, range) {
            (Some(x), _) if x.scale == 1.0 => {
                (Self::Model(1.0), format!("are whole numbers up to {}", x.magnitude()))
            }
            (Some(x), _) => {
                let times =
                    format!("are whole numbers up to {} times a scale of the model", x.magnitude());
                (Self::Model(x.scale), times)
            }
            (None, Some(range)) => {
                (Self::Dynamic(range), format!("as whole numbers up to {range}"))
            }
            (None, None) => return None,
        })
    }
}

/// A vector of packed integers: words that hold several elements each.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Words {
    /// The integers of one word.
    word: DotWord,
    /// Words of elements in one operation that sums across lanes. 1: each lane has a sum of its
    /// own.
    together: usize,
}

impl Words {
    /// Elements per word.
    pub(in crate::lower) fn each(self) -> usize {
        self.word.elements()
    }

    /// True if the elements are unsigned bytes: each is stored with
    /// [`OFFSET`](crate::encoding::OFFSET) added.
    pub(in crate::lower) fn is_unsigned(self) -> bool {
        self.word == DotWord::UnsignedQuads
    }

    /// Words of elements in one operation that sums across lanes.
    pub(in crate::lower) fn together(self) -> usize {
        self.together
    }

    /// Words of weights for a row of `len` elements.
    pub(in crate::lower) fn of_weights(self, len: usize) -> usize {
        len.div_ceil(self.each() * self.word.operations().len())
    }

    /// Words of elements for a vector of `len` elements.
    pub(in crate::lower) fn of_elements(self, len: usize) -> usize {
        self.of_weights(len) * self.word.operations().len()
    }

    /// Words of elements for a vector of `len` elements, padded to whole vectors of operations that
    /// sum across lanes.
    pub(in crate::lower) fn room(self, len: usize) -> usize {
        self.of_elements(len).next_multiple_of(self.together)
    }
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
    /// The buffers with a part for each row: name, place, elements per row, and whether a kernel
    /// writes the buffer.
    pub(super) fn rows(
        &self,
        words: usize,
        sums: usize,
    ) -> Vec<(&'static str, Place, usize, bool)> {
        match self {
            Self::Vectors(Vectors { elements, scales, .. }) => {
                let scales = scales.map(|scales| ("scale_row", scales, 1, false));
                [("words_row", *elements, words, false)].into_iter().chain(scales).collect()
            }
            Self::Sums(of) => vec![("sums_row", *of, sums, false)],
            Self::Integers { sums: of, scale } => {
                vec![("sums_row", *of, sums, false), ("scale_row", *scale, 1, false)]
            }
        }
    }

    /// The place of sums computed earlier.
    pub(super) fn sums(&self) -> Option<Place> {
        match self {
            Self::Vectors(_) => None,
            Self::Sums(of) | Self::Integers { sums: of, .. } => Some(*of),
        }
    }

    /// These terms, with sums computed earlier at another place, such as that of a panel. `place`
    /// is called for sums alone.
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
                let elements = place();
                Self::Vectors(Vectors { elements, count: 1, scales: scales.map(|_| place()) })
            }
            Self::Sums(_) => Self::Sums(place()),
            Self::Integers { .. } => {
                let sums = place();
                Self::Integers { sums, scale: place() }
            }
        }
    }
}

/// Vectors that multiply the weights of a phase, one for each row.
#[derive(Clone)]
pub(super) struct Vectors {
    /// The first vector. The vectors of further rows follow.
    pub(super) elements: Place,
    pub(super) count: usize,
    /// The scales of the vectors, one per row. `None` for f32 operands.
    pub(super) scales: Option<Place>,
}

impl Vectors {
    /// The place of each vector, for vectors of `len` elements.
    pub(super) fn rows(&self, len: usize) -> Vec<Place> {
        (0..self.count).map(|row| self.elements.at(row * len)).collect()
    }

    /// The scale of one vector.
    pub(super) fn scale(&self, row: usize) -> Option<Place> {
        self.scales.map(|scales| scales.at(row))
    }
}

impl<'a, 'm> Rows<'_, 'a, 'm> {
    /// The choice of the plan for a phase and panels of `columns` columns.
    pub(in crate::lower) fn choice(&self, phase: Phase, columns: usize) -> Choice {
        self.plan.choice(phase, columns, self.count, self.isa())
    }

    /// The words of integers of a phase, which every panel multiplies. `None` if the weights are
    /// floats.
    pub(in crate::lower) fn words(&self, phase: Phase) -> Option<Words> {
        let choice = self.choice(phase, self.plan.panels[0].columns);
        let word = choice.kernel.word()?;
        let together = match choice.kernel {
            Microkernel::Across(_) => choice.layout.words_together(),
            _ => 1,
        };
        Some(Words { word, together })
    }

    /// True if tiles compute the sums of a phase.
    pub(super) fn in_tiles(&self, phase: Phase) -> bool {
        let choice = self.choice(phase, self.plan.panels[0].columns);
        matches!(choice.kernel, Microkernel::Tiles(_))
    }

    /// Words or elements of a vector in a phase, padded to whole vectors.
    pub(super) fn taken_at_once(&self, phase: Phase) -> usize {
        let rows = self.product().phase_rows(phase);
        self.words(phase).map_or(rows, |words| words.room(rows))
    }

    /// The vectors at `elements`, one per row, as operands of the weights of a phase. Quantises
    /// them for integer weights.
    pub(super) fn vectors(
        &mut self,
        body: &mut Vec<Stmt>,
        phase: Phase,
        elements: Place,
    ) -> Vectors {
        let (count, len) = (self.count, self.product().phase_rows(phase));
        let own = self.plan.own(phase);
        let Some((scale, as_integers)) = Scale::of_x(own, self.plan.arithmetic.largest(len)) else {
            return Vectors { elements, count, scales: None };
        };
        let words = self.words(phase).expect("lower: what is rounded multiplies integers");
        let taken = self.taken_at_once(phase);
        let (to, scales) = self.builder.quantised_room(phase, count, taken);
        body.push(Stmt::Comment(format!("{} {as_integers}", operand_name(phase))));
        let rows = [
            ("given", elements, len, false),
            ("words", to, taken, true),
            ("scale", scales, 1, true),
        ];
        body.extend(for_rows(self.builder, count, &rows, |builder, places| {
            builder.quantise((len, scale), places[0], (places[1], words), places[2])
        }));
        Vectors { elements: to, count, scales: Some(scales) }
    }

    /// The operand of a phase: vectors, or with tiles the integer sums of all rows.
    pub(super) fn of_elements(
        &mut self,
        body: &mut Vec<Stmt>,
        phase: Phase,
        elements: Place,
    ) -> Terms {
        let vectors = self.vectors(body, phase, elements);
        match vectors.scales.filter(|_| self.in_tiles(phase)) {
            Some(scale) => {
                Terms::Integers { sums: self.tiles(body, phase, vectors.elements), scale }
            }
            None => Terms::Vectors(vectors),
        }
    }

    /// A loop over rows. `body` receives the terms of the row and the place of the row in each of
    /// `columns`.
    pub(super) fn each_row(
        &mut self,
        terms: &[(Phase, Option<&Terms>)],
        columns: &[Column],
        mut body: impl FnMut(&mut Rows<'_, 'a, 'm>, Vec<Terms>, &[Column]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let product = self.product();
        let terms: Vec<_> =
            terms.iter().filter_map(|(phase, terms)| Some((*phase, (*terms)?))).collect();
        let of_row = |column: &&Column| column.each_row;
        let row = |column: &Column| {
            let len = if column.width == 0 { 1 } else { column.width * product.units };
            (column.name, column.of, len, column.written)
        };
        let mut rows: Vec<_> = columns.iter().filter(of_row).map(row).collect();
        let own = rows.len();
        for (phase, terms) in &terms {
            rows.extend(
                terms.rows(self.taken_at_once(*phase), product.active(*phase) * product.units),
            );
        }
        let (plan, weights, count) = (self.plan, self.weights, self.count);
        for_rows(self.builder, count, &rows, |builder, places| {
            let mut of_terms = places[own..].iter().copied();
            let terms = terms.iter().map(|(_, terms)| terms.of_row(&mut of_terms)).collect();
            let mut of_columns = places[..own].iter();
            let columns: Vec<_> = columns
                .iter()
                .map(|column| match column.each_row {
                    true => Column {
                        of: *of_columns.next().expect("lower: as many places as rows"),
                        ..*column
                    },
                    false => *column,
                })
                .collect();
            body(&mut Rows::new(builder, (plan, weights), 1, None), terms, &columns)
        })
    }
}

/// The operand of a phase, for comments in generated code.
pub(super) fn operand_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Input => "x",
        Phase::Hidden => "h",
        Phase::ResetHidden => "r.h",
    }
}
