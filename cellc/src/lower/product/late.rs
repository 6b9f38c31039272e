//! The late phase of single rows: the terms of r.h.

use super::operands::Terms;
use super::{Column, Panel, Rows, Stage, Sums, add};
use crate::kernel::{Place, Stmt};
use crate::lower::builder::load;
use crate::plan::{self, Phase};

impl<'a, 'm> Rows<'_, 'a, 'm> {
    /// The late phase of one row. The first `given` columns belong to `finish`; the x terms follow.
    pub(super) fn late_row(
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
}
