//! Model and plan become a kernel program: cells disappear, only loops over buffers remain.

mod gates;
mod gru;
mod rnn;

use crate::kernel::{
    Buffer, BufferId, Expr, Function, Kernel, Move, MoveDim, Place, Program, Role, Stmt, Type, Walk, WindowId,
};
use crate::model::{Activation, CellKind, Source, ValidModel, WeightSource};
use crate::plan::{self, Phase, Plan};

/// Lowers a model for one of the plan's instruction sets, given by its position in [`Plan::isas`].
pub fn lower(model: &ValidModel, plan: &Plan, isa: usize) -> Program {
    let mut lowering = Lowering::new(model);
    let weights: Vec<_> =
        model.cells().into_iter().enumerate().map(|(index, cell)| lowering.pack(index, cell, plan)).collect();
    // From here on buffers are made that only this instruction set has.
    for (index, (cell, weights)) in model.cells().into_iter().zip(weights).enumerate() {
        let kernel = gates::Cell::new(&mut lowering, cell, plan, isa, weights, index);
        let kernel = match cell.kind {
            CellKind::Rnn => rnn::lower(kernel),
            _ => gru::lower(kernel),
        };
        lowering.program.kernels.push(kernel);
    }
    lowering.copies();
    lowering.program
}

/// The program under construction, and which buffer holds what.
struct Lowering<'m> {
    model: &'m ValidModel,
    program: Program,
    parameters: Vec<BufferId>,
    constants: Vec<Option<BufferId>>,
    results: Vec<BufferId>,
    /// Where each cell's new state is written: a result where one takes it, else scratch.
    cells: Vec<BufferId>,
}

impl<'m> Lowering<'m> {
    fn new(model: &'m ValidModel) -> Self {
        let mut lowering = Self {
            model,
            program: Program::default(),
            parameters: Vec::new(),
            constants: vec![None; model.constants.len()],
            results: Vec::new(),
            cells: Vec::new(),
        };
        for (i, parameter) in model.parameters.iter().enumerate() {
            let id = lowering.buffer(format!("in{i}"), Role::Parameter(i), parameter.shape.iter().product());
            lowering.parameters.push(id);
        }
        for (i, result) in model.results.iter().enumerate() {
            let id = lowering.buffer(format!("out{i}"), Role::Result(i), result.shape.iter().product());
            lowering.results.push(id);
        }
        for (i, cell) in model.cells().into_iter().enumerate() {
            let taken = model.results.iter().position(|r| r.source == Source::Value(i));
            let id = match taken {
                Some(result) => lowering.results[result],
                None => lowering.buffer(format!("hidden{i}"), Role::Scratch, cell.batch * cell.hidden_size),
            };
            lowering.cells.push(id);
        }
        for source in model.cells().into_iter().flat_map(|c| [c.x, c.h]).chain(model.results.iter().map(|r| r.source)) {
            lowering.source(source);
        }
        lowering
    }

    fn buffer(&mut self, name: impl Into<String>, role: Role, len: usize) -> BufferId {
        self.program.buffers.push(Buffer { name: name.into(), role, element: Default::default(), len });
        BufferId(self.program.buffers.len() - 1)
    }

    fn constant(&mut self, index: usize) -> BufferId {
        if let Some(id) = self.constants[index] {
            return id;
        }
        let id = self.buffer(format!("constant{index}"), Role::Constant(index), self.model.constants[index].len());
        self.constants[index] = Some(id);
        id
    }

    fn source(&mut self, source: Source) -> BufferId {
        match source {
            Source::Parameter(i) => self.parameters[i],
            Source::Constant(i) => self.constant(i),
            Source::Value(i) => self.cells[i],
            Source::Variable(_) => unreachable!("lower: not yet"),
        }
    }

    fn weight(&mut self, source: WeightSource) -> Option<BufferId> {
        match source {
            WeightSource::Parameter(i) => Some(self.parameters[i]),
            WeightSource::Constant(i) => Some(self.constant(i)),
            WeightSource::Zero => None,
        }
    }

    /// The function for an activation, symbolic until `pass::expand`.
    fn function(&mut self, activation: Activation) -> usize {
        let name = activation.label();
        if let Some(known) = self.program.functions.iter().position(|f| f.name == name) {
            return known;
        }
        self.program.functions.push(Function {
            name: name.to_string(),
            doc: Vec::new(),
            locals: vec![crate::kernel::Local { name: "x".into(), ty: Type::f32(1) }],
            params: 1,
            body: Vec::new(),
            result: None,
        });
        self.program.functions.len() - 1
    }

    /// How the weights of a cell get from the model's order into the order of [`plan::Panels`].
    fn pack(&mut self, index: usize, cell: &crate::model::ValidCell, plan: &Plan) -> BufferId {
        let plan = &plan.cells[index];
        let (w, r, b) = (self.weight(cell.w), self.weight(cell.r), self.weight(cell.b));
        let to = self.buffer(format!("weights{index}"), Role::Weights, plan.weights);
        let hidden_size = cell.hidden_size;
        for panels in &plan.panels {
            let (count, columns, first) = (panels.count, panels.columns, panels.first);
            let dim = |extent, from_stride, to_stride| MoveDim { extent, from_stride, to_stride };
            for (i, sum) in plan::sums(cell.kind).iter().enumerate() {
                let Some(from) = b else { break };
                let before = &plan::sums(cell.kind)[..i];
                let position = before.iter().filter(|s| s.is_late() == sum.is_late()).count();
                let (start, stride) = match sum.is_late() {
                    true => (panels.late_offset, panels.late_stride),
                    false => (panels.offset, panels.stride),
                };
                self.program.packing.push(Move {
                    from,
                    from_offset: sum.bias * hidden_size + first,
                    to,
                    to_offset: start + position * columns,
                    dims: vec![dim(count, columns, stride), dim(columns, 1, 1)],
                });
            }
            for phase in Phase::ALL {
                let rows = plan::rows(cell, phase);
                let gates: Vec<_> = plan::sums(cell.kind).iter().filter_map(|s| s.gate(phase)).collect();
                let (from, start, stride) = match phase {
                    Phase::Input => (w, panels.offset + panels.input, panels.stride),
                    Phase::Hidden => (r, panels.offset + panels.hidden, panels.stride),
                    Phase::ResetHidden => (r, panels.late_offset + panels.late_rows, panels.late_stride),
                };
                let Some(from) = from else { continue };
                for (i, gate) in gates.iter().enumerate() {
                    self.program.packing.push(Move {
                        from,
                        from_offset: (gate * hidden_size + first) * rows,
                        to,
                        to_offset: start + i * columns,
                        dims: vec![
                            dim(count, columns * rows, stride),
                            dim(columns, rows, 1),
                            dim(rows, 1, gates.len() * columns),
                        ],
                    });
                }
            }
        }
        to
    }

    /// Results that no cell writes itself: a parameter, a constant, or a state that another result already took.
    fn copies(&mut self) {
        for (i, result) in self.model.results.iter().enumerate() {
            let from = self.source(result.source);
            let to = self.results[i];
            if from == to {
                continue;
            }
            let len = self.program.buffer(to).len;
            let copy = |at: usize, lanes: usize, from: Place, to: Place| Stmt::Store {
                to: to.at(at),
                value: Expr::Load { from: from.at(at), lanes },
            };
            const TURN: usize = 16;
            let mut body = Vec::new();
            let turns = len / TURN;
            if turns > 0 {
                let (a, b) = (WindowId(0), WindowId(1));
                body.push(Stmt::For {
                    count: turns,
                    turn: None,
                    walks: vec![
                        Walk {
                            window: a,
                            name: "from".into(),
                            of: from.into(),
                            len: TURN,
                            written: false,
                            reverse: false,
                        },
                        Walk { window: b, name: "to".into(), of: to.into(), len: TURN, written: true, reverse: false },
                    ],
                    body: plan::vectors(TURN, 4).into_iter().map(|(at, l)| copy(at, l, a.into(), b.into())).collect(),
                });
            }
            for (at, lanes) in plan::vectors(len % TURN, 4) {
                body.push(copy(turns * TURN + at, lanes, from.into(), to.into()));
            }
            self.program.kernels.push(Kernel {
                name: format!("copy{i}"),
                doc: vec!["a result that is given as it comes".to_string()],
                params: vec![(from, false), (to, true)],
                scratch: Vec::new(),
                locals: Vec::new(),
                body,
            });
        }
    }
}
