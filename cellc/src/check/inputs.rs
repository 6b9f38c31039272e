//! The inputs of a model as parameters of the core.

use super::axes::sequence_axes;
use super::checker::Checker;
use super::findings::Known;
use super::interface::names;
use crate::core::{Parameter, Source};

impl Checker<'_> {
    /// Determines the use and the shape of every input, and adds the parameters. `None` if the
    /// inputs exceed the limit.
    pub(crate) fn inputs_of_model(&mut self) -> Option<()> {
        self.read_uses();
        self.sizes.sequence_axes = sequence_axes(self.model);
        self.sizes.batch_axes = self.batch_axes();
        self.sizes.shapes = self.parameter_shapes();
        for (index, &node) in self.model.parameters.iter().enumerate() {
            let node = &self.model.nodes[node];
            let value = &self.model.values[node.outputs[0].0];
            self.core.model.parameters.push(Parameter {
                names: names(&[&value.names[..]], &node.name),
                shape: self.sizes.shapes[index].clone().unwrap_or_default(),
                element: value.element,
                weight: self.sizes.uses[index].weight.is_some(),
                length: None,
                rows: None,
            });
            // shapes that are not known have been reported
            if self.sizes.shapes[index].is_some() {
                let is_number = value.element.is_float() || self.sizes.uses[index].is_length();
                let known = match is_number {
                    true => Known::Source(Source::Parameter(index), value.element),
                    false => self.integers_of(node, index, value.element),
                };
                self.known[node.outputs[0].0] = Some(known);
            }
        }
        self.interface_size(&[]).then_some(())
    }

    /// `None` if inputs and outputs together exceed the limit.
    pub(crate) fn outputs_of_model(&mut self) -> Option<()> {
        let outputs: Vec<Vec<usize>> =
            self.core.model.results.iter().map(|result| result.shape.clone()).collect();
        let outputs: Vec<&[usize]> = outputs.iter().map(Vec::as_slice).collect();
        self.interface_size(&outputs).then_some(())
    }
}
