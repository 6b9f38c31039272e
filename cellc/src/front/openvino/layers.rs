//! The layers of a graph as written in the file, with their ports and edges.

use std::collections::HashSet;

use super::kinds::LayerType;
use super::text::{parse_dim, parse_integer};
use super::weights::BinFile;
use super::xml::{AttributeId, Document, ElementId};
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin, Problem, Severity, quoted};
use crate::front::graph::Graph;
use crate::model::{ActivationLists, Dim, LedgerEntry, Op, Spelling, ValueId, wrong_rank};

/// OpenVINO's names of attributes, for messages.
static SPELLING: Spelling = Spelling {
    element_type: "destination_type",
    activation_lists: ActivationLists::ForAll,
    ..Spelling::OWN
};

/// Advice for a file unlike the ones written by OpenVINO.
pub(super) const SAVE_AGAIN: &str = "save the model again with OpenVINO's save_model";
pub(super) const CONNECT: &str =
    "correct the edges, or save the model again with OpenVINO's save_model";

pub(super) struct Layer<'a> {
    pub(super) element: ElementId,
    pub(super) id: u64,
    pub(super) name: &'a str,
    pub(super) type_name: &'a str,
    pub(super) kind: LayerType,
    /// Indices of the edges into the layer.
    pub(super) incoming: Vec<usize>,
    /// True for a Parameter, a Result, an Assign, and a layer that a Result or an Assign depends
    /// on.
    pub(super) reached: bool,
    /// Index of the layer's node. `None` before the layer is read and after an error.
    pub(super) node: Option<usize>,
    /// Output ports and their tensors, ascending by port. Empty before the layer is read, after an
    /// error, for a Result, and for an Assign without output ports.
    pub(super) outputs: Vec<(u64, ValueId)>,
}

#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) element: ElementId,
    pub(super) from_layer: usize,
    pub(super) from_port: u64,
    pub(super) to_port: u64,
}

pub(super) struct Port<'a> {
    pub(super) element: ElementId,
    pub(super) id: u64,
    pub(super) precision: Option<AttributeId>,
    pub(super) names: &'a str,
    /// Empty for a scalar and for a port without declared dimensions.
    pub(super) dims: Vec<Dim>,
}

pub(super) struct GraphReader<'a, 'w> {
    pub(super) document: &'a Document,
    pub(super) weights: &'w mut BinFile,
    pub(super) graph: Graph,
    pub(super) diagnostics: Diagnostics,
    /// Number of errors in the diagnostics.
    pub(super) errors: usize,
    pub(super) layers: Vec<Layer<'a>>,
    pub(super) edges: Vec<Edge>,
    /// Ids of the layers around this graph, outermost first. Empty for the model itself.
    pub(super) around: Vec<u64>,
}

impl<'a, 'w> GraphReader<'a, 'w> {
    pub(super) fn new(document: &'a Document, weights: &'w mut BinFile) -> Self {
        Self {
            document,
            weights,
            graph: Graph::new("", &SPELLING),
            diagnostics: Diagnostics::default(),
            errors: 0,
            layers: Vec::new(),
            edges: Vec::new(),
            around: Vec::new(),
        }
    }

    /// True if the graph is the body of a layer.
    pub(super) fn is_body(&self) -> bool {
        !self.around.is_empty()
    }

    /// A required attribute with an integer of 0 or more. `layer`: the layer to name in messages,
    /// if any. `None` after an error.
    pub(super) fn unsigned(
        &mut self,
        layer: Option<usize>,
        element: ElementId,
        name: &str,
        what: &str,
    ) -> Option<u64> {
        let document = self.document;
        let (origin, found) = match document.attribute(element, name) {
            None => (document.origin(element), format!("{what} without the attribute {name}")),
            Some(attribute) => {
                let text = document.value(attribute);
                match parse_integer(text) {
                    Some(value) => return Some(value),
                    None => (
                        document.attribute_origin(attribute),
                        format!("{what} with {name}={}", quoted(text)),
                    ),
                }
            }
        };
        let mut diagnostic =
            Diagnostic::error(origin, found).valid(format!("an integer of 0 or more for {name}"));
        diagnostic.layer = layer.map(|index| self.label(index));
        self.push(diagnostic.help(SAVE_AGAIN));
        None
    }

    /// The name of a layer in messages.
    pub(super) fn label(&self, index: usize) -> String {
        let layer = &self.layers[index];
        format!("{} ({})", quoted(layer.name), self.kind_text(index))
    }

    fn kind_text(&self, index: usize) -> String {
        let layer = &self.layers[index];
        let type_name = quoted(layer.type_name);
        let around: String =
            self.around.iter().rev().map(|id| format!(" in the body of id {id}")).collect();
        format!("{}, id {}{around}", &type_name[1..type_name.len() - 1], layer.id)
    }

    /// The place of a layer in the text.
    pub(super) fn origin(&self, index: usize) -> Origin {
        self.document.origin(self.layers[index].element)
    }

    /// Reports a problem of a layer, with the layer's label.
    pub(super) fn report(&mut self, index: usize, diagnostic: Diagnostic) {
        let label = self.label(index);
        self.push(diagnostic.layer(label));
    }

    /// Refuses a layer for a valid use of the type that no operation of the model expresses.
    /// [`crate::model`], [`crate::check`] and [`crate::translate`] refuse invalid operations.
    pub(super) fn inexpressible<T>(
        &mut self,
        index: usize,
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) -> Option<T> {
        self.error(index, self.origin(index), found, valid, help);
        None
    }

    /// Reports an error of a layer.
    pub(super) fn error(
        &mut self,
        index: usize,
        origin: Origin,
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) {
        self.report(index, Problem::new(found, valid, help).at(origin));
    }

    /// Reports a warning about a layer.
    pub(super) fn warning(&mut self, index: usize, origin: Origin, found: impl Into<Message>) {
        self.report(index, Diagnostic::warning(origin, found));
    }

    /// Adds a node for a layer. Returns its index.
    pub(super) fn node(
        &mut self,
        index: usize,
        op: Op,
        inputs: Vec<ValueId>,
        outputs: Vec<ValueId>,
        ledger: Vec<LedgerEntry>,
    ) -> usize {
        self.graph.kind = self.kind_text(index);
        let origin = self.origin(index);
        self.graph.node(self.layers[index].name, op, inputs, outputs, ledger, &origin)
    }

    /// Reports a problem of the file.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        self.diagnostics.push(diagnostic);
    }

    /// The ids of the ports of one side, without checks.
    pub(super) fn port_ids(&self, index: usize, side: &str) -> Vec<u64> {
        let document = self.document;
        let side = document.children_named(self.layers[index].element, side).next();
        let ports = side.into_iter().flat_map(|side| document.children_named(side, "port"));
        ports
            .filter_map(|port| parse_integer(document.value(document.attribute(port, "id")?)))
            .collect()
    }

    /// The ports of one side. `None` after an error.
    pub(super) fn ports(&mut self, index: usize, side: &str) -> Option<Vec<Port<'a>>> {
        let document = self.document;
        let Some(side) = document.children_named(self.layers[index].element, side).next() else {
            return Some(Vec::new());
        };
        let before = self.errors;
        let mut ports: Vec<Port<'a>> = Vec::new();
        let mut ids = HashSet::new();
        for element in document.children(side) {
            if document.name(element) != "port" {
                let found = format!(
                    "the element {} among the ports is ignored",
                    quoted(document.name(element))
                );
                self.warning(index, document.origin(element), found);
                continue;
            }
            let Some(id) = self.unsigned(Some(index), element, "id", "a port") else { continue };
            if !ids.insert(id) {
                let found = format!("the port {id} is declared twice");
                self.error(
                    index,
                    document.origin(element),
                    found,
                    "an id of its own for every port",
                    SAVE_AGAIN,
                );
            }
            let mut dims = Vec::new();
            for dim in document.children_named(element, "dim") {
                let text = document.text(dim);
                match parse_dim(text) {
                    Some(dim) => dims.push(dim),
                    None => {
                        let found = format!("a dimension of {}", quoted(text));
                        self.error(
                            index,
                            document.origin(dim),
                            found,
                            "an integer of 1 or more, or -1 where it is not known",
                            SAVE_AGAIN,
                        );
                    }
                }
            }
            if let Some(problem) = wrong_rank(dims.len()) {
                self.report(index, problem.at(document.origin(element)));
            }
            let names = document.attribute(element, "names").map_or("", |a| document.value(a));
            ports.push(Port {
                element,
                id,
                precision: document.attribute(element, "precision"),
                names,
                dims,
            });
        }
        // OpenVINO reads ports in the order of the file, and writes ascending ids: another order is
        // refused
        if ports.windows(2).any(|w| w[0].id > w[1].id) {
            let found = "the ports are not in the order of their ids";
            self.error(index, document.origin(side), found, "ports with ascending ids", SAVE_AGAIN);
        }
        (self.errors == before).then_some(ports)
    }
}
