//! The sums of a panel: their vectors, scales and biases.

use super::terms::Terms;
use super::{PanelWeights, RowGroup};
use crate::encoding::WeightFormat;
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::lower::builder::{load, op};
use crate::plan::{Panels, Phase, Sum};

/// One vector of one sum, or of a run of neighbouring sums.
#[derive(Clone, Debug)]
pub(in crate::lower) struct SumVector {
    /// The first sum of the vector.
    pub(in crate::lower) sum: usize,
    /// The first lane, counted from the first column of `sum`.
    pub(in crate::lower) lane: usize,
    pub(in crate::lower) lanes: usize,
    pub(in crate::lower) name: String,
}

/// The sums of one vector of columns.
pub(in crate::lower) struct Sums {
    /// The first column, counted from the first column of the panel.
    pub(in crate::lower) lane: usize,
    pub(in crate::lower) lanes: usize,
    /// The values, in the order of [`Product::sums`]. A late phase has only the sum that the phase
    /// completes.
    pub(in crate::lower) values: Vec<Expr>,
    /// True if sums that can be activated in whole runs are activated already.
    pub(in crate::lower) active: bool,
}

impl<'a, 'm> RowGroup<'_, 'a, 'm> {
    /// Loads the weights of `lanes` columns from column `at` on, for row `row` of the matrix at
    /// `rows` with `len` columns per row. With interleaved words, the lanes are rows of one column.
    pub(super) fn weight(
        &self,
        rows: Place,
        len: usize,
        row: usize,
        at: usize,
        lanes: usize,
    ) -> Expr {
        let abreast = self.product().layout.words_together();
        match self.product().layout.format {
            WeightFormat::Bf16Pair => {
                let pair = load(rows.at(row / 2 * len + at), lanes);
                // the first of a pair needs no mask: the bits of the second only extend its
                // mantissa. The second is shifted up.
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
    pub(super) fn scaled(
        &self,
        panels: &Panels,
        weights: PanelWeights,
        phase: Phase,
        part: &SumVector,
        terms: Expr,
        scale: Option<Place>,
    ) -> Expr {
        if !self.product().layout.format.has_scales() {
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
    pub(super) fn with_bias(
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

    /// The zero-point correction of an integer sum, for unsigned elements. `None` if the product
    /// has no corrections.
    pub(super) fn start(
        &self,
        panels: &Panels,
        phase: Phase,
        weights: PanelWeights,
        part: &SumVector,
    ) -> Option<Expr> {
        let row = self
            .product()
            .has_corrections(phase)
            .then(|| self.product().correction_row(part.sum, phase))?;
        Some(load(weights.biases.at(row * panels.columns + part.lane), part.lanes))
    }

    /// The terms of a phase for one row, by part. `None` for parts of sums without weights in the
    /// phase.
    pub(super) fn terms(
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

    /// The position of a sum among the stored sums.
    pub(super) fn slot(&self, sum: &Sum) -> usize {
        self.place_of(sum.name)
    }

    /// The position of a sum in [`Product::sums`], by name.
    pub(in crate::lower) fn place_of(&self, sum: &str) -> usize {
        self.product()
            .sums
            .iter()
            .position(|own| own.name == sum)
            .expect("plan: a product has the sums of its cell")
    }

    /// The parts of all sums, for some vectors of columns, vector after vector.
    pub(super) fn parts(&self, vectors: &[(usize, usize)]) -> Vec<SumVector> {
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
    pub(super) fn joined(&self, parts: &[SumVector]) -> Vec<SumVector> {
        let mut joined: Vec<SumVector> = Vec::new();
        for same in parts.chunk_by(|a, b| a.sum == b.sum) {
            let vectors: Vec<_> = same.iter().map(|part| (part.lane, part.lanes)).collect();
            let named = |lane: usize| {
                same.iter().find(|part| part.lane == lane).map(|part| part.name.clone())
            };
            joined.extend(self.values(&vectors).into_iter().map(|(lane, lanes)| {
                let name = named(lane).expect("lower: a value begins where a part does");
                SumVector { sum: same[0].sum, lane, lanes, name }
            }));
        }
        joined
    }
}

/// The sum of chains, a power of two of them: neighbours are added first.
pub(in crate::lower) fn added(chains: &[Expr]) -> Expr {
    match chains {
        [chain] => chain.clone(),
        _ => {
            let (first, second) = chains.split_at(chains.len() / 2);
            add(added(first), added(second))
        }
    }
}

pub(in crate::lower) fn add(a: Expr, b: Expr) -> Expr {
    op(LaneOp::Add, vec![a, b])
}
