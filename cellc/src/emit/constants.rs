//! The meaning of constants in kernels, in words: biases, initial states, terms, factors.

use crate::kernel::{Base, BufferId, Expr, Kernel, LaneOp, Stmt, Walk};

/// The use of a constant by a kernel: the end of the constant's name, and the beginning of its
/// documentation. `has_weights`: true if the kernel has weights, which makes an added constant a
/// bias.
pub(super) fn constant_use(
    kernel: &Kernel,
    id: BufferId,
    has_weights: bool,
) -> (&'static str, String) {
    let mut uses =
        Uses { places: vec![Base::Buffer(id)], states: Vec::new(), operations: Vec::new() };
    uses.block(&kernel.body);
    let (name, noun) = match (&uses.operations[..], has_weights) {
        _ if !uses.states.is_empty() => {
            return ("initial", format!("The initial {}", uses.states.join(" and ")));
        }
        ([LaneOp::Add, ..], true) => ("bias", "The bias"),
        ([LaneOp::Add, ..], false) => ("term", "A term"),
        ([LaneOp::Sub, ..], _) => ("term", "A term of a difference"),
        ([LaneOp::Mul | LaneOp::MulAdd, ..], _) => ("factor", "A factor"),
        ([LaneOp::Div, ..], _) => ("divisor", "An operand of a division"),
        ([LaneOp::Max | LaneOp::Min, ..], _) => ("limit", "A limit"),
        ([LaneOp::SelectLess, ..], _) => ("limit", "An operand of a comparison"),
        _ => ("constant", "A constant"),
    };
    (name, noun.to_owned())
}

/// The uses of one constant.
struct Uses {
    /// The constant's buffer, and the windows of loops over this buffer.
    places: Vec<Base>,
    /// The states whose initial value is the constant.
    states: Vec<&'static str>,
    /// The operations with the constant as an operand.
    operations: Vec<LaneOp>,
}

impl Uses {
    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => {
                    self.expr(value)
                }
                Stmt::For { walks, body, .. } => {
                    walks.iter().for_each(|walk| self.walk(walk));
                    self.block(body);
                }
                Stmt::Pick { body, .. } => self.block(body),
                Stmt::If { then, otherwise, .. } => {
                    self.block(then);
                    self.block(otherwise);
                }
                _ => {}
            }
        }
    }

    fn walk(&mut self, walk: &Walk) {
        if !self.places.contains(&walk.start.base) {
            return;
        }
        self.places.push(Base::Window(walk.window));
        let state = match walk.name.as_str() {
            "h_row" => "h",
            "c_row" => "c",
            _ => return,
        };
        if !self.states.contains(&state) {
            self.states.push(state);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let (Expr::Op(_, args) | Expr::Call(_, args)) = expr else { return };
        for arg in args {
            match (expr, arg) {
                (Expr::Op(operation, _), Expr::Load { from, .. } | Expr::Splat { from, .. })
                    if self.places.contains(&from.base) =>
                {
                    self.operations.push(*operation)
                }
                _ => self.expr(arg),
            }
        }
    }
}
