//! Iterators, which have operations inside.

use super::choices::{Choices, SIZES};
use super::drawing::{Drawing, Item, MOST};
use super::operations::{Model, in_a};
use crate::model_file::{Iterated, IteratedInput, IteratedOutput, ModelFile};

/// The most pieces of an iterator.
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
        let carried =
            if choices.one_in("carries_a_row", 2) { vec![1, choices.pick("columns", &SIZES)] } else { piece.clone() };
        let initial = self.state(choices, &carried);
        let around = self.item(choices);
        let mut file = ModelFile::default();
        file.weights = std::mem::take(&mut self.file.weights);
        let of_piece = file.parameter("", &piece);
        let of_carried = file.parameter("", &carried);
        let backwards = choices.one_in("backwards", 3);
        let invariant = choices.one_in("invariant", 2).then(|| file.parameter("", &around.port.shape));
        let mut body = Drawing::new(file, self.random.clone(), self.level + 1);
        let mut inputs = vec![(x.port, Some((axis, backwards)), of_piece.clone())];
        if let Some(parameter) = invariant {
            inputs.push((around.port, None, parameter.clone()));
            body.push(parameter, around.most);
        }
        // what comes last is the first that is chosen
        body.push(of_carried.clone(), MOST);
        body.push(of_piece, x.most);
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
        let mut outputs = Vec::new();
        if choices.one_in("last", 2) {
            let shape = carried.clone();
            outputs.push(IteratedOutput { of: next.clone(), pieces: None, shape });
        }
        if outputs.is_empty() || choices.one_in("all", 2) {
            let Item { port, .. } = body.item(choices);
            let at = choices.below("along", port.shape.len() + 1);
            let mut shape = port.shape.clone();
            shape.insert(at, 1);
            let axes = body.file.integers(&[1], &[at as i64]);
            let of = body.file.operation("Unsqueeze", "opset1", "", &[&port, &axes], &shape);
            shape[at] = trips;
            outputs.push(IteratedOutput { of, pieces: Some((at, choices.one_in("from_last", 3))), shape });
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
