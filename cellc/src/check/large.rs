//! Refusals of models beyond the limits: constants, inputs and outputs, the whole and its source.

use super::checker::{Checker, element_count};
use super::limits::{
    FOLDED_PER_BYTE, FOLDS_PER_BYTE, MOST_ELEMENTS_IN_ALL, MOST_FOLDED, MOST_FOLDED_BYTES,
    MOST_FOLDED_EVER, MOST_INTERFACE_BYTES, MOST_NODES, MOST_UNROLLED,
};
use crate::core::{CoreNode, CoreOp, Work};
use crate::diagnostic::{Diagnostic, Origin, Setting, message};
use crate::model::{ElementType, Node};
use crate::request::Unroll;

impl Checker<'_> {
    /// Refuses a result of an operation on constants that is too much together with all others.
    pub(crate) fn folds(&mut self, node: &Node, count: usize, element: ElementType) -> Option<()> {
        // integers and booleans are held in 64 bits
        let size = if element.is_float() && element != ElementType::F64 { 4 } else { 8 };
        self.current.spent.folded.bytes =
            self.current.spent.folded.bytes.saturating_add(count.saturating_mul(size));
        let most = MOST_FOLDED_BYTES
            .saturating_add(self.current.spent.folded.given.saturating_mul(FOLDED_PER_BYTE));
        if self.current.spent.folded.bytes > most {
            let found =
                format!("operations on constants give {} bytes", self.current.spent.folded.bytes);
            let valid = format!(
                "256 MiB and {FOLDED_PER_BYTE} times the bytes of the model's constants: {most} \
                 bytes or fewer, all together"
            );
            let help = "compute with smaller tensors, and let operators broadcast them";
            self.error_of_many(node, found, valid, help);
            return None;
        }
        self.folding(node, count)
    }

    /// Refuses operations on constants with too much work in total.
    pub(crate) fn folding(&mut self, node: &Node, elements: usize) -> Option<()> {
        self.affords(node, elements)?;
        self.current.spent.folded.elements =
            self.current.spent.folded.elements.saturating_add(elements);
        Some(())
    }

    /// Refuses an operation with several passes over constants before the first pass. Each pass
    /// counts again, by [`Self::folding`].
    pub(crate) fn affords(&mut self, node: &Node, elements: usize) -> Option<()> {
        let all = self.current.spent.folded.elements.saturating_add(elements);
        let most = MOST_FOLDED
            .saturating_add(self.current.spent.folded.given.saturating_mul(FOLDS_PER_BYTE));
        let most = most.min(MOST_FOLDED_EVER);
        if all > most {
            let found = format!("operations on constants compute {all} elements and products");
            let valid = format!(
                "{MOST_FOLDED} and {FOLDS_PER_BYTE} for each byte of the model's constants: {most} \
                 or fewer, all together"
            );
            self.error_of_many(
                node,
                found,
                valid,
                "compute the constants before the model is saved",
            );
            return None;
        }
        Some(())
    }

    /// Refuses inputs, or inputs and `outputs`, with too many bytes together. True if none are
    /// refused.
    pub(crate) fn interface_size(&mut self, outputs: &[&[usize]]) -> bool {
        let inputs = self.core.model.parameters.iter().filter(|p| !p.weight);
        let inputs =
            inputs.map(|p| bytes(&p.shape, if p.element == ElementType::I64 { 8 } else { 4 }));
        let outputs = outputs.iter().map(|shape| bytes(shape, 4));
        let total = inputs.chain(outputs).fold(0, usize::saturating_add);
        if total > MOST_INTERFACE_BYTES {
            let found = format!("inputs and outputs of {total} bytes, all together");
            let valid = format!("{MOST_INTERFACE_BYTES} bytes (64 MiB) or fewer");
            let help = message!(
                "give a smaller {} or {}, or split the model",
                Setting::Batch(None),
                Setting::Shape
            );
            self.diagnostics
                .push(Diagnostic::error(self.somewhere(), found).valid(valid).help(help));
        }
        total <= MOST_INTERFACE_BYTES
    }

    pub(crate) fn total_size(&mut self) {
        let valid = &self.core.model;
        let sizes = valid.parameters.iter().map(|p| element_count(&p.shape));
        let sizes = sizes.chain(valid.constants.iter().map(|t| Some(t.len())));
        let mut sizes = sizes.chain(valid.values.iter().map(|v| element_count(&v.shape)));
        let total = sizes.try_fold(0usize, |total, size| total.checked_add(size?));
        if total.is_none_or(|total| total > MOST_ELEMENTS_IN_ALL) {
            let found = "all tensors together have too many elements";
            let valid = format!("{MOST_ELEMENTS_IN_ALL} or fewer");
            self.diagnostics.push(
                Diagnostic::error(self.somewhere(), found).valid(valid).help("split the model"),
            );
        }
    }

    /// What would become more source than a compiler can take is refused, not tried.
    pub(crate) fn source_size(&mut self) {
        let origin = self.somewhere();
        let valid = &self.core.model;
        let counts = [
            ("cells", valid.cells().len(), MOST_NODES),
            ("inputs", valid.parameters.len(), MOST_NODES),
            ("outputs", valid.results.len(), MOST_NODES),
            ("variables", valid.variables.len(), MOST_NODES),
        ];
        for (what, count, most) in counts {
            if count > most {
                let found = format!("the model has {count} {what}");
                let diagnostic =
                    Diagnostic::error(origin.clone(), found).valid(format!("{most} or fewer"));
                self.diagnostics
                    .push(diagnostic.help("split the model, and compile its parts one by one"));
            }
        }
        let work = multiply_adds(&valid.nodes);
        if self.options.tuning.unroll == Unroll::Full && work > MOST_UNROLLED as u128 {
            let found = format!("full unrolling of {work} multiply-adds");
            let diagnostic =
                Diagnostic::error(origin, found).valid(format!("{MOST_UNROLLED} or fewer"));
            self.diagnostics
                .push(diagnostic.help("leave unrolling to the plan: it unrolls where that pays"));
        }
    }

    /// An error about a layer of the model; about the whole model without one.
    pub(crate) fn at_layer(&self, node: Option<&Node>, found: String) -> Diagnostic {
        match node {
            Some(node) => Diagnostic::error(node.origin.clone(), found).layer(node.label()),
            None => Diagnostic::error(self.somewhere(), found),
        }
    }

    /// The layer of a name. `None` if the name is empty.
    pub(crate) fn layer_named(&self, name: &str) -> Option<&Node> {
        self.model.nodes.iter().find(|node| !name.is_empty() && node.name == name)
    }

    /// A place for problems of the whole model, to name the file: the first Result.
    pub(crate) fn somewhere(&self) -> Origin {
        let result = self.model.results.first().map(|&node| &self.model.nodes[node]);
        result.map_or(Origin::Unknown, |node| node.origin.clone())
    }
}

fn bytes(shape: &[usize], element: usize) -> usize {
    shape.iter().fold(element, |bytes, &size| bytes.saturating_mul(size))
}

/// What full unrolling writes out: loops over time and loops of the model stay loops.
fn multiply_adds(nodes: &[CoreNode]) -> u128 {
    let work = |node: &CoreNode| match (&node.op, node.op.facts().work) {
        (CoreOp::Loop(body), _) => multiply_adds(&body.body),
        (_, Work::Products { each, .. }) => each as u128,
        (_, Work::Elements { .. } | Work::Body) => 0,
    };
    nodes.iter().map(work).sum()
}
