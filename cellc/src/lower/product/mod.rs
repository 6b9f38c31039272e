//! Matrix products of cells and dense layers: the sums over rows of packed weights, in a phase for
//! each operand.

mod accumulate;
mod blocks;
mod broadcast;
mod dot;
mod dots_across_lanes;
mod dots_by_lane;
mod early_phases;
mod lanes;
mod late_phase;
mod operand_rows;
mod operands;
mod panels;
mod row_loop;
mod rows;
mod smlad;
mod stored;
mod sums;
mod taps;
mod terms;
mod tiles;

use std::ops::Range;

use super::builder::KernelBuilder;
use super::memory::{PackedProduct, PackedWeights};
use crate::arch::Isa;
use crate::kernel::{Expr, Loops, Place, Stmt, Var};
use crate::plan::{Panels, Phase, Product, ProductPlan, TapRow, Tiling, Values};
use late_phase::LateSum;
pub(super) use operand_rows::{for_rows, for_tiles};
pub(super) use operands::{PackedWords, Scale};
use operands::{lane_sums, suffix};
pub(super) use panels::{Column, Panel};
use panels::{PanelColumns, PanelWeights, Stage};
use sums::SumVector;
pub(super) use sums::{Sums, add, added};
use terms::{Elements, Multiplied, Terms, Vectors};

/// The rows of a product that one set of statements computes. Several rows share each weight load.
pub(super) struct RowGroup<'b, 'a, 'm> {
    pub(super) builder: &'b mut KernelBuilder<'a, 'm>,
    pub(super) plan: &'m ProductPlan,
    /// The packed weights of the product.
    weights: &'m PackedWeights,
    /// True if tiles compute the sums of all rows in advance, for the phases that fit tiles.
    tiled: bool,
    /// The number of rows.
    count: usize,
    /// By row: the buffer of sums, if sums are [stored](Self::stores_sums). For each panel, the
    /// buffer has one run of columns per sum.
    sums: Vec<Place>,
    /// 1 at run time if panels are walked from the last to the first. `None`: always from the
    /// first.
    backwards: Option<Var>,
    /// The groups of panels to compute, as indices into [`ProductPlan::panels`].
    panels: Range<usize>,
    /// The first unit that this kernel writes.
    first: usize,
}

/// The operands of the matrix product, row after row.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub(super) x: X,
    /// h, `units` elements. `None` for a product without a recurrent part.
    pub(super) h: Option<Place>,
}

/// The input of a product.
#[derive(Clone, Copy)]
pub(super) enum X {
    /// The elements of x, `input_size` per row.
    Elements(Place),
    /// The x terms of all sums, computed by [`RowGroup::input_sums`].
    Sums(Place),
    /// The elements of x as taps of a delay line, for a single row.
    Taps(TapPlaces),
}

/// The places of the taps of a product's x.
#[derive(Clone, Copy)]
pub(in crate::lower) struct TapPlaces {
    /// The numbers of channels and taps, and the distances between them.
    pub(in crate::lower) row: TapRow,
    /// The first channel's oldest tap.
    pub(in crate::lower) earlier: Place,
    /// The first channel's newest tap.
    pub(in crate::lower) newest: Place,
}

/// The number of vectors of columns whose pointwise parts are computed together, for sums in
/// memory: a quarter of the registers, to leave registers for temporaries.
fn finished_at_once(isa: &Isa) -> usize {
    (isa.registers / 4).max(1)
}

impl<'b, 'a, 'm> RowGroup<'b, 'a, 'm> {
    /// The rows of a product, `count` of them computed together.
    pub(super) fn new(
        builder: &'b mut KernelBuilder<'a, 'm>,
        PackedProduct { plan, weights }: PackedProduct<'m>,
        count: usize,
        backwards: Option<Var>,
    ) -> Self {
        let (panels, first) = match builder.half {
            None => (0..plan.panels.len(), 0),
            Some(half) => (half.panels.clone(), half.units.start),
        };
        let tiled = plan.has_tiles(count, builder.lowering.isa);
        Self { builder, plan, weights, tiled, count, sums: Vec::new(), backwards, panels, first }
    }

    /// The groups of panels to compute, each with its index in the plan.
    fn groups(&self) -> impl Iterator<Item = (usize, &'m Panels)> + use<'m> {
        self.panels.clone().zip(&self.plan.panels[self.panels.clone()])
    }

    /// True if all sums are stored before the pointwise part begins: several rows together without
    /// tiles, and products that leave out zero weights, whose code differs from panel to panel.
    pub(super) fn stores_sums(&self) -> bool {
        (self.count > 1 || self.leaves_out_zeros()) && !self.tiled
    }

    /// True if products of zero weights are left out.
    fn leaves_out_zeros(&self) -> bool {
        self.plan.loops(self.isa()) == Loops::WithoutZeros
    }

    /// Scratch memory with one element for each unit of each row.
    pub(super) fn scratch(&mut self, name: &str) -> Place {
        let len = self.count * self.product().units;
        match self.stores_sums() || self.tiled {
            true => self.builder.stack_or_state_buffer(name, len, 1),
            false => self.builder.scratch(name, len).into(),
        }
    }

    pub(super) fn product(&self) -> &'m Product {
        &self.plan.product
    }

    fn isa(&self) -> &'static Isa {
        self.builder.lowering.isa
    }

    fn lanes(&self) -> usize {
        self.isa().lanes
    }

    /// The vectors of a pass as values. f32 vectors may be joined into larger values; vectors of
    /// integers are one register each.
    fn values(&self, vectors: &[(usize, usize)]) -> Vec<(usize, usize)> {
        self.builder.lowering.plan.values.of_product(self.product()).of_pass(vectors, self.isa())
    }

    /// True if passes of equal size over the columns of a panel form a loop: in Rust with vectors,
    /// and in C if all instruction sets share one text. False for integer products.
    fn walks_columns(&self) -> bool {
        match self.builder.lowering.plan.values.of_product(self.product()) {
            Values::Registers | Values::Joined => false,
            Values::Passes => self.lanes() > 1,
            Values::OneText => true,
        }
    }

    /// The tiling of the `index`-th group of panels on this instruction set.
    fn tiling(&self, index: usize) -> &'m Tiling {
        &self.plan.tilings[self.builder.lowering.isa_index][index]
    }

    /// The early phases of all panels. `finish` receives the sums of some vectors of columns per
    /// call.
    ///
    /// `activate` may change a part of a run before the part is stored. The arguments are the first
    /// sum of the run and the value; a change must apply to all sums of the run. If x terms of late
    /// sums are [deferred](Self::keeps_late_apart), they go to the column with
    /// [`takes_late`](Column::takes_late) and not to `finish`.
    pub(super) fn early(
        &mut self,
        operands: Operands,
        columns: &[Column],
        activate: impl Fn(&mut RowGroup<'_, 'a, 'm>, usize, Expr) -> Expr,
        mut finish: impl FnMut(&mut RowGroup<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let product = self.product();
        if self.stores_sums() {
            let X::Elements(x) = operands.x else {
                unreachable!("lower: sums that are stored are of elements")
            };
            self.sums = self.builder.tile_rows(self.count, product.sums.len() * product.units);
            let operands = [Some((Phase::Input, x)), operands.h.map(|h| (Phase::Hidden, h))];
            let mut stmts =
                self.stored_sums(Stage::Early, &operands.into_iter().flatten().collect::<Vec<_>>());
            stmts.extend(self.finish_rows(0..product.sums.len(), columns, finish));
            return stmts;
        }
        let mut stmts = Vec::new();
        let x = match operands.x {
            X::Elements(x) => self.of_elements(&mut stmts, Phase::Input, x),
            X::Sums(place) => Terms::Sums(place),
            X::Taps(taps) => Terms::Vectors(Vectors::floats(Elements::Taps(taps), 1)),
        };
        let h = operands.h.map(|h| self.of_elements(&mut stmts, Phase::Hidden, h));
        let operands = Multiplied { x, h };
        if !self.tiled {
            stmts.extend(self.early_row(&operands, columns, &activate, &mut finish));
            return stmts;
        }
        let terms: Vec<_> =
            [(Phase::Input, Some(&operands.x)), (Phase::Hidden, operands.h.as_ref())].into();
        stmts.extend(self.each_row(&terms, columns, |row, terms, columns| {
            let mut terms = terms.into_iter();
            let x = terms.next().expect("lower: every product has x");
            row.early_row(&Multiplied { x, h: terms.next() }, columns, &activate, &mut finish)
        }));
        stmts
    }

    /// The late phase of all panels. `finish` receives only `sum`, the one sum with a late phase.
    /// `x_terms` is the place where the early phases stored the sum's x terms. `None`: the stored
    /// sums contain the x terms.
    pub(super) fn late(
        &mut self,
        operand: Place,
        sum: usize,
        x_terms: Option<Place>,
        columns: &[Column],
        mut finish: impl FnMut(&mut RowGroup<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        if self.stores_sums() {
            let mut stmts = self.stored_sums(Stage::Late, &[(Phase::ResetHidden, operand)]);
            stmts.extend(self.finish_rows(sum..sum + 1, columns, finish));
            return stmts;
        }
        let mut walked = columns.to_vec();
        walked.extend(x_terms.map(|place| Column::new("x_terms", place, false)));
        let mut stmts = Vec::new();
        let terms = self.of_elements(&mut stmts, Phase::ResetHidden, operand);
        let given = columns.len();
        if !self.tiled {
            let late = LateSum { sum, terms: &terms, pointwise_columns: given };
            stmts.extend(self.late_row(&late, &walked, &mut finish));
            return stmts;
        }
        let phase = [(Phase::ResetHidden, Some(&terms))];
        stmts.extend(self.each_row(&phase, &walked, |row, terms, walked| {
            let late = LateSum { sum, terms: &terms[0], pointwise_columns: given };
            row.late_row(&late, walked, &mut finish)
        }));
        stmts
    }
}

/// The offset of the first row of a phase in the block of a panel.
fn first_row(panels: &Panels, phase: Phase) -> usize {
    match phase {
        Phase::Input => panels.input,
        Phase::Hidden => panels.hidden,
        Phase::ResetHidden => panels.late_rows,
    }
}
