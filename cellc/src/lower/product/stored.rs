//! Stored sums: of several rows that share each load of weights, and of products that leave out
//! zero weights.

use std::ops::Range;

use super::terms::{Terms, Vectors};
use super::{Column, Panel, PanelWeights, RowGroup, Stage, SumVector, Sums, add, finished_at_once};
use crate::kernel::{Expr, Place, Stmt};
use crate::lower::builder::{copy, load};
use crate::plan::{self, Panels, Phase};

/// The part of the sums that several rows store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoredSums {
    /// All sums, with biases once complete.
    Sums,
    /// The x terms, without biases. Sums without x terms are left out.
    InputTerms,
}

impl<'a, 'm> RowGroup<'_, 'a, 'm> {
    /// Computes the x terms of all rows into `to`, for [`X::Sums`].
    pub(in crate::lower) fn input_sums(&mut self, x: Place, to: Place) -> Vec<Stmt> {
        let width = self.product().active(Phase::Input);
        let len = width * self.product().units;
        let mut stmts = Vec::new();
        if self.in_tiles(Phase::Input) {
            let terms = self.of_elements(&mut stmts, Phase::Input, x);
            let columns = [Column { width, ..Column::new("x_sums", to, true) }];
            stmts.extend(self.each_row(
                &[(Phase::Input, Some(&terms))],
                &columns,
                |row, terms, columns| row.scaled_input_sums(&terms[0], columns[0]),
            ));
            return stmts;
        }
        self.sums = self.builder.tile_rows(self.count, len);
        let vectors = self.vectors(&mut stmts, Phase::Input, x);
        stmts.extend(self.matrix(Stage::Input, &[(Phase::Input, vectors)], StoredSums::InputTerms));
        stmts
            .extend(self.sums.iter().enumerate().map(|(r, from)| copy(*from, to.at(r * len), len)));
        stmts
    }

    /// The x terms of one row, from integer sums that tiles have computed.
    pub(super) fn scaled_input_sums(&mut self, terms: &Terms, to: Column) -> Vec<Stmt> {
        let Terms::Integers { sums, scale } = *terms else {
            unreachable!("lower: tiles make sums of integers")
        };
        let columns =
            [to, Column { start: sums, written: false, relative: false, name: "sums", ..to }];
        let mut stmts = Vec::new();
        for (_, panels) in self.groups() {
            stmts.extend(self.panels(
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
        stmts
    }

    /// Computes and stores the sums of all rows over the non-empty phases of a stage.
    pub(super) fn stored_sums(&mut self, stage: Stage, operands: &[(Phase, Place)]) -> Vec<Stmt> {
        let product = self.product();
        let mut stmts = Vec::new();
        let active = operands.iter().filter(|(phase, _)| product.active(*phase) > 0);
        let phases: Vec<_> =
            active.map(|&(phase, place)| (phase, self.vectors(&mut stmts, phase, place))).collect();
        if !phases.is_empty() {
            stmts.extend(self.matrix(stage, &phases, StoredSums::Sums));
        }
        stmts
    }

    /// Multiplies the weights of some phases of one stage by an operand per row, and stores the
    /// sums. Each weight load serves all rows.
    ///
    /// A row stores, for each panel, the columns of each kept sum. A later phase adds to the stored
    /// sum of an earlier phase. The last phase of a sum adds the bias.
    pub(super) fn matrix(
        &mut self,
        stage: Stage,
        phases: &[(Phase, Vectors)],
        kept: StoredSums,
    ) -> Vec<Stmt> {
        let product = self.product();
        let width = match kept {
            StoredSums::Sums => self.product().sums.len(),
            StoredSums::InputTerms => product.active(Phase::Input),
        };
        let rows: Vec<_> = self
            .sums
            .iter()
            .map(|place| Column { width, ..Column::new("sums", *place, true) })
            .collect();
        let mut stmts = Vec::new();
        for (_, panels) in self.groups() {
            stmts.extend(self.panels(panels, Some(stage), &rows, |this, weights, places| {
                let weights = weights.expect("lower: asked for");
                let mut body = Vec::new();
                let mut parts = this.parts(&this.plan.vectors(panels.columns, this.isa()));
                // in the order of the weights in a row
                parts.sort_by_key(|part| part.sum);
                for (phase, vectors) in phases {
                    let stored = (*phase, kept);
                    this.store_phase(
                        &mut body,
                        (panels, weights),
                        stored,
                        vectors,
                        (&parts, places),
                    );
                }
                body
            }));
        }
        stmts
    }

    /// Adds and stores the terms of a phase of all rows. `places` has the first sum of each row.
    fn store_phase(
        &mut self,
        body: &mut Vec<Stmt>,
        (panels, weights): (&Panels, PanelWeights),
        (phase, kept): (Phase, StoredSums),
        vectors: &Vectors,
        (parts, places): (&[SumVector], &[Place]),
    ) {
        let product = self.product();
        let takes_part = |part: &&SumVector| product.sums[part.sum].gate(phase).is_some();
        let parts: Vec<_> = parts.iter().filter(takes_part).cloned().collect();
        let arch = self.builder.lowering.plan.arch;
        let at_once = self.plan.sums_at_once(parts.len(), self.count, self.isa(), arch).max(1);
        for parts in parts.chunks(at_once) {
            // without zeros, a block of weights is one vector: values are not joined
            let parts = if self.leaves_out_zeros() { parts } else { &self.joined(parts)[..] };
            let terms = self.accumulate(body, panels, phase, weights, vectors, parts);
            for (place, terms) in places.iter().zip(terms) {
                let terms = parts.iter().zip(terms.into_iter().flatten());
                body.extend(terms.map(|(part, value)| {
                    self.stored_sum(panels, weights, (phase, kept), part, *place, value)
                }));
            }
        }
    }

    /// Stores the terms of a phase for one vector of a sum. `to` is the row's first sum.
    fn stored_sum(
        &self,
        panels: &Panels,
        weights: PanelWeights,
        (phase, kept): (Phase, StoredSums),
        part: &SumVector,
        to: Place,
        mut value: Expr,
    ) -> Stmt {
        let product = self.product();
        let sum = &product.sums[part.sum];
        let slot = match kept {
            StoredSums::Sums => self.slot(sum),
            StoredSums::InputTerms => product.position(Phase::Input, part.sum),
        };
        let to = to.at(slot * panels.columns + part.lane);
        if phase != Phase::Input && sum.w.is_some() {
            value = add(load(to, part.lanes), value);
        }
        if kept == StoredSums::Sums && sum.last_phase() == phase {
            value = self.with_bias(panels, weights, part, value);
        }
        Stmt::Store { to, value }
    }

    /// Calls `finish` with some of the stored sums of every row, panel after panel.
    pub(super) fn finish_rows(
        &mut self,
        which: Range<usize>,
        columns: &[Column],
        mut finish: impl FnMut(&mut RowGroup<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let product = self.product();
        let mut stmts = Vec::new();
        for (r, sums) in self.sums.clone().into_iter().enumerate() {
            let column_of_row = |c: &Column| {
                if c.each_row {
                    Column { start: c.start.at(r * c.row(product.units)), ..*c }
                } else {
                    *c
                }
            };
            let mut columns: Vec<_> = columns.iter().map(column_of_row).collect();
            columns.push(Column {
                width: product.sums.len(),
                relative: true,
                ..Column::new("sums", sums, false)
            });
            for (_, panels) in self.groups() {
                stmts.extend(self.panels(panels, None, &columns, |row, _, places| {
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
                        let values = row.values(pass).into_iter().map(of_vector).collect();
                        finish(row, &mut body, &Panel { panels, biases: None, columns }, values);
                    }
                    body
                }));
            }
        }
        stmts
    }
}
