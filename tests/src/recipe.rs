//! Recipes: plain data that every value of is a valid model, for proptest to draw and to shrink.
//!
//! A recipe lists operations. Each finds its operands among what came before it and its sizes and attributes by the
//! numbers it holds, taken modulo what there is to choose from: fewer operations and smaller numbers are simpler models.

use std::fmt::{self, Debug, Formatter};

use cellc::model::Activation;
use cellc::random::Random;
use proptest::array::uniform;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::model_file::{Iterated, IteratedInput, IteratedOutput, ModelFile, Port, Stored};
use crate::random::{unit, weight_scale};

/// Draws the same recipes whenever it starts from the same seed.
pub fn runner(cases: u32, seed: u64) -> TestRunner {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// The first recipes of a seed.
///
/// # Panics
/// If one cannot be drawn, which would be a fault of the strategy.
pub fn drawn(count: u32, seed: u64) -> Vec<Recipe> {
    let mut runner = runner(count, seed);
    (0..count).map(|_| recipes().new_tree(&mut runner).expect("a recipe").current()).collect()
}

/// A model.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Of all numbers in tensors.
    pub seed: u32,
    /// The shapes of the inputs.
    pub inputs: Vec<[u8; 4]>,
    /// In order; at the end the model holds their results.
    pub nodes: Vec<Node>,
    /// The results beside the last value.
    pub results: Vec<u8>,
    /// Unrolling, profile, flushing.
    pub options: [u8; 3],
}

/// An operation.
#[derive(Clone)]
pub struct Node {
    /// Which, or a group of similar ones.
    pub what: What,
    /// All else.
    pub choices: [u8; CHOICES],
}

/// More than one operation takes; what is missing counts as 0.
const CHOICES: usize = 40;

impl Debug for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let used = CHOICES - self.choices.iter().rev().take_while(|choice| **choice == 0).count();
        write!(f, "{:?} {:?}", self.what, &self.choices[..used])
    }
}

/// What operations there are to draw from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named after the operations
pub enum What {
    Unary,
    Binary,
    Reshape,
    Transpose,
    Slice,
    Split,
    Gather,
    Broadcast,
    Concat,
    Constant,
    Softmax,
    Dense,
    MatMul,
    Variable,
    Cell,
    Sequence,
    Iterator,
}

/// What is drawn, the simplest first, as often as it stands here.
const DRAWN: [What; 27] = {
    use What as W;
    [
        W::Unary,
        W::Unary,
        W::Binary,
        W::Binary,
        W::Binary,
        W::Reshape,
        W::Transpose,
        W::Transpose,
        W::Slice,
        W::Split,
        W::Gather,
        W::Broadcast,
        W::Concat,
        W::Constant,
        W::Softmax,
        W::Dense,
        W::Dense,
        W::MatMul,
        W::Variable,
        W::Cell,
        W::Cell,
        W::Cell,
        W::Cell,
        W::Sequence,
        W::Sequence,
        W::Sequence,
        W::Iterator,
    ]
};

/// What stands in the body of an iterator; another iterator above all else.
const IN_BODY: [What; 16] = {
    use What as W;
    [
        W::Unary,
        W::Binary,
        W::Cell,
        W::Dense,
        W::Concat,
        W::Transpose,
        W::Slice,
        W::Softmax,
        W::Broadcast,
        W::MatMul,
        W::Cell,
        W::Split,
        W::Binary,
        W::Sequence,
        W::Reshape,
        W::Iterator,
    ]
};

/// All recipes. One in three is of cells only, one or two.
pub fn recipes() -> impl Strategy<Value = Recipe> {
    let node = |of: &'static [What]| {
        (select(of), uniform::<_, CHOICES>(any::<u8>())).prop_map(|(what, choices)| Node { what, choices })
    };
    let cells = vec(node(&[What::Cell, What::Sequence]), 1..=2);
    let graph = vec(node(&DRAWN), 1..=9);
    let nodes = proptest::prop_oneof![1 => cells, 2 => graph];
    let inputs = vec(any::<[u8; 4]>(), 1..=3);
    let results = vec(any::<u8>(), 0..=3);
    (any::<u32>(), inputs, nodes, results, any::<[u8; 3]>())
        .prop_map(|(seed, inputs, nodes, results, options)| Recipe { seed, inputs, nodes, results, options })
}

/// Sizes: some that instruction sets tile evenly, some that leave a rest.
const SIZES: [usize; 12] = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17];
/// Of cells there are larger ones too.
const CELL_SIZES: [usize; 20] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 20, 24, 31, 33, 40, 66];
/// The most elements of a tensor that is not a weight.
const MOST_ELEMENTS: usize = 400;
/// The most pieces of an iterator.
const MOST_TRIPS: usize = 6;
/// Values of a larger magnitude are brought down, so that no bound overflows.
const MOST: f32 = 60.0;

/// The numbers of a node, one after another, and zeros behind.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    /// Less than n.
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |choice| usize::from(*choice)) % n
    }

    /// Not so for the simplest recipe.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A shape of so many dimensions, none of them large where there are many.
    fn shape(&mut self, rank: usize) -> Vec<usize> {
        let mut shape: Vec<usize> = (0..rank).map(|_| self.pick(&SIZES)).collect();
        while len(&shape) > MOST_ELEMENTS {
            let largest = shape.iter_mut().max().expect("a dimension");
            *largest /= 2;
        }
        shape
    }
}

fn len(shape: &[usize]) -> usize {
    shape.iter().product()
}

fn integers(values: &[usize]) -> Vec<i64> {
    values.iter().map(|v| *v as i64).collect()
}

/// A value that operations can read.
#[derive(Clone, Debug)]
struct Item {
    port: Port,
    /// About how large it is for ordinary inputs.
    most: f32,
}

/// A model file that is being drawn, or the body of an iterator.
struct Drawing {
    file: ModelFile,
    items: Vec<Item>,
    /// Everything that may be a result.
    all: Vec<Port>,
    /// What must be one: integers that nothing reads are no input of a model.
    needed: Vec<Port>,
    random: Random,
    variables: Vec<(String, Port)>,
    parameters: usize,
    /// Iterators around it.
    level: usize,
}

impl Recipe {
    /// The model.
    pub fn file(&self) -> ModelFile {
        let (random, file) = (Random::new(u64::from(self.seed)), ModelFile::default());
        let (items, variables) = (Vec::new(), Vec::new());
        let (all, needed) = (Vec::new(), Vec::new());
        let mut drawing = Drawing { file, items, all, needed, random, variables, parameters: 0, level: 0 };
        for input in &self.inputs {
            let rank = 1 + usize::from(input[0]) % 4;
            let shape = Choices(input[1..].iter()).shape(rank);
            let port = drawing.parameter("f32", &shape);
            drawing.push(port, 1.0);
        }
        for node in &self.nodes {
            drawing.node(node.what, &mut Choices(node.choices.iter()));
        }
        drawing.assign(&mut Choices(self.results.iter()));
        let last = drawing.all.last().expect("a value").clone();
        drawing.file.result(&last);
        for needed in std::mem::take(&mut drawing.needed) {
            drawing.file.result(&needed);
        }
        for result in &self.results {
            let of = drawing.all[usize::from(*result) % drawing.all.len()].clone();
            drawing.file.result(&of);
        }
        drawing.file
    }
}

impl Drawing {
    fn parameter(&mut self, element: &str, shape: &[usize]) -> Port {
        self.parameters += 1;
        self.file.parameter_of(&format!("p{}", self.parameters - 1), element, shape)
    }

    /// Random numbers, stored one way or another.
    fn constant(&mut self, choices: &mut Choices<'_>, shape: &[usize], scale: f32) -> Port {
        let stored = if choices.one_in(5) { Stored::F16 } else { Stored::F32 };
        let values: Vec<f32> = (0..len(shape)).map(|_| unit(&mut self.random) * scale).collect();
        self.file.constant(shape, stored, values.into_iter())
    }

    fn number(&mut self, value: f32) -> Port {
        self.file.constant(&[], Stored::F32, std::iter::once(value))
    }

    /// One of the latest values.
    fn item(&self, choices: &mut Choices<'_>) -> Item {
        self.items[self.items.len() - 1 - choices.below(self.items.len())].clone()
    }

    /// An item of one dimension or more.
    fn tensor(&mut self, choices: &mut Choices<'_>) -> Item {
        let item = self.item(choices);
        let shape = if item.port.shape.is_empty() { vec![1] } else { item.port.shape.clone() };
        Item { port: self.fit(&item.port, &shape), ..item }
    }

    /// Makes a value available; too large a one only as a result.
    fn push(&mut self, port: Port, most: f32) {
        self.all.push(port.clone());
        let item = if most <= MOST && len(&port.shape) <= MOST_ELEMENTS {
            Item { port, most }
        } else {
            let n = len(&port.shape).min(MOST_ELEMENTS);
            let shape = if n < len(&port.shape) { vec![n] } else { port.shape.clone() };
            let port = self.fit(&port, &shape);
            Item { port: self.plain("Tanh", &port), most: 1.0 }
        };
        self.items.push(item);
    }

    /// An operation without attributes that keeps the shape.
    fn plain(&mut self, kind: &str, of: &Port) -> Port {
        self.file.operation(kind, "opset9", "", &[of], &of.shape)
    }

    fn reshape(&mut self, of: &Port, shape: &[usize]) -> Port {
        let target = self.file.integers(&[shape.len()], &integers(shape));
        self.file.operation("Reshape", "opset1", "special_zero=\"false\"", &[of, &target], shape)
    }

    /// Some of its elements, or all of them again and again, as a tensor of another shape.
    fn fit(&mut self, of: &Port, shape: &[usize]) -> Port {
        if of.shape == shape {
            return of.clone();
        }
        let (have, want) = (len(&of.shape), len(shape));
        let mut flat = if of.shape.len() == 1 { of.clone() } else { self.reshape(of, &[have]) };
        if have == 1 && want > 1 {
            let target = self.file.integers(&[1], &[want as i64]);
            flat = self.file.operation("Broadcast", "opset3", "mode=\"numpy\"", &[&flat, &target], &[want]);
        } else if have < want {
            let times = want.div_ceil(have);
            flat = self.file.operation("Concat", "opset1", "axis=\"0\"", &vec![&flat; times], &[times * have]);
        }
        let have = flat.shape[0];
        if have > want {
            flat = self.slice(&flat, 0, (0, want as i64, 1), want);
        }
        if flat.shape == shape { flat } else { self.reshape(&flat, shape) }
    }

    /// From, to and step along an axis, which leave so many.
    fn slice(&mut self, of: &Port, axis: usize, (start, stop, step): (i64, i64, i64), left: usize) -> Port {
        let [start, stop, step, axes] = [start, stop, step, axis as i64].map(|v| self.file.integers(&[1], &[v]));
        let mut shape = of.shape.clone();
        shape[axis] = left;
        self.file.operation("Slice", "opset8", "", &[of, &start, &stop, &step, &axes], &shape)
    }

    fn node(&mut self, what: What, choices: &mut Choices<'_>) {
        match what {
            What::Unary => self.unary(choices),
            What::Binary => self.binary(choices),
            What::Reshape => self.reshaped(choices),
            What::Transpose => self.transpose(choices),
            What::Slice => self.sliced(choices),
            What::Split => self.split(choices),
            What::Gather => self.gather(choices),
            What::Broadcast => self.broadcast(choices),
            What::Concat => self.concat(choices),
            What::Constant => {
                let rank = choices.below(4);
                let shape = choices.shape(rank);
                let port = self.constant(choices, &shape, 1.0);
                self.push(port, 1.0);
            }
            What::Softmax => self.softmax(choices),
            What::Dense => self.dense(choices),
            What::MatMul => self.matmul(choices),
            What::Variable => self.variable(choices),
            What::Cell => self.cell(choices),
            What::Sequence => self.sequence(choices),
            What::Iterator => self.iterator(choices),
        }
    }

    fn unary(&mut self, choices: &mut Choices<'_>) {
        let Item { port, most } = self.item(choices);
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
        ];
        let kind = choices.pick(&kinds);
        let set = "opset9";
        let shape = port.shape.clone();
        let (of, most) = match kind {
            "Elu" => {
                let alpha = choices.pick(&[1.0, 0.5, -0.25]);
                (self.file.operation(kind, "opset1", &format!("alpha=\"{alpha}\""), &[&port], &shape), most.max(1.0))
            }
            "HardSigmoid" => {
                let (alpha, beta) = (choices.pick(&[0.2, 0.5, -1.0]), choices.pick(&[0.5, 0.0, -0.1]));
                let (alpha, beta) = (self.number(alpha), self.number(beta));
                (self.file.operation(kind, "opset1", "", &[&port, &alpha, &beta], &shape), 1.0)
            }
            "Clamp" => {
                let (min, max) = choices.pick(&[("-0.5", "0.25"), ("0", "6"), ("-1", "1e3"), ("-inf", "0.5")]);
                let data = format!("min=\"{min}\" max=\"{max}\"");
                (self.file.operation(kind, "opset1", &data, &[&port], &shape), most.max(1.0))
            }
            "PReLU" => {
                let channels = if shape.len() > 1 { shape[1] } else { 1 };
                let slope = if choices.one_in(2) { vec![channels] } else { vec![1] };
                let slope = self.constant(choices, &slope, 0.5);
                (self.file.operation(kind, "opset1", "", &[&port, &slope], &shape), most)
            }
            "Exp" => {
                let near = self.file.operation("Clamp", "opset1", "min=\"-8\" max=\"3\"", &[&port], &shape);
                (self.plain(kind, &near), 20.0)
            }
            "Log" => {
                let (least, positive) = (self.number(0.125), self.plain("Abs", &port));
                let positive = self.file.operation("Add", "opset1", "", &[&positive, &least], &shape);
                (self.plain(kind, &positive), 3.0)
            }
            _ => {
                let least = if matches!(kind, "Tanh" | "Sigmoid" | "SoftSign") { 1.0 } else { most + 1.0 };
                (self.file.operation(kind, set, "", &[&port], &shape), least)
            }
        };
        self.push(of, most);
    }

    /// What it broadcasts with by NumPy's rules, and both shapes together.
    fn broadcast_with(&mut self, choices: &mut Choices<'_>, shape: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let (mut other, mut both) = (shape.to_vec(), shape.to_vec());
        for at in 0..shape.len() {
            match choices.below(4) {
                2 => other[at] = 1,
                3 if shape[at] == 1 => (other[at], both[at]) = (5, 5),
                _ => {}
            }
        }
        if len(&both) > MOST_ELEMENTS {
            return (shape.to_vec(), shape.to_vec());
        }
        let mut leave = choices.below(3).min(shape.len());
        while leave > 0
            && other.len() == shape.len() - leave + 1
            && both[shape.len() - leave] != shape[shape.len() - leave]
        {
            leave -= 1;
        }
        // dimensions that only the other widens must stay
        let widened = (0..shape.len()).position(|at| both[at] != shape[at]).unwrap_or(shape.len());
        other.drain(..leave.min(widened));
        (other, both)
    }

    fn binary(&mut self, choices: &mut Choices<'_>) {
        let a = self.item(choices);
        let kind = choices.pick(&["Add", "Multiply", "Subtract", "Maximum", "Minimum", "Divide"]);
        let how = choices.below(8);
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
                // nothing near 0
                let (half, positive) = (self.number(0.5), self.plain("Sigmoid", &b.port));
                let shape = positive.shape.clone();
                (self.file.operation("Add", "opset1", "", &[&positive, &half], &shape), 2.0 * a.most)
            }
            "Multiply" => (b.port, a.most * b.most),
            _ => (b.port, a.most + b.most),
        };
        let swap = kind != "Divide" && choices.one_in(3);
        let inputs = if swap { [&b, &a.port] } else { [&a.port, &b] };
        let port = self.file.operation(kind, "opset1", "", &inputs, &both);
        self.push(port, most);
    }

    fn reshaped(&mut self, choices: &mut Choices<'_>) {
        let Item { port, most } = self.item(choices);
        let shape = port.shape.clone();
        let port = match choices.below(4) {
            0 if !shape.is_empty() => {
                // two dimensions into one, the first one kept by a 0
                let at = choices.below(shape.len());
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
                // one dimension into two
                let at = choices.below(shape.len());
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
                let axes =
                    self.file.integers(&[1], &[at as i64 - if choices.one_in(2) { shape.len() as i64 } else { 0 }]);
                self.file.operation("Squeeze", "opset1", "", &[&port, &axes], &to)
            }
            _ if shape.len() < 5 => {
                let at = choices.below(shape.len() + 1);
                let mut to = shape.clone();
                to.insert(at, 1);
                let axes = self.file.integers(&[1], &[at as i64]);
                self.file.operation("Unsqueeze", "opset1", "", &[&port, &axes], &to)
            }
            _ => self.reshape(&port, &[len(&shape)]),
        };
        self.push(port, most);
    }

    fn transpose(&mut self, choices: &mut Choices<'_>) {
        let Item { port, most } = self.item(choices);
        let mut left: Vec<usize> = (0..port.shape.len()).rev().collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            order.push(left.remove(choices.below(left.len())));
        }
        let shape: Vec<usize> = order.iter().map(|at| port.shape[*at]).collect();
        let order = self.file.integers(&[order.len()], &integers(&order));
        let port = self.file.operation("Transpose", "opset1", "", &[&port, &order], &shape);
        self.push(port, most);
    }

    fn sliced(&mut self, choices: &mut Choices<'_>) {
        let Item { mut port, most } = self.tensor(choices);
        for _ in 0..=choices.below(2) {
            let axis = choices.below(port.shape.len());
            let size = port.shape[axis] as i64;
            let (first, last) = (choices.below(port.shape[axis]) as i64, choices.below(port.shape[axis]) as i64);
            let step = choices.pick(&[1, 2, 3]);
            let left = ((first - last).abs() / step + 1) as usize;
            let range = match last >= first {
                true => (first, if choices.one_in(3) { last + 1 - size - 1 } else { last + 1 }, step),
                false => (first - size, if last == 0 { -size - 1 } else { last - 1 }, -step),
            };
            // -1 is the last element, never the end behind it
            let range = if range.2 > 0 && range.1 < 0 { (range.0, last + 1, range.2) } else { range };
            port = self.slice(&port, axis, range, left);
        }
        self.push(port, most);
    }

    fn split(&mut self, choices: &mut Choices<'_>) {
        let Item { port, most } = self.tensor(choices);
        let axis = choices.below(port.shape.len());
        let size = port.shape[axis];
        let named = axis as i64 - if choices.one_in(3) { port.shape.len() as i64 } else { 0 };
        let at = self.file.integers(&[], &[named]);
        let part = |size: usize| {
            let mut shape = port.shape.clone();
            shape[axis] = size;
            shape
        };
        let divisors: Vec<usize> = (1..=size).filter(|n| size.is_multiple_of(*n)).collect();
        let ports = if size > 1 && choices.one_in(2) {
            let first = 1 + choices.below(size - 1);
            let lengths = match choices.below(3) {
                0 => vec![first as i64, (size - first) as i64],
                1 => vec![-1, (size - first) as i64],
                _ => vec![first as i64, -1],
            };
            let lengths = self.file.integers(&[2], &lengths);
            let shapes = [part(first), part(size - first)];
            self.file.operations("VariadicSplit", "opset1", "", &[&port, &at, &lengths], &shapes)
        } else {
            let parts = choices.pick(&divisors);
            let shapes = vec![part(size / parts); parts];
            self.file.operations("Split", "opset1", &format!("num_splits=\"{parts}\""), &[&port, &at], &shapes)
        };
        let read = choices.below(ports.len());
        let other = choices.below(ports.len());
        self.push(ports[read].clone(), most);
        if other != read {
            self.push(ports[other].clone(), most);
        }
    }

    fn gather(&mut self, choices: &mut Choices<'_>) {
        let Item { port, most } = self.tensor(choices);
        let axis = choices.below(port.shape.len());
        let size = port.shape[axis] as i64;
        let dims = [&[][..], &[1], &[3], &[5], &[2, 2]][choices.below(5)];
        let (start, step) = (choices.below(17) as i64, choices.pick(&[1, 2, -1, 0]));
        let progression = choices.one_in(2);
        let mut index = |k: usize| match progression {
            true => (start + k as i64 * step).rem_euclid(size),
            false => choices.below(2 * port.shape[axis]) as i64 - size,
        };
        let indices: Vec<i64> = (0..len(dims)).map(&mut index).collect();
        let mut shape = port.shape[..axis].to_vec();
        shape.extend(dims);
        shape.extend(&port.shape[axis + 1..]);
        let indices = self.file.integers(dims, &indices);
        let axis = self.file.integers(&[], &[axis as i64]);
        let port = self.file.operation("Gather", "opset8", "batch_dims=\"0\"", &[&port, &indices, &axis], &shape);
        self.push(port, most);
    }

    fn broadcast(&mut self, choices: &mut Choices<'_>) {
        let Item { port, most } = self.item(choices);
        let shape = port.shape.clone();
        let widen = |sizes: &[usize], by: usize| -> Vec<usize> {
            sizes.iter().map(|size| if *size == 1 { by } else { *size }).collect()
        };
        let by = choices.pick(&[2, 3, 1, 8]);
        let port = match choices.below(3) {
            0 => {
                let mut to = widen(&shape, by);
                to.insert(0, choices.pick(&[1, 2, 3]));
                let target = self.file.integers(&[to.len()], &integers(&to));
                self.file.operation("Broadcast", "opset3", "mode=\"numpy\"", &[&port, &target], &to)
            }
            1 => {
                // the shape is narrower than the value in places
                let to = widen(&shape, by);
                let target: Vec<usize> = shape.iter().map(|size| if *size == 1 { by } else { 1 }).collect();
                let target = self.file.integers(&[target.len()], &integers(&target));
                self.file.operation("Broadcast", "opset3", "mode=\"bidirectional\"", &[&port, &target], &to)
            }
            _ => {
                let mut to = shape.clone();
                let at = choices.below(shape.len() + 1);
                to.insert(at, by);
                let axes: Vec<i64> = (0..to.len()).filter(|d| *d != at).map(|d| d as i64).collect();
                let target = self.file.integers(&[to.len()], &integers(&to));
                let axes = self.file.integers(&[axes.len()], &axes);
                self.file.operation("Broadcast", "opset3", "mode=\"explicit\"", &[&port, &target, &axes], &to)
            }
        };
        self.push(port, most);
    }

    fn concat(&mut self, choices: &mut Choices<'_>) {
        let Item { port, mut most } = self.tensor(choices);
        let axis = choices.below(port.shape.len());
        let mut parts = vec![port.clone()];
        let mut total = port.shape[axis];
        for _ in 0..=choices.below(3) {
            let part = if choices.one_in(3) {
                port.clone()
            } else {
                let item = self.item(choices);
                most = most.max(item.most);
                let mut shape = port.shape.clone();
                shape[axis] = choices.pick(&[1, 2, 5]);
                self.fit(&item.port, &shape)
            };
            total += part.shape[axis];
            parts.push(part);
        }
        let mut shape = port.shape.clone();
        shape[axis] = total;
        let named = axis as i64 - if choices.one_in(3) { shape.len() as i64 } else { 0 };
        let inputs: Vec<&Port> = parts.iter().collect();
        let port = self.file.operation("Concat", "opset1", &format!("axis=\"{named}\""), &inputs, &shape);
        self.push(port, most);
    }

    fn softmax(&mut self, choices: &mut Choices<'_>) {
        let Item { port, most } = self.tensor(choices);
        let rank = port.shape.len();
        let axis = (rank - 1 - choices.below(rank)) as i64 - if choices.one_in(2) { rank as i64 } else { 0 };
        let (kind, set) = choices.pick(&[("SoftMax", "opset8"), ("LogSoftmax", "opset5")]);
        let most = if kind == "SoftMax" { 1.0 } else { 2.0 * most + 3.0 };
        let port = self.file.operation(kind, set, &format!("axis=\"{axis}\""), &[&port], &port.shape.clone());
        self.push(port, most);
    }

    /// Constant weights, or a Parameter.
    fn weights(&mut self, choices: &mut Choices<'_>, at_run_time: bool, shape: &[usize]) -> Port {
        if at_run_time && self.level == 0 {
            self.file.weights_at_run_time = true;
            return self.parameter("f32", shape);
        }
        // biases of 0 let states be denormal
        let scale = if shape.len() == 1 && choices.one_in(3) { 0.0 } else { weight_scale(shape) };
        self.constant(choices, shape, scale)
    }

    fn dense(&mut self, choices: &mut Choices<'_>) {
        let Item { mut port, most } = self.tensor(choices);
        let transpose_a = port.shape.len() > 1 && choices.one_in(6);
        let rank = port.shape.len();
        let mut shape = port.shape.clone();
        if transpose_a {
            shape.swap(rank - 2, rank - 1);
        }
        let (inputs, outputs) = (shape[rank - 1], choices.pick(&SIZES));
        shape[rank - 1] = outputs;
        let transposed = choices.one_in(2);
        let at_run_time = choices.one_in(8);
        let w = if transposed { [outputs, inputs] } else { [inputs, outputs] };
        let w = self.weights(choices, at_run_time, &w);
        self.file.work += len(&shape) * inputs;
        let data = format!("transpose_a=\"{transpose_a}\" transpose_b=\"{transposed}\"");
        port = self.file.operation("MatMul", "opset1", &data, &[&port, &w], &shape);
        if !choices.one_in(3) {
            let bias = self.constant(choices, &[outputs], 0.5);
            port = self.file.operation("Add", "opset1", "", &[&port, &bias], &shape);
        }
        if let Some(kind) = choices.pick(&[Some("ReLU"), Some("Tanh"), Some("Sigmoid"), None]) {
            port = self.plain(kind, &port);
        }
        self.push(port, 2.0 * most * (inputs as f32).sqrt());
    }

    /// Of two computed tensors.
    fn matmul(&mut self, choices: &mut Choices<'_>) {
        let a = self.tensor(choices);
        let b = self.item(choices);
        let rank = a.port.shape.len();
        let transpose_a = rank > 1 && choices.one_in(3);
        let transpose_b = choices.one_in(2);
        let mut shape = a.port.shape.clone();
        if transpose_a {
            shape.swap(rank - 2, rank - 1);
        }
        let inner = shape[rank - 1];
        let columns = choices.pick(&SIZES);
        let mut other = if transpose_b { vec![columns, inner] } else { vec![inner, columns] };
        match choices.below(4) {
            // every matrix with its own, with the same, a vector
            1 if rank > 2 => other.splice(..0, shape[..rank - 2].iter().copied()).for_each(drop),
            2 if rank > 2 => other.splice(..0, std::iter::repeat_n(1, rank - 2)).for_each(drop),
            3 if !transpose_b => other = vec![inner],
            _ => {}
        }
        shape.pop();
        if other.len() > 1 {
            shape.push(columns);
        }
        let b_port = self.fit(&b.port, &other);
        self.file.work += len(&shape) * inner;
        let data = format!("transpose_a=\"{transpose_a}\" transpose_b=\"{transpose_b}\"");
        let port = self.file.operation("MatMul", "opset1", &data, &[&a.port, &b_port], &shape);
        self.push(port, a.most * b.most * inner as f32);
    }

    /// Read before it is written; written at the end.
    fn variable(&mut self, choices: &mut Choices<'_>) {
        if self.level > 0 {
            return self.unary(choices);
        }
        let rank = 1 + choices.below(3);
        let shape = if choices.one_in(2) { self.item(choices).port.shape } else { choices.shape(rank) };
        let name = format!("variable {}", self.variables.len());
        let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
        let data = format!("variable_id=\"{name}\" variable_shape=\"{}\" variable_type=\"f32\"", sizes.join(","));
        let port = if choices.one_in(4) {
            self.file.operation("ReadValue", "opset6", &data, &[], &shape)
        } else {
            let initial = self.constant(choices, &shape, 1.0);
            self.file.operation("ReadValue", "opset6", &data, &[&initial], &shape)
        };
        self.variables.push((name, port.clone()));
        self.push(port, 10.0);
    }

    fn assign(&mut self, choices: &mut Choices<'_>) {
        for (name, read) in std::mem::take(&mut self.variables) {
            let Item { port, most } = self.item(choices);
            let mut port = self.fit(&port, &read.shape);
            // a variable that nothing reads is left out of the model
            let counts = choices.one_in(2);
            if counts {
                port = self.file.operation("Add", "opset1", "", &[&read, &port], &read.shape);
            } else {
                self.needed.push(read);
            }
            if counts || most > 10.0 {
                port = self.plain("Tanh", &port);
            }
            self.file.assign(&name, &port);
        }
    }

    /// An input of a cell: of a value, of the model, or a constant.
    fn state(&mut self, choices: &mut Choices<'_>, shape: &[usize]) -> Port {
        match choices.below(6) {
            0..=2 if self.level == 0 => self.parameter("f32", shape),
            5 => self.constant(choices, shape, 1.0),
            _ => {
                let item = self.item(choices);
                self.fit(&item.port, shape)
            }
        }
    }

    fn cell(&mut self, choices: &mut Choices<'_>) {
        let kind = choices.pick(&[Recurrent::Rnn, Recurrent::Gru, Recurrent::Lstm, Recurrent::Augru]);
        let item = self.item(choices);
        let batch = choices.pick(&[1, 1, 2, 3, 5]);
        let [inputs, hidden] = [choices.pick(&CELL_SIZES), choices.pick(&CELL_SIZES)];
        let x = match item.port.shape[..] {
            [n, _] if n <= 5 => item.port,
            _ => self.fit(&item.port, &[batch, inputs]),
        };
        let (batch, inputs) = (x.shape[0], x.shape[1]);
        let state = [batch, hidden];
        let mut ports = vec![x, self.state(choices, &state)];
        let attributes = Attributes::draw(choices, kind, false);
        if kind == Recurrent::Lstm {
            ports.push(self.state(choices, &state));
        }
        let at_run_time = choices.one_in(7);
        let (gates, parts) = attributes.sizes();
        self.file.work += batch * gates * hidden * (inputs + hidden);
        ports.push(self.weights(choices, at_run_time, &[gates * hidden, inputs]));
        ports.push(self.weights(choices, at_run_time, &[gates * hidden, hidden]));
        let optional = kind == Recurrent::Gru || attributes.set == "opset1" && kind == Recurrent::Lstm;
        if !(optional && !attributes.peepholes && choices.one_in(4)) {
            ports.push(self.weights(choices, at_run_time, &[parts * hidden]));
        }
        if attributes.peepholes {
            ports.push(self.weights(choices, at_run_time, &[3 * hidden]));
        }
        if kind == Recurrent::Augru {
            let item = self.item(choices);
            let a = self.fit(&item.port, &[batch, 1]);
            ports.push(self.plain("Sigmoid", &a));
        }
        let inputs: Vec<&Port> = ports.iter().collect();
        let name = format!("{}Cell", kind.name());
        let data = format!("hidden_size=\"{hidden}\" {}", attributes.text);
        let outputs = vec![state.to_vec(); if kind == Recurrent::Lstm { 2 } else { 1 }];
        let outputs = self.file.operations(&name, attributes.set, &data, &inputs, &outputs);
        self.some_of(choices, &outputs, attributes.most);
    }

    /// At least one output is read.
    fn some_of(&mut self, choices: &mut Choices<'_>, outputs: &[Port], most: f32) {
        let first = choices.below(outputs.len());
        for (i, output) in outputs.iter().enumerate() {
            if i == first || choices.one_in(2) {
                self.push(output.clone(), most);
            }
        }
    }

    fn sequence(&mut self, choices: &mut Choices<'_>) {
        let kind = choices.pick(&[Recurrent::Rnn, Recurrent::Gru, Recurrent::Lstm, Recurrent::Augru]);
        let item = self.item(choices);
        let (batch, steps) = (choices.pick(&[1, 1, 2, 3]), 1 + choices.below(6));
        let [inputs, hidden] = [choices.pick(&SIZES), choices.pick(&SIZES)];
        let x = match item.port.shape[..] {
            [n, t, _] if n <= 5 && t <= 6 => item.port,
            _ => self.fit(&item.port, &[batch, steps, inputs]),
        };
        let (batch, steps, inputs) = (x.shape[0], x.shape[1], x.shape[2]);
        let direction = match kind {
            Recurrent::Augru => "forward",
            _ => choices.pick(&["forward", "reverse", "bidirectional"]),
        };
        let d = if direction == "bidirectional" { 2 } else { 1 };
        let state = [batch, d, hidden];
        let mut ports = vec![x, self.state(choices, &state)];
        if kind == Recurrent::Lstm {
            ports.push(self.state(choices, &state));
        }
        let how = choices.below(5);
        let at_call = self.level == 0 && matches!(how, 2 | 3);
        let lengths = match how {
            2 | 3 if at_call => self.parameter(choices.pick(&["i64", "i32"]), &[batch]),
            4 => {
                let lengths: Vec<i64> = (0..batch).map(|_| choices.below(steps + 1) as i64).collect();
                self.file.integers(&[batch], &lengths)
            }
            _ => self.file.integers(&[batch], &vec![steps as i64; batch]),
        };
        ports.push(lengths);
        let attributes = Attributes::draw(choices, kind, true);
        let at_run_time = choices.one_in(8);
        let (gates, parts) = attributes.sizes();
        self.file.work += batch * steps * d * gates * hidden * (inputs + hidden);
        ports.push(self.weights(choices, at_run_time, &[d, gates * hidden, inputs]));
        ports.push(self.weights(choices, at_run_time, &[d, gates * hidden, hidden]));
        ports.push(self.weights(choices, at_run_time, &[d, parts * hidden]));
        if kind == Recurrent::Augru {
            let item = self.item(choices);
            let a = self.fit(&item.port, &[batch, steps, 1]);
            ports.push(self.plain("Sigmoid", &a));
        }
        let ports: Vec<&Port> = ports.iter().collect();
        let name = format!("{}Sequence", kind.name());
        let direction = format!("direction=\"{direction}\"");
        let data = format!("hidden_size=\"{hidden}\" {direction} {}", attributes.text);
        let mut outputs = vec![vec![batch, d, steps, hidden], state.to_vec()];
        if kind == Recurrent::Lstm {
            outputs.push(state.to_vec());
        }
        let set = if kind == Recurrent::Augru { "ie_internal_opset" } else { "opset5" };
        let outputs = self.file.operations(&name, set, &data, &ports, &outputs);
        if at_call {
            self.needed.push(outputs[choices.below(outputs.len())].clone());
        }
        self.some_of(choices, &outputs, attributes.most);
    }

    fn iterator(&mut self, choices: &mut Choices<'_>) {
        if self.level > 1 {
            return self.unary(choices);
        }
        let mut x = self.tensor(choices);
        let axis = choices.below(x.port.shape.len());
        if x.port.shape[axis] > MOST_TRIPS {
            let to = choices.pick(&[4, 3, 6]);
            x.port = self.slice(&x.port, axis, (0, to as i64, 1), to);
        }
        let trips = x.port.shape[axis];
        let mut piece = x.port.shape.clone();
        piece[axis] = 1;
        let carried = if choices.one_in(2) { vec![1, choices.pick(&SIZES)] } else { piece.clone() };
        let initial = self.state(choices, &carried);
        let around = self.item(choices);
        let mut file = ModelFile::default();
        file.weights = std::mem::take(&mut self.file.weights);
        let of_piece = file.parameter("", &piece);
        let of_carried = file.parameter("", &carried);
        let backwards = choices.one_in(3);
        let invariant = choices.one_in(2).then(|| file.parameter("", &around.port.shape));
        let mut body = Drawing {
            file,
            items: Vec::new(),
            all: Vec::new(),
            needed: Vec::new(),
            random: self.random.clone(),
            variables: Vec::new(),
            parameters: 0,
            level: self.level + 1,
        };
        let mut inputs = vec![(x.port, Some((axis, backwards)), of_piece.clone())];
        if let Some(parameter) = invariant {
            inputs.push((around.port, None, parameter.clone()));
            body.push(parameter, around.most);
        }
        // what comes last is the first that is chosen
        body.push(of_carried.clone(), MOST);
        body.push(of_piece, x.most);
        for _ in 0..=choices.below(3) {
            let what = choices.pick(&IN_BODY);
            body.node(what, choices);
        }
        let last = body.item(choices);
        let mut next = body.fit(&last.port, &carried);
        if choices.one_in(2) {
            next = body.file.operation("Add", "opset1", "", &[&next, &of_carried], &carried);
        }
        if last.most > 1.0 || choices.one_in(2) {
            next = body.plain("Tanh", &next);
        }
        let mut outputs = Vec::new();
        if choices.one_in(2) {
            let shape = carried.clone();
            outputs.push(IteratedOutput { of: next.clone(), pieces: None, shape });
        }
        if outputs.is_empty() || choices.one_in(2) {
            let Item { port, .. } = body.item(choices);
            let at = choices.below(port.shape.len() + 1);
            let mut shape = port.shape.clone();
            shape.insert(at, 1);
            let axes = body.file.integers(&[1], &[at as i64]);
            let of = body.file.operation("Unsqueeze", "opset1", "", &[&port, &axes], &shape);
            shape[at] = trips;
            outputs.push(IteratedOutput { of, pieces: Some((at, choices.one_in(3))), shape });
        }
        self.random = body.random;
        let mut inputs: Vec<IteratedInput> = inputs
            .into_iter()
            .map(|(of, slice, parameter)| IteratedInput { of, parameter, slice, next: None })
            .collect();
        inputs.push(IteratedInput { of: initial, parameter: of_carried, slice: None, next: Some(next) });
        let ports = self.file.iterator(Iterated { body: body.file, inputs, outputs });
        self.some_of(choices, &ports, MOST);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recurrent {
    Rnn,
    Gru,
    Lstm,
    Augru,
}

impl Recurrent {
    fn name(self) -> &'static str {
        match self {
            Self::Rnn => "RNN",
            Self::Gru => "GRU",
            Self::Lstm => "LSTM",
            Self::Augru => "AUGRU",
        }
    }
}

/// The attributes of a cell or sequence, `hidden_size` and `direction` apart.
struct Attributes {
    kind: Recurrent,
    set: &'static str,
    text: String,
    peepholes: bool,
    resets_after: bool,
    /// About how large a state is.
    most: f32,
}

impl Attributes {
    fn draw(choices: &mut Choices<'_>, kind: Recurrent, sequence: bool) -> Self {
        let set = match kind {
            Recurrent::Rnn => "opset1",
            Recurrent::Gru => "opset3",
            Recurrent::Lstm if sequence => "opset5",
            Recurrent::Lstm => choices.pick(&["opset4", "opset1"]),
            Recurrent::Augru => "ie_internal_opset",
        };
        let mut drawn = Self { kind, set, text: String::new(), peepholes: false, resets_after: false, most: 2.0 };
        if kind == Recurrent::Augru {
            return drawn;
        }
        let mut bounded = true;
        if choices.one_in(2) {
            let count = match kind {
                Recurrent::Rnn => 1,
                Recurrent::Gru => 2,
                Recurrent::Lstm | Recurrent::Augru => 3,
            };
            let names: Vec<&str> = (0..count).map(|_| choices.pick(&Activation::NAMES)).collect();
            bounded = names
                .iter()
                .all(|name| matches!(*name, "sigmoid" | "tanh" | "hardsigmoid" | "softsign" | "scaledtanh"));
            drawn.text += &format!("activations=\"{}\" ", names.join(","));
            // without numbers: the defaults, which one of them lacks
            if names.contains(&"scaledtanh") || choices.one_in(2) {
                for (attribute, numbers) in [
                    ("activations_alpha", [0.5, 1.0, -0.3, 1.3, 0.01]),
                    ("activations_beta", [0.5, 0.0, 1.0, -0.25, 0.7]),
                ] {
                    let numbers: Vec<String> = names.iter().map(|_| choices.pick(&numbers).to_string()).collect();
                    drawn.text += &format!("{attribute}=\"{}\" ", numbers.join(","));
                }
            }
        }
        if !bounded || choices.one_in(3) {
            drawn.text += &format!("clip=\"{}\" ", choices.pick(&["1", "0.5", "2", "0.1", "1.25"]));
        }
        if kind == Recurrent::Gru {
            drawn.resets_after = choices.one_in(2);
            if drawn.resets_after || choices.one_in(2) {
                drawn.text += &format!("linear_before_reset=\"{}\" ", drawn.resets_after);
            }
        }
        if kind == Recurrent::Lstm && set == "opset1" {
            drawn.peepholes = choices.one_in(2);
            if choices.one_in(2) {
                drawn.text += "input_forget=\"true\" ";
            }
            if choices.one_in(2) {
                let order = choices.pick(&["fico", "icof", "ifco", "ifoc", "iofc"]);
                drawn.text += &format!("weights_format=\"{order}\" ");
            }
        }
        if !bounded {
            drawn.most = MOST;
        }
        drawn
    }

    /// Gates, and parts of B.
    fn sizes(&self) -> (usize, usize) {
        match self.kind {
            Recurrent::Rnn => (1, 1),
            Recurrent::Gru => (3, if self.resets_after { 4 } else { 3 }),
            Recurrent::Augru => (3, 3),
            Recurrent::Lstm => (4, 4),
        }
    }
}
