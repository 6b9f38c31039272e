//! Kernels that compute several steps together.
//!
//! All steps of an element are stored side by side. Lanes are steps: one load of a weight serves
//! all steps. Each sum adds its terms in the order in which a single step adds them.

use super::Lowering;
use super::builder::{KernelBuilder, Lowered, MovingPlace, load, op};
use super::layout::strided;
use super::memory::PackedProduct;
use super::pointwise::Epilogue;
use super::product::added;
use super::storage::Destinations;
use crate::core::{Dense, Source, TensorDenormals};
use crate::kernel::{Expr, LaneOp, Loops, Place, Role, StepBlock, Stmt, Var};
use crate::plan::{self, Along, Panels, Phase, ProductPlan, TapRow, Taps};

/// The number of vector registers that hold no sums.
const OTHER_REGISTERS: usize = 4;

impl<'m> Lowering<'m> {
    /// Adds the kernels that compute several steps together.
    pub(super) fn step_block(&mut self) {
        let (model, plan, first) = (self.model, self.plan, self.body.kernels.len());
        self.steps = plan.step_block;
        self.places = vec![None; self.places.len()];
        let [inputs, outputs] = [self.len(Source::Parameter(0)), self.len(model.results[0].source)];
        let [input, taken] = ["input", "taken"]
            .map(|name| self.buffer(format!("steps_{name}"), Role::Scratch, inputs * self.steps));
        let output = self.buffer("steps_output", Role::Scratch, outputs * self.steps);
        self.taken = vec![taken.into()];
        self.assign_places(&model.nodes, Destinations::new());
        KernelBuilder::new(self).enter(input.into(), taken.into());
        for node in &model.nodes {
            if let Some(history) = plan.delay_lines.of_concat(node.op.first_value()) {
                let mut builder = KernelBuilder::new(self);
                let body = builder.take_frame(history);
                let name = builder.lowering.name("frames");
                let doc = "A delay line takes frames.".to_owned();
                builder.finish(name, Lowered::new(doc, body), Loops::Kept);
            }
            self.kernel_of(node);
        }
        KernelBuilder::new(self).leave(output.into());
        let kernels = self.body.kernels.len() - first;
        self.body.step_block = Some(StepBlock { kernels, input, output });
        self.steps = 1;
    }
}

/// An operand of the pointwise work fused into a dense layer.
#[derive(Clone, Copy)]
struct EpilogueOperand {
    along: Along,
    /// Stored elements per element: the number of steps, 1 for constants.
    each: usize,
}

impl EpilogueOperand {
    /// Stored elements for `columns` columns of a row. 0: all columns share the elements.
    fn of_columns(self, columns: usize) -> usize {
        match self.along {
            Along::Both | Along::Columns => columns * self.each,
            Along::Rows | Along::Nothing => 0,
        }
    }

    /// Stored elements for one row of `columns` columns. 0: all rows share the elements.
    fn of_row(self, columns: usize) -> usize {
        match self.along {
            Along::Both => columns * self.each,
            Along::Rows => self.each,
            Along::Columns | Along::Nothing => 0,
        }
    }
}

/// The elements of x that one row multiplies, as two nested loops. With a delay line, the outer
/// loop is over channels and the inner loop over taps.
#[derive(Clone, Copy)]
struct Terms {
    /// The number of iterations, and the elements between them.
    outer: (usize, usize),
    inner: (usize, usize),
}

/// A dense layer for several steps.
struct DenseLayer<'m> {
    plan: &'m ProductPlan,
    epilogue: Epilogue<'m>,
    operands: Vec<EpilogueOperand>,
    terms: Terms,
    steps: usize,
    /// Elements between the weights of neighbouring elements of x.
    between: usize,
}

/// The sums of some columns. `vectors`: by vector of steps, (first step, lanes). `chains`: the
/// accumulators by chain, column and vector.
#[derive(Clone, Copy)]
struct Sums<'s> {
    vectors: &'s [(usize, usize)],
    chains: &'s [Vec<Vec<Var>>],
}

/// The places of a dense layer: x, weights, the result, then operands.
#[derive(Clone)]
struct Places {
    x: Place,
    weights: Place,
    out: Place,
    operands: Vec<Place>,
}

impl<'m> KernelBuilder<'_, 'm> {
    /// Adds the kernel that copies the input of several steps: the steps of an element side by
    /// side.
    fn enter(mut self, from: Place, to: Place) {
        let (steps, len) = (self.lowering.steps, self.lowering.len(Source::Parameter(0)));
        let is_given =
            self.lowering.denormals.tensor(Source::Parameter(0)) == TensorDenormals::Given;
        let body = self.transposed(is_given, (from, to), (steps, len));
        let doc = "The input of several steps, the steps of an element side by side.".to_owned();
        self.finish("enter_steps".to_owned(), Lowered::new(doc, body), Loops::Kept);
    }

    /// Adds the kernel that copies the output of several steps, one step after the other.
    fn leave(mut self, to: Place) {
        let source = self.lowering.model.results[0].source;
        let (steps, len) = (self.lowering.steps, self.lowering.len(source));
        let (from, flushes) = (self.lowering.source(source), !self.lowering.is_flushed(source));
        let body = self.transposed(flushes, (from, to), (len, steps));
        let doc = "The output of several steps, step by step.".to_owned();
        self.finish("leave_steps".to_owned(), Lowered::new(doc, body), Loops::Kept);
    }

    /// Transposes a matrix of `rows` rows and `columns` columns, and flushes its elements if
    /// `flushes`.
    fn transposed(
        &mut self,
        flushes: bool,
        (from, to): (Place, Place),
        (rows, columns): (usize, usize),
    ) -> Vec<Stmt> {
        let len = rows * columns;
        let dims = [(columns, 1, rows), (rows, columns.cast_signed(), 1)];
        let is_line = rows == 1 || columns == 1;
        match flushes {
            true if is_line => self.flushed_copy(from, to, len),
            true => {
                let flushed = self.stack_or_state_buffer("flushed", len, 1);
                let mut body = self.flushed_copy(from, flushed, len);
                body.push(strided(flushed, to, dims));
                body
            }
            false => vec![strided(from, to, dims)],
        }
    }

    /// A view of a delay line that has already taken the frames of several steps.
    pub(super) fn gathered_of_steps(&mut self, taps: &Taps, out: Place) -> Lowered {
        let (plan, steps) = (self.lowering.plan, self.lowering.steps);
        let history = &plan.delay_lines.histories[taps.history];
        let line = history.line;
        let body = self.with_row(history, false, |_, row| {
            let mut body = Vec::new();
            let mut take = |taken: &plan::CopiedElements, from: usize, times: usize| {
                let dims = taken
                    .dims
                    .iter()
                    .map(|(extent, from, to)| (*extent, (from * times).cast_signed(), to * steps));
                let dims = dims.chain([(steps, 1, 1)]);
                body.push(strided(row.at(from), out.at(taken.to * steps), dims));
            };
            if let Some(earlier) = &taps.earlier {
                take(earlier, earlier.from, 1);
            }
            if let Some(newest) = &taps.newest {
                take(newest, line.offset(newest.from, line.history()), line.pitch());
            }
            body
        });
        Lowered::new(format!("Elements of {}.", history.line), body)
    }

    /// A dense layer for several steps, and the pointwise work fused into it.
    pub(super) fn dense_of_steps(&mut self, dense: &'m Dense) -> Lowered {
        let (inputs, outputs, steps) = (dense.inputs, dense.outputs, self.lowering.steps);
        let PackedProduct { plan, weights } = self.lowering.product(dense.out);
        let epilogue = self.epilogue(dense.out, outputs);
        let names = epilogue.names();
        let doc = vec![format!("Dense layer, {inputs} to {outputs}{names}, of {steps} steps.")];
        let operands: Vec<EpilogueOperand> = epilogue
            .operands()
            .iter()
            .map(|(source, along)| EpilogueOperand {
                along: *along,
                each: self.lowering.steps_of(*source),
            })
            .collect();
        let sources = epilogue.operands().iter();
        let places = sources.map(|(source, _)| self.lowering.source(*source)).collect();
        let (weights, out) = (weights.rows.into(), self.stored(dense.out));
        let taps = match dense.x {
            Source::Value(x) => self.lowering.plan.delay_lines.rows.get(&x),
            _ => None,
        };
        let terms = Terms { outer: (1, 0), inner: (inputs, steps) };
        let between = plan.product.row_of(Phase::Input, plan.panels[0].columns, 0).1;
        let mut layer = DenseLayer { plan, epilogue, operands, terms, steps, between };
        let Some(row) = taps else {
            let x = self.lowering.source(dense.x);
            let places = Places { x, weights, out, operands: places };
            return Lowered { doc, body: self.rows_of_steps(&layer, dense, places) };
        };
        let history = &self.lowering.plan.delay_lines.histories[row.history];
        let newest = history.line.offset(row.newest, history.line.history());
        layer.terms = Terms::of_taps(row, newest);
        let body = self.with_row(history, false, |builder, line| {
            let x = line.at(row.first);
            let places = Places { x, weights, out, operands: places };
            builder.rows_of_steps(&layer, dense, places)
        });
        Lowered { doc, body }
    }

    /// The rows of a dense layer.
    fn rows_of_steps(
        &mut self,
        layer: &DenseLayer<'m>,
        dense: &Dense,
        places: Places,
    ) -> Vec<Stmt> {
        let (inputs, outputs, steps) = (dense.inputs, dense.outputs, layer.steps);
        let mut moving = vec![
            MovingPlace::new("x_row", places.x, inputs * steps, false),
            MovingPlace::new("out_row", places.out, outputs * steps, true),
        ];
        let of_operand = |(operand, place): (&EpilogueOperand, &Place)| {
            MovingPlace::new("operand_row", *place, operand.of_row(outputs), false)
        };
        moving.extend(layer.operands.iter().zip(&places.operands).map(of_operand));
        self.repeat_moving(dense.rows, moving, |builder, moved| {
            let operands = moved[2..].to_vec();
            let row = Places { x: moved[0], out: moved[1], operands, ..places };
            let mut body = Vec::new();
            for panels in &layer.plan.panels {
                body.extend(builder.panels_of_steps(layer, panels, &row));
            }
            body
        })
    }

    /// The panels of one width, and in each panel the tiles of columns.
    fn panels_of_steps(
        &mut self,
        layer: &DenseLayer<'m>,
        panels: &Panels,
        row: &Places,
    ) -> Vec<Stmt> {
        let first = layer.plan.product.row_of(Phase::Input, panels.columns, 0).0;
        let weights = row.weights.at(panels.early.offset + panels.input + first);
        let behind = |(place, operand): (&Place, &EpilogueOperand)| {
            place.at(operand.of_columns(panels.first))
        };
        let operands = row.operands.iter().zip(&layer.operands).map(behind).collect();
        let out = row.out.at(panels.first * layer.steps);
        let places = Places { weights, out, operands, ..*row };
        let size = (panels.count, panels.columns);
        self.columns_of_steps(layer, &places, size, panels.early.stride, |builder, panel| {
            let registers = builder.lowering.isa.registers.saturating_sub(OTHER_REGISTERS);
            let vectors = layer.steps.div_ceil(builder.lowering.isa.lanes);
            let most = registers / vectors;
            let (mut body, mut done) = (Vec::new(), 0);
            for (iterations, columns) in plan::equal_parts(panels.units, most.max(1)) {
                let tiles = panel.behind(layer, done);
                let size = (iterations, columns);
                body.extend(builder.columns_of_steps(
                    layer,
                    &tiles,
                    size,
                    columns,
                    |builder, tile| builder.tile_of_steps(layer, columns, tile),
                ));
                done += iterations * columns;
            }
            body
        })
    }

    /// A loop of `count` iterations over `columns` columns each. The weights of two iterations are
    /// `stride` elements apart.
    fn columns_of_steps(
        &mut self,
        layer: &DenseLayer<'m>,
        places: &Places,
        (count, columns): (usize, usize),
        stride: usize,
        mut body: impl FnMut(&mut Self, &Places) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let terms = layer.terms.outer.0 * layer.terms.inner.0;
        let len = (terms - 1) * layer.between + columns;
        let weights =
            MovingPlace { name: "weights", start: places.weights, len, stride, written: false };
        let out = MovingPlace::new("out_columns", places.out, columns * layer.steps, true);
        let of_operand = |(operand, place): (&EpilogueOperand, &Place)| {
            MovingPlace::new("operand_columns", *place, operand.of_columns(columns), false)
        };
        let operands = layer.operands.iter().zip(&places.operands).map(of_operand);
        let moving = [weights, out].into_iter().chain(operands).collect();
        self.repeat_moving(count, moving, |builder, moved| {
            let operands = moved[2..].to_vec();
            body(builder, &Places { x: places.x, weights: moved[0], out: moved[1], operands })
        })
    }

    /// All sums of `columns` columns, and the pointwise work fused into the layer.
    fn tile_of_steps(&mut self, layer: &DenseLayer<'m>, columns: usize, at: &Places) -> Vec<Stmt> {
        let vectors = plan::vectors(layer.steps, self.lowering.isa.lanes);
        let chains = layer.plan.product.chains(Phase::Input);
        let mut body = Vec::new();
        let mut sums: Vec<Vec<Vec<Var>>> = Vec::new();
        for chain in 0..chains {
            let mut of_chain = Vec::new();
            for column in 0..columns {
                let mut of_column = Vec::new();
                for (nth, (_, lanes)) in vectors.iter().enumerate() {
                    let name = match chains {
                        1 => format!("y{column}_{nth}"),
                        _ => format!("y{column}_{nth}_{chain}"),
                    };
                    let zero = Expr::f32(0.0, *lanes);
                    of_column.push(self.accumulator(&mut body, &name, *lanes, zero));
                }
                of_chain.push(of_column);
            }
            sums.push(of_chain);
        }
        self.add_terms(&mut body, layer, Sums { vectors: &vectors, chains: &sums }, at);
        let sum = |column: usize, nth: usize| {
            let chains = sums.iter().map(|chain| Expr::Var(chain[column][nth]));
            added(&chains.collect::<Vec<Expr>>())
        };
        for column in 0..columns {
            for (nth, (first, lanes)) in vectors.iter().enumerate() {
                let at = at.behind(layer, column).at_step(layer, *first);
                body.extend(match layer.epilogue.is_short() {
                    true => self.finish_steps(layer, &at, *lanes, sum(column, nth)),
                    false => vec![Stmt::Store { to: at.out, value: sum(column, nth) }],
                });
            }
        }
        if layer.epilogue.is_short() {
            return body;
        }
        // the code of long pointwise work is generated once, in a loop over the stored sums
        let lanes = vectors[0].1;
        body.extend(self.columns_of_steps(layer, at, (columns, 1), 0, |builder, at| {
            let out = MovingPlace::new("out_lanes", at.out, lanes, true);
            let of_operand = |(operand, place): (&EpilogueOperand, &Place)| {
                let len = if operand.each == 1 { 0 } else { lanes };
                MovingPlace::new("operand_lanes", *place, len, false)
            };
            let operands = layer.operands.iter().zip(&at.operands).map(of_operand);
            let moving = [out].into_iter().chain(operands).collect();
            builder.repeat_moving(layer.steps / lanes, moving, |builder, moved| {
                let (out, operands) = (moved[0], moved[1..].to_vec());
                let sum = load(out, lanes);
                builder.finish_steps(layer, &Places { out, operands, ..*at }, lanes, sum)
            })
        }));
        body
    }

    /// Applies the pointwise work to the sum of a column for one vector of steps, and stores the
    /// result.
    fn finish_steps(
        &mut self,
        layer: &DenseLayer<'m>,
        at: &Places,
        lanes: usize,
        sum: Expr,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        let operand = |i: usize| match layer.operands[i].each {
            1 => Expr::Splat { from: at.operands[i], lanes },
            _ => load(at.operands[i], lanes),
        };
        let value = self.finish_with(&mut body, &layer.epilogue, sum, lanes, &operand);
        body.push(Stmt::Store { to: at.out, value });
        body
    }

    /// Adds the terms of all elements of x, term `k` of a channel to chain `k % chains`.
    fn add_terms(
        &mut self,
        body: &mut Vec<Stmt>,
        layer: &DenseLayer<'m>,
        sums: Sums<'_>,
        at: &Places,
    ) {
        let (chains, columns) = (sums.chains.len(), sums.chains[0].len());
        let Terms { outer: (channels, channel), inner: (count, distance) } = layer.terms;
        let (between, steps) = (layer.between, layer.steps);
        let reach = (count - 1) * distance + steps;
        let of_channel = |terms: usize| (terms - 1) * between + columns;
        let outer = vec![
            MovingPlace { stride: channel, ..MovingPlace::new("channel", at.x, reach, false) },
            MovingPlace {
                stride: count * between,
                ..MovingPlace::new("weights", at.weights, of_channel(count), false)
            },
        ];
        let added = self.repeat_moving(channels, outer, |builder, moved| {
            let [x, weights] = [moved[0], moved[1]];
            let (iterations, rest) = (count / chains, count % chains);
            let inner = vec![
                MovingPlace {
                    stride: chains * distance,
                    ..MovingPlace::new("x", x, (chains - 1) * distance + steps, false)
                },
                MovingPlace {
                    stride: chains * between,
                    ..MovingPlace::new("row", weights, of_channel(chains), false)
                },
            ];
            let mut body = match iterations {
                0 => Vec::new(),
                _ => builder.repeat_moving(iterations, inner, |builder, moved| {
                    let at = |chain: usize| {
                        (moved[0].at(chain * distance), moved[1].at(chain * between))
                    };
                    (0..chains)
                        .flat_map(|chain| {
                            builder.add_term(sums.vectors, &sums.chains[chain], at(chain))
                        })
                        .collect()
                }),
            };
            for chain in 0..rest {
                let k = iterations * chains + chain;
                let at = (x.at(k * distance), weights.at(k * between));
                body.extend(builder.add_term(sums.vectors, &sums.chains[chain], at));
            }
            body
        });
        body.extend(added);
    }

    /// Adds one element of x, in all steps, times its row of weights.
    fn add_term(
        &mut self,
        vectors: &[(usize, usize)],
        sums: &[Vec<Var>],
        (x, weights): (Place, Place),
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        let elements: Vec<Expr> = vectors
            .iter()
            .map(|(first, lanes)| self.let_(&mut body, "x_k", *lanes, load(x.at(*first), *lanes)))
            .collect();
        for (column, of_column) in sums.iter().enumerate() {
            let mut known: Option<(usize, Expr)> = None;
            for (nth, (_, lanes)) in vectors.iter().enumerate() {
                let weight = match &known {
                    Some((loaded_lanes, weight)) if loaded_lanes == lanes => weight.clone(),
                    _ => {
                        let splat = Expr::Splat { from: weights.at(column), lanes: *lanes };
                        match vectors.len() {
                            1 => splat,
                            _ => self.let_(&mut body, "w", *lanes, splat),
                        }
                    }
                };
                known = Some((*lanes, weight.clone()));
                let var = of_column[nth];
                let args = vec![weight, elements[nth].clone(), Expr::Var(var)];
                body.push(Stmt::Set { var, value: op(LaneOp::MulAdd, args) });
            }
        }
        body
    }

    /// A loop in which places move. For one iteration, the body without a loop.
    fn repeat_moving(
        &mut self,
        count: usize,
        moving: Vec<MovingPlace>,
        mut body: impl FnMut(&mut Self, &[Place]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let (mut walks, mut places) = (Vec::new(), Vec::new());
        for MovingPlace { name, start, len, stride, written } in moving {
            if count == 1 || stride == 0 {
                places.push(start);
                continue;
            }
            let (place, walk) = self.stride(name, start, (len, stride), written);
            places.push(place);
            walks.push(walk);
        }
        let body = body(self, &places);
        match count {
            1 => body,
            _ => vec![Stmt::repeat(count, walks, body)],
        }
    }
}

impl Places {
    /// The places behind the first `columns` columns.
    fn behind(&self, layer: &DenseLayer<'_>, columns: usize) -> Self {
        let behind =
            |(place, operand): (&Place, &EpilogueOperand)| place.at(operand.of_columns(columns));
        Self {
            x: self.x,
            weights: self.weights.at(columns),
            out: self.out.at(columns * layer.steps),
            operands: self.operands.iter().zip(&layer.operands).map(behind).collect(),
        }
    }
}

impl Places {
    /// The places of results and operands at step `step`.
    fn at_step(mut self, layer: &DenseLayer<'_>, step: usize) -> Self {
        self.out = self.out.at(step);
        for (place, operand) in self.operands.iter_mut().zip(&layer.operands) {
            *place = if operand.each == 1 { *place } else { place.at(step) };
        }
        self
    }
}

impl Terms {
    /// The elements of x under the taps of a row in a delay line, including the newest tap.
    fn of_taps(row: &TapRow, newest: usize) -> Self {
        let distance = (newest - row.first) / row.earlier;
        Self { outer: (row.channels, row.stride), inner: (row.earlier + 1, distance) }
    }
}
