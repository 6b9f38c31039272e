//! Loops with a run-time end condition, and loops that carry integers or read the iteration number.
//!
//! Iterations are defined up to the largest count. After the iteration that ends the condition,
//! values stay unchanged, so the loop may end at this iteration.

use super::loops::{Cut, iteration_number};
use crate::check::findings::{Ending, Known, Opened};
use crate::check::shape::Geometry;
use crate::check::translator::Translator;
use crate::core::{
    CoreLoop, CoreOp, LARGEST_INTEGER, LoopCarried, LoopResult, LoopSlice, ResultValue, Source,
};
use crate::diagnostic::{Diagnostic, Origin, Setting, message};
use crate::model::{ElementType, Elementwise as E, Loop, LoopInput, Node, Op, Tensor, shape_text};

/// The advice for a run-time Range used as a mask of lengths.
pub(super) const COUNT_ALL: &str = "where it makes a mask of lengths, count all steps of x: \
    torch.arange(x.shape[1]) for torch.arange(lengths.max()), \
    tf.sequence_mask(lengths, x.shape[1]) for tf.sequence_mask(lengths)";

/// The advice for steps cut off behind a length.
const MASK_STEPS: &str = "keep all steps of x, and mask those behind the lengths: \
    x.masked_fill(torch.arange(x.shape[1]) >= lengths[:, None], 0) for x[:, :lengths.max()]";

/// Upper limit for passes over a body that search for ranges of carried integers.
const MOST_ATTEMPTS: usize = 4;

/// Largest number of iterations of a loop with a run-time count: f32 holds this number and the
/// next.
const MOST_COUNTED: usize = (1 << 24) - 1;

/// The number of iterations of a loop.
#[derive(Clone, Copy)]
struct Count {
    /// The upper limit.
    most: usize,
    /// True if the model states no limit.
    may_cut: bool,
    /// The model's limit, if above [`MOST_COUNTED`].
    huge: Option<usize>,
}

/// A loop with a run-time count of iterations.
#[derive(Clone, Copy)]
struct CountedLoop<'a, 'b> {
    node: &'a Node,
    body: &'a Loop,
    inputs: &'b [Known],
    cut: &'b Cut,
    count: Count,
}

/// A value carried to the next iteration.
struct BackEdge {
    /// The value of the first iteration.
    initial: Known,
    /// The value in the body.
    value: Known,
    /// The place of the next value in the results of the body.
    result: usize,
}

/// A value carried from iteration to iteration.
struct Handed {
    initial: Known,
    value: Known,
    next: Known,
}

/// Ranges of integers, one for each back edge.
type Ranges = Vec<[f64; 2]>;

/// A constant of one element.
fn number(value: i64, element: ElementType) -> Known {
    Known::Constant(Tensor::from_i64(Vec::new(), &[value]).expect("one number"), element)
}

impl<'a> Translator<'_, 'a> {
    /// The loop; `None` after an error.
    pub(super) fn until(
        &mut self,
        node: &'a Node,
        body: &'a Loop,
        inputs: &[Known],
        cut: &Cut,
        trips: Option<usize>,
    ) -> Option<Vec<Known>> {
        // PyTorch writes the largest integer where only the condition ends a loop; pieces are as
        // many as they are
        let is_cut = cut.iter().any(Option::is_some);
        let huge = trips.filter(|&trips| trips > MOST_COUNTED && !is_cut);
        let stated = trips.filter(|_| huge.is_none());
        let given = stated.or(self.subject.options.bindings.max_steps);
        match (given, huge) {
            (Some(most), _) => self.countable(node, most, MOST_COUNTED)?,
            // whether the condition ends it is known after a look at the body
            (None, Some(_)) => {}
            (None, None) => return self.without_a_count(node),
        }
        let count = Count { most: given.unwrap_or(1), may_cut: stated.is_none(), huge };
        let is_handed_on =
            |input: &&LoopInput| input.back_edge.is_some() && input.back_edge != body.condition;
        let back_edges = body.inputs.iter().filter(is_handed_on);
        let mut ranges: Ranges =
            back_edges.map(|input| self.range_of(&inputs[input.input])).collect();
        let counted = CountedLoop { node, body, inputs, cut, count };
        for attempt in 1..=MOST_ATTEMPTS {
            match self.speculate(|this| this.attempt(&counted, &ranges).transpose()) {
                Ok(outputs) => {
                    self.current.loops.needs_max_steps |= outputs.is_some() && count.may_cut;
                    return outputs;
                }
                // integers left the range that was assumed
                Err(wider) => {
                    let largest = f64::from(LARGEST_INTEGER);
                    let any = attempt + 1 == MOST_ATTEMPTS;
                    ranges = if any { vec![[-largest, largest]; ranges.len()] } else { wider };
                }
            }
        }
        let found = "integers that grow from iteration to iteration";
        let valid = format!("integers that stay between -{LARGEST_INTEGER} and {LARGEST_INTEGER}");
        self.error(
            node,
            &node.origin,
            found,
            valid,
            "clip them in the body, or carry floating point",
        );
        None
    }

    /// The loop with integers in known ranges, or the ranges to try next.
    fn attempt(
        &mut self,
        of: &CountedLoop<'a, '_>,
        ranges: &Ranges,
    ) -> Option<Result<Vec<Known>, Ranges>> {
        let CountedLoop { node, body, count: Count { most, huge, .. }, .. } = *of;
        let mut known: Vec<Option<Known>> = vec![None; body.body.values.len()];
        let (slices, edges) = self.inputs_of_body(of, ranges, &mut known)?;
        let up_to = [0.0, most as f64];
        let counter = match body.current_iteration.and_then(|parameter| body.parameter(parameter)) {
            None => None,
            Some(value) => {
                let (shape, element) = iteration_number(body, value);
                let counter = self.handed_on(node, shape, element, up_to)?;
                known[value.0] = Some(counter.clone());
                Some(counter)
            }
        };
        let (results, nodes) = self.body(&body.body, known)?;
        self.all_counted(node, &results)?;
        let ends = !matches!(
            body.condition.map(|result| &results[result]),
            None | Some(Known::Constant(..))
        );
        match huge {
            Some(trips) if !ends => self.countable(node, trips, MOST_COUNTED)?,
            Some(_) if self.subject.options.bindings.max_steps.is_none() => {
                return self.without_a_count(node);
            }
            _ => {}
        }
        self.back_edges_agree(node, &edges, &results)?;
        if let Some(wider) = self.wider_ranges(&edges, &results, ranges) {
            return Some(Err(wider));
        }
        let count = self.handed_on(node, Vec::new(), ElementType::I64, up_to)?;
        let running = self.handed_on(node, Vec::new(), ElementType::Bool, [0.0, 1.0])?;
        let running = ends.then_some(running);
        let (behind, nodes) = self.appended(nodes, |this| {
            let mut handed = this.handed_edges(node, edges, counter, &results, running.as_ref())?;
            let endings = this.endings(of, &results, count, running.as_ref(), &mut handed)?;
            let pieces = this.values_of_outputs(of, &results, running.as_ref(), &mut handed)?;
            Some((handed, endings, pieces))
        });
        let (handed, endings, pieces) = behind?;
        let mut carried = Vec::new();
        for (_, Handed { initial, value, next }) in &handed {
            let Known::Source(Source::Value(value), _) = value else { return None };
            carried.push(LoopCarried {
                initial: self.source(initial)?,
                value: *value,
                next: self.source(next)?,
            });
        }
        let (out, outputs) = self.leave(of, &pieces, &endings)?;
        let running = running.and_then(|known| match known {
            Known::Source(Source::Value(value), _) => Some(value),
            _ => None,
        });
        self.emit(
            node,
            CoreOp::Loop(CoreLoop {
                trips: most,
                slices,
                carried,
                running,
                body: nodes,
                results: out,
            }),
        );
        Some(Ok(outputs))
    }

    /// The slices and the back edges of a loop. Writes the values of the body's inputs to `known`.
    fn inputs_of_body(
        &mut self,
        of: &CountedLoop<'a, '_>,
        ranges: &Ranges,
        known: &mut [Option<Known>],
    ) -> Option<(Vec<LoopSlice>, Vec<BackEdge>)> {
        let CountedLoop { node, body, inputs, cut, .. } = *of;
        let (mut slices, mut edges) = (Vec::new(), Vec::new());
        let mut assumed = ranges.iter();
        for (input, pieces) in body.inputs.iter().zip(cut) {
            let outside = &inputs[input.input];
            let inside = match (pieces, input.back_edge) {
                (None, None) => outside.clone(),
                (Some(pieces), _) => {
                    let whole = self.only_pieces(node, outside, *pieces)?;
                    let mut shape = self.shape_of(&whole);
                    shape[pieces.axis] = pieces.part;
                    let (of, piece) = (self.source(&whole)?, self.value(shape));
                    slices.push(LoopSlice {
                        of,
                        axis: pieces.axis,
                        reverse: pieces.reverse,
                        piece,
                    });
                    let piece = Known::Source(Source::Value(piece), outside.element());
                    self.set_range(&piece, self.range_of(outside));
                    piece
                }
                // what is computed is computed where it is true
                (None, Some(result)) if body.condition == Some(result) => {
                    self.selected(node, &number(1, ElementType::Bool), self.shape_of(outside))?
                }
                (None, Some(result)) => {
                    self.all_exact(node, std::slice::from_ref(outside))?;
                    let shape = self.shape_of(outside);
                    let value = self.handed_on(node, shape, outside.element(), *assumed.next()?)?;
                    edges.push(BackEdge { initial: outside.clone(), value: value.clone(), result });
                    value
                }
            };
            known[body.parameter(input.parameter)?.0] = Some(inside);
        }
        Some((slices, edges))
    }

    /// Refuses a back edge between values of different types or shapes. `None` after an error.
    fn back_edges_agree(
        &mut self,
        node: &Node,
        edges: &[BackEdge],
        results: &[Known],
    ) -> Option<()> {
        for BackEdge { value, result, .. } in edges {
            let (shapes, next) =
                ([self.shape_of(&results[*result]), self.shape_of(value)], &results[*result]);
            if shapes[0] != shapes[1] || next.element().is_float() != value.element().is_float() {
                let [from, to] = shapes.map(|shape| shape_text(&shape));
                let types = [next.element().name(), value.element().name()];
                let found = format!(
                    "a back edge from a {} tensor of shape {from} to a {} one of {to}",
                    types[0], types[1]
                );
                let valid = "one type and shape in every iteration";
                self.error(
                    node,
                    &node.origin,
                    found,
                    valid,
                    "correct the body, or the initial value",
                );
                return None;
            }
        }
        Some(())
    }

    /// By back edge, the interval of the assumed and the computed integers. `None` if all computed
    /// integers are within the assumed intervals.
    fn wider_ranges(
        &self,
        edges: &[BackEdge],
        results: &[Known],
        ranges: &Ranges,
    ) -> Option<Ranges> {
        let left: Ranges = edges.iter().map(|edge| self.range_of(&results[edge.result])).collect();
        let stays = left
            .iter()
            .zip(ranges)
            .map(|(left, assumed)| assumed[0] <= left[0] && left[1] <= assumed[1]);
        let all_stay =
            edges.iter().zip(stays).all(|(edge, stays)| edge.value.element().is_float() || stays);
        let both = |(a, b): (&[f64; 2], &[f64; 2])| [a[0].min(b[0]), a[1].max(b[1])];
        (!all_stay).then(|| ranges.iter().zip(&left).map(both).collect())
    }

    /// The values of the back edges and of the counter of iterations, with their next values.
    /// `running`: false after the last iteration. `None` if every iteration is computed.
    fn handed_edges(
        &mut self,
        node: &'a Node,
        edges: Vec<BackEdge>,
        counter: Option<Known>,
        results: &[Known],
        running: Option<&Known>,
    ) -> Option<Vec<(usize, Handed)>> {
        let mut handed = Vec::new();
        for BackEdge { initial, value, result } in edges {
            let new = results[result].clone();
            let next = match running {
                Some(running) => {
                    self.computed(node, E::Select, vec![running.clone(), new, value.clone()])?
                }
                None => new,
            };
            handed.push((result, Handed { initial, value, next }));
        }
        if let Some(counter) = counter {
            let next =
                self.computed(node, E::Add, vec![counter.clone(), number(1, counter.element())])?;
            let zeros = self.shape_of(&counter);
            let initial = self.selected(node, &number(0, counter.element()), zeros)?;
            handed.push((usize::MAX, Handed { initial, value: counter, next }));
        }
        Some(handed)
    }

    /// The number of iterations and the condition behind the last one, of a loop that its condition
    /// ends. Adds both to `handed`.
    fn endings(
        &mut self,
        of: &CountedLoop<'a, '_>,
        results: &[Known],
        count: Known,
        running: Option<&Known>,
        handed: &mut Vec<(usize, Handed)>,
    ) -> Option<Vec<Known>> {
        let CountedLoop { node, body, inputs, .. } = *of;
        let (Some(running), Some(condition)) = (running, body.condition) else {
            return Some(Vec::new());
        };
        let condition = self.view(node, &results[condition], Geometry::reshaped(Vec::new()))?;
        let more = self.converted(node, running, ElementType::I64)?;
        let next_count = self.computed(node, E::Add, vec![count.clone(), more])?;
        let next = self.computed(node, E::LogicalAnd, vec![running.clone(), condition])?;
        let go = match inputs.get(1).filter(|_| body.counted) {
            Some(go @ Known::Source(..)) => go.clone(),
            _ => number(1, ElementType::Bool),
        };
        let endings = vec![next_count.clone(), next.clone()];
        handed.push((
            usize::MAX,
            Handed { initial: number(0, ElementType::I64), value: count, next: next_count },
        ));
        handed.push((usize::MAX, Handed { initial: go, value: running.clone(), next }));
        Some(endings)
    }

    /// The values of the body for the outputs of the loop, by output. Adds outputs with the value
    /// of the last iteration to `handed`.
    fn values_of_outputs(
        &mut self,
        of: &CountedLoop<'a, '_>,
        results: &[Known],
        running: Option<&Known>,
        handed: &mut Vec<(usize, Handed)>,
    ) -> Option<Vec<Known>> {
        let CountedLoop { node, body, .. } = *of;
        let mut values = Vec::new();
        for output in &body.outputs {
            let of = &results[output.result];
            let edge = handed
                .iter()
                .find(|(result, _)| *result == output.result && output.concatenation.is_none());
            let value = match (edge, running, of) {
                (Some((_, handed)), ..) => handed.next.clone(),
                (None, None, _) => of.clone(),
                (None, Some(running), _) if output.concatenation.is_some() => {
                    let zero = self.number_like(of, 0.0)?;
                    self.computed(node, E::Select, vec![running.clone(), of.clone(), zero])?
                }
                (None, Some(_), Known::Constant(..)) => of.clone(),
                // handed on, so that it is the last one that there was
                (None, Some(running), _) => {
                    let (shape, range) = (self.shape_of(of), self.range_of(of));
                    let zero = self.number_like(of, 0.0)?;
                    let initial = self.selected(node, &zero, shape.clone())?;
                    let range = [range[0].min(0.0), range[1].max(0.0)];
                    let value = self.handed_on(node, shape, of.element(), range)?;
                    let next = self.computed(
                        node,
                        E::Select,
                        vec![running.clone(), of.clone(), value.clone()],
                    )?;
                    handed.push((output.result, Handed { initial, value, next: next.clone() }));
                    next
                }
            };
            values.push(value);
        }
        Some(values)
    }

    /// The results of the loop, and its outputs. Records run-time lengths of outputs.
    fn leave(
        &mut self,
        of: &CountedLoop<'a, '_>,
        pieces: &[Known],
        endings: &[Known],
    ) -> Option<(Vec<LoopResult>, Vec<Known>)> {
        let CountedLoop { node, body, count: Count { most, may_cut, .. }, .. } = *of;
        let (mut out, mut outputs) = (Vec::new(), Vec::new());
        for (output, piece) in body.outputs.iter().zip(pieces) {
            let mut shape = self.shape_of(piece);
            let along = match output.concatenation {
                None => None,
                Some(slicing) => {
                    let (axis, size) = self.concatenated(node, slicing, &shape, most)?;
                    shape[axis] = size;
                    Some((axis, slicing.stride < 0))
                }
            };
            outputs.push(self.left(node, &mut out, piece, along, shape)?);
        }
        let mut said = Vec::new();
        for ending in endings {
            let known = self.left(node, &mut out, ending, None, Vec::new())?;
            said.push(self.source(&known)?);
        }
        if let [count, still] = said[..] {
            for (known, output) in outputs.iter().zip(&body.outputs) {
                let Known::Source(Source::Value(value), _) = known else { continue };
                let axis = output.concatenation.and_then(|slicing| {
                    let rank = self.core.values[*value].shape.len() as i64;
                    let axis = if slicing.axis < 0 { slicing.axis + rank } else { slicing.axis };
                    usize::try_from(axis).ok()
                });
                let truncated = may_cut.then_some(still);
                let by = Opened::Loop;
                self.findings.endings.insert(
                    *value,
                    Ending { count, by, is_zero: true, truncated, parts_along: axis },
                );
            }
        }
        Some((out, outputs))
    }

    /// Refuses a loop with a run-time end.
    fn without_a_count<T>(&mut self, node: &Node) -> Option<T> {
        let found = "a loop that ends when its condition says so, without a largest count";
        let help = message!("give one: {}", Setting::MaxSteps);
        self.error(
            node,
            &node.origin,
            found,
            format!("a largest count, from 1 to {MOST_COUNTED}"),
            help,
        );
        None
    }

    /// Warns of a largest count without a loop.
    pub(super) fn warn_of_unused_max_steps(&mut self) {
        if self.subject.options.bindings.max_steps.is_some() && !self.current.loops.needs_max_steps
        {
            let setting = Setting::MaxSteps;
            let found =
                message!("{} has no effect: no loop of the model needs a largest count", setting);
            self.diagnostics.push(Diagnostic::warning(Origin::Unknown, found));
        }
    }

    /// A value carried from the previous iteration.
    fn handed_on(
        &mut self,
        node: &Node,
        shape: Vec<usize>,
        element: ElementType,
        range: [f64; 2],
    ) -> Option<Known> {
        self.computable(node, &shape)?;
        let value = Known::Source(Source::Value(self.value(shape)), element);
        self.set_range(&value, range);
        Some(value)
    }

    /// The output of a loop for a value of its body.
    fn left(
        &mut self,
        node: &Node,
        out: &mut Vec<LoopResult>,
        of: &Known,
        pieces: Option<(usize, bool)>,
        shape: Vec<usize>,
    ) -> Option<Known> {
        self.computable(node, &shape)?;
        self.all_exact(node, std::slice::from_ref(of))?;
        let (source, value) = (self.source(of)?, self.value(shape));
        out.push(LoopResult { of: source, pieces, out: value });
        let left = Known::Source(Source::Value(value), of.element());
        let range = self.range_of(of);
        self.set_range(
            &left,
            if pieces.is_some() { [range[0].min(0.0), range[1].max(0.0)] } else { range },
        );
        Some(left)
    }

    /// Refuses operations that would take the largest number of parts for the real number; other
    /// operations pass the ending on. True if the node is done.
    pub(super) fn reads_open_end(&mut self, node: &'a Node) -> bool {
        let mut open = Vec::new();
        for (port, input) in node.inputs.iter().enumerate() {
            let ending = self.known[input.0].as_ref().and_then(|known| self.ending_of(known));
            open.extend(ending.and_then(|ending| Some((port, ending, ending.parts_along?))));
        }
        let Some(&(_, ending, axis)) = open.first() else { return false };
        match node.op {
            Op::Result | Op::Convert => {
                self.findings.current_length = Some(ending);
                false
            }
            Op::ShapeOf => {
                if let Some(sizes) = self.sizes_at_run_time(node, ending, axis) {
                    self.set(node, 0, sizes);
                }
                true
            }
            Op::Elementwise(function) => match self.parts_of_elements(node, function, &open) {
                Ok(axis) => {
                    self.findings.current_length =
                        Some(Ending { parts_along: Some(axis), is_zero: false, ..ending });
                    false
                }
                Err(found) if ending.by == Opened::Loop => {
                    let valid = "for each part one element, or one for all of them";
                    self.error(
                        node,
                        &node.origin,
                        found,
                        valid,
                        "compute this part outside of the model",
                    );
                    true
                }
                Err(_) if ending.by == Opened::Slice => {
                    self.read_as_all(node, ending);
                    true
                }
                Err(_) => {
                    let found = "elements of a Range, of which only a call says how many there \
                        are, meet a fixed number of others: they fit at some calls only";
                    let valid = "for each element of the Range one other, or one for all of them";
                    self.error(node, &node.origin, found, valid, COUNT_ALL);
                    true
                }
            },
            Op::Reduce { .. } if open[0].0 == 0 => false,
            // parts behind the last one get no share of it
            Op::Softmax { .. } => {
                self.findings.current_length = Some(Ending { is_zero: false, ..ending });
                false
            }
            Op::Convolution(ref of) if open.len() == 1 && open[0].0 == 0 => {
                let errors = self.diagnostics.0.len();
                match self.convolution_of_parts(node, of, ending, axis) {
                    Some((y, ending)) => {
                        self.findings.current_length = Some(ending);
                        self.set(node, 0, y);
                    }
                    None if self.diagnostics.0.len() == errors => self.read_as_all(node, ending),
                    None => {}
                }
                true
            }
            Op::Normalize(normalization)
                if open.len() == 1 && self.normalizes_inside(node, normalization, axis) =>
            {
                self.findings.current_length = Some(Ending { is_zero: false, ..ending });
                false
            }
            Op::MatMul { transpose_a, transpose_b } => {
                let transposed = [transpose_a, transpose_b];
                self.product_with_parts(node, &open, transposed)
            }
            Op::Gather { .. } | Op::Unsqueeze | Op::Squeeze { .. } | Op::Transpose
                if open.len() == 1 =>
            {
                let moved = self.moved_parts(node, open[0].0, axis);
                if let Some(axis) = moved {
                    self.findings.current_length =
                        Some(Ending { parts_along: Some(axis), is_zero: false, ..ending });
                } else {
                    self.read_as_all(node, ending);
                }
                moved.is_none()
            }
            _ => {
                self.read_as_all(node, ending);
                true
            }
        }
    }

    /// A product of matrices with a run-time number of parts. True if the node is done.
    fn product_with_parts(
        &mut self,
        node: &'a Node,
        open: &[(usize, Ending, usize)],
        transposed: [bool; 2],
    ) -> bool {
        if let &[(port, ending, along)] = open
            && let Some(axis) = self.parts_of_product(node, port, along, transposed[port])
        {
            self.findings.current_length =
                Some(Ending { parts_along: Some(axis), is_zero: false, ..ending });
            return false;
        }
        let errors = self.diagnostics.0.len();
        match self.product_of_parts(node, open, transposed) {
            Some(product) => self.set(node, 0, product),
            None if self.diagnostics.0.len() == errors => self.read_as_all(node, open[0].1),
            None => {}
        }
        true
    }

    /// Refuses an operation that would read parts up to the limit as existing parts.
    fn read_as_all(&mut self, node: &Node, ending: Ending) {
        let (found, help) = match ending.by {
            Opened::Loop => (
                "an output of a loop that ends by its condition is read: how many parts it has \
                 only a call knows",
                "compute this part outside of the model",
            ),
            Opened::Range => (
                "elements of a Range are read whose limit is computed: how many there are only a \
                 call knows",
                COUNT_ALL,
            ),
            Opened::Slice => (
                "a Slice is read whose stop is computed: how many elements it has only a call \
                 knows",
                MASK_STEPS,
            ),
        };
        let valid = "an output of the model, operations element by element, reductions, Softmax, \
            products of matrices, convolutions of stride 1, normalisation of each element alone, \
            indices of Gather, Unsqueeze, Squeeze, Transpose";
        self.error(node, &node.origin, found, valid, help);
    }

    /// Refuses results of a body with a run-time number of parts.
    pub(super) fn all_counted(&mut self, node: &Node, results: &[Known]) -> Option<()> {
        let open = results
            .iter()
            .find_map(|known| self.ending_of(known).filter(|of| of.parts_along.is_some()));
        match open {
            Some(ending) => {
                self.read_as_all(node, ending);
                None
            }
            None => Some(()),
        }
    }

    /// The axis of the parts in the output of an operation that moves elements. `None` if the
    /// operation scatters the axis.
    fn moved_parts(&mut self, node: &Node, port: usize, along: usize) -> Option<usize> {
        let rank = |this: &Self, port: usize| Some(this.shape_of(&this.input(node, port)?).len());
        let counted = |axis: i64, rank: usize| {
            usize::try_from(if axis < 0 { axis + rank as i64 } else { axis })
                .ok()
                .filter(|&axis| axis < rank)
        };
        match node.op {
            Op::Gather { batch_dims: 0 } if port == 1 => {
                let axis = counted(self.integer(node, 2, "the axis")?, rank(self, 0)?)?;
                Some(axis + along)
            }
            Op::Unsqueeze => {
                let axes = self.integers(node, 1, "the axes")?;
                let rank = rank(self, 0)? + axes.len();
                let added: Vec<usize> =
                    axes.iter().map(|&axis| counted(axis, rank)).collect::<Option<_>>()?;
                (0..rank).filter(|axis| !added.contains(axis)).nth(along)
            }
            Op::Squeeze { .. } if node.inputs.len() > 1 => {
                let (axes, rank) = (self.integers(node, 1, "the axes")?, rank(self, 0)?);
                let removed: Vec<usize> =
                    axes.iter().map(|&axis| counted(axis, rank)).collect::<Option<_>>()?;
                let before = removed.iter().filter(|&&axis| axis < along).count();
                (!removed.is_empty() && !removed.contains(&along)).then(|| along - before)
            }
            Op::Transpose => {
                let order = self.integers(node, 1, "the order")?;
                let rank = rank(self, 0)?;
                match order.is_empty() {
                    true => Some(rank - 1 - along),
                    false => order.iter().position(|&axis| counted(axis, rank) == Some(along)),
                }
            }
            _ => None,
        }
    }

    /// A value with a number in place of the elements behind its last part.
    pub(super) fn only_parts(
        &mut self,
        node: &Node,
        known: &Known,
        ending: Ending,
        other: &Known,
    ) -> Option<Known> {
        let Some(axis) = ending.parts_along else { return Some(known.clone()) };
        let shape = self.shape_of(known);
        let mut places = vec![1; shape.len()];
        places[axis] = shape[axis];
        let numbers: Vec<i64> = (0..shape[axis] as i64).collect();
        let numbers = Known::Constant(Tensor::from_i64(places, &numbers)?, ElementType::I64);
        let count = Known::Source(ending.count, ElementType::I64);
        let is_part = self.computed(node, E::Less, vec![numbers, count])?;
        self.computed(node, E::Select, vec![is_part, known.clone(), other.clone()])
    }

    /// The sizes of a value with a run-time number of parts along an axis.
    fn sizes_at_run_time(&mut self, node: &Node, ending: Ending, axis: usize) -> Option<Known> {
        let mut sizes: Vec<i64> =
            self.shape_of(&self.input(node, 0)?).iter().map(|&size| size as i64).collect();
        sizes[axis] = 0;
        let is_open: Vec<i64> = (0..sizes.len()).map(|at| i64::from(at == axis)).collect();
        let vector = |numbers: &[i64]| {
            Some(Known::Constant(Tensor::from_i64(vec![numbers.len()], numbers)?, ElementType::I64))
        };
        let count = Known::Source(ending.count, ElementType::I64);
        let count = self.computed(node, E::Multiply, vec![count, vector(&is_open)?])?;
        self.computed(node, E::Add, vec![count, vector(&sizes)?])
    }

    /// The axis of the parts in what an operation element by element gives, or why the parts are
    /// none of its own.
    ///
    /// `open`: port, ending and axis of each input whose parts only a call counts.
    fn parts_of_elements(
        &self,
        node: &Node,
        function: E,
        open: &[(usize, Ending, usize)],
    ) -> Result<usize, &'static str> {
        let shapes: Vec<Vec<usize>> = node
            .inputs
            .iter()
            .map(|input| {
                self.known[input.0].as_ref().map_or(Vec::new(), |known| self.shape_of(known))
            })
            .collect();
        // a slope of one number may have more axes than what it scales
        let rank = if function == E::PRelu {
            shapes[0].len()
        } else {
            shapes.iter().map(Vec::len).max().unwrap_or(0)
        };
        // the slopes of a PRelu may stand along axis 1
        let by_channel = |port: usize| function == E::PRelu && port == 1 && shapes[port].len() == 1;
        let aligned = |port: usize, axis: usize| axis + rank.saturating_sub(shapes[port].len());
        let (port, ending, axis) = open[0];
        let along = aligned(port, axis);
        for (port, shape) in shapes.iter().enumerate() {
            match open.iter().find(|(at, ..)| *at == port) {
                Some(_) if by_channel(port) => return Err("slopes whose number only a call knows"),
                Some((_, other, axis))
                    if other.count != ending.count || aligned(port, *axis) != along =>
                {
                    return Err(
                        "outputs of loops that end by their conditions, with parts that are \
                         counted apart",
                    );
                }
                Some(_) => {}
                None => {
                    let start = if by_channel(port) && rank > 1 && shapes[0][1] == shape[0] {
                        1
                    } else {
                        rank.saturating_sub(shape.len())
                    };
                    let size = along.checked_sub(start).and_then(|at| shape.get(at));
                    if size.is_some_and(|&size| size != 1) {
                        return Err(
                            "a fixed number of elements, one for each part of an output of a loop \
                                    that ends by its condition: how many parts it has only a call \
                                    knows",
                        );
                    }
                }
            }
        }
        Ok(along)
    }

    /// Adds the outputs with the number of parts of another output, and with the truth value of
    /// truncation.
    pub(super) fn add_length_outputs(&mut self) {
        for at in 0..self.core.results.len() {
            let result = &self.core.results[at];
            let Source::Value(value) = result.source else { continue };
            let Some(ending) = self.findings.endings.get(&value) else { continue };
            let called = |ending: &str| -> Vec<String> {
                result.names.iter().map(|name| format!("{name}_{ending}")).collect()
            };
            let said = |names, element, source| ResultValue {
                names,
                shape: Vec::new(),
                element,
                source,
                parts: None,
            };
            let len =
                ending.parts_along.map(|_| said(called("len"), ElementType::I64, ending.count));
            let truncated =
                ending.truncated.map(|source| said(called("truncated"), ElementType::Bool, source));
            if ending.parts_along == Some(0) {
                self.core.results[at].parts = Some(self.core.results.len());
            }
            self.core.results.extend(len.into_iter().chain(truncated));
        }
    }
}
