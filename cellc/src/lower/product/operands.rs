//! Operands of a product: vectors of elements, quantised if the weights are integers.

use super::RowGroup;
use super::operand_rows::for_rows;
use super::terms::{Elements, Terms, Vectors};
use crate::kernel::{BLOCK_INPUTS, Place, Stmt};
use crate::lower::builder::MovingPlace;
use crate::numerics::Multiples;
use crate::plan::{Choice, DotWord, Microkernel, Phase, WordOrder};

/// The scale with which a vector becomes integers.
#[derive(Clone, Copy)]
pub(in crate::lower) enum Scale {
    /// A dynamic scale: the largest magnitude of the vector becomes this whole number.
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
pub(in crate::lower) struct PackedWords {
    /// The integers of one word.
    word: DotWord,
    /// Words of elements in one operation that sums across lanes. 1: each lane has a sum of its
    /// own.
    together: usize,
    /// The order of elements in words.
    order: WordOrder,
}

impl PackedWords {
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

    /// True if words hold neighbouring elements.
    pub(in crate::lower) fn are_of_neighbours(self) -> bool {
        self.order == WordOrder::Neighbours
    }

    /// Words of weights per column for a vector of `len` elements.
    pub(in crate::lower) fn of_weights(self, len: usize) -> usize {
        let len = match self.order {
            WordOrder::Neighbours => len.next_multiple_of(BLOCK_INPUTS),
            WordOrder::Parts => len,
        };
        len.div_ceil(self.each() * self.word.operations().len())
    }

    /// By word of a block of four neighbouring elements: the elements that the word holds.
    pub(in crate::lower) fn of_block(self) -> &'static [&'static [usize]] {
        match self.word {
            DotWord::Pairs => &[&[0, 1], &[2, 3]],
            DotWord::WidenedPairs => &[&[0, 2], &[1, 3]],
            DotWord::Quads | DotWord::UnsignedQuads => &[&[0, 1, 2, 3]],
        }
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

impl RowGroup<'_, '_, '_> {
    /// The choice of the plan for a phase and panels of `columns` columns.
    pub(in crate::lower) fn choice(&self, phase: Phase, columns: usize) -> Choice {
        self.plan.choice(phase, columns, self.count, self.isa())
    }

    /// The words of integers of a phase, which every panel multiplies. `None` if the weights are
    /// floats.
    pub(in crate::lower) fn words(&self, phase: Phase) -> Option<PackedWords> {
        let choice = self.choice(phase, self.plan.panels[0].columns);
        let word = choice.kernel.word()?;
        let together = match choice.kernel {
            Microkernel::Across(_) => choice.layout.words_together(),
            _ => 1,
        };
        Some(PackedWords { word, together, order: choice.layout.word_order() })
    }

    /// True if tiles compute the sums of a phase.
    pub(super) fn in_tiles(&self, phase: Phase) -> bool {
        let choice = self.choice(phase, self.plan.panels[0].columns);
        matches!(choice.kernel, Microkernel::Tiles(_))
    }

    /// Words or elements of a vector in a phase, padded to whole vectors of operations that sum
    /// across lanes.
    pub(super) fn taken_at_once(&self, phase: Phase) -> usize {
        let rows = self.product().phase_rows(phase);
        self.words(phase).map_or(rows, |words| words.room(rows))
    }

    /// The vectors at `elements`, one per row, as operands of the weights of a phase: quantised if
    /// the weights are integers.
    pub(super) fn vectors(
        &mut self,
        body: &mut Vec<Stmt>,
        phase: Phase,
        elements: Place,
    ) -> Vectors {
        let (count, len) = (self.count, self.product().phase_rows(phase));
        let model_scale = self.plan.own(phase);
        let Some((scale, as_integers)) =
            Scale::of_x(model_scale, self.plan.arithmetic.largest(len))
        else {
            let guard = self.product().layout.guards_sums().then(|| {
                let guard = self.builder.stack_or_state_buffer("guard", 1, 1);
                self.builder.guard(body, len, elements, guard);
                guard
            });
            return Vectors { guard, ..Vectors::floats(Elements::Neighbours(elements), count) };
        };
        let words = self.words(phase).expect("lower: what is rounded multiplies integers");
        let taken = self.taken_at_once(phase);
        let (to, scales) = self.builder.quantised_room(phase, count, taken);
        body.push(Stmt::Comment(format!("{} {as_integers}", operand_name(phase))));
        let rows = [
            MovingPlace::new("given", elements, len, false),
            MovingPlace::new("words", to, taken, true),
            MovingPlace::new("scale", scales, 1, true),
        ];
        body.extend(for_rows(self.builder, count, &rows, |builder, places| {
            builder.quantise((len, scale), places[0], (places[1], words), places[2])
        }));
        Vectors { elements: Elements::Neighbours(to), count, scales: Some(scales), guard: None }
    }

    /// The right-hand side of a phase: vectors, or the sums of all rows if the micro-kernel
    /// computes tiles or blocks.
    pub(super) fn of_elements(
        &mut self,
        body: &mut Vec<Stmt>,
        phase: Phase,
        elements: Place,
    ) -> Terms {
        let vectors = self.vectors(body, phase, elements);
        let kernel = self.choice(phase, self.plan.panels[0].columns).kernel;
        if matches!(kernel, Microkernel::Blocks(_)) {
            return self.block_terms(body, phase, &vectors);
        }
        match vectors.scales.filter(|_| self.in_tiles(phase)) {
            Some(scale) => Terms::Integers {
                sums: self.tiles(body, phase, vectors.elements.neighbours()),
                scale,
            },
            None => Terms::Vectors(vectors),
        }
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

/// The suffix of variable names in a phase.
pub(super) fn suffix(phase: Phase) -> &'static str {
    match phase {
        Phase::Input => "x",
        Phase::Hidden => "h",
        Phase::ResetHidden => "rh",
    }
}

/// The name of the memory through which the lanes of sums go to the final additions.
pub(super) fn lane_sums(phase: Phase) -> &'static str {
    match phase {
        Phase::Input => "x_lane_sums",
        Phase::Hidden => "h_lane_sums",
        Phase::ResetHidden => "rh_lane_sums",
    }
}
