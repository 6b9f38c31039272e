//! Variables kept between steps: ReadValue and Assign.

use std::collections::HashMap;

use super::findings::Known;
use super::shape::admits_shape;
use super::translator::Translator;
use crate::core::{Source, Variable};
use crate::diagnostic::{Diagnostic, Setting, message, quoted};
use crate::model::{Dim, ElementType, Node, Tensor, shape_text};

impl<'a> Translator<'_, 'a> {
    /// `stated` and `stated_element` are the declared shape and type of the variable.
    pub(crate) fn read_value(
        &mut self,
        node: &'a Node,
        name: &'a str,
        stated: Option<&[Dim]>,
        stated_element: Option<ElementType>,
    ) {
        if self.inside_a_loop(node) {
            return;
        }
        let value = &self.model.values[node.outputs[0].0];
        let (initial, shape, element) = if node.inputs.is_empty() {
            let Some(shape) = self.stated_shape(node) else { return };
            (None, shape, value.element)
        } else {
            match self.input(node, 0) {
                None => return,
                Some(Known::Constant(tensor, element)) => {
                    let shape = tensor.shape().to_vec();
                    (Some(tensor), shape, element)
                }
                Some(_) => {
                    let found = format!(
                        "the variable {} whose initial value is not constant",
                        quoted(name)
                    );
                    let valid = "an initial value that is known when compiling";
                    let help =
                        "connect a constant, or give the initial state as an input of the model";
                    self.error(node, &node.origin, found, valid, help);
                    return;
                }
            }
        };
        if !element.is_float() {
            let found = format!("the variable {} of type {}", quoted(name), element.name());
            self.error(
                node,
                &node.origin,
                found,
                crate::check::report::floats(),
                "keep f32 between steps",
            );
            return;
        }
        if self.computable(node, &shape).is_none() {
            return;
        }
        if let Some(stated) = stated.filter(|stated| !admits_shape(stated, &shape)) {
            let found = format!(
                "the variable {} of shape {}, whose initial value has {shape:?}",
                quoted(name),
                shape_text(stated)
            );
            let valid = "an initial value of the variable's shape";
            self.error(
                node,
                &value.origin,
                found,
                valid,
                "correct variable_shape, or the initial value",
            );
            return;
        }
        if let Some(stated) = stated_element.filter(|&stated| stated != element) {
            let found = format!(
                "the variable {} of type {}, whose initial value is {}",
                quoted(name),
                stated.name(),
                element.name()
            );
            let valid = "an initial value of the variable's type";
            self.error(
                node,
                &node.origin,
                found,
                valid,
                "correct variable_type, or convert the initial value",
            );
            return;
        }
        // a variable without an initial value starts as zeros
        let initial =
            initial.filter(|tensor| (0..tensor.len()).any(|i| tensor.get_f32(i).to_bits() != 0));
        let index = match self.variables.read.get(name) {
            Some(&index) => {
                let before = &self.core.variables[index];
                let same = match (before.initial.map(|i| &self.core.constants[i]), &initial) {
                    (None, None) => true,
                    (Some(a), Some(b)) => equal(a, b),
                    _ => false,
                };
                if !same || before.shape != shape {
                    let found = format!("the variable {} has two initial values", quoted(name));
                    self.error(
                        node,
                        &node.origin,
                        found,
                        "one",
                        "give the variables different names",
                    );
                    return;
                }
                index
            }
            None => {
                let initial = initial.map(|tensor| self.intern(&tensor));
                self.core.variables.push(Variable {
                    name: name.to_owned(),
                    shape,
                    initial,
                    next: None,
                });
                self.variables.read.insert(name, self.core.variables.len() - 1);
                self.core.variables.len() - 1
            }
        };
        self.set(node, 0, Known::Source(Source::Variable(index), element));
    }

    /// The declared shape of a variable without an initial value.
    fn stated_shape(&mut self, node: &Node) -> Option<Vec<usize>> {
        let value = &self.model.values[node.outputs[0].0];
        let batch = self.subject.options.bindings.batch;
        let size = |(axis, dim): (usize, &Dim)| match *dim {
            Dim::Fixed(size) => Some(size),
            Dim::Dynamic { .. } => {
                batch.filter(|&batch| axis == 0 && crate::check::shape::admits(*dim, batch))
            }
        };
        let stated = value.shape.as_ref();
        let shape = stated.and_then(|shape| shape.iter().enumerate().map(size).collect());
        if shape.is_none() && !self.subject.is_partial() {
            let text = stated
                .map_or("no shape".to_owned(), |shape| format!("the shape {}", shape_text(shape)));
            let found = format!("a variable without an initial value, of {text}");
            let batch = Setting::Batch(Some(1));
            let help = message!("give the batch size, {}, or the variable an initial value", batch);
            self.error(node, &node.origin, found, "sizes that are fixed when compiling", help);
        }
        shape
    }

    pub(crate) fn assign(&mut self, node: &'a Node, name: &'a str) {
        if self.inside_a_loop(node) {
            return;
        }
        let known = self.input(node, 0);
        self.variables.assigned.push((name, node, known.clone()));
        if let Some(known) = known {
            self.set(node, 0, known);
        }
    }

    fn inside_a_loop(&mut self, node: &Node) -> bool {
        if self.current.depth > 0 {
            let found = "a variable inside a loop";
            let help = "carry the value from iteration to iteration by a back edge";
            self.error(node, &node.origin, found, "variables of the model itself", help);
        }
        self.current.depth > 0
    }

    /// The next values of the variables, after the last node: an Assign may come before its
    /// ReadValue.
    pub(crate) fn assignments(&mut self) {
        let mut seen: HashMap<&str, &Node> = HashMap::new();
        let assigned = std::mem::take(&mut self.variables.assigned);
        let is_assigned = |name: &str| assigned.iter().any(|(other, ..)| *other == name);
        let never = self.variables.read.iter().filter(|(name, _)| !is_assigned(name));
        let never = never.min_by_key(|(_, index)| **index).map(|(name, _)| quoted(name));
        for (name, node, known) in assigned {
            if let Some(other) = seen.insert(name, node) {
                let found =
                    format!("the variable {} is assigned by {} too", quoted(name), other.label());
                self.error(
                    node,
                    &node.origin,
                    found,
                    "one Assign for each variable",
                    "remove one of them",
                );
                continue;
            }
            let Some(&index) = self.variables.read.get(name) else {
                // an error of the ReadValue explains the missing variable
                if !self.diagnostics.has_errors() && !self.subject.is_partial() {
                    let found = format!(
                        "the variable {} is assigned, and no output needs what it holds",
                        quoted(name)
                    );
                    match &never {
                        // a misspelt name leaves the other variable without an Assign
                        Some(other) => {
                            let valid =
                                "a ReadValue of the same variable_id that an output depends on";
                            let help = format!(
                                "is {other} meant, which is read and never assigned? Else remove \
                                 the Assign"
                            );
                            self.error(node, &node.origin, found, valid, &help);
                        }
                        None => {
                            let warning =
                                Diagnostic::warning(node.origin.clone(), found).layer(node.label());
                            self.diagnostics
                                .push(warning.help("remove the Assign, which has no effect"));
                        }
                    }
                }
                continue;
            };
            let Some(known) = known else { continue };
            let (shape, wanted) = (self.shape_of(&known), self.core.variables[index].shape.clone());
            if !known.element().is_float() || shape != wanted {
                let found = format!(
                    "a tensor of type {} and shape {}",
                    known.element().name(),
                    shape_text(&shape)
                );
                let valid = format!(
                    "floating point of shape {}, as ReadValue gives it",
                    shape_text(&wanted)
                );
                self.error(
                    node,
                    &node.origin,
                    found,
                    valid,
                    "assign what has the variable's shape",
                );
                continue;
            }
            let next = self.source(&known);
            self.core.variables[index].next = next.filter(|&next| next != Source::Variable(index));
        }
    }
}

/// True if two constants have equal bits.
fn equal(a: &Tensor, b: &Tensor) -> bool {
    let bits = |tensor: &Tensor, i: usize| match tensor.element() {
        ElementType::F64 => tensor.get_f64(i).to_bits(),
        _ => u64::from(tensor.get_f32(i).to_bits()),
    };
    a.shape() == b.shape() && (0..a.len()).all(|i| bits(a, i) == bits(b, i))
}
