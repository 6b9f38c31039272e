//! The early phases of single rows: x and h terms, and the pointwise part behind them.

use super::operands::{Multiplied, Terms};
use super::{Column, Panel, PanelWeights, Rows, Stage, SumVector, Sums, add, finished_at_once};
use crate::kernel::{BufferId, Expr, Place, Stmt};
use crate::lower::builder::load;
use crate::plan::{self, Panels, Phase, Sum, Tiling, Unrolled};

impl<'a, 'm> Rows<'_, 'a, 'm> {
    /// The early phases of one row.
    pub(super) fn early_row(
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

    /// The buffer for runs, sized for the widest panel. `None` if no panel is tiled by runs.
    pub(super) fn runs_buffer(&mut self) -> Option<BufferId> {
        let widest = self
            .groups()
            .filter(|(i, _)| *self.tiling(*i) == Tiling::Runs)
            .map(|(_, p)| p.columns)
            .max()?;
        let sums = self.product().sums.len();
        Some(self.builder.scratch("gates", sums * widest))
    }

    #[allow(clippy::too_many_arguments)] // each says something of its own
    pub(super) fn early_panel(
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

    /// The early phases of one panel and one row: `(x terms + h terms) + bias` for each part. Late
    /// sums have x terms only, without bias.
    pub(super) fn early_sums(
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

    /// Runs of neighbouring sums with weights in equal phases, as (first sum, number of sums).
    pub(super) fn runs(&self) -> Vec<(usize, usize)> {
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

    /// True if x terms of late sums are summed after the pointwise part of the early sums: an
    /// out-of-order core sums during the latency of the activations.
    pub(in crate::lower) fn keeps_late_apart(&self) -> bool {
        let most = self.builder.lowering.plan.arch.costs.limits.late_apart;
        // excluded on targets with scarce code memory
        self.isa().code.pass == 0
            && self.lanes() > 4
            && self.plan.unrolled != Unrolled::Fully
            && !self.stores_sums()
            && !self.product().layout.format.is_of_integers()
            && self.plan.bytes() <= most * self.lanes()
            && self.product().sums.iter().any(Sum::is_late)
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
