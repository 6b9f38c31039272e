//! The late phase of single rows: the terms of r.h.

use super::terms::Terms;
use super::{Column, Panel, PanelColumns, PanelWeights, RowGroup, Stage, SumVector, Sums, add};
use crate::kernel::{Place, Stmt};
use crate::lower::builder::load;
use crate::plan::{self, Panels, Phase};

/// The one sum of a late phase.
pub(super) struct LateSum<'t> {
    /// The index of the sum in [`Product::sums`](plan::Product::sums).
    pub(super) sum: usize,
    /// The right-hand side of the phase: r.h, or sums of its terms computed earlier.
    pub(super) terms: &'t Terms,
    /// The number of columns of the pointwise part. The x terms follow.
    pub(super) pointwise_columns: usize,
}

impl<'a, 'm> RowGroup<'_, 'a, 'm> {
    /// The late phase of one row.
    pub(super) fn late_row(
        &mut self,
        late: &LateSum<'_>,
        columns: &[Column],
        finish: &mut impl FnMut(&mut RowGroup<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let mut walked = columns.to_vec();
        walked.extend(late.terms.sums().map(|place| Column::new("h_sums", place, false)));
        let mut stmts = Vec::new();
        for (_, panels) in self.groups() {
            stmts.extend(self.panels(
                panels,
                Some(Stage::Late),
                &walked,
                |this, weights, places| {
                    let weights = weights.expect("lower: asked for");
                    let plan = this.builder.lowering.plan;
                    let passes_on =
                        |isa| plan::late_passes(this.product(), panels.columns, isa, plan.values);
                    let passes = passes_on(this.isa());
                    let loops = plan.isas.iter().any(|planned| passes_on(planned.isa).len() > 1);
                    let stage = (panels, Stage::Late, loops);
                    this.passes(stage, weights, (&walked, places), &passes, |this, pass| {
                        this.late_pass(late, panels, pass, finish)
                    })
                },
            ));
        }
        stmts
    }

    /// The late phase of one pass over the columns of a panel.
    fn late_pass(
        &mut self,
        late: &LateSum<'_>,
        panels: &Panels,
        pass: &PanelColumns,
        finish: &mut impl FnMut(&mut RowGroup<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        let mut parts = self.parts(&pass.vectors);
        parts.retain(|part| part.sum == late.sum);
        let (weights, x_terms) = (pass.weights, pass.columns[late.pointwise_columns]);
        let columns = &pass.columns[..late.pointwise_columns];
        let panel = Panel { panels, biases: Some(weights.biases), columns };
        let terms = late.terms.with_sums(|| pass.columns[late.pointwise_columns + 1]);
        let terms = self.terms(&mut body, panels, Phase::ResetHidden, weights, &terms, &parts);
        for (part, terms) in parts.iter().zip(terms.into_iter().flatten()) {
            let (lane, lanes) = (part.lane, part.lanes);
            let terms = add(load(x_terms.at(lane), lanes), terms);
            let values = vec![self.with_bias(panels, weights, part, terms)];
            finish(self, &mut body, &panel, vec![Sums { lane, lanes, values, active: false }]);
        }
        body
    }

    /// True if x terms of late sums are summed after the pointwise part of the early sums.
    pub(in crate::lower) fn keeps_late_apart(&self) -> bool {
        !self.stores_sums() && self.plan.defers_late(self.isa(), self.builder.lowering.plan.arch)
    }

    /// Stores the x terms of the late sums of a panel or pass at `to`.
    pub(super) fn late_x(
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
}
