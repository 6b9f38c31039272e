//! Caches that grow: each call appends elements to an input, and an output returns all elements.

use crate::check::hints::Shapes;
use crate::check::subject::CoreAtSize;
use crate::core::axis_index;
use crate::diagnostic::{Diagnostic, Setting, message, quoted};
use crate::model::{Dim, Model, Node, Op, ValueId};
use crate::request::flag;
use crate::rules::names::{Side, name, names};

/// An input to which every call appends elements, and the longer output.
struct GrowingCache {
    /// The place of the input.
    input: usize,
    /// The place of the output.
    output: usize,
    /// The axis along which the cache grows.
    axis: usize,
}

/// Follows values of a model back to their operations.
struct Producers<'m> {
    model: &'m Model,
    /// By value: the producing node.
    nodes: Vec<Option<usize>>,
}

impl<'m> Producers<'m> {
    fn new(model: &'m Model) -> Self {
        let mut nodes = vec![None; model.values.len()];
        for (at, node) in model.nodes.iter().enumerate() {
            node.outputs.iter().for_each(|output| nodes[output.0] = Some(at));
        }
        Self { model, nodes }
    }

    fn producer(&self, value: ValueId) -> Option<&'m Node> {
        self.nodes[value.0].map(|at| &self.model.nodes[at])
    }

    /// The node that computes a value in front of conversions and permutations, and the axis of the
    /// node's output that becomes `axis` of the value.
    fn behind_permutations(&self, value: ValueId, axis: usize) -> Option<(&'m Node, usize)> {
        let node = self.producer(value)?;
        match &node.op {
            Op::Convert => self.behind_permutations(node.inputs[0], axis),
            Op::Transpose => {
                let Op::Constant(order) = &self.producer(*node.inputs.get(1)?)?.op else {
                    return None;
                };
                let from = (axis < order.len()).then(|| order.get_i64(axis)).flatten()?;
                self.behind_permutations(node.inputs[0], usize::try_from(from).ok()?)
            }
            _ => Some((node, axis)),
        }
    }

    /// The input from which a value grows by appended elements along an axis, and the axis of the
    /// input.
    fn grown_from(&self, value: ValueId, axis: usize) -> Option<(usize, usize)> {
        let (concat, axis) = self.behind_permutations(value, axis)?;
        let Op::Concat { axis: along } = concat.op else { return None };
        let [first, rest @ ..] = &concat.inputs[..] else { return None };
        let is_constant = |value: &ValueId| {
            self.producer(*value).is_none_or(|node| matches!(node.op, Op::Constant(_)))
        };
        let (parameter, axis_of_input) = self.behind_permutations(*first, axis)?;
        let input = self
            .model
            .parameters
            .iter()
            .position(|&at| std::ptr::eq(&self.model.nodes[at], parameter))?;
        let sizes = stated(self.model, self.model.parameters[input])?;
        let grows = axis_index(along, sizes.len()) == Some(axis) && !rest.iter().all(is_constant);
        let is_open = matches!(sizes.get(axis_of_input), Some(Dim::Dynamic { .. }));
        (grows && is_open).then_some((input, axis_of_input))
    }
}

/// The caches of a model that grow along axes of open size.
fn growing(model: &Model) -> Vec<GrowingCache> {
    let producers = Producers::new(model);
    let ranks = model.parameters.iter().filter_map(|&node| stated(model, node)).map(<[Dim]>::len);
    let rank = ranks.max().unwrap_or(0);
    let growing = |(output, &node): (usize, &usize)| {
        let value = model.nodes[node].inputs[0];
        (0..rank).find_map(|axis| {
            let (input, axis) = producers.grown_from(value, axis)?;
            Some(GrowingCache { input, output, axis })
        })
    };
    model.results.iter().enumerate().filter_map(growing).collect()
}

/// The shape of an input in the model.
fn stated(model: &Model, node: usize) -> Option<&[Dim]> {
    model.values[model.nodes[node].outputs[0].0].shape.as_deref()
}

/// The most pairs of inputs and outputs in a message.
const MOST_PAIRS: usize = 4;

/// The refusal of a model with caches that grow; `long`: the model with an assumed size of open
/// axes.
pub(crate) fn refused(long: &CoreAtSize) -> Option<Diagnostic> {
    let model = long.context.model;
    let mut caches = growing(model);
    // an input without a known shape counts, as its open sizes are unknown
    caches.retain(|cache| {
        long.inputs.shapes[cache.input].is_none()
            || long.inputs.open_axes[cache.input].contains(&cache.axis)
    });
    let pairs: Vec<(String, String)> = caches.iter().map(|cache| cache.names(long)).collect();
    let (axis, (input, output)) = (caches.first()?.axis, pairs.first()?);
    let rest_of_list = match &pairs[1..] {
        [] => String::new(),
        [(other, _)] => format!("; so is {}", quoted(other)),
        others => format!("; so are {} other inputs", others.len()),
    };
    let found = format!(
        "the input {} is a cache that grows along axis {axis}: the output {} is the input with \
        the elements of the call appended{rest_of_list}",
        quoted(input),
        quoted(output),
    );
    let sizes = one_size(long, &caches).map_or_else(
        || message!("every size, by {}", flag::SHAPE.setting()),
        |shapes| long.hints().shape_settings(&shapes),
    );
    let shown = &pairs[..pairs.len().min(MOST_PAIRS)];
    let help = message!(
        "make the cache a window: return its newest elements only, in PyTorch cache[{}-WINDOW:], \
        mask the places that no call has filled (a mask that is kept, too, begins at zero: 0 is \
        an empty place, 1 a filled one), and export the model with fixed sizes; {} then keeps the \
        window from call to call; if the caller keeps the cache and every call has one of the \
        same size, give {}",
        ":, ".repeat(axis),
        Setting::StateOf(shown.to_vec()),
        sizes
    );
    let origin = model.nodes[model.parameters[caches[0].input]].origin.clone();
    Some(Diagnostic::error(origin, found).valid("caches of a fixed size").help(help))
}

/// Shapes for caches of a fixed size, preferably with one new element per call. `None` if an input
/// has several open axes, or no shapes are free of errors.
fn one_size(long: &CoreAtSize, caches: &[GrowingCache]) -> Option<Shapes> {
    if long.inputs.open_axes.iter().any(|axes| axes.len() > 1) {
        return None;
    }
    let time: Vec<Option<usize>> =
        long.inputs.open_axes.iter().map(|axes| axes.first().copied()).collect();
    let is_cache = |input: usize| caches.iter().any(|cache| cache.input == input);
    let with_one_size = long.hints().numbers_of_steps().into_iter().find_map(|size| {
        let with = |sizes: &dyn Fn(usize) -> usize| {
            let shapes = long
                .hints()
                .shapes_of_steps(&time, &|input| if is_cache(input) { size } else { sizes(input) });
            long.hints().accepts_shapes(&shapes).then_some(shapes)
        };
        let single = with(&|_| 1)?;
        // a mask covers the cache and the new element: only a size of `size + 1` fits
        let fits = |input: usize, own: usize| {
            with(&|wanted| if wanted == input { own } else { 1 }).is_some()
        };
        let is_mask = |&input: &usize| {
            time[input].is_some() && !is_cache(input) && !fits(input, 2) && fits(input, size + 1)
        };
        let masks: Vec<usize> = (0..time.len()).filter(is_mask).collect();
        with(&|input| if masks.contains(&input) { size + 1 } else { 1 }).or(Some(single))
    });
    with_one_size.or_else(|| long.hints().shapes_per_call(&time, &long.hints().numbers_of_steps()))
}

impl GrowingCache {
    /// The names of the input and of the output.
    fn names(&self, long: &CoreAtSize) -> (String, String) {
        let model = long.context.model;
        let input = long.context.names_of_input(self.input);
        let result = &model.nodes[model.results[self.output]];
        let output_names =
            result.outputs.first().map_or(&[][..], |output| &model.values[output.0].names);
        let output = names(&[output_names, &model.values[result.inputs[0].0].names], &result.name);
        (name(&input, Side::Input, self.input), name(&output, Side::Output, self.output))
    }
}
