//! Options that a model leaves without anything to apply to.

use super::Validation;
use crate::diagnostic::{Diagnostic, Origin};
use crate::model::{ValidOp, counted};
use crate::options::Threads;
use crate::plan::Product;

impl Validation<'_> {
    /// Refuses a list of instruction sets that names one twice.
    pub(super) fn instruction_sets(&mut self) {
        let isas = self.options.isas.as_deref().unwrap_or_default();
        if let Some((_, isa)) = isas.iter().enumerate().find(|(at, isa)| isas[..*at].contains(isa)) {
            let found = format!("the instruction set {} is given twice", isa.name);
            let diagnostic = Diagnostic::error(Origin::Unknown, found).valid("each instruction set once");
            self.diagnostics.push(diagnostic.help("correct --isa"));
        }
    }

    /// Warns of choices for the plan that change nothing, or less than they say.
    pub(super) fn choices(&mut self) {
        let tuning = &self.options.tuning;
        let mut products: Vec<(Product, bool)> = Vec::new();
        let mut pointwise = false;
        for node in self.valid.all_nodes() {
            match &node.op {
                ValidOp::Cell(cell) => products.push((cell.into(), true)),
                ValidOp::Dense(dense) => products.push((dense.into(), false)),
                ValidOp::Pointwise(_) => pointwise = true,
                _ => {}
            }
        }
        let columns = products.iter().map(|(product, _)| product.units).max().unwrap_or(0);
        let rows = products.iter().map(|(product, _)| product.rows.max(product.steps)).max().unwrap_or(0);
        let one_row_recurs = products.iter().any(|(product, recurs)| *recurs && product.rows == 1);
        let several_steps = products.iter().any(|(product, _)| product.steps > 1);
        let most = |key: &str, given: Option<usize>, most: usize, what: &str| {
            let given = given.filter(|&given| given > most)?;
            Some(match most {
                0 => format!("{key}={given} has no effect: the model has no cell and no dense layer"),
                _ => format!("{key}={given} is more than the model has: {} count", counted(most, what)),
            })
        };
        let switch = |key: &str, given: Option<bool>, applies: bool, why: &str| {
            let on = if given.filter(|_| !applies)? { "on" } else { "off" };
            Some(format!("{key}={on} has no effect: {why}"))
        };
        let said = [
            most("panel-columns", tuning.panel_columns, columns, "column"),
            most("rows-at-once", tuning.rows_at_once, rows, "row"),
            switch("alternate", tuning.alternate, one_row_recurs, "the model has no cell of one row"),
            switch("input-first", tuning.input_first, several_steps, "the model has no sequence of several steps"),
            switch("fuse", tuning.fuse, pointwise, "the model has no operation that works element by element"),
            switch("halves", tuning.halves, self.options.threads == Threads::Two, "a step runs on one thread"),
        ];
        for found in said.into_iter().flatten() {
            self.diagnostics.push(Diagnostic::warning(Origin::Unknown, format!("plan: {found}")));
        }
    }
}
