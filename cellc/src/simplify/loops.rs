//! TensorIterator, and Loop with a known trip count.

use std::collections::HashMap;

use super::layout::concats::put_together;
use super::refusal::Refusal;
use super::translator::{LoopForms, Translator};
use crate::check::limits::MOST_ITERATIONS;
use crate::core::{
    CoreLoop, CoreNode, CoreOp, Geometry, Known, LoopCarried, LoopResult, LoopSlice, Source,
    strides,
};
use crate::diagnostic::{Diagnostic, Severity, message};
use crate::model::{ElementType, Loop, LoopInput, Model, Node, Slicing, ValueId, shape_text};
use crate::request::flag;

/// The most unrolled iterations, for loops whose iterations differ in more than their
/// inputs.
const MOST_WRITTEN_OUT: usize = 64;

/// The pieces of a tensor along an axis, one for each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    pub(super) axis: usize,
    /// The first element of any piece.
    pub(super) start: usize,
    pub(super) trips: usize,
    pub(super) part: usize,
    /// The distance between pieces.
    pub(super) stride: usize,
    pub(super) reverse: bool,
}

/// A loop under construction.
struct Iteration<'n> {
    node: &'n Node,
    slices: Vec<LoopSlice>,
    carried: Vec<Carried>,
    /// Carried values assumed to be constant: the Result of the body, and the initial value.
    constant: Vec<(usize, Known)>,
}

/// A back edge, before the body is known.
struct Carried {
    initial: Source,
    value: usize,
    result: usize,
    element: ElementType,
}

/// A loop that another form may fit.
struct Unfit;

/// The pieces of each input of a loop.
pub(super) type Cut = Vec<Option<Pieces>>;

impl<'a> Translator<'_, 'a> {
    pub(super) fn iterate(&mut self, node: &'a Node, body: &'a Loop) {
        let Some(inputs) = self.inputs(node) else { return };
        let Some((cut, trips)) = self.trips(node, body, &inputs) else { return };
        if trips == Some(0) {
            self.never(node, body, &inputs);
            return;
        }
        let around = std::mem::take(&mut self.loops.wants_unrolling);
        let rolled = self.form(|this| match trips {
            _ if this.loops.wants_condition => None,
            Some(trips) => this.rolled(node, body, &inputs, &cut, trips),
            // the number of iterations depends on the condition
            None => {
                this.loops.wants_unrolling = true;
                None
            }
        });
        let written_out = |this: &mut Self| {
            let is_short = trips.is_none_or(|trips| trips <= MOST_WRITTEN_OUT);
            if this.loops.wants_condition || !is_short {
                return Err(Unfit);
            }
            this.loops.wants_unrolling = false;
            this.form(|this| this.written_out(node, body, &inputs, &cut, trips))
        };
        let done = rolled.or_else(|Unfit| written_out(self)).unwrap_or_else(|Unfit| {
            self.loops.wants_unrolling = false;
            self.loops.wants_condition = false;
            self.conditional_loop(node, body, &inputs, &cut, trips)
        });
        // an outer loop is unrolled only if its own iterations require it
        self.loops.wants_unrolling = around || (done.is_none() && self.loops.wants_unrolling);
        for (port, known) in done.into_iter().flatten().enumerate() {
            self.set(node, port, known);
        }
    }

    /// Tries one form of a loop. `None` after an error of its body.
    fn form(
        &mut self,
        attempt: impl FnOnce(&mut Self) -> Option<Vec<Known>>,
    ) -> Result<Option<Vec<Known>>, Unfit> {
        self.speculate(|this| {
            let outputs = attempt(this);
            let LoopForms { wants_unrolling, wants_condition, .. } = this.loops;
            match outputs {
                None if wants_unrolling || wants_condition => Err(Unfit),
                outputs => Ok(outputs),
            }
        })
    }

    /// A loop without iterations: carried values keep their initial values.
    fn never(&mut self, node: &Node, body: &Loop, inputs: &[Known]) {
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

    /// A loop as one, if every iteration does the same; `None` after an error.
    fn rolled(
        &mut self,
        node: &'a Node,
        body: &'a Loop,
        inputs: &[Known],
        cut: &[Option<Pieces>],
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
        if let Some(value) = body.current_iteration.and_then(|parameter| body.parameter(parameter))
        {
            let (shape, element) = iteration_number(body, value);
            known[value.0] = Some(Known::Iteration(shape, element));
        }
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
                self.loops.wants_unrolling = true;
                let found =
                    format!("{} that change from iteration to iteration", initial.element().name());
                let help = format!(
                    "carry f32, or unroll the loop; up to {MOST_WRITTEN_OUT} iterations are \
                     written out"
                );
                self.refuse(node, Refusal::new(found, crate::check::report::floats(), help));
                return None;
            }
        }
        if results.iter().any(|result| matches!(result, Known::Iteration(..))) {
            self.iteration_is_read(node);
            return None;
        }
        self.goes_on(node, body, &results, trips)?;
        self.countable(node, trips, MOST_ITERATIONS)?;
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
            body: nodes,
            results: out,
        };
        self.core.emit(CoreOp::Loop(body));
        Some(outputs)
    }

    /// A loop as its iterations one after the other; `None` after an error.
    fn written_out(
        &mut self,
        node: &'a Node,
        body: &'a Loop,
        inputs: &[Known],
        cut: &[Option<Pieces>],
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
                    (Some(pieces), _) => self.one_piece(node, outside, *pieces, trip)?,
                    (None, Some(result)) if trip > 0 => results[result].clone(),
                    (None, _) => outside.clone(),
                };
                known[body.parameter(input.parameter)?.0] = Some(inside);
            }
            if let Some(value) =
                body.current_iteration.and_then(|parameter| body.parameter(parameter))
            {
                let (shape, element) = iteration_number(body, value);
                known[value.0] = Some(Known::integers(shape, &[trip as i64], element));
            }
            let (now, nodes) = self.body(&body.body, known)?;
            self.refuse_dynamic_lengths(node, &now)?;
            self.core.nodes.extend(nodes);
            results = now;
            goes_on = match body.condition.map(|result| &results[result]) {
                None => true,
                Some(Known::Constant(tensor, _)) if tensor.len() == 1 => tensor.get_f64(0) != 0.0,
                Some(_) => {
                    self.loops.wants_condition = true;
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
        let mut outputs = Vec::new();
        for (mut pieces, output) in pieces_of.into_iter().zip(&body.outputs) {
            outputs.push(match output.concatenation {
                None => pieces.pop()?,
                Some(slicing) => {
                    let shape = self.core.shape_of(pieces.last()?);
                    let (axis, _) = self.concatenated(node, slicing, &shape, pieces.len())?;
                    if slicing.stride < 0 {
                        pieces.reverse();
                    }
                    self.build(node, |core| put_together(core, &pieces, axis))?
                }
            });
        }
        Some(outputs)
    }

    /// The piece that one iteration sees.
    fn one_piece(
        &mut self,
        node: &Node,
        known: &Known,
        pieces: Pieces,
        trip: usize,
    ) -> Option<Known> {
        let Pieces { axis, start, trips, part, stride, reverse } = pieces;
        let mut shape = self.core.shape_of(known);
        let own = strides(&shape);
        let place = start + stride * if reverse { trips - 1 - trip } else { trip };
        let strides = own.iter().map(|&stride| stride as isize).collect();
        shape[axis] = part;
        self.view(node, known, Geometry { offset: place * own[axis], strides, shape })
    }

    /// The pieces of each input, and the number of iterations; `None` if the condition decides it.
    fn trips(
        &mut self,
        node: &Node,
        body: &Loop,
        inputs: &[Known],
    ) -> Option<(Cut, Option<usize>)> {
        let mut counted = None;
        if body.counted {
            const WHAT: &str = "the trip count";
            if let Known::Source(..) | Known::Iteration(..) = &inputs[0] {
                let found = format!("{WHAT} is computed at run time");
                let valid =
                    "one that is known when compiling; or none, and a condition that ends the loop";
                let help = message!(
                    "connect a constant; or leave the trip count out, let the condition end the \
                     loop, and give a largest count: {}",
                    flag::MAX_STEPS.setting()
                );
                self.refuse(node, Refusal::new(found, valid, help));
                return None;
            }
            let count = self.integer(node, 0, WHAT)?;
            let go = match &inputs[1] {
                // the loop may have no iteration
                Known::Source(_, ElementType::Bool)
                    if self.core.shape_of(&inputs[1]).is_empty() =>
                {
                    self.loops.wants_condition = true;
                    1
                }
                _ => self.integer(node, 1, "the condition")?,
            };
            if count == 0 || go == 0 {
                return Some((Vec::new(), Some(0)));
            }
            // a negative count leaves the number of iterations to the condition
            counted = usize::try_from(count).ok();
        }
        let mut all = Vec::new();
        let mut trips = counted;
        for input in &body.inputs {
            let Some(slicing) = input.slice else {
                all.push(None);
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
            all.push(Some(pieces));
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
        Some((all, trips))
    }

    /// The pieces of a tensor.
    fn pieces(&mut self, node: &Node, slicing: Slicing, shape: &[usize]) -> Option<Pieces> {
        let axis = self.axis(node, slicing.axis, shape.len())?;
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

    /// The tensor in the body for an input of the loop.
    fn loop_input(
        &mut self,
        iteration: &mut Iteration<'a>,
        input: &LoopInput,
        known: &Known,
        pieces: Option<Pieces>,
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
                let whole = self.only_pieces(node, known, pieces)?;
                let mut shape = self.core.shape_of(&whole);
                shape[pieces.axis] = pieces.part;
                let of = self.source(&whole)?;
                let piece = self.core.value(shape);
                iteration.slices.push(LoopSlice {
                    of,
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
                self.computable(node, &shape)?;
                let initial = self.source(known)?;
                let value = self.core.value(shape);
                self.steps.layers.insert(value, node);
                let element = known.element();
                iteration.carried.push(Carried { initial, value, result, element });
                Some(Known::Source(Source::Value(value), known.element()))
            }
        }
    }

    /// Refuses integers carried by a loop that is not unrolled.
    fn floats_in_a_loop(&mut self, node: &Node, known: &Known) -> Option<()> {
        self.loops.wants_unrolling |= !known.element().is_float();
        self.all_floats(node, std::slice::from_ref(known))
    }

    /// A tensor without the elements outside of the pieces.
    pub(super) fn only_pieces(
        &mut self,
        node: &Node,
        known: &Known,
        pieces: Pieces,
    ) -> Option<Known> {
        let Pieces { axis, start, trips, part, stride, .. } = pieces;
        let mut shape = self.core.shape_of(known);
        let own: Vec<isize> = strides(&shape).into_iter().map(|stride| stride as isize).collect();
        let offset = start * own[axis] as usize;
        shape[axis] = trips * part;
        if part == stride || part == 1 {
            let mut strides = own;
            strides[axis] *= if part == 1 { stride as isize } else { 1 };
            return self.view(node, known, Geometry { offset, strides, shape });
        }
        let apart = Geometry {
            offset,
            strides: [&own[..axis], &[own[axis] * stride as isize, own[axis]], &own[axis + 1..]]
                .concat(),
            shape: [&shape[..axis], &[trips, part], &shape[axis + 1..]].concat(),
        };
        let apart = self.view(node, known, apart)?;
        self.view(node, &apart, Geometry::reshaped(shape))
    }

    /// Reports differences between the stated and the given shapes of a body's parameters.
    fn check_body_parameter(&mut self, body: &Model, parameter: usize, known: &Known) {
        let node = &body.nodes[body.parameters[parameter]];
        let value = &body.values[node.outputs[0].0];
        let shape = self.core.shape_of(known);
        let Some(stated) = &value.shape else { return };
        let fits = stated.len() == shape.len()
            && stated
                .iter()
                .zip(&shape)
                .all(|(dim, &size)| crate::check::shape::admits(*dim, size));
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

    /// Translates a body to its results and its operations. `None` after an error.
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

    /// Refuses a condition of the body that may be false before the last iteration. `None` after an
    /// error.
    fn goes_on(&mut self, node: &Node, body: &Loop, results: &[Known], trips: usize) -> Option<()> {
        let Some(condition) = body.condition.map(|result| &results[result]).filter(|_| trips > 1)
        else {
            return Some(());
        };
        match condition {
            Known::Constant(tensor, _) if tensor.len() == 1 && tensor.get_f64(0) != 0.0 => {
                return Some(());
            }
            // the loop ends after one iteration
            Known::Constant(..) => self.loops.wants_unrolling = true,
            Known::Source(..) | Known::Iteration(..) => self.loops.wants_condition = true,
        }
        self.condition_unknown(node);
        None
    }

    /// Refuses more iterations than `most`. `None` after an error.
    pub(super) fn countable(&mut self, node: &Node, trips: usize, most: usize) -> Option<()> {
        if trips > most {
            let help = "give a smaller count, or put a loop into a loop";
            self.refuse(
                node,
                Refusal::new(format!("a loop of {trips} iterations"), format!("1 to {most}"), help),
            );
            return None;
        }
        Some(())
    }

    fn condition_unknown(&mut self, node: &Node) {
        let found = "a loop whose condition is not constantly true";
        let help = "give the number of iterations as the trip count";
        self.refuse(node, Refusal::new(found, "a condition that is constantly true", help));
    }

    /// The values carried from iteration to iteration.
    fn carried(&mut self, iteration: &Iteration, results: &[Known]) -> Option<Vec<LoopCarried>> {
        let node = iteration.node;
        let mut all = Vec::new();
        for &Carried { initial, value, result, element } in &iteration.carried {
            let known = &results[result];
            let (shape, wanted) =
                (self.core.shape_of(known), self.core.model.values[value].shape.clone());
            if shape != wanted || !known.element().is_float() {
                self.loops.wants_unrolling = true;
                let refusal = back_edge_differs((known.element(), &shape), (element, &wanted));
                self.refuse(node, refusal);
                return None;
            }
            all.push(LoopCarried { initial, value, next: self.source(known)? });
        }
        Some(all)
    }

    /// The output of a loop for a result of its body.
    fn loop_output(
        &mut self,
        node: &Node,
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
        self.computable(node, &shape)?;
        Some(self.loop_result(known, Some((axis, slicing.stride < 0)), shape, results))
    }

    /// The axis of the pieces, and their total size.
    pub(super) fn concatenated(
        &mut self,
        node: &Node,
        slicing: Slicing,
        shape: &[usize],
        trips: usize,
    ) -> Option<(usize, usize)> {
        let axis = self.axis(node, slicing.axis, shape.len())?;
        let part = shape[axis];
        let size = part.saturating_mul(trips);
        let wanted =
            Pieces { axis, start: 0, trips, part, stride: part, reverse: slicing.stride < 0 };
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
        let of = self
            .source(known)
            .expect("simplify: what is floating point is no number of an iteration");
        let out = self.core.value(shape);
        results.push(LoopResult { of, pieces, out });
        Known::Source(Source::Value(out), element)
    }
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

/// The shape and the element type of the Parameter that is the number of the iteration.
pub(super) fn iteration_number(body: &Loop, value: ValueId) -> (Vec<usize>, ElementType) {
    let stated = &body.body.values[value.0];
    (vec![1; stated.shape.as_ref().map_or(0, Vec::len)], stated.element)
}

/// The places of pieces along an axis of a size; `None` if they do not fit. By OpenVINO's rules -1
/// is the end, and the distance from start to end is a multiple of the stride.
fn pieces(slicing: Slicing, axis: usize, size: usize) -> Option<Pieces> {
    let Slicing { start, end, stride, part_size, .. } = slicing;
    let whole = i64::try_from(size).ok()?;
    let place = |at: i64| if at < 0 { at.checked_add(whole)?.checked_add(1) } else { Some(at) };
    let (start, end) = (place(start)?, place(end)?);
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
    inside.then_some(Pieces {
        axis,
        start: first as usize,
        trips: trips as usize,
        part: usize::try_from(part_size).ok()?,
        stride: step as usize,
        reverse,
    })
}
