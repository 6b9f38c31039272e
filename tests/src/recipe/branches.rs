//! If, with operations in its branches.

use super::choices::Choices;
use super::drawing::{Drawing, Item};
use super::operations::{Model, in_a};
use crate::model_file::{Branch, ModelFile, Port};

impl Drawing {
    /// A single boolean: an input, a comparison with an input, a reduction of several booleans, or
    /// a constant comparison.
    fn condition(&mut self, choices: &mut Choices<'_>) -> Port {
        match choices.below("condition", 5) {
            0 => self.parameter("boolean", &[]),
            1 => self.parameter("boolean", &[1]),
            2 => {
                let (of, limit) = (self.parameter("f32", &[]), self.number(0.25));
                self.file.operation("Less", "opset1", "", &[&of, &limit], &[])
            }
            3 => {
                let kind = choices.pick("kind", &["ReduceLogicalAnd", "ReduceLogicalOr"]);
                let (all, axes) = (self.parameter("boolean", &[2]), self.file.integers(&[1], &[0]));
                self.file.operation(kind, "opset1", "keep_dims=\"false\"", &[&all, &axes], &[])
            }
            _ => {
                let (one, other) =
                    (self.number(choices.pick("constant", &[0.5, -0.5])), self.number(0.25));
                self.file.operation("Less", "opset1", "", &[&one, &other], &[])
            }
        }
    }

    /// An If. Each branch reads one or both of two values. The results of both branches have equal
    /// shapes.
    pub(super) fn either(&mut self, choices: &mut Choices<'_>, first: Item) {
        let condition = self.condition(choices);
        let second = self.item(choices);
        let mut shapes = vec![first.port.shape.clone()];
        if choices.one_in("two_results", 2) {
            shapes.push(vec![3]);
        }
        let given = [first, second];
        let operations = in_a(Model::Body);
        let mut most = 1.0f32;
        let branches = ["then", "else"].map(|name| {
            let mut file = ModelFile::default();
            file.weights = std::mem::take(&mut self.file.weights);
            let mut body = Drawing::new(file, self.random.clone(), self.level + 1);
            let which = match choices.below(name, 3) {
                0 => vec![0],
                1 => vec![1],
                _ => vec![1, 0],
            };
            let mut inputs = Vec::new();
            for at in which {
                let Item { port, most } = &given[at];
                let parameter = body.file.parameter("", &port.shape);
                inputs.push((1 + at, parameter.clone()));
                body.push(parameter, *most);
            }
            for _ in 0..choices.below("more", 3) {
                let operation = operations[choices.index(operations.len())];
                choices.note(" (");
                body.draw(operation, choices);
                choices.note(")");
            }
            let last = body.item(choices);
            most = most.max(last.most);
            let results = shapes.iter().map(|shape| body.fit(&last.port, shape)).collect();
            self.random = body.random;
            self.file.weights = std::mem::take(&mut body.file.weights);
            Branch { body: body.file, inputs, results }
        });
        let ports =
            self.file.either(&condition, &given.each_ref().map(|item| &item.port), branches);
        self.some_of(choices, &ports, most);
    }
}
