//! The tree of an IR becomes a [`Model`]: layers, edges and attributes get their meaning.
//!
//! Only the Parameters and the layers that a Result or an Assign depends on are looked at.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::weights::Weights;
use super::xml::{AttributeId, Document, ElementId};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Severity, quoted};
use crate::model::{
    Activation, Cell, CellKind, Dim, ElementType, LedgerEntry, Model, Node, Op, ResetGate, Tensor, Value, ValueId,
};

/// What is read, for messages.
const LAYER_TYPES: &str = "Parameter, Const, Convert, GRUCell, RNNCell, Result";

/// What to do about a file that OpenVINO would not have written.
const SAVE_AGAIN: &str = "save the model again with OpenVINO's save_model";
const CONNECT: &str = "correct the edges, or save the model again with OpenVINO's save_model";

/// The most dimensions of a tensor.
const MOST_DIMS: usize = 16;

/// The model that a document describes, and all that is wrong with it.
///
/// After an error, what is not understood is missing from the model, or has a value that nothing produces in its place.
pub(super) fn lower(document: &Document, weights: &mut Weights) -> (Model, Diagnostics) {
    let mut lowering = Lowering {
        document,
        weights,
        model: Model::default(),
        diagnostics: Diagnostics::default(),
        errors: 0,
        layers: Vec::new(),
        edges: Vec::new(),
    };
    lowering.run();
    (lowering.model, lowering.diagnostics)
}

/// What a layer's type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Parameter,
    Const,
    Convert,
    GruCell,
    RnnCell,
    Result,
    /// Not read, but what it does happens even if no Result depends on it.
    Assign,
    Unknown,
}

impl Kind {
    fn from_name(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "parameter" => Self::Parameter,
            "const" | "constant" => Self::Const,
            "convert" => Self::Convert,
            "grucell" => Self::GruCell,
            "rnncell" => Self::RnnCell,
            "result" => Self::Result,
            "assign" => Self::Assign,
            _ => Self::Unknown,
        }
    }
}

struct Layer<'a> {
    element: ElementId,
    id: u64,
    name: &'a str,
    type_name: &'a str,
    kind: Kind,
    /// Indices into the edges that end here.
    incoming: Vec<usize>,
    /// Whether it is looked at.
    reached: bool,
    /// Where it became a node.
    node: Option<usize>,
    /// The port and the tensor that it produces, once it is lowered.
    output: Option<(u64, ValueId)>,
}

#[derive(Clone, Copy)]
struct Edge {
    element: ElementId,
    from_layer: usize,
    from_port: u64,
    to_port: u64,
}

struct Port<'a> {
    element: ElementId,
    id: u64,
    precision: Option<AttributeId>,
    names: &'a str,
    /// Empty where none is written: a scalar, or nothing said.
    dims: Vec<Dim>,
}

/// An attribute that was given.
struct Given<'a> {
    text: &'a str,
    origin: Origin,
}

/// The attributes of a layer's `data` element, and which of them have been looked at.
struct Data {
    element: ElementId,
    has_element: bool,
    taken: HashSet<AttributeId>,
}

impl Data {
    fn take<'a>(&mut self, document: &'a Document, name: &str) -> Option<Given<'a>> {
        let attribute = document.attribute(self.element, name).filter(|_| self.has_element)?;
        self.taken.insert(attribute);
        Some(Given { text: document.value(attribute), origin: document.attribute_origin(attribute) })
    }
}

struct Lowering<'a, 'w> {
    document: &'a Document,
    weights: &'w mut Weights,
    model: Model,
    diagnostics: Diagnostics,
    /// How many of the diagnostics were errors.
    errors: usize,
    layers: Vec<Layer<'a>>,
    edges: Vec<Edge>,
}

impl<'a> Lowering<'a, '_> {
    fn run(&mut self) {
        let document = self.document;
        let root = document.root();
        if document.name(root) != "net" {
            let found = format!("the root element is {}", quoted(document.name(root)));
            self.push(
                Diagnostic::error(document.origin(root), found)
                    .valid("net, the root element of an OpenVINO IR")
                    .help("give the .xml file that OpenVINO's save_model wrote"),
            );
            return;
        }
        self.net(root);
        match self.section(root, "layers") {
            Some(layers) => {
                let ids = self.read_layers(layers);
                if let Some(edges) = self.section(root, "edges") {
                    self.read_edges(edges, &ids);
                }
            }
            None => self.push(
                Diagnostic::error(document.origin(root), "the model has no layers")
                    .valid("one element layers inside net")
                    .help(SAVE_AGAIN),
            ),
        }
        self.reach();
        for index in self.order() {
            self.layer(index);
        }
        self.unknown_layers();
        for layer in &self.layers {
            match layer.kind {
                Kind::Parameter => self.model.parameters.extend(layer.node),
                Kind::Result => self.model.results.extend(layer.node),
                _ => {}
            }
        }
        if self.weights.given_in_vain() && !self.diagnostics.has_errors() {
            let found = "weights were given, but the model uses no constant: they were not read";
            self.push(Diagnostic::warning(Origin::Unknown, found));
        }
    }

    /// The model as a whole: its name and version.
    fn net(&mut self, root: ElementId) {
        const VERSIONS: &str = "IR versions 10 and 11";
        let document = self.document;
        for attribute in document.attributes(root) {
            let text = document.value(attribute);
            match document.attribute_name(attribute) {
                "name" => self.model.name = Some(text.to_owned()).filter(|name| !name.is_empty()),
                "version" if matches!(text.trim(), "10" | "11") => {}
                "version" => self.push(
                    Diagnostic::error(document.attribute_origin(attribute), format!("IR version {}", quoted(text)))
                        .valid(VERSIONS)
                        .help("save the model again with OpenVINO 2022.1 or later"),
                ),
                name => {
                    let found = format!("the attribute {} of net has no known meaning: it is ignored", quoted(name));
                    self.push(Diagnostic::warning(document.attribute_origin(attribute), found));
                }
            }
        }
        if document.attribute(root, "version").is_none() {
            self.push(
                Diagnostic::error(document.origin(root), "net has no attribute version")
                    .valid(VERSIONS)
                    .help("give the .xml file that OpenVINO's save_model wrote"),
            );
        }
        for child in document.children(root) {
            if !matches!(document.name(child), "layers" | "edges" | "rt_info" | "meta_data") {
                let found = format!("the element {} in net is ignored", quoted(document.name(child)));
                self.push(Diagnostic::warning(document.origin(child), found));
            }
        }
    }

    /// The one element of that name in net.
    fn section(&mut self, root: ElementId, name: &str) -> Option<ElementId> {
        let document = self.document;
        let mut found = document.children_named(root, name);
        let first = found.next();
        for other in found {
            self.push(
                Diagnostic::error(document.origin(other), format!("a second element {name} in net"))
                    .valid("one")
                    .help(SAVE_AGAIN),
            );
        }
        first
    }

    fn read_layers(&mut self, layers: ElementId) -> HashMap<u64, usize> {
        let document = self.document;
        let mut ids = HashMap::new();
        for element in document.children(layers) {
            if document.name(element) != "layer" {
                let found = format!("the element {} among the layers is ignored", quoted(document.name(element)));
                self.push(Diagnostic::warning(document.origin(element), found));
                continue;
            }
            let Some(id) = self.integer(element, "id", "a layer") else { continue };
            let text = |name| document.attribute(element, name).map_or("", |a| document.value(a));
            let layer = Layer {
                element,
                id,
                name: text("name"),
                type_name: text("type"),
                kind: Kind::from_name(text("type")),
                incoming: Vec::new(),
                reached: false,
                node: None,
                output: None,
            };
            let index = self.layers.len();
            self.layers.push(layer);
            if let Some(&first) = ids.get(&id) {
                let found = format!("the id {id} belongs to another layer already: {}", self.label(first));
                self.error(index, document.origin(element), found, "an id of its own for every layer", SAVE_AGAIN);
            } else {
                ids.insert(id, index);
            }
        }
        ids
    }

    fn read_edges(&mut self, edges: ElementId, ids: &HashMap<u64, usize>) {
        let document = self.document;
        for element in document.children(edges) {
            if document.name(element) != "edge" {
                let found = format!("the element {} among the edges is ignored", quoted(document.name(element)));
                self.push(Diagnostic::warning(document.origin(element), found));
                continue;
            }
            let [from_layer, from_port, to_layer, to_port] =
                ["from-layer", "from-port", "to-layer", "to-port"].map(|name| self.integer(element, name, "an edge"));
            let [Some(from_layer), Some(from_port), Some(to_layer), Some(to_port)] =
                [from_layer, from_port, to_layer, to_port]
            else {
                continue;
            };
            for id in [from_layer, to_layer] {
                if !ids.contains_key(&id) {
                    self.push(
                        Diagnostic::error(
                            document.origin(element),
                            format!("an edge names the layer {id}: no such id"),
                        )
                        .valid("the id of a layer of this model")
                        .help(SAVE_AGAIN),
                    );
                }
            }
            if let (Some(&from_layer), Some(&to)) = (ids.get(&from_layer), ids.get(&to_layer)) {
                self.layers[to].incoming.push(self.edges.len());
                self.edges.push(Edge { element, from_layer, from_port, to_port });
            }
        }
    }

    /// An attribute that must be there and hold an integer.
    fn integer(&mut self, element: ElementId, name: &str, what: &str) -> Option<u64> {
        let document = self.document;
        let (origin, found) = match document.attribute(element, name) {
            None => (document.origin(element), format!("{what} without the attribute {name}")),
            Some(attribute) => {
                let text = document.value(attribute);
                match parse_integer(text) {
                    Some(value) => return Some(value),
                    None => (document.attribute_origin(attribute), format!("{what} with {name}={}", quoted(text))),
                }
            }
        };
        self.push(
            Diagnostic::error(origin, found).valid(format!("an integer of 0 or more for {name}")).help(SAVE_AGAIN),
        );
        None
    }

    /// Marks the layers that are looked at.
    fn reach(&mut self) {
        let mut open: Vec<usize> = (0..self.layers.len())
            .filter(|&i| matches!(self.layers[i].kind, Kind::Result | Kind::Assign | Kind::Parameter))
            .collect();
        while let Some(index) = open.pop() {
            if std::mem::replace(&mut self.layers[index].reached, true) {
                continue;
            }
            open.extend(self.layers[index].incoming.iter().map(|&edge| self.edges[edge].from_layer));
        }
        if !self.layers.iter().any(|layer| layer.kind == Kind::Result) && !self.layers.is_empty() {
            self.push(
                Diagnostic::error(self.document.origin(self.document.root()), "the model has no Result")
                    .valid("at least one layer of type Result")
                    .help("save a model that has an output"),
            );
        }
    }

    /// The layers that are looked at, each after those it reads, otherwise in document order. Layers on a cycle come last.
    fn order(&mut self) -> Vec<usize> {
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); self.layers.len()];
        let mut waits_for: Vec<usize> = vec![0; self.layers.len()];
        for (index, layer) in self.layers.iter().enumerate().filter(|(_, layer)| layer.reached) {
            for &edge in &layer.incoming {
                readers[self.edges[edge].from_layer].push(index);
                waits_for[index] += 1;
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..self.layers.len()).filter(|&i| self.layers[i].reached && waits_for[i] == 0).map(Reverse).collect();
        let mut order = Vec::new();
        while let Some(Reverse(index)) = ready.pop() {
            order.push(index);
            for &reader in &readers[index] {
                waits_for[reader] -= 1;
                if waits_for[reader] == 0 {
                    ready.push(Reverse(reader));
                }
            }
        }
        let stuck: Vec<usize> =
            (0..self.layers.len()).filter(|&i| self.layers[i].reached && waits_for[i] > 0).collect();
        if let Some(&first) = stuck.first() {
            self.cycle(first, &waits_for);
        }
        order.extend(stuck);
        order
    }

    /// Reports the cycle that is found going backwards from `start`, which cannot be ordered.
    fn cycle(&mut self, start: usize, waits_for: &[usize]) {
        const MOST_NAMED: usize = 8;
        let mut path = vec![start];
        let mut place = HashMap::from([(start, 0)]);
        // every layer that waits reads one that waits, so this walk closes
        while let Some(previous) = self.layers[path[path.len() - 1]]
            .incoming
            .iter()
            .map(|&edge| self.edges[edge].from_layer)
            .find(|&layer| waits_for[layer] > 0)
        {
            if let Some(&at) = place.get(&previous) {
                path.drain(..at);
                break;
            }
            place.insert(previous, path.len());
            path.push(previous);
        }
        path.reverse();
        let names: Vec<String> = path.iter().take(MOST_NAMED).map(|&layer| self.label(layer)).collect();
        let more = if path.len() > MOST_NAMED { format!(" ... ({} layers)", path.len()) } else { String::new() };
        let found = format!("a cycle: {}{more} -> back to the first", names.join(" -> "));
        self.error(
            path[0],
            self.document.origin(self.layers[path[0]].element),
            found,
            "a graph without cycles",
            "feed what a cell computes back between calls: as a Result, and as the Parameter that starts the next call",
        );
    }

    /// What a message calls a layer.
    fn label(&self, index: usize) -> String {
        let layer = &self.layers[index];
        format!("{} ({})", quoted(layer.name), self.kind_text(index))
    }

    fn kind_text(&self, index: usize) -> String {
        let layer = &self.layers[index];
        let type_name = quoted(layer.type_name);
        format!("{}, id {}", &type_name[1..type_name.len() - 1], layer.id)
    }

    fn origin(&self, index: usize) -> Origin {
        self.document.origin(self.layers[index].element)
    }

    fn report(&mut self, index: usize, diagnostic: Diagnostic) {
        let label = self.label(index);
        self.push(diagnostic.layer(label));
    }

    fn error(
        &mut self,
        index: usize,
        origin: Origin,
        found: impl Into<String>,
        valid: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(index, Diagnostic::error(origin, found).valid(valid).help(help));
    }

    fn warning(&mut self, index: usize, origin: Origin, found: impl Into<String>) {
        self.report(index, Diagnostic::warning(origin, found));
    }

    /// One diagnostic for every type of layer that is not read.
    fn unknown_layers(&mut self) {
        let mut types: Vec<(usize, usize)> = Vec::new();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            if layer.reached && matches!(layer.kind, Kind::Unknown | Kind::Assign) {
                let place = *seen.entry(layer.type_name).or_insert_with(|| {
                    types.push((index, 0));
                    types.len() - 1
                });
                types[place].1 += 1;
            }
        }
        for (first, count) in types {
            let name = quoted(self.layers[first].type_name);
            let found = match count {
                1 => format!("layers of type {name} are not read"),
                n => format!("layers of type {name} are not read; the model uses {n} of them, the first here"),
            };
            let origin = self.origin(first);
            let diagnostic = Diagnostic::error(origin, found)
                .valid(LAYER_TYPES)
                .help("cut the model down to its recurrent cells before saving it");
            self.report(first, diagnostic);
        }
    }

    /// Turns one layer into a node.
    fn layer(&mut self, index: usize) {
        let kind = self.layers[index].kind;
        if matches!(kind, Kind::Unknown | Kind::Assign) {
            return;
        }
        self.layer_itself(index);
        let mut data = self.data(index);
        let op = match kind {
            Kind::Parameter => self
                .parameter(index, &mut data)
                .map(|(element, shape)| (Op::Parameter, Some(element), Some(shape), Vec::new())),
            Kind::Const => self.constant(index, &mut data).map(|tensor| {
                let shape = tensor.shape().iter().map(|&d| Dim::Fixed(d)).collect();
                let element = tensor.element();
                (Op::Constant(tensor), Some(element), Some(shape), Vec::new())
            }),
            Kind::Convert => self
                .element_type(index, &mut data, "destination_type")
                .map(|e| (Op::Convert, Some(e), None, Vec::new())),
            Kind::GruCell | Kind::RnnCell => {
                self.cell(index, &mut data).map(|(cell, ledger)| (Op::Cell(cell), None, None, ledger))
            }
            Kind::Result => Some((Op::Result, None, None, Vec::new())),
            Kind::Assign | Kind::Unknown => None,
        };
        self.left_over(index, &data);
        let inputs = self.connect(index);
        let outputs = self.ports(index, "output");
        let (Some((op, element, shape, ledger)), Some(inputs), Some(outputs)) = (op, inputs, outputs) else { return };
        let first_input = inputs.first().map(|input| &self.model.values[input.0]);
        // a cell computes in the type of its x
        let element = element.or(first_input.map(|input| input.element)).unwrap_or(ElementType::F32);
        let output = if op == Op::Result {
            let shape = first_input.and_then(|input| input.shape.clone());
            if let Some(port) = outputs.first() {
                let origin = self.document.origin(port.element);
                self.warning(index, origin, "an output port of a Result is ignored");
            }
            let names = self.document.attribute(self.layers[index].element, "output_names");
            let names = names.map_or_else(Vec::new, |names| split_names(self.document.value(names)));
            self.value(Value { names, shape, element, origin: self.origin(index) })
        } else {
            let [port] = &outputs[..] else {
                let found = format!("{} output ports", outputs.len());
                self.error(index, self.origin(index), found, "one output port", SAVE_AGAIN);
                return;
            };
            let stated = Some(port.dims.clone()).filter(|dims| !dims.is_empty());
            if let (Some(shape), Some(stated)) = (&shape, &stated)
                && !compatible(shape, stated)
            {
                let found = format!(
                    "the output port says {}, but the attribute shape says {}: the attribute counts",
                    shape_text(stated),
                    shape_text(shape)
                );
                self.warning(index, self.document.origin(port.element), found);
            }
            self.check_precision(index, port, element);
            let shape_attribute = self.document.attribute(data.element, "shape").filter(|a| data.taken.contains(a));
            let origin = match shape_attribute {
                Some(attribute) => self.document.attribute_origin(attribute),
                None => self.document.origin(port.element),
            };
            let names = split_names(port.names);
            let value = self.value(Value { names, shape: shape.or(stated), element, origin });
            self.layers[index].output = Some((port.id, value));
            value
        };
        self.layers[index].node = Some(self.model.nodes.len());
        let node = Node {
            name: self.layers[index].name.to_owned(),
            kind: self.kind_text(index),
            op,
            inputs,
            outputs: vec![output],
            ledger,
            origin: self.origin(index),
        };
        self.model.nodes.push(node);
    }

    fn value(&mut self, value: Value) -> ValueId {
        self.model.values.push(value);
        ValueId(self.model.values.len() - 1)
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        self.diagnostics.push(diagnostic);
    }

    /// What is written on the layer's own element.
    fn layer_itself(&mut self, index: usize) {
        let document = self.document;
        let element = self.layers[index].element;
        for attribute in document.attributes(element) {
            let origin = document.attribute_origin(attribute);
            let text = document.value(attribute);
            match document.attribute_name(attribute) {
                "id" | "name" | "type" => {}
                "output_names" if self.layers[index].kind == Kind::Result => {}
                "version" => {
                    let number = text.strip_prefix("opset").filter(|n| !n.is_empty());
                    if !number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) && !text.is_empty() {
                        let found = format!("the layer is of the operation set {}", quoted(text));
                        let valid = "OpenVINO's own operation sets: opset1, opset2, ...";
                        self.error(index, origin, found, valid, "replace the layer by one of OpenVINO's own");
                    }
                }
                name => {
                    let found =
                        format!("the attribute {} of a layer has no known meaning: it is ignored", quoted(name));
                    self.warning(index, origin, found);
                }
            }
        }
        let mut seen: [bool; 3] = [false; 3];
        for child in document.children(element) {
            let name = document.name(child);
            match ["data", "input", "output"].iter().position(|&n| n == name) {
                Some(place) if std::mem::replace(&mut seen[place], true) => {
                    let found = format!("a second element {name} in a layer");
                    self.error(index, document.origin(child), found, "one", SAVE_AGAIN);
                }
                Some(_) => {}
                None if name == "rt_info" => {}
                None => {
                    let found = format!("the element {} in a layer is ignored", quoted(name));
                    self.warning(index, document.origin(child), found);
                }
            }
        }
    }

    fn data(&self, index: usize) -> Data {
        let element = self.layers[index].element;
        let data = self.document.children_named(element, "data").next();
        Data { element: data.unwrap_or(element), has_element: data.is_some(), taken: HashSet::new() }
    }

    /// Reports the attributes that nothing has looked at: an error on cells, where each may change what is computed.
    fn left_over(&mut self, index: usize, data: &Data) {
        if !data.has_element {
            return;
        }
        let document = self.document;
        let known = match self.layers[index].kind {
            Kind::Parameter => "shape, element_type",
            Kind::Const => "element_type, shape, offset, size",
            Kind::Convert => "destination_type",
            Kind::GruCell => "hidden_size, activations, activations_alpha, activations_beta, clip, linear_before_reset",
            Kind::RnnCell => "hidden_size, activations, activations_alpha, activations_beta, clip",
            _ => "none",
        };
        let is_cell = matches!(self.layers[index].kind, Kind::GruCell | Kind::RnnCell);
        for attribute in document.attributes(data.element).filter(|a| !data.taken.contains(a)) {
            let name = quoted(document.attribute_name(attribute));
            let type_name = self.layers[index].type_name;
            let diagnostic = match is_cell {
                true => Diagnostic::error(
                    document.attribute_origin(attribute),
                    format!("the attribute {name} has no known meaning on {}", quoted(type_name)),
                )
                .help("remove the attribute if it has none, correct it if it is misspelt"),
                false => Diagnostic::warning(
                    document.attribute_origin(attribute),
                    format!("the attribute {name} has no known meaning on {}: it is ignored", quoted(type_name)),
                ),
            };
            self.report(index, diagnostic.valid(known));
        }
    }

    /// The ports of one side. `None` after an error.
    fn ports(&mut self, index: usize, side: &str) -> Option<Vec<Port<'a>>> {
        let document = self.document;
        let Some(side) = document.children_named(self.layers[index].element, side).next() else {
            return Some(Vec::new());
        };
        let before = self.errors;
        let mut ports: Vec<Port<'a>> = Vec::new();
        let mut ids = HashSet::new();
        for element in document.children(side) {
            if document.name(element) != "port" {
                let found = format!("the element {} among the ports is ignored", quoted(document.name(element)));
                self.warning(index, document.origin(element), found);
                continue;
            }
            let Some(id) = self.integer(element, "id", "a port") else { continue };
            if !ids.insert(id) {
                let found = format!("the port {id} is declared twice");
                self.error(index, document.origin(element), found, "an id of its own for every port", SAVE_AGAIN);
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
            if dims.len() > MOST_DIMS {
                let found = format!("a port with {} dimensions", dims.len());
                self.error(index, document.origin(element), found, format!("{MOST_DIMS} or fewer"), SAVE_AGAIN);
            }
            let names = document.attribute(element, "names").map_or("", |a| document.value(a));
            ports.push(Port { element, id, precision: document.attribute(element, "precision"), names, dims });
        }
        if ports.windows(2).any(|w| w[0].id > w[1].id) {
            let found =
                "the ports are not in ascending order of their ids: they count in the order in which they stand";
            self.warning(index, document.origin(side), found);
        }
        (self.errors == before).then_some(ports)
    }

    /// The tensors that a layer reads, in port order. After an error, new ones stand for those that could not be found.
    fn connect(&mut self, index: usize) -> Option<Vec<ValueId>> {
        let document = self.document;
        let ports = self.ports(index, "input")?;
        let mut by_port: HashMap<u64, Vec<Edge>> = HashMap::new();
        for &edge in &self.layers[index].incoming {
            let edge = self.edges[edge];
            by_port.entry(edge.to_port).or_default().push(edge);
        }
        let mut inputs = Vec::new();
        for port in &ports {
            let edges = by_port.remove(&port.id).unwrap_or_default();
            if let Some(second) = edges.get(1) {
                let found = format!("a second edge into the input port {}", port.id);
                self.error(index, document.origin(second.element), found, "one edge into every input port", CONNECT);
            }
            inputs.push(match self.follow(index, port, edges.first()) {
                Some(value) => value,
                None => {
                    let origin = document.origin(port.element);
                    self.value(Value { names: Vec::new(), shape: None, element: ElementType::F32, origin })
                }
            });
        }
        let mut strays: Vec<(u64, Edge)> = by_port.into_iter().map(|(port, edges)| (port, edges[0])).collect();
        strays.sort_unstable_by_key(|(port, _)| *port);
        for (port, edge) in strays {
            let found = format!("an edge ends at the input port {port}, which the layer does not declare");
            let valid = match ports.len() {
                0 => "no edge: the layer has no input port".to_owned(),
                n => format!("one of the {n} input ports that the layer declares"),
            };
            self.error(index, document.origin(edge.element), found, valid, CONNECT);
        }
        Some(inputs)
    }

    /// The tensor that an edge brings to a port.
    fn follow(&mut self, index: usize, port: &Port<'_>, edge: Option<&Edge>) -> Option<ValueId> {
        let document = self.document;
        let Some(edge) = edge else {
            let found = format!("nothing is connected to the input port {}", port.id);
            self.error(index, document.origin(port.element), found, "one edge into every input port", CONNECT);
            return None;
        };
        let Some((from_port, value)) = self.layers[edge.from_layer].output else {
            // what else is missing here has been reported
            if self.layers[edge.from_layer].kind == Kind::Result {
                let found = format!("the edge starts at {}, which has no output", self.label(edge.from_layer));
                self.error(index, document.origin(edge.element), found, "a layer with an output", CONNECT);
            }
            return None;
        };
        if from_port != edge.from_port {
            let found = format!("the edge starts at port {} of {}", edge.from_port, self.label(edge.from_layer));
            let valid = format!("port {from_port}, its only output port");
            self.error(index, document.origin(edge.element), found, valid, CONNECT);
            return None;
        }
        let source = &self.model.values[value.0];
        let element = source.element;
        if let Some(shape) = &source.shape
            && !port.dims.is_empty()
            && !compatible(shape, &port.dims)
        {
            let found = format!(
                "the input port {} says {}, but what is connected to it has {}: the latter counts",
                port.id,
                shape_text(&port.dims),
                shape_text(shape)
            );
            self.warning(index, document.origin(port.element), found);
        }
        self.check_precision(index, port, element);
        Some(value)
    }

    fn check_precision(&mut self, index: usize, port: &Port<'_>, element: ElementType) {
        let Some(attribute) = port.precision else { return };
        let text = self.document.value(attribute);
        if !precision(element).eq_ignore_ascii_case(text.trim()) {
            let found = format!(
                "the port {} says precision {}, but the tensor is {}: the tensor's own type counts",
                port.id,
                quoted(text),
                element.name()
            );
            self.warning(index, self.document.attribute_origin(attribute), found);
        }
    }

    /// An attribute that must be there.
    fn required(&mut self, index: usize, data: &mut Data, name: &str, valid: &str) -> Option<Given<'a>> {
        let given = data.take(self.document, name);
        if given.is_none() {
            let origin = self.document.origin(data.element);
            let help = format!("add the attribute {name} to the data element, or save the model again");
            self.error(index, origin, format!("the attribute {name} is missing"), format!("{name}: {valid}"), help);
        }
        given
    }

    fn element_type(&mut self, index: usize, data: &mut Data, name: &str) -> Option<ElementType> {
        let valid = ElementType::ALL.map(ElementType::name).join(", ");
        let given = self.required(index, data, name, &valid)?;
        let element = ElementType::ALL.into_iter().find(|e| e.name().eq_ignore_ascii_case(given.text.trim()));
        if element.is_none() {
            let help = "give the tensor a type that is read, with a Convert behind it if need be";
            self.error(index, given.origin, format!("{name}={}", quoted(given.text)), valid, help);
        }
        element
    }

    fn parameter(&mut self, index: usize, data: &mut Data) -> Option<(ElementType, Vec<Dim>)> {
        let element = self.element_type(index, data, "element_type");
        const VALID: &str = "sizes separated by commas, ? where a size is not known: 1,16 or ?,16";
        let given = self.required(index, data, "shape", VALID)?;
        let shape = parse_shape(given.text);
        if shape.is_none() {
            self.error(index, given.origin, format!("shape={}", quoted(given.text)), VALID, "correct the shape");
        }
        Some((element?, shape?))
    }

    fn constant(&mut self, index: usize, data: &mut Data) -> Option<Tensor> {
        const INTEGER: &str = "an integer of 0 or more: bytes";
        let element = self.element_type(index, data, "element_type");
        let shape = self.constant_shape(index, data);
        let [offset, size] = ["offset", "size"].map(|name| {
            let given = self.required(index, data, name, INTEGER)?;
            let value = parse_integer(given.text);
            if value.is_none() {
                self.error(index, given.origin.clone(), format!("{name}={}", quoted(given.text)), INTEGER, SAVE_AGAIN);
            }
            Some((value?, given.origin))
        });
        let (element, (shape, shape_origin), (offset, offset_origin), (size, size_origin)) =
            (element?, shape?, offset?, size?);
        let Some(need) = shape.iter().try_fold(element.size(), |n, &d| n.checked_mul(d)) else {
            let found = format!("shape {shape:?} of {} has more elements than can be addressed", element.name());
            self.error(index, shape_origin, found, "a shape whose elements fit into the .bin file", SAVE_AGAIN);
            return None;
        };
        if size < need as u64 {
            let found = format!("size is {size} bytes, but shape {shape:?} of {} needs {need}", element.name());
            self.error(index, size_origin, found, format!("{need} or more"), SAVE_AGAIN);
            return None;
        }
        let (file, bytes) = match self.weights.bytes(&offset_origin) {
            Ok(loaded) => loaded,
            Err(diagnostic) => {
                if let Some(diagnostic) = diagnostic {
                    self.report(index, diagnostic);
                }
                return None;
            }
        };
        let end = offset.checked_add(size);
        let tensor = end
            .filter(|&end| end <= bytes.len() as u64)
            .and_then(|end| Tensor::new(shape, element, bytes.clone(), offset as usize..end as usize));
        if tensor.is_none() {
            let end = end.map_or_else(|| "past every file".to_owned(), |end| format!("to byte {end}"));
            let found =
                format!("offset {offset} and size {size} reach {end}, but {} has {} bytes", quoted(&file), bytes.len());
            let diagnostic = Diagnostic::error(offset_origin, found)
                .valid("a range inside the .bin file")
                .help("check that the .bin file belongs to this model and was written to its end");
            self.report(index, diagnostic);
        }
        tensor
    }

    fn constant_shape(&mut self, index: usize, data: &mut Data) -> Option<(Vec<usize>, Origin)> {
        const VALID: &str = "sizes of 1 or more separated by commas: 9, 2";
        let given = self.required(index, data, "shape", VALID)?;
        let shape: Option<Vec<usize>> = parse_shape(given.text).and_then(|dims| {
            dims.into_iter()
                .map(|dim| match dim {
                    Dim::Fixed(size) if size > 0 => Some(size),
                    _ => None,
                })
                .collect()
        });
        if shape.is_none() {
            let found = format!("shape={}", quoted(given.text));
            self.error(index, given.origin.clone(), found, VALID, "correct the shape");
        }
        Some((shape?, given.origin))
    }

    fn cell(&mut self, index: usize, data: &mut Data) -> Option<(Cell, Vec<LedgerEntry>)> {
        let mut ledger = Ledger::default();

        const HIDDEN_SIZE: &str = "an integer of 1 or more";
        let hidden_size =
            self.required(index, data, "hidden_size", HIDDEN_SIZE).and_then(|given| {
                match parse_integer(given.text).and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0) {
                    Some(size) => {
                        ledger.add("hidden_size", Some(&given), size.to_string());
                        Some(size)
                    }
                    None => {
                        let found = format!("hidden_size={}", quoted(given.text));
                        self.error(index, given.origin, found, HIDDEN_SIZE, "write the length of the state h");
                        None
                    }
                }
            });

        let kind = match self.layers[index].kind {
            Kind::GruCell => self.linear_before_reset(index, data, &mut ledger).map(CellKind::Gru),
            _ => Some(CellKind::Rnn),
        };
        let defaults = kind.unwrap_or(CellKind::Gru(ResetGate::BeforeMatMul)).default_activations();
        let activations = self.activations(index, data, defaults, &mut ledger);
        for name in ["activations_alpha", "activations_beta"] {
            self.activation_parameters(index, data, name, &mut ledger);
        }

        let clip = self.clip(index, data, &mut ledger);
        Some((Cell { kind: kind?, hidden_size: hidden_size?, activations, clip }, ledger.0))
    }

    fn clip(&mut self, index: usize, data: &mut Data, ledger: &mut Ledger) -> Option<f32> {
        let given = data.take(self.document, "clip");
        let number = match &given {
            None => None,
            Some(given) => match given.text.trim().parse::<f32>() {
                Ok(number) => Some(number),
                Err(_) => {
                    let found = format!("clip={} is not a number", quoted(given.text));
                    let valid = "a number, with a point where it has a fraction; 0, negative, inf and nan: no clipping";
                    let help = "correct the number, or remove the attribute for no clipping";
                    self.error(index, given.origin.clone(), found, valid, help);
                    return None;
                }
            },
        };
        let clip = number.filter(|clip| clip.is_finite() && *clip > 0.0);
        let taken = match clip {
            Some(clip) => format!("every gate's sum is clipped to [-{clip}, {clip}]"),
            None => "no clipping".to_owned(),
        };
        ledger.add("clip", given.as_ref(), taken);
        clip
    }

    fn linear_before_reset(&mut self, index: usize, data: &mut Data, ledger: &mut Ledger) -> Option<ResetGate> {
        let given = data.take(self.document, "linear_before_reset");
        let text = given.as_ref().map(|given| given.text.trim().to_ascii_lowercase());
        let (reset, taken) = match text.as_deref() {
            Some("true" | "1") => (ResetGate::AfterMatMul, "true: the reset gate stands after the matrix product"),
            Some("false" | "0") => (ResetGate::BeforeMatMul, "false: the reset gate stands before the matrix product"),
            None => (ResetGate::BeforeMatMul, "false, the default: the reset gate stands before the matrix product"),
            Some(_) => {
                if let Some(given) = given {
                    let found = format!("linear_before_reset={} is not a truth value", quoted(given.text));
                    self.error(index, given.origin, found, "true, false, 1, 0", "write one of these");
                }
                return None;
            }
        };
        ledger.add("linear_before_reset", given.as_ref(), taken.to_owned());
        Some(reset)
    }

    fn activations(
        &mut self,
        index: usize,
        data: &mut Data,
        defaults: &[Activation],
        ledger: &mut Ledger,
    ) -> Vec<Activation> {
        const MOST_NAMED: usize = 5;
        let given = data.take(self.document, "activations");
        let activations = match &given {
            None => defaults.to_vec(),
            Some(given) => {
                // an empty text is an empty list; validate says how many are wanted
                let texts = given.text.split(',').filter(|_| !given.text.trim().is_empty());
                let unknown: Vec<&str> = texts.clone().filter(|t| Activation::from_name(t).is_none()).collect();
                if !unknown.is_empty() {
                    let mut names: Vec<String> = unknown.iter().take(MOST_NAMED).map(|t| quoted(t.trim())).collect();
                    if unknown.len() > MOST_NAMED {
                        names.push(format!("and {} more", unknown.len() - MOST_NAMED));
                    }
                    let plural = if unknown.len() > 1 { "s" } else { "" };
                    let found = format!("unknown activation{plural} {}", names.join(", "));
                    let known = Activation::ALL.map(Activation::name).join(", ");
                    let help = match unknown.iter().all(|t| is_onnx_activation(t.trim())) {
                        true => "ONNX has this function, but it is not read; save the model with one that is",
                        false => "correct the name",
                    };
                    let valid = format!("{known}, in any letter case, separated by commas");
                    self.error(index, given.origin.clone(), found, valid, help);
                    return defaults.to_vec();
                }
                texts.filter_map(Activation::from_name).collect()
            }
        };
        let names: Vec<&str> = activations.iter().map(|a| a.name()).collect();
        let default = if given.is_none() { ", the default" } else { "" };
        ledger.add("activations", given.as_ref(), format!("{}{default}", cut(&names.join(", "))));
        activations
    }

    /// `activations_alpha` and `activations_beta`: none of the activations that are read takes any.
    fn activation_parameters(&mut self, index: usize, data: &mut Data, name: &str, ledger: &mut Ledger) {
        let given = data.take(self.document, name);
        let Some(present) = given.as_ref().filter(|given| !given.text.trim().is_empty()) else {
            ledger.add(name, given.as_ref(), "none".to_owned());
            return;
        };
        let origin = present.origin.clone();
        if let Some(bad) = present.text.split(',').find(|text| text.trim().parse::<f32>().is_err()) {
            let found = format!("{name} holds {}, which is not a number", quoted(bad.trim()));
            self.error(
                index,
                origin,
                found,
                "numbers separated by commas, or nothing",
                "remove the attribute: it has no effect",
            );
            return;
        }
        let found = format!("{name} has no effect: relu, sigmoid and tanh take no parameter");
        self.warning(index, origin, found);
        ledger.add(name, given.as_ref(), "no effect: the activations take no parameter".to_owned());
    }
}

/// The activation functions of ONNX beyond those that are read.
fn is_onnx_activation(name: &str) -> bool {
    const NAMES: [&str; 8] =
        ["affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu", "softsign", "softplus"];
    NAMES.iter().any(|n| n.eq_ignore_ascii_case(name))
}

#[derive(Default)]
struct Ledger(Vec<LedgerEntry>);

impl Ledger {
    fn add(&mut self, attribute: &str, given: Option<&Given<'_>>, taken: String) {
        self.0.push(LedgerEntry {
            attribute: attribute.to_owned(),
            given: given.map(|g| cut(g.text)),
            taken,
            origin: given.map_or(Origin::Unknown, |g| g.origin.clone()),
        });
    }
}

/// The text, or its start and an ellipsis.
fn cut(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// OpenVINO's name for an element type on a port.
fn precision(element: ElementType) -> &'static str {
    match element {
        ElementType::F16 => "FP16",
        ElementType::Bf16 => "BF16",
        ElementType::F32 => "FP32",
        ElementType::F64 => "FP64",
        ElementType::I8 => "I8",
        ElementType::U8 => "U8",
        ElementType::I32 => "I32",
        ElementType::I64 => "I64",
    }
}

/// Decimal digits, space at either end allowed.
fn parse_integer(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// `7`, `?` or `-1`, `1..8`, `1..`, `..8`.
fn parse_dim(text: &str) -> Option<Dim> {
    let text = text.trim();
    let size = |text: &str| parse_integer(text).and_then(|n| usize::try_from(n).ok());
    if matches!(text, "?" | "-1") {
        return Some(Dim::Dynamic { min: 0, max: None });
    }
    let Some((min, max)) = text.split_once("..") else {
        return size(text).map(Dim::Fixed);
    };
    let min = if min.trim().is_empty() { 0 } else { size(min)? };
    let max = if max.trim().is_empty() { None } else { Some(size(max)?) };
    if max.is_some_and(|max| max < min) || text == ".." {
        return None;
    }
    Some(Dim::Dynamic { min, max })
}

/// Dimensions separated by commas, perhaps in square brackets; none at all is a scalar.
fn parse_shape(text: &str) -> Option<Vec<Dim>> {
    let text = text.trim();
    let text = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    if text.split(',').count() > MOST_DIMS {
        return None;
    }
    text.split(',').map(parse_dim).collect()
}

/// Names separated by commas; `\,` is a comma inside a name.
fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&',') => names.last_mut().unwrap_or(&mut String::new()).extend(chars.next()),
            ',' => names.push(String::new()),
            c => names.last_mut().unwrap_or(&mut String::new()).push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Whether one tensor can have both shapes.
fn compatible(a: &[Dim], b: &[Dim]) -> bool {
    let range = |dim: &Dim| match *dim {
        Dim::Fixed(n) => (n, n),
        Dim::Dynamic { min, max } => (min, max.unwrap_or(usize::MAX)),
    };
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            let (a, b) = (range(a), range(b));
            a.0 <= b.1 && b.0 <= a.1
        })
}

fn shape_text(shape: &[Dim]) -> String {
    const LONGEST: usize = 12;
    let mut texts: Vec<String> = shape
        .iter()
        .take(LONGEST)
        .map(|dim| match dim {
            Dim::Fixed(n) => n.to_string(),
            Dim::Dynamic { min: 0, max: None } => "?".to_owned(),
            Dim::Dynamic { min, max: None } => format!("{min}.."),
            Dim::Dynamic { min, max: Some(max) } => format!("{min}..{max}"),
        })
        .collect();
    if shape.len() > LONGEST {
        texts.push("...".to_owned());
    }
    format!("[{}]", texts.join(", "))
}
