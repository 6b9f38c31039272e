//! The checker of a model: tensors and findings of the walk over its nodes, and the core model so
//! far.

use super::findings::Interned;
use super::interface::{self, parameter_names};
use crate::core::{CoreModel, CoreNode, CoreOp, CoreValue, Source};
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin};
use crate::model::{Dim, ElementType, Model, Node, Op, Tensor, ValueId, shape_text};
use crate::request::Options;

use super::findings::{
    Current, Ending, Findings, InputSizes, Known, TimeFindings, Translation, Uses,
};
use super::limits::{MOST_DIMS, MOST_ELEMENTS, MOST_FOLDED_ALONE, MOST_OPERATIONS};

/// The help for a malformed model, which no reader makes.
pub(crate) const MALFORMED: &str =
    "no input file can express this model: correct the code that built it";

/// The help for an operation on constants whose result is undefined, such as a division by 0.
pub(crate) const UNDEFINED: &str = "correct the constants it is given";
/// Every check and pass of a model whose sizes are given, in order.
pub(crate) type Passes = for<'a> fn(&mut Checker<'a>) -> Option<()>;

/// The reason for checking a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Compilation: hints may check the model with other options.
    Compile,
    /// A trial of a hint.
    Trial,
    /// More problems of a model of which only a part was read; the reader has reported the rest.
    Partial,
}

/// The check of a model and its translation to core operations.
pub(crate) struct Checker<'a> {
    /// The current graph: the model, or the body of a loop.
    pub(crate) model: &'a Model,
    pub(crate) options: &'a Options,
    pub(crate) purpose: Purpose,
    /// The passes, for hints.
    pub(crate) passes: Passes,
    pub(crate) diagnostics: Diagnostics,
    /// By value; `None` before its node, after its last reader, or after an error.
    pub(crate) known: Vec<Option<Known>>,
    pub(crate) sizes: InputSizes,
    pub(crate) over_time: TimeFindings<'a>,
    pub(crate) current: Current,
    pub(crate) findings: Findings<'a>,
    pub(crate) core: Translation,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(
        model: &'a Model,
        options: &'a Options,
        purpose: Purpose,
        passes: Passes,
    ) -> Self {
        let count = model.parameters.len();
        Self {
            model,
            options,
            purpose,
            passes,
            diagnostics: Diagnostics::default(),
            known: vec![None; model.values.len()],
            sizes: InputSizes {
                uses: vec![Uses::default(); count],
                shapes: vec![None; count],
                open_axes: vec![Vec::new(); count],
                ..InputSizes::default()
            },
            over_time: TimeFindings::default(),
            current: Current::default(),
            findings: Findings::default(),
            core: Translation {
                model: CoreModel {
                    name: model.name.clone(),
                    files: model.files.clone(),
                    ..CoreModel::default()
                },
                interned: Interned::default(),
            },
        }
    }

    /// True if only a part of the model was read.
    pub(crate) fn is_partial(&self) -> bool {
        self.purpose == Purpose::Partial
    }

    /// True if hints may check the model with other options.
    pub(crate) fn tries_hints(&self) -> bool {
        self.purpose == Purpose::Compile
    }

    /// The tensor of a node's input. `None` after an error.
    pub(crate) fn input(&self, node: &Node, port: usize) -> Option<Known> {
        self.known[node.inputs.get(port)?.0].clone()
    }

    /// The tensors of all inputs of a node. `None` after an error in one of them.
    pub(crate) fn inputs(&self, node: &Node) -> Option<Vec<Known>> {
        (0..node.inputs.len()).map(|port| self.input(node, port)).collect()
    }

    /// Sets the tensor of a node's output.
    pub(crate) fn set(&mut self, node: &Node, port: usize, known: Known) {
        let Some(output) = node.outputs.get(port) else { return };
        self.check_stated(node, *output, &self.shape_of(&known));
        if let (Some(ending), Known::Source(Source::Value(value), _)) =
            (self.findings.hands_on, &known)
            && !matches!(node.op, Op::ShapeOf)
        {
            self.findings.endings.insert(*value, ending);
        }
        self.known[output.0] = Some(known);
    }

    /// Adds a value computed by a node.
    pub(crate) fn value(&mut self, shape: Vec<usize>) -> usize {
        self.core.model.values.push(CoreValue { shape });
        self.core.model.values.len() - 1
    }

    /// Adds an operation.
    pub(crate) fn emit(&mut self, node: &Node, op: CoreOp) {
        let kind = match &op {
            CoreOp::Cell(cell) if cell.sequence.is_some() => cell.kind.sequence_name(),
            CoreOp::Cell(cell) => cell.kind.op_name(),
            _ => node.kind.split(',').next().unwrap_or_default(),
        };
        self.current.spent.operations += 1;
        let (name, kind, ledger) = (node.name.clone(), kind.to_owned(), node.ledger.clone());
        self.current.nodes.push(CoreNode { name, kind, op, ledger, layer: self.current.layer });
    }

    /// Refuses a shape above the limit for computed values.
    pub(crate) fn computable(&mut self, node: &Node, shape: &[usize]) -> Option<()> {
        self.computable_up_to(node, shape, self.options.machine.target.memory.most_elements)
    }

    /// The upper limit for elements of an operation on constants: at least the elements of the
    /// operands together.
    pub(crate) fn most_folded(&self, node: &Node) -> usize {
        let inputs = node.inputs.iter().filter_map(|input| self.known[input.0].as_ref()?.tensor());
        inputs
            .map(Tensor::len)
            .fold(0, usize::saturating_add)
            .clamp(MOST_FOLDED_ALONE, MOST_ELEMENTS)
    }

    pub(crate) fn computable_up_to(
        &mut self,
        node: &Node,
        shape: &[usize],
        most: usize,
    ) -> Option<()> {
        if self.current.spent.operations >= MOST_OPERATIONS {
            let found = format!("the model has more than {MOST_OPERATIONS} operations");
            let help = "split the model, and compile its parts one by one";
            self.error_of_many(node, found, format!("{MOST_OPERATIONS} or fewer"), help);
            return None;
        }
        if shape.contains(&0) {
            let found = format!("a tensor of shape {}: a size of 0", shape_text(shape));
            self.error(
                node,
                &node.origin,
                found,
                "sizes of 1 or more",
                "an empty tensor has no use: remove the layer",
            );
            return None;
        }
        if shape.len() > MOST_DIMS {
            let found = format!("a tensor of {} dimensions", shape.len());
            self.error(
                node,
                &node.origin,
                found,
                format!("{MOST_DIMS} or fewer"),
                "reshape it to fewer",
            );
            return None;
        }
        if element_count(shape).is_none_or(|n| n > most) {
            self.too_large(node, &node.origin, shape, most);
            return None;
        }
        Some(())
    }

    /// Refuses a shape above the limit for operations on constants.
    pub(crate) fn foldable(
        &mut self,
        node: &Node,
        shape: &[usize],
        element: ElementType,
    ) -> Option<()> {
        let none = !element.is_float() && shape.contains(&0);
        let sizes: Vec<usize> =
            shape.iter().map(|&size| if none { size.max(1) } else { size }).collect();
        self.computable_up_to(node, &sizes, self.most_folded(node))?;
        let count: usize = shape.iter().product();
        self.folds(node, count, element)
    }

    /// Reports an error shared by later nodes only once.
    pub(crate) fn error_of_many(
        &mut self,
        node: &Node,
        found: impl Into<Message>,
        valid: String,
        help: &str,
    ) {
        if !self.diagnostics.has_errors() {
            self.error(node, &node.origin, found, valid, help);
        }
    }

    /// Reports a promise of the model about a tensor that does not hold.
    pub(crate) fn check_stated(&mut self, node: &Node, output: ValueId, shape: &[usize]) {
        let value = &self.model.values[output.0];
        let Some(stated) = &value.shape else { return };
        if !admits_shape(stated, shape) && !shape.contains(&0) {
            let found = format!(
                "the output has the shape {} in the model, but the computed shape is {shape:?}, \
                 which is used",
                shape_text(stated)
            );
            self.diagnostics
                .push(Diagnostic::warning(value.origin.clone(), found).layer(node.label()));
        }
    }

    /// The name of an input in messages and options.
    pub(crate) fn input_name(&self, index: usize) -> String {
        interface::name(&self.parameter_names(self.model.parameters[index]), "in", index)
    }

    pub(crate) fn parameter_names(&self, node: usize) -> Vec<String> {
        parameter_names(self.model, node)
    }

    /// The source of a tensor; adds constants to the list. `None` for the number of an iteration,
    /// after a report.
    pub(crate) fn source(&mut self, known: &Known) -> Option<Source> {
        match known {
            Known::Source(source, _) => Some(*source),
            Known::Constant(tensor, _) => Some(Source::Constant(self.intern(tensor))),
            Known::Iteration(..) => None,
        }
    }

    /// The place of a constant in the list.
    pub(crate) fn intern(&mut self, tensor: &Tensor) -> usize {
        let constants = &mut self.core.model.constants;
        let (bytes, start) = tensor.place();
        *self
            .core
            .interned
            .places
            .entry((bytes, start, tensor.element(), tensor.shape().to_vec()))
            .or_insert_with(|| {
                constants.push(tensor.clone());
                constants.len() - 1
            })
    }

    pub(crate) fn shape_of(&self, known: &Known) -> Vec<usize> {
        match known {
            Known::Constant(tensor, _) => tensor.shape().to_vec(),
            Known::Source(source, _) => self.core.model.shape(*source).to_vec(),
            Known::Iteration(shape, _) => shape.clone(),
        }
    }

    /// The run-time length of a tensor, if any.
    pub(crate) fn ending_of(&self, known: &Known) -> Option<Ending> {
        match known {
            Known::Source(Source::Value(value), _) => self.findings.endings.get(value).copied(),
            _ => None,
        }
    }

    /// Refuses integer or boolean tensors computed at run time.
    pub(crate) fn all_floats(&mut self, node: &Node, inputs: &[Known]) -> Option<()> {
        let Some(wrong) = inputs.iter().map(Known::element).find(|element| !element.is_float())
        else {
            return Some(());
        };
        let found = format!("{} at run time", wrong.name());
        let help = "integers and booleans are known when compiling, or lengths of sequences: \
            compute in f32";
        self.error(node, &node.origin, found, floats(), help);
        None
    }

    pub(crate) fn too_large(&mut self, node: &Node, origin: &Origin, shape: &[usize], most: usize) {
        let bytes = element_count(shape).and_then(|count| count.checked_mul(4));
        let bytes = bytes.map_or_else(String::new, |bytes| format!(": {bytes} bytes"));
        let found = format!("a tensor of shape {}{bytes}", shape_text(shape));
        let valid = format!("{most} elements, {} bytes, or fewer", 4 * most);
        self.error(node, origin, found, valid, "split the model");
    }

    pub(crate) fn error(
        &mut self,
        node: &Node,
        origin: &Origin,
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) {
        self.diagnostics.push(refusal(node, origin, found, valid, help));
    }
}

/// The error of a node, at `origin` or, if unknown, at the place of the node.
pub(crate) fn refusal(
    node: &Node,
    origin: &Origin,
    found: impl Into<Message>,
    valid: impl Into<Message>,
    help: impl Into<Message>,
) -> Diagnostic {
    let origin = if *origin == Origin::Unknown { &node.origin } else { origin };
    Diagnostic::error(origin.clone(), found).layer(node.label()).valid(valid).help(help)
}

pub(crate) fn floats() -> String {
    let floats: Vec<&str> =
        ElementType::ALL.into_iter().filter(|e| e.is_float()).map(ElementType::name).collect();
    floats.join(", ")
}

pub(crate) fn admits(dim: Dim, size: usize) -> bool {
    size > 0
        && match dim {
            Dim::Fixed(n) => n == size,
            Dim::Dynamic { min, max } => min <= size && max.is_none_or(|max| size <= max),
        }
}

pub(crate) fn admits_shape(stated: &[Dim], shape: &[usize]) -> bool {
    stated.len() == shape.len() && stated.iter().zip(shape).all(|(dim, &size)| admits(*dim, size))
}

pub(crate) fn element_count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}
