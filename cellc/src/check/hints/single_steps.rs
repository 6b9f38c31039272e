//! Inputs with several steps, of which the network reads one. Keras writes models with such inputs
//! for recurrent layers with an open number of steps.

use super::HintContext;
use crate::core::axis_index;
use crate::diagnostic::{Diagnostic, EXAMPLE_STEPS, quoted};
use crate::model::{Axes, Dim, Elements, Model, Node, Op, OpFacts, Primitive, Tensor, ValueId};

/// The axis of a value that holds the steps of an input.
#[derive(Clone, Copy)]
struct Steps {
    axis: usize,
    rank: usize,
    /// True if the steps are in another order than in the input.
    reordered: bool,
    /// True if the model leaves the number of steps open.
    open: bool,
}

/// How a node reads the steps of an operand.
enum Read {
    /// Every step alike. Holds the axis of steps of the output.
    Each(Steps),
    /// All steps, in the order of indices.
    Reordered,
    /// One step.
    One,
    /// Several steps, or an unknown number.
    Several,
}

impl HintContext<'_, '_> {
    /// A warning for each axis of a floating-point input along which the network reads one of
    /// several steps.
    pub(crate) fn single_steps(&self) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        for (index, &node) in self.context.model.parameters.iter().enumerate() {
            let node = &self.context.model.nodes[node];
            let value = &self.context.model.values[node.outputs[0].0];
            let Some(stated) = value.shape.as_deref().filter(|_| value.element.is_float()) else {
                continue;
            };
            // the first axis counts rows, the last one features
            for axis in 1..stated.len().saturating_sub(1) {
                warnings.extend(self.single_step(index, stated, axis));
            }
        }
        warnings
    }

    /// The warning for an axis of an input if the network reads one of several steps along it.
    /// `stated`: the shape of the input in the model.
    fn single_step(&self, index: usize, stated: &[Dim], axis: usize) -> Option<Diagnostic> {
        let model = self.context.model;
        let node = &model.nodes[model.parameters[index]];
        let value = node.outputs[0];
        let size = self.inputs.shapes[index].as_ref().map(|shape| shape[axis]);
        let open = matches!(stated[axis], Dim::Dynamic { .. });
        let has_several = if open { size != Some(1) } else { stated[axis] != Dim::Fixed(1) };
        if !has_several {
            return None;
        }
        let steps = Steps { axis, rank: stated.len(), reordered: false, open };
        let (reader, which) = one_step_of(model, value, steps)?;
        let found = format!(
            "only {which} of the steps of the input {} is read: {} takes it along axis {axis}, \
             and nothing reads the others",
            quoted(&self.context.input_name(index)),
            reader.label()
        );
        let help = "Keras writes this of a recurrent layer where the number of steps is open: it \
            traces one step; export the model with its number of steps and call it once before, \
            as these lines do";
        let origin = model.values[value.0].origin.clone();
        let warning = Diagnostic::warning(origin, found).layer(node.label()).help(help);
        Some(warning.lines(self.export_of_keras(index, axis)))
    }

    /// The lines by which Keras exports a model with a number of steps along an axis of an input.
    fn export_of_keras(&self, input: usize, axis: usize) -> Vec<String> {
        let shape = |(index, &node): (usize, &usize)| {
            let stated = self.context.model.values[self.context.model.nodes[node].outputs[0].0]
                .shape
                .as_deref()
                .unwrap_or_default();
            let known = self.inputs.shapes[index].as_deref();
            let size = |at: usize| match (known.map(|known| known[at]), stated[at]) {
                (Some(size), _) | (None, Dim::Fixed(size)) => size,
                (None, Dim::Dynamic { .. }) if (index, at) == (input, axis) => EXAMPLE_STEPS,
                (None, Dim::Dynamic { min, .. }) => min.max(1),
            };
            let sizes: Vec<String> = (0..stated.len()).map(|at| size(at).to_string()).collect();
            format!("({},)", sizes.join(", "))
                .replace(",)", if sizes.len() == 1 { ",)" } else { ")" })
        };
        let shapes: Vec<String> =
            self.context.model.parameters.iter().enumerate().map(shape).collect();
        let list = |spelled: &dyn Fn(&String) -> String| {
            shapes.iter().map(spelled).collect::<Vec<_>>().join(", ")
        };
        let zeros = list(&|shape| format!("keras.ops.zeros({shape})"));
        let zeros = if shapes.len() == 1 { zeros } else { format!("[{zeros}]") };
        let signature =
            list(&|shape| format!("keras.layers.InputSpec(shape={shape}, dtype=\"float32\")"));
        let is_onnx = self
            .context
            .model
            .files
            .first()
            .is_some_and(|file| file.name.to_lowercase().ends_with(".onnx"));
        let (file, format) = if is_onnx { ("net.onnx", "onnx") } else { ("net.xml", "openvino") };
        vec![
            format!("model({zeros})"),
            format!("model.export(\"{file}\", format=\"{format}\", input_signature=[{signature}])"),
        ]
    }
}

/// The node that reads one step of a value, and the name of the step. `None` if any node reads
/// other steps. If the number of steps is fixed, a matrix product must read the step, as in a cell.
fn one_step_of(model: &Model, value: ValueId, steps: Steps) -> Option<(&Node, &'static str)> {
    let mut constants: Vec<Option<&Tensor>> = vec![None; model.values.len()];
    let mut along: Vec<Option<Steps>> = vec![None; model.values.len()];
    along[value.0] = Some(steps);
    let mut taken = vec![false; model.values.len()];
    // by value: true if the value depends on elements of inputs, not only on their sizes
    let mut of_elements = vec![false; model.values.len()];
    let (mut reader, mut is_multiplied) = (None, false);
    for node in &model.nodes {
        if let Op::Constant(tensor) = &node.op {
            constants[node.outputs[0].0] = Some(tensor);
        }
        let OpFacts { elements, axes, .. } = node.op.facts();
        let depends = match node.op {
            Op::Parameter | Op::ReadValue { .. } => true,
            _ if elements == Elements::None => false,
            _ => node.inputs.iter().any(|input| of_elements[input.0]),
        };
        node.outputs.iter().for_each(|output| of_elements[output.0] = depends);
        let is_taken = node.inputs.iter().any(|input| taken[input.0]);
        match axes {
            Axes::Product { .. } => is_multiplied |= is_taken,
            Axes::Same | Axes::Removed | Axes::Reshaped if is_taken => {
                node.outputs.iter().for_each(|output| taken[output.0] = true);
            }
            _ => {}
        }
        let ports: Vec<usize> =
            (0..node.inputs.len()).filter(|&port| along[node.inputs[port].0].is_some()).collect();
        let Some(&port) = ports.first() else { continue };
        let constant = |port: usize| node.inputs.get(port).and_then(|input| constants[input.0]);
        let rank = |port: usize| match constant(port) {
            Some(tensor) => Some(tensor.shape().len()),
            None => rank_of(model, node.inputs[port]).filter(|_| !of_elements[node.inputs[port].0]),
        };
        match along[node.inputs[port].0]
            .map_or(Read::Several, |steps| read(node, port, steps, &constant, &rank))
        {
            Read::Each(_) if ports.len() > 1 => return None,
            Read::Each(steps) => along[node.outputs[0].0] = Some(steps),
            Read::Reordered
                if !of_elements[node.inputs[1].0] && rank_of(model, node.inputs[1]) == Some(1) =>
            {
                let steps =
                    along[node.inputs[port].0].map(|steps| Steps { reordered: true, ..steps });
                along[node.outputs[0].0] = steps;
            }
            // the operation reads the sizes only, no step
            Read::One if axes == Axes::Sizes => {}
            Read::One => {
                taken[node.outputs[0].0] = true;
                let is_first = along[node.inputs[port].0].is_some_and(|steps| !steps.reordered);
                reader = Some(with_reader(reader, node, is_first)?);
            }
            Read::Reordered | Read::Several => return None,
        }
    }
    reader.filter(|_| steps.open || is_multiplied)
}

/// The first reader of the one step, and the name of the step, after `node` reads a step. `None` if
/// the nodes may read different steps.
fn with_reader<'m>(
    before: Option<(&'m Node, &'static str)>,
    node: &'m Node,
    is_first: bool,
) -> Option<(&'m Node, &'static str)> {
    match before {
        None => Some((node, if is_first { FIRST_STEP } else { "one" })),
        Some((_, FIRST_STEP)) if is_first => before,
        Some(_) => None,
    }
}

/// The name of the first step in messages.
const FIRST_STEP: &str = "the first";

/// The constant at a port of a node; `None` if the input is computed.
type Constants<'f, 'a> = &'f dyn Fn(usize) -> Option<&'a Tensor>;

/// The rank of the operand at a port of a node; `None` if its elements depend on an input.
type Ranks<'f> = &'f dyn Fn(usize) -> Option<usize>;

/// How a node reads the steps of the operand at a port.
fn read(
    node: &Node,
    port: usize,
    steps: Steps,
    constant: Constants<'_, '_>,
    rank_of: Ranks<'_>,
) -> Read {
    let Steps { axis, rank, .. } = steps;
    let is_axis = |at: i64| axis_index(at, rank) == Some(axis);
    let numbers = |port: usize| constant(port).filter(|tensor| tensor.len() <= 8).map(integers);
    match node.op.facts().axes {
        Axes::Sizes => Read::One,
        // except for an output of the model, which holds all steps
        Axes::Same if node.op != Op::Result => Read::Each(steps),
        Axes::Broadcast(function) if function != Primitive::PRelu.into() => {
            let other_ports = (0..node.inputs.len()).filter(|&other| other != port);
            match other_ports
                .into_iter()
                .all(|other| rank_of(other).is_some_and(|least| least <= rank))
            {
                true => Read::Each(steps),
                false => Read::Several,
            }
        }
        Axes::Padded if port == 0 && steps.open => Read::Each(steps),
        // a window reads a few neighbouring steps at every step
        Axes::Convolved(_) | Axes::Pooled(_) if port == 0 && axis > 1 && steps.open => {
            Read::Each(steps)
        }
        // a dense layer over the features of each step
        Axes::Product { transpose_a: false, .. }
            if port == 0 && axis + 1 < rank && rank_of(1) == Some(2) =>
        {
            Read::Each(steps)
        }
        Axes::Permuted if port == 0 => match numbers(1).and_then(|order| {
            let order = if order.is_empty() { (0..rank as i64).rev().collect() } else { order };
            order.iter().position(|&at| is_axis(at))
        }) {
            Some(axis) => Read::Each(Steps { axis, ..steps }),
            None => Read::Several,
        },
        Axes::Indexed { batch_dims: 0 } if port == 0 => match (numbers(1), numbers(2).as_deref()) {
            (Some(indices), Some(&[at])) if is_axis(at) && indices == [0] => Read::One,
            (None, Some(&[at])) if is_axis(at) => Read::Reordered,
            _ => Read::Several,
        },
        Axes::Sliced if port == 0 => read_of_slice(node, steps, &numbers),
        Axes::Masked(masks) if port == 0 => {
            let (Some(begin), Some(end)) = (numbers(1), numbers(2)) else { return Read::Several };
            let is = |mask: &[bool]| mask.get(axis).copied().unwrap_or(false);
            let moves = masks.new_axis.iter().chain(&masks.ellipsis).any(|&on| on);
            let first = is(&masks.begin) || begin.get(axis) == Some(&0);
            let reads_one = is(&masks.shrink_axis) || !is(&masks.end) && end.get(axis) == Some(&1);
            let forward =
                node.inputs.len() < 4 || numbers(3).is_some_and(|by| by.get(axis) == Some(&1));
            if !moves && first && reads_one && forward { Read::One } else { Read::Several }
        }
        _ => Read::Several,
    }
}

/// How a Slice reads the steps of its operand. `numbers`: the constants at its ports.
fn read_of_slice(node: &Node, steps: Steps, numbers: &dyn Fn(usize) -> Option<Vec<i64>>) -> Read {
    let [starts, stops, by] = [1, 2, 3].map(numbers);
    let axes = match node.inputs.len() {
        0..=4 => starts.as_ref().map(|starts| (0..starts.len() as i64).collect()),
        _ => numbers(4),
    };
    let (Some(starts), Some(stops), Some(by), Some(axes)) = (starts, stops, by, axes) else {
        return Read::Several;
    };
    match axes.iter().position(|&at| axis_index(at, steps.rank) == Some(steps.axis)) {
        None => Read::Each(steps),
        Some(at) => match (starts.get(at), stops.get(at), by.get(at)) {
            (Some(0), Some(1), Some(1)) => Read::One,
            _ => Read::Several,
        },
    }
}

fn integers(tensor: &Tensor) -> Vec<i64> {
    (0..tensor.len()).map(|at| tensor.get_f64(at) as i64).collect()
}

fn rank_of(model: &Model, value: ValueId) -> Option<usize> {
    model.values[value.0].shape.as_ref().map(Vec::len)
}
