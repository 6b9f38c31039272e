//! Loops that end by a run-time condition, and loops that carry integers or read the iteration
//! number.
//!
//! The core loop has as many iterations as the upper limit. After the iteration whose condition is
//! false, values stay unchanged, so generated code may leave the loop there.

use super::elementwise::compute;
use super::integers::converted;
use super::layout::broadcasts::broadcast_to;
use super::loops::{InputPieces, back_edge_differs, countable, iteration_number, only_pieces};
use super::operands::all_exact;
use super::refusal::Refusal;
use super::translator::Translator;
use crate::core::{
    CoreLoop, CoreOp, Divider, DynamicLength, Geometry, INTEGER_LIMIT, Known, LoopCarried,
    LoopResult, LoopSlice, Source, axis_index,
};
use crate::diagnostic::message;
use crate::model::{Binary, ElementType, Logic, Loop, LoopInput, Node, Primitive};
use crate::request::flag;
use crate::rules::unused::Unused;

/// The most passes over a body in search of the ranges of carried integers.
const MOST_ATTEMPTS: usize = 4;

/// The most iterations of a loop that counts at run time: f32 represents this number and the next
/// exactly.
const MOST_COUNTED: usize = (1 << 24) - 1;

/// The limits of the number of iterations of a loop.
#[derive(Clone, Copy)]
struct Count {
    /// The upper limit.
    most: usize,
    /// True if the model states no upper limit up to [`MOST_COUNTED`], so that the limit of the
    /// options may cut the loop off.
    may_cut: bool,
    /// The upper limit of the model, if above [`MOST_COUNTED`]. Such a loop needs a condition, and
    /// the upper limit of the options.
    huge: Option<usize>,
}

/// A loop with a run-time number of iterations, or a loop that carries integers or reads the
/// iteration number.
#[derive(Clone, Copy)]
struct CountedLoop<'a, 'b> {
    node: &'a Node,
    body: &'a Loop,
    inputs: &'b [Known],
    cut: &'b InputPieces,
    count: Count,
}

/// A back edge: a value that the body passes to the next iteration.
struct BackEdge {
    /// The value of the first iteration.
    initial: Known,
    /// The tensor that the body reads.
    value: Known,
    /// The index of the next value among the results of the body.
    result: usize,
}

/// A carried value, with the value for the next iteration.
struct CarriedValue {
    /// The value of the first iteration.
    initial: Known,
    /// The tensor that the body reads.
    value: Known,
    /// The value for the next iteration.
    next: Known,
    /// The index of the next value among the results of the body. `None` for the counters and the
    /// condition.
    result: Option<usize>,
}

/// The ranges of carried integers, one for each back edge; not used for back edges of floats.
type Ranges = Vec<[f64; 2]>;

/// A constant of one integer.
fn number(value: i64, element: ElementType) -> Known {
    Known::integers(Vec::new(), &[value], element)
}

impl<'a> Translator<'_, 'a> {
    /// Translates a loop with a run-time number of iterations, or a loop that carries integers or
    /// reads the iteration number. `None` after an error.
    pub(super) fn conditional_loop(
        &mut self,
        node: &'a Node,
        body: &'a Loop,
        inputs: &[Known],
        cut: &InputPieces,
        trips: Option<usize>,
    ) -> Option<Vec<Known>> {
        // For a loop that only its condition ends, PyTorch writes the largest integer as limit. A
        // loop over the pieces of an input has as many iterations as there are pieces.
        let is_cut = cut.iter().any(Option::is_some);
        let huge = trips.filter(|&trips| trips > MOST_COUNTED && !is_cut);
        let stated = trips.filter(|_| huge.is_none());
        let given = stated.or(self.context.options.bindings.max_steps);
        match (given, huge) {
            (Some(most), _) => self.build(node, |_| countable(most, MOST_COUNTED))?,
            // without another limit, the body must show that no condition ends the loop
            (None, Some(_)) => {}
            (None, None) => return self.refuse_unlimited(node),
        }
        let count = Count { most: given.unwrap_or(1), may_cut: stated.is_none(), huge };
        let carries =
            |input: &&LoopInput| input.back_edge.is_some() && input.back_edge != body.condition;
        let back_edges = body.inputs.iter().filter(carries);
        let mut ranges: Ranges =
            back_edges.map(|input| self.core.facts.range_of(&inputs[input.input])).collect();
        let counted = CountedLoop { node, body, inputs, cut, count };
        for attempt in 1..=MOST_ATTEMPTS {
            match self.speculate(|this| this.attempt(&counted, &ranges).transpose()) {
                Ok(outputs) => {
                    self.loops.needs_max_steps |= outputs.is_some() && count.may_cut;
                    return outputs;
                }
                // carried integers leave the assumed ranges: tries wider ranges
                Err(wider) => {
                    let largest = f64::from(INTEGER_LIMIT);
                    let any = attempt + 1 == MOST_ATTEMPTS;
                    ranges = if any { vec![[-largest, largest]; ranges.len()] } else { wider };
                }
            }
        }
        let found = "integers that grow from iteration to iteration";
        let valid = format!("integers that stay between -{INTEGER_LIMIT} and {INTEGER_LIMIT}");
        self.refuse(
            node,
            Refusal::new(found, valid, "clip them in the body, or carry floating point"),
        );
        None
    }

    /// Tries the loop with integers in the assumed ranges. Returns the outputs, or the ranges to
    /// try next.
    fn attempt(
        &mut self,
        counted: &CountedLoop<'a, '_>,
        ranges: &Ranges,
    ) -> Option<Result<Vec<Known>, Ranges>> {
        let CountedLoop { node, body, count: Count { most, huge, .. }, .. } = *counted;
        let mut known: Vec<Option<Known>> = vec![None; body.body.values.len()];
        let (slices, edges) = self.inputs_of_body(counted, ranges, &mut known)?;
        let up_to = [0.0, most as f64];
        let counter = match body.current_iteration.and_then(|parameter| body.parameter(parameter)) {
            None => None,
            Some(value) => {
                let (shape, element) = iteration_number(body, value);
                let counter = self.carried_value(node, shape, element, up_to)?;
                known[value.0] = Some(counter.clone());
                Some(counter)
            }
        };
        let (results, nodes) = self.body(&body.body, known)?;
        self.refuse_dynamic_lengths(node, &results)?;
        let ends = !matches!(
            body.condition.map(|result| &results[result]),
            None | Some(Known::Constant(..))
        );
        match huge {
            Some(trips) if !ends => self.build(node, |_| countable(trips, MOST_COUNTED))?,
            Some(_) if self.context.options.bindings.max_steps.is_none() => {
                return self.refuse_unlimited(node);
            }
            _ => {}
        }
        self.back_edges_agree(node, &edges, &results)?;
        if let Some(wider) = self.wider_ranges(&edges, &results, ranges) {
            return Some(Err(wider));
        }
        let count = self.carried_value(node, Vec::new(), ElementType::I64, up_to)?;
        let running = self.carried_value(node, Vec::new(), ElementType::Bool, [0.0, 1.0])?;
        let running = ends.then_some(running);
        let (behind, nodes) = self.appended(nodes, |this| {
            let mut carried = this.next_values(node, edges, counter, &results, running.as_ref())?;
            let length = this.count_and_condition(
                counted,
                &results,
                (count, running.as_ref()),
                &mut carried,
            )?;
            let values =
                this.values_of_outputs(counted, &results, running.as_ref(), &mut carried)?;
            Some((carried, length, values))
        });
        let (carried, length, values) = behind?;
        let mut core_carried = Vec::new();
        for CarriedValue { initial, value, next, .. } in &carried {
            let Known::Source(Source::Value(value), _) = value else { return None };
            core_carried.push(LoopCarried {
                initial: self.core.source(initial).ok()?,
                value: *value,
                next: self.core.source(next).ok()?,
            });
        }
        let (out, outputs) = self.outputs_of_loop(counted, &values, length.as_ref())?;
        let running = running.and_then(|known| match known {
            Known::Source(Source::Value(value), _) => Some(value),
            _ => None,
        });
        let core_loop = CoreLoop {
            trips: most,
            slices,
            carried: core_carried,
            running,
            is_cell: false,
            body: nodes,
            results: out,
        };
        self.build(node, |core| {
            core.emit(CoreOp::Loop(core_loop));
            Ok(Ok(outputs))
        })
    }

    /// The slices and the back edges of a loop. Writes the tensors that the body reads to `known`.
    fn inputs_of_body(
        &mut self,
        counted: &CountedLoop<'a, '_>,
        ranges: &Ranges,
        known: &mut [Option<Known>],
    ) -> Option<(Vec<LoopSlice>, Vec<BackEdge>)> {
        let CountedLoop { node, body, inputs, cut, .. } = *counted;
        let (mut slices, mut edges) = (Vec::new(), Vec::new());
        let mut assumed = ranges.iter();
        for (input, pieces) in body.inputs.iter().zip(cut) {
            let outside = &inputs[input.input];
            let inside = match (pieces, input.back_edge) {
                (None, None) => outside.clone(),
                (Some(pieces), _) => {
                    let whole = self.build(node, |core| only_pieces(core, outside, *pieces))?;
                    let mut shape = self.core.shape_of(&whole);
                    shape[pieces.axis] = pieces.part;
                    let (source, piece) = (self.core.source(&whole).ok()?, self.core.value(shape));
                    slices.push(LoopSlice {
                        whole: source,
                        axis: pieces.axis,
                        reverse: pieces.reverse,
                        piece,
                    });
                    let piece = Known::Source(Source::Value(piece), outside.element());
                    self.core.facts.set_range(&piece, self.core.facts.range_of(outside));
                    piece
                }
                // the body computes only iterations whose condition is true, so the body reads true
                (None, Some(result)) if body.condition == Some(result) => {
                    self.build(node, |core| {
                        let shape = core.shape_of(outside);
                        broadcast_to(core, &number(1, ElementType::Bool), shape)
                    })?
                }
                (None, Some(result)) => {
                    self.build(node, |_| all_exact(std::slice::from_ref(outside)))?;
                    let shape = self.core.shape_of(outside);
                    let value =
                        self.carried_value(node, shape, outside.element(), *assumed.next()?)?;
                    edges.push(BackEdge { initial: outside.clone(), value: value.clone(), result });
                    value
                }
            };
            known[body.parameter(input.parameter)?.0] = Some(inside);
        }
        Some((slices, edges))
    }

    /// Refuses a back edge between tensors of different shapes, or from floats to integers or back.
    /// `None` after an error.
    fn back_edges_agree(
        &mut self,
        node: &'a Node,
        edges: &[BackEdge],
        results: &[Known],
    ) -> Option<()> {
        for BackEdge { value, result, .. } in edges {
            let (shapes, next) = (
                [self.core.shape_of(&results[*result]), self.core.shape_of(value)],
                &results[*result],
            );
            if shapes[0] != shapes[1] || next.element().is_float() != value.element().is_float() {
                let [from, to] = &shapes;
                self.refuse(node, back_edge_differs((next.element(), from), (value.element(), to)));
                return None;
            }
        }
        Some(())
    }

    /// By back edge, the union of the assumed range and the range of the computed integers. `None`
    /// if all computed integers are within the assumed ranges.
    fn wider_ranges(
        &self,
        edges: &[BackEdge],
        results: &[Known],
        ranges: &Ranges,
    ) -> Option<Ranges> {
        let computed: Ranges =
            edges.iter().map(|edge| self.core.facts.range_of(&results[edge.result])).collect();
        let stays = computed
            .iter()
            .zip(ranges)
            .map(|(computed, assumed)| assumed[0] <= computed[0] && computed[1] <= assumed[1]);
        let all_stay =
            edges.iter().zip(stays).all(|(edge, stays)| edge.value.element().is_float() || stays);
        let united = |(a, b): (&[f64; 2], &[f64; 2])| [a[0].min(b[0]), a[1].max(b[1])];
        (!all_stay).then(|| ranges.iter().zip(&computed).map(united).collect())
    }

    /// The carried values of the back edges and of the iteration number, with their next values.
    /// `running`: the truth value whether the iteration computes. `None` if every iteration
    /// computes.
    fn next_values(
        &mut self,
        node: &'a Node,
        edges: Vec<BackEdge>,
        counter: Option<Known>,
        results: &[Known],
        running: Option<&Known>,
    ) -> Option<Vec<CarriedValue>> {
        let mut carried = Vec::new();
        for BackEdge { initial, value, result } in edges {
            let new = results[result].clone();
            let next = match running {
                Some(running) => self.build(node, |core| {
                    compute(core, Primitive::Select, vec![running.clone(), new, value.clone()])
                })?,
                None => new,
            };
            carried.push(CarriedValue { initial, value, next, result: Some(result) });
        }
        if let Some(counter) = counter {
            let next = self.build(node, |core| {
                compute(core, Binary::Add, vec![counter.clone(), number(1, counter.element())])
            })?;
            let shape = self.core.shape_of(&counter);
            let initial =
                self.build(node, |core| broadcast_to(core, &number(0, counter.element()), shape))?;
            carried.push(CarriedValue { initial, value: counter, next, result: None });
        }
        Some(carried)
    }

    /// Carries the number of iterations and the condition. Returns both after the last iteration.
    /// `Some(None)` for a loop without a run-time condition, `None` after an error.
    fn count_and_condition(
        &mut self,
        counted: &CountedLoop<'a, '_>,
        results: &[Known],
        (count, running): (Known, Option<&Known>),
        carried: &mut Vec<CarriedValue>,
    ) -> Option<Option<[Known; 2]>> {
        let CountedLoop { node, body, inputs, .. } = *counted;
        let (Some(running), Some(condition)) = (running, body.condition) else {
            return Some(None);
        };
        let condition = self.build(node, |core| {
            Ok(core.view(&results[condition], Geometry::reshaped(Vec::new()))?)
        })?;
        let more = self.build(node, |core| converted(core, running, ElementType::I64))?;
        let next_count =
            self.build(node, |core| compute(core, Binary::Add, vec![count.clone(), more]))?;
        let next =
            self.build(node, |core| compute(core, Logic::And, vec![running.clone(), condition]))?;
        let initial = match inputs.get(1).filter(|_| body.counted) {
            Some(initial @ Known::Source(..)) => initial.clone(),
            _ => number(1, ElementType::Bool),
        };
        let last = [next_count.clone(), next.clone()];
        carried.push(CarriedValue {
            initial: number(0, ElementType::I64),
            value: count,
            next: next_count,
            result: None,
        });
        carried.push(CarriedValue { initial, value: running.clone(), next, result: None });
        Some(Some(last))
    }

    /// By output of the loop: the tensor of the body. Also carries the tensors whose value of the
    /// last computed iteration is an output.
    fn values_of_outputs(
        &mut self,
        counted: &CountedLoop<'a, '_>,
        results: &[Known],
        running: Option<&Known>,
        carried: &mut Vec<CarriedValue>,
    ) -> Option<Vec<Known>> {
        let CountedLoop { node, body, .. } = *counted;
        let mut values = Vec::new();
        for output in &body.outputs {
            let last = &results[output.result];
            let edge = carried.iter().find(|carried| {
                carried.result == Some(output.result) && output.concatenation.is_none()
            });
            let value = match (edge, running, last) {
                (Some(carried), ..) => carried.next.clone(),
                (None, None, _) => last.clone(),
                (None, Some(running), _) if output.concatenation.is_some() => {
                    let zero = Known::number_like(last, 0.0);
                    self.build(node, |core| {
                        compute(core, Primitive::Select, vec![running.clone(), last.clone(), zero])
                    })?
                }
                (None, Some(_), Known::Constant(..)) => last.clone(),
                // later iterations keep the value of the last computed iteration
                (None, Some(running), _) => {
                    let (shape, range) = (self.core.shape_of(last), self.core.facts.range_of(last));
                    let zero = Known::number_like(last, 0.0);
                    let initial =
                        self.build(node, |core| broadcast_to(core, &zero, shape.clone()))?;
                    let range = [range[0].min(0.0), range[1].max(0.0)];
                    let value = self.carried_value(node, shape, last.element(), range)?;
                    let next = self.build(node, |core| {
                        compute(
                            core,
                            Primitive::Select,
                            vec![running.clone(), last.clone(), value.clone()],
                        )
                    })?;
                    let result = Some(output.result);
                    carried.push(CarriedValue { initial, value, next: next.clone(), result });
                    next
                }
            };
            values.push(value);
        }
        Some(values)
    }

    /// The results of the core loop, and the outputs of the node. Notes the run-time length of
    /// outputs. `length`: the number of iterations, and the condition after the last iteration.
    fn outputs_of_loop(
        &mut self,
        counted: &CountedLoop<'a, '_>,
        values: &[Known],
        length: Option<&[Known; 2]>,
    ) -> Option<(Vec<LoopResult>, Vec<Known>)> {
        let CountedLoop { node, body, count: Count { most, may_cut, .. }, .. } = *counted;
        let (mut out, mut outputs) = (Vec::new(), Vec::new());
        for (output, value) in body.outputs.iter().zip(values) {
            let mut shape = self.core.shape_of(value);
            let along = match output.concatenation {
                None => None,
                Some(slicing) => {
                    let (axis, size) = self.concatenated(node, slicing, &shape, most)?;
                    shape[axis] = size;
                    Some((axis, slicing.stride < 0))
                }
            };
            outputs.push(self.output_of_loop(node, &mut out, value, along, shape)?);
        }
        let mut last = Vec::new();
        for value in length.into_iter().flatten() {
            let known = self.output_of_loop(node, &mut out, value, None, Vec::new())?;
            last.push(self.core.source(&known).ok()?);
        }
        if let [count, still] = last[..] {
            for (known, output) in outputs.iter().zip(&body.outputs) {
                let Known::Source(Source::Value(value), _) = known else { continue };
                let rank = self.core.model.values[*value].shape.len();
                let axis = output.concatenation.and_then(|along| axis_index(along.axis, rank));
                let truncated = may_cut.then_some(still);
                let by = Divider::Loop;
                self.core.facts.lengths.insert(
                    *value,
                    DynamicLength { count, by, is_zero: true, truncated, parts_along: axis },
                );
            }
        }
        Some((out, outputs))
    }

    /// Refuses a loop that only a run-time condition ends, without an upper limit.
    fn refuse_unlimited<T>(&mut self, node: &'a Node) -> Option<T> {
        let found = "a loop that ends when its condition says so, without a largest count";
        let help = message!("give one: {}", flag::MAX_STEPS.setting());
        self.refuse(
            node,
            Refusal::new(found, format!("a largest count, from 1 to {MOST_COUNTED}"), help),
        );
        None
    }

    /// Warns if the options give an upper limit and no loop needs the limit.
    pub(super) fn warn_of_unused_max_steps(&mut self) {
        if self.context.options.bindings.max_steps.is_some() && !self.loops.needs_max_steps {
            self.diagnostics.push(Unused::MaxSteps.warning());
        }
    }

    /// Adds a value that the loop carries from the previous iteration.
    fn carried_value(
        &mut self,
        node: &'a Node,
        shape: Vec<usize>,
        element: ElementType,
        range: [f64; 2],
    ) -> Option<Known> {
        self.build(node, |core| Ok(core.computable(&shape)?))?;
        let value = Known::Source(Source::Value(self.core.value(shape)), element);
        self.core.facts.set_range(&value, range);
        Some(value)
    }

    /// Adds the output of a loop for a tensor of its body.
    fn output_of_loop(
        &mut self,
        node: &'a Node,
        out: &mut Vec<LoopResult>,
        known: &Known,
        pieces: Option<(usize, bool)>,
        shape: Vec<usize>,
    ) -> Option<Known> {
        self.build(node, |core| Ok(core.computable(&shape)?))?;
        self.build(node, |_| all_exact(std::slice::from_ref(known)))?;
        let (source, value) = (self.core.source(known).ok()?, self.core.value(shape));
        out.push(LoopResult { value: source, pieces, out: value });
        let output = Known::Source(Source::Value(value), known.element());
        let range = self.core.facts.range_of(known);
        self.core.facts.set_range(
            &output,
            if pieces.is_some() { [range[0].min(0.0), range[1].max(0.0)] } else { range },
        );
        Some(output)
    }
}
