//! Translation of TensorIterator and Loop, as one body for all iterations or as unrolled
//! iterations. [`super::conditional_loops`] translates all other loops.

use std::collections::HashMap;

use super::layout::concats::put_together;
use super::operands::all_floats;
use super::refusal::{Refusal, Rule};
use super::translator::{LoopForm, Translator};
use crate::core::{
    CoreBuilder, CoreLoop, CoreNode, CoreOp, Geometry, Known, LoopCarried, LoopResult, LoopSlice,
    Source, signed, strides,
};
use crate::diagnostic::{Diagnostic, Severity, message};
use crate::model::limits::MOST_ITERATIONS;
use crate::model::{
    ElementType, Loop, LoopInput, LoopOutput, Model, Node, Slicing, ValueId, shape_text,
};
use crate::request::flag;

/// The most unrolled iterations, for loops whose iterations differ in more than their inputs.
const MOST_WRITTEN_OUT: usize = 64;

/// The pieces of a tensor along an axis, one for each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AxisPieces {
    pub(super) axis: usize,
    /// The lowest index of all elements in the pieces.
    pub(super) start: usize,
    pub(super) trips: usize,
    pub(super) part: usize,
    /// The distance between pieces.
    pub(super) stride: usize,
    pub(super) reverse: bool,
}

/// A loop with one body for all iterations, under construction.
struct Iteration<'n> {
    node: &'n Node,
    slices: Vec<LoopSlice>,
    carried: Vec<Carried>,
    /// Constant integers that a back edge carries, assumed to be equal in every iteration: the
    /// index among the results of the body, and the initial value.
    constant: Vec<(usize, Known)>,
}

/// A value carried by a back edge, before the body is translated.
struct Carried {
    initial: Source,
    value: usize,
    result: usize,
    element: ElementType,
}

/// The error of a form that does not fit a loop. Another form may fit.
struct Unfit;

/// The pieces of each input of a loop.
pub(super) type InputPieces = Vec<Option<AxisPieces>>;

/// The iterations of a loop: the pieces of each input, and the number of iterations.
struct Iterations {
    pieces: InputPieces,
    /// The number of iterations. `None`: the condition decides.
    trips: Option<usize>,
}

impl<'a> Translator<'_, 'a> {
    /// Translates a TensorIterator or a Loop.
    pub(super) fn iterate(&mut self, node: &'a Node, body: &'a Loop) {
        let outer = self.loops.wanted.take();
        let inputs = self.inputs(node);
        let outputs = inputs.and_then(|inputs| self.loop_of_some_form(node, body, &inputs));
        // an outer loop is unrolled only if its own iterations require unrolling
        let wanted = self.loops.wanted.filter(|_| outputs.is_none());
        self.loops.wanted = outer.max(wanted);
        self.set_all(node, outputs);
    }

    /// Translates a loop in the first form that fits: one body for all iterations, unrolled
    /// iterations, or a loop with a run-time number of iterations. `None` after an error.
    fn loop_of_some_form(
        &mut self,
        node: &'a Node,
        body: &'a Loop,
        inputs: &[Known],
    ) -> Option<Vec<Known>> {
        let Iterations { pieces, trips } = self.iterations(node, body, inputs)?;
        if trips == Some(0) {
            self.never(node, body, inputs);
            return Some(Vec::new());
        }
        let rolled = match trips {
            Some(trips) if self.loops.wanted.is_none() => {
                self.form(|this| this.rolled(node, body, inputs, &pieces, trips))
            }
            // only a condition ends the loop, or the first condition is known only at run time
            _ => Err(Unfit),
        };
        let written_out = |this: &mut Self| {
            let is_short = trips.is_none_or(|trips| trips <= MOST_WRITTEN_OUT);
            if this.loops.wanted == Some(LoopForm::Conditional) || !is_short {
                return Err(Unfit);
            }
            this.loops.wanted = None;
            this.form(|this| this.written_out(node, body, inputs, &pieces, trips))
        };
        rolled.or_else(|Unfit| written_out(self)).unwrap_or_else(|Unfit| {
            self.loops.wanted = None;
            self.conditional_loop(node, body, inputs, &pieces, trips)
        })
    }

    /// Tries one form of a loop. `Ok(None)` after an error that another form would not avoid.
    fn form(
        &mut self,
        attempt: impl FnOnce(&mut Self) -> Option<Vec<Known>>,
    ) -> Result<Option<Vec<Known>>, Unfit> {
        self.speculate(|this| match attempt(this) {
            None if this.loops.wanted.is_some() => Err(Unfit),
            outputs => Ok(outputs),
        })
    }

    /// The outputs of a loop without iterations: carried values keep their initial values. Refuses
    /// other outputs that an operation reads.
    fn never(&mut self, node: &'a Node, body: &Loop, inputs: &[Known]) {
        for (port, output) in body.outputs.iter().enumerate() {
            let first = |input: &&LoopInput| input.back_edge == Some(output.result);
            let carried = body.inputs.iter().find(first).filter(|_| output.concatenation.is_none());
            match carried {
                Some(input) => self.set(node, port, inputs[input.input].clone()),
                None if self.is_read(node.outputs[port]) => {
                    let found =
                        format!("a loop of 0 iterations: output {port} would have no elements");
                    let help = "remove the loop, or what reads this output";
                    self.refuse(node, Refusal::new(found, "1 iteration or more", help));
                }
                None => {}
            }
        }
    }

    /// True if an operation of the current graph reads a value.
    fn is_read(&self, value: ValueId) -> bool {
        self.model.nodes.iter().any(|node| node.inputs.contains(&value))
    }

    /// Translates a loop to one body for all iterations. `None` after an error.
    fn rolled(
        &mut self,
        node: &'a Node,
        body: &'a Loop,
        inputs: &[Known],
        cut: &[Option<AxisPieces>],
        trips: usize,
    ) -> Option<Vec<Known>> {
        let mut known: Vec<Option<Known>> = vec![None; body.body.values.len()];
        let mut iteration =
            Iteration { node, slices: Vec::new(), carried: Vec::new(), constant: Vec::new() };
        for (input, pieces) in body.inputs.iter().zip(cut) {
            let inside = self.loop_input(&mut iteration, input, &inputs[input.input], *pieces)?;
            self.check_body_parameter(&body.body, input.parameter, &inside);
            known[body.parameter(input.parameter)?.0] = Some(inside);
        }
        set_iteration_number(body, &mut known, Known::Iteration);
        let (results, nodes) = self.body(&body.body, known)?;
        self.refuse_dynamic_lengths(node, &results)?;
        for (result, initial) in &iteration.constant {
            let same = match (&results[*result], initial) {
                (Known::Constant(a, _), Known::Constant(b, _)) => {
                    a.shape() == b.shape() && (0..a.len()).all(|i| a.get_i64(i) == b.get_i64(i))
                }
                _ => false,
            };
            if !same && trips > 1 {
                self.loops.want(LoopForm::WrittenOut);
                let found =
                    format!("{} that change from iteration to iteration", initial.element().name());
                let help = format!(
                    "carry f32, or unroll the loop; up to {MOST_WRITTEN_OUT} iterations are \
                     written out"
                );
                self.refuse(node, Refusal::new(found, crate::rules::report::floats(), help));
                return None;
            }
        }
        if results.iter().any(|result| matches!(result, Known::Iteration(..))) {
            self.iteration_is_read(node);
            return None;
        }
        self.goes_on(node, body, &results, trips)?;
        self.build(node, |_| countable(trips, MOST_ITERATIONS))?;
        let carried = self.carried(&iteration, &results)?;
        let (mut out, mut outputs) = (Vec::new(), Vec::new());
        for output in &body.outputs {
            outputs.push(self.loop_output(
                node,
                &results[output.result],
                output.concatenation,
                trips,
                &mut out,
            )?);
        }
        let body = CoreLoop {
            trips,
            slices: iteration.slices,
            carried,
            running: None,
            is_cell: false,
            body: nodes,
            results: out,
        };
        self.build(node, |core| {
            core.emit(CoreOp::Loop(body));
            Ok(outputs)
        })
    }

    /// Translates a loop to unrolled iterations. `None` after an error.
    fn written_out(
        &mut self,
        node: &'a Node,
        body: &'a Loop,
        inputs: &[Known],
        cut: &[Option<AxisPieces>],
        trips: Option<usize>,
    ) -> Option<Vec<Known>> {
        let mut results: Vec<Known> = Vec::new();
        let mut pieces_of: Vec<Vec<Known>> = vec![Vec::new(); body.outputs.len()];
        let mut goes_on = true;
        for trip in 0..trips.unwrap_or(MOST_WRITTEN_OUT) {
            if !goes_on {
                break;
            }
            let mut known: Vec<Option<Known>> = vec![None; body.body.values.len()];
            for (input, pieces) in body.inputs.iter().zip(cut) {
                let outside = &inputs[input.input];
                let inside = match (pieces, input.back_edge) {
                    (Some(pieces), _) => {
                        self.build(node, |core| one_piece(core, outside, *pieces, trip))?
                    }
                    (None, Some(result)) if trip > 0 => results[result].clone(),
                    (None, _) => outside.clone(),
                };
                known[body.parameter(input.parameter)?.0] = Some(inside);
            }
            set_iteration_number(body, &mut known, |shape, element| {
                Known::integers(shape, &[trip as i64], element)
            });
            let (now, nodes) = self.body(&body.body, known)?;
            self.refuse_dynamic_lengths(node, &now)?;
            self.core.nodes.extend(nodes);
            results = now;
            goes_on = match body.condition.map(|result| &results[result]) {
                None => true,
                Some(Known::Constant(tensor, _)) if tensor.len() == 1 => tensor.get_f64(0) != 0.0,
                Some(_) => {
                    self.loops.want(LoopForm::Conditional);
                    self.condition_unknown(node);
                    return None;
                }
            };
            for (pieces, output) in pieces_of.iter_mut().zip(&body.outputs) {
                pieces.push(results[output.result].clone());
            }
        }
        if trips.is_none() && goes_on {
            let found = format!("a loop of more than {MOST_WRITTEN_OUT} iterations");
            let help =
                "give the number of iterations as the trip count, or cut an input into pieces";
            self.refuse(
                node,
                Refusal::new(found, "a number of iterations that is known when compiling", help),
            );
            return None;
        }
        let outputs = pieces_of.into_iter().zip(&body.outputs);
        outputs.map(|(pieces, output)| self.written_output(node, output, pieces)).collect()
    }

    /// An output of an unrolled loop, from the tensor that each iteration computes.
    fn written_output(
        &mut self,
        node: &'a Node,
        output: &LoopOutput,
        mut pieces: Vec<Known>,
    ) -> Option<Known> {
        let Some(slicing) = output.concatenation else { return pieces.pop() };
        let shape = self.core.shape_of(pieces.last()?);
        let (axis, _) = self.concatenated(node, slicing, &shape, pieces.len())?;
        if slicing.stride < 0 {
            pieces.reverse();
        }
        self.build(node, |core| put_together(core, &pieces, axis))
    }

    /// The number of iterations by the first two inputs of a loop: the trip count, and the
    /// condition before the first iteration. `None` after an error.
    fn counted_iterations(&mut self, node: &'a Node, inputs: &[Known]) -> Option<Iterations> {
        const WHAT: &str = "the trip count";
        if let Known::Source(..) | Known::Iteration(..) = &inputs[0] {
            let found = format!("{WHAT} is computed at run time");
            let valid =
                "one that is known when compiling; or none, and a condition that ends the loop";
            let help = message!(
                "connect a constant; or leave the trip count out, let the condition end the loop, \
                 and give a largest count: {}",
                flag::MAX_STEPS.setting()
            );
            self.refuse(node, Refusal::new(found, valid, help));
            return None;
        }
        let count = self.rule(node, |_, args| args.integer(0, WHAT))?;
        let go = match &inputs[1] {
            // a run-time condition may leave the loop without an iteration
            Known::Source(_, ElementType::Bool) if self.core.shape_of(&inputs[1]).is_empty() => {
                self.loops.want(LoopForm::Conditional);
                1
            }
            _ => self.rule(node, |_, args| args.integer(1, "the condition"))?,
        };
        // a negative count leaves the number of iterations to the condition
        let trips = if go == 0 { Some(0) } else { usize::try_from(count).ok() };
        Some(Iterations { pieces: Vec::new(), trips })
    }

    /// The iterations of a loop. `None` after an error.
    fn iterations(&mut self, node: &'a Node, body: &Loop, inputs: &[Known]) -> Option<Iterations> {
        let mut trips = None;
        if body.counted {
            let counted = self.counted_iterations(node, inputs)?;
            if counted.trips == Some(0) {
                return Some(counted);
            }
            trips = counted.trips;
        }
        let mut by_input = Vec::new();
        for input in &body.inputs {
            let Some(slicing) = input.slice else {
                by_input.push(None);
                continue;
            };
            let shape = self.core.shape_of(&inputs[input.input]);
            let pieces = self.pieces(node, slicing, &shape)?;
            if trips.is_some_and(|trips| trips != pieces.trips) {
                let found = format!(
                    "{} iterations by one count, and {} by the pieces of an input of shape {}",
                    trips.unwrap_or_default(),
                    pieces.trips,
                    shape_text(&shape)
                );
                self.refuse(
                    node,
                    Refusal::new(
                        found,
                        "one number of iterations",
                        "correct the port map or the trip count",
                    ),
                );
                return None;
            }
            trips = Some(pieces.trips);
            by_input.push(Some(pieces));
        }
        if trips.is_none() && body.condition.is_none() {
            let found = "a loop that nothing says how often it is computed";
            let help = "cut an input into pieces, or give the trip count";
            self.refuse(
                node,
                Refusal::new(found, "a number of iterations that is known when compiling", help),
            );
            return None;
        }
        Some(Iterations { pieces: by_input, trips })
    }

    /// The pieces of a tensor of shape `shape`.
    fn pieces(&mut self, node: &'a Node, slicing: Slicing, shape: &[usize]) -> Option<AxisPieces> {
        let axis = self.rule(node, |_, args| args.axis(slicing.axis, shape.len()))?;
        let size = shape[axis];
        let pieces = pieces(slicing, axis, size);
        if pieces.is_none() {
            let Slicing { start, end, stride, part_size, .. } = slicing;
            let found = format!(
                "{size} elements along axis {axis} cut with start {start}, end {end}, stride \
                 {stride} and part_size {part_size}"
            );
            let valid = "pieces of 1 or more elements that are inside the axis and cover the range \
                from start to end";
            self.refuse(node, Refusal::new(found, valid, "correct the port map"));
        }
        pieces
    }

    /// The tensor that the body reads for an input of the loop.
    fn loop_input(
        &mut self,
        iteration: &mut Iteration<'a>,
        input: &LoopInput,
        known: &Known,
        pieces: Option<AxisPieces>,
    ) -> Option<Known> {
        let node = iteration.node;
        match (pieces, input.back_edge) {
            (None, None) => Some(known.clone()),
            (Some(_), Some(_)) => {
                let found = "a Parameter of the body that is cut into pieces and carried on";
                self.refuse(node, Refusal::new(found, "one of the two", "correct the port map"));
                None
            }
            (Some(pieces), None) => {
                self.floats_in_a_loop(node, known)?;
                let whole = self.build(node, |core| only_pieces(core, known, pieces))?;
                let mut shape = self.core.shape_of(&whole);
                shape[pieces.axis] = pieces.part;
                let sliced = self.core.source(&whole).ok()?;
                let piece = self.core.value(shape);
                iteration.slices.push(LoopSlice {
                    whole: sliced,
                    axis: pieces.axis,
                    reverse: pieces.reverse,
                    piece,
                });
                Some(Known::Source(Source::Value(piece), known.element()))
            }
            (None, Some(result)) => {
                if known.tensor().is_some() && !known.element().is_float() {
                    iteration.constant.push((result, known.clone()));
                    return Some(known.clone());
                }
                self.floats_in_a_loop(node, known)?;
                let shape = self.core.shape_of(known);
                self.build(node, |core| Ok(core.computable(&shape)?))?;
                let initial = self.core.source(known).ok()?;
                let value = self.core.value(shape);
                let element = known.element();
                iteration.carried.push(Carried { initial, value, result, element });
                Some(Known::Source(Source::Value(value), known.element()))
            }
        }
    }

    /// Refuses integers that a loop with one body slices, carries or returns.
    fn floats_in_a_loop(&mut self, node: &'a Node, known: &Known) -> Option<()> {
        if !known.element().is_float() {
            self.loops.want(LoopForm::WrittenOut);
        }
        self.build(node, |_| all_floats(std::slice::from_ref(known)))
    }

    /// Warns if the shape of a tensor differs from the shape that the body states for its
    /// parameter.
    fn check_body_parameter(&mut self, body: &Model, parameter: usize, known: &Known) {
        let node = &body.nodes[body.parameters[parameter]];
        let value = &body.values[node.outputs[0].0];
        let shape = self.core.shape_of(known);
        let Some(stated) = &value.shape else { return };
        let fits = stated.len() == shape.len()
            && stated
                .iter()
                .zip(&shape)
                .all(|(dim, &size)| crate::rules::shape::admits(*dim, size));
        if !fits {
            let found = format!(
                "the body's input has the shape {} in the model, but it receives {shape:?}, which \
                 is used",
                shape_text(stated)
            );
            self.diagnostics
                .push(Diagnostic::warning(value.origin.clone(), found).layer(node.label()));
        }
    }

    /// Translates a body. Returns its results and its operations, or `None` after an error.
    pub(super) fn body(
        &mut self,
        body: &'a Model,
        known: Vec<Option<Known>>,
    ) -> Option<(Vec<Known>, Vec<CoreNode>)> {
        let before = self.diagnostics.0.len();
        let outside =
            (std::mem::replace(&mut self.model, body), std::mem::replace(&mut self.known, known));
        let layer = self.core.layer.clone();
        self.depth += 1;
        let places: HashMap<usize, usize> =
            body.results.iter().enumerate().map(|(i, &node)| (node, i)).collect();
        let mut results: Vec<Option<Known>> = vec![None; body.results.len()];
        let ((), nodes) = self.appended(Vec::new(), |this| {
            this.graph(|this, index, node| {
                if let Some(&result) = places.get(&index) {
                    results[result] = this.input(node, 0);
                }
            });
        });
        self.depth -= 1;
        (self.model, self.known) = outside;
        self.core.layer = layer;
        let wrong = self
            .diagnostics
            .0
            .get(before..)
            .is_some_and(|new| new.iter().any(|d| d.severity == Severity::Error));
        let results: Option<Vec<Known>> = results.into_iter().collect();
        results.filter(|_| !wrong).map(|results| (results, nodes))
    }

    /// Refuses a condition of the body that is not constantly true, if the loop has several
    /// iterations. `None` after an error.
    fn goes_on(
        &mut self,
        node: &'a Node,
        body: &Loop,
        results: &[Known],
        trips: usize,
    ) -> Option<()> {
        let Some(condition) = body.condition.map(|result| &results[result]).filter(|_| trips > 1)
        else {
            return Some(());
        };
        match condition {
            Known::Constant(tensor, _) if tensor.len() == 1 && tensor.get_f64(0) != 0.0 => {
                return Some(());
            }
            // the condition is constantly false, so the loop ends after one iteration
            Known::Constant(..) => self.loops.want(LoopForm::WrittenOut),
            Known::Source(..) | Known::Iteration(..) => self.loops.want(LoopForm::Conditional),
        }
        self.condition_unknown(node);
        None
    }

    fn condition_unknown(&mut self, node: &'a Node) {
        let found = "a loop whose condition is not constantly true";
        let help = "give the number of iterations as the trip count";
        self.refuse(node, Refusal::new(found, "a condition that is constantly true", help));
    }

    /// The carried values of a loop, each with its next value.
    fn carried(
        &mut self,
        iteration: &Iteration<'a>,
        results: &[Known],
    ) -> Option<Vec<LoopCarried>> {
        let node = iteration.node;
        let mut carried = Vec::new();
        for &Carried { initial, value, result, element } in &iteration.carried {
            let known = &results[result];
            let (shape, wanted) =
                (self.core.shape_of(known), self.core.model.values[value].shape.clone());
            if shape != wanted || !known.element().is_float() {
                self.loops.want(LoopForm::WrittenOut);
                let refusal = back_edge_differs((known.element(), &shape), (element, &wanted));
                self.refuse(node, refusal);
                return None;
            }
            carried.push(LoopCarried { initial, value, next: self.core.source(known).ok()? });
        }
        Some(carried)
    }

    /// The output of a loop for a result of its body.
    fn loop_output(
        &mut self,
        node: &'a Node,
        known: &Known,
        concatenation: Option<Slicing>,
        trips: usize,
        results: &mut Vec<LoopResult>,
    ) -> Option<Known> {
        let mut shape = self.core.shape_of(known);
        let Some(slicing) = concatenation else {
            if let Known::Constant(..) = known {
                return Some(known.clone());
            }
            self.floats_in_a_loop(node, known)?;
            return Some(self.loop_result(known, None, shape, results));
        };
        self.floats_in_a_loop(node, known)?;
        let (axis, size) = self.concatenated(node, slicing, &shape, trips)?;
        shape[axis] = size;
        self.build(node, |core| Ok(core.computable(&shape)?))?;
        Some(self.loop_result(known, Some((axis, slicing.stride < 0)), shape, results))
    }

    /// The axis along which pieces are concatenated, and the size of the concatenation. `None`
    /// after an error.
    pub(super) fn concatenated(
        &mut self,
        node: &'a Node,
        slicing: Slicing,
        shape: &[usize],
        trips: usize,
    ) -> Option<(usize, usize)> {
        let axis = self.rule(node, |_, args| args.axis(slicing.axis, shape.len()))?;
        let part = shape[axis];
        let size = part.saturating_mul(trips);
        let wanted =
            AxisPieces { axis, start: 0, trips, part, stride: part, reverse: slicing.stride < 0 };
        if pieces(slicing, axis, size) != Some(wanted) {
            let Slicing { start, end, stride, part_size, .. } = slicing;
            let found = format!(
                "{trips} pieces of {part} put together with start {start}, end {end}, stride \
                 {stride} and part_size {part_size}"
            );
            let valid = "adjacent pieces that cover the whole axis";
            self.refuse(node, Refusal::new(found, valid, "correct the port map"));
            return None;
        }
        Some((axis, size))
    }

    fn loop_result(
        &mut self,
        known: &Known,
        pieces: Option<(usize, bool)>,
        shape: Vec<usize>,
        results: &mut Vec<LoopResult>,
    ) -> Known {
        let element = if known.element().is_float() { known.element() } else { ElementType::F32 };
        let sliced = self
            .core
            .source(known)
            .expect("translate: what is floating point is no number of an iteration");
        let out = self.core.value(shape);
        results.push(LoopResult { value: sliced, pieces, out });
        Known::Source(Source::Value(out), element)
    }
}

/// The piece of a tensor for one iteration.
fn one_piece(
    core: &mut CoreBuilder,
    known: &Known,
    pieces: AxisPieces,
    trip: usize,
) -> Rule<Known> {
    let AxisPieces { axis, start, trips, part, stride, reverse } = pieces;
    let mut shape = core.shape_of(known);
    let row_major = strides(&shape);
    let first = start + stride * if reverse { trips - 1 - trip } else { trip };
    shape[axis] = part;
    let offset = first * row_major[axis];
    Ok(core.view(known, Geometry { offset, strides: signed(row_major), shape })?)
}

/// A tensor without the elements between and outside of the pieces.
pub(super) fn only_pieces(
    core: &mut CoreBuilder,
    known: &Known,
    pieces: AxisPieces,
) -> Rule<Known> {
    let AxisPieces { axis, start, trips, part, stride, .. } = pieces;
    let mut shape = core.shape_of(known);
    let row_major = signed(strides(&shape));
    let offset = start * row_major[axis] as usize;
    shape[axis] = trips * part;
    if part == stride || part == 1 {
        let mut strides = row_major;
        strides[axis] *= if part == 1 { stride as isize } else { 1 };
        return Ok(core.view(known, Geometry { offset, strides, shape })?);
    }
    let gapped = Geometry {
        offset,
        strides: [
            &row_major[..axis],
            &[row_major[axis] * stride as isize, row_major[axis]],
            &row_major[axis + 1..],
        ]
        .concat(),
        shape: [&shape[..axis], &[trips, part], &shape[axis + 1..]].concat(),
    };
    let gapped = core.view(known, gapped)?;
    Ok(core.view(&gapped, Geometry::reshaped(shape))?)
}

/// Refuses more iterations than `most`.
pub(super) fn countable(trips: usize, most: usize) -> Rule<()> {
    if trips > most {
        let found = format!("a loop of {trips} iterations");
        let help = "give a smaller count, or put a loop into a loop";
        return Err(Refusal::new(found, format!("1 to {most}"), help));
    }
    Ok(())
}

/// The refusal of a back edge between values of different types or shapes.
pub(super) fn back_edge_differs(
    (from, from_shape): (ElementType, &[usize]),
    (to, to_shape): (ElementType, &[usize]),
) -> Refusal {
    let found = format!(
        "a back edge from a {} tensor of shape {} to a {} one of {}",
        from.name(),
        shape_text(from_shape),
        to.name(),
        shape_text(to_shape)
    );
    let valid = "one type and shape in every iteration";
    Refusal::new(found, valid, "correct the body, or the initial value")
}

/// Sets the tensor of the body's Parameter with the iteration number, if there is one. `number`
/// makes the tensor from the shape and the element type of the Parameter.
fn set_iteration_number(
    body: &Loop,
    known: &mut [Option<Known>],
    number: impl FnOnce(Vec<usize>, ElementType) -> Known,
) {
    if let Some(value) = body.current_iteration.and_then(|parameter| body.parameter(parameter)) {
        let (shape, element) = iteration_number(body, value);
        known[value.0] = Some(number(shape, element));
    }
}

/// The shape and the element type of the body's Parameter with the iteration number.
pub(super) fn iteration_number(body: &Loop, value: ValueId) -> (Vec<usize>, ElementType) {
    let stated = &body.body.values[value.0];
    (vec![1; stated.shape.as_ref().map_or(0, Vec::len)], stated.element)
}

/// The pieces along an axis of `size` elements. `None` if the pieces do not fit. By OpenVINO's
/// rules, -1 is the end, and the distance from start to end is a multiple of the stride.
fn pieces(slicing: Slicing, axis: usize, size: usize) -> Option<AxisPieces> {
    let Slicing { start, end, stride, part_size, .. } = slicing;
    let whole = i64::try_from(size).ok()?;
    let from_start =
        |at: i64| if at < 0 { at.checked_add(whole)?.checked_add(1) } else { Some(at) };
    let (start, end) = (from_start(start)?, from_start(end)?);
    let reverse = stride < 0;
    let (first, last) = if reverse { (end, start) } else { (start, end) };
    let step = stride.checked_abs().filter(|&step| step > 0)?;
    if first < 0 || last > whole || last <= first || (last - first) % step != 0 || part_size < 1 {
        return None;
    }
    let trips = (last - first) / step;
    // OpenVINO defines pieces that are longer or shorter than the stride for forward loops only
    let inside =
        if reverse { part_size == step } else { (trips - 1) * step <= whole - first - part_size };
    inside.then_some(AxisPieces {
        axis,
        start: first as usize,
        trips: trips as usize,
        part: usize::try_from(part_size).ok()?,
        stride: step as usize,
        reverse,
    })
}
