//! Matrix products of cells and dense layers: the sums over rows of packed weights, in a phase for
//! each operand.

mod accumulate;

use std::ops::Range;

use super::builder::{KernelBuilder, copy, load, op};
use super::memory::PackedWeights;
use crate::arch::{Dot, Isa};
use crate::encoding::WeightFormat;
use crate::kernel::{BufferId, Expr, LaneOp, Place, Stmt, Tiles, Var, Walk};
use crate::numerics::Multiples;
use crate::plan::{
    self, Blocks, Panels, Phase, Product, ProductPlan, Sum, Tiling, Unrolled, Values,
};

/// The rows of a product that one set of statements computes. Several rows share each weight load.
pub(super) struct Rows<'b, 'a, 'm> {
    pub(super) builder: &'b mut KernelBuilder<'a, 'm>,
    pub(super) plan: &'m ProductPlan,
    /// The packed weights of the product.
    weights: &'m PackedWeights,
    /// True if tiles compute the sums of all rows in advance, for the phases that fit tiles.
    tiled: bool,
    /// The number of rows.
    count: usize,
    /// With several rows: the buffer of sums of each row. For each panel, one run of columns per
    /// sum.
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
    /// The x terms of all sums, computed by [`Rows::input_sums`].
    Sums(Place),
}

/// The operands of a product in the form in which kernels multiply weights by operands.
#[derive(Clone)]
struct Multiplied {
    x: Terms,
    h: Option<Terms>,
}

/// The scale with which a vector becomes integers.
#[derive(Clone, Copy)]
pub(super) enum Scale {
    /// A dynamic scale: the largest element becomes this whole number.
    Dynamic(u16),
    /// A scale of the model: all elements are multiples of this number.
    Model(f32),
}

impl Scale {
    /// The scale of x and the end of a comment sentence about x. A scale of the model takes
    /// precedence over a dynamic scale with a range of integers. `None`: x stays f32.
    pub(super) fn of_x(model: Option<Multiples>, range: Option<u16>) -> Option<(Self, String)> {
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

/// Dot products of packed integers: words that hold several elements each.
#[derive(Clone, Copy)]
pub(super) struct Words {
    /// Elements per word.
    pub(super) each: usize,
    /// True if the elements are unsigned bytes: each is stored with
    /// [`OFFSET`](crate::encoding::OFFSET) added.
    pub(super) is_unsigned: bool,
    /// The operations that multiply one word of weights, one operation per word of elements. A
    /// vector is split into as many parts as operations; operation i reads part i.
    operations: &'static [LaneOp],
    /// Words of elements in one operation that sums across lanes. 1: each lane has a sum of its
    /// own.
    abreast: usize,
}

impl Words {
    /// Words of weights for a row of `len` elements.
    fn of_weights(self, len: usize) -> usize {
        len.div_ceil(self.each * self.operations.len())
    }

    /// Words of elements for a vector of `len` elements.
    pub(super) fn of_elements(self, len: usize) -> usize {
        self.of_weights(len) * self.operations.len()
    }

    /// Words of elements for a vector of `len` elements, padded to whole vectors of `abreast`
    /// words.
    pub(super) fn room(self, len: usize) -> usize {
        self.of_elements(len).next_multiple_of(self.abreast)
    }
}

/// The right-hand side of one phase: vectors still to be multiplied, or sums computed earlier.
#[derive(Clone)]
enum Terms {
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
    fn rows(&self, words: usize, sums: usize) -> Vec<(&'static str, Place, usize, bool)> {
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

    /// The right-hand side of one row, at the next of `places`.
    fn of_row(&self, places: &mut impl Iterator<Item = Place>) -> Self {
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
struct Vectors {
    /// The first vector. The vectors of further rows follow.
    elements: Place,
    count: usize,
    /// The scales of the vectors, one per row. `None` for f32 operands.
    scales: Option<Place>,
}

impl Vectors {
    /// The place of each vector, for vectors of `len` elements.
    fn rows(&self, len: usize) -> Vec<Place> {
        (0..self.count).map(|row| self.elements.at(row * len)).collect()
    }

    /// The scale of one vector.
    fn scale(&self, row: usize) -> Option<Place> {
        self.scales.map(|scales| scales.at(row))
    }
}

/// An operand or result of the pointwise part of a cell, and how a loop over units and rows steps
/// through its elements.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) of: Place,
    pub(super) written: bool,
    /// Elements per unit. 0: one element for all units.
    pub(super) width: usize,
    /// True if each row has elements of its own.
    pub(super) each_row: bool,
    /// True if the place starts at the first unit that this kernel computes, not at unit 0: results
    /// of one of two threads, and scratch memory.
    pub(super) relative: bool,
    /// True if the column stores the x terms of late sums. Used only if x terms are
    /// [deferred](Rows::keeps_late_apart).
    pub(super) takes_late: bool,
}

impl Column {
    /// A column with one element for each unit of each row.
    pub(super) fn new(name: &'static str, of: Place, written: bool) -> Self {
        Self { name, of, written, width: 1, each_row: true, relative: written, takes_late: false }
    }

    /// Elements per row.
    pub(super) fn row(&self, units: usize) -> usize {
        if self.width == 0 { 1 } else { self.width * units }
    }
}

/// The number of vectors of columns with concurrent pointwise parts, for sums in memory: a quarter
/// of the registers, to leave registers for temporaries.
fn finished_at_once(isa: &Isa) -> usize {
    (isa.registers / 4).max(1)
}

/// The operands of the pointwise part of a panel.
pub(super) struct Panel<'p> {
    pub(super) panels: &'p Panels,
    /// The biases and peepholes of the panel. `None` if several rows are computed together.
    pub(super) biases: Option<Place>,
    /// The place of the panel in each [`Column`].
    pub(super) columns: &'p [Place],
}

/// The place of a panel's weights for one stage.
#[derive(Clone, Copy)]
struct PanelWeights {
    /// The start of the panel's block, from which offsets of phases count.
    rows: Place,
    /// The biases, peepholes and scales.
    biases: Place,
    /// Elements by which the window of rows ends before the panel does.
    short: usize,
}

/// One pass over the rows of a panel, for some of its columns.
struct Pass {
    /// The vectors of columns, each as (first column, lanes).
    vectors: Vec<(usize, usize)>,
    weights: PanelWeights,
    /// The place of the pass in each [`Column`].
    columns: Vec<Place>,
}

/// One vector of one sum, or of a run of neighbouring sums.
#[derive(Clone, Debug)]
pub(super) struct SumVector {
    /// The first sum of the vector.
    pub(super) sum: usize,
    /// The first lane, counted from the first column of `sum`.
    pub(super) lane: usize,
    pub(super) lanes: usize,
    pub(super) name: String,
}

/// The sums of one vector of columns.
pub(super) struct Sums {
    /// The first column, counted from the first column of the panel.
    pub(super) lane: usize,
    pub(super) lanes: usize,
    /// The values, in the order of [`Product::sums`]. A late phase has only the sum that the phase
    /// completes.
    pub(super) values: Vec<Expr>,
    /// True if sums that can be activated in whole runs are activated already.
    pub(super) active: bool,
}

impl<'b, 'a, 'm> Rows<'b, 'a, 'm> {
    /// The rows of a product, `count` of them computed together.
    pub(super) fn new(
        builder: &'b mut KernelBuilder<'a, 'm>,
        (plan, weights): (&'m ProductPlan, &'m PackedWeights),
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

    /// True if tiles compute the sums of a phase.
    fn in_tiles(&self, phase: Phase) -> bool {
        self.tiled && self.product().fits_tiles(phase)
    }

    /// The groups of panels to compute, each with its index in the plan.
    fn groups(&self) -> impl Iterator<Item = (usize, &'m Panels)> + use<'m> {
        self.panels.clone().zip(&self.plan.panels[self.panels.clone()])
    }

    /// True if all sums are stored before the pointwise part begins: several rows together, without
    /// tiles.
    pub(super) fn stores_sums(&self) -> bool {
        self.count > 1 && !self.tiled
    }

    /// Scratch memory of this kernel, one element for each unit of each row.
    pub(super) fn scratch(&mut self, name: &str) -> Place {
        let len = self.count * self.product().units;
        match self.stores_sums() || self.tiled {
            true => self.builder.shared(name, len, 1),
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

    /// True if a loop over the columns of a panel computes passes of equal size, on every
    /// instruction set.
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

    /// The buffer for runs, sized for the widest panel. `None` if no panel is tiled by runs.
    fn runs_buffer(&mut self) -> Option<BufferId> {
        let widest = self
            .groups()
            .filter(|(i, _)| *self.tiling(*i) == Tiling::Runs)
            .map(|(_, p)| p.columns)
            .max()?;
        let sums = self.product().sums.len();
        Some(self.builder.scratch("gates", sums * widest))
    }

    /// A loop over the panels of a group. `body` receives the weights of the stage, if `weights`
    /// names one, and the place of the panel in each of `columns`.
    fn panels(
        &mut self,
        panels: &Panels,
        weights: Option<Stage>,
        columns: &[Column],
        body: impl FnOnce(&mut Self, Option<PanelWeights>, &[Place]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let blocks = weights.map(|stage| {
            (panels.blocks(stage == Stage::Late), panels.biases(stage == Stage::Late))
        });
        // with biases in a separate buffer, x terms alone read only scales
        let scaled = self.product().format.has_scales();
        let apart = self.weights.biases.filter(|_| scaled || weights != Some(Stage::Input));
        let start = self.first;
        let first = |column: &Column| {
            let unit = if column.relative { panels.first - start } else { panels.first };
            column.of.at(unit * column.width)
        };
        if panels.count == 1 {
            let places: Vec<_> = columns.iter().map(first).collect();
            let first = |(early, late): (Blocks, Blocks)| {
                let rows = Place::from(self.weights.rows).at(early.offset);
                let biases = apart.map_or(rows, |biases| Place::from(biases).at(late.offset));
                PanelWeights { rows, biases, short: 0 }
            };
            let weights = blocks.map(first);
            return body(self, weights, &places);
        }
        let mut walks = Vec::new();
        let mut walk = |this: &mut Self, name, of: BufferId, Blocks { offset, stride }| {
            let (place, walk) = this.builder.walk(name, Place::from(of).at(offset), stride, false);
            walks.push(walk);
            place
        };
        let weights = blocks.map(|(rows, biases)| {
            let rows = walk(self, "panel", self.weights.rows, rows);
            let biases = apart.map_or(rows, |of| walk(self, "bias_panel", of, biases));
            PanelWeights { rows, biases, short: 0 }
        });
        let mut places = Vec::new();
        for column in columns {
            if column.width == 0 {
                places.push(column.of);
                continue;
            }
            let name = format!("{}_panel", column.name);
            let len = panels.columns * column.width;
            let (place, walk) = self.builder.walk(&name, first(column), len, column.written);
            places.push(place);
            walks.push(walk);
        }
        let body = body(self, weights, &places);
        vec![Stmt::For { count: panels.count, turn: None, backwards: self.backwards, walks, body }]
    }

    /// Loads the weights of `lanes` columns from column `at` on, for row `row` of the matrix at
    /// `rows` with `len` columns per row. With interleaved words, the lanes are rows of one column.
    fn weight(&self, rows: Place, len: usize, row: usize, at: usize, lanes: usize) -> Expr {
        let abreast = self.product().abreast;
        match self.product().format {
            WeightFormat::Bf16Pair => {
                let pair = load(rows.at(row / 2 * len + at), lanes);
                // the first of a pair as is, with the bits of the second below its mantissa; the
                // second shifted up
                let second = |pair| op(LaneOp::ShiftLeft(16), vec![op(LaneOp::ToBits, vec![pair])]);
                if row.is_multiple_of(2) { pair } else { op(LaneOp::FromBits, vec![second(pair)]) }
            }
            WeightFormat::Int8Pair | WeightFormat::Int8Quad | WeightFormat::Int16 => {
                let word = (row / abreast * len + at) * abreast + row % abreast;
                op(LaneOp::ToBits, vec![load(rows.at(word), lanes)])
            }
            WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Int8 => {
                load(rows.at(row * len + at), lanes)
            }
        }
    }

    /// The sum of a phase, multiplied by the scales of the rows of weights and then by `scale`, the
    /// scale of the operand. Unchanged for formats without scales.
    fn scaled(
        &self,
        panels: &Panels,
        weights: PanelWeights,
        phase: Phase,
        part: &SumVector,
        terms: Expr,
        scale: Option<Place>,
    ) -> Expr {
        if !self.product().format.has_scales() {
            return terms;
        }
        let scales = weights.biases.at(self.product().scale_row(part.sum, phase) * panels.columns);
        let terms = op(LaneOp::Mul, vec![terms, load(scales.at(part.lane), part.lanes)]);
        match scale {
            None => terms,
            Some(from) => op(LaneOp::Mul, vec![terms, Expr::Splat { from, lanes: part.lanes }]),
        }
    }

    /// A complete sum: the bias is added last.
    fn with_bias(
        &self,
        panels: &Panels,
        weights: PanelWeights,
        part: &SumVector,
        terms: Expr,
    ) -> Expr {
        match self.product().sums[part.sum].bias {
            None => terms,
            Some(_) => {
                let bias = weights
                    .biases
                    .at(self.product().bias_row(part.sum) * panels.columns + part.lane);
                add(terms, load(bias, part.lanes))
            }
        }
    }

    /// The terms of a phase for one row, by part. `None` for parts of sums without weights in the
    /// phase.
    fn terms(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        phase: Phase,
        weights: PanelWeights,
        terms: &Terms,
        parts: &[SumVector],
    ) -> Vec<Option<Expr>> {
        let product = self.product();
        let from = match terms {
            Terms::Vectors(vectors) => {
                let mut rows = self.accumulate(body, panels, phase, weights, vectors, parts);
                return rows.pop().expect("lower: there is one row");
            }
            Terms::Sums(from) | Terms::Integers { sums: from, .. } => from,
        };
        let term = |part: &SumVector| {
            product.sums[part.sum].gate(phase)?;
            let sum = load(
                from.at(product.position(phase, part.sum) * panels.columns + part.lane),
                part.lanes,
            );
            Some(match terms {
                Terms::Integers { scale, .. } => {
                    let sum = op(LaneOp::FromSigned, vec![op(LaneOp::ToBits, vec![sum])]);
                    self.scaled(panels, weights, phase, part, sum, Some(*scale))
                }
                _ => sum,
            })
        };
        parts.iter().map(term).collect()
    }

    /// The early phases of one panel and one row: `(x terms + h terms) + bias` for each part. Late
    /// sums have x terms only, without bias.
    fn early_sums(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        weights: PanelWeights,
        operands: &Multiplied,
        parts: &[SumVector],
    ) -> Vec<Expr> {
        let product = self.product();
        let x = self.terms(body, panels, Phase::Input, weights, &operands.x, parts);
        let h = match &operands.h {
            Some(h) => self.terms(body, panels, Phase::Hidden, weights, h, parts),
            None => vec![None; parts.len()],
        };
        parts
            .iter()
            .zip(x.into_iter().zip(h))
            .map(|(part, terms)| {
                let terms = match terms {
                    (Some(x), Some(h)) => add(x, h),
                    (Some(terms), None) | (None, Some(terms)) => terms,
                    (None, None) => unreachable!("plan: a sum has terms"),
                };
                match product.sums[part.sum].is_late() {
                    true => terms,
                    false => self.with_bias(panels, weights, part, terms),
                }
            })
            .collect()
    }

    /// The position of a sum among the stored sums.
    fn slot(&self, sum: &Sum) -> usize {
        self.place_of(sum.name)
    }

    /// Runs of neighbouring sums with weights in equal phases, as (first sum, number of sums).
    fn runs(&self) -> Vec<(usize, usize)> {
        let phases = |s: &Sum| Phase::ALL.map(|p| s.gate(p).is_some());
        let sums = &self.product().sums;
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for i in 0..sums.len() {
            match runs.last_mut() {
                Some((first, n)) if phases(&sums[*first]) == phases(&sums[i]) => *n += 1,
                _ => runs.push((i, 1)),
            }
        }
        runs
    }

    /// The parts of all sums, for some vectors of columns, vector after vector.
    fn parts(&self, vectors: &[(usize, usize)]) -> Vec<SumVector> {
        let sums = &self.product().sums;
        let of_vector = |(v, &(lane, lanes)): (usize, &(usize, usize))| {
            let part = move |(sum, s): (usize, &Sum)| SumVector {
                sum,
                lane,
                lanes,
                name: format!("{}{v}", s.name),
            };
            sums.iter().enumerate().map(part)
        };
        vectors.iter().enumerate().flat_map(of_vector).collect()
    }

    /// The parts of a pass, with neighbouring parts of one sum joined into one value.
    fn joined(&self, parts: &[SumVector]) -> Vec<SumVector> {
        let mut all: Vec<SumVector> = Vec::new();
        for same in parts.chunk_by(|a, b| a.sum == b.sum) {
            let vectors: Vec<_> = same.iter().map(|part| (part.lane, part.lanes)).collect();
            let named = |lane: usize| {
                same.iter().find(|part| part.lane == lane).map(|part| part.name.clone())
            };
            all.extend(self.values(&vectors).into_iter().map(|(lane, lanes)| {
                let name = named(lane).expect("lower: a value begins where a part does");
                SumVector { sum: same[0].sum, lane, lanes, name }
            }));
        }
        all
    }

    /// The dot products of a phase. `None` if the weights are floats.
    fn words(&self, phase: Phase) -> Option<Words> {
        let format = self.product().format;
        let in_word = format.in_word(self.product().phase_rows(phase));
        let is_unsigned =
            in_word == 4 && self.isa().has(Dot::UnsignedQuads) && !self.in_tiles(phase);
        let abreast = if self.isa().has(Dot::Across) { self.product().abreast } else { 1 };
        let operations: &[LaneOp] = match in_word {
            4 if self.isa().has(Dot::WidenedPairs) => &[LaneOp::DotEvenBytes, LaneOp::DotOddBytes],
            4 if is_unsigned => &[LaneOp::DotUnsignedQuads],
            4 => &[LaneOp::DotQuads],
            _ => &[LaneOp::DotPairs],
        };
        let each = in_word / operations.len();
        format.is_of_integers().then_some(Words { each, is_unsigned, operations, abreast })
    }

    /// The zero-point correction of an integer sum, for unsigned elements. `None` if the product
    /// has no corrections.
    fn start(
        &self,
        panels: &Panels,
        phase: Phase,
        weights: PanelWeights,
        part: &SumVector,
    ) -> Option<Expr> {
        let row =
            self.product().has_starts(phase).then(|| self.product().start_row(part.sum, phase))?;
        Some(load(weights.biases.at(row * panels.columns + part.lane), part.lanes))
    }

    /// Words or elements of a vector in a phase, padded to whole vectors.
    fn taken_at_once(&self, phase: Phase) -> usize {
        let rows = self.product().phase_rows(phase);
        self.words(phase).map_or(rows, |words| words.room(rows))
    }

    /// The vectors at `elements`, one per row, as operands of the weights of a phase. Quantises
    /// them for integer weights.
    fn vectors(&mut self, body: &mut Vec<Stmt>, phase: Phase, elements: Place) -> Vectors {
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
        activate: impl Fn(&mut Rows<'_, 'a, 'm>, usize, Expr) -> Expr,
        mut finish: impl FnMut(&mut Rows<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let product = self.product();
        if self.stores_sums() {
            let X::Elements(x) = operands.x else {
                unreachable!("lower: sums that are stored are of elements")
            };
            self.sums = self.builder.tile_rows(self.count, product.sums.len() * product.units);
            let operands = [Some((Phase::Input, x)), operands.h.map(|h| (Phase::Hidden, h))];
            let mut all =
                self.stored_sums(Stage::Early, &operands.into_iter().flatten().collect::<Vec<_>>());
            all.extend(self.finish_rows(0..product.sums.len(), columns, finish));
            return all;
        }
        let mut all = Vec::new();
        let x = match operands.x {
            X::Elements(x) => self.of_elements(&mut all, Phase::Input, x),
            X::Sums(of) => Terms::Sums(of),
        };
        let h = operands.h.map(|h| self.of_elements(&mut all, Phase::Hidden, h));
        let operands = Multiplied { x, h };
        if !self.tiled {
            all.extend(self.early_row(&operands, columns, &activate, &mut finish));
            return all;
        }
        let terms: Vec<_> =
            [(Phase::Input, Some(&operands.x)), (Phase::Hidden, operands.h.as_ref())].into();
        all.extend(self.each_row(&terms, columns, |row, terms, columns| {
            let mut terms = terms.into_iter();
            let x = terms.next().expect("lower: every product has x");
            row.early_row(&Multiplied { x, h: terms.next() }, columns, &activate, &mut finish)
        }));
        all
    }

    /// The early phases of one row.
    fn early_row(
        &mut self,
        operands: &Multiplied,
        columns: &[Column],
        activate: &impl Fn(&mut Rows<'_, 'a, 'm>, usize, Expr) -> Expr,
        finish: &mut impl FnMut(&mut Rows<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let product = self.product();
        let stored = self.runs_buffer();
        let mut walked = columns.to_vec();
        let phases = [
            (Phase::Input, "x_sums", Some(&operands.x)),
            (Phase::Hidden, "h_sums", operands.h.as_ref()),
        ];
        let sums_of = |terms: &Terms| match terms {
            Terms::Vectors(_) => None,
            Terms::Sums(of) | Terms::Integers { sums: of, .. } => Some(*of),
        };
        for (phase, name, terms) in phases {
            if let Some(of) = terms.and_then(sums_of) {
                walked
                    .push(Column { width: product.active(phase), ..Column::new(name, of, false) });
            }
        }
        let mut all = Vec::new();
        for (group, panels) in self.groups() {
            all.extend(self.panels(
                panels,
                Some(Stage::Early),
                &walked,
                |this, weights, places| {
                    let weights = weights.expect("lower: asked for");
                    this.early_panel(
                        (group, panels),
                        weights,
                        operands,
                        (&walked, places),
                        (stored, columns.len()),
                        activate,
                        finish,
                    )
                },
            ));
        }
        all
    }

    /// The operand of a phase: vectors, or with tiles the integer sums of all rows.
    fn of_elements(&mut self, body: &mut Vec<Stmt>, phase: Phase, elements: Place) -> Terms {
        let vectors = self.vectors(body, phase, elements);
        match vectors.scales.filter(|_| self.in_tiles(phase)) {
            Some(scale) => {
                Terms::Integers { sums: self.tiles(body, phase, vectors.elements), scale }
            }
            None => Terms::Vectors(vectors),
        }
    }

    /// The sums of a phase of all rows, computed by tiles. A row has, for each panel, the columns
    /// of each sum of the phase.
    fn tiles(&mut self, body: &mut Vec<Stmt>, phase: Phase, elements: Place) -> Place {
        let product = self.product();
        let (active, words) = (product.active(phase), self.taken_at_once(phase));
        let pitch = active * product.units;
        let sums = self.builder.tile_sums(phase, self.count * pitch);
        for (_, panels) in self.groups() {
            let blocks = panels.blocks(phase == Phase::ResetHidden);
            let weights =
                Place::from(self.weights.rows).at(blocks.offset + first_row(panels, phase));
            body.push(Stmt::Tiles(Tiles {
                elements,
                weights,
                to: sums.at(panels.first * active),
                rows: self.count,
                words,
                in_word: 4,
                abreast: 1,
                step: active * panels.columns,
                columns: active * panels.columns,
                panels: panels.count,
                stride: blocks.stride,
                pitch,
            }));
        }
        sums
    }

    /// A loop over rows. `body` receives the terms of the row and the place of the row in each of
    /// `columns`.
    fn each_row(
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

    #[allow(clippy::too_many_arguments)] // each says something of its own
    fn early_panel(
        &mut self,
        (group, panels): (usize, &Panels),
        weights: PanelWeights,
        operands: &Multiplied,
        (columns, places): (&[Column], &[Place]),
        (stored, given): (Option<BufferId>, usize),
        activate: &impl Fn(&mut Rows<'_, 'a, 'm>, usize, Expr) -> Expr,
        finish: &mut impl FnMut(&mut Rows<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let sums = &self.product().sums;
        // the operands at the places of a panel or pass: places of sums come after the given
        // columns
        let here = |places: &[Place]| {
            let mut sums = places[given..].iter();
            let mut of = |terms: &Terms| match terms {
                Terms::Vectors(_) => terms.clone(),
                Terms::Sums(_) => Terms::Sums(*sums.next().expect("lower: sums have a place")),
                Terms::Integers { scale, .. } => Terms::Integers {
                    sums: *sums.next().expect("lower: sums have a place"),
                    scale: *scale,
                },
            };
            let x = of(&operands.x);
            Multiplied { x, h: operands.h.as_ref().map(of) }
        };
        let late =
            columns.iter().position(|column| column.takes_late).filter(|_| self.keeps_late_apart());
        let is_early = |part: &SumVector| late.is_none() || !sums[part.sum].is_late();
        let mut body = Vec::new();
        match self.tiling(group) {
            Tiling::Columns(passes) => {
                let loops = self
                    .plan
                    .tilings
                    .iter()
                    .any(|all| matches!(&all[group], Tiling::Columns(all) if all.len() > 1));
                body = self.passes(
                    (panels, Stage::Early, loops),
                    weights,
                    (columns, places),
                    passes,
                    |this, pass| {
                        let operands = here(&pass.columns);
                        let mut body = Vec::new();
                        let (parts, apart): (Vec<_>, Vec<_>) =
                            this.parts(&pass.vectors).into_iter().partition(is_early);
                        let each = parts.len() / pass.vectors.len();
                        let mut values = this
                            .early_sums(&mut body, panels, pass.weights, &operands, &parts)
                            .into_iter();
                        let of_vector = |&(lane, lanes): &(usize, usize)| {
                            let values = values.by_ref().take(each).collect();
                            Sums { lane, lanes, values, active: false }
                        };
                        let all = pass.vectors.iter().map(of_vector).collect();
                        let columns = &pass.columns[..given];
                        let panel = Panel { panels, biases: Some(pass.weights.biases), columns };
                        finish(this, &mut body, &panel, all);
                        if let Some(column) = late {
                            this.late_x(
                                &mut body,
                                panels,
                                pass.weights,
                                &operands.x,
                                &apart,
                                pass.columns[column],
                            );
                        }
                        body
                    },
                );
            }
            Tiling::Runs => {
                let (stored, operands) = (stored.expect("lower: runs are stored"), &here(places));
                let mut parts = Vec::new();
                for (first, n) in self.runs() {
                    let name: String = sums[first..first + n].iter().map(|s| s.name).collect();
                    for (v, (lane, lanes)) in
                        plan::vectors(n * panels.columns, self.lanes()).into_iter().enumerate()
                    {
                        parts.push(SumVector {
                            sum: first,
                            lane,
                            lanes,
                            name: format!("{name}{v}"),
                        });
                    }
                }
                let (parts, apart): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_early);
                for pass in parts.chunks(plan::pass_vectors(self.product(), self.isa())) {
                    let pass = &self.joined(pass)[..];
                    let values = self.early_sums(&mut body, panels, weights, operands, pass);
                    for (part, value) in pass.iter().zip(values) {
                        let value = activate(self, part.sum, value);
                        let to = Place::from(stored).at(part.sum * panels.columns + part.lane);
                        body.push(Stmt::Store { to, value });
                    }
                }
                for pass in
                    plan::vectors(panels.columns, self.lanes()).chunks(finished_at_once(self.isa()))
                {
                    let of_vector = |&(lane, lanes): &(usize, usize)| {
                        let part = |sum: usize| {
                            load(Place::from(stored).at(sum * panels.columns + lane), lanes)
                        };
                        let values = (0..sums.len())
                            .filter(|sum| late.is_none() || !sums[*sum].is_late())
                            .map(part);
                        Sums { lane, lanes, values: values.collect(), active: true }
                    };
                    let all = self.values(pass).iter().map(of_vector).collect();
                    let panel =
                        Panel { panels, biases: Some(weights.biases), columns: &places[..given] };
                    finish(self, &mut body, &panel, all);
                }
                if let Some(column) = late {
                    let apart = self.joined(&apart);
                    self.late_x(&mut body, panels, weights, &operands.x, &apart, places[column]);
                }
            }
        }
        body
    }

    /// The position of a sum in [`Product::sums`], by name.
    pub(super) fn place_of(&self, sum: &str) -> usize {
        self.product()
            .sums
            .iter()
            .position(|own| own.name == sum)
            .expect("plan: a product has the sums of its cell")
    }

    /// True if x terms of late sums are summed after the pointwise part of the early sums: an
    /// out-of-order core sums during the latency of the activations.
    pub(super) fn keeps_late_apart(&self) -> bool {
        let most = self.builder.lowering.plan.arch.costs.limits.late_apart;
        // excluded on targets with scarce code memory
        self.isa().code.pass == 0
            && self.lanes() > 4
            && self.plan.unrolled != Unrolled::Fully
            && !self.stores_sums()
            && !self.product().format.is_of_integers()
            && self.plan.bytes() <= most * self.lanes()
            && self.product().sums.iter().any(Sum::is_late)
    }

    /// Stores the x terms of the late sums of a panel or pass at `to`.
    fn late_x(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        weights: PanelWeights,
        x: &Terms,
        parts: &[SumVector],
        to: Place,
    ) {
        let terms = self.terms(body, panels, Phase::Input, weights, x, parts);
        for (part, value) in parts.iter().zip(terms.into_iter().flatten()) {
            body.push(Stmt::Store { to: to.at(part.lane), value });
        }
    }

    /// `body` for every pass over the columns of a panel. Neighbouring passes of equal width become
    /// a loop in two cases: code memory is scarce; or `loops` is set, since an instruction set has
    /// several passes, and all instruction sets share one text.
    fn passes(
        &mut self,
        (panels, stage, loops): (&Panels, Stage, bool),
        weights: PanelWeights,
        (columns, places): (&[Column], &[Place]),
        passes: &[Vec<(usize, usize)>],
        mut body: impl FnMut(&mut Self, &Pass) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let widths =
            |pass: &[(usize, usize)]| pass.iter().map(|(_, lanes)| *lanes).collect::<Vec<_>>();
        let mut all = Vec::new();
        for same in passes.chunk_by(|a, b| widths(a) == widths(b)) {
            let is_loop = if self.walks_columns() {
                loops && same.len() == passes.len()
            } else {
                same.len() > 1 && self.isa().code.pass > 0
            };
            if !is_loop {
                for vectors in same {
                    let vectors = self.values(vectors);
                    all.extend(body(self, &Pass { vectors, weights, columns: places.to_vec() }));
                }
                continue;
            }
            let (first, width) = (same[0][0].0, widths(&same[0]).iter().sum::<usize>());
            // the window of each pass ends at the end of the last pass
            let before = first + (same.len() - 1) * width;
            let mut walks = Vec::new();
            let late = stage == Stage::Late;
            let abreast = self.product().abreast;
            let (rows, of_rows) = self.builder.stride(
                "pass",
                weights.rows.at(first * abreast),
                (panels.blocks(late).stride - before * abreast, width * abreast),
                false,
            );
            if self.walks_columns() {
                self.builder.passes(&of_rows);
            }
            walks.push(of_rows);
            let mut walk = |this: &mut Self, name: &str, of: Place, len: usize, written: bool| {
                let (place, walk) = this.builder.stride(name, of.at(first), (len, width), written);
                walks.push(walk);
                place
            };
            let biases = match weights.biases == weights.rows && abreast == 1 {
                true => rows,
                false => walk(
                    self,
                    "bias_pass",
                    weights.biases,
                    panels.biases(late).stride - before,
                    false,
                ),
            };
            let of_column = |(column, place): (&Column, &Place)| match column.width {
                0 => *place,
                1 => walk(self, &format!("{}_pass", column.name), *place, width, column.written),
                all => {
                    let len = all * panels.columns - before;
                    walk(self, &format!("{}_pass", column.name), *place, len, column.written)
                }
            };
            let columns = columns.iter().zip(places).map(of_column).collect();
            let vectors: Vec<_> = same[0].iter().map(|(at, lanes)| (at - first, *lanes)).collect();
            let vectors = self.values(&vectors);
            let turn = body(
                self,
                &Pass { vectors, weights: PanelWeights { rows, biases, short: before }, columns },
            );
            all.push(Stmt::For {
                count: same.len(),
                turn: None,
                backwards: None,
                walks,
                body: turn,
            });
        }
        all
    }

    /// The late phase of all panels. `finish` receives only `sum`, the one sum with a late phase.
    /// `x_terms` are the x terms that one row keeps from the early phases.
    pub(super) fn late(
        &mut self,
        operand: Place,
        sum: usize,
        x_terms: Option<Place>,
        columns: &[Column],
        mut finish: impl FnMut(&mut Rows<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        if self.stores_sums() {
            let mut all = self.stored_sums(Stage::Late, &[(Phase::ResetHidden, operand)]);
            all.extend(self.finish_rows(sum..sum + 1, columns, finish));
            return all;
        }
        let mut walked = columns.to_vec();
        walked.extend(x_terms.map(|of| Column::new("x_terms", of, false)));
        let mut all = Vec::new();
        let terms = self.of_elements(&mut all, Phase::ResetHidden, operand);
        if !self.tiled {
            all.extend(self.late_row(&terms, sum, columns.len(), &walked, &mut finish));
            return all;
        }
        all.extend(self.each_row(
            &[(Phase::ResetHidden, Some(&terms))],
            &walked,
            |row, terms, walked| row.late_row(&terms[0], sum, columns.len(), walked, &mut finish),
        ));
        all
    }

    /// The late phase of one row. The first `given` columns belong to `finish`; the x terms follow.
    fn late_row(
        &mut self,
        terms: &Terms,
        sum: usize,
        given: usize,
        columns: &[Column],
        finish: &mut impl FnMut(&mut Rows<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let mut walked = columns.to_vec();
        if let Terms::Sums(of) | Terms::Integers { sums: of, .. } = terms {
            walked.push(Column::new("h_sums", *of, false));
        }
        let mut all = Vec::new();
        for (_, panels) in self.groups() {
            all.extend(self.panels(panels, Some(Stage::Late), &walked, |this, weights, places| {
                let weights = weights.expect("lower: asked for");
                let late = |isa| {
                    plan::late_passes(
                        this.product(),
                        panels.columns,
                        isa,
                        this.builder.lowering.plan.values,
                    )
                };
                let passes = late(this.isa());
                let loops =
                    this.builder.lowering.plan.isas.iter().any(|(isa, _)| late(isa).len() > 1);
                this.passes(
                    (panels, Stage::Late, loops),
                    weights,
                    (&walked, places),
                    &passes,
                    |this, pass| {
                        let mut body = Vec::new();
                        let mut parts = this.parts(&pass.vectors);
                        parts.retain(|part| part.sum == sum);
                        let (weights, x_terms) = (pass.weights, pass.columns[given]);
                        let panel = Panel {
                            panels,
                            biases: Some(weights.biases),
                            columns: &pass.columns[..given],
                        };
                        let terms = match terms {
                            Terms::Vectors(_) => terms.clone(),
                            Terms::Sums(_) => Terms::Sums(pass.columns[given + 1]),
                            Terms::Integers { scale, .. } => {
                                Terms::Integers { sums: pass.columns[given + 1], scale: *scale }
                            }
                        };
                        let terms = this.terms(
                            &mut body,
                            panels,
                            Phase::ResetHidden,
                            weights,
                            &terms,
                            &parts,
                        );
                        for (part, terms) in parts.iter().zip(terms.into_iter().flatten()) {
                            let (lane, lanes) = (part.lane, part.lanes);
                            let terms = add(load(x_terms.at(lane), lanes), terms);
                            let values = vec![this.with_bias(panels, weights, part, terms)];
                            finish(
                                this,
                                &mut body,
                                &panel,
                                vec![Sums { lane, lanes, values, active: false }],
                            );
                        }
                        body
                    },
                )
            }));
        }
        all
    }

    /// Computes the x terms of all rows into `to`, for [`X::Sums`].
    pub(super) fn input_sums(&mut self, x: Place, to: Place) -> Vec<Stmt> {
        let width = self.product().active(Phase::Input);
        let len = width * self.product().units;
        let mut all = Vec::new();
        if self.in_tiles(Phase::Input) {
            let terms = self.of_elements(&mut all, Phase::Input, x);
            let columns = [Column { width, ..Column::new("x_sums", to, true) }];
            all.extend(self.each_row(
                &[(Phase::Input, Some(&terms))],
                &columns,
                |row, terms, columns| row.scaled_input_sums(&terms[0], columns[0]),
            ));
            return all;
        }
        self.sums = self.builder.tile_rows(self.count, len);
        let vectors = self.vectors(&mut all, Phase::Input, x);
        all.extend(self.matrix(Stage::Input, &[(Phase::Input, vectors)], Kept::InputTerms));
        all.extend(self.sums.iter().enumerate().map(|(r, from)| copy(*from, to.at(r * len), len)));
        all
    }

    /// The x terms of one row, from integer sums that tiles have computed.
    fn scaled_input_sums(&mut self, terms: &Terms, to: Column) -> Vec<Stmt> {
        let Terms::Integers { sums, scale } = *terms else {
            unreachable!("lower: tiles make sums of integers")
        };
        let columns =
            [to, Column { of: sums, written: false, relative: false, name: "sums", ..to }];
        let mut all = Vec::new();
        for (_, panels) in self.groups() {
            all.extend(self.panels(
                panels,
                Some(Stage::Input),
                &columns,
                |this, weights, places| {
                    let weights = weights.expect("lower: asked for");
                    let mut body = Vec::new();
                    let parts = this.parts(&plan::vectors(panels.columns, this.lanes()));
                    let terms = Terms::Integers { sums: places[1], scale };
                    let values =
                        this.terms(&mut body, panels, Phase::Input, weights, &terms, &parts);
                    for (part, value) in parts.iter().zip(values) {
                        let Some(value) = value else { continue };
                        let at = this.product().position(Phase::Input, part.sum) * panels.columns
                            + part.lane;
                        body.push(Stmt::Store { to: places[0].at(at), value });
                    }
                    body
                },
            ));
        }
        all
    }

    /// Computes and stores the sums of all rows over the non-empty phases of a stage.
    fn stored_sums(&mut self, stage: Stage, operands: &[(Phase, Place)]) -> Vec<Stmt> {
        let product = self.product();
        let mut all = Vec::new();
        let active = operands.iter().filter(|(phase, _)| product.active(*phase) > 0);
        let phases: Vec<_> =
            active.map(|&(phase, of)| (phase, self.vectors(&mut all, phase, of))).collect();
        if !phases.is_empty() {
            all.extend(self.matrix(stage, &phases, Kept::Sums));
        }
        all
    }

    /// Multiplies the weights of some phases of one stage by an operand per row, and stores the
    /// sums. Each weight load serves all rows.
    ///
    /// A row stores, for each panel, the columns of each kept sum. A later phase adds to the stored
    /// sum of an earlier phase. The last phase of a sum adds the bias.
    fn matrix(&mut self, stage: Stage, phases: &[(Phase, Vectors)], kept: Kept) -> Vec<Stmt> {
        let product = self.product();
        let width = match kept {
            Kept::Sums => self.product().sums.len(),
            Kept::InputTerms => product.active(Phase::Input),
        };
        let rows: Vec<_> =
            self.sums.iter().map(|of| Column { width, ..Column::new("sums", *of, true) }).collect();
        let mut all = Vec::new();
        for (_, panels) in self.groups() {
            all.extend(self.panels(panels, Some(stage), &rows, |this, weights, places| {
                let weights = weights.expect("lower: asked for");
                let mut body = Vec::new();
                let mut parts = this.parts(&plan::vectors(panels.columns, this.lanes()));
                // in the order of the weights in a row
                parts.sort_by_key(|part| part.sum);
                for (phase, vectors) in phases {
                    let taking_part =
                        |part: &&SumVector| product.sums[part.sum].gate(*phase).is_some();
                    let parts: Vec<_> = parts.iter().filter(taking_part).cloned().collect();
                    let at_once = plan::tile_vectors(
                        product,
                        parts.len(),
                        this.count,
                        this.isa(),
                        this.builder.lowering.plan.arch,
                    )
                    .max(1);
                    for parts in parts.chunks(at_once) {
                        let parts = &this.joined(parts)[..];
                        let terms =
                            this.accumulate(&mut body, panels, *phase, weights, vectors, parts);
                        for (place, terms) in places.iter().zip(terms) {
                            for (part, mut value) in parts.iter().zip(terms.into_iter().flatten()) {
                                let (sum, index) = (&product.sums[part.sum], part.sum);
                                let slot = match kept {
                                    Kept::Sums => this.slot(sum),
                                    Kept::InputTerms => product.position(Phase::Input, index),
                                };
                                let to = place.at(slot * panels.columns + part.lane);
                                if *phase != Phase::Input && sum.w.is_some() {
                                    value = add(load(to, part.lanes), value);
                                }
                                if kept == Kept::Sums && sum.last_phase() == *phase {
                                    value = this.with_bias(panels, weights, part, value);
                                }
                                body.push(Stmt::Store { to, value });
                            }
                        }
                    }
                }
                body
            }));
        }
        all
    }

    /// Calls `finish` with some of the stored sums of every row, panel after panel.
    fn finish_rows(
        &mut self,
        which: Range<usize>,
        columns: &[Column],
        mut finish: impl FnMut(&mut Rows<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let product = self.product();
        let mut all = Vec::new();
        for (r, sums) in self.sums.clone().into_iter().enumerate() {
            let own = |c: &Column| {
                if c.each_row { Column { of: c.of.at(r * c.row(product.units)), ..*c } } else { *c }
            };
            let mut columns: Vec<_> = columns.iter().map(own).collect();
            columns.push(Column {
                width: product.sums.len(),
                relative: true,
                ..Column::new("sums", sums, false)
            });
            for (_, panels) in self.groups() {
                all.extend(self.panels(panels, None, &columns, |row, _, places| {
                    let (sums, columns) = places.split_last().expect("lower: there are sums");
                    let of_vector = |(lane, lanes): (usize, usize)| {
                        let value = |sum: usize| load(sums.at(sum * panels.columns + lane), lanes);
                        Sums {
                            lane,
                            lanes,
                            values: which.clone().map(value).collect(),
                            active: false,
                        }
                    };
                    let mut body = Vec::new();
                    for pass in plan::vectors(panels.columns, row.lanes())
                        .chunks(finished_at_once(row.isa()))
                    {
                        let all = row.values(pass).into_iter().map(of_vector).collect();
                        finish(row, &mut body, &Panel { panels, biases: None, columns }, all);
                    }
                    body
                }));
            }
        }
        all
    }
}

/// The sum of chains, a power of two of them: neighbours are added first.
fn added(chains: &[Expr]) -> Expr {
    match chains {
        [chain] => chain.clone(),
        _ => {
            let (first, second) = chains.split_at(chains.len() / 2);
            add(added(first), added(second))
        }
    }
}

/// The suffix of variable names in a phase.
fn suffix(phase: Phase) -> &'static str {
    match phase {
        Phase::Input => "x",
        Phase::Hidden => "h",
        Phase::ResetHidden => "rh",
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

/// The operand of a phase, for comments in generated code.
fn operand_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Input => "x",
        Phase::Hidden => "h",
        Phase::ResetHidden => "r.h",
    }
}

/// The part of the sums that several rows store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// All sums, with biases once complete.
    Sums,
    /// The x terms, without biases. Sums without x terms are left out.
    InputTerms,
}

/// The phases that one pass over a panel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Input alone.
    Input,
    /// Input and Hidden.
    Early,
    /// ResetHidden.
    Late,
}

pub(super) fn add(a: Expr, b: Expr) -> Expr {
    op(LaneOp::Add, vec![a, b])
}

/// A loop over `count` rows: each entry of `rows` advances by one row per iteration. One row has no
/// loop.
pub(super) fn for_rows<'a, 'm>(
    builder: &mut KernelBuilder<'a, 'm>,
    count: usize,
    rows: &[(&str, Place, usize, bool)],
    mut body: impl FnMut(&mut KernelBuilder<'a, 'm>, &[Place]) -> Vec<Stmt>,
) -> Vec<Stmt> {
    for_tiles(builder, count, 1, rows, |builder, _, places| body(builder, places))
}

/// A loop over tiles of `at_once` rows, then the remaining rows. `body` receives the number of rows
/// of the tile.
pub(super) fn for_tiles<'a, 'm>(
    builder: &mut KernelBuilder<'a, 'm>,
    count: usize,
    at_once: usize,
    rows: &[(&str, Place, usize, bool)],
    mut body: impl FnMut(&mut KernelBuilder<'a, 'm>, usize, &[Place]) -> Vec<Stmt>,
) -> Vec<Stmt> {
    let mut all = Vec::new();
    let turns = count / at_once;
    if turns > 1 {
        let mut places = Vec::new();
        let mut walks: Vec<Walk> = Vec::new();
        for &(name, of, len, written) in rows {
            let (place, walk) = builder.walk(name, of, len * at_once, written);
            places.push(place);
            walks.push(walk);
        }
        let body = body(builder, at_once, &places);
        all.push(Stmt::For { count: turns, turn: None, backwards: None, walks, body });
    }
    // the remaining rows
    let done = if turns > 1 { turns * at_once } else { 0 };
    let mut at = done;
    while at < count {
        let n = at_once.min(count - at);
        let places: Vec<_> = rows.iter().map(|(_, of, len, _)| of.at(at * len)).collect();
        all.extend(body(builder, n, &places));
        at += n;
    }
    all
}
