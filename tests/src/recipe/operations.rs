//! The table of operations that models are drawn of, and the functions of most operations.

use std::fmt::{self, Debug, Formatter};
use std::iter::repeat_n;

use super::choices::{Choices, MOST_ELEMENTS, SIZES};
use super::drawing::{Drawing, Item, integers, len};
use crate::model_file::Port;
use crate::random::unit;

/// A row of the table.
pub(super) struct Operation {
    /// The name in a printed recipe.
    pub(super) name: &'static str,
    /// By [`Model`]: the relative frequency.
    often: [usize; 3],
    /// Adds the operation to a model.
    pub(super) draw: Draw,
}

/// The operand that an operation requires, and the function that adds the operation.
#[derive(Clone, Copy)]
pub(super) enum Draw {
    /// No operand. The function may choose operands itself.
    Any(fn(&mut Drawing, &mut Choices<'_>)),
    /// A value.
    OfValue(fn(&mut Drawing, &mut Choices<'_>, Item)),
    /// A value of one dimension or more.
    OfTensor(fn(&mut Drawing, &mut Choices<'_>, Item)),
}

/// The kind of model that operations are drawn for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Model {
    /// A graph of operations of all kinds.
    Graph,
    /// The body of an iterator.
    Body,
    /// A model of cells only.
    Cells,
}

/// All operations, the simplest first.
static OPERATIONS: [Operation; 37] = {
    use Draw::{Any, OfTensor, OfValue};
    [
        row("unary", [2, 2, 0], OfValue(Drawing::unary)),
        row("binary", [4, 2, 0], OfValue(Drawing::binary)),
        row("reshape", [1, 1, 0], OfValue(Drawing::reshaped)),
        row("transpose", [2, 1, 0], OfValue(Drawing::transpose)),
        row("slice", [1, 1, 0], OfTensor(Drawing::sliced)),
        row("split", [1, 1, 0], OfTensor(Drawing::split)),
        row("gather", [1, 0, 0], OfTensor(Drawing::gather)),
        row("broadcast", [1, 1, 0], OfValue(Drawing::broadcast)),
        row("concat", [1, 1, 0], OfTensor(Drawing::concat)),
        row("constant", [1, 0, 0], Any(Drawing::stored)),
        row("softmax", [1, 1, 0], OfTensor(Drawing::softmax)),
        row("reduce", [2, 1, 0], OfTensor(Drawing::reduce)),
        row("dense", [2, 1, 0], OfTensor(Drawing::dense)),
        row("matmul", [1, 1, 0], OfTensor(Drawing::matmul)),
        row("convolution", [4, 1, 0], OfTensor(Drawing::convolution)),
        row("pool", [1, 0, 0], OfTensor(Drawing::pool)),
        row("pad", [1, 0, 0], OfTensor(Drawing::pad)),
        row("blocks", [1, 0, 0], OfTensor(Drawing::blocks)),
        row("reversed", [1, 0, 0], OfTensor(Drawing::reversed)),
        row("resized", [1, 1, 0], OfTensor(Drawing::resized)),
        row("normalized", [1, 0, 0], OfTensor(Drawing::normalized)),
        row("einsum", [1, 0, 0], OfTensor(Drawing::einsum)),
        row("power", [1, 1, 0], OfValue(Drawing::power)),
        row("select", [1, 0, 0], OfValue(Drawing::select)),
        row("rounded", [1, 0, 0], OfValue(Drawing::rounded)),
        row("counted", [1, 0, 0], Any(Drawing::counted)),
        row("looked_up", [1, 0, 0], OfTensor(Drawing::looked_up)),
        row("best", [1, 0, 0], OfTensor(Drawing::best)),
        row("running_sum", [1, 1, 0], OfTensor(Drawing::running_sum)),
        row("one_hot", [1, 0, 0], Any(Drawing::one_hot)),
        row("scattered", [2, 1, 0], OfTensor(Drawing::scattered)),
        row("variable", [1, 0, 0], Any(Drawing::variable)),
        row("cell", [8, 2, 1], Any(Drawing::cell)),
        row("sequence", [3, 1, 1], Any(Drawing::sequence)),
        row("matrices", [1, 1, 0], OfTensor(Drawing::matrices)),
        row("iterator", [2, 1, 0], OfTensor(Drawing::iterator)),
        row("either", [2, 0, 0], OfValue(Drawing::either)),
    ]
};

const fn row(name: &'static str, often: [usize; 3], draw: Draw) -> Operation {
    Operation { name, often, draw }
}

/// Sizes in the form of an attribute.
fn listed(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// The operations for a kind of model, each as often as its frequency says.
pub(super) fn in_a(model: Model) -> Vec<&'static Operation> {
    OPERATIONS
        .iter()
        .flat_map(|operation| repeat_n(operation, operation.often[model as usize]))
        .collect()
}

impl Debug for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Drawing {
    pub(super) fn unary(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let kinds = [
            "ReLU",
            "Tanh",
            "Sigmoid",
            "SoftPlus",
            "SoftSign",
            "Negative",
            "Abs",
            "Elu",
            "HardSigmoid",
            "Clamp",
            "PReLU",
            "Exp",
            "Log",
            "Sqrt",
            "Mish",
            "HSwish",
            "Erf",
            "Sin",
            "Cos",
            "Gelu",
            "FakeQuantize",
            "Swish",
            "Selu",
            "HSigmoid",
        ];
        let kind = choices.pick("kind", &kinds);
        let set = "opset9";
        let shape = port.shape.clone();
        let (of, most) = match kind {
            "Elu" => {
                let alpha = choices.pick("alpha", &[1.0, 0.5, -0.25]);
                (
                    self.file.operation(
                        kind,
                        "opset1",
                        &format!("alpha=\"{alpha}\""),
                        &[&port],
                        &shape,
                    ),
                    most.max(1.0),
                )
            }
            "HardSigmoid" => {
                let (alpha, beta) = (
                    choices.pick("alpha", &[0.2, 0.5, -1.0]),
                    choices.pick("beta", &[0.5, 0.0, -0.1]),
                );
                let (alpha, beta) = (self.number(alpha), self.number(beta));
                (self.file.operation(kind, "opset1", "", &[&port, &alpha, &beta], &shape), 1.0)
            }
            "Clamp" => {
                let (min, max) = choices
                    .pick("range", &[("-0.5", "0.25"), ("0", "6"), ("-1", "1e3"), ("-inf", "0.5")]);
                let data = format!("min=\"{min}\" max=\"{max}\"");
                (self.file.operation(kind, "opset1", &data, &[&port], &shape), most.max(1.0))
            }
            "PReLU" => {
                let channels = if shape.len() > 1 { shape[1] } else { 1 };
                let slope = if choices.one_in("by_channel", 2) { vec![channels] } else { vec![1] };
                let slope = self.constant(choices, &slope, 0.5);
                (self.file.operation(kind, "opset1", "", &[&port, &slope], &shape), most)
            }
            "Exp" => {
                let near = self.file.operation(
                    "Clamp",
                    "opset1",
                    "min=\"-8\" max=\"3\"",
                    &[&port],
                    &shape,
                );
                (self.plain(kind, &near), 20.0)
            }
            "Sqrt" => {
                let (least, positive) = (self.number(0.25), self.plain("Abs", &port));
                let positive =
                    self.file.operation("Add", "opset1", "", &[&positive, &least], &shape);
                (self.plain(kind, &positive), most.sqrt() + 1.0)
            }
            "Log" => {
                let (least, positive) = (self.number(0.125), self.plain("Abs", &port));
                let positive =
                    self.file.operation("Add", "opset1", "", &[&positive, &least], &shape);
                (self.plain(kind, &positive), 3.0)
            }
            "Swish" => {
                let beta = choices.pick("beta", &[1.0, 0.5, -2.0]);
                let beta = self.number(beta);
                let inputs = [&port, &beta];
                (
                    self.file.operation(
                        kind,
                        "opset4",
                        "",
                        &inputs[..choices.pick("inputs", &[1, 2])],
                        &shape,
                    ),
                    most,
                )
            }
            "Selu" => {
                let [alpha, scale] = [1.5, 1.25].map(|number| self.number(number));
                (
                    self.file.operation(kind, "opset1", "", &[&port, &alpha, &scale], &shape),
                    1.25 * most + 2.0,
                )
            }
            "Erf" | "Sin" | "Cos" | "HSigmoid" => (self.plain(kind, &port), 1.0),
            "FakeQuantize" => {
                let levels = choices.pick("levels", &[2, 16, 255, 256]);
                let ranges =
                    [[-1.0, 1.0, -1.0, 1.0], [0.0, 2.0, -0.5, 0.25], [-0.3, 0.1, -0.3, 0.1]];
                let range = choices.pick("range", &ranges).map(|end| self.number(end));
                let [a, b, c, d] = &range;
                let data = format!("levels=\"{levels}\" auto_broadcast=\"numpy\"");
                (self.file.operation(kind, "opset1", &data, &[&port, a, b, c, d], &shape), 1.0)
            }
            "Gelu" => {
                let data = choices.pick(
                    "approximation",
                    &["", "approximation_mode=\"ERF\"", "approximation_mode=\"TANH\""],
                );
                (self.file.operation(kind, "opset7", data, &[&port], &shape), most + 1.0)
            }
            _ => {
                let least =
                    if matches!(kind, "Tanh" | "Sigmoid" | "SoftSign") { 1.0 } else { most + 1.0 };
                (self.file.operation(kind, set, "", &[&port], &shape), least)
            }
        };
        self.push(of, most);
    }

    /// A shape that broadcasts with `shape` by NumPy's rules, and the broadcast shape.
    fn broadcast_with(
        &mut self,
        choices: &mut Choices<'_>,
        shape: &[usize],
    ) -> (Vec<usize>, Vec<usize>) {
        let (mut other, mut both) = (shape.to_vec(), shape.to_vec());
        for at in 0..shape.len() {
            match choices.below("widen", 4) {
                2 => other[at] = 1,
                3 if shape[at] == 1 => (other[at], both[at]) = (5, 5),
                _ => {}
            }
        }
        if len(&both) > MOST_ELEMENTS {
            return (shape.to_vec(), shape.to_vec());
        }
        let mut leave = choices.below("leave", 3).min(shape.len());
        while leave > 0
            && other.len() == shape.len() - leave + 1
            && both[shape.len() - leave] != shape[shape.len() - leave]
        {
            leave -= 1;
        }
        // leading dimensions that only the other shape widens must stay
        let widened = (0..shape.len()).position(|at| both[at] != shape[at]).unwrap_or(shape.len());
        other.drain(..leave.min(widened));
        (other, both)
    }

    pub(super) fn binary(&mut self, choices: &mut Choices<'_>, a: Item) {
        let kind =
            choices.pick("kind", &["Add", "Multiply", "Subtract", "Maximum", "Minimum", "Divide"]);
        let how = choices.below("how", 8);
        let (other, mut both) = self.broadcast_with(choices, &a.port.shape);
        let b = match how {
            // of another value
            0..=3 => {
                let b = self.item(choices);
                Item { port: self.fit(&b.port, &other), ..b }
            }
            4 => {
                both.clone_from(&a.port.shape);
                a.clone()
            }
            5 => {
                both.clone_from(&a.port.shape);
                let number = unit(&mut self.random);
                Item { port: self.number(number), most: 1.0 }
            }
            _ => Item { port: self.constant(choices, &other, 1.0), most: 1.0 },
        };
        let (b, most) = match kind {
            "Divide" => {
                // the divisor is not near 0
                let (half, positive) = (self.number(0.5), self.plain("Sigmoid", &b.port));
                let shape = positive.shape.clone();
                (
                    self.file.operation("Add", "opset1", "", &[&positive, &half], &shape),
                    2.0 * a.most,
                )
            }
            "Multiply" => (b.port, a.most * b.most),
            _ => (b.port, a.most + b.most),
        };
        let swap = kind != "Divide" && choices.one_in("swapped", 3);
        let inputs = if swap { [&b, &a.port] } else { [&a.port, &b] };
        let port = self.file.operation(kind, "opset1", "", &inputs, &both);
        self.push(port, most);
    }

    pub(super) fn softmax(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let rank = port.shape.len();
        let axis = (rank - 1 - choices.below("from_last", rank)) as i64
            - if choices.one_in("negative", 2) { rank as i64 } else { 0 };
        let (kind, set) = choices.pick("kind", &[("SoftMax", "opset8"), ("LogSoftmax", "opset5")]);
        let most = if kind == "SoftMax" { 1.0 } else { 2.0 * most + 3.0 };
        let port = self.file.operation(
            kind,
            set,
            &format!("axis=\"{axis}\""),
            &[&port],
            &port.shape.clone(),
        );
        self.push(port, most);
    }

    /// A reduction or a normalization, along one axis or two.
    pub(super) fn reduce(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let rank = port.shape.len();
        let mut axes = vec![choices.below("axis", rank)];
        let other = choices.below("other", rank);
        if !axes.contains(&other) && choices.one_in("two", 2) {
            axes.push(other);
        }
        let kinds = [
            "ReduceSum",
            "ReduceMean",
            "ReduceMax",
            "ReduceMin",
            "ReduceL1",
            "ReduceL2",
            "ReduceProd",
            "MVN",
        ];
        let count: usize = axes.iter().map(|&axis| port.shape[axis]).product();
        // products of more elements would exceed all bounds
        let kind = match choices.pick("kind", &kinds) {
            "ReduceProd" if count > 4 => "ReduceSum",
            kind => kind,
        };
        let negative = if choices.one_in("negative", 2) { rank as i64 } else { 0 };
        let listed: Vec<i64> = axes.iter().map(|&axis| axis as i64 - negative).collect();
        let listed = self.file.integers(&[listed.len()], &listed);
        if kind == "MVN" {
            let data = "eps=\"0.1\" normalize_variance=\"true\" eps_mode=\"inside_sqrt\"";
            let port =
                self.file.operation(kind, "opset6", data, &[&port, &listed], &port.shape.clone());
            self.push(port, (count as f32).sqrt() + 1.0);
            return;
        }
        let keep = choices.one_in("keep", 2);
        let set = if kind.starts_with("ReduceL") { "opset4" } else { "opset1" };
        let kept = port.shape.iter().enumerate().filter(|(axis, _)| keep || !axes.contains(axis));
        let shape: Vec<usize> =
            kept.map(|(axis, &size)| if axes.contains(&axis) { 1 } else { size }).collect();
        let port = self.file.operation(
            kind,
            set,
            &format!("keep_dims=\"{keep}\""),
            &[&port, &listed],
            &shape,
        );
        let most = match kind {
            "ReduceSum" | "ReduceL1" | "ReduceL2" => most * count as f32,
            "ReduceProd" => most.powf(count as f32),
            _ => most,
        };
        self.push(port, most);
    }

    pub(super) fn reshaped(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let shape = port.shape.clone();
        let port = match choices.below("how", 4) {
            0 if !shape.is_empty() => {
                // two dimensions become one; a 0 keeps the first dimension
                let at = choices.below("axis", shape.len());
                let mut to = shape.clone();
                if at > 0 {
                    let size = to.remove(at);
                    to[at - 1] *= size;
                }
                let mut target = integers(&to);
                let special = at > 1;
                if special {
                    target[0] = 0;
                }
                let last = target.len() - 1;
                target[last] = -1;
                let target = self.file.integers(&[target.len()], &target);
                let data = format!("special_zero=\"{special}\"");
                self.file.operation("Reshape", "opset1", &data, &[&port, &target], &to)
            }
            1 if !shape.is_empty() => {
                // one dimension becomes two
                let at = choices.below("axis", shape.len());
                let factor = (2..=shape[at]).find(|f| shape[at].is_multiple_of(*f)).unwrap_or(1);
                let mut to = shape.clone();
                to[at] /= factor;
                to.insert(at, factor);
                self.reshape(&port, &to)
            }
            2 if shape.contains(&1) => {
                let at = shape.iter().position(|size| *size == 1).expect("a 1");
                let mut to = shape.clone();
                to.remove(at);
                let axes = self.file.integers(
                    &[1],
                    &[at as i64
                        - if choices.one_in("negative", 2) { shape.len() as i64 } else { 0 }],
                );
                self.file.operation("Squeeze", "opset1", "", &[&port, &axes], &to)
            }
            _ if shape.len() < 5 => {
                let at = choices.below("axis", shape.len() + 1);
                let mut to = shape.clone();
                to.insert(at, 1);
                let axes = self.file.integers(&[1], &[at as i64]);
                self.file.operation("Unsqueeze", "opset1", "", &[&port, &axes], &to)
            }
            _ => self.reshape(&port, &[len(&shape)]),
        };
        self.push(port, most);
    }

    pub(super) fn transpose(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let mut left: Vec<usize> = (0..port.shape.len()).rev().collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            order.push(left.remove(choices.below("next", left.len())));
        }
        let shape: Vec<usize> = order.iter().map(|at| port.shape[*at]).collect();
        let order = self.file.integers(&[order.len()], &integers(&order));
        let port = self.file.operation("Transpose", "opset1", "", &[&port, &order], &shape);
        self.push(port, most);
    }

    pub(super) fn sliced(&mut self, choices: &mut Choices<'_>, Item { mut port, most }: Item) {
        for _ in 0..=choices.below("more", 2) {
            let axis = choices.below("axis", port.shape.len());
            let size = port.shape[axis] as i64;
            let [first, last] =
                ["first", "last"].map(|name| choices.below(name, port.shape[axis]) as i64);
            let step = choices.pick("step", &[1, 2, 3]);
            let left = ((first - last).abs() / step + 1) as usize;
            let range = match last >= first {
                true => {
                    // negative ends count from the end of the axis, so no negative number means the
                    // end
                    let negative = choices.one_in("negative", 3) && last + 1 < size;
                    (first, last + 1 - if negative { size } else { 0 }, step)
                }
                false => (first - size, if last == 0 { -size - 1 } else { last - 1 }, -step),
            };
            port = self.slice(&port, axis, range, left);
        }
        self.push(port, most);
    }

    pub(super) fn split(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let axis = choices.below("axis", port.shape.len());
        let size = port.shape[axis];
        let named =
            axis as i64 - if choices.one_in("negative", 3) { port.shape.len() as i64 } else { 0 };
        let at = self.file.integers(&[], &[named]);
        let part = |size: usize| {
            let mut shape = port.shape.clone();
            shape[axis] = size;
            shape
        };
        let divisors: Vec<usize> = (1..=size).filter(|n| size.is_multiple_of(*n)).collect();
        let ports = if size > 1 && choices.one_in("uneven", 2) {
            let first = 1 + choices.below("first", size - 1);
            let lengths = match choices.below("lengths", 3) {
                0 => vec![first as i64, (size - first) as i64],
                1 => vec![-1, (size - first) as i64],
                _ => vec![first as i64, -1],
            };
            let lengths = self.file.integers(&[2], &lengths);
            let shapes = [part(first), part(size - first)];
            self.file.operations("VariadicSplit", "opset1", "", &[&port, &at, &lengths], &shapes)
        } else {
            let parts = choices.pick("parts", &divisors);
            let shapes = vec![part(size / parts); parts];
            self.file.operations(
                "Split",
                "opset1",
                &format!("num_splits=\"{parts}\""),
                &[&port, &at],
                &shapes,
            )
        };
        let [read, other] = ["read", "other"].map(|name| choices.below(name, ports.len()));
        self.push(ports[read].clone(), most);
        if other != read {
            self.push(ports[other].clone(), most);
        }
    }

    pub(super) fn gather(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let axis = choices.below("axis", port.shape.len());
        let size = port.shape[axis] as i64;
        let dims = choices.pick("dims", &[&[][..], &[1], &[3], &[5], &[2, 2]]);
        let (start, step) =
            (choices.below("start", 17) as i64, choices.pick("step", &[1, 2, -1, 0]));
        let progression = choices.one_in("progression", 2);
        let mut index = |k: usize| match progression {
            true => (start + k as i64 * step).rem_euclid(size),
            false => choices.below("index", 2 * port.shape[axis]) as i64 - size,
        };
        let indices: Vec<i64> = (0..len(dims)).map(&mut index).collect();
        let mut shape = port.shape[..axis].to_vec();
        shape.extend(dims);
        shape.extend(&port.shape[axis + 1..]);
        let indices = self.file.integers(dims, &indices);
        let axis = self.file.integers(&[], &[axis as i64]);
        let port = self.file.operation(
            "Gather",
            "opset8",
            "batch_dims=\"0\"",
            &[&port, &indices, &axis],
            &shape,
        );
        self.push(port, most);
    }

    pub(super) fn broadcast(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let shape = port.shape.clone();
        let widen = |sizes: &[usize], by: usize| -> Vec<usize> {
            sizes.iter().map(|size| if *size == 1 { by } else { *size }).collect()
        };
        let by = choices.pick("by", &[2, 3, 1, 8]);
        let port = match choices.below("mode", 4) {
            0 => {
                let mut to = widen(&shape, by);
                to.insert(0, choices.pick("outermost", &[1, 2, 3]));
                let target = self.file.integers(&[to.len()], &integers(&to));
                self.file.operation("Broadcast", "opset3", "mode=\"numpy\"", &[&port, &target], &to)
            }
            1 => {
                // the target shape is narrower than the value on some axes
                let to = widen(&shape, by);
                let target: Vec<usize> =
                    shape.iter().map(|size| if *size == 1 { by } else { 1 }).collect();
                let target = self.file.integers(&[target.len()], &integers(&target));
                self.file.operation(
                    "Broadcast",
                    "opset3",
                    "mode=\"bidirectional\"",
                    &[&port, &target],
                    &to,
                )
            }
            2 => {
                let mut to = shape.clone();
                let mut repeats = vec![1; shape.len()];
                if !to.is_empty() {
                    let at = choices.below("axis", shape.len());
                    (to[at], repeats[at]) = (to[at] * by, by);
                }
                let repeats = self.file.integers(&[repeats.len()], &integers(&repeats));
                self.file.operation("Tile", "opset1", "", &[&port, &repeats], &to)
            }
            _ => {
                let mut to = shape.clone();
                let at = choices.below("axis", shape.len() + 1);
                to.insert(at, by);
                let axes: Vec<i64> = (0..to.len()).filter(|d| *d != at).map(|d| d as i64).collect();
                let target = self.file.integers(&[to.len()], &integers(&to));
                let axes = self.file.integers(&[axes.len()], &axes);
                self.file.operation(
                    "Broadcast",
                    "opset3",
                    "mode=\"explicit\"",
                    &[&port, &target, &axes],
                    &to,
                )
            }
        };
        self.push(port, most);
    }

    pub(super) fn concat(&mut self, choices: &mut Choices<'_>, Item { port, mut most }: Item) {
        let axis = choices.below("axis", port.shape.len());
        let mut parts = vec![port.clone()];
        let mut total = port.shape[axis];
        for _ in 0..=choices.below("more", 3) {
            let part = if choices.one_in("same", 3) {
                port.clone()
            } else {
                let item = self.item(choices);
                most = most.max(item.most);
                let mut shape = port.shape.clone();
                shape[axis] = choices.pick("size", &[1, 2, 5]);
                self.fit(&item.port, &shape)
            };
            total += part.shape[axis];
            parts.push(part);
        }
        let mut shape = port.shape.clone();
        shape[axis] = total;
        let named =
            axis as i64 - if choices.one_in("negative", 3) { shape.len() as i64 } else { 0 };
        let inputs: Vec<&Port> = parts.iter().collect();
        let port =
            self.file.operation("Concat", "opset1", &format!("axis=\"{named}\""), &inputs, &shape);
        self.push(port, most);
    }

    pub(super) fn stored(&mut self, choices: &mut Choices<'_>) {
        let rank = choices.below("rank", 4);
        let shape = choices.shape("shape", rank);
        let port = self.constant(choices, &shape, 1.0);
        self.push(port, 1.0);
    }

    pub(super) fn dense(&mut self, choices: &mut Choices<'_>, Item { mut port, most }: Item) {
        let transpose_a = port.shape.len() > 1 && choices.one_in("transpose_a", 6);
        let rank = port.shape.len();
        let mut shape = port.shape.clone();
        if transpose_a {
            shape.swap(rank - 2, rank - 1);
        }
        let (inputs, outputs) = (shape[rank - 1], choices.pick("outputs", &SIZES));
        shape[rank - 1] = outputs;
        let transposed = choices.one_in("transpose_b", 2);
        let at_run_time = choices.one_in("at_run_time", 8);
        let w = if transposed { [outputs, inputs] } else { [inputs, outputs] };
        let w = self.weights(choices, at_run_time, &w);
        self.file.work += len(&shape) * inputs;
        let data = format!("transpose_a=\"{transpose_a}\" transpose_b=\"{transposed}\"");
        port = self.file.operation("MatMul", "opset1", &data, &[&port, &w], &shape);
        if !choices.one_in("no_bias", 3) {
            let bias = self.constant(choices, &[outputs], 0.5);
            port = self.file.operation("Add", "opset1", "", &[&port, &bias], &shape);
        }
        if let Some(kind) =
            choices.pick("then", &[Some("ReLU"), Some("Tanh"), Some("Sigmoid"), None])
        {
            port = self.plain(kind, &port);
        }
        self.push(port, 2.0 * most * (inputs as f32).sqrt());
    }

    /// A product of two computed tensors, or of a computed tensor and a constant of one or several
    /// matrices.
    pub(super) fn matmul(&mut self, choices: &mut Choices<'_>, a: Item) {
        let rank = a.port.shape.len();
        if rank > 1 && choices.one_in("constant_on_the_left", 4) {
            return self.constant_times(choices, a);
        }
        let b = self.item(choices);
        let transpose_a = rank > 1 && choices.one_in("transpose_a", 3);
        let transpose_b = choices.one_in("transpose_b", 2);
        let mut shape = a.port.shape.clone();
        if transpose_a {
            shape.swap(rank - 2, rank - 1);
        }
        let inner = shape[rank - 1];
        let columns = choices.pick("columns", &SIZES);
        let mut other = if transpose_b { vec![columns, inner] } else { vec![inner, columns] };
        match choices.below("how", 4) {
            // the other operand: a matrix for each matrix, one matrix for all, or a vector
            1 if rank > 2 => other.splice(..0, shape[..rank - 2].iter().copied()).for_each(drop),
            2 if rank > 2 => other.splice(..0, std::iter::repeat_n(1, rank - 2)).for_each(drop),
            3 if !transpose_b => other = vec![inner],
            _ => {}
        }
        shape.pop();
        if other.len() > 1 {
            shape.push(columns);
        }
        let (b_port, b_most) = match choices.one_in("constant", 3) {
            true => (self.constant(choices, &other, 1.0), 1.0),
            false => (self.fit(&b.port, &other), b.most),
        };
        self.file.work += len(&shape) * inner;
        let data = format!("transpose_a=\"{transpose_a}\" transpose_b=\"{transpose_b}\"");
        let port = self.file.operation("MatMul", "opset1", &data, &[&a.port, &b_port], &shape);
        self.push(port, a.most * b_most * inner as f32);
    }

    /// A constant on the left: one matrix for all matrices of x, or one for each.
    fn constant_times(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let mut shape = port.shape.clone();
        let outer = shape.len() - 2;
        let (inner, rows) = (shape[outer], choices.pick("rows", &SIZES));
        let mut of_w = if choices.one_in("each", 2) { shape[..outer].to_vec() } else { Vec::new() };
        of_w.extend([rows, inner]);
        let w = self.constant(choices, &of_w, 1.0);
        shape[outer] = rows;
        self.file.work += len(&shape) * inner;
        let data = "transpose_a=\"false\" transpose_b=\"false\"";
        let port = self.file.operation("MatMul", "opset1", data, &[&w, &port], &shape);
        self.push(port, most * inner as f32);
    }

    /// Some elements of a value as `[N, C, ..]`, with one or two spatial dimensions.
    pub(super) fn channels_first(&mut self, choices: &mut Choices<'_>, port: &Port) -> Port {
        let mut shape =
            vec![choices.pick("batch", &[1, 2]), choices.pick("channels", &[4, 1, 6, 9])];
        match choices.one_in("two_dimensions", 3) {
            true => shape.extend([choices.pick("height", &[5, 6]), choices.pick("width", &[5, 8])]),
            false => shape.push(choices.pick("length", &[8, 5, 17, 12])),
        }
        self.fit(port, &shape)
    }

    pub(super) fn convolution(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        // depthwise with many positions is the form for integer arithmetic
        let depthwise = choices.one_in("depthwise", 2);
        let x = match depthwise {
            false => self.channels_first(choices, &port),
            true => {
                let sizes = choices.pick("sizes", &[&[12][..], &[37], &[5, 8], &[12, 7]]);
                let first = [choices.pick("batch", &[1, 2]), choices.pick("channels", &[6, 9])];
                self.fit(&port, &[&first, sizes].concat())
            }
        };
        let (channels, sizes) = (x.shape[1], &x.shape[2..]);
        let transposed = choices.one_in("transposed", 3);
        let groups = match choices.below("groups", 3) {
            _ if depthwise => channels,
            0 => 1,
            1 => channels,
            _ => (2..=channels).find(|n| channels.is_multiple_of(*n)).unwrap_or(1),
        };
        let (each, inner) = (choices.pick("outputs", &[1, 2, 3, 8]), channels / groups);
        let mut shape = vec![x.shape[0], groups * each];
        let mut columns: [Vec<usize>; 5] = Default::default();
        for &size in sizes {
            let (kernel, stride) = match depthwise {
                false => (choices.pick("kernel", &[3, 1, 2]), choices.pick("stride", &[1, 2, 3])),
                true => (choices.pick("kernel", &[3, 2]), choices.pick("stride", &[1, 1, 2, 3])),
            };
            let dilation = choices.pick("dilation", &[1, 2]);
            let reach = (kernel - 1) * dilation + 1;
            let [begin, end] = ["begin", "end"].map(|name| choices.below(name, 3).min(reach - 1));
            shape.push(match transposed {
                true => stride * (size - 1) + reach - begin - end,
                false => (size + begin + end - reach) / stride + 1,
            });
            columns
                .iter_mut()
                .zip([kernel, stride, dilation, begin, end])
                .for_each(|(column, n)| column.push(n));
        }
        let [kernel, rest @ ..] = columns;
        let [strides, dilations, begin, end] = rest.map(|column| listed(&column));
        let auto = choices.pick("auto_pad", &["explicit", "explicit", "valid"]);
        if auto == "valid" {
            // explicit pads are not read
            for (at, (size, kernel)) in sizes.iter().zip(&kernel).enumerate() {
                let number = |text: &str| {
                    text.split(',').nth(at).and_then(|n| n.parse::<usize>().ok()).expect("a size")
                };
                let (stride, reach) = (number(&strides), (kernel - 1) * number(&dilations) + 1);
                let whole = stride * (size - 1) + reach;
                shape[2 + at] = if transposed { whole } else { (size - reach) / stride + 1 };
            }
        }
        let mut dims = match (groups, transposed) {
            (1, false) => vec![each, inner],
            (1, true) => vec![inner, each],
            (_, false) => vec![groups, each, inner],
            (_, true) => vec![groups, inner, each],
        };
        dims.extend(&kernel);
        let terms = inner * kernel.iter().product::<usize>();
        let (w, of_weights) = match choices.below("weights", 8) {
            6 => (self.weights(choices, true, &dims), 1.0),
            7 => {
                let item = self.item(choices);
                (self.fit(&item.port, &dims), item.most)
            }
            _ => (self.constant(choices, &dims, 1.0), 1.0),
        };
        self.file.work += len(&shape) * terms;
        let kind = match (groups, transposed) {
            (1, false) => "Convolution",
            (1, true) => "ConvolutionBackpropData",
            (_, false) => "GroupConvolution",
            (_, true) => "GroupConvolutionBackpropData",
        };
        let data = format!(
            "strides=\"{strides}\" dilations=\"{dilations}\" pads_begin=\"{begin}\" pads_end=\"{end}\" auto_pad=\"{auto}\""
        );
        let mut port = self.file.operation(kind, "opset1", &data, &[&x, &w], &shape);
        if !choices.one_in("no_bias", 3) {
            let mut wide = vec![1; shape.len()];
            wide[1] = shape[1];
            let bias = self.constant(choices, &wide, 0.5);
            port = self.file.operation("Add", "opset1", "", &[&port, &bias], &shape);
        }
        self.push(port, 2.0 * most * of_weights * (terms as f32).sqrt());
    }

    pub(super) fn pool(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let x = self.channels_first(choices, &port);
        let mut shape = x.shape[..2].to_vec();
        let mut columns: [Vec<usize>; 5] = Default::default();
        let (kind, set) = choices.pick(
            "kind",
            &[
                ("MaxPool", "opset1"),
                ("AvgPool", "opset1"),
                ("MaxPool", "opset8"),
                ("MaxPool", "opset14"),
                ("AvgPool", "opset16"),
            ],
        );
        let dilated = matches!(set, "opset8" | "opset14" | "opset16");
        let ceil = choices.one_in("ceil", 3);
        for &size in &x.shape[2..] {
            let kernel = choices.pick("kernel", &[3, 1, 2]);
            // with `ceil`, no window may hold only padding
            let stride = choices.pick("stride", &[1, 2]).min(kernel);
            let [begin, end] = ["begin", "end"].map(|name| choices.below(name, 2).min(kernel - 1));
            let end = if ceil { 0 } else { end };
            let dilation = if dilated { choices.pick("dilation", &[1, 2]) } else { 1 };
            let rest = size + begin + end - (kernel - 1) * dilation - 1;
            shape.push(if ceil { rest.div_ceil(stride) } else { rest / stride } + 1);
            columns
                .iter_mut()
                .zip([kernel, stride, begin, end, dilation])
                .for_each(|(column, n)| column.push(n));
        }
        let [kernel, strides, begin, end, dilations] = columns.map(|column| listed(&column));
        let rounding = if ceil { "ceil" } else { "floor" };
        let mut data = format!(
            "kernel=\"{kernel}\" strides=\"{strides}\" pads_begin=\"{begin}\" pads_end=\"{end}\" rounding_type=\"{rounding}\""
        );
        if dilated {
            data += &format!(" dilations=\"{dilations}\"");
        }
        if kind == "AvgPool" {
            data += &format!(" exclude-pad=\"{}\"", choices.one_in("exclude_pad", 2));
        }
        let port = match (kind, dilated) {
            // the second output, the indices, is not read
            ("MaxPool", true) => self
                .file
                .operations(kind, set, &data, &[&x], &[shape.clone(), shape])
                .swap_remove(0),
            _ => self.file.operation(kind, set, &data, &[&x], &shape),
        };
        self.push(port, most);
    }

    pub(super) fn pad(&mut self, choices: &mut Choices<'_>, Item { port, most }: Item) {
        let mode = choices.pick("mode", &["constant", "edge", "reflect", "symmetric"]);
        let mut shape = port.shape.clone();
        let (mut begin, mut end) = (vec![0; shape.len()], vec![0; shape.len()]);
        for (at, size) in shape.iter_mut().enumerate() {
            if choices.one_in("this_axis", 2) {
                let most = if mode == "reflect" { *size as i64 - 1 } else { *size as i64 };
                let [front, behind] =
                    ["begin", "end"].map(|name| (choices.below(name, 4) as i64 - 1).min(most));
                // at least one element is left
                if *size as i64 + front.min(0) + behind.min(0) > front.max(behind).max(0) {
                    (begin[at], end[at]) = (front, behind);
                    *size = (*size as i64 + front + behind) as usize;
                }
            }
        }
        let [begin, end] = [begin, end].map(|pads| self.file.integers(&[pads.len()], &pads));
        let value = self.number(0.5);
        let data = format!("pad_mode=\"{mode}\"");
        let port =
            self.file.operation("Pad", "opset1", &data, &[&port, &begin, &end, &value], &shape);
        self.push(port, most);
    }

    /// A variable: read here, assigned at the end of the model.
    pub(super) fn variable(&mut self, choices: &mut Choices<'_>) {
        let rank = 1 + choices.below("rank", 3);
        let shape = if choices.one_in("same_shape", 2) {
            self.item(choices).port.shape
        } else {
            choices.shape("shape", rank)
        };
        let name = format!("variable {}", self.variables.len());
        let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
        let data = format!(
            "variable_id=\"{name}\" variable_shape=\"{}\" variable_type=\"f32\"",
            sizes.join(",")
        );
        let port = if choices.one_in("uninitialized", 4) {
            self.file.operation("ReadValue", "opset6", &data, &[], &shape)
        } else {
            let initial = self.constant(choices, &shape, 1.0);
            self.file.operation("ReadValue", "opset6", &data, &[&initial], &shape)
        };
        self.variables.push((name, port.clone()));
        self.push(port, 10.0);
    }
}
