//! Options that a model leaves without anything to apply to.

use super::Validation;
use crate::diagnostic::{Diagnostic, Origin, Setting};
use crate::model::{Pointwise, PointwiseFunction, ValidOp, counted};
use crate::options::{Options, Threads};

impl Validation<'_> {
    /// Refuses a list of instruction sets that names one twice, or one of another architecture.
    pub(super) fn instruction_sets(&mut self) {
        let isas = self.options.isas.as_deref().unwrap_or_default();
        if let Some((_, isa)) = isas.iter().enumerate().find(|(at, isa)| isas[..*at].contains(isa)) {
            let found = format!("the instruction set {} is given twice", isa.name);
            let diagnostic = Diagnostic::error(Origin::Unknown, found).valid("each instruction set once");
            self.diagnostics.push(diagnostic.help(format!("correct {}", self.options.wording.of(Setting::Isa))));
        }
        let known: Vec<_> = self.options.known_isas().collect();
        for isa in isas.iter().filter(|isa| !known.contains(isa)) {
            let Options { arch, language, .. } = self.options;
            let found = format!("{:?} for the target {} has no instruction set {}", language, arch.name, isa.name);
            let names: Vec<_> = known.iter().map(|isa| isa.name).collect();
            let diagnostic = Diagnostic::error(Origin::Unknown, found).valid(names.join(", "));
            let help = format!("leave it out of {}", self.options.wording.of(Setting::Isa));
            self.diagnostics.push(diagnostic.help(help));
        }
    }

    /// Warns of choices for the plan that change nothing, or less than they say.
    pub(super) fn choices(&mut self) {
        let tuning = &self.options.tuning;
        let (mut columns, mut rows) = (0, 0);
        let [mut one_row_recurs, mut several_steps, mut pointwise, mut chooses] = [false; 4];
        for node in self.valid.all_nodes() {
            match &node.op {
                ValidOp::Cell(cell) => {
                    let steps = cell.steps();
                    (columns, rows) = (columns.max(cell.hidden_size), rows.max(cell.batch).max(steps));
                    one_row_recurs |= cell.batch == 1;
                    several_steps |= steps > 1;
                }
                ValidOp::Dense(dense) => {
                    (columns, rows) = (columns.max(dense.outputs), rows.max(dense.rows));
                }
                ValidOp::Pointwise(Pointwise { function, inputs, .. }) => {
                    pointwise = true;
                    chooses |= *function == PointwiseFunction::Select && self.valid.len(inputs[0]) == 1;
                }
                _ => {}
            }
        }
        let most = |key: &str, given: Option<usize>, most: usize, what: &str| {
            let given = given.filter(|&given| given > most)?;
            Some(match most {
                0 => format!("{key}={given} has no effect: the model has no cell and no dense layer"),
                _ => format!("{key}={given} is more than the model has: {}", counted(most, what)),
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
            switch(
                "branches",
                tuning.branches,
                chooses,
                "the model has no If whose condition is known at run time only",
            ),
            switch("halves", tuning.halves, self.options.threads == Threads::Two, "a step runs on one thread"),
        ];
        for found in said.into_iter().flatten() {
            self.diagnostics.push(Diagnostic::warning(Origin::Unknown, format!("plan: {found}")));
        }
    }
}
