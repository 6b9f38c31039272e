//! Recurrent cells: loops over rows and time steps. [`super::gru`], [`super::lstm`] and
//! [`super::rnn`] compute one step of the rows that share each load of a weight.

use super::builder::{KernelBuilder, Lowered, MovingPlace, copy, flush, op};
use super::integers::{between, number};
use super::memory::PackedProduct;
use super::pointwise::End;
use super::product::{RowGroup, X, for_rows, for_tiles};
use super::step::CellStep;
use super::{gru, lstm, rnn};
use crate::core::{CoreCell, Lengths, Sequence, Source};
use crate::kernel::{Expr, LaneOp, Place, Scalar, Stmt, Type, Var};
use crate::model::{Activation, CellKind, counted};
use crate::plan::{self, Phase, ProductPlan};

/// The statements of one step.
fn step<'m>(
    builder: &mut KernelBuilder<'_, 'm>,
    step: &CellStep<'_, 'm>,
    product: PackedProduct<'m>,
) -> Vec<Stmt> {
    let rows = RowGroup::new(builder, product, step.rows, step.backwards);
    match step.cell.kind {
        CellKind::Rnn => rnn::step(rows, step),
        CellKind::Gru(_) | CellKind::Augru(_) => gru::step(rows, step),
        CellKind::Lstm => lstm::step(rows, step),
    }
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn cell(&mut self, cell: &'m CoreCell) -> Lowered {
        let mut doc = match cell.kind {
            CellKind::Rnn => rnn::doc(cell),
            CellKind::Gru(_) | CellKind::Augru(_) => gru::doc(cell),
            CellKind::Lstm => lstm::doc(cell),
        };
        let end = self.end_of(cell);
        if let (Some(end), Some(equation)) = (&end, doc.last_mut()) {
            equation.push_str(&end.names());
        }
        let body = match &cell.sequence {
            Some(sequence) if !cell.is_one_step() => {
                let direction = if sequence.reverse { ", the last first" } else { "" };
                doc.push(format!("{}{direction}.", counted(sequence.steps, "step")));
                self.sequence(cell, sequence, end)
            }
            _ => self.one_step(cell, end),
        };
        Lowered { doc, body }
    }

    /// The pointwise work on the new h of every step, if any is fused.
    fn end_of(&mut self, cell: &CoreCell) -> Option<End<'m>> {
        let root = cell.out.y.or(cell.out.h)?;
        self.lowering.plan.fusion.starting(root)?;
        Some(self.end(root, cell.hidden_size))
    }

    fn product_of(&self, cell: &CoreCell) -> PackedProduct<'m> {
        self.lowering.product(cell.outputs()[0])
    }

    fn value(&mut self, value: Option<usize>) -> Option<Place> {
        // `None`: the value is in registers only
        value.and_then(|value| self.lowering.places[value])
    }

    fn one_step(&mut self, cell: &'m CoreCell, end: Option<End<'m>>) -> Vec<Stmt> {
        let (inputs, units) = (cell.input_size, cell.hidden_size);
        let product = self.product_of(cell);
        let half = self.half;
        // places begin at the half's first row
        let rows = half.map_or(0..cell.batch, |half| half.rows.clone());
        let read = |this: &mut Self, source: Source, len: usize| {
            this.lowering.source(source).at(rows.start * len)
        };
        let x = read(self, cell.x, inputs);
        let h = read(self, cell.h, units);
        let c = cell.c.map(|c| read(self, c, units));
        let a = cell.a.map(|a| read(self, a, 1));
        let [y, h_out, c_out] = [cell.out.y, cell.out.h, cell.out.c].map(|value| {
            let place = self.value(value)?;
            Some(match half {
                None => place,
                Some(half) => self.buffer_of_range(
                    place,
                    rows.start * units + half.units.start..(rows.end - 1) * units + half.units.end,
                ),
            })
        });
        // of a sequence of one step, y and the last h may both be wanted: h is a copy of y
        let (out, twice) = (y.or(h_out), y.and(h_out));
        let at_once = product.plan.rows_at_once[self.lowering.isa_index];
        let padded = Padded::new(self, product.plan);
        // if only c' is wanted, h' still needs a place
        let unread = (out.is_none() && end.is_none() && padded.is_none())
            .then(|| self.block("unread", at_once * units));
        let count = rows.len();
        let mut begin = Vec::new();
        begin.extend(padded.iter().flat_map(Padded::begin));
        let panels = half.map_or(0..product.plan.panels.len(), |half| half.panels.clone());
        let several = product.plan.panels[panels].iter().any(|panels| panels.count > 1);
        let backwards = (product.plan.alternate && several).then(|| self.backwards(&mut begin));
        let tensors = StepTensors { inputs, units, x, h, c, a, out, c_out, second_h: twice };
        let mut rows = tensors.rows();
        let states = rows.len();
        rows.extend(end.iter().flat_map(|end| end.rows(units, 1)));
        begin.extend(for_tiles(self, count, at_once, &rows, |builder, rows, places| {
            let at = tensors.at(&places[..states]);
            let end = end.as_ref().map(|end| end.at(&places[states..]));
            let (out, end) = (at.out.or(unread), end.as_ref());
            let mut body = Vec::new();
            let mut given = |name, source, from, len| match &padded {
                Some(_) => builder.flushed_by_element(&mut body, name, source, from, len),
                None => builder.flushed_rows(&mut body, name, source, from, len),
            };
            let x = X::Elements(given("x", cell.x, at.x, rows * inputs));
            let h = given("h", cell.h, at.h, rows * units);
            let c_given = cell.c.is_some_and(|c| builder.lowering.is_given(c));
            let cell_step = CellStep {
                cell,
                rows,
                backwards,
                x,
                h,
                c: at.c,
                c_given,
                a: at.a,
                out,
                c_out: at.c_out,
                end,
            };
            match &padded {
                Some(padded) => body.extend(padded.step(builder, cell_step, product)),
                None => body.extend(step(builder, &cell_step, product)),
            }
            if let (Some(out), Some(to)) = (out, at.second_h) {
                body.push(copy(out, to, rows * units));
            }
            body
        }));
        begin
    }

    /// A variable: 1 if this step walks panels from the last to the first, else 0.
    fn backwards(&mut self, body: &mut Vec<Stmt>) -> Var {
        let from =
            self.lowering.memory.backwards.expect("plan: a cell that alternates is known").into();
        let var = self.local("backwards", Type { scalar: Scalar::U32, lanes: 1 });
        body.push(Stmt::Let {
            var,
            mutable: false,
            value: Expr::Length { from, least: 0, most: 1 },
        });
        var
    }

    fn sequence(
        &mut self,
        cell: &'m CoreCell,
        sequence: &'m Sequence,
        end: Option<End<'m>>,
    ) -> Vec<Stmt> {
        let (inputs, units, steps) = (cell.input_size, cell.hidden_size, sequence.steps);
        let x = self.lowering.source(cell.x);
        let h = self.lowering.source(cell.h);
        let c = cell.c.map(|c| self.lowering.source(c));
        let a = cell.a.map(|a| self.lowering.source(a));
        let (h_out, c_out, y) =
            (self.value(cell.out.h), self.value(cell.out.c), self.value(cell.out.y));
        let lengths: Option<Place> = match &sequence.lengths {
            Lengths::Full => None,
            Lengths::Constant(lengths) => Some(self.lowering.memory.table(lengths).into()),
            Lengths::Parameter(i) => Some(self.lowering.source(Source::Parameter(*i))),
            Lengths::Computed(source) => Some(self.lowering.source(*source)),
        };
        // between steps, the states are in Ho and Co if these are wanted, else in scratch memory
        let own_h = h_out.is_none().then(|| self.block("h_state", units));
        let own_c = (cell.c.is_some() && c_out.is_none()).then(|| self.block("c_state", units));
        // a step reads all of h while it writes the new h, so the new h needs another place
        let own_out = y.is_none().then(|| self.block("h_next", units));
        let tensors =
            SequenceTensors { inputs, units, steps, x, h, c, a, y, h_out, c_out, lengths };
        let mut rows = tensors.rows();
        let states = rows.len();
        rows.extend(end.iter().flat_map(|end| end.rows(units, steps)));
        for_rows(self, cell.batch, &rows, |builder, places| {
            let at = tensors.at(&places[..states]);
            let row = SequenceRow {
                cell,
                sequence,
                own_out,
                h_state: at.h_out.or(own_h).expect("lower: the state has a place"),
                c_state: at.c_out.or(own_c),
                end: end.as_ref().map(|end| end.at(&places[states..])),
                at,
            };
            builder.sequence_row(&row)
        })
    }

    fn sequence_row(&mut self, row: &SequenceRow<'m>) -> Vec<Stmt> {
        let (cell, sequence) = (row.cell, row.sequence);
        let (units, steps) = (cell.hidden_size, sequence.steps);
        let product = self.product_of(cell);
        let states = [Some((row.at.h, row.h_state)), row.at.c.zip(row.c_state)];
        let mut begin = self.copy_elements(cell.h, row.at.h, row.h_state, units);
        if let (Some(c), Some((from, to))) = (cell.c, states[1]) {
            begin.extend(self.copy_elements(c, from, to, units));
        }
        let mut body = Vec::new();
        // the number of steps of this row; `None`: all
        let length = row.at.lengths.map(|from| {
            let var = self.local("length", Type { scalar: Scalar::U32, lanes: 1 });
            let value = match sequence.lengths {
                Lengths::Computed(_) => number(between(Expr::Load { from, lanes: 1 }, steps)),
                _ => Expr::Length { from, least: 0, most: steps },
            };
            body.push(Stmt::Let { var, mutable: false, value });
            Expr::Var(var)
        });
        match &length {
            None => body.extend(begin),
            Some(length) => {
                // a row without steps ends in zeros, not in its initial state
                let mut otherwise = Vec::new();
                for (_, to) in states.into_iter().flatten() {
                    otherwise.extend(self.zeros(to, units));
                }
                body.push(Stmt::If {
                    less: (Expr::u32(0, 1), length.clone()),
                    then: begin,
                    otherwise,
                });
            }
        }
        let (x, x_len) = self.x_of_steps(row, product, &mut body);
        let (x, walk_x) = self.walk("x_t", x, x_len, false);
        let mut walks = vec![walk_x];
        let a = row.at.a.map(|a| {
            let (place, walk) = self.walk("a_t", a, 1, false);
            walks.push(walk);
            place
        });
        let y = row.at.y.map(|y| {
            let (place, walk) = self.walk("y_t", y, units, true);
            walks.push(walk);
            place
        });
        let end = row.end.as_ref().map(|end| {
            let walk = |MovingPlace { name, start, len, written, .. }| {
                let (place, walk) = self.walk(&format!("{name}_t"), start, len, written);
                walks.push(walk);
                place
            };
            let places: Vec<_> = end.rows(units, 1).into_iter().map(walk).collect();
            end.at(&places)
        });
        walks.iter_mut().for_each(|walk| walk.reverse = sequence.reverse);
        let out = y.or(row.own_out).expect("lower: h' has a place");
        let counter = (length.is_some() || product.plan.alternate).then(|| self.counter("t"));
        let mut iteration = Vec::new();
        let backwards = counter.filter(|_| product.plan.alternate).map(|t| {
            let var = self.local("backwards", Type { scalar: Scalar::U32, lanes: 1 });
            let value = op(LaneOp::And, vec![Expr::Var(t), Expr::u32(1, 1)]);
            iteration.push(Stmt::Let { var, mutable: false, value });
            var
        });
        let x = match product.plan.input_first {
            true => X::Sums(x),
            false => {
                X::Elements(self.flushed_rows(&mut iteration, "x", cell.x, x, cell.input_size))
            }
        };
        let (h, c) = (row.h_state, row.c_state);
        let cell_step = CellStep {
            cell,
            rows: 1,
            backwards,
            x,
            h,
            c,
            c_given: false,
            a,
            out: Some(out),
            c_out: c,
            end: end.as_ref(),
        };
        iteration.extend(step(self, &cell_step, product));
        iteration.push(copy(out, row.h_state, units));
        if let (Some(length), Some(k)) = (length, counter) {
            let t = match sequence.reverse {
                false => Expr::Var(k),
                true => op(LaneOp::WrappingSub, vec![Expr::u32(steps as u32 - 1, 1), Expr::Var(k)]),
            };
            let otherwise = y.map_or_else(Vec::new, |y| self.zeros(y, units));
            iteration = vec![Stmt::If { less: (t, length), then: iteration, otherwise }];
        }
        body.push(Stmt::For { count: steps, counter, backwards: None, walks, body: iteration });
        body
    }

    /// The operand x of the steps of a row, and its length for each step. The operand is the input,
    /// or the x terms of all steps, computed as one product in which one load of a weight serves
    /// several steps.
    fn x_of_steps(
        &mut self,
        row: &SequenceRow<'m>,
        product: PackedProduct<'m>,
        body: &mut Vec<Stmt>,
    ) -> (Place, usize) {
        let (cell, steps) = (row.cell, row.sequence.steps);
        let units = cell.hidden_size;
        match product.plan.input_first {
            false => (row.at.x, cell.input_size),
            true => {
                let len = product.plan.product.active(Phase::Input) * units;
                let sums = self.block("x_sums", steps * len);
                let rows = [
                    MovingPlace::new("x_rows", row.at.x, cell.input_size, false),
                    MovingPlace::new("x_sums_rows", sums, len, true),
                ];
                let at_once = product.plan.rows_at_once[self.lowering.isa_index];
                body.extend(for_tiles(self, steps, at_once, &rows, |builder, rows, places| {
                    let mut body = Vec::new();
                    let x = builder.flushed_rows(
                        &mut body,
                        "x",
                        cell.x,
                        places[0],
                        rows * cell.input_size,
                    );
                    body.extend(
                        RowGroup::new(builder, product, rows, None).input_sums(x, places[1]),
                    );
                    body
                }));
                (sums, len)
            }
        }
    }

    /// Fills `len` elements with 0.
    pub(super) fn zeros(&mut self, to: Place, len: usize) -> Vec<Stmt> {
        const PER_ITERATION: usize = 16;
        let width = self.lowering.isa.lanes.min(4);
        let store = |to: Place, at: usize, lanes: usize| Stmt::Store {
            to: to.at(at),
            value: Expr::f32(0.0, lanes),
        };
        let mut body = Vec::new();
        let iterations = len / PER_ITERATION;
        if iterations > 0 {
            let (window, walk) = self.walk("zeros", to, PER_ITERATION, true);
            let inner = plan::vectors(PER_ITERATION, width)
                .into_iter()
                .map(|(at, lanes)| store(window, at, lanes))
                .collect();
            body.push(Stmt::repeat(iterations, vec![walk], inner));
        }
        let rest = plan::vectors(len % PER_ITERATION, width)
            .into_iter()
            .map(|(at, lanes)| store(to, iterations * PER_ITERATION + at, lanes));
        body.extend(rest);
        body
    }

    /// The activation of a sum. If the cell clips, the sum is clipped first.
    pub(super) fn activate(
        &mut self,
        cell: &CoreCell,
        activation: Activation,
        value: Expr,
    ) -> Expr {
        let lanes = value.ty(self.locals()).lanes;
        let value = match cell.clip {
            None => value,
            // this order of arguments keeps NaNs
            Some(clip) => op(
                LaneOp::Min,
                vec![Expr::f32(clip, lanes), op(LaneOp::Max, vec![Expr::f32(-clip, lanes), value])],
            ),
        };
        self.call(activation, value)
    }

    /// A new state, flushed unless denormals are kept.
    pub(super) fn state(&mut self, value: Expr) -> Expr {
        if self.lowering.plan.flush_below.is_some() { flush(value) } else { value }
    }
}

/// Scratch memory for the states of a padded cell: whole vectors, whose first `units` elements are
/// those of the tensors.
struct Padded {
    c: Place,
    out: Place,
    units: usize,
    columns: usize,
}

impl Padded {
    /// The states of a cell in scratch memory. `None` for a cell without padding.
    fn new(builder: &mut KernelBuilder<'_, '_>, plan: &ProductPlan) -> Option<Self> {
        let (units, columns) = (plan.product.units, plan.panels[0].columns);
        let mut scratch = |name| builder.scratch(name, columns).into();
        plan.is_padded().then(|| Self {
            c: scratch("c_padded"),
            out: scratch("out_padded"),
            units,
            columns,
        })
    }

    /// Sets the cell state of the padding to 0. The state stays 0, as the weights and biases of the
    /// padding are 0.
    fn begin(&self) -> impl Iterator<Item = Stmt> {
        let zero = |at| Stmt::Store { to: self.c.at(at), value: Expr::f32(0.0, 1) };
        (self.units..self.columns).map(zero)
    }

    /// The statements of a step: copies the cell state of `one` into padded memory, and the new
    /// states back.
    fn step<'m>(
        &self,
        builder: &mut KernelBuilder<'_, 'm>,
        one: CellStep<'_, 'm>,
        product: PackedProduct<'m>,
    ) -> Vec<Stmt> {
        let from = one.c.expect("check: an LSTM has a cell state");
        let mut body = vec![copy(from, self.c, self.units)];
        let results = [(self.out, one.out), (self.c, one.c_out)];
        let c_out = one.c_out.map(|_| self.c);
        let tile_step = CellStep { c: Some(self.c), out: Some(self.out), c_out, ..one };
        body.extend(step(builder, &tile_step, product));
        body.extend(results.into_iter().filter_map(|(from, to)| Some(copy(from, to?, self.units))));
        body
    }
}

/// A tensor whose rows a loop walks: the name of a row, the place of the first row, the length of a
/// row, and true if the loop writes the rows.
type Walked<'t> = (&'static str, &'t mut Place, usize, bool);

/// The tensors whose rows a loop walks.
trait WalkedTensors: Copy {
    /// The tensors that have a place.
    fn present(&mut self) -> Vec<Walked<'_>>;

    /// The rows, in the order of [`Self::present`].
    fn rows(mut self) -> Vec<MovingPlace> {
        let rows = self.present().into_iter();
        rows.map(|(name, place, len, written)| MovingPlace::new(name, *place, len, written))
            .collect()
    }

    /// The tensors at the places of [`Self::rows`] in the body of the loop.
    fn at(mut self, places: &[Place]) -> Self {
        for ((_, place, ..), at) in self.present().into_iter().zip(places) {
            *place = *at;
        }
        self
    }
}

/// A tensor that may lack a place.
fn walked<'t>(
    name: &'static str,
    place: &'t mut Option<Place>,
    len: usize,
    written: bool,
) -> Option<Walked<'t>> {
    Some((name, place.as_mut()?, len, written))
}

/// The tensors of a cell of one step: their first rows, or their rows in a tile.
#[derive(Clone, Copy)]
struct StepTensors {
    inputs: usize,
    units: usize,
    x: Place,
    h: Place,
    c: Option<Place>,
    a: Option<Place>,
    out: Option<Place>,
    c_out: Option<Place>,
    /// Another place for the new h.
    second_h: Option<Place>,
}

impl WalkedTensors for StepTensors {
    fn present(&mut self) -> Vec<Walked<'_>> {
        let Self { inputs, units, .. } = *self;
        let rows = [
            Some(("x_row", &mut self.x, inputs, false)),
            Some(("h_row", &mut self.h, units, false)),
            walked("c_row", &mut self.c, units, false),
            walked("a_row", &mut self.a, 1, false),
            walked("out_row", &mut self.out, units, true),
            walked("c_out_row", &mut self.c_out, units, true),
            walked("h_out_row", &mut self.second_h, units, true),
        ];
        rows.into_iter().flatten().collect()
    }
}

/// The tensors of a batch of sequences: their first rows, or the row of the loop.
#[derive(Clone, Copy)]
struct SequenceTensors {
    inputs: usize,
    units: usize,
    steps: usize,
    x: Place,
    h: Place,
    c: Option<Place>,
    a: Option<Place>,
    y: Option<Place>,
    h_out: Option<Place>,
    c_out: Option<Place>,
    lengths: Option<Place>,
}

impl WalkedTensors for SequenceTensors {
    fn present(&mut self) -> Vec<Walked<'_>> {
        let Self { inputs, units, steps, .. } = *self;
        let rows = [
            Some(("x_row", &mut self.x, steps * inputs, false)),
            Some(("h_row", &mut self.h, units, false)),
            walked("c_row", &mut self.c, units, false),
            walked("a_row", &mut self.a, steps, false),
            walked("y_row", &mut self.y, steps * units, true),
            walked("h_out_row", &mut self.h_out, units, true),
            walked("c_out_row", &mut self.c_out, units, true),
            walked("length", &mut self.lengths, 1, false),
        ];
        rows.into_iter().flatten().collect()
    }
}

/// One row of a batch of sequences.
struct SequenceRow<'m> {
    cell: &'m CoreCell,
    sequence: &'m Sequence,
    /// The tensors at this row.
    at: SequenceTensors,
    /// The place to which a step writes the new h, if y is not wanted.
    own_out: Option<Place>,
    h_state: Place,
    c_state: Option<Place>,
    end: Option<End<'m>>,
}
