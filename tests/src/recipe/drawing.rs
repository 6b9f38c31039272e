//! A model under construction: its values, and helpers for operations.

use cellc::internals::random::Random;

use super::choices::{Choices, MOST_ELEMENTS};
use super::operations::{Draw, Operation};
use crate::model_file::{ModelFile, Port, Stored};
use crate::random::{unit, weight_scale};

/// Values of a larger magnitude are bounded by Tanh, so that no error bound overflows.
pub(super) const MOST: f32 = 60.0;

pub(super) fn len(shape: &[usize]) -> usize {
    shape.iter().product()
}

pub(super) fn integers(values: &[usize]) -> Vec<i64> {
    values.iter().map(|v| *v as i64).collect()
}

/// A value that operations can read.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) port: Port,
    /// The approximate magnitude for ordinary inputs.
    pub(super) most: f32,
}

/// A model file under construction, or the body of an iterator.
pub(super) struct Drawing {
    pub(super) file: ModelFile,
    pub(super) items: Vec<Item>,
    /// All values that may be results.
    all: Vec<Port>,
    /// Values that must be results: a model has no input of integers without a reader.
    pub(super) needed: Vec<Port>,
    pub(super) random: Random,
    pub(super) variables: Vec<(String, Port)>,
    parameters: usize,
    /// The number of iterators around the drawing.
    pub(super) level: usize,
}

impl Drawing {
    /// An empty drawing inside `level` iterators.
    pub(super) fn new(file: ModelFile, random: Random, level: usize) -> Self {
        let (items, all, needed, variables) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { file, items, all, needed, random, variables, parameters: 0, level }
    }

    /// Adds an operation on earlier values.
    pub(super) fn draw(&mut self, operation: &Operation, choices: &mut Choices<'_>) {
        choices.note(operation.name);
        match operation.draw {
            Draw::Any(draw) => draw(self, choices),
            Draw::OfValue(draw) => {
                let item = self.item(choices);
                draw(self, choices, item);
            }
            Draw::OfTensor(draw) => {
                let item = self.tensor(choices);
                draw(self, choices, item);
            }
        }
    }

    /// The model with its results: the last value, the values that must be results, and values
    /// selected by `results`.
    pub(super) fn finish(mut self, results: &[u8]) -> ModelFile {
        self.assign(&mut Choices::new(results));
        let others = results.iter().map(|result| &self.all[usize::from(*result) % self.all.len()]);
        for result in self.all.last().into_iter().chain(&self.needed).chain(others) {
            self.file.result(result);
        }
        self.file
    }

    pub(super) fn parameter(&mut self, element: &str, shape: &[usize]) -> Port {
        self.parameters += 1;
        self.file.parameter_of(&format!("p{}", self.parameters - 1), element, shape)
    }

    /// Random numbers, stored as f32 or f16.
    pub(super) fn constant(
        &mut self,
        choices: &mut Choices<'_>,
        shape: &[usize],
        scale: f32,
    ) -> Port {
        let stored = if choices.one_in("f16", 5) { Stored::F16 } else { Stored::F32 };
        let values: Vec<f32> = (0..len(shape)).map(|_| unit(&mut self.random) * scale).collect();
        self.file.constant(shape, stored, values.into_iter())
    }

    pub(super) fn number(&mut self, value: f32) -> Port {
        self.file.constant(&[], Stored::F32, std::iter::once(value))
    }

    /// An earlier value; choice 0 is the latest.
    pub(super) fn item(&self, choices: &mut Choices<'_>) -> Item {
        self.items[self.items.len() - 1 - choices.below("of", self.items.len())].clone()
    }

    /// An earlier value with at least one dimension.
    pub(super) fn tensor(&mut self, choices: &mut Choices<'_>) -> Item {
        let item = self.item(choices);
        let shape = if item.port.shape.is_empty() { vec![1] } else { item.port.shape.clone() };
        Item { port: self.fit(&item.port, &shape), ..item }
    }

    /// Makes a value available to later operations. A value that is too large is bounded and cut
    /// for them.
    pub(super) fn push(&mut self, port: Port, most: f32) {
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
    pub(super) fn plain(&mut self, kind: &str, of: &Port) -> Port {
        self.file.operation(kind, "opset9", "", &[of], &of.shape)
    }

    pub(super) fn reshape(&mut self, of: &Port, shape: &[usize]) -> Port {
        let target = self.file.integers(&[shape.len()], &integers(shape));
        self.file.operation("Reshape", "opset1", "special_zero=\"false\"", &[of, &target], shape)
    }

    /// The first elements of a tensor, or all elements repeatedly, in another shape.
    pub(super) fn fit(&mut self, of: &Port, shape: &[usize]) -> Port {
        if of.shape == shape {
            return of.clone();
        }
        let (have, want) = (len(&of.shape), len(shape));
        let mut flat = if of.shape.len() == 1 { of.clone() } else { self.reshape(of, &[have]) };
        if have == 1 && want > 1 {
            let target = self.file.integers(&[1], &[want as i64]);
            flat = self.file.operation(
                "Broadcast",
                "opset3",
                "mode=\"numpy\"",
                &[&flat, &target],
                &[want],
            );
        } else if have < want {
            let times = want.div_ceil(have);
            flat = self.file.operation(
                "Concat",
                "opset1",
                "axis=\"0\"",
                &vec![&flat; times],
                &[times * have],
            );
        }
        let have = flat.shape[0];
        if have > want {
            flat = self.slice(&flat, 0, (0, want as i64, 1), want);
        }
        if flat.shape == shape { flat } else { self.reshape(&flat, shape) }
    }

    /// A slice along an axis with `left` elements.
    pub(super) fn slice(
        &mut self,
        of: &Port,
        axis: usize,
        (start, stop, step): (i64, i64, i64),
        left: usize,
    ) -> Port {
        let [start, stop, step, axes] =
            [start, stop, step, axis as i64].map(|v| self.file.integers(&[1], &[v]));
        let mut shape = of.shape.clone();
        shape[axis] = left;
        self.file.operation("Slice", "opset8", "", &[of, &start, &stop, &step, &axes], &shape)
    }

    /// Random weights, or a Parameter.
    pub(super) fn weights(
        &mut self,
        choices: &mut Choices<'_>,
        at_run_time: bool,
        shape: &[usize],
    ) -> Port {
        if at_run_time && self.level == 0 {
            self.file.weights_at_run_time = true;
            return self.parameter("f32", shape);
        }
        // biases of 0 let states become denormal
        let scale =
            if shape.len() == 1 && choices.one_in("zero", 3) { 0.0 } else { weight_scale(shape) };
        self.constant(choices, shape, scale)
    }

    /// Writes the variables.
    fn assign(&mut self, choices: &mut Choices<'_>) {
        for (name, read) in std::mem::take(&mut self.variables) {
            let Item { port, most } = self.item(choices);
            let mut port = self.fit(&port, &read.shape);
            // a variable without a reader is removed from the model
            let counts = choices.one_in("counts", 2);
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
}
