//! Sums over rows of weights for which a dialect has functions.

use super::dialect::{Dialect, Support};
use super::statements::{Operand, RowSums, RowText, SumLoop};
use super::walk::Traversal;
use crate::emit::rows::AddedRow;
use crate::kernel::{Expr, Place, Stmt, Var, Walk};

/// True if a loop body changes a value that is declared before the loop.
pub(super) fn is_set(body: &[Stmt], sum: Var) -> bool {
    let first = body.iter().find_map(|stmt| match stmt {
        Stmt::Let { var, .. } if *var == sum => Some(false),
        Stmt::Set { var, .. } if *var == sum => Some(true),
        _ => None,
    });
    first == Some(true)
}

/// True if a statement changes one of the values.
fn sets(stmt: &Stmt, vars: &[Var]) -> bool {
    match stmt {
        Stmt::Set { var, .. } => vars.contains(var),
        Stmt::For { body, .. } | Stmt::Pick { body, .. } => {
            body.iter().any(|stmt| sets(stmt, vars))
        }
        Stmt::If { then, otherwise, .. } => {
            then.iter().chain(otherwise).any(|stmt| sets(stmt, vars))
        }
        _ => false,
    }
}

impl Traversal<'_> {
    /// Adds the row of the first statements with a function of the dialect, if any. Returns the
    /// number of these statements.
    pub(super) fn adds_row(&self, body: &[Stmt], dialect: &mut impl Dialect) -> Option<usize> {
        let row = AddedRow::first_of(body)?;
        let at = |place: Place| {
            let block = self.base(place.base);
            Operand { block, offset: block.at(place.offset) }
        };
        let sums = row.sums.iter().map(|var| &*self.names[var.0]).collect();
        let text = RowText { sums, weights: at(row.weights), element: at(row.element), row: &row };
        let support = dialect.add_row(&text);
        (support == Support::Written).then_some(row.statements)
    }

    /// The sums of a loop that only adds rows of weights: each iteration reads one row and one
    /// element.
    fn row_sums<'s>(
        &'s self,
        count: usize,
        walks: &'s [Walk],
        body: &[Stmt],
    ) -> Option<RowSums<'s>> {
        let ([rows, elements], Some((sums, lanes, first, sum_stride))) =
            (walks, self.kernel.row_sums(walks, body))
        else {
            return None;
        };
        let weights = self.base(rows.start.base);
        let at_once = self
            .kernel
            .hints
            .unrolled_by
            .iter()
            .find(|(window, _)| *window == rows.window)
            .map_or(1, |(_, factor)| *factor);
        Some(RowSums {
            names: sums.iter().map(|var| &*self.names[var.0]).collect(),
            lanes,
            weights: Operand { block: weights, offset: weights.at(rows.start.offset) + first },
            row_stride: rows.stride,
            sum_stride,
            elements: self.operand(elements.start),
            rows: count,
            at_once,
            next: None,
        })
    }

    /// The sums of a loop after declarations of sums with initial value 0, if no other statement
    /// changes the sums; also the number of statements, the declarations and the loop.
    pub(super) fn zero_sums<'s>(&'s self, body: &'s [Stmt]) -> Option<(RowSums<'s>, usize)> {
        let zero = |stmt: &Stmt| match stmt {
            Stmt::Let { var, mutable: true, value: Expr::Const { bits: 0, .. } } => Some(*var),
            _ => None,
        };
        let declared: Vec<Var> = body.iter().map_while(zero).collect();
        let [Stmt::For { count, counter: None, backwards: None, walks, body }, rest @ ..] =
            &body[declared.len()..]
        else {
            return None;
        };
        let (vars, ..) = self.kernel.row_sums(walks, body)?;
        let is_declared =
            vars.len() == declared.len() && vars.iter().all(|var| declared.contains(var));
        let is_complete = !rest.iter().any(|stmt| sets(stmt, &declared));
        let sums = self.row_sums(*count, walks, body).filter(|_| is_declared && is_complete)?;
        let next = self
            .zero_sums(rest)
            .map(|(next, _)| SumLoop { gates: next.names.len(), rows: next.rows });
        Some((RowSums { next, ..sums }, declared.len() + 1))
    }
}
