//! Variables kept between steps: ReadValue and Assign.

use std::collections::HashMap;

use super::refusal::{Refusal, Rule};
use super::translator::Translator;
use crate::core::{Known, Source, Variable};
use crate::diagnostic::{Diagnostic, Origin, Setting, message, quoted};
use crate::model::{Dim, ElementType, Node, Tensor, shape_text};
use crate::rules::report::floats;
use crate::rules::shape::admits_shape;

/// The shape and the type that a ReadValue declares for its variable.
#[derive(Clone, Copy)]
pub(super) struct Declaration<'n> {
    pub(super) shape: Option<&'n [Dim]>,
    pub(super) element: Option<ElementType>,
}

impl Declaration<'_> {
    /// Refuses an initial value whose shape or type differs from the declaration. `origin`: the
    /// place of the declaration.
    fn admits(
        self,
        node: &Node,
        name: &str,
        shape: &[usize],
        element: ElementType,
        origin: &Origin,
    ) -> Rule<()> {
        let name = quoted(name);
        if let Some(stated) = self.shape.filter(|stated| !admits_shape(stated, shape)) {
            let stated = shape_text(stated);
            let found =
                format!("the variable {name} of shape {stated}, whose initial value has {shape:?}");
            let valid = "an initial value of the variable's shape";
            let help = "correct variable_shape, or the initial value";
            return Err(Refusal::at(origin, found, valid, help));
        }
        if let Some(stated) = self.element.filter(|&stated| stated != element) {
            let (stated, element) = (stated.name(), element.name());
            let found =
                format!("the variable {name} of type {stated}, whose initial value is {element}");
            let valid = "an initial value of the variable's type";
            let attribute = node.spelling.variable_type;
            let help = format!("correct {attribute}, or convert the initial value");
            return Err(Refusal::new(found, valid, help));
        }
        Ok(())
    }
}

/// The initial value of a variable, with its shape and element type.
struct Initial {
    /// The constant. `None`: zeros.
    tensor: Option<Tensor>,
    shape: Vec<usize>,
    element: ElementType,
}

impl<'a> Translator<'_, 'a> {
    /// Translates a ReadValue.
    pub(crate) fn read_value(&mut self, node: &'a Node, name: &'a str, declared: Declaration) {
        if self.inside_a_loop(node) {
            return;
        }
        let Some(Initial { tensor, shape, element }) = self.initial_value(node, name) else {
            return;
        };
        let fits = self.build(node, |core| {
            if !element.is_float() {
                let found = format!("the variable {} of type {}", quoted(name), element.name());
                return Err(Refusal::new(found, floats(), "keep f32 between steps"));
            }
            Ok(core.computable(&shape)?)
        });
        let origin = &self.model.values[node.outputs[0].0].origin;
        let fits = fits.and_then(|()| {
            self.build(node, |_| declared.admits(node, name, &shape, element, origin))
        });
        if fits.is_none() {
            return;
        }
        // a variable without a constant starts as zeros
        let initial =
            tensor.filter(|tensor| (0..tensor.len()).any(|i| tensor.get_f32(i).to_bits() != 0));
        if let Some(index) = self.variable(node, name, shape, initial) {
            self.set(node, 0, Known::Source(Source::Variable(index), element));
        }
    }

    /// The initial value, the shape and the type of a variable. `None` after an error.
    fn initial_value(&mut self, node: &Node, name: &str) -> Option<Initial> {
        if node.inputs.is_empty() {
            let element = self.model.values[node.outputs[0].0].element;
            return Some(Initial { tensor: None, shape: self.stated_shape(node)?, element });
        }
        let Known::Constant(tensor, element) = self.input(node, 0)? else {
            let found =
                format!("the variable {} whose initial value is not constant", quoted(name));
            let valid = "an initial value that is known when compiling";
            let help = "connect a constant, or give the initial state as an input of the model";
            self.refuse(node, Refusal::new(found, valid, help));
            return None;
        };
        let shape = tensor.shape().to_vec();
        Some(Initial { tensor: Some(tensor), shape, element })
    }

    /// The index of a variable. The first ReadValue adds the variable. `None` after an error.
    fn variable(
        &mut self,
        node: &Node,
        name: &'a str,
        shape: Vec<usize>,
        initial: Option<Tensor>,
    ) -> Option<usize> {
        if let Some(&index) = self.variables.read.get(name) {
            let before = &self.core.model.variables[index];
            let same = match (before.initial.map(|i| &self.core.model.constants[i]), &initial) {
                (None, None) => true,
                (Some(a), Some(b)) => equal(a, b),
                _ => false,
            };
            if !same || before.shape != shape {
                let found = format!("the variable {} has two initial values", quoted(name));
                let help = "give the variables different names";
                self.refuse(node, Refusal::new(found, "one", help));
                return None;
            }
            return Some(index);
        }
        let initial = initial.map(|tensor| self.core.intern(&tensor));
        let index = self.core.model.variables.len();
        self.core.model.variables.push(Variable {
            name: name.to_owned(),
            shape,
            initial,
            next: None,
            history: None,
        });
        self.variables.read.insert(name, index);
        Some(index)
    }

    /// The declared shape of a variable without an initial value, with the batch size of the
    /// options for an open first axis. `None` after an error.
    fn stated_shape(&mut self, node: &Node) -> Option<Vec<usize>> {
        let value = &self.model.values[node.outputs[0].0];
        let batch = self.context.options.bindings.batch_size();
        let size = |(axis, dim): (usize, &Dim)| match *dim {
            Dim::Fixed(size) => Some(size),
            Dim::Dynamic { .. } => {
                batch.filter(|&batch| axis == 0 && crate::rules::shape::admits(*dim, batch))
            }
        };
        let stated = value.shape.as_ref();
        let shape = stated.and_then(|shape| shape.iter().enumerate().map(size).collect());
        if shape.is_none() && !self.context.is_partial {
            let text = stated
                .map_or("no shape".to_owned(), |shape| format!("the shape {}", shape_text(shape)));
            let found = format!("a variable without an initial value, of {text}");
            let batch = Setting::BatchOf(1);
            let help = message!("give the batch size, {}, or the variable an initial value", batch);
            self.refuse(node, Refusal::new(found, "sizes that are fixed when compiling", help));
        }
        shape
    }

    /// Notes an Assign of the variable `name`.
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
        if self.depth > 0 {
            let found = "a variable inside the body of a loop or a branch";
            let help = "carry the value from iteration to iteration by a back edge";
            self.refuse(node, Refusal::new(found, "variables of the model itself", help));
        }
        self.depth > 0
    }

    /// Sets the next values of the variables. Runs after the last node, as an Assign may come
    /// before its ReadValue.
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
                let valid = "one Assign for each variable";
                self.refuse(node, Refusal::new(found, valid, "remove one of them"));
            } else if let Some(&index) = self.variables.read.get(name) {
                self.assign_next(node, index, known);
            } else {
                self.assigned_without_read(node, name, never.as_deref());
            }
        }
    }

    /// Sets the next value of a variable.
    fn assign_next(&mut self, node: &Node, index: usize, known: Option<Known>) {
        let Some(known) = known else { return };
        let shape = self.core.shape_of(&known);
        let wanted = self.core.model.variables[index].shape.clone();
        if !known.element().is_float() || shape != wanted {
            let found = format!(
                "a tensor of type {} and shape {}",
                known.element().name(),
                shape_text(&shape)
            );
            let wanted = shape_text(&wanted);
            let valid = format!("floating point of shape {wanted}, as ReadValue gives it");
            let help = "assign what has the variable's shape";
            self.refuse(node, Refusal::new(found, valid, help));
            return;
        }
        let next = self.core.source(&known).ok();
        self.core.model.variables[index].next =
            next.filter(|&next| next != Source::Variable(index));
    }

    /// Reports an Assign of a variable that no ReadValue reads. `never`: a variable that is read
    /// and never assigned, perhaps the same variable under a misspelt name.
    fn assigned_without_read(&mut self, node: &Node, name: &str, never: Option<&str>) {
        // an error of the ReadValue explains the missing variable
        if self.diagnostics.has_errors() || self.context.is_partial {
            return;
        }
        let found =
            format!("the variable {} is assigned, and no output needs what it holds", quoted(name));
        let Some(other) = never else {
            let warning = Diagnostic::warning(node.origin.clone(), found).layer(node.label());
            self.diagnostics.push(warning.help("remove the Assign, which has no effect"));
            return;
        };
        let valid = "a ReadValue of the same variable_id that an output depends on";
        let help =
            format!("is {other} meant, which is read and never assigned? Else remove the Assign");
        self.refuse(node, Refusal::new(found, valid, help));
    }
}

/// True if two constants have equal shapes and equal bits.
fn equal(a: &Tensor, b: &Tensor) -> bool {
    let bits = |tensor: &Tensor, i: usize| match tensor.element() {
        ElementType::F64 => tensor.get_f64(i).to_bits(),
        _ => u64::from(tensor.get_f32(i).to_bits()),
    };
    a.shape() == b.shape() && (0..a.len()).all(|i| bits(a, i) == bits(b, i))
}
