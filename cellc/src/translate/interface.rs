//! The inputs, constants and outputs of a model.

use super::integers::integers_of;
use super::operands::all_exact;
use super::parts::padded_behind;
use super::refusal::Refusal;
use super::translator::Translator;
use crate::core::{DynamicLength, Known, LayerPlace, Parameter, ResultValue, Source};
use crate::model::limits::MOST_ELEMENTS;
use crate::model::{ElementType, Node, Tensor, shape_text};
use crate::rules::names::names;
use crate::rules::size_limits::too_large;

impl<'a> Translator<'_, 'a> {
    /// Adds the inputs of the model.
    pub(super) fn parameters(&mut self) {
        let model = self.model;
        for (index, &node) in model.parameters.iter().enumerate() {
            let node = &model.nodes[node];
            let value = &model.values[node.outputs[0].0];
            let (shape, uses) = (&self.inputs.shapes[index], &self.inputs.uses[index]);
            self.core.model.parameters.push(Parameter {
                names: names(&[&value.names[..]], &node.name),
                shape: shape.clone().unwrap_or_default(),
                element: value.element,
                weight: uses.weight.is_some(),
                length: None,
                rows: None,
            });
            // an input without a shape has an error already
            if shape.is_some() {
                let is_number = value.element.is_float() || uses.is_length();
                let known = match is_number {
                    true => Known::Source(Source::Parameter(index), value.element),
                    false => {
                        let args = self.operands(node);
                        self.begin(&args, LayerPlace::default());
                        integers_of(&mut self.core, index, value.element)
                    }
                };
                self.known[node.outputs[0].0] = Some(known);
            }
        }
    }

    pub(super) fn constant(&mut self, node: &'a Node, tensor: &Tensor) {
        let value = node.outputs[0];
        if tensor.len() > MOST_ELEMENTS {
            let origin = &self.model.values[value.0].origin;
            self.diagnostics.push(too_large(node, origin, tensor.shape(), MOST_ELEMENTS));
        } else {
            self.core.folded.given(tensor);
            self.core.model.has_bytes |=
                matches!(tensor.element(), ElementType::I8 | ElementType::U8);
            self.known[value.0] = Some(Known::Constant(tensor.clone(), tensor.element()));
        }
    }

    pub(super) fn result(&mut self, node: &'a Node) -> Option<ResultValue> {
        let input = node.inputs[0];
        let known = self.with_zeros_behind(node, self.input(node, 0)?)?;
        let (shape, element) = (self.core.shape_of(&known), known.element());
        let value = &self.model.values[input.0];
        if shape.contains(&0) {
            let found = format!("an output of shape {}: a size of 0", shape_text(&shape));
            self.refuse(node, Refusal::new(found, "sizes of 1 or more", "remove the output"));
            return None;
        }
        if !element.is_float() {
            self.build(node, |_| all_exact(std::slice::from_ref(&known)))?;
            if !matches!(element, ElementType::I32 | ElementType::I64 | ElementType::Bool) {
                let wide = if element.bits() < 32 { "i32" } else { "i64" };
                let found = format!(
                    "the output is {} in the model; the generated code gives {wide}",
                    element.name()
                );
                self.warn(node, found);
            }
        } else if element != ElementType::F32 {
            let found = format!(
                "the output is {} in the model; the generated code gives f32",
                element.name()
            );
            self.warn(node, found);
        }
        // the stated shape of the input's value has been compared already
        if let Some(&output) =
            node.outputs.first().filter(|output| self.model.values[output.0].shape != value.shape)
        {
            self.check_stated(node, output, &shape);
        }
        let output_names =
            node.outputs.first().map_or(&[][..], |output| &self.model.values[output.0].names);
        let names = names(&[output_names, &value.names], &node.name);
        Some(ResultValue {
            names,
            shape,
            element,
            source: self.core.source(&known).ok()?,
            parts: None,
        })
    }

    /// An output. Zeros replace the elements behind a run-time length.
    fn with_zeros_behind(&mut self, node: &'a Node, known: Known) -> Option<Known> {
        let open = self
            .core
            .facts
            .dynamic_length(&known)
            .filter(|length| length.parts_along.is_some() && !length.is_zero);
        let Some(length) = open else { return Some(known) };
        let zero = Known::number_like(&known, 0.0);
        let out = self.build(node, |core| padded_behind(core, &known, length, &zero))?;
        if let Known::Source(Source::Value(value), _) = out {
            self.core.facts.lengths.insert(value, DynamicLength { is_zero: true, ..length });
        }
        Some(out)
    }
}
