//! The early phases of single rows: x and h terms, followed by the pointwise part.

use super::terms::{Multiplied, Terms};
use super::{Column, Panel, PanelWeights, RowGroup, Stage, SumVector, Sums, add, finished_at_once};
use crate::kernel::{BufferId, Expr, Place, Stmt};
use crate::lower::builder::load;
use crate::plan::{self, Panels, Phase, Sum, Tiling};

/// A panel of the early phases of one row.
struct EarlyPanel<'p> {
    panels: &'p Panels,
    weights: PanelWeights,
    operands: &'p Multiplied,
    /// The columns: first those of the pointwise part, then sums computed earlier.
    columns: &'p [Column],
    /// The place of the panel in each of `columns`.
    places: &'p [Place],
    /// The number of columns of the pointwise part.
    given: usize,
}

impl EarlyPanel<'_> {
    /// The operands, with sums computed earlier at `places`: the places of this panel, or of one of
    /// its passes.
    fn operands_at(&self, places: &[Place]) -> Multiplied {
        let mut sums = places[self.given..].iter();
        let mut early_terms =
            |terms: &Terms| terms.with_sums(|| *sums.next().expect("lower: sums have a place"));
        let x = early_terms(&self.operands.x);
        Multiplied { x, h: self.operands.h.as_ref().map(early_terms) }
    }
}

impl<'a, 'm> RowGroup<'_, 'a, 'm> {
    /// The early phases of one row.
    pub(super) fn early_row(
        &mut self,
        operands: &Multiplied,
        columns: &[Column],
        activate: &impl Fn(&mut RowGroup<'_, 'a, 'm>, usize, Expr) -> Expr,
        finish: &mut impl FnMut(&mut RowGroup<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let product = self.product();
        let stored = self.runs_buffer();
        let mut walked = columns.to_vec();
        let phases = [
            (Phase::Input, "x_sums", Some(&operands.x)),
            (Phase::Hidden, "h_sums", operands.h.as_ref()),
        ];
        for (phase, name, terms) in phases {
            if let Some(place) = terms.and_then(Terms::sums) {
                walked.push(Column {
                    width: product.active(phase),
                    ..Column::new(name, place, false)
                });
            }
        }
        let mut stmts = Vec::new();
        for (group, panels) in self.groups() {
            let body = |this: &mut Self, weights: Option<PanelWeights>, places: &[Place]| {
                let weights = weights.expect("lower: asked for");
                let given = columns.len();
                let early =
                    EarlyPanel { panels, weights, operands, columns: &walked, places, given };
                match (this.tiling(group), stored) {
                    (Tiling::Columns(passes), _) => {
                        this.early_columns(&early, (group, passes), finish)
                    }
                    (Tiling::Runs, stored) => {
                        let stored = stored.expect("lower: runs are stored");
                        this.early_runs(&early, stored.into(), activate, finish)
                    }
                }
            };
            stmts.extend(self.panels(panels, Some(Stage::Early), &walked, body));
        }
        stmts
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

    /// The column that stores the x terms of late sums, if they are summed after the early sums.
    fn late_column(&self, early: &EarlyPanel<'_>) -> Option<usize> {
        let takes_late = early.columns.iter().position(|column| column.takes_late);
        takes_late.filter(|_| self.keeps_late_apart())
    }

    /// The early phases of a panel in passes over whole vectors of columns. `passes` belong to the
    /// `group`-th group of panels.
    fn early_columns(
        &mut self,
        early: &EarlyPanel<'_>,
        (group, passes): (usize, &[Vec<(usize, usize)>]),
        finish: &mut impl FnMut(&mut RowGroup<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let (sums, panels, late) = (&self.product().sums, early.panels, self.late_column(early));
        let is_early = |part: &SumVector| late.is_none() || !sums[part.sum].is_late();
        let several =
            |all: &Vec<Tiling>| matches!(&all[group], Tiling::Columns(all) if all.len() > 1);
        let loops = self.plan.tilings.iter().any(several);
        let stage = (panels, Stage::Early, loops);
        let columns = (early.columns, early.places);
        self.passes(stage, early.weights, columns, passes, |this, pass| {
            let operands = early.operands_at(&pass.columns);
            let mut body = Vec::new();
            let (parts, apart): (Vec<_>, Vec<_>) =
                this.parts(&pass.vectors).into_iter().partition(is_early);
            let each = parts.len() / pass.vectors.len();
            let mut values =
                this.early_sums(&mut body, panels, pass.weights, &operands, &parts).into_iter();
            let of_vector = |&(lane, lanes): &(usize, usize)| {
                let values = values.by_ref().take(each).collect();
                Sums { lane, lanes, values, active: false }
            };
            let values = pass.vectors.iter().map(of_vector).collect();
            let columns = &pass.columns[..early.given];
            let panel = Panel { panels, biases: Some(pass.weights.biases), columns };
            finish(this, &mut body, &panel, values);
            if let Some(column) = late {
                let (x, to) = (&operands.x, pass.columns[column]);
                this.late_x(&mut body, panels, pass.weights, x, &apart, to);
            }
            body
        })
    }

    /// The early phases of a panel whose gates are runs of lanes, stored at `stored` before the
    /// pointwise part.
    fn early_runs(
        &mut self,
        early: &EarlyPanel<'_>,
        stored: Place,
        activate: &impl Fn(&mut RowGroup<'_, 'a, 'm>, usize, Expr) -> Expr,
        finish: &mut impl FnMut(&mut RowGroup<'_, 'a, 'm>, &mut Vec<Stmt>, &Panel<'_>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let EarlyPanel { panels, weights, places, given, .. } = *early;
        let (sums, late) = (&self.product().sums, self.late_column(early));
        let is_early = |part: &SumVector| late.is_none() || !sums[part.sum].is_late();
        let operands = early.operands_at(places);
        let mut body = Vec::new();
        let mut parts = Vec::new();
        for (first, n) in self.runs() {
            let name: String = sums[first..first + n].iter().map(|s| s.name).collect();
            let vectors = plan::vectors(n * panels.columns, self.lanes());
            parts.extend(vectors.into_iter().enumerate().map(|(v, (lane, lanes))| {
                let name = format!("{name}{v}");
                SumVector { sum: first, lane, lanes, name }
            }));
        }
        let (parts, apart): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_early);
        let most = plan::run_vectors(self.product(), self.isa(), parts.len());
        for pass in parts.chunks(most) {
            let pass = &self.joined(pass)[..];
            let values = self.early_sums(&mut body, panels, weights, &operands, pass);
            for (part, value) in pass.iter().zip(values) {
                let value = activate(self, part.sum, value);
                let to = stored.at(part.sum * panels.columns + part.lane);
                body.push(Stmt::Store { to, value });
            }
        }
        let vectors = plan::vectors(panels.columns, self.lanes());
        for pass in vectors.chunks(finished_at_once(self.isa())) {
            let of_vector = |&(lane, lanes): &(usize, usize)| {
                let part = |sum: usize| load(stored.at(sum * panels.columns + lane), lanes);
                let is_early = |sum: &usize| late.is_none() || !sums[*sum].is_late();
                let values = (0..sums.len()).filter(is_early).map(part);
                Sums { lane, lanes, values: values.collect(), active: true }
            };
            let values = self.values(pass).iter().map(of_vector).collect();
            let columns = &places[..given];
            let panel = Panel { panels, biases: Some(weights.biases), columns };
            finish(self, &mut body, &panel, values);
        }
        if let Some(column) = late {
            let apart = self.joined(&apart);
            self.late_x(&mut body, panels, weights, &operands.x, &apart, places[column]);
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
}
