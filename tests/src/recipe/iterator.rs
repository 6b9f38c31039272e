//! Iterators, with operations in their bodies.

use super::choices::{Choices, SIZES};
use super::drawing::{Drawing, Item, MOST};
use super::operations::{Model, in_a};
use crate::model_file::{Iterated, IteratedInput, IteratedOutput, ModelFile, Port};

/// The maximum number of iterations.
const MOST_TRIPS: usize = 6;

impl Drawing {
    pub(super) fn iterator(&mut self, choices: &mut Choices<'_>, mut x: Item) {
        if self.level > 1 {
            return self.unary(choices, x);
        }
        let axis = choices.below("axis", x.port.shape.len());
        if x.port.shape[axis] > MOST_TRIPS {
            let to = choices.pick("trips", &[4, 3, 6]);
            x.port = self.slice(&x.port, axis, (0, to as i64, 1), to);
        }
        let trips = x.port.shape[axis];
        let mut piece = x.port.shape.clone();
        piece[axis] = 1;
        let carried = if choices.one_in("carries_a_row", 2) {
            vec![1, choices.pick("columns", &SIZES)]
        } else {
            piece.clone()
        };
        let initial = self.state(choices, &carried);
        let around = self.item(choices);
        let ends = choices.one_in("ends", 3);
        let go = ends.then(|| match self.level == 0 && choices.one_in("starts", 2) {
            true => self.parameter("boolean", &[]),
            false => {
                let [less, more] = [0.0, 1.0].map(|value| self.number(value));
                self.file.operation("Less", "opset1", "", &[&less, &more], &[])
            }
        });
        let mut file = ModelFile::default();
        file.weights = std::mem::take(&mut self.file.weights);
        let of_piece = file.parameter("", &piece);
        let of_carried = file.parameter("", &carried);
        let backwards = choices.one_in("backwards", 3);
        let invariant =
            choices.one_in("invariant", 2).then(|| file.parameter("", &around.port.shape));
        let mut body = Drawing::new(file, self.random.clone(), self.level + 1);
        let mut inputs = vec![(x.port, Some((axis, backwards)), of_piece.clone())];
        if let Some(parameter) = invariant {
            inputs.push((around.port, None, parameter.clone()));
            body.push(parameter, around.most);
        }
        // choice 0 of an operand is the value that is pushed last
        body.push(of_carried.clone(), MOST);
        body.push(of_piece.clone(), x.most);
        let operations = in_a(Model::Body);
        for _ in 0..=choices.below("more", 3) {
            let operation = operations[choices.index(operations.len())];
            choices.note(" (");
            body.draw(operation, choices);
            choices.note(")");
        }
        let last = body.item(choices);
        let mut next = body.fit(&last.port, &carried);
        if choices.one_in("adds", 2) {
            next = body.file.operation("Add", "opset1", "", &[&next, &of_carried], &carried);
        }
        if last.most > 1.0 || choices.one_in("tanh", 2) {
            next = body.plain("Tanh", &next);
        }
        // only a result may depend on the number of iterations if it is known only after the call
        let has_parts = !ends || self.level == 0;
        let mut outputs = Vec::new();
        if choices.one_in("last", 2) || ends {
            let shape = carried.clone();
            outputs.push(IteratedOutput { of: next.clone(), pieces: None, shape });
        }
        if choices.one_in("last_of_others", 3) {
            let Item { port: of, .. } = body.item(choices);
            let shape = of.shape.clone();
            outputs.push(IteratedOutput { of, pieces: None, shape });
        }
        if has_parts && (outputs.is_empty() || choices.one_in("all", 2)) {
            let Item { port, .. } = body.item(choices);
            let at = choices.below("along", port.shape.len() + 1);
            let mut shape = port.shape.clone();
            shape.insert(at, 1);
            let axes = body.file.integers(&[1], &[at as i64]);
            let of = body.file.operation("Unsqueeze", "opset1", "", &[&port, &axes], &shape);
            shape[at] = trips;
            outputs.push(IteratedOutput {
                of,
                pieces: Some((at, choices.one_in("from_last", 3))),
                shape,
            });
        }
        let until = ends.then(|| {
            let axes: Vec<i64> = (0..piece.len() as i64).collect();
            let axes = body.file.integers(&[axes.len()], &axes);
            let largest = body.file.operation(
                "ReduceMax",
                "opset1",
                "keep_dims=\"false\"",
                &[&of_piece, &axes],
                &[],
            );
            let limit = body.number(choices.pick("limit", &[0.5, 0.0, 2.0]));
            body.file.operation("Less", "opset1", "", &[&largest, &limit], &[])
        });
        self.random = body.random;
        let until = go.zip(until).map(|(go, condition)| (trips, go, condition));
        let mut inputs: Vec<IteratedInput> = inputs
            .into_iter()
            .map(|(of, slice, parameter)| IteratedInput { of, parameter, slice, next: None })
            .collect();
        inputs.push(IteratedInput {
            of: initial,
            parameter: of_carried,
            slice: None,
            next: Some(next),
        });
        let is_whole: Vec<bool> = outputs.iter().map(|output| output.pieces.is_some()).collect();
        let ports = self.file.iterator(Iterated { body: body.file, inputs, outputs, until });
        let (whole, last): (Vec<_>, Vec<_>) =
            ports.into_iter().zip(is_whole).partition(|(_, whole)| *whole && ends);
        self.needed.extend(whole.into_iter().map(|(port, _)| port));
        let last: Vec<Port> = last.into_iter().map(|(port, _)| port).collect();
        self.some_of(choices, &last, MOST);
    }
}
